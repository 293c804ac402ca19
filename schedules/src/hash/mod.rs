//! The two hashes of a schedule.
//!
//! * **content** covers everything: it is the BLAKE3 hash of the canonical JSON without white space,
//!   which is what the binary form holds.
//! * **structure** covers what an executor acts on: ops, their order, threads, streams, objects,
//!   bytes, cores, accesses and launches; declarations; which rank runs what and where. It leaves out
//!   names and descriptions for people, the format version, notes, provenance, tags, work,
//!   durations, issue times and delays (overrides of them too), and variables on which no structural
//!   expression depends. The order of declarations, programs, rank groups and overrides does not
//!   matter to it; the order of ops does.
//!
//! Fields that this version does not know count in both, wherever they are, since what is unknown may
//! matter to an executor.

mod skeleton;
#[cfg(test)]
mod tests;

use std::io::{self, BufWriter, Write};

pub use blake3::Hash;

use crate::format::write_compact;
use crate::ir::Schedule;
use skeleton::Skeleton;

/// What the structure hash is a hash of; a new meaning gets a new text.
const STRUCTURE: &str = "ascsim.schedule/1 structure";

/// The hash of everything in `schedule`.
///
/// # Complexity
/// O(size of the schedule) time, constant space.
pub fn content_hash(schedule: &Schedule) -> Hash {
    hash(blake3::Hasher::new(), |writer| {
        write_compact(schedule, writer)
    })
}

/// The hash of what an executor acts on.
///
/// # Complexity
/// O(size of the schedule + d log d) time for d declarations, O(d) space.
pub fn structure_hash(schedule: &Schedule) -> Hash {
    hash(blake3::Hasher::new_derive_key(STRUCTURE), |writer| {
        write_compact(&Skeleton::of(schedule), writer)
    })
}

fn hash(
    hasher: blake3::Hasher,
    write: impl FnOnce(&mut BufWriter<blake3::Hasher>) -> io::Result<()>,
) -> Hash {
    let mut writer = BufWriter::with_capacity(1 << 16, hasher);
    // A hasher takes every byte; what fails is a value that is nested too deeply to be written, which
    // no reader or writer lets through. What was written up to there is hashed all the same.
    let written = write(&mut writer).and_then(|()| writer.flush());
    debug_assert!(written.is_ok(), "{written:?}");
    match writer.into_inner() {
        Ok(hasher) => hasher.finalize(),
        Err(error) => error.into_inner().into_parts().0.finalize(),
    }
}
