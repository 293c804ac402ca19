//! The time of a collective that the AICPU expands (facts/collectives.md sections 1.9, 3 and 5.1):
//! a launch, then the longer of expanding all tasks and of carrying the transfer out.

use ascsim_schedules::CollectiveKind as Kind;

use super::choose::Template;
use super::{Phase, Request, Workflow};
use crate::ParameterId as P;
use crate::number::{log2, us_at};
use crate::{Level, Reader};

/// Peers served at once by the full-mesh AllToAll (section 1.6).
const PEERS_AT_ONCE: u64 = 8;
/// Tasks of one exchange of the halving-doubling algorithm, and of its frame (section 1.9).
const HD_TASKS: (u64, u64) = (6, 2);
/// Tasks of one step of the double ring, AllGather and ReduceScatter (section 1.9).
const RING_TASKS: (u64, u64) = (25, 21);
/// Tasks of the double-ring AllReduce beside its steps (section 1.9).
const RING_FRAME: u64 = 40;

/// What the AICPU makes of a collective.
#[derive(Clone, Debug)]
pub(crate) struct Expanded {
    pub(crate) phases: Vec<Phase>,
    /// Tasks (SQEs) that it expands.
    pub(crate) tasks: u64,
    /// Whether the expansion comes from the cache after the first call.
    pub(crate) cached: bool,
    /// Bytes that a rank receives from others.
    pub(crate) remote_bytes: u64,
}

/// Time and tasks of the transfer itself.
struct Transfer {
    us: f64,
    tasks: u64,
    bytes: f64,
}

/// Expands a collective.
pub(crate) fn expand(request: &Request, template: Template, r: &Reader<'_>) -> Expanded {
    let transfer = transfer(request, template, r);
    // Section 3.3: not cached are in-place ops, MC2, AllToAllV, and everything when it is disabled.
    let cached = request.cache
        && !request.in_place
        && !matches!(
            request.kind,
            Kind::AllToAllV
                | Kind::AllGatherMatmul
                | Kind::MatmulReduceScatter
                | Kind::MatmulAllReduce
        );
    let eager = request.workflow == Workflow::Eager;
    let launch = match (template, eager) {
        // A task of halving-doubling was measured from launch to end, in a graph.
        (Template::HalvingDoubling, false) => 0.0,
        (_, true) => r.get(P::AicpuLaunchEager),
        (_, false) => r.get(P::AicpuLaunchGraph),
    };
    let task = r.get(if cached {
        P::AicpuTaskCached
    } else {
        P::AicpuTask
    });
    let launch = Phase::new("launch", 0, launch);
    let start = launch.end_ps();
    Expanded {
        phases: vec![
            launch,
            Phase::new("expansion", start, transfer.tasks as f64 * task),
            Phase::new("transfer", start, transfer.us),
        ],
        tasks: transfer.tasks,
        cached,
        remote_bytes: crate::number::whole(transfer.bytes),
    }
}

fn transfer(request: &Request, template: Template, r: &Reader<'_>) -> Transfer {
    let n = u64::from(request.topology.ranks.max(1));
    let s = request.bytes as f64;
    let others = (n - 1) as f64;
    match template {
        Template::HalvingDoubling => {
            let exchanges = u64::from(request.topology.ranks.max(1).next_power_of_two().ilog2());
            let tasks = HD_TASKS.0 * exchanges + HD_TASKS.1;
            let bytes = match request.kind {
                Kind::AllGather => others * s,
                _ => log2(n) * s,
            };
            Transfer {
                us: tasks as f64 * r.get(P::HdTask) + us_at(bytes, r.get(P::LinkServerAchieved)),
                tasks,
                bytes,
            }
        }
        Template::DoubleRing | Template::SingleRing => ring(request, template, r),
        Template::SemiRing => {
            let steps = n.div_ceil(2);
            let (rate, tasks) = match request.kind {
                Kind::ReduceScatter => (P::RingScatter, RING_TASKS.1),
                _ => (P::RingGather, RING_TASKS.0),
            };
            Transfer {
                us: steps as f64 * r.get(P::SemiRingStep) + us_at(others * s, r.get(rate)),
                tasks: tasks * steps,
                bytes: others * s,
            }
        }
        Template::DirectReduce => {
            // All peers write at once, then a tree of local reductions; AllReduce gathers again.
            let rounds = 1.0 + log2(n);
            let mut bytes = others * s;
            let mut us = rounds * r.get(P::RingScatterStep);
            if !matches!(
                request.kind,
                Kind::ReduceScatter | Kind::MatmulReduceScatter
            ) {
                bytes = 2.0 * others / n as f64 * s;
                us += r.get(P::RingGatherStep);
            }
            Transfer {
                us: us + us_at(bytes, r.get(P::RingScatter)),
                tasks: HD_TASKS.0 * (n - 1 + log2(n) as u64) + HD_TASKS.1,
                bytes,
            }
        }
        Template::Nhr => {
            let steps = log2(n).ceil();
            let (passes, bytes) = passes(request);
            Transfer {
                us: passes * steps * r.get(P::NhrStep)
                    + us_at(bytes, r.get(request.topology.level.achieved())),
                tasks: HD_TASKS.0 * (passes * steps) as u64 + HD_TASKS.1,
                bytes,
            }
        }
        Template::FullMesh => full_mesh(request, r),
        // Vector kernels have no transfer of the AICPU's.
        Template::Peer | Template::Aiv(_) => {
            let level = request.topology.level;
            Transfer {
                us: r.get(P::PeerFixed)
                    + r.get(level.latency())
                    + us_at(s, r.get(level.achieved())),
                tasks: HD_TASKS.0,
                bytes: s,
            }
        }
    }
}

/// How often the data go round, and the bytes that a rank receives: a reduction and a gathering each
/// go round once.
fn passes(request: &Request) -> (f64, f64) {
    let n = f64::from(request.topology.ranks.max(1));
    let s = request.bytes as f64;
    match request.kind {
        Kind::AllGather
        | Kind::AllGatherMatmul
        | Kind::ReduceScatter
        | Kind::MatmulReduceScatter
        | Kind::Scatter
        | Kind::Gather => (1.0, (n - 1.0) * s),
        _ => (2.0, 2.0 * (n - 1.0) / n * s),
    }
}

/// A ring in each server, and NHR between the servers where there are several.
fn ring(request: &Request, template: Template, r: &Reader<'_>) -> Transfer {
    let topology = &request.topology;
    let local = u64::from(topology.ranks_per_server());
    let steps = (local - 1) as f64;
    let servers = f64::from(topology.servers.max(1));
    let double = template == Template::DoubleRing;
    let link = if topology.level == Level::Package {
        Level::Package
    } else {
        Level::Server
    };
    let rate = |of_double: P| r.get(if double { of_double } else { link.achieved() });
    let (gathers, scatters) = match request.kind {
        Kind::AllGather | Kind::AllGatherMatmul | Kind::Scatter | Kind::Gather => (1.0, 0.0),
        Kind::ReduceScatter | Kind::MatmulReduceScatter => (0.0, 1.0),
        // A broadcast scatters without reducing, which costs what gathering does.
        Kind::Broadcast => (2.0, 0.0),
        _ => (1.0, 1.0),
    };
    // The block that one step moves: with several servers, the blocks of all of them.
    let block = match request.kind {
        Kind::AllReduce
        | Kind::MatmulAllReduce
        | Kind::Barrier
        | Kind::Reduce
        | Kind::Broadcast => request.bytes as f64 / local as f64,
        _ => request.bytes as f64 * servers,
    };
    let mut us = 0.0;
    let mut tasks = 0;
    for (rounds, step, of_double, step_tasks) in [
        (gathers, P::RingGatherStep, P::RingGather, RING_TASKS.0),
        (scatters, P::RingScatterStep, P::RingScatter, RING_TASKS.1),
    ] {
        if rounds > 0.0 {
            us += rounds * (steps * r.get(step) + us_at(steps * block, rate(of_double)));
            let step_tasks = if double {
                step_tasks
            } else {
                r.whole(P::SingleRingTasks)
            };
            tasks += rounds as u64 * step_tasks * (local - 1);
        }
    }
    tasks += match (double, gathers + scatters > 1.0) {
        (true, true) => RING_FRAME,
        _ => HD_TASKS.1,
    };
    if topology.servers > 1 {
        let (passes, _) = passes(request);
        let share = match request.kind {
            Kind::AllGather
            | Kind::ReduceScatter
            | Kind::AllGatherMatmul
            | Kind::MatmulReduceScatter => request.bytes as f64 * (servers - 1.0),
            _ => passes * block * (servers - 1.0) / servers,
        };
        let hops = log2(u64::from(topology.servers)).ceil();
        us += passes * hops * r.get(P::NhrStep) + us_at(share, r.get(topology.level.achieved()));
        tasks += HD_TASKS.0 * (passes * hops) as u64;
    }
    Transfer {
        us,
        tasks,
        bytes: passes(request).1,
    }
}

/// Rounds of up to eight peers; a message longer than a block takes several inner steps (section 1.6).
fn full_mesh(request: &Request, r: &Reader<'_>) -> Transfer {
    const ALIGN: u64 = 16 << 10;
    let n = u64::from(request.topology.ranks.max(1));
    let ccl = request
        .buffer_bytes
        .unwrap_or_else(|| r.whole(P::HcclBuffer));
    let big = request.kind == Kind::AllToAllV || request.bytes > 1 << 20;
    let split = PEERS_AT_ONCE * if big { 2 } else { 1 };
    let block = (ccl / split / ALIGN * ALIGN).max(ALIGN);
    let inner = request.bytes.div_ceil(block).max(1);
    let rounds = n.div_ceil(PEERS_AT_ONCE);
    let bytes = (n - 1) as f64 * request.bytes as f64;
    // Two link kinds serve peers at once inside a server, as the double ring's two directions do.
    let rate = match request.topology.level {
        Level::Package | Level::Server => r.get(P::RingGather),
        level => r.get(level.achieved()),
    };
    Transfer {
        us: (rounds * inner) as f64 * r.get(P::FullMeshStep) + us_at(bytes, rate),
        // TxAck, RxAck, read, TxData, RxData for each peer and inner step.
        tasks: 5 * (n - 1) * inner + HD_TASKS.1,
        bytes,
    }
}
