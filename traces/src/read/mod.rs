//! From a path to a [`Trace`]: finds out the format, reads, joins.
//!
//! One file per kind of source file; [`detect`] says which format a path holds.
//! A new format adds a variant of [`Profile`] and a function that fills the same
//! types.

mod communication;
mod detect;
mod document;
mod join;
mod json_array;
mod kernel_details;
mod object;
mod profiler_info;
mod row;
mod step_trace;
mod table;
mod torch_text;
mod trace_view;

use std::path::Path;

pub use detect::{Profile, TorchText, detect};

use crate::{Trace, TraceError};

/// Reads the profile at `path`: a profile folder, the folder of its export, or
/// a file in that.
///
/// ```no_run
/// let trace = ascsim_traces::read(std::path::Path::new("run_ascend_pt"))?;
/// println!("{} tasks", trace.tasks.len());
/// # Ok::<(), ascsim_traces::TraceError>(())
/// ```
///
/// # Errors
/// See [`TraceError`]; a profile is read whole or not at all.
///
/// # Complexity
/// O(n log n) in the rows of the profile; memory linear in the rows kept.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    match detect(path)? {
        Profile::TorchText(files) => torch_text::read(&files),
    }
}
