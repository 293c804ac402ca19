//! The golden makespans of one MoE layer and of two streams: every number, exactly.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ascsim_schedules::flat::Flat;
use ascsim_schedules::{
    CollectiveKind, Comm, Communicator, Cores, Event, EventKind, Expr, Extra, Kernel, Measured, Op,
    OpKind, Program, Provenance, RankGroup, Record, Schedule, Stream, Wait,
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
