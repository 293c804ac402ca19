//! Whether a schedule makes sense: what every other module may take for granted.
//!
//! [`validate`] is called by every reader and writer of files ([`format`](crate::format)), so a
//! schedule that came from a file keeps these rules:
//!
//! 1. Names are not empty and unique; every reference names something declared.
//! 2. Views are inside their parent, end at a root and live in its memory; ranges of accesses,
//!    prefetches and words are inside their buffer; words are aligned and in HBM.
//! 3. A stream is there exactly where a kind uses one, `comm` where it communicates. Tasks of groups
//!    are of the kinds that may be one, and come after what they depend on.
//! 4. Captured programs are launched, others are repeated or run by ranks. Programs do not run
//!    themselves, are nested at most [`MOST_NESTED`] deep, and give a rank at most
//!    [`MOST_INSTANCES`] ops.
//! 5. Every rank is in one group, at most once in each communicator, in every communicator that it
//!    uses, and alone on its die. Overrides name an op that has what they override.
//! 6. Nominal times are from 0 to [`MOST_NS`] ns, amounts from 0 to [`MOST_AMOUNT`], repeat counts to
//!    [`MOST_REPEATS`]. Variables are declared and their distributions are proper.
//!
//! What is *bad* but well defined (a wait before its record, a race, a deadlock) is not looked at
//! here.

mod cost;
mod declare;
mod kind;
mod names;
mod nesting;
mod op;
mod prediction;
mod problem;
mod ranks;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub use cost::{MOST_AMOUNT, MOST_NS};
pub use declare::MOST_VIEWS;
pub use kind::MOST_REPEATS;
pub use nesting::{MOST_INSTANCES, MOST_NESTED};
pub use prediction::validate_prediction;
pub use problem::{Invalid, Noun, Problem, ProblemKind};
pub use ranks::MOST_RANKS;

use crate::ir::Schedule;
use crate::path::At;
use names::Names;
use ranks::RankSet;

/// Checks all rules of this module.
///
/// # Errors
/// Everything that is wrong, up to [`Invalid::LIMIT`] problems.
///
/// # Complexity
/// O(size of the schedule) time, O(names + ranks) space.
pub fn validate(schedule: &Schedule) -> Result<(), Invalid> {
    let mut found = Invalid::default();
    let names = Names::collect(schedule, &mut found);
    let mut checker = Checker {
        schedule,
        names,
        ops: Vec::new(),
        ranks: RankSet::of(schedule),
        members: names::members(schedule),
        found,
    };
    checker.op_ids();
    checker.declarations();
    checker.programs();
    checker.nesting();
    checker.rank_groups();
    checker.found.or_ok()
}

/// The state of one validation.
#[derive(Debug)]
struct Checker<'a> {
    schedule: &'a Schedule,
    names: Names<'a>,
    /// For each program, the index of each op by id.
    ops: Vec<HashMap<&'a str, usize>>,
    ranks: RankSet,
    members: HashMap<&'a str, Vec<u32>>,
    found: Invalid,
}

impl<'a> Checker<'a> {
    fn report(&mut self, at: &At<'_>, kind: ProblemKind) {
        self.found.push(at, kind);
    }

    fn undeclared(&mut self, at: &At<'_>, noun: Noun, name: &str) {
        let name = name.into();
        self.report(at, ProblemKind::Undeclared { noun, name });
    }

    /// Collects the ids of all ops, and reports empty and duplicate ones.
    fn op_ids(&mut self) {
        let list = At::ROOT.field("programs");
        for (index, program) in self.schedule.programs.iter().enumerate() {
            let at = list.named(index, program.name.as_str());
            let at = at.field("ops");
            let mut ids = HashMap::with_capacity(program.ops.len());
            for (index, op) in program.ops.iter().enumerate() {
                let is_new = ids.insert(op.id.as_str(), index).is_none();
                self.id(&at.named(index, op.id.as_str()), Noun::Op, &op.id, is_new);
            }
            self.ops.push(ids);
        }
    }

    fn programs(&mut self) {
        let list = At::ROOT.field("programs");
        for (index, program) in self.schedule.programs.iter().enumerate() {
            let at = list.named(index, program.name.as_str());
            if let Some(capture) = &program.capture {
                self.stream(&at.field("capture").field("origin"), &capture.origin);
            }
            let at = at.field("ops");
            for (index, op) in program.ops.iter().enumerate() {
                self.op(&at.named(index, op.id.as_str()), op);
            }
        }
    }
}
