//! Every format of capture, on the real ones.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ascsim_traces::inspect::{InspectReport, inspect};
use ascsim_traces::model::{Engine, Lane, PlaneKind, TaskKind};
use ascsim_traces::pair::{LinkClass, Links, notifies};
use ascsim_traces::{Trace, TraceError, read, read_all};

use crate::captures::{T1_RANK0, T2, T2_CLEAN, T4, T7, T9, capture, folder};
use crate::synth::{EPOCH_NS, Profile};

fn kinds(trace: &Trace) -> BTreeMap<TaskKind, usize> {
    let mut kinds = BTreeMap::new();
    for task in &trace.tasks {
        *kinds.entry(task.kind).or_default() += 1;
    }
    kinds
}

fn engines(trace: &Trace) -> BTreeMap<Engine, usize> {
    let kernels = trace
        .tasks
        .iter()
        .filter(|task| task.kind == TaskKind::Kernel);
    let mut engines = BTreeMap::new();
    for task in kernels {
        *engines.entry(task.engine).or_default() += 1;
    }
    engines
}

/// Where each capture lies, and whether it is one.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.push(path.clone());
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn every_path_among_the_captures_is_read_or_refused_with_a_reason() {
    let Some(root) = folder(".") else { return };
    let mut paths = Vec::new();
    files(&root, &mut paths);
    let (mut traces, mut refused) = (0, 0);
    for path in &paths {
        match read_all(path) {
            Ok(found) => {
                traces += found.len();
                for trace in &found {
                    assert!(!trace.tasks.is_empty(), "{}", path.display());
                    let report = InspectReport::of("x", trace, &Links::of(trace));
                    assert!(!report.to_string().is_empty());
                }
            }
            Err(error) => {
                refused += 1;
                let name = path.file_name().unwrap().to_str().unwrap();
                assert!(error.to_string().contains(name) || path.is_dir(), "{error}");
            }
        }
    }
    println!(
        "{} paths: {traces} traces read, {refused} refused",
        paths.len()
    );
    assert!(traces > 40 && refused > 10);
}

#[test]
fn a_capture_without_device_tasks_says_so() {
    let Some(root) = folder("torchair-eager-910b") else {
        return;
    };
    let error = read(&root.join("npugraph_ex_prof.json")).unwrap_err();
    assert!(matches!(error, TraceError::NoDeviceTask { .. }), "{error}");
    let trace = read(&root.join("eager_prof.json")).unwrap();
    assert_eq!(trace.tasks.len(), 3);
    assert_eq!(trace.meta.source, "timeline");
    // Two captures in one folder.
    let error = read(&root).unwrap_err();
    assert!(
        matches!(error, TraceError::SeveralProfiles { .. }),
        "{error}"
    );
}

#[test]
fn t2_has_the_task_kinds_of_t1_and_its_pairing() {
    let Some(t1) = capture(T1_RANK0) else { return };
    let shape = |trace: &Trace| -> Vec<_> {
        let links = Links::of(trace);
        let events = links.events.iter().map(|link| {
            let record = link
                .record
                .map(|record| trace.tasks[record as usize].stream);
            let wait = trace.tasks[link.wait as usize].stream;
            (record, wait, link.blocked, link.class)
        });
        events.collect()
    };
    for name in [T2, T2_CLEAN] {
        let Some(t2) = capture(name) else { return };
        println!("{name}: {:?}", kinds(&t2));
        assert_eq!(kinds(&t2), kinds(&t1), "{name}");
        assert_eq!(engines(&t2), engines(&t1), "{name}");
        assert_eq!(shape(&t2), shape(&t1), "{name}");
        // Parents of FFTS+ groups are left out: 552 rows, 535 tasks.
        assert_eq!(t2.tasks.len(), 535);
        assert_eq!((t2.collectives.len(), t2.planes.len()), (4, 296));
        assert_eq!(t2.details.len(), 187);
        assert_eq!(
            (t2.meta.rank, t2.meta.core_mhz),
            (Some(0), Some((1800, 1800)))
        );
        assert_eq!(t2.meta.source, "torch_npu database");
        assert!(
            t2.notes
                .iter()
                .all(|note| note.code != "kernel-rows-unmatched")
        );
        // The same model: the same kernels in the same order on each stream.
        let kernels = |trace: &Trace| {
            let mut kernels: BTreeMap<u32, Vec<String>> = BTreeMap::new();
            for task in trace.tasks.iter().filter(|task| task.detail.is_some()) {
                let name = trace.name(task.name).to_owned();
                kernels.entry(task.stream).or_default().push(name);
            }
            kernels
        };
        assert_eq!(kernels(&t2), kernels(&t1), "{name}");
    }
}

#[test]
fn t2_rows_are_joined_as_those_of_the_text_export_are() {
    let (Some(t1), Some(t2)) = (capture(T1_RANK0), capture(T2_CLEAN)) else {
        return;
    };
    for trace in [&t1, &t2] {
        assert!(
            trace
                .planes
                .iter()
                .all(|p| p.device_task.is_some() && p.collective.is_some())
        );
        assert!(trace.collectives.iter().all(|op| op.framework_op.is_some()));
        assert!(trace.collectives.iter().all(|op| op.group_id.is_some()));
        assert_eq!(
            trace.name(trace.collectives[0].group),
            "Group 0 Communication"
        );
        assert_eq!(trace.steps.len(), 1);
        let plane = |kind| trace.planes.iter().filter(|p| p.kind == kind).count();
        assert_eq!(plane(PlaneKind::NotifyRecord), 112);
        assert!(trace.planes.iter().filter(|p| p.notify.is_some()).count() == 224);
    }
    let linked = |trace: &Trace| {
        trace
            .tasks
            .iter()
            .filter(|t| t.framework_op.is_some())
            .count()
    };
    println!(
        "tasks with a framework op: {} in text, {} in the database",
        linked(&t1),
        linked(&t2)
    );
    let counts = Links::of(&t2).host.counts(&t2);
    println!("database: {counts:?}");
    assert_eq!(
        (counts.tasks, counts.linked, counts.violated),
        (535, 533, 0)
    );
    // Units: a vector kernel's time on its cores is at most its duration, but
    // for the counters' clock, which is up to 0.7 % off.
    for task in t2.tasks.iter().filter(|task| task.engine == Engine::Aiv) {
        let detail = &t2.details[task.detail.unwrap() as usize];
        let on_cores = detail.pmu.aiv_ns.unwrap();
        let duration = task.span.len();
        assert!(
            0 < on_cores && on_cores <= duration + duration / 100,
            "{task:?}"
        );
        assert!(detail.block_dim.is_some());
    }
}

#[test]
fn t7_has_the_same_tasks_in_both_views() {
    let Some(path) = folder(T7) else { return };
    let torch = read(&path.join("ASCEND_PROFILER_OUTPUT")).unwrap();
    let msprof = read(&path.join("mindstudio_profiler_output")).unwrap();
    assert_eq!(msprof.meta.source, "msprof text");
    let rows = |trace: &Trace| -> Vec<_> {
        let tasks = trace.tasks.iter().map(|task| {
            let name = trace.name(task.name).to_owned();
            let start = trace.epoch_ns + task.span.start;
            (
                start,
                task.span.len(),
                name,
                task.kind,
                task.engine,
                task.stream,
                task.task,
            )
        });
        tasks.collect()
    };
    assert_eq!(rows(&torch).len(), 36);
    assert_eq!(rows(&torch), rows(&msprof));
    let blocks = |trace: &Trace| -> Vec<_> {
        trace
            .details
            .iter()
            .map(|detail| (detail.block_dim, detail.pmu))
            .collect()
    };
    assert_eq!(blocks(&torch), blocks(&msprof));
    assert!(msprof.lacks(Lane::Framework) && !msprof.lacks(Lane::Cann));
}

#[test]
fn t8_is_one_kernel_and_the_switches_around_it() {
    let Some(trace) = capture("matmul-910b3") else {
        return;
    };
    assert_eq!(
        kinds(&trace),
        BTreeMap::from([
            (TaskKind::Kernel, 1),
            (TaskKind::PlaceHolder, 1),
            (TaskKind::Profiling, 2)
        ])
    );
    // A connection id of 2^64 - 1 is none.
    let holder = trace
        .tasks
        .iter()
        .find(|task| task.kind == TaskKind::PlaceHolder);
    assert_eq!(holder.unwrap().connection, None);
    assert_eq!(trace.work_span().unwrap().len(), 7_840);
    assert_eq!(engines(&trace), BTreeMap::from([(Engine::Aic, 1)]));
}

#[test]
fn t4_agrees_with_its_step_times_and_does_not_know_free_time() {
    let Some(path) = folder(T4) else { return };
    let report = inspect(&path).unwrap();
    let [step] = report.steps.as_slice() else {
        panic!("{:?}", report.steps)
    };
    let theirs = step.profiler.expect("the capture has step_trace_time.csv");
    for (what, ours, theirs) in [
        ("computing", step.times.computing_ns, theirs.computing_ns),
        (
            "communication",
            step.times.communication_ns,
            theirs.communication_ns,
        ),
        ("overlapped", step.times.overlapped_ns, theirs.overlapped_ns),
    ] {
        println!("T4 {what}: {ours} ns, off by {} ns", ours - theirs);
        assert!(
            (ours - theirs).abs() <= 1_000,
            "{what}: {ours} against {theirs}"
        );
    }
    assert_eq!(step.times.free_ns, None);
    assert!(report.to_string().contains("unknown"));
    assert!(
        report
            .missing
            .iter()
            .any(|missing| missing.lane == Lane::Timeline)
    );
    let trace = read(&path).unwrap();
    assert_eq!((trace.tasks.len(), trace.collectives.len()), (2448, 15));
    assert_eq!(trace.meta.l2_cache, Some(false));
}

#[test]
fn t9_is_one_capture_of_five_iterations() {
    let Some(path) = folder(T9) else { return };
    let trace = read(&path).unwrap();
    println!("T9: {:?}", kinds(&trace));
    assert_eq!(trace.tasks.len(), 5 * 490);
    let numbers: Vec<u32> = trace.steps.iter().map(|step| step.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let count = |kind| trace.tasks.iter().filter(|task| task.kind == kind).count();
    assert_eq!(
        (count(TaskKind::EventRecord), count(TaskKind::EventWait)),
        (20, 20)
    );
    // HCCL rows lie in msprof_*.json and in hccl_*.json: once is enough.
    assert_eq!(trace.planes.len() + trace.collectives.len(), 5 * 338);
    assert!(
        trace
            .planes
            .iter()
            .all(|p| p.device_task.is_some() && p.collective.is_some())
    );
    assert!(trace.planes.iter().all(|plane| plane.notify.is_none()));
    assert_eq!(notifies(&[&trace]).count(LinkClass::Paired), 0);
    assert_eq!(trace.meta.rank, Some(0));
    // 20 ms apart and more in steps of the capture; cube times within durations.
    for task in trace
        .tasks
        .iter()
        .filter(|task| task.kind == TaskKind::Kernel)
    {
        let detail = &trace.details[task.detail.unwrap() as usize];
        assert!(detail.step.is_some());
        if task.engine == Engine::AiCore {
            assert!(detail.pmu.aic_ns.unwrap() <= task.span.len(), "{task:?}");
        }
    }
    // facts/traces.md section 2.6.
    for number in 1..=5 {
        let of_step = trace.tasks.iter().filter(|task| {
            let detail = task.detail.and_then(|d| trace.details.get(d as usize));
            task.engine == Engine::AiCore && detail.is_some_and(|d| d.step == Some(number))
        });
        let sum: i64 = of_step.map(|task| task.span.len()).sum();
        println!("T9 iteration {number}: AI_CORE {sum} ns");
        assert!((5_911_000..=5_953_000).contains(&sum), "{sum}");
    }
    // One iteration by its file.
    let third = read(&path.join("msprof_0_2_3.json")).unwrap();
    assert_eq!((third.tasks.len(), third.steps[0].number), (490, 3));
    let report = inspect(&path).unwrap();
    assert_eq!(report.steps.len(), 5);
}

#[test]
fn t9_without_its_whole_timelines_is_read_from_their_parts() {
    let Some(path) = folder(T9) else { return };
    let copy = tempfile::tempdir().unwrap();
    for name in [
        "hccl_0_2_1.json",
        "task_time_0_2_1.json",
        "step_trace_0_2_1.json",
    ] {
        fs::copy(path.join(name), copy.path().join(name)).unwrap();
    }
    let parts = read(copy.path()).unwrap();
    let whole = read(&path.join("msprof_0_2_1.json")).unwrap();
    assert_eq!(parts.tasks.len(), whole.tasks.len());
    assert_eq!(parts.planes.len(), whole.planes.len());
    assert_eq!(kinds(&parts), kinds(&whole));
}

#[test]
fn t13_is_read_from_its_two_tables() {
    let Some(path) = folder("parser-fixtures") else {
        return;
    };
    let trace = read(&path).unwrap();
    let rows: Vec<_> = trace
        .tasks
        .iter()
        .map(|t| (t.kind, t.engine, t.span.len()))
        .collect();
    // The envelope of task_time is 2.6 µs longer; op_summary's is the kernel.
    assert_eq!(
        rows,
        [
            (TaskKind::Profiling, Engine::None, 20),
            (TaskKind::Kernel, Engine::MixAic, 42_399_120),
            (TaskKind::Kernel, Engine::MixAic, 42_058_480),
        ]
    );
    assert_eq!(trace.details[0].mix_block_dim, Some(512));
    // Each alone is a capture too.
    for name in [
        "op_summary_real_cann_minimal.csv",
        "task_time_real_cann_minimal.csv",
    ] {
        let copy = tempfile::tempdir().unwrap();
        fs::copy(path.join(name), copy.path().join("x.csv")).unwrap();
        let trace = read(copy.path()).unwrap();
        assert!(trace.lacks(Lane::Timeline) && trace.lacks(Lane::Settings));
        assert_eq!(
            trace.work_span().unwrap().start,
            if name.starts_with("op") {
                0
            } else {
                100_000_000
            }
        );
    }
}

#[test]
fn ranks_in_one_folder_are_several_traces() {
    let Some(path) = folder("ddp-910b-text") else {
        return;
    };
    let traces = read_all(&path).unwrap();
    let ranks: Vec<_> = traces.iter().map(|trace| trace.meta.rank).collect();
    assert_eq!(ranks, [Some(0), Some(0), Some(1)]);

    let run = tempfile::tempdir().unwrap();
    for rank in [10, 2, 1] {
        let mut profile = Profile::small();
        profile.rank = rank;
        profile.write(&run.path().join(format!("worker{rank}_ascend_pt")));
    }
    let ranks: Vec<_> = read_all(run.path())
        .unwrap()
        .iter()
        .map(|t| t.meta.rank)
        .collect();
    assert_eq!(ranks, [Some(1), Some(2), Some(10)]);
    assert!(matches!(
        read(run.path()),
        Err(TraceError::SeveralProfiles { .. })
    ));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// Packs every file below `from` into `to`.
fn pack(from: &Path, to: &Path, ending: &str) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            pack(&path, &to.join(name), ending);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let packed = match ending {
            "gz" => gzip(&bytes),
            _ => zstd::encode_all(bytes.as_slice(), 1).unwrap(),
        };
        fs::write(to.join(format!("{name}.{ending}")), packed).unwrap();
    }
}

#[test]
fn packed_captures_read_as_the_plain_ones() {
    for name in [T1_RANK0, T2, T4, T7] {
        let Some(path) = folder(name) else { return };
        let plain = read(&path).unwrap();
        for ending in ["gz", "zst"] {
            let packed = tempfile::tempdir().unwrap();
            pack(&path, packed.path(), ending);
            let trace = read(packed.path()).unwrap();
            assert_eq!(trace.tasks, plain.tasks, "{name} {ending}");
            assert_eq!(trace.host, plain.host, "{name} {ending}");
            assert_eq!(trace.details, plain.details, "{name} {ending}");
            assert_eq!(trace.meta, plain.meta, "{name} {ending}");
            assert_eq!(trace.oracle, plain.oracle, "{name} {ending}");
        }
    }
}

#[test]
fn a_damaged_archive_is_an_error_that_says_so() {
    let profile = Profile::small();
    for packed in [
        gzip(profile.trace_view().as_bytes()),
        zstd::encode_all(profile.trace_view().as_bytes(), 1).unwrap(),
    ] {
        let run = tempfile::tempdir().unwrap();
        profile.write(run.path());
        let output = run.path().join("ASCEND_PROFILER_OUTPUT");
        fs::remove_file(output.join("trace_view.json")).unwrap();
        let half = &packed[..packed.len() / 2];
        fs::write(output.join("trace_view.json.gz"), half).unwrap();
        let error = read(run.path()).unwrap_err();
        assert!(matches!(error, TraceError::Packed { .. }), "{error}");
    }
}

#[test]
fn a_lone_level_0_table_says_that_streams_are_unknown() {
    let run = tempfile::tempdir().unwrap();
    let at = |us: i64| ascsim_traces::time::format_us(EPOCH_NS + us * 1_000);
    let table = format!(
        "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n\
         1,Add,Add,N/A,{},5.5,0,8\n1,hcom_allReduce__1,hcom,HCCL,{},9,0,N/A\n",
        at(1),
        at(2)
    );
    fs::write(run.path().join("kernel_details.csv"), table).unwrap();
    let trace = read(run.path()).unwrap();
    assert!(trace.lacks(Lane::Streams) && trace.lacks(Lane::AcceleratorCores));
    assert_eq!(
        (trace.tasks[0].stream, trace.tasks[0].engine),
        (0, Engine::Unknown)
    );
    assert_eq!((trace.details.len(), trace.collectives.len()), (1, 1));
}

#[test]
fn two_devices_in_one_timeline_are_refused() {
    let mut profile = Profile::small();
    profile.raw = vec![
        r#"{"ph":"M","name":"process_name","pid":900,"tid":0,"args":{"name":"Ascend Hardware"}}"#
            .to_owned(),
        format!(
            r#"{{"name":"Add","ph":"X","pid":900,"tid":2,"ts":"{}","dur":1.0,"args":{{"Task Type":"AI_CORE","Physic Stream Id":2,"Task Id":1}}}}"#,
            crate::synth::ts(50_000)
        ),
    ];
    let run = tempfile::tempdir().unwrap();
    profile.write(run.path());
    assert!(matches!(
        read(run.path()),
        Err(TraceError::SeveralDevices { .. })
    ));
}
