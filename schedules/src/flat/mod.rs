//! A schedule unrolled: one list of op instances, with every name resolved.
//!
//! Repeats are inlined, graph launches are followed by what they replay, groups and super kernels by
//! their parts; collectives are matched across ranks, and waits are bound to records as ACL does it
//! when they are issued. The simulator, happens-before and the explorer all start from here.
//!
//! Host calls inside a captured program are made once, at capture, and take no part in a replay;
//! only host functions do.

mod bind;
mod collective;
mod error;
mod id;
mod instance;
mod tables;
#[cfg(test)]
mod tests;
mod unroll;

use std::collections::HashMap;
use std::ops::{Index, Range};

pub use bind::{Binding, Refusal};
pub use collective::Collective;
pub use error::{CountError, FlatError};
pub use id::{CollectiveId, EventId, GraphId, InstanceId, NotifyId, StreamId, ThreadId, WordId};
pub use instance::{Instance, Role, Target};

use crate::ir::{Buffer, Event, Notify, Program, Schedule, Stream, VariableRef};
use unroll::Frame;

/// A schedule unrolled into instances, ordered by rank and then issue.
#[derive(Debug)]
pub struct Flat<'s> {
    schedule: &'s Schedule,
    instances: Vec<Instance<'s>>,
    frames: Vec<Frame<'s>>,
    ranks: Vec<(u32, Range<usize>)>,
    bindings: Vec<Option<Binding>>,
    collectives: Vec<Collective<'s>>,
    threads: Vec<(u32, &'s str)>,
    streams: Vec<(u32, Option<GraphId>, usize)>,
    events: Vec<(u32, usize)>,
    notifies: Vec<(u32, usize)>,
    words: Vec<(u32, (usize, u64))>,
    graphs: Vec<(u32, usize)>,
}

/// A stream instance.
#[derive(Clone, Copy, Debug)]
pub struct StreamInfo<'s> {
    /// The rank.
    pub rank: u32,
    /// Its declaration.
    pub stream: &'s Stream,
    /// The graph that it belongs to; none for a stream of the rank itself.
    pub graph: Option<GraphId>,
}

/// A 64-bit word of device memory.
#[derive(Clone, Copy, Debug)]
pub struct WordInfo<'s> {
    /// The rank whose memory it is in.
    pub rank: u32,
    /// The root buffer that holds it.
    pub buffer: &'s Buffer,
    /// Where it is there, in bytes.
    pub offset: u64,
}

impl<'s> Flat<'s> {
    /// Instances and iterations that [`Flat::new`] allows.
    pub const LIMIT: usize = 64_000_000;

    /// Unrolls a schedule with the nominal values of its variables.
    ///
    /// # Errors
    /// As [`Flat::with_values`].
    ///
    /// # Complexity
    /// O(instances + names) time and memory.
    pub fn new(schedule: &'s Schedule) -> Result<Self, FlatError> {
        let nominal: HashMap<&str, &[f64]> = schedule
            .variables
            .iter()
            .map(|variable| (variable.name.as_str(), variable.nominal.as_slice()))
            .collect();
        let value_of = |variable: &VariableRef| {
            let values = nominal.get(variable.name.as_str())?;
            values.get(variable.index as usize).copied()
        };
        Self::with_values(schedule, &value_of, Self::LIMIT)
    }

    /// Unrolls a schedule with the variables' values from `value_of` (they decide repeat counts), into
    /// at most `limit` instances and iterations.
    ///
    /// # Errors
    /// If it would be larger than `limit`, a repeat has no count, or the schedule is not valid.
    ///
    /// # Complexity
    /// O(instances + names) time and memory.
    pub fn with_values(
        schedule: &'s Schedule,
        value_of: &dyn Fn(&VariableRef) -> Option<f64>,
        limit: usize,
    ) -> Result<Self, FlatError> {
        let mut unrolled = unroll::unroll(schedule, value_of, limit)?;
        let collectives = collective::match_members(schedule, &mut unrolled)?;
        let events = std::mem::replace(&mut unrolled.events, tables::Interner::new()).into_keys();
        let bindings = bind::bind(schedule, &unrolled, &events);
        Ok(Self {
            schedule,
            bindings,
            collectives,
            events,
            instances: unrolled.instances,
            frames: unrolled.frames,
            ranks: unrolled.ranks,
            threads: unrolled.threads.into_keys(),
            streams: unrolled.streams.into_keys(),
            notifies: unrolled.notifies.into_keys(),
            words: unrolled.words.into_keys(),
            graphs: unrolled.graphs.into_keys(),
        })
    }

    /// The schedule.
    pub fn schedule(&self) -> &'s Schedule {
        self.schedule
    }

    /// All instances, by rank and issue order; their dense index is the issue index.
    pub fn instances(&self) -> &[Instance<'s>] {
        &self.instances
    }

    /// The ids of all instances, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = InstanceId> + ExactSizeIterator + use<> {
        (0..self.instances.len()).map(InstanceId::new)
    }

    /// The instances inside a launch, group or super kernel, at any depth; they follow it.
    pub fn inside(&self, id: InstanceId) -> impl DoubleEndedIterator<Item = InstanceId> + use<> {
        self[id].inside(id).map(InstanceId::new)
    }

    /// The ranks that run a program, ascending, each with its instances as dense indices.
    pub fn ranks(&self) -> &[(u32, Range<usize>)] {
        &self.ranks
    }

    /// What an op on an event does, as decided when it is issued; none for other instances.
    pub fn binding(&self, id: InstanceId) -> Option<Binding> {
        self.bindings[id.index()]
    }

    /// All collectives.
    pub fn collectives(&self) -> &[Collective<'s>] {
        &self.collectives
    }

    /// A collective.
    pub fn collective(&self, id: CollectiveId) -> &Collective<'s> {
        &self.collectives[id.index()]
    }

    /// How many host threads there are.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Rank and name of a host thread.
    pub fn thread(&self, id: ThreadId) -> (u32, &'s str) {
        self.threads[id.index()]
    }

    /// How many stream instances there are.
    pub fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// A stream instance.
    pub fn stream(&self, id: StreamId) -> StreamInfo<'s> {
        let (rank, graph, stream) = self.streams[id.index()];
        StreamInfo {
            rank,
            stream: &self.schedule.streams[stream],
            graph,
        }
    }

    /// How many events there are, over all ranks.
    pub fn event_count(&self) -> usize {
        self.events.len()
    }

    /// Rank and declaration of an event.
    pub fn event(&self, id: EventId) -> (u32, &'s Event) {
        let (rank, event) = self.events[id.index()];
        (rank, &self.schedule.events[event])
    }

    /// How many notifies there are, over all ranks.
    pub fn notify_count(&self) -> usize {
        self.notifies.len()
    }

    /// Rank (the one that waits) and declaration of a notify.
    pub fn notify(&self, id: NotifyId) -> (u32, &'s Notify) {
        let (rank, notify) = self.notifies[id.index()];
        (rank, &self.schedule.notifies[notify])
    }

    /// How many words value ops use, over all ranks.
    pub fn word_count(&self) -> usize {
        self.words.len()
    }

    /// A word.
    pub fn word(&self, id: WordId) -> WordInfo<'s> {
        let (rank, (buffer, offset)) = self.words[id.index()];
        WordInfo {
            rank,
            buffer: &self.schedule.buffers[buffer],
            offset,
        }
    }

    /// How many graphs there are, over all ranks.
    pub fn graph_count(&self) -> usize {
        self.graphs.len()
    }

    /// Rank and captured program of a graph.
    pub fn graph(&self, id: GraphId) -> (u32, &'s Program) {
        let (rank, program) = self.graphs[id.index()];
        (rank, &self.schedule.programs[program])
    }

    /// Whether a rank runs a program of the schedule, so that what it does is known.
    pub fn runs(&self, rank: u32) -> bool {
        self.ranks
            .binary_search_by_key(&rank, |entry| entry.0)
            .is_ok()
    }

    /// The path of an instance, for people: ids from the rank's program inwards, with the iteration
    /// of each repeat from 0, as in `step[2]/launch/gate`.
    pub fn path(&self, id: InstanceId) -> String {
        let instance = &self[id];
        unroll::path(&self.frames, instance.frame, instance.op)
    }

    /// The instance of a rank with this path.
    ///
    /// # Complexity
    /// O(instances of the rank).
    pub fn find(&self, rank: u32, path: &str) -> Option<InstanceId> {
        let at = self
            .ranks
            .binary_search_by_key(&rank, |entry| entry.0)
            .ok()?;
        let last = path.rsplit('/').next()?;
        self.ranks[at]
            .1
            .clone()
            .map(InstanceId::new)
            .find(|&id| self[id].op.id.as_str().ends_with(last) && self.path(id) == path)
    }
}

impl<'s> Index<InstanceId> for Flat<'s> {
    type Output = Instance<'s>;

    fn index(&self, id: InstanceId) -> &Instance<'s> {
        &self.instances[id.index()]
    }
}
