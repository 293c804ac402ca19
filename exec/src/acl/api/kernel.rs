//! Kernels (facts/acl.md section 8).

use std::ffi::CString;
use std::path::Path;

use super::{Acl, AclError, Stream, argument, call, handles};
use crate::acl::raw::{LaunchAttribute, LaunchConfig};
use crate::acl::value;

handles! {
    /// A loaded binary.
    Binary;
    /// A function of a binary; not to be used after the binary is unloaded.
    Function;
}

/// `ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE`
const SCHEDULE_MODE: u32 = value::ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE;

impl Acl {
    /// Loads a binary from a file, whose path must be absolute.
    pub fn load_binary(&self, path: &Path) -> Result<Binary, AclError> {
        let function = "aclrtBinaryLoadFromFile";
        let path = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| argument(function, "the path contains a zero byte"))?;
        let mut binary = 0;
        call!(
            self,
            aclrtBinaryLoadFromFile(path.as_ptr(), std::ptr::null(), &raw mut binary)
        )?;
        Ok(Binary(binary))
    }

    /// Loads a binary from memory, which is copied.
    pub fn load_binary_data(&self, data: &[u8]) -> Result<Binary, AclError> {
        let mut binary = 0;
        let (start, bytes) = (data.as_ptr().cast(), data.len());
        call!(
            self,
            aclrtBinaryLoadFromData(start, bytes, std::ptr::null(), &raw mut binary)
        )?;
        Ok(Binary(binary))
    }

    /// Unloads a binary; its functions must not be queued any more.
    pub fn unload_binary(&self, binary: Binary) -> Result<(), AclError> {
        call!(self, aclrtBinaryUnLoad(binary.0))
    }

    /// A function of a binary.
    pub fn function(&self, binary: &Binary, name: &str) -> Result<Function, AclError> {
        let name = CString::new(name)
            .map_err(|_| argument("aclrtBinaryGetFunction", "the name contains a zero byte"))?;
        let mut function = 0;
        call!(
            self,
            aclrtBinaryGetFunction(binary.0, name.as_ptr(), &raw mut function)
        )?;
        Ok(Function(function))
    }

    /// Queues a kernel of `blocks` blocks, in batch mode or not. The arguments are copied by the call.
    ///
    /// # Safety
    /// The arguments are what the kernel expects: it may write to any device memory.
    pub unsafe fn launch_kernel(
        &self,
        function: &Function,
        blocks: u32,
        batch: bool,
        arguments: &mut [u8],
        stream: &Stream,
    ) -> Result<(), AclError> {
        let mut mode = LaunchAttribute {
            id: SCHEDULE_MODE,
            value: [0; 4],
        };
        mode.value[0] = u32::from_ne_bytes([u8::from(batch), 0, 0, 0]);
        let config = LaunchConfig {
            attributes: &raw const mode,
            count: 1,
        };
        let (start, bytes) = (arguments.as_mut_ptr().cast(), arguments.len());
        let (stream, places) = (stream.as_raw(), std::ptr::null());
        call!(
            self,
            aclrtLaunchKernelWithHostArgs(
                function.0,
                blocks,
                stream,
                &raw const config,
                start,
                bytes,
                places,
                0
            )
        )
    }
}
