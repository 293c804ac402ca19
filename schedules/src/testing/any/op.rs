//! Random ops.

use super::declare::{Declared, expansion, tags};
use super::{Choices, expr};
use crate::ir::{
    Access, AccessMode, Accesses, Argument, Buffer, BufferName, Collective, CollectiveKind, Comm,
    Compare, CopyDirection, Cores, Group, GroupTask, HostKind, Kernel, Launch, Memcpy, Memory,
    NotifyRecord, NotifyWait, Op, OpKind, Peer, Prefetch, Range, Record, ScheduleMode, SuperKernel,
    SyncTarget, ValueWait, ValueWrite, Wait,
};
use crate::validate::MOST_AMOUNT;

/// Any op that runs no program; `at` makes its id unique.
pub(super) fn any(choices: &mut Choices, declared: &Declared, at: usize) -> Op {
    let kind = match choices.below(16) {
        8 => OpKind::Record(record(choices, declared)),
        9 => OpKind::Wait(Wait {
            event: choices.pick(&declared.events).name.clone(),
            external: choices.flag(),
            timeout_s: choices.maybe(|choices| choices.below(100) as u32),
            extra: choices.extra(),
        }),
        10 => OpKind::EventReset(record(choices, declared)),
        11 => OpKind::SuperKernel(SuperKernel {
            name: choices.text().into(),
            parts: tasks(choices, declared),
            stream_fusion: choices.flag(),
            feed_sync_all: choices.flag(),
            extra: choices.extra(),
        }),
        12 => OpKind::Group(Group {
            tasks: tasks(choices, declared),
            extra: choices.extra(),
        }),
        13 => OpKind::Host(host(choices, declared)),
        14 => {
            let name = root(choices, declared);
            match choices.below(3) {
                0 => OpKind::Alloc(name),
                1 => OpKind::Free(name),
                _ => OpKind::StreamUse(name),
            }
        }
        _ => task_kind(choices, declared),
    };
    with_kind(choices, declared, at, kind)
}

/// An op of `kind` with any other fields that go with it.
pub(super) fn with_kind(choices: &mut Choices, declared: &Declared, at: usize, kind: OpKind) -> Op {
    let mut op = Op::new(choices.name("op", at), kind);
    if choices.flag() {
        op.thread = choices.name("t", 0).into();
    }
    let uses_stream = matches!(op.kind, OpKind::Alloc(_) | OpKind::StreamUse(_));
    if op.is_device() || uses_stream {
        op.stream = Some(choices.pick(&declared.streams).name.clone());
    }
    fields(choices, declared, &mut op);
    op
}

/// Sets the fields that ops and tasks share.
fn fields(choices: &mut Choices, declared: &Declared, op: &mut Op) {
    let collective = matches!(op.kind, OpKind::Collective(_));
    if collective || (matches!(op.kind, OpKind::Kernel(_)) && choices.below(4) == 3) {
        op.comm = Some(Box::new(comm(choices, declared)));
    }
    if op.is_device() {
        op.cores = choices.maybe(cores);
        op.launch = choices.maybe(|choices| Box::new(launch(choices, declared)));
    }
    if choices.flag() {
        let list = (0..choices.below(4)).map(|_| access(choices, declared));
        op.accesses = Accesses::Known(list.collect());
    }
    op.work = choices.maybe(|choices| Box::new(expr::work(choices, declared)));
    op.duration = choices.maybe(|choices| Box::new(expr::measured(choices, declared)));
    op.issue = choices.maybe(|choices| Box::new(expr::measured(choices, declared)));
    op.delay = choices.maybe(|choices| Box::new(expr::delay(choices, declared)));
    op.tags = tags(choices);
    op.extra = choices.extra();
}

fn tasks(choices: &mut Choices, declared: &Declared) -> Vec<GroupTask> {
    let mut tasks: Vec<GroupTask> = Vec::new();
    for at in 0..=choices.below(3) {
        let kind = task_kind(choices, declared);
        let mut op = Op::new(choices.name("task", at), kind);
        op.stream = choices.maybe(|choices| choices.pick(&declared.streams).name.clone());
        fields(choices, declared, &mut op);
        let earlier = tasks.iter().map(|task| &task.op.id);
        let after = earlier.filter(|_| choices.flag()).cloned().collect();
        tasks.push(GroupTask { op, after });
    }
    tasks
}

/// A kind that a task of a group may be.
fn task_kind(choices: &mut Choices, declared: &Declared) -> OpKind {
    match choices.below(8) {
        1 => OpKind::Copy(Memcpy {
            direction: *choices.pick(&[
                CopyDirection::HostToDevice,
                CopyDirection::DeviceToHost,
                CopyDirection::DeviceToDevice,
                CopyDirection::Peer,
            ]),
            bytes: expr::amount(choices, declared, MOST_AMOUNT),
            blocking: choices.flag(),
            extra: choices.extra(),
        }),
        2 => OpKind::Prefetch(prefetch(choices, declared)),
        3 => OpKind::Collective(Collective {
            extra: choices.extra(),
        }),
        4 => OpKind::NotifyRecord(NotifyRecord {
            notify: choices.pick(&declared.notifies).name.clone(),
            peer: peer(choices, declared),
            extra: choices.extra(),
        }),
        5 => OpKind::NotifyWait(NotifyWait {
            notify: choices.pick(&declared.notifies).name.clone(),
            timeout_s: choices.maybe(|choices| choices.below(100) as u32),
            extra: choices.extra(),
        }),
        6 => {
            let (buffer, offset) = word(choices, declared);
            OpKind::ValueWrite(ValueWrite {
                buffer,
                offset,
                value: choices.natural(),
                peer: peer(choices, declared),
                extra: choices.extra(),
            })
        }
        7 => {
            let (buffer, offset) = word(choices, declared);
            let compares = [Compare::Geq, Compare::Eq, Compare::And, Compare::Nor];
            OpKind::ValueWait(ValueWait {
                buffer,
                offset,
                value: choices.natural(),
                compare: *choices.pick(&compares),
                extra: choices.extra(),
            })
        }
        _ => OpKind::Kernel(Kernel {
            name: choices.text().into(),
            dynamic: choices.flag(),
            extra: choices.extra(),
        }),
    }
}

fn record(choices: &mut Choices, declared: &Declared) -> Record {
    Record {
        event: choices.pick(&declared.events).name.clone(),
        external: choices.flag(),
        extra: choices.extra(),
    }
}

fn host(choices: &mut Choices, declared: &Declared) -> HostKind {
    let event = |choices: &mut Choices| choices.pick(&declared.events).name.clone();
    match choices.below(7) {
        0 => HostKind::Work,
        1 => HostKind::Think,
        2 => HostKind::Synchronise(SyncTarget::Device),
        3 => HostKind::Synchronise(SyncTarget::Event(event(choices))),
        4 => {
            let stream = choices.pick(&declared.streams).name.clone();
            HostKind::Synchronise(SyncTarget::Stream(stream))
        }
        5 => HostKind::RecordExternal {
            event: declared.events[declared.events.len() - 1].name.clone(),
        },
        _ => HostKind::Function {
            name: choices.text().into(),
            calls_acl: choices.flag(),
        },
    }
}

fn prefetch(choices: &mut Choices, declared: &Declared) -> Prefetch {
    let buffer = choices.pick(&declared.buffers);
    let offset = offset(choices, buffer);
    // A whole number as it rounds up, and small enough to be exact.
    let most = (buffer.bytes - offset).min(1 << 50);
    Prefetch {
        buffer: buffer.name.clone(),
        offset,
        bytes: expr::amount(choices, declared, most as f64),
        extra: choices.extra(),
    }
}

fn offset(choices: &mut Choices, buffer: &Buffer) -> u64 {
    choices.natural() % buffer.bytes.max(1)
}

/// An aligned word in HBM.
fn word(choices: &mut Choices, declared: &Declared) -> (BufferName, u64) {
    let start = |at: usize| (8 - declared.origins[at] % 8) % 8;
    let fits = |at: &usize| {
        let buffer = &declared.buffers[*at];
        buffer.memory == Memory::Hbm && buffer.bytes >= start(*at).saturating_add(8)
    };
    let all: Vec<usize> = (0..declared.buffers.len()).filter(fits).collect();
    let at = *choices.pick(&all);
    let buffer = &declared.buffers[at];
    let words = (buffer.bytes - start(at)) / 8;
    let offset = start(at) + choices.natural() % words * 8;
    (buffer.name.clone(), offset)
}

fn root(choices: &mut Choices, declared: &Declared) -> BufferName {
    let is_root = |buffer: &&Buffer| buffer.view.is_none();
    let roots: Vec<&Buffer> = declared.buffers.iter().filter(is_root).collect();
    choices.pick(&roots).name.clone()
}

pub(super) fn peer(choices: &mut Choices, declared: &Declared) -> Peer {
    match choices.below(3) {
        0 => Peer::Own,
        1 => Peer::Rank(choices.below(declared.ranks as usize) as u32),
        _ => Peer::Member {
            communicator: choices.pick(&declared.communicators).name.clone(),
            offset: choices.below(7) as i32 - 3,
        },
    }
}

fn access(choices: &mut Choices, declared: &Declared) -> Access {
    let buffer = choices.pick(&declared.buffers);
    let range = match choices.below(3) {
        0 => Range::Whole,
        1 => Range::Any,
        _ => {
            let offset = offset(choices, buffer);
            let length = choices.natural() % (buffer.bytes - offset).max(1);
            Range::Bytes(offset, length)
        }
    };
    Access {
        buffer: buffer.name.clone(),
        mode: *choices.pick(&[
            AccessMode::Read,
            AccessMode::Write,
            AccessMode::ReadWrite,
            AccessMode::Accumulate,
        ]),
        range,
        peer: peer(choices, declared),
        extra: choices.extra(),
    }
}

fn cores(choices: &mut Choices) -> Cores {
    Cores {
        aic: choices.below(25) as u32,
        aiv: choices.below(49) as u32,
        aicpu: choices.below(3) as u32,
        sdma: choices.below(3) as u32,
        mode: *choices.pick(&[ScheduleMode::Normal, ScheduleMode::Batch]),
    }
}

fn comm(choices: &mut Choices, declared: &Declared) -> Comm {
    use CollectiveKind as K;
    const KINDS: &[CollectiveKind] = &[
        K::AllReduce,
        K::AllGather,
        K::ReduceScatter,
        K::AllToAll,
        K::AllToAllV,
        K::Broadcast,
        K::Reduce,
        K::Scatter,
        K::Gather,
        K::Send,
        K::Receive,
        K::Barrier,
        K::Dispatch,
        K::Combine,
        K::DispatchFfnCombine,
        K::AllGatherMatmul,
        K::MatmulReduceScatter,
        K::MatmulAllReduce,
    ];
    let communicator = choices.pick(&declared.communicators);
    let smallest = communicator.groups.iter().map(Vec::len).min().unwrap_or(1);
    let kind = *choices.pick(KINDS);
    let needs_peer = matches!(kind, K::Send | K::Receive);
    Comm {
        communicator: communicator.name.clone(),
        kind,
        bytes: expr::amount(choices, declared, MOST_AMOUNT),
        expansion: choices.maybe(expansion),
        peer: (needs_peer || choices.flag()).then(|| choices.below(smallest) as u32),
        in_place: choices.flag(),
        dtype: choices.maybe(|choices| choices.text().into()),
        reduce: choices.maybe(|choices| choices.text().into()),
        extra: choices.extra(),
    }
}

fn launch(choices: &mut Choices, declared: &Declared) -> Launch {
    let arguments = |choices: &mut Choices| {
        let count = choices.below(4);
        (0..count).map(|_| argument(choices, declared)).collect()
    };
    match choices.below(3) {
        0 => Launch::Callback {
            name: choices.text().into(),
            extra: choices.extra(),
        },
        1 => Launch::Kernel {
            binary: choices.text(),
            function: choices.text(),
            arguments: arguments(choices),
            extra: choices.extra(),
        },
        _ => Launch::Aclnn {
            operator: choices.text(),
            arguments: arguments(choices),
            extra: choices.extra(),
        },
    }
}

fn argument(choices: &mut Choices, declared: &Declared) -> Argument {
    let buffer = |choices: &mut Choices| choices.pick(&declared.buffers).name.clone();
    match choices.below(6) {
        0 => Argument::Int(choices.integer()),
        1 => Argument::Buffer(buffer(choices)),
        2 => Argument::Float(choices.number()),
        3 => Argument::Bool(choices.flag()),
        4 => Argument::Ints((0..choices.below(4)).map(|_| choices.integer()).collect()),
        _ => Argument::Tensor {
            buffer: buffer(choices),
            shape: (0..choices.below(4)).map(|_| choices.integer()).collect(),
            dtype: choices.text().into(),
            format: choices.text().into(),
        },
    }
}
