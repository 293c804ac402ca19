//! What this CANN, firmware and device can do, found out by trying.

use std::collections::BTreeSet;
use std::fmt;

use super::raw::Symbol;
use super::{Acl, AclError, CmoKind, Code, CoreKind, EventFlags, GraphMode, StreamFlags};

/// A feature that some versions lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// Graph capture and replay.
    GraphCapture,
    /// External events in graphs (needs new firmware; facts/acl.md section 10).
    ExternalEvents,
    /// Update of the tasks of a graph.
    TaskUpdate,
    /// `aclrtStreamAbort` (needs new firmware).
    StreamAbort,
    /// Prefetch into L2.
    Prefetch,
    /// Core limits of streams.
    CoreLimits,
    /// Value writes and waits.
    Values,
    /// Host functions.
    HostFunctions,
    /// Collectives.
    Collectives,
    /// Kernels that only take time, of our emulator.
    TimedKernels,
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::GraphCapture,
        Self::ExternalEvents,
        Self::TaskUpdate,
        Self::StreamAbort,
        Self::Prefetch,
        Self::CoreLimits,
        Self::Values,
        Self::HostFunctions,
        Self::Collectives,
        Self::TimedKernels,
    ];
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GraphCapture => "graph capture",
            Self::ExternalEvents => "external events of graphs",
            Self::TaskUpdate => "task update of graphs",
            Self::StreamAbort => "stream abort",
            Self::Prefetch => "prefetch into L2",
            Self::CoreLimits => "core limits of streams",
            Self::Values => "value write and wait",
            Self::HostFunctions => "host functions",
            Self::Collectives => "collectives",
            Self::TimedKernels => "timed kernels",
        })
    }
}

/// The features that are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(BTreeSet<Capability>);

impl Capabilities {
    /// All features.
    pub fn all() -> Self {
        Self(Capability::ALL.into())
    }

    /// Whether a feature is there.
    pub fn has(&self, capability: Capability) -> bool {
        self.0.contains(&capability)
    }

    /// The features that are missing.
    pub fn missing(&self) -> impl Iterator<Item = Capability> {
        Capability::ALL
            .into_iter()
            .filter(|capability| !self.has(*capability))
    }
}

/// What a try says: there, missing, or an error that says neither.
fn found(outcome: Result<(), AclError>) -> Result<bool, AclError> {
    match outcome {
        Ok(()) => Ok(true),
        Err(error) if error.is_unsupported() => Ok(false),
        Err(error) => Err(error),
    }
}

impl Acl {
    /// Tries every feature on the thread's device, on objects of its own.
    ///
    /// # Errors
    /// If a try fails in another way than with "not supported" or a missing function.
    pub fn probe(&self) -> Result<Capabilities, AclError> {
        let mut there = BTreeSet::new();
        for capability in Capability::ALL {
            if self.try_capability(capability)? {
                there.insert(capability);
            }
        }
        Ok(Capabilities(there))
    }

    fn try_capability(&self, capability: Capability) -> Result<bool, AclError> {
        match capability {
            Capability::Collectives => Ok(self.has(Symbol::HcclCommInitAll)),
            Capability::HostFunctions => Ok(self.has(Symbol::aclrtLaunchHostFunc)),
            Capability::TimedKernels => Ok(self.is_emulator()),
            Capability::GraphCapture => self.try_capture(|_| Ok(())),
            Capability::ExternalEvents => self.try_capture(|stream| {
                let event = self.create_event_ex(EventFlags::SYNC)?;
                let recorded = self.record_event_external(&event, stream);
                self.destroy_event(event).and(recorded)
            }),
            Capability::TaskUpdate => self.try_capture(|stream| {
                self.begin_task_group(stream)?;
                self.end_task_group(stream).map(drop)
            }),
            Capability::StreamAbort => self.on_stream(|stream| self.abort_stream(stream)),
            Capability::CoreLimits => self.on_stream(|stream| {
                let cores = self.stream_cores(stream, CoreKind::Aiv)?;
                self.set_stream_cores(stream, CoreKind::Aiv, cores)
            }),
            Capability::Prefetch => {
                self.on_memory(|memory, stream| self.cmo(memory, 0, 64, CmoKind::Prefetch, stream))
            }
            Capability::Values => self.on_memory(|memory, stream| {
                self.write_value(memory, 0, 1, stream)?;
                self.wait_value(memory, 0, 1, 1, stream)
            }),
        }
    }

    fn on_stream(
        &self,
        body: impl FnOnce(&super::Stream) -> Result<(), AclError>,
    ) -> Result<bool, AclError> {
        let stream = self.create_stream(0, StreamFlags::default())?;
        let outcome = body(&stream).and_then(|()| self.synchronize_stream(&stream, Some(5_000)));
        self.destroy_stream_force(stream)?;
        found(outcome)
    }

    fn on_memory(
        &self,
        body: impl FnOnce(&super::DeviceMemory, &super::Stream) -> Result<(), AclError>,
    ) -> Result<bool, AclError> {
        let memory = self.malloc(64)?;
        let outcome = self.on_stream(|stream| body(&memory, stream));
        self.free(memory)?;
        outcome
    }

    fn try_capture(
        &self,
        body: impl FnOnce(&super::Stream) -> Result<(), AclError>,
    ) -> Result<bool, AclError> {
        let stream = self.create_stream(0, StreamFlags::default())?;
        let outcome = self
            .begin_capture(&stream, GraphMode::Relaxed)
            .and_then(|()| {
                let tried = body(&stream);
                match self.end_capture(&stream) {
                    Ok(graph) => self.destroy_graph(graph).and(tried),
                    // The try itself says more than the capture that it spoilt.
                    Err(error) if tried.is_ok() => Err(error),
                    Err(_) => tried,
                }
            });
        self.destroy_stream_force(stream)?;
        match found(outcome) {
            // Without a captured task some versions refuse to end the capture.
            Err(error) if error.code() == Some(Code::CAPTURE_INVALIDATED) => Ok(true),
            other => other,
        }
    }
}
