//! What a report says of real captures and of a made one.

use ascsim_traces::inspect::{InspectReport, StepTimes, Verdict, inspect};
use ascsim_traces::model::{Lane, Oracle, StepTrace};
use ascsim_traces::pair::Links;
use expect_test::expect;

use crate::captures::{T1_LEVEL0, T1_RANK0, T1_RANK1, T7, capture, folder};
use crate::synth::{Op, Profile, Task, ts};

/// Ours against the profiler's: 1 µs for all but free, 1 % for free.
fn check(name: &str, ours: &StepTimes, theirs: &StepTrace) {
    let step = theirs.step;
    for (what, ours, theirs, tolerance) in [
        ("computing", ours.computing_ns, theirs.computing_ns, 1_000),
        (
            "communication",
            ours.communication_ns,
            theirs.communication_ns,
            1_000,
        ),
        (
            "overlapped",
            ours.overlapped_ns,
            theirs.overlapped_ns,
            1_000,
        ),
        (
            "not overlapped",
            ours.not_overlapped_ns,
            theirs.not_overlapped_ns,
            1_000,
        ),
        (
            "free",
            ours.free_ns.expect("a timeline"),
            theirs.free_ns,
            theirs.free_ns / 100,
        ),
    ] {
        let difference = ours - theirs;
        println!("{name} step {step:?} {what}: {ours} ns, off by {difference} ns");
        assert!(
            difference.abs() <= tolerance,
            "{name} {what}: {ours} against {theirs}"
        );
    }
}

#[test]
fn step_times_are_those_of_the_profiler() {
    for (name, steps) in [(T1_RANK0, 1), (T1_RANK1, 1), (T1_LEVEL0, 1), (T7, 5)] {
        let Some(path) = folder(name) else { return };
        let report = inspect(&path).unwrap();
        assert_eq!(report.steps.len(), steps, "{name}");
        for step in &report.steps {
            let theirs = step.profiler.expect("the capture has step_trace_time.csv");
            check(name, &step.times, &theirs);
        }
    }
}

#[test]
fn the_oracle_is_never_an_input() {
    for name in [T1_RANK0, T7] {
        let Some(mut trace) = capture(name) else {
            return;
        };
        let links = Links::of(&trace);
        let with = InspectReport::of(name, &trace, &links);
        trace.oracle = Oracle::default();
        let without = InspectReport::of(name, &trace, &links);
        assert!(without.steps.iter().all(|step| step.profiler.is_none()));
        let times = |report: &InspectReport| -> Vec<StepTimes> {
            report.steps.iter().map(|step| step.times).collect()
        };
        assert_eq!(times(&with), times(&without));
    }
}

#[test]
fn t1_is_perturbed_and_t7_is_not() {
    let (Some(t1), Some(t7)) = (folder(T1_RANK0), folder(T7)) else {
        return;
    };
    let t1 = inspect(&t1).unwrap().perturbation;
    assert_eq!(t1.verdict, Verdict::Perturbed);
    // facts/traces.md section 2.6: at least 87.4 µs after every plain kernel.
    assert!(t1.queued_gaps.unwrap().min_ns >= 87_000, "{t1:?}");
    assert_eq!(inspect(&t7).unwrap().perturbation.verdict, Verdict::Clean);
}

#[test]
fn t1_span_leaves_out_switches_and_place_holders() {
    let Some(path) = folder(T1_RANK0) else { return };
    let report = inspect(&path).unwrap();
    // facts/traces.md section 2.1: 141.2 ms, with stream 0's switches 177.6 ms.
    assert_eq!(report.span.len() / 100_000, 1_411);
    let streams: Vec<_> = report
        .streams
        .iter()
        .map(|row| (row.stream, row.has_groups))
        .collect();
    assert_eq!(streams, [(2, false), (3, false), (4, true)]);
    for row in &report.streams {
        assert_eq!(
            row.busy_ns + row.waiting_ns + row.idle_ns,
            report.span.len()
        );
    }
}

#[test]
fn a_report_reads_well() {
    let mut profile = Profile::small();
    profile.l2_cache = true;
    profile.ops = vec![Op {
        name: "hcom_allReduce__1_0_1",
        connection: 900,
        start: 24_000,
        end: 40_000,
    }];
    let folder = tempfile::tempdir().unwrap();
    profile.write(folder.path());
    let trace = ascsim_traces::read(folder.path()).unwrap();
    let report = InspectReport::of("run", &trace, &Links::of(&trace));
    expect![[r#"
        run: torch_npu text
          rank 0, chip not recorded
          CANN 9.0, torch_npu not recorded
          profiler level Level1, counters not recorded
          5 tasks on 2 streams in 20.000 µs, 6 host calls

        steps (µs)
          step  window  computing  communication  overlapped  not overlapped   free  preparing
             1  30.000     19.500         16.000       5.520          10.480  0.020     10.000

        streams (µs of 20.000)
          stream  tasks    busy  waiting   idle  engines
               2      3  15.000    0.000  5.000  AIC AIV
               3      2   4.520   13.460  2.020  AIV

        engines (µs)
          engine  tasks  of collectives    busy     sum
          AIC         1               0  10.000  10.000
          AIV         2               0   9.500   9.500

        collectives (µs, waiting included)
          operation       algorithm  type  count  elements     sum
          hcom_allReduce  MESH       FP32      1        64  16.000

        links
          tasks to host calls: 5 of 5
          event waits: 1 paired, 0 guessed by order, 0 open, 0 violated; 1 blocked
          collectives: carried by 0 tasks, 1 without any

        timeline: PERTURBED
          l2_cache was on, which delays the task after every plain kernel; kernel durations and event order are good, gaps between kernels and free time are not: answers are to be given with the clean gap table too, and ranked by that
          gaps kernel to kernel: 1, least 0.020 µs, median 0.020 µs

        missing
          transfers of collectives: forbids notify links to other ranks, transfer and waiting time within collectives
            capture with profiler_level=Level1 or higher
          communication times: forbids the profiler's split of collectives into transfer and waiting
            capture with profiler_level=Level1 or higher
          chip name: forbids choosing the hardware profile by itself
            name the chip where a command asks for it; the text export never records it
    "#]].assert_eq(&report.to_string());
}

#[test]
fn a_report_as_json_names_its_format() {
    let Some(path) = folder(T1_LEVEL0) else {
        return;
    };
    let report = inspect(&path).unwrap();
    let json: serde_json::Value = serde_json::to_value(&report).unwrap();
    assert_eq!(json["format"], "ascsim.inspect/1");
    assert_eq!(json["steps"][0]["step"], 50);
    let missing: Vec<&str> = json["missing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["lane"].as_str().unwrap())
        .collect();
    assert!(
        missing.contains(&"planes") && missing.contains(&"cann"),
        "{missing:?}"
    );
    assert!(
        report
            .missing
            .iter()
            .any(|missing| missing.lane == Lane::AcceleratorCores)
    );
    // The same input gives the same bytes.
    let again = inspect(&path).unwrap();
    assert_eq!(
        serde_json::to_string(&report).unwrap(),
        serde_json::to_string(&again).unwrap()
    );
}

#[test]
fn windows_of_steps_touch_and_split_what_crosses_them() {
    let mut profile = Profile::small();
    profile.tasks.clear();
    let mut kernel = |number: u32, stream, start, end| {
        profile.tasks.push(Task {
            name: "Add",
            task_type: "AI_VECTOR_CORE",
            core: Some("AI_VECTOR_CORE"),
            stream,
            task: number,
            context: None,
            connection: u64::from(number),
            start,
            end,
        });
    };
    kernel(1, 2, 10_000, 14_000);
    // Of step 1, but runs into step 2, which begins at 20_000.
    kernel(2, 3, 18_000, 23_000);
    kernel(3, 2, 20_000, 25_000);
    kernel(4, 2, 29_000, 30_000);
    profile.steps = vec![(1, 0, 5_000), (2, 5_000, 9_000)];
    // Arrows from the markers say which step issued what.
    for (id, at, stream, start) in [
        (1, 0, 2, 10_000),
        (2, 0, 3, 18_000),
        (3, 5_000, 2, 20_000),
        (4, 5_000, 2, 29_000),
    ] {
        for (phase, pid, tid, at) in [("s", 4242, 7, at), ("f", 101, stream, start)] {
            profile.raw.push(format!(
                r#"{{"name":"torch_to_npu","ph":"{phase}","cat":"async_npu","id":{id},"pid":{pid},"tid":{tid},"ts":"{}"}}"#,
                ts(at)
            ));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    profile.write(folder.path());
    let report = inspect(folder.path()).unwrap();
    let times: Vec<_> = report
        .steps
        .iter()
        .map(|step| step.times)
        .map(|t| {
            (
                t.step,
                t.window.start,
                t.window.end,
                t.preparing_ns,
                t.computing_ns,
                t.free_ns.unwrap(),
            )
        })
        .collect();
    assert_eq!(
        times,
        [
            (Some(1), 10_000, 20_000, Some(10_000), 6_000, 4_000),
            (Some(2), 20_000, 30_000, Some(15_000), 6_000, 4_000),
        ]
    );
}

#[test]
fn long_gaps_of_queued_kernels_raise_suspicion_where_settings_are_unknown() {
    for (gap, verdict) in [(87_000, Verdict::Suspected), (20, Verdict::Unknown)] {
        let mut profile = Profile::small();
        profile.tasks = (0..30)
            .map(|number| Task {
                name: "Add",
                task_type: "AI_VECTOR_CORE",
                core: Some("AI_VECTOR_CORE"),
                stream: 2,
                task: number,
                context: None,
                connection: 201,
                start: 100_000 + i64::from(number) * (1_000 + gap),
                end: 101_000 + i64::from(number) * (1_000 + gap),
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        profile.write(folder.path());
        std::fs::remove_file(folder.path().join("profiler_info_0.json")).unwrap();
        let report = inspect(folder.path()).unwrap();
        assert_eq!(report.perturbation.verdict, verdict);
        assert_eq!(report.perturbation.queued_gaps.unwrap().min_ns, gap);
        assert!(
            report
                .missing
                .iter()
                .any(|missing| missing.lane == Lane::Settings)
        );
    }
}
