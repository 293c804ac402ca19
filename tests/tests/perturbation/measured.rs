//! What a change would do, from the measured times alone: a longest path with slacks over the links
//! of a capture. It shares nothing with the simulator and does not look at the schedule that is made of
//! the capture; only [`ascsim_traces::pair`] is common to both.
//!
//! Every moment (a call begins, a task starts, a task ends) has a measured time and the moments it
//! waits for, each with a time that must pass. What is left between the latest of them and the measured
//! time stays as it is. A moment therefore moves by the largest, over what it waits for, of that one's
//! move less its slack.

use std::collections::{BTreeMap, HashMap};

use ascsim_traces::Trace;
use ascsim_traces::model::{HostKind, PlaneKind, TaskKind};
use ascsim_traces::pair::Links;

/// A moment waits for another, and then for `lag` ns.
#[derive(Clone, Copy, Debug)]
struct Wait {
    on: usize,
    lag: i64,
}

#[derive(Clone, Debug)]
struct Moment {
    /// Measured, ns.
    at: i64,
    waits: Vec<Wait>,
    /// For the start of an event wait: when its call issued it, and the end of its record. If the record
    /// ends first, nothing is queued (facts/acl.md section 3).
    passes: Option<(usize, usize)>,
    /// Only for what follows such a wait: what it waits for then.
    behind: Option<Behind>,
}

/// What follows an event wait on its stream.
#[derive(Clone, Copy, Debug)]
struct Behind {
    /// The start of the wait.
    wait: usize,
    /// The moment that ends the task before the wait.
    before: Option<usize>,
}

/// A task or collective on a stream.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) stream: u32,
    pub(crate) name: String,
    pub(crate) kind: UnitKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Indices of its tasks in the trace.
    pub(crate) tasks: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Work,
    Record,
    Wait,
    /// The number of the collective on its rank.
    Collective(usize),
}

/// A capture as moments.
#[derive(Debug)]
pub(crate) struct Measured {
    moments: Vec<Moment>,
    /// The moments, each after what it needs.
    order: Vec<usize>,
    /// By stream, and in order on each.
    pub(crate) units: Vec<Unit>,
    /// Pairs of units: a wait that blocked, and its record.
    pub(crate) blocked: Vec<(usize, usize)>,
    /// Per host synchronisation: the units it waits for.
    pub(crate) syncs: Vec<Vec<usize>>,
    /// Per collective: the moment at which a rank that was not captured arrives.
    pub(crate) arrivals: Vec<Option<usize>>,
}

/// A change of one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// How long a unit takes (a collective: from the last arrival).
    Unit(usize),
    /// When a rank that was not captured arrives at a collective, and with it at all later ones.
    Arrival(usize),
}

struct Row {
    start: i64,
    end: i64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Starts or joins a thread.
    Release(usize),
    Resume(usize),
    Put(u64),
    Take(u64),
    /// A call that issues tasks.
    Call(u64),
    SyncDevice,
    SyncStream,
}

impl Measured {
    /// The moments of a capture with one step, or of all its steps.
    pub(crate) fn new(trace: &Trace) -> Self {
        let links = Links::of(trace);
        let shift = links.host.clock_offset_ns;
        let mut measured = Self {
            moments: Vec::new(),
            order: Vec::new(),
            units: Vec::new(),
            blocked: Vec::new(),
            syncs: Vec::new(),
            arrivals: Vec::new(),
        };
        let (units, unit_of) = units(trace, &links);
        // Starts and ends as measured; what they wait for comes later.
        for (stream, kind, tasks) in &units {
            let start = tasks
                .iter()
                .map(|task| trace.tasks[*task].span.start)
                .min()
                .unwrap()
                + shift;
            let end = tasks
                .iter()
                .map(|task| trace.tasks[*task].span.end)
                .max()
                .unwrap()
                + shift;
            let (start, end) = (measured.moment(start), measured.moment(end));
            measured.units.push(Unit {
                stream: *stream,
                name: trace.name(trace.tasks[tasks[0]].name).to_owned(),
                kind: *kind,
                start,
                end,
                tasks: tasks.clone(),
            });
        }
        let issued = measured.host(trace, &links, &unit_of);
        measured.device(&links, &issued, &unit_of);
        measured.collectives(trace, shift);
        measured.order = measured.sorted();
        measured
    }

    fn moment(&mut self, at: i64) -> usize {
        self.moments.push(Moment {
            at,
            waits: Vec::new(),
            passes: None,
            behind: None,
        });
        self.moments.len() - 1
    }

    fn wait(&mut self, moment: usize, on: usize) {
        self.wait_with(moment, on, 0);
    }

    fn wait_with(&mut self, moment: usize, on: usize, lag: i64) {
        self.moments[moment].waits.push(Wait { on, lag });
    }

    /// `later` comes as long after `earlier` as measured.
    fn rigid(&mut self, later: usize, earlier: usize) {
        let lag = self.moments[later].at - self.moments[earlier].at;
        self.wait_with(later, earlier, lag);
    }

    /// The threads. Returns when each unit was issued.
    fn host(
        &mut self,
        trace: &Trace,
        links: &Links,
        unit_of: &[Option<usize>],
    ) -> Vec<Option<usize>> {
        // Calls that issue, with the first start among their tasks.
        let mut first: BTreeMap<u64, i64> = BTreeMap::new();
        let mut called: Vec<Option<u64>> = vec![None; self.units.len()];
        for (task, unit) in unit_of.iter().enumerate() {
            let Some(unit) = *unit else { continue };
            if self.units[unit].tasks[0] != task {
                continue;
            }
            if let Some(call) = links.host.tasks[task].call {
                let call = u64::from(call);
                called[unit] = Some(call);
                let start = self.moments[self.units[unit].start].at;
                let known = first.entry(call).or_insert(start);
                *known = (*known).min(start);
            }
        }
        let mut threads: BTreeMap<u64, Vec<Row>> = BTreeMap::new();
        let mut put: HashMap<u64, (u64, i64, i64)> = HashMap::new();
        for (index, call) in trace.host.iter().enumerate() {
            let (start, end) = (call.span.start, call.span.end);
            let name = trace.name(call.name);
            let what = match call.kind {
                HostKind::Enqueue => {
                    put.insert(call.correlation.unwrap(), (call.thread, start, end));
                    continue;
                }
                HostKind::Dequeue => {
                    let id = call.correlation.unwrap();
                    let (thread, from, to) = put[&id];
                    let to = to.min(start);
                    threads.entry(thread).or_default().push(Row {
                        start: from,
                        end: to,
                        what: What::Put(id),
                    });
                    What::Take(id)
                }
                HostKind::Acl if name.contains("SynchronizeDevice") => What::SyncDevice,
                HostKind::Acl if name.contains("SynchronizeStream") => What::SyncStream,
                _ if first.contains_key(&(index as u64)) => What::Call(index as u64),
                _ => continue,
            };
            threads
                .entry(call.thread)
                .or_default()
                .push(Row { start, end, what });
        }
        for rows in threads.values_mut() {
            rows.sort_by_key(|row| (row.start, row.what));
        }
        fork(&mut threads);
        let order = self.calls(&threads, &first);
        let mut issued = vec![None; self.units.len()];
        for (unit, call) in called.iter().enumerate() {
            issued[unit] = call.map(|call| order.issued[&call]);
        }
        self.synchronisations(&order, &called);
        issued
    }

    /// Chains the rows of all threads.
    fn calls(&mut self, threads: &BTreeMap<u64, Vec<Row>>, first: &BTreeMap<u64, i64>) -> Order {
        let mut order = Order::default();
        let mut hand_overs: HashMap<(bool, u64), usize> = HashMap::new();
        let mut takes = Vec::new();
        for rows in threads.values() {
            // What the thread did last, and until when what it took keeps it busy.
            let mut last: Option<usize> = None;
            let mut busy: Option<i64> = None;
            for (place, row) in rows.iter().enumerate() {
                if let (What::Take(_) | What::Resume(_), Some(until), Some(before)) =
                    (row.what, busy, last)
                {
                    let until = until.min(row.start);
                    if until > self.moments[before].at {
                        let rest = self.moment(until);
                        self.rigid(rest, before);
                        last = Some(rest);
                    }
                }
                let begin = self.moment(row.start);
                let key = match row.what {
                    What::Put(id) | What::Take(id) => Some((false, id)),
                    What::Release(number) | What::Resume(number) => Some((true, number as u64)),
                    _ => None,
                };
                match row.what {
                    What::Take(_) | What::Resume(_) => {
                        if let Some(before) = last {
                            self.wait(begin, before);
                        }
                        takes.push((begin, key.unwrap()));
                        if let What::Take(_) = row.what {
                            busy = Some(row.end);
                        } else {
                            busy = Some(row.start);
                        }
                        last = Some(begin);
                        continue;
                    }
                    _ => {
                        if let Some(before) = last {
                            self.rigid(begin, before);
                        }
                    }
                }
                last = Some(match row.what {
                    What::Put(_) | What::Release(_) => {
                        let done = self.moment(row.end);
                        self.rigid(done, begin);
                        hand_overs.insert(key.unwrap(), done);
                        done
                    }
                    What::Call(call) => {
                        let next = rows.get(place + 1).map_or(i64::MAX, |next| next.start);
                        let at = row.end.min(next).min(first[&call]).max(row.start);
                        let done = self.moment(at);
                        self.rigid(done, begin);
                        order.issued.insert(call, done);
                        order.by_time.push((row.start, call, done));
                        done
                    }
                    What::SyncDevice | What::SyncStream => {
                        let done = self.moment(row.end);
                        let is_device = row.what == What::SyncDevice;
                        order.syncs.push((row.start, begin, done, is_device));
                        done
                    }
                    What::Take(_) | What::Resume(_) => begin,
                });
            }
        }
        for (take, key) in takes {
            self.wait(take, hand_overs[&key]);
        }
        order.syncs.sort_unstable();
        order
    }

    /// What host synchronisations wait for: of the streams whose last task, of those issued before,
    /// ended before the call returned, the one that ended last; for a device, all of them.
    fn synchronisations(&mut self, order: &Order, called: &[Option<u64>]) {
        let start_of: HashMap<u64, i64> = order
            .by_time
            .iter()
            .map(|(at, call, _)| (*call, *at))
            .collect();
        for (at, begin, done, is_device) in &order.syncs {
            self.wait(*done, *begin);
            let mut last: BTreeMap<u32, usize> = BTreeMap::new();
            for (unit, call) in called.iter().enumerate() {
                let before = call
                    .and_then(|call| start_of.get(&call))
                    .is_some_and(|start| start < at);
                if before {
                    last.insert(self.units[unit].stream, unit);
                }
            }
            // A call on a stream is made after the calls on it before.
            let end = |unit: &usize| self.moments[self.units[*unit].end].at;
            let returned = self.moments[*done].at;
            let waits: Vec<usize> = if *is_device {
                last.into_values().collect()
            } else {
                let ended = last.into_values().filter(|unit| end(unit) <= returned);
                ended.max_by_key(end).into_iter().collect()
            };
            for unit in &waits {
                let (end, call) = (self.units[*unit].end, called[*unit].unwrap());
                self.wait(*done, end);
                self.wait(*begin, order.issued[&call]);
            }
            self.syncs.push(waits);
        }
    }

    /// The streams and events.
    fn device(&mut self, links: &Links, issued: &[Option<usize>], unit_of: &[Option<usize>]) {
        let mut record_of: HashMap<usize, usize> = HashMap::new();
        for link in &links.events {
            let record = link.record.and_then(|record| unit_of[record as usize]);
            let wait = unit_of[link.wait as usize];
            if let (Some(wait), Some(record)) = (wait, record) {
                record_of.insert(wait, record);
                if link.blocked {
                    self.blocked.push((wait, record));
                }
            }
        }
        let mut before: Option<usize> = None;
        for unit in 0..self.units.len() {
            let (start, end) = (self.units[unit].start, self.units[unit].end);
            let same =
                before.filter(|before| self.units[*before].stream == self.units[unit].stream);
            if let Some(issued) = issued[unit] {
                self.wait(start, issued);
            }
            if let Some(same) = same {
                self.wait(start, self.units[same].end);
                if self.units[same].kind == UnitKind::Wait {
                    let earlier = same.checked_sub(1);
                    let earlier =
                        earlier.filter(|e| self.units[*e].stream == self.units[unit].stream);
                    // (Only what has a call can be passed.)
                    self.moments[start].behind = Some(Behind {
                        wait: self.units[same].start,
                        before: earlier.map(|earlier| self.units[earlier].end),
                    });
                }
            }
            match self.units[unit].kind {
                UnitKind::Wait => {
                    let record = record_of[&unit];
                    let record = self.units[record].end;
                    let Some(call) = issued[unit] else {
                        self.shown_when_over(unit, same, record);
                        before = Some(unit);
                        continue;
                    };
                    // The latency of the event is part of what follows.
                    self.moments[end].at = self.moments[start].at.max(self.moments[record].at);
                    self.wait(end, start);
                    self.wait(end, record);
                    self.moments[start].passes = Some((call, record));
                    if self.moments[record].at <= self.moments[call].at {
                        // Never queued: it has no time of its own.
                        let from = self.moments[start]
                            .waits
                            .iter()
                            .map(|w| self.moments[w.on].at);
                        let at = from.max().unwrap();
                        self.moments[start].at = at;
                        self.moments[end].at = at.max(self.moments[record].at);
                    }
                }
                UnitKind::Collective(_) => {}
                UnitKind::Work | UnitKind::Record => self.rigid(end, start),
            }
            before = Some(unit);
        }
    }

    /// An event wait of a capture without calls, whose waits show up when they are over: if its record
    /// ended after the task before it, it began right after that.
    fn shown_when_over(&mut self, unit: usize, before: Option<usize>, record: usize) {
        let (start, end) = (self.units[unit].start, self.units[unit].end);
        let free = before.map(|before| self.moments[self.units[before].end].at);
        let ended = self.moments[record].at;
        if let Some(free) = free.filter(|free| *free < ended) {
            self.moments[start].at = free.min(self.moments[start].at);
            let pair = self.units.iter().position(|unit| unit.end == record);
            self.blocked.extend(pair.map(|record| (unit, record)));
        }
        self.moments[end].at = self.moments[start].at.max(ended);
        self.wait(end, start);
        self.wait(end, record);
    }

    /// Collectives end a fixed time after the last arrival: of this rank, or of one that it was
    /// seen waiting for before the first transfer.
    fn collectives(&mut self, trace: &Trace, shift: i64) {
        let mut list: Vec<(usize, usize)> = Vec::new();
        for (place, unit) in self.units.iter().enumerate() {
            if let UnitKind::Collective(number) = unit.kind {
                list.push((number, place));
            }
        }
        list.sort_unstable();
        let mut before: Option<(usize, usize)> = None;
        for (number, place) in list {
            let (start, end) = (self.units[place].start, self.units[place].end);
            let rank = trace.meta.rank;
            let is_between = |p: &&ascsim_traces::model::PlaneTask| {
                p.collective == Some(number as u32)
                    && [p.source, p.destination]
                        .iter()
                        .flatten()
                        .any(|r| Some(*r) != rank)
            };
            let rows = || trace.planes.iter().filter(is_between);
            let moves = rows().filter(|p| matches!(p.kind, PlaneKind::Memcpy | PlaneKind::Reduce));
            let first = moves.map(|p| p.span.start).min().unwrap_or(i64::MAX);
            let waits = rows().filter(|p| p.kind == PlaneKind::NotifyWait && p.span.start < first);
            let last = waits
                .filter(|p| p.span.len() > 100)
                .map(|p| p.span.end + shift)
                .max();
            let own = self.moments[start].at;
            let arrival = last.filter(|last| *last > own);
            let mut arrived = own;
            self.wait(end, start);
            let moment = arrival.map(|at| {
                arrived = at;
                // The other rank's host comes to it that long after the collective before.
                let host = self.moment(at);
                if let Some((host_before, _)) = before {
                    self.rigid(host, host_before);
                }
                // Its stream also has to be done with the collective before.
                let joined = self.moment(at);
                self.wait(joined, host);
                if let Some((_, end_before)) = before {
                    self.wait(joined, end_before);
                }
                self.wait(end, joined);
                host
            });
            let lag = self.moments[end].at - arrived;
            for wait in &mut self.moments[end].waits {
                wait.lag = lag;
            }
            if let Some(host) = moment {
                before = Some((host, end));
            }
            self.arrivals.push(moment);
        }
    }

    /// How long a unit takes, ns; a collective from the last arrival.
    pub(crate) fn duration(&self, unit: usize) -> i64 {
        self.moments[self.units[unit].end].waits[0].lag
    }

    /// The measured start of a unit, ns.
    pub(crate) fn start(&self, unit: usize) -> i64 {
        self.moments[self.units[unit].start].at
    }

    /// How long the rank that is waited for at a collective takes from its arrival before, or from
    /// `zero`, ns.
    pub(crate) fn think(&self, collective: usize, zero: i64) -> Option<i64> {
        let moment = &self.moments[self.arrivals[collective]?];
        Some(
            moment
                .waits
                .first()
                .map_or(moment.at - zero, |wait| wait.lag),
        )
    }

    /// When every unit starts if one time changes by `by` ns: how far each moves, and whether it is
    /// queued at all.
    pub(crate) fn moved(&self, change: Change, by: i64) -> Vec<(i64, bool)> {
        let mut new: Vec<Option<i64>> = vec![None; self.moments.len()];
        for &moment in &self.order {
            new[moment] = Some(self.time(moment, change, by, &new));
        }
        let at = |moment: usize| new[moment].unwrap();
        self.units
            .iter()
            .map(|unit| {
                let moment = &self.moments[unit.start];
                let is_queued = moment
                    .passes
                    .is_none_or(|(call, record)| at(record) > at(call));
                (at(unit.start) - moment.at, is_queued)
            })
            .collect()
    }

    /// All that a moment's time depends on.
    fn needed(&self, moment: usize) -> Vec<usize> {
        let own = &self.moments[moment];
        let behind = own
            .behind
            .and_then(|behind| self.moments[behind.wait].passes);
        let passes = [own.passes, behind].into_iter().flatten();
        let passes = passes.flat_map(|(call, record)| [call, record]);
        let before = own.behind.and_then(|behind| behind.before);
        own.waits
            .iter()
            .map(|wait| wait.on)
            .chain(passes)
            .chain(before)
            .collect()
    }

    /// Every moment after those that it needs.
    fn sorted(&self) -> Vec<usize> {
        let needed: Vec<Vec<usize>> = (0..self.moments.len()).map(|m| self.needed(m)).collect();
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); needed.len()];
        let mut left: Vec<usize> = needed.iter().map(Vec::len).collect();
        for (moment, list) in needed.iter().enumerate() {
            for on in list {
                after[*on].push(moment);
            }
        }
        let mut order: Vec<usize> = (0..left.len())
            .filter(|moment| left[*moment] == 0)
            .collect();
        let mut at = 0;
        while let Some(&moment) = order.get(at) {
            at += 1;
            for &next in &after[moment] {
                left[next] -= 1;
                if left[next] == 0 {
                    order.push(next);
                }
            }
        }
        let stuck: Vec<String> = (0..left.len())
            .filter(|moment| left[*moment] > 0)
            .take(8)
            .map(|moment| {
                let on: Vec<(usize, i64)> = needed[moment]
                    .iter()
                    .map(|m| (*m, self.moments[*m].at))
                    .collect();
                format!("{moment} at {} needs {on:?}", self.moments[moment].at)
            })
            .collect();
        assert_eq!(
            order.len(),
            left.len(),
            "the moments wait in a circle: {stuck:#?}"
        );
        order
    }

    fn time(&self, moment: usize, change: Change, by: i64, new: &[Option<i64>]) -> i64 {
        let own = &self.moments[moment];
        let is_changed = match change {
            Change::Unit(unit) => self.units[unit].end == moment,
            Change::Arrival(collective) => self.arrivals[collective] == Some(moment),
        };
        let by = if is_changed { by } else { 0 };
        if own.waits.is_empty() {
            return own.at + by;
        }
        let at = |on: usize| new[on].unwrap();
        let passed = |(call, record): (usize, usize), time: &dyn Fn(usize) -> i64| {
            time(record) <= time(call)
        };
        let measured = |on: usize| self.moments[on].at;
        let latest = |time: &dyn Fn(usize) -> i64, by: i64| {
            let mut waits: Vec<Wait> = own.waits.clone();
            if let Some(behind) = own.behind
                && let Some(passes) = self.moments[behind.wait].passes
                && passed(passes, time)
            {
                // The wait was never queued: what follows comes after the task before it.
                let end = waits.iter().position(|wait| {
                    let end = &self.moments[wait.on].waits;
                    end.iter().any(|wait| wait.on == behind.wait)
                });
                if let Some(end) = end {
                    waits.remove(end);
                }
                waits.extend(behind.before.map(|on| Wait { on, lag: 0 }));
            }
            waits
                .iter()
                .map(|wait| time(wait.on) + wait.lag + by)
                .max()
                .unwrap()
        };
        let left = own.at - latest(&measured, 0);
        // A wait that is never queued does not keep what it was late by.
        let left = match own.passes {
            Some(passes) if passed(passes, &at) => 0,
            _ => left,
        };
        latest(&at, by) + left
    }
}

/// The calls of all threads.
#[derive(Debug, Default)]
struct Order {
    /// When each call has issued its tasks.
    issued: HashMap<u64, usize>,
    /// Start, call, and when it has issued.
    by_time: Vec<(i64, u64, usize)>,
    /// Start, begin, end, whether for the device.
    syncs: Vec<(i64, usize, usize, bool)>,
}

/// What is on the streams, in order; and the unit of each task.
#[expect(clippy::type_complexity, reason = "two lists, used once")]
fn units(trace: &Trace, links: &Links) -> (Vec<(u32, UnitKind, Vec<usize>)>, Vec<Option<usize>>) {
    let mut units: Vec<(u32, UnitKind, Vec<usize>)> = Vec::new();
    let mut of_collective: HashMap<u32, usize> = HashMap::new();
    // A collective is on the stream of its first task, wherever its other tasks run.
    let mut first: HashMap<u32, usize> = HashMap::new();
    for (task, op) in links.carried.iter().enumerate() {
        if let Some(op) = op {
            first.entry(*op).or_insert(task);
        }
    }
    let mut others: Vec<(u32, usize)> = Vec::new();
    let mut order: Vec<usize> = (0..trace.tasks.len()).collect();
    order.sort_by_key(|task| {
        let task = &trace.tasks[*task];
        (task.stream, task.span.start, task.span.end)
    });
    for task in order {
        let row = &trace.tasks[task];
        if let Some(op) = links.carried[task] {
            if first[&op] != task {
                others.push((op, task));
                continue;
            }
            of_collective.insert(op, units.len());
            units.push((row.stream, UnitKind::Collective(op as usize), vec![task]));
            continue;
        }
        let kind = match row.kind {
            TaskKind::Profiling | TaskKind::PlaceHolder => continue,
            TaskKind::EventRecord => UnitKind::Record,
            TaskKind::EventWait => UnitKind::Wait,
            _ => UnitKind::Work,
        };
        units.push((row.stream, kind, vec![task]));
    }
    for (op, task) in others {
        units[of_collective[&op]].2.push(task);
    }
    let mut unit_of = vec![None; trace.tasks.len()];
    for (unit, (_, _, tasks)) in units.iter().enumerate() {
        for task in tasks {
            unit_of[*task] = Some(unit);
        }
    }
    (units, unit_of)
}

/// A thread that takes nothing from a queue and whose rows all lie between two rows of the first such
/// thread is started and joined by it.
fn fork(threads: &mut BTreeMap<u64, Vec<Row>>) {
    let takes = |rows: &[Row]| rows.iter().any(|row| matches!(row.what, What::Take(_)));
    let free: Vec<u64> = threads
        .iter()
        .filter(|(_, rows)| !takes(rows))
        .map(|(t, _)| *t)
        .collect();
    let Some(&main) = free.iter().min_by_key(|thread| threads[*thread][0].start) else {
        return;
    };
    let mut number = 0;
    for thread in free.into_iter().filter(|thread| *thread != main) {
        let (start, end) = (
            threads[&thread][0].start,
            threads[&thread].last().unwrap().end,
        );
        let own = &threads[&main];
        let next = own.partition_point(|row| row.start <= start);
        if next == 0 || next == own.len() || own[next - 1].end > start || end > own[next].start {
            continue;
        }
        let (before, after) = (own[next - 1].end, own[next].start);
        let row = |at, what| Row {
            start: at,
            end: at,
            what,
        };
        threads
            .get_mut(&main)
            .unwrap()
            .insert(next, row(after, What::Resume(number + 1)));
        threads
            .get_mut(&main)
            .unwrap()
            .insert(next, row(before, What::Release(number)));
        threads
            .get_mut(&thread)
            .unwrap()
            .insert(0, row(start, What::Resume(number)));
        threads
            .get_mut(&thread)
            .unwrap()
            .push(row(end, What::Release(number + 1)));
        number += 2;
    }
}
