//! What ran on the device.

use serde::Serialize;

use super::{HostPoint, Name};
use crate::time::Span;

/// What a device task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A kernel on AI cores, the AICPU or the random generator (DSA).
    Kernel,
    /// A copy by PCIe DMA or SDMA, a reducing one included.
    Copy,
    /// An event record, also one shown as PLACE_HOLDER_SQE.
    EventRecord,
    /// A stream waits for an event.
    EventWait,
    /// An event is reset.
    EventReset,
    /// A notify (or `Write Value`) is signalled.
    NotifyRecord,
    /// A stream waits for a notify.
    NotifyWait,
    /// A place holder without known meaning: no work.
    PlaceHolder,
    /// PROFILING_ENABLE / PROFILING_DISABLE: no work.
    Profiling,
    /// Anything else.
    Other,
}

impl TaskKind {
    /// The kind of a task by its recorded `Task Type` and name
    /// (facts/traces.md section 2.1). The name decides where the type does not:
    /// an `EVENT_RECORD` shown as PLACE_HOLDER_SQE is a record.
    pub fn of(task_type: &str, name: &str) -> Self {
        if name.starts_with("PROFILING_") || task_type.starts_with("PROFILING_") {
            return Self::Profiling;
        }
        match task_type {
            "AI_CORE" | "AI_VECTOR_CORE" | "AIV_SQE" | "MIX_AIC" | "MIX_AIV" | "AI_CPU"
            | "DSA_SQE" | "KERNEL_AIVEC" | "KERNEL_AICORE" | "KERNEL_AICPU" => Self::Kernel,
            "PCIE_DMA_SQE" | "SDMA_SQE" | "SDMA" | "MEMCPY_ASYNC" | "REDUCE_ASYNC_V2" => Self::Copy,
            "EVENT_RECORD_SQE" | "EVENT_RECORD" => Self::EventRecord,
            "EVENT_WAIT_SQE" | "EVENT_WAIT" => Self::EventWait,
            "EVENT_RESET_SQE" | "EVENT_RESET" => Self::EventReset,
            "NOTIFY_RECORD_SQE" | "NOTIFY_RECORD" | "Notify Record" | "Write Value"
            | "WRITE_VALUE_SQE" => Self::NotifyRecord,
            "NOTIFY_WAIT_SQE" | "NOTIFY_WAIT" | "Notify Wait" => Self::NotifyWait,
            "PLACE_HOLDER_SQE" if name == "EVENT_RECORD" => Self::EventRecord,
            "PLACE_HOLDER_SQE" => Self::PlaceHolder,
            _ => Self::Other,
        }
    }

    /// Whether the task counts for the makespan: all but profiling switches
    /// and place holders.
    pub fn is_in_span(self) -> bool {
        !matches!(self, Self::PlaceHolder | Self::Profiling)
    }

    /// Whether the stream only waits in this task.
    pub fn is_wait(self) -> bool {
        matches!(self, Self::EventWait | Self::NotifyWait)
    }
}

/// What a task runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Cube cores.
    Aic,
    /// Vector cores.
    Aiv,
    /// Cube cores in the lead, with vector cores.
    MixAic,
    /// Vector cores in the lead, with cube cores.
    MixAiv,
    /// AI cores; the capture does not say whether cube or vector.
    AiCore,
    /// The AI CPU.
    AiCpu,
    /// The random generator.
    Dsa,
    /// The on-chip copy engine, collectives' transfers included.
    Sdma,
    /// Copies over PCIe.
    Pcie,
    /// No engine: events, notifies, place holders, switches.
    None,
    /// Not recorded.
    Unknown,
}

impl Engine {
    /// The engine of a task by its recorded `Task Type`, for captures in which
    /// no kernel table tells the core. `AI_CORE` is not believed: in T1 vector
    /// kernels carry it too (facts/traces.md section 2.1).
    pub fn of_task_type(task_type: &str, kind: TaskKind) -> Self {
        match task_type {
            "AI_CORE" | "KERNEL_AICORE" => Self::AiCore,
            "AI_VECTOR_CORE" | "AIV_SQE" | "KERNEL_AIVEC" => Self::Aiv,
            "MIX_AIC" => Self::MixAic,
            "MIX_AIV" => Self::MixAiv,
            "AI_CPU" | "KERNEL_AICPU" => Self::AiCpu,
            "DSA_SQE" => Self::Dsa,
            "PCIE_DMA_SQE" => Self::Pcie,
            "SDMA_SQE" | "SDMA" => Self::Sdma,
            _ if matches!(kind, TaskKind::Copy | TaskKind::Other) => Self::Unknown,
            _ => Self::None,
        }
    }

    /// The engine of an `Accelerator Core` cell of a kernel table; `None` for
    /// N/A, communication rows and what is not known.
    pub fn of_accelerator_core(cell: &str) -> Option<Self> {
        Some(match cell {
            "AI_CORE" => Self::Aic,
            "AI_VECTOR_CORE" => Self::Aiv,
            "MIX_AIC" => Self::MixAic,
            "MIX_AIV" => Self::MixAiv,
            "AI_CPU" => Self::AiCpu,
            "DSA_SQE" => Self::Dsa,
            _ => return None,
        })
    }

    /// The name that tables show.
    pub fn label(self) -> &'static str {
        match self {
            Self::Aic => "AIC",
            Self::Aiv => "AIV",
            Self::MixAic => "MIX_AIC",
            Self::MixAiv => "MIX_AIV",
            Self::AiCore => "AIC or AIV",
            Self::AiCpu => "AICPU",
            Self::Dsa => "DSA",
            Self::Sdma => "SDMA",
            Self::Pcie => "PCIe DMA",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }
}

/// One task on the device.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceTask {
    /// Name of the kernel or of the kind of task.
    pub name: Name,
    /// `Task Type` as recorded.
    pub task_type: Name,
    /// What it does.
    pub kind: TaskKind,
    /// What it runs on; from the kernel table where there is one.
    pub engine: Engine,
    /// Physical stream.
    pub stream: u32,
    /// Task id on its stream; wraps around within a long capture.
    pub task: Option<u32>,
    /// FFTS+ context (subtask); `None` outside FFTS+ groups.
    pub context: Option<u32>,
    /// Graph model; `None` in eager mode.
    pub model: Option<u32>,
    /// Start and end, ns.
    pub span: Span,
    /// Joins the task to the CANN call that issued it.
    pub connection: Option<u64>,
    /// Host point the profiler's own HostToDevice flow starts at.
    pub launch: Option<HostPoint>,
    /// Index in [`super::Trace::host`] of the framework op it belongs to.
    pub framework_op: Option<u32>,
    /// Index in [`super::Trace::details`].
    pub detail: Option<u32>,
    /// Id of the event it records or waits for; no profile has it, only the dump of a captured graph
    /// ([`crate::dump`]).
    pub event: Option<u64>,
}

/// What a kernel table adds to a task.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelDetail {
    /// Step the profiler puts the kernel in.
    pub step: Option<u32>,
    /// Operator type, such as `MatMulV2`.
    pub op_type: Name,
    /// Cores the kernel asks for (AIC blocks, or AIV blocks of a vector kernel).
    pub block_dim: Option<u32>,
    /// Blocks on the other engine of a MIX kernel.
    pub mix_block_dim: Option<u32>,
    /// Input shapes as recorded, `16,3;16`; `None` if not recorded.
    pub input_shapes: Option<Name>,
    /// Input data types as recorded, `FLOAT;FLOAT`.
    pub input_types: Option<Name>,
    /// Output shapes as recorded.
    pub output_shapes: Option<Name>,
    /// Output data types as recorded.
    pub output_types: Option<Name>,
    /// Counters of the kernel, if any were captured.
    pub pmu: Pmu,
}

/// What bounds a kernel, by its counters; each `None` if not captured.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pmu {
    /// Time on cube cores, ns.
    pub aic_ns: Option<i64>,
    /// Time on vector cores, ns.
    pub aiv_ns: Option<i64>,
    /// Share of the cube time in which the cube pipe is busy, 0 to 1.
    pub aic_mac_ratio: Option<f64>,
    /// Share of the cube time in which MTE2 (global memory to L1) is busy, 0 to 1.
    pub aic_mte2_ratio: Option<f64>,
    /// Share of the vector time in which the vector pipe is busy, 0 to 1.
    pub aiv_vec_ratio: Option<f64>,
    /// Share of the vector time in which MTE2 (global memory to UB) is busy, 0 to 1.
    pub aiv_mte2_ratio: Option<f64>,
    /// Share of the vector time in which MTE3 (UB to global memory) is busy, 0 to 1.
    pub aiv_mte3_ratio: Option<f64>,
}
