//! Races: accesses to the same bytes that nothing orders.

mod access;
mod lifetime;
mod sweep;

use ascsim_schedules::{CopyDirection, HostKind, Op, OpKind};

use crate::context::Context;
use crate::finding::Finding;
use crate::report::RaceStatus;
use crate::rule::Rule;

pub(crate) use access::prefetched;

/// What was found about memory.
#[derive(Debug)]
pub(crate) struct Races {
    pub(crate) status: RaceStatus,
    pub(crate) found: Vec<Finding>,
}

/// The races that some run shows.
pub(crate) fn find(context: &Context<'_, '_>) -> Races {
    let mut found = sweep::find(context);
    found.extend(lifetime::find(context));
    let unknown = unknown(context);
    let status = match (found.is_empty(), &unknown) {
        (false, _) => RaceStatus::Found,
        (true, Some(_)) => RaceStatus::Unknown,
        (true, None) => RaceStatus::None,
    };
    found.extend(unknown);
    Races { status, found }
}

/// Whether an op touches memory that it may or may not declare.
fn touches_memory(op: &Op) -> bool {
    match &op.kind {
        OpKind::Kernel(_) | OpKind::Collective(_) => true,
        OpKind::Copy(copy) => copy.direction != CopyDirection::Peer || op.accesses.is_unknown(),
        OpKind::Host(HostKind::Function { .. }) => true,
        _ => false,
    }
}

/// That some ops do not say what they touch.
fn unknown(context: &Context<'_, '_>) -> Option<Finding> {
    let flat = context.flat;
    let mut touch = 0;
    let mut silent = 0;
    let mut first = None;
    for id in flat.ids() {
        let op = flat[id].op;
        if touches_memory(op) {
            touch += 1;
            if op.accesses.is_unknown() {
                silent += 1;
                first = first.or(Some(id));
            }
        }
    }
    let first = first?;
    let message =
        format!("race status unknown: {silent} of {touch} ops do not say what they read and write");
    let finding = Finding::new(Rule::RaceUnknown, message).about(flat, [first]);
    Some(finding.suggest("declare the accesses of these ops"))
}
