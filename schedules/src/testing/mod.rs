//! Generators of schedules for tests, of this crate and of those that use it (feature `testing`).

mod any;
mod small;

pub use any::{Choices, arbitrary_prediction, arbitrary_schedule, prediction, schedule};
pub use small::{Fragment, Small, small};
