//! Rewrites: named changes of a schedule.
//!
//! A rewrite takes a schedule and gives another one, with the assumptions it had to make, or refuses
//! and names the op and the reason. It never changes what it was given.

mod catalogue;
mod edit;
mod event;
mod graph;
mod host;
mod launch;
#[cfg(test)]
mod laws;
mod layout;
mod moe;
mod parse;
mod redundant;
mod remove;
mod safety;
mod shared;
mod stream;
#[cfg(test)]
mod tests;
mod time;
mod undo;

use serde::{Deserialize, Serialize};

use crate::flat::FlatError;
use crate::ir::{OpId, ProgramName, Schedule, StreamName};
use crate::select::Selector;

pub use catalogue::{ChangeDoc, KeyDoc, catalogue};
pub use launch::LaunchMode;
pub use layout::AddEvent;
pub use parse::{ChangeError, set_key, split_changes};
pub use shared::{SharedOverlap, WaitPoint};
pub use undo::Undo;

/// A named change. [`Change::parse`] reads one from text.
#[derive(Clone, Debug)]
pub enum Change {
    /// Multiplies durations.
    Scale {
        /// Whose.
        select: Selector,
        /// By what; not negative.
        factor: f64,
    },
    /// Replaces durations.
    SetDuration {
        /// Whose.
        select: Selector,
        /// The new duration in ns.
        ns: f64,
    },
    /// Removes ops.
    Remove {
        /// Which.
        select: Selector,
    },
    /// Moves ops to another stream between two join points.
    MoveToStream {
        /// Which ops.
        select: Selector,
        /// The stream they go to; declared if it is new.
        stream: StreamName,
        /// The op after which they may start: the last match before them.
        after: Option<Selector>,
        /// The op that waits for them: the first match after them.
        before: Option<Selector>,
    },
    /// Moves waits within the host issue order, to just before another op.
    MoveWait {
        /// Which waits.
        select: Selector,
        /// The op before which each goes: the nearest match in the direction it has to move.
        before: Selector,
    },
    /// Moves records within the host issue order, to just after another op of the same stream.
    MoveRecord {
        /// Which records.
        select: Selector,
        /// The op after which each goes: the nearest match.
        after: Selector,
    },
    /// Removes waits, and the records that nobody waits for then.
    DropWait {
        /// Which waits.
        select: Selector,
    },
    /// Removes records together with the waits bound to them.
    DropRecord {
        /// Which records.
        select: Selector,
    },
    /// Removes waits whose record is known to be done, and records without waits.
    DropRedundantEvents {
        /// Which may go; all without it.
        select: Option<Selector>,
    },
    /// Gives the waits of a record to the one right before it.
    MergeRecords {
        /// Which may go; all without it.
        select: Option<Selector>,
    },
    /// Moves the shared experts of MoE layers to a side stream.
    SharedExpertOverlap(SharedOverlap),
    /// Puts everything on one stream.
    OneStream {
        /// The stream; that with the most ops without it.
        stream: Option<StreamName>,
    },
    /// Gives the side-stream ops of every layer a stream of their own.
    StreamPerLayer {
        /// Which ops; all on side streams without it.
        select: Option<Selector>,
    },
    /// Adds an event between two streams.
    AddEvent(AddEvent),
    /// Changes how ops get to the device.
    Launch(LaunchMode),
}

/// A schedule after a rewrite.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The new schedule.
    pub schedule: Schedule,
    /// How many ops the change touched.
    pub touched: usize,
    /// What it had to assume, and what is doubtful.
    pub notes: Vec<Note>,
}

/// Something to know about an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How it bears on the answer.
    pub kind: NoteKind,
    /// The text: one sentence, lowercase, without a full stop.
    pub text: String,
}

/// How a note bears on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// Taken to be true without evidence in the input.
    Assumption,
    /// A reason to doubt the answer.
    Warning,
}

impl Note {
    /// An assumption.
    pub fn assumption(text: impl Into<String>) -> Self {
        Self {
            kind: NoteKind::Assumption,
            text: text.into(),
        }
    }

    /// A warning.
    pub fn warning(text: impl Into<String>) -> Self {
        Self {
            kind: NoteKind::Warning,
            text: text.into(),
        }
    }
}

/// Why a rewrite refused. The schedule it was given is unchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RewriteError {
    /// The selector matches no op that the change can touch.
    #[error(
        "`{selector}` selects no {what}; `ascsim import` writes a schedule whose ops and tags can be looked at"
    )]
    NothingSelected {
        /// The selector.
        selector: String,
        /// What was looked for.
        what: &'static str,
    },
    /// Data flow is unknown, so the change cannot know what the ops depend on.
    #[error(
        "op `{op}` of program `{program}` has unknown accesses, so what it needs and who needs it is \
         unknown: give the join points with after=SELECTOR,before=SELECTOR"
    )]
    NeedsJoinPoints {
        /// The program.
        program: ProgramName,
        /// The first op whose accesses are unknown.
        op: OpId,
    },
    /// A join point is not where it can serve.
    #[error("`{selector}` ({role}) matches no op {side} op `{op}` of program `{program}`")]
    NoJoinPoint {
        /// Its selector.
        selector: String,
        /// `after` or `before`.
        role: &'static str,
        /// `before` or `after`.
        side: &'static str,
        /// The program.
        program: ProgramName,
        /// The op that needs it.
        op: OpId,
    },
    /// Two ops that use the same bytes would not be ordered any more.
    #[error(
        "op `{first}` and op `{second}` both use buffer `{buffer}`, one of them writes it, and after the \
         change nothing keeps them in order: a race"
    )]
    Race {
        /// Path of the op that came first.
        first: String,
        /// Path of the op that came after it.
        second: String,
        /// The root buffer.
        buffer: String,
    },
    /// The schedule cannot be unrolled.
    #[error(transparent)]
    Flat(Box<FlatError>),
    /// The change does not fit the op.
    #[error("op `{op}` of program `{program}`: {why}")]
    Unfit {
        /// The program.
        program: ProgramName,
        /// The op.
        op: OpId,
        /// Why, and what to do.
        why: String,
    },
}

impl Change {
    /// Applies the change. What it gives never loses an order that two accesses to the same bytes had:
    /// where accesses are declared, that is proved by happens-before before it is given.
    ///
    /// # Errors
    /// If it selects nothing, lacks join points, does not fit an op, or would let two ops race.
    ///
    /// # Complexity
    /// O(ops) time and memory, times the selected groups where join points are derived from data; and
    /// that of happens-before ([`Order::new`](crate::order::Order::new)) where ops conflict.
    pub fn apply(&self, schedule: &Schedule) -> Result<Rewritten, RewriteError> {
        let rewritten = self.rewrite(schedule)?;
        safety::guard(schedule, &rewritten.schedule)?;
        Ok(rewritten)
    }

    fn rewrite(&self, schedule: &Schedule) -> Result<Rewritten, RewriteError> {
        match self {
            Self::Scale { select, factor } => time::scale(schedule, select, *factor),
            Self::SetDuration { select, ns } => time::set(schedule, select, *ns),
            Self::Remove { select } => remove::remove(schedule, select),
            Self::MoveToStream {
                select,
                stream,
                after,
                before,
            } => stream::move_to(schedule, select, stream, after.as_ref(), before.as_ref()),
            Self::MoveWait { select, before } => event::move_wait(schedule, select, before),
            Self::MoveRecord { select, after } => event::move_record(schedule, select, after),
            Self::DropWait { select } => event::drop_wait(schedule, select),
            Self::DropRecord { select } => event::drop_record(schedule, select),
            Self::DropRedundantEvents { select } => {
                redundant::drop_redundant(schedule, select.as_ref())
            }
            Self::MergeRecords { select } => redundant::merge(schedule, select.as_ref()),
            Self::SharedExpertOverlap(change) => shared::apply(schedule, change),
            Self::OneStream { stream } => layout::one_stream(schedule, stream.as_ref()),
            Self::StreamPerLayer { select } => layout::per_layer(schedule, select.as_ref()),
            Self::AddEvent(change) => layout::add_event(schedule, change),
            Self::Launch(mode) => launch::apply(schedule, mode),
        }
    }
}
