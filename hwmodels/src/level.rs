//! What lies between two dies.

use serde::Serialize;

use crate::ParameterId as P;

/// The level of a machine at which two dies meet, each with its own link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The two dies of a package (SIO).
    Package,
    /// Two packages of a server (UB or HCCS).
    Server,
    /// Two servers of a super-pod (UB).
    Pod,
    /// Two super-pods (RoCE).
    Cluster,
}

impl Level {
    /// The parameter that holds the rate achieved by copies, in bytes per second.
    pub fn achieved(self) -> P {
        match self {
            Self::Package => P::LinkPackageAchieved,
            Self::Server => P::LinkServerAchieved,
            Self::Pod => P::LinkPodAchieved,
            Self::Cluster => P::LinkClusterAchieved,
        }
    }

    /// The parameter that holds the nominal rate of one direction, in bytes per second.
    pub fn nominal(self) -> P {
        match self {
            Self::Package => P::LinkPackage,
            Self::Server => P::LinkServer,
            Self::Pod => P::LinkPod,
            Self::Cluster => P::LinkCluster,
        }
    }

    /// The parameter that holds the latency, in µs.
    pub fn latency(self) -> P {
        match self {
            Self::Package => P::LinkPackageLatency,
            Self::Server => P::LinkServerLatency,
            Self::Pod => P::LinkPodLatency,
            Self::Cluster => P::LinkClusterLatency,
        }
    }
}
