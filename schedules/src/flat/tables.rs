//! Names to dense numbers.

use std::collections::HashMap;
use std::hash::Hash;

use crate::ir::Schedule;

/// Where the names of a schedule are declared.
#[derive(Debug)]
pub(super) struct Tables<'s> {
    pub(super) streams: HashMap<&'s str, usize>,
    pub(super) events: HashMap<&'s str, usize>,
    pub(super) notifies: HashMap<&'s str, usize>,
    pub(super) buffers: HashMap<&'s str, usize>,
    pub(super) communicators: HashMap<&'s str, usize>,
    pub(super) programs: HashMap<&'s str, usize>,
    /// Per communicator: where each rank is, as group and position.
    pub(super) places: Vec<HashMap<u32, (usize, usize)>>,
    /// Per buffer: its root, and where it starts there.
    roots: Vec<(usize, u64)>,
}

impl<'s> Tables<'s> {
    pub(super) fn new(schedule: &'s Schedule) -> Self {
        let buffers = index(schedule.buffers.iter().map(|b| b.name.as_str()));
        Self {
            streams: index(schedule.streams.iter().map(|s| s.name.as_str())),
            events: index(schedule.events.iter().map(|e| e.name.as_str())),
            notifies: index(schedule.notifies.iter().map(|n| n.name.as_str())),
            communicators: index(schedule.communicators.iter().map(|c| c.name.as_str())),
            programs: index(schedule.programs.iter().map(|p| p.name.as_str())),
            places: schedule
                .communicators
                .iter()
                .map(|communicator| places(&communicator.groups))
                .collect(),
            roots: roots(schedule, &buffers),
            buffers,
        }
    }

    /// The word at `offset` of a buffer, as root buffer and offset there.
    pub(super) fn word(&self, buffer: usize, offset: u64) -> (usize, u64) {
        let (root, start) = self.roots[buffer];
        (root, start.saturating_add(offset))
    }
}

fn index<'s>(names: impl Iterator<Item = &'s str>) -> HashMap<&'s str, usize> {
    names.enumerate().map(|(at, name)| (name, at)).collect()
}

fn places(groups: &[Vec<u32>]) -> HashMap<u32, (usize, usize)> {
    let mut places = HashMap::new();
    for (group, ranks) in groups.iter().enumerate() {
        for (position, &rank) in ranks.iter().enumerate() {
            places.insert(rank, (group, position));
        }
    }
    places
}

fn roots(schedule: &Schedule, buffers: &HashMap<&str, usize>) -> Vec<(usize, u64)> {
    let resolve = |mut at: usize| {
        let mut start = 0u64;
        // A chain of views is shorter than the list of buffers, unless it is a circle.
        for _ in 0..schedule.buffers.len() {
            let Some(view) = &schedule.buffers[at].view else {
                break;
            };
            let Some(&of) = buffers.get(view.of.as_str()) else {
                break;
            };
            start = start.saturating_add(view.offset);
            at = of;
        }
        (at, start)
    };
    (0..schedule.buffers.len()).map(resolve).collect()
}

/// Numbers keys in the order of their first use.
#[derive(Debug)]
pub(super) struct Interner<K> {
    numbers: HashMap<K, usize>,
    keys: Vec<K>,
}

impl<K: Copy + Eq + Hash> Interner<K> {
    pub(super) fn new() -> Self {
        Self {
            numbers: HashMap::new(),
            keys: Vec::new(),
        }
    }

    pub(super) fn number(&mut self, key: K) -> usize {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() - 1
        })
    }

    pub(super) fn into_keys(self) -> Vec<K> {
        self.keys
    }
}
