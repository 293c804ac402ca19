//! Files: reading and writing of schedules and predictions.
//!
//! A file is JSON, with the format version as its first field, or the binary form: the same JSON
//! without white space, compressed. [`read`] tells them apart. Reading and writing both
//! [`validate`](crate::validate), so what was read keeps the rules of that module, and what was
//! written can be read.
//!
//! * **Versions.** A file of another major version is refused before anything else in it is looked
//!   at. Fields that this build does not know are kept and written back ([`Extra`](crate::Extra)).
//! * **Exact.** Integers of up to 64 bits and floating-point numbers read and write without loss;
//!   larger integers and duplicate fields are errors.
//! * **Canonical.** One value has one text: fields in the order of the types, unknown ones after them
//!   in the order of their names, defaults left out. Reading and writing a file again gives the
//!   same bytes.
//! * **Errors** name the field and the byte.

mod binary;
mod document;
mod error;
mod file;
mod json;
#[cfg(test)]
mod laws;
mod layout;
mod locate;
mod scan;
mod schema;
#[cfg(test)]
mod tests;

use std::io::{self, BufWriter, Write};

use serde::Serialize;

pub use binary::{MAGIC, MOST_UNPACKED};
pub use document::Document;
pub use error::{ReadError, WriteError};
pub use file::{FileError, FileErrorKind, read_file, write_file};
pub use schema::json_schema;

/// How a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// JSON for people: one declaration or op a line.
    #[default]
    Json,
    /// The binary form, about a twenty-fifth of the size.
    Binary,
}

/// Reads a document from the bytes of a file in either form.
///
/// # Errors
/// If the bytes are no such document, or one that does not validate.
///
/// # Complexity
/// O(bytes).
pub fn read<T: Document>(bytes: &[u8]) -> Result<T, ReadError> {
    match bytes.strip_prefix(&MAGIC) {
        Some(packed) => binary::read(packed),
        None => json::read(bytes),
    }
}

/// Writes a document. Nothing is written if it does not validate.
///
/// # Errors
/// If it does not validate, is nested too deeply or too large to be read back, or `writer` fails.
///
/// # Complexity
/// O(size of the document) time, constant space besides validation.
pub fn write<T: Document>(
    document: &T,
    encoding: Encoding,
    writer: impl Write,
) -> Result<(), WriteError> {
    document.check()?;
    let mut writer = BufWriter::new(writer);
    match encoding {
        Encoding::Json => {
            json::write(document, &mut writer)?;
            writer.write_all(b"\n")?;
        }
        Encoding::Binary => binary::write(document, &mut writer)?,
    }
    writer.flush().map_err(WriteError::from)
}

/// The bytes of the file that [`write()`] makes.
///
/// # Errors
/// As [`write()`].
pub fn to_bytes<T: Document>(document: &T, encoding: Encoding) -> Result<Vec<u8>, WriteError> {
    let mut bytes = Vec::new();
    write(document, encoding, &mut bytes)?;
    Ok(bytes)
}

/// Writes the text without white space that the binary form and the hashes are made of.
pub(crate) fn write_compact(value: &impl Serialize, writer: impl Write) -> io::Result<()> {
    json::write_compact(value, writer)
}
