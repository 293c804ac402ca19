//! Collectives on 910_93: which executor HCCL takes, what it holds, and how long it runs from the
//! last rank's start (facts/collectives.md). Rank skew is no part of it: the simulator brings it.
//!
//! 1. An AIV collective or MC2 kernel holds all its vector cores from its own start (batch mode)
//!    until it ends everywhere.
//! 2. An AICPU collective holds one AICPU core while it is expanded; the expansions of all
//!    communicators of a device follow each other (`expansion_ps`).
//! 3. The time is continuous in the size except where HCCL takes another executor or kernel.

mod aicpu;
mod aiv;
mod blocks;
mod choose;
mod finding;
mod mc2;
mod request;
mod topology;

use ascsim_schedules::{CollectiveKind, Cores, Expansion, ScheduleMode};
use serde::Serialize;

pub use blocks::AivKernel;
pub use finding::{CollectiveError, Finding};
pub use mc2::window;
pub use request::{Determinism, Moe, Request, Workflow};
pub use topology::Topology;

use self::choose::Template;
use crate::number::ps;
use crate::{Level, Model, ParameterId, Ranged, Reader, Used, ranged};

/// A part of a collective's time. Parts may run side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// What it is.
    pub name: &'static str,
    /// Its start, in ps from the last rank's start.
    pub start_ps: u64,
    /// Its length in ps.
    pub ps: u64,
}

impl Phase {
    fn new(name: &'static str, start_ps: u64, us: f64) -> Self {
        Self {
            name,
            start_ps,
            ps: ps(us),
        }
    }

    fn end_ps(&self) -> u64 {
        self.start_ps.saturating_add(self.ps)
    }

    fn end(phases: &[Self]) -> u64 {
        phases.iter().map(Self::end_ps).max().unwrap_or(0)
    }
}

/// What a collective costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CollectiveCost {
    /// The executor or kernel, by HCCL's class name where it is known.
    pub executor: &'static str,
    /// What it holds on every rank from its start there to its end: vector cores in batch mode, or
    /// an AICPU core.
    pub cores: Cores,
    /// The time in ps from the last rank's start.
    pub ps: u64,
    /// The parts of that time.
    pub phases: Vec<Phase>,
    /// AICPU time in ps to expand it, which the communicators of a device take one after the other;
    /// 0 on AIV.
    pub expansion_ps: u64,
    /// Tasks that the AICPU issues; 0 on AIV.
    pub tasks: u64,
    /// Whether later calls take the expansion from the cache.
    pub cached: bool,
    /// Bytes that a rank receives from others.
    pub remote_bytes: u64,
    /// The farthest level that they cross.
    pub level: Level,
    /// What a user should know.
    pub findings: Vec<Finding>,
    /// The parameters used.
    pub used: Used,
}

impl CollectiveCost {
    /// Whether the SuperKernel compiler takes it as a part: AllReduce, AllGather, ReduceScatter and
    /// AllToAll on AIV mesh executors (facts/schedules.md section D3 rule 3).
    pub fn fuses(&self) -> bool {
        self.executor.contains("MeshAiv") && !self.executor.starts_with("Broadcast")
    }

    /// A cost with these phases and nothing held.
    fn of(request: &Request, phases: Vec<Phase>) -> Self {
        Self {
            executor: "",
            cores: Cores::default(),
            ps: Phase::end(&phases),
            phases,
            expansion_ps: 0,
            tasks: 0,
            cached: false,
            remote_bytes: 0,
            level: request.topology.level,
            findings: Vec::new(),
            used: Used::default(),
        }
    }
}

/// The cost of a collective with the values that `r` reads. Pure and deterministic.
///
/// # Errors
/// If HCCL would refuse it (HCCL_E_PARA), it must stay on AIV and cannot, it has no ranks, or an MC2
/// kernel lacks its shape.
pub fn cost(request: &Request, r: &Reader<'_>) -> Result<CollectiveCost, CollectiveError> {
    if request.topology.ranks == 0 {
        return Err(CollectiveError::NoRanks);
    }
    let mut cost = match mc2::cost(request, r) {
        Some(outcome) => outcome?,
        None => plain(request, r)?,
    };
    let buffer = request
        .buffer_bytes
        .unwrap_or_else(|| r.whole(ParameterId::HcclBuffer));
    if request.moe.is_none() && request.bytes >= buffer {
        cost.findings.push(Finding::LoopsOverBuffer);
    }
    cost.used = r.used();
    Ok(cost)
}

/// The cost of a collective on a model, with its range and what the range comes from.
///
/// # Errors
/// As [`cost`].
pub fn cost_with_range(
    model: &Model,
    request: &Request,
) -> Result<(CollectiveCost, Ranged), CollectiveError> {
    let values = model.values();
    let mut found = cost(request, &Reader::new(&values))?;
    if model.soc != "910_93" {
        found.findings.push(Finding::OtherSoc);
    }
    // A range never changes what HCCL accepts, except for core counts, which are exact.
    let range = ranged(model, |r| cost(request, r).map_or(found.ps, |cost| cost.ps));
    Ok((found, range))
}

fn plain(request: &Request, r: &Reader<'_>) -> Result<CollectiveCost, CollectiveError> {
    let choice = choose::choose(request, r)?;
    let mut findings = choice.findings;
    let cost = if let Template::Aiv(kernel) = choice.template {
        let (phases, remote_bytes) = aiv::phases(request, kernel, choice.blocks, r);
        let measured = matches!(
            request.kind,
            CollectiveKind::AllReduce | CollectiveKind::AllGather | CollectiveKind::ReduceScatter
        ) && kernel != AivKernel::For91093;
        if !measured {
            findings.push(Finding::Uncalibrated);
        }
        CollectiveCost {
            cores: Cores {
                aiv: choice.blocks,
                mode: ScheduleMode::Batch,
                ..Cores::default()
            },
            remote_bytes,
            ..CollectiveCost::of(request, phases)
        }
    } else {
        let expanded = aicpu::expand(request, choice.template, r);
        findings.extend(aicpu_findings(request, choice.template));
        CollectiveCost {
            cores: Cores {
                aicpu: 1,
                ..Cores::default()
            },
            expansion_ps: expanded.phases.get(1).map_or(0, |phase| phase.ps),
            tasks: expanded.tasks,
            cached: expanded.cached,
            remote_bytes: expanded.remote_bytes,
            ..CollectiveCost::of(request, expanded.phases)
        }
    };
    Ok(CollectiveCost {
        executor: choice.executor,
        findings,
        ..cost
    })
}

fn aicpu_findings(request: &Request, template: Template) -> Vec<Finding> {
    let mut findings = Vec::new();
    if template == Template::SingleRing && request.topology.ranks > 2 && !request.topology.mates {
        findings.push(Finding::SingleRing);
    }
    if request.in_place {
        findings.push(Finding::InPlaceNotCached);
    }
    let measured = request.topology.servers == 1
        && matches!(
            template,
            Template::DoubleRing | Template::SingleRing | Template::HalvingDoubling
        )
        && matches!(
            request.kind,
            CollectiveKind::AllReduce | CollectiveKind::AllGather | CollectiveKind::ReduceScatter
        );
    if !measured {
        findings.push(Finding::Uncalibrated);
    }
    findings
}

/// What the AIV clearing of synchronisation flags costs: once every 1000 calls of a communicator, in
/// ps (facts/collectives.md section 2.3). `None` for collectives that do not run on AIV.
pub fn periodic_clear(request: &Request, call: u64, r: &Reader<'_>) -> Option<u64> {
    const EVERY: u64 = 1_000;
    (request.expansion == Expansion::Aiv && call > 0 && call.is_multiple_of(EVERY))
        .then(|| ps(r.get(ParameterId::AivClear)))
}
