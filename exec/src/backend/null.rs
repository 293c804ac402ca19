//! A backend that does nothing: what is left is the executor's own time.

use ascsim_schedules::Certificate;

use super::{Backend, BackendError, Bindings, DeviceInfo};
use crate::acl::Capabilities;
use crate::plan::{Resources, Step};

/// Accepts everything and does nothing.
#[derive(Debug)]
pub struct NullBackend {
    capabilities: Capabilities,
    info: DeviceInfo,
    /// Steps submitted so far.
    pub submitted: u64,
}

impl NullBackend {
    /// A backend that claims to have whatever was certified.
    pub fn of(certificate: &Certificate) -> Self {
        let limits = &certificate.limits;
        Self::new(DeviceInfo {
            device: 0,
            soc: certificate.device_class.clone(),
            aic: limits.aic,
            aiv: limits.aiv,
            streams: limits.streams,
            events: limits.events,
        })
    }

    /// A backend that claims to be `info`.
    pub fn new(info: DeviceInfo) -> Self {
        Self {
            capabilities: Capabilities::all(),
            info,
            submitted: 0,
        }
    }
}

impl Backend for NullBackend {
    fn name(&self) -> &str {
        "null"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn device(&mut self, device: u32) -> Result<DeviceInfo, BackendError> {
        Ok(DeviceInfo {
            device,
            ..self.info.clone()
        })
    }

    fn prepare(&mut self, _: &Resources, _: Bindings) -> Result<(), BackendError> {
        Ok(())
    }

    fn submit(&mut self, step: &Step, _: u32) -> Result<(), BackendError> {
        std::hint::black_box(step);
        self.submitted += 1;
        Ok(())
    }

    fn capture(&mut self, rank: usize, _: &[Step]) -> Result<usize, BackendError> {
        Ok(rank)
    }

    fn launch(&mut self, _: usize) -> Result<(), BackendError> {
        self.submitted += 1;
        Ok(())
    }

    fn synchronise(&mut self, _: u32) -> Result<(), BackendError> {
        Ok(())
    }

    fn abort(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    fn release(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    fn write(&mut self, _: usize, _: u64, _: &[u8]) -> Result<(), BackendError> {
        Ok(())
    }

    fn read(&mut self, _: usize, _: u64, _: &mut [u8]) -> Result<(), BackendError> {
        Ok(())
    }
}
