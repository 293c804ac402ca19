//! Public reports of facts/schedules.md section E, each as a small schedule with its mended twin. The
//! numbers are those of the table.

use ascsim_check::{RaceStatus, Rule};
use ascsim_schedules::CollectiveKind::{
    AllGather, AllReduce, Combine, Dispatch, DispatchFfnCombine, ReduceScatter,
};
use ascsim_schedules::Expansion;
use ascsim_schedules::builder::*;

use super::*;

/// Two ranks that run `ops`, with a TP communicator expanded as said and an EP one.
fn two_ranks(name: &str, tp: Option<Expansion>, ops: Vec<Op>) -> Schedule {
    ScheduleBuilder::new(name)
        .declare_communicator(communicator("tp", 2, tp))
        .declare_communicator(communicator("ep", 2, None))
        .program("step", ops)
        .ranks(0..2, "step")
        .build()
        .expect("it is valid")
}

/// A routed path with dispatch and combine on `main`, and `side` ops of the shared expert forked off
/// before it and joined after it.
fn moe(side: Vec<Op>) -> Vec<Op> {
    let mut ops = vec![vector("gate", "main", 48)];
    ops.extend(edge("fork", "main", "side"));
    ops.push(exchange("dispatch", "main", Dispatch));
    ops.push(cube("experts", "main"));
    ops.push(exchange("combine", "main", Combine));
    ops.extend(side);
    ops.extend(edge("join", "side", "main"));
    ops.push(vector("add", "main", 48));
    ops
}

fn shared_with(reduce: Op) -> Vec<Op> {
    vec![cube("shared_up", "side"), reduce]
}

/// 1 and 6: FlashComm1 (reduce-scatter and all-gather on vector cores) with multistream and DP.
#[test]
fn report_1_and_6_flashcomm_beside_dispatch() {
    let side = || {
        vec![
            aiv("shared_gather", "side", "tp", AllGather, 32),
            cube("shared_up", "side"),
            aiv("shared_scatter", "side", "tp", ReduceScatter, 32),
        ]
    };
    let hangs = two_ranks("report-1", Some(Expansion::Aiv), moe(side()));
    let report = finds(&hangs, &[Rule::DeadlockCores]);
    let told = messages(&report, Rule::DeadlockCores).join("\n");
    assert!(
        told.contains("shared_gather") && told.contains("dispatch"),
        "{told}"
    );
    // Each of the three factors taken away mends it: one stream, no AIV, no second rank.
    clean(&two_ranks(
        "one stream",
        Some(Expansion::Aiv),
        on_stream(moe(side()), "side", "main"),
    ));
    let aicpu = vec![
        pure(collective("shared_gather", "tp", AllGather, 65_536)).on("side"),
        cube("shared_up", "side"),
        pure(collective("shared_scatter", "tp", ReduceScatter, 65_536)).on("side"),
    ];
    clean(&two_ranks("aicpu", None, moe(aicpu)));
}

/// 2: an all_gather on the side stream of one communicator against collectives of the main stream,
/// which the ranks issue in different orders.
#[test]
fn report_2_collectives_in_different_orders() {
    let gather = |stream: &str| pure(collective("gather", "ep", AllGather, 4_096)).on(stream);
    let reduce = || pure(collective("reduce", "ep", AllReduce, 8_192)).on("main");
    let build = |zero: Vec<Op>, one: Vec<Op>| {
        ScheduleBuilder::new("report-2")
            .communicator("ep", [vec![0, 1]])
            .program("zero", zero)
            .program("one", one)
            .ranks(0..1, "zero")
            .ranks(1..2, "one")
            .build()
            .expect("it is valid")
    };
    let report = finds(
        &build(
            vec![gather("side"), reduce()],
            vec![reduce(), gather("side")],
        ),
        &[Rule::DeadlockCollective],
    );
    assert_eq!(
        messages(&report, Rule::DeadlockCollective),
        [
            "collective 1 of communicator `ep` is all_gather on rank 0 (`gather`) but all_reduce on rank 1 (`reduce`)"
        ]
    );
    let ordered = || vec![gather("side"), reduce()];
    clean(&build(ordered(), ordered()));
    // The same kind twice is paired wrongly all the same.
    let small = || pure(collective("small", "ep", AllReduce, 64)).on("side");
    finds(
        &build(vec![small(), reduce()], vec![reduce(), small()]),
        &[Rule::AclCollectiveSize],
    );
}

/// Two communicators in different orders on two ranks hang in a circle.
#[test]
fn report_2_two_communicators_in_different_orders() {
    let one = || pure(collective("one", "tp", AllReduce, 64)).on("main");
    let other = || pure(collective("other", "ep", AllReduce, 64)).on("main");
    let build = |first: [Op; 2], second: [Op; 2]| {
        ScheduleBuilder::new("circle")
            .communicator("tp", [vec![0, 1]])
            .communicator("ep", [vec![0, 1]])
            .program("zero", first)
            .program("one", second)
            .ranks(0..1, "zero")
            .ranks(1..2, "one")
            .build()
            .expect("it is valid")
    };
    let report = finds(
        &build([one(), other()], [other(), one()]),
        &[Rule::DeadlockCycle],
    );
    let ascsim_check::Witness::Cycle(steps) = &report.findings[0].witness else {
        panic!("{report:#?}");
    };
    assert_eq!(steps.len(), 4, "{steps:#?}");
    clean(&build([one(), other()], [one(), other()]));
}

/// 3: a fused MC2 kernel beside the TP all-reduce of the shared expert on vector cores.
#[test]
fn report_3_fused_mc2_beside_an_aiv_all_reduce() {
    let fused = |batch: bool| {
        let mut op = pure(kernel("fused", "DispatchFFNCombine"))
            .on("main")
            .cores(24, 48);
        op.comm = Some(Box::new(comm("ep", DispatchFfnCombine, 65_536)));
        if batch { op.batch() } else { op }
    };
    let build = |batch, ordered: bool| {
        let mut ops = vec![fused(batch)];
        if ordered {
            ops.extend(edge("done", "main", "side"));
        }
        ops.extend(shared_with(aiv(
            "shared_reduce",
            "side",
            "tp",
            AllReduce,
            16,
        )));
        two_ranks("report-3", Some(Expansion::Aiv), ops)
    };
    finds(
        &build(false, false),
        &[Rule::DeadlockCores, Rule::DeadlockFusedMoe],
    );
    finds(&build(true, false), &[Rule::DeadlockCores]);
    runs(&build(false, true));
}

/// 4: MC2 with HCCL in AIV mode hangs; with the AICPU it passes.
#[test]
fn report_4_mc2_with_aiv_expansion() {
    let build = |expansion: Option<Expansion>, cores: u32| {
        let mut reduce = pure(collective("shared_reduce", "tp", AllReduce, 65_536)).on("side");
        if cores > 0 {
            reduce = reduce.cores(0, cores).batch();
        }
        two_ranks("report-4", expansion, moe(shared_with(reduce)))
    };
    finds(&build(Some(Expansion::Aiv), 2), &[Rule::DeadlockCores]);
    // The cores are those that HCCL takes where none are given.
    finds(&build(Some(Expansion::Aiv), 0), &[Rule::DeadlockCores]);
    clean(&build(Some(Expansion::AiCpu), 0));
}

/// 5: an AIV all-reduce beside an MC2 graph.
#[test]
fn report_5_aiv_all_reduce_beside_an_mc2_graph() {
    let build = |ordered: bool| {
        let mut ops = vec![graph_launch("moe").on("main")];
        if ordered {
            ops.extend(edge("done", "main", "side"));
        }
        ops.push(aiv("reduce", "side", "tp", AllReduce, 8));
        ScheduleBuilder::new("report-5")
            .declare_communicator(communicator("tp", 2, Some(Expansion::Aiv)))
            .declare_communicator(communicator("ep", 2, None))
            .captured(
                "moe",
                "graph",
                [
                    exchange("dispatch", "graph", Dispatch),
                    exchange("combine", "graph", Combine),
                ],
            )
            .program("step", ops)
            .ranks(0..2, "step")
            .build()
            .expect("it is valid")
    };
    finds(&build(false), &[Rule::DeadlockCores]);
    runs(&build(true));
}

/// 10: a side stream per layer.
#[test]
fn report_10_a_stream_per_layer() {
    let build = |per_layer: bool| {
        let mut ops = Vec::new();
        for layer in 0..6 {
            let side = if per_layer {
                format!("side{layer}")
            } else {
                "side".to_owned()
            };
            let number = layer.to_string();
            ops.extend(edge(&format!("fork{layer}"), "main", &side));
            ops.push(cube(&format!("routed{layer}"), "main").tag("layer", &*number));
            ops.push(vector(&format!("shared{layer}"), &side, 8).tag("layer", &*number));
            ops.extend(edge(&format!("join{layer}"), &side, "main"));
        }
        let builder = ScheduleBuilder::new("report-10").program("step", ops);
        builder.ranks(0..1, "step").build().expect("it is valid")
    };
    finds(&build(true), &[Rule::WasteStreamPerLayer]);
    clean(&build(false));
}

/// `graphs` captured programs with two streams each, on which the side stream works or idles, beside
/// an AICPU communicator.
fn captures(graphs: u32, works: bool) -> Schedule {
    let mut builder =
        ScheduleBuilder::new("captures").declare_communicator(communicator("tp", 2, None));
    let mut step = Vec::new();
    for graph in 0..graphs {
        let mut ops = vec![cube("a", "main")];
        if works {
            ops.extend(edge("fork", "main", "side"));
            ops.push(vector("b", "side", 8));
            ops.push(cube("c", "main"));
            ops.extend(edge("join", "side", "main"));
        } else {
            ops.push(cube("c", "main"));
        }
        let name = format!("size{graph}");
        builder = builder.captured(&*name, "main", ops);
        step.push(graph_launch(&*name).on("main"));
    }
    step.push(pure(collective("sum", "tp", AllReduce, 64)).on("main"));
    let builder = builder.program("step", step).ranks(0..2, "step");
    builder.build().expect("it is valid")
}

/// 11: a side stream in every captured graph of a model that has nothing to put on it.
#[test]
fn report_11_idle_side_streams_in_graphs() {
    let mut idle = captures(3, true);
    for program in &mut idle.programs {
        program.ops.retain(|op| op.id.as_str() != "b");
    }
    let report = verdict(&idle);
    assert!(
        rules(&report).contains(&Rule::WasteIdleStream),
        "{:#?}",
        report.findings
    );
    clean(&captures(3, false));
}

/// 12: more captured streams than the device has.
#[test]
fn report_12_streams_run_out_at_capture() {
    let report = finds(&captures(1_000, true), &[Rule::LimitStreams]);
    assert_eq!(
        messages(&report, Rule::LimitStreams)[0],
        "rank 0 takes 2041 streams: 1 of its own, 2000 of captured graphs, 40 of 1 communicators that the AICPU expands; the device has 1984"
    );
    clean(&captures(900, true));
}

/// 14: the expert load statistics are updated on a side stream and read on the main one.
#[test]
fn report_14_expert_heat_without_an_event() {
    let build = |ordered: bool| {
        let mut ops = vec![kernel("topk", "MoeGatingTopK").on("main").writes("ids")];
        ops.extend(edge("ids_ready", "main", "eplb"));
        ops.push(
            kernel("heat", "BinCount")
                .on("eplb")
                .reads("ids")
                .writes("heat"),
        );
        if ordered {
            ops.extend(edge("heat_ready", "eplb", "main"));
        }
        ops.push(
            kernel("remap", "Gather")
                .on("main")
                .reads("heat")
                .reads("ids"),
        );
        ScheduleBuilder::new("report-14")
            .buffer("ids", 4_096)
            .buffer("heat", 1_024)
            .program("step", ops)
            .ranks(0..1, "step")
            .build()
            .expect("it is valid")
    };
    let report = finds(&build(false), &[Rule::RaceAccess]);
    assert_eq!(
        messages(&report, Rule::RaceAccess),
        ["`heat` writes and `remap` reads bytes 0 to 1024 of `heat`, and nothing orders them"]
    );
    let mended = verdict(&build(true));
    assert_eq!((mended.errors, mended.races), (0, RaceStatus::None));
}

/// 15: a buffer of the sampler freed while the side stream still reads it.
#[test]
fn report_15_missing_record_stream() {
    let build = |told: bool| {
        let mut ops = vec![
            alloc("noise").on("main"),
            kernel("fill", "Exponential").on("main").writes("noise"),
        ];
        ops.extend(edge("filled", "main", "side"));
        ops.push(kernel("sample", "ArgMax").on("side").reads("noise"));
        if told {
            ops.push(stream_use("noise").on("side"));
        }
        ops.push(free("noise"));
        ops.push(kernel("next", "MatMulV3").on("main").writes("logits"));
        ScheduleBuilder::new("report-15")
            .buffer("noise", 4_096)
            .buffer("logits", 4_096)
            .program("step", ops)
            .ranks(0..1, "step")
            .build()
            .expect("it is valid")
    };
    finds(&build(false), &[Rule::RaceFree]);
    clean(&build(true));
}

/// 16: the speculative and the target model share one side stream and its scratch memory, from two
/// threads.
#[test]
fn report_16_a_side_stream_used_by_two_models() {
    let build = |shared: bool| {
        let scratch = if shared { "scratch" } else { "mtp_scratch" };
        let ops = [
            kernel("mtp", "Quant")
                .on("mtp_side")
                .from_thread("mtp")
                .writes(scratch),
            kernel("target", "Quant").on("side").writes("scratch"),
            kernel("target_down", "MatMulV3")
                .on("side")
                .reads("scratch"),
        ];
        ScheduleBuilder::new("report-16")
            .buffer("scratch", 4_096)
            .buffer("mtp_scratch", 4_096)
            .program("step", ops)
            .ranks(0..1, "step")
            .build()
            .expect("it is valid")
    };
    finds(&build(true), &[Rule::RaceAccess]);
    clean(&build(false));
}

/// 19: a prefetch sweep that turns over between 100 and 120 MB.
#[test]
fn report_19_prefetch_beyond_what_l2_holds() {
    let build = |bytes: u32| {
        let mut ops = edge("fork", "main", "side").to_vec();
        ops.push(prefetch("weights", "w", bytes).on("side"));
        ops.push(vector("norm", "main", 48));
        ops.extend(edge("join", "side", "main"));
        ops.push(kernel("o_proj", "MatMulV3").on("main").reads("w"));
        ScheduleBuilder::new("report-19")
            .buffer("w", 1 << 30)
            .program("step", ops)
            .ranks(0..1, "step")
            .build()
            .expect("it is valid")
    };
    for bytes in [120_000_000, 250_000_000] {
        finds(&build(bytes), &[Rule::WastePrefetch]);
    }
    for bytes in [10_000_000, 80_000_000, 100_000_000] {
        clean(&build(bytes));
    }
}

/// 20: the same prefetch of o_proj issued twice.
#[test]
fn report_20_a_prefetch_issued_twice() {
    let build = |twice: bool| {
        let mut ops = edge("fork", "main", "side").to_vec();
        ops.push(prefetch("first", "w", 1_000_000).on("side"));
        if twice {
            ops.push(prefetch("second", "w", 1_000_000).on("side"));
        }
        ops.push(vector("attention", "main", 48));
        ops.extend(edge("join", "side", "main"));
        ops.push(kernel("o_proj", "MatMulV3").on("main").reads("w"));
        ScheduleBuilder::new("report-20")
            .buffer("w", 1_000_000)
            .program("step", ops)
            .ranks(0..1, "step")
            .build()
            .expect("it is valid")
    };
    finds(&build(true), &[Rule::WasteDuplicatePrefetch]);
    clean(&build(false));
}

/// 24: a capture without flow events. What is recovered of it has no data flow, and its verdict says
/// so.
#[test]
fn report_24_a_recovered_schedule_is_not_called_clean() {
    let build = |declared: bool| {
        let op = |id: &str, stream: &str| {
            let op = kernel(id, "MatMulV3").on(stream);
            if declared { op.reads("x") } else { op }
        };
        let mut ops = vec![op("a", "main")];
        ops.extend(edge("e", "main", "side"));
        ops.push(op("b", "side"));
        ops.push(op("c", "main"));
        let builder = ScheduleBuilder::new("report-24")
            .buffer("x", 64)
            .program("step", ops);
        builder.ranks(0..1, "step").build().expect("it is valid")
    };
    let report = finds(&build(false), &[Rule::RaceUnknown]);
    assert_eq!((report.races, report.errors), (RaceStatus::Unknown, 0));
    clean(&build(true));
}
