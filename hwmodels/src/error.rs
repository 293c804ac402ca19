//! What can be wrong with a profile or a parameter name.

use std::fmt;
use std::path::PathBuf;

use crate::{Kind, ParameterId, Unit};

/// A place in a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
}

impl Place {
    /// The place of byte `offset` of `text`.
    pub(crate) fn at(file: &str, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.len() - start + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Why a profile is refused. Nothing of a refused profile is used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is not TOML.
    #[error("{place}: {message}")]
    Syntax {
        /// Where.
        place: Place,
        /// What the TOML reader says.
        message: String,
    },
    /// A field that no profile of this kind has.
    #[error("{place}: unknown field `{field}`; {hint}")]
    UnknownField {
        /// Where.
        place: Place,
        /// The field, with its table.
        field: String,
        /// The nearest known field, or the known ones.
        hint: String,
    },
    /// Fields that a profile of this kind must have.
    #[error(
        "{file}: missing {}; give them, or name a profile in `extends` that has them",
        list(fields)
    )]
    MissingFields {
        /// The file.
        file: String,
        /// The fields, with their tables.
        fields: Vec<String>,
    },
    /// A number without one of its fields.
    #[error(
        "{place}: `{field}` has no `{missing}`; every number is a table \
         {{ value, unit, low, high, confidence, source }}"
    )]
    IncompleteNumber {
        /// Where.
        place: Place,
        /// The parameter.
        field: String,
        /// What is missing.
        missing: &'static str,
    },
    /// A value of the wrong TOML type.
    #[error("{place}: `{field}` must be {expected}")]
    WrongType {
        /// Where.
        place: Place,
        /// The field.
        field: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A word that is not one of those allowed.
    #[error("{place}: `{field}` cannot be `{found}`; it is one of {expected}")]
    UnknownWord {
        /// Where.
        place: Place,
        /// The field.
        field: String,
        /// The word found.
        found: String,
        /// Those allowed.
        expected: String,
    },
    /// A number in another unit than its parameter.
    #[error("{place}: `{field}` is in `{found}`; give it in `{expected}`")]
    WrongUnit {
        /// Where.
        place: Place,
        /// The parameter.
        field: String,
        /// Its unit.
        expected: Unit,
        /// The unit found.
        found: Unit,
    },
    /// A number that is infinite or not a number.
    #[error("{place}: `{field}` is not a finite number")]
    NotFinite {
        /// Where.
        place: Place,
        /// The parameter and field.
        field: String,
    },
    /// A value outside its own range.
    #[error("{place}: the value {value} of `{field}` is outside its range {low} to {high}")]
    OutsideRange {
        /// Where.
        place: Place,
        /// The parameter.
        field: String,
        /// The value.
        value: f64,
        /// The low end.
        low: f64,
        /// The high end.
        high: f64,
    },
    /// A value that its unit does not allow.
    #[error("{place}: `{field}` is {value}, but {rule}")]
    Impossible {
        /// Where.
        place: Place,
        /// The parameter and field.
        field: String,
        /// The value.
        value: f64,
        /// What its unit demands.
        rule: &'static str,
    },
    /// A number without a source.
    #[error("{place}: `{field}` has an empty source; say where the number comes from")]
    NoSource {
        /// Where.
        place: Place,
        /// The parameter.
        field: String,
    },
    /// A profile of that name does not exist, or is of another kind.
    #[error("{by} names the {kind} profile `{name}`, which does not exist; there are {known}")]
    UnknownProfile {
        /// Who names it.
        by: String,
        /// The kind asked for.
        kind: Kind,
        /// The name.
        name: String,
        /// Those of that kind.
        known: String,
    },
    /// Profiles that extend each other in a circle.
    #[error("{file}: `{name}` extends itself: {chain}")]
    Circle {
        /// The file.
        file: String,
        /// The profile.
        name: String,
        /// The names along the circle.
        chain: String,
    },
    /// A profile with the name of another one.
    #[error(
        "{file}: there is a profile `{name}` already; choose another name (it may extend that one)"
    )]
    DuplicateName {
        /// The file.
        file: String,
        /// The name.
        name: String,
    },
}

fn list(fields: &[String]) -> String {
    let quoted: Vec<_> = fields.iter().map(|field| format!("`{field}`")).collect();
    quoted.join(", ")
}

/// There is no parameter of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no parameter `{name}`; did you mean `{nearest}`?")]
pub struct UnknownParameter {
    /// The name.
    pub name: String,
    /// The known name most like it.
    pub nearest: &'static str,
}

impl UnknownParameter {
    /// The parameter of that name, or this error.
    pub(crate) fn find(name: &str) -> Result<ParameterId, Self> {
        ParameterId::parse(name).ok_or_else(|| Self {
            name: name.to_owned(),
            nearest: nearest(name, ParameterId::ALL.iter().map(|id| id.name())).unwrap_or_default(),
        })
    }
}

/// The candidate with the least edit distance to `name`; the first of equals.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates.min_by_key(|candidate| distance(name, candidate))
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_columns_from_one() {
        let text = "a = 1\nbc = 2\n";
        assert_eq!(Place::at("f", text, 0).to_string(), "f:1:1");
        assert_eq!(Place::at("f", text, 8).to_string(), "f:2:3");
    }

    #[test]
    fn distances_are_edit_distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(nearest("aivv", ["aic", "aiv"].into_iter()), Some("aiv"));
    }
}
