//! What each point of each instance directly waits for.

use crate::flat::{CollectiveId, Flat, InstanceId};
use crate::ir::Limits;

/// A point in the life of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The host has made the call, and the task is in the queue of its stream. For what a graph
    /// replays, or a group contains: it has been handed out.
    Issue,
    /// It starts. For a wait: it is met.
    Start,
    /// It is done. For a host call: it returns.
    Done,
}

/// A phase of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// The instance.
    pub instance: InstanceId,
    /// The phase.
    pub phase: Phase,
}

impl Point {
    /// The point where `instance` is issued.
    pub fn issue(instance: InstanceId) -> Self {
        let phase = Phase::Issue;
        Self { instance, phase }
    }

    /// The point where `instance` starts.
    pub fn start(instance: InstanceId) -> Self {
        let phase = Phase::Start;
        Self { instance, phase }
    }

    /// The point where `instance` is done.
    pub fn done(instance: InstanceId) -> Self {
        let phase = Phase::Done;
        Self { instance, phase }
    }

    pub(super) fn node(self) -> usize {
        self.instance.index() * 3 + self.phase as usize
    }

    fn of_node(node: usize) -> Self {
        Self {
            instance: InstanceId::new(node / 3),
            phase: match node % 3 {
                0 => Phase::Issue,
                1 => Phase::Start,
                _ => Phase::Done,
            },
        }
    }
}

/// Why one point waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The call before it on its host thread has returned.
    Thread,
    /// Calls on one stream, event, communicator or graph are made in list order.
    Object,
    /// The queue of its stream has room.
    Queue,
    /// It cannot start before it is issued, nor be done before it starts.
    Life,
    /// The task before it on its stream is done.
    Stream,
    /// The record that a wait is bound to is done.
    Event,
    /// All members of its collective have started.
    Collective,
    /// A graph replays after its launch starts, a launch is done when all of it is, and two launches
    /// of one graph do not overlap.
    Graph,
    /// A part of a group or super kernel starts after the whole and the parts it names; the whole is
    /// done when all parts are.
    Group,
    /// A host synchronisation or blocking copy returns when its target is done.
    Sync,
    /// A notify, flag event or word is set (see [`Need`](super::Need)).
    Signal,
}

/// What a point waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Another point.
    Point(Point),
    /// The start of all members of a collective.
    AllStarted(CollectiveId),
    /// Nothing that can happen: a collective with a missing member or two meanings.
    Never,
}

/// One thing that a point waits for; it happens only after all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// For what.
    pub source: Source,
    /// Why.
    pub why: Why,
}

/// The direct requirements of every point, except for signals that several ops can give (notifies,
/// flag events, words), which are [`Order::needs`](super::Order::needs).
#[derive(Debug)]
pub struct Requirements {
    pub(super) instances: usize,
    pub(super) collectives: usize,
    /// Per node: where its edges are.
    pub(super) offsets: Vec<u32>,
    pub(super) edges: Vec<(u32, Why)>,
    pub(super) inexact_queues: Vec<InstanceId>,
}

impl Requirements {
    /// Derives them.
    ///
    /// # Complexity
    /// O(instances + ranks x streams x device synchronisations) time and memory.
    pub fn new(flat: &Flat<'_>, limits: &Limits) -> Self {
        super::build::Builder::new(flat, limits).build()
    }

    /// What a point waits for.
    pub fn of(&self, point: Point) -> impl Iterator<Item = Requirement> {
        let edges = self.edges(point.node()).iter();
        edges.map(|&(from, why)| Requirement {
            source: self.source(from as usize),
            why,
        })
    }

    /// Calls that may or may not wait for room in their queue, because a wait before them takes an
    /// entry only if its record is still unfinished when it is issued (facts/acl.md section 3). Here
    /// such waits count as taking none, so that only certain orders are claimed.
    pub fn inexact_queues(&self) -> &[InstanceId] {
        &self.inexact_queues
    }

    /// Three nodes per instance, one per collective (all started), one that never happens.
    pub(super) fn nodes(&self) -> usize {
        self.never() + 1
    }

    pub(super) fn gate(&self, collective: CollectiveId) -> usize {
        self.instances * 3 + collective.index()
    }

    pub(super) fn never(&self) -> usize {
        self.instances * 3 + self.collectives
    }

    pub(super) fn source(&self, node: usize) -> Source {
        if node < self.instances * 3 {
            Source::Point(Point::of_node(node))
        } else if node == self.never() {
            Source::Never
        } else {
            Source::AllStarted(CollectiveId::new(node - self.instances * 3))
        }
    }

    pub(super) fn edges(&self, node: usize) -> &[(u32, Why)] {
        &self.edges[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }
}
