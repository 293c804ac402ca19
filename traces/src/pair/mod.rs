//! Links that a capture implies but does not record.
//!
//! No profile holds an event id (facts/traces.md section 2.1), so who waits for
//! whom has to be found out. Every link says how sure it is ([`LinkClass`]) and
//! why ([`LinkReason`]); nothing is linked silently.
//!
//! 1. **Host** ([`host`]): a task belongs to the CANN call with its connection id.
//!    Device and host clocks differ; one offset per capture is removed before a
//!    task that starts before its call counts as violated.
//! 2. **Collectives** ([`collective`]): a collective is a bracket around the tasks
//!    that carry it; those are communication, never computing.
//! 3. **Events** ([`event`]): a wait that blocked ends right after the record it
//!    waited for; a wait that did not block is known by host issue order only. Where the dump of a
//!    captured graph was joined ([`crate::dump`]), ids say it.
//! 4. **Notifies** ([`notify`]): the k-th record of a notify id is the k-th wait
//!    for it, across ranks, once the offset between their clocks is removed.

pub mod collective;
pub mod event;
pub mod host;
pub mod notify;

use serde::Serialize;

pub use event::EventLink;
pub use host::{HostLink, HostLinks};
pub use notify::{NotifyLink, NotifyLinks, RankOffset, notifies};

use crate::Trace;

/// How sure a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkClass {
    /// Proven by ids or by times.
    Paired,
    /// The likeliest of several.
    Guessed,
    /// One end is not in the capture.
    Open,
    /// The ids or the order say one thing, the times say it cannot be.
    Violated,
}

/// Why a link is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkReason {
    /// Both ends have the same connection id.
    Connection,
    /// The profiler drew a flow arrow between them.
    Flow,
    /// The wait blocked, and ended right after this record did.
    EndsMatch,
    /// As [`LinkReason::EndsMatch`], but records on several streams fit.
    EndsMatchSeveral,
    /// The wait did not block; this record was issued last before it.
    IssueOrder,
    /// The wait did not block; it is the next wait for the end of a collective.
    CollectiveOrder,
    /// The record issued last ends after the wait did; this is the latest that fits.
    IssueOrderCorrected,
    /// Neither end's issue is known; this record ended last before the wait did.
    EndOrder,
    /// Neither end's issue is known and the wait resets its event, so that each record ends one wait; this
    /// is the first record that no wait has taken.
    ResetOrder,
    /// The dump of the captured graph gives both ends the same event id.
    EventId,
    /// The k-th record and the k-th wait of a notify id.
    NotifyOrder,
    /// There is no candidate.
    NoCandidate,
    /// The wait blocked, but no record ends when it does.
    NoEndMatches,
    /// The other rank is not among the captures.
    RankNotCaptured,
    /// Every candidate ends after the wait did.
    EndsLate,
    /// The task starts before the call that issued it, beyond any clock offset.
    BeforeCall,
    /// The source and destination ranks of the two ends disagree.
    RanksDisagree,
}

impl LinkReason {
    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Connection => "same connection id",
            Self::Flow => "the profiler's flow arrow",
            Self::EndsMatch => "the wait blocked and ended right after this record",
            Self::EndsMatchSeveral => {
                "the wait blocked and ended right after this record, but records on other streams fit as well"
            }
            Self::IssueOrder => "did not block; the record issued last before the wait",
            Self::CollectiveOrder => "did not block; the next collective's end not yet waited for",
            Self::IssueOrderCorrected => {
                "did not block; the latest record issued before the wait that ended before it"
            }
            Self::EndOrder => "issue order unknown; the record that ended last before the wait",
            Self::ResetOrder => {
                "issue order unknown; the first record that no wait had taken, as each wait resets its event"
            }
            Self::EventId => "same event id in the dump of the captured graph",
            Self::NotifyOrder => "k-th record and k-th wait of the notify id",
            Self::NoCandidate => "nothing in the capture can be its other end",
            Self::NoEndMatches => "blocked, but no record ends when the wait does",
            Self::RankNotCaptured => "the other rank was not captured",
            Self::EndsLate => "every record issued before the wait ends after it",
            Self::BeforeCall => "starts before the call that issued it",
            Self::RanksDisagree => "the ranks named at the two ends disagree",
        }
    }
}

/// The links of one capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    /// Task to host call.
    pub host: HostLinks,
    /// Index of the collective that each task carries, by task.
    pub carried: Vec<Option<u32>>,
    /// One link per event wait, in issue order.
    pub events: Vec<EventLink>,
}

impl Links {
    /// Finds the links of `trace`.
    ///
    /// # Complexity
    /// O(n log n) in the rows, and O(waits × records) for the events.
    pub fn of(trace: &Trace) -> Self {
        let host = HostLinks::of(trace);
        let carried = collective::carried(trace);
        let events = event::links(trace, &host, &carried);
        Self {
            host,
            carried,
            events,
        }
    }
}
