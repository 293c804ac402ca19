//! What rewrites share: finding ops, fresh names, inserting.

use std::collections::{BTreeMap, HashSet};

use super::RewriteError;
use crate::ir::{
    Event, EventKind, EventName, Extra, Measured, Op, OpId, OpKind, Owner, Program, Record,
    Schedule, Stream, StreamName, Wait,
};
use crate::select::Selector;

/// Positions of the ops of `program` that `selector` matches and `fits` accepts, ascending.
pub(super) fn positions(
    program: &Program,
    selector: &Selector,
    fits: impl Fn(&Op) -> bool,
) -> Vec<usize> {
    let ops = program.ops.iter().enumerate();
    ops.filter(|(_, op)| selector.matches(program, op) && fits(op))
        .map(|(at, _)| at)
        .collect()
}

/// An error unless something was touched.
pub(super) fn require(
    touched: usize,
    selector: &Selector,
    what: &'static str,
) -> Result<(), RewriteError> {
    if touched == 0 {
        return Err(RewriteError::NothingSelected {
            selector: selector.to_string(),
            what,
        });
    }
    Ok(())
}

/// That a change does not fit an op.
pub(super) fn unfit(program: &Program, op: &Op, why: impl Into<String>) -> RewriteError {
    RewriteError::Unfit {
        program: program.name.clone(),
        op: op.id.clone(),
        why: why.into(),
    }
}

/// Declares `stream` unless it is.
pub(super) fn declare_stream(schedule: &mut Schedule, stream: &StreamName) {
    if !schedule.streams.iter().any(|have| have.name == *stream) {
        schedule.streams.push(Stream {
            name: stream.clone(),
            owner: Owner::Own,
            priority: None,
            core_limit: None,
            extra: Extra::default(),
        });
    }
}

/// Makes names that are not taken yet.
#[derive(Debug)]
pub(super) struct Names {
    events: HashSet<EventName>,
    ops: HashSet<OpId>,
}

impl Names {
    /// Knows the events of `schedule` and the ops of `program`.
    pub(super) fn new(schedule: &Schedule, program: &Program) -> Self {
        Self {
            events: schedule
                .events
                .iter()
                .map(|event| event.name.clone())
                .collect(),
            ops: program.ops.iter().map(|op| op.id.clone()).collect(),
        }
    }

    /// Declares a new Ex event whose name starts with `stem`.
    pub(super) fn event(&mut self, schedule: &mut Schedule, stem: &str) -> EventName {
        let name = fresh(stem, |name| self.events.insert(name.into()));
        schedule.events.push(Event {
            name: name.as_str().into(),
            kind: EventKind::Ex,
            extra: Extra::default(),
        });
        name.into()
    }

    /// A new op id that starts with `stem`.
    pub(super) fn op(&mut self, stem: &str) -> OpId {
        fresh(stem, |name| self.ops.insert(name.into())).into()
    }
}

fn fresh(stem: &str, mut take: impl FnMut(&str) -> bool) -> String {
    if take(stem) {
        return stem.to_owned();
    }
    let mut number = 2_u64;
    loop {
        let name = format!("{stem}.{number}");
        if take(&name) {
            return name;
        }
        number += 1;
    }
}

/// A record of `event` on the stream of `beside`, issued by its thread.
pub(super) fn record(names: &mut Names, event: &EventName, beside: &Op) -> Op {
    let kind = Record {
        event: event.clone(),
        external: false,
        extra: Extra::default(),
    };
    signal(
        names.op(&format!("record.{event}")),
        OpKind::Record(kind),
        beside,
    )
}

/// A wait for `event` on the stream of `beside`, issued by its thread.
pub(super) fn wait(names: &mut Names, event: &EventName, beside: &Op) -> Op {
    let kind = Wait {
        event: event.clone(),
        external: false,
        timeout_s: None,
        extra: Extra::default(),
    };
    signal(
        names.op(&format!("wait.{event}")),
        OpKind::Wait(kind),
        beside,
    )
}

fn signal(id: OpId, kind: OpKind, beside: &Op) -> Op {
    let mut op = Op::new(id, kind);
    op.thread = beside.thread.clone();
    op.stream = beside.stream.clone();
    op.accesses = crate::ir::Accesses::Known(Vec::new());
    op
}

/// The host time of a call like those in `program` that `like` accepts: the median of the constant
/// ones, if there is one.
pub(super) fn usual_issue(program: &Program, like: impl Fn(&Op) -> bool) -> Option<Measured> {
    let mut issues: Vec<&Measured> = program
        .ops
        .iter()
        .filter(|op| like(op))
        .filter_map(|op| op.issue.as_deref())
        .filter(|issue| issue.ns.constant().is_some())
        .collect();
    issues.sort_by(|a, b| {
        a.ns.constant()
            .unwrap_or(0.0)
            .total_cmp(&b.ns.constant().unwrap_or(0.0))
    });
    issues.get(issues.len() / 2).map(|issue| (*issue).clone())
}

/// Whether the op is a record or a wait of an event.
pub(super) fn is_signal(op: &Op) -> bool {
    matches!(
        op.kind,
        OpKind::Record(_) | OpKind::Wait(_) | OpKind::EventReset(_)
    )
}

/// Ops to put before or after the ops at given positions.
#[derive(Debug, Default)]
pub(super) struct Insertions {
    before: BTreeMap<usize, Vec<Op>>,
    after: BTreeMap<usize, Vec<Op>>,
}

impl Insertions {
    /// Puts `op` before the op at `at`, after those put there earlier.
    pub(super) fn before(&mut self, at: usize, op: Op) {
        self.before.entry(at).or_default().push(op);
    }

    /// Puts `op` after the op at `at`, after those put there earlier.
    pub(super) fn after(&mut self, at: usize, op: Op) {
        self.after.entry(at).or_default().push(op);
    }

    /// The list with the insertions made. O(ops).
    pub(super) fn apply(mut self, ops: Vec<Op>) -> Vec<Op> {
        let more: usize = self
            .before
            .values()
            .chain(self.after.values())
            .map(Vec::len)
            .sum();
        let mut result = Vec::with_capacity(ops.len() + more);
        for (at, op) in ops.into_iter().enumerate() {
            result.extend(self.before.remove(&at).unwrap_or_default());
            result.push(op);
            result.extend(self.after.remove(&at).unwrap_or_default());
        }
        result
    }
}
