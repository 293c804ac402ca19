//! Links on real captures (figures of facts/traces.md section 2.1) and on made ones.

use std::collections::BTreeMap;

use ascsim_traces::model::TaskKind;
use ascsim_traces::pair::{EventLink, LinkClass, LinkReason, Links, notifies};
use ascsim_traces::{Trace, read};

use crate::captures::{T1_LEVEL0, T1_RANK0, T1_RANK1, T7, capture};
use crate::synth::{Call, Notify, Op, Profile, Task};

fn connection(trace: &Trace, task: u32) -> u64 {
    trace.tasks[task as usize].connection.unwrap()
}

/// (record connection, wait connection, gap) of the links that `keep` takes.
fn pairs(trace: &Trace, links: &Links, keep: impl Fn(&EventLink) -> bool) -> Vec<(u64, u64, i64)> {
    let kept = links.events.iter().filter(|link| keep(link));
    kept.map(|link| {
        let record = connection(trace, link.record.unwrap());
        (record, connection(trace, link.wait), link.gap_ns.unwrap())
    })
    .collect()
}

#[test]
fn t1_counts_of_events() {
    for name in [T1_RANK0, T1_RANK1] {
        let Some(trace) = capture(name) else { return };
        let mut types: BTreeMap<&str, usize> = BTreeMap::new();
        for task in trace
            .tasks
            .iter()
            .filter(|task| task.kind == TaskKind::EventRecord)
        {
            *types.entry(trace.name(task.task_type)).or_default() += 1;
        }
        assert_eq!(
            types,
            BTreeMap::from([("EVENT_RECORD_SQE", 14), ("PLACE_HOLDER_SQE", 2)])
        );
        let links = Links::of(&trace);
        assert_eq!(links.events.len(), 10, "{name}");
        assert_eq!(
            links.events.iter().filter(|link| link.blocked).count(),
            5,
            "{name}"
        );
    }
}

#[test]
fn t1_rank_0_blocking_waits_pair_with_the_second_record_after_the_collective() {
    let Some(trace) = capture(T1_RANK0) else {
        return;
    };
    let links = Links::of(&trace);
    let blocking = pairs(&trace, &links, |link| link.blocked);
    assert_eq!(
        blocking,
        [
            (1172, 1173, 440),
            (1185, 1599, 400),
            (1212, 1603, 400),
            (1265, 1607, 400),
            (1597, 1611, 400)
        ]
    );
    assert!(links.events.iter().all(|link| {
        link.class
            == if link.blocked {
                LinkClass::Paired
            } else {
                LinkClass::Guessed
            }
    }));
    let by_order = pairs(&trace, &links, |link| !link.blocked);
    let by_order: Vec<_> = by_order
        .iter()
        .map(|&(record, wait, _)| (record, wait))
        .collect();
    assert_eq!(
        by_order,
        [
            (1085, 1086),
            (1098, 1099),
            (1201, 1202),
            (1231, 1232),
            (1591, 1592)
        ]
    );
}

#[test]
fn t1_rank_1_pairs_by_the_same_rule() {
    let Some(trace) = capture(T1_RANK1) else {
        return;
    };
    let links = Links::of(&trace);
    assert_eq!(
        pairs(&trace, &links, |link| link.blocked),
        [
            (1172, 1173, 440),
            (1185, 1600, 401),
            (1213, 1604, 400),
            (1266, 1608, 380),
            (1598, 1612, 380)
        ]
    );
}

#[test]
fn t1_links_all_but_the_two_switches_to_their_call() {
    for (name, before) in [(T1_RANK0, 28), (T1_RANK1, 40)] {
        let Some(trace) = capture(name) else { return };
        let links = Links::of(&trace);
        let counts = links.host.counts(&trace);
        assert_eq!((counts.tasks, counts.linked), (535, 533), "{name}");
        assert_eq!((counts.open_work, counts.open_other), (0, 2), "{name}");
        assert_eq!((counts.before_call, counts.violated), (before, 0), "{name}");
        let microseconds = links.host.clock_offset_ns / 1000;
        assert_eq!(
            microseconds,
            if name == T1_RANK0 { 11 } else { 23 },
            "{name}"
        );
    }
}

#[test]
fn t1_level_0_pairs_its_events_by_connection_ids() {
    let Some(trace) = capture(T1_LEVEL0) else {
        return;
    };
    let links = Links::of(&trace);
    let counts = links.host.counts(&trace);
    // Arrows lead to all tasks but the 26 records and waits.
    assert_eq!((counts.tasks, counts.linked), (533, 507));
    // The model is that of the Level1 captures, and so is its schedule.
    let shape = |trace: &Trace, links: &Links| -> Vec<_> {
        let streams = links.events.iter().map(|link| {
            let record = &trace.tasks[link.record.unwrap() as usize];
            (
                record.stream,
                trace.tasks[link.wait as usize].stream,
                link.blocked,
                link.class,
            )
        });
        streams.collect()
    };
    let Some(level1) = capture(T1_RANK0) else {
        return;
    };
    assert_eq!(shape(&trace, &links), shape(&level1, &Links::of(&level1)));
}

#[test]
fn t7_links_every_kernel() {
    let Some(trace) = capture(T7) else { return };
    let counts = Links::of(&trace).host.counts(&trace);
    assert_eq!((counts.tasks, counts.linked, counts.open_work), (36, 35, 0));
}

#[test]
fn t1_notifies_pair_32_of_32_across_the_two_ranks() {
    let (Some(zero), Some(one)) = (capture(T1_RANK0), capture(T1_RANK1)) else {
        return;
    };
    let links = notifies(&[&zero, &one]);
    assert_eq!(links.count(LinkClass::Paired), 32);
    assert_eq!(links.count(LinkClass::Violated), 0);
    // 14 ids each way and rank, 8 times each; 16 of each kind pair on each rank.
    assert_eq!(
        links.count(LinkClass::Open),
        2 * (112 - 16) + 2 * (112 - 16)
    );
    for link in links
        .links
        .iter()
        .filter(|link| link.class == LinkClass::Paired)
    {
        assert_ne!(link.record.unwrap().0, link.wait.unwrap().0, "across ranks");
    }
    let [offset] = links.offsets.as_slice() else {
        panic!("{:?}", links.offsets)
    };
    assert!((-9_000..-5_000).contains(&offset.offset_ns), "{offset:?}");
    // facts/traces.md section 2.6: at least 0.6 µs both ways together.
    assert!((300..500).contains(&offset.min_latency_ns), "{offset:?}");
    let alone = notifies(&[&zero]);
    assert_eq!(
        (alone.count(LinkClass::Paired), alone.count(LinkClass::Open)),
        (0, 224)
    );
}

#[test]
fn t1_collectives_are_carried_by_their_groups() {
    let Some(trace) = capture(T1_RANK0) else {
        return;
    };
    let links = Links::of(&trace);
    let carried = links.carried.iter().filter(|op| op.is_some()).count();
    assert_eq!(carried, 296);
    assert!(
        trace.tasks.iter().zip(&links.carried).all(|(task, op)| {
            op.is_none() || (task.stream == 4 && task.kind != TaskKind::Kernel)
        })
    );
}

fn read_back(profile: &Profile) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    profile.write(folder.path());
    read(folder.path()).unwrap()
}

#[test]
fn a_wait_that_blocks_on_nothing_in_the_capture_is_open() {
    let mut profile = Profile::small();
    profile.tasks[3].end += 100_000;
    let trace = read_back(&profile);
    let link = Links::of(&trace).events[0];
    assert_eq!(
        (link.blocked, link.record, link.class, link.reason),
        (true, None, LinkClass::Open, LinkReason::NoEndMatches)
    );
}

#[test]
fn a_record_issued_after_the_wait_is_no_candidate() {
    let mut profile = Profile::small();
    // The record's call moves behind that of the wait.
    profile.calls[2].start = 4_600;
    profile.calls[2].end = 4_700;
    let trace = read_back(&profile);
    let link = Links::of(&trace).events[0];
    assert_eq!(
        (link.class, link.reason),
        (LinkClass::Open, LinkReason::NoCandidate)
    );
}

#[test]
fn a_wait_that_ends_before_the_only_record_is_violated() {
    let mut profile = Profile::small();
    profile.tasks[3].start = 12_000;
    profile.tasks[3].end = 12_020;
    let trace = read_back(&profile);
    let link = Links::of(&trace).events[0];
    assert_eq!(
        (link.class, link.reason),
        (LinkClass::Violated, LinkReason::EndsLate)
    );
}

#[test]
fn a_task_far_before_its_call_is_violated_and_sets_no_offset() {
    let mut profile = Profile::small();
    profile.calls[0].start = 10_300;
    profile.calls[0].end = 10_400;
    profile.calls[1].start = 900_000;
    profile.calls[1].end = 900_100;
    let trace = read_back(&profile);
    let links = Links::of(&trace);
    assert_eq!(links.host.clock_offset_ns, 300);
    let counts = links.host.counts(&trace);
    assert_eq!((counts.before_call, counts.violated), (2, 1));
}

/// A rank of a pair: one collective of one record to the other and one wait.
fn rank(rank: u32, clock: i64) -> Trace {
    let notify = |is_wait, notify, context, start: i64, end: i64| Notify {
        is_wait,
        notify,
        source: rank,
        destination: 1 - rank,
        stream: 4,
        task: 9,
        context,
        start: start + clock,
        end: end + clock,
    };
    let (mine, theirs) = if rank == 0 { (500, 600) } else { (600, 500) };
    let mut profile = Profile::small();
    profile.rank = rank;
    profile.ops = vec![Op {
        name: "hcom_allReduce__1_0_1",
        connection: 900,
        start: 40_000 + clock,
        end: 60_000 + clock,
    }];
    profile.notifies = vec![
        notify(false, mine, 0, 41_000, 42_000),
        notify(true, theirs, 1, 41_000, 42_500),
        notify(false, mine, 2, 51_000, 52_000),
        notify(true, theirs, 3, 51_000, 55_000),
    ];
    read_back(&profile)
}

#[test]
fn the_offset_between_clocks_is_removed_exactly() {
    for clock in [-30_000, 0, 78_000] {
        let (zero, one) = (rank(0, 0), rank(1, clock));
        let links = notifies(&[&zero, &one]);
        assert_eq!(links.offsets[0].offset_ns, clock);
        assert_eq!(links.offsets[0].min_latency_ns, 500);
        let gaps: Vec<_> = links
            .links
            .iter()
            .map(|link| link.gap_ns.unwrap())
            .collect();
        assert_eq!(gaps, [500, 3_000, 500, 3_000]);
        assert_eq!(links.count(LinkClass::Paired), 4);
    }
}

#[test]
fn a_communication_kernel_is_carrier_not_compute() {
    let mut profile = Profile::small();
    profile.ops = vec![Op {
        name: "hcom_allReduce__1_0_1",
        connection: 900,
        start: 40_000,
        end: 60_000,
    }];
    let kernel = |name, start| Task {
        name,
        task_type: "AI_VECTOR_CORE",
        core: Some("AI_VECTOR_CORE"),
        stream: 5,
        task: (start / 1_000) as u32,
        context: None,
        connection: 1_000 + start as u64,
        start,
        end: start + 100,
    };
    profile.tasks.push(kernel("AllReduceAivKernel", 41_000));
    profile.tasks.push(kernel("Add_1", 42_000));
    profile
        .tasks
        .push(kernel("AllReduceAivKernel_late", 70_000));
    let trace = read_back(&profile);
    let carried = Links::of(&trace).carried;
    let names: Vec<_> = trace
        .tasks
        .iter()
        .zip(&carried)
        .filter(|(_, op)| op.is_some())
        .map(|(task, _)| trace.name(task.name))
        .collect();
    assert_eq!(names, ["AllReduceAivKernel"]);
}

/// A profile of events only: (kind, stream, connection, start, end), issued in
/// the order of the connection ids; `collectives` are (connection, start, end)
/// on stream 4.
fn events(tasks: &[(char, u32, u64, i64, i64)], collectives: &[(u64, i64, i64)]) -> Trace {
    let mut profile = Profile {
        steps: vec![(1, 0, 1_000)],
        ..Profile::default()
    };
    let group = collectives
        .iter()
        .map(|&(id, start, end)| ('c', 4, id, start, end));
    for (kind, stream, connection, start, end) in tasks.iter().copied().chain(group) {
        let (name, task_type, call) = match kind {
            'r' => (
                "EVENT_RECORD",
                "EVENT_RECORD_SQE",
                "AscendCL@aclrtRecordEvent",
            ),
            'w' => (
                "EVENT_WAIT",
                "EVENT_WAIT_SQE",
                "AscendCL@aclrtStreamWaitEvent",
            ),
            _ => ("SDMA", "SDMA", "Node@launch"),
        };
        profile.tasks.push(Task {
            name,
            task_type,
            core: None,
            stream,
            task: connection as u32,
            context: (kind == 'c').then_some(0),
            connection,
            start,
            end,
        });
        profile.calls.push(Call {
            name: call,
            level: "acl",
            thread: 7,
            connection,
            start: connection as i64,
            end: connection as i64 + 1,
        });
    }
    profile.ops = collectives
        .iter()
        .map(|&(connection, start, end)| Op {
            name: "hcom_allReduce__1_0_1",
            connection,
            start,
            end,
        })
        .collect();
    read_back(&profile)
}

/// (record connection, wait connection, class, reason) of each wait.
fn found(trace: &Trace) -> Vec<(Option<u64>, u64, LinkClass, LinkReason)> {
    let links = Links::of(trace);
    let rows = links.events.iter().map(|link| {
        let record = link.record.map(|record| connection(trace, record));
        (
            record,
            connection(trace, link.wait),
            link.class,
            link.reason,
        )
    });
    rows.collect()
}

#[test]
fn waits_for_collectives_that_have_ended_take_their_second_records_in_order() {
    let records = [('r', 4, 11, 2_000, 2_020), ('r', 4, 12, 2_040, 2_060)];
    let later = [('r', 4, 21, 4_000, 4_020), ('r', 4, 22, 4_040, 4_060)];
    let waits = [
        ('w', 2, 30, 9_000, 9_020),
        ('w', 2, 31, 9_100, 9_120),
        ('w', 2, 32, 9_200, 9_220),
    ];
    let tasks: Vec<_> = records.into_iter().chain(later).chain(waits).collect();
    let trace = events(&tasks, &[(10, 1_000, 1_990), (20, 3_000, 3_990)]);
    use LinkClass::Guessed;
    assert_eq!(
        found(&trace),
        [
            (Some(12), 30, Guessed, LinkReason::CollectiveOrder),
            (Some(22), 31, Guessed, LinkReason::CollectiveOrder),
            // Both were waited for: the record issued last.
            (Some(22), 32, Guessed, LinkReason::IssueOrder),
        ]
    );
}

#[test]
fn a_wait_that_passed_before_the_last_record_takes_the_latest_that_fits() {
    let tasks = [
        ('r', 3, 1, 100, 120),
        ('r', 3, 2, 200, 220),
        ('r', 5, 3, 9_000, 9_020),
        ('w', 2, 4, 5_000, 5_020),
    ];
    assert_eq!(
        found(&events(&tasks, &[])),
        [(
            Some(2),
            4,
            LinkClass::Guessed,
            LinkReason::IssueOrderCorrected
        )]
    );
}

#[test]
fn a_blocking_wait_between_records_of_two_streams_is_a_guess() {
    let tasks = [
        ('r', 3, 1, 8_980, 9_000),
        ('r', 5, 2, 8_990, 9_010),
        ('w', 2, 4, 5_000, 9_400),
    ];
    assert_eq!(
        found(&events(&tasks, &[])),
        [(Some(2), 4, LinkClass::Guessed, LinkReason::EndsMatchSeveral)]
    );
}

#[test]
fn a_record_on_the_waiting_stream_is_no_candidate() {
    let tasks = [('r', 2, 1, 100, 120), ('w', 2, 4, 5_000, 5_020)];
    assert_eq!(
        found(&events(&tasks, &[])),
        [(None, 4, LinkClass::Open, LinkReason::NoCandidate)]
    );
}
