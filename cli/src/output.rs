//! Where results go: standard output or a file, whole or not at all.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Where a result is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Standard output.
    Stdout,
    /// A file that must not exist yet unless `force` is set.
    File {
        /// Its path.
        path: PathBuf,
        /// Whether an existing file may be replaced.
        force: bool,
    },
}

impl Target {
    /// The target that `-o PATH` names; `-` is standard output.
    pub(crate) fn new(path: &Path, force: bool) -> Self {
        if path == Path::new("-") {
            Self::Stdout
        } else {
            Self::File {
                path: path.to_path_buf(),
                force,
            }
        }
    }

    /// Fails early where the file exists and may not be replaced, before long work is done.
    ///
    /// # Errors
    /// [`Failure::Exists`].
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self {
            Self::File { path, force: false } if path.symlink_metadata().is_ok() => {
                Err(Failure::Exists { path: path.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Writes what `fill` produces. A file appears under its name only when it is complete: it is
    /// written beside it first, then renamed, so a failure leaves nothing behind.
    ///
    /// # Errors
    /// If the file exists and may not be replaced, or on any error of the file system.
    pub(crate) fn write(
        &self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match self {
            Self::Stdout => {
                let mut out = BufWriter::new(io::stdout().lock());
                fill(&mut out)
                    .and_then(|()| out.flush())
                    .map_err(Failure::Stdout)
            }
            Self::File { path, force } => {
                self.check()?;
                let fail = |source| Failure::Write {
                    path: path.clone(),
                    source,
                };
                if is_special(path) {
                    let file = OpenOptions::new().write(true).open(path).map_err(fail)?;
                    let mut out = BufWriter::new(file);
                    return fill(&mut out).and_then(|()| out.flush()).map_err(fail);
                }
                let folder = match path.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => parent,
                    _ => Path::new("."),
                };
                let temporary = tempfile::Builder::new()
                    .prefix(".ascsim-")
                    .permissions(default_permissions())
                    .tempfile_in(folder)
                    .map_err(fail)?;
                let mut out = BufWriter::new(temporary);
                fill(&mut out).and_then(|()| out.flush()).map_err(fail)?;
                let temporary = out.into_inner().map_err(|error| fail(error.into_error()))?;
                temporary.as_file().sync_all().map_err(fail)?;
                let kept = if *force {
                    temporary.persist(path)
                } else {
                    temporary.persist_noclobber(path)
                };
                match kept {
                    Ok(_) => Ok(()),
                    Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                        Err(Failure::Exists { path: path.clone() })
                    }
                    Err(error) => Err(fail(error.error)),
                }
            }
        }
    }
}

/// Writes `value` as JSON with a line break at the end.
///
/// # Errors
/// Of the writer.
pub(crate) fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Whether the path is a device or pipe (`/dev/null`, a FIFO), which is written in place.
fn is_special(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// What a file gets that is made in the ordinary way: the umask takes away from it.
fn default_permissions() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o666)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(target: &Target, text: &str) -> Result<(), Failure> {
        target.write(|out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn a_file_is_replaced_only_when_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        text(&Target::new(&path, false), "one").expect("it is new");
        assert!(matches!(
            text(&Target::new(&path, false), "two"),
            Err(Failure::Exists { .. })
        ));
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "one");
        text(&Target::new(&path, true), "three").expect("told to");
        assert_eq!(
            std::fs::read_to_string(&path).expect("it is there"),
            "three"
        );
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = Target::new(&folder.path().join("out"), false);
        let result = target.write(|out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(matches!(result, Err(Failure::Write { .. })));
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            0
        );
    }

    #[test]
    fn a_dangling_link_counts_as_existing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &path).expect("a link");
        assert!(matches!(
            Target::new(&path, false).check(),
            Err(Failure::Exists { .. })
        ));
    }
}
