//! The program of a rank: entries of its threads one after the other, each with what it issues.

use std::collections::{HashMap, HashSet};

use ascsim_schedules::{
    EventName, HostKind, Measured, Op, OpKind, Provenance, SyncTarget, ThreadName,
};
use smol_str::{SmolStr, format_smolstr};

use super::Seen;
use super::clock::View;
use super::collective::{self, Gathered, Together};
use super::declared::{Declared, hand_over};
use super::entry::{Body, Entry, Sync, Unit, What};
use super::op::{Ids, Signal, op};
use super::summary::{Assumed, ImportSummary};
use crate::pair::LinkClass;
use crate::time::Span;

/// What a program is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) units: &'a [Unit],
    pub(super) gathered: &'a [Gathered],
    pub(super) together: &'a Together,
    pub(super) joints: &'a [usize],
    pub(super) signals: &'a HashMap<usize, Signal>,
    /// Whether ops are tagged with their steps.
    pub(super) tag_steps: bool,
}

/// Makes the program of one rank.
#[derive(Debug)]
pub(super) struct Chain<'a> {
    from: Inputs<'a>,
    declared: &'a mut Declared,
    summary: &'a mut ImportSummary,
    ids: Ids,
    names: HashMap<u64, ThreadName>,
    /// When each thread has done what it did so far, ns.
    free: HashMap<u64, i64>,
    /// When the rows of what each thread took from a queue end, ns.
    busy: HashMap<u64, i64>,
    recorded: HashSet<EventName>,
    /// Waits for events that are not recorded before them.
    lost: usize,
    /// Per stream: when its last task ends, and the event if that is a record.
    last: HashMap<u32, (i64, Option<EventName>)>,
    ops: Vec<Op>,
    seen: Vec<Seen>,
}

impl<'a> Chain<'a> {
    /// A program without ops.
    pub(super) fn new(
        from: Inputs<'a>,
        entries: &[Entry],
        declared: &'a mut Declared,
        summary: &'a mut ImportSummary,
    ) -> Self {
        Self {
            from,
            declared,
            summary,
            ids: Ids::default(),
            names: thread_names(entries),
            free: HashMap::new(),
            busy: HashMap::new(),
            recorded: HashSet::new(),
            lost: 0,
            last: HashMap::new(),
            ops: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// The ops of the entries, and what was observed of each.
    pub(super) fn run(mut self, entries: &[Entry]) -> (Vec<Op>, Vec<Seen>) {
        // When the next call of the same thread begins.
        let mut next: HashMap<u64, i64> = HashMap::new();
        let mut until = vec![i64::MAX; entries.len()];
        for (at, entry) in entries.iter().enumerate().rev() {
            if let Some(thread) = entry.thread {
                until[at] = next.insert(thread, entry.span.start).unwrap_or(i64::MAX);
            }
        }
        for (entry, until) in entries.iter().zip(until) {
            match &entry.what {
                What::Take(number) | What::Resume(number) => self.take(entry, *number),
                What::Put(number) | What::Release(number) => self.put(entry, *number),
                What::Work => {
                    self.think(entry);
                    let short = entry.name.rsplit('@').next().unwrap_or("call").to_owned();
                    self.host(entry, HostKind::Work, &short, entry.span.len());
                }
                What::Sync(target) => self.synchronise(entry, *target),
                What::Issue(places) => self.issue(entry, places, until),
            }
        }
        if self.lost > 0 {
            self.summary.assumed.push(Assumed::LostWaits(self.lost));
        }
        (self.ops, self.seen)
    }

    fn push(&mut self, mut op: Op, entry: &Entry, seen: Seen) {
        if let (true, Some(step)) = (self.from.tag_steps, entry.step) {
            op.tags.set("step", format_smolstr!("{step}"));
        }
        if let Some(name) = entry.thread.and_then(|thread| self.names.get(&thread)) {
            op.thread = name.clone();
        } else {
            op.thread = "uncalled".into();
        }
        self.ops.push(op);
        self.seen.push(seen);
    }

    /// The time from the last call of a thread to an entry.
    fn think(&mut self, entry: &Entry) {
        let Some(thread) = entry.thread else { return };
        let free = self.free.get(&thread).copied().unwrap_or(0);
        let gap = entry.span.start - free;
        if gap <= 0 {
            return;
        }
        let mut op = Op::new(self.ids.next("think"), OpKind::Host(HostKind::Think));
        op.duration = Some(Box::new(Measured::new(gap, Provenance::Measured)));
        let call = Some(Span {
            start: free,
            end: entry.span.start,
        });
        self.push(op, entry, Seen { call, task: None });
        self.free.insert(thread, entry.span.start);
    }

    fn host(&mut self, entry: &Entry, kind: HostKind, id: &str, duration: i64) {
        let mut op = Op::new(self.ids.next(id), OpKind::Host(kind));
        op.duration = Some(Box::new(Measured::new(
            duration.max(0),
            Provenance::Measured,
        )));
        op.tags.set("call", entry.name.as_str());
        let call = Some(entry.span);
        self.push(op, entry, Seen { call, task: None });
        if let Some(thread) = entry.thread {
            self.free.insert(thread, entry.span.end);
        }
    }

    /// A thread hands something over at the end of a call.
    fn put(&mut self, entry: &Entry, number: usize) {
        self.think(entry);
        if !entry.span.is_empty() {
            self.host(entry, HostKind::Work, "enqueue", entry.span.len());
        }
        let moment = Span {
            start: entry.span.end,
            end: entry.span.end,
        };
        let entry = Entry {
            span: moment,
            ..entry.clone()
        };
        let target = SyncTarget::Event(hand_over(number));
        self.host(&entry, HostKind::Synchronise(target), "put", 0);
    }

    /// A thread takes what another handed over. Once it was done with what it took before, it may
    /// have waited for this, so that the time before it is no think time: what is left of it becomes a
    /// delay.
    fn take(&mut self, entry: &Entry, number: usize) {
        if let Some(thread) = entry.thread {
            let row = entry.span.end;
            if let Some(until) = self.busy.insert(thread, row) {
                let until = until.min(entry.span.start);
                let rest = Span {
                    start: until,
                    end: until,
                };
                self.think(&Entry {
                    span: rest,
                    ..entry.clone()
                });
            }
        }
        let moment = Span {
            start: entry.span.start,
            end: entry.span.start,
        };
        let entry = Entry {
            span: moment,
            ..entry.clone()
        };
        let target = SyncTarget::Event(hand_over(number));
        self.host(&entry, HostKind::Synchronise(target), "take", 0);
    }

    fn synchronise(&mut self, entry: &Entry, target: Sync) {
        self.think(entry);
        let ended = |end: i64| end <= entry.span.end;
        let mut streams: Vec<(i64, u32)> = self.last.iter().map(|(s, l)| (l.0, *s)).collect();
        streams.sort_unstable();
        let found = match target {
            Sync::Device => {
                let end = streams.last().map_or(0, |last| last.0);
                Some((SyncTarget::Device, end)).filter(|(_, end)| ended(*end))
            }
            Sync::Stream => {
                let best = streams.iter().rev().find(|last| ended(last.0));
                best.map(|(end, stream)| (SyncTarget::Stream(stream_name(*stream).into()), *end))
            }
            Sync::Event => {
                let records = streams.iter().rev().filter(|last| ended(last.0));
                let mut events = records.filter_map(|(end, stream)| {
                    let event = self.last.get(stream)?.1.clone()?;
                    Some((SyncTarget::Event(event), *end))
                });
                events.next()
            }
        };
        let class = match (&found, target) {
            (Some(_), Sync::Device) => LinkClass::Paired,
            (Some(_), _) => LinkClass::Guessed,
            (None, Sync::Device) if !streams.is_empty() => LinkClass::Violated,
            (None, _) => LinkClass::Open,
        };
        self.summary.link("host synchronisation", class);
        match found {
            Some((target, end)) => {
                // What is left when the wait is over.
                let own = entry.span.end - entry.span.start.max(end);
                self.host(entry, HostKind::Synchronise(target), "synchronise", own);
            }
            None => self.host(entry, HostKind::Work, "synchronise", entry.span.len()),
        }
    }

    fn issue(&mut self, entry: &Entry, places: &[usize], until: i64) {
        self.think(entry);
        let starts = places
            .iter()
            .map(|place| self.from.units[*place].span.start);
        let row = entry.span;
        // The call's time until its task starts, or the thread makes another call.
        let first = starts.min().unwrap_or(row.end);
        let mut issue = (row.end.min(until).min(first) - row.start).max(0);
        let mut at = row.start;
        for place in places {
            let unit = &self.from.units[*place];
            let mut op = self.unit(unit);
            op.stream = Some(stream_name(unit.stream).into());
            self.declared.streams.insert(stream_name(unit.stream));
            op.issue = Some(Box::new(Measured::new(issue, Provenance::Measured)));
            at += issue;
            issue = 0;
            let seen = Seen {
                call: entry.thread.map(|_| row),
                task: Some(match unit.body {
                    Body::Task(_) => unit.span,
                    Body::Collective(place) => Span {
                        start: unit.span.start,
                        end: self.from.together.joints[self.from.joints[place]].end,
                    },
                }),
            };
            let event = match &op.kind {
                OpKind::Record(record) => Some(record.event.clone()),
                _ => None,
            };
            let end = seen.task.map_or(0, |task| task.end);
            self.last.insert(unit.stream, (end, event));
            if unit.blocking {
                at = at.max(end);
            }
            self.push(op, entry, seen);
        }
        if let Some(thread) = entry.thread {
            self.free.insert(thread, at);
        }
    }

    fn unit(&mut self, unit: &Unit) -> Op {
        let trace = self.from.view.trace;
        match unit.body {
            Body::Task(index) => {
                let none = Signal::default();
                let signal = self.from.signals.get(&index).unwrap_or(&none);
                let name = trace.name(trace.tasks[index].name);
                let id = self.ids.next(name);
                let made = op(self.from.view, index, id, signal, unit.blocking);
                match &made.kind {
                    OpKind::Record(record) => {
                        self.recorded.insert(record.event.clone());
                        self.declared.events.insert(record.event.clone());
                    }
                    OpKind::Wait(wait) => {
                        let is_known = self.recorded.contains(&wait.event);
                        self.lost += usize::from(!is_known);
                        self.declared.events.insert(wait.event.clone());
                    }
                    OpKind::NotifyRecord(record) => {
                        self.declared.notifies.insert(record.notify.as_str().into());
                    }
                    OpKind::NotifyWait(wait) => {
                        self.declared.notifies.insert(wait.notify.as_str().into());
                        self.declared.open_notifies |= !signal.is_known;
                    }
                    _ => {}
                }
                made
            }
            Body::Collective(place) => {
                let gathered = &self.from.gathered[place];
                let joint = &self.from.together.joints[self.from.joints[place]];
                let name = trace.name(trace.collectives[gathered.index].name);
                let name = name.split("__").next().unwrap_or(name);
                self.summary.folded += gathered.tasks;
                let id = self.ids.next(name);
                collective::op(self.from.view, gathered, joint, id)
            }
        }
    }
}

/// The names of the threads of a rank: the one that calls first is `main`.
fn thread_names(entries: &[Entry]) -> HashMap<u64, ThreadName> {
    let mut names: HashMap<u64, ThreadName> = HashMap::new();
    for thread in entries.iter().filter_map(|entry| entry.thread) {
        let number = names.len();
        names.entry(thread).or_insert_with(|| match number {
            0 => ThreadName::main(),
            _ => format_smolstr!("thread.{number}").into(),
        });
    }
    names
}

/// The name of a physical stream; collectives without tasks are on one of their own.
fn stream_name(stream: u32) -> SmolStr {
    match stream {
        u32::MAX => SmolStr::new_static("collectives"),
        _ => format_smolstr!("stream.{stream}"),
    }
}
