//! The order of submission over all ranks.
//!
//! The ops of a rank keep their list order. Which rank goes next is decided by a model of the devices
//! in which every task that can end does so at once: an op whose task would end now is preferred.
//! Where every rank's next op would have to wait for something that is not submitted (as members of a
//! collective must), the first that can be queued is, within the depth of its queue.

use std::collections::{BTreeMap, VecDeque};

use ascsim_schedules::flat::{Binding, Flat, InstanceId, Role, StreamId, Target};
use ascsim_schedules::{Compare, HostKind, Limits, OpKind};

use super::{PlanError, PlanErrorKind};

/// Submission order of the issued instances.
///
/// # Errors
/// If no rank can go on, or a queue would hold too many tasks that wait for later submissions.
///
/// # Complexity
/// O(n r) for n instances on r ranks, and O(s) more for each task that does not end at once, with s
/// streams.
pub(super) fn order(flat: &Flat<'_>, limits: &Limits) -> Result<Vec<InstanceId>, PlanError> {
    let mut devices = Devices {
        flat,
        queues: vec![VecDeque::new(); flat.stream_count()],
        waiting: 0,
        done: vec![false; flat.instances().len()],
        notifies: vec![false; flat.notify_count()],
        flags: vec![false; flat.event_count()],
        words: BTreeMap::new(),
        arrived: vec![0; flat.collectives().len()],
    };
    let mut cursors: Vec<std::ops::Range<usize>> = flat
        .ranks()
        .iter()
        .map(|(_, range)| range.clone())
        .collect();
    let mut order = Vec::with_capacity(flat.instances().len());
    loop {
        let mut next = None;
        for (rank, cursor) in cursors.iter_mut().enumerate() {
            while cursor.start < cursor.end
                && flat[InstanceId::new(cursor.start)].role != Role::Issued
            {
                cursor.start += 1;
            }
            if cursor.start >= cursor.end {
                continue;
            }
            let id = InstanceId::new(cursor.start);
            let urgency = devices.urgency(id);
            if urgency < Urgency::Blocks && next.is_none_or(|(best, _)| urgency < best) {
                next = Some((urgency, rank));
            }
        }
        let Some((_, rank)) = next else { break };
        let id = InstanceId::new(cursors[rank].start);
        cursors[rank].start += 1;
        devices.issue(id);
        order.push(id);
        if let Some(stream) = flat[id].stream {
            let most = limits.queue_tasks as usize;
            let entries = devices.entries(stream, limits.value_wait_entries as usize);
            if entries > most {
                return Err(PlanError::of(
                    flat,
                    id,
                    PlanErrorKind::QueueDepth { entries, most },
                ));
            }
        }
    }
    let stuck = cursors.into_iter().find(|cursor| cursor.start < cursor.end);
    let stuck = stuck.map(|cursor| InstanceId::new(cursor.start));
    let stuck = stuck.or_else(|| {
        devices
            .queues
            .iter()
            .find_map(|queue| queue.front().copied())
    });
    match stuck {
        Some(id) => Err(PlanError::of(flat, id, PlanErrorKind::NeverDone)),
        None => Ok(order),
    }
}

/// How soon an op should be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// Its task ends at once.
    Ends,
    /// Its task has to wait.
    Waits,
    /// The call would not return.
    Blocks,
}

/// The model of the devices.
struct Devices<'f, 's> {
    flat: &'f Flat<'s>,
    /// Per stream: what is submitted and not done.
    queues: Vec<VecDeque<InstanceId>>,
    /// How many tasks are in queues.
    waiting: usize,
    done: Vec<bool>,
    notifies: Vec<bool>,
    flags: Vec<bool>,
    words: BTreeMap<usize, u64>,
    /// Members of each collective that have started.
    arrived: Vec<usize>,
}

impl Devices<'_, '_> {
    fn urgency(&self, id: InstanceId) -> Urgency {
        let instance = &self.flat[id];
        let free = instance
            .stream
            .is_none_or(|stream| self.queues[stream.index()].is_empty());
        if let OpKind::Host(HostKind::Synchronise(_)) = &instance.op.kind {
            let met = match instance.target {
                Target::Stream(stream) => self.queues[stream.index()].is_empty(),
                Target::Device => self.is_idle(instance.rank),
                Target::Event(event) => match self.flat.binding(id) {
                    Some(Binding::Record(record) | Binding::SameStream(record)) => {
                        self.done[record.index()]
                    }
                    Some(Binding::Flag) => self.flags[event.index()],
                    _ => true,
                },
                _ => true,
            };
            return if met { Urgency::Ends } else { Urgency::Blocks };
        }
        if instance.blocks_host() && !free {
            return Urgency::Blocks;
        }
        let ends = free && self.is_met(id) && !self.is_incomplete(id, 1);
        if ends { Urgency::Ends } else { Urgency::Waits }
    }

    fn is_idle(&self, rank: u32) -> bool {
        self.waiting == 0
            || self.queues.iter().enumerate().all(|(stream, queue)| {
                queue.is_empty() || self.flat.stream(StreamId::new(stream)).rank != rank
            })
    }

    /// Whether members of its collective are still missing when `coming` more have come.
    fn is_incomplete(&self, id: InstanceId, coming: usize) -> bool {
        self.flat[id].collective.is_some_and(|id| {
            self.arrived[id.index()] + coming < self.flat.collective(id).members().len()
        })
    }

    /// Whether what a task waits for, besides its collective, is there.
    fn is_met(&self, id: InstanceId) -> bool {
        let instance = &self.flat[id];
        match (&instance.op.kind, instance.target) {
            (OpKind::Wait(_), target) => match (self.flat.binding(id), target) {
                (Some(Binding::Record(record)), _) => self.done[record.index()],
                (Some(Binding::Flag), Target::Event(event)) => self.flags[event.index()],
                _ => true,
            },
            (OpKind::NotifyWait(_), Target::Notify(notify)) => self.notifies[notify.index()],
            (OpKind::ValueWait(wait), Target::Word(word)) => {
                let have = self.words.get(&word.index()).copied().unwrap_or(0);
                Compare::holds(wait.compare, have, wait.value)
            }
            (OpKind::GraphLaunch(_), _) => self
                .flat
                .inside(id)
                .filter(|inside| self.flat[*inside].is_task())
                .all(|inside| self.done[inside.index()]),
            _ => true,
        }
    }

    fn entries(&self, stream: StreamId, value_wait: usize) -> usize {
        let entries = |id: &InstanceId| match self.flat[*id].op.kind {
            OpKind::ValueWait(_) => value_wait,
            _ => 1,
        };
        self.queues[stream.index()].iter().map(entries).sum()
    }

    fn issue(&mut self, id: InstanceId) {
        if !self.push(id) {
            self.done[id.index()] = true;
            return;
        }
        if matches!(self.flat[id].op.kind, OpKind::GraphLaunch(_)) {
            for inside in self.flat.inside(id) {
                if self.flat[inside].role == Role::Replayed {
                    self.push(inside);
                }
            }
        }
        self.settle();
    }

    fn push(&mut self, id: InstanceId) -> bool {
        let instance = &self.flat[id];
        match instance.stream {
            Some(stream) if instance.is_task() => {
                self.queues[stream.index()].push_back(id);
                self.waiting += 1;
                true
            }
            _ => false,
        }
    }

    /// Ends every task that can end.
    fn settle(&mut self) {
        let mut changed = true;
        // Collectives whose member at the head of a queue has been counted.
        while std::mem::take(&mut changed) && self.waiting > 0 {
            for stream in 0..self.queues.len() {
                while let Some(&id) = self.queues[stream].front()
                    && self.started(id)
                    && self.is_met(id)
                {
                    if let Some(collective) = self.flat[id].collective
                        && self.flat[id].role != Role::Part
                        && !self.come(id, collective.index())
                    {
                        break;
                    }
                    self.end(id);
                    self.queues[stream].pop_front();
                    self.waiting -= 1;
                    changed = true;
                }
            }
        }
    }

    /// A replayed task starts after its launch has.
    fn started(&self, id: InstanceId) -> bool {
        let instance = &self.flat[id];
        match (instance.role, instance.parent) {
            (Role::Replayed, Some(parent)) => {
                let stream = self.flat[parent].stream;
                stream.is_none_or(|s| self.queues[s.index()].front() == Some(&parent))
            }
            _ => true,
        }
    }

    /// Whether all members of a collective are at the heads of their queues.
    fn come(&mut self, id: InstanceId, collective: usize) -> bool {
        let members = self.flat.collectives()[collective].members();
        if self.arrived[collective] >= members.len() {
            return true;
        }
        let at_head = |member: &&InstanceId| {
            let stream = self.flat[**member].stream;
            stream.is_some_and(|s| self.queues[s.index()].front() == Some(*member))
                && self.started(**member)
        };
        self.arrived[collective] = members.iter().filter(at_head).count();
        debug_assert!(members.contains(&id));
        self.arrived[collective] >= members.len()
    }

    fn end(&mut self, id: InstanceId) {
        self.done[id.index()] = true;
        let instance = &self.flat[id];
        match (&instance.op.kind, instance.target) {
            (OpKind::NotifyRecord(_), Target::Notify(notify)) => {
                self.notifies[notify.index()] = true;
            }
            (OpKind::NotifyWait(_), Target::Notify(notify)) => {
                self.notifies[notify.index()] = false;
            }
            (OpKind::ValueWrite(write), Target::Word(word)) => {
                self.words.insert(word.index(), write.value);
            }
            (OpKind::EventReset(_), Target::Event(event)) => self.flags[event.index()] = false,
            (OpKind::Record(_) | OpKind::Host(HostKind::RecordExternal { .. }), target) => {
                if let Target::Event(event) = target {
                    self.flags[event.index()] = true;
                }
            }
            _ => {}
        }
    }
}
