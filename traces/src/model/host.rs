//! What the host did.

use serde::Serialize;

use super::Name;
use crate::time::Span;

/// Which layer a host call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostKind {
    /// CANN, `AscendCL@…`.
    Acl,
    /// CANN, `Runtime@…` (Level2).
    Runtime,
    /// CANN, `Node@launch`.
    Node,
    /// CANN, `Model@…`.
    Model,
    /// CANN, `Hccl@…`.
    Hccl,
    /// CANN, any other level.
    OtherCann,
    /// A framework op.
    FrameworkOp,
    /// A framework annotation, the step markers included.
    Annotation,
    /// A task put on torch_npu's task queue.
    Enqueue,
    /// A task taken from that queue.
    Dequeue,
}

impl HostKind {
    /// Whether the row comes from CANN rather than from the framework.
    pub fn is_cann(self) -> bool {
        self <= Self::OtherCann
    }
}

/// One call on a host thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCall {
    /// Layer.
    pub kind: HostKind,
    /// Name as recorded: `AscendCL@aclrtRecordEvent`, `aten::add`.
    pub name: Name,
    /// Operating system thread.
    pub thread: u64,
    /// Start and end, ns.
    pub span: Span,
    /// Joins a CANN call to the device tasks it issued.
    pub connection: Option<u64>,
    /// Joins an enqueue to its dequeue.
    pub correlation: Option<u64>,
}

/// A moment on a host thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPoint {
    /// Operating system thread.
    pub thread: u64,
    /// When, ns.
    pub at: i64,
}

/// One step as the framework marks it on the host (`ProfilerStep#N`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its number.
    pub number: u32,
    /// From the marker's start to its end on the host, ns.
    pub span: Span,
}
