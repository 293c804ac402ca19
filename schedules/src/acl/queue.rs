//! Queues: what calls put into them, wait for in them, and drop from them.

use std::collections::VecDeque;

use super::machine::{Machine, Outcome};
use super::state::{InCall, Member, Part, RecordId, Task, TaskKind};
use super::{AclError, Call, PartCall, Reply, Stream};

impl Machine {
    /// The task of a call that queues one whatever the state of the machine.
    pub(super) fn plain(&mut self, call: &Call) -> Result<TaskKind, AclError> {
        let aligned = |address: u64| match address % 8 {
            0 => Ok(()),
            _ => Err(AclError::PARAM_INVALID),
        };
        Ok(match *call {
            Call::LaunchTask { .. } | Call::MemcpyPageable { .. } => TaskKind::Work,
            Call::LaunchHostFunc { calls_acl, .. } => TaskKind::HostFunc { calls_acl },
            Call::RecordNotify { notify, .. } => {
                self.notify(notify)?;
                TaskKind::NotifyRecord(notify)
            }
            Call::WaitAndResetNotify { notify, .. } => {
                self.notify(notify)?;
                TaskKind::NotifyWait(notify)
            }
            Call::ValueWrite {
                device,
                address,
                value,
                ..
            } => {
                aligned(address)?;
                let word = (device, address);
                TaskKind::ValueWrite { word, value }
            }
            Call::ValueWait {
                device,
                address,
                value,
                compare,
                ..
            } => {
                aligned(address)?;
                TaskKind::ValueWait {
                    word: (device, address),
                    value,
                    compare,
                }
            }
            Call::Collective {
                comm, member, kind, ..
            } => {
                let state = self
                    .comms
                    .get(comm.index())
                    .ok_or(AclError::INVALID_HANDLE)?;
                if member >= state.members {
                    return Err(AclError::PARAM_INVALID);
                }
                TaskKind::Collective(Member {
                    comm,
                    member,
                    kind,
                    nth: 0,
                    started: false,
                })
            }
            _ => return Err(AclError::PARAM_INVALID),
        })
    }

    pub(super) fn parts(
        &mut self,
        calls: &[PartCall],
        tag: Option<u32>,
    ) -> Result<Vec<Part>, AclError> {
        let mut parts = Vec::with_capacity(calls.len());
        for (at, part) in calls.iter().enumerate() {
            if part.after.iter().any(|&before| before >= at) {
                return Err(AclError::PARAM_INVALID);
            }
            parts.push(Part {
                task: Task {
                    tag: tag.map(|tag| tag + 1 + at as u32),
                    kind: self.plain(&part.call)?,
                },
                after: part.after.clone(),
                done: false,
            });
        }
        Ok(parts)
    }

    /// Queues a task, or captures it.
    pub(super) fn enqueue(&mut self, stream: Stream, tag: Option<u32>, kind: TaskKind) -> Outcome {
        let mut task = Task { tag, kind };
        if let Some(capture) = self.streams[stream.index()].capture {
            self.captured(capture, stream).push(task);
            return Ok(Reply::DONE);
        }
        let queue = &self.streams[stream.index()].queue;
        let used: u64 = queue.iter().map(|task| self.entries(task)).sum();
        let full = used + self.entries(&task) > u64::from(self.config.queue_entries);
        if full && !queue.is_empty() {
            return Ok(Reply::Blocks);
        }
        self.count_collectives(&mut task);
        self.streams[stream.index()].queue.push_back(task);
        Ok(Reply::DONE)
    }

    pub(super) fn entries(&self, task: &Task) -> u64 {
        match task.kind {
            TaskKind::ValueWait { .. } => self.config.value_wait_entries.into(),
            _ => 1,
        }
    }

    /// Gives each collective in a task its place among those of its communicator.
    pub(super) fn count_collectives(&mut self, task: &mut Task) {
        match &mut task.kind {
            TaskKind::Collective(member) => {
                let issued = &mut self.comms[member.comm.index()].issued[member.member as usize];
                member.nth = *issued;
                *issued += 1;
            }
            TaskKind::Group { parts, .. } => {
                for part in parts {
                    self.count_collectives(&mut part.task);
                }
            }
            _ => {}
        }
    }

    /// Waits for what has been queued by now: later tasks do not delay it.
    pub(super) fn synchronise(
        &mut self,
        thread: u32,
        call: &Call,
        targets: Vec<RecordId>,
        limit: Option<AclError>,
    ) -> Outcome {
        if targets.iter().all(|&target| self.is_over(target)) {
            return Ok(Reply::DONE);
        }
        if let Some(error) = limit
            && self.enabled().is_empty()
        {
            // Without a clock, time is up when nothing can happen any more.
            return Err(error);
        }
        let entered = InCall {
            call: call.clone(),
            error: None,
            targets: Some(targets),
        };
        self.in_call.insert(thread, entered);
        Ok(Reply::Blocks)
    }

    /// What a call returns that has got as far as waiting.
    pub(super) fn finish(&mut self, thread: u32) -> Reply {
        let entered = self.in_call.get(&thread);
        let mut targets = entered
            .iter()
            .flat_map(|entered| &entered.targets)
            .flatten();
        let limit = match entered.map(|entered| &entered.call) {
            Some(Call::SynchronizeStream { limited: true, .. }) => {
                Some(AclError::STREAM_SYNC_TIMEOUT)
            }
            Some(Call::SynchronizeEvent { limited: true, .. }) => {
                Some(AclError::EVENT_SYNC_TIMEOUT)
            }
            _ => None,
        };
        let reply = match limit {
            _ if targets.all(|&target| self.is_over(target)) => Reply::DONE,
            Some(error) if self.enabled().is_empty() => Reply::Err(error),
            _ => return Reply::Blocks,
        };
        self.in_call.remove(&thread);
        reply
    }

    pub(super) fn abort(&mut self, stream: Stream) -> Outcome {
        self.not_capturing(stream)?;
        if !self.config.stream_abort {
            return Err(AclError::FEATURE_NOT_SUPPORT);
        }
        self.drop_queue(stream);
        for entered in self.in_call.values_mut() {
            let on_it = match entered.call {
                Call::SynchronizeStream { stream: of, .. }
                | Call::MemcpyPageable { stream: of }
                | Call::LaunchTask { stream: of } => of == stream,
                _ => false,
            };
            if on_it {
                entered.error = Some(AclError::STREAM_ABORT);
            }
        }
        Ok(Reply::DONE)
    }

    /// Drops what is queued on a stream, with what a running launch replays.
    pub(super) fn drop_queue(&mut self, stream: Stream) {
        let state = &mut self.streams[stream.index()];
        let dropped: VecDeque<Task> = std::mem::take(&mut state.queue);
        let first = state.retired;
        state.retired += dropped.len() as u32;
        state.lost.extend(first..state.retired);
        for task in dropped {
            let TaskKind::Launch(launch) = task.kind else {
                continue;
            };
            if launch.running {
                let body = &self.graphs[launch.graph.index()].body;
                let inner: Vec<Stream> = body.iter().map(|(stream, _)| *stream).collect();
                inner.into_iter().for_each(|stream| self.drop_queue(stream));
                self.launch_over(launch.graph);
            } else {
                self.graphs[launch.graph.index()].dropped.insert(launch.nth);
                self.skip_dropped(launch.graph);
            }
        }
    }
}
