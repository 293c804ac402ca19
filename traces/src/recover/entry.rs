//! What host threads do, as far as a schedule needs it.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::clock::View;
use super::collective::Gathered;
use super::steps::Steps;
use super::summary::ImportSummary;
use crate::model::{HostKind, Step, TaskKind};
use crate::pair::LinkClass;
use crate::pair::event::BLOCKING_NS;
use crate::time::Span;

/// What takes one place on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// A task, by its index in the trace.
    Task(usize),
    /// A collective with all tasks that carry it, by its place among the gathered ones.
    Collective(usize),
}

/// Something on a stream, with its call.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    pub(super) body: Body,
    pub(super) stream: u32,
    /// On the common clock, ns.
    pub(super) span: Span,
    pub(super) step: Option<u32>,
    /// Whether its call is that of a copy that returns when the copy is done.
    pub(super) blocking: bool,
    /// Thread and row of its call; the row is on the common clock.
    call: Option<(u64, Span)>,
    /// CANN counts these up with each call.
    connection: Option<u64>,
}

/// What a host synchronisation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    Device,
    Stream,
    Event,
}

/// What a thread does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Hands something over to another thread. The number is that of the hand-over.
    Put(usize),
    /// Takes it.
    Take(usize),
    /// Starts another thread, or returns to the one that started it. The number is that of the hand-over.
    Release(usize),
    /// Is started by another thread, or goes on when that has returned.
    Resume(usize),
    /// Issues tasks, by their places among the units.
    Issue(Vec<usize>),
    /// Waits for the device.
    Sync(Sync),
    /// Another call that matters: a copy that leaves no task.
    Work,
}

/// One row of a thread.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// None for tasks without a call.
    pub(super) thread: Option<u64>,
    /// On the common clock, ns.
    pub(super) span: Span,
    pub(super) what: What,
    /// Name of the call.
    pub(super) name: String,
    pub(super) step: Option<u32>,
    /// Orders the entries of one moment: when what they issue ends.
    pub(super) tie: i64,
}

impl Entry {
    /// The order of the program: by call, and at one moment hand-overs first.
    fn key(&self) -> (i64, u8, i64) {
        let class = match self.what {
            What::Release(_) => 0,
            What::Resume(_) => 1,
            What::Put(_) => 2,
            What::Take(_) => 3,
            What::Issue(_) | What::Sync(_) | What::Work => 4,
        };
        (self.span.start, class, self.tie)
    }
}

/// What is on the streams of a rank, by stream and time.
pub(super) fn units(
    view: &View<'_>,
    steps: &Steps<'_>,
    wanted: Option<u32>,
    gathered: &[Gathered],
) -> Vec<Unit> {
    let trace = view.trace;
    let hidden: HashSet<u32> = view.links.events.iter().filter_map(|e| e.record).collect();
    let call_of = |task: usize| {
        let link = view.links.host.tasks.get(task)?;
        let issue = link.issue?;
        let row = link.call.and_then(|call| trace.host.get(call as usize));
        let span = row.map_or(
            Span {
                start: issue.at,
                end: issue.at,
            },
            |row| row.span,
        );
        Some((issue.thread, view.host_span(span)))
    };
    let blocks = |task: usize| {
        let call = view.links.host.tasks.get(task).and_then(|link| link.call);
        let call = call.and_then(|call| trace.host.get(call as usize));
        call.is_some_and(|call| is_blocking_copy(trace.name(call.name)))
            && trace.tasks[task].kind == TaskKind::Copy
    };
    let mut units: Vec<Unit> = Vec::new();
    for (index, task) in trace.tasks.iter().enumerate() {
        let carried = view.links.carried.get(index).copied().flatten();
        let is_shown = task.kind.is_in_span()
            || u32::try_from(index).is_ok_and(|index| hidden.contains(&index));
        if carried.is_some() || !is_shown {
            continue;
        }
        units.push(Unit {
            body: Body::Task(index),
            stream: task.stream,
            span: view.device_span(task.span),
            step: steps.of_task(&view.links, index),
            blocking: blocks(index),
            call: call_of(index),
            connection: task.connection,
        });
    }
    for (place, op) in gathered.iter().enumerate() {
        units.push(Unit {
            body: Body::Collective(place),
            stream: op.stream,
            span: op.span,
            step: op.step,
            blocking: false,
            call: op.first.and_then(call_of),
            connection: op.first.and_then(|task| trace.tasks[task].connection),
        });
    }
    if wanted.is_some() {
        units.retain(|unit| unit.step == wanted);
    }
    units.sort_by_key(|unit| (unit.stream, unit.span.start, unit.span.end));
    widen_waits(view, &mut units);
    units
}

/// On a 910A a wait shows up when it is over, however long its stream stood still for it
/// (facts/traces.md section 2.6). Where no wait of a capture lasts, and the record of one ended after the
/// task before it, the wait began when that task ended.
fn widen_waits(view: &View<'_>, units: &mut [Unit]) {
    let tasks = view.trace.tasks.iter();
    let mut waits = tasks.filter(|task| task.kind == TaskKind::EventWait);
    if waits.any(|wait| wait.span.len() > BLOCKING_NS) {
        return;
    }
    let links = view.links.events.iter();
    let records: HashMap<usize, i64> = links
        .filter_map(|link| {
            let record = view.trace.tasks.get(link.record? as usize)?;
            Some((link.wait as usize, view.device_span(record.span).end))
        })
        .collect();
    for at in 1..units.len() {
        let (before, unit) = (&units[at - 1], &units[at]);
        let Body::Task(task) = unit.body else {
            continue;
        };
        let is_same = before.stream == unit.stream && unit.call.is_none();
        let blocked = records
            .get(&task)
            .is_some_and(|end| *end > before.span.end && *end <= unit.span.end);
        if is_same && blocked {
            units[at].span.start = before.span.end.min(unit.span.start);
        }
    }
}

/// Whether a call of this name copies and returns when that is done.
fn is_blocking_copy(name: &str) -> bool {
    let call = name.rsplit('@').next().unwrap_or(name);
    call == "aclrtMemcpy" || call == "aclrtMemcpy2d" || call == "rtMemcpy"
}

/// The entries of a rank in program order, and how many hand-overs there are. Tasks whose calls
/// contradict the order of their stream lose their calls; their number is the last result.
///
/// # Complexity
/// O(n log n) in the rows.
pub(super) fn entries(
    view: &View<'_>,
    steps: &Steps<'_>,
    wanted: Option<u32>,
    units: &[Unit],
    summary: &mut ImportSummary,
) -> (Vec<Entry>, usize, usize) {
    let (mut entries, out_of_order) = issues(units);
    let trace = view.trace;
    let mut put: HashMap<u64, (u64, Span, String, Option<u32>)> = HashMap::new();
    let mut hand_overs = 0;
    let used: HashSet<(u64, Span)> = units.iter().filter_map(|unit| unit.call).collect();
    for call in &trace.host {
        let span = view.host_span(call.span);
        let step = steps.of_host(call.thread, call.span.start);
        if wanted.is_some() && step != wanted {
            continue;
        }
        let name = trace.name(call.name).to_owned();
        let what = match call.kind {
            HostKind::Enqueue => {
                if let Some(id) = call.correlation {
                    put.insert(id, (call.thread, span, name, step));
                }
                continue;
            }
            HostKind::Dequeue => {
                let from = call.correlation.and_then(|id| put.remove(&id));
                let Some((thread, row, put_name, put_step)) = from else {
                    summary.link("hand-over between threads", LinkClass::Open);
                    continue;
                };
                summary.link("hand-over between threads", LinkClass::Paired);
                // A worker may take it before the row of the call that put it there ends.
                let end = row.end.min(span.start).max(row.start);
                let span = Span {
                    start: row.start,
                    end,
                };
                entries.push(entry(
                    thread,
                    span,
                    What::Put(hand_overs),
                    put_name,
                    put_step,
                ));
                What::Take(hand_overs)
            }
            HostKind::Acl => match synchronises(&name) {
                Some(target) => What::Sync(target),
                None if is_blocking_copy(&name) && !used.contains(&(call.thread, span)) => {
                    What::Work
                }
                None => continue,
            },
            _ => continue,
        };
        if matches!(what, What::Take(_)) {
            hand_overs += 1;
        }
        entries.push(entry(call.thread, span, what, name, step));
    }
    // What nobody takes is time of its thread all the same, and needs no entry.
    entries.sort_by_key(Entry::key);
    let forks = forks(&mut entries, &mut hand_overs, &trace.steps, view);
    for _ in 0..forks {
        summary.link("hand-over between threads", LinkClass::Guessed);
        summary.link("hand-over between threads", LinkClass::Guessed);
    }
    if forks > 0 {
        summary.assumed.push(super::Assumed::Forks(forks));
    }
    (entries, hand_overs, out_of_order)
}

fn entry(thread: u64, span: Span, what: What, name: String, step: Option<u32>) -> Entry {
    Entry {
        thread: Some(thread),
        span,
        what,
        name,
        step,
        tie: 0,
    }
}

/// The entries that issue tasks; and how many units lost their call.
fn issues(units: &[Unit]) -> (Vec<Entry>, usize) {
    let mut by_call: BTreeMap<(u64, Span), Vec<usize>> = BTreeMap::new();
    let mut entries = Vec::new();
    let mut out_of_order = 0;
    let called: BTreeMap<u64, i64> = units
        .iter()
        .filter_map(|unit| Some((unit.connection?, unit.call?.1.start)))
        .collect();
    // A task without a call comes after the call that was made last before its own.
    let placed = |unit: &Unit| {
        let mut earlier = called.range(..unit.connection?);
        earlier.next_back().map(|(_, at)| *at)
    };
    // The place in the program of the unit before on the stream.
    let mut before: HashMap<u32, i64> = HashMap::new();
    for (place, unit) in units.iter().enumerate() {
        let before = before.entry(unit.stream).or_insert(i64::MIN);
        match unit.call {
            Some((thread, row)) if row.start >= *before => {
                *before = row.start;
                by_call.entry((thread, row)).or_default().push(place);
            }
            call => {
                out_of_order += usize::from(call.is_some());
                *before = (*before).max(placed(unit).unwrap_or(i64::MIN));
                entries.push(Entry {
                    thread: None,
                    span: Span {
                        start: *before,
                        end: *before,
                    },
                    what: What::Issue(vec![place]),
                    name: String::new(),
                    step: unit.step,
                    tie: unit.span.end,
                });
            }
        }
    }
    for ((thread, row), mut places) in by_call {
        places.sort_by_key(|place| (units[*place].span.end, *place));
        let first = places.first().map(|place| &units[*place]);
        entries.push(Entry {
            thread: Some(thread),
            span: row,
            name: String::new(),
            step: first.and_then(|unit| unit.step),
            tie: first.map_or(0, |unit| unit.span.end),
            what: What::Issue(places),
        });
    }
    (entries, out_of_order)
}

/// What a call of this name waits for.
fn synchronises(name: &str) -> Option<Sync> {
    if name.contains("SynchronizeDevice") {
        Some(Sync::Device)
    } else if name.contains("SynchronizeStream") {
        Some(Sync::Stream)
    } else if name.contains("SynchronizeEvent") {
        Some(Sync::Event)
    } else {
        None
    }
}

/// Adds the hand-overs of threads that are started and joined by another: all their entries lie
/// between two entries of that one, and they take nothing from a queue.
fn forks(
    entries: &mut Vec<Entry>,
    hand_overs: &mut usize,
    steps: &[Step],
    view: &View<'_>,
) -> usize {
    let mut threads: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        if let Some(thread) = entry.thread {
            threads.entry(thread).or_default().push(at);
        }
    }
    let takes = |at: &usize| matches!(entries[*at].what, What::Take(_));
    let main = threads
        .iter()
        .filter(|(_, list)| !list.iter().any(takes))
        .min_by_key(|(_, list)| list.first().map(|at| entries[*at].span.start))
        .map(|(thread, _)| *thread);
    let Some(main) = main else { return 0 };
    let mut added = Vec::new();
    for (thread, list) in &threads {
        if *thread == main || list.iter().any(takes) {
            continue;
        }
        // A thread may be started once per step.
        for part in list.chunk_by(|a, b| entries[*a].step == entries[*b].step) {
            let (Some(first), Some(last)) = (part.first(), part.last()) else {
                continue;
            };
            let (first, last) = (&entries[*first], &entries[*last]);
            let own = &threads[&main];
            let next = own.partition_point(|at| entries[*at].span.start <= first.span.start);
            let before = next.checked_sub(1).and_then(|at| own.get(at));
            let (Some(before), Some(after)) = (before, own.get(next)) else {
                continue;
            };
            let (before, after) = (&entries[*before], &entries[*after]);
            let is_inside =
                before.span.end <= first.span.start && last.span.end <= after.span.start;
            if !is_inside || in_next_step(steps, view, first, after) {
                continue;
            }
            let moment = |at| Span { start: at, end: at };
            for (from, to, put, take) in [
                (main, *thread, before.span.end, first.span.start),
                (*thread, main, last.span.end, after.span.start),
            ] {
                let step = first.step;
                let name = "thread hand-over".to_owned();
                let number = *hand_overs;
                added.push(entry(
                    from,
                    moment(put),
                    What::Release(number),
                    name.clone(),
                    step,
                ));
                added.push(entry(to, moment(take), What::Resume(number), name, step));
                *hand_overs += 1;
            }
        }
    }
    let count = added.len() / 4;
    entries.append(&mut added);
    entries.sort_by_key(Entry::key);
    count
}

/// Whether another step begins between two entries.
fn in_next_step(steps: &[Step], view: &View<'_>, first: &Entry, after: &Entry) -> bool {
    steps.iter().any(|step| {
        let start = view.host(step.span.start);
        first.span.start < start && start <= after.span.start
    })
}
