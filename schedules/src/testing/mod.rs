//! Generators of schedules for tests, of this crate and of those that use it (feature `testing`).

mod small;

pub use small::{Fragment, Small, small};
