//! Small JSON files that are one object: settings, communication times.

use std::path::{Path, PathBuf};

use super::row::Row;
use super::source;
use crate::{Place, TraceError};

/// A file that is one JSON object, held as text.
#[derive(Debug)]
pub(crate) struct Document {
    path: PathBuf,
    text: String,
}

impl Document {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// A file that cannot be read, is empty, or is not UTF-8.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let bytes = source::whole(path)?;
        let text = String::from_utf8(bytes).map_err(|error| TraceError::Utf8 {
            path: path.to_owned(),
            place: Place::Byte(error.utf8_error().valid_up_to() as u64),
        })?;
        if text.trim().is_empty() {
            return Err(TraceError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            text,
        })
    }

    /// The object.
    ///
    /// # Errors
    /// Malformed JSON, a key that comes twice.
    pub(crate) fn root(&self) -> Result<Row<'_>, TraceError> {
        Row::parse(&self.path, 0, &self.text)
    }

    /// An object within the text, as [`crate::read::object::Object`] gives it.
    ///
    /// # Errors
    /// A key that comes twice.
    pub(crate) fn row<'a>(&'a self, json: &'a str) -> Result<Row<'a>, TraceError> {
        // `json` is a part of `text`, so the distance is its offset.
        let offset = (json.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        let offset = if offset <= self.text.len() {
            offset as u64
        } else {
            0
        };
        Row::parse(&self.path, offset, json)
    }
}
