//! Format versions: the first field of every file.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! versions {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// In a file: the text of [`Self::MAJOR`], followed by `.` and the minor version unless
        /// that is 0. The minor version is kept: what a later one added is written back under it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            /// The minor version of the file; this build writes 0 by itself.
            pub minor: u32,
        }

        impl $name {
            /// Name and major version: the only one that this build reads and writes.
            pub const MAJOR: &str = $text;
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Self::MAJOR)?;
                match self.minor {
                    0 => Ok(()),
                    minor => write!(f, ".{minor}"),
                }
            }
        }

        impl FromStr for $name {
            type Err = UnknownVersion;

            fn from_str(text: &str) -> Result<Self, UnknownVersion> {
                minor_version(text, Self::MAJOR)
                    .map(|minor| Self { minor })
                    .ok_or_else(|| UnknownVersion { found: text.to_owned(), reads: Self::MAJOR })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "description": "Format name and version; minor versions add fields.",
                    "type": "string",
                    "pattern": concat!("^", $text, r"(\.[0-9]+)?$"),
                })
            }
        }
    )*};
}

versions! {
    /// The format version of a [`Schedule`](super::Schedule).
    ScheduleFormat = "ascsim.schedule/1";
    /// The format version of a [`Prediction`](super::Prediction).
    PredictionFormat = "ascsim.prediction/1";
}

/// A format version that this build does not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`format` is `{found}`, and this build reads `{reads}` with any minor version")]
pub struct UnknownVersion {
    /// What the file says.
    pub found: String,
    /// What this build reads.
    pub reads: &'static str,
}

/// The minor version in `text`, if it is `major` or `major.N`.
fn minor_version(text: &str, major: &str) -> Option<u32> {
    let rest = text.strip_prefix(major)?;
    if rest.is_empty() {
        return Some(0);
    }
    let digits = rest.strip_prefix('.')?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_versions_are_read_and_written_back() {
        for (text, minor) in [("ascsim.schedule/1", 0), ("ascsim.schedule/1.3", 3)] {
            let format: ScheduleFormat = text.parse().unwrap();
            assert_eq!(format.minor, minor);
            assert_eq!(format.to_string(), text);
        }
    }

    #[test]
    fn other_versions_are_refused() {
        for text in [
            "",
            "ascsim.schedule",
            "ascsim.schedule/2",
            "ascsim.schedule/12",
            "ascsim.schedule/1.",
            "ascsim.schedule/1.+3",
            "ascsim.schedule/1.x",
            "ascsim.schedule/1.99999999999",
            "ascsim.prediction/1",
        ] {
            assert!(text.parse::<ScheduleFormat>().is_err(), "{text}");
        }
    }
}
