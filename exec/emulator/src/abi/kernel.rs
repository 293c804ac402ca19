//! Kernels (facts/acl.md section 8).

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::{Out, call, null, text};
use crate::emulator::Session;
use crate::fault::{Fault, Outcome, code};
use crate::kernel::Binary;
use crate::task::Work;

/// Bytes of arguments that a launch may have: 128 arguments of 8 bytes.
const MOST_ARGUMENTS: usize = 128 * 8;

fn load(session: &mut Session<'_>, bytes: &[u8], out: &Out<usize>) -> Outcome {
    session.context_of_thread()?;
    let binary = Binary::parse(&String::from_utf8_lossy(bytes))?;
    out.set(session.binaries.insert(binary));
    Ok(())
}

/// `aclrtBinaryLoadFromFile`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtBinaryLoadFromFile(
    path: *const c_char,
    _options: *const c_void,
    binary: *mut usize,
) -> i32 {
    call("aclrtBinaryLoadFromFile", |session| {
        // SAFETY: by the contract of the ABI.
        let (path, out) = unsafe { (text(path, "path")?, Out::new(binary, "binary")?) };
        let bytes = std::fs::read(&path)
            .map_err(|error| Fault::new(code::PARAM_INVALID, format!("EE1003: {path}: {error}")))?;
        load(session, &bytes, &out)
    })
}

/// `aclrtBinaryLoadFromData`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtBinaryLoadFromData(
    data: *const c_void,
    bytes: usize,
    _options: *const c_void,
    binary: *mut usize,
) -> i32 {
    call("aclrtBinaryLoadFromData", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(binary, "binary") }?;
        // SAFETY: by the contract of the ABI.
        let data = unsafe { input(data, bytes, "data") }?;
        load(session, data, &out)
    })
}

/// # Safety
/// `data` is null or valid for reads of `bytes` bytes until the call returns.
unsafe fn input<'a>(data: *const c_void, bytes: usize, what: &str) -> Outcome<&'a [u8]> {
    if bytes == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return null(what);
    }
    // SAFETY: by the contract of this function.
    Ok(unsafe { std::slice::from_raw_parts(data.cast(), bytes) })
}

/// `aclrtBinaryUnLoad`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtBinaryUnLoad(binary: usize) -> i32 {
    call("aclrtBinaryUnLoad", |session| session.unload(binary))
}

/// `aclrtBinaryGetFunction`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtBinaryGetFunction(
    binary: usize,
    name: *const c_char,
    function: *mut usize,
) -> i32 {
    call("aclrtBinaryGetFunction", |session| {
        // SAFETY: by the contract of the ABI.
        let (name, out) = unsafe { (text(name, "name")?, Out::new(function, "function")?) };
        out.set(session.function(binary, &name)?);
        Ok(())
    })
}

/// One launch attribute: id and a union of 16 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaunchAttribute {
    id: u32,
    value: [u32; 4],
}

/// The attributes of a launch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaunchConfig {
    attributes: *const LaunchAttribute,
    count: usize,
}

/// Whether the launch asks for batch mode.
///
/// # Safety
/// `config` is null or points to attributes that are valid until the call returns.
unsafe fn is_batch(config: *const LaunchConfig) -> bool {
    if config.is_null() {
        return false;
    }
    // SAFETY: not null, so valid by the contract of this function.
    let LaunchConfig { attributes, count } = unsafe { *config };
    if attributes.is_null() || count == 0 {
        return false;
    }
    // SAFETY: as above.
    let attributes = unsafe { std::slice::from_raw_parts(attributes, count) };
    // The mode is one byte of the union (attribute 1, SCHEM_MODE).
    attributes
        .iter()
        .any(|attribute| attribute.id == 1 && attribute.value[0].to_ne_bytes()[0] == 1)
}

/// `aclrtLaunchKernelWithHostArgs`; the emulator has no use for placeholders.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtLaunchKernelWithHostArgs(
    function: usize,
    blocks: u32,
    stream: usize,
    config: *const LaunchConfig,
    arguments: *mut c_void,
    bytes: usize,
    _places: *const c_void,
    _place_count: usize,
) -> i32 {
    call("aclrtLaunchKernelWithHostArgs", |session| {
        let stream = session.stream(stream)?;
        if blocks == 0 {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1003: a kernel has at least one block",
            );
        }
        if bytes > MOST_ARGUMENTS {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1003: a kernel has at most 128 arguments",
            );
        }
        // SAFETY: by the contract of the ABI.
        let (arguments, batch) =
            unsafe { (input(arguments, bytes, "arguments")?, is_batch(config)) };
        let kernel = session.functions.get(function)?.kernel.clone();
        let call = match &kernel.host {
            None => None,
            Some(name) => Some(*session.kernels.get(name).ok_or_else(|| {
                Fault::new(
                    code::PARAM_INVALID,
                    format!("EE1003: no host function `{name}`; ascsimEmulatorRegisterKernel it"),
                )
            })?),
        };
        let work = Work::Kernel {
            call,
            arguments: Arc::from(arguments),
            blocks,
        };
        session.enqueue_shaped(stream, work, kernel.shape(blocks, batch))
    })
}

/// `aclrtSetOpExecuteTimeOut`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSetOpExecuteTimeOut(seconds: u32) -> i32 {
    call("aclrtSetOpExecuteTimeOut", |session| {
        if seconds > 0 {
            session.kernel_timeout = u64::from(seconds) * 1_000_000_000;
        }
        Ok(())
    })
}
