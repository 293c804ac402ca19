//! Events (facts/acl.md section 3).

use super::{Out, call};
use crate::emulator::Session;
use crate::event::Kind;
use crate::fault::{Fault, Outcome, code};
use crate::runtime::milliseconds;

/// # Safety
/// As the contract of the ABI for `event`.
unsafe fn create(session: &mut Session<'_>, event: *mut usize, kind: Kind, flags: u32) -> Outcome {
    // SAFETY: by the contract of the ABI.
    let out = unsafe { Out::new(event, "event") }?;
    let device = session.device_of_thread()?;
    out.set(session.create_event(device, kind, flags)?);
    Ok(())
}

/// `aclrtCreateEvent`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateEvent(event: *mut usize) -> i32 {
    // SAFETY: by the contract of the ABI.
    call("aclrtCreateEvent", |session| unsafe {
        create(session, event, Kind::Plain, 0)
    })
}

/// `aclrtCreateEventWithFlag`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateEventWithFlag(event: *mut usize, flag: u32) -> i32 {
    // SAFETY: by the contract of the ABI.
    call("aclrtCreateEventWithFlag", |session| unsafe {
        create(session, event, Kind::WithFlag, flag)
    })
}

/// `aclrtCreateEventExWithFlag`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateEventExWithFlag(event: *mut usize, flag: u32) -> i32 {
    // SAFETY: by the contract of the ABI.
    call("aclrtCreateEventExWithFlag", |session| unsafe {
        create(session, event, Kind::Ex, flag)
    })
}

/// `aclrtDestroyEvent`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtDestroyEvent(event: usize) -> i32 {
    call("aclrtDestroyEvent", |session| {
        session.events.remove(event).map(drop)
    })
}

fn flag_is_external(flag: u32) -> Outcome<bool> {
    match flag {
        0 => Ok(false),
        1 => Ok(true),
        _ => Fault::err(
            code::PARAM_INVALID,
            format!("EE1003: the flag {flag} is not 0 or 1"),
        ),
    }
}

/// `aclrtRecordEvent`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtRecordEvent(event: usize, stream: usize) -> i32 {
    call("aclrtRecordEvent", |session| {
        let stream = session.stream(stream)?;
        session.record_event(event, stream, false)
    })
}

/// `aclrtRecordEventWithFlag`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtRecordEventWithFlag(event: usize, stream: usize, flag: u32) -> i32 {
    call("aclrtRecordEventWithFlag", |session| {
        let stream = session.stream(stream)?;
        session.record_event(event, stream, flag_is_external(flag)?)
    })
}

/// `aclrtStreamWaitEvent`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtStreamWaitEvent(stream: usize, event: usize) -> i32 {
    call("aclrtStreamWaitEvent", |session| {
        let stream = session.stream(stream)?;
        session.wait_event(stream, event, 0, false)
    })
}

/// `aclrtStreamWaitEventWithTimeout`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtStreamWaitEventWithTimeout(
    stream: usize,
    event: usize,
    seconds: i32,
) -> i32 {
    call("aclrtStreamWaitEventWithTimeout", |session| {
        let stream = session.stream(stream)?;
        let seconds = u64::try_from(seconds)
            .map_err(|_| Fault::new(code::PARAM_INVALID, "EE1003: the time-out is not negative"))?;
        session.wait_event(stream, event, seconds * 1_000_000_000, false)
    })
}

/// `aclrtStreamWaitEventWithFlag`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtStreamWaitEventWithFlag(
    stream: usize,
    event: usize,
    seconds: u32,
    flag: u32,
) -> i32 {
    call("aclrtStreamWaitEventWithFlag", |session| {
        let stream = session.stream(stream)?;
        let timeout = u64::from(seconds) * 1_000_000_000;
        session.wait_event(stream, event, timeout, flag_is_external(flag)?)
    })
}

/// `aclrtResetEvent`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtResetEvent(event: usize, stream: usize) -> i32 {
    call("aclrtResetEvent", |session| {
        let stream = session.stream(stream)?;
        session.reset_event(event, stream)
    })
}

/// `aclrtQueryEvent`: 0 complete, 1 not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtQueryEvent(event: usize, status: *mut u32) -> i32 {
    call("aclrtQueryEvent", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(status, "status") }?;
        if !session.event_query(event)? {
            session.poll();
        }
        out.set(u32::from(!session.event_query(event)?));
        Ok(())
    })
}

/// `aclrtQueryEventStatus`: 0 not complete, 1 complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtQueryEventStatus(event: usize, status: *mut u32) -> i32 {
    call("aclrtQueryEventStatus", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(status, "status") }?;
        if !session.event_is_complete(event)? {
            session.poll();
        }
        out.set(u32::from(session.event_is_complete(event)?));
        Ok(())
    })
}

/// `aclrtQueryEventWaitStatus`: 0 complete, 1 not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtQueryEventWaitStatus(event: usize, status: *mut u32) -> i32 {
    call("aclrtQueryEventWaitStatus", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(status, "status") }?;
        out.set(u32::from(!session.event_waits_are_over(event)?));
        Ok(())
    })
}

/// `aclrtSynchronizeEvent`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSynchronizeEvent(event: usize) -> i32 {
    call("aclrtSynchronizeEvent", |session| {
        session.synchronise_event(event, None)
    })
}

/// `aclrtSynchronizeEventWithTimeout`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSynchronizeEventWithTimeout(event: usize, timeout: i32) -> i32 {
    call("aclrtSynchronizeEventWithTimeout", |session| {
        session.synchronise_event(event, milliseconds(timeout))
    })
}

/// `aclrtEventElapsedTime`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtEventElapsedTime(time: *mut f32, start: usize, end: usize) -> i32 {
    call("aclrtEventElapsedTime", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(time, "time") }?;
        let (start, end) = (session.event_time(start)?, session.event_time(end)?);
        let nanoseconds = end as f64 - start as f64;
        out.set((nanoseconds / 1e6) as f32);
        Ok(())
    })
}

/// `aclrtEventGetTimestamp`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtEventGetTimestamp(event: usize, microseconds: *mut u64) -> i32 {
    call("aclrtEventGetTimestamp", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(microseconds, "timestamp") }?;
        out.set(session.event_time(event)? / 1000);
        Ok(())
    })
}

/// `aclrtSetOpWaitTimeout`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSetOpWaitTimeout(seconds: u32) -> i32 {
    call("aclrtSetOpWaitTimeout", |session| {
        session.wait_timeout = (seconds > 0).then(|| u64::from(seconds) * 1_000_000_000);
        Ok(())
    })
}

/// `aclrtGetEventId`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetEventId(event: usize, id: *mut u32) -> i32 {
    call("aclrtGetEventId", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(id, "id") }?;
        session.events.get(event)?;
        out.set(u32::try_from((event >> 4) & 0xFFFF).unwrap_or(0));
        Ok(())
    })
}

/// `aclrtGetEventAvailNum`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetEventAvailNum(count: *mut u32) -> i32 {
    call("aclrtGetEventAvailNum", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(count, "count") }?;
        let device = session.device_of_thread()?;
        let used = &session.devices[device as usize].event_ids;
        let used = used.load(std::sync::atomic::Ordering::Relaxed);
        out.set(session.config.events.saturating_sub(used));
        Ok(())
    })
}
