//! One op instance.

use super::{CollectiveId, EventId, GraphId, InstanceId, NotifyId, StreamId, ThreadId, WordId};
use crate::ir::{Delay, Expr, HostKind, Measured, Op, OpKind, Override, Peer, Program};

/// One op as it runs once on one rank.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'s> {
    /// The rank.
    pub rank: u32,
    /// The op.
    pub op: &'s Op,
    /// The program that holds the op.
    pub program: &'s Program,
    /// What differs on this rank; use the accessors, which apply it.
    pub overridden: Option<&'s Override>,
    /// Who makes it run.
    pub role: Role,
    /// The graph launch, group or super kernel it is inside.
    pub parent: Option<InstanceId>,
    /// The host thread that issues it, or that issues what it is inside.
    pub thread: ThreadId,
    /// The stream it is queued on, or named with by a host call. Parts have the stream of the whole.
    pub stream: Option<StreamId>,
    /// The object it acts on besides its stream.
    pub target: Target,
    /// The collective it is a member of.
    pub collective: Option<CollectiveId>,
    /// Dense index past the last instance inside it; its own index + 1 if nothing is.
    pub(super) end: u32,
    /// Where it is in the tree of programs, for its path.
    pub(super) frame: u32,
}

/// Who makes an instance run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The host issues it by a call of its own.
    Issued,
    /// It is replayed by the graph launch that is its parent.
    Replayed,
    /// It is a part of the group or super kernel that is its parent.
    Part,
}

/// The object an instance acts on besides its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// None.
    None,
    /// The event that is recorded, waited for, reset, or synchronised.
    Event(EventId),
    /// The notify; on another rank for a record with a peer.
    Notify(NotifyId),
    /// The word; on another rank for a write with a peer.
    Word(WordId),
    /// The graph that is launched or updated.
    Graph(GraphId),
    /// The stream that the host synchronises.
    Stream(StreamId),
    /// All streams of the rank, which the host synchronises.
    Device,
}

impl<'s> Instance<'s> {
    /// How long it takes when nothing contends, on this rank.
    pub fn duration(&self) -> Option<&'s Measured> {
        let own = self.overridden.and_then(|o| o.duration.as_ref());
        own.or(self.op.duration.as_deref())
    }

    /// Host time of the call that issues it, on this rank.
    pub fn issue(&self) -> Option<&'s Measured> {
        let own = self.overridden.and_then(|o| o.issue.as_ref());
        own.or(self.op.issue.as_deref())
    }

    /// How much later than derived it starts, on this rank.
    pub fn delay(&self) -> Option<&'s Delay> {
        let own = self.overridden.and_then(|o| o.delay.as_ref());
        own.or(self.op.delay.as_deref())
    }

    /// Bytes of its copy, prefetch or communication, on this rank.
    pub fn bytes(&self) -> Option<&'s Expr> {
        let own = self.overridden.and_then(|o| o.bytes.as_ref());
        own.or(match &self.op.kind {
            OpKind::Copy(copy) => Some(&copy.bytes),
            OpKind::Prefetch(prefetch) => Some(&prefetch.bytes),
            _ => self.op.comm.as_ref().map(|comm| &comm.bytes),
        })
    }

    /// The peer of its notify record or value write, on this rank.
    pub fn peer(&self) -> Option<&'s Peer> {
        let own = self.overridden.and_then(|o| o.peer.as_ref());
        match &self.op.kind {
            OpKind::NotifyRecord(record) => own.or(Some(&record.peer)),
            OpKind::ValueWrite(write) => own.or(Some(&write.peer)),
            _ => None,
        }
    }

    /// Whether it takes a place in the FIFO of its stream: a device op that is no part.
    pub fn is_task(&self) -> bool {
        self.role != Role::Part && self.op.is_device()
    }

    /// Whether the call that issues it returns only when it is done, as synchronous and pageable
    /// copies do (facts/acl.md section 6).
    pub fn blocks_host(&self) -> bool {
        self.role == Role::Issued && matches!(&self.op.kind, OpKind::Copy(copy) if copy.blocking)
    }

    /// Whether it records an event, by a record op or from the host.
    pub fn is_record(&self) -> bool {
        matches!(
            self.op.kind,
            OpKind::Record(_) | OpKind::Host(HostKind::RecordExternal { .. })
        )
    }

    /// The instances inside it, as dense indices.
    pub(super) fn inside(&self, id: InstanceId) -> std::ops::Range<usize> {
        id.index() + 1..self.end as usize
    }
}
