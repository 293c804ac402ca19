//! What kind of profile a path holds.

use std::path::{Path, PathBuf};

use crate::TraceError;

/// Name of the folder a torch_npu text export is in.
const OUTPUT: &str = "ASCEND_PROFILER_OUTPUT";
const TRACE_VIEW: &str = "trace_view.json";

/// A profile that was found, by format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Profile {
    /// torch_npu's text export.
    TorchText(TorchText),
}

/// The files of a torch_npu text export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TorchText {
    /// Timeline.
    pub trace_view: PathBuf,
    /// Kernel table.
    pub kernel_details: Option<PathBuf>,
    /// Times of collectives; absent at Level0.
    pub communication: Option<PathBuf>,
    /// The profiler's own step times; oracle only.
    pub step_trace: Option<PathBuf>,
    /// Settings: `profiler_info.json` or `profiler_info_RANK.json`.
    pub info: Option<PathBuf>,
    /// Environment: `profiler_metadata.json`.
    pub metadata: Option<PathBuf>,
}

/// Finds the profile at `path`: the profile folder, its `ASCEND_PROFILER_OUTPUT`
/// folder, or a file in that.
///
/// # Errors
/// A path that cannot be read, or that holds no profile (the error names what
/// was looked for, and profiles in its sub-folders).
pub fn detect(path: &Path) -> Result<Profile, TraceError> {
    let metadata = std::fs::metadata(path).map_err(|source| TraceError::Io {
        path: path.to_owned(),
        source,
    })?;
    let folder = if metadata.is_dir() {
        path
    } else {
        match path.parent() {
            // "trace_view.json" alone has the empty parent.
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => Path::new("."),
        }
    };
    let output = [folder.to_owned(), folder.join(OUTPUT)]
        .into_iter()
        .find(|candidate| candidate.join(TRACE_VIEW).is_file());
    let Some(output) = output else {
        return Err(TraceError::NoProfile {
            path: path.to_owned(),
            reason: hint(folder)?,
        });
    };
    let roots = [output.parent().map(Path::to_owned), Some(output.clone())];
    let in_roots = |test: &dyn Fn(&str) -> bool| -> Option<PathBuf> {
        roots
            .iter()
            .flatten()
            .find_map(|root| first_file(root, test))
    };
    let in_output = |name: &str| Some(output.join(name)).filter(|file| file.is_file());
    Ok(Profile::TorchText(TorchText {
        trace_view: output.join(TRACE_VIEW),
        kernel_details: in_output("kernel_details.csv"),
        communication: in_output("communication.json"),
        step_trace: in_output("step_trace_time.csv"),
        info: in_roots(&is_info),
        metadata: in_roots(&|name| name == "profiler_metadata.json"),
    }))
}

/// Whether a file name is `profiler_info.json` or `profiler_info_RANK.json`.
fn is_info(name: &str) -> bool {
    let middle = name
        .strip_prefix("profiler_info")
        .and_then(|rest| rest.strip_suffix(".json"));
    middle.is_some_and(|middle| {
        middle.is_empty()
            || middle
                .strip_prefix('_')
                .is_some_and(|rank| rank.parse::<u32>().is_ok())
    })
}

/// The first file of `folder`, by name, that passes `test`.
fn first_file(folder: &Path, test: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| {
            file.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(test)
        })
        .collect();
    files.sort();
    files.into_iter().next()
}

/// What to name instead of `folder`.
fn hint(folder: &Path) -> Result<String, TraceError> {
    let entries = std::fs::read_dir(folder).map_err(|source| TraceError::Io {
        path: folder.to_owned(),
        source,
    })?;
    let mut nested: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|child| {
            child.join(TRACE_VIEW).is_file() || child.join(OUTPUT).join(TRACE_VIEW).is_file()
        })
        .map(|child| child.display().to_string())
        .collect();
    nested.sort();
    let wanted = format!("looked for {TRACE_VIEW} in it and in its {OUTPUT}");
    Ok(if nested.is_empty() {
        format!("{wanted}; name the folder that torch_npu's profiler wrote (*_ascend_pt)")
    } else {
        format!(
            "{wanted}; profiles of single ranks below it, name one: {}",
            nested.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_files_are_told_from_others() {
        assert!(is_info("profiler_info.json") && is_info("profiler_info_12.json"));
        assert!(!is_info("profiler_info_x.json") && !is_info("profiler_metadata.json"));
    }
}
