//! From a schedule to a plan.

use std::collections::{BTreeMap, BTreeSet};

use ascsim_schedules::flat::{Flat, Instance, InstanceId, StreamId, Target};
use ascsim_schedules::{
    AccessMode, BufferName, Compare, Device, Expr, HostKind, Limits, OpKind, Peer, Range, Schedule,
    ScheduleMode, VariableRef,
};

use super::launch::intern;
use super::{
    BufferSpec, Command, CommunicatorSpec, EventSpec, Place, Plan, PlanError, PlanErrorKind,
    RankSpec, Resources, Shape, Step, StreamSpec, issue,
};
use crate::acl::value;

pub(super) type Try<T> = Result<T, PlanErrorKind>;

impl Plan {
    /// Compiles a schedule for devices with these limits.
    ///
    /// # Errors
    /// If an op cannot be submitted, or no order of submission is safe.
    ///
    /// # Complexity
    /// O(n log n) for n op instances besides the search for the order, which is O(n r) for r ranks.
    pub fn new(schedule: &Schedule, limits: &Limits) -> Result<Self, PlanError> {
        let flat = Flat::new(schedule)?;
        let order = issue::order(&flat, limits)?;
        let mut compiler = Compiler::new(&flat);
        let mut steps = Vec::with_capacity(order.len());
        for id in order {
            let step = compiler
                .step(id)
                .map_err(|kind| PlanError::of(&flat, id, kind))?;
            steps.extend(step);
        }
        Ok(Self {
            resources: compiler.resources,
            steps,
        })
    }
}

pub(super) struct Compiler<'f, 's> {
    pub(super) flat: &'f Flat<'s>,
    pub(super) resources: Resources,
    /// By rank index and index in the schedule's list.
    buffers: BTreeMap<(usize, usize), usize>,
    /// By name: root and offset there.
    roots: BTreeMap<&'s str, (usize, u64, u64)>,
    /// By communicator name and rank number.
    pub(super) communicators: BTreeMap<(&'s str, u32), usize>,
    pub(super) graphs: BTreeMap<usize, usize>,
}

/// The ACL device of a rank: the die in its server.
fn device_of(schedule: &Schedule, rank: u32) -> u32 {
    for group in &schedule.ranks {
        if let Some(index) = rank.checked_sub(group.first)
            && index < group.count
            && let Some(Device { package, die, .. }) = group.devices.get(index as usize)
        {
            return package * 2 + die;
        }
    }
    rank % 16
}

impl<'f, 's> Compiler<'f, 's> {
    fn new(flat: &'f Flat<'s>) -> Self {
        let schedule = flat.schedule();
        let mut resources = Resources::default();
        for (rank, _) in flat.ranks() {
            resources.ranks.push(RankSpec {
                rank: *rank,
                device: device_of(schedule, *rank),
            });
        }
        let index = |rank: u32| {
            flat.ranks()
                .iter()
                .position(|(r, _)| *r == rank)
                .unwrap_or(0)
        };
        for stream in (0..flat.stream_count()).map(|at| flat.stream(StreamId::new(at))) {
            resources.streams.push(StreamSpec {
                rank: index(stream.rank),
                name: stream.stream.name.to_string(),
                owner: if stream.graph.is_some() {
                    Default::default()
                } else {
                    stream.stream.owner
                },
                priority: u32::from(stream.stream.priority.unwrap_or(0)),
                core_limit: stream.stream.core_limit,
            });
        }
        for at in 0..flat.event_count() {
            let (rank, event) = flat.event(ascsim_schedules::flat::EventId::new(at));
            resources.events.push(EventSpec {
                rank: index(rank),
                kind: event.kind,
            });
        }
        for at in 0..flat.notify_count() {
            let (rank, _) = flat.notify(ascsim_schedules::flat::NotifyId::new(at));
            resources.notifies.push(index(rank));
        }
        let mut communicators = BTreeMap::new();
        for communicator in &schedule.communicators {
            // Collectives with ranks elsewhere need another process.
            for group in communicator
                .groups
                .iter()
                .filter(|g| g.iter().all(|r| flat.runs(*r)))
            {
                let first = resources.communicators.len();
                let devices: Vec<u32> = group
                    .iter()
                    .map(|rank| device_of(schedule, *rank))
                    .collect();
                for rank in group {
                    let at = resources.communicators.len();
                    communicators.insert((communicator.name.as_str(), *rank), at);
                    resources.communicators.push(CommunicatorSpec {
                        first,
                        devices: devices.clone(),
                    });
                }
            }
        }
        Self {
            flat,
            resources,
            buffers: BTreeMap::new(),
            roots: roots(schedule),
            communicators,
            graphs: BTreeMap::new(),
        }
    }

    pub(super) fn rank_index(&self, rank: u32) -> usize {
        self.flat
            .ranks()
            .iter()
            .position(|(r, _)| *r == rank)
            .unwrap_or(0)
    }

    /// The rank that a peer means, seen from `rank`.
    fn peer(&self, rank: u32, peer: &Peer) -> u32 {
        match peer {
            Peer::Own => rank,
            Peer::Rank(rank) => *rank,
            Peer::Member {
                communicator,
                offset,
            } => {
                let groups = self
                    .flat
                    .schedule()
                    .communicators
                    .iter()
                    .filter(|c| c.name == *communicator)
                    .flat_map(|c| &c.groups);
                let found = groups
                    .filter_map(|group| Some((group, group.iter().position(|r| *r == rank)?)))
                    .next();
                found.map_or(rank, |(group, at)| {
                    let count = i64::try_from(group.len()).unwrap_or(1);
                    let at = i64::try_from(at).unwrap_or(0) + i64::from(*offset);
                    usize::try_from(at.rem_euclid(count))
                        .ok()
                        .map_or(rank, |at| group[at])
                })
            }
        }
    }

    pub(super) fn place(
        &mut self,
        rank: u32,
        name: &BufferName,
        offset: u64,
        bytes: u64,
    ) -> Try<Place> {
        let bad = || PlanErrorKind::Range {
            buffer: name.to_string(),
            offset,
            bytes,
        };
        let (root, start, size) = *self.roots.get(name.as_str()).ok_or_else(bad)?;
        if offset.checked_add(bytes).is_none_or(|end| end > size) {
            return Err(bad());
        }
        let rank = self.rank_index(rank);
        let spec = &self.flat.schedule().buffers[root];
        let next = self.resources.buffers.len();
        let buffer = *self.buffers.entry((rank, root)).or_insert(next);
        if buffer == next {
            self.resources.buffers.push(BufferSpec {
                rank,
                name: spec.name.to_string(),
                bytes: spec.bytes,
                memory: spec.memory,
            });
        }
        Ok(Place {
            buffer,
            offset: start + offset,
        })
    }

    /// The one place that the instance accesses in a way, with its bytes.
    pub(super) fn access(
        &mut self,
        id: InstanceId,
        write: bool,
        what: &'static str,
    ) -> Try<(Place, u64)> {
        let instance = self.flat[id];
        let mut found = None;
        for access in instance.op.accesses.known() {
            let fits = match access.mode {
                AccessMode::Read => !write,
                AccessMode::Write | AccessMode::Accumulate => write,
                AccessMode::ReadWrite => true,
            };
            if fits && found.replace(access).is_some() {
                return Err(PlanErrorKind::Accesses(what));
            }
        }
        let access = found.ok_or(PlanErrorKind::Accesses(what))?;
        let rank = self.peer(instance.rank, &access.peer);
        let (offset, bytes) = match access.range {
            Range::Whole => (
                0,
                self.roots
                    .get(access.buffer.as_str())
                    .map_or(0, |root| root.2),
            ),
            Range::Bytes(offset, bytes) => (offset, bytes),
            Range::Any => return Err(PlanErrorKind::Accesses(what)),
        };
        Ok((self.place(rank, &access.buffer, offset, bytes)?, bytes))
    }

    pub(super) fn number(&self, expr: &Expr, what: &'static str) -> Try<u64> {
        let variables = &self.flat.schedule().variables;
        let value_of = |wanted: &VariableRef| {
            let variable = variables
                .iter()
                .find(|variable| variable.name == wanted.name)?;
            variable.nominal.get(wanted.index as usize).copied()
        };
        let value = expr
            .eval(&value_of)
            .map_err(|_| PlanErrorKind::Number(what))?;
        // Exact up to 2^53.
        if !(0.0..=9.0e15).contains(&value) {
            return Err(PlanErrorKind::Number(what));
        }
        Ok(value.round() as u64)
    }

    fn shape(&self, instance: &Instance<'_>) -> Try<Shape> {
        let cores = instance.op.cores.unwrap_or_default();
        let duration = instance
            .duration()
            .map(|duration| self.number(&duration.ns, "duration"));
        Ok(Shape {
            duration_ns: duration.transpose()?.unwrap_or(0),
            aic: cores.aic,
            aiv: cores.aiv,
            batch: cores.mode == ScheduleMode::Batch,
        })
    }

    pub(super) fn step(&mut self, id: InstanceId) -> Try<Option<Step>> {
        let instance = self.flat[id];
        let Some(command) = self.command(id, &instance)? else {
            return Ok(None);
        };
        let op = u32::try_from(id.index()).unwrap_or(u32::MAX);
        let rank = self.rank_index(instance.rank);
        Ok(Some(Step {
            rank,
            op,
            command,
            shape: self.shape(&instance)?,
        }))
    }

    fn command(&mut self, id: InstanceId, instance: &Instance<'s>) -> Try<Option<Command>> {
        let rank = instance.rank;
        let stream = || {
            instance
                .stream
                .map(StreamId::index)
                .ok_or(PlanErrorKind::NoStream)
        };
        let event = || match instance.target {
            Target::Event(event) => Ok(event.index()),
            _ => Err(PlanErrorKind::Unsupported("an op without an event")),
        };
        let notify = || match instance.target {
            Target::Notify(notify) => Ok(notify.index()),
            _ => Err(PlanErrorKind::Unsupported("an op without a notify")),
        };
        Ok(Some(match &instance.op.kind {
            OpKind::Kernel(_) | OpKind::SuperKernel(_) => {
                return self.kernel(instance, stream()?).map(Some);
            }
            OpKind::Copy(copy) => {
                let (to, to_bytes) = self.access(id, true, "what it writes")?;
                let (from, from_bytes) = self.access(id, false, "what it reads")?;
                let bytes = self.number(instance.bytes().unwrap_or(&copy.bytes), "size")?;
                if bytes > to_bytes || bytes > from_bytes {
                    return Err(PlanErrorKind::Accesses("at least the bytes that it copies"));
                }
                let stream = stream()?;
                let pageable = [to, from].iter().any(|place| {
                    let memory = self.resources.buffers[place.buffer].memory;
                    memory == ascsim_schedules::Memory::HostPageable
                });
                if pageable {
                    return Err(PlanErrorKind::Pageable);
                }
                Command::Copy {
                    stream,
                    to,
                    from,
                    bytes,
                    blocking: copy.blocking,
                }
            }
            OpKind::Prefetch(prefetch) => {
                let bytes = self.number(instance.bytes().unwrap_or(&prefetch.bytes), "size")?;
                let at = self.place(rank, &prefetch.buffer, prefetch.offset, bytes)?;
                Command::Prefetch {
                    stream: stream()?,
                    at,
                    bytes,
                }
            }
            OpKind::Collective(_) => return self.collective(id, instance, stream()?).map(Some),
            OpKind::Record(record) => Command::Record {
                stream: stream()?,
                event: event()?,
                external: record.external,
            },
            OpKind::Wait(wait) => Command::Wait {
                stream: stream()?,
                event: event()?,
                external: wait.external,
                timeout_s: wait.timeout_s.unwrap_or(0),
            },
            OpKind::EventReset(_) => Command::Reset {
                stream: stream()?,
                event: event()?,
            },
            OpKind::NotifyRecord(_) => Command::NotifyRecord {
                stream: stream()?,
                notify: notify()?,
            },
            OpKind::NotifyWait(wait) => Command::NotifyWait {
                stream: stream()?,
                notify: notify()?,
                timeout_s: wait.timeout_s.unwrap_or(0),
            },
            OpKind::ValueWrite(write) => {
                let owner = self.peer(rank, instance.peer().unwrap_or(&write.peer));
                let word = self.place(owner, &write.buffer, write.offset, 8)?;
                Command::ValueWrite {
                    stream: stream()?,
                    word,
                    value: write.value,
                }
            }
            OpKind::ValueWait(wait) => {
                let word = self.place(rank, &wait.buffer, wait.offset, 8)?;
                let condition = match wait.compare {
                    Compare::Geq => value::ACL_STREAM_WAIT_VALUE_GEQ,
                    Compare::Eq => value::ACL_STREAM_WAIT_VALUE_EQ,
                    Compare::And => value::ACL_STREAM_WAIT_VALUE_AND,
                    Compare::Nor => value::ACL_STREAM_WAIT_VALUE_NOR,
                };
                Command::ValueWait {
                    stream: stream()?,
                    word,
                    value: wait.value,
                    condition,
                }
            }
            OpKind::Group(_) => return Err(PlanErrorKind::Unsupported("a group of tasks")),
            OpKind::TaskUpdate(_) => return Err(PlanErrorKind::Unsupported("a task update")),
            OpKind::GraphLaunch(_) => {
                let graph = self.graph(id)?;
                Command::Launch {
                    stream: stream()?,
                    graph,
                }
            }
            OpKind::Host(HostKind::Work | HostKind::Think) => return Ok(None),
            OpKind::Host(HostKind::Synchronise(_)) => match instance.target {
                Target::Stream(stream) => Command::SynchroniseStream {
                    stream: stream.index(),
                },
                Target::Event(event) => Command::SynchroniseEvent {
                    event: event.index(),
                },
                _ => Command::SynchroniseDevice,
            },
            OpKind::Host(HostKind::RecordExternal { .. }) => Command::Record {
                stream: stream()?,
                event: event()?,
                external: false,
            },
            OpKind::Host(HostKind::Function { name, .. }) => {
                let function = intern(&mut self.resources.functions, name);
                Command::HostFunction {
                    stream: stream()?,
                    function,
                }
            }
            // Every buffer has memory of its own for as long as the executor lives.
            OpKind::Alloc(_) | OpKind::Free(_) | OpKind::StreamUse(_) | OpKind::Repeat(_) => {
                return Ok(None);
            }
        }))
    }
}

/// Root, offset there and size of every buffer that has a root.
fn roots(schedule: &Schedule) -> BTreeMap<&str, (usize, u64, u64)> {
    let by_name: BTreeMap<&str, usize> = schedule
        .buffers
        .iter()
        .enumerate()
        .map(|(at, b)| (b.name.as_str(), at))
        .collect();
    let mut roots = BTreeMap::new();
    for buffer in &schedule.buffers {
        let (mut at, mut offset) = (by_name[buffer.name.as_str()], 0_u64);
        let mut seen = BTreeSet::new();
        while let Some(view) = &schedule.buffers[at].view
            && seen.insert(at)
            && let Some(of) = by_name.get(view.of.as_str())
        {
            offset = offset.saturating_add(view.offset);
            at = *of;
        }
        let fits = offset
            .checked_add(buffer.bytes)
            .is_some_and(|end| end <= schedule.buffers[at].bytes);
        if schedule.buffers[at].view.is_none() && fits {
            roots.insert(buffer.name.as_str(), (at, offset, buffer.bytes));
        }
    }
    roots
}
