//! Durations freed from contention.

use ascsim_schedules::flat::Flat;
use ascsim_schedules::{Expr, Measured, OpKind, Provenance};
use ascsim_traces::recover::Recovered;

use super::ReplayError;
use crate::compile::compile;
use crate::costs::{EngineModel, Options};
use crate::engine::Simulator;

/// Runs of the whole schedule that are made at most.
const MOST_ROUNDS: usize = 8;

/// Durations that were solved for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Solo {
    /// Kernels that contended as they were recorded, and now have a shorter duration.
    pub kernels: usize,
    /// The largest difference that is left between a simulated and a recorded length, in ns.
    pub left_ns: u64,
}

/// Gives each kernel that contends in the simulation of a capture, with its delays in place, the
/// duration with which it takes as long as it was recorded to take. Whatever does not contend keeps
/// what was recorded.
///
/// # Errors
/// If the schedule cannot be simulated.
///
/// # Complexity
/// At most eight simulations.
pub fn solo(recovered: &mut Recovered, options: &Options) -> Result<Solo, ReplayError> {
    let mut found = Solo::default();
    if options.engines != EngineModel::Shared {
        return Ok(found);
    }
    let recorded = durations(recovered);
    let mut changed = vec![false; recorded.len()];
    let mut simulator = Simulator::new();
    for round in 0..MOST_ROUNDS {
        let lengths = {
            let flat = Flat::new(&recovered.schedule)?;
            let compiled = compile(&flat, options)?;
            let timeline = simulator.run(&compiled, options, compiled.times())?;
            let spans = timeline.start.iter().zip(&timeline.end);
            let lengths = spans.map(|(start, end)| end.saturating_sub(*start) / 1_000);
            lengths.collect::<Vec<u64>>()
        };
        found.left_ns = 0;
        let mut shorter = Vec::new();
        for (at, (recorded, length)) in recorded.iter().zip(&lengths).enumerate() {
            let Some(recorded) = *recorded else { continue };
            let off = recorded.abs_diff(*length);
            // Ends are rounded to ns here.
            if off > 1 && (*length > recorded || changed[at]) {
                found.left_ns = found.left_ns.max(off);
                shorter.push((at, recorded as f64 / (*length).max(1) as f64));
            }
        }
        if shorter.is_empty() || round + 1 == MOST_ROUNDS {
            break;
        }
        let mut shorter = shorter.into_iter().peekable();
        for_each_op(recovered, |at, op| {
            let Some((_, factor)) = shorter.next_if(|next| next.0 == at) else {
                return;
            };
            let ns = op.duration.as_ref().and_then(|time| time.ns.constant());
            let ns = (ns.unwrap_or(0.0) * factor + 0.5) as i64;
            let mut solved = Measured::new(Expr::Int(ns), Provenance::Derived);
            solved.note = Some("freed from contention".into());
            op.duration = Some(Box::new(solved));
            changed[at] = true;
        });
    }
    found.kernels = changed.iter().filter(|changed| **changed).count();
    Ok(found)
}

/// Per instance: the recorded duration of a kernel, in ns.
fn durations(recovered: &mut Recovered) -> Vec<Option<u64>> {
    let mut durations = Vec::new();
    for_each_op(recovered, |_, op| {
        let kernel = matches!(op.kind, OpKind::Kernel(_)) && op.comm.is_none();
        let ns = op.duration.as_ref().filter(|_| kernel);
        let ns = ns.and_then(|time| time.ns.constant());
        durations.push(ns.map(|ns| ns.max(0.0) as u64));
    });
    durations
}

/// Visits each op with its instance. The programs of recovered schedules have neither repeats nor
/// groups: each op is one instance.
pub(super) fn for_each_op(
    recovered: &mut Recovered,
    mut visit: impl FnMut(usize, &mut ascsim_schedules::Op),
) {
    let mut instance = 0;
    let order: Vec<u32> = recovered.seen.iter().map(|seen| seen.rank).collect();
    for rank in order {
        let group = recovered.schedule.ranks.iter();
        let program = group
            .filter(|group| group.first == rank)
            .find_map(|group| group.program.clone());
        let programs = recovered.schedule.programs.iter_mut();
        let Some(program) = programs
            .into_iter()
            .find(|own| Some(&own.name) == program.as_ref())
        else {
            continue;
        };
        for op in &mut program.ops {
            visit(instance, op);
            instance += 1;
        }
    }
}
