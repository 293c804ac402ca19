//! Which instances are members of one collective.

use std::collections::HashMap;

use super::unroll::Unrolled;
use super::{CollectiveId, FlatError, InstanceId};
use crate::ir::{CollectiveKind, Communicator, Schedule};

/// One collective over all its members, or one send with its receive.
#[derive(Clone, Debug)]
pub struct Collective<'s> {
    /// The communicator.
    pub communicator: &'s Communicator,
    /// Which group of it.
    pub group: usize,
    /// How many collectives of this group (or messages between these two ranks) come before it.
    pub nth: usize,
    /// What its first member calls it.
    pub kind: CollectiveKind,
    /// Members on external ranks, whose arrival is unknown.
    pub external: usize,
    /// Ranks that run a program but issue too few collectives: it never completes.
    pub missing: Vec<u32>,
    /// The first member that issues another kind than [`kind`](Self::kind).
    pub mismatch: Option<InstanceId>,
    pub(super) members: Vec<InstanceId>,
}

impl Collective<'_> {
    /// The known members, in order of rank.
    pub fn members(&self) -> &[InstanceId] {
        &self.members
    }

    /// Whether it can complete: no member is missing, and all mean the same collective.
    pub fn completes(&self) -> bool {
        self.missing.is_empty() && self.mismatch.is_none()
    }
}

/// What counts collectives: those of a group, and messages from one rank to another.
type Key = (usize, usize, Option<(u32, u32)>);

/// Matches the k-th of every member, and the k-th send with the k-th receive of each pair of ranks.
pub(super) fn match_members<'s>(
    schedule: &'s Schedule,
    unrolled: &mut Unrolled<'s>,
) -> Result<Vec<Collective<'s>>, FlatError> {
    let mut collectives: Vec<Collective<'s>> = Vec::new();
    let mut by_key: HashMap<Key, Vec<CollectiveId>> = HashMap::new();
    let mut next: HashMap<Key, usize> = HashMap::new();
    let mut rank = None;
    for index in 0..unrolled.instances.len() {
        let instance = unrolled.instances[index];
        if rank != Some(instance.rank) {
            rank = Some(instance.rank);
            next.clear();
        }
        let Some(comm) = &instance.op.comm else {
            continue;
        };
        let path = || super::unroll::path(&unrolled.frames, instance.frame, instance.op);
        let name = comm.communicator.as_str();
        let &number =
            unrolled
                .tables
                .communicators
                .get(name)
                .ok_or_else(|| FlatError::Unknown {
                    rank: instance.rank,
                    path: path(),
                    what: "communicator",
                    name: name.to_owned(),
                })?;
        let communicator = &schedule.communicators[number];
        let not_a_member = || FlatError::NotAMember {
            rank: instance.rank,
            path: path(),
            communicator: name.to_owned(),
        };
        let &(group, _) = unrolled.tables.places[number]
            .get(&instance.rank)
            .ok_or_else(not_a_member)?;
        let ranks = &communicator.groups[group];
        let pair = match comm.kind {
            CollectiveKind::Send | CollectiveKind::Receive => {
                let peer = comm.peer.and_then(|peer| ranks.get(peer as usize));
                let &peer = peer.ok_or_else(not_a_member)?;
                Some(match comm.kind {
                    CollectiveKind::Send => (instance.rank, peer),
                    _ => (peer, instance.rank),
                })
            }
            _ => None,
        };
        let key = (number, group, pair);
        let nth = next.entry(key).or_default();
        let known = by_key.entry(key).or_default();
        let id = match known.get(*nth) {
            Some(&id) => id,
            None => {
                let id = CollectiveId::new(collectives.len());
                known.push(id);
                collectives.push(Collective {
                    communicator,
                    group,
                    nth: *nth,
                    kind: comm.kind,
                    external: 0,
                    missing: Vec::new(),
                    mismatch: None,
                    members: Vec::new(),
                });
                id
            }
        };
        *nth += 1;
        let collective = &mut collectives[id.index()];
        collective.members.push(InstanceId::new(index));
        if pair.is_none() && comm.kind != collective.kind && collective.mismatch.is_none() {
            collective.mismatch = Some(InstanceId::new(index));
        }
        unrolled.instances[index].collective = Some(id);
    }
    for (&(number, group, pair), ids) in &by_key {
        let expected = match pair {
            Some((from, to)) => vec![from, to],
            None => schedule.communicators[number].groups[group].clone(),
        };
        let runs = |rank: &u32| unrolled.ranks.binary_search_by_key(rank, |r| r.0).is_ok();
        let (known, external): (Vec<u32>, Vec<u32>) = expected.into_iter().partition(runs);
        for id in ids {
            let collective = &mut collectives[id.index()];
            collective.external = external.len();
            if collective.members.len() < known.len() {
                let present: Vec<u32> = collective
                    .members
                    .iter()
                    .map(|member| unrolled.instances[member.index()].rank)
                    .collect();
                collective.missing = known
                    .iter()
                    .copied()
                    .filter(|rank| !present.contains(rank))
                    .collect();
            }
        }
    }
    Ok(collectives)
}
