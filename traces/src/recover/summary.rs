//! How sure a recovered schedule is.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::pair::LinkClass;

/// How many links of one kind are of which class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LinkCounts {
    /// Proven by ids or times.
    pub paired: usize,
    /// The likeliest of several.
    pub guessed: usize,
    /// One end is not in the capture.
    pub open: usize,
    /// Ids or order say one thing, times another.
    pub violated: usize,
}

impl LinkCounts {
    /// Counts one link.
    pub fn add(&mut self, class: LinkClass) {
        match class {
            LinkClass::Paired => self.paired += 1,
            LinkClass::Guessed => self.guessed += 1,
            LinkClass::Open => self.open += 1,
            LinkClass::Violated => self.violated += 1,
        }
    }

    /// All of them.
    pub fn total(&self) -> usize {
        self.paired + self.guessed + self.open + self.violated
    }
}

/// What an import found, what is external to it, and what it assumes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportSummary {
    /// The step taken; none for the whole capture.
    pub step: Option<u32>,
    /// The captured ranks.
    pub captured: Vec<u32>,
    /// Ranks that take part in collectives but were not captured.
    pub external: Vec<u32>,
    /// Those of them that a captured rank was seen waiting for, whose arrival is therefore known.
    pub seen_late: Vec<u32>,
    /// Ops in the schedule, over all captured ranks.
    pub ops: usize,
    /// Tasks that the ops stand for.
    pub tasks: usize,
    /// Tasks that are folded into collectives.
    pub folded: usize,
    /// Links by kind: `task to call`, `event`, `notify`, `hand-over between threads`,
    /// `host synchronisation`, `collective across ranks`.
    pub links: BTreeMap<&'static str, LinkCounts>,
    /// Names of streams that the capture shows, and nothing else.
    pub streams: usize,
    /// What had to be assumed.
    pub assumed: Vec<Assumed>,
}

impl ImportSummary {
    /// Counts one link of a kind.
    pub(super) fn link(&mut self, kind: &'static str, class: LinkClass) {
        self.links.entry(kind).or_default().add(class);
    }

    /// The counts of a kind of links.
    pub fn count(&self, kind: &str) -> LinkCounts {
        self.links.get(kind).copied().unwrap_or_default()
    }
}

/// Something that had to be assumed. In JSON and for people: a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assumed {
    /// A capture does not tell its rank.
    Rank(u32),
    /// The clock of a rank could not be aligned by notifies.
    SameClock(u32),
    /// Tasks without a call: they are issued at the start, and what they waited for on the host is
    /// part of their delay.
    NoCalls {
        /// The rank.
        rank: u32,
        /// Tasks without a call.
        tasks: usize,
        /// All its tasks.
        of: usize,
    },
    /// How many bytes copies move is not recorded.
    NoBytes(usize),
    /// Threads that were taken to be started and joined by another.
    Forks(usize),
    /// Synchronisations whose stream was guessed.
    SyncStreams(usize),
    /// Waits whose record is not in the capture, or was issued after them as far as it is known: they
    /// do not wait.
    LostWaits(usize),
    /// A rank that was not captured arrives when others were seen waiting for it, whatever changes.
    Arrives(u32),
    /// Collectives whose waiting for other ranks is not recorded: it is part of their duration.
    NoArrival(usize),
    /// The members of the communicators are not recorded.
    Members,
    /// Calls whose order contradicts that of the stream.
    OutOfOrder(usize),
    /// There is no data flow.
    NoAccesses,
}

impl fmt::Display for Assumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rank(rank) => write!(
                f,
                "a capture does not tell its rank, and is taken for rank {rank}"
            ),
            Self::SameClock(rank) => write!(
                f,
                "no notifies go both ways between rank {rank} and the first one, so their device clocks are taken to agree"
            ),
            Self::NoCalls { rank, tasks, of } => write!(
                f,
                "{tasks} of {of} tasks of rank {rank} have no host call; they count as issued at the start, and their host time is in their delays"
            ),
            Self::NoBytes(count) => write!(
                f,
                "the bytes of {count} copies are not recorded, and given as 0"
            ),
            Self::Forks(count) => write!(
                f,
                "{count} threads whose calls all lie between two calls of another are taken to be started and joined by it"
            ),
            Self::SyncStreams(count) => write!(
                f,
                "{count} host synchronisations do not name their stream; each is taken to wait for the stream whose last task ended last before it returned"
            ),
            Self::LostWaits(count) => write!(
                f,
                "{count} event waits have no record in the capture that was issued before them, and are taken not to wait"
            ),
            Self::Arrives(rank) => write!(
                f,
                "rank {rank} was not captured; it arrives at each collective when the captured ranks were seen waiting for it, whatever else changes"
            ),
            Self::NoArrival(count) => write!(
                f,
                "the waiting for other ranks inside {count} collectives is not recorded, and counts as transfer"
            ),
            Self::Members => write!(
                f,
                "the members of the communicators are not recorded; the captured ranks are taken to be all"
            ),
            Self::OutOfOrder(count) => write!(
                f,
                "{count} tasks ran on their stream in another order than their calls were made; they count as tasks without a call"
            ),
            Self::NoAccesses => write!(
                f,
                "a capture has no data flow: the schedule's order is what the streams and events show, and its race status is unknown"
            ),
        }
    }
}

impl Serialize for Assumed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
