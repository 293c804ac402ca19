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
//! [`Limits`](ascsim_schedules::Limits).

mod acl;
mod capture;
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
mod waste;

use ascsim_schedules::flat::{Flat, FlatError};
use ascsim_schedules::hash::structure_hash;
use ascsim_schedules::order::Order;
use ascsim_schedules::{Limits, Schedule, Severity};

use context::Context;
pub use finding::{CoreClaim, Finding, Place, Step, Witness};
pub use fix::{Edit, Repaired, apply, repair};
pub use report::{RaceStatus, Report};
pub use rule::{Rule, RuleDoc, RuleGroup};

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
    // The two long parts, side by side.
    let (mut found, races) = std::thread::scope(|scope| {
        let races = scope.spawn(|| race::find(&context));
        let mut found = deadlock::find(&context);
        found.extend(acl::find(&context));
        found.extend(capture::find(&context));
        found.extend(limits::find(&context));
        found.extend(collective::find(&context));
        found.extend(waste::find(&context));
        (found, races.join())
    });
    let races = races.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
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
        findings,
        omitted,
    })
}
