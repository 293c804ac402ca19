//! What copies and prefetches cost by themselves. Times in ps. Numbers: facts/hardware.md sections
//! 1.2 to 1.4 and 9; semantics of pageable memory: facts/acl.md section 6.

use ascsim_schedules::{CopyDirection, Memory};

use crate::ParameterId as P;
use crate::number::{ps, us_at};
use crate::{Level, Reader};

/// A copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyWork {
    /// From where to where.
    pub direction: CopyDirection,
    /// Bytes copied.
    pub bytes: u64,
    /// The host memory, for copies from and to the host.
    pub host: Memory,
    /// What lies between the dies, for copies to a peer.
    pub level: Level,
}

/// Time of a copy alone on its path: a fixed part and bytes over the rate. A copy of pageable
/// memory has a fixed part more and a lower rate, and blocks its thread.
pub fn copy(work: &CopyWork, r: &Reader<'_>) -> u64 {
    let bytes = work.bytes as f64;
    let host = |rate: P| {
        let pinned = r.get(P::CopyHostFixed);
        if work.host == Memory::HostPageable {
            let slower = us_at(bytes, r.get(rate)) / r.get(P::CopyPageable);
            pinned + r.get(P::CopyPageableFixed) + slower
        } else {
            pinned + us_at(bytes, r.get(rate))
        }
    };
    ps(match work.direction {
        CopyDirection::HostToDevice => host(P::CopyH2d),
        CopyDirection::DeviceToHost => host(P::CopyD2h),
        CopyDirection::DeviceToDevice => r.get(P::CopySmall) + us_at(bytes, r.get(P::CopyDevice)),
        CopyDirection::Peer => {
            r.get(P::CopyPeerFixed)
                + r.get(work.level.latency())
                + us_at(bytes, r.get(work.level.achieved()))
        }
    })
}

/// Time of a prefetch of `bytes` into L2 while `streams` streams prefetch at once, all of them
/// counted (facts/hardware.md section 1.4: two get less than one).
pub fn prefetch(bytes: u64, streams: u32, r: &Reader<'_>) -> u64 {
    let rate = if streams > 1 {
        r.get(P::ChipCmoShared) / f64::from(streams)
    } else {
        r.get(P::ChipCmo)
    };
    ps(us_at(bytes as f64, rate))
}

/// What one prefetch costs the kernels beside it.
pub fn prefetch_interference(r: &Reader<'_>) -> u64 {
    ps(r.get(P::ChipCmoFixed))
}
