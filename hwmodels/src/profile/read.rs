//! Reads a profile and refuses what it does not know, by name and place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{LEVELS, Profile, fields};
use crate::error::nearest;
use crate::{Confidence, Kind, Parameter, Place, ProfileError, Unit};

const NUMBER: [&str; 7] = [
    "value",
    "unit",
    "low",
    "high",
    "confidence",
    "measured",
    "source",
];

/// The fields beside the tables of numbers.
const TOP: [&str; 7] = ["name", "kind", "about", "extends", "soc", "chip", "links"];

impl Profile {
    /// Reads a profile from the text of a file.
    ///
    /// # Errors
    /// If it is not TOML, or a field is unknown, incomplete, of the wrong type, in another unit, out
    /// of its range, not finite, or without a source. Missing numbers are found only when the
    /// profile is resolved, because what it extends may give them.
    pub fn read(file: &str, text: &str) -> Result<Self, ProfileError> {
        let source = Source { file, text };
        let document = DeTable::parse(text).map_err(|error| ProfileError::Syntax {
            place: source.place(&error.span().unwrap_or(0..0)),
            message: error.message().to_owned(),
        })?;
        source.profile(document.get_ref())
    }
}

struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

type Entry<'t, 'i> = &'t Spanned<DeValue<'i>>;

impl Source<'_> {
    fn place(&self, span: &Range<usize>) -> Place {
        Place::at(self.file, self.text, span.start)
    }

    fn profile(&self, document: &DeTable<'_>) -> Result<Profile, ProfileError> {
        let kind = match document.get("kind") {
            None => return Err(self.missing(&["kind"])),
            Some(entry) => self.word("kind", entry, Kind::parse, Kind::ALL.map(Kind::as_str))?,
        };
        let mut profile = Profile {
            name: String::new(),
            kind,
            about: String::new(),
            extends: None,
            soc: None,
            chip: None,
            links: BTreeMap::new(),
            parameters: BTreeMap::new(),
            file: self.file.to_owned(),
        };
        let numbers = fields(kind);
        for (key, entry) in document {
            let name: &str = key.get_ref();
            match (name, kind) {
                ("kind", _) => {}
                ("name", _) => profile.name = self.text_of(name, entry)?,
                ("about", _) => profile.about = self.text_of(name, entry)?,
                ("extends", _) => profile.extends = Some(self.text_of(name, entry)?),
                ("soc", Kind::Chip) => profile.soc = Some(self.text_of(name, entry)?),
                ("chip", Kind::Machine) => profile.chip = Some(self.text_of(name, entry)?),
                ("links", Kind::Machine) => self.links(entry, &mut profile.links)?,
                _ => self.group(name, &key.span(), entry, &numbers, &mut profile.parameters)?,
            }
        }
        let empty: Vec<_> = [("name", &profile.name), ("about", &profile.about)]
            .into_iter()
            .filter(|(_, text)| text.is_empty())
            .map(|(field, _)| field)
            .collect();
        if empty.is_empty() {
            Ok(profile)
        } else {
            Err(self.missing(&empty))
        }
    }

    fn missing(&self, fields: &[&str]) -> ProfileError {
        ProfileError::MissingFields {
            file: self.file.to_owned(),
            fields: fields.iter().map(|&field| field.to_owned()).collect(),
        }
    }

    fn unknown(&self, span: &Range<usize>, field: &str, known: &[&str]) -> ProfileError {
        let hint = match nearest(field, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "this kind of profile has none".to_owned(),
        };
        ProfileError::UnknownField {
            place: self.place(span),
            field: field.to_owned(),
            hint,
        }
    }

    fn wrong_type(
        &self,
        field: &str,
        entry: Entry<'_, '_>,
        expected: &'static str,
    ) -> ProfileError {
        ProfileError::WrongType {
            place: self.place(&entry.span()),
            field: field.to_owned(),
            expected,
        }
    }

    fn text_of(&self, field: &str, entry: Entry<'_, '_>) -> Result<String, ProfileError> {
        match entry.get_ref().as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(self.wrong_type(field, entry, "text")),
        }
    }

    fn word<T, const N: usize>(
        &self,
        field: &str,
        entry: Entry<'_, '_>,
        parse: fn(&str) -> Option<T>,
        known: [&str; N],
    ) -> Result<T, ProfileError> {
        let found = self.text_of(field, entry)?;
        parse(&found).ok_or_else(|| ProfileError::UnknownWord {
            place: self.place(&entry.span()),
            field: field.to_owned(),
            found,
            expected: known.join(", "),
        })
    }

    fn links(
        &self,
        entry: Entry<'_, '_>,
        links: &mut BTreeMap<String, String>,
    ) -> Result<(), ProfileError> {
        let Some(table) = entry.get_ref().as_table() else {
            return Err(self.wrong_type("links", entry, "a table of link profiles by level"));
        };
        for (level, link) in table {
            let name: &str = level.get_ref();
            if !LEVELS.contains(&name) {
                return Err(self.unknown(&level.span(), name, &LEVELS));
            }
            links.insert(
                name.to_owned(),
                self.text_of(&format!("links.{name}"), link)?,
            );
        }
        Ok(())
    }

    fn group(
        &self,
        group: &str,
        span: &Range<usize>,
        entry: Entry<'_, '_>,
        numbers: &[(String, Unit)],
        into: &mut BTreeMap<String, Parameter>,
    ) -> Result<(), ProfileError> {
        let known: Vec<&str> = numbers.iter().map(|(name, _)| name.as_str()).collect();
        let groups = known.iter().filter_map(|name| name.rsplit_once('.'));
        let groups: BTreeSet<&str> = groups.map(|(group, _)| group).collect();
        let Some(table) = entry
            .get_ref()
            .as_table()
            .filter(|_| groups.contains(group))
        else {
            let known: Vec<&str> = TOP.into_iter().chain(groups).collect();
            return Err(self.unknown(span, group, &known));
        };
        for (key, number) in table {
            let name = format!("{group}.{}", key.get_ref());
            let Some(&(_, unit)) = numbers.iter().find(|(field, _)| *field == name) else {
                return Err(self.unknown(&key.span(), &name, &known));
            };
            into.insert(name.clone(), self.number(&name, unit, number)?);
        }
        Ok(())
    }

    fn number(
        &self,
        name: &str,
        unit: Unit,
        entry: Entry<'_, '_>,
    ) -> Result<Parameter, ProfileError> {
        let place = self.place(&entry.span());
        let Some(table) = entry.get_ref().as_table() else {
            return Err(ProfileError::IncompleteNumber {
                place,
                field: name.to_owned(),
                missing: "unit",
            });
        };
        for key in table.keys() {
            let field: &str = key.get_ref();
            if !NUMBER.contains(&field) {
                return Err(self.unknown(&key.span(), field, &NUMBER));
            }
        }
        let get = |missing: &'static str| {
            table
                .get(missing)
                .ok_or_else(|| ProfileError::IncompleteNumber {
                    place: place.clone(),
                    field: name.to_owned(),
                    missing,
                })
        };
        let found = self.word(
            "unit",
            get("unit")?,
            Unit::parse,
            Unit::ALL.map(Unit::as_str),
        )?;
        if found != unit {
            return Err(ProfileError::WrongUnit {
                place: self.place(&get("unit")?.span()),
                field: name.to_owned(),
                expected: unit,
                found,
            });
        }
        let [low, value, high] = ["low", "value", "high"].map(|field| {
            get(field).and_then(|entry| self.float(&format!("{name}.{field}"), name, unit, entry))
        });
        let (low, value, high) = (low?, value?, high?);
        if !(low..=high).contains(&value) {
            return Err(ProfileError::OutsideRange {
                place,
                field: name.to_owned(),
                value,
                low,
                high,
            });
        }
        let source = self.text_of("source", get("source")?)?;
        if source.trim().is_empty() {
            return Err(ProfileError::NoSource {
                place,
                field: name.to_owned(),
            });
        }
        let levels = Confidence::ALL.map(Confidence::as_str);
        Ok(Parameter {
            value,
            low,
            high,
            unit,
            confidence: self.word("confidence", get("confidence")?, Confidence::parse, levels)?,
            measured: match table.get("measured") {
                None => true,
                Some(entry) => match entry.get_ref().as_bool() {
                    Some(measured) => measured,
                    None => return Err(self.wrong_type("measured", entry, "true or false")),
                },
            },
            source,
        })
    }

    fn float(
        &self,
        field: &str,
        name: &str,
        unit: Unit,
        entry: Entry<'_, '_>,
    ) -> Result<f64, ProfileError> {
        let text = match entry.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return Err(self.wrong_type(field, entry, "a decimal number")),
        };
        let value: f64 = text
            .parse()
            .map_err(|_| self.wrong_type(field, entry, "a decimal number"))?;
        let place = self.place(&entry.span());
        let field = field.to_owned();
        if !value.is_finite() {
            return Err(ProfileError::NotFinite { place, field });
        }
        match rule(name, unit, value) {
            None => Ok(value),
            Some(rule) => Err(ProfileError::Impossible {
                place,
                field,
                value,
                rule,
            }),
        }
    }
}

/// The rule that `value` breaks, if any.
fn rule(name: &str, unit: Unit, value: f64) -> Option<&'static str> {
    match unit {
        Unit::Cores | Unit::Count | Unit::Bytes if value.fract() != 0.0 || value < 0.0 => {
            Some("cores, counts and bytes are whole numbers from 0")
        }
        Unit::BytesPerSecond | Unit::OpsPerSecond | Unit::Hz if value <= 0.0 => {
            Some("a rate is greater than 0")
        }
        Unit::Ratio if !(0.0..=1.0).contains(&value) => Some("a ratio is between 0 and 1"),
        // A newer generation may cost less than the reference.
        Unit::Us if value < 0.0 && !name.starts_with("version.") => Some("a time is not negative"),
        _ => None,
    }
}
