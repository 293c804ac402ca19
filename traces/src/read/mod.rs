//! From a path to a [`Trace`]: finds out the format, reads, joins.
//!
//! One file per kind of source file; [`detect`] says which format a path holds.
//! Formats are told by content, packed files (`.gz`, `.zst`) are unpacked on the
//! way. A new format adds a variant of [`Profile`] and a function that fills the
//! same types.

mod communication;
mod database;
mod detect;
mod document;
mod dump;
mod folder;
mod join;
mod json_array;
mod kernel_details;
mod lanes;
mod mindspore;
mod object;
mod profiler_info;
mod row;
mod sniff;
mod source;
mod step_trace;
mod table;
mod tables;
mod text;
mod trace_view;
mod window;

use std::collections::BTreeSet;
use std::path::Path;

pub use detect::{DatabaseFiles, Profile, TextFiles, TextSource, detect, detect_all};
pub(crate) use dump::rows as dump_rows;

use crate::dump::Dump;
use crate::{Trace, TraceError};

/// Reads the one profile at `path`: a profile folder, the folder of its export,
/// or a file in that.
///
/// ```no_run
/// let trace = ascsim_traces::read(std::path::Path::new("run_ascend_pt"))?;
/// println!("{} tasks", trace.tasks.len());
/// # Ok::<(), ascsim_traces::TraceError>(())
/// ```
///
/// # Errors
/// See [`TraceError`]; a profile is read whole or not at all. Several profiles
/// are an error that names them.
///
/// # Complexity
/// O(n log n) in the rows of the profile; memory linear in the rows kept.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    let profile = detect(path)?;
    let mut traces = read_profile(&profile)?;
    match (traces.pop(), traces.is_empty()) {
        (Some(trace), true) => Ok(trace),
        _ => Err(TraceError::SeveralDevices {
            path: profile.main_file().to_owned(),
        }),
    }
}

/// Reads every profile at `path`: those of several ranks in one folder, of
/// several devices in one database. By rank where each has another, else in the
/// natural order of their paths; never empty.
///
/// # Errors
/// As [`read`]; one profile that cannot be read fails the whole.
///
/// # Complexity
/// As [`read`], in the rows of all profiles.
pub fn read_all(path: &Path) -> Result<Vec<Trace>, TraceError> {
    let mut traces = Vec::new();
    for profile in detect_all(path)? {
        traces.extend(read_profile(&profile)?);
    }
    let ranks: BTreeSet<_> = traces.iter().filter_map(|trace| trace.meta.rank).collect();
    if ranks.len() == traces.len() {
        traces.sort_by_key(|trace| trace.meta.rank);
    }
    Ok(traces)
}

fn read_profile(profile: &Profile) -> Result<Vec<Trace>, TraceError> {
    let mut traces = match profile {
        Profile::Text(files) => vec![text::read(files)?],
        Profile::Database(files) => database::read(files)?,
        Profile::Dump(path) => return Err(TraceError::OnlyDump { path: path.clone() }),
    };
    // Of several devices, whose graph it is is unknown.
    if let ([trace], Some(path)) = (traces.as_mut_slice(), dump::beside(profile.main_file())?) {
        Dump::read(&path)?.join(trace);
    }
    Ok(traces)
}
