//! Which step a call or task belongs to.

use std::collections::{BTreeMap, HashMap};

use crate::Trace;
use crate::model::HostKind;
use crate::pair::Links;

/// Finds the step of calls and tasks of one capture.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    trace: &'a Trace,
    /// Per thread: the dequeue rows by start, each with its end and when what it took was put into
    /// the queue.
    taken: HashMap<u64, BTreeMap<i64, (i64, i64)>>,
    /// Whether host rows mark the steps.
    is_marked: bool,
}

impl<'a> Steps<'a> {
    /// O(n log n) in the host rows.
    pub(super) fn new(trace: &'a Trace) -> Self {
        let rows = |kind| trace.host.iter().filter(move |call| call.kind == kind);
        let put: HashMap<u64, i64> = rows(HostKind::Enqueue)
            .filter_map(|call| Some((call.correlation?, call.span.start)))
            .collect();
        let mut taken: HashMap<u64, BTreeMap<i64, (i64, i64)>> = HashMap::new();
        for call in rows(HostKind::Dequeue) {
            if let Some(put) = call.correlation.and_then(|id| put.get(&id)) {
                let rows = taken.entry(call.thread).or_default();
                rows.insert(call.span.start, (call.span.end, *put));
            }
        }
        let is_marked = rows(HostKind::Annotation).next().is_some();
        Self {
            trace,
            taken,
            is_marked,
        }
    }

    /// The step in which a moment of a thread lies. What a worker takes from a queue belongs to
    /// the step in which it was put there.
    pub(super) fn of_host(&self, thread: u64, at: i64) -> Option<u32> {
        let rows = self.taken.get(&thread);
        let row = rows.and_then(|rows| rows.range(..=at).next_back());
        let at = match row {
            Some((_, (end, put))) if at <= *end => *put,
            _ => at,
        };
        self.at(at)
    }

    /// The step whose marker holds a moment.
    fn at(&self, at: i64) -> Option<u32> {
        let after = self
            .trace
            .steps
            .partition_point(|step| step.span.start <= at);
        let step = self.trace.steps.get(after.checked_sub(1)?)?;
        (at <= step.span.end).then_some(step.number)
    }

    /// The step of a task: that of its call, else the one the kernel table names.
    pub(super) fn of_task(&self, links: &Links, task: usize) -> Option<u32> {
        let issue = links.host.tasks.get(task).and_then(|link| link.issue);
        if let Some(issue) = issue {
            return self.of_host(issue.thread, issue.at);
        }
        let task = self.trace.tasks.get(task)?;
        let detail = task
            .detail
            .and_then(|at| self.trace.details.get(at as usize));
        match detail.and_then(|detail| detail.step) {
            // Steps of a sunk graph are marked on the device's own clock.
            None if !self.is_marked => self.at(task.span.start),
            known => known,
        }
    }
}
