//! Ops, field by field.

use smol_str::SmolStr;

use crate::ir::{
    Access, AccessMode, Accesses, BufferName, Cores, Expr, Extra, GroupTask, Measured, Op, OpId,
    Peer, Provenance, Range, ScheduleMode, ThreadName,
};

impl Op {
    /// With this id.
    #[must_use]
    pub fn id(mut self, id: impl Into<OpId>) -> Self {
        self.id = id.into();
        self
    }

    /// On this stream.
    #[must_use]
    pub fn on(mut self, stream: impl Into<SmolStr>) -> Self {
        self.stream = Some(stream.into().into());
        self
    }

    /// Issued by this host thread.
    #[must_use]
    pub fn from_thread(mut self, thread: impl Into<ThreadName>) -> Self {
        self.thread = thread.into();
        self
    }

    /// With a stated duration of `ns` nanoseconds.
    #[must_use]
    pub fn lasting(mut self, ns: impl Into<Expr>) -> Self {
        self.duration = Some(Box::new(Measured::new(ns, Provenance::Stated)));
        self
    }

    /// With a stated host time of `ns` nanoseconds for the call that issues it.
    #[must_use]
    pub fn issued_in(mut self, ns: impl Into<Expr>) -> Self {
        self.issue = Some(Box::new(Measured::new(ns, Provenance::Stated)));
        self
    }

    /// On this many cube and vector cores, as they become free.
    #[must_use]
    pub fn cores(mut self, aic: u32, aiv: u32) -> Self {
        let cores = self.cores.get_or_insert_default();
        (cores.aic, cores.aiv) = (aic, aiv);
        self
    }

    /// With exactly these cores and engines.
    #[must_use]
    pub fn engines(mut self, cores: Cores) -> Self {
        self.cores = Some(cores);
        self
    }

    /// With all its blocks starting at once.
    #[must_use]
    pub fn batch(mut self) -> Self {
        self.cores.get_or_insert_default().mode = ScheduleMode::Batch;
        self
    }

    /// Reads the whole of `buffer`, besides what it accesses already.
    #[must_use]
    pub fn reads(self, buffer: impl Into<BufferName>) -> Self {
        self.accesses(buffer, AccessMode::Read, Range::Whole)
    }

    /// Writes the whole of `buffer`, besides what it accesses already.
    #[must_use]
    pub fn writes(self, buffer: impl Into<BufferName>) -> Self {
        self.accesses(buffer, AccessMode::Write, Range::Whole)
    }

    /// Accesses a part of `buffer`, besides what it accesses already.
    #[must_use]
    pub fn accesses(
        mut self,
        buffer: impl Into<BufferName>,
        mode: AccessMode,
        range: Range,
    ) -> Self {
        let access = Access {
            buffer: buffer.into(),
            mode,
            range,
            peer: Peer::Own,
            extra: Extra::default(),
        };
        match &mut self.accesses {
            Accesses::Known(list) => list.push(access),
            unknown @ Accesses::Unknown => *unknown = Accesses::Known(vec![access]),
        }
        self
    }

    /// With a tag.
    #[must_use]
    pub fn tag(mut self, key: impl Into<SmolStr>, value: impl Into<SmolStr>) -> Self {
        self.tags.set(key, value);
        self
    }
}

impl GroupTask {
    /// After the task `id` too, which is earlier in the group.
    #[must_use]
    pub fn after(mut self, id: impl Into<OpId>) -> Self {
        self.after.push(id.into());
        self
    }
}
