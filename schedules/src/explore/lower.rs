//! From a schedule to calls on the model of ACL.
//!
//! Nothing here decides what waits for what: each op becomes the calls that a program would make, in
//! the order in which the schedule lists them, and the model does the rest.

use std::collections::HashMap;

use super::ExploreError;
use crate::acl::{
    Call, Comm, Config, EVENT_EXTERNAL, EVENT_SYNC, EVENT_TIME_LINE, Event, Graph, Machine, Notify,
    PartCall, Reply, Stream, Value,
};
use crate::flat::{
    EventId, Flat, GraphId, Instance, InstanceId, NotifyId, Role, StreamId, Target, WordId,
};
use crate::ir::{CollectiveKind, Compare, EventKind, HostKind, Limits, OpId, OpKind, Record};

/// What a host thread does next.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) instance: InstanceId,
    pub(super) action: Action,
    /// Items of other threads that were entered before: thread and position.
    pub(super) after: Vec<(usize, usize)>,
}

#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Something that only the host does.
    Host,
    /// A call that queues a task on a stream, or nothing.
    Queue(Call, Stream),
    /// A call that waits.
    Wait(Call),
}

/// A schedule as calls.
#[derive(Debug)]
pub(super) struct Lowered {
    /// The machine with everything created and captured.
    pub(super) machine: Machine,
    pub(super) threads: Vec<Vec<Item>>,
    /// Per instance on a stream: the one before it there.
    pub(super) before: Vec<Option<InstanceId>>,
    /// Per instance: whether its call only adds a task to a queue, at whatever time it is made. Such
    /// a call commutes with all that can happen meanwhile, so that runs in which it is made as early as
    /// possible show everything (partial-order reduction).
    pub(super) commutes: Vec<bool>,
    /// Per launch: what it replays that capture dropped.
    pub(super) dropped: HashMap<InstanceId, Vec<InstanceId>>,
}

/// The thread that creates and captures.
const SETUP: u32 = u32::MAX;

pub(super) fn lower(flat: &Flat<'_>, limits: &Limits) -> Result<Lowered, ExploreError> {
    let devices = flat.ranks().len() as u32;
    let mut lowerer = Lowerer {
        flat,
        machine: Machine::new(Config::new(devices.max(1), limits)),
        streams: Vec::new(),
        events: Vec::new(),
        notifies: Vec::new(),
        comms: HashMap::new(),
        graphs: HashMap::new(),
        dropped: HashMap::new(),
        external: flat
            .schedule()
            .ranks
            .iter()
            .any(|group| group.program.is_none()),
    };
    lowerer.create()?;
    lowerer.capture()?;
    let threads = lowerer.threads();
    let entries = flat.instances().len() as u64 * u64::from(limits.value_wait_entries.max(1));
    let queues_fill = entries > u64::from(limits.queue_tasks);
    let mut tails: HashMap<StreamId, InstanceId> = HashMap::new();
    let before = |id: InstanceId| {
        let instance = &flat[id];
        let stream = instance.stream.filter(|_| instance.is_task())?;
        tails.insert(stream, id)
    };
    Ok(Lowered {
        before: flat.ids().map(before).collect(),
        commutes: flat
            .instances()
            .iter()
            .map(|i| commutes(i, queues_fill))
            .collect(),
        machine: lowerer.machine,
        threads,
        dropped: lowerer.dropped,
    })
}

/// Communicator, group, and the two ranks of a message.
type CommKey<'s> = (&'s str, usize, Option<(u32, u32)>);

struct Lowerer<'f, 's> {
    flat: &'f Flat<'s>,
    machine: Machine,
    streams: Vec<Stream>,
    events: Vec<Event>,
    notifies: Vec<Notify>,
    comms: HashMap<CommKey<'s>, (Comm, Vec<u32>)>,
    graphs: HashMap<GraphId, Graph>,
    dropped: HashMap<InstanceId, Vec<InstanceId>>,
    external: bool,
}

impl<'s> Lowerer<'_, 's> {
    fn device(&self, rank: u32) -> u32 {
        let at = self
            .flat
            .ranks()
            .binary_search_by_key(&rank, |entry| entry.0);
        at.unwrap_or(0) as u32
    }

    fn setup(&mut self, rank: u32, call: &Call) -> Result<Value, ExploreError> {
        let device = self.device(rank);
        self.machine.call(SETUP, &Call::SetDevice { device });
        match self.machine.call(SETUP, call) {
            Reply::Ok(value) => Ok(value),
            Reply::Err(code) => Err(ExploreError::Setup {
                call: format!("{call:?}"),
                code,
            }),
            Reply::Blocks | Reply::Undefined => Ok(Value::None),
        }
    }

    fn create(&mut self) -> Result<(), ExploreError> {
        for id in (0..self.flat.stream_count()).map(StreamId::new) {
            let rank = self.flat.stream(id).rank;
            if let Value::Stream(stream) = self.setup(rank, &Call::CreateStream)? {
                self.streams.push(stream);
            }
        }
        for id in (0..self.flat.event_count()).map(EventId::new) {
            let (rank, event) = self.flat.event(id);
            let call = match event.kind {
                EventKind::Ex => Call::CreateEventExWithFlag { flags: EVENT_SYNC },
                EventKind::Default => Call::CreateEvent,
                EventKind::Sync => Call::CreateEventWithFlag { flags: EVENT_SYNC },
                EventKind::External => Call::CreateEventWithFlag {
                    flags: EVENT_EXTERNAL,
                },
                EventKind::Timeline => Call::CreateEventExWithFlag {
                    flags: EVENT_TIME_LINE,
                },
            };
            if let Value::Event(event) = self.setup(rank, &call)? {
                self.events.push(event);
            }
        }
        for id in (0..self.flat.notify_count()).map(NotifyId::new) {
            let rank = self.flat.notify(id).0;
            if let Value::Notify(notify) = self.setup(rank, &Call::CreateNotify)? {
                self.notifies.push(notify);
            }
        }
        for id in self.flat.ids() {
            let Some((key, ranks)) = self.comm_key(id) else {
                continue;
            };
            if !self.comms.contains_key(&key) {
                let comm = self.machine.add_communicator(ranks.len() as u32);
                self.comms.insert(key, (comm, ranks));
            }
        }
        let ranks: Vec<u32> = self.flat.ranks().iter().map(|entry| entry.0).collect();
        for thread in 0..self.flat.thread_count() {
            let rank = self.flat.thread(crate::flat::ThreadId::new(thread)).0;
            if ranks.contains(&rank) {
                let device = self.device(rank);
                self.machine
                    .call(thread as u32, &Call::SetDevice { device });
            }
        }
        Ok(())
    }

    /// What an instance's collective is counted with, and the ranks that run a program among them.
    fn comm_key(&self, id: InstanceId) -> Option<(CommKey<'s>, Vec<u32>)> {
        let instance = &self.flat[id];
        let comm = instance.op.comm.as_ref()?;
        let collective = self.flat.collective(instance.collective?);
        let group = &collective.communicator.groups[collective.group];
        let peer = comm.peer.and_then(|peer| group.get(peer as usize)).copied();
        let (pair, ranks) = match (comm.kind, peer) {
            (CollectiveKind::Send, Some(peer)) => {
                (Some((instance.rank, peer)), vec![instance.rank, peer])
            }
            (CollectiveKind::Receive, Some(peer)) => {
                (Some((peer, instance.rank)), vec![instance.rank, peer])
            }
            _ => (None, group.clone()),
        };
        let mut ranks: Vec<u32> = ranks
            .into_iter()
            .filter(|&rank| self.flat.runs(rank))
            .collect();
        ranks.sort_unstable();
        let name = collective.communicator.name.as_str();
        Some(((name, collective.group, pair), ranks))
    }

    /// Captures the program of every graph, as its first launch replays it.
    fn capture(&mut self) -> Result<(), ExploreError> {
        for launch in self.flat.ids() {
            let instance = &self.flat[launch];
            let (OpKind::GraphLaunch(_), Target::Graph(graph)) =
                (&instance.op.kind, instance.target)
            else {
                continue;
            };
            let replayed: Vec<InstanceId> = self
                .flat
                .inside(launch)
                .filter(|&id| self.flat[id].role == Role::Replayed)
                .collect();
            let relative = |id: InstanceId| id.index() - launch.index() - 1;
            if !self.graphs.contains_key(&graph) {
                let rank = instance.rank;
                let Value::Stream(origin) = self.setup(rank, &Call::CreateStream)? else {
                    continue;
                };
                let begin = Call::CaptureBegin {
                    stream: origin,
                    mode: Default::default(),
                };
                self.setup(rank, &begin)?;
                for &id in &replayed {
                    let Some(stream) = self.flat[id].stream else {
                        continue;
                    };
                    let stream = self.streams[stream.index()];
                    self.setup(rank, &Call::BindStream { origin, stream })?;
                }
                for &id in &replayed {
                    if let Action::Queue(call, _) = self.action(id) {
                        // What ACL refuses is not in the graph.
                        self.machine.tagged(SETUP, &call, Some(relative(id) as u32));
                    }
                }
                let end = self.setup(rank, &Call::CaptureEnd { stream: origin })?;
                if let Value::Graph(handle) = end {
                    self.graphs.insert(graph, handle);
                }
            }
            let Some(&handle) = self.graphs.get(&graph) else {
                continue;
            };
            let kept = self.machine.graph_tags(handle);
            let dropped = replayed
                .into_iter()
                .filter(|&id| !kept.contains(&(relative(id) as u32)));
            self.dropped.insert(launch, dropped.collect());
        }
        Ok(())
    }

    fn threads(&self) -> Vec<Vec<Item>> {
        let mut threads: Vec<Vec<Item>> = vec![Vec::new(); self.flat.thread_count()];
        let mut touched: HashMap<Object<'s>, (usize, usize)> = HashMap::new();
        for id in self.flat.ids() {
            let instance = &self.flat[id];
            if instance.role != Role::Issued {
                continue;
            }
            let thread = instance.thread.index();
            let at = (thread, threads[thread].len());
            let before = self
                .objects(id)
                .into_iter()
                .filter_map(|object| touched.insert(object, at));
            let after = before.filter(|&(other, _)| other != thread).collect();
            threads[thread].push(Item {
                instance: id,
                action: self.action(id),
                after,
            });
        }
        threads
    }

    /// What a call touches, so that calls on it are made in list order.
    fn objects(&self, id: InstanceId) -> Vec<Object<'s>> {
        let instance = &self.flat[id];
        let mut objects: Vec<Object<'s>> =
            instance.stream.map(Object::Stream).into_iter().collect();
        match instance.target {
            Target::Event(event) => objects.push(Object::Event(event)),
            Target::Graph(graph) => objects.push(Object::Graph(graph)),
            Target::Stream(stream) => objects.push(Object::Stream(stream)),
            Target::Device => {
                let streams = (0..self.flat.stream_count()).map(StreamId::new);
                let own = streams.filter(|&stream| {
                    let info = self.flat.stream(stream);
                    info.rank == instance.rank && info.graph.is_none()
                });
                objects.extend(own.map(Object::Stream));
            }
            Target::None | Target::Notify(_) | Target::Word(_) => {}
        }
        for inner in std::iter::once(id).chain(self.flat.inside(id)) {
            let inner = &self.flat[inner];
            if let Some(comm) = &inner.op.comm {
                objects.push(Object::Comm(inner.rank, comm.communicator.as_str()));
            }
            if let (true, Role::Replayed, Target::Event(event)) =
                (is_external(inner), inner.role, inner.target)
            {
                objects.push(Object::Event(event));
            }
        }
        objects.sort_unstable();
        objects.dedup();
        objects
    }

    fn action(&self, id: InstanceId) -> Action {
        let instance = &self.flat[id];
        if let OpKind::Host(HostKind::Synchronise(_)) = instance.op.kind {
            return Action::Wait(match instance.target {
                Target::Stream(stream) => Call::SynchronizeStream {
                    stream: self.streams[stream.index()],
                    limited: false,
                },
                Target::Event(event) => Call::SynchronizeEvent {
                    event: self.events[event.index()],
                    limited: false,
                },
                _ => Call::SynchronizeDevice,
            });
        }
        match instance.stream {
            Some(stream) if instance.is_task() => {
                let stream = self.streams[stream.index()];
                Action::Queue(self.queue(id, stream), stream)
            }
            _ => Action::Host,
        }
    }

    fn queue(&self, id: InstanceId, stream: Stream) -> Call {
        let instance = &self.flat[id];
        let event = || match instance.target {
            Target::Event(event) => self.events[event.index()],
            _ => Event(u32::MAX),
        };
        let record = |external| Call::RecordEvent {
            event: event(),
            stream,
            external,
        };
        match &instance.op.kind {
            OpKind::Record(Record { external, .. }) => record(*external),
            OpKind::Host(HostKind::RecordExternal { .. }) => record(false),
            OpKind::Wait(wait) => Call::StreamWaitEvent {
                stream,
                event: event(),
                external: wait.external,
            },
            OpKind::EventReset(_) => Call::ResetEvent {
                event: event(),
                stream,
            },
            OpKind::Host(HostKind::Function { .. }) => Call::LaunchHostFunc {
                stream,
                // Whether a function calls ACL is for the rules; the order assumes that it returns.
                calls_acl: false,
            },
            OpKind::Copy(copy) if copy.blocking && instance.role == Role::Issued => {
                Call::MemcpyPageable { stream }
            }
            OpKind::GraphLaunch(_) => match instance.target {
                Target::Graph(graph) => Call::ExecuteAsync {
                    graph: self.graphs.get(&graph).copied().unwrap_or(Graph(u32::MAX)),
                    stream,
                },
                _ => Call::LaunchTask { stream },
            },
            OpKind::Group(group) => Call::LaunchGroup {
                stream,
                parts: self.parts(id, stream, |at| {
                    let after = &group.tasks[at].after;
                    let place =
                        |id: &OpId| group.tasks[..at].iter().position(|task| task.op.id == *id);
                    after.iter().filter_map(place).collect()
                }),
            },
            OpKind::SuperKernel(kernel) => Call::LaunchGroup {
                stream,
                parts: self.parts(id, stream, |at| {
                    let earlier = &kernel.parts[..at];
                    let part = &kernel.parts[at];
                    let place = |id: &OpId| earlier.iter().position(|task| task.op.id == *id);
                    let mut after: Vec<usize> = part.after.iter().filter_map(place).collect();
                    after.extend(earlier.iter().rposition(|before| {
                        !kernel.stream_fusion || before.op.stream == part.op.stream
                    }));
                    after
                }),
            },
            _ => self.plain(id, stream),
        }
    }

    fn parts(
        &self,
        whole: InstanceId,
        stream: Stream,
        after: impl Fn(usize) -> Vec<usize>,
    ) -> Vec<PartCall> {
        let parts = self.flat.inside(whole).enumerate();
        let call = |(at, part)| PartCall {
            call: self.plain(part, stream),
            after: after(at),
        };
        parts.map(call).collect()
    }

    /// The call of anything that may be a part of a group.
    fn plain(&self, id: InstanceId, stream: Stream) -> Call {
        let instance = &self.flat[id];
        if let (Some((key, _)), Some(comm)) = (self.comm_key(id), &instance.op.comm)
            && let Some((handle, ranks)) = self.comms.get(&key)
        {
            let member = ranks.iter().position(|&rank| rank == instance.rank);
            return Call::Collective {
                comm: *handle,
                member: member.unwrap_or(0) as u32,
                kind: comm.kind,
                stream,
            };
        }
        match (&instance.op.kind, instance.target) {
            (OpKind::NotifyRecord(_), Target::Notify(notify)) => Call::RecordNotify {
                notify: self.notifies[notify.index()],
                stream,
            },
            (OpKind::NotifyWait(_), Target::Notify(notify)) if !self.given(instance) => {
                Call::WaitAndResetNotify {
                    notify: self.notifies[notify.index()],
                    stream,
                }
            }
            (OpKind::ValueWrite(write), Target::Word(word)) => Call::ValueWrite {
                device: self.flat.word(word).rank,
                address: address(word),
                value: write.value,
                stream,
            },
            (OpKind::ValueWait(wait), Target::Word(word)) => {
                let (value, compare) = match self.given(instance) {
                    // As long as a value wait, but met by a word that nobody writes.
                    true => (0, Compare::Eq),
                    false => (wait.value, wait.compare),
                };
                Call::ValueWait {
                    device: self.flat.word(word).rank,
                    address: address(word),
                    value,
                    compare,
                    stream,
                }
            }
            _ => Call::LaunchTask { stream },
        }
    }

    /// Whether only a rank whose program is unknown can give what this waits for.
    fn given(&self, wait: &Instance<'_>) -> bool {
        let gives = |other: &&Instance<'_>| {
            other.target == wait.target
                && matches!(
                    other.op.kind,
                    OpKind::NotifyRecord(_) | OpKind::ValueWrite(_)
                )
        };
        self.external && self.flat.instances().iter().find(gives).is_none()
    }
}

/// What blocks does not. Nor do waits where queues can get full: whether one takes an entry depends on
/// whether its record is done.
fn commutes(instance: &Instance<'_>, queues_fill: bool) -> bool {
    instance.role == Role::Issued
        && instance.is_task()
        && !instance.blocks_host()
        && !(queues_fill && matches!(instance.op.kind, OpKind::Wait(_)))
}

/// What calls touch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Object<'s> {
    Stream(StreamId),
    Event(EventId),
    Graph(GraphId),
    Comm(u32, &'s str),
}

fn is_external(instance: &Instance<'_>) -> bool {
    match &instance.op.kind {
        OpKind::Record(record) => record.external,
        OpKind::Wait(wait) => wait.external,
        _ => false,
    }
}

/// Words are apart from each other; where exactly does not matter.
fn address(word: WordId) -> u64 {
    word.index() as u64 * 8
}
