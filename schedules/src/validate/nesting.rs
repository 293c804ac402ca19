//! Checks of how programs run each other: no circle, not too deep, not too many ops, and only on
//! ranks that are in the communicators they use.

use std::collections::BTreeSet;

use super::Checker;
use super::problem::ProblemKind;
use crate::ir::{Op, OpKind, Peer};
use crate::path::At;

/// How deep programs may be nested by `repeat` and `graph_launch`.
pub const MOST_NESTED: usize = 64;

/// The most op instances of one rank.
pub const MOST_INSTANCES: u64 = 100_000_000;

/// What a program runs and uses.
#[derive(Debug, Default)]
struct Body<'a> {
    /// Programs it runs: index, how often, index of the op.
    runs: Vec<(usize, u64, usize)>,
    /// Communicators that its own ops name.
    communicators: BTreeSet<&'a str>,
}

/// What a program runs and uses together with the programs in it.
#[derive(Clone, Debug, Default)]
struct Whole<'a> {
    depth: usize,
    instances: u64,
    communicators: BTreeSet<&'a str>,
}

impl<'a> Checker<'a> {
    pub(super) fn nesting(&mut self) {
        let schedule = self.schedule;
        let bodies: Vec<_> = schedule
            .programs
            .iter()
            .map(|program| self.body(&program.ops))
            .collect();
        let Some(order) = self.innermost_first(&bodies) else {
            return;
        };
        let mut wholes: Vec<Whole<'_>> = vec![Whole::default(); bodies.len()];
        for program in order {
            let body = &bodies[program];
            let mut whole = Whole {
                depth: 0,
                instances: schedule.programs[program].ops.len() as u64,
                communicators: body.communicators.clone(),
            };
            for (inner, count, _) in &body.runs {
                let inner = &wholes[*inner];
                whole.depth = whole.depth.max(inner.depth + 1);
                let added = inner.instances.saturating_mul(*count);
                whole.instances = whole.instances.saturating_add(added);
                whole.communicators.extend(&inner.communicators);
            }
            self.size(program, &whole);
            wholes[program] = whole;
        }
        self.membership(&wholes);
    }

    /// What `ops` run and use. O(ops).
    fn body(&self, ops: &'a [Op]) -> Body<'a> {
        let mut body = Body::default();
        for (index, op) in ops.iter().enumerate() {
            visit_communicators(op, &mut |name| {
                body.communicators.insert(name);
            });
            let (program, count) = match &op.kind {
                OpKind::GraphLaunch(launch) => (&launch.program, 1),
                OpKind::Repeat(repeat) => {
                    let count = repeat.count.eval(&|variable| self.nominal(variable));
                    // A count that is no number or too large is reported with its op.
                    let count = count.ok().filter(|count| (0.0..1e18).contains(count));
                    (&repeat.program, count.unwrap_or(0.0).round() as u64)
                }
                _ => continue,
            };
            if let Some((program, _)) = self.names.programs.get(program.as_str()) {
                body.runs.push((*program, count, index));
            }
        }
        body
    }

    /// The programs so that each comes after those it runs, or none if they run in a circle, which
    /// is reported. Depth first without recursion; O(programs + runs).
    fn innermost_first(&mut self, bodies: &[Body<'a>]) -> Option<Vec<usize>> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut states = vec![State::New; bodies.len()];
        let mut order = Vec::with_capacity(bodies.len());
        for root in 0..bodies.len() {
            if states[root] != State::New {
                continue;
            }
            states[root] = State::Open;
            // Program, and how many of its runs were followed.
            let mut stack = vec![(root, 0)];
            while let Some((program, next)) = stack.last_mut() {
                let Some(&(inner, _, op)) = bodies[*program].runs.get(*next) else {
                    states[*program] = State::Done;
                    order.push(*program);
                    stack.pop();
                    continue;
                };
                *next += 1;
                match states[inner] {
                    State::Done => {}
                    State::New => {
                        states[inner] = State::Open;
                        stack.push((inner, 0));
                    }
                    State::Open => {
                        let program = *program;
                        let open: Vec<_> = stack.iter().map(|(program, _)| *program).collect();
                        self.circle(&open, inner, program, op);
                        return None;
                    }
                }
            }
        }
        Some(order)
    }

    /// Reports that `op` of `program` runs `inner`, one of the programs that are `open`.
    fn circle(&mut self, open: &[usize], inner: usize, program: usize, op: usize) {
        let programs = &self.schedule.programs;
        let from = open.iter().position(|open| *open == inner).unwrap_or(0);
        let names = open[from..].iter().chain([&inner]);
        let names: Vec<_> = names.map(|index| programs[*index].name.as_str()).collect();
        let problem = ProblemKind::Recursive(names[0].into(), names.join(" -> "));
        let list = At::ROOT.field("programs");
        let at = list.named(program, programs[program].name.as_str());
        let at = at.field("ops");
        self.report(
            &at.named(op, programs[program].ops[op].id.as_str()),
            problem,
        );
    }

    fn size(&mut self, program: usize, whole: &Whole<'_>) {
        let list = At::ROOT.field("programs");
        let at = list.named(program, self.schedule.programs[program].name.as_str());
        // Reported once, not again for every program around it.
        if whole.depth == MOST_NESTED + 1 {
            self.report(&at, ProblemKind::TooDeep(MOST_NESTED));
        }
        if whole.instances > MOST_INSTANCES {
            self.report(&at, ProblemKind::TooManyOps(MOST_INSTANCES));
        }
    }

    /// Ranks are members of the communicators that their program uses.
    fn membership(&mut self, wholes: &[Whole<'a>]) {
        let schedule = self.schedule;
        let list = At::ROOT.field("ranks");
        for (index, group) in schedule.ranks.iter().enumerate() {
            let Some(program) = &group.program else {
                continue;
            };
            let Some((body, _)) = self.names.programs.get(program.as_str()) else {
                continue;
            };
            let last = group
                .first
                .saturating_add(group.count.max(1).saturating_sub(1));
            for communicator in &wholes[*body].communicators {
                let Some(ranks) = self.members.get(communicator) else {
                    continue;
                };
                let from = ranks.partition_point(|rank| *rank < group.first);
                let to = ranks.partition_point(|rank| *rank <= last);
                if u32::try_from(to - from) != Ok(group.count) {
                    let problem = ProblemKind::NotMembers {
                        first: group.first,
                        last,
                        program: program.as_str().into(),
                        communicator: (*communicator).into(),
                    };
                    self.report(&list.item(index), problem);
                }
            }
        }
    }
}

/// Calls `visit` with every communicator that `op` or a task in it names.
fn visit_communicators<'a>(op: &'a Op, visit: &mut impl FnMut(&'a str)) {
    if let Some(comm) = &op.comm {
        visit(comm.communicator.as_str());
    }
    let mut peer = |peer: &'a Peer| {
        if let Peer::Member { communicator, .. } = peer {
            visit(communicator.as_str());
        }
    };
    op.accesses
        .known()
        .iter()
        .for_each(|access| peer(&access.peer));
    match &op.kind {
        OpKind::NotifyRecord(record) => peer(&record.peer),
        OpKind::ValueWrite(write) => peer(&write.peer),
        _ => {}
    }
    for task in op.kind.tasks() {
        visit_communicators(&task.op, visit);
    }
}
