//! What a simulation yields: when everything happened.

use crate::compiled::{Compiled, NONE, UNKNOWN};

/// Where the makespan begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The start of the step on the host, time 0: what a caller waits for.
    #[default]
    Host,
    /// The start of the first device task: what a device profile shows.
    Device,
}

/// When every instance happened, in ps from the start of the step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// End of the call that issues it; 0 for the parts of groups and graphs, which no call issues.
    pub issued: Vec<u64>,
    /// When its task had everything it needs but cores. `u64::MAX` for host ops, and for event
    /// waits that were not queued because the record had ended before.
    pub ready: Vec<u64>,
    /// Start of its task. A wait starts when its stream gets there, a host op when its thread does.
    pub start: Vec<u64>,
    /// End of its task or host op.
    pub end: Vec<u64>,
    /// The instance whose signal (flag, notify, value) released a wait, or that gave back the cores
    /// a task waited for; `u32::MAX` where none did.
    pub released_by: Vec<u32>,
}

impl Timeline {
    /// Makes room for `count` instances and forgets all times.
    pub(crate) fn reset(&mut self, count: usize) {
        for list in [
            &mut self.issued,
            &mut self.ready,
            &mut self.start,
            &mut self.end,
        ] {
            list.clear();
            list.resize(count, UNKNOWN);
        }
        self.released_by.clear();
        self.released_by.resize(count, NONE);
    }

    /// Number of instances.
    pub fn len(&self) -> usize {
        self.end.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.end.is_empty()
    }

    /// Whether the instance took a place on a stream.
    pub fn was_queued(&self, instance: u32) -> bool {
        self.ready[instance as usize] != UNKNOWN
    }

    /// Instances that took a place on a stream, in order.
    pub fn tasks(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len() as u32).filter(|instance| self.was_queued(*instance))
    }

    /// The queued tasks of one stream in order; see [`Compiled::stream_count`].
    pub fn stream<'a>(
        &'a self,
        compiled: &'a Compiled,
        stream: u32,
    ) -> impl Iterator<Item = u32> + 'a {
        let tasks = compiled.streams.of(stream).iter().copied();
        tasks.filter(|instance| self.was_queued(*instance))
    }

    /// The task that ends last, the first of them on a tie; none if there is no task.
    pub fn last(&self) -> Option<u32> {
        self.tasks()
            .max_by_key(|task| (self.end[*task as usize], std::cmp::Reverse(*task)))
    }

    /// Where the makespan begins and ends, in ps; none if there is no task.
    pub fn span(&self, origin: Origin) -> Option<(u64, u64)> {
        let end = self.end[self.last()? as usize];
        let start = match origin {
            Origin::Host => 0,
            Origin::Device => self.tasks().map(|task| self.start[task as usize]).min()?,
        };
        Some((start, end))
    }

    /// The makespan in ps, up to the end of the last device task; 0 if there is no task.
    pub fn makespan(&self, origin: Origin) -> u64 {
        self.span(origin).map_or(0, |(start, end)| end - start)
    }
}
