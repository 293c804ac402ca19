//! Streams and host functions (facts/acl.md sections 2 and 9).

use std::ffi::c_void;

use super::device::milliseconds;
use super::{Acl, AclError, call, handles};
use crate::acl::value;

handles! {
    /// A stream: a FIFO of tasks.
    Stream;
}

impl Stream {
    /// The default stream of whatever context the thread is in.
    pub const DEFAULT: Self = Self(0);
}

/// How a stream is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFlags(pub u32);

impl StreamFlags {
    /// Slower to create, faster to launch on.
    pub const FAST_LAUNCH: Self = Self(value::ACL_STREAM_FAST_LAUNCH);
    /// Synchronisation polls: quicker, at the cost of CPU time.
    pub const FAST_SYNC: Self = Self(value::ACL_STREAM_FAST_SYNC);
}

/// What happens after a task failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureMode {
    /// Later tasks run.
    Continue = value::ACL_CONTINUE_ON_FAILURE as isize,
    /// All streams of the context stop and take no more tasks.
    Stop = value::ACL_STOP_ON_FAILURE as isize,
}

impl Acl {
    /// Creates a stream with a priority from 0 (greatest) to 7.
    pub fn create_stream(&self, priority: u32, flags: StreamFlags) -> Result<Stream, AclError> {
        let mut stream = 0;
        call!(
            self,
            aclrtCreateStreamWithConfig(&raw mut stream, priority, flags.0)
        )?;
        Ok(Stream(stream))
    }

    /// Destroys a stream; waits until it is empty.
    pub fn destroy_stream(&self, stream: Stream) -> Result<(), AclError> {
        call!(self, aclrtDestroyStream(stream.0))
    }

    /// Destroys a stream with whatever is in it.
    pub fn destroy_stream_force(&self, stream: Stream) -> Result<(), AclError> {
        call!(self, aclrtDestroyStreamForce(stream.0))
    }

    /// Waits until the stream is empty, at most so many ms.
    pub fn synchronize_stream(
        &self,
        stream: &Stream,
        timeout_ms: Option<u32>,
    ) -> Result<(), AclError> {
        call!(
            self,
            aclrtSynchronizeStreamWithTimeout(stream.0, milliseconds(timeout_ms))
        )
    }

    /// Whether the stream is empty.
    pub fn is_stream_complete(&self, stream: &Stream) -> Result<bool, AclError> {
        let mut status = 0;
        call!(self, aclrtStreamQuery(stream.0, &raw mut status))?;
        Ok(status == value::ACL_STREAM_STATUS_COMPLETE)
    }

    /// Kills the running task and drops the queued ones. Streams that wait for them must be aborted
    /// too.
    pub fn abort_stream(&self, stream: &Stream) -> Result<(), AclError> {
        call!(self, aclrtStreamAbort(stream.0))
    }

    /// The number of the stream on its device.
    pub fn stream_id(&self, stream: &Stream) -> Result<i32, AclError> {
        let mut id = 0;
        call!(self, aclrtStreamGetId(stream.0, &raw mut id))?;
        Ok(id)
    }

    /// How many more streams the thread's device has.
    pub fn available_streams(&self) -> Result<u32, AclError> {
        let mut count = 0;
        call!(self, aclrtGetStreamAvailableNum(&raw mut count))?;
        Ok(count)
    }

    /// Says what happens after a task of the stream failed; once per stream.
    pub fn set_failure_mode(&self, stream: &Stream, mode: FailureMode) -> Result<(), AclError> {
        call!(self, aclrtSetStreamFailureMode(stream.0, mode as u64))
    }

    /// Queues a call of a function on a thread of the runtime; later tasks of the stream wait for it.
    /// It must not call ACL. What it captures is dropped when it has run; if the stream is aborted or
    /// destroyed first, it is leaked.
    pub fn launch_host_function(
        &self,
        stream: &Stream,
        function: impl FnOnce() + Send + 'static,
    ) -> Result<(), AclError> {
        let function: Box<dyn FnOnce() + Send> = Box::new(function);
        let argument = Box::into_raw(Box::new(function));
        // The argument is a box of ours that `run_boxed` takes back, once.
        let queued = call!(
            self,
            aclrtLaunchHostFunc(stream.0, run_boxed, argument.cast())
        );
        if queued.is_err() {
            // SAFETY: it was not queued, so that nobody else has the box.
            drop(unsafe { Box::from_raw(argument) });
        }
        queued
    }

    /// Queues a call of a function that lives as long as the program, without an allocation: for
    /// graphs, which call it at every replay.
    pub fn launch_host_call(
        &self,
        stream: &Stream,
        function: &'static HostFunction,
    ) -> Result<(), AclError> {
        let argument = std::ptr::from_ref(function).cast_mut().cast();
        call!(self, aclrtLaunchHostFunc(stream.0, run_static, argument))
    }
}

/// A function that streams call on the host.
pub type HostFunction = Box<dyn Fn() + Send + Sync>;

/// # Safety
/// `argument` is a box of [`Acl::launch_host_function`] that was not taken back before.
unsafe extern "C" fn run_boxed(argument: *mut c_void) {
    // SAFETY: by the contract of this function.
    let function = unsafe { Box::from_raw(argument.cast::<Box<dyn FnOnce() + Send>>()) };
    // A panic must not cross the ABI; the function's own side has to report it.
    drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(
        *function,
    )));
}

/// # Safety
/// `argument` points to a function of [`Acl::launch_host_call`].
unsafe extern "C" fn run_static(argument: *mut c_void) {
    // SAFETY: by the contract of this function.
    let function = unsafe { &*argument.cast::<HostFunction>() };
    drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(
        function,
    )));
}
