//! Each rule of the module is broken by one edit of a schedule that keeps them all.

use serde_json::{Value, json};

use super::*;

/// A schedule with every kind of reference.
fn sound() -> Value {
    let text = r#"{
        "format": "ascsim.schedule/1",
        "name": "sound",
        "variables": [
            {"name": "tokens", "nominal": [4, 6], "distribution": "fixed", "from": "stated"}
        ],
        "buffers": [
            {"name": "x", "bytes": 64},
            {"name": "v", "bytes": 32, "view": {"of": "x", "offset": 32}},
            {"name": "h", "bytes": 64, "memory": "host_pinned"}
        ],
        "streams": [{"name": "A"}, {"name": "D", "owner": "default"}],
        "events": [{"name": "e"}, {"name": "ext", "kind": "external"}],
        "notifies": [{"name": "n"}],
        "communicators": [{"name": "tp", "groups": [[0, 1], [2, 3]]}],
        "programs": [
            {"name": "main", "ops": [
                {"id": "k", "stream": "A", "kind": {"kernel": {"name": "K"}},
                 "accesses": [{"buffer": "v", "mode": "read", "range": [0, 32]}],
                 "duration": {"ns": {"mul": [10, "tokens[1]"]}, "from": "measured"},
                 "work": {"cube_flops": 5},
                 "launch": {"kernel": {"binary": "k.o", "function": "k",
                                       "arguments": [{"buffer": "x"}, {"float": 0.5}]}}},
                {"id": "c", "stream": "A", "kind": {"collective": {}},
                 "comm": {"communicator": "tp", "kind": "send", "bytes": 8, "peer": 1}},
                {"id": "vw", "stream": "A",
                 "kind": {"value_write": {"buffer": "v", "offset": 8, "value": 1}}},
                {"id": "p", "stream": "A",
                 "kind": {"prefetch": {"buffer": "v", "bytes": 32}}},
                {"id": "g", "stream": "A", "kind": {"group": {"tasks": [
                    {"op": {"id": "t0", "kind": {"kernel": {"name": "K"}}}},
                    {"op": {"id": "t1", "kind": {"notify_record": {
                        "notify": "n",
                        "peer": {"member": {"communicator": "tp", "offset": -1}}}}},
                     "after": ["t0"]}
                ]}}},
                {"id": "w", "stream": "A", "kind": {"wait": {"event": "e"}}},
                {"id": "s", "kind": {"host": {"synchronise": {"stream": "A"}}}},
                {"id": "re", "stream": "A",
                 "kind": {"host": {"record_external": {"event": "ext"}}}},
                {"id": "a", "stream": "A", "kind": {"alloc": "x"}},
                {"id": "gl", "stream": "A", "kind": {"graph_launch": {"program": "graph"}}},
                {"id": "tu", "stream": "A",
                 "kind": {"task_update": {"program": "graph", "ops": ["r"]}}},
                {"id": "rep", "kind": {"repeat": {"program": "body", "count": 2}}}
            ]},
            {"name": "graph", "capture": {"origin": "A"}, "ops": [
                {"id": "r", "stream": "A", "kind": {"record": {"event": "e"}}}
            ]},
            {"name": "body", "ops": []}
        ],
        "ranks": [
            {"first": 0, "count": 2, "program": "main", "overrides": [
                {"rank": 1, "program": "main", "op": "c", "bytes": 9}
            ]},
            {"first": 2, "count": 2, "program": "main"},
            {"first": 9, "count": 1, "devices": [{"server": 5, "package": 0, "die": 0}]}
        ]
    }"#;
    serde_json::from_str(text).unwrap()
}

/// What [`validate`] says after the value at `pointer` was set to `value`.
fn broken(pointer: &str, value: Value) -> String {
    let mut file = sound();
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    match file.pointer_mut(parent).unwrap() {
        Value::Array(list) => match last.parse::<usize>() {
            Ok(index) if index < list.len() => list[index] = value,
            _ => list.push(value),
        },
        Value::Object(fields) if value.is_null() => drop(fields.remove(last)),
        Value::Object(fields) => drop(fields.insert(last.to_owned(), value)),
        other => panic!("{parent} is {other}"),
    }
    let schedule: Schedule = serde_json::from_value(file).unwrap();
    match validate(&schedule) {
        Ok(()) => "nothing".to_owned(),
        Err(invalid) => invalid.to_string(),
    }
}

#[test]
fn a_sound_schedule_is_valid() {
    let schedule: Schedule = serde_json::from_value(sound()).unwrap();
    assert_eq!(validate(&schedule), Ok(()));
}

#[test]
fn every_rule_is_checked() {
    const OPS: &str = "/programs/0/ops";
    let op = |rest: &str| format!("{OPS}/{rest}");
    let event = |id: &str| json!({"id": id, "stream": "A", "kind": {"record": {"event": "e"}}});
    let task = |kind: Value| json!({"op": {"id": "t", "kind": kind}});
    let view = |of: &str, offset: u64| json!({"of": of, "offset": offset});
    let cases: Vec<(String, Value, &str)> = vec![
        // Names and references.
        (
            "/streams/0/name".into(),
            json!("A2"),
            "programs[0].ops[0].stream (`main/k`): stream `A` is not declared",
        ),
        (
            "/buffers/2/name".into(),
            json!(""),
            "buffers[2].name: the buffer has an empty name",
        ),
        (
            "/events/1/name".into(),
            json!("e"),
            "events[1].name (`e`): there are two of event `e`",
        ),
        (
            op("+"),
            event("k"),
            "programs[0].ops[12].id (`main/k`): there are two of op `k`",
        ),
        (
            op("+"),
            event(""),
            "programs[0].ops[12].id (`main/`): the op has an empty name",
        ),
        (
            op("0/thread"),
            json!(""),
            "ops[0].thread (`main/k`): the thread has an empty name",
        ),
        (
            op("0/accesses/0/buffer"),
            json!("y"),
            "ops[0].accesses[0].buffer (`main/k`): buffer `y` is not declared",
        ),
        (
            op("0/launch/kernel/arguments/0/buffer"),
            json!("y"),
            "launch.kernel.arguments[0] (`main/k`): buffer `y`",
        ),
        (
            op("1/comm/communicator"),
            json!("ep"),
            "ops[1].comm.communicator (`main/c`): communicator `ep`",
        ),
        (
            op("5/kind/wait/event"),
            json!("f"),
            "ops[5].kind.wait.event (`main/w`): event `f`",
        ),
        (
            op("6/kind/host/synchronise/stream"),
            json!("Z"),
            "ops[6].kind.host.synchronise.stream (`main/s`): stream `Z`",
        ),
        (
            op("4/kind/group/tasks/1/op/kind/notify_record/notify"),
            json!("m"),
            "tasks[1].op.kind.notify_record.notify (`main/g/t1`): notify `m`",
        ),
        (
            op("4/kind/group/tasks/1/op/kind/notify_record/peer/member/communicator"),
            json!("ep"),
            "notify_record.peer (`main/g/t1`): communicator `ep`",
        ),
        (
            op("9/kind/graph_launch/program"),
            json!("gone"),
            "ops[9].kind.graph_launch.program (`main/gl`): program `gone`",
        ),
        (
            op("10/kind/task_update/ops/0"),
            json!("q"),
            "ops[10].kind.task_update.ops[0] (`main/tu`): op `q`",
        ),
        (
            "/programs/1/capture/origin".into(),
            json!("Z"),
            "programs[1].capture.origin (`graph`): stream `Z`",
        ),
        (
            "/ranks/1/program".into(),
            json!("gone"),
            "ranks[1].program: program `gone`",
        ),
        // Buffers.
        (
            "/buffers/1/view".into(),
            view("gone", 0),
            "buffers[1].view.of (`v`): buffer `gone`",
        ),
        (
            "/buffers/1/view".into(),
            view("x", 33),
            "buffers[1].view.offset (`v`): bytes 33 to 65 are not inside the 64 bytes of buffer `x`",
        ),
        (
            "/buffers/1/view".into(),
            view("x", u64::MAX),
            "bytes 18446744073709551615 to 18446744073709551647",
        ),
        (
            "/buffers/1/view".into(),
            view("v", 0),
            "buffers[1].view.of (`v`): buffer `v` is a view of itself",
        ),
        (
            "/buffers/0/view".into(),
            view("v", 0),
            "is a view of itself",
        ),
        (
            "/buffers/1/view".into(),
            view("h", 0),
            "a view lives where its root does, which is HostPinned, not Hbm",
        ),
        (
            op("0/accesses/0/range"),
            json!([1, 32]),
            "ops[0].accesses[0].range (`main/k`): bytes 1 to 33",
        ),
        (
            op("3/kind/prefetch/bytes"),
            json!(33),
            "ops[3].kind.prefetch.bytes (`main/p`): bytes 0 to 33",
        ),
        (
            op("2/kind/value_write/offset"),
            json!(4),
            "ops[2].kind.value_write.offset (`main/vw`): the word at byte 36",
        ),
        (
            op("2/kind/value_write/offset"),
            json!(32),
            "bytes 32 to 40 are not inside the 32 bytes",
        ),
        (
            op("2/kind/value_write/buffer"),
            json!("h"),
            "buffer `h` is in host memory",
        ),
        (
            op("8/kind/alloc"),
            json!("v"),
            "ops[8].kind.alloc (`main/a`): buffer `v` is a view",
        ),
        // Streams.
        (
            "/streams/0/priority".into(),
            json!(8),
            "streams[0].priority (`A`): priority 8 does not exist",
        ),
        (
            "/streams/0/owner".into(),
            json!("default"),
            "streams[1].owner (`D`): stream `A` is the default stream already",
        ),
        (
            op("0/stream"),
            Value::Null,
            "programs[0].ops[0] (`main/k`): `kernel` runs on a stream",
        ),
        (
            op("8/stream"),
            Value::Null,
            "programs[0].ops[8] (`main/a`): `alloc` runs on a stream",
        ),
        (
            op("6/stream"),
            json!("A"),
            "programs[0].ops[6].stream (`main/s`): `host` has no `stream`",
        ),
        // Fields that a kind needs or does not use.
        (
            op("1/comm"),
            Value::Null,
            "programs[0].ops[1] (`main/c`): `collective` needs `comm`",
        ),
        (
            op("1/comm/peer"),
            Value::Null,
            "`collective` needs `comm.peer`",
        ),
        (
            op("1/comm/peer"),
            json!(2),
            "ops[1].comm.peer (`main/c`): position 2 does not exist in a group of 2 ranks",
        ),
        (
            op("5/comm"),
            json!({"communicator": "tp", "kind": "barrier", "bytes": 0}),
            "ops[5].comm (`main/w`): `wait` has no `comm`",
        ),
        (
            op("6/cores"),
            json!({"aic": 1}),
            "ops[6].cores (`main/s`): `host` has no `cores`",
        ),
        (
            op("6/launch"),
            json!({"callback": {"name": "f"}}),
            "ops[6].launch (`main/s`): `host` has no `launch`",
        ),
        (
            "/events/1/kind".into(),
            json!("sync"),
            "ops[7].kind.host.record_external.event (`main/re`): event `ext` is not `external`",
        ),
        // Groups.
        (
            op("4/kind/group/tasks"),
            json!([]),
            "ops[4].kind.group.tasks (`main/g`): it has no tasks",
        ),
        (
            op("4/kind/group/tasks/1/after/0"),
            json!("t1"),
            "tasks[1].after[0] (`main/g/t1`): `t1` is not a task earlier",
        ),
        (
            op("4/kind/group/tasks/1/op/id"),
            json!("t0"),
            "tasks[1].op.id (`main/g/t0`): there are two of task `t0`",
        ),
        (
            op("4/kind/group/tasks/1/op/thread"),
            json!("other"),
            "tasks[1].op.thread (`main/g/t1`): a task is issued by the thread",
        ),
        (
            op("4/kind/group/tasks/+"),
            task(json!({"group": {"tasks": []}})),
            "tasks[2].op.kind (`main/g/t`): `group` cannot be in a group",
        ),
        (
            op("4/kind/group/tasks/+"),
            task(json!({"record": {"event": "e"}})),
            "`record` cannot be in a group",
        ),
        (
            op("4/kind/group/tasks/0/op/duration"),
            json!({"ns": -1, "from": "stated"}),
            "tasks[0].op.duration.ns (`main/g/t0`): the nominal value is -1",
        ),
        // Programs.
        (
            op("9/kind/graph_launch/program"),
            json!("body"),
            "program `body` is not captured",
        ),
        (
            op("11/kind/repeat/program"),
            json!("graph"),
            "program `graph` is captured",
        ),
        (
            "/ranks/1/program".into(),
            json!("graph"),
            "ranks[1].program: program `graph` is captured",
        ),
        (
            op("11/kind/repeat/program"),
            json!("main"),
            "ops[11] (`main/rep`): program `main` runs itself: main -> main",
        ),
        (
            "/programs/2/ops/+".into(),
            json!({"id": "x", "kind": {"repeat": {"program": "main", "count": 0}}}),
            "programs[2].ops[0] (`body/x`): program `main` runs itself: main -> body -> main",
        ),
        (
            op("11/kind/repeat/count"),
            json!(1e7),
            "ops[11].kind.repeat.count (`main/rep`): the nominal value is 10000000; it must be from 0 to 1000000",
        ),
        // Numbers.
        (
            op("0/duration/ns"),
            json!({"sub": [1, 2]}),
            "ops[0].duration.ns (`main/k`): the nominal value is -1; it must be from 0",
        ),
        (
            op("0/duration/ns"),
            json!(9_007_199_254_740_994_i64),
            "to 9007199254740992",
        ),
        (
            op("0/duration/ns"),
            json!({"div": [1, 0]}),
            "no nominal value: `div` has no finite value",
        ),
        (
            op("0/duration/ns"),
            json!({"min": []}),
            "no nominal value: `min` needs at least one term",
        ),
        (
            op("0/duration/ns"),
            json!("tokens[2]"),
            "variable `tokens[2]` is not declared",
        ),
        (
            op("0/issue"),
            json!({"ns": -1, "from": "stated"}),
            "ops[0].issue.ns",
        ),
        (
            op("0/delay"),
            json!({"ns": -1, "cause": "external"}),
            "ops[0].delay.ns",
        ),
        (op("0/work/bytes_read"), json!(-1), "ops[0].work.bytes_read"),
        (op("1/comm/bytes"), json!(-1), "ops[1].comm.bytes"),
        // Variables.
        (
            "/variables/0/name".into(),
            json!("a b"),
            "variables[0].name (`a b`): the name of a variable has letters",
        ),
        (
            "/variables/0/nominal".into(),
            json!([]),
            "variables[0].nominal (`tokens`): `nominal` has at least one",
        ),
        (
            "/variables/0/distribution".into(),
            json!({"uniform": {"low": 5, "high": 9}}),
            "`low` and `high` are finite",
        ),
        (
            "/variables/0/distribution".into(),
            json!({"triangular": {"low": 9, "high": 1}}),
            "`low` and `high` are finite",
        ),
        (
            "/variables/0/distribution".into(),
            json!({"discrete": {"values": [1, 2], "weights": [1]}}),
            "`discrete` has a weight",
        ),
        (
            "/variables/0/distribution".into(),
            json!({"discrete": {"values": [1, 2], "weights": [0, 0]}}),
            "`discrete` has a weight",
        ),
        (
            "/variables/0/distribution".into(),
            json!({"discrete": {"values": [1, 2], "weights": [2, -1]}}),
            "`discrete` has a weight",
        ),
        (
            "/variables/0/distribution".into(),
            json!({"rows": {"rows": []}}),
            "`rows` has at least one row",
        ),
        (
            "/variables/0/distribution".into(),
            json!({"rows": {"rows": [[1]]}}),
            "`rows` has at least one row",
        ),
        (
            "/variables/0/distribution".into(),
            json!({"routing": {"tokens": 1, "top_k": 9, "experts": 8, "skew": 0}}),
            "`routing` needs",
        ),
        (
            "/variables/0/distribution".into(),
            json!({"routing": {"tokens": 1, "top_k": 1, "experts": 7, "skew": 0}}),
            "`routing` needs",
        ),
        (
            "/variables/0/distribution".into(),
            json!({"routing": {"tokens": 1, "top_k": 1, "experts": 8, "skew": 0.3}}),
            "`routing` needs",
        ),
        (
            "/variables/0/distribution".into(),
            json!({"acceptance": {"rate": 1.5, "most": 3}}),
            "the `rate` of `acceptance`",
        ),
        // Ranks.
        (
            "/ranks/2/count".into(),
            json!(0),
            "ranks[2].count: it has no ranks",
        ),
        (
            "/ranks/2/first".into(),
            json!(3),
            "ranks[2]: rank 3 is in an earlier group too",
        ),
        (
            "/ranks/2/count".into(),
            json!(2),
            "ranks[2].devices: 1 devices for 2 ranks",
        ),
        (
            "/ranks/2/first".into(),
            json!(u32::MAX),
            "ranks[2]: ranks 4294967295 + 1 go beyond",
        ),
        (
            "/ranks/2/devices/0".into(),
            json!({"server": 0, "package": 0, "die": 1}),
            "ranks[2].devices[0]: rank 9 is on the same die",
        ),
        (
            "/communicators/0/groups/1".into(),
            json!([2, 7]),
            "communicators[0].groups[1][1] (`tp`): rank 7 is not under `ranks`",
        ),
        (
            "/communicators/0/groups/1".into(),
            json!([2, 0, 3]),
            "communicators[0].groups[1][1] (`tp`): rank 0 is in this communicator twice",
        ),
        (
            "/communicators/0/groups/+".into(),
            json!([]),
            "communicators[0].groups[2] (`tp`): a group of a communicator has at least one",
        ),
        (
            "/communicators/0/groups/1".into(),
            json!([2, 9]),
            "ranks[1]: ranks 2 to 3 run program `main`, which uses communicator `tp`",
        ),
        (
            op("2/kind/value_write/peer"),
            json!({"rank": 5}),
            "ops[2].kind.value_write.peer (`main/vw`): rank 5 is not under",
        ),
        (
            op("0/accesses/0/peer"),
            json!({"rank": 5}),
            "ops[0].accesses[0].peer (`main/k`): rank 5 is not under",
        ),
        // Overrides.
        (
            "/ranks/0/overrides/0/rank".into(),
            json!(2),
            "ranks[0].overrides[0].rank: rank 2 is not in this group",
        ),
        (
            "/ranks/0/overrides/0/program".into(),
            json!("gone"),
            "ranks[0].overrides[0].program: program `gone`",
        ),
        (
            "/ranks/0/overrides/0/op".into(),
            json!("gone"),
            "ranks[0].overrides[0].op: op `gone`",
        ),
        (
            "/ranks/0/overrides/0/op".into(),
            json!("k"),
            "ranks[0].overrides[0].bytes: `kernel` has no `bytes`",
        ),
        (
            "/ranks/0/overrides/0/peer".into(),
            json!("own"),
            "ranks[0].overrides[0].peer: `collective` has no `peer`",
        ),
        (
            "/ranks/0/overrides/0/bytes".into(),
            json!(-1),
            "ranks[0].overrides[0].bytes: the nominal value is -1",
        ),
        (
            "/ranks/0/overrides/0/issue".into(),
            json!({"ns": -1, "from": "stated"}),
            "ranks[0].overrides[0].issue.ns",
        ),
        (
            "/ranks/0/overrides/+".into(),
            json!({"rank": 1, "program": "main", "op": "c"}),
            "ranks[0].overrides[1]: rank 1 has two overrides of op `c`",
        ),
        (
            "/ranks/2/overrides".into(),
            json!([{"rank": 9, "program": "main", "op": "k"}]),
            "ranks[2].overrides: these ranks are external",
        ),
    ];
    for (pointer, value, expected) in cases {
        let said = broken(&pointer, value.clone());
        assert!(
            said.contains(expected),
            "{pointer} = {value}\n  says {said}\n  not  {expected}"
        );
    }
}

#[test]
fn a_member_override_needs_a_member() {
    let mut file = sound();
    file["ranks"][0]["overrides"] = json!([{
        "rank": 1, "program": "main", "op": "vw",
        "peer": {"member": {"communicator": "one", "offset": 1}},
    }]);
    let communicators = file["communicators"].as_array_mut().unwrap();
    communicators.push(json!({"name": "one", "groups": [[0]]}));
    let schedule: Schedule = serde_json::from_value(file).unwrap();
    let said = validate(&schedule).unwrap_err().to_string();
    assert!(
        said.contains("rank 1 is not in communicator `one`"),
        "{said}"
    );
}

#[test]
fn nesting_is_limited() {
    let chain = |length: usize, count: u32| {
        let programs: Vec<Value> = (0..length)
            .map(|index| {
                let inner = json!({"id": "r", "kind": {"repeat": {
                    "program": format!("p{}", index + 1), "count": count}}});
                let work = json!({"id": "w", "kind": {"host": "work"}});
                let op = if index + 1 < length { inner } else { work };
                json!({"name": format!("p{index}"), "ops": [op]})
            })
            .collect();
        let file = json!({
            "format": "ascsim.schedule/1", "name": "", "programs": programs,
            "ranks": [{"first": 0, "count": 1, "program": "p0"}],
        });
        let schedule: Schedule = serde_json::from_value(file).unwrap();
        validate(&schedule)
            .err()
            .map(|invalid| invalid.problems[0].kind.clone())
    };
    assert_eq!(chain(MOST_NESTED + 1, 1), None);
    assert_eq!(
        chain(MOST_NESTED + 2, 1),
        Some(ProblemKind::TooDeep(MOST_NESTED))
    );
    assert_eq!(chain(3, 9_000), None);
    // 20,000 squared is more than any rank may run.
    assert_eq!(
        chain(3, 20_000),
        Some(ProblemKind::TooManyOps(MOST_INSTANCES))
    );
    // Far beyond 64 bits, and no recursion for a long chain.
    assert!(chain(10_000, 1_000_000).is_some());
}

#[test]
fn all_problems_are_reported_up_to_a_limit() {
    let ops: Vec<Value> = (0..250)
        .map(|index| json!({"id": format!("k{index}"), "kind": {"kernel": {"name": "K"}}}))
        .collect();
    let file = json!({
        "format": "ascsim.schedule/1", "name": "",
        "programs": [{"name": "p", "ops": ops}], "ranks": [],
    });
    let schedule: Schedule = serde_json::from_value(file).unwrap();
    let invalid = validate(&schedule).unwrap_err();
    assert_eq!(
        (invalid.problems.len(), invalid.more),
        (Invalid::LIMIT, 150)
    );
    assert!(invalid.to_string().ends_with("and 150 more"));
}

#[test]
fn a_prediction_is_checked() {
    let sound = json!({
        "format": "ascsim.prediction/1", "structure": "0".repeat(64), "content": "f".repeat(64),
        "tool": "0.1.0", "makespan": {"ns": 5, "low_ns": 4, "high_ns": 6},
        "ops": [{"rank": 0, "op": "a", "start_ns": -1, "end_ns": 5,
                 "duration": {"ns": 6, "low_ns": 6, "high_ns": 6}}],
    });
    let check = |file: Value| {
        let prediction = serde_json::from_value(file).unwrap();
        validate_prediction(&prediction).map_err(|invalid| invalid.to_string())
    };
    assert_eq!(check(sound.clone()), Ok(()));
    let cases = [
        ("/structure", json!("0"), "structure: a hash is 64"),
        (
            "/makespan/low_ns",
            json!(6),
            "makespan: `ns` is not between",
        ),
        ("/ops/0/end_ns", json!(-2), "ops[0] (`a`): it ends before"),
        (
            "/ops/0/duration/high_ns",
            json!(5),
            "ops[0].duration (`a`): `ns` is not",
        ),
    ];
    for (pointer, value, expected) in cases {
        let mut file = sound.clone();
        *file.pointer_mut(pointer).unwrap() = value;
        let said = check(file).unwrap_err();
        assert!(said.starts_with(expected), "{said}");
    }
    let mut twice = sound.clone();
    let op = twice["ops"][0].clone();
    twice["ops"].as_array_mut().unwrap().push(op);
    assert!(check(twice).unwrap_err().contains("predicted already"));
}
