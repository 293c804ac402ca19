//! Memory, copies and prefetches (facts/acl.md sections 6 and 7).

use std::ffi::c_void;
use std::ptr::NonNull;

use super::{Acl, AclError, Stream, argument, call};

use crate::acl::value::{
    self, ACL_MEMCPY_DEVICE_TO_DEVICE as DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST as DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE as HOST_TO_DEVICE,
    ACL_MEMCPY_HOST_TO_HOST as HOST_TO_HOST,
};

/// Device memory.
#[derive(Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    address: usize,
    bytes: u64,
}

/// Pinned host memory, which copies reach asynchronously. It is read and written by copying.
#[derive(Debug)]
pub struct PinnedMemory {
    pointer: NonNull<u8>,
    bytes: u64,
}

// SAFETY: the memory belongs to this value; what the device does to it meanwhile is outside of what
// Rust knows, and every access of ours is a copy of raw bytes.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above.
unsafe impl Sync for PinnedMemory {}

/// What a cache maintenance operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the operations")]
pub enum CmoKind {
    Prefetch = value::ACL_RT_CMO_TYPE_PREFETCH as isize,
    WriteBack = value::ACL_RT_CMO_TYPE_WRITEBACK as isize,
    Invalidate = value::ACL_RT_CMO_TYPE_INVALID as isize,
    Flush = value::ACL_RT_CMO_TYPE_FLUSH as isize,
}

fn range(
    function: &'static str,
    start: usize,
    size: u64,
    offset: u64,
    bytes: u64,
) -> Result<usize, AclError> {
    let fits = offset.checked_add(bytes).is_some_and(|end| end <= size);
    match usize::try_from(offset) {
        Ok(offset) if fits => Ok(start + offset),
        _ => Err(argument(
            function,
            format!("{bytes} bytes from {offset} do not lie within memory of {size} bytes"),
        )),
    }
}

impl DeviceMemory {
    /// Its address on the device.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Memory that somebody else allocated.
    ///
    /// # Safety
    /// It is device memory that stays allocated while this value or a task that got it is in use.
    pub unsafe fn from_raw(address: usize, bytes: u64) -> Self {
        Self { address, bytes }
    }

    pub(super) fn part(
        &self,
        function: &'static str,
        offset: u64,
        bytes: u64,
    ) -> Result<usize, AclError> {
        range(function, self.address, self.bytes, offset, bytes)
    }
}

impl PinnedMemory {
    /// Its address.
    pub fn address(&self) -> usize {
        self.pointer.as_ptr().addr()
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies bytes out, from `offset`.
    pub fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), AclError> {
        let from = range("read", self.address(), self.bytes, offset, to.len() as u64)?;
        let from = self.pointer.as_ptr().with_addr(from);
        // SAFETY: within the allocation; `to` is a different memory, as nothing refers into ours.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    /// Copies bytes in, to `offset`.
    pub fn write(&self, offset: u64, from: &[u8]) -> Result<(), AclError> {
        let to = range(
            "write",
            self.address(),
            self.bytes,
            offset,
            from.len() as u64,
        )?;
        let to = self.pointer.as_ptr().with_addr(to);
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Ok(())
    }
}

fn size(function: &'static str, bytes: u64) -> Result<usize, AclError> {
    usize::try_from(bytes).map_err(|_| argument(function, format!("{bytes} bytes are too many")))
}

impl Acl {
    /// Allocates memory on the thread's device, from huge pages if possible.
    pub fn malloc(&self, bytes: u64) -> Result<DeviceMemory, AclError> {
        let mut address = 0;
        call!(
            self,
            aclrtMalloc(
                &raw mut address,
                size("aclrtMalloc", bytes)?,
                value::ACL_MEM_MALLOC_HUGE_FIRST
            )
        )?;
        Ok(DeviceMemory { address, bytes })
    }

    /// Frees device memory at once: what uses it must have ended.
    pub fn free(&self, memory: DeviceMemory) -> Result<(), AclError> {
        call!(self, aclrtFree(memory.address))
    }

    /// Allocates pinned host memory.
    pub fn malloc_host(&self, bytes: u64) -> Result<PinnedMemory, AclError> {
        let function = "aclrtMallocHost";
        let mut pointer: *mut c_void = std::ptr::null_mut();
        call!(
            self,
            aclrtMallocHost(&raw mut pointer, size(function, bytes)?)
        )?;
        let pointer = NonNull::new(pointer.cast())
            .ok_or_else(|| argument(function, "the library returned a null pointer"))?;
        Ok(PinnedMemory { pointer, bytes })
    }

    /// Frees pinned host memory at once: what uses it must have ended.
    pub fn free_host(&self, memory: PinnedMemory) -> Result<(), AclError> {
        call!(self, aclrtFreeHost(memory.pointer.as_ptr().cast()))
    }

    /// Free and total bytes of HBM.
    pub fn memory_info(&self) -> Result<(usize, usize), AclError> {
        let (mut free, mut total) = (0, 0);
        // 1: ACL_HBM_MEM.
        call!(
            self,
            aclrtGetMemInfo(value::ACL_HBM_MEM, &raw mut free, &raw mut total)
        )?;
        Ok((free, total))
    }

    /// Copies bytes to the device; returns when it is done.
    pub fn copy_in(&self, to: &DeviceMemory, offset: u64, from: &[u8]) -> Result<(), AclError> {
        let (count, bytes) = (from.len(), from.len() as u64);
        let to = to.part("aclrtMemcpy", offset, bytes)?;
        // The slice is valid for the call, which is synchronous.
        let from = from.as_ptr().expose_provenance();
        call!(self, aclrtMemcpy(to, count, from, count, HOST_TO_DEVICE))
    }

    /// Copies bytes from the device; returns when it is done.
    pub fn copy_out(
        &self,
        to: &mut [u8],
        from: &DeviceMemory,
        offset: u64,
    ) -> Result<(), AclError> {
        let (count, bytes) = (to.len(), to.len() as u64);
        let from = from.part("aclrtMemcpy", offset, bytes)?;
        // The slice is valid for the call, which is synchronous.
        let to = to.as_mut_ptr().expose_provenance();
        call!(self, aclrtMemcpy(to, count, from, count, DEVICE_TO_HOST))
    }

    /// Queues a copy from pinned memory to the device.
    pub fn copy_in_async(
        &self,
        to: (&DeviceMemory, u64),
        from: (&PinnedMemory, u64),
        bytes: u64,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let function = "aclrtMemcpyAsync";
        let to = to.0.part(function, to.1, bytes)?;
        let from = range(function, from.0.address(), from.0.bytes, from.1, bytes)?;
        self.copy_async(to, from, bytes, HOST_TO_DEVICE, stream)
    }

    /// Queues a copy from the device to pinned memory.
    pub fn copy_out_async(
        &self,
        to: (&PinnedMemory, u64),
        from: (&DeviceMemory, u64),
        bytes: u64,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let function = "aclrtMemcpyAsync";
        let to = range(function, to.0.address(), to.0.bytes, to.1, bytes)?;
        let from = from.0.part(function, from.1, bytes)?;
        self.copy_async(to, from, bytes, DEVICE_TO_HOST, stream)
    }

    /// Queues a copy within the device or to another device.
    pub fn copy_device_async(
        &self,
        to: (&DeviceMemory, u64),
        from: (&DeviceMemory, u64),
        bytes: u64,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let function = "aclrtMemcpyAsync";
        let to = to.0.part(function, to.1, bytes)?;
        let from = from.0.part(function, from.1, bytes)?;
        self.copy_async(to, from, bytes, DEVICE_TO_DEVICE, stream)
    }

    /// Asks for an asynchronous copy from host to host, which ACL refuses (facts/acl.md section 6).
    pub fn copy_host_async(
        &self,
        to: (&PinnedMemory, u64),
        from: (&PinnedMemory, u64),
        bytes: u64,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let function = "aclrtMemcpyAsync";
        let to = range(function, to.0.address(), to.0.bytes, to.1, bytes)?;
        let from = range(function, from.0.address(), from.0.bytes, from.1, bytes)?;
        self.copy_async(to, from, bytes, HOST_TO_HOST, stream)
    }

    /// Copies pageable memory to the device in the order of the stream. ACL makes this call
    /// synchronous: it returns when the copy is done, after everything before it on the stream.
    pub fn copy_pageable(
        &self,
        to: &DeviceMemory,
        offset: u64,
        from: &[u8],
        stream: &Stream,
    ) -> Result<(), AclError> {
        let bytes = from.len() as u64;
        let to = to.part("aclrtMemcpyAsync", offset, bytes)?;
        // The slice is valid for the call, which is synchronous for pageable memory (facts/acl.md
        // section 6).
        let from = from.as_ptr().expose_provenance();
        self.copy_async(to, from, bytes, HOST_TO_DEVICE, stream)
    }

    fn copy_async(
        &self,
        to: usize,
        from: usize,
        bytes: u64,
        kind: u32,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let bytes = size("aclrtMemcpyAsync", bytes)?;
        call!(
            self,
            aclrtMemcpyAsync(to, bytes, from, bytes, kind, stream.as_raw())
        )
    }

    /// Queues a fill of device memory.
    pub fn fill_async(
        &self,
        memory: &DeviceMemory,
        offset: u64,
        bytes: u64,
        value: u8,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let function = "aclrtMemsetAsync";
        let (at, bytes) = (
            memory.part(function, offset, bytes)?,
            size(function, bytes)?,
        );
        call!(
            self,
            aclrtMemsetAsync(at, bytes, i32::from(value), bytes, stream.as_raw())
        )
    }

    /// Queues a cache maintenance operation; the 910C knows only prefetches.
    pub fn cmo(
        &self,
        memory: &DeviceMemory,
        offset: u64,
        bytes: u64,
        kind: CmoKind,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let function = "aclrtCmoAsync";
        let (at, bytes) = (
            memory.part(function, offset, bytes)?,
            size(function, bytes)?,
        );
        call!(self, aclrtCmoAsync(at, bytes, kind as u32, stream.as_raw()))
    }
}
