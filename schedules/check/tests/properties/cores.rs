//! The rule about cores against a search of every order in which a die can hand them out.
//!
//! The search knows nothing of happens-before: it plays streams, events, collectives and cores step by
//! step, as `deadlock-cores` says that they behave.

use std::collections::HashSet;

use ascsim_check::{Rule, Target, check};
use ascsim_schedules::builder::*;
use ascsim_schedules::{Accesses, CollectiveKind, Op, Schedule};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const CORES: u32 = 48;
const STREAMS: usize = 3;
const COLLECTIVES: usize = 4;

/// One op of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Item {
    /// Blocks as cores come.
    Plain,
    /// So many at once.
    Batch(u32),
    /// Collective number, cores.
    Collective(usize, u32),
    Record(usize),
    Wait(usize),
}

/// Per rank: the ops in issue order with their stream.
type Ranks = [Vec<(usize, Item)>; 2];

fn ranks() -> impl Strategy<Value = Ranks> {
    let cores = prop_oneof![Just(8u32), Just(16), Just(24), Just(32), Just(48)];
    let local = prop_oneof![
        2 => Just(Item::Plain),
        2 => cores.clone().prop_map(Item::Batch),
    ];
    let local = (0..STREAMS, local, 0..8usize);
    // A record on one stream, and at once or later a wait on another.
    let edge = (0..STREAMS, 1..STREAMS, 0..8usize, 0..3usize);
    let rank = || {
        (
            proptest::collection::vec(local.clone(), 0..4),
            proptest::collection::vec(edge.clone(), 0..4),
            proptest::collection::vec((0..STREAMS, 0..8usize), COLLECTIVES),
        )
    };
    let widths = proptest::collection::vec(cores, 2..=COLLECTIVES);
    (widths, rank(), rank()).prop_map(|(widths, zero, one)| {
        [zero, one].map(|(locals, edges, places)| {
            let mut ops: Vec<(usize, usize, Item)> = Vec::new();
            for (stream, item, at) in locals {
                ops.push((at, stream, item));
            }
            for (number, (&cores, (stream, at))) in widths.iter().zip(places).enumerate() {
                ops.push((at, stream, Item::Collective(number, cores)));
            }
            ops.sort_by_key(|(at, ..)| *at);
            for (event, (stream, other, at, later)) in edges.into_iter().enumerate() {
                let record = at.min(ops.len());
                ops.insert(record, (0, stream, Item::Record(event)));
                let wait = (record + 1 + later).min(ops.len());
                ops.insert(wait, (0, (stream + other) % STREAMS, Item::Wait(event)));
            }
            ops.into_iter()
                .map(|(_, stream, item)| (stream, item))
                .collect()
        })
    })
}

fn schedule(ranks: &Ranks) -> Schedule {
    let mut builder = ScheduleBuilder::new("cores");
    for number in 0..COLLECTIVES {
        builder = builder.communicator(format!("c{number}"), [vec![0, 1]]);
    }
    for (rank, ops) in ranks.iter().enumerate() {
        let op = |(at, (stream, item)): (usize, &(usize, Item))| {
            let op: Op = match item {
                Item::Plain => kernel(format!("k{at}"), "K").cores(0, 40),
                Item::Batch(cores) => kernel(format!("b{at}"), "K").cores(0, *cores).batch(),
                Item::Collective(number, cores) => {
                    let name = format!("c{number}");
                    let op = collective(&*name, &*name, CollectiveKind::AllReduce, 64);
                    op.cores(0, *cores).batch()
                }
                Item::Record(event) => record(format!("e{event}")),
                Item::Wait(event) => wait(format!("e{event}")),
            };
            let mut op = op.on(format!("s{stream}"));
            op.accesses = Accesses::Known(Vec::new());
            op
        };
        let name = format!("rank{rank}");
        builder = builder.program(&*name, ops.iter().enumerate().map(op));
        builder = builder.ranks(rank as u32..rank as u32 + 1, &*name);
    }
    builder.build().expect("it is valid")
}

/// What has happened on a rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Die {
    /// Per stream: how many of its ops are done.
    done: [u8; STREAMS],
    /// Per stream: whether its next op, a collective, holds its cores.
    holds: [bool; STREAMS],
    /// The stream for whose next op what is free is kept.
    kept: Option<u8>,
}

struct Search {
    /// Per rank and stream: its ops.
    streams: [[Vec<Item>; STREAMS]; 2],
}

type State = [Die; 2];

impl Search {
    fn new(ranks: &Ranks) -> Self {
        let of = |ops: &[(usize, Item)], wanted: usize| {
            let of_stream = ops.iter().filter(|(stream, _)| *stream == wanted);
            of_stream.map(|(_, item)| *item).collect()
        };
        Self {
            streams: [0, 1].map(|rank| [0, 1, 2].map(|stream| of(&ranks[rank], stream))),
        }
    }

    fn head(&self, state: &State, rank: usize, stream: usize) -> Option<Item> {
        let at = usize::from(state[rank].done[stream]);
        self.streams[rank][stream].get(at).copied()
    }

    fn is_done(&self, state: &State, rank: usize, item: Item) -> bool {
        (0..STREAMS).any(|stream| {
            let done = usize::from(state[rank].done[stream]);
            self.streams[rank][stream][..done].contains(&item)
        })
    }

    fn free(&self, state: &State, rank: usize) -> u32 {
        let held = (0..STREAMS).filter(|&stream| state[rank].holds[stream]);
        let held = held.map(|stream| match self.head(state, rank, stream) {
            Some(Item::Collective(_, cores)) => cores,
            _ => 0,
        });
        CORES - held.sum::<u32>()
    }

    fn next(&self, state: &State) -> Vec<State> {
        let mut next = Vec::new();
        for rank in 0..2 {
            let free = self.free(state, rank);
            for stream in 0..STREAMS {
                let Some(head) = self.head(state, rank, stream) else {
                    continue;
                };
                let die = &state[rank];
                let own = die.kept == Some(stream as u8);
                let may_take = own || die.kept.is_none();
                let mut push = |change: &dyn Fn(&mut Die)| {
                    let mut state = state.clone();
                    change(&mut state[rank]);
                    next.push(state);
                };
                let advance = |die: &mut Die| {
                    die.done[stream] += 1;
                    if own {
                        die.kept = None;
                    }
                };
                let wants = match head {
                    Item::Record(_) => {
                        push(&advance);
                        continue;
                    }
                    Item::Wait(event) => {
                        if self.is_done(state, rank, Item::Record(event)) {
                            push(&advance);
                        }
                        continue;
                    }
                    Item::Plain => {
                        if may_take && free > 0 {
                            push(&advance);
                        }
                        continue;
                    }
                    Item::Batch(cores) => {
                        if may_take && free >= cores {
                            push(&advance);
                        }
                        cores
                    }
                    Item::Collective(number, cores) if !die.holds[stream] => {
                        if may_take && free >= cores {
                            push(&|die: &mut Die| {
                                die.holds[stream] = true;
                                if own {
                                    die.kept = None;
                                }
                            });
                        }
                        let _ = number;
                        cores
                    }
                    Item::Collective(number, _) => {
                        if self.has_started(state, 1 - rank, number) {
                            push(&|die: &mut Die| {
                                die.done[stream] += 1;
                                die.holds[stream] = false;
                            });
                        }
                        continue;
                    }
                };
                if die.kept.is_none() && wants > free {
                    push(&|die: &mut Die| die.kept = Some(stream as u8));
                }
            }
        }
        next
    }

    fn has_started(&self, state: &State, rank: usize, number: usize) -> bool {
        (0..STREAMS).any(|stream| {
            let done = usize::from(state[rank].done[stream]);
            let is = |item: &Item| matches!(item, Item::Collective(n, _) if *n == number);
            let list = &self.streams[rank][stream];
            list[..done].iter().any(is)
                || state[rank].holds[stream] && list.get(done).is_some_and(is)
        })
    }

    /// Whether some order of handing out cores ends with something not done.
    fn hangs(&self) -> bool {
        let die = Die {
            done: [0; STREAMS],
            holds: [false; STREAMS],
            kept: None,
        };
        let start = [die.clone(), die];
        let mut seen: HashSet<State> = HashSet::from([start.clone()]);
        let mut open = vec![start];
        while let Some(state) = open.pop() {
            let next = self.next(&state);
            let finished = (0..2)
                .all(|rank| (0..STREAMS).all(|stream| self.head(&state, rank, stream).is_none()));
            if next.is_empty() && !finished {
                return true;
            }
            for state in next {
                if seen.insert(state.clone()) {
                    open.push(state);
                }
            }
        }
        false
    }
}

#[test]
fn no_deadlock_through_cores_is_missed() {
    let counts = std::cell::Cell::new([0u32; 3]);
    let cases = super::cases::effort().cases;
    let mut runner = TestRunner::new(Config {
        cases,
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..Config::default()
    });
    let result = runner.run(&ranks(), |ranks| {
        let report = check(&schedule(&ranks), &Target::default())
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        // What hangs whatever the cores is for the other rules.
        let deadlock = |rule: Rule| rule.doc().group == ascsim_check::RuleGroup::Deadlock;
        let found = report.findings.iter().any(|finding| deadlock(finding.rule));
        let hangs = Search::new(&ranks).hangs();
        let mut sums = counts.get();
        sums[0] += u32::from(hangs);
        sums[1] += u32::from(found && !hangs);
        sums[2] += u32::from(!found);
        counts.set(sums);
        prop_assert!(
            found || !hangs,
            "a deadlock is missed: {:#?}",
            report.findings
        );
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let [hang, false_alarms, quiet] = counts.get();
    println!("cores: {cases} cases, {hang} hang, {false_alarms} false alarms, {quiet} without");
    assert!(hang * 20 >= cases && quiet * 20 >= cases);
}
