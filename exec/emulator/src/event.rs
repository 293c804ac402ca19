//! Events: three kinds with rules of their own (the table of facts/acl.md section 3).

use std::sync::Arc;

use crate::emulator::{Session, Unmet};
use crate::fault::{Fault, Outcome, code};
use crate::signal::{Flag, Lease, Record};
use crate::table::Key;
use crate::task::Work;
use crate::world::{Stream, World};

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

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) kind: Kind,
    pub(crate) flags: u32,
    /// The latest record.
    pub(crate) latest: Option<Arc<Record>>,
    /// Set for the events whose records all set one flag.
    pub(crate) flag: Option<Arc<Flag>>,
    /// The latest record made in a capture that has not ended.
    pub(crate) captured: Option<Arc<Record>>,
}

impl Event {
    /// When the latest record was reached; none if there is none or it has not been.
    fn time(&self) -> Option<u64> {
        self.latest.as_ref()?.time()
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
        let flag = if sticky {
            let lease = self.lease(device).ok_or_else(no_event)?;
            Some(Flag::new(lease))
        } else {
            None
        };
        Ok(self.events.insert(Event {
            kind,
            flags,
            latest: None,
            flag,
            captured: None,
        }))
    }

    /// Whether the latest record is reached, as `aclrtQueryEventStatus` sees it.
    pub(crate) fn event_is_complete(&self, key: Key) -> Outcome<bool> {
        let event = self.events.get(key)?;
        self.check_uncaptured(event)?;
        if event.latest.is_none() {
            return Ok(event.kind == Kind::Ex);
        }
        Ok(event.time().is_some())
    }

    fn check_uncaptured(&self, event: &Event) -> Outcome {
        match event.captured {
            Some(_) => Fault::err(
                code::EVENT_CAPTURED,
                "EE1017: the event was recorded in a capture",
            ),
            None => Ok(()),
        }
    }

    /// `aclrtQueryEvent` and `aclrtQueryEventWaitStatus`: not for Ex events.
    pub(crate) fn event_query(&self, key: Key) -> Outcome<bool> {
        self.check_uncaptured(self.events.get(key)?)?;
        if self.events.get(key)?.kind == Kind::Ex {
            return unsupported("this query of an Ex event");
        }
        self.event_is_complete(key)
    }

    /// `aclrtQueryEventWaitStatus`: whether no stream waits for the event.
    pub(crate) fn event_waits_are_over(&self, key: Key) -> Outcome<bool> {
        self.event_query(key)?;
        let event = self.events.get(key)?;
        let waits = |work: &Work| match (work, &event.flag) {
            (Work::Wait(record, _), _) => record.event == key,
            (Work::WaitFlag(of, _), Some(flag)) => Arc::ptr_eq(of, flag),
            _ => false,
        };
        let queued = |stream: &Stream| stream.queue.iter().any(|task| waits(&task.work));
        Ok(!self.streams.iter().any(|(_, stream)| queued(stream)))
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
        if let Some(flag) = self.events.get(key)?.flag.clone() {
            let record = Record::new(key, stream_key, id, capture, None);
            if capture.is_none() {
                self.events.get_mut(key)?.latest = Some(Arc::clone(&record));
            }
            return self.enqueue(stream_key, Work::SetFlag(flag, record));
        }
        if let (Some(serial), true) = (capture, external) {
            self.use_external(serial, key)?;
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
        let record = Record::new(key, stream_key, id, capture, lease);
        let event = self.events.get_mut(key)?;
        event.captured = capture.map(|_| Arc::clone(&record));
        if capture.is_none() {
            event.latest = Some(Arc::clone(&record));
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
        let record = event.latest.clone();
        if let Some(flag) = &event.flag {
            if capture.is_some() && flags != EXTERNAL {
                return unsupported("waiting for this kind of event in a capture");
            }
            let work = Work::WaitFlag(Arc::clone(flag), timeout);
            return self.enqueue(stream_key, work);
        }
        let captured = event.captured.clone();
        if capture.is_some() && kind == Kind::Plain {
            return unsupported("waiting for this kind of event in a capture");
        }
        if let (Some(serial), true) = (capture, external) {
            self.use_external(serial, key)?;
            return self.enqueue(stream_key, Work::WaitExternal(key));
        }
        if let Some(record) = captured
            && let Some(serial) = record.capture
        {
            return self.wait_captured(serial, stream_key, &record);
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
        let flag = match &event.flag {
            Some(flag) if capture.is_none() || event.flags == EXTERNAL => Arc::clone(flag),
            _ => return unsupported("resetting this event"),
        };
        self.enqueue(stream_key, Work::ResetFlag(flag))
    }

    /// `aclrtSynchronizeEventWithTimeout`, in ns.
    pub(crate) fn synchronise_event(&mut self, key: Key, timeout: Option<u64>) -> Outcome {
        let event = self.events.get(key)?;
        self.check_uncaptured(event)?;
        // The record of the time of the call, even if the event is recorded again meanwhile.
        let Some(record) = event.latest.clone() else {
            return Ok(());
        };
        let stream = record.stream;
        let aborts = |world: &World| {
            let stream = world.streams.get(stream).ok();
            stream.map(|stream| stream.aborts)
        };
        let before = aborts(self);
        let waited = self.wait(timeout, |world| {
            if record.time().is_some() {
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
