//! Dumps of captured graphs: alone, and joined with a profile.

use std::fs::{self, File};

use ascsim_traces::dump::{Dump, DumpReport, DumpTask};
use ascsim_traces::model::{DeviceTask, Engine, TaskKind};
use ascsim_traces::pair::{LinkClass, LinkReason, Links};
use ascsim_traces::time::Span;
use ascsim_traces::write::{Form, write};
use ascsim_traces::{Trace, TraceError, read};
use proptest::prelude::*;

use crate::captures::{T7, folder};
use crate::random::Random;

/// facts/traces.md section 1, G1.
#[test]
fn g1_has_six_pairs_and_says_what_is_elided() {
    let Some(path) = folder("aclgraph-debug") else {
        return;
    };
    let path = path.join("graph_debug.json");
    assert!(matches!(read(&path), Err(TraceError::OnlyDump { .. })));
    let dump = Dump::read(&path).unwrap();
    let report = DumpReport::of("G1", &dump);
    assert_eq!(report.pairs.len(), 6);
    assert_eq!((report.records, report.waits), (25, 15));
    assert_eq!(
        (
            report.waits_without_record.len(),
            report.records_without_wait.len()
        ),
        (9, 19)
    );
    assert!(!report.has_cycle);
    let missing = |stream| -> u64 {
        let own = report.elided.iter().filter(|e| e.stream == stream);
        own.map(|elided| elided.count()).sum()
    };
    assert_eq!(
        (report.streams[&161], missing(161), report.streams[&163]),
        (22, 136 - 22, 11)
    );
    assert_eq!(missing(163), 10);
    let text = report.to_string();
    println!("{text}");
    assert!(
        text.contains("6 pairs") && text.contains("114 are left out"),
        "{text}"
    );
}

/// A random graph, and a profile of some replays of it. Waits follow their records in one order of all tasks,
/// so that the graph can end.
fn graph(random: &mut Random, replays: i64) -> (Dump, Trace, Vec<(u64, u32, u32)>) {
    let mut tasks = Vec::new();
    let mut pairs = Vec::new();
    let mut next = [0_u32; 4];
    let mut open: Vec<(u64, (u32, u32))> = Vec::new();
    let mut event = 20_627_656_278_000;
    for _ in 0..20 + random.below(40) {
        let stream = random.below(4) as usize;
        let place = (160 + stream as u32, next[stream]);
        next[stream] += 1;
        let name = match random.below(3) {
            0 => {
                event += 8;
                open.push((event, place));
                format!("EVENT_RECORD_{event}")
            }
            1 if !open.is_empty() => {
                let at = random.below(open.len() as u64) as usize;
                let (event, _) = open.swap_remove(at);
                pairs.push((event, place.0, place.1));
                format!("EVENT_WAIT_{event}")
            }
            _ => format!("MatMul_{}", random.below(5)),
        };
        tasks.push(DumpTask {
            stream: place.0,
            task: place.1,
            model: Some(1),
            name,
        });
    }
    let mut trace = Trace {
        epoch_ns: 1_700_000_000_000_000_000,
        ..Trace::default()
    };
    let mut at = 0;
    for _ in 0..replays {
        for task in &tasks {
            let start = at;
            at += 1_000 + random.below(5_000) as i64;
            let (name, task_type, kind) = if task.name.starts_with("EVENT_RECORD") {
                ("EVENT_RECORD", "EVENT_RECORD_SQE", TaskKind::EventRecord)
            } else if task.name.starts_with("EVENT_WAIT") {
                ("EVENT_WAIT", "EVENT_WAIT_SQE", TaskKind::EventWait)
            } else {
                (task.name.as_str(), "AI_CORE", TaskKind::Kernel)
            };
            trace.tasks.push(DeviceTask {
                name: trace.names.intern(name),
                task_type: trace.names.intern(task_type),
                kind,
                engine: Engine::of_task_type(task_type, kind),
                stream: task.stream,
                task: Some(task.task),
                context: None,
                model: Some(1),
                span: Span { start, end: at },
                // One launch issues them all.
                connection: Some(7),
                launch: None,
                framework_op: None,
                detail: None,
                event: None,
            });
        }
    }
    (Dump::new(tasks), trace, pairs)
}

proptest! {
    #[test]
    fn a_dump_and_a_profile_that_we_wrote_join_exactly(
        seed in any::<u64>(),
        replays in 1_i64..4,
        form in prop_oneof![Just(Form::Text), Just(Form::Database)],
    ) {
        let (dump, mut wanted, pairs) = graph(&mut Random(seed), replays);
        if form == Form::Database {
            for task in &mut wanted.tasks {
                if task.kind != TaskKind::Kernel {
                    task.task_type = task.name;
                }
            }
        }
        let run = tempfile::tempdir().unwrap();
        write(&wanted, run.path(), form).unwrap();
        let path = run.path().join("graph_debug.json");
        dump.write(&mut File::create(&path).unwrap()).unwrap();
        let read_back = Dump::read(&path).unwrap();
        prop_assert_eq!(read_back.tasks(), dump.tasks());
        let trace = read(run.path()).unwrap();
        // Times from the profile.
        let times = |trace: &Trace| -> Vec<_> {
            trace.tasks.iter().map(|t| (t.span, t.stream, t.task)).collect()
        };
        prop_assert_eq!(times(&wanted), times(&trace));
        // Event ids from the dump: each wait, in each replay.
        let links = Links::of(&trace).events;
        prop_assert_eq!(links.len(), pairs.len() * replays as usize);
        for link in &links {
            prop_assert_eq!((link.class, link.reason), (LinkClass::Paired, LinkReason::EventId));
            let (wait, record) = (
                &trace.tasks[link.wait as usize],
                &trace.tasks[link.record.unwrap() as usize],
            );
            prop_assert_eq!(wait.event, record.event);
            let place = (wait.event.unwrap(), wait.stream, wait.task.unwrap());
            prop_assert!(pairs.contains(&place));
            // Of the same replay: within one length of the graph.
            let between = trace.tasks[record_index(link)..=link.wait as usize].len();
            prop_assert!(between <= dump.tasks().len());
        }
        prop_assert_eq!(dump.pairs().len(), pairs.len());
        prop_assert!(!dump.has_cycle());
    }
}

fn record_index(link: &ascsim_traces::pair::EventLink) -> usize {
    link.record.unwrap() as usize
}

#[test]
fn a_cut_dump_leaves_its_waits_to_the_other_rules() {
    let (dump, wanted, pairs) = graph(&mut Random(5), 1);
    assert!(pairs.len() > 2);
    let cut: Vec<DumpTask> = dump
        .tasks()
        .iter()
        .filter(|task| task.name != format!("EVENT_RECORD_{}", pairs[0].0))
        .cloned()
        .collect();
    let cut = Dump::new(cut);
    assert_eq!(cut.pairs().len(), pairs.len() - 1);
    let run = tempfile::tempdir().unwrap();
    write(&wanted, run.path(), Form::Text).unwrap();
    let path = run.path().join("graph_debug.json");
    cut.write(&mut File::create(&path).unwrap()).unwrap();
    let trace = read(run.path()).unwrap();
    let links = Links::of(&trace).events;
    let by_id = links.iter().filter(|l| l.reason == LinkReason::EventId);
    assert_eq!(by_id.count(), pairs.len() - 1);
    let note = trace.notes.iter().find(|note| note.code == "graph-dump");
    assert!(note.unwrap().text.contains("leaves"), "{note:?}");
}

#[test]
fn a_dump_that_is_of_another_graph_is_not_used() {
    let Some(capture) = folder(T7) else { return };
    let run = tempfile::tempdir().unwrap();
    let trace = read(&capture).unwrap();
    write(&trace, run.path(), Form::Text).unwrap();
    let Some(dump) = folder("aclgraph-debug") else {
        return;
    };
    fs::copy(
        dump.join("graph_debug.json"),
        run.path().join("graph_debug.json"),
    )
    .unwrap();
    let joined = read(run.path()).unwrap();
    assert_eq!(joined.tasks.len(), trace.tasks.len());
    let note = joined.notes.iter().find(|note| note.code == "graph-dump");
    assert!(note.unwrap().text.contains("fits none"), "{note:?}");
}

#[test]
fn what_contradicts_itself_has_a_cycle() {
    let task = |stream, task, name: &str| DumpTask {
        stream,
        task,
        model: None,
        name: name.to_owned(),
    };
    let crossed = Dump::new(vec![
        task(1, 0, "EVENT_WAIT_5"),
        task(1, 1, "EVENT_RECORD_6"),
        task(2, 0, "EVENT_WAIT_6"),
        task(2, 1, "EVENT_RECORD_5"),
    ]);
    assert!(crossed.has_cycle());
}
