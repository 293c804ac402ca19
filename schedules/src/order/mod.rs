//! Happens-before: which op is done before which other starts, in every run.
//!
//! The meaning of a schedule is a set of runs: the host threads make their calls, the devices their
//! steps, in any order that the rules allow. [`Requirements`] are these rules, point by point.
//! [`Order`] is what follows from them for all runs.
//!
//! Where no op's effect depends on who is faster, the relation is exact: what it does not claim, some
//! run breaks. Signals that can race ([`Order::inexact`]) leave it sound: what it claims holds in
//! every run.
//!
//! # Rules
//!
//! 1. A call is made after the call before it on its thread has returned. Calls on one stream, event,
//!    communicator or graph are made in list order, whatever their threads; a call that blocks has
//!    been made when it starts to block.
//! 2. A task starts after it is issued and after the task before it on its stream is done.
//! 3. A wait for an `ex`, `default` or external event is met when the record it is bound to is done
//!    ([`Flat::binding`]). A wait that binds to nothing keeps its place in its stream, without effect.
//! 4. A notify is a flag: a record sets it, a wait takes and clears it.
//! 5. A `sync` or `external` event is a flag that records set and only resets clear.
//! 6. A value wait is met while its word meets the condition. Words are 0 at first; only value writes
//!    change them.
//! 7. A member of a collective is done after all members have started. Members on external ranks are
//!    not waited for; notifies and words that only an external rank can give are taken as given.
//! 8. What a graph replays starts after its launch, which is done when all of it is; launches of one
//!    graph run one after the other. Parts of groups and super kernels likewise.
//! 9. A call waits until its task fits into the queue of its stream
//!    ([`Limits::queue_tasks`](crate::ir::Limits::queue_tasks)). Replayed tasks and parts take no
//!    entries, calls that queue nothing neither.

mod build;
mod chains;
mod clock;
mod exact;
#[cfg(test)]
mod oracle;
mod require;
mod signal;
mod solve;
mod stuck;
#[cfg(test)]
mod tests;

pub use require::{Phase, Point, Requirement, Requirements, Source, Why};
pub use signal::Need;
pub use stuck::{Link, Stuck};

use crate::flat::{Flat, InstanceId};
use crate::ir::Limits;
use chains::Chains;
use signal::Signals;
use solve::{Pass, Solver};

/// Which instance is done before which other starts, in every run.
#[derive(Debug)]
pub struct Order<'f, 's> {
    flat: &'f Flat<'s>,
    requirements: Requirements,
    chains: Chains,
    pass: Pass,
    inexact: Vec<InstanceId>,
}

impl<'f, 's> Order<'f, 's> {
    /// Derives the order of a schedule on devices with these limits.
    ///
    /// # Complexity
    /// With n instances on c chains (streams, threads), of which w are waits or host calls:
    /// O(n c / 32 + w c) time and O(n + w c) memory where signals do not race, a small multiple of it
    /// where they do.
    pub fn new(flat: &'f Flat<'s>, limits: &Limits) -> Self {
        let requirements = Requirements::new(flat, limits);
        let chains = Chains::new(flat);
        let signals = Signals::new(flat, &chains);
        let pass = Solver::new(&requirements, &chains, &signals).solve();
        let mut inexact = exact::inexact(&chains, &signals, &pass);
        inexact.extend(requirements.inexact_queues());
        inexact.sort_unstable();
        Self {
            flat,
            requirements,
            chains,
            pass,
            inexact,
        }
    }

    /// The unrolled schedule.
    pub fn flat(&self) -> &'f Flat<'s> {
        self.flat
    }

    /// Whether `first` is done before `second` starts, in every run. False if either never does, in
    /// any run.
    ///
    /// # Complexity
    /// O(1).
    pub fn happens_before(&self, first: InstanceId, second: InstanceId) -> bool {
        self.known_at(first, Point::start(second))
    }

    /// Whether `done` is done before `point` happens, in every run. False if either never does.
    ///
    /// # Complexity
    /// O(1).
    pub fn known_at(&self, done: InstanceId, point: Point) -> bool {
        self.pass.knows(&self.chains, point.node(), done)
    }

    /// Whether a point can happen. If not, it happens in no run; if so, whether it does may depend on
    /// the run where the order is inexact.
    pub fn can_happen(&self, point: Point) -> bool {
        self.pass.happens(point.node())
    }

    /// What each point directly requires.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// What a wait for a notify, flag event or word needs besides its direct requirements: all of
    /// these. Empty for other instances, for waits that are met from the start, and for waits that can
    /// never be reached.
    pub fn needs(&self, wait: InstanceId) -> &[Need] {
        self.pass.needs.get(&wait).map_or(&[], Vec::as_slice)
    }

    /// Where the order is only sound: waits that race, and calls that may or may not find their queue
    /// full. If there are none, the order is exact.
    pub fn inexact(&self) -> &[InstanceId] {
        &self.inexact
    }

    /// A witness that some instance is never done, whatever the run: a deadlock. None if each can be.
    ///
    /// # Complexity
    /// O(length of the witness x requirements of a point).
    pub fn stuck(&self) -> Option<Stuck> {
        let first = self
            .flat
            .ids()
            .find(|&id| !self.can_happen(Point::done(id)))?;
        let collective = |id: InstanceId| self.flat[id].collective;
        Some(stuck::find(
            &self.requirements,
            &self.pass,
            first,
            &collective,
        ))
    }
}
