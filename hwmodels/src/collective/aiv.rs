//! The time of an AIV collective (facts/collectives.md sections 1.9, 2.3 and 5.1):
//! a fixed part plus the bytes of one core over its rate, or over its share of the die's cap.

use ascsim_schedules::CollectiveKind as Kind;

use super::blocks::AivKernel;
use super::{Determinism, Phase, Request};
use crate::ParameterId as P;
use crate::Reader;
use crate::number::us_at;

/// AllReduce up to this size reads all peers at once (section 1.9).
const ONE_SHOT: u64 = 64 << 10;

/// The phases of an AIV collective from the last rank's start, and the bytes a rank reads from
/// others.
pub(crate) fn phases(
    request: &Request,
    kernel: AivKernel,
    blocks: u32,
    r: &Reader<'_>,
) -> (Vec<Phase>, u64) {
    let topology = &request.topology;
    let n = f64::from(topology.ranks.max(1));
    let s = request.bytes as f64;
    if topology.ranks <= 1 {
        return (vec![Phase::new("fixed", 0, r.get(P::AivFixed))], 0);
    }
    let shape = Shape::of(request, kernel);
    // Each peer's slice goes to as many cores as there are for it; with fewer cores than ranks, one
    // core serves several peers.
    let cores = f64::from(blocks.max(1));
    let per_peer = (cores / n).floor();
    let bytes_of_core = if request.kind == Kind::Broadcast {
        // Every core takes a part of the one message.
        s / cores
    } else if per_peer >= 1.0 {
        shape.slice(s, n) / per_peer
    } else {
        shape.slice(s, n) * (n / cores).ceil()
    };
    let alone = us_at(bytes_of_core, r.get(shape.rate()));
    // What all cores of a die read from others, or the others from a broadcast's root.
    let remote = shape.slice(s, n) * (n - 1.0) * shape.remote_passes();
    let capped = us_at(remote, r.get(P::AivDieCap));
    let mut fixed = r.get(shape.fixed());
    if topology.servers > 1 {
        fixed += shape.exchanges() * r.get(P::AivCrossServer);
    }
    let transfer = alone.max(capped);
    let fixed = Phase::new("fixed", 0, fixed);
    let transfer = Phase::new("transfer", fixed.end_ps(), transfer);
    (vec![fixed, transfer], shape.remote_bytes(request))
}

/// What one core does with its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Copy to the window, peers read: AllGather, AllToAll, Broadcast.
    CopyRead {
        /// AllToAll hands shakes twice.
        two_exchanges: bool,
    },
    /// Copy, then read with atomic add: ReduceScatter.
    CopyAdd,
    /// Copy all, read all peers with atomic add: AllReduce up to 64 KiB.
    OneShot,
    /// Copy, read with atomic add, read the sums: AllReduce.
    TwoShot,
}

impl Shape {
    fn of(request: &Request, kernel: AivKernel) -> Self {
        match request.kind {
            Kind::ReduceScatter => Self::CopyAdd,
            Kind::AllReduce
                if kernel == AivKernel::Small
                    && request.bytes <= ONE_SHOT
                    && request.determinism == Determinism::Off =>
            {
                Self::OneShot
            }
            Kind::AllReduce => Self::TwoShot,
            kind => Self::CopyRead {
                two_exchanges: matches!(kind, Kind::AllToAll | Kind::AllToAllV),
            },
        }
    }

    /// The bytes that go through one core when there is one core per peer.
    fn slice(self, s: f64, n: f64) -> f64 {
        match self {
            Self::TwoShot => s / n,
            _ => s,
        }
    }

    fn rate(self) -> P {
        match self {
            Self::CopyRead { .. } => P::AivCopyRead,
            Self::CopyAdd | Self::OneShot => P::AivCopyAdd,
            Self::TwoShot => P::AivCopyAddRead,
        }
    }

    fn fixed(self) -> P {
        match self {
            // Two exchanges, as the two-shot AllReduce has; AllToAll itself was never measured.
            Self::TwoShot
            | Self::CopyRead {
                two_exchanges: true,
            } => P::AivTwoShotFixed,
            _ => P::AivFixed,
        }
    }

    fn exchanges(self) -> f64 {
        match self {
            Self::TwoShot
            | Self::CopyRead {
                two_exchanges: true,
            } => 2.0,
            _ => 1.0,
        }
    }

    /// How often a core's bytes come from a peer.
    fn remote_passes(self) -> f64 {
        match self {
            Self::TwoShot => 2.0,
            _ => 1.0,
        }
    }

    fn remote_bytes(self, request: &Request) -> u64 {
        let n = u64::from(request.topology.ranks);
        let s = request.bytes;
        match (self, request.kind) {
            (Self::TwoShot, _) => (2 * (n - 1)).saturating_mul(s) / n,
            (_, Kind::Broadcast) => s,
            _ => (n - 1).saturating_mul(s),
        }
    }
}
