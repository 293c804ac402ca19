//! Sets of time as sorted, disjoint intervals.

use crate::time::Span;

/// A set of time: sorted, disjoint, not touching, none empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Busy(Vec<Span>);

impl Busy {
    /// The union of `spans`.
    ///
    /// # Complexity
    /// O(n log n).
    pub(crate) fn union(spans: impl IntoIterator<Item = Span>) -> Self {
        let mut spans: Vec<Span> = spans.into_iter().filter(|span| !span.is_empty()).collect();
        spans.sort_unstable();
        let mut merged: Vec<Span> = Vec::new();
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        Self(merged)
    }

    /// The part inside `window`.
    ///
    /// # Complexity
    /// O(log n + m), m intervals in the window.
    pub(crate) fn clip(&self, window: Span) -> Self {
        let first = self.0.partition_point(|span| span.end <= window.start);
        let rest = self.0.get(first..).unwrap_or_default().iter();
        Self(rest.map_while(|span| span.clip(window)).collect())
    }

    /// The union with `other`.
    pub(crate) fn or(&self, other: &Self) -> Self {
        Self::union(self.0.iter().chain(&other.0).copied())
    }

    /// Length of the common part with `other`, ns.
    ///
    /// # Complexity
    /// Linear in both.
    pub(crate) fn common_ns(&self, other: &Self) -> i64 {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut common = 0;
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            common += x.clip(**y).map_or(0, Span::len);
            if x.end < y.end {
                a.next();
            } else {
                b.next();
            }
        }
        common
    }

    /// Length, ns.
    pub(crate) fn len_ns(&self) -> i64 {
        self.0.iter().map(|span| span.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spans() -> impl Strategy<Value = Vec<Span>> {
        proptest::collection::vec((0_i64..60, 0_i64..12), 0..12).prop_map(|pairs| {
            pairs
                .into_iter()
                .map(|(start, len)| Span {
                    start,
                    end: start + len,
                })
                .collect()
        })
    }

    /// The slow reference: which unit cells are covered.
    fn cells(spans: &[Span]) -> Vec<bool> {
        (0..80)
            .map(|cell| spans.iter().any(|s| s.start <= cell && cell < s.end))
            .collect()
    }

    fn count(cells: impl Iterator<Item = bool>) -> i64 {
        cells.filter(|covered| *covered).count() as i64
    }

    proptest! {
        #[test]
        fn lengths_equal_those_of_counted_cells(
            a in spans(), b in spans(), start in 0_i64..70, len in 0_i64..40,
        ) {
            let window = Span { start, end: start + len };
            let (x, y) = (Busy::union(a.clone()), Busy::union(b.clone()));
            let (p, q, w) = (cells(&a), cells(&b), cells(&[window]));
            prop_assert_eq!(x.len_ns(), count(p.iter().copied()));
            prop_assert_eq!(x.common_ns(&y), count(p.iter().zip(&q).map(|(p, q)| *p && *q)));
            prop_assert_eq!(x.or(&y).len_ns(), count(p.iter().zip(&q).map(|(p, q)| *p || *q)));
            prop_assert_eq!(x.clip(window).len_ns(), count(p.iter().zip(&w).map(|(p, w)| *p && *w)));
            prop_assert!(x.0.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
