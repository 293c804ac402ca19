//! What is submitted, in which order, and what it needs: compiled once from a checked schedule.

mod compile;
mod error;
mod issue;
mod launch;
#[cfg(test)]
mod tests;

use ascsim_schedules::{CaptureMode, CoreLimit, EventKind, Memory, Owner};

pub use error::{PlanError, PlanErrorKind};

/// Everything that an executor submits in one step of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What it needs.
    pub resources: Resources,
    /// What is submitted, in this order.
    pub steps: Vec<Step>,
}

/// One submission.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Index of the rank in [`Resources::ranks`].
    pub rank: usize,
    /// The op, as its dense index in the unrolled schedule.
    pub op: u32,
    /// What is called. Streams, events and so on are indices into [`Resources`].
    pub command: Command,
    /// How long it takes and what it holds, for the emulator.
    pub shape: Shape,
}

/// Duration and cores of an op.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Its solo duration in ns; 0 if none is known.
    pub duration_ns: u64,
    /// Blocks on cube cores.
    pub aic: u32,
    /// Blocks on vector cores.
    pub aiv: u32,
    /// Whether all blocks start at once.
    pub batch: bool,
}

/// Bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index into [`Resources::buffers`].
    pub buffer: usize,
    /// Where it starts, in bytes.
    pub offset: u64,
}

/// What is called for an op.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    missing_docs,
    reason = "the variants and fields are named after the calls"
)]
pub enum Command {
    Record {
        stream: usize,
        event: usize,
        external: bool,
    },
    Wait {
        stream: usize,
        event: usize,
        external: bool,
        timeout_s: u32,
    },
    Reset {
        stream: usize,
        event: usize,
    },
    NotifyRecord {
        stream: usize,
        notify: usize,
    },
    NotifyWait {
        stream: usize,
        notify: usize,
        timeout_s: u32,
    },
    ValueWrite {
        stream: usize,
        word: Place,
        value: u64,
    },
    /// `condition` as `aclrtValueWait` counts them.
    ValueWait {
        stream: usize,
        word: Place,
        value: u64,
        condition: u32,
    },
    Copy {
        stream: usize,
        to: Place,
        from: Place,
        bytes: u64,
        blocking: bool,
    },
    Prefetch {
        stream: usize,
        at: Place,
        bytes: u64,
    },
    /// A kernel of a binary: index into [`Resources::kernels`].
    Kernel {
        stream: usize,
        kernel: usize,
    },
    /// A kernel without a binding, which only the emulator can stand in for.
    Timed {
        stream: usize,
    },
    /// The host framework enqueues it: index into [`Resources::callbacks`].
    Callback {
        stream: usize,
        callback: usize,
    },
    /// Index into [`Resources::functions`].
    HostFunction {
        stream: usize,
        function: usize,
    },
    Collective {
        stream: usize,
        communicator: usize,
        call: CollectiveCall,
    },
    /// Index into [`Resources::graphs`].
    Launch {
        stream: usize,
        graph: usize,
    },
    SynchroniseStream {
        stream: usize,
    },
    SynchroniseEvent {
        event: usize,
    },
    SynchroniseDevice,
}

impl Command {
    /// The stream that it queues something on.
    pub fn stream(&self) -> Option<usize> {
        match self {
            Self::Record { stream, .. }
            | Self::Wait { stream, .. }
            | Self::Reset { stream, .. }
            | Self::NotifyRecord { stream, .. }
            | Self::NotifyWait { stream, .. }
            | Self::ValueWrite { stream, .. }
            | Self::ValueWait { stream, .. }
            | Self::Copy { stream, .. }
            | Self::Prefetch { stream, .. }
            | Self::Kernel { stream, .. }
            | Self::Timed { stream }
            | Self::Callback { stream, .. }
            | Self::HostFunction { stream, .. }
            | Self::Collective { stream, .. }
            | Self::Launch { stream, .. } => Some(*stream),
            Self::SynchroniseStream { .. }
            | Self::SynchroniseEvent { .. }
            | Self::SynchroniseDevice => None,
        }
    }

    /// Whether a captured graph can hold it.
    pub fn is_capturable(&self) -> bool {
        match self {
            Self::Copy { blocking, .. } => !blocking,
            Self::Launch { .. }
            | Self::SynchroniseStream { .. }
            | Self::SynchroniseEvent { .. }
            | Self::SynchroniseDevice => false,
            _ => true,
        }
    }
}

/// A collective as HCCL takes it; `count` elements by the rule of its kind, codes of HCCL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are the arguments of the calls")]
pub enum CollectiveCall {
    AllReduce {
        send: Place,
        receive: Place,
        count: u64,
        dtype: u32,
        reduce: u32,
    },
    ReduceScatter {
        send: Place,
        receive: Place,
        count: u64,
        dtype: u32,
        reduce: u32,
    },
    AllGather {
        send: Place,
        receive: Place,
        count: u64,
        dtype: u32,
    },
    AllToAll {
        send: Place,
        receive: Place,
        count: u64,
        dtype: u32,
    },
    Broadcast {
        buffer: Place,
        count: u64,
        dtype: u32,
        root: u32,
    },
    Send {
        from: Place,
        count: u64,
        dtype: u32,
        peer: u32,
    },
    Receive {
        to: Place,
        count: u64,
        dtype: u32,
        peer: u32,
    },
    Barrier,
}

/// What a plan needs, each kind in a list that commands index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    /// The ranks.
    pub ranks: Vec<RankSpec>,
    /// Streams.
    pub streams: Vec<StreamSpec>,
    /// Events.
    pub events: Vec<EventSpec>,
    /// Notifies: the rank that owns each.
    pub notifies: Vec<usize>,
    /// Root buffers.
    pub buffers: Vec<BufferSpec>,
    /// Ends of communicators.
    pub communicators: Vec<CommunicatorSpec>,
    /// Kernel launches.
    pub kernels: Vec<KernelSpec>,
    /// Names of callbacks.
    pub callbacks: Vec<String>,
    /// Names of host functions.
    pub functions: Vec<String>,
    /// Captured programs.
    pub graphs: Vec<GraphSpec>,
}

/// A rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankSpec {
    /// Its number.
    pub rank: u32,
    /// The ACL device it runs on.
    pub device: u32,
}

/// A stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamSpec {
    /// Index of its rank.
    pub rank: usize,
    /// Its name.
    pub name: String,
    /// Who creates it.
    pub owner: Owner,
    /// Its priority, 0 greatest.
    pub priority: u32,
    /// Its advisory core limit.
    pub core_limit: Option<CoreLimit>,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSpec {
    /// Index of its rank.
    pub rank: usize,
    /// How it is created.
    pub kind: EventKind,
}

/// A root buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferSpec {
    /// Index of its rank.
    pub rank: usize,
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Where it lives.
    pub memory: Memory,
}

/// One rank's end of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommunicatorSpec {
    /// Index of the first end of its group in [`Resources::communicators`]; the others follow.
    pub first: usize,
    /// The devices of the group, in the order of its ranks.
    pub devices: Vec<u32>,
}

/// A kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSpec {
    /// Index of its rank.
    pub rank: usize,
    /// Path of the binary.
    pub binary: String,
    /// The function in it.
    pub function: String,
    /// Blocks.
    pub blocks: u32,
    /// Whether all start at once.
    pub batch: bool,
    /// Arguments, each in 8 bytes.
    pub arguments: Vec<KernelArgument>,
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KernelArgument {
    /// The address of bytes of a buffer.
    Address(Place),
    /// Eight bytes.
    Bits(u64),
}

/// A captured program.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphSpec {
    /// Index of its rank.
    pub rank: usize,
    /// The stream on which capture begins and ends.
    pub origin: usize,
    /// The mode of capture.
    pub mode: CaptureMode,
    /// What is captured, in this order.
    pub steps: Vec<Step>,
}
