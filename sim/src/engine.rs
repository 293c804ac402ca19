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
mod queue;
mod signals;

use std::mem;

use crate::compiled::{Compiled, NONE, Need, Point, Reason, Role, UNKNOWN};
use crate::costs::{EngineModel, Options, TaskKind};
use crate::deadlock::{self, Deadlock};
use crate::timeline::Timeline;
use crate::times::Times;
use queue::{Happening, Queue};

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
    signals: signals::Signals,
    // Engines of each die.
    busy: Vec<u8>,
    /// The task that holds AIC and AIV.
    pub(crate) holder: Vec<[u32; 2]>,
    /// Ready tasks that need engines, in order.
    pending: Vec<Vec<u32>>,
    /// Dies where engines or ready tasks changed at this instant.
    dirty: Vec<u32>,
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
        if bound > u128::from(u64::MAX / 2) {
            return Err(SimError::TooLong);
        }
        self.reset(program);
        let timed = program.dynamic || options.engines == EngineModel::Exclusive;
        let mut engine = Engine {
            program,
            options,
            times,
            timed,
            sim: self,
        };
        engine.run();
        if let Some(deadlock) = deadlock::find(program, self) {
            return Err(SimError::Deadlock(Box::new(deadlock)));
        }
        Ok(&self.timeline)
    }

    /// Takes the timeline of the last run out.
    pub fn take(&mut self) -> Timeline {
        mem::take(&mut self.timeline)
    }

    fn reset(&mut self, program: &Compiled) {
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
        self.signals.reset(program);
        fill(&mut self.busy, dies, 0);
        fill(&mut self.holder, dies, [NONE; 2]);
        self.pending.iter_mut().for_each(Vec::clear);
        self.pending.resize(dies, Vec::new());
        self.dirty.clear();
    }
}

/// One run.
struct Engine<'a> {
    program: &'a Compiled,
    options: &'a Options,
    times: &'a Times,
    /// Whether the order of events in time matters.
    timed: bool,
    sim: &'a mut Simulator,
}

impl Engine<'_> {
    fn run(&mut self) {
        self.drain();
        while let Some(now) = self.sim.queue.time() {
            while self.sim.queue.time() == Some(now) {
                match self.sim.queue.pop() {
                    Some((_, instance, Happening::Ready)) => self.ready(instance, now),
                    Some((_, instance, Happening::End)) => self.ended(instance, now),
                    None => break,
                }
                self.drain();
            }
            self.hand_out(now);
            self.drain();
        }
    }

    /// A task has all it needs but cores.
    fn ready(&mut self, instance: u32, now: u64) {
        let at = instance as usize;
        let exclusive = self.options.engines == EngineModel::Exclusive;
        if exclusive && self.program.engines[at] != 0 {
            let die = self.program.die[at];
            let pending = &mut self.sim.pending[die as usize];
            let place = pending.partition_point(|other| *other < instance);
            pending.insert(place, instance);
            self.sim.dirty.push(die);
        } else {
            self.begin(instance, now);
        }
    }

    /// Gives free engines to ready tasks, the lowest issue index first.
    fn hand_out(&mut self, now: u64) {
        let mut dirty = mem::take(&mut self.sim.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        for die in dirty.drain(..) {
            let die = die as usize;
            let mut at = 0;
            while let Some(instance) = self.sim.pending[die].get(at).copied() {
                let wanted = self.program.engines[instance as usize];
                if self.sim.busy[die] & wanted != 0 {
                    at += 1;
                    continue;
                }
                self.sim.pending[die].remove(at);
                self.sim.busy[die] |= wanted;
                for (bit, holder) in self.sim.holder[die].iter_mut().enumerate() {
                    if wanted & (1 << bit) != 0 {
                        *holder = instance;
                    }
                }
                self.begin(instance, now);
            }
        }
        self.sim.dirty = dirty;
    }

    /// A task ends: what it does then, and its cores back.
    fn ended(&mut self, instance: u32, now: u64) {
        let at = instance as usize;
        if self.options.engines == EngineModel::Exclusive && self.program.engines[at] != 0 {
            let die = self.program.die[at];
            self.sim.busy[die as usize] &= !self.program.engines[at];
            for holder in &mut self.sim.holder[die as usize] {
                if *holder == instance {
                    *holder = NONE;
                }
            }
            self.sim.dirty.push(die);
        }
        self.signal(instance, now);
        self.finish(instance, now);
    }

    /// Starts a task.
    fn begin(&mut self, instance: u32, now: u64) {
        let at = instance as usize;
        let stream = self.program.stream[at] as usize;
        self.sim.timeline.start[at] = now;
        self.sim.phase[stream] = Phase::Running;
        self.wake(instance);
        match self.program.role[at] {
            Role::Task
            | Role::SetFlag(_)
            | Role::ClearFlag(_)
            | Role::SetNotify(_)
            | Role::Write(_) => self.end_at(instance, now + self.times.duration[at]),
            Role::Container => {
                self.sim.phase[stream] = Phase::End;
                self.sim.work.push(stream as u32);
            }
            Role::Collective(transfer) => self.join(instance, transfer, now),
            Role::WaitFlag(_) | Role::WaitNotify(_) | Role::WaitWord(_) => {
                self.wait_for_signal(instance, now);
            }
            // A bound wait ends where its stream's agent finds its record.
            Role::Never | Role::Host | Role::Wait => {}
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
            for member in members {
                self.end_at(*member, end);
            }
        }
    }

    fn end_at(&mut self, instance: u32, time: u64) {
        if self.timed {
            self.sim.queue.push(time, instance, Happening::End);
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
