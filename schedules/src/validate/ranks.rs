//! Checks of ranks, their devices and their overrides.

use std::collections::HashSet;

use super::Checker;
use super::cost::MOST_AMOUNT;
use super::problem::{Noun, ProblemKind};
use crate::ir::{Device, OpKind, Override, Peer, RankGroup, Schedule};
use crate::path::At;

/// The most ranks of a schedule, and the first number that is no rank.
pub const MOST_RANKS: u32 = 1 << 20;

/// The ranks of a schedule as half-open ranges, sorted and joined.
#[derive(Debug)]
pub(super) struct RankSet(Vec<(u32, u32)>);

impl RankSet {
    pub(super) fn of(schedule: &Schedule) -> Self {
        let ranges = schedule.ranks.iter().map(range);
        let mut ranges: Vec<_> = ranges.filter(|(first, end)| first < end).collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, last| {
            let joined = next.0 <= last.1;
            if joined {
                last.1 = last.1.max(next.1);
            }
            joined
        });
        Self(ranges)
    }

    pub(super) fn contains(&self, rank: u32) -> bool {
        let next = self.0.partition_point(|(first, _)| *first <= rank);
        next > 0 && rank < self.0[next - 1].1
    }
}

/// First rank and the one behind the last.
fn range(group: &RankGroup) -> (u32, u32) {
    (group.first, group.first.saturating_add(group.count))
}

impl<'a> Checker<'a> {
    pub(super) fn rank_groups(&mut self) {
        let schedule = self.schedule;
        let list = At::ROOT.field("ranks");
        let mut sound = true;
        for (index, group) in schedule.ranks.iter().enumerate() {
            let at = list.item(index);
            let (first, count) = (group.first, group.count);
            if count == 0 {
                self.report(&at.field("count"), ProblemKind::NoRanks);
            }
            if first.checked_add(count).is_none_or(|end| end > MOST_RANKS) {
                let most = MOST_RANKS;
                self.report(&at, ProblemKind::TooManyRanks { first, count, most });
                sound = false;
            }
            if let Some(program) = &group.program {
                self.captured(&at.field("program"), program, false);
            }
            let devices = group.devices.len();
            if devices != 0 && usize::try_from(count) != Ok(devices) {
                let ranks = count;
                let problem = ProblemKind::DeviceCount { devices, ranks };
                self.report(&at.field("devices"), problem);
                sound = false;
            }
            self.overrides(&at, group);
        }
        if self.disjoint() && sound {
            self.devices();
        }
    }

    /// Whether every rank is in one group; reports it otherwise.
    fn disjoint(&mut self) -> bool {
        let schedule = self.schedule;
        let list = At::ROOT.field("ranks");
        let numbered = schedule.ranks.iter().map(range).enumerate();
        let mut sorted: Vec<_> = numbered.filter(|(_, (first, end))| first < end).collect();
        sorted.sort_by_key(|(index, range)| (*range, *index));
        let mut disjoint = true;
        let mut taken = 0;
        for (index, (first, end)) in sorted {
            if first < taken {
                disjoint = false;
                self.report(&list.item(index), ProblemKind::RankTwice(first));
            }
            taken = taken.max(end);
        }
        disjoint
    }

    /// One die is one rank.
    fn devices(&mut self) {
        let schedule = self.schedule;
        let list = At::ROOT.field("ranks");
        let mut taken = HashSet::new();
        for (index, group) in schedule.ranks.iter().enumerate() {
            let at = list.item(index);
            let at = at.field("devices");
            let (first, end) = range(group);
            for (index, rank) in (first..end).enumerate() {
                let device = group.devices.get(index).copied();
                if !taken.insert(device.unwrap_or_else(|| Device::of_rank(rank))) {
                    self.report(&at.item(index), ProblemKind::SharedDevice(rank));
                }
            }
        }
    }

    fn overrides(&mut self, at: &At<'_>, group: &'a RankGroup) {
        let list = at.field("overrides");
        if group.program.is_none() && !group.overrides.is_empty() {
            self.report(&list, ProblemKind::OverrideExternal);
        }
        let (first, end) = range(group);
        let mut seen = HashSet::new();
        for (index, entry) in group.overrides.iter().enumerate() {
            let at = list.item(index);
            let rank = entry.rank;
            if !(first..end).contains(&rank) {
                let problem = ProblemKind::OverrideElsewhere(rank);
                self.report(&at.field("rank"), problem);
            }
            if !seen.insert((rank, &entry.program, &entry.op)) {
                let op = entry.op.as_str().into();
                self.report(&at, ProblemKind::OverrideTwice { rank, op });
            }
            self.override_target(&at, entry);
            self.override_values(&at, entry);
        }
    }

    /// The op exists, and its kind has what is overridden.
    fn override_target(&mut self, at: &At<'_>, entry: &Override) {
        let name = entry.program.as_str();
        let Some(&(program, ops)) = self.names.programs.get(name) else {
            return self.undeclared(&at.field("program"), Noun::Program, name);
        };
        let Some(&op) = self.ops[program].get(entry.op.as_str()) else {
            return self.undeclared(&at.field("op"), Noun::Op, entry.op.as_str());
        };
        let op = &ops.ops[op];
        let kind = op.kind.name();
        let has_bytes =
            op.comm.is_some() || matches!(op.kind, OpKind::Copy(_) | OpKind::Prefetch(_));
        if entry.bytes.is_some() && !has_bytes {
            self.unused(&at.field("bytes"), "bytes", kind);
        }
        let has_peer = matches!(op.kind, OpKind::NotifyRecord(_) | OpKind::ValueWrite(_));
        if entry.peer.is_some() && !has_peer {
            self.unused(&at.field("peer"), "peer", kind);
        }
    }

    fn override_values(&mut self, at: &At<'_>, entry: &'a Override) {
        if let Some(duration) = &entry.duration {
            self.time(&at.field("duration"), duration);
        }
        if let Some(issue) = &entry.issue {
            self.time(&at.field("issue"), issue);
        }
        if let Some(delay) = &entry.delay {
            self.delay(&at.field("delay"), delay);
        }
        if let Some(bytes) = &entry.bytes {
            self.amount(&at.field("bytes"), bytes, MOST_AMOUNT);
        }
        if let Some(peer) = &entry.peer {
            let at = at.field("peer");
            self.peer(&at, peer);
            if let Peer::Member { communicator, .. } = peer
                && let Some(members) = self.members.get(communicator.as_str())
                && members.binary_search(&entry.rank).is_err()
            {
                self.report(
                    &at,
                    ProblemKind::NotAMember {
                        rank: entry.rank,
                        communicator: communicator.as_str().into(),
                    },
                );
            }
        }
    }

    pub(super) fn rank_exists(&mut self, at: &At<'_>, rank: u32) {
        if !self.ranks.contains(rank) {
            self.report(at, ProblemKind::UnknownRank(rank));
        }
    }
}
