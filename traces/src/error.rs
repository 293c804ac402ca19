//! What can go wrong while a profile is read.

use std::fmt;
use std::path::PathBuf;

/// Where in a file an error was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Byte offset from the start of the file (of the uncompressed text).
    Byte(u64),
    /// Row of a table; the header is row 1, as an editor counts lines when no
    /// cell spans lines. In a database the first row is row 1.
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

/// `paths`, separated by commas.
fn list(paths: &[PathBuf]) -> String {
    let shown = paths.iter().map(|path| path.display().to_string());
    shown.collect::<Vec<_>>().join(", ")
}

impl TraceError {
    /// `source`, met while `path` was read. Decompressors report damage as an
    /// error of their input, which plain files never do.
    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> Self {
        use std::io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        let path = path.to_owned();
        match source.kind() {
            InvalidData | InvalidInput | Other | UnexpectedEof => Self::Packed {
                path,
                reason: source.to_string(),
            },
            _ => Self::Io { path, source },
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
    /// A compressed file that cannot be unpacked.
    #[error("cannot unpack {}: {reason}; the file is damaged or incomplete, copy or compress it again", path.display())]
    Packed {
        /// The file.
        path: PathBuf,
        /// What the decompressor said.
        reason: String,
    },
    /// A database that cannot be read.
    #[error("cannot read the database {}: {reason}; if it was copied while it was written, export or copy it again", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
    /// The path holds several profiles where one is wanted.
    #[error("{} holds {} profiles, name one: {}", path.display(), found.len(), list(found))]
    SeveralProfiles {
        /// The path as given.
        path: PathBuf,
        /// The profiles.
        found: Vec<PathBuf>,
    },
    /// One file with the tasks of several devices whose rows cannot be told apart.
    #[error("{} holds the tasks of several devices in one timeline; export each device by itself", path.display())]
    SeveralDevices {
        /// The file.
        path: PathBuf,
    },
    /// The dump of a captured graph, which has no times of its own.
    #[error("{} is the dump of a captured graph: its times are placeholders; keep it beside a profile of its replay and name that; `ascsim inspect` shows what it holds by itself", path.display())]
    OnlyDump {
        /// The file.
        path: PathBuf,
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
