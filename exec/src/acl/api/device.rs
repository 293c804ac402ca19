//! Devices, contexts and core limits (facts/acl.md sections 1 and 13).

use super::{Acl, AclError, Stream, call, handles};
use crate::acl::value;

handles! {
    /// A context: what a thread works in.
    Context;
}

/// Cores that can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreKind {
    /// Cube cores.
    Aic = value::ACL_RT_DEV_RES_CUBE_CORE as isize,
    /// Vector cores.
    Aiv = value::ACL_RT_DEV_RES_VECTOR_CORE as isize,
}

/// Milliseconds for a C time-out; none waits without limit.
pub(super) fn milliseconds(timeout: Option<u32>) -> i32 {
    timeout.map_or(-1, |timeout| i32::try_from(timeout).unwrap_or(i32::MAX))
}

impl Acl {
    /// How many devices there are.
    pub fn device_count(&self) -> Result<u32, AclError> {
        let mut count = 0;
        call!(self, aclrtGetDeviceCount(&raw mut count))?;
        Ok(count)
    }

    /// Makes the device that of the thread, with its primary context.
    pub fn set_device(&self, device: u32) -> Result<(), AclError> {
        call!(self, aclrtSetDevice(device.cast_signed()))
    }

    /// The device of the thread.
    pub fn device(&self) -> Result<i32, AclError> {
        let mut device = 0;
        call!(self, aclrtGetDevice(&raw mut device))?;
        Ok(device)
    }

    /// Gives the device back that [`Acl::set_device`] took.
    pub fn reset_device(&self, device: u32) -> Result<(), AclError> {
        call!(self, aclrtResetDevice(device.cast_signed()))
    }

    /// The context of the thread.
    pub fn current_context(&self) -> Result<Context, AclError> {
        let mut context = 0;
        call!(self, aclrtGetCurrentContext(&raw mut context))?;
        Ok(Context(context))
    }

    /// Makes a context of its own on the device, and makes it that of the thread.
    pub fn create_context(&self, device: u32) -> Result<Context, AclError> {
        let mut context = 0;
        call!(
            self,
            aclrtCreateContext(&raw mut context, device.cast_signed())
        )?;
        Ok(Context(context))
    }

    /// Destroys a context that was created.
    pub fn destroy_context(&self, context: Context) -> Result<(), AclError> {
        call!(self, aclrtDestroyContext(context.0))
    }

    /// Makes the context that of the thread.
    pub fn set_current_context(&self, context: &Context) -> Result<(), AclError> {
        call!(self, aclrtSetCurrentContext(context.0))
    }

    /// Waits until all streams of the thread's device are empty, at most so many ms.
    pub fn synchronize_device(&self, timeout_ms: Option<u32>) -> Result<(), AclError> {
        call!(
            self,
            aclrtSynchronizeDeviceWithTimeout(milliseconds(timeout_ms))
        )
    }

    /// An attribute of a device: 101 AI cores, 102 cube cores, 201 vector cores, 301 bytes of HBM,
    /// 302 bytes of L2.
    pub fn device_info(&self, device: u32, attribute: u32) -> Result<i64, AclError> {
        let mut value = 0;
        call!(self, aclrtGetDeviceInfo(device, attribute, &raw mut value))?;
        Ok(value)
    }

    /// Lets the thread's device reach the memory of another.
    pub fn enable_peer_access(&self, peer: u32) -> Result<(), AclError> {
        call!(self, aclrtDeviceEnablePeerAccess(peer.cast_signed(), 0))
    }

    /// Limits the cores that tiling asks for on a device.
    pub fn set_device_cores(
        &self,
        device: u32,
        kind: CoreKind,
        cores: u32,
    ) -> Result<(), AclError> {
        call!(
            self,
            aclrtSetDeviceResLimit(device.cast_signed(), kind as u32, cores)
        )
    }

    /// The limit of [`Acl::set_device_cores`], or the cores that there are.
    pub fn device_cores(&self, device: u32, kind: CoreKind) -> Result<u32, AclError> {
        let mut cores = 0;
        call!(
            self,
            aclrtGetDeviceResLimit(device.cast_signed(), kind as u32, &raw mut cores)
        )?;
        Ok(cores)
    }

    /// Takes the limits of the device back.
    pub fn reset_device_cores(&self, device: u32) -> Result<(), AclError> {
        call!(self, aclrtResetDeviceResLimit(device.cast_signed()))
    }

    /// Limits the cores that tiling asks for on a stream, in threads that use its limits.
    pub fn set_stream_cores(
        &self,
        stream: &Stream,
        kind: CoreKind,
        cores: u32,
    ) -> Result<(), AclError> {
        call!(
            self,
            aclrtSetStreamResLimit(stream.as_raw(), kind as u32, cores)
        )
    }

    /// The limit of a stream, or else of its device, or else the cores that there are.
    pub fn stream_cores(&self, stream: &Stream, kind: CoreKind) -> Result<u32, AclError> {
        let mut cores = 0;
        call!(
            self,
            aclrtGetStreamResLimit(stream.as_raw(), kind as u32, &raw mut cores)
        )?;
        Ok(cores)
    }

    /// Makes the thread's tiling obey the limits of the stream.
    pub fn use_stream_cores(&self, stream: &Stream) -> Result<(), AclError> {
        call!(self, aclrtUseStreamResInCurrentThread(stream.as_raw()))
    }

    /// Undoes [`Acl::use_stream_cores`].
    pub fn unuse_stream_cores(&self, stream: &Stream) -> Result<(), AclError> {
        call!(self, aclrtUnuseStreamResInCurrentThread(stream.as_raw()))
    }

    /// The cores that the thread's tiling may ask for.
    pub fn thread_cores(&self, kind: CoreKind) -> Result<u32, AclError> {
        let mut cores = 0;
        call!(
            self,
            aclrtGetResInCurrentThread(kind as u32, &raw mut cores)
        )?;
        Ok(cores)
    }
}
