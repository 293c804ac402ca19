//! A line-by-line notation for small schedules, and their timelines as text.
//!
//! A line is an op: what it is, its stream, its name, its numbers (µs), then `key=value` options.
//!
//! ```text
//! k S name us [c|v|m]    kernel on cube cores, vector cores, both; no cores without a letter
//! c S name us            copy; with `block` as last word a blocking one
//! r S E | w S E | x S E  record, wait, reset of an event; its kind by the first letter of its name:
//!                        E ex, D default, F sync, X external
//! nr S N | nw S N        notify record and wait
//! vw S B value | vv S B value   value write, value wait (geq)
//! all S name comm us [v] AllReduce
//! sync S | sync-event E | sync-device
//! host name us | fn S name us   host work, host function
//! launch S program | repeat program count
//! group S name … end | super S name [fusion] … end   with `after=a,b` on their kernels
//! program name [capture S], ranks first count program, external first count, comm name 0 1 | 2 3
//! ```
//! Options: `t=` thread, `i=` issue µs, `d=` delay µs, `peer=` rank, `b=AIC/AIV` blocks,
//! `mode=batch`, `mb=` megabytes that a kernel reads, `rd=` and `wr=` a buffer of 10 MB that it reads
//! or writes; `pf S name buffer` prefetches one.

use std::collections::BTreeSet;

use ascsim_schedules::flat::Flat;
use ascsim_schedules::{
    Access, AccessMode, Accesses, Buffer, Capture, CaptureMode, Collective, CollectiveKind, Comm,
    Communicator, Compare, CopyDirection, Cores, Delay, DelayCause, Event, EventKind, Expr, Extra,
    GraphLaunch, Group, GroupTask, HostKind, Kernel, Measured, Memcpy, Memory, Notify,
    NotifyRecord, NotifyWait, Op, OpKind, Owner, Peer, Prefetch, Program, Provenance, Range,
    RankGroup, Record, Repeat, Schedule, ScheduleMode, Stream, SuperKernel, SyncTarget, Tags,
    ValueWait, ValueWrite, Wait, Work,
};
use ascsim_sim::Timeline;

/// The schedule that a text notes down.
pub(crate) fn schedule(text: &str) -> Schedule {
    let mut schedule = Schedule::default();
    let mut whole: Option<(Op, bool, bool, Vec<GroupTask>)> = None;
    let mut parts = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line
            .split_whitespace()
            .filter(|w| !w.contains('='))
            .collect();
        let option = |key: &str| {
            let mut options = line.split_whitespace().filter_map(|w| w.split_once('='));
            options.find(|(k, _)| *k == key).map(|(_, value)| value)
        };
        match words[0] {
            "program" => schedule.programs.push(Program {
                name: words[1].into(),
                capture: words.get(3).map(|origin| Capture {
                    origin: (*origin).into(),
                    mode: CaptureMode::default(),
                    size: None,
                    extra: Extra::default(),
                }),
                ops: Vec::new(),
                extra: Extra::default(),
            }),
            "ranks" => schedule
                .ranks
                .push(ranks(words[1], words[2], Some(words[3]))),
            "external" => schedule.ranks.push(ranks(words[1], words[2], None)),
            "comm" => schedule.communicators.push(communicator(&words[1..])),
            "group" | "super" => {
                let mut op = Op::new(words[2], OpKind::Alloc("".into()));
                op.stream = Some(words[1].into());
                let fusion = words.get(3) == Some(&"fusion");
                whole = Some((op, words[0] == "super", fusion, Vec::new()));
            }
            "end" => {
                let (mut op, is_super, stream_fusion, tasks) = whole.take().expect("a group");
                op.kind = if is_super {
                    OpKind::SuperKernel(SuperKernel {
                        name: "scope".into(),
                        parts: tasks,
                        stream_fusion,
                        feed_sync_all: false,
                        extra: Extra::default(),
                    })
                } else {
                    let extra = Extra::default();
                    OpKind::Group(Group { tasks, extra })
                };
                set_options(&mut op, &option);
                push(&mut schedule, op);
            }
            _ => {
                parts += 1;
                let mut op = op(&words, option("peer"), count(&schedule) + parts);
                set_options(&mut op, &option);
                match &mut whole {
                    Some((_, _, _, tasks)) => {
                        let after = option("after")
                            .map_or(Vec::new(), |list| list.split(',').map(Into::into).collect());
                        tasks.push(GroupTask { op, after });
                    }
                    None => push(&mut schedule, op),
                }
            }
        }
    }
    if schedule.ranks.is_empty() {
        let first = schedule.programs[0].name.to_string();
        schedule.ranks.push(ranks("0", "1", Some(&first)));
    }
    declare(&mut schedule);
    schedule
}

fn set_options<'a>(op: &mut Op, option: &dyn Fn(&str) -> Option<&'a str>) {
    if let Some(thread) = option("t") {
        op.thread = thread.into();
    }
    op.issue = option("i").map(us);
    op.duration = option("us").map(us).or(op.duration.take());
    if let Some(mb) = option("mb") {
        let bytes = mb.parse::<f64>().expect("megabytes") * 1e6;
        op.work = Some(Box::new(Work {
            bytes_read: Some(bytes.into()),
            ..Work::default()
        }));
    }
    let access = |name: &str, mode| Access {
        buffer: name.into(),
        mode,
        range: Range::Whole,
        peer: Peer::Own,
        extra: Extra::default(),
    };
    let read = option("rd").map(|name| access(name, AccessMode::Read));
    let write = option("wr").map(|name| access(name, AccessMode::Write));
    if read.is_some() || write.is_some() {
        op.accesses = Accesses::Known(read.into_iter().chain(write).collect());
    }
    if let Some((aic, aiv)) = option("b").and_then(|blocks| blocks.split_once('/')) {
        let mode = match option("mode") {
            Some("batch") => ScheduleMode::Batch,
            _ => ScheduleMode::Normal,
        };
        op.cores = Some(Cores {
            aic: aic.parse().expect("blocks"),
            aiv: aiv.parse().expect("blocks"),
            mode,
            ..Cores::default()
        });
    }
    op.delay = option("d").map(|value| {
        Box::new(Delay {
            ns: ns(value),
            cause: DelayCause::External,
            note: None,
            extra: Extra::default(),
        })
    });
}

fn count(schedule: &Schedule) -> usize {
    schedule
        .programs
        .last()
        .map_or(0, |program| program.ops.len())
}

fn push(schedule: &mut Schedule, op: Op) {
    if schedule.programs.is_empty() {
        schedule.programs.push(Program {
            name: "main".into(),
            capture: None,
            ops: Vec::new(),
            extra: Extra::default(),
        });
    }
    let program = schedule.programs.last_mut().expect("just added");
    program.ops.push(op);
}

fn ranks(first: &str, count: &str, program: Option<&str>) -> RankGroup {
    RankGroup {
        first: first.parse().expect("a rank"),
        count: count.parse().expect("a count"),
        program: program.map(Into::into),
        devices: Vec::new(),
        overrides: Vec::new(),
        extra: Extra::default(),
    }
}

fn communicator(words: &[&str]) -> Communicator {
    let groups = words[1..].split(|word| *word == "|");
    Communicator {
        name: words[0].into(),
        groups: groups
            .map(|group| group.iter().map(|r| r.parse().expect("a rank")).collect())
            .collect(),
        expansion: None,
        buffer_bytes: None,
        deterministic: false,
        extra: Extra::default(),
    }
}

/// µs, with up to three decimals, in ns.
fn ns(us: &str) -> Expr {
    Expr::from(us.parse::<f64>().expect("a number of µs") * 1_000.0)
}

fn us(us: &str) -> Box<Measured> {
    Box::new(Measured::new(ns(us), Provenance::Stated))
}

fn op(words: &[&str], peer: Option<&str>, index: usize) -> Op {
    let extra = Extra::default;
    let peer = peer.map_or(Peer::Own, |rank| Peer::Rank(rank.parse().expect("a rank")));
    let at = |place: usize| words[place];
    let (id, kind, duration): (String, OpKind, Option<&str>) = match words[0] {
        "k" => {
            let kernel = Kernel {
                name: at(2).into(),
                dynamic: false,
                extra: extra(),
            };
            let duration = words.get(3).filter(|us| us.parse::<f64>().is_ok());
            (at(2).into(), OpKind::Kernel(kernel), duration.copied())
        }
        "c" => {
            let copy = Memcpy {
                direction: CopyDirection::DeviceToHost,
                bytes: 8_u32.into(),
                blocking: words.get(4) == Some(&"block"),
                extra: extra(),
            };
            (at(2).into(), OpKind::Copy(copy), Some(at(3)))
        }
        "pf" => {
            let prefetch = Prefetch {
                buffer: at(3).into(),
                offset: 0,
                bytes: 10_000_000_u32.into(),
                extra: extra(),
            };
            (at(2).into(), OpKind::Prefetch(prefetch), None)
        }
        "r" | "x" => {
            let record = Record {
                event: at(2).into(),
                external: false,
                extra: extra(),
            };
            let kind = match words[0] {
                "r" => OpKind::Record(record),
                _ => OpKind::EventReset(record),
            };
            (format!("{}-{}#{index}", words[0], at(2)), kind, None)
        }
        "w" => {
            let wait = Wait {
                event: at(2).into(),
                external: false,
                timeout_s: None,
                extra: extra(),
            };
            (format!("w-{}#{index}", at(2)), OpKind::Wait(wait), None)
        }
        "nr" => {
            let record = NotifyRecord {
                notify: at(2).into(),
                peer,
                extra: extra(),
            };
            (
                format!("nr-{}#{index}", at(2)),
                OpKind::NotifyRecord(record),
                None,
            )
        }
        "nw" => {
            let wait = NotifyWait {
                notify: at(2).into(),
                timeout_s: None,
                extra: extra(),
            };
            (
                format!("nw-{}#{index}", at(2)),
                OpKind::NotifyWait(wait),
                None,
            )
        }
        "vw" => {
            let write = ValueWrite {
                buffer: at(2).into(),
                offset: 0,
                value: at(3).parse().expect("a value"),
                peer,
                extra: extra(),
            };
            (
                format!("vw-{}#{index}", at(2)),
                OpKind::ValueWrite(write),
                None,
            )
        }
        "vv" => {
            let wait = ValueWait {
                buffer: at(2).into(),
                offset: 0,
                value: at(3).parse().expect("a value"),
                compare: Compare::Geq,
                extra: extra(),
            };
            (
                format!("vv-{}#{index}", at(2)),
                OpKind::ValueWait(wait),
                None,
            )
        }
        "all" => (
            at(2).into(),
            OpKind::Collective(Collective::default()),
            Some(at(4)),
        ),
        "sync" => {
            let target = SyncTarget::Stream(at(1).into());
            let kind = OpKind::Host(HostKind::Synchronise(target));
            (format!("sync-{}#{index}", at(1)), kind, None)
        }
        "sync-event" => {
            let target = SyncTarget::Event(at(1).into());
            let kind = OpKind::Host(HostKind::Synchronise(target));
            (format!("sync-{}#{index}", at(1)), kind, None)
        }
        "sync-device" => {
            let kind = OpKind::Host(HostKind::Synchronise(SyncTarget::Device));
            (format!("sync#{index}"), kind, None)
        }
        "host" => (at(1).into(), OpKind::Host(HostKind::Work), Some(at(2))),
        "fn" => {
            let kind = HostKind::Function {
                name: at(2).into(),
                calls_acl: words.get(4) == Some(&"acl"),
            };
            (at(2).into(), OpKind::Host(kind), Some(at(3)))
        }
        "launch" => {
            let launch = GraphLaunch {
                program: at(2).into(),
                extra: extra(),
            };
            (
                format!("{}#{index}", at(2)),
                OpKind::GraphLaunch(launch),
                None,
            )
        }
        "repeat" => {
            let repeat = Repeat {
                program: at(1).into(),
                count: ns_free(at(2)),
                extra: extra(),
            };
            (format!("{}#{index}", at(1)), OpKind::Repeat(repeat), None)
        }
        other => panic!("unknown op {other}"),
    };
    let mut op = Op::new(id, kind);
    let streamless = ["sync", "sync-event", "sync-device", "host", "repeat"];
    if !streamless.contains(&words[0]) && at(1) != "-" {
        op.stream = Some(at(1).into());
    }
    op.duration = duration.map(us);
    let cores = |aic, aiv| Cores {
        aic,
        aiv,
        ..Cores::default()
    };
    op.cores = match *words.last().expect("not empty") {
        "c" => Some(cores(24, 0)),
        "v" => Some(cores(0, 48)),
        "m" => Some(cores(24, 48)),
        _ => None,
    };
    if words[0] == "all" {
        op.comm = Some(Box::new(Comm {
            communicator: at(3).into(),
            kind: CollectiveKind::AllReduce,
            bytes: 8_u32.into(),
            expansion: None,
            peer: None,
            in_place: false,
            dtype: None,
            reduce: None,
            extra: extra(),
        }));
    }
    op
}

fn ns_free(count: &str) -> Expr {
    Expr::from(count.parse::<f64>().expect("a count"))
}

/// An op and its parts.
fn with_parts(op: &Op) -> Vec<&Op> {
    let parts: &[GroupTask] = match &op.kind {
        OpKind::Group(group) => &group.tasks,
        OpKind::SuperKernel(kernel) => &kernel.parts,
        _ => &[],
    };
    let parts = parts.iter().map(|part| &part.op);
    std::iter::once(op).chain(parts).collect()
}

/// Declares every stream, event, notify and buffer that the ops name.
pub(crate) fn declare(schedule: &mut Schedule) {
    let mut streams = BTreeSet::new();
    let mut events = BTreeSet::new();
    let mut notifies = BTreeSet::new();
    let mut buffers = BTreeSet::new();
    let ops = schedule.programs.iter().flat_map(|program| &program.ops);
    for op in ops.flat_map(with_parts) {
        streams.extend(op.stream.clone());
        let accesses = op.accesses.known().iter();
        buffers.extend(accesses.map(|access| access.buffer.clone()));
        match &op.kind {
            OpKind::Record(record) | OpKind::EventReset(record) => {
                events.insert(record.event.clone());
            }
            OpKind::Wait(wait) => {
                events.insert(wait.event.clone());
            }
            OpKind::NotifyRecord(record) => {
                notifies.insert(record.notify.clone());
            }
            OpKind::NotifyWait(wait) => {
                notifies.insert(wait.notify.clone());
            }
            OpKind::ValueWrite(write) => {
                buffers.insert(write.buffer.clone());
            }
            OpKind::ValueWait(wait) => {
                buffers.insert(wait.buffer.clone());
            }
            OpKind::Prefetch(prefetch) => {
                buffers.insert(prefetch.buffer.clone());
            }
            OpKind::Host(HostKind::Synchronise(SyncTarget::Event(event))) => {
                events.insert(event.clone());
            }
            OpKind::Host(HostKind::Synchronise(SyncTarget::Stream(stream))) => {
                streams.insert(stream.clone());
            }
            _ => {}
        }
    }
    schedule.streams = streams
        .into_iter()
        .map(|name| Stream {
            name,
            owner: Owner::Own,
            priority: None,
            core_limit: None,
            extra: Extra::default(),
        })
        .collect();
    schedule.events = events
        .into_iter()
        .map(|name| Event {
            kind: match name.as_str().as_bytes()[0] {
                b'D' => EventKind::Default,
                b'F' => EventKind::Sync,
                b'X' => EventKind::External,
                _ => EventKind::Ex,
            },
            name,
            extra: Extra::default(),
        })
        .collect();
    schedule.notifies = notifies
        .into_iter()
        .map(|name| Notify {
            name,
            extra: Extra::default(),
        })
        .collect();
    schedule.buffers = buffers
        .into_iter()
        .map(|name| Buffer {
            name,
            // Large enough for the L2 tests; words take the first 8 bytes.
            bytes: 10_000_000,
            memory: Memory::Hbm,
            view: None,
            tags: Tags::default(),
            extra: Extra::default(),
        })
        .collect();
}

/// The tasks and host ops of a run, a line each: path, start and end in µs. With several ranks, the
/// rank comes first.
pub(crate) fn print(flat: &Flat<'_>, timeline: &Timeline) -> String {
    let us = |ps: u64| ps as f64 / 1e6;
    let mut text = String::new();
    for id in flat.ids() {
        let at = id.index();
        let rank = match flat.ranks().len() {
            1 => String::new(),
            _ => format!("{} ", flat[id].rank),
        };
        if timeline.end[at] == u64::MAX {
            continue;
        }
        let (start, end) = (us(timeline.start[at]), us(timeline.end[at]));
        let mark = match timeline.was_queued(at as u32) || !flat[id].op.is_device() {
            true => "",
            false => " not queued",
        };
        text += &format!("{rank}{} {start}..{end}{mark}\n", flat.path(id));
    }
    text
}
