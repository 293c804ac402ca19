//! Schedules generated from a model config.
//!
//! A model is a few fields of its public config (`models/*.toml`). What a serving stack issues for it
//! is data too (`models/lists/*.toml`): in decode the number of kernels decides more than their bytes,
//! so a generated step has the small copies, events and casts that the stack really issues, not a
//! textbook's matmuls. What has no op list is refused, never made up.
//!
//! ```
//! use ascsim_schedules::generate::{Request, generate};
//!
//! let request = Request { tp: 2, ..Request::new("qwen3.5-35b-a3b") };
//! let generated = generate(&request)?;
//! assert_eq!(generated.schedule.ranks[0].count, 2);
//! # Ok::<(), ascsim_schedules::generate::GenerateError>(())
//! ```
//!
//! The result declares every buffer that ops touch. Activations are shared by all layers, as in a
//! memory pool; weights and caches belong to a layer. Ops carry work, not durations: times come from
//! a hardware model.

mod count;
mod emit;
mod error;
mod formula;
mod list;
mod model;
mod plan;
mod request;
mod routing;
mod step;
#[cfg(test)]
mod tests;

pub use count::Counts;
pub use error::GenerateError;
pub use model::{ModelInfo, models};
pub use request::{Cache, CommMethod, Phase, Request, Routing, STACKS, Weights};
pub use step::Generated;

/// The schedule of one step. Equal requests give equal schedules.
///
/// # Errors
/// If the model or stack is unknown, a number of the request cannot be, or no op list is known for
/// what is asked.
///
/// # Complexity
/// O(ops), and what [`Routing`] needs: for uniform routing O(tokens * experts * experts per token).
pub fn generate(request: &Request) -> Result<Generated, GenerateError> {
    step::build(&plan::Plan::new(request)?)
}
