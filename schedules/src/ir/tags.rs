//! Tags: what an op is part of, for selectors and reports.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

/// Tags of an op or buffer, such as `layer=12 module=moe.shared.gate_up phase=decode`.
///
/// Selectors match them; nothing else depends on them, and the structure hash leaves them out.
/// Kept in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(Vec<(SmolStr, SmolStr)>);

impl Tags {
    /// Whether there is no tag.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the tag `key`, if it is set. O(log n) for n tags.
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.position(key).ok()?;
        self.0.get(at).map(|(_, value)| value.as_str())
    }

    /// Sets the tag `key`, and returns the value it had.
    pub fn set(&mut self, key: impl Into<SmolStr>, value: impl Into<SmolStr>) -> Option<SmolStr> {
        let (key, value) = (key.into(), value.into());
        match self.position(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// All tags in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(have, _)| have.as_str().cmp(key))
    }
}

impl<K: Into<SmolStr>, V: Into<SmolStr>> FromIterator<(K, V)> for Tags {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut tags = Self::default();
        for (key, value) in pairs {
            tags.set(key, value);
        }
        tags
    }
}

impl Serialize for Tags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Tags;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tags with text values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tags, A::Error> {
                let mut tags = Tags::default();
                while let Some((key, value)) = map.next_entry::<SmolStr, SmolStr>()? {
                    if tags.set(key.clone(), value).is_some() {
                        return Err(A::Error::custom(format_args!("duplicate tag `{key}`")));
                    }
                }
                Ok(tags)
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

impl JsonSchema for Tags {
    fn schema_name() -> Cow<'static, str> {
        "Tags".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<BTreeMap<String, String>>()
    }
}
