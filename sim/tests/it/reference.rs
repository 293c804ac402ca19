//! A slow, obvious simulator: at every moment it looks at every instance and asks what may happen.
//! It shares nothing with the engine but the flat schedule and the options.

mod blocks;

use std::collections::{BTreeSet, HashMap};

use ascsim_schedules::flat::{Binding, Flat, Instance, InstanceId, Role, StreamId, Target};
use ascsim_schedules::{Expr, GroupTask, HostKind, OpKind};
use ascsim_sim::{EngineModel, Options, TaskKind};

/// When everything happened; none for what never did.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) issued: Vec<Option<u64>>,
    pub(crate) start: Vec<Option<u64>>,
    pub(crate) end: Vec<Option<u64>>,
}

/// Simulates a schedule. All times must be constants, and every op that needs one has a duration.
pub(crate) fn simulate(flat: &Flat<'_>, options: &Options) -> Run {
    let count = flat.instances().len();
    let mut reference = Reference {
        flat,
        options,
        now: 0,
        moments: BTreeSet::from([0]),
        called: vec![None; count],
        returned: vec![None; count],
        ready_at: vec![None; count],
        end_at: vec![None; count],
        begun: vec![false; count],
        passed: vec![false; count],
        run: Run {
            issued: vec![None; count],
            start: vec![None; count],
            end: vec![None; count],
        },
        flags: HashMap::new(),
        words: HashMap::new(),
        waiting: BTreeSet::new(),
        pending: BTreeSet::new(),
        blocks: Vec::new(),
        started: HashMap::new(),
    };
    reference.simulate();
    reference.run
}

struct Reference<'f, 's> {
    flat: &'f Flat<'s>,
    options: &'f Options,
    now: u64,
    moments: BTreeSet<u64>,
    called: Vec<Option<u64>>,
    returned: Vec<Option<u64>>,
    ready_at: Vec<Option<u64>>,
    end_at: Vec<Option<u64>>,
    begun: Vec<bool>,
    /// Waits that were never queued.
    passed: Vec<bool>,
    run: Run,
    /// Flags and notifies that are set, with the time since when.
    flags: HashMap<Target, u64>,
    words: HashMap<Target, (u64, u64)>,
    waiting: BTreeSet<usize>,
    pending: BTreeSet<usize>,
    /// Blocks with cores: the instance, what they hold of each engine, and when they end if that is
    /// known.
    blocks: Vec<(usize, [u32; 2], Option<u64>)>,
    /// Blocks of each instance that have started.
    started: HashMap<usize, u32>,
}

fn ps(ns: &Expr) -> u64 {
    (ns.constant().expect("a constant") * 1_000.0).round() as u64
}

impl<'s> Reference<'_, 's> {
    fn simulate(&mut self) {
        while let Some(now) = self.moments.pop_first() {
            self.now = now;
            loop {
                let all = 0..self.run.end.len();
                if all.clone().any(|at| self.happens_by_itself(at)) {
                    continue;
                }
                if all.clone().any(|at| self.begins_or_ends(at)) {
                    continue;
                }
                let mut handed_out = false;
                while let Some(at) = self.first_with_cores() {
                    self.takes_cores(at);
                    handed_out = true;
                }
                if !handed_out {
                    break;
                }
            }
        }
    }

    fn at(&mut self, time: u64) -> u64 {
        if time > self.now {
            self.moments.insert(time);
        }
        time
    }

    fn get(&self, at: usize) -> &Instance<'s> {
        &self.flat[InstanceId::new(at)]
    }

    fn before(&self, time: Option<u64>) -> bool {
        time.is_some_and(|time| time <= self.now)
    }

    fn ended(&self, at: usize) -> bool {
        self.run.end[at].is_some()
    }

    /// Whether an instance has a device task of its own.
    fn is_task(&self, at: usize) -> bool {
        let instance = self.get(at);
        let dropped = match self.flat.binding(InstanceId::new(at)) {
            Some(Binding::Unrecorded | Binding::SameStream(_) | Binding::Refused(_)) => true,
            Some(Binding::Record(_) | Binding::Flag | Binding::Recorded) | None => false,
        };
        let inert = instance
            .parent
            .is_some_and(|whole| instance.role == Role::Part && self.runs_as_one(whole.index()));
        instance.op.is_device() && !dropped && !inert
    }

    fn parts(&self, at: usize) -> &'s [GroupTask] {
        match &self.get(at).op.kind {
            OpKind::Group(group) => &group.tasks,
            OpKind::SuperKernel(kernel) => &kernel.parts,
            _ => &[],
        }
    }

    fn runs_as_one(&self, at: usize) -> bool {
        let whole = self.get(at);
        let plain = |part: &GroupTask| {
            let kinds = matches!(
                part.op.kind,
                OpKind::Kernel(_) | OpKind::Copy(_) | OpKind::Prefetch(_)
            );
            kinds && part.op.duration.is_none() && part.op.comm.is_none()
        };
        let kinds = matches!(whole.op.kind, OpKind::Group(_) | OpKind::SuperKernel(_));
        kinds && whole.duration().is_some() && self.parts(at).iter().all(plain)
    }

    fn duration(&self, at: usize) -> u64 {
        self.get(at).duration().map_or(0, |time| ps(&time.ns))
    }

    fn delay(&self, at: usize) -> u64 {
        self.get(at).delay().map_or(0, |delay| ps(&delay.ns))
    }

    fn cost(&self, at: usize) -> u64 {
        let host = &self.options.host;
        self.get(at).issue().map_or_else(
            || match &self.get(at).op.kind {
                OpKind::GraphLaunch(_) => host.graph,
                OpKind::Copy(_) | OpKind::Prefetch(_) => host.copy,
                OpKind::Collective(_) => host.collective,
                OpKind::Kernel(_) | OpKind::Group(_) | OpKind::SuperKernel(_) => host.launch,
                OpKind::TaskUpdate(_) => host.update,
                OpKind::Alloc(_) | OpKind::Free(_) | OpKind::StreamUse(_) => 0,
                OpKind::Host(HostKind::RecordExternal { .. }) => host.signal,
                OpKind::Host(HostKind::Synchronise(_)) => host.synchronise,
                OpKind::Host(_) => 0,
                _ => host.signal,
            },
            |issue| ps(&issue.ns),
        )
    }

    /// Host calls, tasks becoming ready, ends that follow from others: what needs no order.
    fn happens_by_itself(&mut self, at: usize) -> bool {
        if self.get(at).role == Role::Issued {
            if self.called[at].is_none() {
                if !self.may_call(at) {
                    return false;
                }
                self.called[at] = Some(self.now);
                if self.is_task(at) {
                    let issued = self.at(self.now + self.cost(at));
                    self.run.issued[at] = Some(issued);
                    if !self.get(at).blocks_host() {
                        self.returned[at] = Some(issued);
                    }
                } else {
                    let start = self.at(self.now + self.delay(at));
                    self.run.start[at] = Some(start);
                }
                return true;
            }
            if self.returned[at].is_none() {
                if self.is_task(at) {
                    let done = self.before(self.run.issued[at]) && self.ended(at);
                    if done {
                        self.returned[at] = Some(self.now);
                        return true;
                    }
                } else if self.before(self.run.start[at]) && self.targets_done(at) {
                    let end = self.at(self.now + self.cost(at) + self.duration(at));
                    self.returned[at] = Some(end);
                    self.run.issued[at] = Some(end);
                    self.run.end[at] = Some(end);
                    return true;
                }
            }
        }
        if !self.is_task(at) || self.ready_at[at].is_some() || self.passed[at] {
            return self.whole_ends(at);
        }
        self.becomes_ready(at)
    }

    fn may_call(&self, at: usize) -> bool {
        let this = self.get(at);
        let issued = |other: &usize| self.get(*other).role == Role::Issued;
        let earlier = (0..at).filter(issued);
        let mut same_rank = earlier.filter(|other| self.get(*other).rank == this.rank);
        let in_turn = same_rank.all(|other| {
            let that = self.get(other);
            if that.thread == this.thread {
                return self.before(self.returned[other]);
            }
            let made = match &that.op.kind {
                OpKind::Host(HostKind::Synchronise(_)) => self.run.start[other],
                _ => self.run.issued[other],
            };
            !self.share_object(at, other) || self.before(made)
        });
        in_turn && self.queue_has_room(at)
    }

    fn share_object(&self, one: usize, other: usize) -> bool {
        let (a, b) = (self.get(one), self.get(other));
        let streams = |x: &Instance<'_>| -> Vec<StreamId> {
            let target = match x.target {
                Target::Stream(stream) => Some(stream),
                _ => None,
            };
            x.stream.into_iter().chain(target).collect()
        };
        let device = |x: &Instance<'_>| x.target == Target::Device;
        let objects = |x: &Instance<'_>| matches!(x.target, Target::Event(_) | Target::Graph(_));
        let comms = |at: usize| -> BTreeSet<&str> {
            let id = InstanceId::new(at);
            std::iter::once(id)
                .chain(self.flat.inside(id))
                .filter_map(|id| self.flat[id].op.comm.as_ref())
                .map(|comm| comm.communicator.as_str())
                .collect()
        };
        streams(a).iter().any(|stream| streams(b).contains(stream))
            || device(a) && (device(b) || !streams(b).is_empty())
            || device(b) && !streams(a).is_empty()
            || objects(a) && a.target == b.target
            || !comms(one).is_disjoint(&comms(other))
    }

    fn queue_has_room(&self, at: usize) -> bool {
        if !self.is_task(at) {
            return true;
        }
        let limits = &self.options.limits;
        let entries = |at: usize| match self.get(at).op.kind {
            OpKind::ValueWait(_) => limits.value_wait_entries,
            _ => 1,
        };
        let queued = (0..at).filter(|other| {
            self.get(*other).stream == self.get(at).stream
                && self.get(*other).role == Role::Issued
                && self.is_task(*other)
                && !self.ended(*other)
        });
        let taken: u32 = queued.map(entries).sum();
        taken == 0 || taken + entries(at) <= limits.queue_tasks
    }

    fn targets_done(&self, at: usize) -> bool {
        let this = self.get(at);
        let tasks = (0..at).filter(|other| {
            let that = self.get(*other);
            that.rank == this.rank && that.role == Role::Issued && self.is_task(*other)
        });
        let done = |at: usize| self.before(self.run.end[at]);
        match (&this.op.kind, this.target) {
            (OpKind::Host(HostKind::Synchronise(_)), Target::Stream(stream)) => tasks
                .filter(|other| self.get(*other).stream == Some(stream))
                .all(done),
            (OpKind::Host(HostKind::Synchronise(_)), Target::Device) => {
                let mut tasks = tasks;
                tasks.all(done)
            }
            (OpKind::Host(HostKind::Synchronise(_)), _) => {
                match self.flat.binding(InstanceId::new(at)) {
                    Some(Binding::Record(record)) => done(record.index()),
                    _ => true,
                }
            }
            _ => true,
        }
    }

    /// Tasks that must have ended, in its stream or its lane of a super kernel.
    fn stream_before(&self, at: usize) -> Vec<usize> {
        let this = self.get(at);
        let is_super = |at: usize| matches!(self.get(at).op.kind, OpKind::SuperKernel(_));
        let mut before: Vec<usize> = (0..at).filter(|other| self.is_task(*other)).collect();
        before.retain(|other| {
            let that = self.get(*other);
            match (this.role, this.parent) {
                (Role::Part, Some(whole)) => {
                    let fused = match &self.get(whole.index()).op.kind {
                        OpKind::SuperKernel(kernel) => kernel.stream_fusion,
                        _ => false,
                    };
                    that.parent == this.parent
                        && is_super(whole.index())
                        && (!fused || that.op.stream == this.op.stream)
                }
                _ => that.role != Role::Part && that.stream == this.stream,
            }
        });
        before
    }

    /// Other tasks that must have ended.
    fn needs(&self, at: usize) -> Vec<usize> {
        let this = self.get(at);
        if let (OpKind::GraphLaunch(_), target) = (&this.op.kind, this.target) {
            let launch = |other: &usize| {
                let that = self.get(*other);
                matches!(that.op.kind, OpKind::GraphLaunch(_)) && that.target == target
            };
            return (0..at).filter(launch).collect();
        }
        if let (Role::Part, Some(whole)) = (this.role, this.parent) {
            let parts = self.parts(whole.index());
            let first = whole.index() + 1;
            let place = |id: &str| parts.iter().position(|part| part.op.id.as_str() == id);
            let after = parts[at - first].after.iter();
            return after
                .filter_map(|id| place(id.as_str()))
                .map(|place| first + place)
                .collect();
        }
        Vec::new()
    }

    fn becomes_ready(&mut self, at: usize) -> bool {
        let this = *self.get(at);
        let begun = |whole: InstanceId| self.begun[whole.index()];
        if !this.parent.is_none_or(begun) {
            return false;
        }
        let hosted = this.role == Role::Issued;
        let issued = self.run.issued[at];
        if hosted && !self.before(issued) {
            return false;
        }
        let issued = issued.unwrap_or(0);
        let before = self.stream_before(at);
        if !before.iter().all(|other| self.ended(*other)) {
            return false;
        }
        let started = this.parent.and_then(|whole| self.run.start[whole.index()]);
        let mut base = started.unwrap_or(0);
        if hosted {
            base = base.max(issued + self.options.latencies.launch);
        }
        for other in self.needs(at) {
            match self.run.end[other] {
                Some(end) => base = base.max(end),
                None => return false,
            }
        }
        let queued = before.iter().rev().find(|other| !self.passed[**other]);
        let pass = queued.and_then(|other| self.run.end[*other]).unwrap_or(0);
        if let Some(other) = queued {
            let end = self.run.end[*other].unwrap_or(0);
            let gap = self.options.gaps.get(self.kind(*other), self.kind(at));
            base = base.max(end + gap);
        }
        let wait = match (&this.op.kind, self.flat.binding(InstanceId::new(at))) {
            (OpKind::Wait(_), Some(Binding::Record(record))) => Some(record.index()),
            _ => None,
        };
        if let Some(record) = wait {
            let Some(end) = self.run.end[record] else {
                return false;
            };
            if hosted && end <= issued {
                self.passed[at] = true;
                self.run.start[at] = Some(pass.max(issued));
                self.run.end[at] = Some(pass.max(issued));
            } else {
                let start = base + self.delay(at);
                let end = start.max(end + self.options.latencies.event);
                self.run.start[at] = Some(start);
                self.begun[at] = true;
                self.ready_at[at] = Some(start);
                self.end_at[at] = Some(self.at(end));
            }
            return true;
        }
        self.ready_at[at] = Some(self.at(base + self.delay(at)));
        true
    }

    /// A group, super kernel or graph ends when all inside it has.
    fn whole_ends(&mut self, at: usize) -> bool {
        let whole = matches!(
            self.get(at).op.kind,
            OpKind::GraphLaunch(_) | OpKind::Group(_) | OpKind::SuperKernel(_)
        );
        if !whole || self.runs_as_one(at) || !self.begun[at] || self.end_at[at].is_some() {
            return false;
        }
        let mut inside = self.flat.inside(InstanceId::new(at)).map(InstanceId::index);
        if inside.any(|other| self.is_task(other) && !self.ended(other)) {
            return false;
        }
        self.end_at[at] = Some(self.now);
        true
    }

    fn begins_or_ends(&mut self, at: usize) -> bool {
        if self.before(self.ready_at[at]) && !self.begun[at] && !self.pending.contains(&at) {
            if self.wanted(at).0 > 0 {
                self.pending.insert(at);
            } else {
                self.begin(at);
            }
            return true;
        }
        if self.before(self.end_at[at]) && !self.ended(at) {
            self.end(at);
            return true;
        }
        let in_blocks = self.begun[at] && self.end_at[at].is_none() && !self.ended(at);
        if in_blocks
            && self
                .blocks
                .iter()
                .any(|block| block.0 == at && block.2.is_some())
        {
            let done = self.blocks_done(at);
            if done {
                self.end_at[at] = Some(self.now);
                self.end(at);
            }
            return done;
        }
        false
    }

    fn begin(&mut self, at: usize) {
        self.begun[at] = true;
        self.run.start[at] = Some(self.now);
        let this = *self.get(at);
        if let Some(collective) = this.collective {
            let collective = self.flat.collective(collective);
            let members: Vec<usize> = collective.members().iter().map(|m| m.index()).collect();
            let all = members.iter().all(|member| self.begun[*member]);
            if all && collective.completes() {
                let transfer = members.iter().map(|member| self.duration(*member)).max();
                let end = self.at(self.now + transfer.unwrap_or(0));
                for member in members {
                    self.end_at[member] = Some(end);
                }
            }
            return;
        }
        match &this.op.kind {
            OpKind::NotifyWait(_) | OpKind::ValueWait(_) if self.only_external(&this) => {
                let end = self.at(self.now + self.duration(at));
                self.end_at[at] = Some(end);
            }
            OpKind::Wait(_) | OpKind::NotifyWait(_) => {
                match self.flags.get(&this.target).copied() {
                    Some(since) => {
                        if matches!(this.op.kind, OpKind::NotifyWait(_)) {
                            self.flags.remove(&this.target);
                        }
                        self.released(at, since);
                    }
                    None => {
                        self.waiting.insert(at);
                    }
                }
            }
            OpKind::ValueWait(wait) => {
                let word = self.words.get(&this.target).copied();
                let (value, since) = word.unwrap_or((0, 0));
                if !wait.compare.holds(value, wait.value) {
                    self.waiting.insert(at);
                } else if word.is_none() {
                    self.end_at[at] = Some(self.now);
                } else {
                    self.released(at, since);
                }
            }
            OpKind::Host(HostKind::Function {
                calls_acl: true, ..
            }) => {}
            OpKind::GraphLaunch(_) => {}
            OpKind::Group(_) | OpKind::SuperKernel(_) if !self.runs_as_one(at) => {}
            // They end with their blocks.
            OpKind::Kernel(_) | OpKind::Group(_) | OpKind::SuperKernel(_)
                if self.options.engines == EngineModel::Shared && self.wanted(at).0 > 0 => {}
            _ => {
                let end = self.at(self.now + self.duration(at));
                self.end_at[at] = Some(end);
            }
        }
    }

    /// Whether only a rank that runs no program can give what a wait needs.
    fn only_external(&self, wait: &Instance<'_>) -> bool {
        let gives = |other: &Instance<'_>| {
            let kinds = matches!(
                other.op.kind,
                OpKind::NotifyRecord(_) | OpKind::ValueWrite(_)
            );
            kinds && other.target == wait.target
        };
        let external = self
            .flat
            .schedule()
            .ranks
            .iter()
            .any(|g| g.program.is_none());
        external && !self.flat.instances().iter().any(gives)
    }

    fn released(&mut self, at: usize, since: u64) {
        let latencies = &self.options.latencies;
        let lag = match self.get(at).op.kind {
            OpKind::Wait(_) => latencies.event,
            OpKind::NotifyWait(_) => latencies.notify,
            _ => latencies.value,
        };
        let end = self.at(self.now.max(since + lag));
        self.end_at[at] = Some(end);
    }

    fn end(&mut self, at: usize) {
        self.run.end[at] = Some(self.now);
        self.blocks.retain(|(holder, _, _)| *holder != at);
        let this = *self.get(at);
        let waiting: Vec<usize> = self.waiting.iter().copied().collect();
        let waiting = waiting
            .into_iter()
            .filter(|other| self.get(*other).target == this.target);
        let waiting: Vec<usize> = waiting.collect();
        match &this.op.kind {
            OpKind::Record(_) | OpKind::Host(HostKind::RecordExternal { .. })
                if self.flat.binding(InstanceId::new(at)) == Some(Binding::Flag) =>
            {
                self.flags.insert(this.target, self.now);
                for other in waiting {
                    self.waiting.remove(&other);
                    self.released(other, self.now);
                }
            }
            OpKind::NotifyRecord(_) => match waiting.first() {
                Some(other) => {
                    self.waiting.remove(other);
                    self.released(*other, self.now);
                }
                None => {
                    self.flags.insert(this.target, self.now);
                }
            },
            OpKind::EventReset(_) => {
                self.flags.remove(&this.target);
            }
            OpKind::ValueWrite(write) => {
                self.words.insert(this.target, (write.value, self.now));
                for other in waiting {
                    if let OpKind::ValueWait(wait) = &self.get(other).op.kind
                        && wait.compare.holds(write.value, wait.value)
                    {
                        self.waiting.remove(&other);
                        self.released(other, self.now);
                    }
                }
            }
            _ => {}
        }
    }

    fn kind(&self, at: usize) -> TaskKind {
        let this = self.get(at);
        let inside = this.parent.map(|whole| &self.flat[whole].op.kind);
        if matches!(inside, Some(OpKind::SuperKernel(_))) {
            return TaskKind::Part;
        }
        let cores = this.op.cores.unwrap_or_default();
        match &this.op.kind {
            OpKind::Kernel(_) => match (cores.aic > 0, cores.aiv > 0) {
                (true, true) => TaskKind::Mix,
                (true, false) => TaskKind::Aic,
                (false, true) => TaskKind::Aiv,
                (false, false) => TaskKind::AiCpu,
            },
            OpKind::Copy(_) => TaskKind::Copy,
            OpKind::Prefetch(_) => TaskKind::Prefetch,
            OpKind::Collective(_) => TaskKind::Collective,
            OpKind::Wait(_) => TaskKind::Wait,
            OpKind::NotifyRecord(_) | OpKind::ValueWrite(_) => TaskKind::Notify,
            OpKind::NotifyWait(_) | OpKind::ValueWait(_) => TaskKind::NotifyWait,
            OpKind::SuperKernel(_) => TaskKind::SuperKernel,
            OpKind::Group(_) => TaskKind::Group,
            OpKind::GraphLaunch(_) => TaskKind::Graph,
            OpKind::TaskUpdate(_) => TaskKind::Update,
            OpKind::Host(HostKind::Function { .. }) => TaskKind::HostFunction,
            _ => TaskKind::Record,
        }
    }
}
