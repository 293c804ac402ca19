//! Whether the profiler itself bent the timeline.

use std::collections::HashMap;

use serde::Serialize;

use crate::Trace;
use crate::model::{DeviceTask, Engine, TaskKind};
use crate::pair::HostLinks;

/// A gap counts as one of a queued kernel if the host issued the kernel at least
/// this long before the one ahead of it ended, ns: then only the device can have
/// caused it.
const QUEUED_NS: i64 = 50_000;

/// Least gap of queued kernels above which a capture with unknown settings is
/// suspected, ns. Clean captures have gaps of one 20 ns tick, perturbed ones
/// 84 µs and more (facts/traces.md section 2.6).
const SUSPECT_NS: i64 = 50_000;

/// Gaps needed for a suspicion.
const SUSPECT_GAPS: usize = 20;

/// What is known of the perturbation of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// L2 counters were off.
    Clean,
    /// L2 counters were on: durations and event order are good, gaps are not.
    Perturbed,
    /// The settings are unknown, but the gaps look like those of a perturbed
    /// capture.
    Suspected,
    /// The settings are unknown.
    Unknown,
}

/// Gaps between a plain (not MIX) kernel and the kernel behind it on its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Gaps {
    /// How many.
    pub count: usize,
    /// The least, ns.
    pub min_ns: i64,
    /// The median (the lower of two), ns.
    pub median_ns: i64,
}

/// How far gaps of a capture can be believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Perturbation {
    /// What is known.
    pub verdict: Verdict,
    /// Why, and what follows.
    pub text: String,
    /// All gaps; `None` without any.
    pub gaps: Option<Gaps>,
    /// Those of kernels that were queued long before; `None` without any, or
    /// without host times.
    pub queued_gaps: Option<Gaps>,
}

impl Perturbation {
    /// Judges `trace`, whose host links are `host`.
    ///
    /// # Complexity
    /// O(n log n) in the tasks.
    pub fn of(trace: &Trace, host: &HostLinks) -> Self {
        let (mut all, mut queued) = (Vec::new(), Vec::new());
        let mut ahead: HashMap<u32, &DeviceTask> = HashMap::new();
        for (task, link) in trace.tasks.iter().zip(&host.tasks) {
            let Some(before) = ahead.insert(task.stream, task) else {
                continue;
            };
            let gap = task.span.start - before.span.end;
            if task.kind != TaskKind::Kernel || !is_plain_kernel(before) || gap < 0 {
                continue;
            }
            all.push(gap);
            let issue = link.issue.map(|issue| issue.at - host.clock_offset_ns);
            if issue.is_some_and(|issue| issue + QUEUED_NS <= before.span.end) {
                queued.push(gap);
            }
        }
        let (gaps, queued_gaps) = (summary(all), summary(queued));
        let looks_perturbed =
            queued_gaps.is_some_and(|g| g.count >= SUSPECT_GAPS && g.min_ns >= SUSPECT_NS);
        let consequence = "kernel durations and event order are good, gaps between kernels and free time are not: answers are to be given with the clean gap table too, and ranked by that";
        let (verdict, text) = match trace.meta.l2_cache {
            Some(true) => (
                Verdict::Perturbed,
                format!(
                    "l2_cache was on, which delays the task after every plain kernel; {consequence}"
                ),
            ),
            Some(false) => (
                Verdict::Clean,
                "l2_cache was off; gaps are as they ran".to_owned(),
            ),
            None if looks_perturbed => (
                Verdict::Suspected,
                format!(
                    "the l2_cache setting is not recorded, but even queued kernels have long gaps; {consequence}"
                ),
            ),
            None => (
                Verdict::Unknown,
                "the l2_cache setting is not recorded; gaps may be perturbed".to_owned(),
            ),
        };
        Self {
            verdict,
            text,
            gaps,
            queued_gaps,
        }
    }
}

fn is_plain_kernel(task: &DeviceTask) -> bool {
    task.kind == TaskKind::Kernel
        && matches!(task.engine, Engine::Aic | Engine::Aiv | Engine::AiCore)
}

fn summary(mut gaps: Vec<i64>) -> Option<Gaps> {
    gaps.sort_unstable();
    let min_ns = *gaps.first()?;
    let median_ns = *gaps.get((gaps.len() - 1) / 2)?;
    Some(Gaps {
        count: gaps.len(),
        min_ns,
        median_ns,
    })
}
