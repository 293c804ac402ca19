//! Flags, notifies and words: signals whose meaning depends on the order of events in time
//! (facts/acl.md sections 3 to 5).

use std::mem;

use super::Engine;
use crate::compiled::{Compiled, NONE, Reason, Role};

/// A flag, notify or word.
#[derive(Clone, Copy, Debug)]
struct Signal {
    /// Its value; 1 for a set flag or notify.
    value: u64,
    /// The instance that gave it its value.
    by: u32,
    /// When.
    since: u64,
    /// The first agent that waits for it; agents are in the order of their waits' instances.
    waiters: u32,
}

impl Signal {
    const CLEAR: Self = Self {
        value: 0,
        by: NONE,
        since: 0,
        waiters: NONE,
    };
}

/// All signals of a program: flags, then notifies, then words.
#[derive(Debug, Default)]
pub(super) struct Signals(Vec<Signal>);

impl Signals {
    pub(super) fn reset(&mut self, program: &Compiled) {
        let count = program.flags + program.notifies + program.word_count;
        self.0.clear();
        self.0.resize(count as usize, Signal::CLEAR);
    }
}

impl Engine<'_> {
    /// The signal that a task sets, clears or waits for.
    fn signal_of(&self, role: Role) -> Option<usize> {
        let flags = self.program.flags;
        let at = match role {
            Role::SetFlag(flag) | Role::WaitFlag(flag) | Role::ClearFlag(flag) => flag,
            Role::SetNotify(notify) | Role::WaitNotify(notify) => flags + notify,
            Role::Write(op) | Role::WaitWord(op) => {
                flags + self.program.notifies + self.program.words[op as usize].word
            }
            _ => return None,
        };
        Some(at as usize)
    }

    /// Whether a signal lets a wait with this role pass.
    fn passes(&self, role: Role, signal: &Signal) -> bool {
        match role {
            Role::WaitWord(op) => {
                let op = self.program.words[op as usize];
                op.compare.holds(signal.value, op.value)
            }
            _ => signal.value != 0,
        }
    }

    /// A wait has reached the head of its stream.
    pub(super) fn wait_for_signal(&mut self, instance: u32, now: u64) {
        let role = self.program.role[instance as usize];
        let Some(at) = self.signal_of(role) else {
            return;
        };
        let signal = self.sim.signals.0[at];
        if self.passes(role, &signal) {
            if matches!(role, Role::WaitNotify(_)) {
                self.sim.signals.0[at].value = 0;
            }
            self.release(instance, signal.by, signal.since, now);
            return;
        }
        // Keep the waiters in the order of their instances.
        let agent = self.program.stream[instance as usize];
        let mut before = NONE;
        let mut next = signal.waiters;
        while next != NONE && self.waiting(next) < instance {
            before = next;
            next = self.sim.next[next as usize];
        }
        self.sim.next[agent as usize] = next;
        if before == NONE {
            self.sim.signals.0[at].waiters = agent;
        } else {
            self.sim.next[before as usize] = agent;
        }
    }

    /// The instance at a stream's cursor.
    fn waiting(&self, stream: u32) -> u32 {
        let cursor = self.sim.cursor[stream as usize] as usize;
        self.program.streams.of(stream)[cursor]
    }

    /// Ends a wait that `by` released with a signal given at `since`.
    fn release(&mut self, instance: u32, by: u32, since: u64, now: u64) {
        self.sim.timeline.released_by[instance as usize] = by;
        let lag = match self.program.role[instance as usize] {
            _ if by == NONE => 0,
            Role::WaitFlag(_) => self.options.lag(Reason::Event),
            Role::WaitNotify(_) => self.options.lag(Reason::Notify),
            _ => self.options.lag(Reason::Value),
        };
        let held = self.held(instance);
        let at = instance as usize;
        let least = self.sim.timeline.start[at] + self.times.duration[at];
        self.end_at(instance, now.max(since + lag).max(least), held);
    }

    /// What the end of a task does to signals, and which waits that releases.
    pub(super) fn signal(&mut self, instance: u32, now: u64) {
        let role = self.program.role[instance as usize];
        let value = match role {
            Role::SetFlag(_) | Role::SetNotify(_) => 1,
            Role::ClearFlag(_) => 0,
            Role::Write(op) => self.program.words[op as usize].value,
            _ => return,
        };
        let Some(at) = self.signal_of(role) else {
            return;
        };
        let signal = &mut self.sim.signals.0[at];
        signal.value = value;
        signal.by = instance;
        signal.since = now;
        let mut agent = mem::replace(&mut signal.waiters, NONE);
        let mut kept = NONE;
        while agent != NONE {
            let next = self.sim.next[agent as usize];
            let wait = self.waiting(agent);
            let signal = self.sim.signals.0[at];
            if self.passes(self.program.role[wait as usize], &signal) {
                if matches!(role, Role::SetNotify(_)) {
                    self.sim.signals.0[at].value = 0;
                }
                self.release(wait, instance, now, now);
            } else {
                // The rest stays in its order.
                self.sim.next[agent as usize] = NONE;
                if kept == NONE {
                    self.sim.signals.0[at].waiters = agent;
                } else {
                    self.sim.next[kept as usize] = agent;
                }
                kept = agent;
            }
            agent = next;
        }
    }
}
