//! What host calls wait for: their turn, room in the queue, and what they synchronise.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ascsim_schedules::flat::{Binding, Flat, Instance, InstanceId, Role as Runs, StreamId, Target};
use ascsim_schedules::{HostKind, OpKind};

use crate::compiled::{Builder, Need, Point, Reason};
use crate::costs::Options;

/// Walks over the calls of a rank in issue order.
pub(super) struct Calls<'a, 's> {
    flat: &'a Flat<'s>,
    options: &'a Options,
    /// The last call that touched each object of the rank.
    touched: HashMap<Object<'s>, u32>,
    /// Per stream of the rank: its last task. In order, for device synchronisations.
    last: BTreeMap<u32, u32>,
    /// Per stream: tasks that may still be queued, with their entries, and the sum of these.
    queues: HashMap<u32, (VecDeque<(u32, u32)>, u32)>,
    /// The streams of each rank.
    streams: HashMap<u32, Vec<usize>>,
}

/// What calls of different threads touch in list order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Object<'s> {
    Stream(usize),
    Event(usize),
    Graph(usize),
    Communicator(&'s str),
}

impl<'a, 's> Calls<'a, 's> {
    pub(super) fn new(flat: &'a Flat<'s>, options: &'a Options) -> Self {
        let mut streams: HashMap<u32, Vec<usize>> = HashMap::new();
        for stream in 0..flat.stream_count() {
            let info = flat.stream(StreamId::new(stream));
            if info.graph.is_none() {
                streams.entry(info.rank).or_default().push(stream);
            }
        }
        Self {
            flat,
            options,
            touched: HashMap::new(),
            last: BTreeMap::new(),
            queues: HashMap::new(),
            streams,
        }
    }

    /// Forgets a rank.
    pub(super) fn end_rank(&mut self) {
        self.touched.clear();
        self.last.clear();
        self.queues.clear();
    }

    /// Adds what the call of an instance waits for. `task`: it puts a task on its stream.
    pub(super) fn add(&mut self, builder: &mut Builder, id: InstanceId, task: bool) {
        let instance = &self.flat[id];
        let number = id.index() as u32;
        if instance.role != Runs::Issued {
            return;
        }
        self.take_turn(builder, id);
        if synchronises(instance) {
            self.synchronise(builder, id);
        }
        if let (true, Some(stream)) = (task, instance.stream) {
            let stream = stream.index() as u32;
            self.enqueue(builder, instance, stream, number);
            self.last.insert(stream, number);
        }
    }

    /// Calls that touch one object are made in list order. One that blocks has been made when it
    /// starts to block.
    fn take_turn(&mut self, builder: &mut Builder, id: InstanceId) {
        let number = id.index() as u32;
        for object in self.objects(id) {
            let Some(on) = self.touched.insert(object, number) else {
                continue;
            };
            let other = &self.flat[InstanceId::new(on as usize)];
            if other.thread != self.flat[id].thread {
                let point = match synchronises(other) {
                    true => Point::Start,
                    false => Point::Issued,
                };
                let why = Reason::ListOrder;
                builder.host_need(number, Need { on, point, why });
            }
        }
    }

    /// The objects that a call touches; a graph launch also the communicators and outside events of
    /// what it replays.
    fn objects(&self, id: InstanceId) -> Vec<Object<'s>> {
        let instance = &self.flat[id];
        let stream = instance.stream.map(|id| Object::Stream(id.index()));
        let mut objects: Vec<_> = stream.into_iter().collect();
        match instance.target {
            Target::Event(id) => objects.push(Object::Event(id.index())),
            Target::Graph(id) => objects.push(Object::Graph(id.index())),
            Target::Stream(id) => objects.push(Object::Stream(id.index())),
            Target::Device => {
                let streams = self.streams.get(&instance.rank).into_iter().flatten();
                objects.extend(streams.map(|stream| Object::Stream(*stream)));
            }
            Target::None | Target::Notify(_) | Target::Word(_) => {}
        }
        for inner in std::iter::once(id).chain(self.flat.inside(id)) {
            let inner = &self.flat[inner];
            if let Some(comm) = &inner.op.comm {
                objects.push(Object::Communicator(comm.communicator.as_str()));
            }
            let external = match &inner.op.kind {
                OpKind::Record(record) => record.external,
                OpKind::Wait(wait) => wait.external,
                _ => false,
            };
            if let (true, Runs::Replayed, Target::Event(event)) =
                (external, inner.role, inner.target)
            {
                objects.push(Object::Event(event.index()));
            }
        }
        objects
    }

    /// What a synchronisation waits for.
    fn synchronise(&self, builder: &mut Builder, id: InstanceId) {
        let mut wait = |on: u32| {
            let (point, why) = (Point::End, Reason::Synchronise);
            builder.end_need(id.index() as u32, Need { on, point, why });
        };
        match self.flat[id].target {
            Target::Stream(stream) => {
                if let Some(last) = self.last.get(&(stream.index() as u32)) {
                    wait(*last);
                }
            }
            Target::Device => self.last.values().for_each(|last| wait(*last)),
            _ => {
                if let Some(Binding::Record(record)) = self.flat.binding(id) {
                    wait(record.index() as u32);
                }
            }
        }
    }

    /// A full queue holds the call until enough of the tasks before it have ended.
    fn enqueue(&mut self, builder: &mut Builder, instance: &Instance<'_>, stream: u32, task: u32) {
        let limits = &self.options.limits;
        let entries = match instance.op.kind {
            OpKind::ValueWait(_) => limits.value_wait_entries,
            _ => 1,
        };
        let (queue, taken) = self.queues.entry(stream).or_default();
        let mut leaves = None;
        while taken.saturating_add(entries) > limits.queue_tasks {
            let Some((first, entries)) = queue.pop_front() else {
                break;
            };
            *taken -= entries;
            leaves = Some(first);
        }
        if let Some(on) = leaves {
            builder.host_need(
                task,
                Need {
                    on,
                    point: Point::End,
                    why: Reason::QueueRoom,
                },
            );
        }
        queue.push_back((task, entries));
        *taken += entries;
    }
}

fn synchronises(instance: &Instance<'_>) -> bool {
    matches!(instance.op.kind, OpKind::Host(HostKind::Synchronise(_)))
}
