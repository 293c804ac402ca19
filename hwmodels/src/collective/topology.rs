//! Where the ranks of a communicator are, as far as HCCL's choices depend on it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::ParameterId as P;
use crate::{Level, Reader};

/// What HCCL sees of a communicator (facts/collectives.md section 1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Topology {
    /// Ranks (dies), N.
    pub ranks: u32,
    /// Servers they are in.
    pub servers: u32,
    /// Super-pods they are in.
    pub pods: u32,
    /// Whether every rank's package mate is a rank too: the double ring needs it.
    pub mates: bool,
    /// Whether the servers hold different numbers of ranks.
    pub uneven: bool,
    /// The farthest level between two ranks.
    pub level: Level,
}

impl Topology {
    /// The topology of the dies with the given device numbers on the machine that `r` describes.
    /// Devices count through packages, servers and super-pods: on an A3 server, 0 and 1 are the two
    /// dies of the first package. A device named twice counts once. `O(n log n)`.
    pub fn of(devices: &[u32], r: &Reader<'_>) -> Self {
        let dies = r.whole(P::MachineDies).max(1);
        let server = dies.saturating_mul(r.whole(P::MachinePackages).max(1));
        let pod = server.saturating_mul(r.whole(P::MachineServers).max(1));
        let devices: BTreeSet<u64> = devices.iter().map(|&device| device.into()).collect();
        let mut by_package = BTreeMap::new();
        let mut by_server = BTreeMap::new();
        let mut pods = BTreeSet::new();
        for device in &devices {
            *by_package.entry(device / dies).or_insert(0) += 1;
            *by_server.entry(device / server).or_insert(0_u32) += 1;
            pods.insert(device / pod);
        }
        let sizes: BTreeSet<u32> = by_server.values().copied().collect();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            ranks: count(devices.len()),
            servers: count(by_server.len()),
            pods: count(pods.len()),
            mates: dies > 1 && by_package.values().all(|&ranks| ranks == dies),
            uneven: sizes.len() > 1,
            level: if pods.len() > 1 {
                Level::Cluster
            } else if by_server.len() > 1 {
                Level::Pod
            } else if by_package.len() > 1 {
                Level::Server
            } else {
                Level::Package
            },
        }
    }

    /// The topology of the first `ranks` dies of the machine.
    pub fn dense(ranks: u32, r: &Reader<'_>) -> Self {
        let devices: Vec<u32> = (0..ranks).collect();
        Self::of(&devices, r)
    }

    /// Whether HCCL builds two rings in each server: more than two ranks there, and every package
    /// mate present. Otherwise it builds one.
    pub fn double_ring(&self) -> bool {
        self.ranks_per_server() > 2 && self.mates
    }

    /// Ranks of a server, on average and rounded up.
    pub(crate) fn ranks_per_server(&self) -> u32 {
        self.ranks.div_ceil(self.servers.max(1)).max(1)
    }
}
