//! What can go wrong while a profile is read.

use std::fmt;
use std::path::PathBuf;

/// Where in a file an error was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Byte offset from the start of the file (of the uncompressed text).
    Byte(u64),
    /// Row of a table; the header is row 1, as an editor counts lines when no
    /// cell spans lines.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// A profile that cannot be read. Every variant is fatal for that profile and
/// leaves nothing behind: no partial [`crate::Trace`] is ever returned.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file or folder cannot be opened or read.
    #[error("cannot read {}: {source}; check the path and its permissions", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The path holds no profile this crate knows.
    #[error("no profile in {}: {reason}", path.display())]
    NoProfile {
        /// The path as given.
        path: PathBuf,
        /// What was looked for, and what to name instead.
        reason: String,
    },
    /// The profile has no device task, so there is no timeline.
    #[error(
        "no device task in {}: nothing ran on the NPU while this was captured, or it was captured without ProfilerActivity.NPU; capture again with it",
        path.display()
    )]
    NoDeviceTask {
        /// The file that should hold the tasks.
        path: PathBuf,
    },
    /// The file holds nothing.
    #[error("{} is empty: the export was interrupted; export the profile again", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file ends in the middle of a value.
    #[error(
        "{} is truncated at byte {offset}: the export was interrupted or the copy is incomplete; export or copy it again",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        offset: u64,
    },
    /// Bytes that are not UTF-8.
    #[error("{} is not UTF-8 at {place}; the file is damaged, copy or export it again", path.display())]
    Utf8 {
        /// The file.
        path: PathBuf,
        /// The first bad byte, or its row.
        place: Place,
    },
    /// Text that is not the expected JSON.
    #[error("{} is not the expected JSON at byte {offset}: {reason}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where the reader gave up.
        offset: u64,
        /// What it expected.
        reason: String,
    },
    /// A JSON object with the same key twice: which value is meant is unknown.
    #[error("{} has the key `{key}` twice in the object at byte {offset}; the file was edited or merged wrongly", path.display())]
    DuplicateKey {
        /// The file.
        path: PathBuf,
        /// Start of the row that holds the object.
        offset: u64,
        /// The key.
        key: String,
    },
    /// A task or call that ends before it starts.
    #[error("{}, {place}: negative duration {text} of `{name}`; the export is damaged, export it again", path.display())]
    NegativeDuration {
        /// The file.
        path: PathBuf,
        /// The row.
        place: Place,
        /// Name of the task.
        name: String,
        /// The duration as written, µs.
        text: String,
    },
    /// A field that is missing, or whose value cannot be understood.
    #[error("{}, {place}: field `{field}` {reason}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The row.
        place: Place,
        /// The field or column.
        field: String,
        /// What is wrong with it, with the value.
        reason: String,
    },
    /// A table row with another number of cells than its header.
    #[error("{}, row {row}: {found} cells where the header has {expected}; the file is truncated or was edited", path.display())]
    Arity {
        /// The file.
        path: PathBuf,
        /// The row; the header is row 1.
        row: u64,
        /// Cells in the row.
        found: usize,
        /// Cells in the header.
        expected: usize,
    },
    /// A table without a column that is needed.
    #[error("{} has no column `{column}`; it has: {found}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column, with its synonyms.
        column: String,
        /// The columns it has.
        found: String,
    },
    /// A table that is not CSV.
    #[error("{}, {place}: {reason}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// What the CSV reader said.
        reason: String,
    },
}
