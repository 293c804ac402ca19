//! Memory, copies and prefetches (facts/acl.md sections 6 and 7).

use std::ffi::c_void;

use super::{Out, call, null};
use crate::fault::{Fault, Outcome, code};
use crate::memory::Home;
use crate::raw::CallerSpan;
use crate::runtime::Side;
use crate::task::Work;

/// `aclrtMalloc`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMalloc(address: *mut usize, bytes: usize, _policy: u32) -> i32 {
    call("aclrtMalloc", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(address, "address") }?;
        let home = Home::Device(session.device_of_thread()?);
        let used = session.memory.used(home);
        if used.saturating_add(bytes as u64) > session.config.memory {
            return Fault::err(
                code::MEMORY_ALLOCATION,
                format!("EL0004: the device has no {bytes} bytes left; {used} are in use"),
            );
        }
        out.set(session.memory.allocate(bytes, home)?);
        Ok(())
    })
}

/// `aclrtFree`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtFree(address: usize) -> i32 {
    call("aclrtFree", |session| session.memory.free(address, true))
}

/// `aclrtMallocHost`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMallocHost(address: *mut *mut c_void, bytes: usize) -> i32 {
    call("aclrtMallocHost", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(address, "address") }?;
        session.context_of_thread()?;
        let address = session.memory.allocate(bytes, Home::Pinned)?;
        out.set(std::ptr::with_exposed_provenance_mut(address));
        Ok(())
    })
}

/// `aclrtFreeHost`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtFreeHost(address: *mut c_void) -> i32 {
    call("aclrtFreeHost", |session| {
        session.memory.free(address.addr(), false)
    })
}

/// `aclrtGetMemInfo`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetMemInfo(
    _attribute: u32,
    free: *mut usize,
    total: *mut usize,
) -> i32 {
    call("aclrtGetMemInfo", |session| {
        // SAFETY: by the contract of the ABI.
        let outs = unsafe { (Out::new(free, "free")?, Out::new(total, "total")?) };
        let used = session
            .memory
            .used(Home::Device(session.device_of_thread()?));
        let total = session.config.memory;
        outs.0
            .set(usize::try_from(total.saturating_sub(used)).unwrap_or(usize::MAX));
        outs.1.set(usize::try_from(total).unwrap_or(usize::MAX));
        Ok(())
    })
}

/// One side of a copy.
///
/// # Safety
/// If the memory is not ours, it is the caller's and valid for `bytes` bytes until the call returns.
unsafe fn side(address: usize, bytes: usize, what: &str) -> Outcome<Side> {
    if address == 0 {
        return null(what);
    }
    // SAFETY: by the contract of this function.
    let span = unsafe { CallerSpan::new(std::ptr::with_exposed_provenance_mut(address), bytes) };
    Ok(Side { address, span })
}

fn check_size(most: usize, bytes: usize) -> Outcome {
    if bytes == 0 || bytes > most {
        return Fault::err(
            code::PARAM_INVALID,
            format!("EE1003: {bytes} bytes do not fit into a destination of {most}"),
        );
    }
    Ok(())
}

/// `aclrtMemcpy`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMemcpy(
    to: usize,
    most: usize,
    from: usize,
    bytes: usize,
    kind: u32,
) -> i32 {
    call("aclrtMemcpy", |session| {
        check_size(most, bytes)?;
        // SAFETY: by the contract of the ABI.
        let (to, from) = unsafe { (side(to, bytes, "to")?, side(from, bytes, "from")?) };
        session.copy_now(to, from, bytes, kind)
    })
}

/// `aclrtMemcpyAsync`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMemcpyAsync(
    to: usize,
    most: usize,
    from: usize,
    bytes: usize,
    kind: u32,
    stream: usize,
) -> i32 {
    call("aclrtMemcpyAsync", |session| {
        check_size(most, bytes)?;
        // SAFETY: by the contract of the ABI.
        let (to, from) = unsafe { (side(to, bytes, "to")?, side(from, bytes, "from")?) };
        session.copy_async(to, from, bytes, kind, stream)
    })
}

/// `aclrtMemset`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMemset(address: usize, most: usize, value: i32, bytes: usize) -> i32 {
    call("aclrtMemset", |session| {
        session.context_of_thread()?;
        check_size(most, bytes)?;
        session.check_no_capture(code::CAPTURE_MODE_NOT_SUPPORT, "synchronous fills")?;
        // As memset: the low byte.
        session
            .memory
            .fill(address, value.to_le_bytes()[0], bytes)?;
        session.settle();
        Ok(())
    })
}

/// `aclrtMemsetAsync`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMemsetAsync(
    address: usize,
    most: usize,
    value: i32,
    bytes: usize,
    stream: usize,
) -> i32 {
    call("aclrtMemsetAsync", |session| {
        check_size(most, bytes)?;
        let stream = session.stream(stream)?;
        if session.memory.home(address, bytes).is_none() {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1003: only device memory can be filled",
            );
        }
        session.enqueue(
            stream,
            Work::Fill {
                address,
                value: value.to_le_bytes()[0],
                bytes,
            },
        )
    })
}

/// `aclrtCmoAsync`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCmoAsync(
    address: usize,
    bytes: usize,
    kind: u32,
    stream: usize,
) -> i32 {
    call("aclrtCmoAsync", |session| {
        let stream = session.stream(stream)?;
        if address == 0 {
            return null("address");
        }
        if kind != 0 {
            return Fault::err(
                code::FEATURE_NOT_SUPPORT,
                "EE1006: only prefetch is supported",
            );
        }
        let own = Home::Device(session.streams.get(stream)?.device);
        if session.memory.home(address, bytes) != Some(own) {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1003: only memory of the stream's device can be prefetched",
            );
        }
        session.enqueue(stream, Work::Prefetch)
    })
}
