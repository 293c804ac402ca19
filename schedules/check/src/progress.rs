//! What happens in every run.
//!
//! Let `S` be the least set of points such that a point is in `S` when all that it directly requires
//! is, and, where it is a wait for a signal, when besides the signal cannot fail:
//!
//! * some op that gives it is done in every run (or it is there from the start), and
//! * after each op that can take it away again and is not certain to come after the wait, some op
//!   that is done in every run gives it anew.
//!
//! Then every point of `S` happens in every run. Suppose a run ends without the wait being met: all
//! that `S` holds so far has happened, so the last op on the signal took it away (or none touched
//! it); but one that gives it is certain to come after that. What is not in `S` may never happen.
//!
//! A call into a queue requires room even if every wait before it takes an entry that may take one. A
//! wait that finds no room is dropped when its record is done meanwhile.
//!
//! This is where the checker differs from the explorer: it propagates over the graph of requirements
//! once, and never looks at a state.

use std::collections::{HashMap, VecDeque};

use ascsim_schedules::flat::{
    Binding, CollectiveId, EventId, InstanceId, NotifyId, Target, WordId,
};
use ascsim_schedules::order::{Phase, Point, Source, Why};
use ascsim_schedules::{Compare, OpKind};

use crate::context::Context;
use crate::deadlock::queue::{Room, Rooms};

/// A point, or the start of all members of a collective, or nothing that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Node {
    Point(Point),
    AllStarted(CollectiveId),
}

/// Why a wait is not certain to get its signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nothing gives it.
    Nobody,
    /// This op can take it away, and nothing gives it after that.
    Cleared(InstanceId),
}

/// What blocks a point that is not certain to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// These, which are not certain to happen either.
    By(Vec<(Node, Why)>),
    /// Its signal can fail.
    Signal(Failure),
    /// Its collective cannot complete.
    Never,
}

/// Which points happen in every run.
#[derive(Debug)]
pub(crate) struct Progress<'p, 'c, 's> {
    context: &'p Context<'c, 's>,
    signals: Vec<Signal>,
    of_wait: HashMap<InstanceId, usize>,
    /// Per call that may find its queue full: what makes room.
    queues: Rooms,
    sure: Vec<bool>,
}

/// Ops on one signal, by the chain they are on.
#[derive(Debug, Default)]
struct ByChain(Vec<(usize, Vec<InstanceId>)>);

impl ByChain {
    fn push(&mut self, chain: usize, id: InstanceId) {
        match self.0.iter_mut().find(|(of, _)| *of == chain) {
            Some((_, list)) => list.push(id),
            None => self.0.push((chain, vec![id])),
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[derive(Debug, Default)]
struct Signal {
    setters: ByChain,
    clearers: ByChain,
    initially: bool,
    /// Only a rank whose program is unknown can give it.
    external: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Notify(NotifyId),
    Event(EventId),
    Word(WordId, u64, Compare),
}

impl<'p, 'c, 's> Progress<'p, 'c, 's> {
    /// Derives it.
    ///
    /// # Complexity
    /// O(requirements + waits for signals x chains that touch the signal x log of their length).
    pub(crate) fn new(context: &'p Context<'c, 's>) -> Self {
        let mut progress = Self {
            context,
            signals: Vec::new(),
            of_wait: HashMap::new(),
            queues: crate::deadlock::queue::full(context),
            sure: Vec::new(),
        };
        progress.find_signals();
        progress.propagate();
        progress
    }

    /// Whether a point happens in every run.
    pub(crate) fn is_sure(&self, node: Node) -> bool {
        self.sure[self.index(node)]
    }

    /// What blocks a node that is not certain to happen.
    pub(crate) fn blocked(&self, node: Node) -> Blocked {
        let mut never = false;
        let mut by = Vec::new();
        self.requirements(node, |source, why| match source {
            Some(source) if self.is_sure(source) => {}
            Some(source) => by.push((source, why)),
            None => never = true,
        });
        if never {
            return Blocked::Never;
        }
        if !by.is_empty() {
            return Blocked::By(by);
        }
        let Node::Point(point) = node else {
            return Blocked::Never;
        };
        match self.missing(point) {
            Err((failure, candidates)) if candidates.is_empty() => Blocked::Signal(failure),
            Err((_, candidates)) => {
                let why = match point.phase {
                    Phase::Issue => Why::Queue,
                    _ => Why::Signal,
                };
                let done = |id| (Node::Point(Point::done(id)), why);
                Blocked::By(candidates.into_iter().map(done).collect())
            }
            // It is sure, against what the caller says.
            Ok(()) => Blocked::By(Vec::new()),
        }
    }

    fn instances(&self) -> usize {
        self.context.flat.instances().len()
    }

    fn index(&self, node: Node) -> usize {
        match node {
            Node::Point(point) => point.instance.index() * 3 + point.phase as usize,
            Node::AllStarted(id) => self.instances() * 3 + id.index(),
        }
    }

    fn node(&self, index: usize) -> Node {
        let at = index / 3;
        if at >= self.instances() {
            return Node::AllStarted(CollectiveId::new(index - self.instances() * 3));
        }
        let id = InstanceId::new(at);
        Node::Point(match index % 3 {
            0 => Point::issue(id),
            1 => Point::start(id),
            _ => Point::done(id),
        })
    }

    /// All nodes, in order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node> {
        (0..self.sure.len()).map(|index| self.node(index))
    }

    /// What a node requires; none stands for what never happens.
    fn requirements(&self, node: Node, mut each: impl FnMut(Option<Node>, Why)) {
        match node {
            Node::AllStarted(id) => {
                for &member in self.context.flat.collective(id).members() {
                    each(Some(Node::Point(Point::start(member))), Why::Collective);
                }
            }
            Node::Point(point) => {
                for requirement in self.context.order.requirements().of(point) {
                    let source = match requirement.source {
                        Source::Point(point) => Some(Node::Point(point)),
                        Source::AllStarted(id) => Some(Node::AllStarted(id)),
                        Source::Never => None,
                    };
                    each(source, requirement.why);
                }
                if point == Point::issue(point.instance)
                    && let Some(Room { task, unless: None }) = self.queues.get(point.instance)
                {
                    each(Some(Node::Point(Point::done(task))), Why::Queue);
                }
            }
        }
    }

    fn find_signals(&mut self) {
        let flat = self.context.flat;
        let mut numbers: HashMap<Key, usize> = HashMap::new();
        let mut conditions: HashMap<WordId, Vec<(usize, u64, Compare)>> = HashMap::new();
        for id in flat.ids() {
            let instance = &flat[id];
            let key = match (&instance.op.kind, instance.target) {
                (OpKind::NotifyWait(_), Target::Notify(notify)) => Key::Notify(notify),
                (OpKind::ValueWait(wait), Target::Word(word)) => {
                    Key::Word(word, wait.value, wait.compare)
                }
                (OpKind::Wait(_), Target::Event(event))
                    if flat.binding(id) == Some(Binding::Flag) =>
                {
                    Key::Event(event)
                }
                _ => continue,
            };
            let number = *numbers.entry(key).or_insert_with(|| {
                let mut signal = Signal::default();
                if let Key::Word(word, value, compare) = key {
                    signal.initially = compare.holds(0, value);
                    let of_word = conditions.entry(word).or_default();
                    of_word.push((self.signals.len(), value, compare));
                }
                self.signals.push(signal);
                self.signals.len() - 1
            });
            self.of_wait.insert(id, number);
            if let Key::Notify(_) = key {
                self.signals[number]
                    .clearers
                    .push(self.context.chain(id), id);
            }
        }
        if numbers.is_empty() {
            return;
        }
        for id in flat.ids() {
            let instance = &flat[id];
            let chain = self.context.chain(id);
            match (&instance.op.kind, instance.target) {
                (OpKind::NotifyRecord(_), Target::Notify(notify)) => {
                    if let Some(&number) = numbers.get(&Key::Notify(notify)) {
                        self.signals[number].setters.push(chain, id);
                    }
                }
                (OpKind::ValueWrite(write), Target::Word(word)) => {
                    for &(number, value, compare) in conditions.get(&word).into_iter().flatten() {
                        let signal = &mut self.signals[number];
                        match compare.holds(write.value, value) {
                            true => signal.setters.push(chain, id),
                            false => signal.clearers.push(chain, id),
                        }
                    }
                }
                (kind, Target::Event(event)) if flat.binding(id) == Some(Binding::Flag) => {
                    if let Some(&number) = numbers.get(&Key::Event(event)) {
                        match kind {
                            OpKind::EventReset(_) => self.signals[number].clearers.push(chain, id),
                            _ if instance.is_record() => {
                                self.signals[number].setters.push(chain, id);
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        let groups = &self.context.schedule.ranks;
        if groups.iter().any(|group| group.program.is_none()) {
            for (key, number) in numbers {
                let signal = &mut self.signals[number];
                signal.external = signal.setters.is_empty()
                    && (signal.clearers.is_empty() || matches!(key, Key::Notify(_)))
                    && !matches!(key, Key::Event(_));
            }
        }
    }

    /// Whether what a point needs besides its requirements cannot fail, as far as it is known what is
    /// sure. If it can: why, and the ops of which one would mend that if it were sure.
    fn missing(&self, point: Point) -> Result<(), (Failure, Vec<InstanceId>)> {
        match point.phase {
            Phase::Issue => self.room(point.instance),
            Phase::Start => self.signal(point.instance),
            Phase::Done => Ok(()),
        }
    }

    fn room(&self, call: InstanceId) -> Result<(), (Failure, Vec<InstanceId>)> {
        let Some(Room {
            task,
            unless: Some(record),
        }) = self.queues.get(call)
        else {
            return Ok(());
        };
        let is_sure = |id: InstanceId| self.is_sure(Node::Point(Point::done(id)));
        match is_sure(task) || is_sure(record) {
            true => Ok(()),
            false => Err((Failure::Nobody, vec![task, record])),
        }
    }

    fn signal(&self, wait: InstanceId) -> Result<(), (Failure, Vec<InstanceId>)> {
        let Some(signal) = self.of_wait.get(&wait).map(|&at| &self.signals[at]) else {
            return Ok(());
        };
        if signal.external {
            return Ok(());
        }
        let is_sure = |id: &InstanceId| self.is_sure(Node::Point(Point::done(*id)));
        let context = self.context;
        let mut cleared = false;
        for (_, list) in &signal.clearers.0 {
            // On a chain, those that come after the wait come last, and so do those that never run.
            let not_after =
                |&id: &InstanceId| id != wait && context.runs(id) && !context.before(wait, id);
            let Some(&clearer) = list[..list.partition_point(not_after)].last() else {
                continue;
            };
            cleared = true;
            let anew = signal.setters.0.iter().filter_map(|(_, list)| {
                list.get(list.partition_point(|&id| !context.before(clearer, id)))
            });
            let anew: Vec<InstanceId> = anew.copied().collect();
            if !anew.iter().any(is_sure) {
                return Err((Failure::Cleared(clearer), anew));
            }
        }
        let first = || signal.setters.0.iter().filter_map(|(_, list)| list.first());
        if cleared || signal.initially || first().any(is_sure) {
            return Ok(());
        }
        Err((Failure::Nobody, first().copied().collect()))
    }

    fn propagate(&mut self) {
        let nodes = self.instances() * 3 + self.context.flat.collectives().len();
        self.sure = vec![false; nodes];
        let mut pending = vec![0u32; nodes];
        let mut offsets = vec![0u32; nodes + 1];
        for (index, pending) in pending.iter_mut().enumerate() {
            self.requirements(self.node(index), |source, _| {
                *pending += 1;
                if let Some(source) = source {
                    offsets[self.index(source) + 1] += 1;
                }
            });
        }
        for index in 0..nodes {
            offsets[index + 1] += offsets[index];
        }
        let mut next = offsets.clone();
        let mut forward = vec![0u32; offsets[nodes] as usize];
        for index in 0..nodes {
            self.requirements(self.node(index), |source, _| {
                if let Some(source) = source {
                    let slot = &mut next[self.index(source)];
                    forward[*slot as usize] = index as u32;
                    *slot += 1;
                }
            });
        }
        drop(next);
        // Nodes to those that may do with them.
        let mut watchers: HashMap<usize, Vec<usize>> = HashMap::new();
        let free = (0..nodes).filter(|&index| pending[index] == 0);
        let mut ready: VecDeque<usize> = free.collect();
        while let Some(index) = ready.pop_front() {
            if self.sure[index] {
                continue;
            }
            if let Node::Point(point) = self.node(index)
                && let Err((_, candidates)) = self.missing(point)
            {
                for candidate in candidates {
                    let done = self.index(Node::Point(Point::done(candidate)));
                    watchers.entry(done).or_default().push(index);
                }
                continue;
            }
            self.sure[index] = true;
            for &node in &forward[offsets[index] as usize..offsets[index + 1] as usize] {
                pending[node as usize] -= 1;
                if pending[node as usize] == 0 {
                    ready.push_back(node as usize);
                }
            }
            ready.extend(watchers.remove(&index).unwrap_or_default());
        }
    }
}
