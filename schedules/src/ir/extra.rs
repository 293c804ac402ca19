//! Fields that this version does not know.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Fields of a JSON object that this version of the format does not know: a later minor version
/// wrote them. They are kept, written back after the known fields in the order of their names, and
/// count in both hashes, since what is unknown may matter to an executor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Extra(pub BTreeMap<String, Value>);

impl Extra {
    /// Whether nothing unknown was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Extra;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the fields of an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Extra, A::Error> {
                unique_fields(map).map(Extra)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// The fields of an object in the order of their names; two of one name are an error.
fn unique_fields<'de, A: MapAccess<'de>>(mut map: A) -> Result<BTreeMap<String, Value>, A::Error> {
    let mut fields = BTreeMap::new();
    while let Some((name, Strict(value))) = map.next_entry::<String, Strict>()? {
        if fields.insert(name.clone(), value).is_some() {
            return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
        }
    }
    Ok(fields)
}

/// A JSON value whose objects have no field twice and keep their fields in the order of their names,
/// whatever features `serde_json` was built with.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Strict;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E: Error>(self) -> Result<Strict, E> {
                Ok(Strict(Value::Null))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Strict, E> {
                Ok(Strict(value.into()))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Strict, E> {
                Ok(Strict(value.into()))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Strict, E> {
                Ok(Strict(value.into()))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Strict, E> {
                Ok(Strict(value.into()))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Strict, E> {
                Ok(Strict(value.into()))
            }

            fn visit_string<E: Error>(self, value: String) -> Result<Strict, E> {
                Ok(Strict(value.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Strict, A::Error> {
                let mut list = Vec::new();
                while let Some(Strict(value)) = seq.next_element()? {
                    list.push(value);
                }
                Ok(Strict(Value::Array(list)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Strict, A::Error> {
                let fields = unique_fields(map)?;
                Ok(Strict(Value::Object(fields.into_iter().collect())))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
