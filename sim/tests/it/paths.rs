//! Critical paths and blame: what decided when a schedule ended.

use ascsim_schedules::flat::{Flat, InstanceId};
use ascsim_sim::{EngineModel, Gaps, HostCosts, Latencies, Options, Origin, simulate};
use expect_test::{Expect, expect};

use crate::notation::schedule;

const US: u64 = 1_000_000;

/// The critical path, a stretch a line, and the blame of the makespan from the host's start.
fn check(options: &Options, text: &str, expect: Expect) {
    let schedule = schedule(text);
    let flat = Flat::new(&schedule).expect("a valid schedule");
    let simulation = simulate(&flat, options).expect("no deadlock");
    let us = |ps: u64| ps as f64 / 1e6;
    let mut lines = String::new();
    for segment in simulation.critical_path().segments {
        let id = InstanceId::new(segment.instance as usize);
        lines += &format!(
            "{}..{} {} of {} {}, after {:?}\n",
            us(segment.from),
            us(segment.to),
            format!("{:?}", segment.part).to_lowercase(),
            flat[id].rank,
            flat.path(id),
            segment.after,
        );
    }
    for (category, ps) in simulation.blame(Origin::Host).iter() {
        if ps > 0 {
            lines += &format!("{category}: {}\n", us(ps));
        }
    }
    expect.assert_eq(&lines);
}

#[test]
fn host_bound() {
    let options = Options {
        host: HostCosts {
            launch: 5 * US,
            ..HostCosts::default()
        },
        latencies: Latencies {
            launch: US,
            ..Latencies::default()
        },
        ..Options::default()
    };
    check(
        &options,
        "k s0 a 1 c\nhost h 2\nk s0 b 1 c",
        expect![[r#"
        0..5 call of 0 a, after Running
        5..7 call of 0 h, after Thread
        7..12 call of 0 b, after Thread
        12..13 latency of 0 b, after Issue
        13..14 task of 0 b, after Running
        compute: 1
        launch: 11
        host: 2
    "#]],
    );
}

#[test]
fn device_bound_with_gaps_and_events() {
    let options = Options {
        gaps: Gaps::uniform(US),
        latencies: Latencies {
            event: 2 * US,
            ..Latencies::default()
        },
        ..Options::default()
    };
    check(
        &options,
        "k s0 a 4 c\nr s0 E\nk s1 x 1 v\nw s1 E\nc s1 copy 3\nk s0 b 1 c",
        expect![[r#"
            0..4 task of 0 a, after Issue
            4..5 gap of 0 r-E#3, after Stream
            5..5 task of 0 r-E#3, after Running
            5..7 latency of 0 w-E#7, after Event
            7..7 task of 0 w-E#7, after Running
            7..8 gap of 0 copy, after Stream
            8..11 task of 0 copy, after Running
            compute: 4
            memory: 3
            wait on event: 2
            gap: 2
        "#]],
    );
}

#[test]
fn a_late_rank_is_followed() {
    check(
        &Options::default(),
        "comm tp 0 1\nprogram p\nk s0 a 3 c\nall s0 x tp 5 v\nk s0 b 1 c\n\
         program q\nk s0 a 7 c\nall s0 x tp 4 v\nranks 0 1 p\nranks 1 1 q",
        expect![[r#"
            0..7 task of 1 a, after Issue
            7..7 task of 1 x, after Stream
            7..12 task of 0 x, after Collective
            12..13 task of 0 b, after Stream
            compute: 8
            collective: 5
        "#]],
    );
}

#[test]
fn waiting_for_cores_is_blamed_on_cores() {
    let options = Options {
        engines: EngineModel::Exclusive,
        ..Options::default()
    };
    check(
        &options,
        "k s0 a 4 c\nk s1 b 3 c",
        expect![[r#"
            0..4 cores of 0 a, after Issue
            4..7 task of 0 b, after Running
            compute: 3
            wait on cores: 4
        "#]],
    );
}

#[test]
fn a_delay_is_blamed_on_its_cause() {
    check(
        &Options::default(),
        "k s0 a 4 c\nk s0 b 3 c d=2",
        expect![[r#"
            0..4 task of 0 a, after Issue
            4..6 delay of 0 b, after Stream
            6..9 task of 0 b, after Running
            compute: 7
            external: 2
        "#]],
    );
}

#[test]
fn synchronisations_lead_back_to_the_device() {
    check(
        &Options::default(),
        "k s0 a 4 c\nsync s0\nc s1 copy 2 block\nhost h 3\nk s0 b 1 c",
        expect![[r#"
            0..4 task of 0 a, after Issue
            4..4 call of 0 sync-s0#3, after Synchronise
            4..6 task of 0 copy, after Issue
            6..9 call of 0 h, after BlockingCopy
            9..10 task of 0 b, after Issue
            compute: 5
            memory: 2
            host: 3
        "#]],
    );
}

#[test]
fn notifies_lead_back_to_the_rank_that_sends() {
    let options = Options {
        latencies: Latencies {
            notify: US,
            ..Latencies::default()
        },
        ..Options::default()
    };
    check(
        &options,
        "program p\nk s0 a 3 v\nnr s0 N peer=1\nprogram q\nnw s0 N\nk s0 b 1 v\n\
         ranks 0 1 p\nranks 1 1 q",
        expect![[r#"
            0..3 task of 0 a, after Issue
            3..3 task of 0 nr-N#3, after Stream
            3..4 latency of 1 nw-N#3, after Notify
            4..4 task of 1 nw-N#3, after Running
            4..5 task of 1 b, after Stream
            compute: 4
            wait on event: 1
        "#]],
    );
}

#[test]
fn a_graph_is_followed_inside() {
    check(
        &Options::default(),
        "program p\nlaunch s0 g\nk s0 last 1 c\nprogram g capture s0\nk s0 a 1 c\nr s0 E\nw s1 E\n\
         k s1 b 5 v\nr s1 E1\nk s0 c 2 c\nw s0 E1\nranks 0 1 p",
        expect![[r#"
            0..1 task of 0 g#1/a, after Container
            1..1 task of 0 g#1/r-E#5, after Stream
            1..1 task of 0 g#1/w-E#7, after Event
            1..6 task of 0 g#1/b, after Stream
            6..6 task of 0 g#1/r-E1#11, after Stream
            6..6 task of 0 g#1/w-E1#15, after Event
            6..6 task of 0 g#1, after Part
            6..7 task of 0 last, after Stream
            compute: 7
        "#]],
    );
}

#[test]
fn the_makespan_of_the_device_starts_with_its_first_task() {
    let schedule = schedule("host h 7\nk s0 a 4 c\nk s0 b 3 v");
    let flat = Flat::new(&schedule).expect("a valid schedule");
    let simulation = simulate(&flat, &Options::default()).expect("no deadlock");
    assert_eq!(simulation.makespan(Origin::Host), 14 * US);
    assert_eq!(simulation.makespan(Origin::Device), 7 * US);
    assert_eq!(simulation.blame(Origin::Host).total(), 14 * US);
    assert_eq!(simulation.blame(Origin::Device).total(), 7 * US);
    let prediction = simulation.prediction("s".into(), "c".into(), "t".into());
    assert_eq!(prediction.makespan.ns, 7_000);
    let paths: Vec<&str> = prediction.ops.iter().map(|op| op.op.as_str()).collect();
    assert_eq!(paths, ["h", "a", "b"]);
}
