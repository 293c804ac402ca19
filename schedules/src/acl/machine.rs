//! Calls: what each does to the machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::call::{
    EVENT_CAPTURE_STREAM_PROGRESS, EVENT_EXTERNAL, EVENT_IPC, EVENT_SYNC, EVENT_TIME_LINE,
};
use super::state::{
    CaptureState, CommState, Config, EventState, GraphState, InCall, NotifyState, RecordId,
    StreamState, Task, TaskKind, Words,
};
use super::{AclError, Call, Comm, Event, Graph, Notify, Reply, Stream, Value};
use crate::ir::EventKind;

/// The machine: devices, streams, events, notifies, words, captures and graphs.
///
/// Host threads make [`Machine::call`]s; devices make [`Machine::step`]s. All else is deterministic,
/// so that a run is a sequence of calls and steps. Equal states behave alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    pub(super) config: Config,
    /// The device of each thread.
    threads: BTreeMap<u32, u32>,
    pub(super) streams: Vec<StreamState>,
    pub(super) events: Vec<EventState>,
    pub(super) notifies: Vec<NotifyState>,
    pub(super) words: Words,
    pub(super) captures: Vec<CaptureState>,
    pub(super) graphs: Vec<GraphState>,
    pub(super) comms: Vec<CommState>,
    pub(super) in_call: BTreeMap<u32, InCall>,
}

/// What inner functions return: an error code, or nothing to report.
pub(super) type Outcome = Result<Reply, AclError>;

impl Machine {
    /// A machine with its devices' default streams and nothing else.
    pub fn new(config: Config) -> Self {
        let mut machine = Self {
            config,
            threads: BTreeMap::new(),
            streams: Vec::new(),
            events: Vec::new(),
            notifies: Vec::new(),
            words: Words::new(),
            captures: Vec::new(),
            graphs: Vec::new(),
            comms: Vec::new(),
            in_call: BTreeMap::new(),
        };
        for device in 0..config.devices {
            machine.new_stream(device, false);
        }
        machine
    }

    /// Adds a communicator of `members` members.
    pub fn add_communicator(&mut self, members: u32) -> Comm {
        self.comms.push(CommState {
            members,
            issued: vec![0; members as usize],
            started: Vec::new(),
        });
        Comm(self.comms.len() as u32 - 1)
    }

    /// Makes a call. A thread whose call [blocks](Reply::Blocks) makes the same call again after a
    /// step; it may be given up where its real counterpart would still be inside.
    pub fn call(&mut self, thread: u32, call: &Call) -> Reply {
        self.tagged(thread, call, None)
    }

    /// Makes a call whose task, if it queues one, carries a tag that steps report. A task that is
    /// captured carries it relative to its launch: tag `n` becomes `launch + 1 + n`. Parts of a group
    /// with tag `g` have the tags from `g + 1` on.
    pub fn tagged(&mut self, thread: u32, call: &Call, tag: Option<u32>) -> Reply {
        if let Some(entered) = self.in_call.get(&thread)
            && entered.call == *call
        {
            if let Some(error) = entered.error {
                self.in_call.remove(&thread);
                return Reply::Err(error);
            }
            if entered.targets.is_some() {
                return self.finish(thread);
            }
        }
        let reply = self.perform(thread, call, tag).unwrap_or_else(Reply::Err);
        if reply == Reply::Blocks {
            self.in_call.entry(thread).or_insert_with(|| InCall {
                call: call.clone(),
                error: None,
                targets: None,
            });
        } else {
            self.in_call.remove(&thread);
        }
        reply
    }

    /// How many tasks have been queued on a stream so far; 0 for an unknown stream.
    pub fn queued(&self, stream: Stream) -> u32 {
        let state = self.streams.get(stream.index());
        state.map_or(0, |state| state.retired + state.queue.len() as u32)
    }

    /// The tags of what a graph replays, as captured; none for an unknown graph.
    pub fn graph_tags(&self, graph: Graph) -> Vec<u32> {
        let body = self.graphs.get(graph.index()).map(|state| &*state.body);
        let tasks = body.into_iter().flatten().flat_map(|(_, tasks)| tasks);
        tasks.filter_map(|task| task.tag).collect()
    }

    /// Whether a thread is inside a synchronisation or copy and waits for what was queued before it
    /// returns.
    pub fn is_inside(&self, thread: u32) -> bool {
        let entered = self.in_call.get(&thread);
        entered.is_some_and(|entered| entered.targets.is_some())
    }

    fn perform(&mut self, thread: u32, call: &Call, tag: Option<u32>) -> Outcome {
        if let Call::SetDevice { device } = *call {
            if device >= self.config.devices {
                return Err(AclError::INVALID_DEVICEID);
            }
            self.threads.insert(thread, device);
            return Ok(Reply::DONE);
        }
        let device = self.device(thread)?;
        match *call {
            Call::SetDevice { .. } | Call::Malloc => Ok(Reply::DONE),
            Call::CreateStream => {
                let stream = self.new_stream(device, false);
                Ok(Reply::Ok(Value::Stream(stream)))
            }
            Call::DestroyStream { stream } => {
                self.not_capturing(stream)?;
                if self.streams[stream.index()].queue.is_empty() {
                    self.streams[stream.index()].alive = false;
                    return Ok(Reply::DONE);
                }
                Ok(Reply::Blocks)
            }
            Call::DestroyStreamForce { stream } => {
                self.not_capturing(stream)?;
                self.drop_queue(stream);
                self.streams[stream.index()].alive = false;
                Ok(Reply::DONE)
            }
            Call::SynchronizeStream { stream, limited } => {
                self.not_capturing(stream)?;
                let last = self.last_of(stream).into_iter().collect();
                let limit = limited.then_some(AclError::STREAM_SYNC_TIMEOUT);
                self.synchronise(thread, call, last, limit)
            }
            Call::QueryStream { stream } => {
                self.not_capturing(stream)?;
                let empty = self.streams[stream.index()].queue.is_empty();
                Ok(Reply::Ok(Value::Complete(empty)))
            }
            Call::AbortStream { stream } => self.abort(stream),
            Call::SynchronizeDevice => {
                if self.captures.iter().any(|capture| capture.active) {
                    return Err(AclError::CAPTURE_MODE_NOT_SUPPORT);
                }
                let all = (0..self.streams.len()).map(|index| Stream(index as u32));
                let own = all.filter(|stream| self.streams[stream.index()].device == device);
                let last = own.filter_map(|stream| self.last_of(stream)).collect();
                self.synchronise(thread, call, last, None)
            }
            Call::CreateEvent => Ok(self.new_event(device, EventKind::Default, false)),
            Call::CreateEventWithFlag { flags } => {
                let kind = match flags {
                    EVENT_SYNC => EventKind::Sync,
                    EVENT_EXTERNAL => EventKind::External,
                    EVENT_TIME_LINE | EVENT_CAPTURE_STREAM_PROGRESS => EventKind::Timeline,
                    _ => return Err(AclError::PARAM_INVALID),
                };
                if kind.is_flag() && self.event_ids(device).0 >= self.config.event_ids as usize {
                    return Err(AclError::NO_EVENT_RESOURCE);
                }
                Ok(self.new_event(device, kind, flags == EVENT_TIME_LINE))
            }
            Call::CreateEventExWithFlag { flags } => {
                let known = EVENT_SYNC | EVENT_TIME_LINE | EVENT_CAPTURE_STREAM_PROGRESS;
                if flags == 0 || (flags & !known != 0 && flags != EVENT_IPC) {
                    return Err(AclError::PARAM_INVALID);
                }
                let waitable = flags & (EVENT_SYNC | EVENT_IPC) != 0;
                let kind = match waitable {
                    true => EventKind::Ex,
                    false => EventKind::Timeline,
                };
                Ok(self.new_event(device, kind, flags & EVENT_TIME_LINE != 0))
            }
            Call::DestroyEvent { event } => {
                self.event(event)?;
                self.events[event.index()].alive = false;
                Ok(Reply::DONE)
            }
            Call::RecordEvent {
                event,
                stream,
                external,
            } => {
                self.of_thread(device, stream)?;
                self.record(stream, event, external, tag)
            }
            Call::StreamWaitEvent {
                stream,
                event,
                external,
            } => {
                self.of_thread(device, stream)?;
                self.wait(stream, event, external, tag)
            }
            Call::ResetEvent { event, stream } => {
                self.of_thread(device, stream)?;
                match self.event(event)?.kind {
                    EventKind::Sync if self.capturing(stream) => Err(AclError::FEATURE_NOT_SUPPORT),
                    EventKind::Sync | EventKind::External => {
                        self.enqueue(stream, tag, TaskKind::ResetFlag(event))
                    }
                    EventKind::Default => Ok(Reply::Undefined),
                    EventKind::Ex | EventKind::Timeline => Err(AclError::FEATURE_NOT_SUPPORT),
                }
            }
            Call::QueryEvent { event } => {
                let state = self.uncaptured(event)?;
                match state.kind {
                    EventKind::Ex => Err(AclError::FEATURE_NOT_SUPPORT),
                    _ => Ok(Reply::Ok(Value::Complete(self.recorded(event)))),
                }
            }
            Call::QueryEventStatus { event } => {
                let state = self.uncaptured(event)?;
                let never = state.latest.is_none() && state.kind == EventKind::Ex;
                Ok(Reply::Ok(Value::Complete(never || self.recorded(event))))
            }
            Call::QueryEventWaitStatus { event } => {
                if self.uncaptured(event)?.kind == EventKind::Ex {
                    return Err(AclError::FEATURE_NOT_SUPPORT);
                }
                let waits = |task: &Task| {
                    matches!(task.kind, TaskKind::WaitFlag(of) | TaskKind::Wait { event: of, .. }
                        if of == event)
                };
                let pending = self.tasks().any(|(_, task)| waits(task));
                Ok(Reply::Ok(Value::Complete(!pending)))
            }
            Call::SynchronizeEvent { event, limited } => {
                let last = self.uncaptured(event)?.latest.into_iter().collect();
                let limit = limited.then_some(AclError::EVENT_SYNC_TIMEOUT);
                self.synchronise(thread, call, last, limit)
            }
            Call::EventElapsedTime { start, end } => {
                if !self.event(start)?.time_line || !self.event(end)?.time_line {
                    return Err(AclError::EVENT_TIMESTAMP_INVALID);
                }
                match self.recorded(start) && self.recorded(end) {
                    true => Ok(Reply::DONE),
                    false => Err(AclError::EVENT_TIMESTAMP_INVALID),
                }
            }
            Call::CreateNotify => {
                let mine = |notify: &&NotifyState| notify.alive && notify.device == device;
                let used = self.notifies.iter().filter(mine).count();
                if used >= self.config.notifies as usize {
                    return Err(AclError::NO_NOTIFY_RESOURCE);
                }
                self.notifies.push(NotifyState {
                    device,
                    alive: true,
                    flag: false,
                });
                let notify = Notify(self.notifies.len() as u32 - 1);
                Ok(Reply::Ok(Value::Notify(notify)))
            }
            Call::DestroyNotify { notify } => {
                self.notify(notify)?.alive = false;
                Ok(Reply::DONE)
            }
            Call::ResetNotify { notify } => {
                self.notify(notify)?.flag = false;
                Ok(Reply::DONE)
            }
            Call::MemcpySync => match self.forbids_sync_copies(thread) {
                true => Err(AclError::CAPTURE_MODE_NOT_SUPPORT),
                false => Ok(Reply::DONE),
            },
            Call::MemcpyPageable { stream } => {
                self.of_thread(device, stream)?;
                if self.forbids_sync_copies(thread) {
                    return Err(AclError::CAPTURE_MODE_BLOCK_ASYNC);
                }
                match self.enqueue(stream, tag, TaskKind::Work)? {
                    Reply::Ok(_) if !self.capturing(stream) => {}
                    reply => return Ok(reply),
                }
                let copy = self.last_of(stream).into_iter().collect();
                self.synchronise(thread, call, copy, None)
            }
            Call::CaptureBegin { stream, mode } => {
                self.of_thread(device, stream)?;
                self.capture_begin(thread, stream, mode)
            }
            Call::BindStream { origin, stream } => {
                self.of_thread(device, stream)?;
                self.bind_stream(origin, stream)
            }
            Call::CaptureEnd { stream } => {
                self.of_thread(device, stream)?;
                self.capture_end(thread, stream)
            }
            Call::CaptureGetInfo { stream } => {
                self.stream(stream)?;
                Ok(Reply::Ok(Value::Capturing(self.capturing(stream))))
            }
            Call::ExecuteAsync { graph, stream } => {
                self.of_thread(device, stream)?;
                self.execute(graph, stream, tag)
            }
            Call::DestroyGraph { graph } => {
                let state = self.graph(graph)?;
                if state.launched != state.completed {
                    return Err(AclError::MODEL_RUNNING);
                }
                state.alive = false;
                Ok(Reply::DONE)
            }
            Call::LaunchGroup { stream, ref parts } => {
                self.of_thread(device, stream)?;
                let parts = self.parts(parts, tag)?;
                let running = false;
                self.enqueue(stream, tag, TaskKind::Group { running, parts })
            }
            Call::RecordNotify { stream, .. }
            | Call::WaitAndResetNotify { stream, .. }
            | Call::ValueWrite { stream, .. }
            | Call::ValueWait { stream, .. }
            | Call::LaunchTask { stream }
            | Call::LaunchHostFunc { stream, .. }
            | Call::Collective { stream, .. } => {
                self.of_thread(device, stream)?;
                let kind = self.plain(call)?;
                self.enqueue(stream, tag, kind)
            }
        }
    }

    pub(super) fn new_stream(&mut self, device: u32, of_graph: bool) -> Stream {
        let local = self
            .streams
            .iter()
            .filter(|stream| stream.device == device)
            .count();
        self.streams.push(StreamState {
            device,
            local: local as u32,
            alive: true,
            queue: VecDeque::new(),
            retired: 0,
            lost: BTreeSet::new(),
            capture: None,
            of_graph,
        });
        Stream(self.streams.len() as u32 - 1)
    }

    fn new_event(&mut self, device: u32, kind: EventKind, time_line: bool) -> Reply {
        self.events.push(EventState {
            device,
            kind,
            time_line,
            alive: true,
            flag: false,
            latest: None,
            captured: None,
        });
        Reply::Ok(Value::Event(Event(self.events.len() as u32 - 1)))
    }

    fn device(&self, thread: u32) -> Result<u32, AclError> {
        self.threads
            .get(&thread)
            .copied()
            .ok_or(AclError::CONTEXT_NULL)
    }

    pub(super) fn stream(&self, stream: Stream) -> Result<&StreamState, AclError> {
        let state = self.streams.get(stream.index());
        state
            .filter(|state| state.alive && !state.of_graph)
            .ok_or(AclError::INVALID_HANDLE)
    }

    fn of_thread(&self, device: u32, stream: Stream) -> Result<(), AclError> {
        match self.stream(stream)?.device == device {
            true => Ok(()),
            false => Err(AclError::STREAM_CONTEXT),
        }
    }

    pub(super) fn not_capturing(&self, stream: Stream) -> Result<(), AclError> {
        match self.stream(stream)?.capture {
            Some(_) => Err(AclError::STREAM_CAPTURED),
            None => Ok(()),
        }
    }

    pub(super) fn capturing(&self, stream: Stream) -> bool {
        self.streams[stream.index()].capture.is_some()
    }

    pub(super) fn event(&self, event: Event) -> Result<&EventState, AclError> {
        let state = self.events.get(event.index());
        state
            .filter(|state| state.alive)
            .ok_or(AclError::INVALID_HANDLE)
    }

    fn uncaptured(&self, event: Event) -> Result<&EventState, AclError> {
        let state = self.event(event)?;
        match state.captured {
            Some(_) => Err(AclError::EVENT_CAPTURED),
            None => Ok(state),
        }
    }

    pub(super) fn notify(&mut self, notify: Notify) -> Result<&mut NotifyState, AclError> {
        let state = self.notifies.get_mut(notify.index());
        state
            .filter(|state| state.alive)
            .ok_or(AclError::INVALID_HANDLE)
    }

    /// The task queued last on a stream.
    pub(super) fn last_of(&self, stream: Stream) -> Option<RecordId> {
        let nth = self.queued(stream).checked_sub(1)?;
        Some(RecordId { stream, nth })
    }

    /// Whether a task has left its queue, done or dropped.
    pub(super) fn is_over(&self, task: RecordId) -> bool {
        self.streams[task.stream.index()].retired > task.nth
    }

    /// Whether a record has been carried out.
    pub(super) fn is_done(&self, record: RecordId) -> bool {
        let state = &self.streams[record.stream.index()];
        state.retired > record.nth && !state.lost.contains(&record.nth)
    }

    fn recorded(&self, event: Event) -> bool {
        self.events[event.index()]
            .latest
            .is_some_and(|record| self.is_done(record))
    }

    /// All queued tasks with their streams.
    pub(super) fn tasks(&self) -> impl Iterator<Item = (&StreamState, &Task)> {
        self.streams
            .iter()
            .flat_map(|stream| stream.queue.iter().map(move |task| (stream, task)))
    }
}
