//! The checker against the explorer, which visits every run of a small schedule.
//!
//! `ASCSIM_CASES=100000 cargo test --release -p ascsim-check --test properties` runs longer, on larger
//! schedules.

mod cases;
mod cores;
mod fixes;

use std::cell::RefCell;

use ascsim_check::{Report, RuleGroup, Target, check};
use ascsim_schedules::explore::{ExploreError, Explored};
use ascsim_schedules::flat::{Flat, InstanceId};
use ascsim_schedules::footprint::Footprints;
use ascsim_schedules::order::Order;
use ascsim_schedules::testing::Fragment;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use cases::{Case, Effort};

/// What a property found out about all its cases.
#[derive(Debug, Default)]
struct Tally {
    cases: usize,
    /// Too many states: not compared.
    skipped: usize,
    /// Compared for equality, not only for what must not be missed.
    equal: usize,
    deadlocks: usize,
    races: usize,
    false_deadlocks: usize,
    false_races: usize,
}

fn of_group(report: &Report, group: RuleGroup) -> bool {
    let of = |rule: ascsim_check::Rule| rule.doc().group == group;
    report
        .findings
        .iter()
        .any(|finding| of(finding.rule) && finding.severity == ascsim_schedules::Severity::Error)
}

/// Whether two instances touch the same bytes, one of them writes, and no run orders them always.
fn races(flat: &Flat<'_>, explored: &Explored) -> bool {
    let footprints = Footprints::new(flat.schedule());
    let inside = |inner: InstanceId, outer: InstanceId| {
        std::iter::successors(Some(inner), |&id| flat[id].parent).any(|id| id == outer)
    };
    flat.ids().any(|one| {
        flat.ids().filter(|&other| one < other).any(|other| {
            flat[one].rank == flat[other].rank
                && footprints.conflict(flat[one].op, flat[other].op) == Some(true)
                && explored.ever_starts(one)
                && explored.ever_starts(other)
                && !explored.happens_before(one, other)
                && !explored.happens_before(other, one)
                && !inside(one, other)
                && !inside(other, one)
        })
    })
}

fn compare(case: &Case, effort: &Effort, tally: &mut Tally) -> Result<(), TestCaseError> {
    let fail = |error: &dyn std::fmt::Display| TestCaseError::fail(error.to_string());
    let target = Target {
        limits: case.limits.clone(),
        ..Target::default()
    };
    let report = check(&case.schedule, &target).map_err(|error| fail(&error))?;
    let flat = Flat::new(&case.schedule).map_err(|error| fail(&error))?;
    tally.cases += 1;
    let explored = match Explored::new(&flat, &case.limits, &effort.options) {
        Ok(explored) => explored,
        Err(ExploreError::TooManyStates { .. }) => {
            tally.skipped += 1;
            return Ok(());
        }
        Err(error) => return Err(fail(&error)),
    };
    let order = Order::new(&flat, &case.limits);
    // Calls that may or may not find their queue full leave the order only sound; deadlocks through
    // them must still be found, and no others.
    let queues = order.requirements().inexact_queues();
    let exact = order.inexact().iter().all(|id| queues.contains(id));
    let deadlock = (
        of_group(&report, RuleGroup::Deadlock),
        explored.deadlock.is_some(),
    );
    let race = (of_group(&report, RuleGroup::Race), races(&flat, &explored));
    tally.deadlocks += usize::from(deadlock.1);
    tally.races += usize::from(race.1);
    tally.false_deadlocks += usize::from(deadlock.0 && !deadlock.1);
    tally.false_races += usize::from(race.0 && !race.1);
    prop_assert!(
        deadlock.0 || !deadlock.1,
        "missed deadlock: {:?}",
        explored.deadlock
    );
    prop_assert!(race.0 || !race.1, "missed race");
    if exact {
        tally.equal += 1;
        prop_assert!(
            deadlock.1 || !deadlock.0,
            "no run hangs: {:#?}",
            report.findings
        );
        // A race on the far side of a queue that may block is beyond the order.
        if order.inexact().is_empty() {
            prop_assert!(race.1 || !race.0, "no run races: {:#?}", report.findings);
        }
    }
    Ok(())
}

fn property(fragment: Fragment) -> Tally {
    let effort = cases::effort();
    let tally = RefCell::new(Tally::default());
    let mut runner = TestRunner::new(Config {
        cases: effort.cases,
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..Config::default()
    });
    let result = runner.run(&cases::case(fragment, 14, effort.instances), |case| {
        compare(&case, &effort, &mut tally.borrow_mut())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let tally = tally.into_inner();
    println!("{fragment:?}: {tally:?}");
    assert!(tally.skipped * 10 <= tally.cases, "{tally:?}");
    // Both verdicts must occur often, or the comparison means nothing.
    let compared = tally.cases - tally.skipped;
    for found in [tally.deadlocks, tally.races] {
        assert!(
            found * 20 >= compared && found * 20 <= compared * 19,
            "{tally:?}"
        );
    }
    tally
}

#[test]
fn the_verdict_on_confluent_schedules_is_that_of_every_run() {
    let tally = property(Fragment::Confluent);
    assert!(tally.equal * 10 >= tally.cases * 7, "{tally:?}");
}

#[test]
fn no_deadlock_and_no_race_is_missed_elsewhere() {
    property(Fragment::Everything);
}
