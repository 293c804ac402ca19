//! An exhaustive explorer: every run of a small schedule on the [model of ACL](crate::acl).
//!
//! It is the ground truth for [happens-before](crate::order) and for the checker. States are memoised,
//! so that it visits states and not interleavings; still their number grows with the product of what
//! can be under way at once.

mod lower;
mod search;
#[cfg(test)]
mod tests;

use crate::acl::AclError;
use crate::flat::{Flat, InstanceId};
use crate::ir::Limits;

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// States to visit at most.
    pub max_states: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_states: 1_000_000,
        }
    }
}

/// Why a schedule was not explored to the end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExploreError {
    /// Too large.
    #[error("{instances} op instances are more than the {limit} that can be explored")]
    TooManyInstances {
        /// How many it has.
        instances: usize,
        /// How many it may have.
        limit: usize,
    },
    /// Too many states.
    #[error(
        "more than {limit} states can be reached; explore a smaller schedule or raise the limit"
    )]
    TooManyStates {
        /// The limit.
        limit: usize,
    },
    /// ACL refuses to create or capture what the schedule declares.
    #[error("ACL refuses {call} with {code}")]
    Setup {
        /// The call.
        call: String,
        /// The code.
        code: AclError,
    },
}

/// What all runs of a schedule have in common.
#[derive(Clone, Debug)]
pub struct Explored {
    known: Vec<u128>,
    ran: u128,
    always: u128,
    /// States visited.
    pub states: usize,
    /// Final states in which something is not done.
    pub deadlocks: usize,
    /// One of them.
    pub deadlock: Option<Deadlock>,
}

/// A run that ends with something not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The run.
    pub moves: Vec<Move>,
    /// The instances that are not done at its end.
    pub unfinished: Vec<InstanceId>,
}

/// One move of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// The host calls for this instance, or returns from it.
    Host(InstanceId),
    /// This instance starts or is done on its device.
    Device(InstanceId),
}

impl Explored {
    /// Instances that can be explored.
    pub const MAX_INSTANCES: usize = 128;

    /// Visits every state of a schedule on devices with these limits.
    ///
    /// # Errors
    /// If it is too large, has too many states, or cannot be set up.
    ///
    /// # Complexity
    /// O(states x what can happen in each).
    pub fn new(flat: &Flat<'_>, limits: &Limits, options: &Options) -> Result<Self, ExploreError> {
        search::explore(flat, limits, options)
    }

    /// Whether an instance starts in some run.
    pub fn ever_starts(&self, id: InstanceId) -> bool {
        self.ran & search::bit(id) != 0
    }

    /// Whether an instance is done at the end of every run.
    pub fn always_done(&self, id: InstanceId) -> bool {
        self.always & search::bit(id) != 0
    }

    /// Whether `first` is done before `second` starts, in every run in which `second` starts. False if
    /// it never does.
    pub fn happens_before(&self, first: InstanceId, second: InstanceId) -> bool {
        self.ever_starts(second) && self.known[second.index()] & search::bit(first) != 0
    }
}
