//! Files on disk.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Document, Encoding, ReadError, WriteError, read, write};

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub source: FileErrorKind,
}

/// What went wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum FileErrorKind {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Its content is no such document.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The document cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Reads the document in the file at `path`, in either form.
///
/// # Errors
/// If the file cannot be read or its content is no such document.
pub fn read_file<T: Document>(path: &Path) -> Result<T, FileError> {
    let content = fs::read(path).map_err(FileErrorKind::from);
    content
        .and_then(|bytes| Ok(read(&bytes)?))
        .map_err(|source| FileError {
            path: path.to_owned(),
            source,
        })
}

/// Writes a document to the file at `path`. The file is there afterwards as a whole or, on an error,
/// as it was before.
///
/// # Errors
/// If the document does not validate or the file cannot be written.
pub fn write_file<T: Document>(
    document: &T,
    encoding: Encoding,
    path: &Path,
) -> Result<(), FileError> {
    replace(document, encoding, path).map_err(|source| FileError {
        path: path.to_owned(),
        source,
    })
}

fn replace<T: Document>(
    document: &T,
    encoding: Encoding,
    path: &Path,
) -> Result<(), FileErrorKind> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: the process' mask takes away what it should.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    write(document, encoding, &mut file)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schedule;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("schedule.json");
        let mut schedule = Schedule {
            name: "first".to_owned(),
            ..Schedule::default()
        };
        for encoding in [Encoding::Json, Encoding::Binary] {
            write_file(&schedule, encoding, &path).unwrap();
            assert_eq!(read_file::<Schedule>(&path).unwrap(), schedule);
        }
        let before = fs::read(&path).unwrap();
        schedule.ranks.push(crate::RankGroup {
            first: 0,
            count: 0,
            program: None,
            devices: Vec::new(),
            overrides: Vec::new(),
            extra: crate::Extra::default(),
        });
        let error = write_file(&schedule, Encoding::Json, &path).unwrap_err();
        assert!(error.to_string().contains("schedule.json"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
