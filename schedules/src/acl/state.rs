//! The state of the machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::{AclError, Call, Comm, Event, Graph, Notify, Stream};
use crate::ir::{CaptureMode, CollectiveKind, Compare, EventKind, Limits};

/// What the machine is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Devices.
    pub devices: u32,
    /// Entries of a stream's queue; a call that does not fit blocks.
    pub queue_entries: u32,
    /// Entries that a value wait takes.
    pub value_wait_entries: u32,
    /// Event ids of a device.
    pub event_ids: u32,
    /// Notifies of a device.
    pub notifies: u32,
    /// Firmware capability STREAM_ABORT (facts/acl.md section 2).
    pub stream_abort: bool,
    /// Firmware capability SOFTWARE_SQ_ENABLE, needed for external records and waits in a capture
    /// (facts/acl.md section 10).
    pub software_queues: bool,
}

impl Config {
    /// `devices` devices with these limits and all capabilities.
    pub fn new(devices: u32, limits: &Limits) -> Self {
        Self {
            devices,
            queue_entries: limits.queue_tasks,
            value_wait_entries: limits.value_wait_entries,
            event_ids: limits.events,
            notifies: limits.notifies,
            stream_abort: true,
            software_queues: true,
        }
    }
}

/// A record: the n-th task of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RecordId {
    pub(super) stream: Stream,
    pub(super) nth: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Task {
    pub(super) tag: Option<u32>,
    pub(super) kind: TaskKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum TaskKind {
    Work,
    HostFunc {
        calls_acl: bool,
    },
    Record(Event),
    /// A wait for a record; while captured, the record's number counts within its stream.
    Wait {
        event: Event,
        record: RecordId,
    },
    /// Only while captured: a wait for the latest record outside at each launch.
    WaitExternal(Event),
    /// Only while captured: a record for waits outside.
    RecordExternal(Event),
    SetFlag(Event),
    WaitFlag(Event),
    ResetFlag(Event),
    NotifyRecord(Notify),
    NotifyWait(Notify),
    ValueWrite {
        word: (u32, u64),
        value: u64,
    },
    ValueWait {
        word: (u32, u64),
        value: u64,
        compare: Compare,
    },
    Collective(Member),
    Group {
        running: bool,
        parts: Vec<Part>,
    },
    Launch(Box<Launch>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Member {
    pub(super) comm: Comm,
    pub(super) member: u32,
    pub(super) kind: CollectiveKind,
    /// Which collective of the communicator; set when it is issued.
    pub(super) nth: u32,
    pub(super) started: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    pub(super) task: Task,
    pub(super) after: Vec<usize>,
    pub(super) done: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Launch {
    pub(super) graph: Graph,
    /// Which launch of the graph.
    pub(super) nth: u32,
    pub(super) running: bool,
    /// What it replays, stream by stream; taken when it starts.
    pub(super) body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StreamState {
    pub(super) device: u32,
    /// Its id on its device.
    pub(super) local: u32,
    pub(super) alive: bool,
    pub(super) queue: VecDeque<Task>,
    /// Tasks that have left the queue.
    pub(super) retired: u32,
    /// Those of them that were dropped instead of done.
    pub(super) lost: BTreeSet<u32>,
    pub(super) capture: Option<usize>,
    /// Set for the streams of a graph itself.
    pub(super) of_graph: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct EventState {
    pub(super) device: u32,
    pub(super) kind: EventKind,
    pub(super) time_line: bool,
    pub(super) alive: bool,
    pub(super) flag: bool,
    pub(super) latest: Option<RecordId>,
    /// The capture in which it was recorded last, and where.
    pub(super) captured: Option<(usize, RecordId)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NotifyState {
    pub(super) device: u32,
    pub(super) alive: bool,
    pub(super) flag: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CaptureState {
    pub(super) origin: Stream,
    pub(super) mode: CaptureMode,
    pub(super) thread: u32,
    pub(super) active: bool,
    pub(super) streams: Vec<Captured>,
    /// Events used by external records and waits, which may be used once.
    pub(super) external: BTreeSet<Event>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Captured {
    /// The stream of the calls.
    pub(super) outer: Stream,
    /// The stream of the graph.
    pub(super) inner: Stream,
    /// Whether it must return to the origin.
    pub(super) joins: bool,
    pub(super) tasks: Vec<Task>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct GraphState {
    pub(super) alive: bool,
    pub(super) body: Arc<Body>,
    pub(super) launched: u32,
    pub(super) completed: u32,
    /// Launches that were aborted before they started.
    pub(super) dropped: BTreeSet<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CommState {
    pub(super) members: u32,
    /// Per member: how many it has issued.
    pub(super) issued: Vec<u32>,
    /// Per collective: who has started, and what the first calls it.
    pub(super) started: Vec<Started>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Started {
    pub(super) count: u32,
    pub(super) kind: CollectiveKind,
    pub(super) mismatch: bool,
}

/// A call that has not returned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct InCall {
    pub(super) call: Call,
    /// What it returns, if decided meanwhile.
    pub(super) error: Option<AclError>,
    /// The tasks it waits for, if it has got as far as that.
    pub(super) targets: Option<Vec<RecordId>>,
}

/// What a graph replays, stream by stream.
pub(super) type Body = Vec<(Stream, Vec<Task>)>;

pub(super) type Words = BTreeMap<(u32, u64), u64>;
