//! Collectives and what they are made of.

use serde::Serialize;

use super::Name;
use crate::time::Span;

/// One collective on this rank.
///
/// A collective is a bracket around tasks that are in [`super::Trace::tasks`]
/// already; never add its time to theirs (facts/traces.md section 2.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Collective {
    /// Name as recorded: `hcom_allReduce__586_0_1`.
    pub name: Name,
    /// Lane of its group: `Group 0 Communication`.
    pub group: Name,
    /// Id of the group, if recorded.
    pub group_id: Option<Name>,
    /// Joins it to the CANN call that issued it.
    pub connection: Option<u64>,
    /// Graph model; `None` in eager mode.
    pub model: Option<u32>,
    /// Algorithm: `MESH-RING`.
    pub algorithm: Option<Name>,
    /// Data type: `FP32`.
    pub data_type: Option<Name>,
    /// Elements.
    pub count: Option<u64>,
    /// Start and end, ns.
    pub span: Span,
    /// Index in [`super::Trace::host`] of the framework op it belongs to.
    pub framework_op: Option<u32>,
    /// The profiler's split of its time, if recorded.
    pub times: Option<CommTimes>,
}

/// The profiler's split of a collective's time (communication.json), ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CommTimes {
    /// From first to last task.
    pub elapse_ns: i64,
    /// Moving data.
    pub transit_ns: i64,
    /// Waiting for notifies.
    pub wait_ns: i64,
    /// The part of the waiting before the first transfer.
    pub synchronization_ns: i64,
    /// Neither.
    pub idle_ns: i64,
}

/// What a task of a plane does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaneKind {
    /// A copy.
    Memcpy,
    /// A copy that reduces.
    Reduce,
    /// Signals a notify.
    NotifyRecord,
    /// Waits for a notify.
    NotifyWait,
    /// Anything else (RDMA sends among them).
    Other,
}

impl PlaneKind {
    /// The kind of a plane row by its name (facts/traces.md section 2.1).
    pub fn of(name: &str) -> Self {
        match name {
            "Memcpy" => Self::Memcpy,
            "Reduce_Inline" | "Reduce_TBE" => Self::Reduce,
            "Notify_Record" | "Notify Record" => Self::NotifyRecord,
            "Notify_Wait" | "Notify Wait" => Self::NotifyWait,
            _ => Self::Other,
        }
    }
}

/// One transfer or notify of a collective: a second view of the device task
/// with the same (stream, task, context), with what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaneTask {
    /// What it does.
    pub kind: PlaneKind,
    /// Name as recorded.
    pub name: Name,
    /// Lane of its group.
    pub group: Name,
    /// Number of its plane within the group.
    pub plane: u32,
    /// Notify id; `None` for transfers. Pairs across ranks on 910B.
    pub notify: Option<u64>,
    /// Source rank.
    pub source: Option<u32>,
    /// Destination rank; `None` for local transfers.
    pub destination: Option<u32>,
    /// Bytes moved.
    pub bytes: Option<u64>,
    /// Transport: `SDMA`, `LOCAL`, `RDMA`.
    pub transport: Option<Name>,
    /// Link: `ON_CHIP`, `HCCS`, `SIO`.
    pub link: Option<Name>,
    /// Physical stream.
    pub stream: u32,
    /// Task id on its stream.
    pub task: Option<u32>,
    /// FFTS+ context.
    pub context: Option<u32>,
    /// Start and end, ns.
    pub span: Span,
    /// Index in [`super::Trace::tasks`] of the same task.
    pub device_task: Option<u32>,
    /// Index in [`super::Trace::collectives`].
    pub collective: Option<u32>,
}
