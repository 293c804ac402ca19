//! What is known to be done at each point: a fixpoint over vector clocks.
//!
//! Let `K(p)` be the instances that are done before point `p` happens, in every run. Then `K` is the
//! union over what `p` requires, and, where `p` is a wait for a signal, the intersection over the ops
//! that can have given it. An op cannot have given it if it is known to come after the wait, or if a
//! clearer is known to come between the two. The greatest solution is wanted; a pass computes points
//! as they become possible, takes what is not computed yet for known everywhere, and is repeated
//! until nothing changes.
//!
//! Sound: in any run, by induction over its points in time, what `K` claims of a point holds, since it
//! holds of all points before it, in particular of the op that really gave the signal.

use std::collections::{HashMap, VecDeque};

use super::chains::Chains;
use super::clock::{Clocks, Row};
use super::require::{Point, Requirements};
use super::signal::{Need, Signal, Signals};
use crate::flat::InstanceId;

/// Above this many candidates, a wait is not told apart by how many were given before it.
const MAX_COUNTED: usize = 64;

/// One pass over all points.
#[derive(Debug)]
pub(super) struct Pass {
    clocks: Clocks,
    /// Per node: what it knows; none if it never happens.
    rows: Vec<Option<Row>>,
    /// What each wait for a signal needs.
    pub(super) needs: HashMap<InstanceId, Vec<Need>>,
    /// Uses of points that were not computed yet: the wait and the op it may depend on.
    late: Vec<(InstanceId, InstanceId)>,
}

/// Derives what is known at each point.
#[derive(Debug)]
pub(super) struct Solver<'a> {
    requirements: &'a Requirements,
    chains: &'a Chains,
    signals: &'a Signals,
    /// Per node: where in `forward` the nodes that require it are.
    offsets: Vec<u32>,
    forward: Vec<u32>,
}

impl<'a> Solver<'a> {
    pub(super) fn new(
        requirements: &'a Requirements,
        chains: &'a Chains,
        signals: &'a Signals,
    ) -> Self {
        let nodes = requirements.nodes();
        let all = || {
            (0..nodes).flat_map(|node| {
                requirements
                    .edges(node)
                    .iter()
                    .map(move |edge| (node, edge.0))
            })
        };
        let mut offsets = vec![0u32; nodes + 1];
        for (_, from) in all() {
            offsets[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            offsets[node + 1] += offsets[node];
        }
        let mut next = offsets.clone();
        let mut forward = vec![0; offsets[nodes] as usize];
        for (node, from) in all() {
            forward[next[from as usize] as usize] = node as u32;
            next[from as usize] += 1;
        }
        Self {
            requirements,
            chains,
            signals,
            offsets,
            forward,
        }
    }

    /// Passes until nothing changes; each can only take claims away, so this ends.
    pub(super) fn solve(&self) -> Pass {
        let mut before = None;
        loop {
            let pass = self.pass(before.as_ref());
            if !self.changed(before.as_ref(), &pass) {
                return pass;
            }
            before = Some(pass);
        }
    }

    fn pass(&self, previous: Option<&Pass>) -> Pass {
        let nodes = self.requirements.nodes();
        let mut running = Running {
            solver: self,
            previous,
            pending: (0..nodes)
                .map(|node| self.requirements.edges(node).len() as u32)
                .collect(),
            ready: VecDeque::new(),
            watchers: HashMap::new(),
            waiting: HashMap::new(),
            pass: Pass {
                clocks: Clocks::new(self.chains.count()),
                rows: vec![None; nodes],
                needs: HashMap::new(),
                late: Vec::new(),
            },
        };
        running.run();
        running.pass
    }

    /// Whether a point that was used before it was computed makes a difference now.
    fn changed(&self, before: Option<&Pass>, pass: &Pass) -> bool {
        pass.late.iter().any(|&(wait, op)| {
            let (start, done) = (Point::start(wait).node(), Point::done(op).node());
            let own = self.chains.place(wait).0;
            pass.happens(done)
                && (0..self.chains.count()).any(|chain| {
                    let value = pass.value(self.chains, done, chain);
                    chain != own
                        && value < self.assumed(before, done, chain)
                        && value < pass.value(self.chains, start, chain)
                })
        })
    }

    /// What is taken for known at a node before it is computed.
    fn assumed(&self, before: Option<&Pass>, node: usize, chain: usize) -> u32 {
        match before {
            Some(before) if before.happens(node) => before.value(self.chains, node, chain),
            _ => u32::MAX,
        }
    }
}

impl Pass {
    pub(super) fn happens(&self, node: usize) -> bool {
        self.rows[node].is_some()
    }

    /// How many instances of a chain are known to be done at a node that happens.
    fn value(&self, chains: &Chains, node: usize, chain: usize) -> u32 {
        let known = self.rows[node].map_or(0, |row| self.clocks.get(row, chain));
        match chains.own(node) {
            Some(own) if own.chain == chain => own.count.max(known),
            _ => known,
        }
    }

    /// Whether `done` is known to be done at a node; false if the node never happens.
    pub(super) fn knows(&self, chains: &Chains, node: usize, done: InstanceId) -> bool {
        let (chain, position) = chains.place(done);
        self.happens(node) && self.value(chains, node, chain) > position
    }
}

struct Running<'p, 'a> {
    solver: &'p Solver<'a>,
    previous: Option<&'p Pass>,
    pending: Vec<u32>,
    ready: VecDeque<usize>,
    /// Ops to waits that may depend on them.
    watchers: HashMap<InstanceId, Vec<InstanceId>>,
    /// Waits that are due but for their signal, with what they know.
    waiting: HashMap<InstanceId, Row>,
    pass: Pass,
}

impl Running<'_, '_> {
    fn run(&mut self) {
        let never = self.solver.requirements.never();
        let free = (0..never).filter(|&node| self.pending[node] == 0);
        self.ready = free.collect();
        while let Some(node) = self.ready.pop_front() {
            let row = self.union(node);
            let instance = InstanceId::new(node / 3);
            match self.solver.signals.of(instance) {
                Some(signal) if Point::start(instance).node() == node && !signal.external => {
                    self.wait(instance, signal, row);
                }
                _ => self.happen(node, row),
            }
        }
    }

    /// What a node knows by all that it requires without choice.
    fn union(&mut self, node: usize) -> Row {
        let solver = self.solver;
        let own = solver.chains.own(node);
        let own_chain = own.map_or(usize::MAX, |own| own.chain);
        let clocks = &mut self.pass.clocks;
        clocks.seal();
        let edges = solver.requirements.edges(node);
        // What is on the same chain knows most of it already.
        let nearest = edges.iter().map(|edge| edge.0 as usize).find(|&from| {
            solver
                .chains
                .own(from)
                .is_some_and(|from| from.chain == own_chain)
        });
        let mut row = nearest
            .and_then(|from| self.pass.rows[from])
            .unwrap_or(Clocks::ZERO);
        for &(from, _) in edges {
            let from = from as usize;
            if let Some(other) = self.pass.rows[from] {
                row = clocks.join(row, other, own_chain);
            }
            if let Some(prefix) = solver.chains.own(from)
                && prefix.chain != own_chain
            {
                row = clocks.raise(row, prefix.chain, prefix.count);
            }
        }
        row
    }

    fn happen(&mut self, node: usize, row: Row) {
        let solver = self.solver;
        self.pass.rows[node] = Some(row);
        let range = solver.offsets[node] as usize..solver.offsets[node + 1] as usize;
        for &next in &solver.forward[range] {
            let pending = &mut self.pending[next as usize];
            *pending -= 1;
            if *pending == 0 {
                self.ready.push_back(next as usize);
            }
        }
        let instance = InstanceId::new(node / 3);
        if Point::done(instance).node() == node {
            for wait in self.watchers.remove(&instance).unwrap_or_default() {
                self.try_wait(wait);
            }
        }
    }

    fn wait(&mut self, wait: InstanceId, signal: &Signal, row: Row) {
        let needs = self.needs(wait, signal, row);
        for &op in needs.iter().flat_map(|need| &need.of) {
            if !self.pass.happens(Point::done(op).node()) {
                self.watchers.entry(op).or_default().push(wait);
            }
        }
        self.pass.needs.insert(wait, needs);
        self.waiting.insert(wait, row);
        self.try_wait(wait);
    }

    /// What can have given a wait its signal, from what the wait knows without it.
    fn needs(&self, wait: InstanceId, signal: &Signal, row: Row) -> Vec<Need> {
        let own = self.solver.chains.place(wait);
        let known = |chain: usize| match chain == own.0 {
            true => own.1,
            false => self.pass.clocks.get(row, chain),
        };
        // The latest clearer of each chain that is known to be done.
        let cleared_by: Vec<InstanceId> = signal
            .clearers
            .0
            .iter()
            .filter_map(|(chain, list)| {
                let count = list.partition_point(|&(position, _)| position < known(*chain));
                list[..count].last().map(|&(_, id)| id)
            })
            .collect();
        if signal.initially && cleared_by.is_empty() {
            return Vec::new();
        }
        let after = |op: InstanceId| {
            self.pass
                .knows(self.solver.chains, Point::start(op).node(), wait)
        };
        // On each chain, the first that is not known to be cleared is the one that counts.
        let last: Vec<InstanceId> = signal
            .setters
            .0
            .iter()
            .filter_map(|(chain, list)| {
                let cleared = cleared_by
                    .iter()
                    .map(|&by| {
                        self.pass
                            .value(self.solver.chains, Point::start(by).node(), *chain)
                    })
                    .max()
                    .unwrap_or(0);
                let first = list.partition_point(|&(position, _)| position < cleared);
                list.get(first).map(|&(_, id)| id)
            })
            .filter(|&op| !after(op))
            .collect();
        let mut needs = vec![Need { count: 1, of: last }];
        // Each wait before it took one notify.
        let taken: usize = signal
            .takers
            .0
            .iter()
            .map(|(chain, list)| list.partition_point(|&(position, _)| position < known(*chain)))
            .sum();
        if taken > 0 {
            let count = taken + 1;
            match &signal.setters.0[..] {
                // Of ops in a row, the n-th has been done.
                [(_, list)] => needs.push(Need {
                    count: 1,
                    of: list.get(taken).map(|&(_, id)| id).into_iter().collect(),
                }),
                _ => {
                    let of: Vec<InstanceId> =
                        signal.setters.all().filter(|&op| !after(op)).collect();
                    if of.len() <= MAX_COUNTED || of.len() < count {
                        needs.push(Need { count, of });
                    }
                }
            }
        }
        needs
    }

    fn try_wait(&mut self, wait: InstanceId) {
        let Some(&row) = self.waiting.get(&wait) else {
            return;
        };
        let Some(needs) = self.pass.needs.get(&wait) else {
            return;
        };
        let done = |op: &InstanceId| self.pass.happens(Point::done(*op).node());
        if needs
            .iter()
            .any(|need| need.of.iter().filter(|op| done(op)).count() < need.count)
        {
            return;
        }
        self.waiting.remove(&wait);
        let needs = needs.clone();
        self.pass.clocks.seal();
        let mut row = row;
        let own = self.solver.chains.place(wait).0;
        for need in &needs {
            for &op in &need.of {
                if !self.pass.happens(Point::done(op).node()) {
                    self.pass.late.push((wait, op));
                }
            }
            for chain in (0..self.solver.chains.count()).filter(|&chain| chain != own) {
                let mut known: Vec<u32> = need
                    .of
                    .iter()
                    .map(|&op| self.known_after(op, chain))
                    .collect();
                known.sort_unstable();
                // The count-th op to be done knows at least this much.
                let least = need.count.checked_sub(1).and_then(|at| known.get(at));
                let least = least.copied().unwrap_or(0);
                row = self.pass.clocks.raise(row, chain, least);
            }
        }
        self.happen(Point::start(wait).node(), row);
    }

    /// How many instances of a chain are known to be done after `op`, as far as computed.
    fn known_after(&self, op: InstanceId, chain: usize) -> u32 {
        let node = Point::done(op).node();
        match self.pass.happens(node) {
            true => self.pass.value(self.solver.chains, node, chain),
            false => self.solver.assumed(self.previous, node, chain),
        }
    }
}
