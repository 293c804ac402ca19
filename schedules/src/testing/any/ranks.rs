//! Random ranks and overrides.

use std::collections::BTreeSet;

use super::declare::Declared;
use super::{Choices, expr, op};
use crate::ir::{Device, OpKind, Override, Program, RankGroup};
use crate::validate::MOST_AMOUNT;

/// All ranks in one or two groups, of which the second may be external.
pub(super) fn groups(
    choices: &mut Choices,
    declared: &Declared,
    programs: &[Program],
) -> Vec<RankGroup> {
    let first = 1 + choices.below(declared.ranks as usize) as u32;
    let mut groups = vec![group(choices, declared, programs, 0, first)];
    if first < declared.ranks {
        let rest = declared.ranks - first;
        groups.push(group(choices, declared, programs, first, rest));
    }
    if choices.flag() {
        groups.reverse();
    }
    groups
}

fn group(
    choices: &mut Choices,
    declared: &Declared,
    programs: &[Program],
    first: u32,
    count: u32,
) -> RankGroup {
    let external = first > 0 && choices.flag();
    let device = |rank| Device {
        // No rank is there without saying so.
        server: 1000 + rank,
        package: rank % 3,
        die: 1,
    };
    RankGroup {
        first,
        count,
        // The first is the one that is certainly not captured.
        program: (!external).then(|| programs[0].name.clone()),
        devices: match choices.flag() {
            true => (first..first + count).map(device).collect(),
            false => Vec::new(),
        },
        overrides: match external {
            true => Vec::new(),
            false => overrides(choices, declared, programs, first..first + count),
        },
        extra: choices.extra(),
    }
}

fn overrides(
    choices: &mut Choices,
    declared: &Declared,
    programs: &[Program],
    ranks: std::ops::Range<u32>,
) -> Vec<Override> {
    let mut seen = BTreeSet::new();
    let mut overrides = Vec::new();
    for _ in 0..choices.below(4) {
        let program = choices.pick(programs);
        let rank = ranks.start + choices.below(ranks.len()) as u32;
        if program.ops.is_empty() {
            continue;
        }
        let op = choices.pick(&program.ops);
        if !seen.insert((rank, &program.name, &op.id)) {
            continue;
        }
        let has_bytes =
            op.comm.is_some() || matches!(op.kind, OpKind::Copy(_) | OpKind::Prefetch(_));
        let has_peer = matches!(op.kind, OpKind::NotifyRecord(_) | OpKind::ValueWrite(_));
        overrides.push(Override {
            rank,
            program: program.name.clone(),
            op: op.id.clone(),
            duration: choices.maybe(|choices| expr::measured(choices, declared)),
            issue: choices.maybe(|choices| expr::measured(choices, declared)),
            delay: choices.maybe(|choices| expr::delay(choices, declared)),
            bytes: choices
                .maybe(|choices| expr::amount(choices, declared, MOST_AMOUNT))
                .filter(|_| has_bytes),
            peer: choices
                .maybe(|choices| op::peer(choices, declared))
                .filter(|_| has_peer),
            extra: choices.extra(),
        });
    }
    overrides
}
