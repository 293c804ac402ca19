//! Steps: what devices do by themselves.

use super::machine::Machine;
use super::state::{Member, Part, Started, Task, TaskKind};
use super::{AclError, Stream};

/// A step that a device can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The first task of a stream starts, or is done.
    Head(Stream),
    /// A part of the group that is the first task of a stream starts, or is done.
    Part(Stream, usize),
}

/// What a step did to a tagged task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It started.
    Started(u32),
    /// It is done.
    Done(u32),
}

/// What can happen to a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Nothing,
    Start,
    Finish,
    /// Both at once, as for everything that takes no time or on whose start nothing depends.
    Both,
}

impl Machine {
    /// The steps that devices can make now.
    pub fn enabled(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (index, state) in self.streams.iter().enumerate() {
            let stream = Stream(index as u32);
            let Some(head) = state.queue.front() else {
                continue;
            };
            if self.next(head) != Next::Nothing {
                steps.push(Step::Head(stream));
            }
            if let TaskKind::Group {
                running: true,
                parts,
            } = &head.kind
            {
                let ready = |part: &Part| {
                    !part.done
                        && part.after.iter().all(|&before| parts[before].done)
                        && self.next(&part.task) != Next::Nothing
                };
                let ready = parts.iter().enumerate().filter(|(_, part)| ready(part));
                steps.extend(ready.map(|(at, _)| Step::Part(stream, at)));
            }
        }
        steps
    }

    /// Makes a step, and tells what it did to tagged tasks.
    ///
    /// # Errors
    /// `PARAM_INVALID` if the step is not [enabled](Machine::enabled).
    pub fn step(&mut self, step: Step) -> Result<Vec<Effect>, AclError> {
        let stream = match step {
            Step::Head(stream) | Step::Part(stream, _) => stream,
        };
        let head = self
            .streams
            .get_mut(stream.index())
            .and_then(|state| state.queue.pop_front())
            .ok_or(AclError::PARAM_INVALID)?;
        let mut head = head;
        let result = match step {
            Step::Head(_) => self.advance(&mut head),
            Step::Part(_, at) => self
                .advance_part(&mut head, at)
                .map(|effects| (effects, false)),
        };
        let state = &mut self.streams[stream.index()];
        match result {
            Ok((effects, true)) => {
                state.retired += 1;
                Ok(effects)
            }
            Ok((effects, false)) => {
                state.queue.push_front(head);
                Ok(effects)
            }
            Err(error) => {
                state.queue.push_front(head);
                Err(error)
            }
        }
    }

    fn advance_part(&mut self, head: &mut Task, at: usize) -> Result<Vec<Effect>, AclError> {
        let TaskKind::Group {
            running: true,
            parts,
        } = &mut head.kind
        else {
            return Err(AclError::PARAM_INVALID);
        };
        let free = |part: &Part| !part.done && part.after.iter().all(|&before| parts[before].done);
        if !parts.get(at).is_some_and(free) {
            return Err(AclError::PARAM_INVALID);
        }
        let (effects, done) = self.advance(&mut parts[at].task)?;
        parts[at].done = done;
        Ok(effects)
    }

    /// Advances a task; its effects, and whether it is done.
    fn advance(&mut self, task: &mut Task) -> Result<(Vec<Effect>, bool), AclError> {
        let next = self.next(task);
        let tag = task.tag;
        let effect = |effect: fn(u32) -> Effect| tag.map(effect).into_iter();
        match next {
            Next::Nothing => Err(AclError::PARAM_INVALID),
            Next::Both => {
                self.carry_out(&task.kind);
                let effects = effect(Effect::Started).chain(effect(Effect::Done));
                Ok((effects.collect(), true))
            }
            Next::Start => {
                self.start(&mut task.kind);
                Ok((effect(Effect::Started).collect(), false))
            }
            Next::Finish => {
                if let TaskKind::Launch(launch) = &task.kind {
                    self.launch_over(launch.graph);
                }
                Ok((effect(Effect::Done).collect(), true))
            }
        }
    }

    fn next(&self, task: &Task) -> Next {
        let both_if = |met: bool| if met { Next::Both } else { Next::Nothing };
        let finish_if = |met: bool| if met { Next::Finish } else { Next::Nothing };
        match &task.kind {
            TaskKind::Work
            | TaskKind::Record(_)
            | TaskKind::RecordExternal(_)
            | TaskKind::SetFlag(_)
            | TaskKind::ResetFlag(_)
            | TaskKind::NotifyRecord(_)
            | TaskKind::ValueWrite { .. } => Next::Both,
            // Bound when it is launched.
            TaskKind::WaitExternal(_) => Next::Nothing,
            TaskKind::HostFunc { calls_acl } => both_if(!calls_acl),
            TaskKind::Wait { record, .. } => both_if(self.is_done(*record)),
            TaskKind::WaitFlag(event) => both_if(self.events[event.index()].flag),
            TaskKind::NotifyWait(notify) => both_if(self.notifies[notify.index()].flag),
            TaskKind::ValueWait {
                word,
                value,
                compare,
            } => both_if(compare.holds(self.word(*word), *value)),
            TaskKind::Collective(Member { started: false, .. }) => Next::Start,
            TaskKind::Collective(member) => {
                let comm = &self.comms[member.comm.index()];
                let started = comm.started[member.nth as usize];
                finish_if(started.count == comm.members && !started.mismatch)
            }
            TaskKind::Group { running: false, .. } => Next::Start,
            TaskKind::Group { parts, .. } => finish_if(parts.iter().all(|part| part.done)),
            TaskKind::Launch(launch) => {
                let graph = &self.graphs[launch.graph.index()];
                if launch.running {
                    let empty = |stream: Stream| self.streams[stream.index()].queue.is_empty();
                    finish_if(graph.body.iter().all(|(stream, _)| empty(*stream)))
                } else if graph.completed == launch.nth {
                    Next::Start
                } else {
                    Next::Nothing
                }
            }
        }
    }

    fn start(&mut self, kind: &mut TaskKind) {
        match kind {
            TaskKind::Group { running, .. } => *running = true,
            TaskKind::Launch(launch) => {
                launch.running = true;
                for (stream, tasks) in std::mem::take(&mut launch.body) {
                    self.streams[stream.index()].queue.extend(tasks);
                }
            }
            TaskKind::Collective(member) => {
                member.started = true;
                let comm = &mut self.comms[member.comm.index()];
                let nth = member.nth as usize;
                let fresh = Started {
                    count: 0,
                    kind: member.kind,
                    mismatch: false,
                };
                if comm.started.len() <= nth {
                    comm.started.resize(nth + 1, fresh);
                }
                let started = &mut comm.started[nth];
                if started.count == 0 {
                    started.kind = member.kind;
                }
                started.count += 1;
                started.mismatch |= !same(started.kind, member.kind);
            }
            _ => {}
        }
    }

    fn carry_out(&mut self, kind: &TaskKind) {
        match kind {
            TaskKind::SetFlag(event) => self.events[event.index()].flag = true,
            TaskKind::ResetFlag(event) => self.events[event.index()].flag = false,
            TaskKind::NotifyRecord(notify) => self.notifies[notify.index()].flag = true,
            TaskKind::NotifyWait(notify) => self.notifies[notify.index()].flag = false,
            TaskKind::ValueWrite { word, value } => {
                self.words.insert(*word, *value);
            }
            _ => {}
        }
    }

    /// The value of a word; 0 if it was never written.
    pub(super) fn word(&self, word: (u32, u64)) -> u64 {
        self.words.get(&word).copied().unwrap_or(0)
    }
}

/// Whether two members mean the same; a send and a receive meet.
fn same(a: crate::ir::CollectiveKind, b: crate::ir::CollectiveKind) -> bool {
    use crate::ir::CollectiveKind::{Receive, Send};
    a == b || matches!((a, b), (Send, Receive) | (Receive, Send))
}
