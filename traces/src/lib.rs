//! Readers of Ascend profiler output, and what can be said of a capture
//! before any schedule is made of it, and the schedule that it shows.
//!
//! [`read()`] finds out what kind of profile a path holds and fills a [`Trace`]:
//! the neutral model of one rank's capture ([`model`]). Times are integer
//! nanoseconds relative to [`Trace::epoch_ns`]. [`pair`] finds the links that a
//! capture implies: records to waits, notifies across ranks, tasks to host calls,
//! collectives to the tasks that carry them. [`inspect`] sums a capture up: streams,
//! engines, steps, what perturbs the timeline, what is missing.
//!
//! [`dump`] reads the structure of a captured graph, which a profile of its replay goes with.
//! [`recover`] makes a schedule of a capture, with what was observed of each op. [`write`](mod@write) writes a
//! trace as a profile again, and [`anonymise`] takes out what should not leave a company.
//!
//! # What is deliberately absent
//!
//! A [`Trace`] holds no schedule IR: it says what was observed, not what was meant.
//! The profiler's own derived lanes (Overlap Analysis, `step_trace_time.csv`)
//! are kept as [`model::Oracle`] and never used as input.

pub mod anonymise;
pub mod dump;
pub mod error;
pub mod inspect;
pub mod model;
pub mod pair;
pub mod read;
pub mod recover;
pub mod time;
pub mod write;

pub use error::{Place, TraceError};
pub use model::Trace;
pub use read::{read, read_all};
