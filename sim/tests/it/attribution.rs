//! Delays are found again: whatever delays a schedule had, those that are attributed to its own timeline
//! reproduce it.

use ascsim_schedules::flat::Flat;
use ascsim_schedules::{Delay, DelayCause, Expr, Extra, HostKind, OpKind, Schedule};
use ascsim_sim::attribute::{Attribution, apply, attribute, without_perturbation};
use ascsim_sim::{Gaps, Latencies, Options, Timeline, compile, simulate};
use ascsim_traces::recover::{ImportSummary, Recovered, Seen, SeenRank};
use ascsim_traces::time::Span;
use proptest::prelude::*;

use crate::notation::schedule;

/// Two ranks with two threads each: an event, a notify to the other rank, collectives, a
/// synchronisation and a blocking copy.
const SCHEDULE: &str = "
    comm g 0 1
    program a
    host p 3
    k A k1 5 v i=1
    r A E
    w B E i=1
    k B k2 7 c i=1
    all B c1 g 4 i=1
    k A k3 2 v t=side i=2
    host q 1 t=side
    nr A N peer=1
    sync B
    c A m1 3 block
    k A k4 6 v i=1
    all B c2 g 4
    program b
    host p 2
    k A k1 9 v i=1
    all B c1 g 5 i=1
    nw A N
    k A k2 4 c
    sync-device
    all B c2 g 2
    ranks 0 1 a
    ranks 1 1 b
";

fn options() -> Options {
    Options {
        gaps: Gaps::uniform(20_000),
        latencies: Latencies {
            launch: 1_000_000,
            event: 400_000,
            notify: 600_000,
            value: 0,
        },
        ..Options::default()
    }
}

/// Gives the ops of all programs these delays in ns, in order.
fn delayed(delays: &[i64]) -> Schedule {
    let mut schedule = schedule(SCHEDULE);
    let ops = schedule
        .programs
        .iter_mut()
        .flat_map(|program| &mut program.ops);
    for (op, ns) in ops.zip(delays) {
        if *ns > 0 {
            op.delay = Some(Box::new(Delay {
                ns: Expr::Int(*ns),
                cause: DelayCause::Unexplained,
                note: None,
                extra: Extra::default(),
            }));
        }
    }
    schedule
}

fn timeline(schedule: &Schedule) -> Timeline {
    let flat = Flat::new(schedule).unwrap();
    let simulation = simulate(&flat, &options()).unwrap();
    simulation.timeline().clone()
}

/// The bare schedule with a timeline as what was observed.
fn observed(timeline: &Timeline, perturbed: bool) -> Recovered {
    let schedule = schedule(SCHEDULE);
    let flat = Flat::new(&schedule).unwrap();
    let seen = flat.ranks().iter().map(|(rank, range)| {
        let ops = range.clone().map(|at| {
            let span = Some(Span {
                start: timeline.start[at] as i64 / 1_000,
                end: timeline.end[at] as i64 / 1_000,
            });
            let is_host = matches!(flat.instances()[at].op.kind, OpKind::Host(_));
            Seen {
                call: span.filter(|_| is_host),
                task: span.filter(|_| !is_host && timeline.was_queued(at as u32)),
            }
        });
        SeenRank {
            rank: *rank,
            ops: ops.collect(),
            captured: true,
            perturbed: Some(perturbed),
        }
    });
    let seen = seen.collect();
    Recovered {
        schedule,
        zero_ns: 0,
        seen,
        summary: ImportSummary::default(),
    }
}

fn attributed(recovered: &Recovered) -> Attribution {
    let flat = Flat::new(&recovered.schedule).unwrap();
    attribute(recovered, &compile(&flat, &options()).unwrap(), &options())
}

proptest! {
    #[test]
    fn the_attributed_delays_reproduce_any_timeline(
        delays in prop::collection::vec(prop_oneof![Just(0), 0_i64..20_000], 25)
    ) {
        let truth = timeline(&delayed(&delays));
        let mut recovered = observed(&truth, false);
        let found = attributed(&recovered);
        prop_assert_eq!(&found.violations, &vec![]);
        apply(&mut recovered, &found);
        let again = timeline(&recovered.schedule);
        prop_assert_eq!(again.start, truth.start);
        prop_assert_eq!(again.end, truth.end);
    }
}

#[test]
fn without_delays_nothing_is_left() {
    let found = attributed(&observed(&timeline(&schedule(SCHEDULE)), true));
    assert_eq!(found.violations, []);
    assert!(
        found.delay.iter().all(|delay| *delay == 0),
        "{:?}",
        found.delay
    );
}

#[test]
fn what_was_observed_too_early_is_a_violation() {
    let mut recovered = observed(&timeline(&schedule(SCHEDULE)), false);
    let flat = Flat::new(&recovered.schedule).unwrap();
    let at = flat.find(0, "k2").unwrap().index();
    drop(flat);
    let task = recovered.seen[0].ops[at].task.as_mut().unwrap();
    task.start -= 700;
    let found = attributed(&recovered);
    let [violation] = found.violations[..] else {
        panic!("{:?}", found.violations);
    };
    assert_eq!((violation.instance as usize, violation.ps), (at, 700_000));
}

#[test]
fn what_profiling_adds_after_a_plain_kernel_is_recorded_and_can_be_taken_out() {
    // k1 of rank 0 is a vector kernel; its record follows it on the stream.
    let bare = schedule(SCHEDULE);
    let ops = || bare.programs.iter().flat_map(|program| &program.ops);
    let record = ops()
        .position(|op| matches!(op.kind, OpKind::Record(_)))
        .unwrap();
    let mut delays = vec![0; ops().count()];
    delays[record] = 87_000;
    let host = ops()
        .position(|op| matches!(op.kind, OpKind::Host(HostKind::Work)))
        .unwrap();
    delays[host] = 500;
    let truth = timeline(&delayed(&delays));
    for (perturbed, cause) in [
        (true, DelayCause::Recorded),
        (false, DelayCause::Unexplained),
    ] {
        let mut recovered = observed(&truth, perturbed);
        let found = attributed(&recovered);
        assert_eq!(
            (found.delay[record], found.cause[record]),
            (87_000_000, cause)
        );
        assert_eq!(
            (found.delay[host], found.cause[host]),
            (500_000, DelayCause::HostThink)
        );
        apply(&mut recovered, &found);
        assert_eq!(timeline(&recovered.schedule).start, truth.start);
        assert_eq!(without_perturbation(&mut recovered), usize::from(perturbed));
        let sooner = timeline(&recovered.schedule).start != truth.start;
        assert_eq!(sooner, perturbed);
    }
}
