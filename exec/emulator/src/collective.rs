//! Collectives: tasks of several streams that end together.
//!
//! The n-th collective that a rank issues on a communicator meets the n-th of the others. Each starts
//! by itself and holds its cores; all end when the last has started and the transfer is done.

use std::collections::BTreeMap;

use crate::fault::{Fault, Outcome, code};
use crate::table::Key;
use crate::world::World;

/// One rank's end of a communicator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Communicator {
    pub(crate) group: u64,
    pub(crate) rank: u32,
    pub(crate) size: u32,
    pub(crate) device: u32,
}

/// Which collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    AllReduce(Reduce),
    ReduceScatter(Reduce),
    AllGather,
    AllToAll,
    Broadcast(u32),
    Barrier,
    Send,
    Receive,
}

/// A reduction with its data type (`HcclReduceOp`, `HcclDataType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduce {
    pub(crate) op: u32,
    pub(crate) dtype: u32,
}

/// Which ranks meet for the how-manieth time: all, or the two of a send and its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Appointment {
    group: u64,
    pair: Option<(u32, u32)>,
    number: u64,
}

/// A collective on one stream.
#[derive(Clone, Debug)]
pub(crate) struct CollectiveTask {
    pub(crate) communicator: Communicator,
    pub(crate) kind: Kind,
    /// The other rank of a send or receive.
    pub(crate) peer: u32,
    pub(crate) send: usize,
    pub(crate) receive: usize,
    /// Bytes per rank: those that the kind counts by.
    pub(crate) bytes: usize,
    /// Set when it is issued.
    pub(crate) appointment: Option<Appointment>,
}

/// A rank of a group, and of a pair in it for sends and receives.
type Member = (u64, Option<(u32, u32)>, u32);

/// Who has come to which appointment.
#[derive(Debug, Default)]
pub(crate) struct Meetings {
    /// How many collectives were issued, per group, pair and rank.
    issued: BTreeMap<Member, u64>,
    waiting: BTreeMap<Appointment, BTreeMap<u32, Key>>,
    /// Root infos handed out, with the ranks that have joined: device by rank.
    pub(crate) joining: BTreeMap<u64, BTreeMap<u32, u32>>,
}

impl Meetings {
    /// Gives a collective that is being issued its appointment.
    pub(crate) fn appoint(&mut self, task: &mut CollectiveTask) {
        let Communicator { group, rank, .. } = task.communicator;
        let pair = match task.kind {
            Kind::Send => Some((rank, task.peer)),
            Kind::Receive => Some((task.peer, rank)),
            _ => None,
        };
        let issued = self.issued.entry((group, pair, rank)).or_default();
        *issued += 1;
        task.appointment = Some(Appointment {
            group,
            pair,
            number: *issued,
        });
    }
}

impl World {
    /// The collective at the head of the stream has started.
    pub(crate) fn meet(&mut self, key: Key, task: &CollectiveTask) {
        let Some(appointment) = task.appointment else {
            return;
        };
        let all = if appointment.pair.is_some() {
            2
        } else {
            task.communicator.size as usize
        };
        let come = self.meetings.waiting.entry(appointment).or_default();
        come.insert(task.communicator.rank, key);
        if come.len() < all {
            return;
        }
        let come = self
            .meetings
            .waiting
            .remove(&appointment)
            .unwrap_or_default();
        let tasks: Vec<(Key, CollectiveTask, u64)> = come
            .into_values()
            .filter_map(|key| self.collective_at(key))
            .collect();
        let duration = tasks
            .iter()
            .map(|(_, _, duration)| *duration)
            .max()
            .unwrap_or(0);
        // The bytes move when the last has come: the ranks cannot tell, as none goes on before the end.
        let list: Vec<&CollectiveTask> = tasks.iter().map(|(_, task, _)| task).collect();
        let moved = self.transfer(&list);
        for (key, ..) in &tasks {
            match &moved {
                Ok(()) => self.end_after(*key, duration),
                Err(fault) => self.end(*key, Err(fault.clone())),
            }
        }
    }

    fn collective_at(&self, key: Key) -> Option<(Key, CollectiveTask, u64)> {
        let task = self.streams.get(key).ok()?.queue.front()?;
        match &task.work {
            crate::task::Work::Collective(collective) => {
                Some((key, collective.clone(), task.shape.duration))
            }
            _ => None,
        }
    }

    /// A collective was dropped from the stream: the others wait in vain.
    pub(crate) fn leave(&mut self, key: Key, task: &CollectiveTask) {
        if let Some(appointment) = task.appointment
            && let Some(come) = self.meetings.waiting.get_mut(&appointment)
            && come.get(&task.communicator.rank) == Some(&key)
        {
            come.remove(&task.communicator.rank);
        }
    }

    /// Moves the bytes of a collective; `tasks` are in the order of their ranks.
    fn transfer(&self, tasks: &[&CollectiveTask]) -> Outcome {
        let Some(first) = tasks.first() else {
            return Ok(());
        };
        let bytes = first.bytes;
        let pair = matches!(first.kind, Kind::Send | Kind::Receive);
        let differs = |task: &&&CollectiveTask| {
            task.bytes != bytes
                || (if pair {
                    task.kind == first.kind
                } else {
                    task.kind != first.kind
                })
        };
        if let Some(other) = tasks.iter().skip(1).find(differs) {
            return Fault::err(
                code::AICPU_EXCEPTION,
                format!(
                    "EI0005: ranks {} and {} of a communicator issued different collectives",
                    first.communicator.rank, other.communicator.rank
                ),
            );
        }
        let memory = &self.memory;
        match first.kind {
            Kind::Barrier => Ok(()),
            Kind::Send | Kind::Receive => {
                let sender = tasks.iter().find(|task| task.kind == Kind::Send);
                let receiver = tasks.iter().find(|task| task.kind == Kind::Receive);
                match (sender, receiver) {
                    (Some(sender), Some(receiver)) => {
                        memory.write(receiver.receive, &memory.read(sender.send, bytes)?)
                    }
                    _ => Ok(()),
                }
            }
            Kind::Broadcast(root) => {
                let root = tasks.get(root as usize).ok_or_else(|| no_root(root))?;
                let data = memory.read(root.send, bytes)?;
                tasks
                    .iter()
                    .try_for_each(|task| memory.write(task.receive, &data))
            }
            Kind::AllGather => {
                let mut data = Vec::with_capacity(bytes * tasks.len());
                for task in tasks {
                    data.extend(memory.read(task.send, bytes)?);
                }
                tasks
                    .iter()
                    .try_for_each(|task| memory.write(task.receive, &data))
            }
            Kind::AllToAll => {
                let sent: Vec<Vec<u8>> = tasks
                    .iter()
                    .map(|task| memory.read(task.send, bytes * tasks.len()))
                    .collect::<Outcome<_>>()?;
                for (rank, task) in tasks.iter().enumerate() {
                    let part = rank * bytes..(rank + 1) * bytes;
                    let data: Vec<u8> = sent
                        .iter()
                        .flat_map(|all| &all[part.clone()])
                        .copied()
                        .collect();
                    memory.write(task.receive, &data)?;
                }
                Ok(())
            }
            Kind::AllReduce(reduce) => {
                let data = self.reduced(tasks, reduce, bytes)?;
                tasks
                    .iter()
                    .try_for_each(|task| memory.write(task.receive, &data))
            }
            Kind::ReduceScatter(reduce) => {
                let data = self.reduced(tasks, reduce, bytes * tasks.len())?;
                let mut parts = data.chunks(bytes.max(1));
                tasks.iter().try_for_each(|task| {
                    memory.write(task.receive, parts.next().unwrap_or_default())
                })
            }
        }
    }

    fn reduced(&self, tasks: &[&CollectiveTask], reduce: Reduce, bytes: usize) -> Outcome<Vec<u8>> {
        let mut total: Option<Vec<u8>> = None;
        for task in tasks {
            let next = self.memory.read(task.send, bytes)?;
            total = Some(match total {
                None => next,
                Some(total) => combine(&total, &next, reduce)?,
            });
        }
        Ok(total.unwrap_or_default())
    }
}

fn no_root(root: u32) -> Fault {
    Fault::new(
        code::AICPU_EXCEPTION,
        format!("EI0003: the communicator has no rank {root}"),
    )
}

/// Bytes of one element of an `HcclDataType`, where the emulator can compute with it.
pub(crate) fn element_bytes(dtype: u32) -> Option<usize> {
    match dtype {
        0 | 7 => Some(1),
        1 | 3 | 8 | 11 => Some(2),
        2 | 4 | 9 => Some(4),
        5 | 6 | 10 => Some(8),
        _ => None,
    }
}

fn combine(a: &[u8], b: &[u8], reduce: Reduce) -> Outcome<Vec<u8>> {
    macro_rules! elements {
        ($type:ty, $sum:expr, $product:expr) => {{
            let size = size_of::<$type>();
            a.chunks_exact(size)
                .zip(b.chunks_exact(size))
                .flat_map(|(a, b)| {
                    let mut raw = [[0; size_of::<$type>()]; 2];
                    raw[0].copy_from_slice(a);
                    raw[1].copy_from_slice(b);
                    let [a, b] = raw.map(<$type>::from_ne_bytes);
                    let value = match reduce.op {
                        0 => $sum(a, b),
                        1 => $product(a, b),
                        2 => {
                            if a > b {
                                a
                            } else {
                                b
                            }
                        }
                        _ => {
                            if a < b {
                                a
                            } else {
                                b
                            }
                        }
                    };
                    value.to_ne_bytes()
                })
                .collect()
        }};
        ($type:ty) => {
            elements!($type, <$type>::wrapping_add, <$type>::wrapping_mul)
        };
    }
    Ok(match reduce.dtype {
        0 => elements!(i8),
        1 => elements!(i16),
        2 => elements!(i32),
        4 => elements!(f32, |a: f32, b: f32| a + b, |a: f32, b: f32| a * b),
        5 => elements!(i64),
        6 => elements!(u64),
        7 => elements!(u8),
        8 => elements!(u16),
        9 => elements!(u32),
        10 => elements!(f64, |a: f64, b: f64| a + b, |a: f64, b: f64| a * b),
        other => {
            return Fault::err(
                code::FEATURE_NOT_SUPPORT,
                format!("the emulator does not reduce HcclDataType {other}; use fp32 or integers"),
            );
        }
    })
}
