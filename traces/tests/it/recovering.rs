//! Schedules made of the real captures.

use ascsim_schedules::flat::{Binding, Flat};
use ascsim_schedules::{HostKind, OpKind, Schedule};
use ascsim_traces::Trace;
use ascsim_traces::recover::{LinkCounts, RecoverError, Recovered, Settings, recover};

use crate::captures::{T1_LEVEL0, T1_RANK0, T1_RANK1, T7, capture};

fn made(captures: &[&Trace], step: Option<u32>) -> Recovered {
    recover(captures, Settings { step }).expect("the captures fit together")
}

fn counts(paired: usize, guessed: usize, open: usize) -> LinkCounts {
    LinkCounts {
        paired,
        guessed,
        open,
        violated: 0,
    }
}

fn ops(schedule: &Schedule, is: fn(&OpKind) -> bool) -> usize {
    let ops = schedule.programs.iter().flat_map(|program| &program.ops);
    ops.filter(|op| is(&op.kind)).count()
}

#[test]
fn t1_is_one_program_with_its_waits_collectives_and_late_rank() {
    let Some(trace) = capture(T1_RANK0) else {
        return;
    };
    let made = made(&[&trace], Some(50));
    let summary = &made.summary;
    assert_eq!(summary.count("event"), counts(5, 5, 0));
    assert_eq!(summary.count("task to call"), counts(237, 0, 0));
    // 159 enqueue and dequeue pairs; the backward thread's start and end are guessed.
    assert_eq!(
        summary.count("hand-over between threads"),
        counts(159, 2, 0)
    );
    assert_eq!(summary.count("host synchronisation"), counts(0, 7, 0));
    assert_eq!(summary.captured, [0]);
    assert_eq!(summary.external, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(summary.seen_late, [5]);
    // 308 tasks on the FFTS+ stream, less 8 records and 4 waits.
    assert_eq!(summary.folded, 296);
    assert_eq!(
        ops(&made.schedule, |kind| matches!(kind, OpKind::Wait(_))),
        10
    );
    assert_eq!(
        ops(&made.schedule, |kind| matches!(kind, OpKind::Record(_))),
        16
    );
    // The rank that was not captured has each of them, too.
    assert_eq!(
        ops(&made.schedule, |kind| matches!(kind, OpKind::Collective(_))),
        8
    );
    // facts/traces.md section 2.1: the makespan without PROFILING_* and place holders is 141.2 ms.
    let span = made.span().expect("there are tasks");
    assert_eq!(span.len() / 100_000, 1_411);

    let flat = Flat::new(&made.schedule).expect("the schedule is valid");
    for collective in flat.collectives() {
        assert_eq!((collective.members().len(), collective.external), (2, 6));
        assert!(collective.completes());
    }
    for id in flat.ids() {
        if matches!(flat[id].op.kind, OpKind::Wait(_)) {
            let binding = flat.binding(id);
            assert!(matches!(binding, Some(Binding::Record(_))), "{binding:?}");
        }
    }
}

#[test]
fn two_ranks_are_one_schedule_on_one_clock() {
    let (Some(first), Some(second)) = (capture(T1_RANK0), capture(T1_RANK1)) else {
        return;
    };
    let made = made(&[&second, &first], Some(50));
    assert_eq!(made.summary.captured, [0, 1]);
    assert_eq!(made.summary.count("notify").paired, 32);
    let flat = Flat::new(&made.schedule).expect("the schedule is valid");
    assert_eq!(flat.collectives().len(), 4);
    assert!(
        flat.collectives()
            .iter()
            .all(|c| c.completes() && c.members().len() == 3)
    );
    // A collective ends at one time on all ranks, once the clocks are aligned.
    let ends = |rank: u32| -> Vec<i64> {
        let of = |k: u32| made.seen_of(rank, &format!("hcom_allReduce.{k}").into());
        (0..4)
            .map(|k| of(k).and_then(|seen| seen.task).map_or(0, |task| task.end))
            .collect()
    };
    assert_eq!(ends(0), ends(1));
    let alone = recover(&[&first, &first], Settings::default());
    assert_eq!(alone.err(), Some(RecoverError::SameRank(0)));
}

#[test]
fn t7_has_five_steps_alike() {
    let Some(trace) = capture(T7) else { return };
    let whole = made(&[&trace], None);
    assert_eq!(whole.summary.count("task to call"), counts(35, 0, 0));
    assert_eq!(whole.summary.count("host synchronisation"), counts(6, 0, 0));
    let ids = |step| -> Vec<String> {
        let made = made(&[&trace], Some(step));
        let ops = &made.schedule.programs[0].ops;
        let devices = ops.iter().filter(|op| op.is_device());
        devices.map(|op| op.id.to_string()).collect()
    };
    let first = ids(3);
    assert_eq!(first.len(), 7);
    for step in 4..8 {
        assert_eq!(ids(step), first, "step {step}");
    }
    let steps: Vec<_> = whole.schedule.programs[0]
        .ops
        .iter()
        .filter_map(|op| op.tags.get("step"))
        .collect();
    assert!(steps.is_sorted() && steps.first() == Some(&"3") && steps.last() == Some(&"7"));
    assert_eq!(
        recover(&[&trace], Settings { step: Some(9) }).err(),
        Some(RecoverError::NoStep {
            rank: 0,
            step: 9,
            found: vec![3, 4, 5, 6, 7]
        })
    );
}

#[test]
fn host_threads_are_chains_without_holes() {
    let Some(trace) = capture(T1_RANK0) else {
        return;
    };
    let made = made(&[&trace], Some(50));
    let (program, seen) = (&made.schedule.programs[0], &made.seen[0]);
    // What a thread does starts when what it did before was over; only what it takes from others may
    // come later.
    let mut free = std::collections::BTreeMap::new();
    for (op, seen) in program.ops.iter().zip(&seen.ops) {
        let Some(call) = seen.call else { continue };
        let before = free.get(&op.thread).copied().unwrap_or(0);
        let is_hand_over = matches!(op.kind, OpKind::Host(HostKind::Synchronise(_)));
        assert!(
            call.start == before
                || (is_hand_over && call.start >= before)
                || op
                    .issue
                    .as_ref()
                    .is_some_and(|issue| issue.ns == 0_i64.into()),
            "{}: {call:?} after {before}",
            op.id
        );
        let end = match &op.issue {
            Some(issue) => call.start + issue.ns.constant().unwrap_or(0.0) as i64,
            None => call.end,
        };
        free.insert(op.thread.clone(), end.max(before));
    }
    assert_eq!(free.len(), 3);
}

#[test]
fn without_host_rows_tasks_are_issued_at_the_start_and_the_summary_says_so() {
    let Some(trace) = capture(T1_LEVEL0) else {
        return;
    };
    let made = made(&[&trace], None);
    assert_eq!(made.summary.count("task to call").open, 26);
    let said: Vec<String> = made
        .summary
        .assumed
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(
        said.iter()
            .any(|text| text.starts_with("26 of 237 tasks of rank 0 have no host call")),
        "{said:?}"
    );
    let flat = Flat::new(&made.schedule).expect("the schedule is valid");
    // Events bind all the same.
    let waits = flat
        .ids()
        .filter(|id| matches!(flat.binding(*id), Some(Binding::Record(_))));
    assert_eq!(
        waits
            .filter(|id| matches!(flat[*id].op.kind, OpKind::Wait(_)))
            .count(),
        10
    );
}
