//! `ascsim anonymise`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ascsim_traces::Trace;
use ascsim_traces::anonymise::{Drop, Dropped, anonymise};
use ascsim_traces::write::{self, write};
use serde::Serialize;

use crate::args::{Anonymise, Form};
use crate::failure::{DONE, Failure};
use crate::output::{Target, write_json};

/// Files that a directory written by this verb may hold, by the start of their names.
const WRITTEN: [&str; 9] = [
    "trace_view.json",
    "kernel_details.csv",
    "task_time_",
    "step_trace_time.csv",
    "communication.json",
    "profiler_",
    "ascend_pytorch_profiler",
    "analysis.db",
    "msprof_",
];

#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    tool: &'static str,
    directory: &'a Path,
    captures: usize,
    tasks: usize,
    dropped: Dropped,
}

/// Writes a profile again without what should not leave a company. The directory appears under its name
/// only when it is complete.
pub(crate) fn run(arguments: &Anonymise) -> Result<u8, Failure> {
    let output = &arguments.output;
    check(output, arguments.force)?;
    let mut traces = ascsim_traces::read_all(&arguments.path).map_err(Failure::input)?;
    let shapes = arguments.drop_shapes;
    let dropped = anonymise(&mut traces, Drop { shapes });
    let folder = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let fail = |source| Failure::Write {
        path: output.clone(),
        source,
    };
    let temporary = tempfile::Builder::new()
        .prefix(".ascsim-")
        .permissions(permissions())
        .tempdir_in(folder)
        .map_err(fail)?;
    for (number, trace) in traces.iter().enumerate() {
        let place = place(temporary.path(), &traces, number);
        write(trace, &place, form(arguments.form, trace)).map_err(Failure::input)?;
    }
    if arguments.force && output.symlink_metadata().is_ok() {
        fs::remove_dir_all(output).map_err(fail)?;
    }
    fs::rename(temporary.path(), output).map_err(fail)?;
    // It has another name now.
    let _ = temporary.keep();
    report(arguments, &traces, dropped)?;
    Ok(DONE)
}

/// Fails before any work where the directory is there and may not be replaced.
fn check(output: &Path, force: bool) -> Result<(), Failure> {
    if output.symlink_metadata().is_err() {
        return Ok(());
    }
    if !force {
        return Err(Failure::Exists {
            path: output.to_owned(),
        });
    }
    let is_ours = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| {
            name == "info.json.0" || WRITTEN.iter().any(|start| name.starts_with(start))
        })
    };
    let files = files(output).map_err(|source| Failure::Read {
        path: output.to_owned(),
        source,
    })?;
    match files.into_iter().find(|file| !is_ours(file)) {
        Some(other) => Err(Failure::Input(format!(
            "{} holds {}, which ascsim did not write: it is not replaced; name another directory",
            output.display(),
            other.display()
        ))),
        None => Ok(()),
    }
}

/// All files below a directory; the path itself if it is none.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.symlink_metadata()?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        found.extend(files(&entry?.path())?);
    }
    Ok(found)
}

/// What a directory gets that is made in the ordinary way: the umask takes away from it.
fn permissions() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(0o777)
}

/// Where a capture goes: of several, each has its own directory, by rank if that tells them apart.
fn place(folder: &Path, traces: &[Trace], number: usize) -> PathBuf {
    if traces.len() == 1 {
        return folder.to_owned();
    }
    let rank = traces.get(number).and_then(|trace| trace.meta.rank);
    let same = traces.iter().filter(|trace| trace.meta.rank == rank);
    match rank {
        Some(rank) if same.count() == 1 => folder.join(format!("rank{rank}")),
        _ => folder.join(format!("capture{number}")),
    }
}

fn form(wanted: Option<Form>, trace: &Trace) -> write::Form {
    match wanted {
        Some(Form::Text) => write::Form::Text,
        Some(Form::Database) => write::Form::Database,
        None if trace.meta.source.ends_with("database") => write::Form::Database,
        None => write::Form::Text,
    }
}

fn report(arguments: &Anonymise, traces: &[Trace], dropped: Dropped) -> Result<(), Failure> {
    let report = Report {
        format: "ascsim.anonymised/1",
        tool: concat!("ascsim ", env!("CARGO_PKG_VERSION")),
        directory: &arguments.output,
        captures: traces.len(),
        tasks: traces.iter().map(|trace| trace.tasks.len()).sum(),
        dropped,
    };
    Target::Stdout.write(|out| {
        if arguments.json {
            return write_json(out, &report);
        }
        writeln!(
            out,
            "wrote    {}: {} captures, {} tasks\n\
             dropped  {} names' paths, {} ids of groups, {} settings, shapes of {} kernels; call stacks\n\
             kept     names of kernels, ops and calls; times; ids; versions. Look through them before you share",
            report.directory.display(),
            report.captures,
            report.tasks,
            dropped.paths,
            dropped.groups,
            dropped.settings,
            dropped.shapes
        )
    })
}
