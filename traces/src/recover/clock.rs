//! One clock for all captures.

use std::collections::BTreeSet;

use super::RecoverError;
use super::summary::Assumed;
use crate::Trace;
use crate::pair::{Links, NotifyLinks, notifies};
use crate::time::Span;

/// One capture, seen on the clock of all.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) trace: &'a Trace,
    pub(super) links: Links,
    pub(super) rank: u32,
    /// What to add to host times, ns.
    host_shift: i64,
    /// What to add to device times, ns.
    device_shift: i64,
}

impl View<'_> {
    /// A host time on the common clock, ns.
    pub(super) fn host(&self, at: i64) -> i64 {
        at.saturating_add(self.host_shift)
    }

    /// A host row on the common clock.
    pub(super) fn host_span(&self, span: Span) -> Span {
        Span {
            start: self.host(span.start),
            end: self.host(span.end),
        }
    }

    /// A device row on the common clock.
    pub(super) fn device_span(&self, span: Span) -> Span {
        Span {
            start: span.start.saturating_add(self.device_shift),
            end: span.end.saturating_add(self.device_shift),
        }
    }

    /// Makes `zero` the start of the common clock.
    pub(super) fn start_at(&mut self, zero: i64) {
        self.host_shift = self.host_shift.saturating_sub(zero);
        self.device_shift = self.device_shift.saturating_sub(zero);
    }
}

/// The captures on one clock, by rank, and the notifies between them.
pub(super) fn align<'a>(
    captures: &[&'a Trace],
    assumed: &mut Vec<Assumed>,
) -> Result<(Vec<View<'a>>, NotifyLinks), RecoverError> {
    let first = captures.first().ok_or(RecoverError::NoCapture)?;
    let mut taken = BTreeSet::new();
    for rank in captures.iter().filter_map(|trace| trace.meta.rank) {
        if !taken.insert(rank) {
            return Err(RecoverError::SameRank(rank));
        }
    }
    let links = notifies(captures);
    let mut views = Vec::with_capacity(captures.len());
    for (index, trace) in captures.iter().enumerate() {
        let rank = trace.meta.rank.unwrap_or_else(|| {
            let free = (0..).find(|rank| !taken.contains(rank)).unwrap_or(u32::MAX);
            taken.insert(free);
            assumed.push(Assumed::Rank(free));
            free
        });
        let own = Links::of(trace);
        // Epochs are within a run of each other.
        let epoch = trace.epoch_ns.saturating_sub(first.epoch_ns);
        let ahead = links.offsets.iter().find_map(|offset| {
            let pair = (offset.from, offset.to);
            (pair == (0, index)).then_some(offset.offset_ns)
        });
        if index > 0 && ahead.is_none() {
            assumed.push(Assumed::SameClock(rank));
        }
        views.push(View {
            trace,
            rank,
            host_shift: epoch,
            device_shift: epoch.saturating_sub(ahead.unwrap_or(0)),
            links: own,
        });
    }
    // The clock is that of the first host. Its device clock, and with it all that are aligned to it,
    // is behind by the first capture's own offset; each other host goes with its device.
    let base = views
        .first()
        .map_or(0, |view| view.links.host.clock_offset_ns);
    for view in &mut views {
        view.device_shift = view.device_shift.saturating_add(base);
        let own = view.links.host.clock_offset_ns;
        view.host_shift = view.device_shift.saturating_sub(own);
    }
    views.sort_by_key(|view| view.rank);
    Ok((views, links))
}
