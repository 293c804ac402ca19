//! Checks of what is particular to each kind of op.

use std::collections::HashSet;

use super::Checker;
use super::cost::MOST_AMOUNT;
use super::problem::{Noun, ProblemKind};
use crate::ir::{
    Event, EventKind, GroupTask, HostKind, Memory, Op, OpId, OpKind, Prefetch, ProgramName,
    SyncTarget, TaskUpdate,
};
use crate::path::At;

/// The most often that a program is repeated in one place.
pub const MOST_REPEATS: f64 = 1_000_000.0;

impl<'a> Checker<'a> {
    pub(super) fn kind(&mut self, at: &At<'_>, op: &'a Op) {
        let at = &at.field(op.kind.name());
        match &op.kind {
            OpKind::Kernel(_) | OpKind::Collective(_) => {}
            OpKind::Copy(copy) => {
                self.amount(&at.field("bytes"), &copy.bytes, MOST_AMOUNT);
            }
            OpKind::Prefetch(prefetch) => self.prefetch(at, prefetch),
            OpKind::Record(record) | OpKind::EventReset(record) => {
                self.event(&at.field("event"), record.event.as_str());
            }
            OpKind::Wait(wait) => {
                self.event(&at.field("event"), wait.event.as_str());
            }
            OpKind::NotifyRecord(record) => {
                self.notify(&at.field("notify"), record.notify.as_str());
                self.peer(&at.field("peer"), &record.peer);
            }
            OpKind::NotifyWait(wait) => self.notify(&at.field("notify"), wait.notify.as_str()),
            OpKind::ValueWrite(write) => {
                self.word(at, write.buffer.as_str(), write.offset);
                self.peer(&at.field("peer"), &write.peer);
            }
            OpKind::ValueWait(wait) => self.word(at, wait.buffer.as_str(), wait.offset),
            OpKind::SuperKernel(fused) => self.tasks(&at.field("parts"), &fused.parts, op),
            OpKind::Group(group) => self.tasks(&at.field("tasks"), &group.tasks, op),
            OpKind::GraphLaunch(launch) => {
                self.captured(&at.field("program"), &launch.program, true);
            }
            OpKind::TaskUpdate(update) => self.task_update(at, update),
            OpKind::Host(host) => self.host(at, host),
            OpKind::Alloc(buffer) | OpKind::Free(buffer) | OpKind::StreamUse(buffer) => {
                if let Some(buffer) = self.buffer(at, buffer.as_str())
                    && buffer.view.is_some()
                {
                    self.report(at, ProblemKind::NotARoot(buffer.name.as_str().into()));
                }
            }
            OpKind::Repeat(repeat) => {
                self.captured(&at.field("program"), &repeat.program, false);
                self.amount(&at.field("count"), &repeat.count, MOST_REPEATS);
            }
        }
    }

    fn prefetch(&mut self, at: &At<'_>, prefetch: &'a Prefetch) {
        let buffer = self.buffer(&at.field("buffer"), prefetch.buffer.as_str());
        let bytes = self.amount(&at.field("bytes"), &prefetch.bytes, MOST_AMOUNT);
        if let (Some(buffer), Some(bytes)) = (buffer, bytes) {
            // Not negative and not above 2^63: checked just now.
            let bytes = bytes.ceil() as u64;
            self.inside(&at.field("bytes"), buffer, prefetch.offset, bytes);
        }
    }

    /// A 64-bit word at `offset` of `buffer`: inside, aligned, in HBM.
    fn word(&mut self, at: &At<'_>, buffer: &str, offset: u64) {
        let Some(buffer) = self.buffer(&at.field("buffer"), buffer) else {
            return;
        };
        let name = || buffer.name.as_str().into();
        if buffer.memory != Memory::Hbm {
            self.report(&at.field("buffer"), ProblemKind::NotInHbm(name()));
        }
        let place = at.field("offset");
        self.inside(&place, buffer, offset, 8);
        let in_root = self.origin(buffer).and_then(|at| at.checked_add(offset));
        match in_root {
            Some(in_root) if !in_root.is_multiple_of(8) => {
                self.report(&place, ProblemKind::Misaligned(in_root));
            }
            _ => {}
        }
    }

    /// Tasks of a group or parts of a super kernel: unique ids, and `after` names earlier ones.
    fn tasks(&mut self, at: &At<'_>, tasks: &'a [GroupTask], group: &'a Op) {
        if tasks.is_empty() {
            self.report(at, ProblemKind::NoTasks);
        }
        let mut earlier: HashSet<&OpId> = HashSet::new();
        for (index, task) in tasks.iter().enumerate() {
            let at = at.named(index, task.op.id.as_str());
            let after = at.field("after");
            for (index, id) in task.after.iter().enumerate() {
                if !earlier.contains(id) {
                    let problem = ProblemKind::NotEarlier(id.as_str().into());
                    self.report(&after.item(index), problem);
                }
            }
            let at = at.field("op");
            self.id(&at, Noun::Task, &task.op.id, earlier.insert(&task.op.id));
            if !task.op.thread.is_main() && task.op.thread != group.thread {
                self.report(&at.field("thread"), ProblemKind::TaskThread);
            }
            self.fields(&at, &task.op);
            let kind = at.field("kind");
            if may_be_task(&task.op.kind) {
                self.kind(&kind, &task.op);
            } else {
                self.report(&kind, ProblemKind::TaskKind(task.op.kind.name()));
            }
        }
    }

    /// Reports an id that is empty or was there before.
    pub(super) fn id(&mut self, at: &At<'_>, noun: Noun, id: &OpId, is_new: bool) {
        if id.as_str().is_empty() {
            self.report(&at.field("id"), ProblemKind::EmptyName(noun));
        }
        if !is_new {
            let name = id.as_str().into();
            self.report(&at.field("id"), ProblemKind::Duplicate { noun, name });
        }
    }

    fn task_update(&mut self, at: &At<'_>, update: &TaskUpdate) {
        self.captured(&at.field("program"), &update.program, true);
        let Some(&(program, _)) = self.names.programs.get(update.program.as_str()) else {
            return;
        };
        let list = at.field("ops");
        for (index, id) in update.ops.iter().enumerate() {
            if !self.ops[program].contains_key(id.as_str()) {
                self.undeclared(&list.item(index), Noun::Op, id.as_str());
            }
        }
    }

    fn host(&mut self, at: &At<'_>, host: &HostKind) {
        match host {
            HostKind::Work | HostKind::Think | HostKind::Synchronise(SyncTarget::Device) => {}
            HostKind::Synchronise(SyncTarget::Stream(stream)) => {
                self.stream(&at.field("synchronise").field("stream"), stream);
            }
            HostKind::Synchronise(SyncTarget::Event(event)) => {
                self.event(&at.field("synchronise").field("event"), event.as_str());
            }
            HostKind::RecordExternal { event: name } => {
                let at = at.field("record_external");
                let at = at.field("event");
                if let Some(event) = self.event(&at, name.as_str())
                    && event.kind != EventKind::External
                {
                    self.report(&at, ProblemKind::NotExternal(name.as_str().into()));
                }
            }
            HostKind::Function { .. } => {}
        }
    }

    fn event(&mut self, at: &At<'_>, name: &str) -> Option<&'a Event> {
        let event = self.names.events.get(name).copied();
        if event.is_none() {
            self.undeclared(at, Noun::Event, name);
        }
        event
    }

    fn notify(&mut self, at: &At<'_>, name: &str) {
        if !self.names.notifies.contains_key(name) {
            self.undeclared(at, Noun::Notify, name);
        }
    }

    /// `program` is declared, and captured exactly if `captured`.
    pub(super) fn captured(&mut self, at: &At<'_>, program: &ProgramName, captured: bool) {
        let name = program.as_str();
        match self.names.programs.get(name) {
            None => self.undeclared(at, Noun::Program, name),
            Some((_, program)) if program.capture.is_some() != captured => {
                let problem = match captured {
                    true => ProblemKind::NotCaptured(name.into()),
                    false => ProblemKind::Captured(name.into()),
                };
                self.report(at, problem);
            }
            Some(_) => {}
        }
    }
}

/// Whether a task of a group may be of this kind.
fn may_be_task(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Kernel(_)
            | OpKind::Copy(_)
            | OpKind::Prefetch(_)
            | OpKind::Collective(_)
            | OpKind::NotifyRecord(_)
            | OpKind::NotifyWait(_)
            | OpKind::ValueWrite(_)
            | OpKind::ValueWait(_)
    )
}
