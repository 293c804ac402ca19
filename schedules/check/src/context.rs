//! What every rule looks at.

use std::collections::HashMap;

use ascsim_schedules::flat::{Flat, InstanceId, Role};
use ascsim_schedules::footprint::Footprints;
use ascsim_schedules::order::{Order, Point};
use ascsim_schedules::{Expr, Limits, Peer, Schedule};

/// What every rule looks at.
#[derive(Debug)]
pub(crate) struct Context<'c, 's> {
    pub(crate) schedule: &'s Schedule,
    pub(crate) flat: &'c Flat<'s>,
    pub(crate) order: &'c Order<'c, 's>,
    pub(crate) limits: &'c Limits,
    pub(crate) footprints: Footprints<'s>,
    nominal: HashMap<&'s str, &'s [f64]>,
}

impl<'c, 's> Context<'c, 's> {
    pub(crate) fn new(
        schedule: &'s Schedule,
        flat: &'c Flat<'s>,
        order: &'c Order<'c, 's>,
        limits: &'c Limits,
    ) -> Self {
        let variables = schedule.variables.iter();
        Self {
            schedule,
            flat,
            order,
            limits,
            footprints: Footprints::new(schedule),
            nominal: variables
                .map(|variable| (variable.name.as_str(), variable.nominal.as_slice()))
                .collect(),
        }
    }

    /// Whether one instance is done before the other starts, in every run.
    pub(crate) fn before(&self, first: InstanceId, second: InstanceId) -> bool {
        self.order.happens_before(first, second)
    }

    /// Whether an instance starts in some run.
    pub(crate) fn runs(&self, id: InstanceId) -> bool {
        self.order.can_happen(Point::start(id))
    }

    /// A number of instances that are totally ordered among themselves: those of a stream, the host
    /// calls of a thread, or a part of a group for itself.
    pub(crate) fn chain(&self, id: InstanceId) -> usize {
        let instance = &self.flat[id];
        let streams = self.flat.stream_count();
        match instance.stream {
            _ if instance.role == Role::Part => streams + self.flat.thread_count() + id.index(),
            Some(stream) if instance.is_task() => stream.index(),
            _ => streams + instance.thread.index(),
        }
    }

    /// The value of an expression with the nominal values of its variables, as a whole number from 0.
    pub(crate) fn whole(&self, expr: &Expr) -> Option<u64> {
        let value = expr.eval(&|variable| {
            let values = self.nominal.get(variable.name.as_str())?;
            values.get(variable.index as usize).copied()
        });
        // Saturates.
        value
            .ok()
            .filter(|value| *value >= 0.0)
            .map(|value| value as u64)
    }

    /// The rank whose instance of a buffer an op of `rank` means.
    pub(crate) fn peer(&self, rank: u32, peer: &Peer) -> u32 {
        let member = |name: &str, offset: i32| {
            let communicators = &self.schedule.communicators;
            let communicator = communicators.iter().find(|c| c.name.as_str() == name)?;
            let group = communicator.groups.iter().find(|g| g.contains(&rank))?;
            let at = group.iter().position(|member| *member == rank)?;
            let at = (at as i64 + i64::from(offset)).rem_euclid(group.len() as i64);
            group.get(at as usize).copied()
        };
        match peer {
            Peer::Own => rank,
            Peer::Rank(rank) => *rank,
            Peer::Member {
                communicator,
                offset,
            } => member(communicator.as_str(), *offset).unwrap_or(rank),
        }
    }
}
