//! Deadlocks: what is not certain to happen, and the smallest thing that shows why.

mod cores;
mod cycle;
pub(crate) mod queue;
mod text;

use std::collections::{BTreeMap, HashSet};

use ascsim_schedules::flat::{CollectiveId, InstanceId};
use ascsim_schedules::order::Why;

use crate::context::Context;
use crate::finding::Finding;
use crate::progress::{Blocked, Failure, Node, Progress};

/// One root of what is not certain to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    /// Nodes, each of which waits for the next, and the last for the first.
    Cycle(Vec<(Node, Why)>),
    /// A wait whose signal can fail.
    Signal(InstanceId, Failure),
    /// A collective that cannot complete.
    Collective(CollectiveId),
}

/// The deadlocks that some run shows.
pub(crate) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let progress = Progress::new(context);
    let roots = roots(context, &progress).into_iter();
    let mut found: Vec<Finding> = roots.map(|root| text::finding(context, root)).collect();
    found.extend(cores::find(context));
    found
}

/// Follows from each blocked node one of those that block it, until that ends or comes round.
fn roots(context: &Context<'_, '_>, progress: &Progress<'_, '_, '_>) -> Vec<Root> {
    let mut seen: HashSet<Node> = HashSet::new();
    let mut roots = Vec::new();
    let mut collectives: BTreeMap<(&str, usize), CollectiveId> = BTreeMap::new();
    for start in progress.nodes() {
        if progress.is_sure(start) || seen.contains(&start) {
            continue;
        }
        let mut walk: Vec<Node> = Vec::new();
        let mut at = start;
        loop {
            if !seen.insert(at) {
                if let Some(from) = walk.iter().position(|node| *node == at) {
                    roots.push(Root::Cycle(cycle::shortest(progress, &walk[from..])));
                }
                break;
            }
            walk.push(at);
            match (progress.blocked(at), at) {
                (Blocked::By(by), _) => match by.first() {
                    Some(&(next, _)) => at = next,
                    None => break,
                },
                (Blocked::Signal(failure), Node::Point(point)) => {
                    roots.push(Root::Signal(point.instance, failure));
                    break;
                }
                (Blocked::Never, Node::Point(point)) => {
                    // The first one that cannot complete explains those behind it.
                    if let Some(id) = context.flat[point.instance].collective {
                        let collective = context.flat.collective(id);
                        let key = (collective.communicator.name.as_str(), collective.group);
                        let first = collectives.entry(key).or_insert(id);
                        if collective.nth < context.flat.collective(*first).nth {
                            *first = id;
                        }
                    }
                    break;
                }
                _ => break,
            }
        }
    }
    roots.extend(collectives.into_values().map(Root::Collective));
    roots
}
