//! What rewrites share: finding ops, fresh names, inserting.

use std::collections::{BTreeMap, HashSet};

use super::RewriteError;
use crate::flat::FlatError;
use crate::ir::{
    Event, EventKind, EventName, Extra, HostKind, Measured, Op, OpId, OpKind, Owner, Program,
    ProgramName, Record, Schedule, Stream, StreamName, SyncTarget, Wait,
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

/// That a schedule cannot be unrolled.
pub(super) fn unfit_flat(error: FlatError) -> RewriteError {
    RewriteError::Flat(Box::new(error))
}

/// The event that a wait waits for.
pub(super) fn waited(op: &Op) -> Option<&EventName> {
    match &op.kind {
        OpKind::Wait(wait) => Some(&wait.event),
        _ => None,
    }
}

/// The event that a record records.
pub(super) fn recorded(op: &Op) -> Option<&EventName> {
    match &op.kind {
        OpKind::Record(record) => Some(&record.event),
        _ => None,
    }
}

/// Whether `op` is a host synchronisation with the event that `record` records.
pub(super) fn host_waits_for(op: &Op, record: &Op) -> bool {
    match &op.kind {
        OpKind::Host(HostKind::Synchronise(SyncTarget::Event(event))) => {
            recorded(record) == Some(event)
        }
        _ => false,
    }
}

/// Drops the overrides of ops that are gone.
pub(super) fn prune_overrides(schedule: &mut Schedule) {
    if schedule
        .ranks
        .iter()
        .all(|group| group.overrides.is_empty())
    {
        return;
    }
    let there: HashSet<(&ProgramName, &OpId)> = schedule
        .programs
        .iter()
        .flat_map(|program| program.ops.iter().map(|op| (&program.name, &op.id)))
        .collect();
    for group in &mut schedule.ranks {
        group
            .overrides
            .retain(|change| there.contains(&(&change.program, &change.op)));
    }
}

/// The device op that does something: no event, notify or value op.
pub(super) fn has_work(op: &Op) -> bool {
    matches!(
        op.kind,
        OpKind::Kernel(_)
            | OpKind::Copy(_)
            | OpKind::Collective(_)
            | OpKind::SuperKernel(_)
            | OpKind::Group(_)
    )
}

/// The stream with the most device ops; of several, the first by name.
pub(super) fn main_stream(program: &Program) -> Option<StreamName> {
    let mut count: BTreeMap<&StreamName, usize> = BTreeMap::new();
    for stream in program
        .ops
        .iter()
        .filter(|op| op.is_device())
        .filter_map(|op| op.stream.as_ref())
    {
        *count.entry(stream).or_default() += 1;
    }
    let most = count.values().max().copied()?;
    count
        .into_iter()
        .find(|(_, ops)| *ops == most)
        .map(|(stream, _)| stream.clone())
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
