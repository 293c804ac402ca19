//! Why a schedule cannot be submitted.

use ascsim_schedules::CollectiveKind;
use ascsim_schedules::flat::{Flat, FlatError, InstanceId};

/// Why a schedule cannot be submitted. Nothing was.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It cannot be unrolled.
    #[error(transparent)]
    Flat(#[from] FlatError),
    /// An op cannot be submitted.
    #[error("rank {rank}, op {op}: {kind}")]
    Op {
        /// The rank.
        rank: u32,
        /// The path of the op.
        op: String,
        /// What is wrong with it.
        kind: PlanErrorKind,
    },
}

/// What is wrong with an op.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanErrorKind {
    /// It waits for something that no later submission brings about.
    #[error(
        "it is never done: what it waits for is not submitted; if another host thread of the rank \
         submits it, list that first"
    )]
    NeverDone,
    /// Too much would be queued behind a wait for a later submission.
    #[error("{entries} entries of its queue would wait for later submissions; at most {most} may")]
    QueueDepth {
        /// How many.
        entries: usize,
        /// The most that may.
        most: usize,
    },
    /// A kind of op that this executor does not submit.
    #[error("this executor cannot submit {0}")]
    Unsupported(&'static str),
    /// A kind of collective that HCCL is not called for here.
    #[error("this executor cannot submit the collective {0:?} by itself; bind it as a callback")]
    Collective(CollectiveKind),
    /// It names no stream.
    #[error("it names no stream")]
    NoStream,
    /// A copy or collective that does not say which bytes it moves.
    #[error("its accesses must name {0}")]
    Accesses(&'static str),
    /// A buffer that is not declared, or a range outside of it.
    #[error("{bytes} bytes from {offset} do not lie within buffer {buffer}")]
    Range {
        /// The buffer.
        buffer: String,
        /// Where they start.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// A number that has no value or is not a whole number of bytes.
    #[error("its {0} is not a whole number")]
    Number(&'static str),
    /// A data type or reduction that HCCL does not have.
    #[error("HCCL has no `{0}`")]
    Hccl(String),
    /// A pageable copy on a stream other than the default one blocks the host and the schedule.
    #[error("it copies pageable memory on a side stream; use pinned memory")]
    Pageable,
}

impl PlanError {
    pub(super) fn of(flat: &Flat<'_>, id: InstanceId, kind: PlanErrorKind) -> Self {
        Self::Op {
            rank: flat[id].rank,
            op: flat.path(id),
            kind,
        }
    }
}
