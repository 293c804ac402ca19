//! Events that nothing needs: dropping and merging them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::catalogue::{ChangeDoc, KeyDoc};
use super::edit::{host_waits_for, prune_overrides, recorded, unfit_flat, waited};
use super::event::latest_records;
use super::safety::no_queues;
use super::{Change, Note, RewriteError, Rewritten};
use crate::flat::{Binding, Flat, InstanceId};
use crate::ir::{EventKind, EventName, Op, OpId, OpKind, Program, ProgramName, Schedule};
use crate::order::{Order, Point};
use crate::select::Selector;

pub(super) const DROP: ChangeDoc = ChangeDoc {
    name: "drop-redundant-events",
    summary: "remove waits for what is known to be done already, and records that nobody waits for",
    keys: &[KeyDoc {
        name: "select",
        required: false,
        meaning: "selector of the waits and records that may go; default all",
    }],
    details: "A wait goes if on every rank, in every repeat, the record it is bound to is done before \
              the wait starts whatever the run, by streams, other events, collectives or host calls. \
              That is proved by the happens-before relation, and what is left is in the same order as \
              before. Waits of flag events (`sync`, `external`), waits with a time-out and events that \
              cross a graph's border stay, as do waits on streams or events that several host threads \
              use. A record goes if no wait is bound to it and the host does not synchronise with its \
              event. It needs no accesses, so it works on an import; there, an order that the capture \
              does not show is not known.",
    example: "drop-redundant-events",
    parse: |keys| {
        Ok(Change::DropRedundantEvents {
            select: keys.optional_selector("select")?,
        })
    },
};

pub(super) const MERGE: ChangeDoc = ChangeDoc {
    name: "merge-records",
    summary: "let one record serve the waits of several that follow each other on a stream",
    keys: &[KeyDoc {
        name: "select",
        required: false,
        meaning: "selector of the records that may go; default all",
    }],
    details: "A record goes if the task before it on its stream, records aside, is that of an earlier \
              record of an event of the same kind: its waits wait for that one instead. Events must be \
              `ex` and unknown to host synchronisations, and the earlier event must not be recorded \
              again before the wait. What is done when a wait is met stays exactly the same. Records \
              with work between them are not merged, since that would change what waits for what: move \
              one first, with move-record.",
    example: "merge-records:select=kind=record event=E1",
    parse: |keys| {
        Ok(Change::MergeRecords {
            select: keys.optional_selector("select")?,
        })
    },
};

/// Events that may lose records and waits: bound when issued, and used by one host thread only.
struct Plain<'s> {
    events: HashSet<&'s EventName>,
    streams: HashSet<&'s str>,
}

impl<'s> Plain<'s> {
    fn new(schedule: &'s Schedule) -> Self {
        let mut event_threads: HashMap<&EventName, BTreeSet<&str>> = HashMap::new();
        let mut stream_threads: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        for op in schedule.programs.iter().flat_map(|program| &program.ops) {
            let event = match &op.kind {
                OpKind::Record(record) | OpKind::EventReset(record) => Some(&record.event),
                OpKind::Wait(wait) => Some(&wait.event),
                _ => None,
            };
            if let Some(event) = event {
                let threads = event_threads.entry(event).or_default();
                threads.insert(op.thread.as_str());
            }
            if let Some(stream) = &op.stream {
                let threads = stream_threads.entry(stream.as_str()).or_default();
                threads.insert(op.thread.as_str());
            }
        }
        let binds = schedule
            .events
            .iter()
            .filter(|event| event.kind.binds_when_issued());
        let one =
            |threads: Option<&BTreeSet<&str>>| threads.is_none_or(|threads| threads.len() < 2);
        Self {
            events: binds
                .map(|event| &event.name)
                .filter(|event| one(event_threads.get(event)))
                .collect(),
            streams: stream_threads
                .into_iter()
                .filter(|(_, threads)| threads.len() < 2)
                .map(|(stream, _)| stream)
                .collect(),
        }
    }

    fn may_go(&self, op: &Op) -> bool {
        let (event, plain) = match &op.kind {
            OpKind::Record(record) => (&record.event, !record.external),
            OpKind::Wait(wait) => (&wait.event, !wait.external && wait.timeout_s.is_none()),
            _ => return false,
        };
        let stream = op.stream.as_ref();
        plain
            && self.events.contains(event)
            && stream.is_some_and(|stream| self.streams.contains(stream.as_str()))
    }
}

/// Removes waits whose record is known to be done before they are met: when they are issued, or when
/// the task before them on their stream is done. Then removes records without waits.
///
/// An edge of an acyclic relation that follows from the others can be taken away together with all
/// such edges: its transitive reduction is unique.
pub(super) fn drop_redundant(
    schedule: &Schedule,
    select: Option<&Selector>,
) -> Result<Rewritten, RewriteError> {
    let flat = Flat::new(schedule).map_err(unfit_flat)?;
    let order = Order::new(&flat, &no_queues());
    let previous = previous(&flat);
    let plain = Plain::new(schedule);
    let allowed = |program: &Program, op: &Op| {
        select.is_none_or(|select| select.matches(program, op)) && plain.may_go(op)
    };
    // Of each wait: whether it may go on every instance.
    let mut waits: HashMap<(&ProgramName, &OpId), bool> = HashMap::new();
    let mut needed: HashSet<(&ProgramName, &OpId)> = HashSet::new();
    let mut bound = Vec::new();
    for id in flat.ids() {
        let instance = &flat.instances()[id.index()];
        if waited(instance.op).is_none() {
            if let OpKind::Host(_) = &instance.op.kind
                && let Some(Binding::Record(record)) = flat.binding(id)
            {
                bound.push((None, record));
            }
            continue;
        }
        let key = (&instance.program.name, &instance.op.id);
        let goes = match flat.binding(id) {
            Some(Binding::Record(record)) => {
                bound.push((Some(key), record));
                let before = previous[id.index()].is_some_and(|previous| {
                    previous == record || order.known_at(record, Point::done(previous))
                });
                (before || order.known_at(record, Point::issue(id)))
                    && order.can_happen(Point::done(id))
            }
            Some(Binding::SameStream(record)) => {
                bound.push((Some(key), record));
                true
            }
            _ => false,
        };
        *waits.entry(key).or_insert(true) &= goes;
    }
    let mut gone: HashSet<(ProgramName, OpId)> = HashSet::new();
    for program in &schedule.programs {
        for op in &program.ops {
            let key = (&program.name, &op.id);
            if waits.get(&key) == Some(&true) && allowed(program, op) {
                gone.insert((program.name.clone(), op.id.clone()));
            }
        }
    }
    let dropped_waits = gone.len();
    for (wait, record) in bound {
        let stays = wait.is_none_or(|(program, op)| !gone.contains(&(program.clone(), op.clone())));
        if stays {
            let instance = &flat.instances()[record.index()];
            needed.insert((&instance.program.name, &instance.op.id));
        }
    }
    for program in &schedule.programs {
        for op in program.ops.iter().filter(|op| recorded(op).is_some()) {
            if allowed(program, op) && !needed.contains(&(&program.name, &op.id)) {
                gone.insert((program.name.clone(), op.id.clone()));
            }
        }
    }
    let mut result = schedule.clone();
    for program in &mut result.programs {
        let name = program.name.clone();
        program
            .ops
            .retain(|op| !gone.contains(&(name.clone(), op.id.clone())));
    }
    prune_overrides(&mut result);
    let mut notes = Vec::new();
    if gone.is_empty() {
        notes.push(Note::warning(
            "no event is redundant: every wait orders something that nothing else orders",
        ));
    } else {
        notes.push(Note::assumption(format!(
            "{dropped_waits} waits and {} records are dropped; that each is redundant is proved by \
             happens-before",
            gone.len() - dropped_waits
        )));
    }
    if !order.inexact().is_empty() {
        notes.push(Note::warning(
            "signals of this schedule race, so the order is sound but not exact: some redundant events \
             may have been kept",
        ));
    }
    Ok(Rewritten {
        schedule: result,
        touched: gone.len(),
        notes,
    })
}

/// An op outside `program` that waits for `event`.
fn elsewhere<'s>(schedule: &'s Schedule, program: &Program, event: &EventName) -> Option<&'s Op> {
    schedule
        .programs
        .iter()
        .filter(|other| other.name != program.name)
        .flat_map(|other| &other.ops)
        .find(|op| waited(op) == Some(event))
}

/// The task before each task on its stream.
fn previous(flat: &Flat<'_>) -> Vec<Option<InstanceId>> {
    let mut last = vec![None; flat.stream_count()];
    let mut previous = vec![None; flat.instances().len()];
    for id in flat.ids() {
        let instance = &flat.instances()[id.index()];
        if let Some(stream) = instance.stream.filter(|_| instance.is_task()) {
            previous[id.index()] = last[stream.index()].replace(id);
        }
    }
    previous
}

/// Gives the waits of a record that follows another one directly to that one.
pub(super) fn merge(
    schedule: &Schedule,
    select: Option<&Selector>,
) -> Result<Rewritten, RewriteError> {
    let plain = Plain::new(schedule);
    let ex: HashSet<&EventName> = schedule
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Ex)
        .map(|event| &event.name)
        .collect();
    let mut result = schedule.clone();
    let mut merged = 0;
    for (index, program) in schedule.programs.iter().enumerate() {
        let bound = latest_records(program);
        let mut first_of: HashMap<&str, usize> = HashMap::new();
        let mut rebound: BTreeMap<usize, EventName> = BTreeMap::new();
        let mut gone: BTreeSet<usize> = BTreeSet::new();
        for (at, op) in program.ops.iter().enumerate() {
            let Some(stream) = op.stream.as_ref().filter(|_| op.is_device()) else {
                continue;
            };
            let Some(event) = recorded(op) else {
                first_of.remove(stream.as_str());
                continue;
            };
            let simple = |op: &Op, event: &EventName| {
                plain.may_go(op)
                    && ex.contains(event)
                    && elsewhere(schedule, program, event).is_none()
                    && !program.ops.iter().any(|other| host_waits_for(other, op))
            };
            if !simple(op, event) {
                continue;
            }
            let Some(&first) = first_of.get(stream.as_str()) else {
                first_of.insert(stream.as_str(), at);
                continue;
            };
            let Some(to) = recorded(&program.ops[first]) else {
                continue;
            };
            let waits: Vec<usize> = bound
                .iter()
                .filter(|(_, record)| **record == at)
                .map(|(wait, _)| *wait)
                .collect();
            let last = waits.iter().max().copied().unwrap_or(at);
            // Between the records and the last wait, the first event is not recorded anew.
            let again = program.ops[first + 1..=last]
                .iter()
                .any(|op| recorded(op) == Some(to));
            let may = select.is_none_or(|select| select.matches(program, op));
            let fits = waits.iter().all(|&wait| plain.may_go(&program.ops[wait]));
            // A later wait for this event would bind to an earlier record of it, if there is one.
            let once = program
                .ops
                .iter()
                .filter(|op| recorded(op) == Some(event))
                .count()
                == 1;
            if may && fits && once && !again && to != event {
                gone.insert(at);
                rebound.extend(waits.into_iter().map(|wait| (wait, to.clone())));
            }
        }
        merged += gone.len();
        let ops = std::mem::take(&mut result.programs[index].ops);
        result.programs[index].ops = ops
            .into_iter()
            .enumerate()
            .filter(|(at, _)| !gone.contains(at))
            .map(|(at, mut op)| {
                if let (Some(event), OpKind::Wait(wait)) = (rebound.remove(&at), &mut op.kind) {
                    wait.event = event;
                }
                op
            })
            .collect();
    }
    prune_overrides(&mut result);
    let notes = match merged {
        0 => vec![Note::warning("no two records follow each other directly")],
        _ => Vec::new(),
    };
    Ok(Rewritten {
        schedule: result,
        touched: merged,
        notes,
    })
}
