//! Plans as sequences of submissions.

use ascsim_schedules::{Limits, Schedule};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{Command, Plan, PlanError};

/// A schedule of one program per rank; each op is `id stream kind` with the kind in short.
fn schedule(programs: &[&[&str]]) -> Schedule {
    let op = |text: &&str| {
        let [id, stream, kind, rest @ ..] = &text.split(' ').collect::<Vec<_>>()[..] else {
            panic!("`{text}` is not `id stream kind …`");
        };
        let kind = match (*kind, rest) {
            ("kernel", _) => json!({"kernel": {"name": "K"}}),
            ("record", [event]) => json!({"record": {"event": event}}),
            ("wait", [event]) => json!({"wait": {"event": event}}),
            ("post", [notify, rank]) => {
                let rank: u32 = rank.parse().unwrap();
                json!({"notify_record": {"notify": notify, "peer": {"rank": rank}}})
            }
            ("take", [notify]) => json!({"notify_wait": {"notify": notify}}),
            ("barrier", _) => json!({"collective": {}}),
            ("sync", _) => json!({"host": {"synchronise": {"stream": stream}}}),
            ("pageable", _) => {
                json!({"copy": {"direction": "host_to_device", "bytes": 8}})
            }
            other => panic!("no kind {other:?}"),
        };
        let mut op = json!({"id": id, "kind": kind});
        if !text.contains(" sync") {
            op["stream"] = json!(stream);
        }
        if text.contains(" barrier") {
            op["comm"] = json!({"communicator": "all", "kind": "barrier", "bytes": 0});
        }
        if text.contains(" pageable") {
            op["accesses"] = json!([
                {"buffer": "host", "mode": "read"}, {"buffer": "hbm", "mode": "write"}
            ]);
        }
        op
    };
    let named = |names: &[&str]| -> Value { names.iter().map(|n| json!({"name": n})).collect() };
    let programs = programs.iter().enumerate();
    let value = json!({
        "format": "ascsim.schedule/1",
        "name": "test",
        "buffers": [
            {"name": "hbm", "bytes": 8}, {"name": "host", "bytes": 8, "memory": "host_pageable"}
        ],
        "streams": named(&["a", "b"]),
        "events": named(&["e"]),
        "notifies": named(&["n", "m"]),
        "communicators": [{"name": "all", "groups": [[0, 1]]}],
        "ranks": programs.clone().map(|(rank, _)| {
            json!({"first": rank, "count": 1, "program": format!("p{rank}")})
        }).collect::<Value>(),
        "programs": programs.map(|(rank, ops)| {
            json!({"name": format!("p{rank}"), "ops": ops.iter().map(op).collect::<Value>()})
        }).collect::<Value>(),
    });
    serde_json::from_value(value).expect("the schedule is valid")
}

fn check(programs: &[&[&str]], queue_tasks: u32, expected: &Expect) {
    let schedule = schedule(programs);
    let limits = Limits {
        queue_tasks,
        ..Limits::default()
    };
    let text = match Plan::new(&schedule, &limits) {
        Err(error @ (PlanError::Op { .. } | PlanError::Flat(_))) => error.to_string(),
        Ok(plan) => {
            let flat = ascsim_schedules::flat::Flat::new(&schedule).expect("it was compiled");
            let name = |op: u32| flat.path(flat.ids().nth(op as usize).expect("an op"));
            let line = |step: &super::Step| match &step.command {
                Command::SynchroniseStream { stream } => format!("{} host {stream}", name(step.op)),
                other => format!(
                    "{} stream {:?}",
                    name(step.op),
                    other.stream().unwrap_or(99)
                ),
            };
            plan.steps.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    };
    expected.assert_eq(&text);
}

#[test]
fn a_rank_that_would_wait_lets_the_other_go_first() {
    let programs: [&[&str]; 2] = [
        &["take a take n", "k0 a kernel"],
        &["k1 a kernel", "post a post n 0"],
    ];
    check(
        &programs,
        1_900,
        &expect![[r#"
        k1 stream 1
        post stream 1
        take stream 0
        k0 stream 0"#]],
    );
}

#[test]
fn host_synchronisations_come_when_they_can_return() {
    let programs: [&[&str]; 2] = [
        &["take a take n", "sync a sync", "k0 b kernel"],
        &["k1 a kernel", "post a post n 0"],
    ];
    check(
        &programs,
        1_900,
        &expect![[r#"
        k1 stream 2
        post stream 2
        take stream 0
        sync host 0
        k0 stream 1"#]],
    );
}

#[test]
fn members_of_a_collective_are_queued_before_what_needs_all() {
    let programs: [&[&str]; 2] = [
        &["c0 a barrier", "sync a sync", "k0 a kernel"],
        &["take b take n", "c1 a barrier", "k1 a kernel"],
    ];
    // Nobody records the notify: the first rank must still not be asked to wait in vain.
    check(
        &programs,
        1_900,
        &expect![[
            "rank 1, op take: it is never done: what it waits for is not submitted; if another host \
         thread of the rank submits it, list that first"
        ]],
    );
    let programs: [&[&str]; 2] = [
        &[
            "post b post n 1",
            "c0 a barrier",
            "sync a sync",
            "k0 a kernel",
        ],
        &["take b take n", "c1 a barrier", "k1 a kernel"],
    ];
    check(
        &programs,
        1_900,
        &expect![[r#"
        post stream 0
        take stream 2
        c0 stream 1
        c1 stream 3
        sync host 1
        k0 stream 1
        k1 stream 3"#]],
    );
}

#[test]
fn a_synchronisation_that_cannot_return_is_refused() {
    let programs: [&[&str]; 1] = [&["take a take n", "sync a sync", "post b post n 0"]];
    check(
        &programs,
        1_900,
        &expect![[
            "rank 0, op sync: it is never done: what it waits for is not submitted; if another host \
         thread of the rank submits it, list that first"
        ]],
    );
}

#[test]
fn too_much_behind_a_wait_for_a_later_submission_is_refused() {
    let programs: [&[&str]; 2] = [
        &[
            "take a take n",
            "k1 a kernel",
            "k2 a kernel",
            "k3 a kernel",
            "post b post m 1",
        ],
        &["take b take m", "post a post n 0"],
    ];
    check(
        &programs,
        4,
        &expect![[r#"
        take stream 0
        k1 stream 0
        k2 stream 0
        k3 stream 0
        post stream 1
        take stream 2
        post stream 3"#]],
    );
    check(
        &programs,
        3,
        &expect![[
            "rank 0, op k3: 4 entries of its queue would wait for later submissions; at most 3 may"
        ]],
    );
}

#[test]
fn pageable_copies_are_refused() {
    check(
        &[&["copy a pageable"]],
        1_900,
        &expect![[
            "rank 0, op copy: it copies pageable memory on a side stream; use pinned memory"
        ]],
    );
}

/// A schedule of two ranks in which the first has this one op on stream `a`.
fn single(mut op: Value) -> Result<Plan, PlanError> {
    op["id"] = json!("it");
    op["stream"] = json!("a");
    let value = json!({
        "format": "ascsim.schedule/1",
        "name": "test",
        "buffers": [{"name": "from", "bytes": 64}, {"name": "to", "bytes": 64}],
        "streams": [{"name": "a"}],
        "communicators": [{"name": "all", "groups": [[0]]}],
        "ranks": [{"first": 0, "count": 1, "program": "main"}],
        "programs": [
            {"name": "main", "ops": [op]},
            {"name": "graph", "capture": {"origin": "a"}, "ops": [
                {"id": "inner", "stream": "a", "kind": {"kernel": {"name": "K"}}}
            ]}
        ]
    });
    let schedule: Schedule = serde_json::from_value(value).unwrap();
    Plan::new(&schedule, &Limits::default())
}

#[test]
fn what_is_not_submitted_is_refused_by_name() {
    let says = |op: Value, expected: &str| match single(op) {
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("rank 0, op it: "), "{error}");
            assert!(error.contains(expected), "{expected}: {error}");
        }
        Ok(plan) => panic!("{expected}: {plan:?}"),
    };
    let kernel = json!({"kernel": {"name": "K"}});
    says(
        json!({"kind": kernel, "launch": {"aclnn": {"operator": "aclnnAdd", "arguments": []}}}),
        "an aclnn operator; bind it as a callback",
    );
    let list = json!([{"ints": [1, 2]}]);
    says(
        json!({"kind": kernel, "launch": {"kernel": {
            "binary": "k.o", "function": "k", "arguments": list
        }}}),
        "lists and tensors",
    );
    says(
        json!({"kind": {"group": {"tasks": [{"op": {"id": "t", "stream": "a", "kind": kernel}}]}}}),
        "a group of tasks",
    );
    says(
        json!({"kind": {"task_update": {"program": "graph", "ops": ["inner"]}}}),
        "a task update",
    );
    let comm = |kind: &str| json!({"communicator": "all", "kind": kind, "bytes": 64});
    let accesses = json!([{"buffer": "from", "mode": "read"}, {"buffer": "to", "mode": "write"}]);
    for (kind, name) in [("all_to_all_v", "AllToAllV"), ("dispatch", "Dispatch")] {
        let collective =
            json!({"kind": {"collective": {}}, "comm": comm(kind), "accesses": accesses});
        says(collective, &format!("the collective {name} by itself"));
    }
}

#[test]
fn a_collective_that_is_bound_is_left_to_its_callback() {
    let plan = single(json!({
        "kind": {"collective": {}},
        "comm": {"communicator": "all", "kind": "all_to_all_v", "bytes": 64},
        "launch": {"callback": {"name": "exchange"}},
    }));
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    let expected = Command::Callback {
        stream: 0,
        callback: 0,
    };
    assert_eq!(plan.steps[0].command, expected);
    assert_eq!(plan.resources.callbacks, ["exchange"]);
}
