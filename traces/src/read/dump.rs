//! `graph_debug.json`: the rows of a dump, and where one lies.

use std::path::{Path, PathBuf};

use super::folder::scan;
use super::json_array::ArrayReader;
use super::row::Row;
use super::sniff::FileKind;
use super::source;
use crate::TraceError;
use crate::dump::DumpTask;

/// Reads the tasks of the dump at `path`.
///
/// # Errors
/// A file that cannot be read, is no array of trace events, or a task without a place.
pub(crate) fn rows(path: &Path) -> Result<Vec<DumpTask>, TraceError> {
    let (input, _) = source::open(path)?;
    let mut elements = ArrayReader::new(path, input);
    let mut tasks = Vec::new();
    while let Some(element) = elements.next()? {
        let row = Row::parse(path, element.offset, element.text)?;
        if row.needed("ph")? != "X" {
            continue;
        }
        let args = row.nested("args")?;
        let place = |key: &str| -> Result<u32, TraceError> {
            let id = args.small_id(&[key])?;
            id.ok_or_else(|| row.field(key, "is missing".to_owned()))
        };
        tasks.push(DumpTask {
            stream: place("Stream Id")?,
            task: place("Task Id")?,
            model: args.small_id(&["Model Id"])?,
            name: row.needed("name")?.into_owned(),
        });
    }
    Ok(tasks)
}

/// The dump in the folder of `profile`, or in the one above; `None` if there is none, or several.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn beside(profile: &Path) -> Result<Option<PathBuf>, TraceError> {
    let folder = profile.parent();
    let above = folder.and_then(Path::parent);
    for folder in [folder, above].into_iter().flatten() {
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        let found = scan(folder)?.into_iter();
        let mut dumps = found.filter(|file| file.kind == FileKind::Dump);
        if let (Some(dump), None) = (dumps.next(), dumps.next()) {
            return Ok(Some(dump.path));
        }
    }
    Ok(None)
}
