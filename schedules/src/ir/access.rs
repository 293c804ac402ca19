//! Which bytes an op reads and writes.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BufferName, Extra, Peer};

/// What is known of the memory an op touches.
///
/// In a file: the text `"unknown"`, or a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Accesses {
    /// Nothing is known: an imported op, or one that declares nothing. No verdict about races is
    /// possible for it.
    #[default]
    Unknown,
    /// Exactly these accesses; an empty list says that the op touches no declared buffer.
    Known(Vec<Access>),
}

impl Accesses {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// The known accesses; none where they are unknown.
    pub fn known(&self) -> &[Access] {
        match self {
            Self::Unknown => &[],
            Self::Known(list) => list,
        }
    }
}

/// One access to a buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    /// The buffer or view. Ranges count from its own start.
    pub buffer: BufferName,
    /// Read, write, or both.
    pub mode: AccessMode,
    /// The bytes.
    #[serde(default, skip_serializing_if = "Range::is_whole")]
    pub range: Range,
    /// Whose instance of the buffer: the rank's own unless said.
    #[serde(default, skip_serializing_if = "Peer::is_own")]
    pub peer: Peer,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How a buffer is accessed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AccessMode {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes (in place).
    ReadWrite,
    /// Adds atomically. Two accumulations into the same bytes do not race with each other; with any
    /// other access they do.
    Accumulate,
}

impl AccessMode {
    /// Whether two accesses of these modes to the same bytes conflict, that is whether their order
    /// can be seen.
    pub fn conflicts_with(self, other: Self) -> bool {
        use AccessMode::{Accumulate, Read};
        !matches!((self, other), (Read, Read) | (Accumulate, Accumulate))
    }

    /// Whether the access changes the buffer.
    pub fn writes(self) -> bool {
        self != Self::Read
    }
}

/// The bytes of an access, counted from the start of the buffer or view it names.
///
/// In a file: `"whole"`, `"any"`, or `[offset, length]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Range {
    /// The whole buffer.
    #[default]
    Whole,
    /// Some bytes that are not known before the run (paged KV cache): conflicts with every range.
    Any,
    /// `[offset, length]` in bytes; a length of zero touches nothing.
    Bytes(u64, u64),
}

impl Range {
    /// Whether this is the whole buffer.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }
}

impl Serialize for Accesses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unknown => serializer.serialize_str("unknown"),
            Self::Known(list) => list.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Accesses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AccessesVisitor;
        impl<'de> Visitor<'de> for AccessesVisitor {
            type Value = Accesses;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of accesses or `unknown`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Accesses, E> {
                match text {
                    "unknown" => Ok(Accesses::Unknown),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Accesses, A::Error> {
                let mut list = Vec::new();
                while let Some(access) = seq.next_element()? {
                    list.push(access);
                }
                Ok(Accesses::Known(list))
            }
        }
        deserializer.deserialize_any(AccessesVisitor)
    }
}

impl JsonSchema for Accesses {
    fn schema_name() -> Cow<'static, str> {
        "Accesses".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let list = generator.subschema_for::<Vec<Access>>();
        json_schema!({
            "description": "What is known of the memory an op touches: `unknown`, or a list.",
            "oneOf": [{ "const": "unknown" }, list],
        })
    }
}

impl Serialize for Range {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole => serializer.serialize_str("whole"),
            Self::Any => serializer.serialize_str("any"),
            Self::Bytes(offset, length) => [offset, length].serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RangeVisitor;
        impl<'de> Visitor<'de> for RangeVisitor {
            type Value = Range;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`whole`, `any` or [offset, length] in bytes")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Range, E> {
                match text {
                    "whole" => Ok(Range::Whole),
                    "any" => Ok(Range::Any),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Range, A::Error> {
                let missing = |n| A::Error::invalid_length(n, &"[offset, length] in bytes");
                let offset = seq.next_element()?.ok_or_else(|| missing(0))?;
                let length = seq.next_element()?.ok_or_else(|| missing(1))?;
                match seq.next_element::<IgnoredAny>()? {
                    None => Ok(Range::Bytes(offset, length)),
                    Some(_) => Err(missing(3)),
                }
            }
        }
        deserializer.deserialize_any(RangeVisitor)
    }
}

impl JsonSchema for Range {
    fn schema_name() -> Cow<'static, str> {
        "Range".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The bytes of an access: `whole`, `any`, or [offset, length].",
            "oneOf": [
                { "enum": ["whole", "any"] },
                {
                    "type": "array",
                    "items": { "type": "integer", "minimum": 0 },
                    "minItems": 2,
                    "maxItems": 2,
                },
            ],
        })
    }
}
