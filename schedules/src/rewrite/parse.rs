//! Changes as text: `NAME[:key=value,...]`.

use super::Change;
use super::catalogue::{CATALOGUE, ChangeDoc};
use crate::select::Selector;

/// Why a text is not a change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such change.
    #[error("there is no change `{name}`; there are {known}")]
    Unknown {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A key that the change does not have.
    #[error("`{change}` has no key `{key}`; it has {known}")]
    UnknownKey {
        /// The change.
        change: &'static str,
        /// The key.
        key: String,
        /// The keys it has.
        known: String,
    },
    /// A key that must be given is missing.
    #[error("`{change}` needs {key}=…: {meaning}; for example `{example}`")]
    MissingKey {
        /// The change.
        change: &'static str,
        /// The key.
        key: &'static str,
        /// What it means.
        meaning: &'static str,
        /// An example.
        example: &'static str,
    },
    /// A part without `=`, or a key given twice.
    #[error("`{part}` in `{text}`: {why}")]
    Malformed {
        /// The part.
        part: String,
        /// The whole text.
        text: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A value that is not what the key means.
    #[error("`{key}={value}`: {why}")]
    Value {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// What is wrong.
        why: String,
    },
}

impl Change {
    /// Reads a change from text: `NAME[:key=value,...]`. A comma inside a value is written `\,`.
    ///
    /// # Errors
    /// If the name or a key is unknown, a needed key is missing, or a value is wrong; each error says
    /// what there is instead.
    pub fn parse(text: &str) -> Result<Self, ChangeError> {
        let (doc, rest) = named(text)?;
        let keys = Keys::parse(doc, text, rest)?;
        (doc.parse)(&keys)
    }
}

/// The text of a change with one key set to `value`, whether it was given or not.
///
/// # Errors
/// If there is no such change, or it has no such key, or the text cannot be read. Whether the value
/// fits, and whether keys that must be given are, is for [`Change::parse`] to say.
pub fn set_key(text: &str, key: &str, value: &str) -> Result<String, ChangeError> {
    let (doc, rest) = named(text)?;
    let (mut pairs, known) = (Keys::pairs(doc, text, rest)?, doc.key(key)?);
    match pairs.iter_mut().find(|(have, _)| *have == known) {
        Some((_, have)) => value.clone_into(have),
        None => pairs.push((known, value.to_owned())),
    }
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(key, value)| format!("{key}={}", value.replace(',', "\\,")))
        .collect();
    Ok(format!("{}:{}", doc.name, pairs.join(",")))
}

/// Splits a list of changes, `A,B,C`, in which each may have keys: a change starts where the name of
/// one stands.
pub fn split_changes(text: &str) -> Vec<String> {
    let mut changes: Vec<String> = Vec::new();
    let starts = |part: &str| {
        let name = part.split(':').next().unwrap_or_default().trim();
        CATALOGUE.iter().any(|doc| doc.name == name)
    };
    let mut escaped = false;
    for part in text.split(',') {
        match changes.last_mut() {
            Some(last) if escaped || !starts(part) => {
                last.push(',');
                last.push_str(part);
            }
            _ => changes.push(part.trim().to_owned()),
        }
        escaped = part.ends_with('\\');
    }
    changes
}

/// The documentation of the change that a text names, and the text of its keys.
fn named(text: &str) -> Result<(&'static ChangeDoc, &str), ChangeError> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let found = CATALOGUE.iter().find(|doc| doc.name == name.trim());
    let doc = found.ok_or_else(|| {
        let known: Vec<_> = CATALOGUE.iter().map(|doc| doc.name).collect();
        ChangeError::Unknown {
            name: name.trim().to_owned(),
            known: known.join(", "),
        }
    })?;
    Ok((doc, rest))
}

impl ChangeDoc {
    /// The key of that name.
    fn key(&self, key: &str) -> Result<&'static str, ChangeError> {
        let found = self.keys.iter().find(|known| known.name == key.trim());
        found.map(|key| key.name).ok_or_else(|| {
            let known: Vec<_> = self.keys.iter().map(|key| key.name).collect();
            ChangeError::UnknownKey {
                change: self.name,
                key: key.trim().to_owned(),
                known: known.join(", "),
            }
        })
    }
}

/// The values of the keys of a change, as text.
pub(super) struct Keys {
    doc: &'static ChangeDoc,
    pairs: Vec<(&'static str, String)>,
}

impl Keys {
    /// The keys that the text gives, with their values, in its order.
    fn pairs(
        doc: &'static ChangeDoc,
        text: &str,
        rest: &str,
    ) -> Result<Vec<(&'static str, String)>, ChangeError> {
        let mut pairs: Vec<(&'static str, String)> = Vec::new();
        for part in split(rest)
            .into_iter()
            .filter(|part| !part.trim().is_empty())
        {
            let malformed = |why| ChangeError::Malformed {
                part: part.clone(),
                text: text.to_owned(),
                why,
            };
            let (key, value) = part.split_once('=').ok_or_else(|| {
                malformed("expected key=value; a comma inside a value is written `\\,`")
            })?;
            let key = doc.key(key)?;
            if pairs.iter().any(|(have, _)| *have == key) {
                return Err(malformed("the key is given twice"));
            }
            pairs.push((key, value.trim().to_owned()));
        }
        Ok(pairs)
    }

    fn parse(doc: &'static ChangeDoc, text: &str, rest: &str) -> Result<Self, ChangeError> {
        let pairs = Self::pairs(doc, text, rest)?;
        for key in doc.keys.iter().filter(|key| key.required) {
            if !pairs.iter().any(|(have, _)| *have == key.name) {
                return Err(ChangeError::MissingKey {
                    change: doc.name,
                    key: key.name,
                    meaning: key.meaning,
                    example: doc.example,
                });
            }
        }
        Ok(Self { doc, pairs })
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(have, _)| *have == key)
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn text(&self, key: &'static str) -> Result<&str, ChangeError> {
        let value = self.get(key).unwrap_or_default();
        if value.is_empty() {
            return Err(ChangeError::Value {
                key,
                value: String::new(),
                why: format!("expected a value; for example `{}`", self.doc.example),
            });
        }
        Ok(value)
    }

    pub(super) fn selector(&self, key: &'static str) -> Result<Selector, ChangeError> {
        let value = self.text(key)?;
        value
            .parse()
            .map_err(|error: crate::select::SelectorError| ChangeError::Value {
                key,
                value: value.to_owned(),
                why: error.to_string(),
            })
    }

    pub(super) fn optional_selector(
        &self,
        key: &'static str,
    ) -> Result<Option<Selector>, ChangeError> {
        self.get(key).map(|_| self.selector(key)).transpose()
    }

    pub(super) fn number(&self, key: &'static str) -> Result<f64, ChangeError> {
        let value = self.text(key)?;
        match value.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => Err(ChangeError::Value {
                key,
                value: value.to_owned(),
                why: "expected a finite number, 0 or more".to_owned(),
            }),
        }
    }

    /// A whole number from 0 on.
    pub(super) fn whole(&self, key: &'static str) -> Result<usize, ChangeError> {
        let value = self.text(key)?;
        value.parse().map_err(|_| ChangeError::Value {
            key,
            value: value.to_owned(),
            why: "expected a whole number, 0 or more".to_owned(),
        })
    }

    /// A time given in µs, in ns.
    pub(super) fn microseconds(&self, key: &'static str) -> Result<f64, ChangeError> {
        // A time beyond 100 days is a mistake, and would not fit the clock.
        match self.number(key)? * 1e3 {
            ns if ns < 1e16 => Ok(ns),
            ns => Err(ChangeError::Value {
                key,
                value: (ns / 1e3).to_string(),
                why: "expected less than 10^13 µs".to_owned(),
            }),
        }
    }
}

/// Splits at commas that are not written `\,`.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let last = parts.len() - 1;
        match c {
            '\\' if chars.peek() == Some(&',') => {
                chars.next();
                parts[last].push(',');
            }
            ',' => parts.push(String::new()),
            _ => parts[last].push(c),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::catalogue;
    use super::*;

    #[test]
    fn every_example_parses() {
        for doc in catalogue() {
            Change::parse(doc.example).unwrap_or_else(|error| panic!("{}: {error}", doc.example));
        }
    }

    #[test]
    fn errors_say_what_there_is() {
        let error = |text| Change::parse(text).expect_err(text).to_string();
        assert!(error("scael:factor=2").contains("there is no change `scael`; there are scale, "));
        assert!(error("scale:select=name=A").contains("`scale` needs factor=…"));
        assert!(error("scale:select=name=A,by=2").contains("no key `by`; it has select, factor"));
        assert!(error("scale:select=name=A,factor=-1").contains("0 or more"));
        assert!(error("scale:select=name=A,factor=nan").contains("finite"));
        assert!(error("eager:us=1,us=2").contains("given twice"));
        assert!(error("eager:us=1e300").contains("less than"));
        assert!(error("remove").contains("needs select=…"));
    }

    #[test]
    fn a_key_is_set_and_the_rest_stays() {
        let set = |text: &str, key, value| set_key(text, key, value).expect(text);
        assert_eq!(set("eager", "us", "5"), "eager:us=5");
        assert_eq!(
            set("eager:us=1,event-us=2", "us", "5"),
            "eager:us=5,event-us=2"
        );
        let text = set(r"scale:select=name=A\,B,factor=1", "factor", "0.5");
        assert_eq!(text, r"scale:select=name=A\,B,factor=0.5");
        Change::parse(&text).expect("a change");
        assert!(set_key("eager", "by", "1").is_err() && set_key("none", "us", "1").is_err());
    }

    #[test]
    fn a_list_of_changes_is_split_where_changes_start() {
        assert_eq!(
            split_changes(
                r"graph:us=20, one-stream,scale:select=name=A\,eager,factor=1,eager:us=2"
            ),
            [
                "graph:us=20",
                "one-stream",
                r"scale:select=name=A\,eager,factor=1",
                "eager:us=2"
            ]
        );
    }

    #[test]
    fn a_comma_can_be_written() {
        assert_eq!(split(r"a=b\,c,d=e"), ["a=b,c", "d=e"]);
    }
}
