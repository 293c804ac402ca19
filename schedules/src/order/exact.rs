//! Where the relation is exact, and where only sound.

use super::chains::Chains;
use super::require::Point;
use super::signal::{Signal, Signals};
use super::solve::Pass;
use crate::flat::InstanceId;

/// The waits whose result depends on the interleaving: what is claimed of them holds in every run, but
/// more may hold.
pub(super) fn inexact(chains: &Chains, signals: &Signals, pass: &Pass) -> Vec<InstanceId> {
    let mut found = Vec::new();
    for signal in signals.all.iter().filter(|signal| !signal.external) {
        let judge = Judge {
            chains,
            pass,
            signal,
        };
        if !signal.takers.is_empty() {
            if !judge.alternates() {
                found.extend(&signal.waits);
            }
        } else {
            found.extend(
                signal
                    .waits
                    .iter()
                    .copied()
                    .filter(|&wait| !judge.stays_up(wait)),
            );
        }
    }
    found.sort_unstable();
    found
}

struct Judge<'a> {
    chains: &'a Chains,
    pass: &'a Pass,
    signal: &'a Signal,
}

impl Judge<'_> {
    fn before(&self, first: InstanceId, second: InstanceId) -> bool {
        self.pass
            .knows(self.chains, Point::start(second).node(), first)
    }

    fn runs(&self, id: InstanceId) -> bool {
        self.pass.happens(Point::start(id).node())
    }

    /// A total order of these instances, if they have one.
    fn in_order(&self, ids: impl Iterator<Item = InstanceId>) -> Option<Vec<InstanceId>> {
        let mut ids: Vec<InstanceId> = ids.filter(|&id| self.runs(id)).collect();
        // An order that respects the relation, if there is a total one: by how many come before.
        if self.signal.setters.0.len() > 1 || self.signal.takers.0.len() > 1 {
            let rank = |id: &InstanceId| ids.iter().filter(|&&o| self.before(o, *id)).count();
            let mut ranked: Vec<(usize, InstanceId)> =
                ids.iter().map(|id| (rank(id), *id)).collect();
            ranked.sort_unstable();
            ids = ranked.into_iter().map(|(_, id)| id).collect();
        }
        ids.windows(2)
            .all(|pair| self.before(pair[0], pair[1]))
            .then_some(ids)
    }

    /// A notify: one wait, or records and waits in turn, so that no record is lost.
    fn alternates(&self) -> bool {
        if self.signal.waits.len() == 1 {
            return true;
        }
        let waits = self.signal.waits.iter().copied();
        // Waits that never run take nothing.
        let (Some(waits), Some(records)) = (
            self.in_order(waits),
            self.in_order(self.signal.setters.all()),
        ) else {
            return false;
        };
        let last = waits.len().saturating_sub(1);
        waits[..last].iter().zip(records.iter().skip(1)).all(|(&wait, &next)| self.before(wait, next))
            // A wait that never runs could take what others wait for.
            && self.stuck_waits_come_last(&waits)
    }

    fn stuck_waits_come_last(&self, running: &[InstanceId]) -> bool {
        let stuck = || self.signal.waits.iter().filter(|&&wait| !self.runs(wait));
        stuck().next().is_none() || {
            let setters = self
                .signal
                .setters
                .all()
                .filter(|&op| self.runs(op))
                .count();
            setters <= running.len()
        }
    }

    /// A flag event or word: once it is up, it stays up until the wait is met.
    fn stays_up(&self, wait: InstanceId) -> bool {
        let candidates = || {
            let setters = self.signal.setters.all();
            setters.filter(|&op| self.runs(op) && !self.before(wait, op))
        };
        let clearers = self.signal.clearers.all().filter(|&op| self.runs(op));
        let mut clearers = clearers.filter(|&op| !self.before(wait, op)).peekable();
        if !self.runs(wait) {
            // It never is, whatever comes first: no setter runs, and it is not up at the start.
            return candidates().next().is_none() && !self.signal.initially;
        }
        if clearers.peek().is_none() {
            return true;
        }
        clearers.all(|clearer| {
            self.before(clearer, wait)
                && candidates().all(|op| self.before(clearer, op) || self.before(op, clearer))
        })
    }
}
