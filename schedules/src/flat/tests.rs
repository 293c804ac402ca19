use super::*;
use crate::ir::*;

/// A schedule from its JSON, so that tests read like schedule files.
fn schedule(json: &str) -> Schedule {
    serde_json::from_str(json).expect("the test's schedule is well formed")
}

/// Two streams, an event of each kind and a notify, and programs as given, the first of which runs on
/// `ranks` ranks.
fn with_programs(ranks: u32, programs: &str) -> Schedule {
    schedule(&format!(
        r#"{{"format": "ascsim.schedule/1", "name": "t",
        "variables": [{{"name": "n", "nominal": [2.4], "distribution": "fixed", "from": "stated"}}],
        "buffers": [{{"name": "root", "bytes": 64}},
                    {{"name": "view", "bytes": 32, "view": {{"of": "root", "offset": 32}}}}],
        "streams": [{{"name": "a"}}, {{"name": "b"}}],
        "events": [{{"name": "ex"}}, {{"name": "default", "kind": "default"}},
                   {{"name": "sync", "kind": "sync"}}, {{"name": "external", "kind": "external"}},
                   {{"name": "timeline", "kind": "timeline"}}],
        "notifies": [{{"name": "n"}}],
        "communicators": [{{"name": "tp", "groups": [[0, 1], [2, 3]]}}],
        "programs": [{programs}],
        "ranks": [{{"first": 0, "count": {ranks}, "program": "main"}}]}}"#
    ))
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

fn program(name: &str, ops: &[String]) -> String {
    format!(r#"{{"name": "{name}", "ops": [{}]}}"#, ops.join(","))
}

fn captured(name: &str, ops: &[String]) -> String {
    format!(
        r#"{{"name": "{name}", "capture": {{"origin": "a"}}, "ops": [{}]}}"#,
        ops.join(",")
    )
}

fn paths(flat: &Flat<'_>) -> Vec<String> {
    flat.ids().map(|id| flat.path(id)).collect()
}

#[test]
fn repeats_launches_and_groups_are_inlined() {
    let group = r#"{"group": {"tasks": [
        {"op": {"id": "x", "kind": {"kernel": {"name": "X"}}}},
        {"op": {"id": "y", "kind": {"kernel": {"name": "Y"}}}, "after": ["x"]}]}}"#;
    let s = with_programs(
        2,
        &[
            program(
                "main",
                &[
                    r#"{"id": "step", "kind": {"repeat": {"program": "step", "count": "n"}}}"#
                        .into(),
                    kernel("tail", "b"),
                ],
            ),
            program(
                "step",
                &[op("launch", "a", r#"{"graph_launch": {"program": "g"}}"#)],
            ),
            captured(
                "g",
                &[
                    kernel("gate", "a"),
                    r#"{"id": "think", "kind": {"host": "think"}}"#.into(),
                    op("call", "a", r#"{"host": {"function": {"name": "f"}}}"#),
                    op("fused", "b", group),
                ],
            ),
        ]
        .join(","),
    );
    let flat = Flat::new(&s).expect("it is valid");
    let one_rank = [
        "step[0]/launch",
        "step[0]/launch/gate",
        "step[0]/launch/call",
        "step[0]/launch/fused",
        "step[0]/launch/fused/x",
        "step[0]/launch/fused/y",
        "step[1]/launch",
        "step[1]/launch/gate",
        "step[1]/launch/call",
        "step[1]/launch/fused",
        "step[1]/launch/fused/x",
        "step[1]/launch/fused/y",
        "tail",
    ];
    assert_eq!(paths(&flat), [one_rank, one_rank].concat());
    assert_eq!(flat.ranks(), [(0, 0..13), (1, 13..26)]);
    let find = |path| flat.find(1, path).expect("it is there");
    let (launch, gate, part) = (
        find("step[1]/launch"),
        find("step[1]/launch/gate"),
        find("step[1]/launch/fused/y"),
    );
    assert_eq!(flat[gate].parent, Some(launch));
    assert_eq!(flat[gate].role, Role::Replayed);
    assert_eq!(flat[part].role, Role::Part);
    assert_eq!(flat[part].parent, flat.find(1, "step[1]/launch/fused"));
    assert_eq!(flat.inside(launch).count(), 5);
    assert_eq!(flat.inside(part).count(), 0);
    // Streams of a graph are its own, and both replays use the same ones.
    let stream = |path| flat[find(path)].stream.expect("it has one");
    assert_ne!(stream("step[1]/launch"), stream("step[1]/launch/gate"));
    assert_eq!(stream("step[0]/launch/gate"), stream("step[1]/launch/gate"));
    assert_ne!(stream("step[0]/launch/fused"), stream("tail"));
    let graph = flat.stream(stream("step[0]/launch/gate")).graph;
    assert_eq!(
        flat.graph(graph.expect("it is a graph's")).1.name.as_str(),
        "g"
    );
    // Two ranks share nothing.
    let other = flat.find(0, "tail").expect("it is there");
    assert_ne!(flat[other].stream, flat[find("tail")].stream);
    assert_ne!(flat[other].thread, flat[find("tail")].thread);
}

#[test]
fn overrides_apply_to_their_rank_only() {
    let mut s = with_programs(2, &program("main", &[kernel("k", "a")]));
    s.ranks[0].overrides.push(
        serde_json::from_str(
            r#"{"rank": 1, "program": "main", "op": "k",
                "duration": {"ns": 7, "from": "measured"}, "delay": {"ns": 3, "cause": "external"}}"#,
        )
        .expect("it is well formed"),
    );
    let flat = Flat::new(&s).expect("it is valid");
    let ns = |rank| {
        let k = &flat[flat.find(rank, "k").expect("it is there")];
        (
            k.duration().map(|d| d.ns.clone()),
            k.delay().map(|d| d.ns.clone()),
        )
    };
    assert_eq!(ns(0), (None, None));
    assert_eq!(ns(1), (Some(Expr::Int(7)), Some(Expr::Int(3))));
}

#[test]
fn counts_come_from_the_values_given_and_are_bounded() {
    let s = with_programs(
        1,
        &[
            program(
                "main",
                &[r#"{"id": "r", "kind": {"repeat": {"program": "body", "count": "n"}}}"#.into()],
            ),
            program("body", &[kernel("k", "a")]),
        ]
        .join(","),
    );
    let with = |value, limit| Flat::with_values(&s, &|_| Some(value), limit);
    assert_eq!(with(2.5, 100).map(|f| f.instances().len()), Ok(3));
    assert_eq!(with(0.4, 100).map(|f| f.instances().len()), Ok(0));
    assert_eq!(
        with(1e18, 100).map(|f| f.instances().len()),
        Err(FlatError::TooLarge { limit: 100 })
    );
    assert!(matches!(
        with(-1.0, 100),
        Err(FlatError::Count {
            reason: CountError::Negative(_),
            ..
        })
    ));
}

#[test]
fn circles_of_programs_and_endless_repeats_of_nothing_end_in_errors() {
    let repeat = |program: &str, count: &str| {
        format!(
            r#"{{"id": "r", "kind": {{"repeat": {{"program": "{program}", "count": {count}}}}}}}"#
        )
    };
    let s = with_programs(1, &program("main", &[repeat("main", "1")]));
    assert!(matches!(Flat::new(&s), Err(FlatError::TooDeep { .. })));
    let s = with_programs(
        1,
        &[
            program("main", &[repeat("empty", "1e18")]),
            program("empty", &[]),
        ]
        .join(","),
    );
    assert!(matches!(
        Flat::with_values(&s, &|_| None, 1000),
        Err(FlatError::TooLarge { limit: 1000 })
    ));
    let s = with_programs(1, &program("main", &[kernel("k", "nowhere")]));
    let error = Flat::new(&s).expect_err("the stream is not declared");
    assert_eq!(
        error.to_string(),
        "`k` on rank 0 names stream `nowhere`, which is not declared"
    );
}

#[test]
fn collectives_match_by_position_in_their_group() {
    let comm = |id: &str, stream: &str, kind: &str, more: &str| {
        format!(
            r#"{{"id": "{id}", "stream": "{stream}", "kind": {{"collective": {{}}}},
            "comm": {{"communicator": "tp", "kind": "{kind}", "bytes": 8{more}}}}}"#
        )
    };
    let mut s = with_programs(
        3,
        &[
            program(
                "main",
                &[
                    comm("x", "a", "all_reduce", ""),
                    comm("s", "b", "send", r#", "peer": 1"#),
                    comm("y", "b", "all_gather", ""),
                ],
            ),
            program(
                "other",
                &[
                    comm("x", "a", "all_reduce", ""),
                    comm("r", "b", "receive", r#", "peer": 0"#),
                    comm("y", "a", "barrier", ""),
                    comm("z", "a", "barrier", ""),
                ],
            ),
        ]
        .join(","),
    );
    s.ranks[0].count = 1;
    s.ranks.push(RankGroup {
        first: 1,
        count: 1,
        program: Some("other".into()),
        ..s.ranks[0].clone()
    });
    s.ranks.push(RankGroup {
        first: 2,
        ..s.ranks[0].clone()
    });
    s.ranks.push(RankGroup {
        first: 3,
        program: None,
        ..s.ranks[0].clone()
    });
    let flat = Flat::new(&s).expect("it is valid");
    let of = |rank, path| {
        let id = flat.find(rank, path).expect("it is there");
        flat.collective(flat[id].collective.expect("it communicates"))
    };
    let members = |rank, path| -> Vec<String> {
        let members = of(rank, path).members().iter();
        members
            .map(|&id| format!("{}:{}", flat[id].rank, flat.path(id)))
            .collect()
    };
    assert_eq!(members(0, "x"), ["0:x", "1:x"]);
    assert!(of(0, "x").completes());
    assert_eq!(members(0, "s"), ["0:s", "1:r"]);
    assert!(of(0, "s").completes());
    // The message between the two ranks does not count among the collectives of the group.
    assert_eq!(members(0, "y"), ["0:y", "1:y"]);
    assert_eq!(of(0, "y").mismatch, flat.find(1, "y"));
    assert_eq!(of(1, "z").missing, [0]);
    // Rank 3 is external: its arrival is unknown, not missing.
    assert_eq!(members(2, "x"), ["2:x"]);
    assert_eq!(of(2, "x").external, 1);
    assert!(of(2, "x").completes());
}

#[test]
fn peers_and_views_name_the_same_objects() {
    let s = with_programs(
        4,
        &program(
            "main",
            &[
                op(
                    "next",
                    "a",
                    r#"{"notify_record": {"notify": "n",
                        "peer": {"member": {"communicator": "tp", "offset": -1}}}}"#,
                ),
                op("wait", "a", r#"{"notify_wait": {"notify": "n"}}"#),
                op(
                    "write",
                    "a",
                    r#"{"value_write": {"buffer": "root", "offset": 40, "value": 1}}"#,
                ),
                op(
                    "poll",
                    "b",
                    r#"{"value_wait": {"buffer": "view", "offset": 8, "value": 1, "compare": "eq"}}"#,
                ),
            ],
        ),
    );
    let flat = Flat::new(&s).expect("it is valid");
    let target = |rank, path| flat[flat.find(rank, path).expect("it is there")].target;
    for (rank, peer) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
        assert_eq!(target(rank, "next"), target(peer, "wait"));
        assert_eq!(target(rank, "write"), target(rank, "poll"));
    }
    assert_ne!(target(0, "poll"), target(1, "poll"));
}

/// The binding of `path`, with the record's path.
fn binding(flat: &Flat<'_>, path: &str) -> String {
    let id = flat.find(0, path).expect("it is there");
    match flat.binding(id).expect("it uses an event") {
        Binding::Record(record) => format!("record {}", flat.path(record)),
        Binding::SameStream(record) => format!("same stream {}", flat.path(record)),
        other => format!("{other:?}"),
    }
}

#[test]
fn waits_bind_when_issued() {
    let s = with_programs(
        1,
        &program(
            "main",
            &[
                event("early", "b", "wait", "ex"),
                event("early default", "b", "wait", "default"),
                event("first", "a", "record", "ex"),
                event("bound", "b", "wait", "ex"),
                event("own", "a", "wait", "ex"),
                event("second", "b", "record", "ex"),
                event("later", "a", "wait", "ex"),
                event("d", "a", "record", "default"),
                event("own default", "a", "wait", "default"),
                event("t", "a", "record", "timeline"),
                event("no", "b", "wait", "timeline"),
                event("flag", "b", "wait", "sync"),
                event("reset", "b", "event_reset", "sync"),
                event("bad reset", "b", "event_reset", "ex"),
                r#"{"id": "host", "kind": {"host": {"synchronise": {"event": "ex"}}}}"#.into(),
                r#"{"id": "none", "kind": {"host": {"synchronise": {"event": "external"}}}}"#
                    .into(),
                op(
                    "push",
                    "a",
                    r#"{"host": {"record_external": {"event": "external"}}}"#,
                ),
                r#"{"id": "some", "kind": {"host": {"synchronise": {"event": "external"}}}}"#
                    .into(),
            ],
        ),
    );
    let flat = Flat::new(&s).expect("it is valid");
    let of = |path| binding(&flat, path);
    assert_eq!(of("early"), "Unrecorded");
    assert_eq!(of("early default"), "Refused(NotRecorded)");
    assert_eq!(of("first"), "Recorded");
    assert_eq!(of("bound"), "record first");
    assert_eq!(of("own"), "same stream first");
    assert_eq!(of("later"), "record second");
    assert_eq!(of("own default"), "record d");
    assert_eq!(of("no"), "Refused(NotWaitable)");
    assert_eq!(of("flag"), "Flag");
    assert_eq!(of("reset"), "Flag");
    assert_eq!(of("bad reset"), "Refused(NotResettable)");
    assert_eq!(of("host"), "record second");
    assert_eq!(of("none"), "Unrecorded");
    assert_eq!(of("push"), "Flag");
    assert_eq!(of("some"), "record push");
}

#[test]
fn captured_waits_bind_inside_the_body_unless_external() {
    let external = |id: &str, stream: &str, what: &str| {
        op(
            id,
            stream,
            &format!(r#"{{"{what}": {{"event": "ex", "external": true}}}}"#),
        )
    };
    let s = with_programs(
        1,
        &[
            program(
                "main",
                &[
                    event("before", "b", "record", "ex"),
                    op("one", "a", r#"{"graph_launch": {"program": "g"}}"#),
                    event("after", "b", "wait", "ex"),
                    op("two", "a", r#"{"graph_launch": {"program": "g"}}"#),
                ],
            ),
            captured(
                "g",
                &[
                    event("lost", "b", "wait", "ex"),
                    external("in", "a", "wait"),
                    event("fork", "a", "record", "ex"),
                    event("join", "b", "wait", "ex"),
                    external("out", "b", "record"),
                    event("sync", "a", "record", "sync"),
                    event("flag", "a", "wait", "external"),
                ],
            ),
        ]
        .join(","),
    );
    let flat = Flat::new(&s).expect("it is valid");
    let of = |path| binding(&flat, path);
    assert_eq!(of("one/lost"), "Unrecorded");
    assert_eq!(of("one/in"), "record before");
    assert_eq!(of("one/join"), "record one/fork");
    assert_eq!(of("after"), "record one/out");
    assert_eq!(of("two/lost"), "Unrecorded");
    assert_eq!(of("two/in"), "record one/out");
    assert_eq!(of("two/join"), "record two/fork");
    assert_eq!(of("one/sync"), "Refused(NotCapturable)");
    assert_eq!(of("one/flag"), "Flag");
}

#[test]
fn a_graph_is_launched_only_from_outside_and_only_if_captured() {
    let launch = op("launch", "a", r#"{"graph_launch": {"program": "g"}}"#);
    let s = with_programs(
        1,
        &[
            program("main", std::slice::from_ref(&launch)),
            program("g", &[]),
        ]
        .join(","),
    );
    assert!(matches!(Flat::new(&s), Err(FlatError::Launch { .. })));
    let s = with_programs(
        1,
        &[
            program("main", std::slice::from_ref(&launch)),
            captured("g", &[launch]),
        ]
        .join(","),
    );
    assert!(matches!(Flat::new(&s), Err(FlatError::Launch { .. })));
}

#[test]
fn a_million_instances_unroll_in_linear_time() {
    let body: Vec<String> = (0..500)
        .flat_map(|i| {
            [
                kernel(&format!("k{i}"), "a"),
                event(&format!("r{i}"), "a", "record", "ex"),
                event(&format!("w{i}"), "b", "wait", "ex"),
                op(
                    &format!("n{i}"),
                    "b",
                    r#"{"notify_record": {"notify": "n"}}"#,
                ),
            ]
        })
        .collect();
    let s = with_programs(
        5,
        &[
            program(
                "main",
                &[r#"{"id": "r", "kind": {"repeat": {"program": "body", "count": 100}}}"#.into()],
            ),
            program("body", &body),
        ]
        .join(","),
    );
    let start = std::time::Instant::now();
    let flat = Flat::new(&s).expect("it is valid");
    assert_eq!(flat.instances().len(), 1_000_000);
    // Generous, for busy machines: it takes well below a second.
    let took = start.elapsed();
    println!("{took:?}");
    assert!(took.as_secs() < 20, "{took:?}");
}
