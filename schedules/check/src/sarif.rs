//! The report as SARIF 2.1.0, which code hosts and editors show beside the file.

use std::collections::BTreeSet;

use ascsim_schedules::Severity;
use serde::Serialize;

use crate::finding::{Finding, Place};
use crate::report::Report;
use crate::rule::Rule;

/// A SARIF log of one run.
#[derive(Debug, Serialize)]
pub struct Sarif {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: Vec<Run>,
}

#[derive(Debug, Serialize)]
struct Run {
    tool: Tool,
    results: Vec<SarifResult>,
}

#[derive(Debug, Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Descriptor>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: &'static str,
    short_description: Text,
    full_description: Text,
    default_configuration: Configuration,
}

#[derive(Debug, Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Debug, Serialize)]
struct Text {
    text: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Text,
    locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Physical,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<Logical>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
}

#[derive(Debug, Serialize)]
struct Artifact {
    uri: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Logical {
    name: String,
    fully_qualified_name: String,
    kind: &'static str,
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// The report on the file or profile `uri` as a SARIF log.
pub fn sarif(report: &Report, uri: &str) -> Sarif {
    let used: BTreeSet<Rule> = report.findings.iter().map(|finding| finding.rule).collect();
    let rules: Vec<Rule> = used.into_iter().collect();
    let location = |place: Option<&Place>| Location {
        physical_location: Physical {
            artifact_location: Artifact {
                uri: uri.to_owned(),
            },
        },
        logical_locations: place.map(logical).into_iter().collect(),
    };
    let result = |finding: &Finding| {
        let mut message = finding.message.clone();
        if let Some(help) = &finding.suggestion {
            message.push_str("\nhelp: ");
            message.push_str(help);
        }
        SarifResult {
            rule_id: finding.rule.code(),
            rule_index: rules
                .iter()
                .position(|rule| *rule == finding.rule)
                .unwrap_or(0),
            level: level(finding.severity),
            message: Text { text: message },
            locations: vec![location(finding.ops.first())],
            related_locations: finding
                .ops
                .iter()
                .skip(1)
                .map(|op| location(Some(op)))
                .collect(),
        }
    };
    let results = report.findings.iter().map(result).collect();
    let descriptor = |rule: &Rule| {
        let doc = rule.doc();
        Descriptor {
            id: doc.code,
            short_description: Text {
                text: doc.title.to_owned(),
            },
            full_description: Text {
                text: doc.explanation.to_owned(),
            },
            default_configuration: Configuration {
                level: level(doc.severity),
            },
        }
    };
    Sarif {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: vec![Run {
            tool: Tool {
                driver: Driver {
                    name: "ascsim check",
                    version: env!("CARGO_PKG_VERSION"),
                    rules: rules.iter().map(descriptor).collect(),
                },
            },
            results,
        }],
    }
}

fn logical(place: &Place) -> Logical {
    let rank = place
        .rank
        .map_or(String::new(), |rank| format!("rank {rank}/"));
    Logical {
        name: place.op.clone(),
        fully_qualified_name: format!("{rank}{}", place.path),
        kind: "function",
    }
}
