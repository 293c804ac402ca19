//! How tasks start and end: the device side.
//!
//! 1. A stream runs its tasks one after the other.
//! 2. Streams are looked at in the order in which the tasks at their heads were issued. Free cores are
//!    handed out after everything else of an instant, so that they go to the task that was issued
//!    first.
//! 3. A kernel's blocks start as cores become free, or all at once in batch mode.
//! 4. What a task does to memory and signals happens at the moment it ends.

use crate::fault::{Fault, Outcome, code};
use crate::raw::HostCall;
use crate::table::Key;
use crate::task::{Task, TraceRecord, Work};
use crate::world::World;

/// What the task at the head of a stream is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// It has not started.
    Idle,
    /// It waits for a signal.
    Waiting,
    /// A timer ends it, or whatever it handed itself to.
    Running,
    /// A kernel with units of blocks that have not started, run, and have all their cores.
    Blocks { waiting: u32, running: u32 },
}

/// Something that happens at a given time, if the run that set it is still on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    stream: Key,
    run_id: u64,
    what: Due,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    End,
    /// So many units of blocks end.
    Units(u32),
    /// The time-out of a wait.
    WaitTimeout,
    /// The time-out of a kernel.
    KernelTimeout,
}

impl World {
    /// Starts and ends whatever can start or end now without cores.
    ///
    /// # Complexity
    /// O(s log s) for s streams with tasks, each time something changes.
    pub(crate) fn settle(&mut self) {
        while self.advance_heads(false) {}
    }

    /// Hands free cores out. Whether anything changed.
    fn hand_out(&mut self) -> bool {
        let mut changed = false;
        while self.advance_heads(true) {
            changed = true;
            self.settle();
        }
        changed
    }

    /// Brings the heads of all streams forward that need cores, or those that do not. Whether
    /// anything changed.
    fn advance_heads(&mut self, with_cores: bool) -> bool {
        let mut heads: Vec<((u64, u32), Key)> = Vec::with_capacity(self.active.len());
        for key in &self.active {
            let Ok(stream) = self.streams.get(*key) else {
                continue;
            };
            if let Some(task) = stream.queue.front()
                && stream.run != Run::Running
                && needs_cores(stream.run, task) == with_cores
            {
                heads.push((task.issue, *key));
            }
        }
        heads.sort_unstable();
        let mut changed = false;
        for (_, key) in heads {
            changed |= self.advance(key);
        }
        changed
    }

    /// When the next timer is due.
    pub(crate) fn next_timer(&mut self) -> Option<u64> {
        while let Some((at, timer)) = self.timers.first_key_value() {
            let (at, timer) = (*at, *timer);
            if self.is_current(&timer) {
                return Some(at.0);
            }
            self.timers.remove(&at);
        }
        None
    }

    fn is_current(&self, timer: &Timer) -> bool {
        self.streams
            .get(timer.stream)
            .is_ok_and(|stream| stream.run_id == timer.run_id)
    }

    /// Lets time pass until `time`, and everything happen that is due by then. Whether anything did.
    /// With the virtual clock, what `time` itself brings may still change: cores are handed out when
    /// it is over.
    pub(crate) fn pass(&mut self, time: u64) -> bool {
        let mut happened = false;
        loop {
            let due = self.next_timer();
            if let Some(due) = due.filter(|due| *due <= self.now) {
                happened = true;
                if let Some((_, timer)) = self.timers.pop_first() {
                    self.fire(timer);
                }
                // Everything of one instant ends before anything starts.
                if self.next_timer() != Some(due) {
                    self.settle();
                }
                continue;
            }
            if (self.now < time || !self.config.virtual_clock) && self.hand_out() {
                happened = true;
                continue;
            }
            match due {
                Some(due) if due <= time => self.now = due,
                _ => break,
            }
        }
        self.now = self.now.max(time);
        happened
    }

    /// With the virtual clock: lets the next thing happen, but nothing later than `most`. Whether
    /// anything did.
    pub(crate) fn step(&mut self, most: Option<u64>) -> bool {
        if self.hand_out() {
            return true;
        }
        let due = self.next_timer();
        match due.filter(|due| most.is_none_or(|most| *due <= most)) {
            Some(due) => self.pass(due),
            None => false,
        }
    }

    pub(crate) fn timer(&mut self, after: u64, stream: Key, what: Due) {
        let Some(run_id) = self.streams.find(stream).map(|stream| stream.run_id) else {
            return;
        };
        let at = (self.now.saturating_add(after), self.serial());
        self.timers.insert(
            at,
            Timer {
                stream,
                run_id,
                what,
            },
        );
    }

    fn fire(&mut self, timer: Timer) {
        let key = timer.stream;
        match timer.what {
            Due::End => self.end(key, Ok(())),
            Due::Units(count) => self.end_units(key, count),
            Due::WaitTimeout => {
                self.end(
                    key,
                    Fault::err(code::WAIT_TIMEOUT, "EE9999: a wait on a stream timed out"),
                );
            }
            Due::KernelTimeout => {
                let aic = self
                    .streams
                    .get(key)
                    .ok()
                    .and_then(|stream| stream.queue.front())
                    .is_some_and(|task| task.shape.aic > 0);
                let code = if aic {
                    code::AICORE_TIMEOUT
                } else {
                    code::VECTOR_CORE_TIMEOUT
                };
                self.end(key, Fault::err(code, "EZ9999: a kernel timed out"));
            }
        }
    }

    /// Tries to bring the head of a stream forward. Whether anything changed.
    fn advance(&mut self, key: Key) -> bool {
        let now = self.now;
        let Some(stream) = self.streams.find(key) else {
            return false;
        };
        let Some(task) = stream.queue.front() else {
            return false;
        };
        let (shape, work) = (task.shape, task.work.clone());
        let first = stream.run == Run::Idle;
        if first {
            stream.started = now;
            stream.run_id += 1;
            stream.run = Run::Waiting;
        }
        if let Run::Blocks { .. } = stream.run {
            return self.grant(key, &shape);
        }
        match self.ready(&work) {
            Ok(Some(())) => {}
            Ok(None) => {
                if first && let Some(timeout) = wait_timeout(&work) {
                    self.timer(timeout, key, Due::WaitTimeout);
                }
                return false;
            }
            Err(fault) => {
                self.end(key, Err(fault));
                return true;
            }
        }
        if self.config.hang_tasks.contains(&shape.tag) && shape.tag != 0 {
            self.hold(key);
            self.timer(self.kernel_timeout, key, Due::KernelTimeout);
            return true;
        }
        match work {
            Work::Kernel { .. } => self.start_kernel(key, &shape),
            Work::Host(call) => self.start_host(key, call),
            Work::Collective(task) => {
                if !self.take_cores(key, &shape) {
                    return false;
                }
                self.hold(key);
                self.meet(key, &task);
            }
            Work::Replay { streams, .. } => {
                self.hold(key);
                self.start_replay(key, &streams);
            }
            _ if shape.duration > 0 => {
                self.hold(key);
                self.timer(shape.duration, key, Due::End);
            }
            _ => self.end(key, Ok(())),
        }
        true
    }

    /// Marks the head as running.
    pub(crate) fn hold(&mut self, key: Key) {
        let now = self.now;
        if let Some(stream) = self.streams.find(key) {
            stream.run = Run::Running;
            stream.started = now;
        }
    }

    /// Ends the task at the head after `after` ns.
    pub(crate) fn end_after(&mut self, key: Key, after: u64) {
        self.timer(after, key, Due::End);
    }

    fn ready(&self, work: &Work) -> Outcome<Option<()>> {
        let met = match work {
            Work::Wait(record, _) => record.time().is_some(),
            Work::WaitFlag(flag, _) => flag.is_set(),
            Work::NotifyWait(flag, _) => flag.take(),
            Work::ValueWait {
                address,
                value,
                condition,
            } => {
                let word = self.memory.word(*address)?;
                match condition {
                    0 => word.wrapping_sub(*value).cast_signed() >= 0,
                    1 => word == *value,
                    2 => word & value != 0,
                    _ => !(word | value) != 0,
                }
            }
            Work::Replay { graph, number, .. } => self.may_replay(*graph, *number),
            _ => true,
        };
        Ok(met.then_some(()))
    }

    fn start_host(&mut self, key: Key, call: HostCall) {
        self.hold(key);
        if let Some(stream) = self.streams.find(key) {
            let run_id = stream.run_id;
            self.calls.push_back((key, run_id, call));
        }
    }

    /// A host function came back.
    pub(crate) fn end_host(&mut self, key: Key, run_id: u64) {
        let current = self
            .streams
            .get(key)
            .is_ok_and(|stream| stream.run_id == run_id);
        if current {
            self.end(key, Ok(()));
        }
        self.settle();
        self.pass(self.now);
    }

    /// Ends the task at the head of the stream: its effect, its trace, its error.
    pub(crate) fn end(&mut self, key: Key, result: Outcome) {
        self.release(key);
        let now = self.now;
        let Some(stream) = self.streams.find(key) else {
            return;
        };
        let Some(task) = stream.queue.pop_front() else {
            return;
        };
        stream.run = Run::Idle;
        stream.run_id += 1;
        stream.entries -= task.work.entries();
        let (device, id, started, parent) =
            (stream.device, stream.id, stream.started, stream.parent);
        if stream.queue.is_empty() {
            self.active.remove(&key);
        }
        let injected = self
            .config
            .fail_tasks
            .iter()
            .find(|(tag, _)| *tag == task.shape.tag);
        let result = match injected {
            Some((tag, code)) if *tag != 0 && result.is_ok() => Fault::err(
                *code,
                format!("EZ9999: injected into the task with tag {tag}"),
            ),
            _ => result,
        };
        let result = result.and_then(|()| self.effect(&task, now));
        self.note(TraceRecord {
            tag: task.shape.tag,
            start_ns: started,
            end_ns: now,
            device,
            stream: id.cast_unsigned(),
            kind: task.work.kind(),
            code: result
                .as_ref()
                .err()
                .map_or(0, |fault| fault.code.cast_unsigned()),
        });
        if let Err(fault) = result {
            self.fail(key, fault);
        }
        if let Some(parent) = parent {
            self.replay_advanced(parent);
        }
    }

    /// Notes an error of the stream, for its next synchronisation.
    pub(crate) fn fail(&mut self, key: Key, fault: Fault) {
        let Some(stream) = self.streams.find(key) else {
            return;
        };
        let (context, parent) = (stream.context, stream.parent);
        if stream.stop_on_failure == Some(true)
            && let Some(context) = self.contexts.find(context)
        {
            context.stopped.get_or_insert(fault.clone());
        }
        if let Some(stream) = self.streams.find(parent.unwrap_or(key)) {
            stream.error.get_or_insert(fault);
        }
    }

    fn effect(&mut self, task: &Task, now: u64) -> Outcome {
        match &task.work {
            Work::Kernel {
                call,
                arguments,
                blocks,
            } => {
                if let Some(call) = call {
                    call.call(arguments, *blocks);
                }
            }
            Work::Copy { to, from, bytes } => self.memory.copy(*to, *from, *bytes)?,
            Work::Fill {
                address,
                value,
                bytes,
            } => self.memory.fill(*address, *value, *bytes)?,
            Work::Record(record) => record.complete(now),
            Work::SetFlag(flag, record) => {
                flag.set();
                record.complete(now);
            }
            Work::ResetFlag(flag) => flag.reset(),
            Work::NotifyRecord(flag) => flag.set(),
            Work::ValueWrite { address, value } => {
                self.memory.write(*address, &value.to_ne_bytes())?;
            }
            Work::Prefetch
            | Work::Wait(..)
            | Work::RecordExternal(_)
            | Work::WaitExternal(_)
            | Work::WaitFlag(..)
            | Work::NotifyWait(..)
            | Work::ValueWait { .. }
            | Work::Host(_)
            | Work::Collective(_)
            | Work::Replay { .. } => {}
        }
        Ok(())
    }

    /// Drops what is in the stream: the running task is killed, the rest never runs.
    pub(crate) fn clear(&mut self, key: Key) -> Outcome {
        self.release(key);
        let stream = self.streams.get_mut(key)?;
        stream.run = Run::Idle;
        stream.run_id += 1;
        stream.entries = 0;
        let tasks = std::mem::take(&mut stream.queue);
        self.active.remove(&key);
        for task in tasks {
            match task.work {
                Work::Collective(collective) => self.leave(key, &collective),
                Work::Replay {
                    graph,
                    number,
                    streams,
                } => self.cancel_replay(graph, number, &streams)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn wait_timeout(work: &Work) -> Option<u64> {
    match work {
        Work::Wait(_, timeout) | Work::WaitFlag(_, timeout) | Work::NotifyWait(_, timeout) => {
            *timeout
        }
        _ => None,
    }
}

/// Whether the task at a head waits for cores.
fn needs_cores(run: Run, task: &Task) -> bool {
    match (run, &task.work) {
        (Run::Blocks { .. }, _) => true,
        (_, Work::Collective(_)) => task.shape.aic > 0 || task.shape.aiv > 0,
        _ => false,
    }
}
