//! From a [`Trace`] back to profiler files, in the two forms torch_npu writes.
//!
//! What is written reads back as the same trace, within what each form holds:
//!
//! | | text | database |
//! |---|---|---|
//! | arrows from host calls to tasks ([`crate::model::DeviceTask::launch`]) | yes | no: joined by connection ids |
//! | framework op of a task without connection id | yes | no |
//! | step of a kernel, Overlap Analysis | yes | no |
//! | name and type of a task that is no kernel | both | one: the type, or the name where that says more |
//! | id of a group without communication times | no | yes |
//!
//! Neither form has place for [`Trace::notes`] and [`Trace::missing`]: reading finds them again. A
//! capture of tables alone is written as tables alone, for a timeline would claim to know what lies
//! between its kernels; iterations of MindSpore keep its file name, which tells that notify ids pair
//! nothing.

mod database;
mod settings;
mod strings;
mod tables;
mod timeline;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Trace;
use crate::model::Lane;

/// A form of profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `trace_view.json` and its tables, as `ASCEND_PROFILER_OUTPUT` has them.
    Text,
    /// `ascend_pytorch_profiler_RANK.db`.
    Database,
}

/// Why a profile was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file or folder that cannot be made or written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// SQLite refused.
    #[error("cannot write the database {}: {reason}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
    /// A database of tables alone would claim to know the whole timeline.
    #[error(
        "the capture has tables alone and no timeline, which a database cannot say; write it as text"
    )]
    NoTimeline,
    /// SQLite holds no unsigned 64-bit numbers.
    #[error(
        "{what} {value} does not fit the 63 bits that a database has; write the capture as text"
    )]
    Range {
        /// What the number is.
        what: &'static str,
        /// The number.
        value: u64,
    },
}

impl WriteError {
    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// Writes `trace` into `folder`, which is made if it is missing; files of the same names are replaced.
/// [`crate::read()`] of the folder gives the trace again.
///
/// # Errors
/// If something cannot be written; part of the files may be there then. What a form cannot hold is
/// listed in the documentation of this module.
///
/// # Complexity
/// Linear in the rows.
pub fn write(trace: &Trace, folder: &Path, form: Form) -> Result<(), WriteError> {
    fs::create_dir_all(folder).map_err(|source| WriteError::io(folder, source))?;
    match form {
        Form::Text => text(trace, folder),
        Form::Database => {
            if trace.lacks(Lane::Timeline) {
                return Err(WriteError::NoTimeline);
            }
            database::write(trace, folder)?;
            info(trace, folder, false)
        }
    }
}

fn text(trace: &Trace, folder: &Path) -> Result<(), WriteError> {
    if is_mindspore(trace) {
        file(&folder.join("msprof_0_1_1.json"), |out| {
            timeline::write(trace, out)
        })?;
        return file(&folder.join("info.json.0"), |out| {
            settings::mindspore(trace, out)
        });
    }
    let output = folder.join("ASCEND_PROFILER_OUTPUT");
    fs::create_dir_all(&output).map_err(|source| WriteError::io(&output, source))?;
    if !trace.lacks(Lane::Timeline) {
        file(&output.join("trace_view.json"), |out| {
            timeline::write(trace, out)
        })?;
    }
    if tables::has_kernels(trace) {
        file(&output.join("kernel_details.csv"), |out| {
            tables::kernel_details(trace, out)
        })?;
    }
    if tables::has_task_time(trace) {
        file(&output.join("task_time_1.csv"), |out| {
            tables::task_time(trace, out)
        })?;
    }
    if !trace.oracle.step_trace.is_empty() {
        file(&output.join("step_trace_time.csv"), |out| {
            tables::step_trace(trace, out)
        })?;
    }
    if trace.collectives.iter().any(|op| op.times.is_some()) {
        file(&output.join("communication.json"), |out| {
            settings::communication(trace, out)
        })?;
    }
    if settings::has_environment(trace) {
        file(&folder.join("profiler_metadata.json"), |out| {
            settings::metadata(trace, out)
        })?;
    }
    info(trace, folder, true)
}

/// The settings, where the capture has any; a text export has the rank nowhere else.
fn info(trace: &Trace, folder: &Path, needs_rank: bool) -> Result<(), WriteError> {
    let has_rank = needs_rank && trace.meta.rank.is_some();
    if !(settings::has_info(trace) || has_rank) {
        return Ok(());
    }
    let name = match trace.meta.rank {
        Some(rank) => format!("profiler_info_{rank}.json"),
        None => "profiler_info.json".to_owned(),
    };
    file(&folder.join(name), |out| settings::info(trace, out))
}

/// Whether the capture is one of MindSpore's iterations.
fn is_mindspore(trace: &Trace) -> bool {
    trace.meta.source == crate::read::TextSource::MindSpore.label()
}

/// Writes a file with what `fill` gives.
fn file(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    let write = || {
        let mut out = BufWriter::new(File::create(path)?);
        fill(&mut out)?;
        out.flush()
    };
    write().map_err(|source| WriteError::io(path, source))
}
