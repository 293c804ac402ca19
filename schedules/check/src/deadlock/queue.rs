//! Full queues: calls that may have to wait for room.

use std::collections::VecDeque;

use ascsim_schedules::OpKind;
use ascsim_schedules::flat::{Binding, InstanceId, Role};
use ascsim_schedules::order::Point;

use crate::context::Context;

/// Per call: what makes room for it, if it may find its queue full.
#[derive(Debug)]
pub(crate) struct Rooms(Vec<Option<Room>>);

impl Rooms {
    /// What makes room for a call that may have to wait.
    pub(crate) fn get(&self, call: InstanceId) -> Option<Room> {
        *self.0.get(call.index())?
    }
}

/// What makes room for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// The task of the same stream that must be done.
    pub(crate) task: InstanceId,
    /// The record of a wait, which needs no room once that is done.
    pub(crate) unless: Option<InstanceId>,
}

/// Per call that may have to wait: what makes room, if every wait that may take an entry of the queue
/// does. An `ex` wait takes one unless its record is certain to be done when it is
/// issued (facts/acl.md section 3).
///
/// # Complexity
/// O(instances).
pub(crate) fn full(context: &Context<'_, '_>) -> Rooms {
    if context.order.requirements().inexact_queues().is_empty() {
        return Rooms(Vec::new());
    }
    let flat = context.flat;
    let mut calls = vec![None; flat.instances().len()];
    let limit = u64::from(context.limits.queue_tasks);
    let mut queues: Vec<(VecDeque<(InstanceId, u64)>, u64)> =
        vec![Default::default(); flat.stream_count()];
    for id in flat.ids() {
        let instance = &flat[id];
        if instance.role != Role::Issued || !instance.is_task() {
            continue;
        }
        let Some(stream) = instance.stream else {
            continue;
        };
        let unless = match (&instance.op.kind, flat.binding(id)) {
            (OpKind::Wait(_), Some(Binding::Record(record))) => Some(record),
            _ => None,
        };
        let entries = match (&instance.op.kind, flat.binding(id)) {
            (OpKind::ValueWait(_), _) => u64::from(context.limits.value_wait_entries),
            (OpKind::Wait(_), Some(Binding::Record(record))) => {
                u64::from(!context.order.known_at(record, Point::issue(id)))
            }
            (_, Some(Binding::SameStream(_) | Binding::Unrecorded | Binding::Refused(_))) => 0,
            _ => 1,
        };
        if entries == 0 {
            continue;
        }
        let (queue, sum) = &mut queues[stream.index()];
        queue.push_back((id, entries));
        *sum += entries;
        while *sum > limit && queue.len() > 1 {
            if let Some((task, entries)) = queue.pop_front() {
                *sum -= entries;
                calls[id.index()] = Some(Room { task, unless });
            }
        }
    }
    Rooms(calls)
}
