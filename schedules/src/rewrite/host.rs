//! What the host does only to issue, and programs that no host of ours runs.

use std::collections::{BTreeSet, HashMap};

use crate::ir::{
    DelayCause, EventName, HostKind, Op, OpKind, Program, Schedule, SyncTarget, ThreadName,
};

/// The host ops of a program that are there only because one thread hands calls over to another: the
/// hand-overs, which are synchronisations with an event that nobody records, and the work of handing
/// over, which comes right before one on its thread. By position.
pub(super) fn handing_over(schedule: &Schedule, program: &Program) -> BTreeSet<usize> {
    let recorded: BTreeSet<&EventName> = schedule
        .programs
        .iter()
        .flat_map(|program| &program.ops)
        .filter_map(|op| match &op.kind {
            OpKind::Record(record) => Some(&record.event),
            OpKind::Host(HostKind::RecordExternal { event }) => Some(event),
            _ => None,
        })
        .collect();
    let mut result = BTreeSet::new();
    let mut last: HashMap<&ThreadName, usize> = HashMap::new();
    for (at, op) in program.ops.iter().enumerate() {
        if let OpKind::Host(HostKind::Synchronise(SyncTarget::Event(event))) = &op.kind
            && !recorded.contains(event)
        {
            result.insert(at);
            if let Some(&before) = last.get(&op.thread)
                && matches!(program.ops[before].kind, OpKind::Host(HostKind::Work))
            {
                result.insert(before);
            }
        }
        last.insert(&op.thread, at);
    }
    result
}

/// Whether a program only says when a rank that was not captured arrives: its host waits for nothing
/// but what others saw. How it issues is unknown, so a change of launch leaves it alone.
pub(super) fn seen_from_outside(program: &Program) -> bool {
    let arrives = |op: &Op| {
        op.delay
            .as_ref()
            .is_some_and(|delay| delay.cause == DelayCause::External)
    };
    let mut hosts = program.ops.iter().filter(|op| !op.is_device()).peekable();
    hosts.peek().is_some() && hosts.all(arrives)
}
