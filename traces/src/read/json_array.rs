//! Streams the elements of a JSON array, one at a time.
//!
//! A trace is one array of up to millions of rows, often on a single line. Only
//! the current element is held, and its byte offset is known, so an error can
//! name it.

use std::io::{BufRead, ErrorKind};
use std::path::{Path, PathBuf};

use crate::{Place, TraceError};

/// One element of the array.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    /// Byte offset of its first byte.
    pub(crate) offset: u64,
    /// Its text: balanced brackets, otherwise not checked.
    pub(crate) text: &'a str,
}

/// Reads the elements of one array.
#[derive(Debug)]
pub(crate) struct ArrayReader<R> {
    path: PathBuf,
    input: R,
    offset: u64,
    element: Vec<u8>,
    begun: bool,
    ended: bool,
}

impl<R: BufRead> ArrayReader<R> {
    /// A reader of `input`, which is called `path` in errors.
    pub(crate) fn new(path: &Path, input: R) -> Self {
        Self {
            path: path.to_owned(),
            input,
            offset: 0,
            element: Vec::new(),
            begun: false,
            ended: false,
        }
    }

    /// The next element; `None` after the array has ended.
    ///
    /// # Errors
    /// Text that is no array, ends early, goes on after it, or is not UTF-8.
    ///
    /// # Complexity
    /// Linear in the element; memory of the largest element.
    pub(crate) fn next(&mut self) -> Result<Option<Element<'_>>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        let mut byte = self.next_solid()?;
        if self.begun {
            match byte {
                Some(b',') => byte = self.next_solid()?,
                Some(b']') => return self.finish(),
                Some(_) => return Err(self.unexpected("`,` or `]` after an element")),
                None => return Err(self.truncated()),
            }
        } else {
            match byte {
                Some(b'[') => {}
                Some(_) => {
                    return Err(self.unexpected("a JSON array of trace events, starting with `[`"));
                }
                None => {
                    return Err(TraceError::Empty {
                        path: self.path.clone(),
                    });
                }
            }
            self.begun = true;
            byte = self.next_solid()?;
            if byte == Some(b']') {
                return self.finish();
            }
        }
        let first = byte.ok_or_else(|| self.truncated())?;
        if first != b'{' {
            return Err(self.unexpected("a trace event, starting with `{`"));
        }
        let offset = self.offset - 1;
        self.element.clear();
        self.element.push(first);
        self.read_object()?;
        match std::str::from_utf8(&self.element) {
            Ok(text) => Ok(Some(Element { offset, text })),
            Err(error) => Err(TraceError::Utf8 {
                path: self.path.clone(),
                place: Place::Byte(offset + error.valid_up_to() as u64),
            }),
        }
    }

    /// Copies bytes up to the bracket that closes the first one.
    fn read_object(&mut self) -> Result<(), TraceError> {
        let mut depth = 1_u64;
        let mut in_string = false;
        let mut escaped = false;
        loop {
            let chunk = match self.input.fill_buf() {
                Ok([]) => return Err(self.truncated()),
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.io(error)),
            };
            let mut end = None;
            for (index, &byte) in chunk.iter().enumerate() {
                if in_string {
                    if escaped {
                        escaped = false;
                    } else if byte == b'\\' {
                        escaped = true;
                    } else if byte == b'"' {
                        in_string = false;
                    }
                    continue;
                }
                match byte {
                    b'"' => in_string = true,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            end = Some(index + 1);
                            break;
                        }
                    }
                    _ => {}
                }
            }
            let used = end.unwrap_or(chunk.len());
            self.element.extend_from_slice(&chunk[..used]);
            self.input.consume(used);
            self.offset += used as u64;
            if end.is_some() {
                return Ok(());
            }
        }
    }

    /// Nothing but white space may follow the array.
    fn finish(&mut self) -> Result<Option<Element<'_>>, TraceError> {
        self.ended = true;
        match self.next_solid()? {
            None => Ok(None),
            Some(_) => Err(self.unexpected("the end of the file after the array")),
        }
    }

    /// The next byte that is not white space (nor a byte order mark at the
    /// start); `None` at the end of the file.
    fn next_solid(&mut self) -> Result<Option<u8>, TraceError> {
        loop {
            let byte = match self.input.fill_buf() {
                Ok([]) => return Ok(None),
                Ok(chunk) => chunk[0],
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.io(error)),
            };
            self.input.consume(1);
            self.offset += 1;
            let mark = self.offset <= 3 && matches!(byte, 0xef | 0xbb | 0xbf);
            if !mark && !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(Some(byte));
            }
        }
    }

    fn truncated(&self) -> TraceError {
        TraceError::Truncated {
            path: self.path.clone(),
            offset: self.offset,
        }
    }

    fn unexpected(&self, wanted: &str) -> TraceError {
        TraceError::Json {
            path: self.path.clone(),
            offset: self.offset.saturating_sub(1),
            reason: format!("expected {wanted}"),
        }
    }

    fn io(&self, source: std::io::Error) -> TraceError {
        TraceError::io(&self.path, source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn elements(text: &[u8], capacity: usize) -> Result<Vec<(u64, String)>, TraceError> {
        let mut reader = ArrayReader::new(
            Path::new("t.json"),
            BufReader::with_capacity(capacity, text),
        );
        let mut found = Vec::new();
        while let Some(element) = reader.next()? {
            found.push((element.offset, element.text.to_owned()));
        }
        Ok(found)
    }

    #[test]
    fn elements_come_with_their_offsets_whatever_the_buffer() {
        let text = br#" [{"a":"}]\"{"}, {"b":[{}]} ] "#;
        for capacity in [1, 2, 7, 4096] {
            let found = elements(text, capacity).unwrap();
            assert_eq!(
                found,
                [
                    (2, r#"{"a":"}]\"{"}"#.to_owned()),
                    (17, r#"{"b":[{}]}"#.to_owned())
                ]
            );
        }
        assert_eq!(elements(b"[]", 8).unwrap(), []);
        assert_eq!(
            elements(b"\xef\xbb\xbf[{}]\n", 8).unwrap(),
            [(4, "{}".to_owned())]
        );
    }

    #[test]
    fn every_prefix_is_an_error() {
        let text = br#"[{"a":1},{"b":"x"}]"#;
        for end in 1..text.len() {
            let error = elements(&text[..end], 4).unwrap_err();
            assert!(
                matches!(error, TraceError::Truncated { offset, .. } if offset == end as u64),
                "{end}: {error}"
            );
        }
        assert!(matches!(elements(b" \n", 4), Err(TraceError::Empty { .. })));
    }

    #[test]
    fn what_is_no_array_of_objects_names_the_byte() {
        for (text, at) in [
            ("{}", 0),
            ("[1]", 1),
            ("[{} {}]", 4),
            ("[{}]]", 4),
            ("[{},]", 4),
        ] {
            let error = elements(text.as_bytes(), 4).unwrap_err();
            assert!(
                matches!(error, TraceError::Json { offset, .. } if offset == at),
                "{text}: {error}"
            );
        }
        let error = elements(b"[{\"a\":\"\xff\"}]", 4).unwrap_err();
        assert!(
            matches!(
                error,
                TraceError::Utf8 {
                    place: Place::Byte(7),
                    ..
                }
            ),
            "{error}"
        );
    }
}
