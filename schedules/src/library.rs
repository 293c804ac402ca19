//! Schedules that are part of the tool: examples to start from.

use crate::format::{self, ReadError};
use crate::ir::Schedule;

/// One MoE layer in decode with its shared expert on the main stream. Durations are those of a
/// published model, not measured (facts/schedules.md C3).
///
/// # Errors
/// None that a release can have: a test reads it.
pub fn moe_layer() -> Result<Schedule, ReadError> {
    format::read(include_bytes!("../library/moe-layer-serial.json"))
}
