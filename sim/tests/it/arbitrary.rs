//! Random schedules over every kind of op, and random options. Many deadlock, which is wanted.

use std::fmt;

use ascsim_schedules::{Extra, Measured, Op, OpKind, Override, Peer, Provenance, Schedule};
use ascsim_sim::{Die, EngineModel, Gaps, HostCosts, Latencies, Options};
use proptest::prelude::*;

use crate::notation::schedule;

/// A random schedule, shown as the text that it is noted down in.
#[derive(Clone)]
pub(crate) struct Case {
    text: String,
    pub(crate) schedule: Schedule,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}", self.text)?;
        for over in &self.schedule.ranks[0].overrides {
            let ns = over.duration.as_ref().map(|time| &time.ns);
            writeln!(f, "{} of rank {} takes {ns:?} ns", over.op, over.rank)?;
        }
        Ok(())
    }
}

/// What an op is made from.
type Seed = (u8, u8, u8, u8, u8);

fn seeds(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Seed>> {
    let choice = 0_u8..120;
    prop::collection::vec((choice, 0_u8..12, 0_u8..12, 0_u8..5, 0_u8..24), count)
}

/// A schedule of one to three ranks that run one program, with a graph and a repeated program.
pub(crate) fn schedules() -> impl Strategy<Value = Case> {
    let overrides = prop::collection::vec((0_u32..3, 0_usize..20, 0_i64..5), 0..4);
    (
        seeds(1..24),
        seeds(1..6),
        seeds(1..5),
        1_u32..4,
        any::<bool>(),
        overrides,
    )
        .prop_map(|(main, graph, inner, ranks, external, overrides)| {
            let mut text = String::from("program main\n");
            let many = Body {
                launches: true,
                host: true,
            };
            for (index, seed) in main.into_iter().enumerate() {
                text += &many.line(index, seed);
            }
            text += "program g capture s0\n";
            let captured = Body {
                launches: false,
                host: false,
            };
            for (index, seed) in graph.into_iter().enumerate() {
                text += &captured.line(index, seed);
            }
            text += "program p\n";
            let repeated = Body {
                launches: false,
                host: true,
            };
            for (index, seed) in inner.into_iter().enumerate() {
                text += &repeated.line(index, seed);
            }
            text += &format!("ranks 0 {ranks} main\n");
            let members: Vec<String> = (0..ranks).map(|rank| rank.to_string()).collect();
            let members = members.join(" ");
            if external {
                text += &format!("external {ranks} 1\ncomm ep {members} {ranks}\n");
            } else {
                text += &format!("comm ep {members}\n");
            }
            text += &format!("comm tp {members}\n");
            let mut schedule = schedule(&text);
            for op in schedule.programs.iter_mut().flat_map(|p| &mut p.ops) {
                to_the_next_rank(op);
            }
            let main = &schedule.programs[0];
            let timed = |op: &&Op| op.duration.is_some() && !matches!(op.kind, OpKind::Group(_));
            let ops: Vec<_> = main
                .ops
                .iter()
                .filter(timed)
                .map(|op| op.id.clone())
                .collect();
            for (rank, at, us) in overrides {
                let known = &schedule.ranks[0].overrides;
                if let Some(op) = ops.get(at)
                    && rank < ranks
                    && !known.iter().any(|o| o.rank == rank && o.op == *op)
                {
                    let op = op.clone();
                    schedule.ranks[0]
                        .overrides
                        .push(duration_on(rank, op, us * 1_000));
                }
            }
            Case { text, schedule }
        })
}

fn duration_on(rank: u32, op: ascsim_schedules::OpId, ns: i64) -> Override {
    Override {
        rank,
        program: "main".into(),
        op,
        duration: Some(Measured::new(ns, Provenance::Stated)),
        issue: None,
        delay: None,
        bytes: None,
        peer: None,
        extra: Extra::default(),
    }
}

/// `peer=1` stands for the next rank.
fn to_the_next_rank(op: &mut Op) {
    let next = || Peer::Member {
        communicator: "tp".into(),
        offset: 1,
    };
    match &mut op.kind {
        OpKind::NotifyRecord(record) if !record.peer.is_own() => record.peer = next(),
        OpKind::ValueWrite(write) if !write.peer.is_own() => write.peer = next(),
        _ => {}
    }
}

struct Body {
    launches: bool,
    host: bool,
}

impl Body {
    fn line(&self, index: usize, (choice, a, b, us, c): Seed) -> String {
        let stream = ["s0", "s0", "s1", "s1", "s2"][usize::from(a) % 5];
        let event = ["E0", "E0", "E1", "E1", "D0", "F0", "X0"][usize::from(b) % 7];
        let cores = ["c", "v", "m", "v", ""][usize::from(c) % 5];
        let comm = ["ep", "tp"][usize::from(b) % 2];
        let peer = ["", "peer=1"][usize::from(b) % 2];
        let mut options = String::new();
        if a >= 9 && self.host {
            options += " t=other";
        }
        if c >= 16 && self.host {
            options += &format!(" i={}", c - 16);
        }
        if b >= 10 {
            options += &format!(" d={}", b - 9);
        }
        if (us == 4 || c == 7) && matches!(choice, 0..40 | 88..93) {
            let blocks = ["5/0", "0/9", "3/6", "2/3", "0/4", "7/14"][usize::from(a) % 6];
            let mode = ["", " mode=batch"][usize::from(c) % 2];
            options += &format!(" b={blocks}{mode}");
        }
        let line = match choice {
            0..40 => format!("k {stream} k{index} {us} {cores}"),
            40..44 => format!("c {stream} c{index} {us} block"),
            44..47 => format!("c {stream} c{index} {us}"),
            47..59 => format!("r {stream} {event}"),
            59..71 => format!("w {stream} {event}"),
            71..74 => format!("x {stream} F0"),
            74..78 => format!("nr {stream} N0 {peer}"),
            78..81 => format!("nw {stream} N0"),
            81..85 => format!("vw {stream} B0 {us} {peer}"),
            85..88 => format!("vv {stream} B0 {}", us / 2),
            88..93 => format!("all {stream} a{index} {comm} {us} {cores}"),
            93..95 if self.host => format!("sync {stream}"),
            95..97 if self.host => format!("sync-event {event}"),
            97..98 if self.host => "sync-device".into(),
            98..101 if self.host => format!("host h{index} {us}"),
            101..103 => format!("fn {stream} f{index} {us}"),
            103..107 if self.launches => format!("launch {stream} g"),
            107..109 if self.launches => format!("repeat p {}", us / 2),
            109..114 => return self.group(index, stream, us, c, &options),
            114..119 => return self.super_kernel(index, stream, us, c, &options),
            119.. if index > 12 => format!("fn {stream} f{index} {us} acl"),
            _ => format!("k {stream} k{index} {us} {cores}"),
        };
        format!("{line}{options}\n")
    }

    fn group(&self, index: usize, stream: &str, us: u8, c: u8, options: &str) -> String {
        let cores = ["c", "v", "m", ""][usize::from(c) % 4];
        let after = ["", "after=a", "after=a,b"][usize::from(c) % 3];
        format!(
            "group {stream} g{index}\nk - a {us} {cores}\nk - b {} v\nk - c 1 c {after}\n\
             nr - N0\nend{options}\n",
            us / 2,
        )
    }

    fn super_kernel(&self, index: usize, stream: &str, us: u8, c: u8, options: &str) -> String {
        let fusion = ["", "fusion"][usize::from(c) % 2];
        let after = ["", "after=a"][usize::from(c / 2) % 2];
        format!(
            "super {stream} u{index} {fusion}\nk s0 a {us} c\nk s1 b {} v {after}\nk s0 c 2 v\n\
             end{options}\n",
            us / 2,
        )
    }
}

/// Options with small numbers, so that ties are frequent.
pub(crate) fn options() -> impl Strategy<Value = Options> {
    let us = |most: u64| (0..=most).prop_map(|us| us * 1_000_000);
    let costs = (us(2), us(1), us(3));
    let latencies = (us(1), us(2), us(1), us(1));
    let gaps = (
        us(1),
        prop::collection::vec((0_usize..17, 0_usize..17, us(2)), 0..6),
    );
    (
        0_usize..4,
        (1_u32..8, 1_u32..12),
        costs,
        latencies,
        gaps,
        2_u32..8,
        any::<bool>(),
    )
        .prop_map(
            |(model, (aic, aiv), costs, latencies, (uniform, pairs), depth, deep)| {
                let models = [
                    EngineModel::Exclusive,
                    EngineModel::Unlimited,
                    EngineModel::Shared,
                    EngineModel::Shared,
                ];
                let mut options = Options {
                    engines: models[model],
                    die: Die {
                        cores: [aic, aiv, 2, 2],
                        ..Die::default()
                    },
                    host: HostCosts {
                        launch: costs.0,
                        collective: costs.2,
                        copy: costs.1,
                        signal: costs.1,
                        graph: costs.2,
                        update: 0,
                        synchronise: costs.1,
                    },
                    latencies: Latencies {
                        launch: latencies.0,
                        event: latencies.1,
                        notify: latencies.2,
                        value: latencies.3,
                    },
                    gaps: Gaps::uniform(uniform),
                    ..Options::default()
                };
                for (first, second, ps) in pairs {
                    let kinds = ascsim_sim::TaskKind::ALL;
                    options.gaps.set(kinds[first], kinds[second], ps);
                }
                if !deep {
                    options.limits.queue_tasks = depth;
                }
                options
            },
        )
}
