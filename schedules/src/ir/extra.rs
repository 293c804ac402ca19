//! Fields that this version does not know.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
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

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Extra, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if fields.insert(name.clone(), value).is_some() {
                        return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
                    }
                }
                Ok(Extra(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}
