//! What streams and host threads do.

use super::{Engine, Phase};
use crate::compiled::{NONE, Need, Role, UNKNOWN};
use crate::engine::queue::Happening;

impl Engine<'_> {
    /// Lets all agents go on that can.
    pub(super) fn drain(&mut self) {
        let streams = self.program.streams.owners();
        while let Some(agent) = self.sim.work.pop() {
            if agent < streams {
                self.advance_stream(agent);
            } else {
                self.advance_thread(agent, agent - streams);
            }
        }
    }

    /// A host thread makes its calls one after the other (rule 6).
    fn advance_thread(&mut self, agent: u32, thread: u32) {
        let program = self.program;
        let calls = program.threads.of(thread);
        while let Some(call) = calls.get(self.sim.cursor[agent as usize] as usize).copied() {
            if self.sim.phase[agent as usize] == Phase::Start {
                let free = self.sim.free[thread as usize];
                let Some(go) = self.latest(agent, program.host_needs.of(call), free) else {
                    return;
                };
                self.call(call, go);
                self.sim.phase[agent as usize] = Phase::End;
            }
            let Some(free) = self.return_from(agent, call) else {
                return;
            };
            self.sim.free[thread as usize] = free;
            self.sim.phase[agent as usize] = Phase::Start;
            self.sim.cursor[agent as usize] += 1;
        }
    }

    /// A call whose turn has come at `go`: a task is issued at its end; a host op begins.
    fn call(&mut self, call: u32, go: u64) {
        let index = call as usize;
        if self.program.role[index] == Role::Host {
            self.sim.timeline.start[index] = go + self.times.delay[index];
        } else {
            self.sim.timeline.issued[index] = go + self.times.issue[index];
        }
        self.wake(call);
    }

    /// When a call returns; none if that is not known yet.
    fn return_from(&mut self, agent: u32, call: u32) -> Option<u64> {
        let index = call as usize;
        if self.program.role[index] == Role::Host {
            let start = self.sim.timeline.start[index];
            let met = self.latest(agent, self.program.end_needs.of(call), start)?;
            let end = met + self.times.issue[index] + self.times.duration[index];
            self.sim.timeline.issued[index] = end;
            self.sim.timeline.end[index] = end;
            self.wake(call);
            return Some(end);
        }
        let issued = self.sim.timeline.issued[index];
        if !self.program.blocking[index] {
            return Some(issued);
        }
        match self.sim.timeline.end[index] {
            UNKNOWN => {
                self.watch(agent, call);
                None
            }
            end => Some(end.max(issued)),
        }
    }

    /// The latest of `from` and the times at which all needs were met; none, and the agent watches
    /// it, if one has not been met.
    fn latest(&mut self, agent: u32, needs: &[Need], from: u64) -> Option<u64> {
        let mut latest = from;
        for need in needs {
            match self.met(*need) {
                Some(time) => latest = latest.max(time),
                None => {
                    self.watch(agent, need.on);
                    return None;
                }
            }
        }
        Some(latest)
    }

    /// A stream runs its tasks one after the other (rules 1 to 3).
    fn advance_stream(&mut self, stream: u32) {
        let program = self.program;
        let tasks = program.streams.of(stream);
        let at = stream as usize;
        while let Some(task) = tasks.get(self.sim.cursor[at] as usize).copied() {
            match self.sim.phase[at] {
                Phase::Start => {
                    let Some(ready) = self.gather(stream, task) else {
                        return;
                    };
                    let Some(ready) = ready else {
                        continue;
                    };
                    self.sim.timeline.ready[task as usize] = ready;
                    if program.role[task as usize] == Role::Wait {
                        return self.end_wait(task, ready);
                    }
                    if self.timed {
                        self.sim.phase[at] = Phase::Queued;
                        return self.sim.queue.push(ready, task, Happening::Ready);
                    }
                    return self.begin(task, ready, 0);
                }
                Phase::End => {
                    let start = self.sim.timeline.start[task as usize];
                    let Some(end) = self.latest(stream, program.end_needs.of(task), start) else {
                        return;
                    };
                    self.sim.phase[at] = Phase::Running;
                    let held = self.held(task);
                    return self.end_at(task, end, held);
                }
                Phase::Queued | Phase::Running => return,
            }
        }
    }

    /// When a task has all it needs. The outer option is none if something is missing, which the
    /// stream then watches; the inner one if the task is a wait that was never queued.
    fn gather(&mut self, stream: u32, task: u32) -> Option<Option<u64>> {
        let program = self.program;
        let index = task as usize;
        let hosted = program.thread[index] != NONE;
        let issued = self.sim.timeline.issued[index];
        if issued == UNKNOWN {
            self.watch(stream, task);
            return None;
        }
        let from = match hosted {
            true => issued + self.options.latencies.launch,
            false => 0,
        };
        let mut ready = self.latest(stream, program.start_needs.of(task), from)?;
        let before = self.sim.last_end[stream as usize];
        if program.role[index] == Role::Wait {
            for need in program.end_needs.of(task) {
                let record = self.sim.timeline.end[need.on as usize];
                if record == UNKNOWN {
                    self.watch(stream, need.on);
                    return None;
                }
                // facts/acl.md section 3: no-op when the record has finished at the call.
                if hosted && record <= issued {
                    let passed = if before == UNKNOWN { 0 } else { before };
                    self.pass(stream, task, passed.max(issued));
                    return Some(None);
                }
            }
        }
        if before != UNKNOWN {
            let kinds = (self.sim.last_kind[stream as usize], program.kind[index]);
            ready = ready.max(before + self.options.gaps.get(kinds.0, kinds.1));
        }
        Some(Some(ready + self.times.delay[index]))
    }

    /// Steps over a wait that was never queued.
    fn pass(&mut self, stream: u32, task: u32, time: u64) {
        self.sim.timeline.start[task as usize] = time;
        self.sim.timeline.end[task as usize] = time;
        self.sim.cursor[stream as usize] += 1;
        self.wake(task);
    }

    /// A wait whose record has a known end.
    fn end_wait(&mut self, task: u32, start: u64) {
        self.sim.timeline.start[task as usize] = start;
        self.sim.phase[self.program.stream[task as usize] as usize] = Phase::Running;
        let needs = self.program.end_needs.of(task).iter();
        let end = needs
            .filter_map(|need| self.met(*need))
            .fold(start + self.times.duration[task as usize], u64::max);
        self.end_at(task, end, 0);
    }
}
