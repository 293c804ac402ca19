//! What only our emulator has.

use std::ffi::{CString, c_void};

use super::{Acl, AclError, Stream, argument, call};
use crate::acl::raw::{EmulatorKernel, EmulatorRecord, EmulatorTask, Symbol};

impl Acl {
    /// Whether the library is our emulator.
    pub fn is_emulator(&self) -> bool {
        self.has(Symbol::ascsimEmulatorLaunch)
    }

    /// Settings for the next initialisation, as in `ASCSIM_EMULATOR`.
    pub fn emulator_configure(&self, settings: &str) -> Result<(), AclError> {
        let function = Symbol::ascsimEmulatorConfigure.name();
        let settings = CString::new(settings)
            .map_err(|_| argument(function, "the settings contain a zero byte"))?;
        call!(self, ascsimEmulatorConfigure(settings.as_ptr()))
    }

    /// Says what the next task that this thread queues is to look like.
    pub fn emulator_next_task(&self, task: EmulatorTask) -> Result<(), AclError> {
        call!(self, ascsimEmulatorNextTask(&raw const task))
    }

    /// Queues a kernel that only takes time and cores.
    pub fn emulator_launch(&self, stream: &Stream) -> Result<(), AclError> {
        call!(self, ascsimEmulatorLaunch(stream.as_raw()))
    }

    /// Registers what kernels with `host=NAME` do.
    ///
    /// # Safety
    /// The function may be called on any thread, with the arguments of any launch of such a kernel.
    pub unsafe fn emulator_register_kernel(
        &self,
        name: &str,
        function: EmulatorKernel,
        user: *mut c_void,
    ) -> Result<(), AclError> {
        let symbol = Symbol::ascsimEmulatorRegisterKernel.name();
        let name =
            CString::new(name).map_err(|_| argument(symbol, "the name contains a zero byte"))?;
        call!(
            self,
            ascsimEmulatorRegisterKernel(name.as_ptr(), function, user)
        )
    }

    /// Takes the trace of the tasks that have ended, in the order of their ends.
    pub fn emulator_trace(&self) -> Result<Vec<EmulatorRecord>, AclError> {
        let mut records = Vec::new();
        loop {
            let mut chunk = [EmulatorRecord::default(); 256];
            let mut count = 0;
            call!(
                self,
                ascsimEmulatorTrace(chunk.as_mut_ptr(), chunk.len(), &raw mut count)
            )?;
            if count == 0 {
                return Ok(records);
            }
            records.extend(&chunk[..count.min(chunk.len())]);
        }
    }

    /// The time of the emulator's clock in ns.
    pub fn emulator_clock(&self) -> Result<u64, AclError> {
        let mut now = 0;
        call!(self, ascsimEmulatorClock(&raw mut now))?;
        Ok(now)
    }
}
