//! One schedule simulated and summed up.

use std::collections::BTreeMap;

use ascsim_schedules::Schedule;
use ascsim_schedules::flat::{Flat, FlatError, InstanceId, Role};
use ascsim_schedules::rewrite::{Note, RewriteError};
use ascsim_sim::{
    Blame, CompileError, Compiled, CriticalPath, Deadlock, HostCosts, Options, Origin, SimError,
    Simulator, Timeline, compile, named,
};

use crate::overlap::overlaps;
use crate::result::{BlameEntry, Hang, PathEntry, Range, Side, StreamLine, StreamTask};
use crate::spread::Spread;

/// Why a study has no answer.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A change was refused.
    #[error("`{change}` is refused: {source}")]
    Refused {
        /// The change as given.
        change: String,
        /// Why.
        source: Box<RewriteError>,
    },
    /// The schedule cannot be unrolled.
    #[error(transparent)]
    Flat(#[from] FlatError),
    /// The schedule cannot be simulated.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The simulation found no answer.
    #[error(transparent)]
    Sim(SimError),
    /// The schedule hangs as it is, before any change.
    #[error("the schedule hangs as it is: {}", .0.why)]
    HangsBefore(Hang),
    /// A change that holds before is refused.
    #[error("{0}")]
    Given(String),
    /// The schedule is empty.
    #[error("the schedule has no device task: there is nothing to predict")]
    Empty,
}

/// A schedule ready to be simulated many times.
#[derive(Debug)]
pub(crate) struct Ready<'s> {
    pub(crate) flat: Flat<'s>,
    pub(crate) compiled: Compiled,
    pub(crate) spread: Spread,
}

impl<'s> Ready<'s> {
    pub(crate) fn new(schedule: &'s Schedule, options: &Options) -> Result<Self, StudyError> {
        let flat = Flat::new(schedule)?;
        let compiled = compile(&flat, options)?;
        let spread = Spread::new(&flat);
        Ok(Self {
            flat,
            compiled,
            spread,
        })
    }

    /// What the simulation of it assumes.
    pub(crate) fn notes(&self, options: &Options) -> Vec<Note> {
        let mut notes: Vec<Note> = self
            .compiled
            .assumptions()
            .iter()
            .map(|assumption| Note::assumption(assumption.to_string()))
            .collect();
        let variables = self.flat.schedule().variables.len();
        if variables > 0 {
            notes.push(Note::warning(format!(
                "{variables} random variables keep their nominal values: their spread is not in the range"
            )));
        }
        let free = self.flat.instances().iter().filter(|instance| {
            instance.is_task() && instance.role == Role::Issued && instance.issue().is_none()
        });
        let free = free.count();
        if free > 0 && options.host == HostCosts::default() {
            notes.push(Note::assumption(format!(
                "{free} calls do not say what they cost the host, and are taken to cost nothing: \
                 `--apply eager:us=5` asks what 5 µs each would do"
            )));
        }
        notes
    }

    /// Simulates it once with nominal times.
    pub(crate) fn run(&self, options: &Options) -> Result<Result<Timeline, Hang>, StudyError> {
        let mut simulator = Simulator::new();
        match simulator.run(&self.compiled, options, self.compiled.times()) {
            Ok(_) => Ok(Ok(simulator.take())),
            Err(error) => match named(&self.flat, error) {
                SimError::Deadlock(deadlock) => Ok(Err(hang(&deadlock))),
                error => Err(StudyError::Sim(error)),
            },
        }
    }

    /// Sums a run up; `makespan` as sampled.
    pub(crate) fn side(
        &self,
        options: &Options,
        origin: Origin,
        timeline: &Timeline,
        makespan: Range,
    ) -> Side {
        let path = CriticalPath::new(&self.compiled, options, self.compiled.times(), timeline);
        let from = timeline.span(origin).map_or(0, |(start, _)| start);
        let streams = self.streams(timeline);
        let first = timeline.span(Origin::Device).map_or(0, |(start, _)| start);
        Side {
            makespan,
            first_task_ns: ns(first),
            blame: blame(&Blame::new(&path, from)),
            critical_path: self.path_entries(&path, from),
            overlap: overlaps(&streams),
            streams,
        }
    }

    /// How much of the critical path each op takes, in ps.
    pub(crate) fn on_path(
        &self,
        options: &Options,
        origin: Origin,
        timeline: &Timeline,
    ) -> BTreeMap<(u32, String), u64> {
        let path = CriticalPath::new(&self.compiled, options, self.compiled.times(), timeline);
        let from = timeline.span(origin).map_or(0, |(start, _)| start);
        let mut taken = BTreeMap::new();
        for segment in &path.segments {
            let length = segment.to.saturating_sub(segment.from.max(from));
            if length > 0 {
                let rank = self.compiled.rank(segment.instance);
                *taken
                    .entry((rank, self.path(segment.instance)))
                    .or_default() += length;
            }
        }
        taken
    }

    /// The longest stretches of the critical path in the order of time, pieces of one op and kind
    /// put together.
    fn path_entries(&self, path: &CriticalPath, from: u64) -> Vec<PathEntry> {
        const MOST: usize = 40;
        let mut entries: Vec<(u64, u64, PathEntry)> = Vec::new();
        for segment in path
            .segments
            .iter()
            .filter(|segment| segment.to > from.max(segment.from))
        {
            let start = segment.from.max(from);
            let length = segment.to - start;
            let category = segment.category.to_string();
            let op = self.path(segment.instance);
            if let Some((_, total, last)) = entries.last_mut()
                && last.op == op
                && last.category == category
            {
                *total += length;
                last.ns = ns(*total);
                continue;
            }
            let rank = self.compiled.rank(segment.instance);
            let entry = PathEntry {
                rank,
                op,
                category,
                start_ns: ns(start),
                ns: ns(length),
            };
            entries.push((start, length, entry));
        }
        entries.sort_by_key(|(start, length, _)| (std::cmp::Reverse(*length), *start));
        entries.truncate(MOST);
        entries.sort_by_key(|(start, _, _)| *start);
        entries.into_iter().map(|(_, _, entry)| entry).collect()
    }

    fn streams(&self, timeline: &Timeline) -> Vec<StreamLine> {
        let mut lines: Vec<StreamLine> = Vec::new();
        let mut by_stream = vec![None; self.flat.stream_count()];
        for id in self.flat.ids() {
            let instance = &self.flat.instances()[id.index()];
            let index = id.index() as u32;
            let Some(stream) = instance.stream.filter(|_| timeline.was_queued(index)) else {
                continue;
            };
            let info = self.flat.stream(stream);
            let at = *by_stream[stream.index()].get_or_insert_with(|| {
                let graph = info
                    .graph
                    .map(|graph| self.flat.graph(graph).1.name.to_string());
                let name = info.stream.name.to_string();
                let stream = graph.map_or(name.clone(), |graph| format!("{graph}/{name}"));
                lines.push(StreamLine {
                    rank: info.rank,
                    stream,
                    busy_ns: 0,
                    tasks: Vec::new(),
                });
                lines.len() - 1
            });
            let (start, end) = (timeline.start[index as usize], timeline.end[index as usize]);
            if end > start {
                let kind = instance.op.kind.name();
                let line = &mut lines[at];
                if !matches!(kind, "wait" | "notify_wait" | "value_wait" | "graph_launch") {
                    line.busy_ns += ns(end) - ns(start);
                }
                line.tasks.push(StreamTask {
                    op: self.flat.path(id),
                    kind: kind.to_owned(),
                    start_ns: ns(start),
                    end_ns: ns(end),
                });
            }
        }
        for line in &mut lines {
            line.tasks.sort_by_key(|task| (task.start_ns, task.end_ns));
        }
        lines
    }

    fn path(&self, instance: u32) -> String {
        self.flat.path(InstanceId::new(instance as usize))
    }
}

/// Simulates a schedule once and sums it up, without a range.
///
/// # Errors
/// If it cannot be simulated, or hangs.
pub fn simulate(
    schedule: &Schedule,
    options: &Options,
    origin: Origin,
) -> Result<Side, StudyError> {
    let ready = Ready::new(schedule, options)?;
    let timeline = ready.run(options)?.map_err(StudyError::HangsBefore)?;
    let makespan = ns(timeline.makespan(origin));
    let range = Range {
        ns: makespan,
        low_ns: makespan,
        high_ns: makespan,
    };
    Ok(ready.side(options, origin, &timeline, range))
}

/// The split in ns. The running sum is rounded, not each part, so that the parts add up to the
/// makespan in ns too.
fn blame(blame: &Blame) -> Vec<BlameEntry> {
    let mut sum = 0;
    let mut entries = Vec::new();
    for (category, ps) in blame.iter() {
        let part = ns(sum + ps) - ns(sum);
        sum += ps;
        if part > 0 {
            entries.push(BlameEntry {
                category: category.to_string(),
                ns: part,
            });
        }
    }
    entries
}

fn hang(deadlock: &Deadlock) -> Hang {
    Hang {
        why: deadlock.to_string(),
        ops: deadlock
            .chain
            .iter()
            .map(|blocked| format!("rank {} {}", blocked.rank, blocked.path))
            .collect(),
        ranks: deadlock.ranks.clone(),
    }
}

/// Picoseconds as ns, half up.
pub(crate) fn ns(ps: u64) -> i64 {
    // The clock ends at 2^63 ps, so this fits.
    ((ps + 500) / 1000) as i64
}
