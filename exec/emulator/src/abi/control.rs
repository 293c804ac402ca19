//! What ACL does not have: how a test or the executor drives the emulator itself.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::{Out, call, null, text};
use crate::raw::{KernelCall, KernelFunction};
use crate::task::{Shape, TraceRecord, Work};

/// Settings (see the crate) for the next `aclInit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsimEmulatorConfigure(settings: *const c_char) -> i32 {
    call("ascsimEmulatorConfigure", |session| {
        // SAFETY: by the contract of the ABI.
        let settings = unsafe { text(settings, "settings") }?;
        session.configure(&settings)
    })
}

/// What the next task of a thread is to look like.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NextTask {
    tag: u64,
    duration_ns: u64,
    aic: u32,
    aiv: u32,
    batch: u32,
    reserved: u32,
}

/// Gives the next task that this thread queues a tag, a duration and cores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsimEmulatorNextTask(task: *const NextTask) -> i32 {
    call("ascsimEmulatorNextTask", |session| {
        if task.is_null() {
            return null("task");
        }
        // SAFETY: not null, and valid by the contract of the ABI.
        let task = unsafe { *task };
        session.host.shape = Some(Shape {
            tag: task.tag,
            duration: task.duration_ns,
            aic: task.aic,
            aiv: task.aiv,
            batch: task.batch != 0,
            sync_all: false,
        });
        Ok(())
    })
}

/// Queues a kernel without a binary: it takes the time and cores given for the next task.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsimEmulatorLaunch(stream: usize) -> i32 {
    call("ascsimEmulatorLaunch", |session| {
        let stream = session.stream(stream)?;
        let work = Work::Kernel {
            call: None,
            arguments: Arc::from([]),
            blocks: 1,
        };
        session.enqueue(stream, work)
    })
}

/// Registers what the kernels that name it as `host` do. It may be called on any thread with the
/// arguments of the launch, and must not call ACL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsimEmulatorRegisterKernel(
    name: *const c_char,
    function: Option<KernelFunction>,
    user: *mut c_void,
) -> i32 {
    call("ascsimEmulatorRegisterKernel", |session| {
        // SAFETY: by the contract of the ABI.
        let name = unsafe { text(name, "name") }?;
        let Some(function) = function else {
            return null("function");
        };
        // SAFETY: by the contract above.
        let kernel = unsafe { KernelCall::new(function, user) };
        session.kernels.insert(name, kernel);
        Ok(())
    })
}

/// Takes up to `most` of the oldest records of the trace; `count` is how many. Records are in the
/// order in which tasks ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsimEmulatorTrace(
    records: *mut TraceRecord,
    most: usize,
    count: *mut usize,
) -> i32 {
    call("ascsimEmulatorTrace", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(count, "count") }?;
        if records.is_null() {
            return null("records");
        }
        let taken = session.trace.len().min(most);
        for (index, record) in session.trace.drain(..taken).enumerate() {
            // SAFETY: not null, and with room for `most` records by the contract of the ABI.
            unsafe { records.add(index).write(record) };
        }
        out.set(taken);
        Ok(())
    })
}

/// The time of the emulator's clock in ns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsimEmulatorClock(nanoseconds: *mut u64) -> i32 {
    call("ascsimEmulatorClock", |session| {
        // SAFETY: by the contract of the ABI.
        unsafe { Out::new(nanoseconds, "nanoseconds") }?.set(session.now);
        Ok(())
    })
}
