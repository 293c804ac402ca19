//! What an op is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::{
    BufferName, CommunicatorName, EventName, Expansion, Expr, Extra, HostKind, NotifyName, Op,
    OpId, Peer, ProgramName,
};

/// What an op is. In a file: an object with the kind as its one field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// A kernel on AIC, AIV, both, or AICPU cores.
    Kernel(Kernel),
    /// A copy by the SDMA or PCIe engine.
    Copy(Memcpy),
    /// A prefetch of a buffer into L2 (CMO).
    Prefetch(Prefetch),
    /// A collective of a communicator; the op's `comm` says which.
    Collective(Collective),
    /// Records an event on the op's stream.
    Record(Record),
    /// Makes the op's stream wait for an event.
    Wait(Wait),
    /// Clears the flag of a `sync` or `external` event when the stream gets here.
    EventReset(Record),
    /// Sets a notify.
    NotifyRecord(NotifyRecord),
    /// Waits for a notify of the own rank and clears it.
    NotifyWait(NotifyWait),
    /// Writes a 64-bit word of device memory.
    ValueWrite(ValueWrite),
    /// Waits until a 64-bit word of device memory meets a condition.
    ValueWait(ValueWait),
    /// Several kernels fused into one task that runs them without the task scheduler.
    SuperKernel(SuperKernel),
    /// A graph of tasks in one slot of the stream (FFTS+).
    Group(Group),
    /// Replays a captured program.
    GraphLaunch(GraphLaunch),
    /// Changes the parameters of tasks in a captured program.
    TaskUpdate(TaskUpdate),
    /// Something the host does.
    Host(HostKind),
    /// Allocates a buffer for use on the op's stream (host call, stream-ordered).
    Alloc(BufferName),
    /// Gives a buffer back; it may be handed out again to later ops of the stream that allocated it.
    Free(BufferName),
    /// Tells the allocator that the buffer is used on the op's stream too (`record_stream`).
    StreamUse(BufferName),
    /// Runs another program in this place, several times.
    Repeat(Repeat),
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Operator type, such as `MatMulV3`.
    #[schemars(with = "String")]
    pub name: SmolStr,
    /// Whether its shape is known only at run time, which makes its launch dearer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dynamic: bool,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memcpy {
    /// From where to where.
    pub direction: CopyDirection,
    /// Bytes copied.
    pub bytes: Expr,
    /// Whether the call returns only when the copy is done: a synchronous copy, or an asynchronous
    /// one of pageable host memory (facts/acl.md section 6).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocking: bool,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Direction of a copy.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CopyDirection {
    /// Host to device.
    HostToDevice,
    /// Device to host.
    DeviceToHost,
    /// Within one device.
    DeviceToDevice,
    /// From or to the device of another rank.
    Peer,
}

/// A prefetch into L2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prefetch {
    /// The buffer or view whose bytes are brought into L2.
    pub buffer: BufferName,
    /// Where to start, in bytes from its start.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
    /// Bytes to bring.
    pub bytes: Expr,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A collective op. Everything about it is in the op's [`Comm`], which compute kernels that
/// communicate carry too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collective {
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// The communication of a collective, an MC2 kernel, DispatchFFNCombine or an AIV collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comm {
    /// The communicator. Every rank of the group issues the same collectives in the same order.
    pub communicator: CommunicatorName,
    /// Which collective.
    pub kind: CollectiveKind,
    /// Bytes by the size rule of the kind (facts/collectives.md, "S"): AllReduce the whole buffer,
    /// AllGather bytes sent per rank, ReduceScatter bytes received per rank, AllToAll bytes per
    /// peer, dispatch and combine bytes sent per rank.
    pub bytes: Expr,
    /// Who carries it out, if not what the communicator says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion: Option<Expansion>,
    /// Send and receive: the other rank, as its position in the group. Broadcast, reduce, scatter
    /// and gather: the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// Whether input and output are the same buffer, which the AICPU never caches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// Data type (`bf16`, `fp16`, `fp32`, `int8`, …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub dtype: Option<SmolStr>,
    /// Reduction (`sum`, `prod`, `max`, `min`); sum where a reducing kind names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub reduce: Option<SmolStr>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// The kinds of collectives.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the variants are the names of the field's collectives"
)]
pub enum CollectiveKind {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    AllToAllV,
    Broadcast,
    Reduce,
    Scatter,
    Gather,
    Send,
    Receive,
    Barrier,
    /// MoeDistributeDispatch (MC2).
    Dispatch,
    /// MoeDistributeCombine (MC2).
    Combine,
    /// DispatchFFNCombine, dispatch, expert FFN and combine in one kernel.
    DispatchFfnCombine,
    /// AllGather fused with the matmul that follows it (MC2).
    AllGatherMatmul,
    /// ReduceScatter fused with the matmul before it (MC2).
    MatmulReduceScatter,
    /// AllReduce fused with the matmul before it (MC2).
    MatmulAllReduce,
}

/// Records or resets an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The event.
    pub event: EventName,
    /// Whether the flag `ACL_EVENT_RECORD_EXTERNAL` is given: inside a capture, the event is for
    /// waits outside the graph (facts/acl.md section 10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Waits for an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wait {
    /// The event.
    pub event: EventName,
    /// Whether the flag `ACL_EVENT_WAIT_EXTERNAL` is given: inside a capture, the record is outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// Time-out in seconds; none waits without limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u32>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Sets a notify.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotifyRecord {
    /// The notify.
    pub notify: NotifyName,
    /// The rank that waits for it, whose instance is set.
    #[serde(default, skip_serializing_if = "Peer::is_own")]
    pub peer: Peer,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Waits for a notify of the own rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotifyWait {
    /// The notify.
    pub notify: NotifyName,
    /// Time-out in seconds; none waits without limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u32>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Writes a 64-bit word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueWrite {
    /// The buffer that holds the word. All words are 0 at the start.
    pub buffer: BufferName,
    /// Where the word is, in bytes; a multiple of 8.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
    /// The value.
    pub value: u64,
    /// Whose instance of the buffer.
    #[serde(default, skip_serializing_if = "Peer::is_own")]
    pub peer: Peer,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Waits for a 64-bit word of the own rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueWait {
    /// The buffer that holds the word.
    pub buffer: BufferName,
    /// Where the word is, in bytes; a multiple of 8.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
    /// The value compared with.
    pub value: u64,
    /// The condition.
    pub compare: Compare,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Condition of a value wait on word `w` and value `v` (facts/acl.md section 5).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// `w - v >= 0` as a signed 64-bit difference.
    Geq,
    /// `w == v`.
    Eq,
    /// `w & v != 0`.
    And,
    /// `!(w | v) != 0`.
    Nor,
}

impl Compare {
    /// Whether the word `word` meets the condition with `value`.
    pub fn holds(self, word: u64, value: u64) -> bool {
        match self {
            Self::Geq => word.wrapping_sub(value).cast_signed() >= 0,
            Self::Eq => word == value,
            Self::And => word & value != 0,
            Self::Nor => !(word | value) != 0,
        }
    }
}

/// Kernels fused into one task. It runs its parts back to back (rule 9 of the simulator).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuperKernel {
    /// Name of the scope.
    #[schemars(with = "String")]
    pub name: SmolStr,
    /// The fused ops in program order. Parts whose op names the same stream run one after the
    /// other; `after` adds what crosses streams.
    pub parts: Vec<GroupTask>,
    /// Whether parts of two streams run side by side (`stream-fusion=1`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream_fusion: bool,
    /// Whether all cores join every barrier (`feed-sync-all`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub feed_sync_all: bool,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A graph of tasks in one slot of its stream: the slot is taken until all have ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The tasks; one starts when those in its `after` have ended.
    pub tasks: Vec<GroupTask>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A task of a [`Group`] or a part of a [`SuperKernel`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupTask {
    /// What it does. Its id is unique within the group; its thread is that of the whole. It is a
    /// kernel, copy, prefetch, collective, notify or value op, never a group itself.
    pub op: Op,
    /// Ids of tasks earlier in the list that end before it starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<OpId>,
}

/// Replays a captured program (one whose [`Program::capture`](super::Program::capture) is set). The
/// launch occupies its stream until every stream of the graph is done; two launches of one graph run
/// one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphLaunch {
    /// The program.
    pub program: ProgramName,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Capture mode (facts/acl.md section 10).
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
pub enum CaptureMode {
    /// `ACL_MODEL_RI_CAPTURE_MODE_GLOBAL`.
    #[default]
    Global,
    /// `ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL`.
    ThreadLocal,
    /// `ACL_MODEL_RI_CAPTURE_MODE_RELAXED`.
    Relaxed,
}

/// Updates tasks of a captured program from the op's stream, asynchronously.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskUpdate {
    /// The captured program.
    pub program: ProgramName,
    /// Its ops that get new parameters for the next replay.
    pub ops: Vec<OpId>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Runs another program in this place, on the same streams, several times in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// The program.
    pub program: ProgramName,
    /// How often; rounded to the nearest whole number, 0 runs nothing. May be a variable, such as
    /// the accepted speculative tokens.
    pub count: Expr,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// The cores and engines an op holds, per engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cores {
    /// Blocks on cube cores.
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub aic: u32,
    /// Blocks on vector cores.
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub aiv: u32,
    /// AICPU cores.
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub aicpu: u32,
    /// SDMA channels.
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub sdma: u32,
    /// How blocks are admitted.
    #[serde(default, skip_serializing_if = "ScheduleMode::is_normal")]
    pub mode: ScheduleMode,
}

/// How the blocks of a kernel are admitted to cores (`SCHEM_MODE`, facts/acl.md section 8).
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
pub enum ScheduleMode {
    /// Blocks start one by one as cores become free.
    #[default]
    Normal,
    /// All blocks start at once, when enough cores are free.
    Batch,
}

impl ScheduleMode {
    /// Whether blocks start one by one.
    pub fn is_normal(&self) -> bool {
        *self == Self::Normal
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero_u32(value: &u32) -> bool {
    *value == 0
}
