//! The golden makespans of one MoE layer and of two streams: every number, exactly.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ascsim_schedules::flat::Flat;
use ascsim_schedules::rewrite::{Change, RewriteError};
use ascsim_schedules::{
    Accesses, CollectiveKind, Comm, Communicator, Cores, Event, EventKind, Expr, Extra, Kernel,
    Measured, Op, OpKind, Program, Provenance, RankGroup, Record, Schedule, Stream, Wait,
};
use ascsim_sim::{Blame, CriticalPath, EngineModel, Options, Origin, Simulator, compile};
use ascsim_tests::shared;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Graph {
    name: String,
    ops: Vec<Vec<Value>>,
}

#[derive(Deserialize)]
struct Expected {
    /// Per graph and `h…`: makespan in µs with unlimited and with exclusive engines.
    makespan: BTreeMap<String, BTreeMap<String, [u64; 2]>>,
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> T {
    let text = fs::read_to_string(path).expect("a readable file");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn us(us: u64) -> Option<Box<Measured>> {
    let ns = i64::try_from(us * 1_000).expect("a short time");
    Some(Box::new(Measured::new(ns, Provenance::Stated)))
}

/// A graph as a schedule whose host takes `h` µs for a launch, and a fifth of it for a record or wait.
fn schedule(graph: &Graph, h: u64) -> Schedule {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let mut streams = BTreeSet::new();
    let mut events = BTreeSet::new();
    let mut ops = Vec::new();
    for (index, fields) in graph.ops.iter().enumerate() {
        let (kind, stream, name) = (text(&fields[0]), text(&fields[1]), text(&fields[2]));
        let event = |name: &str| name.to_owned().into();
        let mut op = match kind.as_str() {
            "k" => kernel(&name, &fields[3], &text(&fields[4])),
            "r" => Op::new(
                format!("record-{name}"),
                OpKind::Record(Record {
                    event: event(&name),
                    external: false,
                    extra: Extra::default(),
                }),
            ),
            "w" => Op::new(
                format!("wait-{name}-{index}"),
                OpKind::Wait(Wait {
                    event: event(&name),
                    external: false,
                    timeout_s: None,
                    extra: Extra::default(),
                }),
            ),
            other => panic!("unknown entry {other}"),
        };
        if kind == "k" {
            op.issue = us(h);
        } else {
            events.insert(name);
            let ns = i64::try_from(h * 1_000 / 5).expect("a short time");
            op.issue = Some(Box::new(Measured::new(ns, Provenance::Stated)));
        }
        op.stream = Some(stream.as_str().into());
        streams.insert(stream);
        ops.push(op);
    }
    Schedule {
        name: graph.name.clone(),
        streams: streams
            .into_iter()
            .map(|name| Stream {
                name: name.into(),
                owner: Default::default(),
                priority: None,
                core_limit: None,
                extra: Extra::default(),
            })
            .collect(),
        events: events
            .into_iter()
            .map(|name| Event {
                name: name.into(),
                kind: EventKind::Ex,
                extra: Extra::default(),
            })
            .collect(),
        communicators: vec![Communicator {
            name: "ep".into(),
            groups: vec![vec![0]],
            expansion: None,
            buffer_bytes: None,
            deterministic: false,
            extra: Extra::default(),
        }],
        programs: vec![Program {
            name: "layer".into(),
            capture: None,
            ops,
            extra: Extra::default(),
        }],
        ranks: vec![RankGroup {
            first: 0,
            count: 1,
            program: Some("layer".into()),
            devices: Vec::new(),
            overrides: Vec::new(),
            extra: Extra::default(),
        }],
        ..Schedule::default()
    }
}

fn kernel(name: &str, duration: &Value, engine: &str) -> Op {
    let mut op = Op::new(
        name,
        OpKind::Kernel(Kernel {
            name: name.into(),
            dynamic: false,
            extra: Extra::default(),
        }),
    );
    let (aic, aiv) = match engine {
        "AIC" => (24, 0),
        "AIV" | "AIV+COMM" => (0, 48),
        "MIX" => (24, 48),
        other => panic!("unknown engine {other}"),
    };
    op.cores = Some(Cores {
        aic,
        aiv,
        ..Cores::default()
    });
    if engine == "AIV+COMM" {
        op.comm = Some(Box::new(Comm {
            communicator: "ep".into(),
            kind: CollectiveKind::AllToAll,
            bytes: Expr::Int(0),
            expansion: None,
            peer: None,
            in_place: false,
            dtype: None,
            reduce: None,
            extra: Extra::default(),
        }));
    }
    op.duration = us(duration.as_u64().expect("a whole number of µs"));
    op
}

/// The makespan in µs, and the checks that every run must pass.
fn makespan(schedule: &Schedule, engines: EngineModel) -> u64 {
    let options = Options {
        engines,
        ..Options::default()
    };
    let flat = Flat::new(schedule).expect("a valid schedule");
    let compiled = compile(&flat, &options).expect("complete times");
    let mut simulator = Simulator::new();
    let timeline = simulator
        .run(&compiled, &options, compiled.times())
        .expect("no deadlock");
    let makespan = timeline.makespan(Origin::Host);
    let path = CriticalPath::new(&compiled, &options, compiled.times(), timeline);
    assert_eq!(Blame::new(&path, 0).total(), makespan, "the blame adds up");
    assert_eq!(makespan % 1_000_000, 0, "whole µs");
    makespan / 1_000_000
}

#[test]
fn every_makespan_is_exact() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("golden");
    let expected: Expected = read(&folder.join("expected.json"));
    let mut checked = 0;
    for (name, rows) in &expected.makespan {
        let graph: Graph = read(&folder.join(format!("{name}.json")));
        for (h, expected) in rows {
            let cost = h.strip_prefix('h').and_then(|h| h.parse().ok());
            let schedule = schedule(&graph, cost.expect("a key like h20"));
            let found = [EngineModel::Unlimited, EngineModel::Exclusive]
                .map(|engines| makespan(&schedule, engines));
            assert_eq!(found, *expected, "{name} with {h}");
            checked += 2;
        }
    }
    assert_eq!(checked, 28, "makespans in the file");
}

fn graph(name: &str) -> Option<Graph> {
    let shared = shared()?;
    Some(read(&shared.join("golden").join(format!("{name}.json"))))
}

fn changed(schedule: &Schedule, change: &str) -> Schedule {
    let parsed = Change::parse(change).unwrap_or_else(|error| panic!("{change}: {error}"));
    let result = parsed.apply(schedule);
    result
        .unwrap_or_else(|error| panic!("{change}: {error}"))
        .schedule
}

/// What an op does, without its id and accesses.
fn plain(schedule: &Schedule) -> Vec<Op> {
    let ops = schedule.programs[0].ops.iter().cloned();
    ops.map(|mut op| {
        op.id = "".into();
        op.accesses = Accesses::Unknown;
        op
    })
    .collect()
}

#[test]
fn shared_expert_overlap_gives_the_overlap_op_for_op() {
    for (target, keys) in [
        ("moe_layer_overlap_w8a8", ""),
        ("moe_layer_overlap_E0only", ",preset=start-only"),
        (
            "moe_layer_overlap_E0only",
            ",gate-up=none,act=none,down=none",
        ),
    ] {
        let (Some(serial), Some(overlap)) = (graph("moe_layer_serial"), graph(target)) else {
            return;
        };
        for h in [0, 5, 20, 60] {
            let change = format!("shared-expert-overlap:stream=S1,join-event=EJ{keys}");
            let made = changed(&schedule(&serial, h), &change);
            assert_eq!(plain(&made), plain(&schedule(&overlap, h)), "{target} h{h}");
        }
    }
}

#[test]
fn shared_expert_overlap_needs_no_keys() {
    let (Some(serial), Some(overlap)) =
        (graph("moe_layer_serial"), graph("moe_layer_overlap_w8a8"))
    else {
        return;
    };
    let mut made = changed(&schedule(&serial, 5), "shared-expert-overlap");
    // The names that it chooses are its own.
    for op in &mut made.programs[0].ops {
        if op.stream == Some("shared".into()) {
            op.stream = Some("S1".into());
        }
        match &mut op.kind {
            OpKind::Record(record) if record.event.as_str() == "shared.done" => {
                record.event = "EJ".into();
            }
            OpKind::Wait(wait) if wait.event.as_str() == "shared.done" => wait.event = "EJ".into(),
            _ => {}
        }
    }
    assert_eq!(plain(&made), plain(&schedule(&overlap, 5)));
}

#[test]
fn the_overlap_on_one_stream_takes_as_long_as_the_serial_layer() {
    let Some(overlap) = graph("moe_layer_overlap_w8a8") else {
        return;
    };
    let made = changed(&schedule(&overlap, 0), "one-stream");
    assert_eq!(makespan(&made, EngineModel::Exclusive), 604);
    assert!(
        made.programs[0]
            .ops
            .iter()
            .all(|op| op.stream == Some("S0".into()))
    );
}

#[test]
fn an_event_between_the_two_streams_gains_ten_microseconds() {
    let (Some(without), Some(with)) = (graph("two_streams_no_event"), graph("two_streams_event"))
    else {
        return;
    };
    let made = changed(
        &schedule(&without, 0),
        "add-event:from=S0,record=1,to=S1,wait=1",
    );
    assert_eq!(makespan(&made, EngineModel::Exclusive), 100);
    let made: Vec<_> = plain(&made)
        .iter()
        .map(|op| (op.stream.clone(), op.kind.name()))
        .collect();
    let golden: Vec<_> = plain(&schedule(&with, 0))
        .iter()
        .map(|op| (op.stream.clone(), op.kind.name()))
        .collect();
    assert_eq!(made, golden);
}

#[test]
fn the_library_layer_gets_the_waits_of_the_library_overlap() {
    use ascsim_schedules::format;
    let file = |name: &str| {
        let path = ascsim_tests::workspace().join(format!("schedules/library/{name}.json"));
        format::read::<Schedule>(&fs::read(path).expect("a file")).expect("a schedule")
    };
    let made = changed(
        &file("moe-layer-serial"),
        "shared-expert-overlap:stream=side",
    );
    let overlap = file("moe-layer-overlap");
    let what = |schedule: &Schedule| -> Vec<String> {
        let ops = schedule.programs[0].ops.iter();
        ops.map(|op| {
            let id = match op.kind {
                OpKind::Kernel(_) => op.id.as_str(),
                _ => "",
            };
            format!("{:?} {} {id}", op.stream, op.kind.name())
        })
        .collect()
    };
    assert_eq!(what(&made), what(&overlap));
    assert_eq!(makespan(&made, EngineModel::Exclusive), 546);

    // It declares its accesses, so a wait that is needed cannot be dropped.
    let drop = Change::parse("drop-wait:select=event=moe.before-gate").expect("a change");
    // The expert needs nothing of the router: `hidden` is an input.
    drop.apply(&made).expect("no data needs the first wait");
    let drop = Change::parse("drop-wait:select=event=shared.done").expect("a change");
    match drop.apply(&made) {
        Err(RewriteError::Race {
            first,
            second,
            buffer,
        }) => {
            assert_eq!(
                [&*first, &*second, &*buffer],
                ["shared_down", "add", "shared_out"]
            );
        }
        other => panic!("{other:?}"),
    }
    // On one stream all events but none are needed.
    let serial = changed(&made, "one-stream");
    assert_eq!(
        serial.programs[0].ops.len(),
        file("moe-layer-serial").programs[0].ops.len()
    );
}

#[test]
fn redundant_events_of_the_serial_layer_go() {
    let Some(serial) = graph("moe_layer_serial") else {
        return;
    };
    let made = changed(&schedule(&serial, 5), "drop-redundant-events");
    assert!(
        made.programs[0]
            .ops
            .iter()
            .all(|op| matches!(op.kind, OpKind::Kernel(_)))
    );
    // The second kernel is issued one event call of 1 µs earlier; after that the host is ahead.
    assert_eq!(makespan(&made, EngineModel::Exclusive), 611);
    let Some(overlap) = graph("moe_layer_overlap_w8a8") else {
        return;
    };
    let made = changed(&schedule(&overlap, 5), "drop-redundant-events");
    // Nobody waits for E2; every other event orders something.
    let mut expected = plain(&schedule(&overlap, 5));
    expected
        .retain(|op| !matches!(&op.kind, OpKind::Record(record) if record.event.as_str() == "E2"));
    assert_eq!(plain(&made), expected);
}
