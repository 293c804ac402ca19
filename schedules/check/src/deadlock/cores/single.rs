//! What can be told from one op, or from two of one die.

use std::collections::HashSet;

use ascsim_schedules::{Expansion, OpKind, ScheduleMode};

use super::resident::{CoreOp, Die, ENGINES, Hold, Residents, expansion, fused};
use crate::finding::{CoreClaim, Finding, Place, Witness};
use crate::fix::Edit;
use crate::rule::Rule;

pub(super) fn find(residents: &Residents<'_, '_, '_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for die in &residents.dies {
        too_many(residents, die, &mut found);
        barriers(residents, die, &mut found);
        communicators(residents, die, &mut found);
    }
    super_kernels(residents, &mut found);
    found
}

/// The claims of a witness.
pub(super) fn claims(
    residents: &Residents<'_, '_, '_>,
    claims: &[(CoreOp, usize, bool)],
) -> Vec<CoreClaim> {
    let claim = |&(op, engine, holds): &(CoreOp, usize, bool)| CoreClaim {
        op: Place::new(residents.context.flat, op.id),
        engine: ENGINES[engine],
        cores: op.cores[engine],
        of: residents.have[engine],
        holds,
    };
    claims.iter().map(claim).collect()
}

/// Ops that need more cores at once than there are.
fn too_many(residents: &Residents<'_, '_, '_>, die: &Die, found: &mut Vec<Finding>) {
    let flat = residents.context.flat;
    for op in die.chains.iter().flatten().filter(|op| op.is_gang()) {
        let engine = (0..2).find(|&engine| op.cores[engine] > residents.have[engine]);
        if let Some(engine) = engine {
            let message = format!(
                "`{}` needs {} {} cores at once, and the die has {}",
                flat.path(op.id),
                op.cores[engine],
                ENGINES[engine],
                residents.have[engine],
            );
            let witness = claims(residents, &[(*op, engine, false)]);
            found.push(
                Finding::new(Rule::DeadlockCores, message)
                    .about(flat, [op.id])
                    .witness(Witness::Cores(witness))
                    .suggest("launch it on fewer cores"),
            );
        }
    }
}

/// Fused MoE kernels without batch mode beside anything that takes cores they need.
fn barriers(residents: &Residents<'_, '_, '_>, die: &Die, found: &mut Vec<Finding>) {
    let flat = residents.context.flat;
    for (number, chain) in die.chains.iter().enumerate() {
        for op in chain
            .iter()
            .filter(|op| matches!(op.hold, Hold::Barrier(_)))
        {
            for (other, chain) in die.chains.iter().enumerate() {
                if other == number {
                    continue;
                }
                let engine = |beside: &CoreOp| {
                    (0..2).find(|&engine| {
                        op.cores[engine] > 0
                            && beside.cores[engine] > 0
                            && op.cores[engine] + beside.cores[engine] > residents.have[engine]
                    })
                };
                let beside = residents.beside(chain, op.id);
                let Some((beside, engine)) = beside
                    .iter()
                    .find_map(|beside| Some((beside, engine(beside)?)))
                else {
                    continue;
                };
                let message = format!(
                    "`{}` is not in batch mode and has barriers over all its blocks; `{}` can hold cores it needs",
                    flat.path(op.id),
                    flat.path(beside.id),
                );
                let witness = claims(residents, &[(*beside, engine, true), (*op, engine, false)]);
                found.push(
                    Finding::new(Rule::DeadlockFusedMoe, message)
                        .about(flat, [op.id, beside.id])
                        .witness(Witness::Cores(witness))
                        .suggest(
                            "order the two with an event, or launch the fused kernel in batch mode",
                        )
                        .edits(vec![Edit::Batch {
                            program: flat[op.id].program.name.to_string(),
                            op: flat[op.id].op.id.to_string(),
                        }]),
                );
            }
        }
    }
}

/// Collectives of two AIV communicators that can run at once on a die.
fn communicators(residents: &Residents<'_, '_, '_>, die: &Die, found: &mut Vec<Finding>) {
    let context = residents.context;
    let name = |op: &CoreOp| {
        let instance = &context.flat[op.id];
        let aiv = matches!(instance.op.kind, OpKind::Collective(_))
            && expansion(context, instance) == Some(Expansion::Aiv);
        let comm = instance.op.comm.as_ref().filter(|_| aiv)?;
        Some(comm.communicator.as_str())
    };
    let mut told: HashSet<(&str, &str)> = HashSet::new();
    for (number, chain) in die.chains.iter().enumerate() {
        for op in chain {
            let Some(one) = name(op) else { continue };
            for chain in &die.chains[number + 1..] {
                for beside in residents.beside(chain, op.id) {
                    let Some(other) = name(beside).filter(|other| *other != one) else {
                        continue;
                    };
                    if !told.insert((one.min(other), one.max(other))) {
                        continue;
                    }
                    let message = format!(
                        "AIV communicators `{one}` (`{}`) and `{other}` (`{}`) can run at once on one die",
                        context.flat.path(op.id),
                        context.flat.path(beside.id),
                    );
                    let both = [(*op, 1, true), (*beside, 1, true)];
                    found.push(
                        Finding::new(Rule::DeadlockAivCommunicators, message)
                            .about(context.flat, [op.id, beside.id])
                            .witness(Witness::Cores(claims(residents, &both)))
                            .suggest(
                                "order them with an event, or let the AICPU expand one of them",
                            ),
                    );
                }
            }
        }
    }
}

/// Parts of a super kernel with barriers over fewer cores than the super kernel has.
fn super_kernels(residents: &Residents<'_, '_, '_>, found: &mut Vec<Finding>) {
    let flat = residents.context.flat;
    for id in flat.ids() {
        let OpKind::SuperKernel(kernel) = &flat[id].op.kind else {
            continue;
        };
        if kernel.feed_sync_all {
            continue;
        }
        let parts = || kernel.parts.iter().filter_map(|part| part.op.cores);
        let whole = flat[id].op.cores.unwrap_or_else(|| fused(parts()));
        let short = flat.inside(id).find(|&part| {
            flat[part].op.cores.is_some_and(|cores| {
                cores.mode == ScheduleMode::Batch
                    && (cores.aic > 0 && cores.aic < whole.aic
                        || cores.aiv > 0 && cores.aiv < whole.aiv)
            })
        });
        if let Some(part) = short {
            let message = format!(
                "`{}` waits for all cores of the super kernel, {} aic and {} aiv, but runs on fewer",
                flat.path(part),
                whole.aic,
                whole.aiv,
            );
            found.push(
                Finding::new(Rule::DeadlockSuperKernel, message)
                    .about(flat, [part, id])
                    .suggest(
                        "set feed-sync-all on the super kernel, or run the part on all its cores",
                    )
                    .edits(vec![Edit::FeedSyncAll {
                        program: flat[id].program.name.to_string(),
                        op: flat[id].op.id.to_string(),
                    }]),
            );
        }
    }
}
