//! Notifies across ranks.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{LinkClass, LinkReason};
use crate::Trace;
use crate::model::PlaneKind;

/// The link of one notify record or wait; an open one has only one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotifyLink {
    /// Notify id.
    pub notify: u64,
    /// The record: (index of the capture, index in its [`Trace::planes`]).
    pub record: Option<(usize, u32)>,
    /// The wait: (index of the capture, index in its [`Trace::planes`]).
    pub wait: Option<(usize, u32)>,
    /// How sure that is.
    pub class: LinkClass,
    /// Why.
    pub reason: LinkReason,
    /// From the end of the record to that of the wait, ns, with the offset
    /// between the two clocks removed. `None` if open, or if the offset is
    /// unknown because notifies go one way only.
    pub gap_ns: Option<i64>,
}

/// The offset between the clocks of two captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RankOffset {
    /// Index of the capture whose clock is the measure.
    pub from: usize,
    /// Index of the other capture.
    pub to: usize,
    /// How much the clock of `to` is ahead, ns.
    pub offset_ns: i64,
    /// Least time from a record to a remote wait that the notifies allow, ns:
    /// half of the least round trip, so free of the offset. Negative: the pairs
    /// contradict each other (so on 910A).
    pub min_latency_ns: i64,
}

/// The notify links of several captures of one run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotifyLinks {
    /// Paired and open ones, by notify id and time.
    pub links: Vec<NotifyLink>,
    /// Offsets between the clocks of each two captures with notifies both ways.
    pub offsets: Vec<RankOffset>,
}

impl NotifyLinks {
    /// How many links are of `class`.
    pub fn count(&self, class: LinkClass) -> usize {
        self.links.iter().filter(|link| link.class == class).count()
    }
}

/// One end of a notify, on the clock of its capture.
#[derive(Debug, Clone, Copy)]
struct End {
    at: (usize, u32),
    end_ns: i128,
}

/// The records and the waits of one notify id.
#[derive(Debug, Default)]
struct Ends {
    records: Vec<End>,
    waits: Vec<End>,
}

/// Pairs the notifies of `captures`, which are ranks of one run: the k-th record
/// of an id with the k-th wait for it. The offset between two clocks is half the
/// difference of the least times each way.
///
/// # Complexity
/// O(n log n) in the plane tasks.
pub fn notifies(captures: &[&Trace]) -> NotifyLinks {
    let mut ids: BTreeMap<u64, Ends> = BTreeMap::new();
    for (capture, trace) in captures.iter().enumerate() {
        // Planes are sorted by start, so the ends of one rank are in order.
        for (index, plane) in trace.planes.iter().enumerate() {
            let (Some(id), Ok(index)) = (plane.notify, u32::try_from(index)) else {
                continue;
            };
            let end_ns = i128::from(trace.epoch_ns) + i128::from(plane.span.end);
            let end = End {
                at: (capture, index),
                end_ns,
            };
            let ends = ids.entry(id).or_default();
            match plane.kind {
                PlaneKind::NotifyRecord => ends.records.push(end),
                PlaneKind::NotifyWait => ends.waits.push(end),
                _ => {}
            }
        }
    }
    let mut links = Vec::new();
    let mut raw: Vec<Option<i128>> = Vec::new();
    for (&notify, ends) in &ids {
        let pairs = ends.records.len().min(ends.waits.len());
        for (record, wait) in ends.records.iter().zip(&ends.waits) {
            let agree = ranks_agree(captures, record.at, wait.at);
            links.push(NotifyLink {
                notify,
                record: Some(record.at),
                wait: Some(wait.at),
                class: if agree {
                    LinkClass::Paired
                } else {
                    LinkClass::Violated
                },
                reason: if agree {
                    LinkReason::NotifyOrder
                } else {
                    LinkReason::RanksDisagree
                },
                gap_ns: None,
            });
            raw.push(agree.then_some(wait.end_ns - record.end_ns));
        }
        let open = |record, wait| NotifyLink {
            notify,
            record,
            wait,
            class: LinkClass::Open,
            reason: LinkReason::RankNotCaptured,
            gap_ns: None,
        };
        links.extend(
            ends.records[pairs..]
                .iter()
                .map(|end| open(Some(end.at), None)),
        );
        links.extend(
            ends.waits[pairs..]
                .iter()
                .map(|end| open(None, Some(end.at))),
        );
        raw.resize(links.len(), None);
    }
    let offsets = offsets(&links, &raw);
    for (link, raw) in links.iter_mut().zip(&raw) {
        let (Some(record), Some(wait), Some(raw)) = (link.record, link.wait, raw) else {
            continue;
        };
        let Some(offset) = offset(&offsets, record.0, wait.0) else {
            // One way only: the order is all there is.
            link.class = LinkClass::Guessed;
            continue;
        };
        let gap = raw - i128::from(offset);
        link.gap_ns = i64::try_from(gap).ok();
        if gap < 0 {
            (link.class, link.reason) = (LinkClass::Violated, LinkReason::EndsLate);
        }
    }
    NotifyLinks { links, offsets }
}

/// Whether the ranks named at the two ends are those of the two captures.
fn ranks_agree(captures: &[&Trace], record: (usize, u32), wait: (usize, u32)) -> bool {
    let peer = |end: (usize, u32)| {
        let trace = captures.get(end.0)?;
        trace.planes.get(end.1 as usize)?.destination
    };
    let rank = |end: (usize, u32)| captures.get(end.0)?.meta.rank;
    let matches = |named: Option<u32>, rank: Option<u32>| match (named, rank) {
        (Some(named), Some(rank)) => named == rank,
        _ => true,
    };
    matches(peer(record), rank(wait)) && matches(peer(wait), rank(record))
}

/// The offset of the clock of capture `to` against that of `from`, ns.
fn offset(offsets: &[RankOffset], from: usize, to: usize) -> Option<i64> {
    if from == to {
        return Some(0);
    }
    offsets
        .iter()
        .find_map(|offset| match (offset.from, offset.to) {
            (a, b) if (a, b) == (from, to) => Some(offset.offset_ns),
            (a, b) if (a, b) == (to, from) => Some(-offset.offset_ns),
            _ => None,
        })
}

/// The offset of each two captures that have notifies both ways.
fn offsets(links: &[NotifyLink], raw: &[Option<i128>]) -> Vec<RankOffset> {
    let mut least: BTreeMap<(usize, usize), i128> = BTreeMap::new();
    for (link, raw) in links.iter().zip(raw) {
        let (Some(record), Some(wait), Some(raw)) = (link.record, link.wait, raw) else {
            continue;
        };
        let entry = least.entry((record.0, wait.0)).or_insert(*raw);
        *entry = (*entry).min(*raw);
    }
    let pairs = least.iter().filter(|((from, to), _)| from < to);
    pairs
        .filter_map(|(&(from, to), &there)| {
            let back = *least.get(&(to, from))?;
            Some(RankOffset {
                from,
                to,
                offset_ns: i64::try_from((there - back).div_euclid(2)).ok()?,
                min_latency_ns: i64::try_from((there + back).div_euclid(2)).ok()?,
            })
        })
        .collect()
}
