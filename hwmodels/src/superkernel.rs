//! What the SuperKernel compiler makes of a scope: where it cuts, and how many cores each part
//! takes. Rules: facts/schedules.md section D3. Numbers: section D4.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::ParameterId as P;
use crate::Reader;
use crate::number::ps;

/// An op of a scope, in topological order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its stream, as any number.
    pub stream: u32,
    /// What it is to the compiler.
    pub role: Role,
    /// Cube cores it asks for.
    pub aic: u32,
    /// Vector cores it asks for.
    pub aiv: u32,
    /// Whether it has a barrier over all its cores (SyncAll).
    pub sync_all: bool,
}

/// What an op is to the SuperKernel compiler (rules 1 and 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A kernel that supports SuperKernel.
    Fusable,
    /// An AIV mesh collective, which can be fused.
    AivCollective,
    /// A collective that runs otherwise: its mark is dropped with a warning.
    OtherCollective,
    /// A kernel that does not support SuperKernel (TBE, Triton, SIMT, AICPU tiling).
    Unfusable,
    /// A prefetch into L2; it loses its mark so that it does not cut.
    Prefetch,
    /// A record or wait, which the compiler ignores when it cuts.
    Signal,
}

/// How a SuperKernel is launched (rule 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum BlockType {
    /// Only vector cores.
    #[serde(rename = "MIX_AIV_1_0")]
    MixAiv10,
    /// Only cube cores.
    #[serde(rename = "MIX_AIC_1_0")]
    MixAic10,
    /// One vector core to each cube core.
    #[serde(rename = "MIX_AIC_1_1")]
    MixAic11,
    /// Two vector cores to each cube core.
    #[serde(rename = "MIX_AIC_1_2")]
    MixAic12,
}

/// Type and cores of a SuperKernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Blocks {
    /// How it is launched.
    pub block_type: BlockType,
    /// Its block dim.
    pub block_dim: u32,
    /// Cube cores it takes.
    pub aic: u32,
    /// Vector cores it takes.
    pub aiv: u32,
}

/// The block dim of a SuperKernel whose parts ask for `(aic, aiv)` cores each (rule 4): the most of
/// any part, as vector cores only, cube cores only, or both in a ratio of 1:1 or 1:2. `None` if no
/// part asks for a core.
pub fn blocks(parts: impl IntoIterator<Item = (u32, u32)>) -> Option<Blocks> {
    let (aic, aiv) = parts
        .into_iter()
        .fold((0, 0), |(aic, aiv): (u32, u32), part| {
            (aic.max(part.0), aiv.max(part.1))
        });
    let (block_type, block_dim, aic, aiv) = match (aic, aiv) {
        (0, 0) => return None,
        (0, aiv) => (BlockType::MixAiv10, aiv, 0, aiv),
        (aic, 0) => (BlockType::MixAic10, aic, aic, 0),
        (aic, aiv) if aiv <= aic => (BlockType::MixAic11, aic, aic, aic),
        (aic, aiv) => {
            let dim = aic.max(aiv.div_ceil(2));
            (BlockType::MixAic12, dim, dim, dim.saturating_mul(2))
        }
    };
    Some(Blocks {
        block_type,
        block_dim,
        aic,
        aiv,
    })
}

/// A SuperKernel that the compiler makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// Its parts, as indices into the scope.
    pub parts: Vec<usize>,
    /// Type and cores; `None` if no part asks for cores.
    pub blocks: Option<Blocks>,
    /// Whether it spans two streams.
    pub two_streams: bool,
    /// Parts that hang without `feed-sync-all`: they have a barrier over fewer cores than the whole
    /// takes (rule 9).
    pub need_feed_sync_all: Vec<usize>,
}

/// What becomes of a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The SuperKernels, in order. One of a single part gains nothing.
    pub pieces: Vec<Piece>,
    /// The ops at which the scope is cut, as indices.
    pub cuts: Vec<usize>,
    /// Collectives whose mark is dropped because they do not run on AIV (rule 3).
    pub dropped_collectives: Vec<usize>,
    /// Whether more than two streams carry parts, which the compiler refuses (rule 5).
    pub too_many_streams: bool,
    /// Whether two streams carry parts of one piece although streams are not fused; allowed only
    /// where events link neighbours (rule 5).
    pub needs_stream_fusion: bool,
    /// Whether early start is off because a piece has two streams (rule 5).
    pub early_start_off: bool,
}

/// Cuts a scope: at every unfusable op, by topological order across all streams, if its stream also
/// carries fusable ops (rules 1 to 3). Linear times the logarithm of the number of streams.
pub fn plan(scope: &[Candidate], stream_fusion: bool) -> Plan {
    let fusable = |op: &Candidate| matches!(op.role, Role::Fusable | Role::AivCollective);
    let carrying: BTreeSet<u32> = scope
        .iter()
        .filter(|op| fusable(op))
        .map(|op| op.stream)
        .collect();
    let mut pieces: Vec<Vec<usize>> = vec![Vec::new()];
    let mut cuts = Vec::new();
    let mut dropped = Vec::new();
    for (index, op) in scope.iter().enumerate() {
        if op.role == Role::OtherCollective {
            dropped.push(index);
        }
        match op.role {
            Role::Fusable | Role::AivCollective => {
                // There is always a last piece.
                if let Some(piece) = pieces.last_mut() {
                    piece.push(index);
                }
            }
            Role::Unfusable | Role::OtherCollective if carrying.contains(&op.stream) => {
                cuts.push(index);
                pieces.push(Vec::new());
            }
            Role::Unfusable | Role::OtherCollective | Role::Prefetch | Role::Signal => {}
        }
    }
    let pieces: Vec<Piece> = pieces
        .into_iter()
        .filter(|parts| !parts.is_empty())
        .map(|parts| piece(scope, parts))
        .collect();
    let two = pieces.iter().any(|piece| piece.two_streams);
    Plan {
        too_many_streams: carrying.len() > 2,
        needs_stream_fusion: two && !stream_fusion,
        early_start_off: two,
        pieces,
        cuts,
        dropped_collectives: dropped,
    }
}

fn piece(scope: &[Candidate], parts: Vec<usize>) -> Piece {
    let ops: BTreeMap<usize, &Candidate> = parts
        .iter()
        .filter_map(|&index| scope.get(index).map(|op| (index, op)))
        .collect();
    let blocks = blocks(ops.values().map(|op| (op.aic, op.aiv)));
    let streams: BTreeSet<u32> = ops.values().map(|op| op.stream).collect();
    let fewer = |op: &Candidate| {
        blocks
            .is_some_and(|all| (op.aic > 0 && op.aic < all.aic) || (op.aiv > 0 && op.aiv < all.aiv))
    };
    Piece {
        need_feed_sync_all: ops
            .iter()
            .filter(|(_, op)| op.sync_all && fewer(op))
            .map(|(&index, _)| index)
            .collect(),
        two_streams: streams.len() > 1,
        blocks,
        parts,
    }
}

/// Kernel time, in ps, that fusing `parts` kernels into one saves: a constant per boundary removed
/// (facts/schedules.md section D4). Launch gaps come on top; the simulator leaves them out itself.
pub fn saving(parts: usize, r: &Reader<'_>) -> u64 {
    ps(r.get(P::SuperKernelBoundary)).saturating_mul(parts.saturating_sub(1) as u64)
}

/// Time, in ps, between two parts of one engine, or between parts of the two engines (rule 6).
pub fn part_sync(cross_engine: bool, r: &Reader<'_>) -> u64 {
    ps(r.get(if cross_engine {
        P::SuperKernelCrossEngine
    } else {
        P::SuperKernelPart
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(stream: u32, role: Role, aic: u32, aiv: u32) -> Candidate {
        Candidate {
            stream,
            role,
            aic,
            aiv,
            sync_all: false,
        }
    }

    fn parts(plan: &Plan) -> Vec<Vec<usize>> {
        plan.pieces
            .iter()
            .map(|piece| piece.parts.clone())
            .collect()
    }

    /// Streams {1, 5x, 6, 8x, 10} and {2, 3, 4x, 7, 9}, x unfusable; index 0 is op 1.
    fn two_streams() -> Vec<Candidate> {
        (1..=10)
            .map(|id| {
                let stream = u32::from([2, 3, 4, 7, 9].contains(&id));
                let unfusable = [4, 5, 8].contains(&id);
                op(
                    stream,
                    if unfusable {
                        Role::Unfusable
                    } else {
                        Role::Fusable
                    },
                    24,
                    0,
                )
            })
            .collect()
    }

    #[test]
    fn the_two_stream_example_is_cut_as_the_compiler_cuts_it() {
        let plan = plan(&two_streams(), true);
        let ids: Vec<Vec<usize>> = parts(&plan)
            .into_iter()
            .map(|piece| piece.into_iter().map(|index| index + 1).collect())
            .collect();
        assert_eq!(ids, [vec![1, 2, 3], vec![6, 7], vec![9, 10]]);
        assert_eq!(plan.cuts, [3, 4, 7]);
        assert!(plan.early_start_off && !plan.needs_stream_fusion && !plan.too_many_streams);
        assert!(super::plan(&two_streams(), false).needs_stream_fusion);
    }

    #[test]
    fn an_unfusable_op_on_a_stream_of_its_own_does_not_cut() {
        let scope = [
            op(0, Role::Fusable, 24, 0),
            op(1, Role::Unfusable, 0, 48),
            op(2, Role::Prefetch, 0, 0),
            op(0, Role::Prefetch, 0, 0),
            op(0, Role::Signal, 0, 0),
            op(0, Role::Fusable, 0, 48),
        ];
        assert_eq!(parts(&plan(&scope, false)), [vec![0, 5]]);
    }

    #[test]
    fn collectives_are_parts_only_on_aiv() {
        let scope = [
            op(0, Role::Fusable, 24, 0),
            op(0, Role::AivCollective, 0, 8),
            op(0, Role::OtherCollective, 0, 0),
            op(0, Role::Fusable, 24, 0),
        ];
        let plan = plan(&scope, false);
        assert_eq!(parts(&plan), [vec![0, 1], vec![3]]);
        assert_eq!((plan.cuts, plan.dropped_collectives), (vec![2], vec![2]));
    }

    #[test]
    fn more_than_two_streams_are_refused() {
        let scope: Vec<_> = (0..3)
            .map(|stream| op(stream, Role::Fusable, 1, 0))
            .collect();
        assert!(plan(&scope, true).too_many_streams);
    }

    #[test]
    fn block_dims_follow_rule_4() {
        let of = |list: &[(u32, u32)]| {
            blocks(list.iter().copied()).map(|b| (b.block_type, b.block_dim, b.aic, b.aiv))
        };
        assert_eq!(
            of(&[(0, 8), (0, 48)]),
            Some((BlockType::MixAiv10, 48, 0, 48))
        );
        assert_eq!(
            of(&[(20, 0), (24, 0)]),
            Some((BlockType::MixAic10, 24, 24, 0))
        );
        assert_eq!(
            of(&[(24, 0), (0, 24)]),
            Some((BlockType::MixAic11, 24, 24, 24))
        );
        assert_eq!(
            of(&[(24, 0), (0, 48)]),
            Some((BlockType::MixAic12, 24, 24, 48))
        );
        assert_eq!(
            of(&[(8, 0), (0, 41)]),
            Some((BlockType::MixAic12, 21, 21, 42))
        );
        assert_eq!(
            of(&[(20, 0), (0, 25)]),
            Some((BlockType::MixAic12, 20, 20, 40))
        );
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_barrier_over_fewer_cores_than_the_whole_needs_feed_sync_all() {
        let mut scope = vec![op(0, Role::Fusable, 24, 0), op(0, Role::Fusable, 0, 48)];
        for op in &mut scope {
            op.sync_all = true;
        }
        assert_eq!(plan(&scope, false).pieces[0].need_feed_sync_all, [0; 0]);
        scope[1].aiv = 8;
        assert_eq!(plan(&scope, false).pieces[0].need_feed_sync_all, [1]);
    }
}
