//! Moving ops to another stream between two join points.

use std::collections::BTreeMap;

use super::edit::{
    Insertions, Names, declare_stream, has_work, is_signal, positions, record, require, unfit,
    usual_issue, wait,
};
use super::{Note, RewriteError, Rewritten};
use crate::footprint::Footprints;
use crate::ir::{Op, OpKind, Program, Schedule, StreamName};
use crate::select::Selector;

/// Ops that move together, with their join points; positions in the program.
#[derive(Debug)]
struct Move {
    ops: Vec<usize>,
    /// They may start when this one has ended; `None` if they depend on nothing.
    after: Option<usize>,
    /// This one waits for them; `None` if nothing depends on them.
    before: Option<usize>,
}

/// Moves the selected ops to `to`. They keep their places in the host issue order; an event recorded
/// after the op `after` holds them back, and the op `before` waits for an event recorded after the
/// last of them. Without join points, they are derived from the ops' accesses.
pub(super) fn move_to(
    schedule: &Schedule,
    select: &Selector,
    to: &StreamName,
    after: Option<&Selector>,
    before: Option<&Selector>,
) -> Result<Rewritten, RewriteError> {
    let mut result = schedule.clone();
    let mut notes = Vec::new();
    let mut touched = 0;
    let mut derived = false;
    for index in 0..schedule.programs.len() {
        let program = &schedule.programs[index];
        let selected = positions(program, select, |op| op.is_device() && op.stream.is_some());
        if selected.is_empty() {
            continue;
        }
        touched += selected.len();
        for &at in &selected {
            refuse(program, &program.ops[at])?;
        }
        let joined = join_points(program, selected, after, before)?;
        let moves = match joined {
            Joined::Given(moves) => moves,
            Joined::Missing(ops, given_after, given_before) => {
                derived = true;
                derive(schedule, program, ops, given_after, given_before)?
            }
        };
        let program = rewrite(&mut result, program, &moves, to, &mut notes);
        result.programs[index] = program;
    }
    require(touched, select, "op on a stream")?;
    declare_stream(&mut result, to);
    if derived {
        notes.push(Note::assumption(
            "the join points were derived from the declared accesses of the ops",
        ));
    } else {
        notes.push(Note::assumption(
            "the moved ops need nothing that is computed after their `after` op, and nothing before \
             their `before` op needs them",
        ));
    }
    Ok(Rewritten {
        schedule: result,
        touched,
        notes,
    })
}

fn refuse(program: &Program, op: &Op) -> Result<(), RewriteError> {
    if is_signal(op) {
        return Err(unfit(
            program,
            op,
            "it is an event op: select only the work; the events it needs are made anew",
        ));
    }
    if matches!(op.kind, OpKind::GraphLaunch(_)) {
        return Err(unfit(
            program,
            op,
            "a graph launch brings its own streams: select ops inside it",
        ));
    }
    Ok(())
}

enum Joined {
    Given(Vec<Move>),
    Missing(Vec<usize>, Vec<usize>, Vec<usize>),
}

/// Groups the selected ops by the join points around them.
fn join_points(
    program: &Program,
    selected: Vec<usize>,
    after: Option<&Selector>,
    before: Option<&Selector>,
) -> Result<Joined, RewriteError> {
    let points = |selector: Option<&Selector>| {
        selector.map_or_else(Vec::new, |selector| {
            let mut found = positions(program, selector, |op| op.is_device());
            found.retain(|at| selected.binary_search(at).is_err());
            found
        })
    };
    let (afters, befores) = (points(after), points(before));
    let (Some(after), Some(before)) = (after, before) else {
        return Ok(Joined::Missing(selected, afters, befores));
    };
    let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for at in selected {
        let missing = |selector: &Selector, role, side| RewriteError::NoJoinPoint {
            selector: selector.to_string(),
            role,
            side,
            program: program.name.clone(),
            op: program.ops[at].id.clone(),
        };
        let fork = afters[..afters.partition_point(|&point| point < at)]
            .last()
            .ok_or_else(|| missing(after, "after", "before"))?;
        let join = befores
            .get(befores.partition_point(|&point| point < at))
            .ok_or_else(|| missing(before, "before", "after"))?;
        groups.entry((*fork, *join)).or_default().push(at);
    }
    let moves = groups.into_iter().map(|((fork, join), ops)| Move {
        ops,
        after: Some(fork),
        before: Some(join),
    });
    Ok(Joined::Given(moves.collect()))
}

/// Join points from the data: the last op before a run of selected ops that conflicts with one of
/// them, and the first after it. A point that was given is used instead.
fn derive(
    schedule: &Schedule,
    program: &Program,
    selected: Vec<usize>,
    afters: Vec<usize>,
    befores: Vec<usize>,
) -> Result<Vec<Move>, RewriteError> {
    if let Some(op) = program
        .ops
        .iter()
        .find(|op| has_work(op) && op.accesses.is_unknown())
    {
        return Err(RewriteError::NeedsJoinPoints {
            program: program.name.clone(),
            op: op.id.clone(),
        });
    }
    let footprints = Footprints::new(schedule);
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for at in selected {
        match runs.last_mut() {
            Some(run)
                if program.ops[run[run.len() - 1] + 1..at]
                    .iter()
                    .all(|op| !has_work(op)) =>
            {
                run.push(at);
            }
            _ => runs.push(vec![at]),
        }
    }
    let moves = runs.into_iter().map(|ops| {
        let (first, last) = (ops[0], ops[ops.len() - 1]);
        let needs = |other: &usize| {
            ops.iter().any(|&at| {
                footprints.conflict(&program.ops[at], &program.ops[*other]) == Some(true)
            })
        };
        let given_fork = afters[..afters.partition_point(|&point| point < first)]
            .last()
            .copied();
        let given_join = befores
            .get(befores.partition_point(|&point| point < last))
            .copied();
        Move {
            after: given_fork.or_else(|| (0..first).rev().find(needs)),
            before: given_join.or_else(|| (last + 1..program.ops.len()).find(needs)),
            ops,
        }
    });
    Ok(moves.collect())
}

fn rewrite(
    schedule: &mut Schedule,
    program: &Program,
    moves: &[Move],
    to: &StreamName,
    notes: &mut Vec<Note>,
) -> Program {
    let mut new = program.clone();
    let mut names = Names::new(schedule, program);
    let issue = usual_issue(program, is_signal).map(Box::new);
    if issue.is_none() && program.ops.iter().any(|op| op.issue.is_some()) {
        notes.push(Note::assumption(format!(
            "the added records and waits of program `{}` cost the host nothing: it has no event call \
             to take a time from",
            program.name
        )));
    }
    let mut insertions = Insertions::default();
    for group in moves {
        let Some((&first, &last)) = group.ops.first().zip(group.ops.last()) else {
            continue;
        };
        for &at in &group.ops {
            new.ops[at].stream = Some(to.clone());
        }
        let (head, tail) = (new.ops[first].clone(), new.ops[last].clone());
        if let Some(fork) = group
            .after
            .filter(|&at| new.ops[at].stream.as_ref() != Some(to))
        {
            let event = names.event(schedule, &format!("fork.{}", head.id));
            let mut signal = record(&mut names, &event, &new.ops[fork]);
            signal.issue.clone_from(&issue);
            insertions.after(fork, signal);
            let mut blocked = wait(&mut names, &event, &head);
            blocked.issue.clone_from(&issue);
            insertions.before(first, blocked);
        }
        if let Some(join) = group
            .before
            .filter(|&at| new.ops[at].stream.as_ref() != Some(to))
        {
            let event = names.event(schedule, &format!("join.{}", tail.id));
            let mut signal = record(&mut names, &event, &tail);
            signal.issue.clone_from(&issue);
            insertions.after(last, signal);
            let mut blocked = wait(&mut names, &event, &new.ops[join]);
            blocked.issue.clone_from(&issue);
            insertions.before(join, blocked);
        }
    }
    new.ops = insertions.apply(new.ops);
    new
}
