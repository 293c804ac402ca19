//! Chains: instances that are totally ordered, so that what is known of a chain is one number.

use std::collections::HashMap;

use super::build::lane;
use crate::flat::{Flat, InstanceId, Role, StreamId};
use crate::ir::OpKind;

/// Where on which chain an instance is.
///
/// Tasks of a stream instance are a chain, host calls of a thread that queue nothing are one, and the
/// parts of groups and super kernels on one stream are spread over as many lanes as they need.
#[derive(Debug)]
pub(super) struct Chains {
    /// Per instance: chain and position.
    places: Vec<(u32, u32)>,
    /// Per instance: what its issue knows by its place, as chain and count.
    issued: Vec<(u32, u32)>,
    count: usize,
}

/// A prefix of a chain: this many of its first instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) chain: usize,
    pub(super) count: u32,
}

impl Chains {
    pub(super) fn new(flat: &Flat<'_>) -> Self {
        let streams = flat.stream_count();
        let mut lengths = vec![0u32; streams + flat.thread_count()];
        let mut places = vec![(0, 0); flat.instances().len()];
        let mut issued = vec![(0, 0); flat.instances().len()];
        let mut lanes: HashMap<(Option<StreamId>, usize), usize> = HashMap::new();
        for id in flat.ids() {
            let instance = &flat[id];
            let thread = streams + instance.thread.index();
            issued[id.index()] = match (instance.role, instance.parent) {
                (Role::Replayed | Role::Part, Some(parent)) => places[parent.index()],
                _ => (thread as u32, lengths[thread]),
            };
            let mut place = |chain: usize| {
                if chain == lengths.len() {
                    lengths.push(0);
                }
                let position = lengths[chain];
                lengths[chain] += 1;
                (chain as u32, position)
            };
            match (instance.role, instance.stream) {
                (Role::Part, _) => continue,
                (_, Some(stream)) if instance.is_task() => {
                    places[id.index()] = place(stream.index());
                }
                _ => places[id.index()] = place(thread),
            }
            for (part, lane) in flat.inside(id).zip(part_lanes(flat, id)) {
                let next = lengths.len();
                let chain = *lanes.entry((instance.stream, lane)).or_insert(next);
                if chain == lengths.len() {
                    lengths.push(0);
                }
                places[part.index()] = (chain as u32, lengths[chain]);
                lengths[chain] += 1;
            }
        }
        Self {
            places,
            issued,
            count: lengths.len(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn place(&self, id: InstanceId) -> (usize, u32) {
        let (chain, position) = self.places[id.index()];
        (chain as usize, position)
    }

    /// What a node knows of a chain by its very place; none for the nodes of collectives.
    pub(super) fn own(&self, node: usize) -> Option<Prefix> {
        let instance = node / 3;
        let &(chain, position) = self.places.get(instance)?;
        let (chain, count) = match node % 3 {
            0 => self.issued[instance],
            1 => (chain, position),
            _ => (chain, position + 1),
        };
        let chain = chain as usize;
        Some(Prefix { chain, count })
    }
}

/// The lane of each part of a group or super kernel, if `id` is one; nothing otherwise.
fn part_lanes(flat: &Flat<'_>, id: InstanceId) -> Vec<usize> {
    match &flat[id].op.kind {
        OpKind::SuperKernel(kernel) => {
            let mut lanes = HashMap::new();
            let lane_of = |task| {
                let next = lanes.len();
                *lanes
                    .entry(lane(task, kernel.stream_fusion))
                    .or_insert(next)
            };
            kernel.parts.iter().map(lane_of).collect()
        }
        OpKind::Group(group) => {
            // The last task of each lane.
            let mut tails: Vec<&str> = Vec::new();
            let mut lanes = Vec::with_capacity(group.tasks.len());
            for task in &group.tasks {
                let follows = |tail: &&str| task.after.iter().any(|id| id.as_str() == *tail);
                let lane = tails.iter().position(follows).unwrap_or(tails.len());
                match tails.get_mut(lane) {
                    Some(tail) => *tail = task.op.id.as_str(),
                    None => tails.push(task.op.id.as_str()),
                }
                lanes.push(lane);
            }
            lanes
        }
        _ => Vec::new(),
    }
}
