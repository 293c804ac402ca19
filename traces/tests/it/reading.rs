//! What the reader makes of a profile.

use ascsim_traces::model::{Engine, HostKind, Lane, PlaneKind, TaskKind};
use ascsim_traces::{Trace, read};

use crate::captures::{T1_LEVEL0, T1_RANK0, T1_RANK1, T7, capture, folder};
use crate::synth::{EPOCH_NS, Notify, Op, Profile, Task, ts};

fn read_back(profile: &Profile) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    profile.write(folder.path());
    read(folder.path()).unwrap()
}

#[test]
fn a_small_profile_reads_back_exactly() {
    let trace = read_back(&Profile::small());
    assert_eq!(trace.epoch_ns, EPOCH_NS);
    let rows: Vec<_> = trace
        .tasks
        .iter()
        .map(|t| {
            (
                trace.name(t.name),
                t.kind,
                t.engine,
                t.stream,
                t.span.start,
                t.span.end,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("MatMul_0", TaskKind::Kernel, Engine::Aic, 2, 10_000, 20_000),
            (
                "EVENT_WAIT",
                TaskKind::EventWait,
                Engine::None,
                3,
                12_000,
                25_460
            ),
            // AI_CORE in the timeline, a vector kernel by the kernel table.
            ("Gelu_0", TaskKind::Kernel, Engine::Aiv, 2, 20_020, 25_000),
            (
                "EVENT_RECORD",
                TaskKind::EventRecord,
                Engine::None,
                2,
                25_040,
                25_060
            ),
            ("Add_0", TaskKind::Kernel, Engine::Aiv, 3, 25_480, 30_000),
        ]
    );
    let detail = &trace.details[trace.tasks[0].detail.unwrap() as usize];
    assert_eq!(detail.block_dim, Some(24));
    assert_eq!(detail.pmu.aic_ns, Some(1_500));
    assert_eq!(
        detail.input_shapes.map(|shapes| trace.name(shapes)),
        Some("16,3;16")
    );
    assert_eq!(trace.steps.len(), 1);
    assert_eq!(
        trace
            .host
            .iter()
            .filter(|call| call.kind == HostKind::Node)
            .count(),
        3
    );
    assert_eq!(
        (trace.meta.rank, trace.meta.l2_cache),
        (Some(0), Some(false))
    );
    assert_eq!(trace.meta.cann.as_deref(), Some("9.0"));
}

#[test]
fn every_way_to_name_a_profile_gives_the_same_trace() {
    let folder = tempfile::tempdir().unwrap();
    Profile::small().write(folder.path());
    let output = folder.path().join("ASCEND_PROFILER_OUTPUT");
    let paths = [
        folder.path().to_owned(),
        output.join("trace_view.json"),
        output.join("kernel_details.csv"),
        output,
    ];
    for path in paths {
        let trace = read(&path).unwrap();
        assert_eq!(
            (trace.tasks.len(), trace.meta.rank),
            (5, Some(0)),
            "{}",
            path.display()
        );
    }
}

#[test]
fn numbers_as_time_stamps_and_boot_clocks_are_read_too() {
    let text = Profile::small().trace_view();
    // MindSpore writes numbers, and counts from boot.
    let text = text
        .replace(&ts(0)[..13], "5")
        .replace("\"ts\":\"", "\"ts\":")
        .replace("\",\"dur\"", ",\"dur\"");
    assert!(text.contains("\"ts\":5"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    Profile::small().write_with(
        folder.path(),
        text.as_bytes(),
        Profile::small().kernel_details().as_bytes(),
    );
    let trace = read(folder.path()).unwrap();
    assert_eq!(trace.epoch_ns, 5_000_000);
    assert_eq!(trace.tasks[0].span.len(), 10_000);
}

#[test]
fn a_process_named_after_its_rows_is_understood() {
    let profile = Profile::small();
    let mut rows: Vec<String> = profile.trace_view()[1..]
        .split(", ")
        .map(str::to_owned)
        .collect();
    let last = rows.len() - 1;
    rows[last].pop();
    rows.reverse();
    let text = format!("[{}]", rows.join(",\n"));
    let folder = tempfile::tempdir().unwrap();
    profile.write_with(
        folder.path(),
        text.as_bytes(),
        profile.kernel_details().as_bytes(),
    );
    let trace = read(folder.path()).unwrap();
    assert_eq!(
        trace.tasks,
        read_back(&profile)
            .tasks
            .iter()
            .map(|t| {
                let mut t = t.clone();
                let names = read_back(&profile);
                // Names are numbered by first sight, which differs here.
                t.name = trace
                    .tasks
                    .iter()
                    .find(|o| trace.name(o.name) == names.name(t.name))
                    .unwrap()
                    .name;
                t.task_type = trace
                    .tasks
                    .iter()
                    .find(|o| trace.name(o.task_type) == names.name(t.task_type))
                    .unwrap()
                    .task_type;
                t
            })
            .collect::<Vec<_>>()
    );
}

#[test]
fn ids_beyond_64_bits_are_fine_in_flows_and_flows_may_repeat() {
    let mut profile = Profile::small();
    let id = "40004068119343529983000";
    let start = format!(
        r#"{{"name":"HostToDevice","ph":"s","cat":"HostToDevice","id":"{id}","pid":100,"tid":7,"ts":"{}"}}"#,
        ts(1_000)
    );
    let end = format!(
        r#"{{"name":"HostToDevice","ph":"f","bp":"e","cat":"HostToDevice","id":"{id}","pid":101,"tid":2,"ts":"{}"}}"#,
        ts(10_000)
    );
    profile.raw = vec![end.clone(), start.clone(), start, end];
    let trace = read_back(&profile);
    let launch = trace.tasks[0].launch.unwrap();
    assert_eq!((launch.thread, launch.at), (7, 1_000));
    assert_eq!(trace.tasks[1].launch, None);
}

#[test]
fn planes_join_their_task_and_their_collective() {
    let mut profile = Profile::small();
    profile.ops = vec![Op {
        name: "hcom_allReduce__1_0_1",
        connection: 900,
        start: 40_000,
        end: 50_000,
    }];
    profile.tasks.push(Task {
        name: "Notify Wait",
        task_type: "Notify Wait",
        core: None,
        stream: 4,
        task: 9,
        context: Some(3),
        connection: 900,
        start: 41_000,
        end: 49_000,
    });
    let wait = |notify| Notify {
        is_wait: true,
        notify,
        source: 0,
        destination: 1,
        stream: 4,
        task: 9,
        context: 3,
        start: 41_000,
        end: 49_000,
    };
    profile.notifies = vec![wait(17), wait(u64::MAX)];
    let trace = read_back(&profile);
    let plane = &trace.planes[0];
    assert_eq!(
        (plane.kind, plane.notify, plane.collective),
        (PlaneKind::NotifyWait, Some(17), Some(0))
    );
    let task = &trace.tasks[plane.device_task.unwrap() as usize];
    assert_eq!((task.context, task.kind), (Some(3), TaskKind::NotifyWait));
    assert_eq!(trace.planes[1].notify, None);
    assert_eq!(
        trace.name(trace.collectives[0].group),
        "Group 0 Communication"
    );
}

fn count(trace: &Trace, engine: Engine) -> usize {
    trace
        .tasks
        .iter()
        .filter(|task| task.engine == engine)
        .count()
}

#[test]
fn t1_has_the_rows_that_its_files_have() {
    for (name, tasks) in [(T1_RANK0, 535), (T1_RANK1, 535)] {
        let Some(trace) = capture(name) else { return };
        assert_eq!(trace.tasks.len(), tasks, "{name}");
        assert_eq!(
            (trace.collectives.len(), trace.planes.len()),
            (4, 296),
            "{name}"
        );
        assert_eq!(trace.details.len(), 187, "{name}");
        assert!(
            !trace
                .notes
                .iter()
                .any(|note| note.code == "kernel-rows-unmatched")
        );
        // The kernel table's cores, not the timeline's (which says AI_CORE for all).
        assert_eq!(
            (count(&trace, Engine::Aic), count(&trace, Engine::Aiv)),
            (23, 149),
            "{name}"
        );
        assert_eq!(
            (count(&trace, Engine::MixAiv), count(&trace, Engine::Dsa)),
            (13, 2),
            "{name}"
        );
        assert!(
            trace
                .planes
                .iter()
                .all(|p| p.device_task.is_some() && p.collective.is_some())
        );
        assert!(
            trace
                .collectives
                .iter()
                .all(|op| op.times.is_some() && op.framework_op.is_some())
        );
        assert_eq!(
            trace
                .tasks
                .iter()
                .filter(|t| t.framework_op.is_some())
                .count(),
            206,
            "{name}"
        );
        assert_eq!(trace.meta.l2_cache, Some(true));
        // Not the 13 MIX kernels, which have a context each.
        let groups = trace.notes.iter().find(|note| note.code == "ffts-groups");
        assert!(groups.unwrap().text.starts_with("296 tasks"), "{groups:?}");
        assert!(!trace.lacks(Lane::Cann) && !trace.lacks(Lane::Planes));
    }
}

#[test]
fn t1_level_0_says_what_it_lacks() {
    let Some(trace) = capture(T1_LEVEL0) else {
        return;
    };
    for lane in [
        Lane::Cann,
        Lane::AcceleratorCores,
        Lane::Planes,
        Lane::CommunicationTimes,
    ] {
        assert!(trace.lacks(lane), "{lane:?}");
    }
    assert!(!trace.lacks(Lane::Steps) && !trace.lacks(Lane::KernelDetails));
    // Arrows still tell when the host issued each task.
    let launched = trace
        .tasks
        .iter()
        .filter(|task| task.launch.is_some())
        .count();
    assert!(launched > 200, "{launched}");
    assert_eq!(trace.details.len(), 187);
}

#[test]
fn t7_has_its_tasks_and_versions() {
    let Some(trace) = capture(T7) else { return };
    assert_eq!(
        (trace.tasks.len(), trace.steps.len(), trace.details.len()),
        (36, 5, 35)
    );
    assert_eq!(
        (count(&trace, Engine::Aic), count(&trace, Engine::Aiv)),
        (20, 15)
    );
    assert_eq!(trace.meta.cann.as_deref(), Some("9.1.0"));
    assert_eq!(trace.meta.l2_cache, Some(false));
    let first = trace.tasks[0].span.start + trace.epoch_ns;
    assert_eq!(first, 1_780_295_077_844_859_030);
}

#[test]
fn a_folder_of_profiles_lists_them() {
    let Some(path) = folder("ddp-910b-text") else {
        return;
    };
    let error = read(&path).unwrap_err().to_string();
    assert!(
        error.contains("level1-rank0") && error.contains("level1-rank1"),
        "{error}"
    );
}

#[test]
fn columns_are_found_by_name_whatever_the_version_calls_and_puts_between_them() {
    let profile = Profile::small();
    // CANN 9: other names, a device column, no TAB, LF.
    let table = profile
        .kernel_details()
        .replace("Step Id,", "Step Id, Device_id ,")
        .replace("\r\n1,", "\r\n1,0,")
        .replace("Block Dim,Mix Block Dim", "Block Num,Mix Block Num")
        .replace(['\t', '\r'], "");
    let folder = tempfile::tempdir().unwrap();
    profile.write_with(
        folder.path(),
        profile.trace_view().as_bytes(),
        table.as_bytes(),
    );
    let trace = read(folder.path()).unwrap();
    assert_eq!(trace.details, read_back(&profile).details);
    assert_eq!(trace.details.len(), 3);
    assert_eq!(trace.details[0].block_dim, Some(24));
}

#[test]
fn task_ids_that_wrap_around_join_by_the_nearest_start() {
    let mut profile = Profile::small();
    let mut again = profile.tasks[0].clone();
    (again.name, again.core) = ("MatMul_again", Some("AI_VECTOR_CORE"));
    (again.start, again.end) = (70_000, 80_000);
    profile.tasks.push(again);
    let trace = read_back(&profile);
    let engines: Vec<_> = trace
        .tasks
        .iter()
        .filter(|task| trace.name(task.name).starts_with("MatMul"))
        .map(|task| (trace.name(task.name), task.engine))
        .collect();
    assert_eq!(
        engines,
        [("MatMul_0", Engine::Aic), ("MatMul_again", Engine::Aiv)]
    );
}
