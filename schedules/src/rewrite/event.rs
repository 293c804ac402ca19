//! Moving and dropping records and waits.

use std::collections::{BTreeSet, HashMap};

use super::edit::{host_waits_for, positions, prune_overrides, recorded, require, unfit, waited};
use super::{Note, RewriteError, Rewritten};
use crate::ir::{EventKind, EventName, OpId, Program, Schedule};
use crate::select::Selector;

/// The record that each wait of an event of a kind that binds when issued waits for, by position
/// (facts/acl.md section 3).
fn bindings(schedule: &Schedule, program: &Program) -> HashMap<usize, usize> {
    let binds: BTreeSet<&EventName> = schedule
        .events
        .iter()
        .filter(|event| event.kind.binds_when_issued())
        .map(|event| &event.name)
        .collect();
    let mut bound = latest_records(program);
    bound.retain(|&wait, _| waited(&program.ops[wait]).is_some_and(|event| binds.contains(event)));
    bound
}

/// The latest record listed before each wait of the same event, by position, whatever its kind.
pub(super) fn latest_records(program: &Program) -> HashMap<usize, usize> {
    let mut latest: HashMap<&EventName, usize> = HashMap::new();
    let mut bound = HashMap::new();
    for (at, op) in program.ops.iter().enumerate() {
        if let Some(event) = recorded(op) {
            latest.insert(event, at);
        } else if let Some(event) = waited(op)
            && let Some(&record) = latest.get(event)
        {
            bound.insert(at, record);
        }
    }
    bound
}

/// Moves each selected wait to just before the nearest op that `before` matches, keeping the stream
/// of the wait.
pub(super) fn move_wait(
    schedule: &Schedule,
    select: &Selector,
    before: &Selector,
) -> Result<Rewritten, RewriteError> {
    let moved = |program: &Program| {
        let targets = positions(program, before, |op| op.is_device() && waited(op).is_none());
        let bound = bindings(schedule, program);
        let waits = positions(program, select, |op| waited(op).is_some());
        let mut to = Vec::with_capacity(waits.len());
        for at in waits {
            let wait = &program.ops[at];
            let same_stream: Vec<usize> = targets
                .iter()
                .copied()
                .filter(|&target| program.ops[target].stream == wait.stream)
                .collect();
            let target = nearest(&same_stream, at).ok_or_else(|| {
                unfit(
                    program,
                    wait,
                    format!("`{before}` matches no op on the stream of the wait"),
                )
            })?;
            if bound.get(&at).is_some_and(|&record| target <= record) {
                let why = "there it would be issued before its record, and ACL would drop it without a \
                           word: choose a later op";
                return Err(unfit(program, wait, why));
            }
            to.push((at, target));
        }
        Ok(to)
    };
    reorder(schedule, select, "wait", moved)
}

/// Moves each selected record to just after the nearest op that `after` matches on its stream.
pub(super) fn move_record(
    schedule: &Schedule,
    select: &Selector,
    after: &Selector,
) -> Result<Rewritten, RewriteError> {
    let moved = |program: &Program| {
        let targets = positions(program, after, |op| {
            op.is_device() && recorded(op).is_none()
        });
        let bound = bindings(schedule, program);
        let records = positions(program, select, |op| recorded(op).is_some());
        let mut to = Vec::with_capacity(records.len());
        for at in records {
            let record = &program.ops[at];
            let same_stream: Vec<usize> = targets
                .iter()
                .copied()
                .filter(|&target| program.ops[target].stream == record.stream)
                .collect();
            let target = nearest(&same_stream, at).ok_or_else(|| {
                unfit(
                    program,
                    record,
                    format!("`{after}` matches no op on the stream of the record"),
                )
            })?;
            let first_wait = bound
                .iter()
                .filter(|(_, by)| **by == at)
                .map(|(wait, _)| *wait)
                .min();
            if let Some(wait) = first_wait.filter(|&wait| wait < target) {
                let why = format!(
                    "there it would be issued after its wait `{}`, and ACL would drop the wait without \
                     a word: choose an earlier op",
                    program.ops[wait].id
                );
                return Err(unfit(program, record, why));
            }
            to.push((at, target + 1));
        }
        Ok(to)
    };
    reorder(schedule, select, "record", moved)
}

/// The point nearest to `at`; of two equally near, the earlier.
fn nearest(points: &[usize], at: usize) -> Option<usize> {
    points
        .iter()
        .copied()
        .filter(|&point| point != at)
        .min_by_key(|point| point.abs_diff(at))
}

/// Moves ops to before the positions that `moves` gives, in every program.
fn reorder(
    schedule: &Schedule,
    select: &Selector,
    what: &'static str,
    moves: impl Fn(&Program) -> Result<Vec<(usize, usize)>, RewriteError>,
) -> Result<Rewritten, RewriteError> {
    let mut result = schedule.clone();
    let mut touched = 0;
    for (program, new) in schedule.programs.iter().zip(&mut result.programs) {
        let moves = moves(program)?;
        touched += moves.len();
        let gone: BTreeSet<usize> = moves.iter().map(|(from, _)| *from).collect();
        let mut arriving: HashMap<usize, Vec<usize>> = HashMap::new();
        for (from, to) in moves {
            arriving.entry(to).or_default().push(from);
        }
        let mut ops = Vec::with_capacity(program.ops.len());
        for at in 0..=program.ops.len() {
            for from in arriving.remove(&at).unwrap_or_default() {
                ops.push(program.ops[from].clone());
            }
            if at < program.ops.len() && !gone.contains(&at) {
                ops.push(program.ops[at].clone());
            }
        }
        new.ops = ops;
        same_bindings(schedule, program, new)?;
    }
    require(touched, select, what)?;
    let notes = vec![Note::assumption(format!(
        "no op that the moved {what} held back before needs what it waited for"
    ))];
    Ok(Rewritten {
        schedule: result,
        touched,
        notes,
    })
}

/// Refuses where a wait would bind to another record of its event than before.
fn same_bindings(schedule: &Schedule, old: &Program, new: &Program) -> Result<(), RewriteError> {
    let by_id = |program: &Program| -> HashMap<OpId, OpId> {
        let id = |at: usize| program.ops[at].id.clone();
        bindings(schedule, program)
            .into_iter()
            .map(|(wait, record)| (id(wait), id(record)))
            .collect()
    };
    let (before, after) = (by_id(old), by_id(new));
    let moved = old
        .ops
        .iter()
        .find(|op| before.get(&op.id) != after.get(&op.id));
    moved.map_or(Ok(()), |wait| {
        let why = "it would wait for another record of its event: give the two uses of the event \
                   names of their own first";
        Err(unfit(old, wait, why))
    })
}

/// Removes the selected waits, then the records of bound events that no wait is left for.
pub(super) fn drop_wait(schedule: &Schedule, select: &Selector) -> Result<Rewritten, RewriteError> {
    drop(schedule, select, "wait", |program, bound| {
        let waits = positions(program, select, |op| waited(op).is_some());
        let mut gone: BTreeSet<usize> = waits.iter().copied().collect();
        let records: BTreeSet<usize> = waits
            .iter()
            .filter_map(|at| bound.get(at))
            .copied()
            .collect();
        for record in records {
            let still_used = bound
                .iter()
                .any(|(wait, by)| *by == record && !gone.contains(wait));
            let synchronised = program
                .ops
                .iter()
                .any(|op| host_waits_for(op, &program.ops[record]));
            if !still_used && !synchronised {
                gone.insert(record);
            }
        }
        Ok((waits.len(), gone))
    })
}

/// Removes the selected records and the waits bound to them.
pub(super) fn drop_record(
    schedule: &Schedule,
    select: &Selector,
) -> Result<Rewritten, RewriteError> {
    let flags: BTreeSet<&EventName> = schedule
        .events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Sync | EventKind::External))
        .map(|event| &event.name)
        .collect();
    drop(schedule, select, "record", |program, bound| {
        let records = positions(program, select, |op| recorded(op).is_some());
        let mut gone: BTreeSet<usize> = records.iter().copied().collect();
        for &at in &records {
            let op = &program.ops[at];
            if recorded(op).is_some_and(|event| flags.contains(event)) {
                let why = "its event is a flag that any record sets: its waits would hang; drop the \
                           waits first";
                return Err(unfit(program, op, why));
            }
            if program.ops.iter().any(|other| host_waits_for(other, op)) {
                return Err(unfit(program, op, "the host synchronises with its event"));
            }
            gone.extend(
                bound
                    .iter()
                    .filter(|(_, record)| **record == at)
                    .map(|(wait, _)| *wait),
            );
        }
        Ok((records.len(), gone))
    })
}

type Gone = (usize, BTreeSet<usize>);

fn drop(
    schedule: &Schedule,
    select: &Selector,
    what: &'static str,
    gone: impl Fn(&Program, &HashMap<usize, usize>) -> Result<Gone, RewriteError>,
) -> Result<Rewritten, RewriteError> {
    let mut result = schedule.clone();
    let mut touched = 0;
    let mut also = 0;
    for (program, new) in schedule.programs.iter().zip(&mut result.programs) {
        let (selected, gone) = gone(program, &bindings(schedule, program))?;
        touched += selected;
        also += gone.len() - selected;
        let mut at = 0;
        new.ops.retain(|_| {
            at += 1;
            !gone.contains(&(at - 1))
        });
    }
    prune_overrides(&mut result);
    require(touched, select, what)?;
    let mut notes = vec![Note::assumption(format!(
        "no op needs the order that the dropped {what} kept"
    ))];
    if also > 0 {
        notes.push(Note::assumption(format!(
            "{also} event ops that lost their partner went too"
        )));
    }
    Ok(Rewritten {
        schedule: result,
        touched,
        notes,
    })
}
