//! What waits and host synchronisations of events bind to when they are issued
//! (facts/acl.md sections 3 and 10).

use super::unroll::Unrolled;
use super::{EventId, InstanceId, Role, Target};
use crate::ir::{EventKind, HostKind, OpKind, Schedule, SyncTarget};

/// What an op on an event does, as decided when it is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// It is met when this record is done.
    Record(InstanceId),
    /// An `ex` wait on the stream of its record: nothing is queued, stream order does it.
    SameStream(InstanceId),
    /// Nothing was recorded before: an `ex` wait is dropped silently, a host synchronisation returns
    /// at once.
    Unrecorded,
    /// The event is a flag (`sync`, `external`): a wait is met whenever the flag is set.
    Flag,
    /// A record that waits bind to.
    Recorded,
    /// ACL refuses the call, and nothing is queued.
    Refused(Refusal),
}

/// Why ACL refuses an op on an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Refusal {
    /// A wait for a `default` event before any record of it.
    #[error("a `default` event cannot be waited for before it is recorded")]
    NotRecorded,
    /// A wait for a `timeline` event.
    #[error("a stream cannot wait for a `timeline` event")]
    NotWaitable,
    /// A `default` or `sync` event inside a captured program.
    #[error("`default` and `sync` events cannot be captured")]
    NotCapturable,
    /// A reset of an event that is no flag.
    #[error("only `sync` and `external` events can be reset")]
    NotResettable,
}

/// The binding of every instance; `None` for those that use no event.
pub(super) fn bind(
    schedule: &Schedule,
    unrolled: &Unrolled<'_>,
    events: &[(u32, usize)],
) -> Vec<Option<Binding>> {
    let mut binder = Binder {
        outside: vec![None; events.len()],
        inside: vec![None; events.len()],
        leaving: Vec::new(),
        launch: None,
    };
    let kind = |event: EventId| schedule.events[events[event.index()].1].kind;
    let mut bindings = vec![None; unrolled.instances.len()];
    for (index, instance) in unrolled.instances.iter().enumerate() {
        let id = InstanceId::new(index);
        let launch = match instance.role {
            Role::Issued => None,
            Role::Replayed => instance.parent,
            // Parts use no events.
            Role::Part => continue,
        };
        binder.enter(launch);
        let Target::Event(event) = instance.target else {
            continue;
        };
        let captured = launch.is_some();
        let kind = kind(event);
        let same_stream = |record: InstanceId| {
            kind == EventKind::Ex && unrolled.instances[record.index()].stream == instance.stream
        };
        let refused = captured && matches!(kind, EventKind::Default | EventKind::Sync);
        bindings[index] = Some(match &instance.op.kind {
            _ if refused => Binding::Refused(Refusal::NotCapturable),
            OpKind::Record(record) => {
                // What a host synchronisation of a flag that a graph records waits for is not known;
                // it is taken to return.
                if !(captured && kind.is_flag()) {
                    binder.record(event, id, captured && !record.external);
                }
                if kind.is_flag() {
                    Binding::Flag
                } else {
                    Binding::Recorded
                }
            }
            OpKind::Host(HostKind::RecordExternal { .. }) => {
                binder.record(event, id, false);
                if kind.is_flag() {
                    Binding::Flag
                } else {
                    Binding::Recorded
                }
            }
            OpKind::Host(HostKind::Synchronise(SyncTarget::Event(_))) => binder
                .latest(event, false)
                .map_or(Binding::Unrecorded, Binding::Record),
            OpKind::EventReset(_) if kind.is_flag() => Binding::Flag,
            OpKind::EventReset(_) => Binding::Refused(Refusal::NotResettable),
            OpKind::Wait(_) if kind.is_flag() => Binding::Flag,
            OpKind::Wait(_) if kind == EventKind::Timeline => {
                Binding::Refused(Refusal::NotWaitable)
            }
            OpKind::Wait(wait) => match binder.latest(event, captured && !wait.external) {
                Some(record) if same_stream(record) => Binding::SameStream(record),
                Some(record) => Binding::Record(record),
                None if kind == EventKind::Default => Binding::Refused(Refusal::NotRecorded),
                None => Binding::Unrecorded,
            },
            _ => continue,
        });
    }
    bindings
}

struct Binder {
    /// Per event: its latest record outside graphs, external records of graphs included.
    outside: Vec<Option<InstanceId>>,
    /// Per event: its latest record inside a launch, with that launch.
    inside: Vec<Option<(InstanceId, InstanceId)>>,
    /// Records of the current launch that count outside once it is issued.
    leaving: Vec<(EventId, InstanceId)>,
    launch: Option<InstanceId>,
}

impl Binder {
    fn enter(&mut self, launch: Option<InstanceId>) {
        if self.launch != launch {
            for (event, record) in self.leaving.drain(..) {
                self.outside[event.index()] = Some(record);
            }
            self.launch = launch;
        }
    }

    fn record(&mut self, event: EventId, record: InstanceId, stays_inside: bool) {
        match self.launch {
            None => self.outside[event.index()] = Some(record),
            Some(launch) if stays_inside => {
                self.inside[event.index()] = Some((launch, record));
            }
            Some(_) => self.leaving.push((event, record)),
        }
    }

    fn latest(&self, event: EventId, inside: bool) -> Option<InstanceId> {
        if !inside {
            return self.outside[event.index()];
        }
        self.inside[event.index()]
            .filter(|&(launch, _)| Some(launch) == self.launch)
            .map(|(_, record)| record)
    }
}
