//! The flat simulation program: dense ids, one array per property.
//!
//! An *instance* is one op of one rank in one iteration or replay: a host call, a device task, or a
//! host call with the task it issues. Instances are numbered by rank and then by issue order, parts
//! of a group or graph directly after it, so that the number alone breaks ties.

use ascsim_schedules::{Compare, DelayCause, Expr};

use crate::blame::Category;
use crate::costs::TaskKind;
use crate::engine::Touch;
use crate::load::{Load, Rates};
use crate::times::{TimeField, Times};

/// No thread, stream, agent or instance.
pub(crate) const NONE: u32 = u32::MAX;
/// A time that is not known yet.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// A moment in the life of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Point {
    /// Its host call has issued it.
    Issued,
    /// Its device task has started.
    Start,
    /// Its device task (or host op) has ended.
    End,
}

/// Why one thing cannot happen before another, or what a stretch of the critical path was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The task before it on its stream.
    Stream,
    /// The host call that issues it.
    Issue,
    /// The host call before it on its thread.
    Thread,
    /// A call of another thread listed before it that touches the same object.
    ListOrder,
    /// The stream's queue was full.
    QueueRoom,
    /// The host waits for device work.
    Synchronise,
    /// The host waits for its own blocking copy.
    BlockingCopy,
    /// An event.
    Event,
    /// A notify.
    Notify,
    /// A value in memory.
    Value,
    /// The other members of its collective.
    Collective,
    /// The start of the group, super kernel or graph that it is part of.
    Container,
    /// Another part of its group or super kernel, or the parts that a whole consists of.
    Part,
    /// An earlier launch of the same graph.
    Replay,
    /// Cores that others held.
    Cores,
    /// The delay that the schedule states.
    Delay,
    /// The task or call itself.
    Running,
}

impl Assumption {
    /// How many instances it concerns.
    pub fn count(self) -> usize {
        match self {
            Self::ExternalMembers(count)
            | Self::ExternalSignals(count)
            | Self::NoCores(count)
            | Self::DroppedWaits(count)
            | Self::RefusedCalls(count)
            | Self::Modelled(count)
            | Self::Stated(count) => count,
        }
    }
}

/// Something that must have happened before an instance can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Need {
    pub(crate) on: u32,
    pub(crate) point: Point,
    pub(crate) why: Reason,
}

/// What makes a device task end. The number is an index into a table of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It has no device task.
    Host,
    /// Its duration.
    Task,
    /// The record it is bound to; nothing is queued if that has ended before the wait is issued.
    Wait,
    /// Its parts.
    Container,
    /// The last member's start and the transfer.
    Collective(u32),
    /// Its duration; then it sets a flag.
    SetFlag(u32),
    /// A set flag.
    WaitFlag(u32),
    /// Its duration; then it clears a flag.
    ClearFlag(u32),
    /// Its duration; then it sets a notify.
    SetNotify(u32),
    /// A set notify, which it clears.
    WaitNotify(u32),
    /// Its duration; then it writes a word.
    Write(u32),
    /// A word that meets its condition.
    WaitWord(u32),
    /// Nothing: it hangs.
    Never,
}

impl Role {
    /// Whether its outcome depends on the order of events in time.
    pub(crate) fn is_dynamic(self) -> bool {
        use Role::{
            ClearFlag, Collective, Container, Host, Never, SetFlag, SetNotify, Task, Wait,
            WaitFlag, WaitNotify, WaitWord, Write,
        };
        match self {
            SetFlag(_) | WaitFlag(_) | ClearFlag(_) | SetNotify(_) | WaitNotify(_) | Write(_)
            | WaitWord(_) => true,
            Host | Task | Wait | Container | Collective(_) | Never => false,
        }
    }
}

/// A write of, or a wait for, a word of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordOp {
    pub(crate) word: u32,
    pub(crate) value: u64,
    /// For waits.
    pub(crate) compare: Compare,
}

/// One collective of one group: the instances that take part.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) members: Vec<u32>,
    /// Ranks whose program is known but never issues it.
    pub(crate) missing: Vec<u32>,
    /// Whether its members issue different collectives, so that it never ends.
    pub(crate) mismatch: bool,
}

impl Transfer {
    /// Whether it can end.
    pub(crate) fn completes(&self) -> bool {
        self.missing.is_empty() && !self.mismatch
    }
}

/// Lists of items per owner, one behind the other.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self {
            starts: Vec::new(),
            items: Vec::new(),
        }
    }
}

impl<T: Copy> Lists<T> {
    /// Sorts `pairs` of owner and item by owner; items of one owner keep their order.
    /// O(owners + pairs).
    fn new(owners: usize, pairs: &[(u32, T)]) -> Self {
        let mut starts = vec![0_u32; owners + 1];
        for (owner, _) in pairs {
            starts[*owner as usize + 1] += 1;
        }
        for at in 0..owners {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut order = vec![0_u32; pairs.len()];
        for (at, (owner, _)) in pairs.iter().enumerate() {
            let slot = &mut next[*owner as usize];
            order[*slot as usize] = at as u32;
            *slot += 1;
        }
        let items = order.iter().map(|at| pairs[*at as usize].1).collect();
        Self { starts, items }
    }

    /// The items of `owner`.
    #[inline]
    pub(crate) fn of(&self, owner: u32) -> &[T] {
        let at = owner as usize;
        &self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    pub(crate) fn owners(&self) -> u32 {
        self.starts.len().saturating_sub(1) as u32
    }
}

/// A schedule made ready to be simulated many times. Its instances are those of a
/// [`Flat`](ascsim_schedules::flat::Flat) schedule, in its order.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    pub(crate) role: Vec<Role>,
    pub(crate) kind: Vec<TaskKind>,
    pub(crate) category: Vec<Category>,
    pub(crate) cause: Vec<DelayCause>,
    /// What each task takes of its die.
    pub(crate) loads: Vec<Load>,
    /// Which bytes of its die each task touches, for L2.
    pub(crate) touches: Lists<Touch>,
    /// The most that any task draws of each resource, in bytes per ps.
    pub(crate) heaviest: Rates,
    /// Whether the issuing call returns only when the task has ended.
    pub(crate) blocking: Vec<bool>,
    /// Index into `ranks`.
    pub(crate) die: Vec<u32>,
    pub(crate) thread: Vec<u32>,
    pub(crate) stream: Vec<u32>,
    /// Calls of each thread, in order.
    pub(crate) threads: Lists<u32>,
    /// Tasks of each stream, in order.
    pub(crate) streams: Lists<u32>,
    pub(crate) host_needs: Lists<Need>,
    pub(crate) start_needs: Lists<Need>,
    pub(crate) end_needs: Lists<Need>,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) words: Vec<WordOp>,
    pub(crate) flags: u32,
    pub(crate) notifies: u32,
    pub(crate) word_count: u32,
    /// The ranks that run a program, ascending.
    pub(crate) ranks: Vec<u32>,
    pub(crate) dynamic: bool,
    pub(crate) times: Times,
    pub(crate) varying: Vec<Varying>,
    pub(crate) assumptions: Vec<Assumption>,
}

/// A time that depends on random variables.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Varying {
    pub(crate) instance: u32,
    pub(crate) field: TimeField,
    /// In ns.
    pub(crate) expr: Expr,
}

/// Something that had to be assumed to simulate a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Assumption {
    /// Members on external ranks never delay their collectives.
    #[error("in {0} collectives, members on external ranks are taken to never delay the others")]
    ExternalMembers(usize),
    /// Waits that only an external rank can release do not wait.
    #[error("{0} waits for notifies or values that only external ranks send are taken to be met")]
    ExternalSignals(usize),
    /// Kernels without `cores` take none.
    #[error("{0} kernels do not say which cores they take, and are taken to share none")]
    NoCores(usize),
    /// Waits that do nothing because no record precedes them.
    #[error("{0} event waits are dropped, because nothing was recorded before them")]
    DroppedWaits(usize),
    /// Calls that ACL refuses are left out.
    #[error("{0} calls that ACL refuses are left out; `check` says which")]
    RefusedCalls(usize),
    /// Ops without a duration that the hardware model gives one.
    #[error("{0} ops state no duration and take what the hardware model says")]
    Modelled(usize),
    /// Ops that state a duration, which is taken to be that of the op alone on its die.
    #[error(
        "{0} ops keep the durations they state, as those of the op alone on its die; only what slows \
         them comes from the hardware model"
    )]
    Stated(usize),
}

impl Compiled {
    /// Number of instances.
    pub fn len(&self) -> usize {
        self.role.len()
    }

    /// Whether there is nothing to simulate.
    pub fn is_empty(&self) -> bool {
        self.role.is_empty()
    }

    /// The nominal times.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// What had to be assumed.
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }

    /// The rank of an instance.
    pub fn rank(&self, instance: u32) -> u32 {
        self.ranks[self.die[instance as usize] as usize]
    }

    /// Number of streams; those of captured graphs, and each part of a group, count too.
    pub fn stream_count(&self) -> u32 {
        self.streams.owners()
    }

    /// Whether an instance has a device task.
    pub fn has_task(&self, instance: u32) -> bool {
        self.stream[instance as usize] != NONE
    }
}

/// One instance, as [`Builder::push`] takes it.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) die: u32,
    pub(crate) thread: u32,
    pub(crate) stream: u32,
    pub(crate) role: Role,
    pub(crate) kind: TaskKind,
    pub(crate) category: Category,
    pub(crate) load: Load,
    pub(crate) blocking: bool,
    pub(crate) duration: u64,
    pub(crate) issue: u64,
    pub(crate) delay: u64,
    pub(crate) cause: DelayCause,
}

/// How many objects of each kind a program has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) threads: u32,
    pub(crate) streams: u32,
    pub(crate) flags: u32,
    pub(crate) notifies: u32,
    pub(crate) words: u32,
}

/// Collects instances, then sorts everything into place.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    compiled: Compiled,
    threads: Vec<(u32, u32)>,
    streams: Vec<(u32, u32)>,
    host_needs: Vec<(u32, Need)>,
    start_needs: Vec<(u32, Need)>,
    end_needs: Vec<(u32, Need)>,
    touches: Vec<(u32, Touch)>,
    thread_count: u32,
    stream_count: u32,
}

impl Builder {
    /// A builder for a program with these ranks, and so many threads, streams, flags, notifies and
    /// words.
    pub(crate) fn new(ranks: Vec<u32>, counts: Counts) -> Self {
        let compiled = Compiled {
            ranks,
            flags: counts.flags,
            notifies: counts.notifies,
            word_count: counts.words,
            ..Compiled::default()
        };
        Self {
            compiled,
            thread_count: counts.threads,
            stream_count: counts.streams,
            ..Self::default()
        }
    }

    pub(crate) fn add_stream(&mut self) -> u32 {
        self.stream_count += 1;
        self.stream_count - 1
    }

    pub(crate) fn add_word_op(&mut self, op: WordOp) -> u32 {
        self.compiled.words.push(op);
        self.compiled.words.len() as u32 - 1
    }

    pub(crate) fn add_transfer(&mut self, transfer: Transfer) {
        self.compiled.transfers.push(transfer);
    }

    pub(crate) fn vary(&mut self, varying: Varying) {
        self.compiled.varying.push(varying);
    }

    pub(crate) fn assume(&mut self, assumption: Assumption) {
        self.compiled.assumptions.push(assumption);
    }

    /// The number of the next instance.
    pub(crate) fn next(&self) -> u32 {
        self.compiled.role.len() as u32
    }

    /// Adds the next instance and returns its number.
    pub(crate) fn push(&mut self, spec: Spec) -> u32 {
        let c = &mut self.compiled;
        let id = c.role.len() as u32;
        c.role.push(spec.role);
        c.kind.push(spec.kind);
        c.category.push(spec.category);
        c.cause.push(spec.cause);
        for (most, rate) in c.heaviest.iter_mut().zip(&spec.load.rates) {
            *most = most.max(rate * f64::from(spec.load.units.max(1)));
        }
        c.loads.push(spec.load);
        c.blocking.push(spec.blocking);
        c.die.push(spec.die);
        c.thread.push(spec.thread);
        c.stream.push(spec.stream);
        c.times.push(spec.duration, spec.issue, spec.delay);
        c.dynamic |= spec.role.is_dynamic();
        if spec.thread != NONE {
            self.threads.push((spec.thread, id));
        }
        if spec.stream != NONE {
            self.streams.push((spec.stream, id));
        }
        id
    }

    /// The call of `id` cannot be made before `need`.
    pub(crate) fn host_need(&mut self, id: u32, need: Need) {
        self.host_needs.push((id, need));
    }

    /// The task of `id` cannot start before `need`.
    pub(crate) fn start_need(&mut self, id: u32, need: Need) {
        self.start_needs.push((id, need));
    }

    /// The task of `id` cannot end before `need`.
    pub(crate) fn end_need(&mut self, id: u32, need: Need) {
        self.end_needs.push((id, need));
    }

    /// The task of `id` touches bytes of its die.
    pub(crate) fn touch(&mut self, id: u32, touch: Touch) {
        self.touches.push((id, touch));
    }

    /// The program. O(instances + needs).
    pub(crate) fn finish(mut self) -> Compiled {
        let c = &mut self.compiled;
        let count = c.role.len();
        c.threads = Lists::new(self.thread_count as usize, &self.threads);
        c.streams = Lists::new(self.stream_count as usize, &self.streams);
        c.host_needs = Lists::new(count, &self.host_needs);
        c.start_needs = Lists::new(count, &self.start_needs);
        c.end_needs = Lists::new(count, &self.end_needs);
        c.touches = Lists::new(count, &self.touches);
        self.compiled
    }
}
