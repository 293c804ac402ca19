//! What a user should know about one collective (facts/collectives.md section 6). Rules over several
//! ops, such as two AIV communicators at once, are the checker's.

use std::fmt;

use ascsim_schedules::CollectiveKind;
use serde::Serialize;

/// A finding about one collective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Ranks of several super-pods under AIV (rule 3).
    AivAcrossPods,
    /// An expansion that A3 does not know; it takes the default silently (rule 3).
    UnknownExpansion,
    /// A shape that the MC2 kernel refuses (rule 5).
    OutsideLimits {
        /// What.
        what: &'static str,
        /// Its value.
        value: u64,
        /// Least allowed.
        low: u64,
        /// Most allowed.
        high: u64,
    },
    /// HCCL_BUFFSIZE below what the exchange needs (rule 5).
    BufferTooSmall {
        /// Bytes needed.
        need: u64,
        /// Bytes there.
        have: u64,
    },
    /// MatmulAllReduce on 910_93, which has none (rule 7).
    NoMatmulAllReduce,
    /// A size within 10 % of the one at which HCCL takes another executor (rule 9).
    NearSwitch {
        /// The size, in bytes.
        bytes: u64,
        /// The size of the switch, in bytes.
        switch: u64,
    },
    /// AllToAllV over AIV beyond 1 MiB per pair, which does not fall back (rule 11).
    AllToAllVTooLarge,
    /// A captured AllGather or AllToAll that takes three or four cores per rank (rule 12).
    ManyCores {
        /// Vector cores taken.
        cores: u32,
        /// Vector cores of the die.
        of: u32,
    },
    /// A communicator without all package mates: one ring, about half the bandwidth (rule 13).
    SingleRing,
    /// An AICPU collective in place, never cached (rule 14).
    InPlaceNotCached,
    /// A message as large as the CCL buffer: it loops, and HCCL warns (rule 15).
    LoopsOverBuffer,
    /// AIV is asked for, but determinism, retry or the reduction takes the slow path (rule 16).
    LeavesAiv {
        /// Why.
        why: &'static str,
    },
    /// AIV is asked for, but the message is too large for it.
    TooLargeForAiv,
    /// The kernel is chosen anew because the core limit does not hold the first choice.
    CoreLimited {
        /// Vector cores the first choice needs.
        need: u32,
        /// Vector cores there.
        limit: u32,
    },
    /// The chip is no 910_93, whose rules these are.
    OtherSoc,
    /// No measurement exists of this executor: its time rests on parameters of others.
    Uncalibrated,
}

impl Finding {
    /// Whether the collective fails or hangs; otherwise the finding is a warning or a note.
    pub fn is_error(&self) -> bool {
        matches!(
            self,
            Self::AivAcrossPods
                | Self::OutsideLimits { .. }
                | Self::BufferTooSmall { .. }
                | Self::NoMatmulAllReduce
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AivAcrossPods => f.write_str("an AIV communicator must stay within one super-pod"),
            Self::UnknownExpansion => f.write_str(
                "A3 knows only the expansions AI_CPU, AICPU_CacheDisable and AIV, and takes AI_CPU for any other",
            ),
            Self::OutsideLimits { what, value, low, high } => {
                write!(f, "{what} is {value}; the kernel takes {low} to {high}")
            }
            Self::BufferTooSmall { need, have } => {
                write!(f, "HCCL_BUFFSIZE is {have} bytes; the exchange needs {need}")
            }
            Self::NoMatmulAllReduce => f.write_str("MatmulAllReduce does not exist on 910_93"),
            Self::NearSwitch { bytes, switch } => write!(
                f,
                "{bytes} bytes are within 10 % of {switch}, where HCCL takes another executor; padding may cross it"
            ),
            Self::AllToAllVTooLarge => {
                f.write_str("AllToAllV over AIV does not fall back; use it up to 1 MiB per pair")
            }
            Self::ManyCores { cores, of } => {
                write!(f, "it takes {cores} of {of} vector cores; count them beside other kernels")
            }
            Self::SingleRing => f.write_str(
                "not every package mate is in the communicator: one ring, about half the bandwidth",
            ),
            Self::InPlaceNotCached => {
                f.write_str("an AICPU collective in place is expanded anew on every call")
            }
            Self::LoopsOverBuffer => f.write_str("the message fills the CCL buffer: it is sent in pieces"),
            Self::LeavesAiv { why } => write!(f, "{why} takes it off the fast AIV kernels"),
            Self::TooLargeForAiv => f.write_str("the message is too large for AIV: the AICPU expands it"),
            Self::CoreLimited { need, limit } => write!(
                f,
                "the first choice needs {need} vector cores of {limit}: HCCL takes the core-limited kernel"
            ),
            Self::OtherSoc => {
                f.write_str("the chip is no 910_93; HCCL's choices are those of 910_93 and the time is a guess")
            }
            Self::Uncalibrated => f.write_str("nobody measured this executor: its time rests on those of others"),
        }
    }
}

/// Why there is no cost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectiveError {
    /// HCCL_E_PARA: neither the kernel nor its core-limited form fits (rule 1).
    #[error(
        "{kind:?} over {ranks} ranks needs {need} vector cores and may use {limit}: HCCL fails with HCCL_E_PARA; \
         raise the core limit, or use AI_CPU expansion"
    )]
    CoreLimit {
        /// Which collective.
        kind: CollectiveKind,
        /// Ranks.
        ranks: u32,
        /// Least vector cores.
        need: u32,
        /// Vector cores there.
        limit: u32,
    },
    /// AIV only, but no AIV kernel takes it.
    #[error("{kind:?} must stay on AIV, but no AIV kernel takes it: {why}")]
    OnlyAiv {
        /// Which collective.
        kind: CollectiveKind,
        /// Why.
        why: &'static str,
    },
    /// A communicator without ranks.
    #[error("a communicator has at least one rank")]
    NoRanks,
    /// An MC2 kernel without the shape of its exchange.
    #[error("{kind:?} needs the shape of its exchange (tokens, experts per token, hidden size)")]
    NoShape {
        /// Which collective.
        kind: CollectiveKind,
    },
}
