//! Initialisation, errors, devices and contexts (facts/acl.md sections 1, 13, 15).

use std::ffi::{CString, c_char};
use std::ptr;

use super::{Out, call, null};
use crate::emulator::HOST;
use crate::fault::{Fault, code};
use crate::runtime::milliseconds;

/// `aclInit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclInit(_config: *const c_char) -> i32 {
    call("aclInit", |session| {
        if session.initialised {
            return Fault::err(code::REPEAT_INITIALIZE, "EH0001: aclInit was called before");
        }
        session.restart(true)
    })
}

/// `aclFinalize`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclFinalize() -> i32 {
    call("aclFinalize", |session| {
        if !session.initialised {
            return Fault::err(code::UNINITIALIZED, "EE1001: aclInit was not called");
        }
        session.restart(false)
    })
}

/// `aclGetRecentErrMsg`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetRecentErrMsg() -> *const c_char {
    let message = HOST.try_with(|host| {
        let Ok(mut host) = host.try_borrow_mut() else {
            return ptr::null();
        };
        host.shown = host.message.take();
        host.shown
            .as_ref()
            .map_or(ptr::null(), |text| text.as_ptr())
    });
    message.unwrap_or(ptr::null())
}

fn last_error(clear: bool) -> i32 {
    let code = HOST.try_with(|host| {
        let Ok(mut host) = host.try_borrow_mut() else {
            return 0;
        };
        let code = host.last_error;
        if clear {
            host.last_error = 0;
        }
        code
    });
    code.unwrap_or(0)
}

/// `aclrtGetLastError`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetLastError(_level: u32) -> i32 {
    last_error(true)
}

/// `aclrtPeekAtLastError`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtPeekAtLastError(_level: u32) -> i32 {
    last_error(false)
}

/// `aclrtGetSocName`; the text stays valid until the thread asks again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetSocName() -> *const c_char {
    let mut name = CString::default();
    let asked = call("aclrtGetSocName", |session| {
        name = CString::new(session.config.soc.as_str()).unwrap_or_default();
        Ok(())
    });
    if asked != 0 {
        return ptr::null();
    }
    let shown = HOST.try_with(|host| {
        let Ok(mut host) = host.try_borrow_mut() else {
            return ptr::null();
        };
        host.shown.insert(name).as_ptr()
    });
    shown.unwrap_or(ptr::null())
}

/// `aclrtGetDeviceCount`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDeviceCount(count: *mut u32) -> i32 {
    call("aclrtGetDeviceCount", |session| {
        // SAFETY: by the contract of the ABI.
        unsafe { Out::new(count, "count") }?.set(session.config.devices);
        Ok(())
    })
}

/// `aclrtSetDevice`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSetDevice(device: i32) -> i32 {
    call("aclrtSetDevice", |session| session.set_device(device))
}

/// `aclrtGetDevice`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDevice(device: *mut i32) -> i32 {
    call("aclrtGetDevice", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(device, "device") }?;
        out.set(session.device_of_thread()?.cast_signed());
        Ok(())
    })
}

/// `aclrtResetDevice`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtResetDevice(device: i32) -> i32 {
    call("aclrtResetDevice", |session| {
        session.reset_device(device, false)
    })
}

/// `aclrtResetDeviceForce`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtResetDeviceForce(device: i32) -> i32 {
    call("aclrtResetDeviceForce", |session| {
        session.reset_device(device, true)
    })
}

/// `aclrtSynchronizeDevice`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSynchronizeDevice() -> i32 {
    call("aclrtSynchronizeDevice", |session| {
        session.synchronise_device(None)
    })
}

/// `aclrtSynchronizeDeviceWithTimeout`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSynchronizeDeviceWithTimeout(timeout: i32) -> i32 {
    call("aclrtSynchronizeDeviceWithTimeout", |session| {
        session.synchronise_device(milliseconds(timeout))
    })
}

/// `aclrtGetDeviceInfo`: cores and memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDeviceInfo(device: u32, attribute: u32, value: *mut i64) -> i32 {
    call("aclrtGetDeviceInfo", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(value, "value") }?;
        session.device(device.cast_signed())?;
        let config = &session.config;
        out.set(match attribute {
            101 | 102 => i64::from(config.aic),
            201 => i64::from(config.aiv),
            301 => config.memory.cast_signed(),
            _ => {
                return Fault::err(
                    code::PARAM_INVALID,
                    format!("EE1003: the emulator has no device attribute {attribute}"),
                );
            }
        });
        Ok(())
    })
}

/// `aclrtDeviceEnablePeerAccess`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtDeviceEnablePeerAccess(peer: i32, _flags: u32) -> i32 {
    call("aclrtDeviceEnablePeerAccess", |session| {
        session.device(peer).map(|_| ())
    })
}

/// `aclrtCreateContext`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateContext(context: *mut usize, device: i32) -> i32 {
    call("aclrtCreateContext", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(context, "context") }?;
        let (index, entry) = session.device(device)?;
        entry.references = entry.references.max(1);
        let context = session.create_context(index, false)?;
        session.enter_context(context);
        out.set(context);
        Ok(())
    })
}

/// `aclrtDestroyContext`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtDestroyContext(context: usize) -> i32 {
    call("aclrtDestroyContext", |session| {
        if session.contexts.get(context)?.primary {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1003: the default context is not destroyed",
            );
        }
        session.drop_context(context)
    })
}

/// `aclrtSetCurrentContext`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSetCurrentContext(context: usize) -> i32 {
    call("aclrtSetCurrentContext", |session| {
        session.contexts.get(context)?;
        session.enter_context(context);
        Ok(())
    })
}

/// `aclrtGetCurrentContext`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetCurrentContext(context: *mut usize) -> i32 {
    call("aclrtGetCurrentContext", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(context, "context") }?;
        out.set(session.context_of_thread()?);
        Ok(())
    })
}

/// `aclrtCtxGetCurrentDefaultStream`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCtxGetCurrentDefaultStream(stream: *mut usize) -> i32 {
    call("aclrtCtxGetCurrentDefaultStream", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(stream, "stream") }?;
        out.set(session.stream(0)?);
        Ok(())
    })
}

/// `aclrtDeviceGetStreamPriorityRange`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtDeviceGetStreamPriorityRange(
    least: *mut i32,
    greatest: *mut i32,
) -> i32 {
    call("aclrtDeviceGetStreamPriorityRange", |_| {
        // SAFETY: by the contract of the ABI.
        let outs = unsafe { (Out::new(least, "least")?, Out::new(greatest, "greatest")?) };
        outs.0.set(7);
        outs.1.set(0);
        Ok(())
    })
}

fn core_kind(kind: u32) -> Result<usize, Fault> {
    match kind {
        0 => Ok(0),
        1 => Ok(1),
        _ => Fault::err(code::PARAM_INVALID, format!("EE1003: no core kind {kind}")),
    }
}

fn physical(session: &crate::emulator::Session<'_>, kind: usize) -> u32 {
    if kind == 0 {
        session.config.aic
    } else {
        session.config.aiv
    }
}

/// `aclrtSetDeviceResLimit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSetDeviceResLimit(device: i32, kind: u32, value: u32) -> i32 {
    call("aclrtSetDeviceResLimit", |session| {
        let kind = core_kind(kind)?;
        let most = physical(session, kind);
        if value == 0 || value > most {
            return Fault::err(
                code::PARAM_INVALID,
                format!("EE1003: 1 to {most} cores, not {value}"),
            );
        }
        session.device(device)?.1.limits[kind] = Some(value);
        Ok(())
    })
}

/// `aclrtGetDeviceResLimit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDeviceResLimit(device: i32, kind: u32, value: *mut u32) -> i32 {
    call("aclrtGetDeviceResLimit", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(value, "value") }?;
        let kind = core_kind(kind)?;
        let most = physical(session, kind);
        out.set(session.device(device)?.1.limits[kind].unwrap_or(most));
        Ok(())
    })
}

/// `aclrtResetDeviceResLimit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtResetDeviceResLimit(device: i32) -> i32 {
    call("aclrtResetDeviceResLimit", |session| {
        session.device(device)?.1.limits = [None; 2];
        Ok(())
    })
}

/// `aclrtSetStreamResLimit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSetStreamResLimit(stream: usize, kind: u32, value: u32) -> i32 {
    call("aclrtSetStreamResLimit", |session| {
        let (stream, kind) = (session.stream(stream)?, core_kind(kind)?);
        let most = physical(session, kind);
        if value == 0 || value > most {
            return Fault::err(
                code::PARAM_INVALID,
                format!("EE1003: 1 to {most} cores, not {value}"),
            );
        }
        session.streams.get_mut(stream)?.limits[kind] = Some(value);
        Ok(())
    })
}

/// `aclrtGetStreamResLimit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetStreamResLimit(stream: usize, kind: u32, value: *mut u32) -> i32 {
    call("aclrtGetStreamResLimit", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(value, "value") }?;
        let (stream, kind) = (session.stream(stream)?, core_kind(kind)?);
        let entry = session.streams.get(stream)?;
        let device = &session.devices[entry.device as usize];
        let limit = entry.limits[kind].or(device.limits[kind]);
        out.set(limit.unwrap_or_else(|| physical(session, kind)));
        Ok(())
    })
}

/// `aclrtResetStreamResLimit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtResetStreamResLimit(stream: usize) -> i32 {
    call("aclrtResetStreamResLimit", |session| {
        let stream = session.stream(stream)?;
        session.streams.get_mut(stream)?.limits = [None; 2];
        Ok(())
    })
}

/// `aclrtUseStreamResInCurrentThread`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtUseStreamResInCurrentThread(stream: usize) -> i32 {
    call("aclrtUseStreamResInCurrentThread", |session| {
        session.host.limit_stream = session.stream(stream)?;
        Ok(())
    })
}

/// `aclrtUnuseStreamResInCurrentThread`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtUnuseStreamResInCurrentThread(stream: usize) -> i32 {
    call("aclrtUnuseStreamResInCurrentThread", |session| {
        session.stream(stream)?;
        session.host.limit_stream = 0;
        Ok(())
    })
}

/// `aclrtGetResInCurrentThread`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetResInCurrentThread(kind: u32, value: *mut u32) -> i32 {
    call("aclrtGetResInCurrentThread", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(value, "value") }?;
        let kind = core_kind(kind)?;
        let device = session.device_of_thread()?;
        let stream = session.streams.get(session.host.limit_stream);
        let limit = stream.ok().and_then(|stream| stream.limits[kind]);
        let limit = limit.or(session.devices[device as usize].limits[kind]);
        out.set(limit.unwrap_or_else(|| physical(session, kind)));
        Ok(())
    })
}

/// `aclsysGetVersionStr`: the emulator has none of CANN's packages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclsysGetVersionStr(_package: *mut c_char, version: *mut c_char) -> i32 {
    call("aclsysGetVersionStr", |_| {
        if version.is_null() {
            return null("version");
        }
        let text = concat!("ascsim-", env!("CARGO_PKG_VERSION"), "\0");
        // SAFETY: the caller's array has room for 128 characters, and the text is shorter.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr().cast(), version, text.len()) };
        Ok(())
    })
}
