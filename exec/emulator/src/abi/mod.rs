//! The C ABI: prototypes of facts/acl.md over the core.
//!
//! # Contract
//! As of the functions that they stand in for: a pointer to a result is null or valid for a write; a
//! pointer to input is null or valid for the reads that facts/acl.md describes, for as long as the
//! call takes; host memory of an asynchronous copy is either allocated here (and then looked up when
//! the copy runs) or pageable (and then only used before the call returns). Handles need no contract.
#![expect(unsafe_code, reason = "the C ABI; the argument stands at each block")]
#![expect(
    clippy::missing_safety_doc,
    reason = "one contract for all, at the head of the module"
)]

use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::emulator::{EMULATOR, HOST, Session, is_device_side};
use crate::fault::{Fault, Outcome, code};

pub use crate::raw::KernelFunction;
pub use crate::task::TraceRecord;

mod control;
mod device;
mod event;
mod graph;
mod hccl;
mod kernel;
mod memory;
mod stream;

pub use control::*;
pub use device::*;
pub use event::*;
pub use graph::*;
pub use hccl::*;
pub use kernel::*;
pub use memory::*;
pub use stream::*;

/// Runs a call and turns its outcome into a code; the message is kept for the thread.
fn call(function: &'static str, body: impl FnOnce(&mut Session<'_>) -> Outcome) -> i32 {
    // A function that a stream or kernel calls must not call back: on a device it would deadlock.
    if is_device_side() {
        return code::INTERNAL;
    }
    let run = || {
        HOST.try_with(|host| {
            let Ok(mut host) = host.try_borrow_mut() else {
                return code::INTERNAL;
            };
            match EMULATOR.call(&mut host, function, body) {
                Ok(()) => 0,
                Err(fault) => {
                    let text = fault.message.replace('\0', " ");
                    host.message = CString::new(text).ok();
                    host.last_error = fault.code;
                    fault.code
                }
            }
        })
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(code)) => code,
        // The thread is ending.
        Ok(Err(_)) => code::INTERNAL,
        Err(_) => {
            // A bug of ours. Nothing may stay behind that refers to memory of the caller.
            EMULATOR.abandon();
            code::INTERNAL
        }
    }
}

fn null<T>(what: &str) -> Outcome<T> {
    Fault::err(
        code::INVALID_PARAM,
        format!("EH0002: the argument `{what}` is null"),
    )
}

/// A pointer to a result.
struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    /// `pointer` is null or valid for a write, until the call returns.
    unsafe fn new(pointer: *mut T, what: &str) -> Outcome<Self> {
        if pointer.is_null() {
            null(what)
        } else {
            Ok(Self(pointer))
        }
    }

    fn set(&self, value: T) {
        // SAFETY: not null, so valid by the contract of `new`.
        unsafe { self.0.write(value) }
    }
}

/// # Safety
/// `pointer` is null or points to a text that ends with a zero.
unsafe fn text(pointer: *const c_char, what: &str) -> Outcome<String> {
    if pointer.is_null() {
        return null(what);
    }
    // SAFETY: by the contract of this function.
    Ok(unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned())
}
