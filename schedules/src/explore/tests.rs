use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::flat::{Binding, Flat};
use crate::order::{Order, Point};
use crate::testing::{Fragment, Small, small};

/// `ASCSIM_CASES` cases per property of larger schedules, or as much as fits into every test run.
struct Effort {
    cases: u32,
    instances: usize,
    options: Options,
}

fn effort() -> Effort {
    let cases = std::env::var("ASCSIM_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    let (instances, max_states) = match cases {
        Some(_) => (18, 40_000),
        None => (14, 4_000),
    };
    Effort {
        cases: cases.unwrap_or(2_000),
        instances,
        options: Options { max_states },
    }
}

/// What a property found out about all its cases.
#[derive(Debug, Default)]
struct Tally {
    cases: usize,
    /// Too many states: not compared.
    skipped: usize,
    /// Claimed to be exact, and compared for equality.
    exact: usize,
    /// Only sound.
    sound: usize,
    /// Orders that hold in every run but are not claimed, where the order is only sound.
    unclaimed: usize,
    claimed: usize,
    /// Op instances, and how many of them are waits bound to a record of another stream.
    instances: usize,
    bound_waits: usize,
    /// Cases with queues of a few entries.
    small_queues: usize,
    stuck: usize,
    most_states: usize,
    states: usize,
}

/// Compares happens-before with all runs.
fn compare(case: &Small, options: &Options, tally: &mut Tally) -> Result<(), TestCaseError> {
    let flat = Flat::new(&case.schedule).map_err(|e| TestCaseError::fail(e.to_string()))?;
    let order = Order::new(&flat, &case.limits);
    tally.cases += 1;
    tally.instances += flat.instances().len();
    tally.small_queues += usize::from(case.limits.queue_tasks < 10);
    let bound = |id: &InstanceId| {
        flat[*id].is_task() && matches!(flat.binding(*id), Some(Binding::Record(_)))
    };
    tally.bound_waits += flat.ids().filter(bound).count();
    let explored = match Explored::new(&flat, &case.limits, options) {
        Ok(explored) => explored,
        Err(ExploreError::TooManyStates { .. }) => {
            tally.skipped += 1;
            return Ok(());
        }
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    tally.most_states = tally.most_states.max(explored.states);
    tally.states += explored.states;
    let exact = order.inexact().is_empty();
    match exact {
        true => tally.exact += 1,
        false => tally.sound += 1,
    }
    let name = |id| format!("rank {} {}", flat[id].rank, flat.path(id));
    for id in flat.ids() {
        let can = order.can_happen(Point::start(id));
        let ever = explored.ever_starts(id);
        prop_assert!(can || !ever, "{} is said never to start", name(id));
        prop_assert!(!exact || can == ever, "{} never starts", name(id));
        let done = order.can_happen(Point::done(id));
        prop_assert!(
            !explored.always_done(id) || done,
            "{} is said never to be done",
            name(id)
        );
        if exact {
            prop_assert_eq!(
                done,
                explored.always_done(id),
                "{} done in every run",
                name(id)
            );
        }
        for before in flat.ids().filter(|_| ever) {
            let claimed = order.happens_before(before, id);
            let holds = explored.happens_before(before, id);
            tally.claimed += usize::from(claimed);
            prop_assert!(
                holds || !claimed,
                "{} before {} does not hold",
                name(before),
                name(id)
            );
            // What is not queued has no effect; where in its stream it passes is a convention.
            let passes = |id| {
                let queued = matches!(
                    flat.binding(id),
                    None | Some(Binding::Flag | Binding::Recorded)
                );
                flat[id].is_task() && !queued
            };
            if exact && (passes(before) || passes(id)) {
                continue;
            }
            if exact {
                prop_assert!(
                    claimed || !holds,
                    "{} before {} is missed",
                    name(before),
                    name(id)
                );
            } else {
                tally.unclaimed += usize::from(holds && !claimed);
            }
        }
    }
    if exact {
        prop_assert_eq!(order.stuck().is_some(), explored.deadlock.is_some());
        tally.stuck += usize::from(order.stuck().is_some());
    }
    Ok(())
}

fn property(fragment: Fragment) -> Tally {
    let effort = effort();
    let tally = std::cell::RefCell::new(Tally::default());
    let mut runner = TestRunner::new(Config {
        cases: effort.cases,
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..Config::default()
    });
    let cases = small(fragment, 14, effort.instances);
    let result = runner.run(&cases, |case| {
        compare(&case, &effort.options, &mut tally.borrow_mut())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let tally = tally.into_inner();
    println!("{fragment:?}: {tally:?}");
    assert!(tally.skipped * 10 <= tally.cases, "{tally:?}");
    tally
}

#[test]
fn happens_before_is_what_every_run_shows() {
    let tally = property(Fragment::Confluent);
    // The claim of equality must mean something.
    assert!(tally.exact * 10 >= tally.cases * 7, "{tally:?}");
}

#[test]
fn happens_before_claims_nothing_that_a_run_breaks() {
    let tally = property(Fragment::Everything);
    assert!(tally.sound * 10 >= tally.cases, "{tally:?}");
}
