//! What lies in the folders of an export.

use std::path::{Path, PathBuf};

use super::sniff::{FileKind, sniff};
use super::source::plain_name;
use crate::TraceError;

/// A file of interest.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// Its name without `.gz` or `.zst`.
    pub(crate) name: String,
    pub(crate) kind: FileKind,
}

/// The files of interest in `folder`, in natural order.
///
/// # Errors
/// A folder or a file that cannot be read.
pub(crate) fn scan(folder: &Path) -> Result<Vec<Found>, TraceError> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let name = plain_name(name).to_owned();
        let is_candidate = [".json", ".csv", ".db"]
            .iter()
            .any(|end| name.ends_with(end));
        if !is_candidate || !path.is_file() {
            continue;
        }
        if let Some(kind) = sniff(&path)? {
            found.push(Found { path, name, kind });
        }
    }
    Ok(found)
}

/// The sub-folders of `folder`, in natural order.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn children(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let entries = entries(folder)?.into_iter();
    Ok(entries.filter(|path| path.is_dir()).collect())
}

/// The places where the export of the profile `folder` may lie, the best first;
/// those of one entry are devices of one run.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn main_folders(folder: &Path) -> Result<Vec<Vec<PathBuf>>, TraceError> {
    let is_raw = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("PROF_"))
    };
    let raw: Vec<PathBuf> = children(folder)?.into_iter().filter(is_raw).collect();
    let exported = |path: &PathBuf| path.join("mindstudio_profiler_output");
    let places = [
        vec![folder.to_owned()],
        vec![folder.join("ASCEND_PROFILER_OUTPUT")],
        vec![folder.join("mindstudio_profiler_output")],
        raw.iter().map(exported).collect(),
        raw,
    ];
    let existing = places.into_iter().map(|folders| {
        let folders = folders.into_iter().filter(|path| path.is_dir());
        folders.collect()
    });
    Ok(existing.collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let failed = |source| TraceError::Io {
        path: folder.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort_by_key(|path| natural(path));
    Ok(paths)
}

/// Sorts `rank2` before `rank10`.
pub(crate) fn natural(path: &Path) -> (Vec<(u64, String)>, String) {
    let text = path.to_string_lossy();
    let mut key: Vec<(u64, String)> = Vec::new();
    let mut was_digit = false;
    for c in text.chars() {
        let digit = c.to_digit(10);
        match (digit, key.last_mut()) {
            (Some(digit), Some((number, _))) if was_digit => {
                *number = number.saturating_mul(10).saturating_add(u64::from(digit));
            }
            (Some(digit), _) => key.push((u64::from(digit), String::new())),
            (None, Some((_, word))) if !was_digit => word.push(c),
            (None, _) => key.push((0, c.to_string())),
        }
        was_digit = digit.is_some();
    }
    // The text itself tells names apart that differ in leading zeros only.
    (key, text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_as_numbers() {
        let mut paths: Vec<PathBuf> = ["r10", "r2", "r02", "q", "r2a"]
            .into_iter()
            .map(PathBuf::from)
            .collect();
        paths.sort_by_key(|path| natural(path));
        let names: Vec<_> = paths.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(names, ["q", "r02", "r2", "r2a", "r10"]);
    }
}
