//! Which executor HCCL takes on 910_93 (facts/collectives.md sections 1.2 to 1.8).

use ascsim_schedules::{CollectiveKind as Kind, Expansion};

use super::blocks::{AivKernel, Ask, blocks};
use super::{CollectiveError, Determinism, Finding, Request};
use crate::ParameterId as P;
use crate::Reader;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The shape of an executor's work, on which its time depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Template {
    /// A kernel on vector cores.
    Aiv(AivKernel),
    /// Halving and doubling, or its staged form: `log2 N` exchanges on one stream.
    HalvingDoubling,
    /// Parallel writes to all peers, then local reductions in a tree.
    DirectReduce,
    /// Two rings, one over SIO and one over HCCS.
    DoubleRing,
    /// One ring.
    SingleRing,
    /// Both neighbours at once, half the steps.
    SemiRing,
    /// NHR between servers.
    Nhr,
    /// Reads from up to eight peers at once.
    FullMesh,
    /// One peer.
    Peer,
}

/// An executor and what follows from the choice.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) executor: &'static str,
    pub(crate) template: Template,
    /// Vector cores held, all from the start; 0 for the AICPU.
    pub(crate) blocks: u32,
    pub(crate) findings: Vec<Finding>,
}

/// Chooses the executor of a plain collective (not an MC2 kernel).
pub(crate) fn choose(request: &Request, r: &Reader<'_>) -> Result<Choice, CollectiveError> {
    let mut findings = Vec::new();
    let limits = AivLimits::new(request, r);
    let candidate = match request.expansion {
        Expansion::Aiv => aiv(request, &limits, &mut findings),
        Expansion::AiCpu => Err("AIV is not asked for"),
        Expansion::Host | Expansion::Ffts => {
            findings.push(Finding::UnknownExpansion);
            Err("AIV is not asked for")
        }
    };
    if let Some(switch) = limits.switch
        && request.expansion == Expansion::Aiv
        && request.bytes.abs_diff(switch) <= switch / 10
    {
        findings.push(Finding::NearSwitch {
            bytes: request.bytes,
            switch,
        });
    }
    let mut choice = match candidate {
        Ok(kernel) => on_aiv(request, kernel, &mut findings, r)?,
        Err(why) if request.only_aiv => {
            return Err(CollectiveError::OnlyAiv {
                kind: request.kind,
                why,
            });
        }
        Err(_) => {
            let (executor, template) = aicpu(request, r);
            Choice {
                executor,
                template,
                blocks: 0,
                findings: Vec::new(),
            }
        }
    };
    choice.findings = findings;
    Ok(choice)
}

/// The sizes up to which AIV takes a collective.
struct AivLimits {
    /// The size of S at which HCCL leaves AIV; `None` where there is none.
    switch: Option<u64>,
}

impl AivLimits {
    fn new(request: &Request, r: &Reader<'_>) -> Self {
        let topology = &request.topology;
        let n = u64::from(topology.ranks);
        let graph = request.graph_flag();
        let pick = |op_base: P, in_graph: P| r.whole(if graph { in_graph } else { op_base });
        let many = topology.servers > 1;
        let by_ranks = |few, some, more| match topology.ranks {
            0..=6 => few,
            7..=16 => some,
            _ => more,
        };
        let switch = match request.kind {
            Kind::AllReduce if many || request.determinism != Determinism::Off => {
                Some(if n > 8 { 8 * MIB } else { 512 * KIB })
            }
            Kind::AllReduce => {
                Some(pick(P::HcclAllReduceOpBase, P::HcclAllReduceGraph).saturating_mul(n))
            }
            Kind::AllGather if many => Some(by_ranks(MIB, 512 * KIB, 32 * KIB)),
            Kind::AllGather => Some(pick(P::HcclAllGatherOpBase, P::HcclAllGatherGraph)),
            Kind::ReduceScatter if request.determinism != Determinism::Off => {
                Some(8 * MIB / n.max(1))
            }
            Kind::ReduceScatter if many => Some(by_ranks(MIB, 512 * KIB, 128 * KIB)),
            Kind::ReduceScatter => {
                Some(pick(P::HcclReduceScatterOpBase, P::HcclReduceScatterGraph))
            }
            Kind::AllToAll if graph || many => None,
            Kind::AllToAll => Some(r.whole(P::HcclAllToAllOpBase)),
            Kind::Broadcast if many => Some(if n <= 8 { 512 * KIB } else { MIB }),
            Kind::Broadcast if graph => Some(16 * MIB),
            Kind::Broadcast => Some(4 << 30),
            _ => None,
        };
        Self { switch }
    }
}

/// The AIV kernel that takes the request, or why none does.
fn aiv(
    request: &Request,
    limits: &AivLimits,
    findings: &mut Vec<Finding>,
) -> Result<AivKernel, &'static str> {
    let topology = &request.topology;
    let reduces = matches!(request.kind, Kind::AllReduce | Kind::ReduceScatter);
    if !matches!(
        request.kind,
        Kind::AllReduce
            | Kind::AllGather
            | Kind::ReduceScatter
            | Kind::AllToAll
            | Kind::AllToAllV
            | Kind::Broadcast
    ) {
        return Err("there is no AIV kernel for it");
    }
    if topology.pods > 1 {
        findings.push(Finding::AivAcrossPods);
        return Err("it spans several super-pods");
    }
    let blocked = [
        (request.retry, "retry"),
        (
            reduces && request.reduces_off_aiv,
            "the reduction (PROD or int64)",
        ),
    ];
    for (blocks, why) in blocked {
        if blocks {
            findings.push(Finding::LeavesAiv { why });
            return Err(why);
        }
    }
    let graph = request.graph_flag();
    let deterministic = reduces && request.determinism != Determinism::Off;
    let special = topology.servers > 1 || deterministic;
    // AllReduce across servers and deterministic ReduceScatter compare with `<`, all others with `<=`.
    let strict = special
        && (deterministic && request.kind == Kind::ReduceScatter
            || request.kind == Kind::AllReduce && topology.ranks > 8);
    let fits = limits.switch.is_none_or(|switch| {
        if strict {
            request.bytes < switch
        } else {
            request.bytes <= switch
        }
    });
    if !(fits || request.only_aiv && special && request.kind == Kind::AllReduce) {
        findings.push(if deterministic {
            Finding::LeavesAiv { why: "determinism" }
        } else {
            Finding::TooLargeForAiv
        });
        return Err("the message is too large");
    }
    if special && request.kind != Kind::Broadcast {
        return Ok(AivKernel::For91093);
    }
    let small = match (request.kind, graph) {
        (Kind::AllReduce, false) => request.bytes < 16 * MIB,
        (Kind::AllReduce, true) => request.bytes <= 190 * KIB,
        (Kind::AllGather, false) => request.bytes <= 700 * KIB,
        (Kind::AllGather | Kind::AllToAll, true) => request.bytes <= 760 * KIB,
        // The core limit decides in graphs; see `on_aiv`.
        (Kind::ReduceScatter, _) => true,
        _ => false,
    };
    Ok(if small {
        AivKernel::Small
    } else {
        AivKernel::Mesh
    })
}

/// The AIV kernel with its cores, chosen anew where the core limit does not hold it.
fn on_aiv(
    request: &Request,
    kernel: AivKernel,
    findings: &mut Vec<Finding>,
    r: &Reader<'_>,
) -> Result<Choice, CollectiveError> {
    let topology = &request.topology;
    let of_die = u32::try_from(r.whole(P::ChipAiv)).unwrap_or(u32::MAX);
    let limit = request.core_limit.unwrap_or(of_die).min(of_die);
    let graph = request.graph_flag();
    let mut kernel = kernel;
    if request.kind == Kind::ReduceScatter && kernel == AivKernel::Small && graph {
        // In a graph the split depends on the core limit (facts/collectives.md section 1.5).
        let per_rank = u64::from((limit / topology.ranks.max(1)).min(4));
        if request.bytes > per_rank * 190 * KIB {
            kernel = AivKernel::Mesh;
        }
    }
    let mut ask = Ask {
        kind: request.kind,
        kernel,
        graph,
        ranks: topology.ranks,
        bytes: request.bytes,
        servers: topology.servers,
        deterministic: request.determinism != Determinism::Off,
        limit,
    };
    let mut outcome = blocks(&ask);
    if let Err(need) = outcome
        && kernel != AivKernel::For91093
        && request.kind != Kind::Broadcast
    {
        findings.push(Finding::CoreLimited { need, limit });
        kernel = AivKernel::For91093;
        ask.kernel = kernel;
        outcome = blocks(&ask);
    }
    let blocks = outcome.map_err(|need| CollectiveError::CoreLimit {
        kind: request.kind,
        ranks: topology.ranks,
        need,
        limit,
    })?;
    if matches!(request.kind, Kind::AllGather | Kind::AllToAll)
        && blocks >= topology.ranks.saturating_mul(3)
    {
        findings.push(Finding::ManyCores {
            cores: blocks,
            of: of_die,
        });
    }
    if request.kind == Kind::AllToAllV && request.bytes > MIB {
        findings.push(Finding::AllToAllVTooLarge);
    }
    Ok(Choice {
        executor: aiv_executor(request.kind, kernel),
        template: Template::Aiv(kernel),
        blocks,
        findings: Vec::new(),
    })
}

fn aiv_executor(kind: Kind, kernel: AivKernel) -> &'static str {
    use AivKernel::{For91093, Mesh, Small};
    match (kind, kernel) {
        (Kind::AllReduce, Small) => "AllReduceMeshAivSmallCountExecutor",
        (Kind::AllReduce, Mesh) => "AllReduceMeshAivExecutor",
        (Kind::AllReduce, For91093) => "AllReduceMeshAivFor91093Executor",
        (Kind::AllGather, Small) => "AllGatherMeshAivSmallCountExecutor",
        (Kind::AllGather, Mesh) => "AllGatherMeshAivExecutor",
        (Kind::AllGather, For91093) => "AllGatherMeshAivFor91093Executor",
        (Kind::ReduceScatter, Small) => "ReduceScatterMeshAivSmallCountExecutor",
        (Kind::ReduceScatter, Mesh) => "ReduceScatterMeshAivExecutor",
        (Kind::ReduceScatter, For91093) => "ReduceScatterMeshAivFor91093Executor",
        (Kind::Broadcast, _) => "BroadcastMeshAivExecutor",
        (_, Small) => "AlltoAllMeshAivSmallCountExecutor",
        (_, Mesh) => "AlltoAllMeshAivExecutor",
        (_, For91093) => "AlltoAllMeshAivFor91093Executor",
    }
}

/// The executor that the AICPU expands. Names in plain words are of executors that facts/collectives.md
/// describes without naming their class.
pub(crate) fn aicpu(request: &Request, r: &Reader<'_>) -> (&'static str, Template) {
    let topology = &request.topology;
    let (n, s) = (u64::from(topology.ranks), request.bytes);
    let ccl = request
        .buffer_bytes
        .unwrap_or_else(|| r.whole(P::HcclBuffer));
    let graph = request.graph_flag();
    let one = topology.servers <= 1;
    let local = u64::from(topology.ranks_per_server());
    let ring = |double: &'static str, single: &'static str| {
        if topology.double_ring() {
            (double, Template::DoubleRing)
        } else {
            (single, Template::SingleRing)
        }
    };
    match request.kind {
        Kind::AllReduce | Kind::MatmulAllReduce | Kind::Barrier | Kind::Reduce => {
            if request.determinism == Determinism::Strict {
                (
                    "AllReduceOrderPreservedFor91093Executor",
                    Template::DirectReduce,
                )
            } else if topology.pods > 1 && !graph && s <= 256 * KIB {
                ("AllReduceMidCountFor91093Executor", Template::Nhr)
            } else if topology.pods > 1 && s <= 16 * KIB * local
                || topology.pods <= 1 && !one && s <= MIB * local
            {
                ("AllReduceComm", Template::Nhr)
            } else if one && n > 2 && s <= 512 * KIB * n && s <= ccl / 2 && !graph {
                ("AllReduceMeshSmallCountExecutor", Template::HalvingDoubling)
            } else if request.zero_copy && one {
                let (_, template) = ring("", "");
                ("AllReduceRingZerocopyExecutor", template)
            } else if topology.uneven {
                ("AllReduce ARS", Template::Nhr)
            } else {
                ring(
                    "AllReduceFastDoubleRingFor91093Executor",
                    "AllReduceRingFor91093Executor",
                )
            }
        }
        Kind::AllGather | Kind::AllGatherMatmul => {
            if topology.pods > 1 && s <= 256 * KIB {
                ("AllGatherMidCountFor91093Executor", Template::Nhr)
            } else if topology.uneven {
                ("AllGather NHR", Template::Nhr)
            } else if one && n > 2 && s <= 512 * KIB && ccl >= n.saturating_mul(s) && !graph {
                ("AllGatherSmallCount", Template::HalvingDoubling)
            } else if graph && one && topology.double_ring() {
                ("AllGatherSemiRingExecutor", Template::SemiRing)
            } else {
                ring(
                    "AlignedAllGatherDoubleRingFor91093Executor",
                    "AllGatherRingFor91093Executor",
                )
            }
        }
        Kind::ReduceScatter | Kind::MatmulReduceScatter => {
            if topology.uneven {
                ("ReduceScatter NHR", Template::Nhr)
            } else if one && s <= MIB {
                ("ReduceScatterDeterExecutor", Template::DirectReduce)
            } else if graph && one && topology.double_ring() {
                ("ReduceScatterSemiRingExecutor", Template::SemiRing)
            } else {
                ring(
                    "ReduceScatterFastDoubleRingFor91093Executor",
                    "ReduceScatterRingFor91093Executor",
                )
            }
        }
        Kind::AllToAll | Kind::AllToAllV if request.zero_copy => {
            ("RunAlltoAllFullMeshSymmetricMemory", Template::FullMesh)
        }
        Kind::AllToAll | Kind::AllToAllV => ("RunAlltoAllDirectFullmesh", Template::FullMesh),
        Kind::Broadcast if one && n > 2 && s <= 512 * KIB * n => {
            ("Broadcast HD", Template::HalvingDoubling)
        }
        Kind::Broadcast if topology.uneven => ("Broadcast NHR", Template::Nhr),
        Kind::Broadcast => ring("Broadcast double ring", "Broadcast ring"),
        Kind::Scatter | Kind::Gather => ("root to all", Template::SingleRing),
        Kind::Send | Kind::Receive | Kind::Dispatch | Kind::Combine | Kind::DispatchFfnCombine => {
            ("send and receive", Template::Peer)
        }
    }
}
