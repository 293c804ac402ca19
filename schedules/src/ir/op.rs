//! An op: one call of the host, and what it makes the device do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Accesses, Comm, Cores, Delay, Extra, Launch, Measured, OpId, OpKind, StreamName, Tags,
    ThreadName, Work,
};

/// One call of the host, and what it makes the device do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Op {
    /// Its id, unique within its program.
    pub id: OpId,
    /// The host thread that makes the call.
    #[serde(default, skip_serializing_if = "ThreadName::is_main")]
    pub thread: ThreadName,
    /// The stream it is queued on; none for host ops that touch no stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamName>,
    /// What it is.
    pub kind: OpKind,
    /// Cores and engines it holds while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<Cores>,
    /// Its communication. Required for a collective; MC2 kernels and DispatchFFNCombine are kernels
    /// that carry one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comm: Option<Box<Comm>>,
    /// The memory it touches.
    #[serde(default, skip_serializing_if = "Accesses::is_unknown")]
    pub accesses: Accesses,
    /// What it does, for the hardware model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<Work>>,
    /// How long it takes when nothing contends. A collective: from the last rank's start to its end.
    /// A host op: the host time besides waiting. A copy or kernel without one needs a hardware model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Box<Measured>>,
    /// Host time of the call that issues it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<Box<Measured>>,
    /// How much later than derived it starts, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Box<Delay>>,
    /// Tags, for selectors and reports.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// What the executor calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<Box<Launch>>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

impl Op {
    /// An op of `kind` with id `id`, issued by the thread `main`, with nothing else set.
    pub fn new(id: impl Into<OpId>, kind: OpKind) -> Self {
        Self {
            id: id.into(),
            thread: ThreadName::main(),
            stream: None,
            kind,
            cores: None,
            comm: None,
            accesses: Accesses::Unknown,
            work: None,
            duration: None,
            issue: None,
            delay: None,
            tags: Tags::default(),
            launch: None,
            extra: Extra::default(),
        }
    }

    /// Whether it puts a task on its stream (as against something that only the host does).
    pub fn is_device(&self) -> bool {
        use super::HostKind::{Function, RecordExternal};
        match &self.kind {
            OpKind::Host(kind) => matches!(kind, Function { .. } | RecordExternal { .. }),
            OpKind::Alloc(_) | OpKind::Free(_) | OpKind::StreamUse(_) | OpKind::Repeat(_) => false,
            OpKind::Kernel(_)
            | OpKind::Copy(_)
            | OpKind::Prefetch(_)
            | OpKind::Collective(_)
            | OpKind::Record(_)
            | OpKind::Wait(_)
            | OpKind::EventReset(_)
            | OpKind::NotifyRecord(_)
            | OpKind::NotifyWait(_)
            | OpKind::ValueWrite(_)
            | OpKind::ValueWait(_)
            | OpKind::SuperKernel(_)
            | OpKind::Group(_)
            | OpKind::GraphLaunch(_)
            | OpKind::TaskUpdate(_) => true,
        }
    }
}
