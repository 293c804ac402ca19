//! Changes that mend a finding.

use std::collections::HashSet;

use ascsim_schedules::flat::FlatError;
use ascsim_schedules::{
    Accesses, Event, EventKind, Extra, Op, OpKind, Program, Record, Schedule, ScheduleMode,
    Severity, Wait,
};
use serde::Serialize;

use crate::finding::Finding;
use crate::report::Report;
use crate::{Rule, Target, check};

/// One change of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// Records a new `ex` event after one op and waits for it before another of the same program.
    AddEvent {
        /// The program.
        program: String,
        /// The op after which it is recorded.
        after: String,
        /// The op before which it is waited for.
        before: String,
    },
    /// Issues an op, and what follows it on its stream up to there, right after another one.
    MoveAfter {
        /// The program.
        program: String,
        /// The op.
        op: String,
        /// The op after which it comes, which is listed later.
        after: String,
    },
    /// Drops an op.
    Remove {
        /// The program.
        program: String,
        /// The op.
        op: String,
    },
    /// Tells the allocator before a free that another stream uses the buffer.
    AddStreamUse {
        /// The program.
        program: String,
        /// The buffer.
        buffer: String,
        /// The stream that uses it.
        stream: String,
        /// The free.
        before: String,
    },
    /// Makes a flag event an `ex` event, and drops its resets.
    UseExEvent {
        /// The event.
        event: String,
    },
    /// Starts all blocks of a kernel at once.
    Batch {
        /// The program.
        program: String,
        /// The kernel.
        op: String,
    },
    /// Lets all cores join the barriers of a super kernel.
    FeedSyncAll {
        /// The program.
        program: String,
        /// The super kernel.
        op: String,
    },
}

/// Makes the changes. Those whose program or op is not there change nothing.
///
/// # Complexity
/// O(size of the schedule + edits x ops of their program).
pub fn apply(schedule: &Schedule, edits: &[Edit]) -> Schedule {
    let mut result = schedule.clone();
    for edit in edits {
        apply_one(&mut result, edit);
    }
    // What differs on single ranks goes with the op.
    let programs = &result.programs;
    for group in &mut result.ranks {
        group.overrides.retain(|change| {
            let of = |program: &&Program| program.name == change.program;
            let program = programs.iter().find(of);
            program.is_some_and(|program| program.ops.iter().any(|op| op.id == change.op))
        });
    }
    result
}

fn apply_one(schedule: &mut Schedule, edit: &Edit) {
    match edit {
        Edit::AddEvent {
            program,
            after,
            before,
        } => {
            let event = fresh(&format!("{after}.done"), |name| {
                schedule
                    .events
                    .iter()
                    .any(|event| event.name.as_str() == name)
            });
            let Some(ops) = ops(schedule, program) else {
                return;
            };
            let (Some(from), Some(to)) = (position(ops, after), position(ops, before)) else {
                return;
            };
            let extra = Extra::default;
            let record = OpKind::Record(Record {
                event: event.as_str().into(),
                external: false,
                extra: extra(),
            });
            let wait = OpKind::Wait(Wait {
                event: event.as_str().into(),
                external: false,
                timeout_s: None,
                extra: extra(),
            });
            let record = beside(ops, from, &format!("record.{event}"), record);
            let wait = beside(ops, to, &format!("wait.{event}"), wait);
            ops.insert(to, wait);
            ops.insert(from + 1, record);
            schedule.events.push(Event {
                name: event.into(),
                kind: EventKind::Ex,
                extra: extra(),
            });
        }
        Edit::MoveAfter { program, op, after } => {
            let Some(ops) = ops(schedule, program) else {
                return;
            };
            let (Some(from), Some(to)) = (position(ops, op), position(ops, after)) else {
                return;
            };
            if from >= to {
                return;
            }
            let stream = ops[from].stream.clone();
            let (moved, kept): (Vec<Op>, Vec<Op>) = ops
                .drain(from..=to)
                .partition(|op| op.stream == stream && op.is_device());
            let tail = ops.split_off(from);
            ops.extend(kept);
            ops.extend(moved);
            ops.extend(tail);
        }
        Edit::Remove { program, op } => {
            if let Some(ops) = ops(schedule, program) {
                ops.retain(|listed| listed.id.as_str() != op);
            }
        }
        Edit::AddStreamUse {
            program,
            buffer,
            stream,
            before,
        } => {
            let Some(ops) = ops(schedule, program) else {
                return;
            };
            let Some(at) = position(ops, before) else {
                return;
            };
            let kind = OpKind::StreamUse(buffer.as_str().into());
            let mut op = beside(ops, at, &format!("use.{buffer}.{stream}"), kind);
            op.stream = Some(stream.as_str().into());
            ops.insert(at, op);
        }
        Edit::UseExEvent { event } => {
            for declared in &mut schedule.events {
                if declared.name.as_str() == event {
                    declared.kind = EventKind::Ex;
                }
            }
            for program in &mut schedule.programs {
                program.ops.retain(|op| match &op.kind {
                    OpKind::EventReset(reset) => reset.event.as_str() != event,
                    _ => true,
                });
            }
        }
        Edit::Batch { program, op } => {
            if let Some(op) = op_mut(schedule, program, op) {
                op.cores.get_or_insert_default().mode = ScheduleMode::Batch;
            }
        }
        Edit::FeedSyncAll { program, op } => {
            if let Some(op) = op_mut(schedule, program, op)
                && let OpKind::SuperKernel(kernel) = &mut op.kind
            {
                kernel.feed_sync_all = true;
            }
        }
    }
}

fn ops<'s>(schedule: &'s mut Schedule, program: &str) -> Option<&'s mut Vec<Op>> {
    let mut programs = schedule.programs.iter_mut();
    let program = programs.find(|listed| listed.name.as_str() == program)?;
    Some(&mut program.ops)
}

fn op_mut<'s>(schedule: &'s mut Schedule, program: &str, op: &str) -> Option<&'s mut Op> {
    ops(schedule, program)?
        .iter_mut()
        .find(|listed| listed.id.as_str() == op)
}

fn position(ops: &[Op], id: &str) -> Option<usize> {
    ops.iter().position(|op| op.id.as_str() == id)
}

/// An op of this kind on the stream of the one at `at`, issued by its thread.
fn beside(ops: &[Op], at: usize, id: &str, kind: OpKind) -> Op {
    let id = fresh(id, |name| position(ops, name).is_some());
    let mut op = Op::new(id, kind);
    op.thread = ops[at].thread.clone();
    op.stream = ops[at].stream.clone();
    op.accesses = Accesses::Known(Vec::new());
    op
}

/// `stem`, with a number if it is taken.
fn fresh(stem: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u64..).map(|number| format!("{stem}.{number}"));
    let mut names = std::iter::once(stem.to_owned()).chain(numbered);
    // Numbers do not run out before names do.
    names.find(|name| !taken(name)).unwrap_or_default()
}

/// A schedule with what could be mended mended.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// The schedule.
    pub schedule: Schedule,
    /// The report on the schedule as it is now; what was mended is in its `fixed`, in order, each with
    /// the changes made for it.
    pub report: Report,
}

/// Mends finding after finding. A change is kept only if its finding is gone after it and no other
/// came up, but for waste where it mends an error.
///
/// # Errors
/// If the schedule cannot be unrolled.
///
/// # Complexity
/// One [`check`] per finding that has a change.
pub fn repair(schedule: &Schedule, target: &Target) -> Result<Repaired, FlatError> {
    let mut repaired = Repaired {
        schedule: schedule.clone(),
        report: check(schedule, target)?,
    };
    let mut tried: HashSet<Vec<Edit>> = HashSet::new();
    loop {
        let next = repaired
            .report
            .findings
            .iter()
            .find(|finding| !finding.edits.is_empty() && !tried.contains(&finding.edits));
        let Some(finding) = next.cloned() else {
            return Ok(repaired);
        };
        tried.insert(finding.edits.clone());
        let changed = apply(&repaired.schedule, &finding.edits);
        let report = check(&changed, target)?;
        let before: HashSet<Key> = repaired.report.findings.iter().map(key).collect();
        let gone = key(&finding);
        // What is right may still be slow: an error is mended even if that leaves no overlap.
        let may_cost = |found: &Finding| {
            finding.severity == Severity::Error && found.severity < Severity::Error
        };
        let better = report
            .findings
            .iter()
            .all(|found| key(found) != gone && (before.contains(&key(found)) || may_cost(found)));
        if better {
            let mut fixed = std::mem::take(&mut repaired.report.fixed);
            fixed.push(finding);
            repaired.schedule = changed;
            repaired.report = Report { fixed, ..report };
        }
    }
}

type Key = (Rule, Vec<(String, String)>);

/// What makes two findings the same.
fn key(finding: &Finding) -> Key {
    let ops = finding
        .ops
        .iter()
        .map(|op| (op.program.clone(), op.op.clone()));
    let mut ops: Vec<_> = ops.collect();
    ops.sort();
    (finding.rule, ops)
}
