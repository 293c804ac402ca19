//! The same relation by other means: sets of instances instead of clocks, every candidate instead of
//! the first of a chain, and plain iteration instead of passes.

use super::require::{Point, Requirements, Source};
use super::signal::{Signal, Signals};
use super::{Chains, Order};
use crate::flat::{Flat, InstanceId};
use crate::ir::Limits;

/// A set of instances; everything at first, which is also what never happens knows.
#[derive(Clone, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn all(size: usize) -> Self {
        Self(vec![u64::MAX; size.div_ceil(64)])
    }

    fn none(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    fn has(&self, id: InstanceId) -> bool {
        self.0[id.index() / 64] & (1 << (id.index() % 64)) != 0
    }

    fn add(&mut self, id: InstanceId) {
        self.0[id.index() / 64] |= 1 << (id.index() % 64);
    }

    fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

struct Oracle<'a, 's> {
    flat: &'a Flat<'s>,
    requirements: Requirements,
    signals: Signals,
    /// Per node: what it knows; everything where it never happens.
    known: Vec<Set>,
    happens: Vec<bool>,
}

impl<'a, 's> Oracle<'a, 's> {
    fn new(flat: &'a Flat<'s>, limits: &Limits) -> Self {
        let requirements = Requirements::new(flat, limits);
        let chains = Chains::new(flat);
        let nodes = requirements.nodes();
        let mut oracle = Self {
            flat,
            signals: Signals::new(flat, &chains),
            known: vec![Set::all(flat.instances().len()); nodes],
            happens: vec![false; nodes],
            requirements,
        };
        oracle.solve();
        oracle
    }

    fn solve(&mut self) {
        // What happens depends on what is known, and what is known on what happens: from everything
        // known down, and from nothing happening up, over and over.
        loop {
            let before = (self.known.clone(), self.happens.clone());
            for node in 0..self.requirements.never() {
                self.visit(node);
            }
            if before == (self.known.clone(), self.happens.clone()) {
                return;
            }
        }
    }

    fn visit(&mut self, node: usize) {
        let size = self.flat.instances().len();
        let mut known = Set::none(size);
        for &(from, _) in self.requirements.edges(node) {
            let from = from as usize;
            if !self.happens.get(from).is_some_and(|&happens| happens) {
                return;
            }
            known.join(&self.after(from));
        }
        let instance = InstanceId::new(node / 3);
        if let Some(signal) = self.signals.of(instance)
            && node == Point::start(instance).node()
            && !signal.external
        {
            let Some(more) = self.signalled(instance, signal, &known) else {
                return;
            };
            known.join(&more);
        }
        self.happens[node] = true;
        self.known[node] = known;
    }

    /// What is known once a node has happened.
    fn after(&self, node: usize) -> Set {
        let mut known = self.known[node].clone();
        if let Source::Point(point) = self.requirements.source(node)
            && point == Point::done(point.instance)
        {
            known.add(point.instance);
        }
        known
    }

    /// What a wait knows by its signal, or that it cannot be met.
    fn signalled(&self, wait: InstanceId, signal: &Signal, ready: &Set) -> Option<Set> {
        let size = self.flat.instances().len();
        let knows = |id: InstanceId, other| {
            let start = Point::start(id).node();
            self.happens[start] && self.known[start].has(other)
        };
        let cleared = |op: InstanceId| {
            signal
                .clearers
                .all()
                .any(|by| by != wait && ready.has(by) && knows(by, op))
        };
        let any_cleared = signal.clearers.all().any(|by| by != wait && ready.has(by));
        if signal.initially && !any_cleared {
            return Some(Set::none(size));
        }
        let setters = || signal.setters.all().filter(|&op| !knows(op, wait));
        let taken = signal
            .takers
            .all()
            .filter(|&by| by != wait && ready.has(by))
            .count();
        let mut known = self.at_least(1, setters().filter(|&op| !cleared(op)))?;
        known.join(
            &self
                .at_least(taken + 1, setters())
                .filter(|_| taken > 0)
                .or_else(|| (taken == 0).then(|| Set::none(size)))?,
        );
        Some(known)
    }

    /// What is known once `count` of these are done, whichever.
    fn at_least(&self, count: usize, of: impl Iterator<Item = InstanceId>) -> Option<Set> {
        let done = of
            .map(|op| Point::done(op).node())
            .filter(|&node| self.happens[node]);
        let sets: Vec<Set> = done.map(|node| self.after(node)).collect();
        if sets.len() < count {
            return None;
        }
        let mut known = Set::none(self.flat.instances().len());
        for id in self.flat.ids() {
            // Fewer than `count` can be done without it.
            if sets.iter().filter(|set| !set.has(id)).count() < count {
                known.add(id);
            }
        }
        Some(known)
    }
}

/// Compares the clocks with the sets, point by point; whether all of it can happen.
pub(super) fn agree(flat: &Flat<'_>, limits: &Limits) -> Result<bool, String> {
    let order = Order::new(flat, limits);
    let oracle = Oracle::new(flat, limits);
    let mut all = true;
    for point in flat
        .ids()
        .flat_map(|id| [Point::issue(id), Point::start(id), Point::done(id)])
    {
        let node = point.node();
        all &= oracle.happens[node];
        if order.can_happen(point) != oracle.happens[node] {
            let (path, happens) = (flat.path(point.instance), oracle.happens[node]);
            return Err(format!("{path} {:?} happens: {happens}", point.phase));
        }
        let known = oracle.after(node);
        for done in flat.ids().filter(|_| oracle.happens[node]) {
            if order.known_at(done, point) != known.has(done) {
                let (done, path) = (flat.path(done), flat.path(point.instance));
                return Err(format!("{done} known at {:?} of {path}", point.phase));
            }
        }
    }
    Ok(all)
}
