//! Random small schedules that can be explored.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::flat::Flat;
use crate::ir::{
    Buffer, Capture, Collective, CollectiveKind, Comm, Communicator, Compare, CopyDirection, Event,
    EventKind, Expr, GraphLaunch, Group, GroupTask, HostKind, Kernel, Limits, Memcpy, Notify,
    NotifyRecord, NotifyWait, Op, OpKind, Peer, Program, RankGroup, Record, Repeat, Schedule,
    Stream, SuperKernel, SyncTarget, ThreadName, ValueWait, ValueWrite, Wait,
};

/// A small schedule with the limits to run it under. Its `Debug` form lists the ops, so that a shrunk
/// counterexample can be read.
#[derive(Clone)]
pub struct Small {
    /// The schedule: up to two ranks, five streams and two threads.
    pub schedule: Schedule,
    /// Limits; queues may take as little as one task.
    pub limits: Limits,
}

impl fmt::Debug for Small {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "queues of {}", self.limits.queue_tasks)?;
        for group in &self.schedule.ranks {
            let program = group
                .program
                .as_ref()
                .map_or("external", |name| name.as_str());
            writeln!(f, "rank {}: {program}", group.first)?;
        }
        for program in &self.schedule.programs {
            for op in &program.ops {
                let stream = op.stream.as_ref().map_or("-", |name| name.as_str());
                let kind = serde_json::to_string(&op.kind).map_err(|_| fmt::Error)?;
                let (program, id, thread) = (&program.name, &op.id, &op.thread);
                writeln!(f, "{program} {id} {thread} {stream} {kind}")?;
            }
        }
        Ok(())
    }
}

/// What may occur in a small schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// No flag events, no value waits, one wait per notify: mostly schedules whose result does not
    /// depend on who is faster.
    Confluent,
    /// Everything.
    Everything,
}

/// Schedules of up to about `ops` ops, which unroll to at most `instances` instances.
pub fn small(fragment: Fragment, ops: usize, instances: usize) -> impl Strategy<Value = Small> {
    let specs = vec(spec(fragment), ops.div_ceil(3)..=ops.max(1));
    let queue = prop_oneof![2 => Just(1_900u32), 1 => 1..=4u32];
    (
        1..=2u32,
        prop_oneof![1 => Just(1usize), 9 => 2..=5usize],
        1..=2usize,
        any::<bool>(),
        queue,
        specs,
    )
        .prop_map(
            move |(ranks, streams, threads, external, queue, mut specs)| {
                let external = external && fragment == Fragment::Everything;
                loop {
                    let shape = Shape {
                        ranks,
                        streams,
                        threads,
                        external,
                        fragment,
                    };
                    let schedule = shape.build(&specs);
                    let fits = Flat::new(&schedule).is_ok_and(|f| f.instances().len() <= instances);
                    if fits || specs.pop().is_none() {
                        let limits = Limits {
                            queue_tasks: queue,
                            ..Limits::default()
                        };
                        return Small { schedule, limits };
                    }
                }
            },
        )
}

/// One op, with numbers that are reduced to what the schedule has.
#[derive(Clone, Debug)]
struct Spec {
    /// Where it is listed: a rank's program, the captured one or the repeated one.
    place: usize,
    thread: usize,
    stream: usize,
    other: usize,
    /// How many specs later the second op of an edge is listed.
    delay: usize,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Kernel,
    Work,
    Function,
    BlockingCopy,
    /// A record, and later a wait on another stream; a flag event is then reset.
    Edge(usize),
    /// A record and a wait of a notify of their own, in either order, perhaps of another rank.
    NotifyEdge,
    /// A write, and later a wait for it.
    ValueEdge(u64),
    Record(usize),
    Wait(usize),
    Sync(usize),
    NotifyRecord(usize),
    NotifyWait(usize),
    Collective,
    LonelyCollective,
    Launch,
    Repeat(u32),
    Group(usize),
    SuperKernel(bool),
    Reset(usize),
    RecordExternal,
    ValueWrite(u64),
    ValueWait(u64, Compare),
}

/// Names and kinds of the events; the confluent fragment uses the first ones.
const EVENTS: [(&str, EventKind); 7] = [
    ("ex0", EventKind::Ex),
    ("ex1", EventKind::Ex),
    ("default", EventKind::Default),
    ("timeline", EventKind::Timeline),
    ("out", EventKind::Ex),
    ("sync", EventKind::Sync),
    ("external", EventKind::External),
];
const CONFLUENT_EVENTS: usize = 5;
const NOTIFIES: usize = 8;

fn spec(fragment: Fragment) -> impl Strategy<Value = Spec> {
    let everything = fragment == Fragment::Everything;
    let events = if everything {
        EVENTS.len()
    } else {
        CONFLUENT_EVENTS
    };
    let what = prop_oneof![
        5 => Just(What::Kernel),
        1 => Just(What::Work),
        1 => Just(What::Function),
        1 => Just(What::BlockingCopy),
        10 => event(events).prop_map(What::Edge),
        4 => Just(What::NotifyEdge),
        2 => event(events).prop_map(What::Record),
        2 => event(events).prop_map(What::Wait),
        3 => (0..6usize).prop_map(What::Sync),
        1 => (0..3usize).prop_map(What::NotifyRecord),
        1 => (0..3usize).prop_map(What::NotifyWait),
        3 => Just(What::Collective),
        1 => Just(What::LonelyCollective),
        3 => Just(What::Launch),
        2 => (0..=2u32).prop_map(What::Repeat),
        1 => (0..8usize).prop_map(What::Group),
        1 => any::<bool>().prop_map(What::SuperKernel),
        // Last, what only one of the fragments has.
        1 => (5..7usize).prop_map(What::Reset),
        1 => Just(What::RecordExternal),
        4 => (5..7usize).prop_map(What::Edge),
        3 => (0..3u64).prop_map(What::ValueEdge),
        2 => (0..3u64).prop_map(What::ValueWrite),
        2 => (0..3u64, compare()).prop_map(|(value, c)| What::ValueWait(value, c)),
    ];
    let place = prop_oneof![6 => 0..2usize, 2 => Just(2usize), 1 => Just(3usize)];
    let numbers = (0..4usize, 0..5usize, 0..5usize, 0..4usize);
    (place, numbers, what).prop_map(move |(place, (thread, stream, other, delay), what)| Spec {
        place,
        thread: thread / 3,
        stream,
        other,
        delay,
        what: match what {
            What::Reset(_) | What::RecordExternal | What::ValueWrite(_) | What::ValueWait(..)
                if !everything =>
            {
                What::Kernel
            }
            What::ValueEdge(_) if !everything => What::NotifyEdge,
            What::Edge(event) if !everything => What::Edge(event % CONFLUENT_EVENTS),
            what => what,
        },
    })
}

/// One of the first `events` events, the first two more often.
fn event(events: usize) -> impl Strategy<Value = usize> {
    (0..events + 6).prop_map(move |event| if event < events { event } else { event % 2 })
}

fn compare() -> impl Strategy<Value = Compare> {
    prop_oneof![
        Just(Compare::Geq),
        Just(Compare::Eq),
        Just(Compare::And),
        Just(Compare::Nor)
    ]
}

struct Shape {
    ranks: u32,
    streams: usize,
    threads: usize,
    external: bool,
    fragment: Fragment,
}

/// The programs: one per rank, the captured one, the repeated one.
const GRAPH: usize = 2;

impl Shape {
    fn build(&self, specs: &[Spec]) -> Schedule {
        let mut programs: [Vec<Op>; 4] = Default::default();
        let mut waited = [false; 3];
        let mut external = false;
        for spec in &self.expand(specs) {
            let place = self.place(spec);
            let more = self.fragment == Fragment::Everything;
            match spec.what {
                // One collective is an op of each rank, on streams of their own.
                What::Collective if place < GRAPH => {
                    for (rank, ops) in programs.iter_mut().enumerate().take(self.ranks as usize) {
                        let stream = if rank == place {
                            spec.stream
                        } else {
                            spec.other
                        };
                        self.push(ops, spec, stream, collective());
                    }
                    continue;
                }
                What::NotifyWait(notify @ 0..=2)
                    if !more
                        && (place >= GRAPH || std::mem::replace(&mut waited[notify], true)) =>
                {
                    continue;
                }
                // In a graph, `out` is for outside; once.
                What::Record(4) | What::Wait(4)
                    if place == GRAPH && std::mem::replace(&mut external, true) =>
                {
                    continue;
                }
                // Graphs do not contain graphs, nor repeats repeats.
                What::Launch if place >= GRAPH => continue,
                What::Repeat(_) if place >= GRAPH => continue,
                _ => {}
            }
            let kind = self.kind(spec, place);
            self.push(&mut programs[place], spec, spec.stream, kind);
        }
        self.schedule(programs)
    }

    /// Edges as the two or three ops that they are.
    fn expand(&self, specs: &[Spec]) -> Vec<Spec> {
        let mut ops: Vec<(usize, Spec)> = Vec::new();
        for (at, spec) in specs.iter().enumerate() {
            let stream = spec.stream % self.streams;
            let elsewhere = stream + 1 + spec.other % self.streams.max(2).saturating_sub(1);
            let op = |what| {
                (
                    at,
                    Spec {
                        what,
                        ..spec.clone()
                    },
                )
            };
            let later = |what| {
                let stream = elsewhere;
                let spec = spec.clone();
                (
                    at + spec.delay,
                    Spec {
                        stream,
                        what,
                        ..spec
                    },
                )
            };
            match spec.what {
                What::Edge(event) => {
                    ops.extend([op(What::Record(event)), later(What::Wait(event))]);
                    if EVENTS[event].1.is_flag() && spec.other % 2 == 0 {
                        ops.push(later(What::Reset(event)));
                    }
                }
                What::ValueEdge(value) => ops.extend([
                    op(What::ValueWrite(value)),
                    later(What::ValueWait(value, Compare::Geq)),
                ]),
                What::NotifyEdge => {
                    let notify = 3 + at % (NOTIFIES - 3);
                    let mut pair = [
                        op(What::NotifyRecord(notify)),
                        later(What::NotifyWait(notify)),
                    ];
                    // It is recorded for the rank that waits.
                    if self.place(spec) < GRAPH {
                        pair[1].1.place = spec.other % self.ranks as usize;
                    }
                    if spec.delay % 2 == 1 {
                        let [record, wait] = &mut pair;
                        std::mem::swap(&mut record.0, &mut wait.0);
                    }
                    ops.extend(pair);
                }
                _ => ops.push((at, spec.clone())),
            }
        }
        ops.sort_by_key(|(at, _)| *at);
        ops.into_iter().map(|(_, spec)| spec).collect()
    }

    fn place(&self, spec: &Spec) -> usize {
        match spec.place {
            rank @ 0..=1 => rank % self.ranks as usize,
            place => place,
        }
    }

    fn push(&self, ops: &mut Vec<Op>, spec: &Spec, stream: usize, kind: OpKind) {
        let mut op = Op::new(format!("op{}", ops.len()), kind);
        op.thread = match spec.thread % self.threads {
            0 => ThreadName::main(),
            _ => "second".into(),
        };
        let host_only = matches!(
            op.kind,
            OpKind::Host(HostKind::Work | HostKind::Synchronise(_)) | OpKind::Repeat(_)
        );
        if !host_only {
            op.stream = Some(self.stream(stream));
        }
        if let OpKind::Collective(_) = op.kind {
            op.comm = Some(Box::new(Comm {
                communicator: "all".into(),
                kind: CollectiveKind::AllReduce,
                bytes: 8u32.into(),
                expansion: None,
                peer: None,
                in_place: false,
                dtype: None,
                reduce: None,
                extra: Default::default(),
            }));
        }
        ops.push(op);
    }

    fn stream(&self, stream: usize) -> crate::ir::StreamName {
        format!("s{}", stream % self.streams).into()
    }

    fn kind(&self, spec: &Spec, place: usize) -> OpKind {
        let record = |event: usize| Record {
            event: EVENTS[event].0.into(),
            external: event == 4 && place == GRAPH,
            extra: Default::default(),
        };
        let peer = match spec.other as u32 % self.ranks {
            _ if place >= GRAPH => Peer::Own,
            rank if rank == place as u32 => Peer::Own,
            rank => Peer::Rank(rank),
        };
        match spec.what {
            // Edges have been expanded.
            What::Kernel | What::Edge(_) | What::NotifyEdge | What::ValueEdge(_) => kernel(),
            What::Work => OpKind::Host(HostKind::Work),
            What::Function => OpKind::Host(HostKind::Function {
                name: "f".into(),
                calls_acl: false,
            }),
            What::BlockingCopy => OpKind::Copy(Memcpy {
                direction: CopyDirection::HostToDevice,
                bytes: 8u32.into(),
                blocking: true,
                extra: Default::default(),
            }),
            What::Record(event) => OpKind::Record(record(event)),
            What::Reset(event) => OpKind::EventReset(record(event)),
            What::Wait(event) => OpKind::Wait(Wait {
                event: EVENTS[event].0.into(),
                external: event == 4 && place == GRAPH,
                timeout_s: None,
                extra: Default::default(),
            }),
            What::Sync(target) => OpKind::Host(HostKind::Synchronise(match target {
                0..=1 => SyncTarget::Stream(self.stream(spec.stream)),
                2 => SyncTarget::Device,
                event => {
                    let known = match self.fragment {
                        Fragment::Confluent => CONFLUENT_EVENTS,
                        Fragment::Everything => EVENTS.len(),
                    };
                    SyncTarget::Event(EVENTS[(event + spec.other) % known].0.into())
                }
            })),
            What::RecordExternal => OpKind::Host(HostKind::RecordExternal {
                event: "external".into(),
            }),
            What::NotifyRecord(notify) => OpKind::NotifyRecord(NotifyRecord {
                notify: format!("n{notify}").into(),
                peer,
                extra: Default::default(),
            }),
            What::NotifyWait(notify) => OpKind::NotifyWait(NotifyWait {
                notify: format!("n{notify}").into(),
                timeout_s: None,
                extra: Default::default(),
            }),
            What::Collective | What::LonelyCollective => collective(),
            What::Launch => OpKind::GraphLaunch(GraphLaunch {
                program: "graph".into(),
                extra: Default::default(),
            }),
            What::Repeat(count) => OpKind::Repeat(Repeat {
                program: "loop".into(),
                count: Expr::from(count),
                extra: Default::default(),
            }),
            What::Group(after) => OpKind::Group(Group {
                tasks: self.parts(after, false),
                extra: Default::default(),
            }),
            What::SuperKernel(stream_fusion) => OpKind::SuperKernel(SuperKernel {
                name: "sk".into(),
                parts: self.parts(spec.other, true),
                stream_fusion,
                feed_sync_all: false,
                extra: Default::default(),
            }),
            What::ValueWrite(value) => OpKind::ValueWrite(ValueWrite {
                buffer: "words".into(),
                offset: 0,
                value,
                peer,
                extra: Default::default(),
            }),
            What::ValueWait(value, compare) => OpKind::ValueWait(ValueWait {
                buffer: "words".into(),
                offset: 0,
                value,
                compare,
                extra: Default::default(),
            }),
        }
    }

    /// Three parts: which of the earlier ones each comes after is in the bits of `after`.
    fn parts(&self, after: usize, streams: bool) -> Vec<GroupTask> {
        let part = |at: usize| {
            let mut op = Op::new(format!("part{at}"), kernel());
            if streams {
                op.stream = Some(self.stream((after >> at) & 1));
            }
            let bits = [0, after & 1, after >> 1][at];
            GroupTask {
                op,
                after: (0..at)
                    .filter(|before| bits & (1 << before) != 0)
                    .map(|before| format!("part{before}").into())
                    .collect(),
            }
        };
        (0..3).map(part).collect()
    }

    fn schedule(&self, programs: [Vec<Op>; 4]) -> Schedule {
        let names = ["rank0", "rank1", "graph", "loop"];
        let all = self.ranks + u32::from(self.external);
        let mut schedule = Schedule {
            name: "small".into(),
            buffers: vec![Buffer {
                name: "words".into(),
                bytes: 8,
                memory: Default::default(),
                view: None,
                tags: Default::default(),
                extra: Default::default(),
            }],
            streams: (0..self.streams)
                .map(|stream| Stream {
                    name: self.stream(stream),
                    owner: Default::default(),
                    priority: None,
                    core_limit: None,
                    extra: Default::default(),
                })
                .collect(),
            events: EVENTS
                .iter()
                .map(|&(name, kind)| Event {
                    name: name.into(),
                    kind,
                    extra: Default::default(),
                })
                .collect(),
            notifies: (0..NOTIFIES)
                .map(|notify| Notify {
                    name: format!("n{notify}").into(),
                    extra: Default::default(),
                })
                .collect(),
            communicators: vec![Communicator {
                name: "all".into(),
                groups: vec![(0..all).collect()],
                expansion: None,
                buffer_bytes: None,
                deterministic: false,
                extra: Default::default(),
            }],
            ..Schedule::default()
        };
        for (at, ops) in programs.into_iter().enumerate() {
            let capture = (at == GRAPH).then(|| Capture {
                origin: self.stream(0),
                mode: Default::default(),
                size: None,
                extra: Default::default(),
            });
            schedule.programs.push(Program {
                name: names[at].into(),
                capture,
                ops,
                extra: Default::default(),
            });
        }
        for rank in 0..all {
            schedule.ranks.push(RankGroup {
                first: rank,
                count: 1,
                program: (rank < self.ranks).then(|| names[rank as usize].into()),
                devices: Vec::new(),
                overrides: Vec::new(),
                extra: Default::default(),
            });
        }
        schedule
    }
}

fn kernel() -> OpKind {
    OpKind::Kernel(Kernel {
        name: "K".into(),
        dynamic: false,
        extra: Default::default(),
    })
}

fn collective() -> OpKind {
    OpKind::Collective(Collective::default())
}
