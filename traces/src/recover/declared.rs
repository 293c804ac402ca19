//! What the programs of a schedule use, to be declared.

use std::collections::BTreeSet;

use ascsim_schedules::{Event, EventKind, EventName, Extra, Notify, Owner, Schedule, Stream};
use smol_str::{SmolStr, format_smolstr};

use super::collective::Together;

/// What the programs use, to be declared.
#[derive(Debug, Default)]
pub(super) struct Declared {
    pub(super) streams: BTreeSet<SmolStr>,
    pub(super) events: BTreeSet<EventName>,
    pub(super) notifies: BTreeSet<SmolStr>,
    pub(super) hand_overs: usize,
    /// Whether some notify wait has no record.
    pub(super) open_notifies: bool,
}

impl Declared {
    /// Declares all of it.
    pub(super) fn finish(self, schedule: &mut Schedule, together: Together) {
        let stream = |name| Stream {
            name: SmolStr::into(name),
            owner: Owner::Borrowed,
            priority: None,
            core_limit: None,
            extra: Extra::default(),
        };
        schedule.streams = self.streams.into_iter().map(stream).collect();
        let event = |name| Event {
            name,
            kind: EventKind::Ex,
            extra: Extra::default(),
        };
        let hand_overs = (0..self.hand_overs).map(hand_over);
        schedule.events = self
            .events
            .into_iter()
            .chain(hand_overs)
            .map(event)
            .collect();
        let notify = |name: SmolStr| Notify {
            name: name.into(),
            extra: Extra::default(),
        };
        schedule.notifies = self.notifies.into_iter().map(notify).collect();
        schedule.communicators = together.communicators;
    }
}

/// The event that stands for a hand-over between threads.
pub(super) fn hand_over(number: usize) -> EventName {
    format_smolstr!("hand-over.{number}").into()
}
