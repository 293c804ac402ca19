//! Where in a JSON text a path leads.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::path::{JsonPath, JsonStep};

/// The byte offsets of the values that `paths` lead to in the JSON `text`; where one leads nowhere,
/// of the last value on its way.
///
/// # Complexity
/// O(bytes × greatest depth of a path), for any number of paths.
pub(super) fn offsets(text: &str, paths: &[&JsonPath]) -> Vec<u64> {
    let mut found = vec![0; paths.len()];
    let ways = paths.iter().map(|path| path.0.as_slice()).enumerate();
    let start = text.len() - text.trim_ascii_start().len();
    descend(text, &text[start..], &ways.collect::<Vec<_>>(), &mut found);
    found
}

/// Follows `ways`, each with its index in `found`, from `value`, a part of `text`.
fn descend(text: &str, value: &str, ways: &[(usize, &[JsonStep])], found: &mut [u64]) {
    // A part of the text, so the difference of the addresses is the offset.
    let offset = value.as_ptr().addr() - text.as_ptr().addr();
    let mut next: BTreeMap<&JsonStep, Vec<(usize, &[JsonStep])>> = BTreeMap::new();
    for (index, way) in ways {
        found[*index] = offset as u64;
        if let Some((step, rest)) = way.split_first() {
            next.entry(step).or_default().push((*index, rest));
        }
    }
    if next.is_empty() {
        return;
    }
    let Ok(parts) = serde_json::from_str::<Parts<'_>>(value) else {
        return;
    };
    for (step, ways) in next {
        let part = match (&parts, step) {
            (Parts::List(list), JsonStep::Item(index)) => list.get(*index).copied(),
            (Parts::Object(fields), JsonStep::Field(name)) => fields
                .iter()
                .find(|(field, _)| field == name)
                .map(|(_, value)| *value),
            _ => None,
        };
        if let Some(part) = part {
            descend(text, part.get(), &ways, found);
        }
    }
}

/// An object or a list, with its parts as text.
enum Parts<'a> {
    Object(Vec<(Cow<'a, str>, &'a RawValue)>),
    List(Vec<&'a RawValue>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Parts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartsVisitor;
        impl<'de> Visitor<'de> for PartsVisitor {
            type Value = Parts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Parts<'de>, A::Error> {
                let mut list = Vec::new();
                while let Some(value) = seq.next_element()? {
                    list.push(value);
                }
                Ok(Parts::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Parts::Object(fields))
            }
        }
        deserializer.deserialize_any(PartsVisitor)
    }
}
