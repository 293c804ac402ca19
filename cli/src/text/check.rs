//! The report of `check` as text.

use std::fmt::Write as _;

use ascsim_check::{Finding, RaceStatus, Report, Rule, Witness};
use ascsim_schedules::Severity;

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// The report: each finding, then the verdict.
pub(crate) fn text(report: &Report) -> String {
    let mut out = String::new();
    for fixed in &report.fixed {
        let _ = writeln!(out, "fixed[{}]: {}", fixed.rule.code(), fixed.message);
        if let Some(suggestion) = &fixed.suggestion {
            let _ = writeln!(out, "  done: {suggestion}");
        }
        out.push('\n');
    }
    for one in &report.findings {
        finding(&mut out, one);
        out.push('\n');
    }
    if report.omitted > 0 {
        let _ = writeln!(out, "{} more findings are not shown\n", report.omitted);
    }
    let races = match report.races {
        RaceStatus::None => "no races",
        RaceStatus::Found => "races found",
        RaceStatus::Unknown => "race status unknown",
    };
    let verdict = match (report.errors, report.races) {
        (0, RaceStatus::Unknown) => "no error found",
        (0, _) => "clean",
        _ => "not to be run",
    };
    let _ = writeln!(
        out,
        "{verdict}: {} errors, {} warnings, {} notes, {races}; {} op instances checked for {}",
        report.errors, report.warnings, report.notes, report.instances, report.profile,
    );
    out
}

fn finding(out: &mut String, finding: &Finding) {
    let times = match finding.occurrences {
        0 | 1 => String::new(),
        times => format!(" ({times} times)"),
    };
    // A string takes all that is written to it.
    let _ = writeln!(
        out,
        "{}[{}]: {}{times}",
        severity(finding.severity),
        finding.rule.code(),
        finding.message
    );
    match &finding.witness {
        Witness::None | Witness::Bytes { .. } => {
            for op in &finding.ops {
                let _ = writeln!(out, "  at {op}");
            }
        }
        Witness::Cycle(steps) | Witness::Chain(steps) => {
            for step in steps {
                let _ = writeln!(out, "  {} waits: {}", step.op, step.because);
            }
            if let (Witness::Cycle(_), Some(first)) = (&finding.witness, steps.first()) {
                let _ = writeln!(out, "  {} (the first again)", first.op);
            }
        }
        Witness::Cores(claims) => {
            for claim in claims {
                let verb = if claim.holds { "holds" } else { "wants" };
                let _ = writeln!(
                    out,
                    "  {} {verb} {} of {} {} cores",
                    claim.op, claim.cores, claim.of, claim.engine
                );
            }
        }
        Witness::Budget { what, used, limit } => {
            let _ = writeln!(out, "  {what}: {used} of {limit}");
        }
    }
    if let Some(suggestion) = &finding.suggestion {
        let _ = writeln!(out, "  help: {suggestion}");
    }
}

/// What there is to say about a rule.
pub(crate) fn explanation(rule: Rule) -> String {
    let doc = rule.doc();
    let mut text = format!(
        "{} ({}, {})\n{}\n\n{}\n",
        doc.code,
        doc.group.name(),
        severity(doc.severity),
        doc.title,
        doc.explanation
    );
    if let Some(fix) = doc.fix {
        let _ = writeln!(text, "\n--fix {fix}.");
    }
    text
}
