//! What a schedule declares: buffers, streams, events, notifies and communicators.
//!
//! Each rank has its own instance of every stream, event, notify and buffer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BufferName, CommunicatorName, EventName, Extra, NotifyName, StreamName, Tags};

/// A piece of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Buffer {
    /// Its name.
    pub name: BufferName,
    /// Its size in bytes.
    pub bytes: u64,
    /// Where it lives. A view lives where its root does, and repeats it.
    #[serde(default, skip_serializing_if = "Memory::is_hbm")]
    pub memory: Memory,
    /// Set where this is a part of another buffer instead of memory of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
    /// Tags (`role=weight`), for selectors and reports.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A part of another buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// The buffer it is a part of; itself a root or a view.
    pub of: BufferName,
    /// Where it starts there, in bytes.
    pub offset: u64,
}

/// Where a buffer lives.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// HBM of the rank's die.
    #[default]
    Hbm,
    /// Host memory that was allocated pinned (`aclrtMallocHost`): copies are asynchronous.
    HostPinned,
    /// Other host memory: a copy from or to it blocks the host thread until it is done
    /// (facts/acl.md section 6).
    HostPageable,
}

impl Memory {
    /// Whether this is HBM.
    pub fn is_hbm(&self) -> bool {
        *self == Self::Hbm
    }
}

/// A stream: a FIFO of device ops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stream {
    /// Its name.
    pub name: StreamName,
    /// Who creates it.
    #[serde(default, skip_serializing_if = "Owner::is_own")]
    pub owner: Owner,
    /// Priority, 0 greatest to 7 least; a hint (facts/acl.md section 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Advisory core limit (facts/acl.md section 13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_limit: Option<CoreLimit>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Who creates a stream.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The executor, which also destroys it.
    #[default]
    Own,
    /// The host framework, which lends it (`aclrtStream` handle).
    Borrowed,
    /// The device's default stream. It does not synchronise with others, and cannot be captured.
    Default,
}

impl Owner {
    /// Whether the executor creates it.
    pub fn is_own(&self) -> bool {
        *self == Self::Own
    }
}

/// An advisory limit on the cores that ops of a stream ask for. Tiling and AIV collectives obey it;
/// the scheduler does not partition cores (facts/acl.md section 13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreLimit {
    /// Cube cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aic: Option<u32>,
    /// Vector cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aiv: Option<u32>,
}

/// An event: a one-way signal between streams of one rank, or from and to the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its name.
    pub name: EventName,
    /// How it was created, which decides what record, wait and reset do.
    #[serde(default, skip_serializing_if = "EventKind::is_ex")]
    pub kind: EventKind,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How an event was created. The rules of each kind are the table in facts/acl.md section 3.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// `aclrtCreateEventExWithFlag(SYNC)`: a wait binds to the latest record issued before it.
    #[default]
    Ex,
    /// `aclrtCreateEvent`: as `ex`, but a wait before any record is an error, and it cannot be
    /// captured.
    Default,
    /// `aclrtCreateEventWithFlag(SYNC)`: a sticky flag that any record sets and only a reset clears.
    Sync,
    /// `aclrtCreateEventWithFlag(EXTERNAL)`: as `sync`; the flavour that a captured graph may wait
    /// for and reset, recorded from outside for each replay.
    External,
    /// `aclrtCreateEventExWithFlag(TIME_LINE)` without SYNC: for time stamps and host
    /// synchronisation; streams cannot wait for it.
    Timeline,
}

impl EventKind {
    /// Whether this is the recommended kind.
    pub fn is_ex(&self) -> bool {
        *self == Self::Ex
    }

    /// Whether a wait binds to a record when it is issued (`ex` and `default`).
    pub fn binds_when_issued(self) -> bool {
        matches!(self, Self::Ex | Self::Default)
    }

    /// Whether the event is a sticky flag (`sync` and `external`).
    pub fn is_flag(self) -> bool {
        matches!(self, Self::Sync | Self::External)
    }
}

/// A notify: a flag that one record sets and one wait takes and clears; works across devices
/// (facts/acl.md section 4). The rank that waits owns it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Notify {
    /// Its name.
    pub name: NotifyName,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A communicator: the ranks that run collectives together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Communicator {
    /// Its name.
    pub name: CommunicatorName,
    /// Groups of ranks, each of which is a communicator of its own under this name: a TP
    /// communicator of 2 over 4 ranks is `[[0, 1], [2, 3]]`. A rank is in at most one group; the
    /// order within a group is the order of its ranks.
    pub groups: Vec<Vec<u32>>,
    /// Who carries its collectives out, unless an op says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion: Option<Expansion>,
    /// Size of its CCL buffer in bytes (`HCCL_BUFFSIZE`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u64>,
    /// Whether deterministic reduction is asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deterministic: bool,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Who carries a collective out (facts/collectives.md sections 2 and 3).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Expansion {
    /// AICPU kernels expand it into SDMA and notify tasks.
    AiCpu,
    /// A kernel on vector cores.
    Aiv,
    /// The host expands it (A2 and older).
    Host,
    /// FFTS+ sub-graph (A2).
    Ffts,
}
