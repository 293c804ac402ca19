//! Events: three kinds with rules of their own (the table of facts/acl.md section 3).

use std::sync::Arc;

use crate::emulator::{Session, Unmet};
use crate::fault::{Fault, Outcome, code};
use crate::signal::{Flag, Lease, Record};
use crate::table::Key;
use crate::task::Work;
use crate::world::World;

const SYNC: u32 = 0x1;
const PROGRESS: u32 = 0x2;
const TIME_LINE: u32 = 0x8;
const DEVICE_USE_ONLY: u32 = 0x10;
const EXTERNAL: u32 = 0x20;
const IPC: u32 = 0x40;

/// How long an Ex record waits for a free event id, in ns.
const ID_PATIENCE: u64 = 100_000_000;

/// How an event was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `aclrtCreateEvent`.
    Plain,
    /// `aclrtCreateEventWithFlag`.
    WithFlag,
    /// `aclrtCreateEventExWithFlag`.
    Ex,
}

/// What was recorded last.
#[derive(Debug)]
pub(crate) enum Latest {
    /// Each record is one of its own.
    Record(Option<Arc<Record>>),
    /// All records set one flag.
    Flag(Arc<Flag>),
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) kind: Kind,
    pub(crate) flags: u32,
    pub(crate) latest: Latest,
}

impl Event {
    /// When the latest record was reached; none if there is none or it has not been.
    fn time(&self) -> Option<u64> {
        match &self.latest {
            Latest::Record(record) => record.as_ref()?.time(),
            Latest::Flag(flag) => flag.time(),
        }
    }

    fn was_recorded(&self) -> bool {
        match &self.latest {
            Latest::Record(record) => record.is_some(),
            Latest::Flag(flag) => flag.was_recorded(),
        }
    }

    /// The capture in which it was recorded last.
    pub(crate) fn captured_in(&self) -> Option<u64> {
        match &self.latest {
            Latest::Record(Some(record)) => record.capture,
            _ => None,
        }
    }

    fn has_time_stamps(&self) -> bool {
        self.kind == Kind::Plain || self.flags & TIME_LINE != 0
    }

    fn can_be_waited_for(&self) -> bool {
        self.kind == Kind::Plain || self.flags & (SYNC | EXTERNAL | IPC) != 0
    }
}

fn unsupported<T>(what: &str) -> Outcome<T> {
    Fault::err(
        code::FEATURE_NOT_SUPPORT,
        format!("EE1006: {what} is not supported"),
    )
}

impl World {
    fn lease(&self, device: u32) -> Option<Lease> {
        Lease::take(&self.devices[device as usize].event_ids, self.config.events)
    }

    pub(crate) fn create_event(&mut self, device: u32, kind: Kind, flags: u32) -> Outcome<Key> {
        let bits = SYNC | PROGRESS | TIME_LINE;
        let valid = match kind {
            Kind::Plain => true,
            Kind::WithFlag => {
                flags == EXTERNAL || flags == DEVICE_USE_ONLY || (flags != 0 && flags & !bits == 0)
            }
            Kind::Ex => flags == IPC || (flags != 0 && flags & !bits == 0),
        };
        if !valid {
            return Fault::err(
                code::PARAM_INVALID,
                format!("EE1003: the flags {flags:#x} are not valid for this kind of event"),
            );
        }
        let sticky = kind == Kind::WithFlag && flags & (SYNC | EXTERNAL | DEVICE_USE_ONLY) != 0;
        let latest = if sticky {
            let lease = self.lease(device).ok_or_else(no_event)?;
            Latest::Flag(Flag::new(lease))
        } else {
            Latest::Record(None)
        };
        Ok(self.events.insert(Event {
            kind,
            flags,
            latest,
        }))
    }

    /// Whether the latest record is reached, as `aclrtQueryEventStatus` sees it.
    pub(crate) fn event_is_complete(&self, key: Key) -> Outcome<bool> {
        let event = self.events.get(key)?;
        self.check_uncaptured(event)?;
        if !event.was_recorded() {
            return Ok(event.kind == Kind::Ex);
        }
        Ok(event.time().is_some())
    }

    fn check_uncaptured(&self, event: &Event) -> Outcome {
        match event.captured_in() {
            Some(_) => Fault::err(
                code::EVENT_CAPTURED,
                "EE1017: the event was recorded in a capture",
            ),
            None => Ok(()),
        }
    }

    /// `aclrtQueryEvent` and `aclrtQueryEventWaitStatus`: not for Ex events.
    pub(crate) fn event_query(&self, key: Key) -> Outcome<bool> {
        if self.events.get(key)?.kind == Kind::Ex {
            return unsupported("this query of an Ex event");
        }
        self.event_is_complete(key)
    }

    /// When the event was reached, in ns, on a clock of 50 MHz.
    pub(crate) fn event_time(&self, key: Key) -> Outcome<u64> {
        let event = self.events.get(key)?;
        if !event.has_time_stamps() {
            return Fault::err(
                code::EVENT_TIMESTAMP_INVALID,
                "EE1011: the event was created without ACL_EVENT_TIME_LINE",
            );
        }
        let time = event.time().ok_or_else(|| {
            Fault::new(
                code::EVENT_TIMESTAMP_INVALID,
                "EE1011: the event has not been recorded, or the record is not reached",
            )
        })?;
        Ok(time / 20 * 20)
    }
}

fn no_event() -> Fault {
    Fault::new(
        code::NO_EVENT_RESOURCE,
        "EE1023: too many events are in use",
    )
}

impl Session<'_> {
    /// `aclrtRecordEvent`, with the flag EXTERNAL or not.
    pub(crate) fn record_event(&mut self, key: Key, stream_key: Key, external: bool) -> Outcome {
        let stream = self.streams.get(stream_key)?;
        let (capture, id, device) = (stream.capture, stream.id, stream.device);
        let event = self.events.get(key)?;
        let (kind, flags) = (event.kind, event.flags);
        let external = external && self.check_external(kind, flags)?;
        if capture.is_some() {
            let capturable = match kind {
                Kind::Plain => false,
                Kind::WithFlag => flags == EXTERNAL,
                Kind::Ex => flags & SYNC != 0,
            };
            if !capturable {
                return unsupported("recording this kind of event in a capture");
            }
        }
        if let Latest::Flag(flag) = &self.events.get(key)?.latest {
            let work = Work::SetFlag(Arc::clone(flag));
            return self.enqueue(stream_key, work);
        }
        if capture.is_some() && external {
            return self.enqueue(stream_key, Work::RecordExternal(key));
        }
        let needs_id = kind == Kind::Plain || flags & (SYNC | IPC) != 0;
        let lease = match (needs_id, capture) {
            (true, None) => {
                let lease = self.wait(Some(ID_PATIENCE), |world| world.lease(device));
                Some(lease.map_err(|_| no_event())?)
            }
            _ => None,
        };
        let record = Record::new(stream_key, id, capture, lease);
        if let Latest::Record(latest) = &mut self.events.get_mut(key)?.latest {
            *latest = Some(Arc::clone(&record));
        }
        self.enqueue(stream_key, Work::Record(record))
    }

    fn check_external(&self, kind: Kind, flags: u32) -> Outcome<bool> {
        if kind != Kind::Ex || flags & SYNC == 0 {
            return unsupported("the flag EXTERNAL on anything but an Ex event with SYNC");
        }
        if self.config.old_firmware {
            return unsupported("an external event of a graph on this firmware");
        }
        Ok(true)
    }

    /// `aclrtStreamWaitEvent`, with a time-out in ns (0 for none) and the flag EXTERNAL or not.
    pub(crate) fn wait_event(
        &mut self,
        stream_key: Key,
        key: Key,
        timeout: u64,
        external: bool,
    ) -> Outcome {
        let stream = self.streams.get(stream_key)?;
        let (capture, id) = (stream.capture, stream.id);
        let event = self.events.get(key)?;
        let (kind, flags) = (event.kind, event.flags);
        let timeout = if timeout == 0 {
            self.wait_timeout
        } else {
            Some(timeout)
        };
        let external = external && self.check_external(kind, flags)?;
        if !event.can_be_waited_for() {
            return unsupported("a wait for an event without ACL_EVENT_SYNC");
        }
        let record = match &event.latest {
            Latest::Flag(flag) => {
                if capture.is_some() && flags != EXTERNAL {
                    return unsupported("waiting for this kind of event in a capture");
                }
                let work = Work::WaitFlag(Arc::clone(flag), timeout);
                return self.enqueue(stream_key, work);
            }
            Latest::Record(record) => record.clone(),
        };
        if capture.is_some() && kind == Kind::Plain {
            return unsupported("waiting for this kind of event in a capture");
        }
        if capture.is_some() && external {
            return self.enqueue(stream_key, Work::WaitExternal(key));
        }
        let Some(record) = record else {
            return match kind {
                Kind::Ex => Ok(()),
                _ => Fault::err(
                    code::PARAM_INVALID,
                    "EE1018: the event has not been recorded",
                ),
            };
        };
        if let Some(serial) = record.capture {
            return self.wait_captured(serial, stream_key, &record);
        }
        if capture.is_some() {
            return Fault::err(
                code::CAPTURE_DEPENDENCY,
                "EE1017: the event was recorded outside the capture",
            );
        }
        // The runtime takes streams of one id for one stream, even on different devices.
        let same_stream = kind == Kind::Ex && record.stream_id == id;
        if record.time().is_some() || same_stream {
            return Ok(());
        }
        self.enqueue(stream_key, Work::Wait(record, timeout))
    }

    /// `aclrtResetEvent`.
    pub(crate) fn reset_event(&mut self, key: Key, stream_key: Key) -> Outcome {
        let capture = self.streams.get(stream_key)?.capture;
        let event = self.events.get(key)?;
        let flag = match &event.latest {
            Latest::Flag(flag) if capture.is_none() || event.flags == EXTERNAL => Arc::clone(flag),
            _ => return unsupported("resetting this event"),
        };
        self.enqueue(stream_key, Work::ResetFlag(flag))
    }

    /// `aclrtSynchronizeEventWithTimeout`, in ns.
    pub(crate) fn synchronise_event(&mut self, key: Key, timeout: Option<u64>) -> Outcome {
        let event = self.events.get(key)?;
        self.check_uncaptured(event)?;
        if !event.was_recorded() {
            return Ok(());
        }
        // The record of the time of the call, even if the event is recorded again meanwhile.
        let record = match &event.latest {
            Latest::Record(record) => record.clone(),
            Latest::Flag(_) => None,
        };
        let stream = record.as_ref().map(|record| record.stream);
        let aborts = |world: &World| {
            stream
                .and_then(|key| world.streams.get(key).ok())
                .map(|stream| stream.aborts)
        };
        let before = aborts(self);
        let waited = self.wait(timeout, |world| {
            let done = match &record {
                Some(record) => record.time().is_some(),
                None => world
                    .events
                    .get(key)
                    .is_ok_and(|event| event.time().is_some()),
            };
            if done {
                return Some(Ok(()));
            }
            let aborted = aborts(world) != before;
            aborted.then(|| Fault::err(code::STREAM_ABORT, "EE1019: the stream was aborted"))
        });
        match waited {
            Ok(outcome) => outcome,
            Err(Unmet::TimedOut) => Fault::err(
                code::EVENT_SYNC_TIMEOUT,
                "EE1002: synchronising the event timed out",
            ),
            Err(Unmet::Deadlock) => Fault::err(code::INTERNAL, DEADLOCK),
        }
    }
}

/// The message where nothing that is waited for can happen any more.
pub(crate) const DEADLOCK: &str = "deadlock: every host thread waits, and no device can go on";
