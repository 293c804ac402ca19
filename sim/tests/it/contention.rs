//! Cores, bandwidth and collectives of a machine's hardware model.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ascsim_hwmodels::kernel::{Format, KernelClass, KernelWork, kernel};
use ascsim_hwmodels::{Catalogue, Model, Reader, Selection, Values};
use ascsim_schedules::flat::{Flat, InstanceId};
use ascsim_schedules::{OpKind, Schedule};
use ascsim_sim::{Options, Origin, Resource, Simulator, TimeField, Timeline, Usage, compile};
use expect_test::{Expect, expect};
use proptest::prelude::*;

use crate::notation::schedule;

fn values() -> Values {
    static VALUES: LazyLock<Values> = LazyLock::new(|| {
        let catalogue = Catalogue::built_in().expect("the built-in profiles are valid");
        Model::new(&catalogue, &Selection::default())
            .expect("the built-in profiles are complete")
            .values()
    });
    VALUES.clone()
}

/// The machine with free host calls, signals and gaps, so that only contention is left.
fn quiet() -> Options {
    let options = Options::with_hardware(&values());
    Options {
        host: Default::default(),
        latencies: Default::default(),
        gaps: Default::default(),
        ..options
    }
}

/// Runs `schedule`, compiled for `compiled_for`, with `options`.
fn run(schedule: &Schedule, compiled_for: &Options, options: &Options) -> (Timeline, Vec<Usage>) {
    let flat = Flat::new(schedule).expect("a valid schedule");
    let compiled = compile(&flat, compiled_for).expect("complete");
    let mut simulator = Simulator::new();
    simulator.record_usage(true);
    simulator
        .run(&compiled, options, compiled.times())
        .expect("no deadlock");
    let usage = simulator.usage().to_vec();
    (simulator.take(), usage)
}

fn makespan(schedule: &Schedule, compiled_for: &Options, options: &Options) -> u64 {
    run(schedule, compiled_for, options)
        .0
        .makespan(Origin::Host)
}

/// Start and end of each kernel, copy, prefetch and collective in µs.
fn check(text: &str, expect: Expect) {
    let schedule = schedule(text);
    let options = quiet();
    let (timeline, _) = run(&schedule, &options, &options);
    let flat = Flat::new(&schedule).expect("a valid schedule");
    let mut lines = String::new();
    for id in flat.ids() {
        let timed = matches!(
            flat[id].op.kind,
            OpKind::Kernel(_) | OpKind::Copy(_) | OpKind::Prefetch(_) | OpKind::Collective(_)
        );
        if timed {
            let us = |ps: u64| ps as f64 / 1e6;
            let (start, end) = (timeline.start[id.index()], timeline.end[id.index()]);
            let rank = flat[id].rank;
            let path = flat.path(id);
            lines += &format!("{rank} {path} {:.2}..{:.2}\n", us(start), us(end));
        }
    }
    expect.assert_eq(&lines);
}

#[test]
fn a_kernel_on_half_the_cores_takes_two_rounds() {
    check(
        "k s0 hold 100 b=12/0\nk s1 a 10 b=24/0\nk s2 b 10 b=0/48",
        expect![[r#"
            0 hold 0.00..100.00
            0 a 0.00..17.80
            0 b 0.00..10.00
        "#]],
    );
}

#[test]
fn batch_mode_waits_for_all_its_cores_and_lets_others_pass() {
    check(
        "k s0 hold 20 b=0/24\nk s1 batch 10 b=0/40 mode=batch\nk s2 small 5 b=0/8",
        expect![[r#"
            0 hold 0.00..20.00
            0 batch 20.00..30.00
            0 small 0.00..5.00
        "#]],
    );
}

#[test]
fn two_matmuls_share_what_hbm_gives() {
    check(
        "k s0 MatMul mb=60 b=12/0\nk s1 MatMul2 mb=60 b=12/0\nk s2 MatMul3 mb=6 b=0/48",
        expect![[r#"
            0 MatMul 0.00..111.18
            0 MatMul2 0.00..111.18
            0 MatMul3 0.00..19.65
        "#]],
    );
}

#[test]
fn a_core_limit_makes_fewer_larger_blocks() {
    let mut limited = schedule("k s0 MatMul mb=11 b=24/0");
    let options = quiet();
    let full = makespan(&limited, &options, &options) as f64;
    limited.streams[0].core_limit = Some(ascsim_schedules::CoreLimit {
        aic: Some(12),
        aiv: None,
    });
    let half = makespan(&limited, &options, &options) as f64;
    // facts/hardware.md section 1.5: half the cores take 1.27 to 1.51 times as long.
    assert!((1.2..1.6).contains(&(half / full)), "{}", half / full);
}

#[test]
fn the_dies_of_a_package_have_hbm_of_their_own() {
    let two = schedule("k s0 MatMul mb=60 b=24/0\nranks 0 2 main");
    let one = schedule("k s0 MatMul mb=60 b=24/0");
    let options = quiet();
    assert_eq!(
        makespan(&two, &options, &options),
        makespan(&one, &options, &options)
    );
}

/// How long the kernel named `id` runs, in ps.
fn length(text: &str, options: &Options, id: &str) -> u64 {
    let schedule = schedule(text);
    let (timeline, _) = run(&schedule, options, options);
    let flat = Flat::new(&schedule).expect("a valid schedule");
    let id = flat.find(0, id).expect("it is there").index();
    timeline.end[id] - timeline.start[id]
}

#[test]
fn what_was_prefetched_or_just_written_is_read_from_l2() {
    let options = quiet();
    let matmul = "k s0 MatMul mb=10 b=24/0 rd=B";
    let cold = length(matmul, &options, "MatMul");
    let values = values();
    let hit = KernelWork {
        l2_hit_bytes: 10e6,
        ..work_of("MatMul", 10e6)
    };
    let warm = kernel(&hit, &Reader::new(&values)).ps;
    assert!(warm < cold);
    for before in ["pf s0 p B", "k s0 Add mb=0 b=0/48 wr=B"] {
        let found = length(&format!("{before}\n{matmul}"), &options, "MatMul");
        assert!(
            found.abs_diff(warm) <= 4,
            "{before}: {found} instead of {warm}"
        );
    }
    // Reading does not bring it in, and another buffer does not help.
    for before in ["k s0 Add mb=10 b=0/48 rd=B", "pf s0 p C"] {
        let found = length(&format!("{before}\n{matmul}"), &options, "MatMul");
        assert_eq!(found, cold, "{before}");
    }
}

#[test]
fn l2_forgets_what_was_used_least_recently() {
    let mut options = quiet();
    options.die.l2_bytes = 25_000_000;
    let read = "k s0 MatMul mb=10 b=24/0 rd=A";
    let warm = length(&format!("pf s0 p A\n{read}"), &options, "MatMul");
    let two_more = "pf s0 p A\npf s0 q B\npf s0 r C\n";
    let half = length(&format!("{two_more}{read}"), &options, "MatMul");
    let again = "pf s0 p A\npf s0 q B\nk s0 Mul mb=10 b=0/48 rd=A\npf s0 r C\n";
    let used = length(&format!("{again}{read}"), &options, "MatMul");
    options.die.l2_bytes = 0;
    let cold = length(&format!("pf s0 p A\n{read}"), &options, "MatMul");
    assert!(warm < half && half < cold, "{warm} {half} {cold}");
    assert_eq!(used, warm);
}

#[test]
fn a_stated_time_changes_by_prefetches_only() {
    let options = quiet();
    let stated = "k s0 MatMul 20 mb=10 b=24/0 rd=B";
    let after = |before: &str| length(&format!("{before}\n{stated}"), &options, "MatMul");
    let write = after("k s0 Add mb=0 b=0/48 wr=B");
    assert!(write.abs_diff(20_000_000) <= 4, "{write}");
    assert!(after("pf s0 p B") < 19_000_000);
}

#[test]
fn a_collective_takes_longer_where_hbm_is_short() {
    let options = quiet();
    let alone = "comm tp 0 1\nprogram p\nall s0 x tp 100 b=0/8\nranks 0 2 p";
    let mut alone = schedule(alone);
    let beside = "comm tp 0 1\nprogram p\nall s0 x tp 100 b=0/8\nk s1 MatMul mb=200 b=24/0\n\
                  ranks 0 2 p";
    let mut beside = schedule(beside);
    for schedule in [&mut alone, &mut beside] {
        let op = &mut schedule.programs[0].ops[0];
        let comm = op.comm.as_mut().expect("a collective");
        comm.bytes = 64_000_000_u32.into();
    }
    let end = |schedule: &Schedule, options: &Options| {
        let (timeline, _) = run(schedule, options, options);
        timeline.end[0]
    };
    assert!(end(&alone, &options).abs_diff(100_000_000) <= 4);
    assert!(end(&beside, &options) >= end(&alone, &options));
    let mut short = options.clone();
    short.die.bytes_per_s[0] *= 0.3;
    assert!(end(&beside, &short) > end(&alone, &options));
}

/// A kernel: blocks, megabytes, and the stated µs if not what the model says.
fn kernels(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    let blocks = prop::sample::select(vec![
        "24/0", "0/48", "24/48", "5/0", "0/7", "30/60", "0/100",
    ]);
    let name = prop::sample::select(vec!["MatMul", "Add", "QuantBatchMatmul", "GroupedMatmul"]);
    let mode = prop::sample::select(vec!["", "", "mode=batch"]);
    let time = prop_oneof![
        Just(String::new()),
        (1_u32..60).prop_map(|us| us.to_string())
    ];
    let kernel =
        (name, time, blocks, 0_u32..80, mode).prop_map(|(name, time, blocks, mb, mode)| {
            let batch = if blocks.starts_with("24/") || blocks.starts_with("0/4") {
                mode
            } else {
                ""
            };
            format!("{name}# {time} mb={mb} b={blocks} {batch}")
        });
    prop::collection::vec(kernel, count)
}

/// The kernels on streams of their own, or one after the other over two streams.
fn text(kernels: &[String], serial: bool) -> String {
    let mut text = String::new();
    for (index, kernel) in kernels.iter().enumerate() {
        let kernel = kernel.replace('#', &index.to_string());
        let stream = if serial { index % 2 } else { index };
        if serial && index > 0 {
            text += &format!("w s{stream} E{}\n", index - 1);
        }
        text += &format!("k s{stream} {kernel}\n");
        if serial {
            text += &format!("r s{stream} E{index}\n");
        }
    }
    text
}

/// A kernel on all cube cores that reads so many bytes.
fn work_of(name: &str, bytes: f64) -> KernelWork {
    KernelWork {
        class: KernelClass::of(name),
        format: Format::default(),
        cube_flops: 0.0,
        vector_flops: 0.0,
        bytes_read: bytes,
        l2_hit_bytes: 0.0,
        bytes_written: 0.0,
        aic_blocks: 24,
        aiv_blocks: 0,
        aic_cores: 24,
        aiv_cores: 48,
    }
}

/// What a kernel does, read from its op.
fn work(flat: &Flat<'_>, id: InstanceId) -> KernelWork {
    let OpKind::Kernel(op) = &flat[id].op.kind else {
        panic!("{} is no kernel", flat.path(id));
    };
    let cores = flat[id].op.cores.unwrap_or_default();
    let bytes = flat[id]
        .op
        .work
        .as_ref()
        .and_then(|work| work.bytes_read.clone());
    KernelWork {
        aic_blocks: cores.aic,
        aiv_blocks: cores.aiv,
        ..work_of(
            &op.name,
            bytes.and_then(|bytes| bytes.constant()).unwrap_or(0.0),
        )
    }
}

/// The stated duration of an op in ps.
fn stated(flat: &Flat<'_>, id: InstanceId) -> Option<u64> {
    let ns = flat[id].duration()?.ns.constant()?;
    Some((ns * 1e3) as u64)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn bytes_and_cores_are_conserved_and_never_exceed_the_die(list in kernels(1..9)) {
        let values = values();
        let options = quiet();
        let schedule = schedule(&text(&list, false));
        let flat = Flat::new(&schedule).expect("a valid schedule");
        let (timeline, usage) = run(&schedule, &options, &options);
        let mut moved: BTreeMap<u32, f64> = BTreeMap::new();
        let mut moments = Vec::new();
        for piece in &usage {
            let length = (piece.to - piece.from) as f64;
            *moved.entry(piece.instance).or_default() += piece.rates[0] * length;
            moments.extend([piece.from, piece.to]);
        }
        for id in flat.ids() {
            let cost = kernel(&work(&flat, id), &Reader::new(&values));
            if stated(&flat, id).is_none() {
                let bytes = cost.hbm_bytes;
                let moved = moved.get(&(id.index() as u32)).copied().unwrap_or(0.0);
                // Ends are rounded to ps, rates are below 2 bytes per ps and task.
                let close = (moved - bytes).abs() <= 64.0 + bytes * 1e-6;
                prop_assert!(close, "{}: {} of {}", flat.path(id), moved, bytes);
            }
        }
        moments.sort_unstable();
        moments.dedup();
        for moment in moments {
            let now = usage.iter().filter(|piece| piece.from <= moment && moment < piece.to);
            let (mut aic, mut aiv) = (0, 0);
            let mut rates = [0.0; 4];
            for piece in now {
                let cores = flat[InstanceId::new(piece.instance as usize)].op.cores.unwrap_or_default();
                let batch = !cores.mode.is_normal();
                let units = match (batch, cores.aic, cores.aiv) {
                    (true, _, _) => 1,
                    (_, 0, blocks) | (_, blocks, _) => blocks,
                };
                aic += piece.units * cores.aic / units.max(1);
                aiv += piece.units * cores.aiv / units.max(1);
                for (sum, rate) in rates.iter_mut().zip(&piece.rates) {
                    *sum += rate;
                }
            }
            prop_assert!(aic <= 24 && aiv <= 48, "{aic} AIC and {aiv} AIV at {moment}");
            for resource in Resource::ALL {
                let most = options.die.bytes_per_s[resource as usize] * 1e-12;
                prop_assert!(rates[resource as usize] <= most * (1.0 + 1e-9));
            }
        }
        for piece in &usage {
            let at = piece.instance as usize;
            prop_assert!(timeline.start[at] <= piece.from && piece.to <= timeline.end[at]);
        }
    }

    #[test]
    fn core_time_equals_the_work_where_bandwidth_is_free(list in kernels(1..9)) {
        let options = quiet();
        let mut free = options.clone();
        free.die.bytes_per_s = [f64::INFINITY; 4];
        let schedule = schedule(&text(&list, false));
        let flat = Flat::new(&schedule).expect("a valid schedule");
        let compiled = compile(&flat, &options).expect("complete");
        let (timeline, usage) = run(&schedule, &options, &free);
        let values = values();
        for id in flat.ids() {
            let instance = id.index() as u32;
            let cores = flat[id].op.cores.unwrap_or_default();
            let (one, all) = match (cores.mode.is_normal(), cores.aic, cores.aiv) {
                (false, _, _) => (1, 1),
                (_, 0, aiv) => (48, aiv),
                (_, aic, _) => (24, aic),
            };
            let waves = u64::from(all.div_ceil(one));
            let duration = compiled.times().get(TimeField::Duration, instance);
            let duration = duration.expect("an instance");
            let cost = kernel(&work(&flat, id), &Reader::new(&values));
            let fixed = (cost.ps - cost.body_ps).min(duration);
            let each = (duration - fixed) / waves;
            let before = fixed + (duration - fixed) % waves;
            let pieces = usage.iter().filter(|piece| piece.instance == instance);
            let first = pieces.clone().filter(|piece| piece.from == timeline.start[id.index()]);
            let first: u64 = first.map(|piece| u64::from(piece.units)).sum();
            let core_time: u64 = pieces.map(|p| u64::from(p.units) * (p.to - p.from)).sum();
            // The first units bear what comes before the work.
            prop_assert_eq!(core_time, first * before + u64::from(all) * each);
        }
    }

    #[test]
    fn alone_a_kernel_takes_what_the_model_says(list in kernels(1..2)) {
        let values = values();
        let options = quiet();
        let schedule = schedule(&text(&list, false));
        let flat = Flat::new(&schedule).expect("a valid schedule");
        let id = InstanceId::new(0);
        let found = makespan(&schedule, &options, &options);
        match stated(&flat, id) {
            Some(ps) => prop_assert!(found.abs_diff(ps) <= 4, "{} instead of {}", found, ps),
            None => {
                let cost = kernel(&work(&flat, id), &Reader::new(&values));
                // The last of several waves leaves HBM idle, which the formula spreads evenly.
                let waves = cost.waves > 1;
                let more = if waves { cost.body_ps } else { 4 };
                prop_assert!(found + 4 >= cost.ps, "{} instead of {}", found, cost.ps);
                prop_assert!(found <= cost.ps + more, "{} instead of {}", found, cost.ps);
            }
        }
    }

    #[test]
    fn more_of_anything_never_lengthens_a_chain(
        list in kernels(1..7),
        hbm in 1.0_f64..4.0,
        aic in 0_u32..20,
        aiv in 0_u32..30,
    ) {
        let options = quiet();
        let mut more = options.clone();
        more.die.bytes_per_s[0] *= hbm;
        more.die.cores[0] += aic;
        more.die.cores[1] += aiv;
        let schedule = schedule(&text(&list, true));
        let (before, after) = (
            makespan(&schedule, &options, &options),
            makespan(&schedule, &options, &more),
        );
        prop_assert!(after <= before + list.len() as u64 * 4, "{} after {}", after, before);
    }

    #[test]
    fn more_bandwidth_never_lengthens_what_starts_together(
        list in prop::collection::vec((1_u32..3, 1_u32..90), 1..8),
        hbm in 1.0_f64..4.0,
    ) {
        // Few enough blocks that no one waits for cores.
        let list: Vec<String> = list
            .iter()
            .map(|(blocks, mb)| format!("MatMul# mb={mb} b={blocks}/0"))
            .collect();
        let options = quiet();
        let mut more = options.clone();
        let mut scarce = options.clone();
        scarce.die.bytes_per_s[0] *= 0.2;
        more.die.bytes_per_s[0] *= 0.2 * hbm;
        let schedule = schedule(&text(&list, false));
        let (before, after) = (
            makespan(&schedule, &options, &scarce),
            makespan(&schedule, &options, &more),
        );
        prop_assert!(after <= before + 4, "{} after {}", after, before);
    }
}
