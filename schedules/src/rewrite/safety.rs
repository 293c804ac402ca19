//! What no change may do: lose an order that data needs, or leave a schedule that is none.

use std::collections::{HashMap, HashSet};

use super::RewriteError;
use crate::flat::{Flat, InstanceId};
use crate::footprint::{Footprint, Footprints};
use crate::ir::{Accesses, Limits, OpKind, Schedule};
use crate::order::{Order, Point};

/// Limits under which no call ever waits for a full queue, so that an order that only a full queue
/// gives is not relied upon.
pub(super) fn no_queues() -> Limits {
    Limits {
        queue_tasks: u32::MAX,
        ..Limits::default()
    }
}

/// Refuses a change after which two accesses to the same bytes, not both reads, that were ordered are
/// not ordered the same way any more, or after which an op can never be done that could be before.
/// Ops whose accesses are unknown, and ops that the change removed, are not looked at.
///
/// # Complexity
/// That of [`Order::new`] on both, and O(accesses² of a buffer) for each buffer. Where no two ops
/// conflict, only the second is spent.
pub(super) fn guard(old: &Schedule, new: &Schedule) -> Result<(), RewriteError> {
    if old.programs == new.programs && old.ranks == new.ranks {
        return Ok(());
    }
    let known = old.programs.iter().flat_map(|program| &program.ops);
    if !known
        .into_iter()
        .any(|op| matches!(&op.accesses, Accesses::Known(list) if !list.is_empty()))
    {
        return Ok(());
    }
    let (Ok(before), Ok(after)) = (Flat::new(old), Flat::new(new)) else {
        // What cannot be unrolled is refused where it is simulated, by its own message.
        return Ok(());
    };
    let conflicts = conflicts(old, &before);
    if conflicts.is_empty() {
        return Ok(());
    }
    let later = Twins::new(&before, &after);
    let limits = no_queues();
    let (old_order, new_order) = (Order::new(&before, &limits), Order::new(&after, &limits));
    for (first, second, buffer) in conflicts {
        let (Some(now_first), Some(now_second)) = (later.of(first), later.of(second)) else {
            continue;
        };
        if old_order.happens_before(first, second)
            && !new_order.happens_before(now_first, now_second)
        {
            if !new_order.can_happen(Point::done(now_first))
                || !new_order.can_happen(Point::start(now_second))
            {
                // It hangs: the simulation names the cycle.
                return Ok(());
            }
            return Err(RewriteError::Race {
                first: before.path(first),
                second: before.path(second),
                buffer: old.buffers[buffer].name.to_string(),
            });
        }
    }
    Ok(())
}

/// Where the instances of a schedule are after a change. They are known by rank, program and id, and
/// by how many of that name came before in issue order; ops that a change captured into a program of
/// their own by their ids, where only one program has them.
pub(super) struct Twins(Vec<Option<InstanceId>>);

impl Twins {
    pub(super) fn new(before: &Flat<'_>, after: &Flat<'_>) -> Self {
        let mut homes: HashMap<&str, HashSet<&str>> = HashMap::new();
        for instance in before.instances() {
            homes
                .entry(instance.op.id.as_str())
                .or_default()
                .insert(instance.program.name.as_str());
        }
        let (mut by_program, mut by_id) = (HashMap::new(), HashMap::new());
        let mut counts = Counts::default();
        for id in after.ids() {
            let (program, own) = counts.keys(after, id);
            by_program.insert(program, id);
            by_id.insert(own, id);
        }
        let mut counts = Counts::default();
        let twins = before.ids().map(|id| {
            let (program, own) = counts.keys(before, id);
            let alone = homes.get(own.1).is_some_and(|homes| homes.len() == 1);
            let found = by_program.get(&program);
            found.or_else(|| by_id.get(&own).filter(|_| alone)).copied()
        });
        Self(twins.collect())
    }

    /// The instance after the change; none if it is gone.
    pub(super) fn of(&self, id: InstanceId) -> Option<InstanceId> {
        self.0.get(id.index()).copied().flatten()
    }
}

type ProgramKey<'s> = (u32, &'s str, &'s str, usize);
type IdKey<'s> = (u32, &'s str, usize);

#[derive(Default)]
struct Counts<'s> {
    by_program: HashMap<(u32, &'s str, &'s str), usize>,
    by_id: HashMap<(u32, &'s str), usize>,
}

impl<'s> Counts<'s> {
    fn keys(&mut self, flat: &Flat<'s>, id: InstanceId) -> (ProgramKey<'s>, IdKey<'s>) {
        let instance = &flat.instances()[id.index()];
        let (rank, op) = (instance.rank, instance.op.id.as_str());
        let program = instance.program.name.as_str();
        let of_program = self.by_program.entry((rank, program, op)).or_default();
        let of_id = self.by_id.entry((rank, op)).or_default();
        (*of_program, *of_id) = (*of_program + 1, *of_id + 1);
        ((rank, program, op, *of_program), (rank, op, *of_id))
    }
}

/// Pairs of instances of one rank in issue order that access the same bytes, not both reading, with
/// the root buffer. Instances without a peer's instance only: which rank a peer means is left to the
/// checker.
fn conflicts(schedule: &Schedule, flat: &Flat<'_>) -> Vec<(InstanceId, InstanceId, usize)> {
    let footprints = Footprints::new(schedule);
    let mut by_buffer: HashMap<(u32, usize), Vec<(InstanceId, Footprint<'_>)>> = HashMap::new();
    for id in flat.ids() {
        let instance = &flat.instances()[id.index()];
        if matches!(instance.op.kind, OpKind::SuperKernel(_) | OpKind::Group(_)) {
            continue;
        }
        for access in instance.op.accesses.known() {
            if let Some(print) = footprints.of(access).filter(|print| print.peer.is_own()) {
                by_buffer
                    .entry((instance.rank, print.root))
                    .or_default()
                    .push((id, print));
            }
        }
    }
    let mut buffers: Vec<_> = by_buffer.into_iter().collect();
    buffers.sort_by_key(|(key, _)| *key);
    let mut pairs = Vec::new();
    for ((_, buffer), list) in buffers {
        for (at, (second, print)) in list.iter().enumerate() {
            for (first, other) in &list[..at] {
                if first != second && other.conflicts_with(print) {
                    pairs.push((*first, *second, buffer));
                }
            }
        }
    }
    pairs
}
