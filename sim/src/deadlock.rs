//! Deadlocks as values (rule 10): who waits for whom, what is held, which ranks are waited for.

use std::collections::BTreeSet;
use std::fmt;

use crate::compiled::{Compiled, NONE, Need, Point, Reason, Role, UNKNOWN};
use crate::costs::Options;
use crate::engine::{Phase, Simulator};
use crate::load::Engine;

/// Nothing can go on, and something is unfinished.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Deadlock {
    /// Each waits for the next. In a cycle, the last waits for the first.
    pub chain: Vec<Blocked>,
    /// What the last one waits for, if it is no cycle.
    pub never: Option<Never>,
    /// Cores that unfinished tasks hold.
    pub held: Vec<Held>,
    /// Ranks that somebody in the chain waits for, ascending.
    pub ranks: Vec<u32>,
    /// Instances that have not ended.
    pub unfinished: usize,
}

/// Something that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The instance.
    pub instance: u32,
    /// Its rank.
    pub rank: u32,
    /// Its path in the schedule; empty for programs that were not compiled from one.
    pub path: String,
    /// Whether it is the host call rather than the device task.
    pub call: bool,
    /// Why it waits for the next of the chain, or for what never comes.
    pub reason: Reason,
}

/// Something that never comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Never {
    /// These ranks never issue the collective.
    Members(Vec<u32>),
    /// The members issue different collectives.
    Mismatch,
    /// No record, notify or value write is left that would release the wait.
    Signal,
    /// It must start on more cores at once than its die has.
    Cores(Engine),
    /// The host function calls ACL, which hangs (facts/acl.md section 9).
    HostFunction,
}

/// Cores that an unfinished task holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The rank.
    pub rank: u32,
    /// The engine.
    pub engine: Engine,
    /// The instance that holds it.
    pub instance: u32,
    /// Its path in the schedule; empty for programs that were not compiled from one.
    pub path: String,
}

impl Deadlock {
    /// Names the instances by their paths.
    pub fn with_paths(mut self, path: impl Fn(u32) -> String) -> Self {
        for blocked in &mut self.chain {
            blocked.path = path(blocked.instance);
        }
        for held in &mut self.held {
            held.path = path(held.instance);
        }
        self
    }

    /// Whether the chain closes.
    pub fn is_cycle(&self) -> bool {
        self.never.is_none()
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.call { "the call of " } else { "" };
        if self.path.is_empty() {
            write!(f, "{what}instance {} on rank {}", self.instance, self.rank)
        } else {
            write!(f, "{what}`{}` on rank {}", self.path, self.rank)
        }
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "deadlock with {} op instances unfinished: ",
            self.unfinished
        )?;
        for (at, blocked) in self.chain.iter().enumerate() {
            if at == 0 {
                write!(f, "{blocked}")?;
            }
            match (self.chain.get(at + 1), &self.never) {
                (Some(next), _) => write!(f, " waits {} {next}, which", why(blocked.reason))?,
                (None, None) => {
                    write!(
                        f,
                        " waits {} {}: a cycle",
                        why(blocked.reason),
                        self.chain[0]
                    )?;
                }
                (None, Some(never)) => write!(f, " {never}")?,
            }
        }
        for held in &self.held {
            write!(f, "; {held}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of rank {} held by ", self.engine.name(), self.rank)?;
        match self.path.as_str() {
            "" => write!(f, "instance {}", self.instance),
            path => write!(f, "`{path}`"),
        }
    }
}

impl fmt::Display for Never {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Members(ranks) => write!(
                f,
                "waits in its collective for {ranks:?}, ranks that never issue it"
            ),
            Self::Mismatch => f.write_str("is in a collective whose members mean different ones"),
            Self::Signal => f.write_str("waits for a signal that nothing left gives"),
            Self::Cores(engine) => write!(
                f,
                "must start on more {} cores at once than a die has",
                engine.name()
            ),
            Self::HostFunction => f.write_str("hangs, because its host function calls ACL"),
        }
    }
}

fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Stream => "on its stream behind",
        Reason::Issue => "to be issued by",
        Reason::Thread => "on its thread behind",
        Reason::ListOrder => "for its turn after",
        Reason::QueueRoom => "for room in the queue that is taken by",
        Reason::Synchronise | Reason::BlockingCopy => "on the host for",
        Reason::Event => "for the event of",
        Reason::Notify => "for the notify of",
        Reason::Value => "for the value of",
        Reason::Collective => "in its collective for",
        Reason::Container => "for the start of",
        Reason::Part => "for the part",
        Reason::Replay => "for the earlier launch",
        Reason::Cores => "for cores held by",
        Reason::Delay | Reason::Running => "for",
    }
}

/// A host call or a device task that has not happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Node {
    instance: u32,
    call: bool,
}

enum Next {
    Node(Reason, Node),
    Never(Reason, Never),
}

/// What keeps a finished run from being complete; none if everything has ended.
///
/// # Complexity
/// O(agents) if nothing is wrong; else O(agents times instances).
pub(crate) fn find(program: &Compiled, options: &Options, sim: &Simulator) -> Option<Deadlock> {
    let streams = program.streams.owners();
    let stuck: Vec<Node> = (0..streams)
        .map(|stream| (program.streams.of(stream), stream, false))
        .chain((0..program.threads.owners()).map(|thread| {
            let calls = program.threads.of(thread);
            (calls, streams + thread, true)
        }))
        .filter_map(|(list, agent, call)| {
            let instance = *list.get(sim.cursor[agent as usize] as usize)?;
            Some(Node { instance, call })
        })
        .collect();
    if stuck.is_empty() {
        return None;
    }
    let search = Search {
        program,
        options,
        sim,
    };
    // Prefer a cycle over a chain that ends with something that never comes.
    let mut best: Option<Deadlock> = None;
    for node in stuck {
        let found = search.follow(node);
        if found.is_cycle() {
            best = Some(found);
            break;
        }
        best.get_or_insert(found);
    }
    best
}

struct Search<'a> {
    program: &'a Compiled,
    options: &'a Options,
    sim: &'a Simulator,
}

impl Search<'_> {
    /// Follows the waits from a node until they close or end.
    fn follow(&self, from: Node) -> Deadlock {
        let mut nodes = vec![from];
        let mut chain = Vec::new();
        let mut ranks = BTreeSet::new();
        let mut never = None;
        loop {
            let node = nodes[nodes.len() - 1];
            let (reason, next) = match self.next(node) {
                Next::Node(reason, next) => (reason, Some(next)),
                Next::Never(reason, end) => {
                    never = Some(end);
                    (reason, None)
                }
            };
            chain.push(Blocked {
                instance: node.instance,
                rank: self.program.rank(node.instance),
                path: String::new(),
                call: node.call,
                reason,
            });
            let Some(next) = next else { break };
            if let Some(at) = nodes.iter().position(|node| *node == next) {
                nodes.drain(..at);
                chain.drain(..at);
                break;
            }
            nodes.push(next);
        }
        for blocked in &chain {
            if blocked.reason == Reason::Collective {
                ranks.extend(self.absent(blocked.instance));
            }
        }
        Deadlock {
            chain,
            never,
            held: self.held(),
            ranks: ranks.into_iter().collect(),
            unfinished: self.unfinished(),
        }
    }

    fn unfinished(&self) -> usize {
        let ends = self.sim.timeline.end.iter();
        ends.filter(|end| **end == UNKNOWN).count()
    }

    /// Unfinished tasks with cores of a kind on a die, by instance.
    fn holders(&self, die: u32, engine: Engine) -> impl Iterator<Item = u32> + '_ {
        let out = self.sim.out.iter().zip(0_u32..);
        let holding = out.filter(|(units, _)| **units > 0).map(|(_, at)| at);
        holding.filter(move |at| {
            let load = self.options.load(&self.program.loads[*at as usize]);
            self.program.die[*at as usize] == die && load.takes(engine)
        })
    }

    fn held(&self) -> Vec<Held> {
        let mut held = Vec::new();
        for (die, rank) in self.program.ranks.iter().enumerate() {
            for engine in Engine::ALL {
                held.extend(self.holders(die as u32, engine).map(|instance| Held {
                    rank: *rank,
                    engine,
                    instance,
                    path: String::new(),
                }));
            }
        }
        held
    }

    /// Ranks that a collective still waits for.
    fn absent(&self, member: u32) -> Vec<u32> {
        let Role::Collective(transfer) = self.program.role[member as usize] else {
            return Vec::new();
        };
        let transfer = &self.program.transfers[transfer as usize];
        let late = transfer.members.iter().copied();
        let late = late.filter(|other| self.sim.timeline.start[*other as usize] == UNKNOWN);
        let late = late.map(|other| self.program.rank(other));
        late.chain(transfer.missing.iter().copied()).collect()
    }

    /// The first of these needs that has not been met.
    fn unmet(&self, needs: &[Need]) -> Option<Next> {
        let timeline = &self.sim.timeline;
        needs.iter().find_map(|need| {
            let on = need.on as usize;
            let (time, call) = match need.point {
                Point::Issued => (timeline.issued[on], true),
                Point::Start => (timeline.start[on], self.program.stream[on] == NONE),
                Point::End => (timeline.end[on], self.program.stream[on] == NONE),
            };
            let instance = need.on;
            (time == UNKNOWN).then_some(Next::Node(need.why, Node { instance, call }))
        })
    }

    fn next(&self, node: Node) -> Next {
        if node.call {
            self.next_of_call(node.instance)
        } else {
            self.next_of_task(node.instance)
        }
    }

    fn at_cursor(&self, list: &[u32], agent: u32) -> u32 {
        let cursor = self.sim.cursor[agent as usize] as usize;
        list.get(cursor).copied().unwrap_or(NONE)
    }

    fn next_of_call(&self, instance: u32) -> Next {
        let thread = self.program.thread[instance as usize];
        let agent = self.program.streams.owners() + thread;
        let current = self.at_cursor(self.program.threads.of(thread), agent);
        let called = self.sim.phase[agent as usize] == Phase::End;
        if current != instance {
            let call = Node {
                instance: current,
                call: true,
            };
            return Next::Node(Reason::Thread, call);
        }
        if called && self.program.blocking[instance as usize] {
            let task = Node {
                instance,
                call: false,
            };
            return Next::Node(Reason::BlockingCopy, task);
        }
        let needs = match called {
            true => self.program.end_needs.of(instance),
            false => self.program.host_needs.of(instance),
        };
        self.unmet(needs)
            .unwrap_or(Next::Never(Reason::Running, Never::Signal))
    }

    fn next_of_task(&self, instance: u32) -> Next {
        let at = instance as usize;
        let program = self.program;
        let stream = program.stream[at];
        let current = self.at_cursor(program.streams.of(stream), stream);
        let task = |instance| Node {
            instance,
            call: false,
        };
        if current != instance {
            return Next::Node(Reason::Stream, task(current));
        }
        if self.sim.timeline.issued[at] == UNKNOWN {
            let call = Node {
                instance,
                call: true,
            };
            return Next::Node(Reason::Issue, call);
        }
        if self.sim.timeline.start[at] == UNKNOWN {
            if let Some(next) = self.unmet(program.start_needs.of(instance)) {
                return next;
            }
            if self.sim.phase[stream as usize] == Phase::Queued
                && let Some(next) = self.no_cores(instance)
            {
                return next;
            }
        }
        if let Some(next) = self.unmet(program.end_needs.of(instance)) {
            return next;
        }
        self.unreleased(instance)
    }

    /// Who holds the cores that a ready task needs.
    fn no_cores(&self, instance: u32) -> Option<Next> {
        let at = instance as usize;
        let load = self.options.load(&self.program.loads[at]);
        let cores = self.options.cores();
        let wanted = Engine::ALL.into_iter().filter(|kind| load.takes(*kind));
        for engine in wanted {
            if u32::from(load.unit[engine as usize]) > cores[engine as usize] {
                return Some(Next::Never(Reason::Cores, Never::Cores(engine)));
            }
            if let Some(holder) = self.holders(self.program.die[at], engine).next() {
                let node = Node {
                    instance: holder,
                    call: false,
                };
                return Some(Next::Node(Reason::Cores, node));
            }
        }
        None
    }

    /// What a started task still waits for.
    fn unreleased(&self, instance: u32) -> Next {
        let program = self.program;
        let role = program.role[instance as usize];
        let reason = match role {
            Role::Collective(transfer) => {
                let transfer = &program.transfers[transfer as usize];
                let mut members = transfer.members.iter().copied();
                let late = members.find(|m| self.sim.timeline.start[*m as usize] == UNKNOWN);
                return match late {
                    Some(instance) => Next::Node(
                        Reason::Collective,
                        Node {
                            instance,
                            call: false,
                        },
                    ),
                    None if transfer.missing.is_empty() => {
                        Next::Never(Reason::Collective, Never::Mismatch)
                    }
                    None => {
                        let missing = transfer.missing.clone();
                        Next::Never(Reason::Collective, Never::Members(missing))
                    }
                };
            }
            Role::WaitFlag(_) => Reason::Event,
            Role::WaitNotify(_) => Reason::Notify,
            Role::WaitWord(_) => Reason::Value,
            _ => return Next::Never(Reason::Running, Never::HostFunction),
        };
        let word = |op: u32| program.words[op as usize].word;
        let sends = |other: &u32| {
            self.sim.timeline.end[*other as usize] == UNKNOWN
                && match (role, program.role[*other as usize]) {
                    (Role::WaitFlag(flag), Role::SetFlag(set)) => flag == set,
                    (Role::WaitNotify(notify), Role::SetNotify(set)) => notify == set,
                    (Role::WaitWord(wait), Role::Write(write)) => word(wait) == word(write),
                    _ => false,
                }
        };
        match (0..program.len() as u32).find(sends) {
            Some(instance) => Next::Node(
                reason,
                Node {
                    instance,
                    call: false,
                },
            ),
            None => Next::Never(reason, Never::Signal),
        }
    }
}
