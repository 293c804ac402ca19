//! Changes of durations.

use super::edit::{positions, require};
use super::{Note, RewriteError, Rewritten};
use crate::ir::{Measured, Op, OpKind, Program, Provenance, Schedule};
use crate::select::Selector;

/// Multiplies the durations of the selected ops by `factor`, on every rank. A scaled duration is as
/// uncertain as it was.
pub(super) fn scale(
    schedule: &Schedule,
    select: &Selector,
    factor: f64,
) -> Result<Rewritten, RewriteError> {
    change(schedule, select, |measured| {
        let ns = measured.ns.scaled(factor);
        Measured {
            ns,
            ..measured.clone()
        }
    })
}

/// Sets the durations of the selected ops to `ns`, on every rank.
pub(super) fn set(
    schedule: &Schedule,
    select: &Selector,
    ns: f64,
) -> Result<Rewritten, RewriteError> {
    change(schedule, select, |_| Measured::new(ns, Provenance::Assumed))
}

fn change(
    schedule: &Schedule,
    select: &Selector,
    new: impl Fn(&Measured) -> Measured,
) -> Result<Rewritten, RewriteError> {
    let mut result = schedule.clone();
    let mut touched = 0;
    let mut without = 0_usize;
    for program in &mut result.programs {
        for at in positions(program, select, |_| true) {
            let changed = change_op(&mut program.ops[at], &new);
            touched += changed;
            without += usize::from(changed == 0);
        }
    }
    require(touched, select, "op with a duration")?;
    let selected = |program: &Program, id: &crate::ir::OpId| {
        program
            .ops
            .iter()
            .any(|op| op.id == *id && select.matches(program, op))
    };
    for group in &mut result.ranks {
        for change in &mut group.overrides {
            let Some(program) = schedule
                .programs
                .iter()
                .find(|program| program.name == change.program)
            else {
                continue;
            };
            if let Some(duration) = &mut change.duration
                && selected(program, &change.op)
            {
                *duration = new(duration);
            }
        }
    }
    let mut notes = Vec::new();
    if without > 0 {
        notes.push(Note::warning(format!(
            "{without} selected ops carry no duration and were left as they are"
        )));
    }
    Ok(Rewritten {
        schedule: result,
        touched,
        notes,
    })
}

/// Changes the duration of the op, or those of its parts where it is a group of them. Returns how
/// many were changed.
fn change_op(op: &mut Op, new: &impl Fn(&Measured) -> Measured) -> usize {
    if let Some(duration) = &mut op.duration {
        **duration = new(duration);
        return 1;
    }
    let parts = match &mut op.kind {
        OpKind::SuperKernel(kernel) => &mut kernel.parts,
        OpKind::Group(group) => &mut group.tasks,
        _ => return 0,
    };
    parts
        .iter_mut()
        .map(|part| change_op(&mut part.op, new))
        .sum()
}
