//! Studies on schedules: a library, so that other front ends can call it.
//!
//! * [`what_if`]: what a change of a schedule would do, with a range and a reason.
//!
//! Every answer carries what it rests on: the assumptions, the parameters that carry its range, and
//! which of them nobody has calibrated.

mod predict;
mod profile;
mod result;
mod side;
mod spread;
mod what_if;

pub use predict::predict;
pub use profile::{ProfileInputError, fitted, profile};
pub use result::{
    Answer, AppliedChange, BlameEntry, Carrier, Hang, Outcome, PathEntry, Range, Side, Source,
    SourceKind, StreamLine, StreamTask, WhatIf,
};
pub use side::{StudyError, simulate};
pub use spread::{Parameter, Spread};
pub use what_if::{Input, Setup, Step, Variant, WhatIfRun, what_if};
