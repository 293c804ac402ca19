//! What a replay without delays needs to know, fitted to captures.

use std::collections::BTreeMap;

use ascsim_schedules::flat::Flat;
use ascsim_schedules::{HostKind, OpKind};
use ascsim_traces::recover::Recovered;
use serde::Serialize;

use super::forced::{Attribution, Bound, per_instance, ps};
use super::replay::{ReplayError, compiled};
use crate::compiled::{NONE, Role, UNKNOWN};
use crate::costs::{Gaps, Latencies, Options, TaskKind};

/// How a measured quantity is spread, ps. Only the latency of launches can be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// How many values.
    pub count: usize,
    /// The least.
    pub min: i64,
    /// A tenth is below it.
    pub p10: i64,
    /// The lower of two medians.
    pub median: i64,
    /// A tenth is above it.
    pub p90: i64,
    /// The greatest.
    pub max: i64,
}

impl Spread {
    /// The spread of some values; `None` without any. O(n log n).
    pub fn of(mut values: Vec<i64>) -> Option<Self> {
        values.sort_unstable();
        let at = |tenths: usize| {
            values
                .get((values.len().checked_sub(1)?) * tenths / 10)
                .copied()
        };
        Some(Self {
            count: values.len(),
            min: at(0)?,
            p10: at(1)?,
            median: at(5)?,
            p90: at(9)?,
            max: at(10)?,
        })
    }
}

/// The parameters of captures, each with its spread in ps. Fit them to one or several recovered schedules.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Parameters {
    /// From the end of a task to the start of the next on its stream, when that had long been issued.
    #[serde(skip)]
    pub gaps: BTreeMap<(TaskKind, TaskKind), Spread>,
    /// As [`Parameters::gaps`], whatever the next task waited for: the least is a bound.
    #[serde(skip)]
    pub all_gaps: BTreeMap<(TaskKind, TaskKind), Spread>,
    /// From the end of a call to the start of its task, when the stream was free. Negative where
    /// tasks start before their calls return (facts/traces.md section 2.1).
    pub launch: Option<Spread>,
    /// From the end of a record to the end of a wait that it ended.
    pub event: Option<Spread>,
    /// From the end of the work that a host synchronisation waited for to its return.
    pub synchronise: Option<Spread>,
    /// From when something was handed over to when a waiting thread took it.
    pub hand_over: Option<Spread>,
    /// How long host calls take, by name of the call; by op id for those that issue a task.
    pub calls: BTreeMap<String, Spread>,
    /// How long tasks take, by op id.
    pub durations: BTreeMap<String, Spread>,
}

/// One launch on a stream that had nothing else to do.
#[derive(Debug)]
struct Launch {
    /// Kinds of the task before it and its own, and the time between them, ps.
    gap: Option<((TaskKind, TaskKind), i64)>,
    /// From the start of its call, ps.
    lead: i64,
    /// From the end of its call, ps.
    latency: i64,
}

/// The values before they are summed up.
#[derive(Debug, Default)]
struct Values {
    gaps: BTreeMap<(TaskKind, TaskKind), Vec<i64>>,
    all_gaps: BTreeMap<(TaskKind, TaskKind), Vec<i64>>,
    launch: Vec<Launch>,
    event: Vec<i64>,
    synchronise: Vec<i64>,
    hand_over: Vec<i64>,
    calls: BTreeMap<String, Vec<i64>>,
    durations: BTreeMap<String, Vec<i64>>,
}

impl Parameters {
    /// Fits the parameters to recovered schedules.
    ///
    /// # Errors
    /// If one of them cannot be compiled.
    ///
    /// # Complexity
    /// O(n log n) in the instances.
    pub fn fit<'a>(
        recovered: impl IntoIterator<Item = &'a Recovered>,
    ) -> Result<Self, ReplayError> {
        let mut values = Values::default();
        for recovered in recovered {
            values.add(recovered)?;
        }
        fn spreads<K: Ord>(map: BTreeMap<K, Vec<i64>>) -> BTreeMap<K, Spread> {
            let map = map.into_iter();
            map.filter_map(|(key, list)| Some((key, Spread::of(list)?)))
                .collect()
        }
        let gaps: BTreeMap<_, Spread> = spreads(values.gaps);
        // A task that was issued just after the one before it ended may have waited for the gap.
        let is_free = |launch: &Launch| match launch.gap {
            Some((kinds, gap)) => gaps
                .get(&kinds)
                .is_none_or(|known| gap > known.p90.saturating_add(launch.lead)),
            None => true,
        };
        let free = values.launch.iter().filter(|launch| is_free(launch));
        let launch = free.map(|launch| launch.latency).collect();
        Ok(Self {
            gaps,
            all_gaps: spreads(values.all_gaps),
            launch: Spread::of(launch),
            event: Spread::of(values.event),
            synchronise: Spread::of(values.synchronise),
            hand_over: Spread::of(values.hand_over),
            calls: spreads(values.calls),
            durations: spreads(values.durations),
        })
    }

    /// Options in which everything takes as little as it ever took, so that what is left is never
    /// negative.
    pub fn least(&self) -> Options {
        // A call's own time ends when its task starts, so that the least launch is none.
        self.options(|spread| spread.min, &self.all_gaps)
    }

    /// Options in which everything takes its median.
    pub fn median(&self) -> Options {
        let mut options = self.options(|spread| spread.median, &self.gaps);
        options.latencies.launch = clip(self.launch.map_or(0, |spread| spread.median));
        options
    }

    fn options(
        &self,
        value: fn(&Spread) -> i64,
        from: &BTreeMap<(TaskKind, TaskKind), Spread>,
    ) -> Options {
        let mut gaps = Gaps::default();
        for ((first, second), spread) in from {
            // A gap that was never seen of a task that had long been issued may be all host time.
            if self.gaps.contains_key(&(*first, *second)) {
                gaps.set(*first, *second, clip(value(spread)));
            }
        }
        Options {
            gaps,
            latencies: Latencies {
                event: clip(self.event.as_ref().map_or(0, value)),
                ..Latencies::default()
            },
            ..Options::default()
        }
    }
}

impl Values {
    fn add(&mut self, recovered: &Recovered) -> Result<(), ReplayError> {
        let options = Options::default();
        let flat = Flat::new(&recovered.schedule)?;
        let program = compiled(&flat, &options)?;
        let found = super::attribute(recovered, &program, &options);
        let seen = per_instance(recovered);
        let captured = |rank| {
            let mut ranks = recovered.seen.iter();
            ranks.any(|seen| seen.rank == rank && seen.captured)
        };
        for (at, instance) in flat.instances().iter().enumerate() {
            if !captured(instance.rank) {
                // No gap that was seen, but a bound: the least gap must not hold an arrival up.
                let before = before(&program, &found, at).filter(|_| found.start[at] != UNKNOWN);
                if let Some(before) = before {
                    let gap = between(found.end[before], found.start[at]);
                    let kinds = (program.kind[before], program.kind[at]);
                    self.all_gaps.entry(kinds).or_default().push(gap);
                }
                continue;
            }
            let row = seen[at].call;
            let length = row.map(|row| between(0, ps(row.len())));
            if let OpKind::Host(kind) = &instance.op.kind {
                self.host(kind, program.times.duration[at], at, &found);
                let name = instance.op.tags.get("call");
                if let (Some(name), Some(length), HostKind::Work) = (name, length, kind) {
                    self.calls.entry(name.to_owned()).or_default().push(length);
                }
                continue;
            }
            let Some(task) = seen[at].task else { continue };
            if found.base[at] == UNKNOWN {
                continue;
            }
            let id = instance.op.id.as_str();
            if let Some(length) = length {
                self.calls.entry(id.to_owned()).or_default().push(length);
            }
            if instance.op.duration.is_some() {
                let duration = between(0, program.times.duration[at]);
                self.durations
                    .entry(id.to_owned())
                    .or_default()
                    .push(duration);
            }
            let start = found.start[at];
            // The latency of an event is not part of the gap after its wait.
            let end = |before: usize| match (program.role[before], seen[before].task) {
                (Role::Wait, Some(task)) => found.end[before].max(ps(task.end)),
                _ => found.end[before],
            };
            match found.bound[at] {
                Bound::Stream(before) => {
                    let gap = between(end(before as usize), start);
                    let kinds = (program.kind[before as usize], program.kind[at]);
                    self.all_gaps.entry(kinds).or_default().push(gap);
                    self.gaps.entry(kinds).or_default().push(gap);
                }
                Bound::Host | Bound::Other => {
                    let before = before(&program, &found, at);
                    let gap = before.map(|before| {
                        let kinds = (program.kind[before], program.kind[at]);
                        (kinds, between(end(before), start))
                    });
                    if let Some((kinds, gap)) = gap {
                        self.all_gaps.entry(kinds).or_default().push(gap);
                    }
                    if let (Bound::Host, Some(row)) = (found.bound[at], row) {
                        self.launch.push(Launch {
                            gap,
                            lead: between(ps(row.start), start),
                            latency: between(ps(row.end), start),
                        });
                    }
                }
            }
            if program.role[at] == Role::Wait && found.end[at] > start {
                let needs = program.end_needs.of(at as u32).iter();
                let record = needs.map(|need| found.end[need.on as usize]).max();
                if let Some(record) = record {
                    self.event.push(between(record, ps(task.end)));
                }
            }
        }
        Ok(())
    }

    /// `own`: what the op takes besides waiting, ps.
    fn host(&mut self, kind: &HostKind, own: u64, at: usize, found: &Attribution) {
        use ascsim_schedules::SyncTarget;
        match kind {
            HostKind::Synchronise(SyncTarget::Event(event))
                if event.as_str().starts_with("hand-over") && found.delay[at] > 0 =>
            {
                self.hand_over.push(between(0, found.delay[at]));
            }
            HostKind::Synchronise(SyncTarget::Event(event))
                if event.as_str().starts_with("hand-over") => {}
            HostKind::Synchronise(_) => {
                self.synchronise.push(between(0, own));
            }
            _ => {}
        }
    }
}

/// The time from `start` to `end`, both far below half of what 64 bits hold.
fn between(start: u64, end: u64) -> i64 {
    end as i64 - start as i64
}

/// A time that cannot be negative.
pub(super) fn clip(ps: i64) -> u64 {
    u64::try_from(ps).unwrap_or(0)
}

/// The queued task before an instance on its stream.
fn before(program: &crate::compiled::Compiled, found: &Attribution, at: usize) -> Option<usize> {
    if program.stream[at] == NONE {
        return None;
    }
    let tasks = program.streams.of(program.stream[at]);
    let place = tasks.partition_point(|task| (*task as usize) < at);
    let earlier = tasks[..place].iter().rev().map(|task| *task as usize);
    earlier
        .into_iter()
        .find(|task| found.base[*task] != UNKNOWN)
}
