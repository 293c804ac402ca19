//! Memory that callers and kernels reach by address, and the functions they hand over: everything
//! in the core that needs unsafe code. The rest of the core is safe.
#![expect(
    unsafe_code,
    reason = "memory and functions shared with C callers; the argument stands at each block"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Zeroed memory at a fixed address, given back when dropped.
#[derive(Debug)]
pub(crate) struct Allocation {
    pointer: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the allocation is owned; it is only touched through `&self` by functions that are called
// under the lock of the world, and by callers who keep to their side of the C contract.
unsafe impl Send for Allocation {}

impl Allocation {
    /// `bytes` zeroes, aligned to 64 bytes; none if the host has no more memory.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.max(1), 64).ok()?;
        // SAFETY: the size is not zero.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { pointer, layout })
    }

    pub(crate) fn address(&self) -> usize {
        self.pointer.as_ptr().addr()
    }

    fn part(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        let end = offset.checked_add(bytes)?;
        // SAFETY: within the allocation.
        (end <= self.layout.size()).then(|| unsafe { self.pointer.as_ptr().add(offset) })
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and dropped once.
        unsafe { dealloc(self.pointer.as_ptr(), self.layout) }
    }
}

/// Memory of the caller that is valid until his call returns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallerSpan {
    pointer: *mut u8,
    bytes: usize,
}

// SAFETY: only followed under the contract of `CallerSpan::new`, on whichever thread runs the task
// that the caller waits for.
unsafe impl Send for CallerSpan {}

impl CallerSpan {
    /// # Safety
    /// `pointer` is valid for reads (and, if it is written to, writes) of `bytes` bytes until the
    /// last copy of the span is gone, which is when the call that made it returns.
    pub(crate) unsafe fn new(pointer: *mut c_void, bytes: usize) -> Self {
        Self {
            pointer: pointer.cast(),
            bytes,
        }
    }
}

/// One end of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End<'a> {
    /// Part of an allocation of ours, from the offset.
    Ours(&'a Allocation, usize),
    /// Memory of a caller who waits.
    Caller(CallerSpan),
}

impl End<'_> {
    fn pointer(self, bytes: usize) -> Option<*mut u8> {
        match self {
            Self::Ours(allocation, offset) => allocation.part(offset, bytes),
            Self::Caller(span) => (bytes <= span.bytes).then_some(span.pointer),
        }
    }
}

/// Copies `bytes` bytes, which may overlap. False if either end is too short.
pub(crate) fn copy(to: End<'_>, from: End<'_>, bytes: usize) -> bool {
    let (Some(to), Some(from)) = (to.pointer(bytes), from.pointer(bytes)) else {
        return false;
    };
    // SAFETY: both ends are valid for `bytes` bytes: ours by the check, the caller's by his promise.
    // Nobody else touches them meanwhile: other tasks run under the same lock, and a caller who
    // touches memory in use by a task breaks the contract of ACL.
    unsafe { std::ptr::copy(from, to, bytes) };
    true
}

/// Copies the part of an allocation into a vector; none if it is too short.
pub(crate) fn read(from: &Allocation, offset: usize, bytes: usize) -> Option<Vec<u8>> {
    let pointer = from.part(offset, bytes)?;
    // SAFETY: within the allocation, whose bytes are initialised.
    Some(unsafe { std::slice::from_raw_parts(pointer, bytes) }.to_vec())
}

/// Writes bytes into a part of an allocation; false if it is too short.
pub(crate) fn write(to: &Allocation, offset: usize, bytes: &[u8]) -> bool {
    let Some(pointer) = to.part(offset, bytes.len()) else {
        return false;
    };
    // SAFETY: within the allocation; `bytes` cannot overlap it, since no reference to it exists.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer, bytes.len()) };
    true
}

/// A function that a stream calls on the host, with its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCall {
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

// SAFETY: whoever queued it promised that it may be called on a thread of the runtime.
unsafe impl Send for HostCall {}

impl HostCall {
    /// # Safety
    /// The function may be called with the argument on another thread at any later time.
    pub(crate) unsafe fn new(
        function: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    ) -> Self {
        Self { function, argument }
    }

    pub(crate) fn call(self) {
        // SAFETY: promised when it was made.
        unsafe { (self.function)(self.argument) }
    }
}

/// What a kernel does on the host: called with the arguments, their bytes, the blocks and the
/// pointer that was registered with it.
pub type KernelFunction = unsafe extern "C" fn(*const c_void, usize, u32, *mut c_void);

/// A registered kernel function with its pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelCall {
    function: KernelFunction,
    user: *mut c_void,
}

// SAFETY: whoever registered it promised that it may be called on any thread.
unsafe impl Send for KernelCall {}

impl KernelCall {
    /// # Safety
    /// The function may be called with the pointer on any thread at any later time, with any
    /// arguments that a launch passes.
    pub(crate) unsafe fn new(function: KernelFunction, user: *mut c_void) -> Self {
        Self { function, user }
    }

    pub(crate) fn call(self, arguments: &[u8], blocks: u32) {
        // SAFETY: promised when it was made; the arguments are valid for their length.
        unsafe {
            (self.function)(
                arguments.as_ptr().cast(),
                arguments.len(),
                blocks,
                self.user,
            )
        }
    }
}
