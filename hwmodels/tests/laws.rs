//! Laws of the cost functions on random ops: more bandwidth or cores never make one slower, times
//! are continuous in the size except at documented switches, and nothing panics.

use std::sync::LazyLock;

use ascsim_hwmodels::collective::{
    CollectiveCost, Determinism, Moe, Request, Topology, Workflow, cost, cost_with_range,
};
use ascsim_hwmodels::copy::{CopyWork, copy, prefetch};
use ascsim_hwmodels::kernel::{Format, KernelClass, KernelWork, kernel};
use ascsim_hwmodels::{Catalogue, Level, Model, ParameterId, Reader, Selection, Unit, Values};
use ascsim_schedules::{CollectiveKind, CopyDirection, Expansion, Memory};
use proptest::prelude::*;

fn model() -> &'static Model {
    static MODEL: LazyLock<Model> = LazyLock::new(cloud_matrix);
    &MODEL
}

fn cloud_matrix() -> Model {
    let catalogue = Catalogue::built_in().expect("the built-in profiles are valid");
    let selection = Selection {
        machine: "cloudmatrix384".to_owned(),
        ..Selection::default()
    };
    Model::new(&catalogue, &selection).expect("the built-in profiles are complete")
}

fn rates() -> Vec<ParameterId> {
    ParameterId::ALL
        .iter()
        .copied()
        .filter(|id| matches!(id.unit(), Unit::BytesPerSecond | Unit::OpsPerSecond))
        .collect()
}

fn kinds() -> impl Strategy<Value = CollectiveKind> {
    use CollectiveKind as K;
    prop::sample::select(vec![
        K::AllReduce,
        K::AllGather,
        K::ReduceScatter,
        K::AllToAll,
        K::AllToAllV,
        K::Broadcast,
        K::Reduce,
        K::Scatter,
        K::Gather,
        K::Send,
        K::Receive,
        K::Barrier,
        K::Dispatch,
        K::Combine,
        K::DispatchFfnCombine,
        K::AllGatherMatmul,
        K::MatmulReduceScatter,
    ])
}

fn topologies() -> impl Strategy<Value = Topology> {
    let values = model().values();
    prop_oneof![
        prop::sample::select(vec![1_u32, 2, 4, 8, 12, 16, 32, 64, 256])
            .prop_map(|ranks| (0..ranks).collect::<Vec<_>>()),
        prop::collection::vec(0_u32..1600, 1..40),
    ]
    .prop_map(move |devices| Topology::of(&devices, &Reader::new(&values)))
}

prop_compose! {
    fn requests()(
        kind in kinds(),
        topology in topologies(),
        bytes in prop_oneof![0_u64..1 << 17, 0_u64..1 << 24, 0_u64..1 << 29],
        workflow in prop::sample::select(vec![Workflow::Eager, Workflow::AclGraph, Workflow::GeGraph]),
        expansion in prop::sample::select(vec![Expansion::Aiv, Expansion::AiCpu]),
        determinism in prop::sample::select(vec![Determinism::Off, Determinism::On, Determinism::Strict]),
        flags in prop::array::uniform5(any::<bool>()),
        tokens in 0_u64..600,
        hidden in 1_u64..9000,
        compute_ps in 0_u64..1_000_000_000,
    ) -> Request {
        Request {
            workflow,
            expansion,
            determinism,
            in_place: flags[0],
            zero_copy: flags[1],
            retry: flags[2],
            cache: flags[3],
            graph_zero_copy: flags[4],
            moe: Some(Moe { tokens, top_k: 8, hidden, local_experts: 4, shared_experts: 1 }),
            compute_ps,
            ..Request::new(kind, bytes, topology)
        }
    }
}

fn of(request: &Request, values: &Values) -> Option<CollectiveCost> {
    cost(request, &Reader::new(values)).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn more_bandwidth_never_slows_a_collective(request in requests(), factor in 1.0..4.0_f64) {
        let values = model().values();
        let before = of(&request, &values).expect("without a limit HCCL takes everything");
        for id in before.used.iter().filter(|id| rates().contains(id)) {
            let faster = values.with(id, values.get(id) * factor);
            let after = of(&request, &faster).expect("as before");
            prop_assert!(after.ps <= before.ps, "{id} x {factor}: {} -> {}", before.ps, after.ps);
        }
    }

    #[test]
    fn more_cores_never_slow_a_collective(request in requests(), limit in 1_u32..48, more in 1_u32..48) {
        let values = model().values();
        let at = |limit| of(&Request { core_limit: Some(limit), ..request.clone() }, &values);
        if let Some(few) = at(limit) {
            let many = at((limit + more).min(48)).expect("more cores hold it too");
            prop_assert!(many.ps <= few.ps, "{limit} + {more}: {} -> {}", few.ps, many.ps);
            prop_assert!(few.cores.aiv <= limit || request.kind == CollectiveKind::Dispatch
                || request.kind == CollectiveKind::Combine
                || request.kind == CollectiveKind::DispatchFfnCombine);
        }
    }

    /// Documented switches: another executor, another block dim, one shot to two at 64 KiB, another
    /// number of inner steps of the full mesh.
    #[test]
    fn times_are_continuous_in_the_size_between_switches(request in requests()) {
        let values = model().values();
        let larger = Request { bytes: request.bytes + 64, ..request.clone() };
        let (a, b) = (of(&request, &values), of(&larger, &values));
        let (a, b) = (a.expect("HCCL takes it"), b.expect("HCCL takes it"));
        let one_shot = 64 << 10;
        let same = a.executor == b.executor
            && a.cores == b.cores
            && a.tasks == b.tasks
            && (request.bytes <= one_shot) == (larger.bytes <= one_shot);
        if same {
            // 64 bytes to each of up to 1,600 peers over the slowest link, or by one core.
            let most = 2.0 * 64.0 * 1600.0 / 22.6e9 * 1e12;
            prop_assert!(a.ps.abs_diff(b.ps) as f64 <= most, "{} -> {}", a.ps, b.ps);
            prop_assert!(b.ps >= a.ps, "a larger message takes no less: {} -> {}", a.ps, b.ps);
        }
    }

    #[test]
    fn phases_add_up_and_ranges_hold_the_time(request in requests()) {
        let (found, range) = cost_with_range(model(), &request).expect("HCCL takes it");
        let end = found.phases.iter().map(|phase| phase.start_ps + phase.ps).max();
        prop_assert_eq!(Some(found.ps), end);
        prop_assert!(range.low_ps <= range.ps && range.ps <= range.high_ps);
        prop_assert_eq!(range.ps, found.ps);
    }

    #[test]
    fn nothing_panics_on_extreme_requests(
        request in requests(),
        bytes in any::<u64>(),
        ranks in any::<u32>(),
        numbers in prop::array::uniform5(any::<u64>()),
        limit in any::<u32>(),
    ) {
        let [tokens, top_k, hidden, local_experts, shared_experts] = numbers;
        let request = Request {
            bytes,
            core_limit: Some(limit),
            buffer_bytes: Some(tokens),
            topology: Topology { ranks, ..request.topology },
            moe: Some(Moe { tokens, top_k, hidden, local_experts, shared_experts }),
            ..request
        };
        let values = model().values();
        let first = cost(&request, &Reader::new(&values));
        prop_assert_eq!(first, cost(&request, &Reader::new(&values)));
    }

    #[test]
    fn more_cores_or_bandwidth_never_slow_a_kernel(
        blocks in 0_u32..100,
        cores in 1_u32..24,
        more in 0_u32..24,
        bytes in 0.0..1e9_f64,
        hit in 0.0..1.0_f64,
        flops in 0.0..1e12_f64,
        factor in 1.0..4.0_f64,
    ) {
        let values = model().values();
        let work = KernelWork {
            class: KernelClass::Matmul,
            format: Format::Bf16,
            cube_flops: flops,
            vector_flops: flops / 100.0,
            bytes_read: bytes,
            l2_hit_bytes: hit * bytes,
            bytes_written: bytes / 10.0,
            aic_blocks: blocks,
            aiv_blocks: 2 * blocks,
            aic_cores: cores,
            aiv_cores: 2 * cores,
        };
        let reader = Reader::new(&values);
        let before = kernel(&work, &reader);
        let wider = KernelWork { aic_cores: cores + more, aiv_cores: 2 * (cores + more), ..work };
        prop_assert!(kernel(&wider, &reader).ps <= before.ps);
        for id in reader.used().iter().filter(|id| rates().contains(id)) {
            let faster = values.with(id, values.get(id) * factor);
            prop_assert!(kernel(&work, &Reader::new(&faster)).ps <= before.ps, "{id}");
        }
        let warmer = KernelWork { l2_hit_bytes: bytes, ..work };
        prop_assert!(kernel(&warmer, &Reader::new(&values)).ps <= before.ps);
    }

    #[test]
    fn copies_take_longer_when_larger_farther_or_pageable(bytes in 0_u64..1 << 32) {
        let values = model().values();
        let r = Reader::new(&values);
        let pinned = CopyWork {
            direction: CopyDirection::HostToDevice,
            bytes,
            host: Memory::HostPinned,
            level: Level::Package,
        };
        let pageable = CopyWork { host: Memory::HostPageable, ..pinned };
        prop_assert!(copy(&pinned, &r) < copy(&pageable, &r));
        let larger = CopyWork { bytes: bytes + 4096, ..pinned };
        prop_assert!(copy(&pinned, &r) <= copy(&larger, &r));
        let peer = |level| copy(&CopyWork { direction: CopyDirection::Peer, level, ..pinned }, &r);
        let levels = [Level::Package, Level::Server, Level::Pod, Level::Cluster].map(peer);
        prop_assert!(levels.is_sorted(), "{levels:?}");
        // Two streams that prefetch at once get less together than one alone.
        prop_assert!(prefetch(bytes / 2, 2, &r) >= prefetch(bytes, 1, &r) || bytes < 2);
    }
}

/// facts/hardware.md section 1.4: 285 GB/s with one stream, 153 GB/s with two together.
#[test]
fn prefetches_share_less_than_one_gets() {
    let values = model().values();
    let r = Reader::new(&values);
    assert_eq!(prefetch(285_000_000, 1, &r), 1_000_000_000);
    assert_eq!(prefetch(153_000_000, 2, &r), 2_000_000_000);
}

/// Nothing in a fast path depends on more than the reader: two threads give the same bytes.
#[test]
fn costs_are_the_same_on_every_thread() {
    let request = |bytes| {
        let values = model().values();
        let topology = Topology::dense(8, &Reader::new(&values));
        of(
            &Request::new(CollectiveKind::AllReduce, bytes, topology),
            &values,
        )
    };
    let sizes: Vec<u64> = (0..64).map(|step| step << 17).collect();
    let here: Vec<_> = sizes.iter().map(|&bytes| request(bytes)).collect();
    let there = std::thread::scope(|scope| {
        let threads: Vec<_> = sizes
            .iter()
            .map(|&bytes| scope.spawn(move || request(bytes)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("the thread ends"))
            .collect::<Vec<_>>()
    });
    assert_eq!(here, there);
}
