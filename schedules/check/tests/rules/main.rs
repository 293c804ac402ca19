//! Each rule on small schedules: what users reported, rebuilt, and its mended twin.

mod cores;
mod reports;
mod single;

use ascsim_check::{Report, Rule, Target, check};
use ascsim_schedules::builder::*;
use ascsim_schedules::{
    Communicator, Expansion, Extra, Limits, Op, OpKind, Schedule, Severity, StreamName,
};

/// The verdict for a full 910C die with 192 MiB of L2.
fn verdict(schedule: &Schedule) -> Report {
    let limits = Limits {
        l2_bytes: 192 << 20,
        ..Limits::default()
    };
    let target = Target {
        limits,
        ..Target::default()
    };
    check(schedule, &target).expect("it unrolls")
}

/// Rules with findings, once each.
fn rules(report: &Report) -> Vec<Rule> {
    let mut rules: Vec<Rule> = report.findings.iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// That a schedule has exactly these findings.
#[track_caller]
fn finds(schedule: &Schedule, expected: &[Rule]) -> Report {
    let report = verdict(schedule);
    assert_eq!(
        rules(&report),
        expected,
        "{}: {:#?}",
        schedule.name,
        report.findings
    );
    report
}

/// That nothing at all is wrong.
#[track_caller]
fn clean(schedule: &Schedule) {
    let report = finds(schedule, &[]);
    assert_eq!(
        report.races,
        ascsim_check::RaceStatus::None,
        "{}",
        schedule.name
    );
}

/// That a schedule may run, whatever could be better.
#[track_caller]
fn runs(schedule: &Schedule) {
    let report = verdict(schedule);
    let errors: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.severity == Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{}: {errors:#?}", schedule.name);
}

/// The messages of a rule.
fn messages(report: &Report, rule: Rule) -> Vec<&str> {
    report
        .of(rule)
        .map(|finding| finding.message.as_str())
        .collect()
}

/// An op that touches no declared memory.
fn pure(mut op: Op) -> Op {
    op.accesses = ascsim_schedules::Accesses::Known(Vec::new());
    op
}

/// A vector kernel on this many cores.
fn vector(id: &str, stream: &str, cores: u32) -> Op {
    pure(kernel(id, "Vector")).on(stream).cores(0, cores)
}

/// A cube kernel on all cores.
fn cube(id: &str, stream: &str) -> Op {
    pure(kernel(id, "MatMulV3")).on(stream).cores(24, 0)
}

/// An AIV collective on this many vector cores.
fn aiv(
    id: &str,
    stream: &str,
    name: &str,
    kind: ascsim_schedules::CollectiveKind,
    cores: u32,
) -> Op {
    pure(collective(id, name, kind, 65_536))
        .on(stream)
        .cores(0, cores)
        .batch()
}

/// A dispatch or combine: an MC2 kernel on all vector cores.
fn exchange(id: &str, stream: &str, kind: ascsim_schedules::CollectiveKind) -> Op {
    let mut op = pure(kernel(id, "MoeDistribute"))
        .on(stream)
        .cores(0, 48)
        .batch();
    op.comm = Some(Box::new(comm("ep", kind, 65_536)));
    op
}

/// A communicator over these ranks.
fn communicator(name: &str, ranks: u32, expansion: Option<Expansion>) -> Communicator {
    Communicator {
        name: name.into(),
        groups: vec![(0..ranks).collect()],
        expansion,
        buffer_bytes: None,
        deterministic: false,
        extra: Extra::default(),
    }
}

/// Records `event` on one stream and waits for it on another.
fn edge(event: &str, from: &str, to: &str) -> [Op; 2] {
    [record(event).on(from), wait(event).on(to)]
}

/// `ops` with each name of a stream replaced.
fn on_stream(ops: Vec<Op>, from: &str, to: &str) -> Vec<Op> {
    let moved = |mut op: Op| {
        if op.stream == Some(StreamName::from(from)) {
            op.stream = Some(to.into());
        }
        op
    };
    let moved: Vec<Op> = ops.into_iter().map(moved).collect();
    let signal = |op: &Op| matches!(op.kind, OpKind::Record(_) | OpKind::Wait(_));
    // On one stream, events order nothing.
    moved.into_iter().filter(|op| !signal(op)).collect()
}
