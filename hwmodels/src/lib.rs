//! What an Ascend 910C or 910B can do, and what ops cost on it.
//!
//! * [`Profile`]s are files: a chip, a link, a machine or a software stack. Each number in them has a
//!   unit, a range, a confidence and a source. A [`Catalogue`] holds those built in and the user's.
//! * A [`Model`] puts a chip, a machine and a stack together; [`Values`] are its numbers as a flat
//!   vector that studies sample and refit.
//! * Cost functions are pure: they read [`Values`] through a [`Reader`], which remembers what they
//!   used, and use only the four operations and square roots. [`ranged`] adds the range.
//!
//! Deliberately absent: contention (the simulator shares cores and bandwidth), rank skew (a
//! collective's time counts from its last rank's start), and any constant without a source.

pub mod collective;
pub mod copy;
mod error;
mod ids;
pub mod kernel;
pub mod launch;
mod level;
mod model;
pub mod number;
mod parameter;
mod profile;
mod ranged;
pub mod superkernel;
mod text;
mod values;

pub use error::{Place, ProfileError, UnknownParameter};
pub use ids::{Kind, ParameterId};
pub use level::Level;
pub use model::{Model, Selection};
pub use parameter::{Confidence, Parameter, Unit};
pub use profile::{Catalogue, Profile};
pub use ranged::{Contribution, Ranged, ranged};
pub use text::{Difference, Listed, Listing, Shown, markdown};
pub use values::{Reader, Used, Values};
