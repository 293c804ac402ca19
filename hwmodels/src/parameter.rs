//! A number of a hardware or software-stack profile: value, unit, range, confidence and source.

use std::fmt;

use serde::Serialize;

/// The unit of a parameter. Profiles spell it out beside each number, and a loader refuses a number
/// in another unit than its parameter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Cores or core slots of a die.
    Cores,
    /// A plain number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    #[serde(rename = "bytes/s")]
    BytesPerSecond,
    /// Operations per second; a multiply-add counts as two.
    #[serde(rename = "ops/s")]
    OpsPerSecond,
    /// Hertz.
    Hz,
    /// Microseconds.
    Us,
    /// A ratio without unit.
    Ratio,
}

impl Unit {
    /// All units.
    pub const ALL: [Self; 8] = [
        Self::Cores,
        Self::Count,
        Self::Bytes,
        Self::BytesPerSecond,
        Self::OpsPerSecond,
        Self::Hz,
        Self::Us,
        Self::Ratio,
    ];

    /// The unit as profiles write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cores => "cores",
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes/s",
            Self::OpsPerSecond => "ops/s",
            Self::Hz => "hz",
            Self::Us => "us",
            Self::Ratio => "ratio",
        }
    }

    /// The unit that a profile writes as `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.as_str() == text)
    }

    /// Whether values are whole numbers: cores, counts and bytes.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Cores | Self::Count | Self::Bytes)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How far a number can be trusted, best first. The tags are those of facts/hardware.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Documentation, configuration or source code of the vendor.
    Official,
    /// Measured, in the text of a merged pull request.
    PullRequest,
    /// A paper.
    Paper,
    /// Measured by the community on real hardware, method described; or by us from a capture.
    Measured,
    /// A blog or press article.
    Blog,
    /// Derived from other numbers.
    Inferred,
    /// Assumed for want of anything better.
    Assumed,
}

impl Confidence {
    /// All levels, best first.
    pub const ALL: [Self; 7] = [
        Self::Official,
        Self::PullRequest,
        Self::Paper,
        Self::Measured,
        Self::Blog,
        Self::Inferred,
        Self::Assumed,
    ];

    /// The level as profiles write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Official => "official",
            Self::PullRequest => "pull_request",
            Self::Paper => "paper",
            Self::Measured => "measured",
            Self::Blog => "blog",
            Self::Inferred => "inferred",
            Self::Assumed => "assumed",
        }
    }

    /// The level that a profile writes as `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A number with everything that is known about it. `low <= value <= high`, all finite; a profile
/// that says otherwise is refused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// The value used unless a study samples or refits it, in `unit`.
    pub value: f64,
    /// Least plausible value, in `unit`.
    pub low: f64,
    /// Greatest plausible value, in `unit`.
    pub high: f64,
    /// The unit.
    pub unit: Unit,
    /// How far it can be trusted.
    pub confidence: Confidence,
    /// Whether somebody measured or specified it. Otherwise it is *uncalibrated*: a guess within a
    /// range, and every answer that rests on it says so.
    pub measured: bool,
    /// Where it comes from.
    pub source: String,
}

impl Parameter {
    /// The value at position `u` (0 to 1, clamped) of a triangular distribution over the range with
    /// its mode at the value: what a study draws when it samples a parameter. Whole units are
    /// rounded. Only the four operations and a square root: the same on every platform.
    pub fn quantile(&self, u: f64) -> f64 {
        let width = self.high - self.low;
        if width <= 0.0 {
            return self.value;
        }
        let u = if u.is_nan() { 0.5 } else { u.clamp(0.0, 1.0) };
        let left = self.value - self.low;
        let right = self.high - self.value;
        let drawn = if u * width <= left {
            self.low + (u * width * left).sqrt()
        } else {
            self.high - ((1.0 - u) * width * right).sqrt()
        };
        let drawn = drawn.clamp(self.low, self.high);
        if self.unit.is_whole() {
            (drawn + 0.5).floor()
        } else {
            drawn
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(low: f64, value: f64, high: f64, unit: Unit) -> Parameter {
        Parameter {
            value,
            low,
            high,
            unit,
            confidence: Confidence::Assumed,
            measured: false,
            source: "test".to_owned(),
        }
    }

    #[test]
    fn quantiles_cover_the_range_and_peak_at_the_value() {
        let p = parameter(1.0, 2.0, 5.0, Unit::Us);
        assert_eq!(p.quantile(0.0), 1.0);
        assert_eq!(p.quantile(1.0), 5.0);
        assert_eq!(p.quantile(0.25), 2.0);
        assert!(p.quantile(0.5) > 2.0 && p.quantile(0.5) < 3.5);
        assert_eq!(p.quantile(f64::NAN), p.quantile(0.5));
    }

    #[test]
    fn a_range_without_width_is_its_value_and_whole_units_stay_whole() {
        assert_eq!(parameter(3.0, 3.0, 3.0, Unit::Us).quantile(0.9), 3.0);
        let cores = parameter(2.0, 3.0, 9.0, Unit::Cores);
        assert_eq!(cores.quantile(0.6).fract(), 0.0);
    }

    #[test]
    fn units_and_levels_read_back_what_they_write() {
        for unit in Unit::ALL {
            assert_eq!(Unit::parse(unit.as_str()), Some(unit));
        }
        for level in Confidence::ALL {
            assert_eq!(Confidence::parse(level.as_str()), Some(level));
        }
        assert_eq!(Unit::parse("GB/s"), None);
    }
}
