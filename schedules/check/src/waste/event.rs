//! Records nobody waits for, and waits that order nothing new.
//!
//! An op is told only if it is of no use on every rank and in every iteration, since it is dropped for
//! all of them.

use std::collections::{HashMap, HashSet};

use ascsim_schedules::flat::{Binding, InstanceId, Role, StreamId, Target, ThreadId};
use ascsim_schedules::order::Point;
use ascsim_schedules::{Op, OpKind, Record};

use crate::context::Context;
use crate::finding::Finding;
use crate::fix::Edit;
use crate::rule::Rule;

pub(super) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let flat = context.flat;
    let shared = Shared::new(context);
    let useless = useless_waits(context, &shared);
    let idle: HashSet<InstanceId> = useless.iter().map(|(id, ..)| *id).collect();
    // Records that something of use is bound to, and those that only the others are.
    let mut used: HashSet<InstanceId> = HashSet::new();
    let mut bound: HashSet<InstanceId> = HashSet::new();
    let mut uses: HashMap<*const Op, bool> = HashMap::new();
    for id in flat.ids() {
        let op = std::ptr::from_ref(flat[id].op);
        if matches!(flat[id].op.kind, OpKind::Wait(_)) {
            *uses.entry(op).or_default() |= !idle.contains(&id);
        }
    }
    let is_of_use = |id: InstanceId| {
        let op = std::ptr::from_ref(flat[id].op);
        uses.get(&op).is_none_or(|of_use| *of_use)
    };
    for id in flat.ids() {
        if let Some(Binding::Record(record) | Binding::SameStream(record)) = flat.binding(id) {
            bound.insert(record);
            if is_of_use(id) {
                used.insert(record);
            }
        }
    }
    let mut found = Vec::new();
    for (id, record, same_stream) in useless {
        if is_of_use(id) {
            continue;
        }
        let (path, of) = (flat.path(id), flat.path(record));
        found.push(match same_stream {
            true => finding(
                context,
                id,
                Rule::WasteSameStream,
                format!(
                    "`{path}` waits for `{of}` on its own stream, which comes before it anyway"
                ),
            ),
            false => finding(
                context,
                id,
                Rule::WasteImpliedWait,
                format!("`{path}` waits for `{of}`, which is done by then anyway"),
            ),
        });
    }
    let is_record = |id: &InstanceId| {
        matches!(
            flat[*id].op.kind,
            OpKind::Record(Record {
                external: false,
                ..
            })
        ) && flat.binding(*id) == Some(Binding::Recorded)
    };
    let of_use: HashSet<*const Op> = used
        .iter()
        .map(|&id| std::ptr::from_ref(flat[id].op))
        .collect();
    for id in flat.ids().filter(is_record) {
        if of_use.contains(&std::ptr::from_ref(flat[id].op)) || shared.contains(context, id) {
            continue;
        }
        let path = flat.path(id);
        let message = match bound.contains(&id) {
            true => format!("`{path}` records an event for waits that order nothing"),
            false => format!("`{path}` records an event that nobody waits for"),
        };
        found.push(finding(context, id, Rule::WasteRecord, message));
    }
    found
}

/// Streams and events that several host threads call. There, any call orders the threads, and dropping
/// one could change what comes first.
#[derive(Debug)]
struct Shared {
    streams: Vec<(Option<ThreadId>, bool)>,
    events: Vec<(Option<ThreadId>, bool)>,
}

impl Shared {
    fn new(context: &Context<'_, '_>) -> Self {
        let flat = context.flat;
        let mut shared = Self {
            streams: vec![(None, false); flat.stream_count()],
            events: vec![(None, false); flat.event_count()],
        };
        let touch = |entry: &mut (Option<ThreadId>, bool), thread: ThreadId| {
            entry.1 |= entry.0.replace(thread).is_some_and(|other| other != thread);
        };
        for instance in flat
            .instances()
            .iter()
            .filter(|one| one.role == Role::Issued)
        {
            if let Some(stream) = instance.stream {
                touch(&mut shared.streams[stream.index()], instance.thread);
            }
            match instance.target {
                Target::Event(event) => touch(&mut shared.events[event.index()], instance.thread),
                Target::Stream(stream) => {
                    touch(&mut shared.streams[stream.index()], instance.thread);
                }
                Target::Device => {
                    for at in 0..flat.stream_count() {
                        if flat.stream(StreamId::new(at)).rank == instance.rank {
                            touch(&mut shared.streams[at], instance.thread);
                        }
                    }
                }
                _ => {}
            }
        }
        shared
    }

    fn contains(&self, context: &Context<'_, '_>, id: InstanceId) -> bool {
        let instance = &context.flat[id];
        let event = match instance.target {
            Target::Event(event) => self.events[event.index()].1,
            _ => false,
        };
        instance.role == Role::Issued
            && (event
                || instance
                    .stream
                    .is_some_and(|stream| self.streams[stream.index()].1))
    }
}

/// Waits without which the order is the same, with their records, and whether both are on one stream.
fn useless_waits(
    context: &Context<'_, '_>,
    shared: &Shared,
) -> Vec<(InstanceId, InstanceId, bool)> {
    let flat = context.flat;
    // In a graph, the first wait of a stream lets it join, and the wait for its last op back.
    let mut last: HashMap<StreamId, InstanceId> = HashMap::new();
    for id in flat.ids().filter(|&id| flat[id].role == Role::Replayed) {
        last.extend(flat[id].stream.map(|stream| (stream, id)));
    }
    let mut tails: HashMap<StreamId, InstanceId> = HashMap::new();
    let mut useless = Vec::new();
    for id in flat.ids() {
        let instance = &flat[id];
        let before = match instance.stream {
            Some(stream) if instance.is_task() => tails.insert(stream, id),
            _ => None,
        };
        if !matches!(instance.op.kind, OpKind::Wait(_))
            || !context.runs(id)
            || shared.contains(context, id)
        {
            continue;
        }
        match flat.binding(id) {
            Some(Binding::SameStream(record)) => useless.push((id, record, true)),
            Some(Binding::Record(record)) => {
                let known = |point| context.order.known_at(record, point);
                let implied = before.is_some_and(|before| known(Point::done(before)))
                    || instance.role == Role::Issued && known(Point::issue(id));
                let joins = instance.role == Role::Replayed
                    && (before.is_none()
                        || flat[record].stream.and_then(|of| last.get(&of)) == Some(&record));
                if implied && !joins {
                    useless.push((id, record, false));
                }
            }
            _ => {}
        }
    }
    useless
}

fn finding(context: &Context<'_, '_>, id: InstanceId, rule: Rule, message: String) -> Finding {
    let instance = &context.flat[id];
    let edit = Edit::Remove {
        program: instance.program.name.to_string(),
        op: instance.op.id.to_string(),
    };
    Finding::new(rule, message)
        .about(context.flat, [id])
        .suggest(format!("drop `{}`", instance.op.id))
        .edits(vec![edit])
}
