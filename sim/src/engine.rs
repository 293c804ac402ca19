//! The engine: host threads and streams as agents that each work through a list.
//!
//! An agent goes on until something it needs has not happened yet, and then watches exactly that
//! one thing. Times that follow from known times are computed at once, wherever they lie; only what
//! depends on the order of events in time (engines, flags, notifies, values) passes through the
//! event queue. A program without any of these never touches the queue.
//!
//! Within one instant, events happen in the order of rank and issue index, and cores are handed out
//! after everything else.

mod agents;
mod cores;
mod flows;
mod l2;
mod queue;
mod share;
mod signals;
mod usage;

use std::mem;

use crate::compiled::{Compiled, NONE, Need, Point, Reason, UNKNOWN};
use crate::costs::{EngineModel, Options, TaskKind};
use crate::deadlock::{self, Deadlock};
use crate::load::Rates;
use crate::timeline::Timeline;
use crate::times::Times;
use cores::Pool;
pub(crate) use l2::{Touch, TouchKind};
use queue::{Happening, Queue};
pub use usage::Usage;

/// Why a simulation has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// Nothing can go on, and something is unfinished.
    #[error(transparent)]
    Deadlock(Box<Deadlock>),
    /// The times may add up to more than the clock holds.
    #[error("the times add up to more than 106 days, which the clock cannot hold; shorten them")]
    TooLong,
    /// The times are those of another program.
    #[error("there are times for {times} instances, but the program has {instances}")]
    OtherProgram {
        /// Instances of the program.
        instances: usize,
        /// Entries of the times.
        times: usize,
    },
}

/// Where an agent is with the instance at its cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It gathers what the start (of the call or task) needs.
    Start,
    /// A task is ready, and waits for its time or for cores.
    Queued,
    /// A task runs until something ends it.
    Running,
    /// A container waits for its parts; a host thread for its blocking copy.
    End,
}

/// The memory of a simulation. Use one for many runs: it is allocated once.
#[derive(Debug, Default)]
pub struct Simulator {
    pub(crate) timeline: Timeline,
    // Agents: streams first, then threads.
    pub(crate) cursor: Vec<u32>,
    pub(crate) phase: Vec<Phase>,
    /// The next agent that watches the same instance or signal.
    next: Vec<u32>,
    /// The first agent that watches each instance.
    watchers: Vec<u32>,
    /// Agents that may go on.
    work: Vec<u32>,
    queue: Queue,
    last_end: Vec<u64>,
    last_kind: Vec<TaskKind>,
    /// When each thread returned from its last call.
    free: Vec<u64>,
    // Collectives.
    pub(crate) arrived: Vec<u32>,
    last_start: Vec<u64>,
    transfer: Vec<u64>,
    /// Members of each that still draw bandwidth.
    flowing: Vec<u32>,
    signals: signals::Signals,
    /// Cores of each die.
    pools: Vec<Pool>,
    /// Units of each task that wait for cores, once it is ready.
    pub(crate) left: Vec<u32>,
    /// Units of each task that hold cores.
    pub(crate) out: Vec<u32>,
    /// Dies where cores, ready tasks or flows changed at this instant.
    dirty: Vec<u32>,
    /// The share of each task's reads that hit L2, once it has started.
    hits: Vec<f64>,
    usage: Option<Vec<Usage>>,
}

impl Simulator {
    /// A simulator; it takes its memory with its first run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Simulates `program` with the given times.
    ///
    /// # Errors
    /// [`SimError::Deadlock`] if nothing can go on before everything has ended; the others for times
    /// that do not fit.
    ///
    /// # Complexity
    /// O(instances + needs) where neither engines nor flags, notifies and values are involved;
    /// otherwise times the logarithm of the number of streams.
    pub fn run(
        &mut self,
        program: &Compiled,
        options: &Options,
        times: &Times,
    ) -> Result<&Timeline, SimError> {
        if times.len() != program.len() {
            return Err(SimError::OtherProgram {
                instances: program.len(),
                times: times.len(),
            });
        }
        let bound = times.total() + program.len() as u128 * options.largest_lag();
        let slowest = options.slowest(program);
        if bound as f64 * slowest > (u64::MAX / 2) as f64 {
            return Err(SimError::TooLong);
        }
        let timed = program.dynamic || options.engines != EngineModel::Unlimited;
        self.reset(program, options, timed);
        let mut engine = Engine {
            program,
            options,
            times,
            timed,
            bandwidth: options.die.rates(),
            handing_out: NONE,
            sim: self,
        };
        engine.run();
        if let Some(deadlock) = deadlock::find(program, options, self) {
            return Err(SimError::Deadlock(Box::new(deadlock)));
        }
        Ok(&self.timeline)
    }

    /// Whether the next runs note down what tasks use, with [`EngineModel::Shared`].
    pub fn record_usage(&mut self, record: bool) {
        self.usage = record.then(Vec::new);
    }

    /// What tasks used in the last run, if it was recorded: stretches in which the rates stay the
    /// same. Cores that are held by what ends with something else than its blocks (collectives,
    /// super kernels) are not part of it.
    pub fn usage(&self) -> &[Usage] {
        self.usage.as_deref().unwrap_or_default()
    }

    /// Takes the timeline of the last run out.
    pub fn take(&mut self) -> Timeline {
        mem::take(&mut self.timeline)
    }

    fn reset(&mut self, program: &Compiled, options: &Options, timed: bool) {
        fn fill<T: Clone>(list: &mut Vec<T>, count: usize, value: T) {
            list.clear();
            list.resize(count, value);
        }
        let count = program.len();
        let streams = program.streams.owners() as usize;
        let threads = program.threads.owners() as usize;
        let dies = program.ranks.len();
        self.timeline.reset(count);
        for (issued, thread) in self.timeline.issued.iter_mut().zip(&program.thread) {
            if *thread == NONE {
                *issued = 0;
            }
        }
        fill(&mut self.cursor, streams + threads, 0);
        fill(&mut self.phase, streams + threads, Phase::Start);
        fill(&mut self.next, streams + threads, NONE);
        fill(&mut self.watchers, count, NONE);
        self.work.clear();
        self.work.extend((0..(streams + threads) as u32).rev());
        self.queue.clear();
        fill(&mut self.last_end, streams, UNKNOWN);
        fill(&mut self.last_kind, streams, TaskKind::Aic);
        fill(&mut self.free, threads, 0);
        fill(&mut self.arrived, program.transfers.len(), 0);
        fill(&mut self.last_start, program.transfers.len(), 0);
        fill(&mut self.transfer, program.transfers.len(), 0);
        fill(&mut self.flowing, program.transfers.len(), 0);
        self.signals.reset(program);
        let cores = if timed { count } else { 0 };
        fill(&mut self.left, cores, 0);
        fill(&mut self.out, cores, 0);
        self.pools.resize_with(dies, Pool::default);
        let cores = options.cores();
        self.pools.iter_mut().for_each(|pool| pool.reset(cores));
        let shared = options.engines == EngineModel::Shared;
        fill(&mut self.hits, if shared { count } else { 0 }, 0.0);
        self.dirty.clear();
        if let Some(usage) = &mut self.usage {
            usage.clear();
        }
    }
}

/// One run.
struct Engine<'a> {
    program: &'a Compiled,
    options: &'a Options,
    times: &'a Times,
    /// Whether the order of events in time matters.
    timed: bool,
    /// Bandwidths where at most one prefetch runs, and where several do.
    bandwidth: [Rates; 2],
    /// The die whose cores are being handed out.
    handing_out: u32,
    sim: &'a mut Simulator,
}

impl Engine<'_> {
    fn run(&mut self) {
        self.drain();
        while let Some(now) = self.sim.queue.time() {
            while self.sim.queue.time() == Some(now) {
                match self.sim.queue.pop() {
                    Some((_, instance, Happening::Ready)) => self.ready(instance, now),
                    Some((_, instance, Happening::End(units))) => self.ended(instance, now, units),
                    Some((_, instance, Happening::Flow(units))) => {
                        self.starts_to_flow(instance, units, now);
                    }
                    Some((_, instance, Happening::Drained)) => self.drained(instance, now),
                    None => break,
                }
                self.drain();
            }
            self.hand_out(now);
            self.drain();
        }
    }

    /// A member of a collective has started; with the last one, the transfer begins.
    fn join(&mut self, instance: u32, transfer: u32, now: u64) {
        let program = self.program;
        let at = transfer as usize;
        let sim = &mut *self.sim;
        sim.arrived[at] += 1;
        sim.last_start[at] = sim.last_start[at].max(now);
        sim.transfer[at] = sim.transfer[at].max(self.times.duration[instance as usize]);
        let members = &program.transfers[at].members;
        let complete = sim.arrived[at] as usize == members.len();
        if complete && program.transfers[at].completes() {
            let end = sim.last_start[at] + sim.transfer[at];
            if self.options.engines == EngineModel::Shared && self.transfer_flows(transfer, now) {
                return;
            }
            for member in members {
                let held = self.held(*member);
                self.end_at(*member, end, held);
            }
        }
    }

    /// The units of a task that hold cores.
    fn held(&self, instance: u32) -> u32 {
        match self.timed {
            true => self.sim.out[instance as usize],
            false => 0,
        }
    }

    /// Units of a task, or a task without cores, end at a known time.
    fn end_at(&mut self, instance: u32, time: u64, units: u32) {
        if self.timed {
            self.sim.queue.push(time, instance, Happening::End(units));
        } else {
            self.finish(instance, time);
        }
    }

    /// Notes the end of a task and lets its stream go on.
    fn finish(&mut self, instance: u32, time: u64) {
        let at = instance as usize;
        let stream = self.program.stream[at] as usize;
        self.sim.timeline.end[at] = time;
        self.sim.last_end[stream] = time;
        self.sim.last_kind[stream] = self.program.kind[at];
        self.sim.cursor[stream] += 1;
        self.sim.phase[stream] = Phase::Start;
        self.sim.work.push(stream as u32);
        self.wake(instance);
    }

    /// When a need was met; none if it has not been met yet.
    #[inline]
    fn met(&self, need: Need) -> Option<u64> {
        let on = need.on as usize;
        let timeline = &self.sim.timeline;
        let time = match need.point {
            Point::Issued => timeline.issued[on],
            Point::Start => timeline.start[on],
            Point::End => timeline.end[on],
        };
        (time != UNKNOWN).then(|| time + self.options.lag(need.why))
    }

    /// Lets the agents that watch an instance look again.
    #[inline]
    fn wake(&mut self, instance: u32) {
        let mut agent = mem::replace(&mut self.sim.watchers[instance as usize], NONE);
        while agent != NONE {
            self.sim.work.push(agent);
            agent = self.sim.next[agent as usize];
        }
    }

    /// Makes an agent look again when something happens to an instance.
    fn watch(&mut self, agent: u32, instance: u32) {
        let first = &mut self.sim.watchers[instance as usize];
        self.sim.next[agent as usize] = mem::replace(first, agent);
    }
}

impl Options {
    /// The latency that a reason adds, in ps.
    #[inline]
    pub(crate) fn lag(&self, why: Reason) -> u64 {
        match why {
            Reason::Event => self.latencies.event,
            Reason::Notify => self.latencies.notify,
            Reason::Value => self.latencies.value,
            Reason::Issue => self.latencies.launch,
            _ => 0,
        }
    }

    /// How many times slower than at full speed any task of a program can get.
    fn slowest(&self, program: &Compiled) -> f64 {
        if self.engines != EngineModel::Shared {
            return 1.0;
        }
        let [_, least] = self.die.rates();
        let wanted = program.heaviest.iter().zip(least);
        let shares = wanted.filter(|(rate, _)| **rate > 0.0);
        1.0 + shares.map(|(rate, most)| rate / most).fold(0.0, f64::max)
    }

    /// More than all gaps and latencies that one instance may meet, in ps.
    fn largest_lag(&self) -> u128 {
        let Self { latencies, .. } = self;
        let lags = [
            latencies.launch,
            latencies.event,
            latencies.notify,
            latencies.value,
            self.gaps.largest(),
        ];
        lags.into_iter().map(u128::from).sum()
    }
}
