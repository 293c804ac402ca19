//! The JSON form.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;

use super::layout::{Compact, Lines};
use super::{Document, ReadError, locate, scan};
use crate::path::{JsonPath, JsonStep};

pub(super) fn read<T: Document>(bytes: &[u8]) -> Result<T, ReadError> {
    let text = utf8(bytes)?;
    let reads = T::MAJOR;
    if text.trim_ascii().is_empty() {
        return Err(ReadError::Empty { reads });
    }
    let version = version(text)?.ok_or(ReadError::NoFormat { reads })?;
    T::reads(&version).map_err(|version| {
        let path = JsonPath(vec![JsonStep::Field("format".to_owned())]);
        let offset = locate::offsets(text, &[&path])[0];
        ReadError::Version { offset, version }
    })?;
    if let Some(integer) = scan::oversized_integer(text) {
        return Err(oversized(text, integer));
    }
    let document: T = serde_json::from_str(text).map_err(|error| explain::<T>(text, &error))?;
    match document.check() {
        Ok(()) => Ok(document),
        Err(mut invalid) => {
            let paths: Vec<_> = invalid.problems.iter().map(|p| &p.path).collect();
            let offsets = locate::offsets(text, &paths);
            for (problem, offset) in invalid.problems.iter_mut().zip(offsets) {
                problem.offset = Some(offset);
            }
            Err(invalid.into())
        }
    }
}

pub(super) fn write<T: Serialize>(document: &T, writer: impl Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(writer, Lines::default());
    document.serialize(&mut serializer)?;
    Ok(())
}

pub(super) fn write_compact<T: Serialize>(document: &T, writer: impl Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(writer, Compact::default());
    document.serialize(&mut serializer)?;
    Ok(())
}

fn utf8(bytes: &[u8]) -> Result<&str, ReadError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = error.valid_up_to();
        let before = bytes.get(..good).unwrap_or_default();
        let path = std::str::from_utf8(before).map(path_of_end);
        ReadError::NotUtf8 {
            offset: good as u64,
            path: path.unwrap_or_default(),
        }
    })
}

/// The text of the field `format`, without reading further than to it.
fn version(text: &str) -> Result<Option<String>, ReadError> {
    struct Head<'a>(&'a mut Option<String>);

    impl<'de> Visitor<'de> for Head<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object with the field `format`")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(name) = map.next_key::<Cow<'_, str>>()? {
                if name == "format" {
                    *self.0 = Some(map.next_value()?);
                    return Ok(());
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }

    impl<'de> DeserializeSeed<'de> for Head<'_> {
        type Value = ();

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            deserializer.deserialize_map(self)
        }
    }

    let mut found = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
    let end = Head(&mut found).deserialize(tracked);
    match (found, end) {
        // What follows it is of no interest yet, so the parser complains of that.
        (Some(version), _) => Ok(Some(version)),
        (None, Ok(())) => Ok(None),
        (None, Err(error)) => {
            let path = match error.classify() {
                Category::Data => (&track.path()).into(),
                _ => path_of_end(text),
            };
            Err(json_error(text, &error, path))
        }
    }
}

/// The error of a text that failed to parse as a `T`, with its path. Parses again, since to keep
/// track of the path is too slow to be done always.
fn explain<T: Document>(text: &str, first: &serde_json::Error) -> ReadError {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let result: Result<T, _> = serde_path_to_error::deserialize(&mut deserializer);
    match result {
        Err(error) => json_error(text, error.inner(), error.path().into()),
        // The document itself is fine, so something follows it.
        Ok(_) => json_error(text, first, JsonPath::default()),
    }
}

fn json_error(text: &str, error: &serde_json::Error, path: JsonPath) -> ReadError {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let place = format!(" at line {line} column {column}");
    let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
    let offset = match error.classify() {
        Category::Eof => text.len(),
        _ => scan::offset(text, line, column),
    };
    let (line, column) = scan::position(text, offset);
    ReadError::Json {
        offset: offset as u64,
        line,
        column,
        path,
        message,
    }
}

/// The error of a text with an integer that is too large; what is broken before it comes first.
fn oversized(text: &str, (offset, digits): (usize, &str)) -> ReadError {
    let before = text.get(..offset).unwrap_or_default();
    let mut deserializer = serde_json::Deserializer::from_str(before);
    match serde_path_to_error::deserialize::<_, Skipped>(&mut deserializer) {
        Err(error) if error.inner().is_eof() => ReadError::Integer {
            offset: offset as u64,
            path: error.path().into(),
            text: digits.chars().take(40).collect(),
        },
        Err(error) => json_error(text, error.inner(), error.path().into()),
        // The integer follows a whole document.
        Ok(_) => {
            let (line, column) = scan::position(text, offset);
            ReadError::Json {
                offset: offset as u64,
                line,
                column,
                path: JsonPath::default(),
                message: "trailing characters".to_owned(),
            }
        }
    }
}

/// The innermost value that is open where `text`, the beginning of a JSON text, ends.
fn path_of_end(text: &str) -> JsonPath {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, Skipped>(&mut deserializer) {
        Err(error) => error.path().into(),
        Ok(_) => JsonPath::default(),
    }
}

/// Any JSON value, walked (so that the path is known) and dropped.
struct Skipped;

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SkippedVisitor)
    }
}

struct SkippedVisitor;

impl<'de> Visitor<'de> for SkippedVisitor {
    type Value = Skipped;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_str<E>(self, _: &str) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Skipped, A::Error> {
        while seq.next_element::<Skipped>()?.is_some() {}
        Ok(Skipped)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Skipped, A::Error> {
        while map.next_entry::<String, Skipped>()?.is_some() {}
        Ok(Skipped)
    }
}
