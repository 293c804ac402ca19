//! What is known of the capture itself.

use serde::Serialize;

use crate::time::Span;

/// Facts of a capture; each `None` if the capture does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Meta {
    /// Kind of profile: `torch_npu text`.
    pub source: String,
    /// Rank.
    pub rank: Option<u32>,
    /// Device label, `NPU 0`.
    pub device: Option<String>,
    /// Chip name.
    pub chip: Option<String>,
    /// AI core clock, MHz, as sampled; the range over the capture.
    pub core_mhz: Option<(u32, u32)>,
    /// Profiler level: `Level0`, `Level1`, `Level2`.
    pub level: Option<String>,
    /// Counter set: `ACL_AICORE_PIPE_UTILIZATION`.
    pub aic_metrics: Option<String>,
    /// Whether L2 counters were on, which perturbs every gap.
    pub l2_cache: Option<bool>,
    /// CANN version.
    pub cann: Option<String>,
    /// torch_npu version.
    pub torch_npu: Option<String>,
    /// Other settings, as (key, value), in the order of the file.
    pub settings: Vec<(String, String)>,
}

/// A kind of information a capture may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Everything on the device but kernels and collectives.
    Timeline,
    /// Streams of the tasks.
    Streams,
    /// CANN calls.
    Cann,
    /// Framework ops.
    Framework,
    /// Step markers.
    Steps,
    /// Kernel table with cores, block dims and shapes.
    KernelDetails,
    /// Cores in the kernel table.
    AcceleratorCores,
    /// Transfers and notifies of collectives.
    Planes,
    /// The profiler's split of collective times.
    CommunicationTimes,
    /// Settings of the profiler.
    Settings,
    /// Software versions.
    Versions,
    /// Chip name.
    Chip,
    /// Rank of the capture.
    Rank,
}

impl Lane {
    /// The name that tables show.
    pub fn label(self) -> &'static str {
        match self {
            Self::Timeline => "timeline",
            Self::Streams => "streams",
            Self::Cann => "CANN calls",
            Self::Framework => "framework ops",
            Self::Steps => "step markers",
            Self::KernelDetails => "kernel table",
            Self::AcceleratorCores => "core of each kernel",
            Self::Planes => "transfers of collectives",
            Self::CommunicationTimes => "communication times",
            Self::Settings => "profiler settings",
            Self::Versions => "software versions",
            Self::Chip => "chip name",
            Self::Rank => "rank",
        }
    }
}

/// A lane that the capture lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// What is absent.
    pub lane: Lane,
    /// What cannot be said without it.
    pub forbids: &'static str,
    /// How to get it next time.
    pub remedy: &'static str,
}

/// Something a user of the trace has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Stable name of the kind of note.
    pub code: &'static str,
    /// The note.
    pub text: String,
}

/// The profiler's own derived figures. **Never an input**: kept to compare with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Oracle {
    /// Rows of `step_trace_time.csv`.
    pub step_trace: Vec<StepTrace>,
    /// Rows of the Overlap Analysis lanes.
    pub overlap: Vec<OracleSpan>,
}

/// One row of `step_trace_time.csv`, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StepTrace {
    /// Step; `None` where the capture has none.
    pub step: Option<u32>,
    /// Computing.
    pub computing_ns: i64,
    /// Communication not overlapped by computing.
    pub not_overlapped_ns: i64,
    /// Communication overlapped by computing.
    pub overlapped_ns: i64,
    /// Communication.
    pub communication_ns: i64,
    /// Neither.
    pub free_ns: i64,
    /// Length of the step on the device.
    pub stage_ns: i64,
}

/// A lane of Overlap Analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OracleLane {
    /// Computing.
    Computing,
    /// Communication.
    Communication,
    /// Communication(Not Overlapped).
    NotOverlapped,
    /// Free.
    Free,
}

/// One row of Overlap Analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OracleSpan {
    /// Its lane.
    pub lane: OracleLane,
    /// Start and end, ns.
    pub span: Span,
}
