//! MC2 kernels: dispatch, combine, the fused FFN between them, and matmuls fused with a collective
//! (facts/collectives.md section 4; forms and values section 5).

use ascsim_schedules::{CollectiveKind as Kind, Cores, ScheduleMode};

use super::{CollectiveCost, CollectiveError, Finding, Moe, Phase, Request, aicpu, choose};
use crate::ParameterId as P;
use crate::number::{log2, us_at};
use crate::{Level, Reader};

/// Limits of the dispatch and combine kernels (section 4.1), and of DispatchFFNCombine as vLLM uses
/// it (section 4.2).
const MOST_TOKENS: u64 = 512;
const MOST_TOP_K: u64 = 16;
const HIDDEN: (u64, u64) = (1024, 8192);
const EP: (u64, u64) = (2, 768);
const MOST_EXPERTS: u64 = 1024;
const FFN_MOST_EP: u64 = 32;

/// The cost of an MC2 kernel, or `None` if the request is a plain collective.
pub(crate) fn cost(
    request: &Request,
    r: &Reader<'_>,
) -> Option<Result<CollectiveCost, CollectiveError>> {
    match request.kind {
        Kind::Dispatch | Kind::Combine => Some(with_shape(request, r, exchange)),
        Kind::DispatchFfnCombine => Some(with_shape(request, r, ffn_combine)),
        Kind::AllGatherMatmul | Kind::MatmulReduceScatter | Kind::MatmulAllReduce => {
            Some(Ok(fused_matmul(request, r)))
        }
        _ => None,
    }
}

fn with_shape(
    request: &Request,
    r: &Reader<'_>,
    cost: fn(&Request, &Moe, &Reader<'_>) -> CollectiveCost,
) -> Result<CollectiveCost, CollectiveError> {
    match &request.moe {
        Some(moe) => Ok(cost(request, moe, r)),
        None => Err(CollectiveError::NoShape { kind: request.kind }),
    }
}

/// Dispatch and combine: all vector cores in batch mode;
/// `T = A + c * BS * K / cores + B * log2(EP / 8)`. The rows divide evenly: with whole rows per core
/// the fit of section 5.2 would miss its own points.
fn exchange(request: &Request, moe: &Moe, r: &Reader<'_>) -> CollectiveCost {
    let aiv = r.whole(P::ChipAiv).max(1);
    let (fixed, row, doubling, executor) = if request.kind == Kind::Dispatch {
        (
            P::Mc2DispatchFixed,
            P::Mc2DispatchRow,
            P::Mc2DispatchDoubling,
            "MoeDistributeDispatchV2",
        )
    } else {
        (
            P::Mc2CombineFixed,
            P::Mc2CombineRow,
            P::Mc2CombineDoubling,
            "MoeDistributeCombineV2",
        )
    };
    let rows = moe.tokens.saturating_mul(moe.top_k);
    let share = r.get(P::Mc2RowHiddenShare);
    let wide = moe.hidden as f64 / r.get(P::Mc2ReferenceHidden);
    let per_row = r.get(row) * (1.0 - share + share * wide);
    // No measurement below EP 8: the growth starts there.
    let growth = (log2(request.topology.ranks.into()) - 3.0).max(0.0) * r.get(doubling);
    let fixed = Phase::new("fixed", 0, r.get(fixed));
    let exchanged = Phase::new("rows", fixed.end_ps(), per_row * rows as f64 / aiv as f64);
    let far = Phase::new("distance", exchanged.end_ps(), growth);
    let mut findings = limits(request, moe);
    if request.topology.ranks < 8 {
        findings.push(Finding::Uncalibrated);
    }
    // Dispatch sends INT8 rows with their scales at a stride of 512 bytes, combine BF16 rows.
    let bytes = if request.kind == Kind::Dispatch {
        align(moe.hidden.saturating_add(44), 512)
    } else {
        moe.hidden.saturating_mul(2)
    };
    CollectiveCost {
        executor,
        cores: Cores {
            aiv: u32::try_from(aiv).unwrap_or(u32::MAX),
            mode: ScheduleMode::Batch,
            ..Cores::default()
        },
        remote_bytes: bytes.saturating_mul(rows),
        findings,
        ..CollectiveCost::of(request, vec![fixed, exchanged, far])
    }
}

/// DispatchFFNCombine: all cores, not in batch mode; rows are pulled by one core per rank while the
/// matmuls run, and what does not overlap adds up.
fn ffn_combine(request: &Request, moe: &Moe, r: &Reader<'_>) -> CollectiveCost {
    let (aic, aiv) = (r.whole(P::ChipAic), r.whole(P::ChipAiv));
    let pulling = u64::from(request.topology.ranks).min(aiv).max(1);
    let rows = moe.tokens.saturating_mul(moe.top_k);
    // Rows go out as INT8 and come back as BF16.
    let bytes = moe.hidden.saturating_mul(rows).saturating_mul(3);
    let rate = (pulling as f64 * r.get(P::AivCopyRead)).min(r.get(P::AivDieCap));
    let moved = us_at(bytes as f64, rate);
    let computed = request.compute_ps as f64 / 1e6;
    let hidden = r.get(P::Mc2FfnOverlap) * moved.min(computed);
    let fixed = Phase::new("fixed", 0, r.get(P::Mc2FfnFixed));
    let body = Phase::new(
        "exchange and experts",
        fixed.end_ps(),
        moved + computed - hidden,
    );
    let mut findings = limits(request, moe);
    findings.push(Finding::Uncalibrated);
    if u64::from(request.topology.ranks) > FFN_MOST_EP {
        findings.push(Finding::OutsideLimits {
            what: "expert parallelism",
            value: request.topology.ranks.into(),
            low: EP.0,
            high: FFN_MOST_EP,
        });
    }
    CollectiveCost {
        executor: "DispatchFFNCombine",
        cores: Cores {
            aic: u32::try_from(aic).unwrap_or(u32::MAX),
            aiv: u32::try_from(aiv).unwrap_or(u32::MAX),
            ..Cores::default()
        },
        remote_bytes: bytes,
        findings,
        ..CollectiveCost::of(request, vec![fixed, body])
    }
}

/// A matmul fused with a collective that the AICPU's server carries out, never cached.
fn fused_matmul(request: &Request, r: &Reader<'_>) -> CollectiveCost {
    let (executor, template) = choose::aicpu(request, r);
    let expanded = aicpu::expand(request, template, r);
    let moved = Phase::end(&expanded.phases) as f64 / 1e6;
    let computed = request.compute_ps as f64 / 1e6;
    let hidden = r.get(P::Mc2MatmulOverlap) * moved.min(computed);
    let mut findings = vec![Finding::Uncalibrated];
    if request.kind == Kind::MatmulAllReduce {
        findings.push(Finding::NoMatmulAllReduce);
    }
    CollectiveCost {
        executor,
        cores: Cores {
            aic: u32::try_from(r.whole(P::ChipAic)).unwrap_or(u32::MAX),
            aicpu: 1,
            ..Cores::default()
        },
        tasks: expanded.tasks,
        expansion_ps: expanded.phases.get(1).map_or(0, |phase| phase.ps),
        remote_bytes: expanded.remote_bytes,
        findings,
        ..CollectiveCost::of(
            request,
            vec![Phase::new(
                "matmul and collective",
                0,
                moved + computed - hidden,
            )],
        )
    }
}

fn limits(request: &Request, moe: &Moe) -> Vec<Finding> {
    let ep = u64::from(request.topology.ranks);
    let experts = moe.local_experts.saturating_mul(ep);
    let mut findings: Vec<_> = [
        ("tokens of a rank", moe.tokens, 1, MOST_TOKENS),
        ("experts per token", moe.top_k, 1, MOST_TOP_K),
        ("hidden size", moe.hidden, HIDDEN.0, HIDDEN.1),
        ("expert parallelism", ep, EP.0, EP.1),
        ("number of experts", experts, 1, MOST_EXPERTS),
    ]
    .into_iter()
    .filter(|&(_, value, low, high)| !(low..=high).contains(&value))
    .map(|(what, value, low, high)| Finding::OutsideLimits {
        what,
        value,
        low,
        high,
    })
    .collect();
    // Only a stated buffer is checked: the default does for small exchanges only, and a schedule
    // that states none does not mean it.
    let need = window(request, moe);
    if let Some(have) = request.buffer_bytes.filter(|&have| have < need) {
        findings.push(Finding::BufferTooSmall { need, have });
    }
    if request.topology.level == Level::Cluster {
        findings.push(Finding::AivAcrossPods);
    }
    findings
}

/// Bytes of HCCL_BUFFSIZE that an exchange needs (sections 4.1 and 4.2).
pub fn window(request: &Request, moe: &Moe) -> u64 {
    let product = |factors: [u64; 3]| factors.into_iter().fold(1, u64::saturating_mul);
    if request.kind == Kind::DispatchFfnCombine {
        return product([moe.hidden.saturating_mul(3), moe.tokens, moe.top_k])
            .saturating_add(10 << 20);
    }
    let row = moe.hidden.saturating_mul(2);
    let received = product([moe.local_experts, moe.tokens, request.topology.ranks.into()]);
    let sent = moe.top_k.saturating_add(moe.shared_experts);
    let sent = sent.saturating_mul(moe.tokens);
    received
        .saturating_mul(align(align(row, 32).saturating_add(64), 512))
        .saturating_add(sent.saturating_mul(align(row, 512)))
        .saturating_mul(2)
}

fn align(bytes: u64, to: u64) -> u64 {
    bytes.div_ceil(to).saturating_mul(to)
}
