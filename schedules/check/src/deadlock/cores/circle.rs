//! Collectives that hold cores and wait for each other.

use std::collections::HashMap;

use ascsim_schedules::flat::{CollectiveId, InstanceId};

use super::resident::{CoreOp, Residents};
use super::single::claims;
use crate::finding::{Finding, Witness};
use crate::rule::Rule;

/// Collectives that are compared with each other; of more, only neighbours in order are.
const MOST_COMPARED: usize = 2_000;

/// A member of a collective that holds cores.
#[derive(Clone, Copy, Debug)]
struct Holder {
    die: usize,
    op: CoreOp,
}

/// A collective that holds cores somewhere.
#[derive(Debug)]
struct Node {
    id: CollectiveId,
    holders: Vec<Holder>,
    members: Vec<InstanceId>,
    /// The first op of each chain beside a holder that it can keep from its cores.
    denied: Vec<InstanceId>,
}

/// How one collective comes to wait for another.
#[derive(Clone, Debug)]
enum Wait {
    /// A member starts only after the other is done.
    Order,
    /// A member is behind an op that gets no cores.
    Cores(Vec<(CoreOp, usize, bool)>),
}

pub(super) fn find(residents: &Residents<'_, '_, '_>) -> Vec<Finding> {
    let mut nodes = nodes(residents);
    if nodes.iter().all(|node| node.denied.is_empty()) {
        return Vec::new();
    }
    nodes.sort_by_key(|node| node.members.first().copied());
    let mut found = Vec::new();
    for first in 0..nodes.len() {
        // Its own holder may keep cores from what another member of it needs.
        for second in first..nodes.len().min(first + MOST_COMPARED) {
            if let Some(finding) = pair(residents, &nodes[first], &nodes[second]) {
                found.push(finding);
                if found.len() > crate::Report::MOST_OF_A_RULE {
                    return found;
                }
            }
        }
    }
    if found.is_empty() && nodes.len() <= MOST_COMPARED {
        found.extend(longer(residents, &nodes));
    }
    found
}

fn nodes(residents: &Residents<'_, '_, '_>) -> Vec<Node> {
    let mut numbers: HashMap<CollectiveId, usize> = HashMap::new();
    let mut nodes: Vec<Node> = Vec::new();
    for (number, die) in residents.dies.iter().enumerate() {
        for (own, chain) in die.chains.iter().enumerate() {
            for op in chain {
                let Some(id) = op.collective() else { continue };
                let at = *numbers.entry(id).or_insert_with(|| {
                    nodes.push(Node {
                        id,
                        holders: Vec::new(),
                        members: residents.context.flat.collective(id).members().to_vec(),
                        denied: Vec::new(),
                    });
                    nodes.len() - 1
                });
                nodes[at].holders.push(Holder {
                    die: number,
                    op: *op,
                });
                for (other, chain) in die.chains.iter().enumerate() {
                    if other != own {
                        let beside = residents.beside(chain, op.id).iter();
                        let mut denied =
                            beside.filter(|one| residents.denied(die, one, op).is_some());
                        nodes[at].denied.extend(denied.next().map(|one| one.id));
                    }
                }
            }
        }
    }
    nodes
}

/// Whether two collectives, or two members of one, can each hold cores and wait for the other.
fn pair(residents: &Residents<'_, '_, '_>, one: &Node, other: &Node) -> Option<Finding> {
    if one.denied.is_empty() && other.denied.is_empty() {
        return None;
    }
    let same = one.id == other.id;
    // Most collectives follow each other.
    let follows = |late: &Node, early: &Node| {
        let after = |by: &Holder| done_before(residents, early, by.op.id);
        late.holders.iter().all(after)
    };
    if !same && (follows(one, other) || follows(other, one)) {
        return None;
    }
    for a in &one.holders {
        for b in &other.holders {
            if same && a.op.id != b.op.id {
                continue;
            }
            let waits = |waiting: &Node, holds: &Node, own: &Holder, by: &Holder| {
                wait(residents, waiting, holds, own, by)
            };
            let Some(first) = waits(one, other, a, b) else {
                continue;
            };
            let second = match same {
                true => first.clone(),
                false => match waits(other, one, b, a) {
                    Some(second) => second,
                    None => continue,
                },
            };
            let ((Wait::Cores(shown), _) | (Wait::Order, Wait::Cores(shown))) = (&first, &second)
            else {
                continue;
            };
            let mut shown = shown.clone();
            if let (Wait::Cores(_), Wait::Cores(more)) = (&first, &second) {
                let more = more.iter().filter(|claim| !shown.contains(claim));
                let more: Vec<_> = more.copied().collect();
                shown.extend(more);
            }
            return Some(finding(residents, &[a.op, b.op], &shown));
        }
    }
    None
}

/// Whether a collective is over, in every run, when an op starts.
fn done_before(residents: &Residents<'_, '_, '_>, node: &Node, start: InstanceId) -> bool {
    let before = |&member: &InstanceId| residents.context.before(member, start);
    node.members.iter().any(before)
}

/// How `waiting`, which runs as `own`, can come to wait for `holds`, which runs as `by`.
fn wait(
    residents: &Residents<'_, '_, '_>,
    waiting: &Node,
    holds: &Node,
    own: &Holder,
    by: &Holder,
) -> Option<Wait> {
    let context = residents.context;
    let done_before = |node, start| done_before(residents, node, start);
    // Both run: neither is certain to be done before the other starts.
    if waiting.id != holds.id && (done_before(waiting, by.op.id) || done_before(holds, own.op.id)) {
        return None;
    }
    let late = waiting
        .members
        .iter()
        .copied()
        .filter(|&member| member != own.op.id);
    if waiting.id != holds.id && late.clone().any(|member| done_before(holds, member)) {
        return Some(Wait::Order);
    }
    let die = &residents.dies[by.die];
    for (number, chain) in die.chains.iter().enumerate() {
        if number == by.op.chain {
            continue;
        }
        // Both holders have started, so what is certainly done before either is over.
        let over = |op: &CoreOp| {
            context.before(op.id, by.op.id)
                || context.before(op.id, own.op.id)
                || op.id == own.op.id
        };
        let low = chain.partition_point(over);
        let high = chain.partition_point(|op| !context.before(by.op.id, op.id));
        let open = &chain[low.min(high)..high];
        // The first one that gets no cores keeps all behind it.
        let first = open
            .iter()
            .find_map(|op| Some((op.id, residents.denied(die, op, &by.op)?)));
        if let Some((denied, shown)) = first
            && late
                .clone()
                .any(|member| member == denied || context.before(denied, member))
        {
            return Some(Wait::Cores(shown));
        }
    }
    None
}

/// A circle of more than two collectives: what is left when each that waits for none of the others
/// is taken away. Not looked at more closely, so that nothing is missed.
fn longer(residents: &Residents<'_, '_, '_>, nodes: &[Node]) -> Option<Finding> {
    let waits: Vec<Vec<usize>> = nodes
        .iter()
        .map(|waiting| {
            let by = |at: &usize| waits_for(residents, waiting, &nodes[*at]);
            (0..nodes.len()).filter(by).collect()
        })
        .collect();
    let mut left = vec![true; nodes.len()];
    loop {
        let free = |at: &usize| left[*at] && !waits[*at].iter().any(|&other| left[other]);
        let free: Vec<usize> = (0..nodes.len()).filter(free).collect();
        if free.is_empty() {
            break;
        }
        for at in free {
            left[at] = false;
        }
    }
    // From one of those left, always on to the next, until it comes round.
    let mut walk = vec![left.iter().position(|left| *left)?];
    loop {
        let last = *walk.last()?;
        let next = *waits[last].iter().find(|&&other| left[other])?;
        if let Some(from) = walk.iter().position(|&at| at == next) {
            walk.drain(..from);
            break;
        }
        walk.push(next);
    }
    let ops: Vec<CoreOp> = walk
        .iter()
        .filter_map(|&at| Some(nodes[at].holders.first()?.op))
        .collect();
    let engine = |op: &CoreOp| usize::from(op.cores[1] > 0);
    let shown: Vec<_> = ops.iter().map(|op| (*op, engine(op), true)).collect();
    Some(finding(residents, &ops, &shown))
}

fn waits_for(residents: &Residents<'_, '_, '_>, waiting: &Node, holds: &Node) -> bool {
    let context = residents.context;
    let done_before = |node, start| done_before(residents, node, start);
    // It cannot be unfinished while the other holds cores.
    if waiting.id == holds.id
        || holds
            .holders
            .iter()
            .all(|by| done_before(waiting, by.op.id))
    {
        return false;
    }
    waiting.members.iter().any(|&member| {
        done_before(holds, member)
            || holds
                .denied
                .iter()
                .any(|&op| op == member || context.before(op, member))
    })
}

fn finding(
    residents: &Residents<'_, '_, '_>,
    stuck: &[CoreOp],
    shown: &[(CoreOp, usize, bool)],
) -> Finding {
    let flat = residents.context.flat;
    let mut names: Vec<String> = stuck
        .iter()
        .map(|op| format!("`{}` (rank {})", flat.path(op.id), flat[op.id].rank))
        .collect();
    names.dedup();
    let wanted: Vec<String> = shown
        .iter()
        .filter(|(_, _, holds)| !holds)
        .map(|(op, _, _)| format!("`{}`", flat.path(op.id)))
        .collect();
    let message = format!(
        "{} can hold cores that {} needs, and wait for ranks where the same happens",
        names.join(" and "),
        if wanted.is_empty() {
            "another".to_owned()
        } else {
            wanted.join(", ")
        },
    );
    let ids = stuck.iter().map(|op| op.id);
    Finding::new(Rule::DeadlockCores, message)
        .about(flat, ids)
        .witness(Witness::Cores(claims(residents, shown)))
        .suggest(
            "limit their cores so that all that can be resident together fit on the die, or order them with an event",
        )
}
