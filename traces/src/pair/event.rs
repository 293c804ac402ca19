//! Which record an event wait waits for.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::host::HostLinks;
use super::{LinkClass, LinkReason};
use crate::Trace;
use crate::model::TaskKind;

/// A wait that lasts longer than this blocked, ns. Those that did not last at
/// most one 20 ns tick, those that did 264 µs and more (T1).
pub const BLOCKING_NS: i64 = 100;

/// The longest time from the end of a record to that of a wait it ended, ns:
/// twice the largest of 30 pairs, which lie at 380 to 520 ns
/// (facts/traces.md section 2.6).
pub const MAX_LATENCY_NS: i64 = 1_040;

/// The link of one event wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLink {
    /// Index in [`Trace::tasks`] of the wait.
    pub wait: u32,
    /// Index in [`Trace::tasks`] of the record; `None` if open.
    pub record: Option<u32>,
    /// Whether the wait blocked.
    pub blocked: bool,
    /// How sure that is.
    pub class: LinkClass,
    /// Why.
    pub reason: LinkReason,
    /// From the end of the record to that of the wait, ns.
    pub gap_ns: Option<i64>,
}

/// An event task, in issue order.
#[derive(Debug, Clone, Copy)]
struct Event {
    task: u32,
    stream: u32,
    start: i64,
    end: i64,
    /// Place in the issue order; `None` if that is unknown.
    issue: Option<i64>,
}

/// What tells the issue order of a capture's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// When the host issued each.
    Host,
    /// Connection ids, which CANN counts up with each call. At Level0 events have
    /// no call and no flow arrow, but still these.
    Connections,
    /// Nothing.
    Unknown,
}

impl Order {
    /// The best one that all events of `trace` have.
    fn of(trace: &Trace, host: &HostLinks) -> Self {
        let is_event = |kind| matches!(kind, TaskKind::EventRecord | TaskKind::EventWait);
        let events = || {
            let all = trace.tasks.iter().zip(&host.tasks);
            all.filter(|(task, _)| is_event(task.kind))
        };
        if events().all(|(_, link)| link.issue.is_some()) {
            return Self::Host;
        }
        // In a replayed graph all tasks may share one id: then it orders nothing.
        let mut seen = BTreeSet::new();
        let are_distinct =
            events().all(|(task, _)| task.connection.is_some_and(|id| seen.insert(id)));
        if are_distinct {
            Self::Connections
        } else {
            Self::Unknown
        }
    }

    /// The place of a task in this order.
    fn place(self, trace: &Trace, host: &HostLinks, task: usize) -> Option<i64> {
        match self {
            Self::Host => host.tasks.get(task)?.issue.map(|issue| issue.at),
            Self::Connections => i64::try_from(trace.tasks.get(task)?.connection?).ok(),
            Self::Unknown => None,
        }
    }
}

/// Links every event wait of `trace` to a record on another stream.
///
/// A wait that blocked ended within [`MAX_LATENCY_NS`] of its record: of the
/// records issued before it that fit, the one that ended last. A wait that did
/// not block is known by order only, or, in a graph where nothing tells the issue order but each wait resets
/// its event, by taking records in turn: the record issued last before it; if that
/// one marks the end of a collective, the earliest such end on that stream which
/// the waiting stream has not waited for yet (frameworks wait for collectives in
/// the order they issued them). The end of a collective is the **second** record
/// after it (facts/traces.md section 2.1).
///
/// # Complexity
/// O(waits × records).
pub fn links(trace: &Trace, host: &HostLinks, carried: &[Option<u32>]) -> Vec<EventLink> {
    let order = Order::of(trace, host);
    let records = events(trace, host, order, TaskKind::EventRecord);
    let waits = events(trace, host, order, TaskKind::EventWait);
    let place = |task| order.place(trace, host, task);
    let ends = collective_ends(trace, carried, &records, place);
    // Ends of collectives that a stream has waited for, by its number.
    let mut waited: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let known = by_id(trace, &records, &waits);
    let resets = resetting(trace);
    let mut taken: BTreeSet<u32> = BTreeSet::new();
    let mut links = Vec::with_capacity(waits.len());
    for wait in &waits {
        if let Some(link) = known.get(&wait.task) {
            links.push(*link);
            continue;
        }
        let candidates: Vec<&Event> = records
            .iter()
            .filter(|record| record.stream != wait.stream && issued_before(record, wait))
            .collect();
        let done = waited.entry(wait.stream).or_default();
        let link = if wait.end - wait.start > BLOCKING_NS {
            blocking(wait, &candidates)
        } else {
            let one_shot = wait.issue.is_none() && resets.contains(&wait.task);
            let next = candidates
                .iter()
                .filter(|record| {
                    one_shot && record.end <= wait.end && !taken.contains(&record.task)
                })
                .min_by_key(|record| (record.end, record.task));
            match next {
                Some(next) => {
                    taken.insert(next.task);
                    link(wait, Some(next), LinkClass::Guessed, LinkReason::ResetOrder)
                }
                None => by_order(wait, &candidates, &ends, done),
            }
        };
        if let Some(record) = link.record {
            done.insert(record);
        }
        links.push(link);
    }
    links
}

/// The links of waits whose event id is known: in each replay of the graph, that is the k-th time a wait
/// is met, the record of that id in the same replay.
fn by_id(trace: &Trace, records: &[Event], waits: &[Event]) -> HashMap<u32, EventLink> {
    /// Tasks of an event id by their place in the graph, each in order of its replays.
    type ById = BTreeMap<u64, BTreeMap<(u32, Option<u32>), Vec<Event>>>;
    let group = |events: &[Event]| {
        let mut found = ById::new();
        for event in events {
            let Some(task) = trace.tasks.get(event.task as usize) else {
                continue;
            };
            if let Some(id) = task.event {
                let places = found.entry(id).or_default();
                places
                    .entry((task.stream, task.task))
                    .or_default()
                    .push(*event);
            }
        }
        for events in found.values_mut().flat_map(BTreeMap::values_mut) {
            events.sort_by_key(|event| (event.start, event.task));
        }
        found
    };
    let (records, waits) = (group(records), group(waits));
    let mut links = HashMap::new();
    for (id, places) in &waits {
        // An id that several places of the graph record says too little.
        let records = records.get(id).filter(|records| records.len() == 1);
        let records = records.and_then(|records| records.values().next());
        for wait in places.values().flat_map(|waits| waits.iter().enumerate()) {
            let (replay, wait) = wait;
            let found = match records.map(|records| records.get(replay)) {
                Some(Some(record)) if record.end <= wait.end => {
                    link(wait, Some(record), LinkClass::Paired, LinkReason::EventId)
                }
                Some(Some(record)) => {
                    link(wait, Some(record), LinkClass::Violated, LinkReason::EventId)
                }
                Some(None) => link(wait, None, LinkClass::Open, LinkReason::NoCandidate),
                // Elided from the dump: other rules may know.
                None => continue,
            };
            links.insert(wait.task, found);
        }
    }
    links
}

/// The event waits that are followed by a reset on their stream.
fn resetting(trace: &Trace) -> BTreeSet<u32> {
    let mut last: HashMap<u32, usize> = HashMap::new();
    let mut found = BTreeSet::new();
    for (index, task) in trace.tasks.iter().enumerate() {
        let before = last.insert(task.stream, index);
        let is_wait = |before: &usize| trace.tasks[*before].kind == TaskKind::EventWait;
        if task.kind == TaskKind::EventReset
            && let Some(wait) = before.filter(is_wait)
        {
            found.extend(u32::try_from(wait));
        }
    }
    found
}

/// The event tasks of `kind` in issue order; those without a known issue by start.
fn events(trace: &Trace, host: &HostLinks, order: Order, kind: TaskKind) -> Vec<Event> {
    let mut found: Vec<Event> = Vec::new();
    for (index, task) in trace.tasks.iter().enumerate() {
        // A record may be shown as a place holder; its call tells.
        let by_call = || {
            let call = host.tasks.get(index).and_then(|link| link.call);
            let call = call.and_then(|call| trace.host.get(call as usize));
            call.is_some_and(|call| trace.name(call.name).ends_with("aclrtRecordEvent"))
        };
        let is_hidden_record =
            kind == TaskKind::EventRecord && task.kind == TaskKind::PlaceHolder && by_call();
        if let (true, Ok(number)) = (task.kind == kind || is_hidden_record, u32::try_from(index)) {
            found.push(Event {
                task: number,
                stream: task.stream,
                start: task.span.start,
                end: task.span.end,
                issue: order.place(trace, host, index),
            });
        }
    }
    found.sort_by_key(|event| (event.issue.unwrap_or(event.start), event.task));
    found
}

/// Whether the host issued `record` before `wait`, as far as it is known.
fn issued_before(record: &Event, wait: &Event) -> bool {
    match (record.issue, wait.issue) {
        (Some(record), Some(wait)) => record < wait,
        _ => true,
    }
}

fn link(wait: &Event, record: Option<&Event>, class: LinkClass, reason: LinkReason) -> EventLink {
    EventLink {
        wait: wait.task,
        record: record.map(|record| record.task),
        blocked: wait.end - wait.start > BLOCKING_NS,
        class,
        reason,
        gap_ns: record.map(|record| wait.end - record.end),
    }
}

/// The link of a wait that blocked.
fn blocking(wait: &Event, candidates: &[&Event]) -> EventLink {
    let fits = |record: &&&Event| (0..=MAX_LATENCY_NS).contains(&(wait.end - record.end));
    let best = candidates
        .iter()
        .filter(fits)
        .max_by_key(|record| (record.end, record.task));
    match best {
        Some(best) => {
            let is_alone = candidates
                .iter()
                .filter(fits)
                .all(|record| record.stream == best.stream);
            if is_alone {
                link(wait, Some(best), LinkClass::Paired, LinkReason::EndsMatch)
            } else {
                link(
                    wait,
                    Some(best),
                    LinkClass::Guessed,
                    LinkReason::EndsMatchSeveral,
                )
            }
        }
        None if candidates.is_empty() => link(wait, None, LinkClass::Open, LinkReason::NoCandidate),
        None => link(wait, None, LinkClass::Open, LinkReason::NoEndMatches),
    }
}

/// The link of a wait that did not block.
fn by_order(
    wait: &Event,
    candidates: &[&Event],
    ends: &HashMap<u32, u32>,
    done: &BTreeSet<u32>,
) -> EventLink {
    let Some(last) = candidates.last() else {
        return link(wait, None, LinkClass::Open, LinkReason::NoCandidate);
    };
    if wait.issue.is_none() {
        let fit = candidates.iter().filter(|record| record.end <= wait.end);
        return match fit.max_by_key(|record| (record.end, record.task)) {
            Some(record) => link(wait, Some(record), LinkClass::Guessed, LinkReason::EndOrder),
            None => link(wait, Some(last), LinkClass::Violated, LinkReason::EndsLate),
        };
    }
    if ends.contains_key(&last.task) {
        let next = candidates.iter().find(|record| {
            record.stream == last.stream
                && ends.contains_key(&record.task)
                && !done.contains(&record.task)
        });
        if let Some(next) = next.filter(|record| record.end <= wait.end) {
            return link(
                wait,
                Some(next),
                LinkClass::Guessed,
                LinkReason::CollectiveOrder,
            );
        }
    }
    if last.end <= wait.end {
        return link(wait, Some(last), LinkClass::Guessed, LinkReason::IssueOrder);
    }
    match candidates
        .iter()
        .rev()
        .find(|record| record.end <= wait.end)
    {
        Some(record) => link(
            wait,
            Some(record),
            LinkClass::Guessed,
            LinkReason::IssueOrderCorrected,
        ),
        None => link(wait, Some(last), LinkClass::Violated, LinkReason::EndsLate),
    }
}

/// The records that mark the end of a collective, with the collective: the
/// second after it on its stream, or the only one.
fn collective_ends(
    trace: &Trace,
    carried: &[Option<u32>],
    records: &[Event],
    place: impl Fn(usize) -> Option<i64>,
) -> HashMap<u32, u32> {
    // (stream, issue) of each collective: those of the first task that carries it.
    let mut begun: BTreeMap<u32, BTreeMap<i64, u32>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (index, op) in carried.iter().enumerate() {
        let Some(op) = *op else { continue };
        let issue = place(index);
        if let (Some(issue), true) = (issue, seen.insert(op)) {
            begun
                .entry(trace.tasks[index].stream)
                .or_default()
                .insert(issue, op);
        }
    }
    let mut after: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for record in records {
        let Some(issue) = record.issue else { continue };
        let ops = begun.get(&record.stream);
        let latest = ops.and_then(|ops| ops.range(..issue).next_back());
        if let Some((_, &op)) = latest {
            after.entry(op).or_default().push(record.task);
        }
    }
    after
        .into_iter()
        .filter_map(|(op, records)| Some((*records.get(1).or(records.first())?, op)))
        .collect()
}
