use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::flat::StreamId;
use crate::ir::Schedule;
use crate::testing::{Fragment, small};

/// Two streams and what the tests below need, and a program as given on each of `ranks` ranks.
fn schedule(ranks: u32, ops: &[&str]) -> Schedule {
    let json = format!(
        r#"{{"format": "ascsim.schedule/1", "name": "t",
        "buffers": [{{"name": "words", "bytes": 64}}],
        "streams": [{{"name": "a"}}, {{"name": "b"}}, {{"name": "c"}}],
        "events": [{{"name": "ex"}}, {{"name": "sync", "kind": "sync"}}],
        "notifies": [{{"name": "n"}}, {{"name": "m"}}],
        "communicators": [{{"name": "tp", "groups": [[0, 1]]}}],
        "programs": [{{"name": "main", "ops": [{}]}}],
        "ranks": [{{"first": 0, "count": {ranks}, "program": "main"}}]}}"#,
        ops.join(",")
    );
    serde_json::from_str(&json).expect("the test's schedule is well formed")
}

fn op(id: &str, stream: &str, kind: &str) -> String {
    format!(r#"{{"id": "{id}", "stream": "{stream}", "kind": {kind}}}"#)
}

fn kernel(id: &str, stream: &str) -> String {
    op(id, stream, r#"{"kernel": {"name": "K"}}"#)
}

fn event(id: &str, stream: &str, what: &str, event: &str) -> String {
    op(
        id,
        stream,
        &format!(r#"{{"{what}": {{"event": "{event}"}}}}"#),
    )
}

fn notify(id: &str, stream: &str, what: &str, name: &str) -> String {
    op(
        id,
        stream,
        &format!(r#"{{"{what}": {{"notify": "{name}"}}}}"#),
    )
}

/// The pairs of rank 0's ops in which the first is done before the second starts, as `first<second`.
fn relation(ops: &[String], limits: &Limits) -> (Vec<String>, usize, Option<String>) {
    let ops: Vec<&str> = ops.iter().map(String::as_str).collect();
    let s = schedule(1, &ops);
    let flat = Flat::new(&s).expect("it is valid");
    let order = Order::new(&flat, limits);
    let mut found = Vec::new();
    for first in flat.ids() {
        for second in flat.ids().filter(|&id| order.happens_before(first, id)) {
            found.push(format!("{}<{}", flat.path(first), flat.path(second)));
        }
    }
    let stuck = order.stuck().map(|stuck| {
        let links = stuck.links().iter().map(|link| {
            format!(
                "{} {:?} {:?}",
                flat.path(link.point.instance),
                link.point.phase,
                link.why
            )
        });
        let kind = match &stuck {
            Stuck::Cycle(_) => "cycle",
            Stuck::Unsignalled(_) => "unsignalled",
            Stuck::Incomplete(..) => "incomplete",
        };
        format!("{kind}: {}", links.collect::<Vec<_>>().join(", "))
    });
    (found, order.inexact().len(), stuck)
}

#[test]
fn streams_and_bound_waits_order_and_nothing_else_does() {
    let ops = [
        kernel("x", "a"),
        event("r", "a", "record", "ex"),
        kernel("y", "a"),
        kernel("p", "b"),
        event("w", "b", "wait", "ex"),
        kernel("q", "b"),
    ];
    let (pairs, inexact, stuck) = relation(&ops, &Limits::default());
    assert_eq!(
        pairs,
        [
            "x<r", "x<y", "x<w", "x<q", "r<y", "r<w", "r<q", "p<w", "p<q", "w<q"
        ]
    );
    assert_eq!((inexact, stuck), (0, None));
}

#[test]
fn a_notify_given_by_either_of_two_orders_what_both_have_in_common() {
    let ops = [
        kernel("common", "a"),
        event("r", "a", "record", "ex"),
        event("w", "b", "wait", "ex"),
        kernel("only a", "a"),
        notify("give a", "a", "notify_record", "n"),
        notify("give b", "b", "notify_record", "n"),
        notify("take", "c", "notify_wait", "n"),
        kernel("after", "c"),
    ];
    let (pairs, inexact, _) = relation(&ops, &Limits::default());
    let after: Vec<&String> = pairs
        .iter()
        .filter(|pair| pair.ends_with("<after"))
        .collect();
    assert_eq!(after, ["common<after", "r<after", "take<after"]);
    assert_eq!(inexact, 0);
}

#[test]
fn notifies_in_turn_are_told_apart_and_racing_ones_are_not() {
    let turn = |back: bool| {
        let mut ops = Vec::new();
        for round in 0..3 {
            ops.push(kernel(&format!("k{round}"), "a"));
            ops.push(notify(&format!("give{round}"), "a", "notify_record", "n"));
            ops.push(notify(&format!("take{round}"), "b", "notify_wait", "n"));
            if back {
                ops.push(notify(&format!("done{round}"), "b", "notify_record", "m"));
                ops.push(notify(&format!("seen{round}"), "a", "notify_wait", "m"));
            }
        }
        relation(&ops, &Limits::default())
    };
    let (pairs, inexact, stuck) = turn(true);
    assert!(pairs.contains(&"k2<take2".to_owned()) && !pairs.contains(&"k2<take1".to_owned()));
    assert!(pairs.contains(&"take1<k2".to_owned()));
    assert_eq!((inexact, stuck), (0, None));
    // Without the way back a record may be lost. Where the waits are met, they still took three.
    let (pairs, inexact, _) = turn(false);
    assert!(pairs.contains(&"k2<take2".to_owned()) && !pairs.contains(&"take1<k2".to_owned()));
    assert_eq!(inexact, 3);
}

#[test]
fn a_reset_between_tells_uses_of_a_flag_apart() {
    let reuse = |reset: bool| {
        let mut ops = vec![
            kernel("first", "a"),
            event("r1", "a", "record", "sync"),
            event("w1", "b", "wait", "sync"),
        ];
        if reset {
            ops.push(event("reset", "b", "event_reset", "sync"));
        }
        ops.extend([
            event("ready", "b", "record", "ex"),
            event("go", "a", "wait", "ex"),
            kernel("second", "a"),
            event("r2", "a", "record", "sync"),
            event("w2", "b", "wait", "sync"),
        ]);
        relation(&ops, &Limits::default())
    };
    let (with, inexact, _) = reuse(true);
    assert!(with.contains(&"second<w2".to_owned()));
    assert_eq!(inexact, 0);
    // The hazard of section 16.3: the second wait passes at once.
    let (without, inexact, _) = reuse(false);
    assert!(without.contains(&"first<w2".to_owned()) && !without.contains(&"second<w2".to_owned()));
    assert_eq!(inexact, 0);
}

#[test]
fn what_never_happens_has_a_witness() {
    let ops = [
        notify("wait n", "a", "notify_wait", "n"),
        notify("give m", "a", "notify_record", "m"),
        notify("wait m", "b", "notify_wait", "m"),
        notify("give n", "b", "notify_record", "n"),
    ];
    let (pairs, _, stuck) = relation(&ops, &Limits::default());
    assert!(pairs.is_empty());
    let stuck = stuck.expect("it is a cycle");
    assert!(stuck.starts_with("cycle: "), "{stuck}");
    for id in [
        "wait n Start Signal",
        "give m Start Stream",
        "wait m Start Signal",
    ] {
        assert!(stuck.contains(id), "{stuck}");
    }
    let (_, _, stuck) = relation(&ops[..1], &Limits::default());
    let expected = "unsignalled: wait n Done Life, wait n Start Signal";
    assert_eq!(stuck.as_deref(), Some(expected));
}

#[test]
fn a_host_blocked_on_a_full_queue_behind_what_it_has_still_to_issue_is_stuck() {
    let ops = [
        notify("wait", "a", "notify_wait", "n"),
        kernel("x", "a"),
        kernel("y", "a"),
        notify("give", "b", "notify_record", "n"),
    ];
    let queue_tasks = |queue_tasks| Limits {
        queue_tasks,
        ..Limits::default()
    };
    let (_, _, stuck) = relation(&ops, &queue_tasks(3));
    assert_eq!(stuck, None);
    let (_, _, stuck) = relation(&ops, &queue_tasks(2));
    let stuck = stuck.expect("the third call waits for the first task");
    assert!(
        stuck.starts_with("cycle: ") && stuck.contains("y Issue Queue"),
        "{stuck}"
    );
}

#[test]
fn a_collective_of_one_rank_is_incomplete() {
    let comm = r#"{"id": "x", "stream": "a", "kind": {"collective": {}},
        "comm": {"communicator": "tp", "kind": "all_reduce", "bytes": 8}}"#;
    let mut s = schedule(2, &[comm]);
    let flat = Flat::new(&s).expect("it is valid");
    assert_eq!(Order::new(&flat, &Limits::default()).stuck(), None);
    let mut idle = s.programs[0].clone();
    idle.name = "idle".into();
    idle.ops.clear();
    s.programs.push(idle);
    let mut second = s.ranks[0].clone();
    (second.first, second.count, second.program) = (1, 1, Some("idle".into()));
    s.ranks[0].count = 1;
    s.ranks.push(second);
    let flat = Flat::new(&s).expect("it is valid");
    let stuck = Order::new(&flat, &Limits::default()).stuck();
    assert!(matches!(stuck, Some(Stuck::Incomplete(..))), "{stuck:?}");
}

#[test]
fn clocks_agree_with_sets_of_instances() {
    for fragment in [Fragment::Confluent, Fragment::Everything] {
        let mut runner = TestRunner::new(Config {
            cases: 500,
            failure_persistence: None,
            ..Config::default()
        });
        // Larger than what can be explored.
        let happy = std::cell::Cell::new(0);
        let result = runner.run(&small(fragment, 60, 150), |case| {
            let flat = Flat::new(&case.schedule).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let all = oracle::agree(&flat, &case.limits).map_err(TestCaseError::fail)?;
            happy.set(happy.get() + u32::from(all));
            Ok(())
        });
        if let Err(error) = result {
            panic!("{error}");
        }
        assert!(
            happy.get() >= 20,
            "only {} cases run to the end",
            happy.get()
        );
    }
}

#[test]
fn a_million_ops_on_64_streams_take_seconds() {
    // 200,000 events: every fifth op of a stream records one that the next stream waits for.
    let mut ops = Vec::new();
    for at in 0..4_000 {
        let stream = at % 64;
        let next = (at + 1) % 64;
        ops.push(kernel(&format!("k{at}"), &format!("s{stream}")));
        ops.push(kernel(&format!("l{at}"), &format!("s{stream}")));
        ops.push(event(
            &format!("r{at}"),
            &format!("s{stream}"),
            "record",
            "ex",
        ));
        ops.push(event(&format!("w{at}"), &format!("s{next}"), "wait", "ex"));
        ops.push(kernel(&format!("m{at}"), &format!("s{next}")));
    }
    let ops: Vec<&str> = ops.iter().map(String::as_str).collect();
    let mut s = schedule(1, &ops);
    let stream = s.streams[0].clone();
    s.streams = (0..64)
        .map(|at| {
            let name = format!("s{at}").into();
            crate::ir::Stream {
                name,
                ..stream.clone()
            }
        })
        .collect();
    s.programs[0].name = "body".into();
    let mut main = s.programs[0].clone();
    main.name = "main".into();
    main.ops = vec![
        serde_json::from_str(
            r#"{"id": "r", "kind": {"repeat": {"program": "body", "count": 50}}}"#,
        )
        .expect("it is well formed"),
    ];
    s.programs.push(main);
    let flat = Flat::new(&s).expect("it is valid");
    assert_eq!(flat.instances().len(), 1_000_000);
    assert_eq!(flat.stream_count(), 64);
    let start = std::time::Instant::now();
    let order = Order::new(&flat, &Limits::default());
    let took = start.elapsed();
    println!("{took:?}");
    assert_eq!(order.stuck(), None);
    let on = |stream| {
        let stream = Some(StreamId::new(stream));
        let mut ids = flat.ids().filter(|&id| flat[id].stream == stream);
        (ids.next(), ids.next_back())
    };
    let ((first, _), (_, last)) = (on(0), on(40));
    let ordered = first
        .zip(last)
        .map(|(first, last)| order.happens_before(first, last));
    assert_eq!(ordered, Some(true));
    // Generous, for busy machines: it takes about two seconds on an idle one.
    assert!(took.as_secs() < 60, "{took:?}");
}
