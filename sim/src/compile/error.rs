//! Why a schedule cannot be compiled.

use ascsim_schedules::EvalError;

/// Why a schedule cannot be compiled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompileError {
    /// An op whose duration only a measurement or a hardware model can give.
    #[error(
        "`{path}` on rank {rank} has no duration; give it one, or let a hardware model compute it"
    )]
    NoDuration {
        /// The rank.
        rank: u32,
        /// Path of the op.
        path: String,
    },
    /// A time without a usable value.
    #[error("the {what} of `{path}` on rank {rank} cannot be used: {reason}")]
    Time {
        /// The rank.
        rank: u32,
        /// Path of the op.
        path: String,
        /// Which of its times.
        what: &'static str,
        /// Why.
        reason: TimeError,
    },
}

/// Why a time cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TimeError {
    /// The expression has no value.
    #[error(transparent)]
    Value(#[from] EvalError),
    /// It is below zero.
    #[error("{0} ns is negative")]
    Negative(f64),
    /// It is longer than the clock holds.
    #[error("it is longer than 53 days")]
    TooLong,
}
