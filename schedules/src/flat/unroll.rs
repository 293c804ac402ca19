//! From programs to instances: ranks, repeats, graph launches, groups and super kernels.

use std::collections::HashMap;

use super::tables::{Interner, Tables};
use super::{
    CountError, EventId, FlatError, GraphId, Instance, InstanceId, NotifyId, Role, StreamId,
    Target, ThreadId, WordId,
};
use crate::ir::{
    GroupTask, HostKind, Op, OpKind, Override, Peer, Program, RankGroup, Repeat, Schedule,
    SyncTarget, VariableRef,
};

/// Programs inside programs; more is taken for programs that contain one another.
const MAX_DEPTH: usize = 64;

/// A node of the tree of programs that were entered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'s> {
    pub(super) parent: u32,
    /// The repeat, launch, group or super kernel that was entered; none at the top of a rank.
    pub(super) op: Option<&'s Op>,
    pub(super) iteration: Option<u64>,
}

/// Everything that numbering instances yields.
#[derive(Debug)]
pub(super) struct Unrolled<'s> {
    pub(super) tables: Tables<'s>,
    pub(super) instances: Vec<Instance<'s>>,
    pub(super) frames: Vec<Frame<'s>>,
    /// The instances of each rank that runs a program, as dense indices.
    pub(super) ranks: Vec<(u32, std::ops::Range<usize>)>,
    pub(super) threads: Interner<(u32, &'s str)>,
    pub(super) streams: Interner<(u32, Option<GraphId>, usize)>,
    pub(super) events: Interner<(u32, usize)>,
    pub(super) notifies: Interner<(u32, usize)>,
    pub(super) words: Interner<(u32, (usize, u64))>,
    pub(super) graphs: Interner<(u32, usize)>,
}

/// Where the unrolling is.
#[derive(Clone, Copy)]
struct Place<'s> {
    rank: u32,
    program: &'s Program,
    frame: u32,
    depth: usize,
    /// Inside the replay of a graph: the launch, its thread, and the graph.
    replay: Option<(InstanceId, ThreadId, GraphId)>,
}

type Values<'a> = &'a dyn Fn(&VariableRef) -> Option<f64>;
type Overrides<'s> = HashMap<(u32, &'s str, &'s str), &'s Override>;

pub(super) fn unroll<'s>(
    schedule: &'s Schedule,
    values: Values<'_>,
    limit: usize,
) -> Result<Unrolled<'s>, FlatError> {
    let mut unroller = Unroller {
        schedule,
        values,
        limit: limit.min(u32::MAX as usize - 2),
        spent: 0,
        overrides: HashMap::new(),
        out: Unrolled {
            tables: Tables::new(schedule),
            instances: Vec::new(),
            frames: Vec::new(),
            ranks: Vec::new(),
            threads: Interner::new(),
            streams: Interner::new(),
            events: Interner::new(),
            notifies: Interner::new(),
            words: Interner::new(),
            graphs: Interner::new(),
        },
    };
    let mut groups: Vec<&RankGroup> = schedule.ranks.iter().collect();
    groups.sort_by_key(|group| group.first);
    for group in groups {
        unroller.ranks(group)?;
    }
    Ok(unroller.out)
}

struct Unroller<'s, 'v> {
    schedule: &'s Schedule,
    values: Values<'v>,
    limit: usize,
    spent: usize,
    overrides: Overrides<'s>,
    out: Unrolled<'s>,
}

impl<'s> Unroller<'s, '_> {
    fn ranks(&mut self, group: &'s RankGroup) -> Result<(), FlatError> {
        let Some(name) = &group.program else {
            return Ok(());
        };
        let program = self
            .program(name.as_str())
            .ok_or_else(|| FlatError::UnknownRankProgram {
                rank: group.first,
                program: name.to_string(),
            })?;
        self.overrides = group
            .overrides
            .iter()
            .map(|o| ((o.rank, o.program.as_str(), o.op.as_str()), o))
            .collect();
        for rank in group.first..group.first.saturating_add(group.count) {
            self.spend()?;
            let start = self.out.instances.len();
            let frame = self.enter(0, None, None);
            self.run(Place {
                rank,
                program,
                frame,
                depth: 0,
                replay: None,
            })?;
            let end = self.out.instances.len();
            self.out.ranks.push((rank, start..end));
        }
        Ok(())
    }

    fn run(&mut self, at: Place<'s>) -> Result<(), FlatError> {
        for op in &at.program.ops {
            match &op.kind {
                OpKind::Repeat(repeat) => self.repeat(at, op, repeat)?,
                _ if at.replay.is_some() && !op.is_device() => {}
                OpKind::Host(HostKind::RecordExternal { .. }) if at.replay.is_some() => {}
                _ => self.instance(at, op)?,
            }
        }
        Ok(())
    }

    fn repeat(&mut self, at: Place<'s>, op: &'s Op, repeat: &'s Repeat) -> Result<(), FlatError> {
        let program = self.named_program(at, op, repeat.program.as_str())?;
        let count = match repeat.count.eval(self.values) {
            Ok(count) if count.round() >= 0.0 => Ok(count.round()),
            Ok(count) => Err(CountError::Negative(count)),
            Err(error) => Err(error.into()),
        }
        .map_err(|reason| FlatError::Count {
            rank: at.rank,
            path: self.path(at, op),
            reason,
        })?;
        // Saturates; the limit ends the loop long before.
        for iteration in 0..count as u64 {
            self.spend()?;
            let inner = Place {
                program,
                frame: self.enter(at.frame, Some(op), Some(iteration)),
                depth: self.deeper(at, op)?,
                ..at
            };
            self.run(inner)?;
        }
        Ok(())
    }

    fn instance(&mut self, at: Place<'s>, op: &'s Op) -> Result<(), FlatError> {
        let stream = match &op.stream {
            Some(name) => {
                let graph = at.replay.map(|(_, _, graph)| graph);
                Some(self.stream(at, op, graph, name.as_str())?)
            }
            None if op.is_device() => {
                return Err(FlatError::NoStream {
                    rank: at.rank,
                    path: self.path(at, op),
                });
            }
            None => None,
        };
        let (role, parent, thread) = match at.replay {
            Some((launch, thread, _)) => (Role::Replayed, Some(launch), thread),
            None => {
                let thread = self.out.threads.number((at.rank, op.thread.as_str()));
                (Role::Issued, None, ThreadId::new(thread))
            }
        };
        let overridden = match self.overrides.is_empty() {
            true => None,
            false => {
                let key = (at.rank, at.program.name.as_str(), op.id.as_str());
                self.overrides.get(&key).copied()
            }
        };
        let mut instance = Instance {
            rank: at.rank,
            op,
            program: at.program,
            overridden,
            role,
            parent,
            thread,
            stream,
            target: Target::None,
            collective: None,
            end: 0,
            frame: at.frame,
        };
        instance.target = self.target(at, op, &instance)?;
        let id = self.push(instance)?;
        match &op.kind {
            OpKind::Group(group) => self.parts(at, id, op, &group.tasks)?,
            OpKind::SuperKernel(kernel) => self.parts(at, id, op, &kernel.parts)?,
            OpKind::GraphLaunch(launch) => {
                let program = self.captured(at, op, launch.program.as_str())?;
                if let Target::Graph(graph) = instance.target {
                    let replay = Place {
                        program,
                        frame: self.enter(at.frame, Some(op), None),
                        depth: self.deeper(at, op)?,
                        replay: Some((id, thread, graph)),
                        ..at
                    };
                    self.run(replay)?;
                }
            }
            _ => {}
        }
        // Capped by `limit`.
        self.out.instances[id.index()].end = self.out.instances.len() as u32;
        Ok(())
    }

    fn parts(
        &mut self,
        at: Place<'s>,
        whole: InstanceId,
        op: &'s Op,
        tasks: &'s [GroupTask],
    ) -> Result<(), FlatError> {
        let frame = self.enter(at.frame, Some(op), None);
        let inner = Place { frame, ..at };
        for task in tasks {
            let mut part = Instance {
                op: &task.op,
                overridden: None,
                role: Role::Part,
                parent: Some(whole),
                target: Target::None,
                frame,
                ..self.out.instances[whole.index()]
            };
            part.target = self.target(inner, &task.op, &part)?;
            let id = self.push(part)?;
            self.out.instances[id.index()].end = self.out.instances.len() as u32;
        }
        Ok(())
    }

    fn target(
        &mut self,
        at: Place<'s>,
        op: &'s Op,
        instance: &Instance<'s>,
    ) -> Result<Target, FlatError> {
        let tables = &self.out.tables;
        let unknown = |this: &Self, what, name: &str| this.unknown(at, op, what, name);
        Ok(match &op.kind {
            OpKind::Record(record) | OpKind::EventReset(record) => {
                self.event(at, op, record.event.as_str())?
            }
            OpKind::Wait(wait) => self.event(at, op, wait.event.as_str())?,
            OpKind::Host(HostKind::RecordExternal { event }) => {
                self.event(at, op, event.as_str())?
            }
            OpKind::Host(HostKind::Synchronise(target)) => match target {
                SyncTarget::Stream(name) => {
                    Target::Stream(self.stream(at, op, None, name.as_str())?)
                }
                SyncTarget::Event(name) => self.event(at, op, name.as_str())?,
                SyncTarget::Device => Target::Device,
            },
            OpKind::NotifyRecord(record) => {
                let name = record.notify.as_str();
                let notify = *tables
                    .notifies
                    .get(name)
                    .ok_or_else(|| unknown(self, "notify", name))?;
                let rank = self.peer(at, op, instance.peer())?;
                Target::Notify(NotifyId::new(self.out.notifies.number((rank, notify))))
            }
            OpKind::NotifyWait(wait) => {
                let name = wait.notify.as_str();
                let notify = *tables
                    .notifies
                    .get(name)
                    .ok_or_else(|| unknown(self, "notify", name))?;
                Target::Notify(NotifyId::new(self.out.notifies.number((at.rank, notify))))
            }
            OpKind::ValueWrite(write) => {
                let rank = self.peer(at, op, instance.peer())?;
                self.word(at, op, rank, write.buffer.as_str(), write.offset)?
            }
            OpKind::ValueWait(wait) => {
                self.word(at, op, at.rank, wait.buffer.as_str(), wait.offset)?
            }
            OpKind::GraphLaunch(launch) => self.graph(at, op, launch.program.as_str())?,
            OpKind::TaskUpdate(update) => self.graph(at, op, update.program.as_str())?,
            _ => Target::None,
        })
    }

    fn event(&mut self, at: Place<'s>, op: &'s Op, name: &str) -> Result<Target, FlatError> {
        match self.out.tables.events.get(name) {
            Some(&event) => Ok(Target::Event(EventId::new(
                self.out.events.number((at.rank, event)),
            ))),
            None => Err(self.unknown(at, op, "event", name)),
        }
    }

    fn stream(
        &mut self,
        at: Place<'s>,
        op: &'s Op,
        graph: Option<GraphId>,
        name: &str,
    ) -> Result<StreamId, FlatError> {
        match self.out.tables.streams.get(name) {
            Some(&stream) => Ok(StreamId::new(
                self.out.streams.number((at.rank, graph, stream)),
            )),
            None => Err(self.unknown(at, op, "stream", name)),
        }
    }

    fn word(
        &mut self,
        at: Place<'s>,
        op: &'s Op,
        rank: u32,
        name: &str,
        offset: u64,
    ) -> Result<Target, FlatError> {
        match self.out.tables.buffers.get(name) {
            Some(&buffer) => {
                let word = self.out.tables.word(buffer, offset);
                Ok(Target::Word(WordId::new(
                    self.out.words.number((rank, word)),
                )))
            }
            None => Err(self.unknown(at, op, "buffer", name)),
        }
    }

    fn graph(&mut self, at: Place<'s>, op: &'s Op, name: &str) -> Result<Target, FlatError> {
        match self.out.tables.programs.get(name) {
            Some(&program) => Ok(Target::Graph(GraphId::new(
                self.out.graphs.number((at.rank, program)),
            ))),
            None => Err(self.unknown(at, op, "program", name)),
        }
    }

    fn captured(&self, at: Place<'s>, op: &'s Op, name: &str) -> Result<&'s Program, FlatError> {
        let program = self.named_program(at, op, name)?;
        let reason = if at.replay.is_some() {
            "it is inside a captured program (a graph cannot launch a graph)"
        } else if program.capture.is_none() {
            "it is not captured; set `capture` or use `repeat`"
        } else {
            return Ok(program);
        };
        Err(FlatError::Launch {
            rank: at.rank,
            path: self.path(at, op),
            program: name.to_owned(),
            reason,
        })
    }

    fn peer(&self, at: Place<'s>, op: &'s Op, peer: Option<&'s Peer>) -> Result<u32, FlatError> {
        match peer {
            None | Some(Peer::Own) => Ok(at.rank),
            Some(Peer::Rank(rank)) => Ok(*rank),
            Some(Peer::Member {
                communicator,
                offset,
            }) => {
                let tables = &self.out.tables;
                let name = communicator.as_str();
                let number = *tables
                    .communicators
                    .get(name)
                    .ok_or_else(|| self.unknown(at, op, "communicator", name))?;
                let member = tables.places[number]
                    .get(&at.rank)
                    .and_then(|&(group, at)| {
                        let ranks = &self.schedule.communicators[number].groups[group];
                        let at = (at as i64 + i64::from(*offset)).rem_euclid(ranks.len() as i64);
                        ranks.get(at as usize).copied()
                    });
                member.ok_or_else(|| FlatError::NotAMember {
                    rank: at.rank,
                    path: self.path(at, op),
                    communicator: name.to_owned(),
                })
            }
        }
    }

    fn program(&self, name: &str) -> Option<&'s Program> {
        let &at = self.out.tables.programs.get(name)?;
        self.schedule.programs.get(at)
    }

    fn named_program(
        &self,
        at: Place<'s>,
        op: &'s Op,
        name: &str,
    ) -> Result<&'s Program, FlatError> {
        self.program(name)
            .ok_or_else(|| self.unknown(at, op, "program", name))
    }

    fn push(&mut self, instance: Instance<'s>) -> Result<InstanceId, FlatError> {
        self.spend()?;
        self.out.instances.push(instance);
        Ok(InstanceId::new(self.out.instances.len() - 1))
    }

    /// Iterations count like instances, so that repeats of nothing end too.
    fn spend(&mut self) -> Result<(), FlatError> {
        if self.spent >= self.limit {
            return Err(FlatError::TooLarge { limit: self.limit });
        }
        self.spent += 1;
        Ok(())
    }

    fn enter(&mut self, parent: u32, op: Option<&'s Op>, iteration: Option<u64>) -> u32 {
        self.out.frames.push(Frame {
            parent,
            op,
            iteration,
        });
        // One per instance or iteration at most, hence capped by `limit`.
        (self.out.frames.len() - 1) as u32
    }

    fn deeper(&self, at: Place<'s>, op: &'s Op) -> Result<usize, FlatError> {
        match at.depth + 1 {
            depth if depth > MAX_DEPTH => Err(FlatError::TooDeep {
                rank: at.rank,
                path: self.path(at, op),
                limit: MAX_DEPTH,
            }),
            depth => Ok(depth),
        }
    }

    fn unknown(&self, at: Place<'s>, op: &'s Op, what: &'static str, name: &str) -> FlatError {
        FlatError::Unknown {
            rank: at.rank,
            path: self.path(at, op),
            what,
            name: name.to_owned(),
        }
    }

    fn path(&self, at: Place<'s>, op: &'s Op) -> String {
        path(&self.out.frames, at.frame, op)
    }
}

/// The path of `op` in a frame: `step[2]/launch/gate`.
pub(super) fn path(frames: &[Frame<'_>], frame: u32, op: &Op) -> String {
    let mut parts = vec![op.id.to_string()];
    let mut at = frames[frame as usize];
    while let Some(op) = at.op {
        parts.push(match at.iteration {
            Some(iteration) => format!("{}[{iteration}]", op.id),
            None => op.id.to_string(),
        });
        at = frames[at.parent as usize];
    }
    parts.reverse();
    parts.join("/")
}
