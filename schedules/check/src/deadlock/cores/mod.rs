//! Cores: ops that hold some while they wait for others.
//!
//! The model, which allows every order of hand-out:
//!
//! * A plain kernel runs its blocks on whatever cores are free, and ends. It needs one core to go on.
//! * A batch-mode kernel needs all its cores at once. While it waits, the scheduler may keep what is
//!   free for it, for one kernel at a time (the case that torchair documents, facts/schedules.md D1).
//! * A collective on vector cores and an MC2 kernel is a batch-mode kernel that holds its cores from
//!   its own start until every member has started.
//!
//! Suppose a run is stuck. Follow from a collective `B` that holds cores a member that has not
//! started: it is behind an op `K` that is ready and gets no cores, since a collective `D` that is
//! stuck too holds them on that die, or behind such a `D` by order. Hence stuck collectives form a
//! circle of such steps, and where there is no circle nothing is stuck.

mod circle;
mod resident;
mod single;

use crate::context::Context;
use crate::finding::Finding;
use resident::Residents;

/// What can go wrong with cores.
pub(super) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let residents = Residents::new(context);
    let mut found = single::find(&residents);
    found.extend(circle::find(&residents));
    found
}
