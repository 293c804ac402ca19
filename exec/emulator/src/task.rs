//! Tasks of streams.

use std::sync::Arc;

use crate::collective::CollectiveTask;
use crate::memory::Place;
use crate::raw::{HostCall, KernelCall};
use crate::signal::{Flag, NotifyFlag, Record};
use crate::table::Key;

/// What a task does. Times in ns; a time-out of none waits without limit.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Kernel {
        call: Option<KernelCall>,
        arguments: Arc<[u8]>,
        blocks: u32,
    },
    Copy {
        to: Place,
        from: Place,
        bytes: usize,
    },
    Fill {
        address: usize,
        value: u8,
        bytes: usize,
    },
    Prefetch,
    Record(Arc<Record>),
    Wait(Arc<Record>, Option<u64>),
    /// In a captured graph: record the event anew at each replay, for waits outside.
    RecordExternal(Key),
    /// In a captured graph: wait for the latest record outside.
    WaitExternal(Key),
    SetFlag(Arc<Flag>, Arc<Record>),
    WaitFlag(Arc<Flag>, Option<u64>),
    ResetFlag(Arc<Flag>),
    NotifyRecord(Arc<NotifyFlag>),
    NotifyWait(Arc<NotifyFlag>, Option<u64>),
    ValueWrite {
        address: usize,
        value: u64,
    },
    ValueWait {
        address: usize,
        value: u64,
        condition: u32,
    },
    Host(HostCall),
    Collective(CollectiveTask),
    /// A replay: the number of the launch, and the streams made for it.
    Replay {
        graph: Key,
        number: u64,
        streams: Vec<Key>,
    },
}

impl Work {
    /// Entries it takes in the queue of its stream (facts/acl.md section 0).
    pub(crate) fn entries(&self) -> u32 {
        if matches!(self, Self::ValueWait { .. }) {
            4
        } else {
            1
        }
    }

    /// A number for its kind, for traces and for comparing the tasks of an update.
    pub(crate) fn kind(&self) -> u32 {
        match self {
            Self::Kernel { .. } => 1,
            Self::Copy { .. } => 2,
            Self::Fill { .. } => 3,
            Self::Prefetch => 4,
            Self::Record(_) | Self::RecordExternal(_) | Self::SetFlag(..) => 5,
            Self::Wait(..) | Self::WaitExternal(_) | Self::WaitFlag(..) => 6,
            Self::ResetFlag(_) => 7,
            Self::NotifyRecord(_) => 8,
            Self::NotifyWait(..) => 9,
            Self::ValueWrite { .. } => 10,
            Self::ValueWait { .. } => 11,
            Self::Host(_) => 12,
            Self::Collective(_) => 13,
            Self::Replay { .. } => 14,
        }
    }
}

/// How long a task takes alone, and what it holds meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) tag: u64,
    pub(crate) duration: u64,
    pub(crate) aic: u32,
    pub(crate) aiv: u32,
    /// All blocks start at once.
    pub(crate) batch: bool,
    /// Blocks that started spin until all have.
    pub(crate) sync_all: bool,
}

/// A task in the queue of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// Order of issue over all streams; tasks of a replay share their launch's first number.
    pub(crate) issue: (u64, u32),
    pub(crate) work: Work,
    pub(crate) shape: Shape,
}

/// One task that ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TraceRecord {
    /// The tag given for it, or 0.
    pub tag: u64,
    /// When it started, in ns of the emulator's clock.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The device.
    pub device: u32,
    /// The stream's id.
    pub stream: u32,
    /// A number for what it was.
    pub kind: u32,
    /// 0 or the error code with which it ended.
    pub code: u32,
}
