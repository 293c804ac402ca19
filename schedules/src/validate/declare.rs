//! Checks of variables, buffers, streams and communicators.

use std::collections::HashSet;

use super::Checker;
use super::problem::{Noun, ProblemKind};
use crate::ir::{Buffer, Distribution, Owner, Variable};
use crate::path::At;

/// The steepest exponent of expert popularity.
const MOST_SKEW: f64 = 64.0;

/// How deep views may be nested.
pub const MOST_VIEWS: usize = 64;

impl<'a> Checker<'a> {
    pub(super) fn declarations(&mut self) {
        let schedule = self.schedule;
        let list = At::ROOT.field("variables");
        for (index, variable) in schedule.variables.iter().enumerate() {
            self.variable(&list.named(index, &variable.name), variable);
        }
        self.buffers();
        self.streams();
        self.communicators();
    }

    fn variable(&mut self, at: &At<'_>, variable: &Variable) {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if !variable.name.chars().all(plain) {
            let rule = "the name of a variable has letters, digits, `_`, `.` and `-` only";
            self.report(&at.field("name"), ProblemKind::Variable(rule));
        }
        if variable.nominal.is_empty() || !all_finite(&variable.nominal) {
            let rule = "`nominal` has at least one number, and all are finite";
            self.report(&at.field("nominal"), ProblemKind::Variable(rule));
        }
        if let Some(rule) = broken_rule(&variable.distribution, &variable.nominal) {
            self.report(&at.field("distribution"), ProblemKind::Variable(rule));
        }
    }

    /// Views are acyclic, inside their parent, and in the same memory.
    fn buffers(&mut self) {
        let schedule = self.schedule;
        let list = At::ROOT.field("buffers");
        for (index, buffer) in schedule.buffers.iter().enumerate() {
            let Some(view) = &buffer.view else { continue };
            let at = list.named(index, buffer.name.as_str());
            let at = at.field("view");
            let Some(parent) = self.names.buffers.get(view.of.as_str()).copied() else {
                self.undeclared(&at.field("of"), Noun::Buffer, view.of.as_str());
                continue;
            };
            self.inside(&at.field("offset"), parent, view.offset, buffer.bytes);
            if self.origin(buffer).is_none() {
                let name = buffer.name.as_str().into();
                self.report(&at.field("of"), ProblemKind::ViewTooDeep(name));
            } else if parent.memory != buffer.memory {
                let (root, view) = (parent.memory, buffer.memory);
                self.report(&at, ProblemKind::ViewMemory { root, view });
            }
        }
    }

    /// Where `buffer` starts in its root. None if its views run in a circle, are too deep or name
    /// nothing, or the sum overflows; whichever it is, it is reported where the views are declared.
    pub(super) fn origin(&self, buffer: &Buffer) -> Option<u64> {
        let mut offset = 0_u64;
        let mut view = buffer.view.as_ref();
        for _ in 0..=MOST_VIEWS {
            let Some(step) = view else {
                return Some(offset);
            };
            offset = offset.checked_add(step.offset)?;
            view = self.names.buffers.get(step.of.as_str())?.view.as_ref();
        }
        None
    }

    fn streams(&mut self) {
        let schedule = self.schedule;
        let list = At::ROOT.field("streams");
        let mut default = None;
        for (index, stream) in schedule.streams.iter().enumerate() {
            let at = list.named(index, stream.name.as_str());
            match stream.priority {
                Some(priority) if priority > 7 => {
                    self.report(&at.field("priority"), ProblemKind::Priority(priority));
                }
                _ => {}
            }
            if stream.owner == Owner::Default {
                match default {
                    None => default = Some(stream.name.as_str()),
                    Some(first) => {
                        self.report(&at.field("owner"), ProblemKind::SecondDefault(first.into()));
                    }
                }
            }
        }
    }

    /// Groups are disjoint and name existing ranks.
    fn communicators(&mut self) {
        let schedule = self.schedule;
        let list = At::ROOT.field("communicators");
        for (index, communicator) in schedule.communicators.iter().enumerate() {
            let at = list.named(index, communicator.name.as_str());
            let at = at.field("groups");
            let mut members = HashSet::new();
            for (number, group) in communicator.groups.iter().enumerate() {
                let at = at.item(number);
                if group.is_empty() {
                    self.report(&at, ProblemKind::EmptyGroup);
                }
                for (position, rank) in group.iter().enumerate() {
                    let at = at.item(position);
                    self.rank_exists(&at, *rank);
                    if !members.insert(*rank) {
                        self.report(&at, ProblemKind::MemberTwice(*rank));
                    }
                }
            }
        }
    }
}

/// The rule that a distribution breaks, if any.
fn broken_rule(distribution: &Distribution, nominal: &[f64]) -> Option<&'static str> {
    let check = |holds: bool, rule| (!holds).then_some(rule);
    match distribution {
        Distribution::Fixed => None,
        Distribution::Uniform { low, high } | Distribution::Triangular { low, high } => check(
            all_finite(&[*low, *high]) && nominal.iter().all(|value| (low..=high).contains(&value)),
            "`low` and `high` are finite, and every nominal value lies between them",
        ),
        Distribution::Discrete { values, weights } => check(
            values.len() == weights.len()
                && all_finite(values)
                && all_finite(weights)
                && weights.iter().all(|weight| *weight >= 0.0)
                && weights.iter().sum::<f64>() > 0.0
                && weights.iter().sum::<f64>().is_finite(),
            "`discrete` has a weight of 0 or more for each value, and not all are 0",
        ),
        Distribution::Rows { rows } => check(
            !rows.is_empty()
                && rows
                    .iter()
                    .all(|row| row.len() == nominal.len() && all_finite(row)),
            "`rows` has at least one row, and each has as many finite numbers as `nominal`",
        ),
        Distribution::Routing {
            tokens: _,
            top_k,
            experts,
            skew,
        } => check(
            *experts > 0
                && top_k <= experts
                && usize::try_from(*experts).is_ok_and(|n| n.is_multiple_of(nominal.len().max(1)))
                && (0.0..=MOST_SKEW).contains(skew)
                && (skew * 2.0).fract() == 0.0,
            "`routing` needs experts that are a multiple of the components, `top_k` of at most as \
             many, and a `skew` of 0, 0.5, 1 and so on up to 64",
        ),
        Distribution::Acceptance { rate, most: _ } => check(
            (0.0..=1.0).contains(rate),
            "the `rate` of `acceptance` is a probability from 0 to 1",
        ),
    }
}

fn all_finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}
