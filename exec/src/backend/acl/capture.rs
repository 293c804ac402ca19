//! Whole steps as graphs.

use super::AclBackend;
use crate::acl::EventFlags;
use crate::backend::BackendError;

impl AclBackend {
    /// Between a fork from the origin to every stream and a join back, what is queued is captured.
    pub(super) fn fork(&mut self, origin: usize, streams: &[usize]) -> Result<(), BackendError> {
        let event = self.acl.create_event_ex(EventFlags::SYNC)?;
        self.acl
            .record_event(&event, &self.streams[origin].stream)?;
        for stream in streams {
            self.acl.wait_event(&self.streams[*stream].stream, &event)?;
        }
        self.joints.push(event);
        Ok(())
    }

    pub(super) fn join(&mut self, origin: usize, streams: &[usize]) -> Result<(), BackendError> {
        self.clear_hint()?;
        for stream in streams {
            let event = self.acl.create_event_ex(EventFlags::SYNC)?;
            self.acl
                .record_event(&event, &self.streams[*stream].stream)?;
            self.acl.wait_event(&self.streams[origin].stream, &event)?;
            self.joints.push(event);
        }
        Ok(())
    }
}
