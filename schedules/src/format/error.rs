//! Why a file cannot be read or written.

use std::io;

use crate::ir::UnknownVersion;
use crate::path::JsonPath;
use crate::validate::Invalid;

/// Why bytes are no document of the kind that was asked for. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is nothing but white space.
    #[error("the file is empty; expected JSON with `\"format\": \"{reads}\"`, or the binary form")]
    Empty {
        /// What this build reads.
        reads: &'static str,
    },
    /// Bytes that are no UTF-8.
    #[error("byte {offset}, in {path}: not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// The first bad byte.
        offset: u64,
        /// The value it is in.
        path: JsonPath,
    },
    /// No format version.
    #[error("there is no `format`; expected `\"format\": \"{reads}\"` as the first field")]
    NoFormat {
        /// What this build reads.
        reads: &'static str,
    },
    /// A format version that this build does not read.
    #[error("byte {offset}: {version}")]
    Version {
        /// Where the version is.
        offset: u64,
        /// The version.
        version: UnknownVersion,
    },
    /// Broken JSON, or JSON that does not fit the types.
    #[error("byte {offset} (line {line}, column {column}), in {path}: {message}")]
    Json {
        /// The byte that was not expected; for a value of the wrong kind, the last byte of it; for
        /// a text that ends too early, its length.
        offset: u64,
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// The innermost value or field.
        path: JsonPath,
        /// What is wrong.
        message: String,
    },
    /// An integer that 64 bits cannot hold.
    #[error("byte {offset}, in {path}: the integer {text} does not fit 64 bits")]
    Integer {
        /// Where it begins.
        offset: u64,
        /// The value it is in.
        path: JsonPath,
        /// Its first digits.
        text: String,
    },
    /// The document makes no sense.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A binary form of a version that this build does not read.
    #[error("byte {offset}: version {found} of the binary form, and this build reads version {reads}", offset = super::MAGIC.len())]
    BinaryVersion {
        /// What the file says.
        found: u8,
        /// What this build reads.
        reads: u8,
    },
    /// A binary form that is cut off, damaged, or followed by something else.
    #[error("byte {offset}: the binary form is damaged: {message}; write the file again")]
    Damaged {
        /// How many bytes were good.
        offset: u64,
        /// What is wrong.
        message: String,
    },
    /// A binary form that unpacks to more than this build takes.
    #[error("unpacked, it is larger than {limit} bytes, the most that is read; split it")]
    TooLarge {
        /// The most bytes.
        limit: u64,
    },
    /// What a binary form unpacks to is no document.
    #[error("in the unpacked JSON: {0}")]
    Unpacked(Box<ReadError>),
}

impl ReadError {
    /// The byte of the file (or of the unpacked JSON) that is at fault, if one is.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::NotUtf8 { offset, .. }
            | Self::Version { offset, .. }
            | Self::Json { offset, .. }
            | Self::Integer { offset, .. }
            | Self::Damaged { offset, .. } => Some(*offset),
            Self::Invalid(invalid) => invalid.problems.first().and_then(|problem| problem.offset),
            Self::Unpacked(inner) => inner.offset(),
            Self::BinaryVersion { .. } => Some(super::MAGIC.len() as u64),
            Self::Empty { .. } | Self::NoFormat { .. } | Self::TooLarge { .. } => None,
        }
    }
}

/// Why a document cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It makes no sense; nothing was written.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// It could not be read back: too large or nested too deeply; or writing failed.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
}
