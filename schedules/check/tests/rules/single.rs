//! The other rules, one after the other.

use ascsim_check::Rule;
use ascsim_schedules::builder::*;
use ascsim_schedules::{CollectiveKind, CopyDirection, EventKind, HostKind};

use super::*;

fn one_rank(ops: Vec<Op>) -> Schedule {
    let builder = ScheduleBuilder::new("one")
        .buffer("w", 64)
        .event("sync", EventKind::Sync);
    builder
        .program("step", ops)
        .ranks(0..1, "step")
        .build()
        .expect("it is valid")
}

#[test]
fn a_wait_before_its_record_is_found() {
    let [r, w] = edge("e", "main", "side");
    let late = one_rank(vec![
        w.clone(),
        cube("a", "side"),
        cube("b", "main"),
        r.clone(),
    ]);
    let report = verdict(&late);
    assert!(
        rules(&report).contains(&Rule::AclWaitUnrecorded),
        "{:#?}",
        report.findings
    );
    clean(&one_rank(vec![
        cube("b", "main"),
        r,
        w,
        cube("a", "side"),
        cube("c", "main"),
    ]));
}

#[test]
fn a_sync_event_needs_a_reset_between_two_uses() {
    let r = |n: u32| record("sync").on("main").id(format!("r{n}"));
    let w = |n: u32| wait("sync").on("side").id(format!("w{n}"));
    let a = |n: u32| cube(&format!("a{n}"), "main");
    let stale = one_rank(vec![a(1), r(1), w(1), a(2), r(2), w(2), cube("b", "side")]);
    let report = finds(&stale, &[Rule::AclEventReuse]);
    assert_eq!(
        messages(&report, Rule::AclEventReuse),
        ["`w2` is meant for `r2`, but event `sync` is still set by `r1`: it passes at once"]
    );
    let mut ops = vec![a(1), r(1), w(1), reset("sync").on("side")];
    ops.extend(edge("back", "side", "main"));
    ops.extend([a(2), r(2), w(2), cube("b", "side")]);
    runs(&one_rank(ops));
}

#[test]
fn a_reset_with_two_waiters_strands_one() {
    let ops = vec![
        cube("a", "main"),
        record("sync").on("main"),
        wait("sync").on("side").id("w1"),
        reset("sync").on("side"),
        wait("sync").on("other").id("w2"),
        cube("b", "other"),
        cube("c", "main"),
    ];
    finds(&one_rank(ops), &[Rule::DeadlockSignal, Rule::AclResetEarly]);
}

#[test]
fn signals_that_nobody_gives_are_found() {
    let ops = vec![notify_wait("n").on("main"), cube("a", "main")];
    finds(&one_rank(ops), &[Rule::DeadlockUnsignalled]);
    let ops = vec![
        notify_record("n").on("main").id("one"),
        notify_record("n").on("main").id("two"),
        notify_wait("n").on("side").id("first"),
        notify_wait("n").on("side").id("second"),
    ];
    let report = finds(&one_rank(ops), &[Rule::DeadlockSignal]);
    let text = messages(&report, Rule::DeadlockSignal)[0];
    assert!(
        text.starts_with("`second` waits for notify `n`; in some runs `first` takes it"),
        "{text}"
    );
}

#[test]
fn a_full_queue_behind_a_later_record_is_found() {
    let build = |tasks: usize| {
        let mut ops = vec![notify_wait("n").on("side")];
        ops.extend((0..tasks).map(|task| vector(&format!("k{task}"), "side", 8)));
        ops.push(cube("a", "main"));
        ops.push(notify_record("n").on("main"));
        one_rank(ops)
    };
    finds(&build(1_900), &[Rule::DeadlockQueue]);
    runs(&build(1_899));
}

#[test]
fn host_functions_must_not_call_acl() {
    let mut op = pure(host_function("f", "callback")).on("main");
    runs(&one_rank(vec![op.clone()]));
    if let OpKind::Host(HostKind::Function { calls_acl, .. }) = &mut op.kind {
        *calls_acl = true;
    }
    finds(&one_rank(vec![op]), &[Rule::AclHostFunction]);
}

#[test]
fn calls_that_acl_refuses_are_found() {
    let builder = ScheduleBuilder::new("refused")
        .event("t", EventKind::Timeline)
        .event("d", EventKind::Default)
        .program(
            "step",
            [
                wait("t").on("main"),
                wait("d").on("main"),
                reset("e").on("main"),
            ],
        );
    let schedule = builder.ranks(0..1, "step").build().expect("it is valid");
    let report = finds(&schedule, &[Rule::AclRefused]);
    assert_eq!(report.of(Rule::AclRefused).count(), 3);
}

fn captured(ops: Vec<Op>) -> Schedule {
    let mut pinned = ScheduleBuilder::new("captured").event("out", EventKind::External);
    pinned = pinned.captured("graph", "main", ops);
    let step = [
        record("before").on("main"),
        graph_launch("graph").on("main"),
    ];
    pinned
        .program("step", step)
        .ranks(0..1, "step")
        .build()
        .expect("it is valid")
}

#[test]
fn side_streams_join_a_capture_and_come_back() {
    let joined = |join: bool, back: bool| {
        let mut ops = vec![cube("a", "main")];
        if join {
            ops.extend(edge("fork", "main", "side"));
        }
        ops.push(vector("b", "side", 8));
        ops.push(cube("c", "main"));
        if back {
            ops.extend(edge("join", "side", "main"));
        }
        rules(&verdict(&captured(ops)))
    };
    assert!(!joined(true, true).contains(&Rule::AclCaptureUnjoined));
    assert!(joined(false, true).contains(&Rule::AclCaptureUnjoined));
    assert!(joined(true, false).contains(&Rule::AclCaptureUnjoined));
    // A task after the way back is not joined either.
    let mut ops = edge("fork", "main", "side").to_vec();
    ops.extend(edge("join", "side", "main"));
    ops.push(vector("late", "side", 8));
    let report = verdict(&captured(ops));
    assert!(messages(&report, Rule::AclCaptureUnjoined)[0].contains("`graph/late`"));
}

#[test]
fn what_a_capture_refuses_is_found() {
    let found = |op: Op| rules(&verdict(&captured(vec![cube("a", "main"), op])));
    assert!(found(synchronise_stream("main")).contains(&Rule::AclCaptureSync));
    assert!(found(synchronise_device()).contains(&Rule::AclCaptureSync));
    assert!(!found(synchronise_stream("elsewhere")).contains(&Rule::AclCaptureSync));
    assert!(found(wait("before").on("main")).contains(&Rule::AclCaptureForeignWait));
    let mut copy = pure(copy("c", CopyDirection::HostToDevice, 64)).on("main");
    assert!(!found(copy.clone()).contains(&Rule::AclCaptureBlockingCopy));
    if let OpKind::Copy(copy) = &mut copy.kind {
        copy.blocking = true;
    }
    assert!(found(copy).contains(&Rule::AclCaptureBlockingCopy));
    let mut schedule = captured(vec![cube("a", "main")]);
    schedule.streams[0].owner = ascsim_schedules::Owner::Default;
    assert!(rules(&verdict(&schedule)).contains(&Rule::AclCaptureDefaultStream));
}

#[test]
fn limits_are_counted() {
    let many = |count: usize, op: fn(String) -> Op| {
        one_rank((0..count).map(|at| op(format!("x{at}"))).collect())
    };
    let notified = many(8_193, |name| notify_record(name).on("main"));
    finds(&notified, &[Rule::LimitNotifies]);
    let mut flagged = many(65_537, |name| record(name).on("main"));
    for event in &mut flagged.events {
        event.kind = EventKind::Sync;
    }
    finds(&flagged, &[Rule::LimitEvents]);
    let mut wide = cube("a", "main");
    wide.launch = Some(Box::new(ascsim_schedules::Launch::Kernel {
        binary: "k.o".to_owned(),
        function: "k".to_owned(),
        arguments: vec![ascsim_schedules::Argument::Int(0); 129],
        extra: Extra::default(),
    }));
    finds(&one_rank(vec![wide]), &[Rule::LimitArguments]);
}

#[test]
fn graphs_with_aicpu_collectives_fill_the_aicpu() {
    let build = |graphs: u32| {
        let mut builder = ScheduleBuilder::new("graphs");
        let mut step = Vec::new();
        for graph in 0..graphs {
            let (name, of) = (format!("g{graph}"), format!("c{graph}"));
            let sum = pure(collective("sum", &*of, CollectiveKind::AllReduce, 64)).on("s");
            builder = builder.declare_communicator(communicator(&of, 2, None));
            builder = builder.captured(&*name, "s", [sum]);
            step.push(graph_launch(&*name).on(format!("main{graph}")));
        }
        builder
            .program("step", step)
            .ranks(0..2, "step")
            .build()
            .expect("it is valid")
    };
    finds(&build(7), &[Rule::LimitAicpuGraphs]);
    clean(&build(6));
}

#[test]
fn collectives_are_looked_at_one_by_one() {
    let ring = |kind, bytes: u32, ranks: u32, expansion| {
        let op = pure(collective("c", "tp", kind, bytes)).on("main");
        let builder = ScheduleBuilder::new("ring");
        let builder = builder.declare_communicator(communicator("tp", ranks, expansion));
        builder
            .program("step", [op])
            .ranks(0..ranks, "step")
            .build()
            .expect("it is valid")
    };
    let aiv = Some(Expansion::Aiv);
    clean(&ring(CollectiveKind::AllReduce, 64, 2, None));
    finds(
        &ring(CollectiveKind::MatmulAllReduce, 64, 2, None),
        &[Rule::AclNoMatmulAllReduce],
    );
    finds(
        &ring(CollectiveKind::AllToAllV, 2 << 20, 2, aiv),
        &[Rule::WasteAllToAllV],
    );
    finds(
        &ring(CollectiveKind::AllReduce, 1 << 30, 2, None),
        &[Rule::WasteLoops],
    );
    let mut in_place = ring(CollectiveKind::AllReduce, 64, 2, None);
    if let Some(comm) = &mut in_place.programs[0].ops[0].comm {
        comm.in_place = true;
    }
    finds(&in_place, &[Rule::WasteInPlace]);
    let mut product = ring(CollectiveKind::AllReduce, 64, 2, aiv);
    if let Some(comm) = &mut product.programs[0].ops[0].comm {
        comm.reduce = Some("prod".into());
    }
    finds(&product, &[Rule::WasteLeavesAiv]);
    let mut narrow = ring(CollectiveKind::Broadcast, 64, 8, aiv);
    narrow.streams[0].core_limit = Some(ascsim_schedules::CoreLimit {
        aic: None,
        aiv: Some(7),
    });
    finds(&narrow, &[Rule::LimitAivCores]);
    narrow.streams[0].core_limit = Some(ascsim_schedules::CoreLimit {
        aic: None,
        aiv: Some(8),
    });
    clean(&narrow);
    let mut spread = ring(CollectiveKind::AllReduce, 64, 8, None);
    spread.communicators[0].groups = vec![vec![0, 2, 4, 6], vec![1, 3, 5, 7]];
    finds(&spread, &[Rule::WasteSingleRing]);
}

#[test]
fn an_exchange_wants_its_communicator_for_itself() {
    let other = |name: &str| {
        let ops = [
            exchange("dispatch", "main", CollectiveKind::Dispatch),
            pure(collective("sum", name, CollectiveKind::AllReduce, 64)).on("main"),
        ];
        let builder = ScheduleBuilder::new("exchange")
            .declare_communicator(communicator("ep", 2, None))
            .declare_communicator(communicator("tp", 2, None));
        builder
            .program("step", ops)
            .ranks(0..2, "step")
            .build()
            .expect("it is valid")
    };
    finds(&other("ep"), &[Rule::AclSharedExchange]);
    clean(&other("tp"));
}

#[test]
fn waits_that_order_nothing_are_found() {
    let mut ops = vec![cube("a", "main")];
    ops.extend([record("e").on("main"), wait("e").on("main")]);
    ops.push(cube("b", "main"));
    finds(&one_rank(ops), &[Rule::WasteSameStream, Rule::WasteRecord]);
    let mut ops = vec![cube("a", "main")];
    ops.extend(edge("e", "main", "side"));
    ops.extend(edge("f", "main", "side"));
    ops.extend([cube("b", "side"), cube("c", "main")]);
    clean_but(&one_rank(ops), &[]);
    let mut ops = vec![
        cube("a", "main"),
        record("early").on("main"),
        cube("b", "main"),
    ];
    ops.extend(edge("late", "main", "side"));
    ops.extend([
        wait("early").on("side").id("again"),
        cube("c", "side"),
        cube("d", "main"),
    ]);
    let report = finds(&one_rank(ops), &[Rule::WasteImpliedWait, Rule::WasteRecord]);
    assert_eq!(report.findings[0].ops[0].op, "again");
}

#[track_caller]
fn clean_but(schedule: &Schedule, expected: &[Rule]) {
    finds(schedule, expected);
}

#[test]
fn streams_that_cannot_overlap_are_found() {
    let build = |overlap: bool| {
        let mut ops = vec![cube("a", "main")];
        ops.extend(edge("fork", "main", "side"));
        ops.push(vector("b", "side", 8));
        if overlap {
            ops.push(cube("c", "main"));
        }
        ops.extend(edge("join", "side", "main"));
        ops.push(cube("d", "main"));
        one_rank(ops)
    };
    finds(&build(false), &[Rule::WasteNoOverlap]);
    clean(&build(true));
}

#[test]
fn copies_that_stop_the_host_are_found() {
    let mut copy = pure(copy("c", CopyDirection::HostToDevice, 64)).on("main");
    if let OpKind::Copy(copy) = &mut copy.kind {
        copy.blocking = true;
    }
    finds(
        &one_rank(vec![copy.clone(), cube("a", "main")]),
        &[Rule::WasteBlockingCopy],
    );
    clean(&one_rank(vec![cube("a", "main"), copy]));
}

#[test]
fn memory_is_not_used_after_it_was_given_back() {
    let ops = |ordered: bool| {
        let mut ops = vec![
            alloc("w").on("main"),
            kernel("a", "K").on("main").writes("w"),
        ];
        ops.extend(edge("e", "main", "side"));
        ops.push(kernel("b", "K").on("side").reads("w"));
        ops.push(cube("d", "main"));
        if ordered {
            ops.extend(edge("f", "side", "main"));
        }
        ops.push(free("w"));
        ops
    };
    finds(&one_rank(ops(false)), &[Rule::RaceFree]);
    clean(&one_rank(ops(true)));
    let mut late = ops(true);
    late.push(kernel("late", "K").on("main").reads("w"));
    finds(&one_rank(late), &[Rule::RaceUseAfterFree]);
    let reuse = |ordered: bool| {
        let mut all = vec![
            alloc("x").on("main"),
            kernel("old", "K").on("main").writes("x"),
            free("x"),
            alloc("w").on("main"),
        ];
        if ordered {
            all.extend(edge("e", "main", "side"));
        }
        all.push(kernel("new", "K").on("side").writes("w"));
        all.push(cube("z", "main"));
        all.extend(edge("f", "side", "main"));
        all.push(free("w"));
        let builder = ScheduleBuilder::new("reuse")
            .buffer("x", 64)
            .buffer("w", 64);
        builder
            .program("step", all)
            .ranks(0..1, "step")
            .build()
            .expect("it is valid")
    };
    finds(&reuse(false), &[Rule::RaceReuse]);
    clean(&reuse(true));
}

#[test]
fn a_prefetch_of_what_is_written_is_found() {
    let build = |ordered: bool| {
        let mut ops = vec![kernel("a", "K").on("main").writes("w")];
        if ordered {
            ops.extend(edge("e", "main", "side"));
        }
        ops.push(prefetch("p", "w", 32u32).on("side"));
        ops.push(cube("z", "main"));
        one_rank(ops)
    };
    finds(&build(false), &[Rule::RacePrefetch]);
    clean(&build(true));
}
