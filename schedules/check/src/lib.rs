//! Proves a schedule free of deadlock and race, or shows what is wrong.
//!
//! [`check`] runs every [`Rule`] over a schedule and gives a [`Report`]. What is proved and how:
//!
//! * **Deadlock.** `progress` derives which points of which instances happen in *every* run. What is
//!   left may hang in some run, though the simulated one does not; the smallest circle of waiting, or
//!   the signal that does not come, is the witness. Cores are looked at for what can be resident at
//!   once.
//! * **Race.** `race` compares each access to a buffer with those of other streams that
//!   [happens-before](ascsim_schedules::order) leaves unordered.
//! * The other rules look at single ops and at counts.
//!
//! The crate knows only schedules: what it must know of a device is a
//! [`Limits`].

mod acl;
mod capture;
mod certify;
mod collective;
mod context;
mod deadlock;
mod finding;
mod fix;
mod limits;
mod progress;
mod race;
mod report;
mod rule;
mod sarif;
mod waste;

use ascsim_schedules::flat::{Flat, FlatError};
use ascsim_schedules::hash::structure_hash;
use ascsim_schedules::order::Order;
use ascsim_schedules::{Limits, Schedule, Severity};

pub use certify::certificate;
use context::Context;
pub use finding::{CoreClaim, Finding, Place, Step, Witness};
pub use fix::{Edit, Repaired, apply, repair};
pub use report::{RaceStatus, Report};
pub use rule::{Rule, RuleDoc, RuleGroup};
pub use sarif::{Sarif, sarif};

/// What a schedule is checked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name of the hardware profile.
    pub profile: String,
    /// What the name of the chip begins with (`aclrtGetSocName`), such as `Ascend910_93`.
    pub device_class: String,
    /// Its limits.
    pub limits: Limits,
}

impl Default for Target {
    /// The full 910C die of [`Limits::default`].
    fn default() -> Self {
        Self {
            profile: "910c".to_owned(),
            device_class: "Ascend910_93".to_owned(),
            limits: Limits::default(),
        }
    }
}

/// Op instances from which on a second thread is worth starting.
const SIDE_BY_SIDE: usize = 20_000;

fn all_but_races(context: &Context<'_, '_>) -> Vec<Finding> {
    let mut found = deadlock::find(context);
    found.extend(acl::find(context));
    found.extend(capture::find(context));
    found.extend(limits::find(context));
    found.extend(collective::find(context));
    found.extend(waste::find(context));
    found
}

/// Runs every rule over a schedule.
///
/// # Errors
/// If the schedule cannot be unrolled.
///
/// # Complexity
/// That of [`Order::new`], and O(accesses x streams that share their buffer) where accesses are
/// ordered.
pub fn check(schedule: &Schedule, target: &Target) -> Result<Report, FlatError> {
    let flat = Flat::new(schedule)?;
    let order = Order::new(&flat, &target.limits);
    let context = Context::new(schedule, &flat, &order, &target.limits);
    let (mut found, races) = match flat.instances().len() < SIDE_BY_SIDE {
        true => (all_but_races(&context), race::find(&context)),
        // The two long parts, side by side.
        false => std::thread::scope(|scope| {
            let races = scope.spawn(|| race::find(&context));
            let found = all_but_races(&context);
            let races = races.join();
            let races = races.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (found, races)
        }),
    };
    let status = races.status;
    found.extend(races.found);
    let (findings, omitted) = report::settle(found);
    Ok(Report {
        format: Report::FORMAT,
        schedule: schedule.name.clone(),
        structure: structure_hash(schedule).to_string(),
        profile: target.profile.clone(),
        instances: flat.instances().len(),
        races: status,
        errors: report::count(&findings, Severity::Error),
        warnings: report::count(&findings, Severity::Warning),
        notes: report::count(&findings, Severity::Note),
        fixed: Vec::new(),
        findings,
        omitted,
    })
}
