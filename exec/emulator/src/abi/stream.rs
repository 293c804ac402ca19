//! Streams, notifies, values and host functions (facts/acl.md sections 2, 4, 5, 9).

use std::ffi::c_void;
use std::sync::Arc;

use super::{Out, call, null};
use crate::emulator::Session;
use crate::fault::{Fault, Outcome, code};
use crate::memory::Home;
use crate::raw::HostCall;
use crate::runtime::milliseconds;
use crate::task::Work;
use crate::world::Notify;

/// # Safety
/// As the contract of the ABI for `stream`.
unsafe fn create(
    session: &mut Session<'_>,
    stream: *mut usize,
    priority: u32,
    flags: u32,
) -> Outcome {
    // SAFETY: by the contract of the ABI.
    let out = unsafe { Out::new(stream, "stream") }?;
    let context = session.context_of_thread()?;
    let device = session.device_of_thread()?;
    out.set(session.create_stream(context, device, priority, flags, false)?);
    Ok(())
}

/// `aclrtCreateStream`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateStream(stream: *mut usize) -> i32 {
    // SAFETY: by the contract of the ABI.
    call("aclrtCreateStream", |session| unsafe {
        create(session, stream, 0, 0)
    })
}

/// `aclrtCreateStreamWithConfig`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateStreamWithConfig(
    stream: *mut usize,
    priority: u32,
    flags: u32,
) -> i32 {
    // SAFETY: by the contract of the ABI.
    call("aclrtCreateStreamWithConfig", |session| unsafe {
        create(session, stream, priority, flags)
    })
}

/// `aclrtDestroyStream`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtDestroyStream(stream: usize) -> i32 {
    call("aclrtDestroyStream", |session| {
        session.destroy_stream(stream, false)
    })
}

/// `aclrtDestroyStreamForce`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtDestroyStreamForce(stream: usize) -> i32 {
    call("aclrtDestroyStreamForce", |session| {
        session.destroy_stream(stream, true)
    })
}

/// `aclrtSynchronizeStream`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSynchronizeStream(stream: usize) -> i32 {
    call("aclrtSynchronizeStream", |session| {
        session.synchronise_stream(stream, None)
    })
}

/// `aclrtSynchronizeStreamWithTimeout`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSynchronizeStreamWithTimeout(stream: usize, timeout: i32) -> i32 {
    call("aclrtSynchronizeStreamWithTimeout", |session| {
        session.synchronise_stream(stream, milliseconds(timeout))
    })
}

/// `aclrtStreamQuery`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtStreamQuery(stream: usize, status: *mut u32) -> i32 {
    call("aclrtStreamQuery", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(status, "status") }?;
        out.set(u32::from(!session.query_stream(stream)?));
        Ok(())
    })
}

/// `aclrtStreamAbort`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtStreamAbort(stream: usize) -> i32 {
    call("aclrtStreamAbort", |session| session.abort_stream(stream))
}

/// `aclrtStreamGetId`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtStreamGetId(stream: usize, id: *mut i32) -> i32 {
    call("aclrtStreamGetId", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(id, "id") }?;
        let stream = session.stream_to_look_at(stream)?;
        out.set(session.streams.get(stream)?.id);
        Ok(())
    })
}

/// `aclrtGetStreamAvailableNum`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetStreamAvailableNum(count: *mut u32) -> i32 {
    call("aclrtGetStreamAvailableNum", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(count, "count") }?;
        let device = session.device_of_thread()?;
        let used = session.devices[device as usize].stream_ids.len();
        out.set(
            session
                .config
                .streams
                .saturating_sub(u32::try_from(used).unwrap_or(u32::MAX)),
        );
        Ok(())
    })
}

/// `aclrtSetStreamFailureMode`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSetStreamFailureMode(stream: usize, mode: u64) -> i32 {
    call("aclrtSetStreamFailureMode", |session| {
        let key = session.stream(stream)?;
        let stream = session.streams.get_mut(key)?;
        if mode > 1 || stream.stop_on_failure.is_some() {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1003: the mode is 0 or 1, and is set once",
            );
        }
        stream.stop_on_failure = Some(mode == 1);
        Ok(())
    })
}

/// `aclrtStreamGetPriority`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtStreamGetPriority(stream: usize, priority: *mut u32) -> i32 {
    call("aclrtStreamGetPriority", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(priority, "priority") }?;
        let stream = session.stream_to_look_at(stream)?;
        out.set(session.streams.get(stream)?.priority);
        Ok(())
    })
}

/// `aclrtStreamGetFlags`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtStreamGetFlags(stream: usize, flags: *mut u32) -> i32 {
    call("aclrtStreamGetFlags", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(flags, "flags") }?;
        let stream = session.stream_to_look_at(stream)?;
        out.set(session.streams.get(stream)?.flags);
        Ok(())
    })
}

/// `aclrtCreateNotify`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateNotify(notify: *mut usize, flag: u64) -> i32 {
    call("aclrtCreateNotify", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(notify, "notify") }?;
        if flag > 1 {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1003: the flag of a notify is 0 or 1",
            );
        }
        let device = session.device_of_thread()?;
        let most = session.config.notifies;
        if session.devices[device as usize].notifies >= most {
            return Fault::err(
                code::NO_NOTIFY_RESOURCE,
                format!("EE1024: all {most} notifies of the device are in use"),
            );
        }
        session.devices[device as usize].notifies += 1;
        let id = u32::try_from(session.serial() & 0xFFFF).unwrap_or(0);
        out.set(session.notifies.insert(Notify {
            device,
            id,
            flag: Arc::default(),
        }));
        Ok(())
    })
}

/// `aclrtDestroyNotify`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtDestroyNotify(notify: usize) -> i32 {
    call("aclrtDestroyNotify", |session| {
        let notify = session.notifies.remove(notify)?;
        session.devices[notify.device as usize].notifies -= 1;
        Ok(())
    })
}

/// `aclrtGetNotifyId`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetNotifyId(notify: usize, id: *mut u32) -> i32 {
    call("aclrtGetNotifyId", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(id, "id") }?;
        out.set(session.notifies.get(notify)?.id);
        Ok(())
    })
}

/// `aclrtRecordNotify`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtRecordNotify(notify: usize, stream: usize) -> i32 {
    call("aclrtRecordNotify", |session| {
        let stream = session.stream(stream)?;
        let flag = Arc::clone(&session.notifies.get(notify)?.flag);
        session.enqueue(stream, Work::NotifyRecord(flag))
    })
}

/// `aclrtWaitAndResetNotify`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtWaitAndResetNotify(
    notify: usize,
    stream: usize,
    seconds: u32,
) -> i32 {
    call("aclrtWaitAndResetNotify", |session| {
        let stream = session.stream(stream)?;
        let flag = Arc::clone(&session.notifies.get(notify)?.flag);
        let timeout = (seconds > 0).then(|| u64::from(seconds) * 1_000_000_000);
        session.enqueue(stream, Work::NotifyWait(flag, timeout))
    })
}

fn check_word(session: &Session<'_>, address: usize) -> Outcome {
    if address == 0 {
        return null("address");
    }
    let on_device = matches!(session.memory.home(address, 8), Some(Home::Device(_)));
    if !address.is_multiple_of(8) || !on_device {
        return Fault::err(
            code::PARAM_INVALID,
            format!("EE1003: {address:#x} is not a word of device memory, aligned to 8 bytes"),
        );
    }
    Ok(())
}

/// `aclrtValueWrite`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtValueWrite(
    address: usize,
    value: u64,
    flag: u32,
    stream: usize,
) -> i32 {
    call("aclrtValueWrite", |session| {
        check_word(session, address)?;
        if flag != 0 {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1003: the flag of a value write is 0",
            );
        }
        let stream = session.stream(stream)?;
        session.enqueue(stream, Work::ValueWrite { address, value })
    })
}

/// `aclrtValueWait`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtValueWait(
    address: usize,
    value: u64,
    flag: u32,
    stream: usize,
) -> i32 {
    call("aclrtValueWait", |session| {
        check_word(session, address)?;
        if flag > 3 {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1003: the flag of a value wait is 0 to 3",
            );
        }
        let stream = session.stream(stream)?;
        session.enqueue(
            stream,
            Work::ValueWait {
                address,
                value,
                condition: flag,
            },
        )
    })
}

/// `aclrtLaunchHostFunc`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtLaunchHostFunc(
    stream: usize,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
) -> i32 {
    call("aclrtLaunchHostFunc", |session| {
        let Some(function) = function else {
            return null("function");
        };
        let stream = session.stream(stream)?;
        session.serve()?;
        // SAFETY: whoever launches a host function promises that it may be called with the argument
        // when the stream gets there.
        let call = unsafe { HostCall::new(function, argument) };
        session.enqueue(stream, Work::Host(call))
    })
}

/// `aclrtGetThreadLastTaskId`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetThreadLastTaskId(task: *mut u32) -> i32 {
    call("aclrtGetThreadLastTaskId", |session| {
        // SAFETY: by the contract of the ABI.
        unsafe { Out::new(task, "task") }?.set(session.host.last_task);
        Ok(())
    })
}
