//! How many vector cores an AIV collective takes (facts/collectives.md section 2.2).

use ascsim_schedules::CollectiveKind as Kind;

/// HCCL's `MAX_NUM_BLOCKS`.
const MAX_BLOCKS: u32 = 48;
/// Peers that one core serves at most, `MAX_TARGET_NUM`.
const MAX_TARGETS: u32 = 20;
const KIB: u64 = 1 << 10;

/// The kernels of one collective, which differ in how many cores they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AivKernel {
    /// `...MeshAivSmallCountExecutor`.
    Small,
    /// `...MeshAivExecutor`.
    Mesh,
    /// `...MeshAivFor91093Executor`: across servers, deterministic, or core-limited.
    For91093,
}

/// What the block dim depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) kind: Kind,
    pub(crate) kernel: AivKernel,
    /// The graph workflow flag.
    pub(crate) graph: bool,
    pub(crate) ranks: u32,
    /// S.
    pub(crate) bytes: u64,
    pub(crate) servers: u32,
    pub(crate) deterministic: bool,
    /// Vector cores that may be used: the limit of the stream, at most those of the die.
    pub(crate) limit: u32,
}

/// The block dim, or how many cores are needed at least if the limit does not hold the kernel.
pub(crate) fn blocks(ask: &Ask) -> Result<u32, u32> {
    let Ask { ranks, limit, .. } = *ask;
    if ask.kernel == AivKernel::For91093 {
        return for_91093(ask);
    }
    // Four cores per rank if they fit, otherwise three.
    let times = |cores: u32| ranks.saturating_mul(cores);
    let wide = if times(4) <= MAX_BLOCKS {
        times(4)
    } else {
        times(3)
    };
    let large = ask.bytes >= 512 * KIB;
    let count = match (ask.kind, ask.graph) {
        (Kind::AllReduce, false) if ask.kernel == AivKernel::Mesh => times(2),
        (Kind::AllGather, false) if ask.kernel == AivKernel::Mesh => ranks.saturating_add(1),
        (Kind::ReduceScatter, false) if ask.kernel == AivKernel::Mesh => times(2),
        (Kind::AllToAll, false) if large => times(2),
        (Kind::AllToAllV, false) => wide,
        (Kind::AllGather | Kind::ReduceScatter, true) => {
            // These accept any limit that holds one core per rank.
            if wide > limit && limit >= ranks {
                limit / ranks * ranks
            } else {
                wide
            }
        }
        (Kind::AllToAll, true) => wide,
        (Kind::Broadcast, _) if ask.servers > 1 => ranks.saturating_sub(1).clamp(1, MAX_BLOCKS),
        (Kind::Broadcast, _) if ask.bytes <= 190 * KIB => 1,
        _ => ranks,
    };
    if count <= limit {
        Ok(count)
    } else {
        Err(count)
    }
}

fn for_91093(ask: &Ask) -> Result<u32, u32> {
    let Ask {
        ranks,
        limit,
        bytes,
        ..
    } = *ask;
    let least = ranks.div_ceil(MAX_TARGETS);
    match ask.kind {
        Kind::AllGather | Kind::ReduceScatter
            if !(ask.kind == Kind::ReduceScatter && ask.deterministic) =>
        {
            let per_rank = if ranks > 24 || bytes < 28 * KIB {
                1
            } else if ranks > 16 || bytes < 112 * KIB {
                2
            } else if ranks > 12 {
                3
            } else {
                4
            };
            if limit < least {
                return Err(least);
            }
            Ok(ranks.saturating_mul(per_rank).min(MAX_BLOCKS).min(limit))
        }
        _ => {
            // AllReduce, deterministic ReduceScatter and AllToAll: an even number, two at least.
            let least = even_up(least.max(2));
            let even = matches!(ask.kind, Kind::AllToAll | Kind::AllToAllV);
            let full = if even { even_up(ranks) } else { ranks }.min(MAX_BLOCKS);
            if full <= limit {
                Ok(full)
            } else if limit >= least {
                Ok(limit / 2 * 2)
            } else {
                Err(least)
            }
        }
    }
}

fn even_up(n: u32) -> u32 {
    n.div_ceil(2).saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OP_BASE: bool = false;
    const GRAPH: bool = true;

    fn ask(kind: Kind, kernel: AivKernel, graph: bool, ranks: u32, kib: u64, limit: u32) -> Ask {
        Ask {
            kind,
            kernel,
            graph,
            ranks,
            bytes: kib * KIB,
            servers: 1,
            deterministic: false,
            limit,
        }
    }

    /// One line per row of the table in facts/collectives.md section 2.2.
    #[test]
    fn block_dims_are_those_of_the_table() {
        use AivKernel::{For91093, Mesh, Small};
        for (kind, kernel, graph, ranks, kib, limit, expected) in [
            (Kind::AllReduce, Small, OP_BASE, 8, 60, 48, Ok(8)),
            (Kind::AllReduce, Small, GRAPH, 8, 60, 48, Ok(8)),
            (Kind::AllReduce, Mesh, OP_BASE, 16, 16 << 10, 48, Ok(32)),
            (Kind::AllReduce, Mesh, GRAPH, 8, 1024, 48, Ok(8)),
            (Kind::AllReduce, Small, OP_BASE, 8, 60, 7, Err(8)),
            (Kind::AllReduce, For91093, OP_BASE, 16, 60, 48, Ok(16)),
            (Kind::AllReduce, For91093, OP_BASE, 64, 60, 48, Ok(48)),
            (Kind::AllReduce, For91093, OP_BASE, 16, 60, 7, Ok(6)),
            (Kind::AllReduce, For91093, OP_BASE, 16, 60, 2, Ok(2)),
            (Kind::AllReduce, For91093, OP_BASE, 16, 60, 1, Err(2)),
            (Kind::AllReduce, For91093, OP_BASE, 64, 60, 4, Ok(4)),
            (Kind::AllReduce, For91093, OP_BASE, 64, 60, 3, Err(4)),
            (Kind::AllGather, Small, OP_BASE, 8, 60, 48, Ok(8)),
            (Kind::AllGather, Mesh, OP_BASE, 8, 60, 48, Ok(9)),
            (Kind::AllGather, Small, GRAPH, 8, 60, 48, Ok(32)),
            (Kind::AllGather, Mesh, GRAPH, 8, 1024, 48, Ok(32)),
            (Kind::AllGather, Small, GRAPH, 12, 60, 48, Ok(48)),
            (Kind::AllGather, Small, GRAPH, 16, 60, 48, Ok(48)),
            (Kind::AllGather, Small, GRAPH, 16, 60, 40, Ok(32)),
            (Kind::AllGather, Small, GRAPH, 8, 60, 17, Ok(16)),
            (Kind::AllGather, Small, GRAPH, 8, 60, 8, Ok(8)),
            (Kind::AllGather, Small, GRAPH, 8, 60, 7, Err(32)),
            (Kind::AllGather, For91093, OP_BASE, 32, 60, 48, Ok(32)),
            (Kind::AllGather, For91093, OP_BASE, 8, 27, 48, Ok(8)),
            (Kind::AllGather, For91093, OP_BASE, 8, 28, 48, Ok(16)),
            (Kind::AllGather, For91093, OP_BASE, 8, 111, 48, Ok(16)),
            (Kind::AllGather, For91093, OP_BASE, 8, 112, 48, Ok(32)),
            (Kind::AllGather, For91093, OP_BASE, 20, 200, 48, Ok(40)),
            (Kind::AllGather, For91093, OP_BASE, 16, 200, 48, Ok(48)),
            (Kind::AllGather, For91093, OP_BASE, 12, 200, 48, Ok(48)),
            (Kind::AllGather, For91093, OP_BASE, 16, 60, 1, Ok(1)),
            (Kind::AllGather, For91093, OP_BASE, 32, 60, 1, Err(2)),
            (Kind::ReduceScatter, Small, OP_BASE, 8, 60, 48, Ok(8)),
            (Kind::ReduceScatter, Mesh, OP_BASE, 8, 600, 48, Ok(16)),
            (Kind::ReduceScatter, Small, GRAPH, 8, 60, 48, Ok(32)),
            (Kind::ReduceScatter, Mesh, GRAPH, 16, 600, 48, Ok(48)),
            (Kind::ReduceScatter, For91093, OP_BASE, 8, 112, 48, Ok(32)),
            (Kind::AllToAll, Mesh, OP_BASE, 8, 511, 48, Ok(8)),
            (Kind::AllToAll, Mesh, OP_BASE, 8, 512, 48, Ok(16)),
            (Kind::AllToAll, Small, GRAPH, 8, 60, 48, Ok(32)),
            (Kind::AllToAll, Small, GRAPH, 16, 60, 48, Ok(48)),
            (Kind::AllToAll, For91093, OP_BASE, 17, 60, 48, Ok(18)),
            (Kind::AllToAll, For91093, OP_BASE, 64, 60, 48, Ok(48)),
            (Kind::AllToAllV, Mesh, OP_BASE, 8, 60, 48, Ok(32)),
            (Kind::AllToAllV, Mesh, OP_BASE, 16, 60, 48, Ok(48)),
            (Kind::AllToAllV, Mesh, GRAPH, 8, 60, 48, Ok(8)),
            (Kind::Broadcast, Mesh, OP_BASE, 8, 190, 48, Ok(1)),
            (Kind::Broadcast, Mesh, OP_BASE, 8, 191, 48, Ok(8)),
            (Kind::Broadcast, Mesh, OP_BASE, 8, 191, 7, Err(8)),
        ] {
            let ask = ask(kind, kernel, graph, ranks, kib, limit);
            assert_eq!(blocks(&ask), expected, "{ask:?}");
        }
    }

    #[test]
    fn deterministic_reduce_scatter_and_broadcast_across_servers_have_their_own_counts() {
        let mut ask = ask(
            Kind::ReduceScatter,
            AivKernel::For91093,
            OP_BASE,
            8,
            200,
            48,
        );
        ask.deterministic = true;
        assert_eq!(blocks(&ask), Ok(8));
        let mut ask = Ask {
            kind: Kind::Broadcast,
            kernel: AivKernel::Mesh,
            servers: 2,
            ..ask
        };
        ask.ranks = 32;
        assert_eq!(blocks(&ask), Ok(31));
        ask.ranks = 64;
        assert_eq!(blocks(&ask), Ok(48));
    }
}
