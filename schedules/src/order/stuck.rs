//! Points that never happen, and why.

use super::require::{Point, Requirements, Source, Why};
use super::signal::Need;
use super::solve::Pass;
use crate::flat::{CollectiveId, InstanceId};

/// One link of a witness: a point that waits for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The point that waits.
    pub point: Point,
    /// Why it waits for the next link's point, or for what ends the chain.
    pub why: Why,
}

/// Why some points never happen, in any run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Each link waits for the next, and the last for the first.
    Cycle(Vec<Link>),
    /// Each link waits for the next, and the last for a signal that nothing gives, or too few do.
    Unsignalled(Vec<Link>),
    /// Each link waits for the next, and the last for a collective that cannot complete.
    Incomplete(Vec<Link>, CollectiveId),
}

impl Stuck {
    /// The links of the witness.
    pub fn links(&self) -> &[Link] {
        match self {
            Self::Cycle(links) | Self::Unsignalled(links) | Self::Incomplete(links, _) => links,
        }
    }
}

/// Follows what is missing from the first point that never happens until it meets itself or an end.
pub(super) fn find(
    requirements: &Requirements,
    pass: &Pass,
    first: InstanceId,
    collective: &dyn Fn(InstanceId) -> Option<CollectiveId>,
) -> Stuck {
    let mut at = Point::done(first);
    let mut links: Vec<Link> = Vec::new();
    let mut seen = std::collections::HashMap::new();
    loop {
        if let Some(start) = seen.insert(at, links.len()) {
            return Stuck::Cycle(links.split_off(start));
        }
        let missing = |point: Point| !pass.happens(point.node());
        let mut next = None;
        for requirement in requirements.of(at) {
            let why = requirement.why;
            match requirement.source {
                Source::Point(point) if missing(point) => next = Some((point, why)),
                Source::AllStarted(id) => {
                    let gate = requirements.gate(id);
                    let members = requirements.edges(gate).iter();
                    let mut late =
                        members.filter_map(|&(node, _)| match requirements.source(node as usize) {
                            Source::Point(point) if missing(point) => Some((point, why)),
                            _ => None,
                        });
                    next = next.or(late.next_back());
                }
                Source::Never => {
                    links.push(Link { point: at, why });
                    return match collective(at.instance) {
                        Some(id) => Stuck::Incomplete(links, id),
                        None => Stuck::Unsignalled(links),
                    };
                }
                Source::Point(_) => {}
            }
        }
        let Some((point, why)) = next.or_else(|| signal(pass, at)) else {
            links.push(Link {
                point: at,
                why: Why::Signal,
            });
            return Stuck::Unsignalled(links);
        };
        links.push(Link { point: at, why });
        at = point;
    }
}

/// An op that has not given the signal which a point waits for.
fn signal(pass: &Pass, at: Point) -> Option<(Point, Why)> {
    let needs = pass.needs.get(&at.instance)?;
    let unmet = |need: &&Need| {
        let done = need
            .of
            .iter()
            .filter(|&&op| pass.happens(Point::done(op).node()));
        done.count() < need.count
    };
    let need = needs.iter().find(unmet)?;
    let late = need
        .of
        .iter()
        .find(|&&op| !pass.happens(Point::done(op).node()))?;
    Some((Point::done(*late), Why::Signal))
}
