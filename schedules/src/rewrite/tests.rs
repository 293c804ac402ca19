//! What each change makes of small schedules.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::Change;
use crate::ir::{HostKind, Op, OpKind, Schedule, SyncTarget};

/// A schedule of one rank. A line of `text` is `thread? stream kind object`.
fn schedule(lines: &[&str]) -> Schedule {
    let mut ops = Vec::new();
    let mut taken = std::collections::HashSet::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let kind = match words[1] {
            "k" => format!(r#"{{"kernel":{{"name":"{}"}}}}"#, words[2]),
            "r" => format!(r#"{{"record":{{"event":"{}"}}}}"#, words[2]),
            "w" => format!(r#"{{"wait":{{"event":"{}"}}}}"#, words[2]),
            "sync" => format!(
                r#"{{"host":{{"synchronise":{{"stream":"{}"}}}}}}"#,
                words[2]
            ),
            "hand" => format!(r#"{{"host":{{"synchronise":{{"event":"{}"}}}}}}"#, words[2]),
            "think" | "work" => format!(r#"{{"host":"{}"}}"#, words[1]),
            other => panic!("{other}"),
        };
        let stream = match words[0] {
            "-" => String::new(),
            stream => format!(r#""stream":"{stream}","#),
        };
        let accesses = words.get(3).map_or(String::new(), |text| {
            let one = |access: &str| {
                let (mode, buffer) = access.split_at(1);
                let mode = if mode == "R" { "read" } else { "write" };
                format!(r#"{{"buffer":"{buffer}","mode":"{mode}"}}"#)
            };
            let all: Vec<String> = text.split('+').map(one).collect();
            format!(r#","accesses":[{}]"#, all.join(","))
        });
        // Event ops of one name are told apart, as a valid schedule must.
        let mut id = format!("{}.{}", words[1], words[2]);
        while matches!(words[1], "r" | "w") && !taken.insert(id.clone()) {
            id.push('\'');
        }
        ops.push(format!(
            r#"{{"id":"{id}",{stream}"kind":{kind},"duration":{{"ns":1000,"from":"stated"}}{accesses}}}"#
        ));
    }
    let text = format!(
        r#"{{"format":"ascsim.schedule/1","name":"t","buffers":[{{"name":"x","bytes":8}},
        {{"name":"y","bytes":8}},{{"name":"z","bytes":8}}],"streams":[{{"name":"S0"}},{{"name":"S1"}}],
        "events":[{{"name":"E"}},{{"name":"F"}},{{"name":"S","kind":"sync"}}],
        "programs":[{{"name":"p","ops":[{}]}}],
        "ranks":[{{"first":0,"count":1,"program":"p"}}]}}"#,
        ops.join(",")
    );
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn object(op: &Op) -> String {
    match &op.kind {
        OpKind::Kernel(kernel) => kernel.name.to_string(),
        OpKind::Record(record) => record.event.to_string(),
        OpKind::Wait(wait) => wait.event.to_string(),
        OpKind::GraphLaunch(launch) => launch.program.to_string(),
        OpKind::Repeat(repeat) => repeat.program.to_string(),
        OpKind::Host(HostKind::Synchronise(SyncTarget::Stream(stream))) => stream.to_string(),
        _ => String::new(),
    }
}

fn check(lines: &[&str], change: &str, expect: &Expect) {
    check_of(&schedule(lines), change, expect);
}

fn check_of(schedule: &Schedule, change: &str, expect: &Expect) {
    let change = Change::parse(change).unwrap_or_else(|error| panic!("{change}: {error}"));
    let mut text = String::new();
    match change.apply(schedule) {
        Err(error) => writeln!(text, "refused: {error}").expect("a string takes all"),
        Ok(result) => {
            for program in &result.schedule.programs {
                writeln!(text, "{}:", program.name).expect("a string takes all");
                for op in &program.ops {
                    let stream = op.stream.as_ref().map_or("-", |stream| stream.as_str());
                    let time = op.duration.as_ref().and_then(|time| time.ns.constant());
                    let time = time
                        .filter(|ns| *ns != 1000.0)
                        .map(|ns| format!(" {ns} ns"));
                    let (kind, time) = (op.kind.name(), time.unwrap_or_default());
                    writeln!(text, "  {stream} {kind} {}{time}", object(op)).expect("it does");
                }
            }
        }
    }
    expect.assert_eq(&text);
}

const TWO_STREAMS: &[&str] = &[
    "S0 k A", "S0 r E", "S0 k B", "S1 w E", "S1 k C", "S1 r F", "S0 w F", "S0 k D",
];

#[test]
fn durations_are_scaled_and_set() {
    check(
        &["S0 k A", "S0 k B"],
        "scale:select=name=B,factor=2.5",
        &expect![[r#"
        p:
          S0 kernel A
          S0 kernel B 2500 ns
    "#]],
    );
    check(
        &["S0 k A", "S0 k B"],
        "set-duration:select=name=A,us=0.5",
        &expect![[r#"
        p:
          S0 kernel A 500 ns
          S0 kernel B
    "#]],
    );
    check(
        &["S0 k A"],
        "scale:select=name=Z,factor=2",
        &expect![[r#"
        refused: `name=Z` selects no op with a duration; `ascsim import` writes a schedule whose ops and tags can be looked at
    "#]],
    );
}

#[test]
fn ops_move_between_given_join_points() {
    let layer = &["S0 k A", "S0 k B", "S0 k C", "S0 k D", "S0 k E"];
    check(
        layer,
        "move-to-stream:select=name=B|C,stream=side,after=name=A,before=name=E",
        &expect![[r#"
            p:
              S0 kernel A
              S0 record fork.k.B
              side wait fork.k.B
              side kernel B
              side kernel C
              side record join.k.C
              S0 kernel D
              S0 wait join.k.C
              S0 kernel E
        "#]],
    );
    check(
        layer,
        "move-to-stream:select=name=B,stream=side",
        &expect![[r#"
            refused: op `k.A` of program `p` has unknown accesses, so what it needs and who needs it is unknown: give the join points with after=SELECTOR,before=SELECTOR
        "#]],
    );
    check(
        layer,
        "move-to-stream:select=name=B,stream=side,after=name=C,before=name=E",
        &expect![[r#"
            refused: `name=C` (after) matches no op before op `k.B` of program `p`
        "#]],
    );
    check(
        TWO_STREAMS,
        "move-to-stream:select=stream=S1,stream=S2,after=id=*,before=id=*",
        &expect![[r#"
            refused: op `w.E` of program `p`: it is an event op: select only the work; the events it needs are made anew
        "#]],
    );
}

#[test]
fn each_layer_gets_join_points_of_its_own() {
    check(
        &["S0 k A", "S0 k B", "S0 k C", "S0 k A", "S0 k B", "S0 k C"],
        "move-to-stream:select=name=B,stream=side,after=name=A,before=name=C",
        &expect![[r#"
            p:
              S0 kernel A
              S0 record fork.k.B
              side wait fork.k.B
              side kernel B
              side record join.k.B
              S0 wait join.k.B
              S0 kernel C
              S0 kernel A
              S0 record fork.k.B.2
              side wait fork.k.B.2
              side kernel B
              side record join.k.B.2
              S0 wait join.k.B.2
              S0 kernel C
        "#]],
    );
}

#[test]
fn join_points_come_from_the_data_where_it_is_known() {
    check(
        &[
            "S0 k A Wx",
            "S0 k B Wz",
            "S0 k C Rx+Wy",
            "S0 k D Rz",
            "S0 k E Ry",
        ],
        "move-to-stream:select=name=C,stream=side",
        &expect![[r#"
            p:
              S0 kernel A
              S0 record fork.k.C
              S0 kernel B
              side wait fork.k.C
              side kernel C
              side record join.k.C
              S0 kernel D
              S0 wait join.k.C
              S0 kernel E
        "#]],
    );
}

#[test]
fn waits_and_records_move_only_where_acl_keeps_them() {
    check(
        TWO_STREAMS,
        "move-wait:select=event=F,before=name=B",
        &expect![[r#"
            refused: op `w.F` of program `p`: there it would be issued before its record, and ACL would drop it without a word: choose a later op
        "#]],
    );
    check(
        TWO_STREAMS,
        "move-record:select=event=E,after=name=D",
        &expect![[r#"
            refused: op `r.E` of program `p`: there it would be issued after its wait `w.E`, and ACL would drop the wait without a word: choose an earlier op
        "#]],
    );
    check(
        TWO_STREAMS,
        "move-record:select=id=r.E,after=name=B",
        &expect![[r#"
            p:
              S0 kernel A
              S0 kernel B
              S0 record E
              S1 wait E
              S1 kernel C
              S1 record F
              S0 wait F
              S0 kernel D
        "#]],
    );
}

#[test]
fn a_wait_keeps_its_record_when_it_moves() {
    let twice = &[
        "S0 k A", "S0 r E", "S1 w E", "S1 k B", "S0 r E", "S1 w E", "S1 k C",
    ];
    let mut schedule = schedule(twice);
    for (at, op) in schedule.programs[0].ops.iter_mut().enumerate() {
        op.id = format!("{at}").into();
    }
    let change = Change::parse("move-wait:select=id=5,before=name=B").expect("a change");
    let error = change
        .apply(&schedule)
        .expect_err("it would bind to the first record");
    assert!(error.to_string().contains("ACL would drop it"), "{error}");
    let change = Change::parse("move-wait:select=id=2,before=name=C").expect("a change");
    let error = change
        .apply(&schedule)
        .expect_err("it would bind to the second record");
    assert!(error.to_string().contains("another record"), "{error}");
}

#[test]
fn a_dropped_wait_takes_its_record_along() {
    check(
        TWO_STREAMS,
        "drop-wait:select=event=E",
        &expect![[r#"
        p:
          S0 kernel A
          S0 kernel B
          S1 kernel C
          S1 record F
          S0 wait F
          S0 kernel D
    "#]],
    );
    check(
        TWO_STREAMS,
        "drop-record:select=event=F",
        &expect![[r#"
        p:
          S0 kernel A
          S0 record E
          S0 kernel B
          S1 wait E
          S1 kernel C
          S0 kernel D
    "#]],
    );
    check(
        &["S0 r S", "S1 w S"],
        "drop-record:select=event=S",
        &expect![[r#"
            refused: op `r.S` of program `p`: its event is a flag that any record sets: its waits would hang; drop the waits first
        "#]],
    );
    check(
        TWO_STREAMS,
        "remove:select=event=F",
        &expect![[r#"
        refused: op `r.F` of program `p`: it is an event op: use drop-wait or drop-record, which keep records and waits together
    "#]],
    );
    check(
        TWO_STREAMS,
        "remove:select=name=C",
        &expect![[r#"
        p:
          S0 kernel A
          S0 record E
          S0 kernel B
          S1 wait E
          S1 record F
          S0 wait F
          S0 kernel D
    "#]],
    );
}

#[test]
fn runs_between_host_calls_become_graphs() {
    let mut lines = TWO_STREAMS.to_vec();
    lines.insert(1, "- think t");
    lines.extend(["- sync S1", "S0 w E", "S0 k G"]);
    check(
        &lines,
        "graph:us=7",
        &expect![[r#"
        p:
          S0 graph_launch p.graph0
          - host S0
          S0 graph_launch p.graph1
        p.graph0:
          S0 record capture.fork
          S1 wait capture.fork
          S0 kernel A
          S0 record E
          S0 kernel B
          S1 wait E
          S1 kernel C
          S1 record F
          S0 wait F
          S0 kernel D
          S1 record capture.join
          S0 wait capture.join
        p.graph1:
          S0 kernel G
    "#]],
    );
    check(
        &["S0 r S"],
        "graph",
        &expect![[r#"
        refused: op `r.S` of program `p`: only events of kind `ex` and `external` can be captured: declare it so
    "#]],
    );
}

/// One thread hands two kernels over to another that issues them, then synchronises.
fn handed_over() -> Schedule {
    let mut schedule = schedule(&[
        "- think first",
        "- work enqueue.1",
        "- hand E",
        "- hand E.",
        "- think waiting",
        "S0 k A",
        "- think between",
        "- work enqueue.2",
        "- hand F",
        "- hand F.",
        "S0 k B",
        "- think last",
        "- work print",
        "- sync S0",
    ]);
    for op in &mut schedule.programs[0].ops {
        let on_issuer = ["hand.E.", "think.waiting", "k.A", "hand.F.", "k.B"];
        if on_issuer.contains(&op.id.as_str()) {
            op.thread = "issuer".into();
        }
        if let OpKind::Host(HostKind::Synchronise(SyncTarget::Event(event))) = &mut op.kind {
            *event = event.as_str().trim_end_matches('.').into();
        }
    }
    schedule
}

#[test]
fn one_thread_launches_what_was_handed_over() {
    let before = handed_over();
    check_of(
        &before,
        "graph:us=7",
        &expect![[r#"
        p:
          - host 
          S0 graph_launch p.graph0
          - host 
          - host 
          - host S0
        p.graph0:
          S0 kernel A
          S0 kernel B
    "#]],
    );
    let graph = Change::parse("graph").expect("a change");
    let after = graph.apply(&before).expect("it can be captured");
    let text: Vec<_> = after.notes.iter().map(|note| note.text.as_str()).collect();
    assert!(
        text.iter().any(|text| text.starts_with("8 stretches")),
        "{text:?}"
    );
    let threads: Vec<_> = after.schedule.programs[0]
        .ops
        .iter()
        .map(|op| op.thread.as_str())
        .collect();
    assert_eq!(threads, ["main"; 5]);
}

#[test]
fn a_rank_seen_from_outside_issues_as_before() {
    let mut schedule = schedule(&["- think arrive", "S0 k A"]);
    let delay = serde_json::json!({"ns": 5000, "cause": "external"});
    schedule.programs[0].ops[0].delay = Some(serde_json::from_value(delay).expect("it is a delay"));
    for change in ["graph", "eager:us=5"] {
        let change = Change::parse(change).expect("a change");
        let after = change.apply(&schedule).expect("nothing is refused");
        assert_eq!(after.schedule, schedule);
        assert_eq!(after.touched, 0);
    }
}

#[test]
fn a_graph_is_issued_op_by_op_again() {
    let graph = Change::parse("graph").expect("a change");
    let eager = Change::parse("eager:us=5").expect("a change");
    let captured = graph
        .apply(&schedule(TWO_STREAMS))
        .expect("it can be captured")
        .schedule;
    let issued = eager.apply(&captured).expect("it can be issued").schedule;
    assert!(
        issued
            .programs
            .iter()
            .all(|program| program.capture.is_none())
    );
    let costs: Vec<_> = issued.programs[1]
        .ops
        .iter()
        .map(|op| op.issue.as_ref().and_then(|issue| issue.ns.constant()))
        .collect();
    assert!(
        costs.contains(&Some(5000.0)) && costs.contains(&Some(1000.0)),
        "{costs:?}"
    );
    assert!(matches!(issued.programs[0].ops[0].kind, OpKind::Repeat(_)));
}

#[test]
fn a_wait_for_what_is_done_anyway_goes() {
    check(
        &[
            "S0 k A", "S0 r E", "S0 w E", "S0 k B", "S1 w E", "S1 k C", "S1 w E", "S1 k D",
            "S0 r F",
        ],
        "drop-redundant-events",
        &expect![[r#"
            p:
              S0 kernel A
              S0 record E
              S0 kernel B
              S1 wait E
              S1 kernel C
              S1 kernel D
        "#]],
    );
    check(
        TWO_STREAMS,
        "drop-redundant-events",
        &expect![[r#"
            p:
              S0 kernel A
              S0 record E
              S0 kernel B
              S1 wait E
              S1 kernel C
              S1 record F
              S0 wait F
              S0 kernel D
        "#]],
    );
}

#[test]
fn records_that_follow_each_other_are_merged() {
    check(
        &[
            "S0 k A", "S0 r E", "S0 r F", "S0 k B", "S1 w F", "S1 k C", "S1 w E",
        ],
        "merge-records",
        &expect![[r#"
            p:
              S0 kernel A
              S0 record E
              S0 kernel B
              S1 wait E
              S1 kernel C
              S1 wait E
        "#]],
    );
    check(
        &[
            "S0 k A", "S0 r E", "S0 k B", "S0 r F", "S1 w F", "S1 k C", "S1 w E",
        ],
        "merge-records",
        &expect![[r#"
            p:
              S0 kernel A
              S0 record E
              S0 kernel B
              S0 record F
              S1 wait F
              S1 kernel C
              S1 wait E
        "#]],
    );
}

#[test]
fn everything_fits_on_one_stream() {
    check(
        TWO_STREAMS,
        "one-stream",
        &expect![[r#"
            p:
              S0 kernel A
              S0 kernel B
              S0 kernel C
              S0 kernel D
        "#]],
    );
    check(
        &["S1 w S", "S1 k A", "S0 r S", "S0 k B"],
        "one-stream",
        &expect![[r#"
            refused: op `w.S` of program `p`: on one stream it would stand before what it waits for, and hang
        "#]],
    );
}

#[test]
fn a_layer_gets_a_stream_of_its_own() {
    let mut schedule = schedule(TWO_STREAMS);
    let change = Change::parse("stream-per-layer").expect("a change");
    let error = change.apply(&schedule).expect_err("there are no layers");
    assert!(error.to_string().contains("`k.C`"), "{error}");
    schedule.programs[0].ops[4].tags.set("layer", "7");
    let result = change.apply(&schedule).expect("it has a layer").schedule;
    let streams: Vec<String> = result.programs[0]
        .ops
        .iter()
        .map(|op| format!("{}:{}", op.stream.as_ref().expect("a stream"), op.id))
        .collect();
    assert_eq!(
        streams,
        [
            "S0:k.A", "S0:r.E", "S0:k.B", "S1.7:w.E", "S1.7:k.C", "S1.7:r.F", "S0:w.F", "S0:k.D"
        ]
    );
}

#[test]
fn an_event_is_added_and_what_it_needs_is_issued_earlier() {
    check(
        &["S1 k A", "S1 k B", "S0 k C", "S0 k D"],
        "add-event:from=S0,record=1,to=S1,wait=2",
        &expect![[r#"
            p:
              S1 kernel A
              S0 kernel C
              S0 record added
              S1 wait added
              S1 kernel B
              S0 kernel D
        "#]],
    );
    check(
        &["S1 k A", "S0 k C", "S1 k B"],
        "add-event:from=S0,record=1,to=S1,wait=2",
        &expect![[r#"
            p:
              S1 kernel A
              S0 kernel C
              S0 record added
              S1 wait added
              S1 kernel B
        "#]],
    );
    check(
        &["S1 k A", "S1 r E", "S0 w E", "S0 k C"],
        "add-event:from=S0,record=1,to=S1,wait=1",
        &expect![[r#"
            refused: op `w.E` of program `p`: it would be issued before `r.E`, which must come first
        "#]],
    );
}

#[test]
fn a_race_is_refused_with_the_ops_and_the_buffer() {
    check(
        &["S0 k A Wx", "S0 r E", "S1 w E", "S1 k B Rx"],
        "drop-wait:select=event=E",
        &expect![[r#"
            refused: op `k.A` and op `k.B` both use buffer `x`, one of them writes it, and after the change nothing keeps them in order: a race
        "#]],
    );
    check(
        &["S0 k A Wx", "- sync S0", "S1 k B Rx"],
        "remove:select=kind=host",
        &expect![[r#"
            refused: op `k.A` and op `k.B` both use buffer `x`, one of them writes it, and after the change nothing keeps them in order: a race
        "#]],
    );
}
