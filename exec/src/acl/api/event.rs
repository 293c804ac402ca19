//! Events, notifies and words (facts/acl.md sections 3 to 5).

use super::device::milliseconds;
use super::{Acl, AclError, DeviceMemory, Stream, call, handles};
use crate::acl::value;

handles! {
    /// An event.
    Event;
    /// A notify.
    Notify;
}

/// Flags of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventFlags(pub u32);

impl EventFlags {
    /// Streams can wait for it.
    pub const SYNC: Self = Self(value::ACL_EVENT_SYNC);
    /// It takes time stamps.
    pub const TIME_LINE: Self = Self(value::ACL_EVENT_TIME_LINE);
    /// Streams can wait for it, and it takes time stamps.
    pub const SYNC_TIME_LINE: Self = Self(Self::SYNC.0 | Self::TIME_LINE.0);
    /// A captured graph can wait for it and reset it.
    pub const EXTERNAL: Self = Self(value::ACL_EVENT_EXTERNAL);
}

/// Answers of the queries, whose numbers differ from each other (facts/acl.md section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryStatus {
    /// The latest record is reached.
    Complete,
    /// It is not.
    NotReady,
}

impl Acl {
    /// `aclrtCreateEvent`
    pub fn create_event(&self) -> Result<Event, AclError> {
        let mut event = 0;
        call!(self, aclrtCreateEvent(&raw mut event))?;
        Ok(Event(event))
    }

    /// `aclrtCreateEventWithFlag`: a sticky flag.
    pub fn create_event_with_flag(&self, flags: EventFlags) -> Result<Event, AclError> {
        let mut event = 0;
        call!(self, aclrtCreateEventWithFlag(&raw mut event, flags.0))?;
        Ok(Event(event))
    }

    /// `aclrtCreateEventExWithFlag`: a wait binds to the latest record issued before it.
    pub fn create_event_ex(&self, flags: EventFlags) -> Result<Event, AclError> {
        let mut event = 0;
        call!(self, aclrtCreateEventExWithFlag(&raw mut event, flags.0))?;
        Ok(Event(event))
    }

    /// Destroys an event; what is queued goes on.
    pub fn destroy_event(&self, event: Event) -> Result<(), AclError> {
        call!(self, aclrtDestroyEvent(event.0))
    }

    /// Records an event.
    pub fn record_event(&self, event: &Event, stream: &Stream) -> Result<(), AclError> {
        call!(self, aclrtRecordEvent(event.0, stream.as_raw()))
    }

    /// Records an event in a capture for waits outside.
    pub fn record_event_external(&self, event: &Event, stream: &Stream) -> Result<(), AclError> {
        let flag = value::ACL_EVENT_RECORD_EXTERNAL;
        call!(
            self,
            aclrtRecordEventWithFlag(event.0, stream.as_raw(), flag)
        )
    }

    /// Makes the stream wait for an event.
    pub fn wait_event(&self, stream: &Stream, event: &Event) -> Result<(), AclError> {
        call!(self, aclrtStreamWaitEvent(stream.as_raw(), event.0))
    }

    /// As [`Acl::wait_event`], for at most so many seconds; 0 is without limit.
    pub fn wait_event_timeout(
        &self,
        stream: &Stream,
        event: &Event,
        seconds: u32,
    ) -> Result<(), AclError> {
        let seconds = i32::try_from(seconds).unwrap_or(i32::MAX);
        call!(
            self,
            aclrtStreamWaitEventWithTimeout(stream.as_raw(), event.0, seconds)
        )
    }

    /// Makes a captured stream wait for a record outside of the capture.
    pub fn wait_event_external(&self, stream: &Stream, event: &Event) -> Result<(), AclError> {
        call!(
            self,
            aclrtStreamWaitEventWithFlag(
                stream.as_raw(),
                event.0,
                0,
                value::ACL_EVENT_WAIT_EXTERNAL
            )
        )
    }

    /// Clears the flag of an event when the stream gets here.
    pub fn reset_event(&self, event: &Event, stream: &Stream) -> Result<(), AclError> {
        call!(self, aclrtResetEvent(event.0, stream.as_raw()))
    }

    /// `aclrtQueryEventStatus`
    pub fn event_status(&self, event: &Event) -> Result<QueryStatus, AclError> {
        let mut status = 0;
        call!(self, aclrtQueryEventStatus(event.0, &raw mut status))?;
        Ok(if status == value::ACL_EVENT_RECORDED_STATUS_COMPLETE {
            QueryStatus::Complete
        } else {
            QueryStatus::NotReady
        })
    }

    /// `aclrtQueryEvent`, which is deprecated and not for Ex events.
    pub fn event_status_old(&self, event: &Event) -> Result<QueryStatus, AclError> {
        let mut status = 0;
        call!(self, aclrtQueryEvent(event.0, &raw mut status))?;
        Ok(if status == value::ACL_EVENT_STATUS_COMPLETE {
            QueryStatus::Complete
        } else {
            QueryStatus::NotReady
        })
    }

    /// `aclrtQueryEventWaitStatus`, not for Ex events.
    pub fn event_wait_status(&self, event: &Event) -> Result<QueryStatus, AclError> {
        let mut status = 0;
        call!(self, aclrtQueryEventWaitStatus(event.0, &raw mut status))?;
        Ok(if status == value::ACL_EVENT_WAIT_STATUS_COMPLETE {
            QueryStatus::Complete
        } else {
            QueryStatus::NotReady
        })
    }

    /// Waits until the latest record is reached, at most so many ms.
    pub fn synchronize_event(
        &self,
        event: &Event,
        timeout_ms: Option<u32>,
    ) -> Result<(), AclError> {
        call!(
            self,
            aclrtSynchronizeEventWithTimeout(event.0, milliseconds(timeout_ms))
        )
    }

    /// Milliseconds between two events with time stamps.
    pub fn elapsed_ms(&self, start: &Event, end: &Event) -> Result<f32, AclError> {
        let mut time = 0.0;
        call!(self, aclrtEventElapsedTime(&raw mut time, start.0, end.0))?;
        Ok(time)
    }

    /// When the event was reached, in µs since the device started.
    pub fn event_timestamp_us(&self, event: &Event) -> Result<u64, AclError> {
        let mut time = 0;
        call!(self, aclrtEventGetTimestamp(event.0, &raw mut time))?;
        Ok(time)
    }

    /// How many more event ids the thread's device has.
    pub fn available_events(&self) -> Result<u32, AclError> {
        let mut count = 0;
        call!(self, aclrtGetEventAvailNum(&raw mut count))?;
        Ok(count)
    }

    /// Creates a notify on the thread's device.
    pub fn create_notify(&self) -> Result<Notify, AclError> {
        let mut notify = 0;
        let flag = u64::from(value::ACL_NOTIFY_DEFAULT);
        call!(self, aclrtCreateNotify(&raw mut notify, flag))?;
        Ok(Notify(notify))
    }

    /// Destroys a notify.
    pub fn destroy_notify(&self, notify: Notify) -> Result<(), AclError> {
        call!(self, aclrtDestroyNotify(notify.0))
    }

    /// Sets a notify, of whichever device.
    pub fn record_notify(&self, notify: &Notify, stream: &Stream) -> Result<(), AclError> {
        call!(self, aclrtRecordNotify(notify.0, stream.as_raw()))
    }

    /// Makes the stream wait for a notify and clear it, for at most so many seconds; 0 is without
    /// limit.
    pub fn wait_notify(
        &self,
        notify: &Notify,
        stream: &Stream,
        seconds: u32,
    ) -> Result<(), AclError> {
        call!(
            self,
            aclrtWaitAndResetNotify(notify.0, stream.as_raw(), seconds)
        )
    }

    /// Writes a word when the stream gets here.
    pub fn write_value(
        &self,
        memory: &DeviceMemory,
        offset: u64,
        value: u64,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let address = memory.part("aclrtValueWrite", offset, 8)?;
        call!(self, aclrtValueWrite(address, value, 0, stream.as_raw()))
    }

    /// Makes the stream wait until a word meets a condition: 0 GEQ, 1 EQ, 2 AND, 3 NOR.
    pub fn wait_value(
        &self,
        memory: &DeviceMemory,
        offset: u64,
        value: u64,
        condition: u32,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let address = memory.part("aclrtValueWait", offset, 8)?;
        call!(
            self,
            aclrtValueWait(address, value, condition, stream.as_raw())
        )
    }
}
