//! What a replay of a capture moves when one time changes, against what the measured times say.
//!
//! For each event wait that blocked, each collective and each host synchronisation, what it waited for
//! takes half as long, half again as long, and 1 ms longer. Every task of the capture then has to
//! move by exactly what an independent calculation gives ([`measured`]), also the many that do not
//! move. A replay whose links across streams are cut reproduces the capture just as well as it is, and
//! has to fail.

mod measured;

use std::collections::BTreeMap;

use ascsim_schedules::flat::Flat;
use ascsim_schedules::{HostKind, Measured as Time, OpKind, Provenance, SyncTarget};
use ascsim_sim::attribute::{apply, attribute};
use ascsim_sim::{Compiled, Options, Simulator, TimeField, Times, compile};
use ascsim_tests::shared;
use ascsim_traces::recover::{Recovered, Settings, recover};
use ascsim_traces::time::Span;
use ascsim_traces::{Trace, read};
use measured::{Change, Measured, UnitKind};

const T1: [&str; 2] = ["ddp-910b-text/level1-rank0", "ddp-910b-text/level1-rank1"];
const T2: [&str; 2] = ["ddp-910b-db/level2-rank0", "ddp-910b-db/level1-rank0-clean"];
const T9: &str = "mindspore-910a-graphsink";
const T7: &str = "tinymlp-910b3";

fn capture(name: &str) -> Option<Trace> {
    let folder = shared()?.join("traces").join(name);
    Some(read(&folder).unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// A replay of a capture that can be run with other times.
struct Replay {
    program: Compiled,
    times: Times,
    /// Per unit of the measured capture: its instance.
    instances: Vec<u32>,
    /// Instances by rank and op.
    by_op: BTreeMap<(u32, String), u32>,
    base: Vec<u64>,
    rank: u32,
}

impl Replay {
    fn new(mut recovered: Recovered, measured: &Measured) -> Self {
        let options = Options::default();
        let found = {
            let flat = Flat::new(&recovered.schedule).unwrap();
            attribute(&recovered, &compile(&flat, &options).unwrap(), &options)
        };
        assert_eq!(found.violations, [], "something was observed too early");
        apply(&mut recovered, &found);
        let rank = recovered.summary.captured[0];
        let flat = Flat::new(&recovered.schedule).unwrap();
        let program = compile(&flat, &options).unwrap();
        // The k-th op of a stream is the k-th unit of it.
        let mut streams: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut by_op = BTreeMap::new();
        for (at, instance) in flat.instances().iter().enumerate() {
            by_op.insert((instance.rank, instance.op.id.to_string()), at as u32);
            if let (true, Some(stream), true) = (
                instance.rank == rank,
                &instance.op.stream,
                instance.op.is_device(),
            ) {
                streams
                    .entry(stream.to_string())
                    .or_default()
                    .push(at as u32);
            }
        }
        let mut next: BTreeMap<u32, usize> = BTreeMap::new();
        let mut instances = Vec::new();
        for unit in &measured.units {
            let place = next.entry(unit.stream).or_default();
            instances.push(streams[&format!("stream.{}", unit.stream)][*place]);
            *place += 1;
        }
        let listed: usize = streams.values().map(Vec::len).sum();
        assert_eq!(
            listed,
            instances.len(),
            "the schedule has all units of the capture"
        );
        let mut simulator = Simulator::new();
        simulator.run(&program, &options, program.times()).unwrap();
        let timeline = simulator.take();
        for (unit, instance) in instances.iter().enumerate() {
            // Both are in the order of the stream, and start when they were seen to.
            if timeline.was_queued(*instance) {
                let zero = timeline.start[instances[0] as usize] as i64 / 1_000 - measured.start(0);
                let start = timeline.start[*instance as usize] as i64 / 1_000 - zero;
                assert_eq!(start, measured.start(unit), "{}", measured.units[unit].name);
            }
        }
        let times = program.times().clone();
        Self {
            program,
            times,
            instances,
            by_op,
            base: timeline.start,
            rank,
        }
    }

    /// How far each unit moves, and whether it is queued.
    fn moved(&self, change: Change, by: i64) -> Vec<(i64, bool)> {
        let (instance, field) = match change {
            Change::Unit(unit) => (self.instances[unit], TimeField::Duration),
            Change::Arrival(collective) => {
                let is_external = |(rank, op): &&(u32, String)| {
                    *rank != self.rank && *op == format!("arrive.{collective}")
                };
                let key = self.by_op.keys().find(is_external);
                match key {
                    Some(key) => (self.by_op[key], TimeField::Delay),
                    // Cut off.
                    None => return vec![(0, true); self.instances.len()],
                }
            }
        };
        let mut times = self.times.clone();
        let own = times.get(field, instance).unwrap();
        times.set(field, instance, own.checked_add_signed(by * 1_000).unwrap());
        let mut simulator = Simulator::new();
        let timeline = simulator
            .run(&self.program, &Options::default(), &times)
            .unwrap();
        let instances = self.instances.iter();
        instances
            .map(|&instance| {
                let start = timeline.start[instance as usize] as i64;
                let before = self.base[instance as usize] as i64;
                assert_eq!((start - before) % 1_000, 0);
                ((start - before) / 1_000, timeline.was_queued(instance))
            })
            .collect()
    }
}

/// A cause to change, and how much.
#[derive(Debug)]
struct Cause {
    of: &'static str,
    change: Change,
    by: i64,
}

/// What waits, collectives and synchronisations waited for, with each change of it.
fn causes(measured: &Measured, zero: i64) -> Vec<Cause> {
    let work_before = |unit: usize| {
        let stream = measured.units[unit].stream;
        (0..=unit).rev().find(|before| {
            let before = &measured.units[*before];
            before.stream == stream
                && matches!(before.kind, UnitKind::Work | UnitKind::Collective(_))
        })
    };
    let mut found: Vec<(&'static str, Change, i64)> = Vec::new();
    let mut add = |of, unit: Option<usize>| {
        if let Some(unit) = unit {
            found.push((of, Change::Unit(unit), measured.duration(unit)));
        }
    };
    for (_, record) in &measured.blocked {
        add("wait", work_before(*record));
    }
    for unit in 0..measured.units.len() {
        if let UnitKind::Collective(_) = measured.units[unit].kind {
            add("collective", Some(unit));
            add("collective", unit.checked_sub(1).and_then(work_before));
        }
    }
    for unit in measured.syncs.iter().flatten() {
        add("synchronisation", work_before(*unit));
    }
    for collective in 0..measured.arrivals.len() {
        if let Some(think) = measured.think(collective, zero) {
            found.push(("collective", Change::Arrival(collective), think));
        }
    }
    let each = found.into_iter().flat_map(|(of, change, time)| {
        [-time / 2, time / 2, 1_000_000].map(|by| Cause { of, change, by })
    });
    each.collect()
}

/// How often the replay and the calculation disagree, by what was changed; and how often something
/// moved.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    checks: BTreeMap<&'static str, usize>,
    moved: BTreeMap<&'static str, usize>,
    failures: BTreeMap<&'static str, usize>,
    /// Waits that only one of the two queues.
    unlike: usize,
    first: Option<String>,
}

fn check(measured: &Measured, replay: &Replay, zero: i64) -> Outcome {
    let mut outcome = Outcome::default();
    for cause in causes(measured, zero) {
        *outcome.checks.entry(cause.of).or_default() += 1;
        let expected = measured.moved(cause.change, cause.by);
        let simulated = replay.moved(cause.change, cause.by);
        let mut pairs = expected.iter().zip(&simulated);
        // What is never queued has no start.
        let wrong = pairs.clone().position(|(e, s)| e.1 && s.1 && e.0 != s.0);
        outcome.unlike += usize::from(pairs.any(|(e, s)| e.1 != s.1));
        *outcome.moved.entry(cause.of).or_default() +=
            usize::from(expected.iter().any(|(by, queued)| *queued && *by != 0));
        if let Some(unit) = wrong {
            *outcome.failures.entry(cause.of).or_default() += 1;
            outcome.first.get_or_insert_with(|| {
                format!(
                    "{cause:?}: `{}` on stream {} moves by {:?}, not {:?}",
                    measured.units[unit].name,
                    measured.units[unit].stream,
                    simulated[unit],
                    expected[unit]
                )
            });
        }
    }
    outcome
}

/// A kind of link across streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Events,
    Ranks,
    Synchronisations,
}

/// Cuts all links of a kind; what they explained becomes a delay or a duration.
fn cut(mut recovered: Recovered, link: Link) -> Recovered {
    if link == Link::Ranks {
        let captured = recovered.summary.captured[0];
        for group in recovered
            .schedule
            .ranks
            .iter_mut()
            .filter(|group| group.first != captured)
        {
            group.program = None;
        }
        recovered.seen.retain(|rank| rank.captured);
    }
    let captured = recovered.seen.iter().filter(|rank| rank.captured);
    let seen: Vec<_> = captured.flat_map(|rank| rank.ops.iter().copied()).collect();
    let length = |span: Option<Span>| {
        let ns = span.map_or(0, Span::len);
        Some(Box::new(Time::new(ns, Provenance::Measured)))
    };
    for (op, seen) in recovered.schedule.programs[0].ops.iter_mut().zip(seen) {
        match (&mut op.kind, link) {
            (OpKind::Wait(wait), Link::Events) => wait.event = "cut".into(),
            (
                OpKind::Host(
                    kind @ HostKind::Synchronise(SyncTarget::Device | SyncTarget::Stream(_)),
                ),
                Link::Synchronisations,
            ) => {
                *kind = HostKind::Work;
                op.duration = length(seen.call);
            }
            (OpKind::Collective(_), Link::Ranks) => op.duration = length(seen.task),
            _ => {}
        }
    }
    if link == Link::Events {
        let mut cut = recovered.schedule.events[0].clone();
        cut.name = "cut".into();
        recovered.schedule.events.push(cut);
    }
    recovered
}

fn zero_of(trace: &Trace, recovered: &Recovered) -> i64 {
    recovered.zero_ns - trace.epoch_ns
}

#[test]
fn every_successor_moves_as_the_measured_times_say_on_t1_and_t2() {
    // How often another rank was seen to come last.
    for (name, arrivals) in [(T1[0], 4), (T1[1], 4), (T2[0], 3), (T2[1], 4)] {
        let Some(trace) = capture(name) else { return };
        let recovered = recover(&[&trace], Settings::default()).unwrap();
        let measured = Measured::new(&trace);
        // facts/traces.md section 2.1: five waits block.
        assert_eq!(measured.blocked.len(), 5);
        assert_eq!(
            (
                measured.arrivals.iter().flatten().count(),
                measured.syncs.len()
            ),
            (arrivals, 8)
        );
        let zero = zero_of(&trace, &recovered);
        let outcome = check(&measured, &Replay::new(recovered, &measured), zero);
        println!("{name}: {outcome:?}");
        assert_eq!(
            outcome.failures,
            BTreeMap::new(),
            "{name}: {:?}",
            outcome.first
        );
        assert_eq!(outcome.unlike, 0, "{name}");
        for of in ["wait", "collective", "synchronisation"] {
            assert!(outcome.moved[of] >= 5, "{name}: {outcome:?}");
        }
    }
}

#[test]
fn every_successor_moves_as_the_measured_times_say_on_t7() {
    let Some(trace) = capture(T7) else { return };
    let recovered = recover(&[&trace], Settings::default()).unwrap();
    let measured = Measured::new(&trace);
    assert_eq!(measured.syncs.len(), 6);
    let zero = zero_of(&trace, &recovered);
    let outcome = check(&measured, &Replay::new(recovered, &measured), zero);
    println!("{outcome:?}");
    assert_eq!(outcome.failures, BTreeMap::new(), "{:?}", outcome.first);
    // Half a kernel of 7 us is far less than the 160 us until the next call; 1 ms is not.
    assert!(outcome.moved["synchronisation"] >= 4, "{outcome:?}");
}

/// A sunk graph of five iterations without host rows: four event waits each, two of which stand still for
/// their record, and one collective over four streams.
#[test]
fn every_successor_moves_as_the_measured_times_say_on_t9() {
    let Some(trace) = capture(T9) else { return };
    let recovered = recover(&[&trace], Settings::default()).unwrap();
    let measured = Measured::new(&trace);
    let zero = zero_of(&trace, &recovered);
    // Two in each iteration; when the first task of a stream began to wait is not known.
    assert_eq!(measured.blocked.len(), 9);
    let outcome = check(&measured, &Replay::new(recovered, &measured), zero);
    println!("{outcome:?}");
    assert_eq!(outcome.failures.get("wait"), None, "{:?}", outcome.first);
    assert_eq!(outcome.unlike, 0);
    assert!(outcome.moved["wait"] >= 20, "{outcome:?}");
}

#[test]
fn a_replay_with_links_cut_reproduces_the_capture_but_fails() {
    for (name, link, of) in [
        (T1[0], Link::Events, "wait"),
        (T1[0], Link::Ranks, "collective"),
        (T1[0], Link::Synchronisations, "synchronisation"),
        (T1[1], Link::Events, "wait"),
        (T1[1], Link::Ranks, "collective"),
        (T1[1], Link::Synchronisations, "synchronisation"),
        (T7, Link::Synchronisations, "synchronisation"),
        (T2[0], Link::Events, "wait"),
        (T2[0], Link::Ranks, "collective"),
        (T2[0], Link::Synchronisations, "synchronisation"),
        (T9, Link::Events, "wait"),
    ] {
        let Some(trace) = capture(name) else { return };
        let measured = Measured::new(&trace);
        let recovered = recover(&[&trace], Settings::default()).unwrap();
        let zero = zero_of(&trace, &recovered);
        // That it starts everything as observed is asserted in here.
        let replay = Replay::new(cut(recovered, link), &measured);
        let outcome = check(&measured, &replay, zero);
        println!("{name} without {link:?}: {outcome:?}");
        let failures = outcome.failures.get(of).copied().unwrap_or(0);
        assert!(failures > 0, "{name} without {link:?}: {outcome:?}");
    }
}
