//! Removal of ops.

use super::edit::{is_signal, positions, prune_overrides, require, unfit};
use super::{Note, RewriteError, Rewritten};
use crate::footprint::Footprints;
use crate::ir::{HostKind, Op, OpKind, Program, Schedule};
use crate::select::Selector;

/// Removes the selected ops. Events and notifies have changes of their own, since what waits for
/// them must go too.
pub(super) fn remove(schedule: &Schedule, select: &Selector) -> Result<Rewritten, RewriteError> {
    let footprints = Footprints::new(schedule);
    let mut result = schedule.clone();
    let mut touched = 0;
    let mut notes = Vec::new();
    for (program, new) in schedule.programs.iter().zip(&mut result.programs) {
        let gone = positions(program, select, |_| true);
        for &at in &gone {
            refuse(program, &program.ops[at])?;
        }
        if let Some(needed) = first_needed(program, &gone, &footprints) {
            notes.push(needed);
        }
        touched += gone.len();
        let mut gone = gone.into_iter().peekable();
        let mut at = 0;
        new.ops.retain(|_| {
            let keep = gone.next_if_eq(&at).is_none();
            at += 1;
            keep
        });
    }
    require(touched, select, "op")?;
    prune_overrides(&mut result);
    notes.push(Note::assumption(
        "the removed ops are not needed: nothing computes what they computed",
    ));
    Ok(Rewritten {
        schedule: result,
        touched,
        notes,
    })
}

fn refuse(program: &Program, op: &Op) -> Result<(), RewriteError> {
    match &op.kind {
        _ if is_signal(op) => Err(unfit(
            program,
            op,
            "it is an event op: use drop-wait or drop-record, which keep records and waits together",
        )),
        OpKind::NotifyRecord(_)
        | OpKind::NotifyWait(_)
        | OpKind::ValueWrite(_)
        | OpKind::ValueWait(_)
        | OpKind::Host(HostKind::RecordExternal { .. }) => Err(unfit(
            program,
            op,
            "others wait for it, or it for others: removing one side would hang or race",
        )),
        _ => Ok(()),
    }
}

/// Warns where an op that stays reads what a removed op writes.
fn first_needed(program: &Program, gone: &[usize], footprints: &Footprints<'_>) -> Option<Note> {
    let mut removed = vec![false; program.ops.len()];
    for &at in gone {
        removed[at] = true;
    }
    let mut written: Vec<(&Op, crate::footprint::Footprint<'_>)> = Vec::new();
    for &at in gone {
        let op = &program.ops[at];
        let accesses = op
            .accesses
            .known()
            .iter()
            .filter_map(|access| footprints.of(access));
        written.extend(
            accesses
                .filter(|print| print.mode.writes())
                .map(|print| (op, print)),
        );
    }
    if written.is_empty() {
        return None;
    }
    for (at, op) in program.ops.iter().enumerate().skip(*gone.first()?) {
        if removed[at] {
            continue;
        }
        for print in op
            .accesses
            .known()
            .iter()
            .filter_map(|access| footprints.of(access))
        {
            if let Some((writer, _)) = written.iter().find(|(_, by)| print.conflicts_with(by)) {
                return Some(Note::warning(format!(
                    "op `{}` uses memory that the removed op `{}` wrote",
                    op.id, writer.id
                )));
            }
        }
    }
    None
}
