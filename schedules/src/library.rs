//! Schedules that are part of the tool: examples to start from.

use crate::format::{self, ReadError};
use crate::ir::Schedule;

/// One MoE layer of a DeepSeek-V3.1 decode step with its shared expert on the main stream. Durations
/// are modelled (facts/schedules.md C3); host times and sizes are assumed.
///
/// # Errors
/// None that a release can have: a test reads it.
pub fn moe_layer() -> Result<Schedule, ReadError> {
    format::read(include_bytes!("../library/moe-layer-serial.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Encoding, to_bytes};

    #[test]
    fn the_library_reads_and_is_canonical() {
        let schedule = moe_layer().expect("it is a valid schedule");
        let bytes = to_bytes(&schedule, Encoding::Json).expect("it can be written");
        let file: &[u8] = include_bytes!("../library/moe-layer-serial.json");
        assert!(
            file == bytes,
            "write it again with `ascsim what-if --apply ... -o`"
        );
    }
}
