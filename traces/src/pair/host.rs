//! Which host call issued a task.

use std::collections::HashMap;

use serde::Serialize;

use super::{LinkClass, LinkReason};
use crate::Trace;
use crate::model::{HostPoint, TaskKind};

/// The largest offset between host and device clocks that is believed, ns. The
/// worst seen is 24 µs on one rank and 78 µs between two devices
/// (facts/traces.md section 2.1).
pub const MAX_CLOCK_OFFSET_NS: i64 = 100_000;

/// The link of one task to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostLink {
    /// Index in [`Trace::host`] of the call that issued the task.
    pub call: Option<u32>,
    /// When and where it was issued: the call's start, or that of the profiler's
    /// flow arrow.
    pub issue: Option<HostPoint>,
    /// How sure that is.
    pub class: LinkClass,
    /// Why.
    pub reason: LinkReason,
    /// From the start of the call to that of the task, ns, clocks as recorded;
    /// negative if the task seems to start first.
    pub lead_ns: Option<i64>,
}

/// The links of all tasks to the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLinks {
    /// One per task, in the order of [`Trace::tasks`].
    pub tasks: Vec<HostLink>,
    /// What to add to device times, ns: the least that lets no task start before
    /// its call.
    pub clock_offset_ns: i64,
}

/// How many tasks are linked, for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct HostCounts {
    /// Tasks.
    pub tasks: usize,
    /// Linked to their call.
    pub linked: usize,
    /// Of these, how many start before it on the clocks as recorded.
    pub before_call: usize,
    /// Of these, how many still do once the clock offset is removed.
    pub violated: usize,
    /// Without a call: work.
    pub open_work: usize,
    /// Without a call: profiling switches and place holders.
    pub open_other: usize,
}

impl HostLinks {
    /// Links the tasks of `trace` by connection id, where there is no CANN lane
    /// by flow arrow.
    ///
    /// # Complexity
    /// Linear in tasks and calls.
    pub fn of(trace: &Trace) -> Self {
        let mut calls: HashMap<u64, u32> = HashMap::new();
        for (index, call) in trace.host.iter().enumerate() {
            // Rows are sorted by start: of several with one id the first counts.
            if let (true, Some(id), Ok(index)) =
                (call.kind.is_cann(), call.connection, u32::try_from(index))
            {
                calls.entry(id).or_insert(index);
            }
        }
        let mut tasks: Vec<HostLink> = trace
            .tasks
            .iter()
            .map(|task| {
                let call = task.connection.and_then(|id| calls.get(&id)).copied();
                let by_call = call.map(|index| {
                    let call = &trace.host[index as usize];
                    HostPoint {
                        thread: call.thread,
                        at: call.span.start,
                    }
                });
                let issue = by_call.or(task.launch);
                let (class, reason) = match (by_call, issue) {
                    (Some(_), _) => (LinkClass::Paired, LinkReason::Connection),
                    (None, Some(_)) => (LinkClass::Paired, LinkReason::Flow),
                    (None, None) => (LinkClass::Open, LinkReason::NoCandidate),
                };
                let lead_ns = issue.map(|issue| task.span.start - issue.at);
                HostLink {
                    call,
                    issue,
                    class,
                    reason,
                    lead_ns,
                }
            })
            .collect();
        let leads = tasks.iter().filter_map(|link| link.lead_ns);
        let believed = leads.filter(|&lead| (-MAX_CLOCK_OFFSET_NS..0).contains(&lead));
        let clock_offset_ns = believed.min().map_or(0, |lead| -lead);
        for link in &mut tasks {
            if link.lead_ns.is_some_and(|lead| lead + clock_offset_ns < 0) {
                (link.class, link.reason) = (LinkClass::Violated, LinkReason::BeforeCall);
            }
        }
        Self {
            tasks,
            clock_offset_ns,
        }
    }

    /// Counts for a report on `trace`, whose links these are.
    pub fn counts(&self, trace: &Trace) -> HostCounts {
        let mut counts = HostCounts {
            tasks: self.tasks.len(),
            ..HostCounts::default()
        };
        for (link, task) in self.tasks.iter().zip(&trace.tasks) {
            match link.lead_ns {
                Some(lead) => {
                    counts.linked += 1;
                    counts.before_call += usize::from(lead < 0);
                    counts.violated += usize::from(link.class == LinkClass::Violated);
                }
                None if matches!(task.kind, TaskKind::Profiling | TaskKind::PlaceHolder) => {
                    counts.open_other += 1;
                }
                None => counts.open_work += 1,
            }
        }
        counts
    }
}
