//! Cores held while others are waited for.

use ascsim_check::{Rule, Witness};
use ascsim_schedules::CollectiveKind::{AllReduce, AllToAll, ReduceScatter};
use ascsim_schedules::Expansion;
use ascsim_schedules::builder::*;

use super::*;

/// The case that torchair documents (facts/schedules.md D1): 48 vector cores, a ReduceScatter on 16,
/// a fused dispatch on 24 and NonZero, which needs `nonzero` at once, on three streams.
fn core_limit(nonzero: u32) -> Schedule {
    let mut dispatch = pure(kernel("dispatchCombine", "MoeDistributeDispatch")).on("moe");
    dispatch = dispatch.cores(0, 24).batch();
    dispatch.comm = Some(Box::new(comm("ep", AllToAll, 65_536)));
    ScheduleBuilder::new("core_limit")
        .declare_communicator(communicator("tp", 2, Some(Expansion::Aiv)))
        .declare_communicator(communicator("ep", 2, None))
        .program(
            "step",
            [
                aiv("reduceScatter", "tp", "tp", ReduceScatter, 16),
                dispatch,
                vector("nonZero", "main", nonzero).batch(),
            ],
        )
        .ranks(0..2, "step")
        .build()
        .expect("it is valid")
}

#[test]
fn the_documented_case_is_found_with_the_cores_held_and_wanted() {
    let report = finds(&core_limit(48), &[Rule::DeadlockCores]);
    let finding = report.of(Rule::DeadlockCores).next().expect("one");
    let Witness::Cores(claims) = &finding.witness else {
        panic!("{finding:#?}");
    };
    let mut shown: Vec<_> = claims
        .iter()
        .map(|claim| {
            (
                claim.op.op.as_str(),
                claim.op.rank,
                claim.cores,
                claim.of,
                claim.holds,
            )
        })
        .collect();
    shown.sort_unstable();
    let holds: Vec<_> = shown.iter().filter(|claim| claim.4).collect();
    assert_eq!(holds.len(), 2, "{shown:?}");
    assert!(
        shown.contains(&("reduceScatter", holds[1].1, 16, 48, true)),
        "{shown:?}"
    );
    assert!(
        shown.contains(&("dispatchCombine", holds[0].1, 24, 48, true)),
        "{shown:?}"
    );
    assert_ne!(holds[0].1, holds[1].1, "{shown:?}");
    assert!(
        shown.iter().any(|claim| claim.0 == "nonZero" && !claim.4),
        "{shown:?}"
    );
}

#[test]
fn it_is_clean_once_the_cores_fit() {
    // All three at once.
    clean(&core_limit(8));
    // NonZero fits beside the narrower of the two, which then ends on both ranks.
    clean(&core_limit(32));
    finds(&core_limit(33), &[Rule::DeadlockCores]);
}

#[test]
fn two_aiv_collectives_in_one_order_on_every_rank_are_fine() {
    let two = |streams: [&str; 2]| {
        ScheduleBuilder::new("two")
            .declare_communicator(communicator("tp", 2, Some(Expansion::Aiv)))
            .declare_communicator(communicator("dp", 2, Some(Expansion::Aiv)))
            .program(
                "step",
                [
                    aiv("one", streams[0], "tp", AllReduce, 32),
                    aiv("other", streams[1], "dp", AllReduce, 32),
                ],
            )
            .ranks(0..2, "step")
            .build()
            .expect("it is valid")
    };
    clean(&two(["main", "main"]));
    finds(
        &two(["main", "side"]),
        &[Rule::DeadlockCores, Rule::DeadlockAivCommunicators],
    );
}

#[test]
fn an_order_on_one_rank_and_none_on_the_other_is_found() {
    let rank = |order: bool| {
        let mut ops = vec![aiv("first", "main", "tp", AllReduce, 32)];
        if order {
            ops.extend(edge("e", "main", "side"));
        }
        ops.push(exchange(
            "dispatch",
            "side",
            ascsim_schedules::CollectiveKind::Dispatch,
        ));
        ops
    };
    let build = |second: bool| {
        ScheduleBuilder::new("one-sided")
            .declare_communicator(communicator("tp", 2, Some(Expansion::Aiv)))
            .declare_communicator(communicator("ep", 2, None))
            .program("zero", rank(true))
            .program("one", rank(second))
            .ranks(0..1, "zero")
            .ranks(1..2, "one")
            .build()
            .expect("it is valid")
    };
    let report = verdict(&build(false));
    assert!(
        rules(&report).contains(&Rule::DeadlockCores),
        "{:#?}",
        report.findings
    );
    runs(&build(true));
}

#[test]
fn a_kernel_behind_a_collective_counts_as_well() {
    // Rank 0 feeds a notify that rank 1 needs before its dispatch; the kernel before it may get no
    // core once rank 0 has started the dispatch.
    let zero = [
        exchange(
            "dispatch",
            "main",
            ascsim_schedules::CollectiveKind::Dispatch,
        ),
        vector("feed", "side", 8),
        notify_record_to("fed", ascsim_schedules::Peer::Rank(1)).on("side"),
    ];
    let one = [
        notify_wait("fed").on("main"),
        exchange(
            "dispatch",
            "main",
            ascsim_schedules::CollectiveKind::Dispatch,
        ),
    ];
    let build = |zero: Vec<Op>| {
        ScheduleBuilder::new("behind")
            .declare_communicator(communicator("ep", 2, None))
            .program("zero", zero)
            .program("one", one.clone())
            .ranks(0..1, "zero")
            .ranks(1..2, "one")
            .build()
            .expect("it is valid")
    };
    let report = finds(&build(zero.to_vec()), &[Rule::DeadlockCores]);
    let text = messages(&report, Rule::DeadlockCores)[0];
    assert!(text.contains("`feed`"), "{text}");
    let mut mended = vec![zero[1].clone(), zero[2].clone()];
    mended.extend(edge("e", "side", "main"));
    mended.push(zero[0].clone());
    runs(&build(mended));
}

#[test]
fn batch_kernels_of_one_die_alone_are_fine() {
    let ops = [
        vector("a", "main", 48).batch(),
        vector("b", "side", 48).batch(),
    ];
    let schedule = ScheduleBuilder::new("local")
        .program("step", ops)
        .ranks(0..2, "step");
    clean(&schedule.build().expect("it is valid"));
}

#[test]
fn more_cores_than_there_are_is_found() {
    let ops = [vector("a", "main", 49).batch(), vector("b", "main", 96)];
    let schedule = ScheduleBuilder::new("wide")
        .program("step", ops)
        .ranks(0..1, "step");
    let report = finds(
        &schedule.build().expect("it is valid"),
        &[Rule::DeadlockCores],
    );
    assert_eq!(
        messages(&report, Rule::DeadlockCores),
        ["`a` needs 49 aiv cores at once, and the die has 48"]
    );
}

#[test]
fn a_fused_moe_kernel_without_batch_mode_wants_the_die_for_itself() {
    let fused = |batch: bool| {
        let mut op = pure(kernel("fused", "DispatchFFNCombine"))
            .on("main")
            .cores(24, 48);
        op.comm = Some(Box::new(comm(
            "ep",
            ascsim_schedules::CollectiveKind::DispatchFfnCombine,
            1,
        )));
        if batch {
            op = op.batch();
        }
        ScheduleBuilder::new("fused")
            .declare_communicator(communicator("ep", 2, None))
            .program("step", [op, vector("other", "side", 8)])
            .ranks(0..2, "step")
            .build()
            .expect("it is valid")
    };
    finds(&fused(false), &[Rule::DeadlockFusedMoe]);
    clean(&fused(true));
}

#[test]
fn a_barrier_in_a_super_kernel_needs_all_its_cores() {
    let fused = |feed: bool| {
        let mut op = super_kernel(
            "sk",
            "scope",
            [
                task(vector("wide", "main", 48)),
                task(vector("sync", "main", 24).batch()),
            ],
        )
        .on("main");
        if let OpKind::SuperKernel(kernel) = &mut op.kind {
            kernel.feed_sync_all = feed;
        }
        let builder = ScheduleBuilder::new("sk").program("step", [op]);
        builder.ranks(0..1, "step").build().expect("it is valid")
    };
    finds(&fused(false), &[Rule::DeadlockSuperKernel]);
    clean(&fused(true));
}
