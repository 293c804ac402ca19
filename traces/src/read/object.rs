//! Flat access to one JSON object without a value tree.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object, in file order, values as raw JSON text.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    fields: Vec<(Cow<'a, str>, &'a str)>,
    duplicate: Option<usize>,
}

impl<'a> Object<'a> {
    /// Parses `text`, which must be one JSON object.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        let object: Self = serde_json::from_str(text)?;
        Ok(object)
    }

    /// The raw value of `key`; `None` if absent or JSON `null`.
    pub(crate) fn raw(&self, key: &str) -> Option<&'a str> {
        let (_, raw) = self.fields.iter().find(|(name, _)| name == key)?;
        (*raw != "null").then_some(*raw)
    }

    /// The first of `keys` that is present: synonyms of one field.
    pub(crate) fn any(&self, keys: &[&str]) -> Option<&'a str> {
        keys.iter().find_map(|key| self.raw(key))
    }

    /// Whether `key` is present.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.raw(key).is_some()
    }

    /// The fields in file order.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.fields.iter().map(|(key, raw)| (key.as_ref(), *raw))
    }

    /// A key that the object has twice.
    pub(crate) fn duplicate(&self) -> Option<&str> {
        self.duplicate
            .and_then(|index| self.fields.get(index))
            .map(|(key, _)| key.as_ref())
    }
}

/// The text of a raw JSON scalar: a string without quotes and escapes, a number
/// as written. Profilers write the same field as either.
pub(crate) fn text(raw: &str) -> Cow<'_, str> {
    if !raw.starts_with('"') {
        return Cow::Borrowed(raw);
    }
    match serde_json::from_str::<Text<'_>>(raw) {
        Ok(Text(text)) => text,
        // `raw` was parsed as a string before; only a lone surrogate gets here.
        Err(_) => Cow::Owned(raw.trim_matches('"').to_owned()),
    }
}

/// Borrows where the string has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields: Vec<(Cow<'de, str>, &'de str)> = Vec::with_capacity(8);
                while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
                    let value: &'de RawValue = map.next_value()?;
                    fields.push((key, value.get()));
                }
                let duplicate = duplicate(&fields);
                Ok(Object { fields, duplicate })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// Index of a field whose key came before. Quadratic up to 32 fields, which
/// every real row is below, then by sorting.
fn duplicate(fields: &[(Cow<'_, str>, &str)]) -> Option<usize> {
    if fields.len() <= 32 {
        return (1..fields.len()).find(|&i| fields[..i].iter().any(|(key, _)| *key == fields[i].0));
    }
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by(|&a, &b| fields[a].0.cmp(&fields[b].0).then(a.cmp(&b)));
    order
        .windows(2)
        .find(|pair| fields[pair[0]].0 == fields[pair[1]].0)
        .map(|pair| pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_exact_text() {
        let object =
            Object::parse(r#"{"ts":"17.222","dur":55.1610625,"n":null,"a\u0062":{"x":[1]}}"#)
                .unwrap();
        assert_eq!(object.raw("ts").map(text).as_deref(), Some("17.222"));
        assert_eq!(object.raw("dur"), Some("55.1610625"));
        assert_eq!(object.raw("n"), None);
        assert_eq!(object.raw("ab"), Some(r#"{"x":[1]}"#));
        assert_eq!(object.duplicate(), None);
    }

    #[test]
    fn a_key_written_twice_is_found_in_small_and_large_objects() {
        assert_eq!(
            Object::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap().duplicate(),
            Some("a")
        );
        let mut large: Vec<String> = (0..100).map(|i| format!("\"k{i}\":{i}")).collect();
        let clean = format!("{{{}}}", large.join(","));
        assert_eq!(Object::parse(&clean).unwrap().duplicate(), None);
        large.push("\"k7\":0".to_owned());
        let twice = format!("{{{}}}", large.join(","));
        assert_eq!(Object::parse(&twice).unwrap().duplicate(), Some("k7"));
    }
}
