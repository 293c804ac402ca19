//! One row of a trace: typed fields, errors that name the row.

use std::borrow::Cow;
use std::path::Path;

use super::object::{Object, text};
use crate::time::{Span, ms_to_ns, us_to_ns};
use crate::{Place, TraceError};

/// FFTS+ context and graph model ids of this value mean "none".
const NO_ID: u32 = u32::MAX;

/// A JSON object that is one row of a file.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    path: &'a Path,
    offset: u64,
    object: Object<'a>,
}

impl<'a> Row<'a> {
    /// Parses the object `json` at byte `offset` of `path`.
    ///
    /// # Errors
    /// Malformed JSON, a key that comes twice.
    pub(crate) fn parse(path: &'a Path, offset: u64, json: &'a str) -> Result<Self, TraceError> {
        let object = Object::parse(json).map_err(|error| json_error(path, offset, json, &error))?;
        if let Some(key) = object.duplicate() {
            return Err(TraceError::DuplicateKey {
                path: path.to_owned(),
                offset,
                key: key.to_owned(),
            });
        }
        Ok(Self {
            path,
            offset,
            object,
        })
    }

    /// The object in field `key`; an empty row if it is absent or no object
    /// (Overlap Analysis rows have no `args`).
    pub(crate) fn nested(&self, key: &str) -> Result<Row<'a>, TraceError> {
        match self.object.raw(key) {
            Some(json) if json.starts_with('{') => Row::parse(self.path, self.offset, json),
            _ => Row::parse(self.path, self.offset, "{}"),
        }
    }

    /// The fields by raw text.
    pub(crate) fn object(&self) -> &Object<'a> {
        &self.object
    }

    /// The text of a field, `None` if absent.
    pub(crate) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.object.raw(key).map(text)
    }

    /// The text of a field that must be there.
    pub(crate) fn needed(&self, key: &str) -> Result<Cow<'a, str>, TraceError> {
        self.text(key)
            .ok_or_else(|| self.field(key, "is missing".to_owned()))
    }

    /// A 64-bit id, `None` if absent or empty.
    pub(crate) fn id(&self, keys: &[&str]) -> Result<Option<u64>, TraceError> {
        self.number(keys, "beyond 2^64")
    }

    /// A 32-bit id; `None` also for 4294967295, which means "none".
    pub(crate) fn small_id(&self, keys: &[&str]) -> Result<Option<u32>, TraceError> {
        let id = self.number(keys, "beyond 2^32")?;
        Ok(id.filter(|&id: &u32| id != NO_ID))
    }

    fn number<N: std::str::FromStr>(
        &self,
        keys: &[&str],
        range: &str,
    ) -> Result<Option<N>, TraceError> {
        let Some(raw) = self.object.any(keys) else {
            return Ok(None);
        };
        let text = text(raw);
        let text = text.trim();
        if text.is_empty() || text == "N/A" {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let what = if digits { range } else { "not an id" };
            self.field(keys[0], format!("is {what}: {}", shorten(text)))
        })
    }

    /// A time in µs as ns.
    pub(crate) fn time(&self, key: &str) -> Result<i64, TraceError> {
        let text = self.needed(key)?;
        us_to_ns(text.trim()).map_err(|e| self.field(key, format!("{e}: {}", shorten(&text))))
    }

    /// A time in ms as ns.
    pub(crate) fn time_in_ms(&self, key: &str) -> Result<i64, TraceError> {
        let text = self.needed(key)?;
        let ns = ms_to_ns(text.trim());
        ns.map_err(|error| self.field(key, format!("{error}: {}", shorten(&text))))
    }

    /// `ts` and `dur` of the row, absolute ns. An absent `dur` is 0.
    pub(crate) fn span(&self) -> Result<Span, TraceError> {
        let start = self.time("ts")?;
        let duration = if self.object.has("dur") {
            self.time("dur")?
        } else {
            0
        };
        if duration < 0 {
            return Err(TraceError::NegativeDuration {
                path: self.path.to_owned(),
                place: Place::Byte(self.offset),
                name: self.text("name").unwrap_or_default().into_owned(),
                text: self.text("dur").unwrap_or_default().into_owned(),
            });
        }
        let end = start
            .checked_add(duration)
            .ok_or_else(|| self.field("dur", "ends beyond 64-bit nanoseconds".to_owned()))?;
        Ok(Span { start, end })
    }

    /// The error that the row is of another device than those before it.
    pub(crate) fn several_devices(&self) -> TraceError {
        TraceError::SeveralDevices {
            path: self.path.to_owned(),
        }
    }

    /// An error about field `key`.
    pub(crate) fn field(&self, key: &str, reason: String) -> TraceError {
        TraceError::Field {
            path: self.path.to_owned(),
            place: Place::Byte(self.offset),
            field: key.to_owned(),
            reason,
        }
    }
}

/// `error` of parsing `json`, which starts at byte `offset` of `path`.
pub(crate) fn json_error(
    path: &Path,
    offset: u64,
    json: &str,
    error: &serde_json::Error,
) -> TraceError {
    if error.is_eof() {
        let offset = offset + json.len() as u64;
        return TraceError::Truncated {
            path: path.to_owned(),
            offset,
        };
    }
    // serde_json counts lines and columns (of bytes); the file needs an offset.
    let line_start: usize = json
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let at = (line_start + error.column().saturating_sub(1)).min(json.len());
    let message = error.to_string();
    let reason = message.split(" at line ").next().unwrap_or(&message);
    TraceError::Json {
        path: path.to_owned(),
        offset: offset + at as u64,
        reason: reason.to_owned(),
    }
}

/// At most 40 characters of `text`, for a message.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
