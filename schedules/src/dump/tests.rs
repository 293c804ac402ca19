//! What the text looks like, and that any schedule has one.

use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::builder::*;
use crate::ir::{CollectiveKind, Peer};
use crate::testing::arbitrary_schedule;

#[test]
fn a_schedule_is_readable() {
    let schedule = ScheduleBuilder::new("two streams")
        .buffer("kv", 4096)
        .communicator("tp", [vec![0, 1]])
        .program(
            "main",
            [
                kernel("gate", "MatMulV3")
                    .on("main")
                    .lasting(12_500)
                    .cores(24, 0)
                    .tag("layer", "3")
                    .tag("module", "moe.gate"),
                record("ready").on("main"),
                wait("ready").on("side"),
                collective("reduce", "tp", CollectiveKind::AllReduce, 14336).on("side"),
                group(
                    "g",
                    [
                        task(kernel("a", "Add")),
                        task(kernel("b", "Mul")).after("a"),
                    ],
                )
                .on("side"),
                notify_record_to("n", Peer::Rank(1))
                    .on("side")
                    .from_thread("worker"),
                repeat("body", 2),
                graph_launch("graph").on("main"),
            ],
        )
        .program("body", [think(50)])
        .captured(
            "graph",
            "g0",
            [kernel("line\nbreak", "Add").on("g0").batch()],
        )
        .ranks(0..2, "main")
        .external(2..3)
        .build()
        .unwrap();
    expect![[r#"
        schedule two streams (ascsim.schedule/1)

        buffers
          kv  4096 B  hbm

        streams
          main  own
          side  own
          g0    own

        events
          ready  ex

        notifies
          n

        communicators
          tp  [0 1]

        ranks
          0-1  main
          2    external

        program main, 8 ops
          #    id               thread  stream  op                                   cores   duration         tags
          0    gate             main    main    kernel MatMulV3                      24 aic  12500 ns stated  layer=3 module=moe.gate
          1    record_1         main    main    record ready
          2    wait_2           main    side    wait ready
          3    reduce           main    side    collective all_reduce on tp 14336 B
          4    g                main    side    group
          4.0  a                main            kernel Add
          4.1  b                main            kernel Mul after a
          5    notify_record_5  worker  side    notify_record n of rank 1
          6    repeat_6         main            repeat body x 2
          7    graph_launch_7   main    main    graph_launch graph

        program body, 1 op
          #  id      thread  op          duration
          0  host_0  main    host think  50 ns stated

        program graph, 1 op, captured from g0
          #  id           thread  stream  op          cores
          0  line\nbreak  main    g0      kernel Add  batch
    "#]].assert_eq(&dump(&schedule));
}

proptest! {
    /// One line for each declaration, op and task, whatever the names are.
    #[test]
    fn every_op_has_its_line(schedule in arbitrary_schedule()) {
        let text = dump(&schedule);
        prop_assert_eq!(&text, &dump(&schedule.clone()));
        let ops = schedule.programs.iter().flat_map(|program| &program.ops);
        let rows: usize = ops.map(|op| 1 + op.kind.tasks().len()).sum();
        let sections = [
            schedule.variables.len(), schedule.buffers.len(), schedule.streams.len(),
            schedule.events.len(), schedule.notifies.len(), schedule.communicators.len(),
            schedule.ranks.len(),
        ];
        let declared: usize = sections.iter().filter(|n| **n > 0).map(|n| n + 2).sum();
        let head = 1 + usize::from(!schedule.description.is_empty());
        let tables = 3 * schedule.programs.len();
        prop_assert_eq!(text.lines().count(), head + declared + tables + rows, "{}", text);
    }
}
