//! Why a command did not do what it was asked, and with which code the process ends.

use std::io;
use std::path::PathBuf;

/// Done.
pub(crate) const DONE: u8 = 0;
/// The command ran and found something, or an expectation was missed.
pub(crate) const FINDINGS: u8 = 1;
/// The input or the command line is wrong.
pub(crate) const BAD_INPUT: u8 = 2;
/// A fault of ascsim itself.
pub(crate) const OUR_BUG: u8 = 70;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The output file is there already.
    #[error("{} exists; give --force to replace it, or another name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The output file could not be written; nothing of it was kept.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Standard output could not be written.
    #[error("cannot write to standard output: {0}")]
    Stdout(io::Error),
    /// The input could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The input was read and is wrong, or the request does not fit it.
    #[error("{0}")]
    Input(String),
    /// The input is readable, and something is wrong with what it describes.
    #[error("{0}")]
    Finding(String),
    /// Something that cannot happen did.
    #[error("{0}; this is a fault of ascsim: please report it with the command and its input")]
    Bug(String),
}

impl Failure {
    /// The exit code that tells it.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Bug(_) => OUR_BUG,
            Self::Finding(_) => FINDINGS,
            _ => BAD_INPUT,
        }
    }

    /// Whether it only says that the reader of our output has gone (`ascsim … | head`), which is no
    /// failure of anybody.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// An input failure with the text of `error`.
    pub(crate) fn input(error: impl std::fmt::Display) -> Self {
        Self::Input(error.to_string())
    }
}
