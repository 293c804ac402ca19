//! The running tasks of a die that draw bandwidth.

use super::share::{Share, share};
use super::usage::Usage;
use crate::compiled::UNKNOWN;
use crate::load::{Rates, Resource};

/// Units of a task that started to draw bandwidth together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) instance: u32,
    pub(super) units: u32,
    /// What is left to do, in ps at full speed.
    rest: f64,
    /// What all its units draw at full speed, in bytes per ps.
    rates: Rates,
    /// Its speed, from 0 to 1.
    speed: f64,
    /// When it ends at that speed.
    finish: u64,
}

impl Flow {
    pub(super) fn new(instance: u32, units: u32, rest: u64, rates: Rates) -> Self {
        Self {
            instance,
            units,
            rest: rest as f64,
            rates,
            speed: 0.0,
            finish: UNKNOWN,
        }
    }
}

/// The flows of one die, in the order of their instances. Few, so a list is fastest.
#[derive(Debug, Default)]
pub(super) struct Flows {
    list: Vec<Flow>,
    /// One per instance of `list`; kept for its memory.
    shares: Vec<Share>,
    /// Until when `rest` is worked off, in ps.
    clock: u64,
    /// When the next flow ends; `UNKNOWN` if there is none.
    pub(super) next: u64,
    /// Whether flows came or went since the bandwidth was shared.
    changed: bool,
}

impl Flows {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.clock = 0;
        self.next = UNKNOWN;
        self.changed = false;
    }

    /// Works off what has been done until `now`.
    fn advance(&mut self, now: u64, usage: Option<&mut Vec<Usage>>) {
        let from = std::mem::replace(&mut self.clock, now);
        if from == now {
            return;
        }
        let passed = (now - from) as f64;
        for flow in &mut self.list {
            flow.rest -= flow.speed * passed;
        }
        if let Some(usage) = usage {
            usage.extend(self.list.iter().map(|flow| Usage {
                instance: flow.instance,
                units: flow.units,
                from,
                to: now,
                rates: flow.rates.map(|rate| rate * flow.speed),
            }));
        }
    }

    /// Adds a flow at `now`. The speeds are settled by [`settle`](Self::settle).
    pub(super) fn add(&mut self, flow: Flow, now: u64, usage: Option<&mut Vec<Usage>>) {
        self.advance(now, usage);
        let place = self
            .list
            .partition_point(|other| other.instance <= flow.instance);
        self.list.insert(place, flow);
        self.changed = true;
    }

    /// Takes out the first flow that ends at `now`.
    pub(super) fn take(&mut self, now: u64, usage: Option<&mut Vec<Usage>>) -> Option<Flow> {
        let place = self.list.iter().position(|flow| flow.finish == now)?;
        self.advance(now, usage);
        self.changed = true;
        Some(self.list.remove(place))
    }

    /// Shares the bandwidth at `now`, less of it where several prefetches run: among instances first, then equally among the units of each.
    /// Returns the instance whose flow ends next if that is at another time than before.
    pub(super) fn settle(&mut self, now: u64, [alone, shared]: &[Rates; 2]) -> Option<u32> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        debug_assert_eq!(self.clock, now, "something came or went at this moment");
        self.shares.clear();
        let mut last = None;
        for flow in &self.list {
            match self.shares.last_mut() {
                Some(share) if last == Some(flow.instance) => {
                    for (sum, rate) in share.rates.iter_mut().zip(&flow.rates) {
                        *sum += rate;
                    }
                }
                _ => self.shares.push(Share::new(flow.rates)),
            }
            last = Some(flow.instance);
        }
        let cmo = Resource::Cmo as usize;
        let prefetches = self.shares.iter().filter(|share| share.rates[cmo] > 0.0);
        let several = prefetches.count() > 1;
        share(&mut self.shares, if several { shared } else { alone });
        let mut shares = self.shares.iter();
        let mut speed = 1.0;
        let mut last = None;
        let mut next = (UNKNOWN, 0);
        for flow in &mut self.list {
            if last != Some(flow.instance) {
                speed = shares.next().map_or(1.0, |share| share.speed);
                last = Some(flow.instance);
            }
            if flow.speed != speed {
                flow.speed = speed;
                // Half up; saturates where nothing is given.
                let rest = (flow.rest.max(0.0) / speed + 0.5) as u64;
                flow.finish = now.saturating_add(rest);
            }
            if flow.finish < next.0 {
                next = (flow.finish, flow.instance);
            }
        }
        let changed = next.0 != self.next;
        self.next = next.0;
        (changed && next.0 != UNKNOWN).then_some(next.1)
    }
}
