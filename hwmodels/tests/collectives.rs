//! Collectives against facts/collectives.md: the fits of 5.2 with their stated error, the checks of
//! 5.3 with theirs, the switches of section 1 exactly, and what is said about each.

use ascsim_hwmodels::collective::{
    CollectiveCost, CollectiveError, Determinism, Finding, Moe, Request, Topology, Workflow, cost,
    cost_with_range,
};
use ascsim_hwmodels::{Catalogue, Level, Model, Reader, Selection};
use ascsim_schedules::CollectiveKind::{
    AllGather, AllReduce, AllToAll, AllToAllV, Broadcast, Combine, Dispatch, DispatchFfnCombine,
    MatmulAllReduce, ReduceScatter,
};
use ascsim_schedules::{CollectiveKind, Expansion, ScheduleMode};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn model_of(chip: Option<&str>, machine: &str) -> Model {
    let catalogue = Catalogue::built_in().expect("the built-in profiles are valid");
    let selection = Selection {
        chip: chip.map(str::to_owned),
        machine: machine.to_owned(),
        ..Selection::default()
    };
    Model::new(&catalogue, &selection).expect("the built-in profiles are complete")
}

fn topology(ranks: u32) -> Topology {
    let values = model_of(None, "cloudmatrix384").values();
    Topology::dense(ranks, &Reader::new(&values))
}

fn on_aiv(kind: CollectiveKind, ranks: u32, bytes: u64) -> Request {
    Request {
        expansion: Expansion::Aiv,
        ..Request::new(kind, bytes, topology(ranks))
    }
}

fn on_aicpu(kind: CollectiveKind, ranks: u32, bytes: u64) -> Request {
    Request::new(kind, bytes, topology(ranks))
}

fn captured(request: Request) -> Request {
    Request {
        workflow: Workflow::AclGraph,
        ..request
    }
}

fn of(request: &Request) -> CollectiveCost {
    let values = model_of(None, "cloudmatrix384").values();
    cost(request, &Reader::new(&values)).expect("HCCL takes it")
}

fn us(request: &Request) -> f64 {
    of(request).ps as f64 / 1e6
}

/// The transfer alone: what the ring fits measured.
fn device_us(request: &Request) -> f64 {
    let cost = of(request);
    let transfer = cost.phases.iter().find(|phase| phase.name == "transfer");
    transfer.expect("there is a transfer").ps as f64 / 1e6
}

fn mib(size: f64) -> u64 {
    (size * 1_048_576.0) as u64
}

/// Checks that `model` is within `percent` of `measured`.
fn within(what: &str, model: f64, measured: f64, percent: f64) {
    let error = (model / measured - 1.0) * 100.0;
    assert!(
        error.abs() <= percent,
        "{what}: {model:.1} for {measured}: {error:+.1} %"
    );
}

/// Checks that `model` misses `measured` by `stated` percent, as 5.3 says it does, or by less.
fn misses(what: &str, model: f64, measured: f64, stated: f64) {
    let error = (model / measured - 1.0) * 100.0;
    let (low, high) = if stated < 0.0 {
        (stated, 0.0)
    } else {
        (0.0, stated)
    };
    assert!(
        (low - 1.2..=high + 1.2).contains(&error),
        "{what}: {model:.1} for {measured}: {error:+.1} %, stated {stated:+}"
    );
}

#[test]
fn aiv_all_gather_fits() {
    let mut sum = 0.0;
    let points = [
        (8, KIB, 5.4),
        (8, 7 * KIB, 5.5),
        (8, 14 * KIB, 5.6),
        (8, 465_000, 30.0),
        (16, 74 * KIB, 12.5),
        (16, 278 * KIB, 31.0),
    ];
    for (ranks, bytes, measured) in points {
        let request = on_aiv(AllGather, ranks, bytes);
        assert_eq!(of(&request).executor, "AllGatherMeshAivSmallCountExecutor");
        within("AIV AllGather", us(&request), measured, 5.1);
        sum += (us(&request) / measured - 1.0).abs() * 100.0;
    }
    assert!(
        sum / points.len() as f64 <= 3.0,
        "MAPE {}",
        sum / points.len() as f64
    );
}

#[test]
fn aiv_two_shot_all_reduce_fits() {
    for (size, measured) in [(3.75, 77.6), (7.5, 143.0)] {
        let request = captured(on_aiv(AllReduce, 8, mib(size)));
        assert_eq!(of(&request).executor, "AllReduceMeshAivSmallCountExecutor");
        within("AIV AllReduce TP8", us(&request), measured, 0.3);
    }
}

#[test]
fn aicpu_rings_fit() {
    for (ranks, size, measured) in [
        (16, 1.3, 177.0),
        (16, 5.0, 435.0),
        (16, 21.4, 1628.0),
        (16, 40.0, 3080.0),
        (8, 3.5, 167.0),
    ] {
        let request = on_aicpu(AllGather, ranks, mib(size));
        let executor = of(&request).executor;
        assert_eq!(executor, "AlignedAllGatherDoubleRingFor91093Executor");
        within("ring AllGather", device_us(&request), measured, 6.1);
    }
    for (ranks, size, measured) in [
        (16, 1.3, 216.0),
        (16, 8.8, 808.0),
        (16, 21.4, 2044.0),
        (16, 40.0, 3665.0),
        (8, 3.5, 202.0),
    ] {
        let request = on_aicpu(ReduceScatter, ranks, mib(size));
        let executor = of(&request).executor;
        assert_eq!(executor, "ReduceScatterFastDoubleRingFor91093Executor");
        within("ring ReduceScatter", device_us(&request), measured, 8.3);
    }
}

/// Two ranks: the slope over the size is the link's, SIO or HCCS. What the harness adds to every
/// size (105 us floor) is not HCCL's.
#[test]
fn single_links_have_their_own_slope() {
    let values = model_of(None, "a3-server").values();
    let reader = Reader::new(&values);
    for (devices, level, small, large) in [
        ([0, 1], Level::Package, 251.7, 1195.1),
        ([0, 2], Level::Server, 281.3, 1334.1),
    ] {
        let topology = Topology::of(&devices, &reader);
        assert_eq!((topology.level, topology.double_ring()), (level, false));
        let at = |bytes| device_us(&captured(Request::new(AllReduce, bytes, topology)));
        within(
            "slope",
            at(128_000_000) - at(24_000_000),
            large - small,
            0.5,
        );
        let executor = of(&Request::new(AllReduce, 4 * KIB, topology)).executor;
        assert_eq!(executor, "AllReduceRingFor91093Executor");
    }
}

#[test]
fn halving_doubling_fits_and_extrapolates() {
    for (ranks, tasks, expected) in [(4, 14, 15.2), (8, 20, 22.0), (16, 26, 28.0)] {
        let request = captured(on_aicpu(AllReduce, ranks, 4 * KIB));
        let cost = of(&request);
        assert_eq!(cost.executor, "AllReduceMeshSmallCountExecutor");
        assert_eq!(cost.tasks, tasks);
        within("HD", us(&request), expected, 2.5);
    }
}

#[test]
fn dispatch_and_combine_fit() {
    let at = |kind, ranks, tokens| {
        us(&Request {
            moe: Some(moe(tokens)),
            ..Request::new(kind, 0, topology(ranks))
        })
    };
    for (ranks, measured) in [(8, 132.0), (16, 139.0), (32, 153.0)] {
        within("dispatch", at(Dispatch, ranks, 128), measured, 1.6);
    }
    for (ranks, measured) in [(8, 126.0), (16, 135.0), (32, 151.0)] {
        within("combine", at(Combine, ranks, 128), measured, 1.75);
    }
    // Section 5.3, data not used in the fit.
    misses(
        "CloudMatrix dispatch EP8",
        at(Dispatch, 8, 128),
        116.0,
        13.0,
    );
    misses(
        "CloudMatrix dispatch EP256",
        at(Dispatch, 256, 128),
        152.0,
        20.0,
    );
    misses("CloudMatrix combine EP8", at(Combine, 8, 128), 118.0, 6.0);
    misses(
        "CloudMatrix combine EP256",
        at(Combine, 256, 128),
        149.0,
        25.0,
    );
    misses(
        "xDeepServe dispatch, min",
        at(Dispatch, 288, 60),
        185.0,
        -32.0,
    );
    misses(
        "xDeepServe dispatch, mean",
        at(Dispatch, 288, 60),
        234.0,
        -47.0,
    );
}

/// Section 5.3: data not used in the fits, with the error stated there or a smaller one.
#[test]
fn checks_on_other_data_miss_as_stated() {
    let aiv = |kind, ranks, bytes| us(&captured(on_aiv(kind, ranks, bytes)));
    misses(
        "RS TP8 14 KB",
        us(&on_aiv(ReduceScatter, 8, 14_000)),
        6.1,
        5.0,
    );
    misses(
        "AR TP16 160 KB",
        us(&on_aiv(AllReduce, 16, 160_000)),
        12.1,
        19.0,
    );
    misses(
        "AR TP8 60 KB in service",
        aiv(AllReduce, 8, 60_000),
        16.8,
        -38.0,
    );
    misses(
        "AR TP8 491 KB, attention",
        aiv(AllReduce, 8, 491_000),
        32.0,
        -37.0,
    );
    misses(
        "AR TP8 491 KB, MoE",
        aiv(AllReduce, 8, 491_000),
        73.0,
        -72.0,
    );
    misses(
        "AG TP8 768 KB in graph",
        aiv(AllGather, 8, 768_000),
        75.4,
        -47.0,
    );
    // Torch reduces in place: the expansion is never cached, which is the floor of section 5.4.
    let ring = |workflow, bytes| {
        us(&Request {
            workflow,
            in_place: true,
            ..on_aicpu(AllReduce, 8, bytes)
        })
    };
    within(
        "AR TP8 graph 8.75 MiB",
        ring(Workflow::AclGraph, mib(8.75)),
        251.0,
        1.0,
    );
    misses(
        "AR TP8 graph 15 MiB",
        ring(Workflow::AclGraph, mib(15.0)),
        260.8,
        -4.0,
    );
    misses(
        "AR TP8 graph 20 MiB",
        ring(Workflow::AclGraph, mib(20.0)),
        306.9,
        -10.0,
    );
    misses(
        "AR TP8 eager 32 MB",
        ring(Workflow::Eager, 32_000_000),
        422.0,
        -2.0,
    );
    misses(
        "AR TP8 eager 128 MB",
        ring(Workflow::Eager, 128_000_000),
        1201.0,
        5.0,
    );
    // The unexplained floor of eager AllGather is above the device model by the launch at most.
    let device = |bytes| device_us(&on_aicpu(AllGather, 8, bytes));
    assert!(
        (58.0..60.0).contains(&device(596_000)),
        "{}",
        device(596_000)
    );
    assert!(
        (69.0..71.0).contains(&device(950_000)),
        "{}",
        device(950_000)
    );
}

/// The cliff of AllReduce is N x 1 MiB in eager and aclgraph, N x 4 MiB in a GE graph.
#[test]
fn all_reduce_leaves_aiv_at_one_mib_per_rank() {
    for ranks in [2, 4, 8, 16] {
        for (workflow, per_rank) in [
            (Workflow::Eager, MIB),
            (Workflow::AclGraph, MIB),
            (Workflow::GeGraph, 4 * MIB),
        ] {
            let at = |bytes| {
                let request = Request {
                    workflow,
                    ..on_aiv(AllReduce, ranks, bytes)
                };
                of(&request).cores.aiv > 0
            };
            let cliff = per_rank * u64::from(ranks);
            assert!(at(cliff), "{ranks} {workflow:?}");
            assert!(!at(cliff + 1), "{ranks} {workflow:?}");
        }
    }
    let zero_copy = Request {
        graph_zero_copy: true,
        ..captured(on_aiv(AllReduce, 8, 9 * MIB))
    };
    assert!(of(&zero_copy).cores.aiv > 0);
}

#[test]
fn other_collectives_leave_aiv_where_hccl_does() {
    let stays = |kind, ranks, workflow, bytes| {
        let request = Request {
            workflow,
            ..on_aiv(kind, ranks, bytes)
        };
        of(&request).cores.aiv > 0
    };
    use Workflow::{AclGraph, Eager, GeGraph};
    for (kind, ranks, workflow, most) in [
        (AllGather, 8, Eager, 512 * KIB),
        (AllGather, 8, AclGraph, 4 * MIB),
        (AllGather, 8, GeGraph, 4 * MIB),
        (ReduceScatter, 8, Eager, MIB),
        (ReduceScatter, 8, AclGraph, MIB),
        (ReduceScatter, 8, GeGraph, 4 * MIB),
        (AllToAll, 8, Eager, 512 * KIB),
        (Broadcast, 8, AclGraph, 4 << 30),
        (Broadcast, 8, GeGraph, 16 * MIB),
        // Across servers of one super-pod.
        (AllGather, 32, Eager, 32 * KIB),
        (ReduceScatter, 32, Eager, 128 * KIB),
        (Broadcast, 32, Eager, MIB),
    ] {
        assert!(
            stays(kind, ranks, workflow, most),
            "{kind:?} {ranks} {workflow:?}"
        );
        assert!(
            !stays(kind, ranks, workflow, most + 1),
            "{kind:?} {ranks} {workflow:?}"
        );
    }
    // Below, not at: AllReduce across servers.
    assert!(stays(AllReduce, 32, Eager, 8 * MIB - 1) && !stays(AllReduce, 32, Eager, 8 * MIB));
    // No limit at all.
    assert!(stays(AllToAll, 8, GeGraph, 64 * MIB) && stays(AllToAllV, 8, Eager, 64 * MIB));
}

#[test]
fn executors_are_those_that_hccl_takes() {
    let name = |request: Request| of(&request).executor;
    for (executor, request) in [
        ("AllReduceMeshAivExecutor", on_aiv(AllReduce, 16, 16 * MIB)),
        (
            "AllReduceMeshAivExecutor",
            Request {
                workflow: Workflow::GeGraph,
                ..on_aiv(AllReduce, 8, 191 * KIB)
            },
        ),
        (
            "AllReduceMeshAivFor91093Executor",
            Request {
                determinism: Determinism::On,
                ..on_aiv(AllReduce, 8, 60 * KIB)
            },
        ),
        (
            "AllReduceMeshAivFor91093Executor",
            on_aiv(AllReduce, 32, MIB),
        ),
        (
            "AllReduceOrderPreservedFor91093Executor",
            Request {
                determinism: Determinism::Strict,
                ..on_aicpu(AllReduce, 8, MIB)
            },
        ),
        (
            "AllReduceMeshSmallCountExecutor",
            on_aicpu(AllReduce, 8, 4 * MIB),
        ),
        (
            "AllReduceFastDoubleRingFor91093Executor",
            on_aicpu(AllReduce, 8, 4 * MIB + 1),
        ),
        (
            "AllReduceRingFor91093Executor",
            on_aicpu(AllReduce, 2, 4 * KIB),
        ),
        ("AllReduceComm", on_aicpu(AllReduce, 32, 16 * MIB)),
        (
            "AllReduceFastDoubleRingFor91093Executor",
            on_aicpu(AllReduce, 32, 16 * MIB + 1),
        ),
        (
            "AllReduceRingZerocopyExecutor",
            Request {
                zero_copy: true,
                ..on_aicpu(AllReduce, 8, 64 * MIB)
            },
        ),
        (
            "AllGatherMeshAivExecutor",
            captured(on_aiv(AllGather, 8, 761 * KIB)),
        ),
        (
            "AllGatherMeshAivSmallCountExecutor",
            captured(on_aiv(AllGather, 8, 760 * KIB)),
        ),
        (
            "AllGatherMeshAivFor91093Executor",
            on_aiv(AllGather, 32, 8 * KIB),
        ),
        ("AllGatherSmallCount", on_aicpu(AllGather, 8, 512 * KIB)),
        (
            "AlignedAllGatherDoubleRingFor91093Executor",
            on_aicpu(AllGather, 8, 512 * KIB + 1),
        ),
        (
            "AllGatherSemiRingExecutor",
            captured(on_aicpu(AllGather, 8, 8 * KIB)),
        ),
        (
            "ReduceScatterDeterExecutor",
            on_aicpu(ReduceScatter, 8, MIB),
        ),
        (
            "AlltoAllMeshAivSmallCountExecutor",
            captured(on_aiv(AllToAll, 8, 760 * KIB)),
        ),
        ("AlltoAllMeshAivFor91093Executor", on_aiv(AllToAll, 32, KIB)),
        ("RunAlltoAllDirectFullmesh", on_aicpu(AllToAll, 8, KIB)),
    ] {
        assert_eq!(name(request.clone()), executor, "{request:?}");
    }
}

/// Across servers the limit falls at more than 6 and more than 16 ranks.
#[test]
fn the_limit_across_servers_depends_on_the_ranks() {
    let values = model_of(None, "cloudmatrix384").values();
    let stays = |kind, ranks: u32, bytes| {
        let devices: Vec<u32> = (0..ranks).map(|rank| rank * 16).collect();
        let topology = Topology::of(&devices, &Reader::new(&values));
        let request = Request {
            expansion: Expansion::Aiv,
            ..Request::new(kind, bytes, topology)
        };
        of(&request).cores.aiv > 0
    };
    for (kind, ranks, most) in [
        (AllGather, 6, MIB),
        (AllGather, 7, 512 * KIB),
        (AllGather, 16, 512 * KIB),
        (AllGather, 17, 32 * KIB),
        (ReduceScatter, 6, MIB),
        (ReduceScatter, 7, 512 * KIB),
        (ReduceScatter, 16, 512 * KIB),
        (ReduceScatter, 17, 128 * KIB),
        (Broadcast, 8, 512 * KIB),
        (Broadcast, 9, MIB),
        (AllReduce, 8, 512 * KIB),
        (AllReduce, 9, 8 * MIB - 1),
    ] {
        assert!(stays(kind, ranks, most), "{kind:?} {ranks}");
        assert!(!stays(kind, ranks, most + 1), "{kind:?} {ranks}");
    }
}

#[test]
fn only_aiv_mesh_collectives_fuse_into_a_super_kernel() {
    assert!(of(&on_aiv(AllReduce, 8, KIB)).fuses() && of(&on_aiv(AllToAll, 8, KIB)).fuses());
    assert!(!of(&on_aiv(Broadcast, 8, KIB)).fuses());
    assert!(!of(&on_aicpu(AllReduce, 8, KIB)).fuses());
}

/// Sixteen ranks are bound by what a die reads in all: once in AllGather, twice in the two-shot
/// AllReduce, whose slices are a sixteenth.
#[test]
fn the_die_bounds_its_cores_together() {
    let bound = |passes: f64, slice: f64| passes * 15.0 * slice / 158e9 * 1e6;
    within(
        "AG",
        us(&on_aiv(AllGather, 16, 278 * KIB)),
        5.1 + bound(1.0, 278.0 * 1024.0),
        0.01,
    );
    within(
        "AR",
        us(&on_aiv(AllReduce, 16, MIB)),
        12.1 + bound(2.0, 65_536.0),
        0.01,
    );
}

#[test]
fn double_ring_tasks_match_the_count() {
    let tasks = |ranks, size| of(&on_aicpu(AllReduce, ranks, mib(size))).tasks;
    assert_eq!(tasks(8, 20.0), 46 * 7 + 40);
    assert_eq!(tasks(16, 40.0), 46 * 15 + 40);
}

#[test]
fn cores_are_held_in_batch_and_follow_the_limit() {
    let cost = of(&on_aiv(AllReduce, 8, 60 * KIB));
    assert_eq!((cost.cores.aiv, cost.cores.mode), (8, ScheduleMode::Batch));
    assert_eq!(of(&captured(on_aiv(AllGather, 8, 60 * KIB))).cores.aiv, 32);
    assert_eq!(of(&captured(on_aiv(AllGather, 16, 60 * KIB))).cores.aiv, 48);
    let small_die = model_of(Some("910c-560t"), "a3-server").values();
    let request = captured(on_aiv(AllGather, 16, 60 * KIB));
    let found = cost_of(&request, &small_die).expect("HCCL takes it");
    assert_eq!(found.cores.aiv, 32);

    let limited = |request: Request, limit| Request {
        core_limit: Some(limit),
        ..request
    };
    let found = of(&limited(on_aiv(AllReduce, 8, 60 * KIB), 6));
    assert_eq!(found.cores.aiv, 6);
    assert_eq!(found.executor, "AllReduceMeshAivFor91093Executor");
    assert!(
        found
            .findings
            .contains(&Finding::CoreLimited { need: 8, limit: 6 })
    );
    let values = model_of(None, "a3-server").values();
    let error = cost_of(&limited(on_aiv(AllReduce, 8, 60 * KIB), 1), &values);
    let error = error.expect_err("one core does not do");
    expect_test::expect!["AllReduce over 8 ranks needs 2 vector cores and may use 1: HCCL fails with HCCL_E_PARA; raise the core limit, or use AI_CPU expansion"]
        .assert_eq(&error.to_string());
    // Broadcast has no core-limited form.
    let error = cost_of(&limited(on_aiv(Broadcast, 8, 400 * KIB), 7), &values);
    assert!(matches!(
        error,
        Err(CollectiveError::CoreLimit {
            need: 8,
            limit: 7,
            ..
        })
    ));
    let aicpu = of(&on_aicpu(AllReduce, 8, MIB)).cores;
    assert_eq!((aicpu.aiv, aicpu.aicpu), (0, 1));
}

fn cost_of(
    request: &Request,
    values: &ascsim_hwmodels::Values,
) -> Result<CollectiveCost, CollectiveError> {
    cost(request, &Reader::new(values))
}

fn moe(tokens: u64) -> Moe {
    Moe {
        tokens,
        top_k: 8,
        hidden: 7168,
        local_experts: 1,
        shared_experts: 0,
    }
}

#[test]
fn mc2_kernels_take_all_vector_cores_and_check_their_limits() {
    let request = Request {
        moe: Some(moe(128)),
        ..Request::new(Dispatch, 0, topology(16))
    };
    let found = of(&request);
    assert_eq!(
        (found.cores.aiv, found.cores.mode),
        (48, ScheduleMode::Batch)
    );
    // 61.4 KB of INT8 rows per token on the wire, 114.7 KB of BF16.
    assert_eq!(found.remote_bytes, 128 * 61_440);
    let combine = Request {
        kind: Combine,
        ..request.clone()
    };
    assert_eq!(of(&combine).remote_bytes, 128 * 114_688);
    assert!(found.findings.is_empty(), "{:?}", found.findings);
    let large = Request {
        moe: Some(Moe {
            top_k: 17,
            ..moe(513)
        }),
        buffer_bytes: Some(200 * MIB),
        ..request.clone()
    };
    let errors: Vec<_> = of(&large)
        .findings
        .iter()
        .map(ToString::to_string)
        .collect();
    expect_test::expect![[r#"
        tokens of a rank is 513; the kernel takes 1 to 512
        experts per token is 17; the kernel takes 1 to 16
        HCCL_BUFFSIZE is 209715200 bytes; the exchange needs 493793280"#]]
    .assert_eq(&errors.join("\n"));
    let ffn = Request {
        kind: DispatchFfnCombine,
        compute_ps: 300_000_000,
        ..Request {
            topology: topology(64),
            ..request
        }
    };
    let found = of(&ffn);
    assert_eq!(
        (found.cores.aic, found.cores.aiv, found.cores.mode),
        (24, 48, ScheduleMode::Normal)
    );
    assert!(found.ps > 300_000_000);
    assert!(found.findings.iter().any(Finding::is_error));
    let shapeless = Request { moe: None, ..ffn };
    let values = model_of(None, "a3-server").values();
    assert!(matches!(
        cost_of(&shapeless, &values),
        Err(CollectiveError::NoShape { .. })
    ));
}

#[test]
fn users_are_told_what_they_should_know() {
    let near = of(&on_aiv(AllReduce, 8, 7_600_000)).findings;
    assert_eq!(
        near,
        [Finding::NearSwitch {
            bytes: 7_600_000,
            switch: 8 * MIB
        }]
    );
    assert_eq!(of(&on_aiv(AllReduce, 8, 7_500_000)).findings, []);
    let says = |request: Request, finding: Finding| {
        let findings = of(&request).findings;
        assert!(
            findings.contains(&finding),
            "{finding:?} not in {findings:?}"
        );
    };
    says(on_aiv(AllReduce, 8, 15 * MIB), Finding::TooLargeForAiv);
    says(on_aiv(AllToAllV, 8, MIB + 1), Finding::AllToAllVTooLarge);
    says(
        captured(on_aiv(AllGather, 8, KIB)),
        Finding::ManyCores { cores: 32, of: 48 },
    );
    says(
        Request {
            in_place: true,
            ..on_aicpu(AllReduce, 8, KIB)
        },
        Finding::InPlaceNotCached,
    );
    says(on_aicpu(AllReduce, 8, 200 * MIB), Finding::LoopsOverBuffer);
    says(
        Request {
            retry: true,
            ..on_aiv(AllReduce, 8, KIB)
        },
        Finding::LeavesAiv { why: "retry" },
    );
    says(
        Request {
            reduces_off_aiv: true,
            ..on_aiv(AllReduce, 8, KIB)
        },
        Finding::LeavesAiv {
            why: "the reduction (PROD or int64)",
        },
    );
    says(
        Request::new(MatmulAllReduce, MIB, topology(8)),
        Finding::NoMatmulAllReduce,
    );
    says(
        Request {
            expansion: Expansion::Host,
            ..on_aicpu(AllReduce, 8, KIB)
        },
        Finding::UnknownExpansion,
    );
    let values = model_of(None, "a3-server").values();
    let reader = Reader::new(&values);
    let odd = Topology::of(&[0, 2, 4, 6], &reader);
    says(Request::new(AllReduce, 64 * MIB, odd), Finding::SingleRing);
    let pods = Topology::of(&[0, 1, 16, 17], &reader);
    says(
        Request {
            expansion: Expansion::Aiv,
            ..Request::new(AllReduce, KIB, pods)
        },
        Finding::AivAcrossPods,
    );
    let only = Request {
        only_aiv: true,
        ..on_aiv(AllReduce, 8, 15 * MIB)
    };
    let error = cost(&only, &reader).expect_err("it may not fall back");
    expect_test::expect![
        "AllReduce must stay on AIV, but no AIV kernel takes it: the message is too large"
    ]
    .assert_eq(&error.to_string());
}

#[test]
fn a_single_ring_has_about_half_the_bandwidth() {
    let values = model_of(None, "a3-server").values();
    let reader = Reader::new(&values);
    let at = |devices: &[u32]| {
        device_us(&Request::new(
            AllReduce,
            512 * MIB,
            Topology::of(devices, &reader),
        ))
    };
    let ratio = at(&[0, 2, 4, 6]) / at(&[0, 1, 2, 3]);
    assert!((1.8..2.3).contains(&ratio), "{ratio}");
}

#[test]
fn topologies_are_read_off_the_machine() {
    let values = model_of(None, "cloudmatrix384").values();
    let at = |devices: &[u32]| Topology::of(devices, &Reader::new(&values));
    assert_eq!(at(&[0, 1]).level, Level::Package);
    assert_eq!(at(&[1, 2]).level, Level::Server);
    assert_eq!(at(&[15, 16]).level, Level::Pod);
    assert_eq!(at(&[767, 768]).level, Level::Cluster);
    let all = Topology::dense(768, &Reader::new(&values));
    assert_eq!(
        (all.ranks, all.servers, all.pods, all.mates),
        (768, 48, 1, true)
    );
    assert!(at(&[0, 1, 2, 3]).double_ring() && !at(&[0, 1, 2, 4]).double_ring());
    assert!(at(&[0, 1, 2, 16]).uneven);
}

#[test]
fn ranges_contain_the_value_and_name_the_guesses() {
    let model = model_of(None, "a3-server");
    let request = captured(on_aicpu(AllReduce, 8, 15 * MIB));
    let (found, range) = cost_with_range(&model, &request).expect("HCCL takes it");
    assert_eq!(found.ps, range.ps);
    assert!(
        range.low_ps < range.ps && range.ps < range.high_ps,
        "{range:?}"
    );
    assert!(range.contributions.windows(2).all(|pair| {
        let most = |i: usize| pair[i].below_ps.max(pair[i].above_ps);
        most(0) >= most(1)
    }));
    let launch = range
        .contributions
        .iter()
        .find(|c| c.parameter.name() == "collective.aicpu_launch_graph_us")
        .expect("the launch is used");
    assert!(launch.uncalibrated && launch.above_ps == 25_000_000);
    let (found, _) =
        cost_with_range(&model_of(None, "a2-server"), &request).expect("HCCL takes it");
    assert!(found.findings.contains(&Finding::OtherSoc));
}
