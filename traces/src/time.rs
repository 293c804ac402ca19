//! Exact times: decimal text in µs to integer nanoseconds.
//!
//! A trace's `ts` is near 1.7e18 ns, beyond what an f64 holds exactly, and its
//! `dur` has up to 8 decimals (facts/traces.md section 2.1). Both are read as
//! text; what is below a nanosecond is rounded **half up** (towards +∞).

use serde::Serialize;

/// Why a number is not a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not a decimal number.
    #[error("is not a decimal number")]
    NotANumber,
    /// Beyond ±292 years in ns.
    #[error("is beyond the range of 64-bit nanoseconds")]
    Range,
}

/// An interval of time in ns, `start <= end`; relative to the epoch of the
/// trace once a reader is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// Start, ns.
    pub start: i64,
    /// End, ns.
    pub end: i64,
}

impl Span {
    /// Length, ns.
    pub fn len(self) -> i64 {
        self.end - self.start
    }

    /// Whether the interval has no length.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The part of the interval inside `window`; `None` if there is none.
    pub fn clip(self, window: Span) -> Option<Span> {
        let start = self.start.max(window.start);
        let end = self.end.min(window.end);
        (start < end).then_some(Span { start, end })
    }
}

/// Integer nanoseconds of a decimal number of µs such as `1736412474730135.222`,
/// `55.1610625` or `2e-05`; below a nanosecond rounded half up.
///
/// # Errors
/// Text that is not a decimal number, or does not fit 64-bit nanoseconds.
pub fn us_to_ns(text: &str) -> Result<i64, TimeError> {
    scaled(text, 3)
}

/// Like [`us_to_ns`], for a number of ms.
///
/// # Errors
/// Text that is not a decimal number, or does not fit 64-bit nanoseconds.
pub fn ms_to_ns(text: &str) -> Result<i64, TimeError> {
    scaled(text, 6)
}

/// `text · 10^decimals`, rounded half up.
fn scaled(text: &str, decimals: i64) -> Result<i64, TimeError> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, e)) => (number, e.parse::<i32>().map_err(|_| TimeError::NotANumber)?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err(TimeError::NotANumber);
    }
    let mut mantissa: i128 = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        if !byte.is_ascii_digit() {
            return Err(TimeError::NotANumber);
        }
        mantissa = mantissa
            .checked_mul(10)
            .and_then(|m| m.checked_add(i128::from(byte - b'0')))
            .ok_or(TimeError::Range)?;
    }
    if negative {
        mantissa = -mantissa;
    }
    let shift = decimals + i64::from(exponent) - fraction.len() as i64;
    let ns = if mantissa == 0 {
        0
    } else if shift >= 0 {
        let factor = power_of_ten(shift).ok_or(TimeError::Range)?;
        mantissa.checked_mul(factor).ok_or(TimeError::Range)?
    } else {
        match power_of_ten(-shift) {
            Some(divisor) => {
                let below = mantissa.rem_euclid(divisor);
                mantissa.div_euclid(divisor) + i128::from(below >= divisor - below)
            }
            // More decimals than an i128 holds: closer to zero than 0.5 ns.
            None => 0,
        }
    };
    i64::try_from(ns).map_err(|_| TimeError::Range)
}

/// `10^exponent` as far as an i128 holds it.
fn power_of_ten(exponent: i64) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(exponent).ok()?)
}

/// `ns` as µs with three decimals, exact: `-11.132`.
pub fn format_us(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let magnitude = ns.unsigned_abs();
    format!("{sign}{}.{:03}", magnitude / 1000, magnitude % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn timestamps_are_exact_to_the_nanosecond() {
        assert_eq!(
            us_to_ns("1736412474730135.222"),
            Ok(1_736_412_474_730_135_222)
        );
        assert_eq!(
            us_to_ns("1780295077844859.03"),
            Ok(1_780_295_077_844_859_030)
        );
        assert_eq!(us_to_ns("12"), Ok(12_000));
        assert_eq!(us_to_ns("0.0"), Ok(0));
    }

    #[test]
    fn fractions_of_a_nanosecond_round_half_up() {
        assert_eq!(us_to_ns("55.1610625"), Ok(55_161));
        assert_eq!(us_to_ns("0.0005"), Ok(1));
        assert_eq!(us_to_ns("0.00049999"), Ok(0));
        assert_eq!(us_to_ns("-0.0005"), Ok(0));
        assert_eq!(us_to_ns("-0.0006"), Ok(-1));
        assert_eq!(us_to_ns("2e-05"), Ok(0));
        assert_eq!(us_to_ns("1.25E+3"), Ok(1_250_000));
    }

    #[test]
    fn what_is_no_time_is_an_error() {
        for text in ["", "-", ".", "1.2.3", "0x1", "1e", "NaN", "1 "] {
            assert_eq!(us_to_ns(text), Err(TimeError::NotANumber), "{text:?}");
        }
        for text in ["9223372036854775.808", "1e30", &"9".repeat(60), "1e999"] {
            assert_eq!(us_to_ns(text), Err(TimeError::Range), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn format_and_parse_are_inverse(ns in any::<i64>()) {
            prop_assert_eq!(us_to_ns(&format_us(ns)), Ok(ns));
        }

        #[test]
        fn never_panics(text in "[-+.eE0-9]{0,50}") {
            let _ = us_to_ns(&text);
        }
    }
}
