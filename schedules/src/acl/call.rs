//! The calls of the machine, and what they return.

use super::AclError;
use crate::ir::{CaptureMode, CollectiveKind, Compare};

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            pub(super) fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

handles! {
    /// An `aclrtStream`. The default stream of device `d` is stream `d`.
    Stream;
    /// An `aclrtEvent`.
    Event;
    /// An `aclrtNotify`.
    Notify;
    /// An `aclmdlRI`.
    Graph;
    /// An HCCL communicator.
    Comm;
}

/// Flag `ACL_EVENT_SYNC`.
pub const EVENT_SYNC: u32 = 0x1;
/// Flag `ACL_EVENT_CAPTURE_STREAM_PROGRESS`.
pub const EVENT_CAPTURE_STREAM_PROGRESS: u32 = 0x2;
/// Flag `ACL_EVENT_TIME_LINE`.
pub const EVENT_TIME_LINE: u32 = 0x8;
/// Flag `ACL_EVENT_EXTERNAL`.
pub const EVENT_EXTERNAL: u32 = 0x20;
/// Flag `ACL_EVENT_IPC`.
pub const EVENT_IPC: u32 = 0x40;

/// A call of a host thread. Each is one function of ACL (facts/acl.md), of which it has the name and
/// the arguments that matter here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "the fields are the arguments of ACL's functions"
)]
pub enum Call {
    /// `aclrtSetDevice`.
    SetDevice { device: u32 },
    /// `aclrtCreateStream`.
    CreateStream,
    /// `aclrtDestroyStream`: waits until the stream is empty.
    DestroyStream { stream: Stream },
    /// `aclrtDestroyStreamForce`: drops what is queued.
    DestroyStreamForce { stream: Stream },
    /// `aclrtSynchronizeStream`, or with a time limit `aclrtSynchronizeStreamWithTimeout`.
    SynchronizeStream { stream: Stream, limited: bool },
    /// `aclrtStreamQuery`.
    QueryStream { stream: Stream },
    /// `aclrtStreamAbort`.
    AbortStream { stream: Stream },
    /// `aclrtSynchronizeDevice`.
    SynchronizeDevice,
    /// `aclrtCreateEvent`.
    CreateEvent,
    /// `aclrtCreateEventWithFlag`.
    CreateEventWithFlag { flags: u32 },
    /// `aclrtCreateEventExWithFlag`.
    CreateEventExWithFlag { flags: u32 },
    /// `aclrtDestroyEvent`.
    DestroyEvent { event: Event },
    /// `aclrtRecordEvent`, or `aclrtRecordEventWithFlag` with `ACL_EVENT_RECORD_EXTERNAL`.
    RecordEvent {
        event: Event,
        stream: Stream,
        external: bool,
    },
    /// `aclrtStreamWaitEvent`, or `aclrtStreamWaitEventWithFlag` with `ACL_EVENT_WAIT_EXTERNAL`.
    StreamWaitEvent {
        stream: Stream,
        event: Event,
        external: bool,
    },
    /// `aclrtResetEvent`.
    ResetEvent { event: Event, stream: Stream },
    /// `aclrtQueryEvent`.
    QueryEvent { event: Event },
    /// `aclrtQueryEventStatus`.
    QueryEventStatus { event: Event },
    /// `aclrtQueryEventWaitStatus`.
    QueryEventWaitStatus { event: Event },
    /// `aclrtSynchronizeEvent`, or with a time limit `aclrtSynchronizeEventWithTimeout`.
    SynchronizeEvent { event: Event, limited: bool },
    /// `aclrtEventElapsedTime`; there is no clock, so only its error is told.
    EventElapsedTime { start: Event, end: Event },
    /// `aclrtCreateNotify`.
    CreateNotify,
    /// `aclrtDestroyNotify`.
    DestroyNotify { notify: Notify },
    /// `aclrtRecordNotify`.
    RecordNotify { notify: Notify, stream: Stream },
    /// `aclrtWaitAndResetNotify`.
    WaitAndResetNotify { notify: Notify, stream: Stream },
    /// `aclrtNotifyBatchReset` of one notify.
    ResetNotify { notify: Notify },
    /// `aclrtValueWrite` to the memory of a device.
    ValueWrite {
        device: u32,
        address: u64,
        value: u64,
        stream: Stream,
    },
    /// `aclrtValueWait` on the memory of a device.
    ValueWait {
        device: u32,
        address: u64,
        value: u64,
        compare: Compare,
        stream: Stream,
    },
    /// A kernel launch, an asynchronous copy of pinned memory, a prefetch, a task update: anything
    /// that runs by itself.
    LaunchTask { stream: Stream },
    /// `aclrtMemcpyAsync` of pageable host memory: returns when it is done.
    MemcpyPageable { stream: Stream },
    /// `aclrtMemcpy` and its like, on no stream.
    MemcpySync,
    /// `aclrtMalloc`.
    Malloc,
    /// `aclrtLaunchHostFunc`. A function that calls ACL never returns.
    LaunchHostFunc { stream: Stream, calls_acl: bool },
    /// A collective of HCCL, by one member of the communicator.
    Collective {
        comm: Comm,
        member: u32,
        kind: CollectiveKind,
        stream: Stream,
    },
    /// A task that consists of several (FFTS+ graph, super kernel).
    LaunchGroup {
        stream: Stream,
        parts: Vec<PartCall>,
    },
    /// `aclmdlRICaptureBegin`.
    CaptureBegin { stream: Stream, mode: CaptureMode },
    /// `aclmdlRIBindStream` for the capture of `origin`: the stream takes part without joining, and
    /// need not return.
    BindStream { origin: Stream, stream: Stream },
    /// `aclmdlRICaptureEnd`.
    CaptureEnd { stream: Stream },
    /// `aclmdlRICaptureGetInfo`.
    CaptureGetInfo { stream: Stream },
    /// `aclmdlRIExecuteAsync`.
    ExecuteAsync { graph: Graph, stream: Stream },
    /// `aclmdlRIDestroy`.
    DestroyGraph { graph: Graph },
}

/// A part of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartCall {
    /// What it does; its stream is that of the group and not looked at. Only calls that queue a task
    /// without choosing by the state of an event.
    pub call: Call,
    /// Parts before it in the list that are done before it starts.
    pub after: Vec<usize>,
}

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// It returned successfully.
    Ok(Value),
    /// It returned an error.
    Err(AclError),
    /// It has not returned. The same thread calls again, with the same call, once steps were made.
    Blocks,
    /// ACL documents no behaviour for it, and nothing was done.
    Undefined,
}

impl Reply {
    /// Success without a result.
    pub const DONE: Self = Self::Ok(Value::None);
}

/// A result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// None.
    None,
    /// A new stream.
    Stream(Stream),
    /// A new event.
    Event(Event),
    /// A new notify.
    Notify(Notify),
    /// A new graph.
    Graph(Graph),
    /// Whether what was asked for is complete.
    Complete(bool),
    /// Whether the stream is being captured.
    Capturing(bool),
}
