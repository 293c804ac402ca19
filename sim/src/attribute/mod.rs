//! Why the tasks of a capture started when they did.
//!
//! A schedule made of a capture ([`ascsim_traces::recover`]) derives most starts. What is left of an
//! observed start is the op's *delay*; with all delays in place, a replay reproduces the observed
//! starts. This module finds the delays and their causes ([`attribute()`]), replays a capture and
//! says how well that went ([`replay()`]), fits the parameters that a replay without delays needs
//! ([`Parameters`], [`Fitted`]), predicts with parameters from elsewhere ([`predict()`]), and frees
//! durations from the contention under which they were recorded ([`solo()`]).
//!
//! # The four classes
//!
//! * **Recorded**: the capture shows the cause. On a perturbed capture, what is left of the gap after
//!   a plain kernel; on a rank that finished a collective later than the first, that time.
//! * **External**: a rank that is not in the capture.
//! * **Host think**: a thread that was slow to take what another handed over.
//! * **Unexplained**: all else, such as how long a launch took beyond the shortest one.
//!
//! A host gap between two calls is no delay: it is a `think` op of its own.

mod clean;
mod fitted;
mod forced;
mod parameters;
mod predict;
mod replay;
mod solo;

pub use clean::clean_gaps;
pub use fitted::{Fitted, GapRow};
pub use forced::{Attribution, Violation, apply, attribute, without_perturbation};
pub use parameters::{Parameters, Spread};
pub use predict::{From, Prediction, predict, take_arrivals};
pub use replay::{Delays, Errors, Replay, ReplayError, replay};
pub use solo::{Solo, solo};
