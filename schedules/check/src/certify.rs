//! What the executor is told of a schedule that was checked.

use ascsim_schedules::{Certificate, Extra, Schedule};

use crate::Target;
use crate::report::Report;

/// The certificate of `schedule`, on which `report` is: its structure hash, the checker's version,
/// the device it was checked for, and everything found. The executor refuses one with errors.
pub fn certificate(schedule: &Schedule, report: &Report, target: &Target) -> Certificate {
    Certificate {
        format: Certificate::FORMAT.to_owned(),
        structure: ascsim_schedules::hash::structure_hash(schedule).to_string(),
        checker: env!("CARGO_PKG_VERSION").to_owned(),
        profile: target.profile.clone(),
        device_class: target.device_class.clone(),
        limits: target.limits.clone(),
        findings: report.certified(),
        extra: Extra::default(),
    }
}
