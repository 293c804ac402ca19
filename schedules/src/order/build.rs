//! Derives the direct requirements, op by op in issue order.

use std::collections::{HashMap, VecDeque};

use super::require::{Point, Requirements, Why};
use crate::flat::{
    Binding, CollectiveId, Flat, Instance, InstanceId, Role, StreamId, Target, ThreadId,
};
use crate::ir::{GroupTask, HostKind, Limits, OpKind};

/// What the builder remembers of a call that touched an object.
type Touch = Option<(usize, ThreadId)>;

/// Derives requirements in one pass over the instances.
pub(super) struct Builder<'f, 's> {
    flat: &'f Flat<'s>,
    limits: &'f Limits,
    out: Requirements,
    links: Vec<(u32, u32, Why)>,
    returned: Vec<Option<usize>>,
    tails: Vec<Option<InstanceId>>,
    queues: Vec<[Queue; 2]>,
    launches: Vec<Option<InstanceId>>,
    touched_streams: Vec<Touch>,
    touched_events: Vec<Touch>,
    touched_graphs: Vec<Touch>,
    touched_communicators: HashMap<(u32, &'s str), Touch>,
    rank_streams: HashMap<u32, Vec<StreamId>>,
}

/// The entries of a stream's queue that may be unfinished.
#[derive(Clone, Debug, Default)]
struct Queue {
    entries: VecDeque<(InstanceId, u64)>,
    sum: u64,
}

impl Queue {
    /// Adds a task; the latest task that must be done for that, if it was not needed before.
    fn push(&mut self, task: InstanceId, entries: u64, limit: u64) -> Option<InstanceId> {
        if entries == 0 {
            // It does not enter the queue.
            return None;
        }
        self.entries.push_back((task, entries));
        self.sum += entries;
        let mut popped = None;
        while self.sum > limit && self.entries.len() > 1 {
            if let Some((task, entries)) = self.entries.pop_front() {
                self.sum -= entries;
                popped = Some(task);
            }
        }
        popped
    }
}

impl<'f, 's> Builder<'f, 's> {
    pub(super) fn new(flat: &'f Flat<'s>, limits: &'f Limits) -> Self {
        let streams = flat.stream_count();
        let mut rank_streams: HashMap<u32, Vec<StreamId>> = HashMap::new();
        for id in (0..streams).map(StreamId::new) {
            let info = flat.stream(id);
            if info.graph.is_none() {
                rank_streams.entry(info.rank).or_default().push(id);
            }
        }
        Self {
            out: Requirements {
                instances: flat.instances().len(),
                collectives: flat.collectives().len(),
                offsets: Vec::new(),
                edges: Vec::new(),
                inexact_queues: Vec::new(),
            },
            links: Vec::with_capacity(flat.instances().len() * 5),
            returned: vec![None; flat.thread_count()],
            tails: vec![None; streams],
            queues: vec![Default::default(); streams],
            launches: vec![None; flat.graph_count()],
            touched_streams: vec![None; streams],
            touched_events: vec![None; flat.event_count()],
            touched_graphs: vec![None; flat.graph_count()],
            touched_communicators: HashMap::new(),
            rank_streams,
            flat,
            limits,
        }
    }

    pub(super) fn build(mut self) -> Requirements {
        for id in self.flat.ids() {
            let instance = self.flat[id];
            self.life(id, &instance);
            match instance.role {
                Role::Issued => self.call(id, &instance),
                Role::Replayed | Role::Part => {
                    if let Some(parent) = instance.parent {
                        let why = match instance.role {
                            Role::Part => Why::Group,
                            _ => Why::Graph,
                        };
                        self.link(Point::issue(id), Point::start(parent).node(), why);
                    }
                }
            }
            if instance.is_task() {
                self.task(id, &instance);
            }
            match &instance.op.kind {
                OpKind::Group(group) => self.group(id, &group.tasks),
                OpKind::SuperKernel(kernel) => {
                    self.super_kernel(id, &kernel.parts, kernel.stream_fusion);
                }
                OpKind::GraphLaunch(_) => self.launch(id, &instance),
                _ => {}
            }
        }
        for index in 0..self.flat.collectives().len() {
            let id = CollectiveId::new(index);
            let gate = self.out.gate(id);
            let collective = self.flat.collective(id);
            for &member in collective.members() {
                self.link_node(gate, Point::start(member).node(), Why::Collective);
                let from = match collective.completes() {
                    true => gate,
                    false => self.out.never(),
                };
                self.link(Point::done(member), from, Why::Collective);
            }
        }
        self.finish()
    }

    fn life(&mut self, id: InstanceId, instance: &Instance<'_>) {
        self.link(Point::start(id), Point::issue(id).node(), Why::Life);
        self.link(Point::done(id), Point::start(id).node(), Why::Life);
        match self.flat.binding(id) {
            Some(Binding::Record(record)) if instance.is_task() => {
                self.link(Point::start(id), Point::done(record).node(), Why::Event);
            }
            Some(Binding::Record(record)) => {
                self.link(Point::done(id), Point::done(record).node(), Why::Sync);
            }
            _ => {}
        }
    }

    /// A call of the host: after the call before it on its thread, and after earlier calls on the
    /// objects it touches.
    fn call(&mut self, id: InstanceId, instance: &Instance<'s>) {
        let synchronises = matches!(instance.op.kind, OpKind::Host(HostKind::Synchronise(_)));
        let issued = match instance.is_task() || synchronises {
            true => Point::issue(id),
            false => Point::done(id),
        }
        .node();
        let thread = instance.thread;
        if let Some(before) = self.returned[thread.index()] {
            self.link(Point::issue(id), before, Why::Thread);
        }
        self.returned[thread.index()] = Some(match instance.is_task() {
            true if !instance.blocks_host() => issued,
            _ => Point::done(id).node(),
        });

        let mut before: Vec<Touch> = Vec::new();
        let touch = (issued, thread);
        if let Some(stream) = instance.stream {
            before.push(self.touched_streams[stream.index()].replace(touch));
        }
        match instance.target {
            Target::Event(event) => {
                before.push(self.touched_events[event.index()].replace(touch));
            }
            Target::Graph(graph) => {
                before.push(self.touched_graphs[graph.index()].replace(touch));
            }
            Target::Stream(stream) => {
                before.push(self.touched_streams[stream.index()].replace(touch));
                self.sync(id, stream);
            }
            Target::Device => {
                for stream in self
                    .rank_streams
                    .get(&instance.rank)
                    .cloned()
                    .unwrap_or_default()
                {
                    before.push(self.touched_streams[stream.index()].replace(touch));
                    self.sync(id, stream);
                }
            }
            Target::None | Target::Notify(_) | Target::Word(_) => {}
        }
        for member in std::iter::once(id).chain(self.flat.inside(id)) {
            let inner = self.flat[member];
            if let Some(comm) = &inner.op.comm {
                let key = (instance.rank, comm.communicator.as_str());
                let entry = self.touched_communicators.entry(key).or_default();
                before.push(entry.replace(touch));
            }
            let external = match &inner.op.kind {
                OpKind::Record(record) => record.external,
                OpKind::Wait(wait) => wait.external,
                _ => false,
            };
            if let (true, Role::Replayed, Target::Event(event)) =
                (external, inner.role, inner.target)
            {
                before.push(self.touched_events[event.index()].replace(touch));
            }
        }
        for (node, other) in before.into_iter().flatten() {
            // Calls of one thread are in order anyway.
            if other != thread {
                self.link(Point::issue(id), node, Why::Object);
            }
        }
        if instance.is_task() {
            self.queue(id, instance);
        }
    }

    fn sync(&mut self, id: InstanceId, stream: StreamId) {
        if let Some(last) = self.tails[stream.index()] {
            self.link(Point::done(id), Point::done(last).node(), Why::Sync);
        }
    }

    fn queue(&mut self, id: InstanceId, instance: &Instance<'_>) {
        let Some(stream) = instance.stream else {
            return;
        };
        let [least, most] = match (&instance.op.kind, self.flat.binding(id)) {
            (OpKind::ValueWait(_), _) => [u64::from(self.limits.value_wait_entries); 2],
            (OpKind::Wait(_), Some(Binding::Record(_))) => [0, 1],
            (_, Some(Binding::SameStream(_) | Binding::Unrecorded | Binding::Refused(_))) => [0, 0],
            _ => [1, 1],
        };
        let limit = u64::from(self.limits.queue_tasks);
        let [certain, possible] = &mut self.queues[stream.index()];
        let certain = certain.push(id, least, limit);
        let possible = possible.push(id, most, limit);
        if certain != possible {
            self.out.inexact_queues.push(id);
        }
        if let Some(task) = certain {
            self.link(Point::issue(id), Point::done(task).node(), Why::Queue);
        }
    }

    fn task(&mut self, id: InstanceId, instance: &Instance<'_>) {
        if let Some(stream) = instance.stream
            && let Some(before) = self.tails[stream.index()].replace(id)
        {
            self.link(Point::start(id), Point::done(before).node(), Why::Stream);
        }
    }

    fn group(&mut self, whole: InstanceId, tasks: &[GroupTask]) {
        let parts: Vec<InstanceId> = self.flat.inside(whole).collect();
        let ids = parts
            .iter()
            .zip(tasks)
            .map(|(&part, task)| (task.op.id.as_str(), part));
        let by_id: HashMap<&str, InstanceId> = ids.collect();
        for (&part, task) in parts.iter().zip(tasks) {
            for before in task.after.iter().filter_map(|id| by_id.get(id.as_str())) {
                self.link(Point::start(part), Point::done(*before).node(), Why::Group);
            }
            self.link(Point::done(whole), Point::done(part).node(), Why::Group);
        }
    }

    fn super_kernel(&mut self, whole: InstanceId, tasks: &[GroupTask], fused: bool) {
        self.group(whole, tasks);
        let mut tails: HashMap<Option<&str>, InstanceId> = HashMap::new();
        for (part, task) in self.flat.inside(whole).zip(tasks) {
            let lane = lane(task, fused);
            if let Some(before) = tails.insert(lane, part) {
                self.link(Point::start(part), Point::done(before).node(), Why::Group);
            }
        }
    }

    fn launch(&mut self, id: InstanceId, instance: &Instance<'_>) {
        if let Target::Graph(graph) = instance.target
            && let Some(before) = self.launches[graph.index()].replace(id)
        {
            self.link(Point::start(id), Point::done(before).node(), Why::Graph);
        }
        let mut last: HashMap<StreamId, InstanceId> = HashMap::new();
        for inner in self.flat.inside(id) {
            if let (Role::Replayed, Some(stream)) = (self.flat[inner].role, self.flat[inner].stream)
            {
                last.insert(stream, inner);
            }
        }
        for tail in last.into_values() {
            self.link(Point::done(id), Point::done(tail).node(), Why::Graph);
        }
    }

    fn link(&mut self, to: Point, from: usize, why: Why) {
        self.link_node(to.node(), from, why);
    }

    fn link_node(&mut self, to: usize, from: usize, why: Why) {
        // Three nodes per instance stay below 2^32 for all that `Flat` unrolls by default.
        self.links.push((to as u32, from as u32, why));
    }

    fn finish(mut self) -> Requirements {
        self.links.sort_unstable();
        self.links.dedup();
        let mut out = self.out;
        out.offsets = offsets(out.nodes(), self.links.iter().map(|link| link.0));
        out.edges = self
            .links
            .into_iter()
            .map(|(_, from, why)| (from, why))
            .collect();
        out
    }
}

/// Where each node's entries begin in a list sorted by node, and where the last ones end.
fn offsets(nodes: usize, sorted: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut offsets = vec![0u32; nodes + 1];
    for node in sorted {
        offsets[node as usize + 1] += 1;
    }
    for node in 0..nodes {
        offsets[node + 1] += offsets[node];
    }
    offsets
}

/// The lane of a super kernel's part: parts of one lane run one after the other.
pub(super) fn lane(task: &GroupTask, fused: bool) -> Option<&str> {
    task.op
        .stream
        .as_ref()
        .filter(|_| fused)
        .map(|name| name.as_str())
}
