//! Random schedules on two ranks that are ordered by construction: before an op that conflicts with
//! an earlier one, a signal goes from the stream of the earlier to that of the later, unless they are
//! ordered already. So a serial run in the order of generation is a reference.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ascsim_schedules::{
    Access, AccessMode, Accesses, Argument, Buffer, Collective, CollectiveKind, Comm, Communicator,
    Compare, CopyDirection, Cores, Event, EventKind, Expr, Extra, HostKind, Kernel, Launch,
    Measured, Memcpy, Memory, Notify, NotifyRecord, NotifyWait, Op, OpKind, Peer, Program,
    Provenance, Range, RankGroup, Record, Schedule, ScheduleMode, Stream, SyncTarget, ValueWait,
    ValueWrite, Wait,
};

/// Bytes of every buffer.
pub(crate) const BYTES: usize = 64;
const BUFFERS: u32 = 4;
const STREAMS: usize = 3;

/// What each byte of the kernel's output becomes.
pub(crate) fn mixed(out: u8, from: u8, k: u64) -> u8 {
    out.wrapping_mul(31)
        .wrapping_add(from)
        .wrapping_add(k.to_le_bytes()[0])
}

/// Buffers by rank and name.
pub(crate) type Bytes = BTreeMap<(u32, String), Vec<u8>>;

/// The kernel binary that generated schedules launch.
static BINARY: LazyLock<String> = LazyLock::new(|| {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("mix.kernels");
    std::fs::write(&path, "ascsim-kernels 1\nmix engine=vector host=mix\n").expect("a file");
    path.to_str().expect("the path is text").to_owned()
});

/// How streams of a rank are ordered; across ranks it is by notifies and words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signals {
    /// Only by what a graph can hold.
    Capturable,
    /// By tasks of every kind.
    Queued,
    /// By the host, too.
    All,
}

impl Signals {
    fn kinds(self) -> u32 {
        match self {
            Self::Capturable => 3,
            Self::Queued => 5,
            Self::All => 6,
        }
    }
}

/// What an op does to memory.
#[derive(Clone, Debug)]
enum Effect {
    Mix {
        out: (u32, u32),
        from: (u32, u32),
        k: u64,
    },
    Copy {
        to: (u32, u32),
        from: (u32, u32),
    },
    AllReduce {
        send: u32,
        receive: u32,
    },
}

/// How many ops of each stream are known to be done.
type Clock = BTreeMap<(u32, usize), usize>;

/// Stream and number there of an op that accessed a buffer, and whether it wrote.
type Touch = ((u32, usize), usize, bool);

/// An op whose order is checked.
#[derive(Debug)]
struct Node {
    id: String,
    at: (u32, usize),
    index: usize,
    before: Clock,
}

/// A generated schedule with its reference.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) schedule: Schedule,
    effects: Vec<Effect>,
    nodes: Vec<Node>,
    ops: [Vec<Op>; 2],
    clocks: BTreeMap<(u32, usize), Clock>,
    /// By buffer, who accessed it.
    accesses: BTreeMap<(u32, u32), Vec<Touch>>,
    signals: Signals,
    next: u32,
}

fn buffer(index: u32) -> String {
    format!("b{index}")
}

fn access(index: u32, mode: AccessMode, peer: Peer) -> Access {
    let buffer = buffer(index).into();
    Access {
        buffer,
        mode,
        range: Range::Whole,
        peer,
        extra: Extra::default(),
    }
}

impl Case {
    /// Makes a schedule from random numbers, six for each op.
    pub(crate) fn new(choices: &[u32], signals: Signals) -> Self {
        let mut case = Self {
            schedule: Schedule {
                name: "random".into(),
                ..Schedule::default()
            },
            effects: Vec::new(),
            nodes: Vec::new(),
            ops: Default::default(),
            clocks: BTreeMap::new(),
            accesses: BTreeMap::new(),
            signals,
            next: 0,
        };
        for index in 0..BUFFERS {
            case.declare_buffer(buffer(index), BYTES as u64, Memory::Hbm);
        }
        for index in 0..STREAMS {
            case.schedule.streams.push(Stream {
                name: format!("s{index}").into(),
                owner: Default::default(),
                priority: None,
                core_limit: None,
                extra: Extra::default(),
            });
        }
        case.schedule.communicators.push(Communicator {
            name: "all".into(),
            groups: vec![vec![0, 1]],
            expansion: None,
            buffer_bytes: None,
            deterministic: false,
            extra: Extra::default(),
        });
        for choice in choices.chunks_exact(6) {
            case.add(choice);
        }
        for (rank, ops) in (0..).zip(std::mem::take(&mut case.ops)) {
            let name = format!("p{rank}");
            case.schedule.programs.push(Program {
                name: name.as_str().into(),
                capture: None,
                ops,
                extra: Extra::default(),
            });
            case.schedule.ranks.push(RankGroup {
                first: rank,
                count: 1,
                program: Some(name.into()),
                devices: Vec::new(),
                overrides: Vec::new(),
                extra: Extra::default(),
            });
        }
        case
    }

    fn declare_buffer(&mut self, name: String, bytes: u64, memory: Memory) {
        self.schedule.buffers.push(Buffer {
            name: name.into(),
            bytes,
            memory,
            view: None,
            tags: Default::default(),
            extra: Extra::default(),
        });
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn push(&mut self, at: (u32, usize), kind: OpKind) -> &mut Op {
        let id = self.fresh("o");
        let mut op = Op::new(id, kind);
        op.stream = Some(format!("s{}", at.1).into());
        let ops = &mut self.ops[at.0 as usize];
        ops.push(op);
        ops.last_mut().expect("just pushed")
    }

    /// Signals from the end of stream `from` to stream `to`.
    fn signal(&mut self, from: (u32, usize), to: (u32, usize), how: u32) {
        let peer = if from.0 == to.0 {
            Peer::Own
        } else {
            Peer::Rank(to.0)
        };
        let same_rank = from.0 == to.0;
        match how % self.signals.kinds() {
            0 if same_rank => self.event(from, to, EventKind::Ex),
            3 if same_rank => self.event(from, to, EventKind::Default),
            4 if same_rank => self.event(from, to, EventKind::Sync),
            5 if same_rank => {
                // By the host.
                let target = SyncTarget::Stream(format!("s{}", from.1).into());
                self.push(to, OpKind::Host(HostKind::Synchronise(target)))
                    .stream = None;
                // Everything that the rank issues from now on comes later.
                for stream in 0..STREAMS {
                    self.learn(from, (to.0, stream));
                }
            }
            1 => {
                let buffer = self.fresh("w");
                self.declare_buffer(buffer.clone(), 8, Memory::Hbm);
                let write = |value, peer| {
                    OpKind::ValueWrite(ValueWrite {
                        buffer: buffer.as_str().into(),
                        offset: 0,
                        value,
                        peer,
                        extra: Extra::default(),
                    })
                };
                self.push(from, write(7, peer));
                self.push(
                    to,
                    OpKind::ValueWait(ValueWait {
                        buffer: buffer.as_str().into(),
                        offset: 0,
                        value: 7,
                        compare: Compare::Eq,
                        extra: Extra::default(),
                    }),
                );
                // For the next step.
                self.push(to, write(0, Peer::Own));
            }
            _ => {
                let name = self.fresh("n");
                let extra = Extra::default();
                self.schedule.notifies.push(Notify {
                    name: name.as_str().into(),
                    extra,
                });
                let notify = name.as_str().into();
                let extra = Extra::default();
                self.push(
                    from,
                    OpKind::NotifyRecord(NotifyRecord {
                        notify,
                        peer,
                        extra,
                    }),
                );
                let (notify, extra) = (name.into(), Extra::default());
                self.push(
                    to,
                    OpKind::NotifyWait(NotifyWait {
                        notify,
                        timeout_s: None,
                        extra,
                    }),
                );
            }
        }
        self.learn(from, to);
    }

    fn event(&mut self, from: (u32, usize), to: (u32, usize), kind: EventKind) {
        let name = self.fresh("e");
        self.schedule.events.push(Event {
            name: name.as_str().into(),
            kind,
            extra: Extra::default(),
        });
        let record = || Record {
            event: name.as_str().into(),
            external: false,
            extra: Extra::default(),
        };
        self.push(from, OpKind::Record(record()));
        let event = name.as_str().into();
        let extra = Extra::default();
        self.push(
            to,
            OpKind::Wait(Wait {
                event,
                external: false,
                timeout_s: None,
                extra,
            }),
        );
        if kind.is_flag() {
            self.push(to, OpKind::EventReset(record()));
        }
    }

    fn learn(&mut self, from: (u32, usize), to: (u32, usize)) {
        let known = self.clocks.entry(from).or_default().clone();
        let own = self.clocks.entry(to).or_default();
        for (stream, count) in known {
            let have = own.entry(stream).or_default();
            *have = count.max(*have);
        }
    }

    /// Orders an op on `at` after what it conflicts with, and notes it.
    fn order(&mut self, at: (u32, usize), touches: &[((u32, u32), bool)], how: u32) {
        for (place, writes) in touches {
            for (stream, index, wrote) in self.accesses.entry(*place).or_default().clone() {
                let known = self
                    .clocks
                    .entry(at)
                    .or_default()
                    .get(&stream)
                    .copied()
                    .unwrap_or(0);
                if (wrote || *writes) && stream != at && known < index {
                    self.signal(stream, at, how);
                }
            }
        }
    }

    fn note(&mut self, at: (u32, usize), touches: &[((u32, u32), bool)], id: String) {
        let clock = self.clocks.entry(at).or_default();
        let before = clock.clone();
        let index = clock.get(&at).copied().unwrap_or(0) + 1;
        clock.insert(at, index);
        for (place, writes) in touches {
            self.accesses
                .entry(*place)
                .or_default()
                .push((at, index, *writes));
        }
        self.nodes.push(Node {
            id,
            at,
            index,
            before,
        });
    }

    fn add(&mut self, choice: &[u32]) {
        let [what, rank, stream, a, b, time] = choice else {
            return;
        };
        let (rank, stream) = (rank % 2, *stream as usize % STREAMS);
        let at = (rank, stream);
        let (a, b) = (a % BUFFERS, b % BUFFERS);
        // Numbers of many bits for what is chosen from each.
        let (how, duration) = (time / 7_001, i64::from(time % 3_001));
        let duration = || {
            Some(Box::new(Measured::new(
                Expr::Int(duration),
                Provenance::Stated,
            )))
        };
        match what % 8 {
            0 if a != b => {
                let others = (1 - rank, *stream_of(time));
                self.order(at, &[((rank, a), false), ((rank, b), true)], how);
                self.order(
                    others,
                    &[((1 - rank, a), false), ((1 - rank, b), true)],
                    how + 1,
                );
                for at in [at, others] {
                    let op = self.push(at, OpKind::Collective(Collective::default()));
                    op.comm = Some(Box::new(Comm {
                        communicator: "all".into(),
                        kind: CollectiveKind::AllReduce,
                        bytes: Expr::Int(BYTES as i64),
                        expansion: None,
                        peer: None,
                        in_place: false,
                        dtype: Some("int32".into()),
                        reduce: None,
                        extra: Extra::default(),
                    }));
                    op.accesses = Accesses::Known(vec![
                        access(a, AccessMode::Read, Peer::Own),
                        access(b, AccessMode::Write, Peer::Own),
                    ]);
                    op.duration = duration();
                    let id = op.id.to_string();
                    self.note(at, &[((at.0, a), false), ((at.0, b), true)], id);
                }
                // Each ends after all that came before the other.
                let before: Vec<Clock> = self
                    .nodes
                    .iter()
                    .rev()
                    .take(2)
                    .map(|node| node.before.clone())
                    .collect();
                for at in [at, others] {
                    let own = self.clocks.entry(at).or_default();
                    for (stream, count) in before.iter().flatten() {
                        let have = own.entry(*stream).or_default();
                        *have = (*count).max(*have);
                    }
                }
                self.effects.push(Effect::AllReduce {
                    send: a,
                    receive: b,
                });
            }
            1 | 2 => {
                let owner = if what % 8 == 1 { rank } else { 1 - rank };
                if (owner, a) == (rank, b) {
                    return;
                }
                let touches = [((owner, a), false), ((rank, b), true)];
                self.order(at, &touches, how);
                let direction = match owner == rank {
                    true => CopyDirection::DeviceToDevice,
                    false => CopyDirection::Peer,
                };
                let bytes = Expr::Int(BYTES as i64);
                let extra = Extra::default();
                let op = self.push(
                    at,
                    OpKind::Copy(Memcpy {
                        direction,
                        bytes,
                        blocking: false,
                        extra,
                    }),
                );
                let peer = if owner == rank {
                    Peer::Own
                } else {
                    Peer::Rank(owner)
                };
                op.accesses = Accesses::Known(vec![
                    access(a, AccessMode::Read, peer),
                    access(b, AccessMode::Write, Peer::Own),
                ]);
                op.duration = duration();
                let id = op.id.to_string();
                self.note(at, &touches, id);
                self.effects.push(Effect::Copy {
                    to: (rank, b),
                    from: (owner, a),
                });
            }
            _ => {
                let touches = [((rank, a), true), ((rank, b), false)];
                self.order(at, &touches, how);
                let kernel = Kernel {
                    name: "Mix".into(),
                    dynamic: false,
                    extra: Extra::default(),
                };
                let op = self.push(at, OpKind::Kernel(kernel));
                op.cores = Some(Cores {
                    aiv: 1 + how % 48,
                    mode: if how % 2 == 0 {
                        ScheduleMode::Normal
                    } else {
                        ScheduleMode::Batch
                    },
                    ..Cores::default()
                });
                op.accesses = Accesses::Known(vec![
                    access(a, AccessMode::ReadWrite, Peer::Own),
                    access(b, AccessMode::Read, Peer::Own),
                ]);
                op.launch = Some(Box::new(Launch::Kernel {
                    binary: BINARY.clone(),
                    function: "mix".into(),
                    arguments: vec![
                        Argument::Buffer(buffer(a).into()),
                        Argument::Buffer(buffer(b).into()),
                        Argument::Int(i64::from(*time)),
                    ],
                    extra: Extra::default(),
                }));
                op.duration = duration();
                let id = op.id.to_string();
                self.note(at, &touches, id);
                let k = u64::from(*time);
                self.effects.push(Effect::Mix {
                    out: (rank, a),
                    from: (rank, b),
                    k,
                });
            }
        }
    }

    /// What the buffers hold at first.
    pub(crate) fn initial(&self) -> Bytes {
        let mut bytes = Bytes::new();
        for rank in 0..2_u8 {
            for index in 0..BUFFERS {
                let start = rank * 100 + index.to_le_bytes()[0] * 17;
                let values = (0..64).map(|at| start.wrapping_add(at)).collect();
                bytes.insert((u32::from(rank), buffer(index)), values);
            }
        }
        bytes
    }

    /// The reference: one op after the other.
    pub(crate) fn run_serially(&self, memory: &mut Bytes) {
        for effect in &self.effects {
            match effect {
                Effect::Mix { out, from, k } => {
                    let from = memory[&(from.0, buffer(from.1))].clone();
                    let out = memory.get_mut(&(out.0, buffer(out.1))).expect("declared");
                    for (out, from) in out.iter_mut().zip(from) {
                        *out = mixed(*out, from, *k);
                    }
                }
                Effect::Copy { to, from } => {
                    let from = memory[&(from.0, buffer(from.1))].clone();
                    memory.insert((to.0, buffer(to.1)), from);
                }
                Effect::AllReduce { send, receive } => {
                    let parts = [0, 1].map(|rank| memory[&(rank, buffer(*send))].clone());
                    let word = |bytes: &[u8]| i32::from_ne_bytes(bytes.try_into().expect("four"));
                    let sum: Vec<u8> = parts[0]
                        .chunks(4)
                        .zip(parts[1].chunks(4))
                        .flat_map(|(a, b)| word(a).wrapping_add(word(b)).to_ne_bytes())
                        .collect();
                    for rank in 0..2 {
                        memory.insert((rank, buffer(*receive)), sum.clone());
                    }
                }
            }
        }
    }

    /// Pairs of ops of which the first is done before the second starts, by their ids.
    pub(crate) fn ordered_pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.nodes.iter().flat_map(move |second| {
            let before = move |first: &&Node| {
                second.before.get(&first.at).copied().unwrap_or(0) >= first.index
            };
            self.nodes
                .iter()
                .filter(before)
                .map(|first| (first.id.as_str(), second.id.as_str()))
        })
    }

    /// The id of a kernel.
    pub(crate) fn kernel(&self) -> String {
        let mut ops = self
            .schedule
            .programs
            .iter()
            .flat_map(|program| &program.ops);
        let kernel = ops.find(|op| matches!(op.kind, OpKind::Kernel(_)));
        kernel.expect("the case has a kernel").id.to_string()
    }
}

/// The stream of the other rank's member of a collective.
fn stream_of(time: &u32) -> &'static usize {
    &[0, 1, 2][*time as usize % STREAMS]
}
