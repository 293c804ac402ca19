//! Studies on schedules: a library, so that other front ends can call it.
//!
//! * [`StepTimeline`]: one simulated step in full, for reports and exports.
//! * [`what_if`]: what a change of a schedule would do, with a range and a reason.
//! * [`ladder`]: changes one after another, and what each adds.
//! * [`sweep`]: one or two keys of a change over their ranges: best value, curve, where it turns over.
//!
//! Every answer carries what it rests on: the assumptions, the parameters that carry its range, and
//! which of them nobody has calibrated.

mod axis;
mod ladder;
mod overlap;
mod predict;
mod profile;
mod result;
mod side;
mod spread;
mod sweep;
mod timeline;
mod what_if;

pub use axis::{Axis, AxisError, Values};
pub use ladder::{Ladder, Rung, ladder};
pub use overlap::{NO_GAIN, is_gain};
pub use predict::predict;
pub use profile::{ProfileInputError, fitted, profile};
pub use result::{
    Answer, AppliedChange, BlameEntry, Carrier, Hang, Outcome, Overlap, OverlapKind, PathChange,
    PathEntry, Range, Side, Source, SourceKind, StreamLine, StreamTask, WhatIf,
};
pub use side::{StudyError, simulate};
pub use spread::{Parameter, Spread};
pub use sweep::{
    Curve, PointOutcome, Sweep, SweepError, SweepPoint, SweepQuestion, SweptKey, sweep,
};
pub use timeline::{Lane, LaneKind, Link, LinkKind, Row, StepTimeline, Stretch, TextId};
pub use what_if::{Input, Setup, Step, Variant, WhatIfRun, what_if, what_if_given};
