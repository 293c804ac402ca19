//! Replays of captures: how well a recovered schedule reproduces what was observed.

use std::collections::BTreeMap;

use ascsim_schedules::DelayCause;
use ascsim_schedules::flat::{Flat, FlatError};
use ascsim_traces::recover::{Assumed, ImportSummary, Recovered};
use serde::Serialize;

use super::forced::{Attribution, apply, attribute, is_observed_task, per_instance, ps};
use super::parameters::Parameters;
use super::predict::{From, run};
use crate::blame::{Blame, Category};
use crate::compile::{CompileError, compile};
use crate::compiled::{Compiled, Role, UNKNOWN};
use crate::costs::Options;
use crate::critical::{CriticalPath, Part};
use crate::engine::{SimError, Simulator};
use crate::simulate::named;
use crate::timeline::Timeline;
use crate::times::Times;

/// Why a capture cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Its schedule is not valid.
    #[error(transparent)]
    Flat(#[from] FlatError),
    /// Its schedule cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Its replay has no result.
    #[error(transparent)]
    Run(#[from] SimError),
}

/// What a replay uses of the observed delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Delays {
    /// All of them: a check of the import, and no prediction.
    Observed,
    /// None: gaps, launches and events take their medians.
    None,
}

/// Errors of start times, ps: simulated less observed, without sign, on one common clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Errors {
    /// Tasks compared.
    pub tasks: usize,
    /// Half are below it.
    pub median: u64,
    /// Nine of ten are below it.
    pub p90: u64,
    /// 99 of 100 are below it.
    pub p99: u64,
    /// The greatest.
    pub max: u64,
}

impl Errors {
    /// Sums errors up. O(n log n).
    pub fn of(mut errors: Vec<u64>) -> Self {
        errors.sort_unstable();
        let at = |hundredths: usize| {
            let last = errors.len().saturating_sub(1);
            // Rounded up, so that no share is flattered.
            errors
                .get((last * hundredths).div_ceil(100))
                .copied()
                .unwrap_or(0)
        };
        Self {
            tasks: errors.len(),
            median: at(50),
            p90: at(90),
            p99: at(99),
            max: at(100),
        }
    }
}

/// How a replay went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replay {
    /// What was used of the observed delays.
    pub delays: Delays,
    /// Start errors of the tasks of captured ranks.
    pub starts: Errors,
    /// Signed start error of each task, ps, by rank and op id.
    #[serde(skip)]
    pub each: BTreeMap<(u32, String), i64>,
    /// From the first to the last task of the captured ranks as observed, ps.
    pub observed: u64,
    /// As simulated, ps.
    pub simulated: u64,
    /// How sure the links are, and what was assumed.
    pub summary: ImportSummary,
    /// What the simulated time went to: each category with its time on the critical path, ps.
    pub blame: BTreeMap<&'static str, u64>,
    /// Time on the critical path that is a delay, by class, ps.
    pub classes: BTreeMap<&'static str, u64>,
    /// Length of the critical path, ps: from the start of the schedule.
    pub path: u64,
    /// Tasks observed earlier than the schedule allows.
    pub too_early: usize,
    /// What else a reader has to know.
    pub notes: Vec<String>,
}

impl Replay {
    /// The share of a class of delays on the critical path, 0 to 1.
    pub fn share(&self, class: &str) -> f64 {
        let time = self.classes.get(class).copied().unwrap_or(0);
        if self.path == 0 {
            return 0.0;
        }
        time as f64 / self.path as f64
    }
}

/// The name of a class of delays.
pub(super) fn class(cause: DelayCause) -> &'static str {
    match cause {
        DelayCause::Recorded => "recorded",
        DelayCause::External => "external",
        DelayCause::HostThink => "host think",
        DelayCause::Unexplained => "unexplained",
    }
}

pub(super) fn compiled(flat: &Flat<'_>, options: &Options) -> Result<Compiled, ReplayError> {
    Ok(compile(flat, options)?)
}

/// Replays recovered captures and compares all starts.
///
/// # Errors
/// If the schedule is not valid, cannot be compiled, or deadlocks.
///
/// # Complexity
/// That of [`attribute()`] and of a simulation, several times.
pub fn replay(recovered: &Recovered, delays: Delays) -> Result<Replay, ReplayError> {
    let parameters = Parameters::fit([recovered])?;
    let options = parameters.least();
    let bare = Flat::new(&recovered.schedule)?;
    let found = attribute(recovered, &compiled(&bare, &options)?, &options);
    match delays {
        Delays::Observed => {
            let mut delayed = recovered.clone();
            apply(&mut delayed, &found);
            let flat = Flat::new(&delayed.schedule)?;
            let program = compiled(&flat, &options)?;
            let times = program.times().clone();
            let run = Run::new(&flat, program, options, times)?;
            Ok(report(recovered, &flat, &run, &found, delays))
        }
        Delays::None => {
            let run = run(recovered, &bare, &parameters, From::default())?;
            Ok(report(recovered, &bare, &run, &found, delays))
        }
    }
}

/// The share of the critical path, 0 to 1, above which a replay says what its unexplained delays are.
const EXPLAINED: f64 = 0.1;

/// What the unexplained delays on the critical path are: where the host was not captured, what it did; and
/// before which kinds of tasks they lie, the longest first.
fn rest(share: f64, recovered: &Recovered, program: &Compiled, path: &CriticalPath) -> String {
    let mut before: BTreeMap<&'static str, (u64, usize)> = BTreeMap::new();
    for segment in &path.segments {
        let at = segment.instance as usize;
        if segment.part == Part::Delay && program.cause[at] == DelayCause::Unexplained {
            let kind = match program.role[at] {
                Role::Host => "host call",
                _ => program.kind[at].name(),
            };
            let sum = before.entry(kind).or_default();
            *sum = (sum.0 + segment.to - segment.from, sum.1 + 1);
        }
    }
    let mut before: Vec<_> = before.into_iter().collect();
    before.sort_by_key(|(kind, (time, _))| (std::cmp::Reverse(*time), *kind));
    let list: Vec<String> = before
        .iter()
        .take(3)
        .map(|(kind, (time, count))| {
            format!(
                "{:.3} ms before {count} tasks of kind {kind}",
                *time as f64 / 1e9
            )
        })
        .collect();
    let blind = recovered
        .summary
        .assumed
        .iter()
        .any(|assumed| matches!(assumed, Assumed::NoCalls { .. }));
    let why = if blind {
        "the capture has no host calls for them, so that what the host did and what else the streams waited for is in there"
    } else {
        "neither a call, a link nor another task of the capture accounts for it"
    };
    format!(
        "{:.1} % of the critical path is unexplained: {}; {why}",
        100.0 * share,
        list.join(", ")
    )
}

/// A simulation with all that went into it.
#[derive(Debug)]
pub(super) struct Run {
    program: Compiled,
    options: Options,
    times: Times,
    pub(super) timeline: Timeline,
}

impl Run {
    pub(super) fn new(
        flat: &Flat<'_>,
        program: Compiled,
        options: Options,
        times: Times,
    ) -> Result<Self, ReplayError> {
        let mut simulator = Simulator::new();
        if let Err(error) = simulator.run(&program, &options, &times) {
            return Err(named(flat, error).into());
        }
        Ok(Self {
            program,
            options,
            times,
            timeline: simulator.take(),
        })
    }
}

fn report(
    recovered: &Recovered,
    flat: &Flat<'_>,
    run: &Run,
    found: &Attribution,
    delays: Delays,
) -> Replay {
    let compared = compare(recovered, flat, &run.timeline);
    let program = &run.program;
    let path = CriticalPath::new(program, &run.options, &run.times, &run.timeline);
    let blame = Blame::new(&path, 0);
    let mut classes: BTreeMap<&'static str, u64> = BTreeMap::new();
    for segment in path
        .segments
        .iter()
        .filter(|segment| segment.part == Part::Delay)
    {
        let cause = program.cause[segment.instance as usize];
        *classes.entry(class(cause)).or_default() += segment.to - segment.from;
    }
    let mut notes = Vec::new();
    let passed = compared.passed;
    if passed > 0 {
        notes.push(format!(
            "{passed} event waits are not compared: their record had ended when they were issued, so that by the rules of events nothing is queued"
        ));
    }
    if delays == Delays::None {
        notes.push(
            "without delays: gaps, launches and events take their medians over the same capture"
                .to_owned(),
        );
    }
    if recovered
        .seen
        .iter()
        .any(|rank| rank.perturbed == Some(true))
    {
        notes.push("L2 counters were on while this was captured: its gaps are not those of a run without a profiler".to_owned());
    }
    if !found.violations.is_empty() {
        let worst = found.violations.iter().map(|violation| violation.ps).max();
        notes.push(format!(
            "{} ops were observed earlier than the schedule allows, by up to {:.3} us: a link or a clock is wrong",
            found.violations.len(),
            worst.unwrap_or(0) as f64 / 1e6
        ));
    }
    let unexplained = classes.get(class(DelayCause::Unexplained)).copied();
    let share = unexplained.unwrap_or(0) as f64 / blame.total().max(1) as f64;
    if delays == Delays::Observed && share > EXPLAINED {
        notes.push(rest(share, recovered, program, &path));
    }
    let errors = compared.each.values().map(|error| error.unsigned_abs());
    Replay {
        delays,
        starts: Errors::of(errors.collect()),
        observed: compared.observed,
        simulated: compared.simulated,
        each: compared.each,
        summary: recovered.summary.clone(),
        blame: blame
            .iter()
            .map(|(category, ps)| (Category::name(category), ps))
            .collect(),
        classes,
        path: blame.total(),
        too_early: found.violations.len(),
        notes,
    }
}

/// Simulated against observed starts.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Signed error in ps by rank and op.
    pub(super) each: BTreeMap<(u32, String), i64>,
    pub(super) observed: u64,
    pub(super) simulated: u64,
    /// Waits that were never queued.
    passed: usize,
}

pub(super) fn compare(recovered: &Recovered, flat: &Flat<'_>, timeline: &Timeline) -> Compared {
    let seen = per_instance(recovered);
    let mut compared = Compared::default();
    let (mut first, mut last) = (u64::MAX, 0);
    let (mut first_seen, mut last_seen) = (u64::MAX, 0);
    for (at, instance) in flat.instances().iter().enumerate() {
        let mut ranks = recovered.seen.iter();
        let captured = ranks.any(|seen| seen.rank == instance.rank && seen.captured);
        if !captured || !is_observed_task(flat, &seen, at as u32) {
            continue;
        }
        let Some(task) = seen[at].task else { continue };
        first_seen = first_seen.min(ps(task.start));
        last_seen = last_seen.max(ps(task.end));
        let (start, end) = (timeline.start[at], timeline.end[at]);
        if start == UNKNOWN || !timeline.was_queued(at as u32) {
            compared.passed += 1;
            continue;
        }
        first = first.min(start);
        last = last.max(end);
        // Both are far below half of what 64 bits hold.
        let error = start as i64 - ps(task.start) as i64;
        let id = instance.op.id.as_str().to_owned();
        compared.each.insert((instance.rank, id), error);
    }
    compared.observed = last_seen.saturating_sub(first_seen);
    compared.simulated = last.saturating_sub(first);
    compared
}
