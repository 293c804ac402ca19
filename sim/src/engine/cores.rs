//! Cores of a die and how they are handed out (rule 4).

use std::mem;

use super::flows::{Flow, Flows};
use super::l2::{L2, TouchKind};
use super::queue::Happening;
use super::usage::Usage;
use super::{Engine, Phase};
use crate::compiled::{NONE, Role};
use crate::costs::{EngineModel, Options};
use crate::load::{KINDS, Load, RESOURCES, fits};

/// The cores of one die in a run, and who waits for them.
#[derive(Debug, Default)]
pub(super) struct Pool {
    free: [u32; KINDS],
    /// The task that gave back cores of each kind last.
    gave: [u32; KINDS],
    /// Ready tasks with units that have no cores yet, in order.
    pending: Vec<u32>,
    pub(super) flows: Flows,
    l2: L2,
}

impl Pool {
    pub(super) fn reset(&mut self, cores: [u32; KINDS]) {
        self.free = cores;
        self.gave = [NONE; KINDS];
        self.pending.clear();
        self.flows.clear();
        self.l2.clear();
    }

    /// How many units of a load the free cores hold.
    fn fits(&self, load: &Load) -> u32 {
        fits(self.free, load)
    }
}

impl Options {
    /// The cores of a die, as the engine model counts them.
    pub(crate) fn cores(&self) -> [u32; KINDS] {
        match self.engines {
            EngineModel::Unlimited => [u32::MAX; KINDS],
            EngineModel::Exclusive => [1, 1, u32::MAX, u32::MAX],
            EngineModel::Shared => self.die.cores,
        }
    }

    /// What a task takes, as the engine model counts it. Units larger than the die are cut down to
    /// it, except for those that must start as a whole.
    #[inline]
    pub(crate) fn load(&self, load: &Load) -> Load {
        match self.engines {
            EngineModel::Unlimited => Load::default(),
            EngineModel::Exclusive => {
                let unit = [
                    u16::from(load.unit[0] > 0),
                    u16::from(load.unit[1] > 0),
                    0,
                    0,
                ];
                Load {
                    unit,
                    units: u32::from(unit != [0; KINDS]),
                    ..Load::default()
                }
            }
            EngineModel::Shared if load.whole => *load,
            EngineModel::Shared => {
                let mut load = *load;
                for (unit, cores) in load.unit.iter_mut().zip(&self.die.cores) {
                    *unit = u16::try_from(*cores).map_or(*unit, |cores| cores.min(*unit));
                }
                load
            }
        }
    }
}

impl Engine<'_> {
    /// A task has all it needs but cores.
    pub(super) fn ready(&mut self, instance: u32, now: u64) {
        let load = self.options.load(&self.program.loads[instance as usize]);
        if load.units == 0 {
            self.begin(instance, now, 0);
            return;
        }
        let die = self.program.die[instance as usize];
        self.sim.left[instance as usize] = load.units;
        let pending = &mut self.sim.pools[die as usize].pending;
        let place = pending.partition_point(|other| *other < instance);
        pending.insert(place, instance);
        self.sim.dirty.push(die);
    }

    /// Gives free cores to ready tasks, the lowest issue index first, and shares bandwidth anew.
    pub(super) fn hand_out(&mut self, now: u64) {
        while !self.sim.dirty.is_empty() {
            let mut dirty = mem::take(&mut self.sim.dirty);
            dirty.sort_unstable();
            dirty.dedup();
            for die in dirty.drain(..) {
                self.handing_out = die;
                self.hand_out_on(die as usize, now);
                self.handing_out = NONE;
                let flows = &mut self.sim.pools[die as usize].flows;
                if let Some(instance) = flows.settle(now, &self.bandwidth) {
                    let next = flows.next;
                    self.sim.queue.push(next, instance, Happening::Drained);
                }
            }
            if self.sim.dirty.is_empty() {
                // Keep the larger memory.
                self.sim.dirty = dirty;
                return;
            }
        }
    }

    fn hand_out_on(&mut self, die: usize, now: u64) {
        let mut at = 0;
        while let Some(instance) = self.sim.pools[die].pending.get(at).copied() {
            let load = self.options.load(&self.program.loads[instance as usize]);
            let pool = &mut self.sim.pools[die];
            let left = &mut self.sim.left[instance as usize];
            let units = pool.fits(&load).min(*left);
            if units == 0 {
                at += 1;
                continue;
            }
            for (free, unit) in pool.free.iter_mut().zip(&load.unit) {
                *free -= units * u32::from(*unit);
            }
            *left -= units;
            if *left == 0 {
                pool.pending.remove(at);
            } else {
                at += 1;
            }
            let out = &mut self.sim.out[instance as usize];
            let first = *out == 0 && self.sim.timeline.start[instance as usize] == u64::MAX;
            *out += units;
            if first {
                if self.sim.timeline.ready[instance as usize] < now {
                    let kinds = pool.gave.iter().zip(&load.unit);
                    let gave = kinds.filter(|(gave, unit)| **unit > 0 && **gave != NONE);
                    let ends = &self.sim.timeline.end;
                    let by = gave
                        .map(|(gave, _)| *gave)
                        .max_by_key(|by| (ends[*by as usize] == now, *by));
                    self.sim.timeline.released_by[instance as usize] = by.unwrap_or(NONE);
                }
                self.begin(instance, now, units);
            } else {
                self.run_units(instance, now, units);
            }
        }
    }

    /// Units of a task start: those that start with it spend its fixed part first.
    pub(super) fn run_units(&mut self, instance: u32, now: u64, units: u32) {
        let at = instance as usize;
        let duration = self.times.duration[at];
        if self.options.engines != EngineModel::Shared {
            return self.end_at(instance, now + duration, units);
        }
        let load = &self.program.loads[at];
        let (fixed, one) = self.split(at, duration);
        let first = self.sim.timeline.start[at] == now;
        let head = if first { fixed } else { 0 };
        if !load.flows() {
            self.used(instance, units, now, now + head + one);
            return self.end_at(instance, now + head + one, units);
        }
        if head > 0 {
            self.used(instance, units, now, now + head);
            let flow = Happening::Flow(units);
            return self.sim.queue.push(now + head, instance, flow);
        }
        self.flow(instance, units, one, now);
    }

    /// Units of a task start to draw bandwidth, after their fixed part.
    pub(super) fn starts_to_flow(&mut self, instance: u32, units: u32, now: u64) {
        let at = instance as usize;
        let duration = match self.program.role[at] {
            Role::Collective(transfer) => self.sim.transfer[transfer as usize],
            _ => self.times.duration[at],
        };
        let (_, one) = self.split(at, duration);
        self.flow(instance, units, one, now);
    }

    /// The members of a collective, all of which have started, draw bandwidth, each on its die; it
    /// ends with the slowest of them. False if none draws any.
    pub(super) fn transfer_flows(&mut self, transfer: u32, now: u64) -> bool {
        let program = self.program;
        let members = &program.transfers[transfer as usize].members;
        let flows = |member: &&u32| program.loads[**member as usize].flows();
        if !members.iter().any(|member| flows(&member)) {
            return false;
        }
        let duration = self.sim.transfer[transfer as usize];
        self.sim.flowing[transfer as usize] = members.len() as u32;
        for member in members {
            // Members without a load of their own take the time of the others.
            let (fixed, _) = self.split(*member as usize, duration);
            let flow = Happening::Flow(0);
            self.sim.queue.push(now + fixed, *member, flow);
        }
        true
    }

    /// A flow has drawn all it wanted.
    fn flowed(&mut self, flow: Flow, now: u64) {
        let Role::Collective(transfer) = self.program.role[flow.instance as usize] else {
            return self.ended(flow.instance, now, flow.units);
        };
        let flowing = &mut self.sim.flowing[transfer as usize];
        *flowing -= 1;
        if *flowing == 0 {
            let program = self.program;
            for member in &program.transfers[transfer as usize].members {
                let held = self.held(*member);
                self.end_at(*member, now, held);
            }
        }
    }

    /// A duration as what the first units spend before they work (with what does not divide), and
    /// what each unit then takes at full speed. On an idle die of the kind that the duration is for,
    /// they add up to it.
    /// What is in L2 shortens the body.
    fn split(&self, at: usize, duration: u64) -> (u64, u64) {
        let load = &self.program.loads[at];
        let fixed = load.fixed.min(duration);
        let body = match self.sim.hits[at] {
            hits if hits > 0.0 => {
                let (shorter, _) = load.with_hits(hits);
                ((duration - fixed) as f64 * shorter + 0.5) as u64
            }
            _ => duration - fixed,
        };
        let waves = u64::from(load.waves.max(1));
        (fixed + body % waves, body / waves)
    }

    fn flow(&mut self, instance: u32, units: u32, ps: u64, now: u64) {
        let at = instance as usize;
        let (_, rates) = self.program.loads[at].with_hits(self.sim.hits[at]);
        let rates = rates.map(|rate| rate * f64::from(units.max(1)));
        let die = self.program.die[at];
        let flows = &mut self.sim.pools[die as usize].flows;
        let flow = Flow::new(instance, units, ps, rates);
        flows.add(flow, now, self.sim.usage.as_mut());
        if self.handing_out != die {
            self.sim.dirty.push(die);
        }
    }

    /// Flows of the die of `instance` end, if it is still their time.
    pub(super) fn drained(&mut self, instance: u32, now: u64) {
        let die = self.program.die[instance as usize];
        if self.sim.pools[die as usize].flows.next != now {
            return;
        }
        while let Some(flow) = {
            let flows = &mut self.sim.pools[die as usize].flows;
            flows.take(now, self.sim.usage.as_mut())
        } {
            self.sim.dirty.push(die);
            self.flowed(flow, now);
        }
    }

    /// Units of a task end and give their cores back; with the last ones, the task ends.
    pub(super) fn ended(&mut self, instance: u32, now: u64, units: u32) {
        let at = instance as usize;
        if units > 0 {
            let load = self.options.load(&self.program.loads[at]);
            let die = self.program.die[at];
            let pool = &mut self.sim.pools[die as usize];
            for (kind, unit) in load.unit.iter().enumerate() {
                if *unit > 0 {
                    pool.free[kind] += units * u32::from(*unit);
                    pool.gave[kind] = instance;
                }
            }
            self.sim.dirty.push(die);
            self.sim.out[at] -= units;
            if self.sim.out[at] + self.sim.left[at] > 0 {
                return;
            }
        }
        if self.options.engines == EngineModel::Shared {
            self.leaves_in_l2(instance);
        }
        self.signal(instance, now);
        self.finish(instance, now);
    }

    /// Finds out which share of a task's reads is in L2 when it starts.
    fn looks_in_l2(&mut self, instance: u32) {
        let touches = self.program.touches.of(instance);
        if touches.is_empty() {
            return;
        }
        let die = self.program.die[instance as usize] as usize;
        let warm = &self.program.loads[instance as usize].warm;
        let reads = touches.iter().filter(|touch| touch.kind == TouchKind::Read);
        let mut found = 0;
        for touch in reads {
            let (hit, prefetched) = self.sim.pools[die].l2.read(touch);
            found += if warm.prefetched_only {
                prefetched
            } else {
                hit
            };
        }
        if warm.read > 0.0 {
            self.sim.hits[instance as usize] = (found as f64 / warm.read).min(1.0);
        }
    }

    /// What a task leaves in L2 when it ends.
    fn leaves_in_l2(&mut self, instance: u32) {
        let die = self.program.die[instance as usize] as usize;
        for touch in self.program.touches.of(instance) {
            if touch.kind != TouchKind::Read {
                let l2 = &mut self.sim.pools[die].l2;
                l2.keep(touch, self.options.die.l2_bytes);
            }
        }
    }

    fn used(&mut self, instance: u32, units: u32, from: u64, to: u64) {
        if let Some(usage) = &mut self.sim.usage {
            usage.push(Usage {
                instance,
                units,
                from,
                to,
                rates: [0.0; RESOURCES],
            });
        }
    }

    /// Starts a task, or the first units of one.
    pub(super) fn begin(&mut self, instance: u32, now: u64, units: u32) {
        let at = instance as usize;
        let stream = self.program.stream[at] as usize;
        self.sim.timeline.start[at] = now;
        self.sim.phase[stream] = Phase::Running;
        if self.options.engines == EngineModel::Shared {
            self.looks_in_l2(instance);
        }
        self.wake(instance);
        match self.program.role[at] {
            Role::Task
            | Role::SetFlag(_)
            | Role::ClearFlag(_)
            | Role::SetNotify(_)
            | Role::Write(_) => self.run_units(instance, now, units),
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
}
