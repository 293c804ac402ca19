//! Arithmetic of cost functions: only the four operations and square roots, so that every platform
//! gives the same bytes.

/// Picoseconds of `us` microseconds, rounded; 0 for a negative or undefined time, the greatest
/// number for one that does not fit.
pub fn ps(us: f64) -> u64 {
    whole(us * 1_000_000.0)
}

/// The nearest whole number, saturating; 0 for a negative or undefined one.
pub(crate) fn whole(value: f64) -> u64 {
    // A cast from floating point saturates and turns NaN into 0.
    (value + 0.5) as u64
}

/// Microseconds that `bytes` take at `rate` bytes per second.
pub(crate) fn us_at(bytes: f64, rate: f64) -> f64 {
    bytes / rate * 1e6
}

/// Base-2 logarithm of a positive number of things, 0 for 0. The integer part is counted in bits,
/// then 30 binary digits follow by squaring: exact at powers of two, within 1e-9 elsewhere.
pub fn log2(n: u64) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let whole = n.ilog2();
    let mut rest = n as f64 / (1_u64 << whole) as f64;
    let mut result = f64::from(whole);
    let mut digit = 0.5;
    for _ in 0..30 {
        rest *= rest;
        if rest >= 2.0 {
            rest /= 2.0;
            result += digit;
        }
        digit /= 2.0;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_match_the_platform() {
        for n in 1..5_000_u64 {
            assert!((log2(n) - (n as f64).log2()).abs() < 2e-9, "{n}");
        }
        assert_eq!(log2(8), 3.0);
        assert_eq!(log2(0), 0.0);
    }

    #[test]
    fn times_round_and_saturate() {
        assert_eq!(ps(1.5), 1_500_000);
        assert_eq!(ps(-1.0), 0);
        assert_eq!(ps(f64::NAN), 0);
        assert_eq!(ps(f64::INFINITY), u64::MAX);
    }
}
