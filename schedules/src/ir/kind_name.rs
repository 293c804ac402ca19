//! What kinds are called, and the ops inside an op.

use super::{CollectiveKind, GroupTask, OpKind};

impl OpKind {
    /// The name of the kind as in a file: `kernel`, `event_reset`, ….
    pub fn name(&self) -> &'static str {
        match self {
            Self::Kernel(_) => "kernel",
            Self::Copy(_) => "copy",
            Self::Prefetch(_) => "prefetch",
            Self::Collective(_) => "collective",
            Self::Record(_) => "record",
            Self::Wait(_) => "wait",
            Self::EventReset(_) => "event_reset",
            Self::NotifyRecord(_) => "notify_record",
            Self::NotifyWait(_) => "notify_wait",
            Self::ValueWrite(_) => "value_write",
            Self::ValueWait(_) => "value_wait",
            Self::SuperKernel(_) => "super_kernel",
            Self::Group(_) => "group",
            Self::GraphLaunch(_) => "graph_launch",
            Self::TaskUpdate(_) => "task_update",
            Self::Host(_) => "host",
            Self::Alloc(_) => "alloc",
            Self::Free(_) => "free",
            Self::StreamUse(_) => "stream_use",
            Self::Repeat(_) => "repeat",
        }
    }

    /// The tasks of a group or the parts of a super kernel; none for other kinds.
    pub fn tasks(&self) -> &[GroupTask] {
        match self {
            Self::SuperKernel(fused) => &fused.parts,
            Self::Group(group) => &group.tasks,
            _ => &[],
        }
    }
}

impl CollectiveKind {
    /// The name of the kind as in a file: `all_reduce`, ….
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
            Self::AllToAllV => "all_to_all_v",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Scatter => "scatter",
            Self::Gather => "gather",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Barrier => "barrier",
            Self::Dispatch => "dispatch",
            Self::Combine => "combine",
            Self::DispatchFfnCombine => "dispatch_ffn_combine",
            Self::AllGatherMatmul => "all_gather_matmul",
            Self::MatmulReduceScatter => "matmul_reduce_scatter",
            Self::MatmulAllReduce => "matmul_all_reduce",
        }
    }
}
