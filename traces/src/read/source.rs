//! Opens files, compressed or not; what they are is told by their first bytes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::TraceError;

/// Size of the buffers, bytes.
const BUFFER: usize = 1 << 18;

/// The largest file that is held as a whole, bytes; settings and collective
/// times are far below it.
const WHOLE: u64 = 1 << 28;

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// As it is.
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    fn of(head: &[u8]) -> Self {
        if head.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Self::Zstd
        } else {
            Self::Plain
        }
    }
}

/// The name of a file without `.gz` or `.zst`.
pub(crate) fn plain_name(name: &str) -> &str {
    name.strip_suffix(".gz")
        .or_else(|| name.strip_suffix(".zst"))
        .unwrap_or(name)
}

/// Opens the file at `path` and says how it was packed.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn open(path: &Path) -> Result<(Box<dyn BufRead>, Packing), TraceError> {
    let file = File::open(path).map_err(|source| TraceError::io(path, source))?;
    let mut plain = BufReader::with_capacity(BUFFER, file);
    let head = plain.fill_buf().map_err(|e| TraceError::io(path, e))?;
    let packing = Packing::of(head);
    let opened: Box<dyn BufRead> = match packing {
        Packing::Plain => Box::new(plain),
        Packing::Gzip => {
            let gzip = flate2::bufread::MultiGzDecoder::new(plain);
            Box::new(BufReader::with_capacity(BUFFER, gzip))
        }
        Packing::Zstd => {
            let zstd = zstd::stream::read::Decoder::with_buffer(plain)
                .map_err(|source| TraceError::io(path, source))?;
            Box::new(BufReader::with_capacity(BUFFER, zstd))
        }
    };
    Ok((opened, packing))
}

/// The first bytes of a file, unpacked; at most `limit`.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn head(path: &Path, limit: u64) -> Result<Vec<u8>, TraceError> {
    let mut bytes = Vec::new();
    let (input, _) = open(path)?;
    // What was read before an error is all there is to see.
    let result = input.take(limit).read_to_end(&mut bytes);
    match result {
        Err(source) if bytes.is_empty() => Err(TraceError::io(path, source)),
        _ => Ok(bytes),
    }
}

/// A whole, small file, unpacked.
///
/// # Errors
/// A file that cannot be read, or is too large to be what it is named after.
pub(crate) fn whole(path: &Path) -> Result<Vec<u8>, TraceError> {
    let mut bytes = Vec::new();
    let (input, _) = open(path)?;
    input
        .take(WHOLE + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| TraceError::io(path, source))?;
    if bytes.len() as u64 > WHOLE {
        return Err(TraceError::Json {
            path: path.to_owned(),
            offset: WHOLE,
            reason: "expected a small file; this one has more than 256 MB".to_owned(),
        });
    }
    Ok(bytes)
}
