//! A collective as it is asked for.

use ascsim_schedules::{CollectiveKind, Comm, Communicator, Expansion};
use serde::Serialize;

use super::Topology;

/// How an op is issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Workflow {
    /// One op after the other.
    #[default]
    Eager,
    /// Replay of a captured graph (aclgraph).
    AclGraph,
    /// A graph compiled by GE (torchair).
    GeGraph,
}

/// Whether reductions must be reproducible (`HCCL_DETERMINISTIC`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Determinism {
    /// No.
    #[default]
    Off,
    /// The same result in every run.
    On,
    /// The same result in every run, with the order of ranks kept.
    Strict,
}

/// The shape of a mixture-of-experts exchange, for MC2 kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Moe {
    /// Tokens of a rank (BS).
    pub tokens: u64,
    /// Experts per token (K).
    pub top_k: u64,
    /// Hidden size (H).
    pub hidden: u64,
    /// Routed experts of a rank.
    pub local_experts: u64,
    /// Shared experts of a rank that take part.
    pub shared_experts: u64,
}

/// A collective as it is asked for: everything that HCCL's choice depends on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Request {
    /// Which collective.
    pub kind: CollectiveKind,
    /// Bytes by the size rule of the kind, S: AllReduce the whole buffer, AllGather bytes sent per
    /// rank, ReduceScatter bytes received per rank, AllToAll bytes per peer.
    pub bytes: u64,
    /// Where the ranks are.
    pub topology: Topology,
    /// How it is issued.
    pub workflow: Workflow,
    /// Who carries it out (`HCCL_OP_EXPANSION_MODE`).
    pub expansion: Expansion,
    /// Whether falling back from AIV is forbidden (AIV only).
    pub only_aiv: bool,
    /// Whether the AICPU may cache expansions (not `AICPU_CacheDisable`).
    pub cache: bool,
    /// Whether reductions must be reproducible.
    pub determinism: Determinism,
    /// Vector cores the stream may use, if limited.
    pub core_limit: Option<u32>,
    /// Size of the CCL buffer in bytes, if not the default.
    pub buffer_bytes: Option<u64>,
    /// Whether input and output overlap.
    pub in_place: bool,
    /// Whether the buffers are symmetric memory (zero copy).
    pub zero_copy: bool,
    /// Whether `aclGraphZeroCopyEnable` is set.
    pub graph_zero_copy: bool,
    /// Whether retry is on.
    pub retry: bool,
    /// Whether vector cores cannot reduce it: PROD, or int64.
    pub reduces_off_aiv: bool,
    /// The shape of the exchange, for MC2 kernels.
    pub moe: Option<Moe>,
    /// The time of the matmuls in ps, for kernels that compute too.
    pub compute_ps: u64,
}

impl Request {
    /// A request with the defaults of HCCL on A3: eager, expanded by the AICPU, cached, not
    /// deterministic, no limit, out of place.
    pub fn new(kind: CollectiveKind, bytes: u64, topology: Topology) -> Self {
        Self {
            kind,
            bytes,
            topology,
            workflow: Workflow::default(),
            expansion: Expansion::AiCpu,
            only_aiv: false,
            cache: true,
            determinism: Determinism::default(),
            core_limit: None,
            buffer_bytes: None,
            in_place: false,
            zero_copy: false,
            graph_zero_copy: false,
            retry: false,
            reduces_off_aiv: false,
            moe: None,
            compute_ps: 0,
        }
    }

    /// The request that an op's `comm` makes on its communicator; `bytes` is its size, evaluated.
    pub fn of(comm: &Comm, communicator: &Communicator, bytes: u64, topology: Topology) -> Self {
        let is = |text: Option<&str>, what: &str| {
            text.is_some_and(|text| text.eq_ignore_ascii_case(what))
        };
        Self {
            expansion: comm
                .expansion
                .or(communicator.expansion)
                .unwrap_or(Expansion::AiCpu),
            determinism: if communicator.deterministic {
                Determinism::On
            } else {
                Determinism::Off
            },
            buffer_bytes: communicator.buffer_bytes,
            in_place: comm.in_place,
            reduces_off_aiv: is(comm.reduce.as_deref(), "prod")
                || is(comm.dtype.as_deref(), "int64"),
            ..Self::new(comm.kind, bytes, topology)
        }
    }

    /// Whether the op runs under the graph workflow flag (facts/collectives.md section 1.1). Under
    /// aclgraph, AllReduce and ReduceScatter stay op-base unless zero copy is enabled; AllToAllV and
    /// Broadcast stay op-base under AIV.
    pub fn graph_flag(&self) -> bool {
        match self.workflow {
            Workflow::Eager => false,
            Workflow::GeGraph => true,
            Workflow::AclGraph => match self.kind {
                CollectiveKind::AllReduce
                | CollectiveKind::ReduceScatter
                | CollectiveKind::Reduce
                | CollectiveKind::MatmulAllReduce
                | CollectiveKind::MatmulReduceScatter => self.graph_zero_copy,
                CollectiveKind::AllToAllV | CollectiveKind::Broadcast => {
                    self.expansion != Expansion::Aiv
                }
                _ => true,
            },
        }
    }
}
