//! Refuses times that no capture spans.

/// The longest time between two rows of a capture, ns: 52 days.
const MAX_DISTANCE_NS: u64 = 1 << 52;

/// Times near the first one seen, so that no sum or difference of times
/// overflows later.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Window {
    first_ns: Option<i64>,
}

impl Window {
    /// Takes one time.
    ///
    /// # Errors
    /// In words: how far it lies from the first.
    pub(crate) fn check(&mut self, at: i64) -> Result<(), String> {
        let distance = at.abs_diff(*self.first_ns.get_or_insert(at));
        if distance <= MAX_DISTANCE_NS {
            return Ok(());
        }
        let days = distance / (86_400 * 1_000_000_000);
        Err(format!(
            "lies {days} days from the first row; the file is damaged"
        ))
    }
}

impl From<i64> for Window {
    fn from(first_ns: i64) -> Self {
        Self {
            first_ns: Some(first_ns),
        }
    }
}
