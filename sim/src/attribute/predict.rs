//! Predictions with parameters from elsewhere: other steps, or other ranks.

use std::collections::BTreeMap;

use ascsim_schedules::flat::Flat;
use ascsim_schedules::{Expr, HostKind, OpKind};
use ascsim_traces::recover::collective::external_program;
use ascsim_traces::recover::{Recovered, Seen};
use serde::Serialize;

use super::forced::{per_instance, ps};
use super::parameters::{Parameters, clip};
use super::replay::{Errors, ReplayError, Run, compare, compiled};
use crate::compiled::{Compiled, NONE, Role};
use crate::timeline::Timeline;
use crate::times::{TimeField, Times};

/// What comes from elsewhere besides gaps and latencies. The host time between calls and the time a
/// thread takes to take what was handed over are always the schedule's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct From {
    /// How long host calls take.
    pub calls: bool,
    /// How long kernels, copies and collectives take, by op id; its own where there is no other.
    pub durations: bool,
}

/// A prediction, compared with what was observed.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Start errors of the tasks of captured ranks.
    pub starts: Errors,
    /// Signed start error of each task, ps, by rank and op id.
    pub each: BTreeMap<(u32, String), i64>,
    /// Predicted start and end of each task, ps, by rank and op id.
    pub tasks: BTreeMap<(u32, String), (u64, u64)>,
    /// From the first to the last task as observed, ps.
    pub observed: u64,
    /// As predicted, ps.
    pub simulated: u64,
}

/// Lets the ranks that were not captured arrive when `other`, another capture of the same run, saw them
/// arrive. `ahead_ns`: how much the host clock of `recovered` is ahead of that of `other`.
/// Returns how many arrivals were taken over.
pub fn take_arrivals(recovered: &mut Recovered, other: &Recovered, ahead_ns: i64) -> usize {
    let shift = other.zero_ns - recovered.zero_ns + ahead_ns;
    let mut taken = 0;
    for rank in recovered.seen.iter().filter(|rank| !rank.captured) {
        let programs = recovered.schedule.programs.iter_mut();
        let name = external_program(rank.rank);
        let Some(program) = programs
            .into_iter()
            .find(|program| program.name.as_str() == name)
        else {
            continue;
        };
        let mut now = 0;
        for op in &mut program.ops {
            let seen = other.seen_of(rank.rank, &op.id).and_then(|seen| seen.call);
            let (Some(seen), Some(delay)) = (seen, op.delay.as_mut()) else {
                continue;
            };
            let arrival = seen.start + shift;
            delay.ns = Expr::Int((arrival - now).max(0));
            now = now.max(arrival);
            taken += 1;
        }
    }
    taken
}

/// Predicts the times of a recovered schedule with parameters from elsewhere and without delays but
/// those of external ranks and of hand-overs.
///
/// A task is issued at the end of its call, or as much before as tasks elsewhere start before their
/// calls return.
///
/// # Errors
/// If the schedule is not valid, cannot be compiled, or deadlocks.
///
/// # Complexity
/// That of a simulation.
pub fn predict(
    recovered: &Recovered,
    parameters: &Parameters,
    from: From,
) -> Result<Prediction, ReplayError> {
    let flat = Flat::new(&recovered.schedule)?;
    let run = run(recovered, &flat, parameters, from)?;
    Ok(prediction(recovered, &flat, &run.timeline))
}

/// See [`predict()`].
pub(super) fn run(
    recovered: &Recovered,
    flat: &Flat<'_>,
    parameters: &Parameters,
    from: From,
) -> Result<Run, ReplayError> {
    let options = parameters.median();
    let program = compiled(flat, &options)?;
    let own = super::attribute(recovered, &program, &crate::Options::default());
    let mut times = program.times().clone();
    let mut change = Change {
        recovered,
        flat,
        program: &program,
        parameters,
        from,
        times: &mut times,
    };
    let seen = per_instance(recovered);
    change.durations();
    for thread in 0..program.threads.owners() {
        change.thread(thread, &seen);
    }
    change.external(options.latencies.launch);
    for (at, instance) in flat.instances().iter().enumerate() {
        if matches!(instance.op.kind, OpKind::Host(HostKind::Synchronise(_))) {
            times.set(TimeField::Delay, at as u32, own.delay[at]);
        }
    }
    Run::new(flat, program, options, times)
}

fn prediction(recovered: &Recovered, flat: &Flat<'_>, timeline: &Timeline) -> Prediction {
    let compared = compare(recovered, flat, timeline);
    let tasks = flat
        .instances()
        .iter()
        .enumerate()
        .filter_map(|(at, instance)| {
            let key = (instance.rank, instance.op.id.as_str().to_owned());
            let is_task = timeline.was_queued(at as u32);
            is_task.then(|| (key, (timeline.start[at], timeline.end[at])))
        });
    Prediction {
        starts: Errors::of(
            compared
                .each
                .values()
                .map(|error| error.unsigned_abs())
                .collect(),
        ),
        tasks: tasks.collect(),
        observed: compared.observed,
        simulated: compared.simulated,
        each: compared.each,
    }
}

struct Change<'a, 's> {
    recovered: &'a Recovered,
    flat: &'a Flat<'s>,
    program: &'a Compiled,
    parameters: &'a Parameters,
    from: From,
    times: &'a mut Times,
}

impl Change<'_, '_> {
    fn durations(&mut self) {
        if !self.from.durations {
            return;
        }
        for (at, instance) in self.flat.instances().iter().enumerate() {
            let other = self.parameters.durations.get(instance.op.id.as_str());
            let is_device = !matches!(instance.op.kind, OpKind::Host(_));
            if let (true, Some(_), Some(other)) = (is_device, instance.duration(), other) {
                self.times
                    .set(TimeField::Duration, at as u32, clip(other.median));
            }
        }
    }

    /// Lets the calls of a thread take their whole time, and issue their tasks at its end.
    fn thread(&mut self, thread: u32, seen: &[Seen]) {
        let list = self.program.threads.of(thread);
        for (place, &call) in list.iter().enumerate() {
            let at = call as usize;
            let instance = &self.flat.instances()[at];
            let Some(row) = seen[at].call else { continue };
            let name = match &instance.op.kind {
                OpKind::Host(HostKind::Work) => instance.op.tags.get("call"),
                OpKind::Host(_) => continue,
                _ => None,
            };
            let name = name.unwrap_or(instance.op.id.as_str());
            let other = self.parameters.calls.get(name);
            let other = other.filter(|_| self.from.calls);
            let length = ps(row.len());
            let change = other.map_or(0, |other| other.median - length as i64);
            if self.program.role[at] == Role::Host {
                let own = self.program.times.duration[at];
                let new = own.saturating_add_signed(change);
                self.times.set(TimeField::Duration, call, new);
                continue;
            }
            // The rest of the call is part of the time until the next one.
            let next = list.get(place + 1).copied().filter(|next| {
                let next = &self.flat.instances()[*next as usize];
                matches!(next.op.kind, OpKind::Host(HostKind::Think))
            });
            if let Some(next) = next {
                let own = self.program.times.issue[at] + self.program.times.duration[next as usize];
                let whole = own.saturating_add_signed(change);
                // A task that starts before its call returns is issued that much earlier.
                let latency = self.parameters.launch.map_or(0, |launch| launch.median);
                let issue = length
                    .saturating_add_signed(change + latency.min(0))
                    .min(whole);
                self.times.set(TimeField::Issue, call, issue);
                self.times.set(TimeField::Duration, next, whole - issue);
            }
        }
    }

    /// Ranks that were not captured arrive when they were seen to; their calls take no time to
    /// reach the device.
    fn external(&mut self, launch: u64) {
        let external = self.recovered.seen.iter().filter(|seen| !seen.captured);
        for rank in external.map(|seen| seen.rank) {
            let mut left = launch;
            for at in 0..self.program.len() as u32 {
                let is_wait =
                    self.program.rank(at) == rank && self.program.stream[at as usize] == NONE;
                if is_wait && left > 0 {
                    let delay = self.program.times.delay[at as usize];
                    let less = delay.min(left);
                    self.times.set(TimeField::Delay, at, delay - less);
                    left -= less;
                }
            }
        }
    }
}
