//! What a file is, by its name where a profiler gave it one, else by its content.

use std::path::Path;

use super::source::{self, plain_name};
use crate::TraceError;

/// How much of a file is looked at, bytes, unpacked.
const HEAD: u64 = 1 << 13;

/// A kind of file that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Timeline,
    /// The dump of a captured graph.
    Dump,
    Database,
    /// `kernel_details.csv` or `op_summary_*.csv`.
    KernelTable,
    TaskTime,
    StepTrace,
    Communication,
}

/// The kind of the file at `path`; `None` if it is of no interest.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn sniff(path: &Path) -> Result<Option<FileKind>, TraceError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = plain_name(name.unwrap_or_default());
    if let Some(kind) = by_name(name) {
        return Ok(Some(kind));
    }
    Ok(by_content(&source::head(path, HEAD)?))
}

/// Names that profilers give.
fn by_name(name: &str) -> Option<FileKind> {
    Some(match name {
        "trace_view.json" => FileKind::Timeline,
        "kernel_details.csv" => FileKind::KernelTable,
        "step_trace_time.csv" => FileKind::StepTrace,
        "communication.json" => FileKind::Communication,
        _ => return None,
    })
}

fn by_content(head: &[u8]) -> Option<FileKind> {
    if head.starts_with(b"SQLite format 3\0") {
        return Some(FileKind::Database);
    }
    // The head may end within a character.
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('[') {
        let is_dump = text.contains("aclGraph\"");
        return text.contains("\"ph\"").then_some(if is_dump {
            FileKind::Dump
        } else {
            FileKind::Timeline
        });
    }
    if text.starts_with('{') {
        let is_communication = text.contains("\"Communication Time Info\"");
        return is_communication.then_some(FileKind::Communication);
    }
    let header: Vec<&str> = text
        .lines()
        .next()?
        .split(',')
        .map(|cell| cell.trim().trim_matches('"'))
        .collect();
    let has = |names: &[&str]| names.iter().any(|name| header.contains(name));
    let is_kernels = has(&["Name", "Op Name"])
        && has(&["Start Time(us)", "Task Start Time(us)"])
        && has(&["Duration(us)", "Task Duration(us)"]);
    if is_kernels {
        Some(FileKind::KernelTable)
    } else if has(&["kernel_type"]) && has(&["task_start(us)"]) {
        Some(FileKind::TaskTime)
    } else if has(&["Computing"]) && has(&["Stage"]) {
        Some(FileKind::StepTrace)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_what_a_file_is() {
        for (head, kind) in [
            (&b"SQLite format 3\0..."[..], Some(FileKind::Database)),
            (b" [{\"ph\":\"X\"}]", Some(FileKind::Timeline)),
            (
                b"[\n{\"pid\":\"7 aclGraph\",\"ph\":\"X\"}]",
                Some(FileKind::Dump),
            ),
            (
                b"\xef\xbb\xbfOp Name, Task Start Time(us),Task Duration(us)\r\n",
                Some(FileKind::KernelTable),
            ),
            (b"a,kernel_type,task_start(us)\n", Some(FileKind::TaskTime)),
            (b"Step,Computing,Stage\n", Some(FileKind::StepTrace)),
            (b"OP Type,Count\n", None),
            (b"", None),
            (b"[1,2]", None),
        ] {
            assert_eq!(by_content(head), kind, "{}", String::from_utf8_lossy(head));
        }
    }
}
