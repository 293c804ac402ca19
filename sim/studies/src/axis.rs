//! What a sweep varies: a key of a change over a range.

use std::fmt;

use ascsim_schedules::rewrite::{ChangeError, catalogue, set_key};

/// A key of a change, with the values it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The change that has the key, where it was named.
    pub change: Option<String>,
    /// The key.
    pub key: String,
    /// Its values.
    pub values: Values,
}

/// Values of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// These, in this order.
    List(Vec<String>),
    /// Whole numbers from the first to the last, both included.
    Whole(i64, i64),
    /// Numbers from the first to the last, both included.
    Real(f64, f64),
}

/// Why a text names no axis, or one that no change has.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AxisError {
    /// It is not KEY=RANGE.
    #[error(
        "`{0}` is no sweep: write KEY=FROM..TO, KEY=FROM..TO:STEP or KEY=VALUE,VALUE,...; \
         CHANGE.KEY names the change too, as in `eager.us=0..60`"
    )]
    Malformed(String),
    /// The range is empty or endless.
    #[error("`{0}`: the range must go from a number to a greater one, in at most 100,000 steps")]
    Range(String),
    /// No change of the question has the key.
    #[error(
        "no change of the question has the key `{key}`: give one with --apply or --given, or name the \
         change as in `eager.us=0..60`"
    )]
    Nowhere {
        /// The key.
        key: String,
    },
    /// Several changes have it.
    #[error("several changes have the key `{key}`: name one, as in `{change}.{key}=...`")]
    Ambiguous {
        /// The key.
        key: String,
        /// One of them.
        change: String,
    },
    /// The change is no change, or has no such key.
    #[error(transparent)]
    Change(#[from] ChangeError),
}

impl Axis {
    /// Reads `KEY=RANGE` or `CHANGE.KEY=RANGE`.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, AxisError> {
        let malformed = || AxisError::Malformed(text.to_owned());
        let (name, range) = text.split_once('=').ok_or_else(malformed)?;
        let (change, key) = match name.trim().split_once('.') {
            Some((change, key)) => (Some(change.to_owned()), key),
            None => (None, name.trim()),
        };
        let values = values(range.trim()).map_err(|error| match error {
            Bad::Malformed => malformed(),
            Bad::Range => AxisError::Range(text.to_owned()),
        })?;
        if key.is_empty() {
            return Err(malformed());
        }
        Ok(Self {
            change,
            key: key.to_owned(),
            values,
        })
    }

    /// `count` values over the range, ends included; all of a list, and all whole numbers where these
    /// are no more than twice as many.
    pub(crate) fn coarse(&self, count: usize) -> Vec<Value> {
        match &self.values {
            Values::List(texts) => (0..texts.len()).map(Value::Item).collect(),
            Values::Whole(from, to) => {
                let all = (to - from) as usize + 1;
                if all <= 2 * count {
                    return (*from..=*to).map(Value::Whole).collect();
                }
                between_whole(*from, *to, count)
            }
            Values::Real(from, to) => between_real(*from, *to, count),
        }
    }

    /// Values between two others, ends not included.
    pub(crate) fn fine(&self, from: Value, to: Value, count: usize) -> Vec<Value> {
        let mut values = match (from, to) {
            (Value::Whole(a), Value::Whole(b)) => between_whole(a, b, count + 2),
            (Value::Real(a), Value::Real(b)) => between_real(a.0, b.0, count + 2),
            _ => Vec::new(),
        };
        values.retain(|value| *value != from && *value != to);
        values
    }

    /// A value as text.
    pub(crate) fn text(&self, value: Value) -> String {
        match (value, &self.values) {
            (Value::Item(at), Values::List(texts)) => texts.get(at).cloned().unwrap_or_default(),
            (value, _) => value.to_string(),
        }
    }

    /// Whether its values are numbers, so that values between two others make sense.
    pub(crate) fn is_numeric(&self) -> bool {
        !matches!(self.values, Values::List(_))
    }

    /// Which of the changes has the key, as a position in `changes`; the texts with one added where
    /// the change is named and not among them.
    pub(crate) fn place(&self, changes: &mut Vec<String>) -> Result<usize, AxisError> {
        let name_of = |text: &str| text.split(':').next().unwrap_or_default().trim().to_owned();
        let has = |name: &str| {
            let doc = catalogue().iter().find(|doc| doc.name == name);
            doc.is_some_and(|doc| doc.keys.iter().any(|key| key.name == self.key))
        };
        let fits: Vec<usize> = (0..changes.len())
            .filter(|at| {
                let name = name_of(&changes[*at]);
                match &self.change {
                    Some(change) => name == *change,
                    None => has(&name),
                }
            })
            .collect();
        match (fits.as_slice(), &self.change) {
            ([one], _) => Ok(*one),
            ([], Some(change)) => {
                // Named alone: the other keys of it must be optional, which parsing checks.
                set_key(change, &self.key, "0")?;
                changes.push(change.clone());
                Ok(changes.len() - 1)
            }
            ([], None) => Err(AxisError::Nowhere {
                key: self.key.clone(),
            }),
            ([first, ..], _) => Err(AxisError::Ambiguous {
                key: self.key.clone(),
                change: name_of(&changes[*first]),
            }),
        }
    }
}

enum Bad {
    Malformed,
    Range,
}

fn values(range: &str) -> Result<Values, Bad> {
    let Some((from, rest)) = range.split_once("..") else {
        let list: Vec<String> = range
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect();
        if list.iter().any(String::is_empty) {
            return Err(Bad::Malformed);
        }
        return Ok(Values::List(list));
    };
    let (to, step) = match rest.split_once(':') {
        Some((to, step)) => (to, Some(step)),
        None => (rest, None),
    };
    let number = |text: &str| {
        let number = text.trim().parse::<f64>().map_err(|_| Bad::Malformed)?;
        number.is_finite().then_some(number).ok_or(Bad::Range)
    };
    let (low, high) = (number(from)?, number(to)?);
    if low >= high {
        return Err(Bad::Range);
    }
    let whole = |text: &str| text.trim().parse::<i64>().ok();
    if let Some(step) = step {
        let step_size = number(step)?;
        let count = (high - low) / step_size;
        if step_size <= 0.0 || count > 100_000.0 {
            return Err(Bad::Range);
        }
        // A count that is whole but for rounding counts as whole.
        let last = (count + 1e-9) as u32;
        let list = (0..=last).map(|at| Real(low + f64::from(at) * step_size).to_string());
        return Ok(Values::List(list.collect()));
    }
    Ok(match (whole(from), whole(to)) {
        (Some(from), Some(to)) if to.checked_sub(from).is_some() => Values::Whole(from, to),
        _ => Values::Real(low, high),
    })
}

fn between_whole(from: i64, to: i64, count: usize) -> Vec<Value> {
    let parts = (count.max(2) - 1) as i128;
    let span = i128::from(to) - i128::from(from);
    let mut values: Vec<Value> = (0..=parts)
        .map(|at| Value::Whole((i128::from(from) + span * at / parts) as i64))
        .collect();
    values.dedup();
    values
}

fn between_real(from: f64, to: f64, count: usize) -> Vec<Value> {
    let parts = count.max(2) - 1;
    let at = |at: usize| from + (to - from) * at as f64 / parts as f64;
    let mut values: Vec<Value> = (0..=parts)
        .map(|step| Value::Real(Real(if step == parts { to } else { at(step) })))
        .collect();
    values.dedup();
    values
}

/// One value of an axis; ordered as its axis is.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) enum Value {
    /// Of a list, by position.
    Item(usize),
    Whole(i64),
    Real(Real),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item(at) => at.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Real(number) => number.fmt(f),
        }
    }
}

/// A number with six digits after the point, without zeros at the end.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Real(pub(crate) f64);

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.6}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        let values = |text: &str| Axis::parse(text).map(|axis| axis.values);
        assert_eq!(values("us=0..60"), Ok(Values::Whole(0, 60)));
        assert_eq!(values("us=0.5..2"), Ok(Values::Real(0.5, 2.0)));
        let list = |texts: &[&str]| {
            Ok(Values::List(
                texts.iter().map(|t| (*t).to_owned()).collect(),
            ))
        };
        assert_eq!(values("us=0..0.3:0.1"), list(&["0", "0.1", "0.2", "0.3"]));
        assert_eq!(
            values("preset=w8a8, start-only"),
            list(&["w8a8", "start-only"])
        );
        let axis = Axis::parse("eager.us=5,7").expect("an axis");
        assert_eq!((axis.change.as_deref(), &*axis.key), (Some("eager"), "us"));
        for bad in [
            "us",
            "us=",
            "us=1..1",
            "us=2..1",
            "us=1..2:0",
            "us=0..inf",
            "=1..2",
            "us=a..b",
        ] {
            assert!(Axis::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn samples_hold_both_ends_and_go_up() {
        let axis = Axis::parse("us=0..1000").expect("an axis");
        let coarse = axis.coarse(5);
        assert_eq!(coarse, [0, 250, 500, 750, 1000].map(Value::Whole).to_vec());
        let fine = axis.fine(Value::Whole(250), Value::Whole(254), 8);
        assert_eq!(fine, [251, 252, 253].map(Value::Whole).to_vec());
        let axis = Axis::parse("us=0..30").expect("an axis");
        assert_eq!(axis.coarse(17).len(), 31, "few whole numbers are all taken");
        let axis = Axis::parse("factor=0..0.5").expect("an axis");
        let texts: Vec<String> = axis
            .coarse(3)
            .iter()
            .map(|value| axis.text(*value))
            .collect();
        assert_eq!(texts, ["0", "0.25", "0.5"]);
    }

    #[test]
    fn the_change_that_has_the_key_is_found() {
        let axis = Axis::parse("us=1,2").expect("an axis");
        let texts = |list: &[&str]| {
            list.iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(axis.place(&mut texts(&["one-stream", "eager:us=5"])), Ok(1));
        assert!(matches!(
            axis.place(&mut texts(&["one-stream"])),
            Err(AxisError::Nowhere { .. })
        ));
        assert!(matches!(
            axis.place(&mut texts(&["eager:us=5", "graph"])),
            Err(AxisError::Ambiguous { .. })
        ));
        let axis = Axis::parse("graph.us=1,2").expect("an axis");
        let mut list = texts(&["eager:us=5"]);
        assert_eq!(axis.place(&mut list), Ok(1));
        assert_eq!(list[1], "graph");
    }
}
