//! Sums a capture up: what `ascsim inspect PATH` shows.
//!
//! Everything is computed from the tasks and collectives. The profiler's own
//! step times stand beside ours for comparison only.

mod interval;
pub mod perturbation;
pub mod steps;
mod text;
pub mod usage;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

pub use perturbation::{Gaps, Perturbation, Verdict};
pub use steps::StepTimes;
pub use usage::{EngineUse, KindUse, StreamUse};

use crate::model::{Meta, Missing, Name, Note, PlaneKind, StepTrace};
use crate::pair::host::HostCounts;
use crate::pair::{EventLink, LinkClass, Links};
use crate::time::Span;
use crate::{Trace, TraceError};

/// Format of [`InspectReport`] as JSON. The number changes when a field changes
/// its meaning or goes; new fields do not change it.
pub const FORMAT: &str = "ascsim.inspect/1";

/// What a capture holds. Serializes as JSON of format [`FORMAT`]; shows itself
/// as text. Times are ns, spans relative to `epoch_ns`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InspectReport {
    /// [`FORMAT`].
    pub format: &'static str,
    /// The path as given.
    pub path: String,
    /// What is known of the capture itself.
    pub capture: Meta,
    /// Zero of all times, ns of the profiler's clock.
    pub epoch_ns: i64,
    /// From the first to the last task that is work.
    pub span: Span,
    /// Tasks on the device, all kinds.
    pub tasks: usize,
    /// Calls on the host that were kept.
    pub host_calls: usize,
    /// Streams by number.
    pub streams: Vec<StreamUse>,
    /// Tasks by engine.
    pub engines: Vec<EngineUse>,
    /// Tasks by kind.
    pub kinds: Vec<KindUse>,
    /// Steps by time.
    pub steps: Vec<StepReport>,
    /// Collectives by operation.
    pub collectives: Vec<CollectiveUse>,
    /// How the parts of the capture link up.
    pub links: LinkReport,
    /// How far its gaps can be believed.
    pub perturbation: Perturbation,
    /// What the capture lacks, and what that forbids.
    pub missing: Vec<Missing>,
    /// What else to know.
    pub notes: Vec<Note>,
}

/// One step, beside what the profiler says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StepReport {
    /// From the tasks.
    #[serde(flatten)]
    pub times: StepTimes,
    /// The row of `step_trace_time.csv`, for comparison only.
    pub profiler: Option<StepTrace>,
}

/// The collectives of one operation, algorithm and data type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CollectiveUse {
    /// Operation: `hcom_allReduce_`.
    pub operation: String,
    /// Algorithm as recorded.
    pub algorithm: Option<String>,
    /// Data type as recorded.
    pub data_type: Option<String>,
    /// How many.
    pub count: usize,
    /// Elements in all.
    pub elements: u64,
    /// Sum of their durations, waiting included, ns.
    pub time_ns: i64,
}

/// How many links are of each class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ClassCounts {
    /// Proven.
    pub paired: usize,
    /// Likeliest of several.
    pub guessed: usize,
    /// One end only.
    pub open: usize,
    /// Impossible as recorded.
    pub violated: usize,
}

/// How the parts of a capture link up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkReport {
    /// Tasks to host calls.
    pub host: HostCounts,
    /// What to add to device times so that no task starts before its call, ns.
    pub clock_offset_ns: i64,
    /// Event waits by class of their link.
    pub event_waits: ClassCounts,
    /// Event waits that blocked.
    pub blocking_waits: usize,
    /// Notify records within collectives; they pair with other ranks only.
    pub notify_records: usize,
    /// Notify waits within collectives.
    pub notify_waits: usize,
    /// Tasks that carry a collective.
    pub carry_collectives: usize,
    /// Collectives that no task carries.
    pub collectives_without_tasks: usize,
}

/// Reads the profile at `path` and sums it up.
///
/// # Errors
/// As [`crate::read()`]; also for the dump of a captured graph, which [`crate::dump::DumpReport`] sums up.
pub fn inspect(path: &Path) -> Result<InspectReport, TraceError> {
    let trace = crate::read(path)?;
    Ok(InspectReport::of(
        &path.display().to_string(),
        &trace,
        &Links::of(&trace),
    ))
}

impl InspectReport {
    /// Sums `trace` up, which was read from `path` and has the links `links`.
    ///
    /// # Complexity
    /// O(n log n) in the rows.
    pub fn of(path: &str, trace: &Trace, links: &Links) -> Self {
        let span = trace.work_span().unwrap_or(Span { start: 0, end: 0 });
        Self {
            format: FORMAT,
            path: path.to_owned(),
            capture: trace.meta.clone(),
            epoch_ns: trace.epoch_ns,
            span,
            tasks: trace.tasks.len(),
            host_calls: trace.host.len(),
            streams: usage::streams(trace, span),
            engines: usage::engines(trace, &links.carried),
            kinds: usage::kinds(trace),
            steps: step_reports(trace, &links.carried),
            collectives: collectives(trace),
            links: LinkReport::of(trace, links),
            perturbation: Perturbation::of(trace, &links.host),
            missing: trace.missing.clone(),
            notes: trace.notes.clone(),
        }
    }
}

fn step_reports(trace: &Trace, carried: &[Option<u32>]) -> Vec<StepReport> {
    let rows = steps::steps(trace, carried).into_iter();
    rows.map(|times| StepReport {
        times,
        profiler: trace
            .oracle
            .step_trace
            .iter()
            .find(|row| row.step == times.step)
            .copied(),
    })
    .collect()
}

fn collectives(trace: &Trace) -> Vec<CollectiveUse> {
    #[derive(Default)]
    struct Sum {
        count: usize,
        elements: u64,
        time_ns: i64,
    }
    let mut by_kind: BTreeMap<_, Sum> = BTreeMap::new();
    let text = |name: Option<Name>| name.map(|name| trace.name(name));
    for op in &trace.collectives {
        // `hcom_allReduce__586_0_1`: what follows the two lines tells calls apart.
        let name = trace.name(op.name);
        let operation = name.split("__").next().unwrap_or(name);
        let kind = (operation, text(op.algorithm), text(op.data_type));
        let sum = by_kind.entry(kind).or_default();
        sum.count += 1;
        sum.elements = sum.elements.saturating_add(op.count.unwrap_or_default());
        sum.time_ns = sum.time_ns.saturating_add(op.span.len());
    }
    let rows = by_kind.into_iter();
    rows.map(|((operation, algorithm, data_type), sum)| CollectiveUse {
        operation: operation.to_owned(),
        algorithm: algorithm.map(str::to_owned),
        data_type: data_type.map(str::to_owned),
        count: sum.count,
        elements: sum.elements,
        time_ns: sum.time_ns,
    })
    .collect()
}

impl ClassCounts {
    fn of(links: &[EventLink]) -> Self {
        let count = |class| links.iter().filter(|link| link.class == class).count();
        Self {
            paired: count(LinkClass::Paired),
            guessed: count(LinkClass::Guessed),
            open: count(LinkClass::Open),
            violated: count(LinkClass::Violated),
        }
    }
}

impl LinkReport {
    fn of(trace: &Trace, links: &Links) -> Self {
        let notifies = |kind| {
            trace
                .planes
                .iter()
                .filter(|plane| plane.kind == kind)
                .count()
        };
        let mut with_tasks = vec![false; trace.collectives.len()];
        for op in links.carried.iter().flatten() {
            if let Some(slot) = with_tasks.get_mut(*op as usize) {
                *slot = true;
            }
        }
        Self {
            host: links.host.counts(trace),
            clock_offset_ns: links.host.clock_offset_ns,
            event_waits: ClassCounts::of(&links.events),
            blocking_waits: links.events.iter().filter(|link| link.blocked).count(),
            notify_records: notifies(PlaneKind::NotifyRecord),
            notify_waits: notifies(PlaneKind::NotifyWait),
            carry_collectives: links.carried.iter().flatten().count(),
            collectives_without_tasks: with_tasks.iter().filter(|has| !**has).count(),
        }
    }
}
