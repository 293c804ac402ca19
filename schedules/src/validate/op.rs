//! Checks of an op as a whole: the fields that every kind has.

use super::Checker;
use super::cost::MOST_AMOUNT;
use super::problem::{Noun, ProblemKind};
use crate::ir::{
    Access, Argument, Buffer, CollectiveKind, Comm, Launch, Op, OpKind, Peer, Range, StreamName,
};
use crate::path::At;

impl<'a> Checker<'a> {
    /// Checks an op of a program, and the tasks in it.
    pub(super) fn op(&mut self, at: &At<'_>, op: &'a Op) {
        if op.thread.as_str().is_empty() {
            self.report(&at.field("thread"), ProblemKind::EmptyName(Noun::Thread));
        }
        self.stream_of(at, op);
        self.fields(at, op);
        self.kind(&at.field("kind"), op);
    }

    /// Checks the fields that ops and tasks share.
    pub(super) fn fields(&mut self, at: &At<'_>, op: &'a Op) {
        let kind = op.kind.name();
        if let Some(stream) = &op.stream {
            self.stream(&at.field("stream"), stream);
        }
        let carries_comm = matches!(op.kind, OpKind::Kernel(_) | OpKind::Collective(_));
        match &op.comm {
            Some(comm) if carries_comm => self.comm(&at.field("comm"), comm, kind),
            Some(_) => self.unused(&at.field("comm"), "comm", kind),
            None if matches!(op.kind, OpKind::Collective(_)) => {
                let field = "comm";
                self.report(at, ProblemKind::MissingField { field, kind });
            }
            None => {}
        }
        if !op.is_device() {
            if op.cores.is_some() {
                self.unused(&at.field("cores"), "cores", kind);
            }
            if op.launch.is_some() {
                self.unused(&at.field("launch"), "launch", kind);
            }
        }
        let accesses = at.field("accesses");
        for (index, access) in op.accesses.known().iter().enumerate() {
            self.access(&accesses.item(index), access);
        }
        if let Some(work) = &op.work {
            self.work(&at.field("work"), work);
        }
        if let Some(duration) = &op.duration {
            self.time(&at.field("duration"), duration);
        }
        if let Some(issue) = &op.issue {
            self.time(&at.field("issue"), issue);
        }
        if let Some(delay) = &op.delay {
            self.delay(&at.field("delay"), delay);
        }
        if let Some(launch) = &op.launch {
            self.launch(&at.field("launch"), launch);
        }
    }

    /// A stream is there exactly where the kind uses one.
    fn stream_of(&mut self, at: &At<'_>, op: &Op) {
        let kind = op.kind.name();
        let needed = op.is_device() || matches!(op.kind, OpKind::Alloc(_) | OpKind::StreamUse(_));
        match &op.stream {
            None if needed => self.report(at, ProblemKind::NoStream(kind)),
            Some(_) if !needed => self.unused(&at.field("stream"), "stream", kind),
            _ => {}
        }
    }

    fn comm(&mut self, at: &At<'_>, comm: &'a Comm, kind: &'static str) {
        self.amount(&at.field("bytes"), &comm.bytes, MOST_AMOUNT);
        let point_to_point = matches!(comm.kind, CollectiveKind::Send | CollectiveKind::Receive);
        if point_to_point && comm.peer.is_none() {
            let field = "comm.peer";
            self.report(at, ProblemKind::MissingField { field, kind });
        }
        let name = comm.communicator.as_str();
        let Some(communicator) = self.names.communicators.get(name) else {
            return self.undeclared(&at.field("communicator"), Noun::Communicator, name);
        };
        let Some(peer) = comm.peer else { return };
        let smallest = communicator.groups.iter().map(Vec::len).min().unwrap_or(0);
        if usize::try_from(peer).is_ok_and(|peer| peer >= smallest) {
            let (size, communicator) = (smallest, name.into());
            let problem = ProblemKind::NoSuchMember {
                peer,
                size,
                communicator,
            };
            self.report(&at.field("peer"), problem);
        }
    }

    fn access(&mut self, at: &At<'_>, access: &Access) {
        self.peer(&at.field("peer"), &access.peer);
        let buffer = self.buffer(&at.field("buffer"), access.buffer.as_str());
        if let (Some(buffer), Range::Bytes(offset, length)) = (buffer, access.range) {
            self.inside(&at.field("range"), buffer, offset, length);
        }
    }

    pub(super) fn peer(&mut self, at: &At<'_>, peer: &Peer) {
        match peer {
            Peer::Own => {}
            Peer::Rank(rank) => self.rank_exists(at, *rank),
            Peer::Member { communicator, .. } => {
                let name = communicator.as_str();
                if !self.names.communicators.contains_key(name) {
                    self.undeclared(at, Noun::Communicator, name);
                }
            }
        }
    }

    fn launch(&mut self, at: &At<'_>, launch: &'a Launch) {
        let (at, arguments) = match launch {
            Launch::Kernel { arguments, .. } => (at.field("kernel"), arguments.as_slice()),
            Launch::Aclnn { arguments, .. } => (at.field("aclnn"), arguments.as_slice()),
            Launch::Callback { .. } => return,
        };
        let at = at.field("arguments");
        for (index, argument) in arguments.iter().enumerate() {
            match argument {
                Argument::Buffer(buffer) | Argument::Tensor { buffer, .. } => {
                    self.buffer(&at.item(index), buffer.as_str());
                }
                Argument::Float(value) if !value.is_finite() => {
                    let error = crate::ir::EvalError::NotFinite("float");
                    self.report(&at.item(index), error.into());
                }
                Argument::Float(_) | Argument::Int(_) | Argument::Bool(_) | Argument::Ints(_) => {}
            }
        }
    }

    pub(super) fn stream(&mut self, at: &At<'_>, stream: &StreamName) {
        if !self.names.streams.contains_key(stream.as_str()) {
            self.undeclared(at, Noun::Stream, stream.as_str());
        }
    }

    /// The buffer `name`; reports it if it is not declared.
    pub(super) fn buffer(&mut self, at: &At<'_>, name: &str) -> Option<&'a Buffer> {
        let buffer = self.names.buffers.get(name).copied();
        if buffer.is_none() {
            self.undeclared(at, Noun::Buffer, name);
        }
        buffer
    }

    /// Reports `length` bytes from `offset` unless they are inside `buffer`.
    pub(super) fn inside(&mut self, at: &At<'_>, buffer: &Buffer, offset: u64, length: u64) {
        let end = u128::from(offset) + u128::from(length);
        if end > u128::from(buffer.bytes) {
            let problem = ProblemKind::OutsideBuffer {
                buffer: buffer.name.as_str().into(),
                size: buffer.bytes,
                offset,
                end,
            };
            self.report(at, problem);
        }
    }

    pub(super) fn unused(&mut self, at: &At<'_>, field: &'static str, kind: &'static str) {
        self.report(at, ProblemKind::UnusedField { field, kind });
    }
}
