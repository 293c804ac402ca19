//! The schedule that captures show: one program per rank, with what was observed of each op.
//!
//! Only the durations of kernels, copies, host calls and the host time between calls are taken from
//! a capture. Event waits, waits for notifies of captured ranks, host synchronisations and the
//! waiting inside collectives follow from the schedule.
//!
//! # How a capture becomes a program
//!
//! 1. **Clocks.** Host times stay as they are. Device times are moved by one offset per rank, so
//!    that no task starts before its call; the clocks of ranks are aligned by their notifies
//!    ([`crate::pair`]).
//! 2. **Host threads** are chains from the start of the step: calls that issue tasks, calls that
//!    synchronise, and `think` ops for the time between them. A task starts while its call still runs
//!    (facts/traces.md section 2.1), so a call's `issue` time ends when its task starts at the
//!    latest; the rest of the call counts as host time after it.
//! 3. **Hand-overs between threads.** torch_npu's worker thread takes from a queue what others put
//!    in. Each hand-over is an event that nobody records and both threads synchronise: calls that
//!    touch one object are made in list order, which is exactly the hand-over and nothing else. A
//!    thread whose calls all lie between two calls of another is taken to be started and joined by
//!    that one (the backward thread of PyTorch).
//! 4. **Streams** are the physical streams. Profiling switches and place holders are left out.
//! 5. **Events**: one event per record, with the waits that were paired with it. A wait whose record
//!    is not known waits for an event that nobody records, so it does not wait.
//! 6. **Collectives** take one place on the stream of their first task, whatever tasks carry them:
//!    FFTS+ children run in parallel and are no FIFO. See [`collective`] for ranks that were not
//!    captured.
//! 7. **Host synchronisations** do not name their stream in a capture; the stream is taken whose last
//!    task ended last before the call returned.
//!
//! Accesses are unknown: a capture has no data flow.

pub mod collective;

mod assemble;
mod chain;
mod clock;
mod declared;
mod entry;
mod op;
mod signal;
mod steps;
mod summary;

use ascsim_schedules::{OpId, Schedule};
use serde::Serialize;

pub use summary::{Assumed, ImportSummary, LinkCounts};

use crate::Trace;
use crate::time::Span;

/// What to make a schedule of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// The step to take; without one, the whole capture, with the step of each op as a tag.
    pub step: Option<u32>,
}

/// What was observed of one op, in ns from the start of the schedule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// The row of the host call; for host time between calls, that time.
    pub call: Option<Span>,
    /// The task on the device.
    pub task: Option<Span>,
}

/// One rank of a recovered schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRank {
    /// The rank.
    pub rank: u32,
    /// One per op of the rank's program, in its order.
    pub ops: Vec<Seen>,
    /// Whether it was captured; otherwise it stands for a rank that others were seen waiting for.
    pub captured: bool,
    /// Whether L2 counters bent its timeline (facts/traces.md section 1); `None` if not recorded.
    pub perturbed: Option<bool>,
}

/// A schedule made of captures.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// The schedule, without delays.
    pub schedule: Schedule,
    /// The start of the schedule, in ns of the host clock of the first capture (since its epoch's
    /// zero: UTC for torch_npu).
    pub zero_ns: i64,
    /// What was observed, by rank.
    pub seen: Vec<SeenRank>,
    /// How sure the links are, and what had to be assumed.
    pub summary: ImportSummary,
}

impl Recovered {
    /// What was observed of the op `op` on `rank`.
    ///
    /// # Complexity
    /// O(ops of the rank).
    pub fn seen_of(&self, rank: u32, op: &OpId) -> Option<Seen> {
        let seen = self.seen.iter().find(|seen| seen.rank == rank)?;
        let program = program_of(&self.schedule, rank)?;
        let at = program.ops.iter().position(|own| own.id == *op)?;
        seen.ops.get(at).copied()
    }

    /// From the first start to the last end of the tasks of the captured ranks, ns.
    /// `None` if there is no task.
    pub fn span(&self) -> Option<Span> {
        let captured = self.seen.iter().filter(|rank| rank.captured);
        let tasks = captured.flat_map(|rank| rank.ops.iter().filter_map(|op| op.task));
        tasks.reduce(|all, task| Span {
            start: all.start.min(task.start),
            end: all.end.max(task.end),
        })
    }
}

/// The program of a rank.
fn program_of(schedule: &Schedule, rank: u32) -> Option<&ascsim_schedules::Program> {
    let group = schedule
        .ranks
        .iter()
        .find(|group| (group.first..group.first.saturating_add(group.count)).contains(&rank))?;
    let name = group.program.as_ref()?;
    schedule
        .programs
        .iter()
        .find(|program| program.name == *name)
}

/// Why no schedule can be made of captures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecoverError {
    /// There is no capture.
    #[error("no capture was given; name at least one")]
    NoCapture,
    /// Two captures are of one rank.
    #[error("two captures are of rank {0}; name one capture per rank")]
    SameRank(u32),
    /// A capture does not have the step.
    #[error("rank {rank} has no step {step}; it has {}", list(found))]
    NoStep {
        /// The rank.
        rank: u32,
        /// The step asked for.
        step: u32,
        /// The steps it has.
        found: Vec<u32>,
    },
    /// Nothing ran on the device in the step.
    #[error("rank {rank} has no device task in {}; take another step or the whole capture", match step { Some(step) => format!("step {step}"), None => "its capture".to_owned() })]
    NoTask {
        /// The rank.
        rank: u32,
        /// The step asked for.
        step: Option<u32>,
    },
}

fn list(steps: &[u32]) -> String {
    if steps.is_empty() {
        return "no steps".to_owned();
    }
    let steps: Vec<String> = steps.iter().map(u32::to_string).collect();
    format!("steps {}", steps.join(", "))
}

/// Makes one schedule of the captures of one run, one per rank. A capture that does not tell its rank
/// gets the lowest free one.
///
/// # Errors
/// If there is no capture, two are of one rank, one lacks the step, or nothing ran in it.
///
/// # Complexity
/// O(n log n) in the rows of the captures, and what [`crate::pair`] takes.
pub fn recover(captures: &[&Trace], settings: Settings) -> Result<Recovered, RecoverError> {
    assemble::recover(captures, settings)
}
