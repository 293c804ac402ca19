//! The rules of the simulator, a test or more each. Times are µs.

use ascsim_schedules::flat::Flat;
use ascsim_sim::{
    EngineModel, Gaps, HostCosts, Latencies, Options, SimulateError, TaskKind, simulate,
};
use expect_test::{Expect, expect};

use crate::notation::{print, schedule};

const US: u64 = 1_000_000;

fn check_with(options: &Options, text: &str, expect: Expect) {
    let schedule = schedule(text);
    let flat = Flat::new(&schedule).expect("a valid schedule");
    let result = simulate(&flat, options).map(|simulation| print(&flat, simulation.timeline()));
    let lines = |error: SimulateError| {
        let text = error.to_string().replace(", which", ",\nwhich");
        text.replace("; ", ";\n") + "\n"
    };
    expect.assert_eq(&result.unwrap_or_else(lines));
}

fn check(text: &str, expect: Expect) {
    check_with(&Options::default(), text, expect);
}

fn exclusive() -> Options {
    Options {
        engines: EngineModel::Exclusive,
        ..Options::default()
    }
}

// Rule 1.

#[test]
fn a_stream_is_a_fifo() {
    check(
        "k s0 a 3 c\nk s0 b 4 v\nk s1 c 5 v",
        expect![[r#"
        a 0..3
        b 3..7
        c 0..5
    "#]],
    );
}

#[test]
fn gaps_depend_on_both_kinds() {
    let mut gaps = Gaps::uniform(US);
    gaps.set(TaskKind::Aic, TaskKind::Aiv, 2 * US);
    let options = Options {
        gaps,
        ..Options::default()
    };
    check_with(
        &options,
        "k s0 a 3 c\nk s0 b 3 v\nk s0 c 3 c\nk s0 d 3 c",
        expect![[r#"
            a 0..3
            b 5..8
            c 9..12
            d 13..16
        "#]],
    );
}

// Rule 2.

#[test]
fn a_task_waits_for_its_issue_and_the_way_to_the_device() {
    let latencies = Latencies {
        launch: 2 * US,
        ..Latencies::default()
    };
    let options = Options {
        latencies,
        ..Options::default()
    };
    check_with(
        &options,
        "k s0 a 1 i=5\nk s0 b 9 i=5\nk s1 c 1 i=1",
        expect![[r#"
            a 7..8
            b 12..21
            c 13..14
        "#]],
    );
}

#[test]
fn a_delay_comes_on_top() {
    check(
        "k s0 a 3\nk s0 b 2 d=4",
        expect![[r#"
        a 0..3
        b 7..9
    "#]],
    );
}

// Rule 3.

#[test]
fn a_wait_ends_its_latency_after_the_record_it_is_bound_to() {
    let latencies = Latencies {
        event: US,
        ..Latencies::default()
    };
    let options = Options {
        latencies,
        ..Options::default()
    };
    check_with(
        &options,
        "k s0 a 3\nr s0 E\nk s0 b 9\nr s0 E\nw s1 E\nk s1 c 1",
        expect![[r#"
            a 0..3
            r-E#3 3..3
            b 3..12
            r-E#7 12..12
            w-E#9 0..13
            c 13..14
        "#]],
    );
    check_with(
        &options,
        "k s0 a 3\nr s0 E\nw s1 E\nk s1 c 1\nk s0 b 9\nr s0 E",
        expect![[r#"
            a 0..3
            r-E#3 3..3
            w-E#5 0..4
            c 4..5
            b 3..12
            r-E#11 12..12
        "#]],
    );
}

#[test]
fn an_ex_wait_before_any_record_does_nothing() {
    check(
        "w s1 E\nk s1 b 1\nk s0 a 3\nr s0 E",
        expect![[r#"
        w-E#1 0..0 not queued
        b 0..1
        a 0..3
        r-E#7 3..3
    "#]],
    );
}

#[test]
fn a_wait_for_a_finished_record_is_not_queued() {
    let options = Options {
        latencies: Latencies {
            event: US,
            ..Latencies::default()
        },
        gaps: Gaps::uniform(US),
        ..Options::default()
    };
    let rest = "w s1 E\nk s1 b 1";
    check_with(
        &options,
        &format!("r s0 E\nk s1 a 4\nhost h 9\n{rest}"),
        expect![[r#"
            r-E#1 0..0
            a 0..4
            h 0..9
            w-E#7 9..9 not queued
            b 9..10
        "#]],
    );
    check_with(
        &options,
        &format!("r s0 E i=1\nk s1 a 4\n{rest}"),
        expect![[r#"
            r-E#1 1..1
            a 1..5
            w-E#5 5..5 not queued
            b 6..7
        "#]],
    );
}

#[test]
fn a_flag_stays_set_until_it_is_reset() {
    let records = "k s0 a 3\nr s0 F\nk s0 b 4\nr s0 F";
    check(
        &format!("w s1 F\nk s1 c 1\nw s1 F\nk s1 d 1\n{records}"),
        expect![[r#"
            w-F#1 0..3
            c 3..4
            w-F#5 4..4
            d 4..5
            a 0..3
            r-F#11 3..3
            b 3..7
            r-F#15 7..7
        "#]],
    );
    check(
        &format!("w s1 F\nx s1 F\nk s1 c 1\nw s1 F\nk s1 d 1\n{records}"),
        expect![[r#"
            w-F#1 0..3
            x-F#3 3..3
            c 3..4
            w-F#7 4..7
            d 7..8
            a 0..3
            r-F#13 3..3
            b 3..7
            r-F#17 7..7
        "#]],
    );
}

#[test]
fn a_notify_is_taken_by_one_wait() {
    check(
        "nw s1 N\nk s1 c 1\nnw s2 N\nk s2 d 1\nk s0 a 3\nnr s0 N\nk s0 b 4\nnr s0 N",
        expect![[r#"
            nw-N#1 0..3
            c 3..4
            nw-N#5 0..7
            d 7..8
            a 0..3
            nr-N#11 3..3
            b 3..7
            nr-N#15 7..7
        "#]],
    );
}

#[test]
fn a_notify_crosses_ranks() {
    check(
        "program p\nk s0 a 3\nnr s0 N peer=1\nprogram q\nnw s0 N\nk s0 b 1\n\
         ranks 0 1 p\nranks 1 1 q",
        expect![[r#"
            0 a 0..3
            0 nr-N#3 3..3
            1 nw-N#3 0..3
            1 b 3..4
        "#]],
    );
}

#[test]
fn a_value_wait_passes_while_its_condition_holds() {
    check(
        "vv s1 B 2\nk s1 c 1\nk s0 a 3\nvw s0 B 1\nk s0 b 4\nvw s0 B 2",
        expect![[r#"
            vv-B#1 0..7
            c 7..8
            a 0..3
            vw-B#7 3..3
            b 3..7
            vw-B#11 7..7
        "#]],
    );
}

// Rule 4.

#[test]
fn the_lowest_issue_index_that_fits_takes_a_free_engine() {
    let text = "k s0 a 5 c\nk s1 b 5 m\nk s2 c 5 v\nk s3 d 5 v\nk s4 e 5 c";
    check_with(
        &exclusive(),
        text,
        expect![[r#"
        a 0..5
        b 5..10
        c 0..5
        d 10..15
        e 10..15
    "#]],
    );
    check(
        text,
        expect![[r#"
        a 0..5
        b 0..5
        c 0..5
        d 0..5
        e 0..5
    "#]],
    );
}

// Rule 5.

#[test]
fn a_collective_ends_everywhere_after_its_last_member_started() {
    let text = "comm tp 0 1\nprogram p\nk s0 a 3\nall s0 x tp 5 v\nk s0 b 1\n\
                program q\nk s0 a 7\nall s0 x tp 4 v\nk s0 b 1\nranks 0 1 p\nranks 1 1 q";
    check(
        text,
        expect![[r#"
        0 a 0..3
        0 x 3..12
        0 b 12..13
        1 a 0..7
        1 x 7..12
        1 b 12..13
    "#]],
    );
}

#[test]
fn a_collective_holds_its_engine_while_it_waits() {
    let text = "comm tp 0 1\nprogram p\nall s0 x tp 5 v\nk s1 v 1 v\nk s1 c 1 c\n\
                program q\nk s0 a 7\nall s0 x tp 5 v\nranks 0 1 p\nranks 1 1 q";
    check_with(
        &exclusive(),
        text,
        expect![[r#"
        0 x 0..12
        0 v 12..13
        0 c 13..14
        1 a 0..7
        1 x 7..12
    "#]],
    );
}

#[test]
fn external_members_do_not_delay() {
    check(
        "comm tp 0 1\nprogram p\nk s0 a 3\nall s0 x tp 5 v\nranks 0 1 p\nexternal 1 1",
        expect![[r#"
            a 0..3
            x 3..8
        "#]],
    );
}

// Rule 6.

#[test]
fn calls_of_a_thread_follow_one_another() {
    let options = Options {
        host: HostCosts {
            launch: 2 * US,
            signal: US,
            ..HostCosts::default()
        },
        ..Options::default()
    };
    check_with(
        &options,
        "k s0 a 1\nr s0 E\nhost h 4\nk s0 b 1\nk s1 c 1 t=other",
        expect![[r#"
            a 2..3
            r-E#3 3..3
            h 3..7
            b 9..10
            c 2..3
        "#]],
    );
}

#[test]
fn a_graph_launch_costs_the_host_once() {
    let options = Options {
        host: HostCosts {
            launch: 2 * US,
            signal: US,
            graph: 3 * US,
            ..HostCosts::default()
        },
        ..Options::default()
    };
    check_with(
        &options,
        "program p\nlaunch s0 g\nk s0 last 1\nprogram g capture s0\nk s0 a 1\nr s0 E\nw s1 E\n\
         k s1 b 5\nr s1 E1\nk s0 c 2\nw s0 E1\nranks 0 1 p",
        expect![[r#"
            g#1 3..9
            g#1/a 3..4
            g#1/r-E#5 4..4
            g#1/w-E#7 3..4
            g#1/b 4..9
            g#1/r-E1#11 9..9
            g#1/c 4..6
            g#1/w-E1#15 6..9
            last 9..10
        "#]],
    );
}

#[test]
fn synchronisations_and_blocking_copies_hold_the_thread() {
    check(
        "k s0 a 3\nk s1 b 5\nsync s0\nk s0 c 1 i=1\nsync-device\nk s0 d 1",
        expect![[r#"
            a 0..3
            b 0..5
            sync-s0#5 0..3
            c 4..5
            sync#9 4..5
            d 5..6
        "#]],
    );
    check(
        "k s0 a 3\nr s0 E\nk s0 b 4\nsync-event E\nk s1 c 1",
        expect![[r#"
            a 0..3
            r-E#3 3..3
            b 3..7
            sync-E#7 0..3
            c 3..4
        "#]],
    );
    check(
        "k s0 a 3\nc s0 copy 2 block\nk s1 c 1",
        expect![[r#"
        a 0..3
        copy 3..5
        c 5..6
    "#]],
    );
}

#[test]
fn a_full_queue_holds_the_call() {
    let mut options = Options::default();
    options.limits.queue_tasks = 2;
    check_with(
        &options,
        "k s0 a 3\nk s0 b 3\nk s0 c 3\nk s1 d 1",
        expect![[r#"
            a 0..3
            b 3..6
            c 6..9
            d 3..4
        "#]],
    );
}

#[test]
fn threads_take_turns_on_a_stream() {
    check(
        "host h 5 t=other\nk s0 a 1 t=other\nk s0 b 1\nk s1 c 1",
        expect![[r#"
            h 0..5
            a 5..6
            b 6..7
            c 5..6
        "#]],
    );
}

// Rule 7.

#[test]
fn parts_of_a_group_run_side_by_side() {
    check(
        "group s0 g\nk - a 3\nk - b 4\nk - c 1 after=a\nend\nk s0 next 1",
        expect![[r#"
            g 0..4
            g/a 0..3
            g/b 0..4
            g/c 3..4
            next 4..5
        "#]],
    );
}

#[test]
fn parts_of_a_super_kernel_run_back_to_back() {
    let options = Options {
        gaps: {
            let mut gaps = Gaps::uniform(US);
            gaps.set(TaskKind::Part, TaskKind::Part, 0);
            gaps
        },
        ..exclusive()
    };
    let parts = "k s0 a 3 c\nk s1 b 4 v\nk s0 c 1 c\nend\nk s0 next 1\nk s2 other 1 v";
    check_with(
        &options,
        &format!("super s0 u\n{parts}"),
        expect![[r#"
        u 0..8
        u/a 0..3
        u/b 3..7
        u/c 7..8
        next 9..10
        other 8..9
    "#]],
    );
    check_with(
        &options,
        &format!("super s0 u fusion\n{parts}"),
        expect![[r#"
            u 0..4
            u/a 0..3
            u/b 0..4
            u/c 3..4
            next 5..6
            other 4..5
        "#]],
    );
}

#[test]
fn a_whole_with_the_only_duration_runs_as_one() {
    check(
        "super s0 u\nk s0 a c\nk s0 b v\nend us=7\nk s0 next 1",
        expect![[r#"
            u 0..7
            next 7..8
        "#]],
    );
}

#[test]
fn a_whole_whose_parts_have_durations_takes_theirs() {
    check(
        "super s0 u\nk s0 a 2 c\nk s0 b 3 v\nend us=7\nk s0 next 1",
        expect![[r#"
            u 0..5
            u/a 0..2
            u/b 2..5
            next 5..6
        "#]],
    );
}

// Rule 8.

#[test]
fn launches_of_one_graph_do_not_overlap() {
    check(
        "program p\nlaunch s0 g\nlaunch s1 g\nprogram g capture s0\nk s0 a 5\nranks 0 1 p",
        expect![[r#"
            g#1 0..5
            g#1/a 0..5
            g#3 5..10
            g#3/a 5..10
        "#]],
    );
}

#[test]
fn repeats_are_unrolled() {
    check(
        "program p\nrepeat q 3\nprogram q\nk s0 a 2\nranks 0 1 p",
        expect![[r#"
            q#1[0]/a 0..2
            q#1[1]/a 2..4
            q#1[2]/a 4..6
        "#]],
    );
}

// Rule 9.

#[test]
fn a_cycle_of_events_is_a_deadlock() {
    check(
        "w s0 F0\nr s0 F1\nw s1 F1\nr s1 F0",
        expect![[r#"
        deadlock with 4 op instances unfinished: `w-F0#1` on rank 0 waits for the event of `r-F0#7` on rank 0,
        which waits on its stream behind `w-F1#5` on rank 0,
        which waits for the event of `r-F1#3` on rank 0,
        which waits on its stream behind `w-F0#1` on rank 0: a cycle
    "#]],
    );
}

#[test]
fn a_host_that_waits_for_what_it_has_not_issued_is_a_deadlock() {
    check(
        "nw s0 N\nsync s0\nnr s1 N",
        expect![[r#"
        deadlock with 3 op instances unfinished: `nw-N#1` on rank 0 waits for the notify of `nr-N#5` on rank 0,
        which waits to be issued by the call of `nr-N#5` on rank 0,
        which waits on its thread behind the call of `sync-s0#3` on rank 0,
        which waits on the host for `nw-N#1` on rank 0: a cycle
    "#]],
    );
}

#[test]
fn a_queue_full_behind_a_wait_is_a_deadlock() {
    let mut options = Options::default();
    options.limits.queue_tasks = 2;
    check_with(
        &options,
        "nw s0 N\nk s0 a 1\nk s0 b 1\nnr s1 N",
        expect![[r#"
            deadlock with 4 op instances unfinished: `nw-N#1` on rank 0 waits for the notify of `nr-N#7` on rank 0,
            which waits to be issued by the call of `nr-N#7` on rank 0,
            which waits on its thread behind the call of `b` on rank 0,
            which waits for room in the queue that is taken by `nw-N#1` on rank 0: a cycle
        "#]],
    );
}

#[test]
fn collectives_that_hold_what_the_other_needs_are_a_deadlock() {
    let text = "comm tp 0 1\ncomm ep 0 1\n\
                program p\nall s0 x tp 5 v\nall s1 y ep 5 v\n\
                program q\nk s0 a 1 c\nall s0 x tp 5 v\nall s1 y ep 5 v\nranks 0 1 p\nranks 1 1 q";
    check(
        text,
        expect![[r#"
        0 x 0..6
        0 y 0..5
        1 a 0..1
        1 x 1..6
        1 y 0..5
    "#]],
    );
    check_with(
        &exclusive(),
        text,
        expect![[r#"
        deadlock with 4 op instances unfinished: `x` on rank 0 waits in its collective for `x` on rank 1,
        which waits for cores held by `y` on rank 1,
        which waits in its collective for `y` on rank 0,
        which waits for cores held by `x` on rank 0: a cycle;
        AIV of rank 0 held by `x`;
        AIV of rank 1 held by `y`
    "#]],
    );
}

#[test]
fn a_missing_member_is_a_deadlock() {
    check(
        "comm tp 0 1\nprogram p\nall s0 x tp 5 v\nprogram q\nk s0 a 1\nranks 0 1 p\nranks 1 1 q",
        expect![[r#"
            deadlock with 1 op instances unfinished: `x` on rank 0 waits in its collective for [1], ranks that never issue it
        "#]],
    );
}

#[test]
fn a_signal_that_nobody_sends_is_a_deadlock() {
    check(
        "nw s0 N\nk s0 a 1",
        expect![[r#"
        deadlock with 2 op instances unfinished: `nw-N#1` on rank 0 waits for a signal that nothing left gives
    "#]],
    );
}

#[test]
fn a_host_function_that_calls_acl_hangs() {
    check(
        "fn s0 f 1 acl\nsync s0",
        expect![[r#"
        deadlock with 2 op instances unfinished: `f` on rank 0 hangs, because its host function calls ACL
    "#]],
    );
}

#[test]
fn a_cycle_is_named_before_a_wait_that_merely_hangs() {
    check(
        "nw s0 N\nk s0 a 1\nw s1 F0\nr s1 F1\nw s2 F1\nr s2 F0",
        expect![[r#"
            deadlock with 6 op instances unfinished: `w-F0#5` on rank 0 waits for the event of `r-F0#11` on rank 0,
            which waits on its stream behind `w-F1#9` on rank 0,
            which waits for the event of `r-F1#7` on rank 0,
            which waits on its stream behind `w-F0#5` on rank 0: a cycle
        "#]],
    );
}
