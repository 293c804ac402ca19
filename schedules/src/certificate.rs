//! What the checker certifies about a schedule, in the form that the executor reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::ir::{Extra, Limits};

/// The verdict of the checker on one schedule. Written by `ascsim check --certify`; the executor
/// runs a schedule only together with one that names its structure hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// [`Certificate::FORMAT`].
    pub format: String,
    /// Structure hash of the schedule, in hexadecimal.
    pub structure: String,
    /// Version of the checker.
    pub checker: String,
    /// Name of the hardware profile it was checked against.
    pub profile: String,
    /// Device class of that profile: what the name of the chip (`aclrtGetSocName`) begins with, such
    /// as `Ascend910_93`.
    pub device_class: String,
    /// What the checker took for granted of the device. A device that has less is refused.
    pub limits: Limits,
    /// Everything found, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<CertifiedFinding>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Certificate {
    /// The value of `format` that this version writes.
    pub const FORMAT: &str = "ascsim.certificate/1";

    /// The findings that forbid a run.
    pub fn errors(&self) -> impl Iterator<Item = &CertifiedFinding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
    }
}

/// One finding, as far as the executor needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CertifiedFinding {
    /// How bad it is.
    pub severity: Severity,
    /// The rule that found it.
    #[schemars(with = "String")]
    pub rule: SmolStr,
    /// What was found.
    pub message: String,
}

/// How bad a finding is, from the least to the worst.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Costs time, or could not be decided.
    Warning,
    /// Deadlock, race, or a call that the device refuses: not to be run.
    Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_reads_back_and_keeps_what_it_does_not_know() {
        let text = r#"{
            "format": "ascsim.certificate/1", "structure": "ab", "checker": "0.1.0",
            "profile": "atlas-a3", "device_class": "Ascend910_93",
            "limits": {"aic": 24, "aiv": 48, "aicpu_graphs": 6, "queue_tasks": 1900,
                "value_wait_entries": 4, "streams": 1984, "events": 65536, "notifies": 8192,
                "launch_arguments": 128, "aicpu_communicator_streams": 40,
                "aicpu_communicator_notifies": 64, "l2_bytes": 0},
            "findings": [
                {"severity": "error", "rule": "deadlock", "message": "a cycle"},
                {"severity": "warning", "rule": "race-unknown", "message": "imported"}],
            "signed_by": "x"
        }"#;
        let certificate: Certificate = serde_json::from_str(text).unwrap();
        assert_eq!(certificate.limits, Limits::default());
        assert_eq!(certificate.errors().count(), 1);
        assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Note);
        let back = serde_json::to_value(&certificate).unwrap();
        assert_eq!(
            back,
            serde_json::from_str::<serde_json::Value>(text).unwrap()
        );
    }
}
