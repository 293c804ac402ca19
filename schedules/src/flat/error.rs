//! Why a schedule cannot be unrolled.

use crate::ir::EvalError;

/// Why a schedule cannot be unrolled. All but [`FlatError::TooLarge`] and [`FlatError::Count`] are
/// what validation refuses.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FlatError {
    /// A name that the schedule does not declare.
    #[error("`{path}` on rank {rank} names {what} `{name}`, which is not declared")]
    Unknown {
        /// The rank.
        rank: u32,
        /// Path of the op.
        path: String,
        /// What kind of thing it names.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A rank group whose program is not declared.
    #[error("rank {rank} runs program `{program}`, which is not declared")]
    UnknownRankProgram {
        /// The first rank of the group.
        rank: u32,
        /// The program.
        program: String,
    },
    /// A device op that names no stream.
    #[error("`{path}` on rank {rank} is a device op without a stream; set `stream`")]
    NoStream {
        /// The rank.
        rank: u32,
        /// Path of the op.
        path: String,
    },
    /// A rank that takes part in a communicator of which it is no member.
    #[error(
        "`{path}` on rank {rank} uses communicator `{communicator}`, of which the rank or its peer \
         is no member"
    )]
    NotAMember {
        /// The rank.
        rank: u32,
        /// Path of the op.
        path: String,
        /// The communicator.
        communicator: String,
    },
    /// A graph launch inside a captured program, or of a program that is not captured.
    #[error("`{path}` on rank {rank} cannot launch `{program}`: {reason}")]
    Launch {
        /// The rank.
        rank: u32,
        /// Path of the op.
        path: String,
        /// The program.
        program: String,
        /// Why not.
        reason: &'static str,
    },
    /// Programs that contain one another, or too many levels of them.
    #[error("`{path}` on rank {rank}: programs are nested more than {limit} deep")]
    TooDeep {
        /// The rank.
        rank: u32,
        /// Path of the op.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// A repeat count without a value, or a negative one.
    #[error("`{path}` on rank {rank} has no repeat count: {reason}")]
    Count {
        /// The rank.
        rank: u32,
        /// Path of the op.
        path: String,
        /// Why.
        reason: CountError,
    },
    /// More instances and iterations than allowed.
    #[error(
        "the schedule unrolls to more than {limit} op instances; reduce repeat counts or ranks, or \
         raise the limit"
    )]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}

/// Why a repeat has no count.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CountError {
    /// The expression has no value.
    #[error(transparent)]
    Value(#[from] EvalError),
    /// The value is below zero.
    #[error("{0} is negative")]
    Negative(f64),
}
