//! The shortest circle of waiting.

use std::collections::{HashMap, VecDeque};

use ascsim_schedules::order::Why;

use crate::progress::{Blocked, Node, Progress};

/// Nodes looked at from each node of the circle that is shortened.
const MOST_LOOKED_AT: usize = 20_000;

/// Circle nodes that a shorter circle is looked for from.
const MOST_STARTS: usize = 64;

/// The shortest circle through a node of `walk`, a circle of nodes each of which waits for the next;
/// with why each waits. Short of the shortest where the neighbourhood is large.
///
/// # Complexity
/// O(nodes looked at x what blocks each).
pub(super) fn shortest(progress: &Progress<'_, '_, '_>, walk: &[Node]) -> Vec<(Node, Why)> {
    let mut best: Option<Vec<(Node, Why)>> = None;
    for &start in walk.iter().take(MOST_STARTS) {
        if let Some(found) = through(progress, start)
            && best.as_ref().is_none_or(|best| found.len() < best.len())
        {
            best = Some(found);
        }
    }
    best.unwrap_or_else(|| as_walked(progress, walk))
}

fn through(progress: &Progress<'_, '_, '_>, start: Node) -> Option<Vec<(Node, Why)>> {
    let mut came: HashMap<Node, (Node, Why)> = HashMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        let Blocked::By(by) = progress.blocked(at) else {
            continue;
        };
        for (next, why) in by {
            if next == start {
                let mut path = vec![(at, why)];
                let mut node = at;
                while let Some(&(before, why)) = came.get(&node) {
                    path.push((before, why));
                    node = before;
                }
                path.reverse();
                return Some(path);
            }
            if came.len() < MOST_LOOKED_AT && !came.contains_key(&next) {
                came.insert(next, (at, why));
                open.push_back(next);
            }
        }
    }
    None
}

fn as_walked(progress: &Progress<'_, '_, '_>, walk: &[Node]) -> Vec<(Node, Why)> {
    let why = |at: usize| {
        let next = walk[(at + 1) % walk.len()];
        match progress.blocked(walk[at]) {
            Blocked::By(by) => by.into_iter().find(|(node, _)| *node == next),
            _ => None,
        }
        .map_or(Why::Life, |(_, why)| why)
    };
    (0..walk.len()).map(|at| (walk[at], why(at))).collect()
}
