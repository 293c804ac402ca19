//! The verdict on a schedule.

use std::collections::HashMap;

use ascsim_schedules::{CertifiedFinding, Severity};
use serde::Serialize;

use crate::finding::Finding;
use crate::rule::Rule;

/// What is known about races.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RaceStatus {
    /// Every access is declared, and all that conflict are ordered.
    None,
    /// Some are not.
    Found,
    /// None was found, but not every op says what it touches.
    Unknown,
}

/// Everything that was found in a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`Report::FORMAT`].
    pub format: &'static str,
    /// Name of the schedule.
    pub schedule: String,
    /// Its structure hash, in hexadecimal.
    pub structure: String,
    /// The hardware profile it was checked against.
    pub profile: String,
    /// Op instances, over all ranks.
    pub instances: usize,
    /// What is known about races.
    pub races: RaceStatus,
    /// Findings that forbid a run.
    pub errors: usize,
    /// Findings that cost time or could not be decided.
    pub warnings: usize,
    /// The rest.
    pub notes: usize,
    /// What [`repair`](crate::repair) mended: findings that are there no more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<Finding>,
    /// Everything found, worst first.
    pub findings: Vec<Finding>,
    /// Findings of a rule beyond the first [`Report::MOST_OF_A_RULE`], which are only counted.
    pub omitted: usize,
}

impl Report {
    /// The value of `format`.
    pub const FORMAT: &str = "ascsim.check/1";

    /// The findings of one rule that are told.
    pub const MOST_OF_A_RULE: usize = 50;

    /// Whether a run is forbidden.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// The findings of a rule.
    pub fn of(&self, rule: Rule) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(move |finding| finding.rule == rule)
    }

    /// The findings in the form of a certificate.
    pub fn certified(&self) -> Vec<CertifiedFinding> {
        let certified = |finding: &Finding| CertifiedFinding {
            severity: finding.severity,
            rule: finding.rule.code().into(),
            message: finding.message.clone(),
        };
        self.findings.iter().map(certified).collect()
    }
}

/// Joins what the same ops show on several ranks or in several iterations, and puts the worst first.
/// The second result is how many were left out.
pub(crate) fn settle(found: Vec<Finding>) -> (Vec<Finding>, usize) {
    let mut settled: Vec<Finding> = Vec::new();
    type Ops = Vec<(String, String)>;
    let mut known: HashMap<(Rule, Ops, String), usize> = HashMap::new();
    let mut of_rule: HashMap<Rule, usize> = HashMap::new();
    let mut omitted = 0;
    for finding in found {
        let ops = finding.ops.iter();
        let mut ops: Vec<_> = ops.map(|op| (op.program.clone(), op.op.clone())).collect();
        ops.sort();
        // What is about no op is told apart by its text.
        let text = match ops.is_empty() {
            true => finding.message.clone(),
            false => String::new(),
        };
        let key = (finding.rule, ops, text);
        if let Some(&at) = known.get(&key) {
            settled[at].occurrences += finding.occurrences;
            continue;
        }
        let count = of_rule.entry(finding.rule).or_default();
        *count += 1;
        if *count > Report::MOST_OF_A_RULE {
            omitted += 1;
            continue;
        }
        known.insert(key, settled.len());
        settled.push(finding);
    }
    settled.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.rule));
    (settled, omitted)
}

pub(crate) fn count(findings: &[Finding], severity: Severity) -> usize {
    let of = |finding: &&Finding| finding.severity == severity;
    findings.iter().filter(of).count()
}
