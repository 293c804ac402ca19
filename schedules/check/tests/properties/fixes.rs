//! What `repair` does to random schedules.

use std::collections::HashSet;

use ascsim_check::{Finding, Rule, RuleGroup, Target, check, repair};
use ascsim_schedules::flat::Flat;
use ascsim_schedules::order::Order;
use ascsim_schedules::testing::Fragment;
use ascsim_schedules::{Limits, Schedule, Severity};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::cases::{Case, case, effort};

type Key = (Rule, Vec<(String, String)>);

fn key(finding: &Finding) -> Key {
    let ops = finding
        .ops
        .iter()
        .map(|op| (op.program.clone(), op.op.clone()));
    let mut ops: Vec<_> = ops.collect();
    ops.sort();
    (finding.rule, ops)
}

/// The pairs of ops by path, of those that are in both schedules, that one schedule orders.
fn relation(schedule: &Schedule, kept: &HashSet<(u32, String)>) -> HashSet<(String, String)> {
    let flat = Flat::new(schedule).expect("it unrolls");
    let order = Order::new(&flat, &Limits::default());
    let of_both: Vec<_> = flat
        .ids()
        .filter(|&id| kept.contains(&(flat[id].rank, flat.path(id))))
        .collect();
    let name = |id| format!("{} {}", flat[id].rank, flat.path(id));
    let mut pairs = HashSet::new();
    for &one in &of_both {
        let after = of_both
            .iter()
            .filter(|&&other| order.happens_before(one, other));
        pairs.extend(after.map(|&other| (name(one), name(other))));
    }
    pairs
}

fn paths(schedule: &Schedule) -> HashSet<(u32, String)> {
    let flat = Flat::new(schedule).expect("it unrolls");
    flat.ids()
        .map(|id| (flat[id].rank, flat.path(id)))
        .collect()
}

fn run(test: impl Fn(&Case, &Target) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new(Config {
        cases: effort().cases,
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..Config::default()
    });
    let result = runner.run(&case(Fragment::Everything, 14, 14), |mut case| {
        // Whether a queue is full is another matter than what an event orders.
        case.limits = Limits::default();
        let target = Target {
            limits: case.limits.clone(),
            ..Target::default()
        };
        test(&case, &target)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn every_fix_removes_its_finding_and_adds_none() {
    let fixed = std::cell::RefCell::new(std::collections::BTreeMap::<&str, usize>::new());
    run(|case, target| {
        let before = check(&case.schedule, target).expect("it unrolls");
        let repaired = repair(&case.schedule, target).expect("it unrolls");
        let known: HashSet<Key> = before.findings.iter().map(key).collect();
        let left: HashSet<Key> = repaired.report.findings.iter().map(key).collect();
        let error = |finding: &Finding| finding.severity == Severity::Error;
        let mended = repaired.report.fixed.iter().any(error);
        for finding in &repaired.report.findings {
            // The event that a race needs may leave nothing to overlap.
            let waste = mended && finding.rule.doc().group == RuleGroup::Waste;
            prop_assert!(known.contains(&key(finding)) || waste, "new: {finding:?}");
        }
        for finding in &repaired.report.fixed {
            prop_assert!(!left.contains(&key(finding)), "still there: {finding:?}");
            *fixed.borrow_mut().entry(finding.rule.code()).or_default() += 1;
        }
        // And it is what a check of the mended schedule says.
        let again = check(&repaired.schedule, target).expect("it unrolls");
        prop_assert_eq!(again.findings, repaired.report.findings);
        Ok(())
    });
    let fixed = fixed.into_inner();
    println!("{fixed:?}");
    assert!(fixed.len() >= 4, "{fixed:?}");
}

#[test]
fn dropping_redundant_events_keeps_the_order_exactly() {
    let dropped = std::cell::Cell::new(0);
    run(|case, target| {
        let mut schedule = case.schedule.clone();
        let report = check(&schedule, target).expect("it unrolls");
        for finding in &report.findings {
            if finding.rule.doc().group == RuleGroup::Waste && !finding.edits.is_empty() {
                dropped.set(dropped.get() + 1);
                schedule = ascsim_check::apply(&schedule, &finding.edits);
            }
        }
        let kept = paths(&schedule);
        prop_assert_eq!(relation(&schedule, &kept), relation(&case.schedule, &kept));
        Ok(())
    });
    assert!(dropped.get() > 100, "{}", dropped.get());
}
