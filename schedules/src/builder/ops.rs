//! One function for each kind of op.

use smol_str::SmolStr;

use crate::ir::{
    BufferName, Collective, CollectiveKind, Comm, CommunicatorName, Compare, CopyDirection,
    EventName, Expr, Extra, GraphLaunch, Group, GroupTask, HostKind, Kernel, Memcpy, NotifyName,
    NotifyRecord, NotifyWait, Op, OpId, OpKind, Peer, Prefetch, ProgramName, Record, Repeat,
    StreamName, SuperKernel, SyncTarget, TaskUpdate, ValueWait, ValueWrite, Wait,
};

/// An op that gets its id from its place.
fn unnamed(kind: OpKind) -> Op {
    Op::new("", kind)
}

/// A kernel of the operator type `name`.
pub fn kernel(id: impl Into<OpId>, name: impl Into<SmolStr>) -> Op {
    let kind = OpKind::Kernel(Kernel {
        name: name.into(),
        dynamic: false,
        extra: Extra::default(),
    });
    Op::new(id, kind)
}

/// An asynchronous copy of `bytes` bytes.
pub fn copy(id: impl Into<OpId>, direction: CopyDirection, bytes: impl Into<Expr>) -> Op {
    let kind = OpKind::Copy(Memcpy {
        direction,
        bytes: bytes.into(),
        blocking: false,
        extra: Extra::default(),
    });
    Op::new(id, kind)
}

/// A prefetch of the first `bytes` bytes of `buffer` into L2.
pub fn prefetch(id: impl Into<OpId>, buffer: impl Into<BufferName>, bytes: impl Into<Expr>) -> Op {
    let kind = OpKind::Prefetch(Prefetch {
        buffer: buffer.into(),
        offset: 0,
        bytes: bytes.into(),
        extra: Extra::default(),
    });
    Op::new(id, kind)
}

/// A collective of `communicator`.
pub fn collective(
    id: impl Into<OpId>,
    communicator: impl Into<CommunicatorName>,
    kind: CollectiveKind,
    bytes: impl Into<Expr>,
) -> Op {
    let extra = Extra::default();
    let mut op = Op::new(id, OpKind::Collective(Collective { extra }));
    op.comm = Some(Box::new(comm(communicator, kind, bytes)));
    op
}

/// The communication of a collective or of a kernel that communicates.
pub fn comm(
    communicator: impl Into<CommunicatorName>,
    kind: CollectiveKind,
    bytes: impl Into<Expr>,
) -> Comm {
    Comm {
        communicator: communicator.into(),
        kind,
        bytes: bytes.into(),
        expansion: None,
        peer: None,
        in_place: false,
        dtype: None,
        reduce: None,
        extra: Extra::default(),
    }
}

fn recorded(event: impl Into<EventName>) -> Record {
    Record {
        event: event.into(),
        external: false,
        extra: Extra::default(),
    }
}

/// Records `event`.
pub fn record(event: impl Into<EventName>) -> Op {
    unnamed(OpKind::Record(recorded(event)))
}

/// Waits for `event`.
pub fn wait(event: impl Into<EventName>) -> Op {
    unnamed(OpKind::Wait(Wait {
        event: event.into(),
        external: false,
        timeout_s: None,
        extra: Extra::default(),
    }))
}

/// Resets the `sync` or `external` event `event`.
pub fn reset(event: impl Into<EventName>) -> Op {
    unnamed(OpKind::EventReset(recorded(event)))
}

/// Sets the own instance of `notify`.
pub fn notify_record(notify: impl Into<NotifyName>) -> Op {
    notify_record_to(notify, Peer::Own)
}

/// Sets the instance of `notify` that `peer` waits for.
pub fn notify_record_to(notify: impl Into<NotifyName>, peer: Peer) -> Op {
    unnamed(OpKind::NotifyRecord(NotifyRecord {
        notify: notify.into(),
        peer,
        extra: Extra::default(),
    }))
}

/// Waits for the own instance of `notify` and clears it.
pub fn notify_wait(notify: impl Into<NotifyName>) -> Op {
    unnamed(OpKind::NotifyWait(NotifyWait {
        notify: notify.into(),
        timeout_s: None,
        extra: Extra::default(),
    }))
}

/// Writes `value` to the own word at byte `offset` of `buffer`.
pub fn value_write(buffer: impl Into<BufferName>, offset: u64, value: u64) -> Op {
    unnamed(OpKind::ValueWrite(ValueWrite {
        buffer: buffer.into(),
        offset,
        value,
        peer: Peer::Own,
        extra: Extra::default(),
    }))
}

/// Waits until the own word at byte `offset` of `buffer` compares with `value`.
pub fn value_wait(buffer: impl Into<BufferName>, offset: u64, value: u64, compare: Compare) -> Op {
    unnamed(OpKind::ValueWait(ValueWait {
        buffer: buffer.into(),
        offset,
        value,
        compare,
        extra: Extra::default(),
    }))
}

/// Kernels fused into one task, as the scope `name`.
pub fn super_kernel(
    id: impl Into<OpId>,
    name: impl Into<SmolStr>,
    parts: impl IntoIterator<Item = GroupTask>,
) -> Op {
    let kind = OpKind::SuperKernel(SuperKernel {
        name: name.into(),
        parts: parts.into_iter().collect(),
        stream_fusion: false,
        feed_sync_all: false,
        extra: Extra::default(),
    });
    Op::new(id, kind)
}

/// A graph of tasks in one slot of its stream.
pub fn group(id: impl Into<OpId>, tasks: impl IntoIterator<Item = GroupTask>) -> Op {
    let kind = OpKind::Group(Group {
        tasks: tasks.into_iter().collect(),
        extra: Extra::default(),
    });
    Op::new(id, kind)
}

/// `op` as a task of a group or a part of a super kernel.
pub fn task(op: Op) -> GroupTask {
    let after = Vec::new();
    GroupTask { op, after }
}

/// Replays the captured `program`.
pub fn graph_launch(program: impl Into<ProgramName>) -> Op {
    unnamed(OpKind::GraphLaunch(GraphLaunch {
        program: program.into(),
        extra: Extra::default(),
    }))
}

/// Updates `ops` of the captured `program`.
pub fn task_update<T: Into<OpId>>(
    program: impl Into<ProgramName>,
    ops: impl IntoIterator<Item = T>,
) -> Op {
    unnamed(OpKind::TaskUpdate(TaskUpdate {
        program: program.into(),
        ops: ops.into_iter().map(Into::into).collect(),
        extra: Extra::default(),
    }))
}

/// Host work of `ns` nanoseconds.
pub fn host_work(ns: impl Into<Expr>) -> Op {
    unnamed(OpKind::Host(HostKind::Work)).lasting(ns)
}

/// Host time of `ns` nanoseconds between calls, whose purpose is not known.
pub fn think(ns: impl Into<Expr>) -> Op {
    unnamed(OpKind::Host(HostKind::Think)).lasting(ns)
}

/// The thread waits until all that was issued to `stream` is done.
pub fn synchronise_stream(stream: impl Into<SmolStr>) -> Op {
    let target = SyncTarget::Stream(StreamName::from(stream.into()));
    unnamed(OpKind::Host(HostKind::Synchronise(target)))
}

/// The thread waits for the latest record of `event`.
pub fn synchronise_event(event: impl Into<EventName>) -> Op {
    let target = SyncTarget::Event(event.into());
    unnamed(OpKind::Host(HostKind::Synchronise(target)))
}

/// The thread waits until all that was issued on its rank is done.
pub fn synchronise_device() -> Op {
    unnamed(OpKind::Host(HostKind::Synchronise(SyncTarget::Device)))
}

/// Records the `external` event `event` outside a graph.
pub fn record_external(event: impl Into<EventName>) -> Op {
    let event = event.into();
    unnamed(OpKind::Host(HostKind::RecordExternal { event }))
}

/// Runs the registered host function `name` in its place of the stream.
pub fn host_function(id: impl Into<OpId>, name: impl Into<SmolStr>) -> Op {
    let kind = HostKind::Function {
        name: name.into(),
        calls_acl: false,
    };
    Op::new(id, OpKind::Host(kind))
}

/// Allocates `buffer` for use on the op's stream.
pub fn alloc(buffer: impl Into<BufferName>) -> Op {
    unnamed(OpKind::Alloc(buffer.into()))
}

/// Gives `buffer` back.
pub fn free(buffer: impl Into<BufferName>) -> Op {
    unnamed(OpKind::Free(buffer.into()))
}

/// Tells the allocator that `buffer` is used on the op's stream too.
pub fn stream_use(buffer: impl Into<BufferName>) -> Op {
    unnamed(OpKind::StreamUse(buffer.into()))
}

/// Runs `program` in this place `count` times.
pub fn repeat(program: impl Into<ProgramName>, count: impl Into<Expr>) -> Op {
    unnamed(OpKind::Repeat(Repeat {
        program: program.into(),
        count: count.into(),
        extra: Extra::default(),
    }))
}
