//! One pass over a schedule in which everything starts when it was observed.

use ascsim_schedules::flat::Flat;
use ascsim_schedules::{Delay, DelayCause, Expr, Extra, OpKind};
use ascsim_traces::recover::{Recovered, Seen};

use super::solo::for_each_op;
use crate::compiled::{Compiled, NONE, Need, Point, Role, UNKNOWN};
use crate::costs::{Options, TaskKind};

/// Something that was observed earlier than the schedule allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The instance.
    pub instance: u32,
    /// How much earlier it was observed, in ps.
    pub ps: u64,
}

/// What determined when a task could start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bound {
    /// The instance before it on its stream.
    Stream(u32),
    /// Its call.
    Host,
    /// Something else.
    Other,
}

/// What is left of the observed starts.
#[derive(Clone, Debug, Default)]
pub struct Attribution {
    /// Per instance: the delay in ps, besides the one that the schedule has.
    pub delay: Vec<u64>,
    /// Per instance: its class.
    pub cause: Vec<DelayCause>,
    /// Per instance: what the cause is, if the capture shows it.
    pub note: Vec<Option<&'static str>>,
    /// What was observed too early.
    pub violations: Vec<Violation>,
    /// Per instance: its start without the delay, in ps; `u64::MAX` without a task.
    pub(super) base: Vec<u64>,
    /// Per instance: what that start follows from.
    pub(super) bound: Vec<Bound>,
    /// Per instance: when its call issued it, in ps.
    pub(super) issued: Vec<u64>,
    /// Per instance: start and end, in ps.
    pub(super) start: Vec<u64>,
    pub(super) end: Vec<u64>,
}

/// The note of what a perturbed capture adds to the gap after a plain kernel.
pub(super) const PERTURBED: &str = "l2_cache profiling delays the task after a plain kernel";
/// The note of a collective that ends later on this rank.
const LATE_END: &str = "this rank finished the collective later than the first one";

/// Finds what is left of the observed starts. `compiled` is the recovered schedule, compiled with
/// `options`, whose gaps and latencies count as derived.
///
/// # Complexity
/// O(instances + needs).
pub fn attribute(recovered: &Recovered, compiled: &Compiled, options: &Options) -> Attribution {
    let seen = per_instance(recovered);
    let count = compiled.len();
    let perturbed: Vec<bool> = compiled
        .ranks
        .iter()
        .map(|rank| {
            let seen = recovered.seen.iter().find(|seen| seen.rank == *rank);
            seen.is_some_and(|seen| seen.perturbed == Some(true))
        })
        .collect();
    let mut pass = Pass {
        compiled,
        options,
        seen: &seen,
        perturbed,
        free: vec![0; compiled.threads.owners() as usize],
        last: vec![None; compiled.streams.owners() as usize],
        setters: setters(compiled),
        found: Attribution {
            delay: vec![0; count],
            cause: vec![DelayCause::Unexplained; count],
            note: vec![None; count],
            violations: Vec::new(),
            base: vec![UNKNOWN; count],
            bound: vec![Bound::Other; count],
            issued: vec![0; count],
            start: vec![UNKNOWN; count],
            end: vec![UNKNOWN; count],
        },
    };
    for instance in 0..count as u32 {
        pass.visit(instance);
    }
    pass.found
}

/// What was observed of each instance, in order. The programs of recovered schedules have neither
/// repeats nor groups: each op is one instance.
pub(super) fn per_instance(recovered: &Recovered) -> Vec<Seen> {
    let ranks = recovered.seen.iter();
    ranks.flat_map(|rank| rank.ops.iter().copied()).collect()
}

/// Per notify: the instance that sets it.
fn setters(compiled: &Compiled) -> Vec<u32> {
    let mut setters = vec![NONE; compiled.notifies as usize];
    for (instance, role) in compiled.role.iter().enumerate() {
        if let Role::SetNotify(notify) = role {
            setters[*notify as usize] = instance as u32;
        }
    }
    setters
}

struct Pass<'a> {
    compiled: &'a Compiled,
    options: &'a Options,
    seen: &'a [Seen],
    /// Per die.
    perturbed: Vec<bool>,
    /// Per thread: when it returned from its last call.
    free: Vec<u64>,
    /// Per stream: its last queued task.
    last: Vec<Option<u32>>,
    setters: Vec<u32>,
    found: Attribution,
}

/// ns as ps; what lies before the start counts as the start.
pub(super) fn ps(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0).saturating_mul(1_000)
}

impl Pass<'_> {
    fn visit(&mut self, instance: u32) {
        let at = instance as usize;
        let thread = self.compiled.thread[at];
        if thread != NONE {
            let free = self.free[thread as usize];
            let needs = self.compiled.host_needs.of(instance);
            let go = needs.iter().fold(free, |go, need| go.max(self.met(*need)));
            self.found.issued[at] = if self.compiled.role[at] == Role::Host {
                self.host(instance, go)
            } else {
                go + self.compiled.times.issue[at]
            };
            self.free[thread as usize] = self.found.issued[at];
        }
        if self.compiled.stream[at] != NONE {
            self.task(instance);
            if self.compiled.blocking[at] && thread != NONE {
                let free = &mut self.free[thread as usize];
                *free = (*free).max(self.found.end[at]);
            }
        }
    }

    /// A host op that may begin at `go`; when it returns.
    fn host(&mut self, instance: u32, go: u64) -> u64 {
        let at = instance as usize;
        let own = self.compiled.times.delay[at];
        let call = self.seen.get(at).and_then(|seen| seen.call);
        let seen = call.map(|call| ps(call.start));
        let start = self.settle(instance, go + own, seen);
        self.found.cause[at] = DelayCause::HostThink;
        self.found.start[at] = start;
        let needs = self.compiled.end_needs.of(instance);
        let met = needs
            .iter()
            .fold(start, |end, need| end.max(self.met(*need)));
        let end = met + self.compiled.times.issue[at] + self.compiled.times.duration[at];
        self.found.end[at] = end;
        end
    }

    /// The start of something that could start at `base`; notes the delay or violation.
    fn settle(&mut self, instance: u32, base: u64, seen: Option<u64>) -> u64 {
        let Some(seen) = seen else { return base };
        if seen < base {
            let ps = base - seen;
            self.found.violations.push(Violation { instance, ps });
            return base;
        }
        self.found.delay[instance as usize] = seen - base;
        seen
    }

    fn task(&mut self, instance: u32) {
        let at = instance as usize;
        let role = self.compiled.role[at];
        let stream = self.compiled.stream[at] as usize;
        let hosted = self.compiled.thread[at] != NONE;
        let issued = self.found.issued[at];
        let mut base = 0;
        let mut bound = Bound::Other;
        if hosted {
            base = issued + self.options.latencies.launch;
            bound = Bound::Host;
        }
        for need in self.compiled.start_needs.of(instance) {
            let met = self.met(*need);
            if met > base {
                (base, bound) = (met, Bound::Other);
            }
        }
        let end_needs = self.compiled.end_needs.of(instance);
        if role == Role::Wait && hosted {
            let is_over = |need: &Need| self.found.end[need.on as usize] <= issued;
            if end_needs.iter().any(is_over) {
                // Never queued: the engine steps over it.
                let before = self.last[stream].map_or(0, |last| self.found.end[last as usize]);
                self.found.start[at] = before.max(issued);
                self.found.end[at] = before.max(issued);
                return;
            }
        }
        let before = self.last[stream];
        if let Some(before) = before {
            let kinds = (self.compiled.kind[before as usize], self.compiled.kind[at]);
            let free = self.found.end[before as usize] + self.options.gaps.get(kinds.0, kinds.1);
            if free >= base {
                (base, bound) = (free, Bound::Stream(before));
            }
        }
        let own = self.compiled.times.delay[at];
        let task = self.seen.get(at).and_then(|seen| seen.task);
        let start = self.settle(instance, base + own, task.map(|task| ps(task.start)));
        self.found.base[at] = base;
        self.found.bound[at] = bound;
        self.found.start[at] = start;
        self.explain(instance, bound);
        self.found.end[at] = self.end(instance, start);
        self.last[stream] = Some(instance);
    }

    /// Puts the delay of a task into its class.
    fn explain(&mut self, instance: u32, bound: Bound) {
        let at = instance as usize;
        let Bound::Stream(before) = bound else { return };
        let kind = self.compiled.kind[before as usize];
        let (cause, note) = match kind {
            TaskKind::Aic | TaskKind::Aiv if self.perturbed[self.compiled.die[at] as usize] => {
                (DelayCause::Recorded, Some(PERTURBED))
            }
            TaskKind::Collective => {
                // Either it ended later here, or what came next was slow.
                (DelayCause::Recorded, Some(LATE_END))
            }
            _ => (DelayCause::Unexplained, None),
        };
        self.found.cause[at] = cause;
        self.found.note[at] = note;
    }

    /// When a task that starts at `start` ends.
    fn end(&self, instance: u32, start: u64) -> u64 {
        let at = instance as usize;
        match self.compiled.role[at] {
            Role::Collective(transfer) => {
                let members = &self.compiled.transfers[transfer as usize].members;
                let began = |member: &u32| match self.found.start[*member as usize] {
                    UNKNOWN => {
                        let task = self.seen.get(*member as usize).and_then(|seen| seen.task);
                        task.map_or(0, |task| ps(task.start))
                    }
                    start => start,
                };
                let last = members.iter().map(began).fold(start, u64::max);
                let times = members
                    .iter()
                    .map(|m| self.compiled.times.duration[*m as usize]);
                last + times.max().unwrap_or(0)
            }
            Role::WaitNotify(notify) => {
                let setter = self.setters[notify as usize] as usize;
                // A rank further on has not been visited: its record ends when it was seen to.
                let met = match self.found.end.get(setter) {
                    Some(&UNKNOWN) => {
                        let task = self.seen.get(setter).and_then(|seen| seen.task);
                        task.map_or(0, |task| ps(task.end))
                    }
                    Some(end) => *end,
                    None => 0,
                };
                start.max(met + self.options.latencies.notify)
            }
            Role::Wait => {
                let needs = self.compiled.end_needs.of(instance).iter();
                needs.fold(start, |end, need| end.max(self.met(*need)))
            }
            _ => start + self.compiled.times.duration[at],
        }
    }

    fn met(&self, need: Need) -> u64 {
        let on = need.on as usize;
        let time = match need.point {
            Point::Issued => self.found.issued[on],
            Point::Start => self.found.start[on],
            Point::End => self.found.end[on],
        };
        // Everything that an instance needs stands before it, but across ranks.
        let time = if time == UNKNOWN { 0 } else { time };
        time + self.options.lag(need.why)
    }
}

/// Writes delays into the schedule they were found for; those that its ops have stay.
pub fn apply(recovered: &mut Recovered, attribution: &Attribution) {
    for_each_op(recovered, |at, op| {
        let delay = attribution.delay.get(at).copied().unwrap_or(0);
        if delay == 0 || op.delay.is_some() {
            return;
        }
        op.delay = Some(Box::new(Delay {
            ns: Expr::Int((delay / 1_000) as i64),
            cause: attribution.cause[at],
            note: attribution.note[at].map(Into::into),
            extra: Extra::default(),
        }));
    });
}

/// Takes out of a schedule what profiling added: the delays whose note says so. Simulate the result with
/// the clean gap table.
pub fn without_perturbation(recovered: &mut Recovered) -> usize {
    let programs = recovered.schedule.programs.iter_mut();
    let mut taken = 0;
    for op in programs.flat_map(|program| &mut program.ops) {
        let note = op.delay.as_ref().and_then(|delay| delay.note.as_deref());
        if note == Some(PERTURBED) {
            op.delay = None;
            taken += 1;
        }
    }
    taken
}

/// Whether an op of a recovered schedule is a task of a captured rank with an observed start.
pub(super) fn is_observed_task(flat: &Flat<'_>, seen: &[Seen], instance: u32) -> bool {
    let at = instance as usize;
    let Some(own) = flat.instances().get(at) else {
        return false;
    };
    let is_host = matches!(own.op.kind, OpKind::Host(_));
    !is_host && seen.get(at).is_some_and(|seen| seen.task.is_some())
}
