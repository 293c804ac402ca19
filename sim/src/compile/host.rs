//! What host calls wait for: their turn, room in the queue, and what they synchronise.

use std::collections::{HashMap, VecDeque};

use ascsim_schedules::flat::{Binding, Flat, Instance, InstanceId, Role as Runs, Target};
use ascsim_schedules::{HostKind, OpKind};

use crate::compiled::{Builder, Need, Point, Reason};
use crate::costs::Options;

/// Walks over the calls of a rank in issue order.
pub(super) struct Calls<'a, 's> {
    flat: &'a Flat<'s>,
    options: &'a Options,
    /// The last call that touched each object of the rank.
    touched: HashMap<Object, u32>,
    /// The streams of the rank in the order of their first task, each with its last task.
    streams: Vec<u32>,
    last: HashMap<u32, u32>,
    /// Per stream: tasks that may still be queued, with their entries, and the sum of these.
    queues: HashMap<u32, (VecDeque<(u32, u32)>, u32)>,
}

/// What calls of different threads touch in list order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Object {
    Stream(usize),
    Event(usize),
    Graph(usize),
    /// By the address of its declaration, which the schedule holds once.
    Communicator(*const ascsim_schedules::Communicator),
}

impl<'a, 's> Calls<'a, 's> {
    pub(super) fn new(flat: &'a Flat<'s>, options: &'a Options) -> Self {
        Self {
            flat,
            options,
            touched: HashMap::new(),
            streams: Vec::new(),
            last: HashMap::new(),
            queues: HashMap::new(),
        }
    }

    /// Forgets a rank.
    pub(super) fn end_rank(&mut self) {
        self.touched.clear();
        self.streams.clear();
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
        self.take_turn(builder, instance, number);
        if let OpKind::Host(HostKind::Synchronise(_)) = instance.op.kind {
            self.synchronise(builder, id, number);
        }
        if let (true, Some(stream)) = (task, instance.stream) {
            let stream = stream.index() as u32;
            self.enqueue(builder, instance, stream, number);
            if self.last.insert(stream, number).is_none() {
                self.streams.push(stream);
            }
        }
    }

    /// Calls that touch one object are made in list order.
    fn take_turn(&mut self, builder: &mut Builder, instance: &Instance<'_>, number: u32) {
        let stream = instance.stream.map(|id| Object::Stream(id.index()));
        let target = match instance.target {
            Target::Event(id) => Some(Object::Event(id.index())),
            Target::Graph(id) => Some(Object::Graph(id.index())),
            Target::Stream(id) => Some(Object::Stream(id.index())),
            Target::None | Target::Notify(_) | Target::Word(_) | Target::Device => None,
        };
        let communicator = instance.collective.map(|id| {
            Object::Communicator(std::ptr::from_ref(self.flat.collective(id).communicator))
        });
        for object in [stream, target, communicator].into_iter().flatten() {
            let Some(before) = self.touched.insert(object, number) else {
                continue;
            };
            let other = &self.flat[InstanceId::new(before as usize)];
            if other.thread != instance.thread {
                builder.host_need(
                    number,
                    Need {
                        on: before,
                        point: Point::Issued,
                        why: Reason::ListOrder,
                    },
                );
            }
        }
    }

    fn synchronise(&mut self, builder: &mut Builder, id: InstanceId, number: u32) {
        let mut wait = |on: u32| {
            builder.host_need(
                number,
                Need {
                    on,
                    point: Point::End,
                    why: Reason::Synchronise,
                },
            );
        };
        match self.flat[id].target {
            Target::Stream(stream) => {
                if let Some(last) = self.last.get(&(stream.index() as u32)) {
                    wait(*last);
                }
            }
            Target::Device => {
                let last = self.streams.iter().filter_map(|s| self.last.get(s));
                last.for_each(|last| wait(*last));
            }
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
