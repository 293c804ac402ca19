//! What streams and host threads do.

use super::{Engine, Phase};
use crate::compiled::{NONE, Role, UNKNOWN};
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

    /// A host thread makes its calls one after the other (rule 8).
    fn advance_thread(&mut self, agent: u32, thread: u32) {
        let program = self.program;
        let calls = program.threads.of(thread);
        let at = thread as usize;
        while let Some(call) = calls.get(self.sim.cursor[agent as usize] as usize).copied() {
            let index = call as usize;
            if self.sim.phase[agent as usize] == Phase::Start {
                let mut go = self.sim.free[at];
                for need in program.host_needs.of(call) {
                    match self.met(*need) {
                        Some(time) => go = go.max(time),
                        None => return self.watch(agent, need.on),
                    }
                }
                let is_host = program.role[index] == Role::Host;
                let mut issued = go + self.times.issue[index];
                if is_host {
                    issued += self.times.delay[index] + self.times.duration[index];
                    self.sim.timeline.start[index] = self.sim.free[at];
                    self.sim.timeline.end[index] = issued;
                }
                self.sim.timeline.issued[index] = issued;
                self.sim.free[at] = issued;
                self.wake(call);
                if program.blocking[index] {
                    self.sim.phase[agent as usize] = Phase::End;
                }
            }
            if self.sim.phase[agent as usize] == Phase::End {
                let end = self.sim.timeline.end[index];
                if end == UNKNOWN {
                    return self.watch(agent, call);
                }
                self.sim.free[at] = self.sim.free[at].max(end);
                self.sim.phase[agent as usize] = Phase::Start;
            }
            self.sim.cursor[agent as usize] += 1;
        }
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
                    return self.begin(task, ready);
                }
                Phase::End => {
                    let mut end = self.sim.timeline.start[task as usize];
                    for need in program.end_needs.of(task) {
                        match self.met(*need) {
                            Some(time) => end = end.max(time),
                            None => return self.watch(stream, need.on),
                        }
                    }
                    self.sim.phase[at] = Phase::Running;
                    return self.end_at(task, end);
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
        let mut ready = if hosted {
            issued + self.options.latencies.launch
        } else {
            0
        };
        for need in program.start_needs.of(task) {
            match self.met(*need) {
                Some(time) => ready = ready.max(time),
                None => {
                    self.watch(stream, need.on);
                    return None;
                }
            }
        }
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
            .fold(start, u64::max);
        self.end_at(task, end);
    }
}
