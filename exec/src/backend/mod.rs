//! What executes a plan: a small trait in the shape of queue operations.

mod acl;
mod null;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::acl::{AclError, Capabilities, Capability, HostFunction, Stream};
use crate::plan::{Resources, Step};

pub use acl::AclBackend;
pub use null::NullBackend;

/// Something that plans are submitted to.
///
/// All calls come from one thread. A failed call leaves the rest of the resources usable for
/// [`Backend::abort`] and [`Backend::release`].
pub trait Backend {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// What it can do, found out by probing.
    fn capabilities(&self) -> &Capabilities;

    /// What a device is and has left.
    ///
    /// # Errors
    /// If the device cannot be asked.
    fn device(&mut self, device: u32) -> Result<DeviceInfo, BackendError>;

    /// Makes everything that a plan needs.
    ///
    /// # Errors
    /// If something cannot be made; [`Backend::release`] then gives the rest back.
    fn prepare(&mut self, resources: &Resources, bindings: Bindings) -> Result<(), BackendError>;

    /// Submits one step. Returns when it is queued, except for synchronisations, which return when
    /// they are met or `timeout_ms` is over.
    ///
    /// # Errors
    /// If it is refused, or a synchronisation reports an error of the device.
    fn submit(&mut self, step: &Step, timeout_ms: u32) -> Result<(), BackendError>;

    /// Captures everything in `steps`, which are of one rank, as a graph of its own, and returns its
    /// number for [`Backend::launch`].
    ///
    /// # Errors
    /// If something cannot be captured.
    fn capture(&mut self, rank: usize, steps: &[Step]) -> Result<usize, BackendError>;

    /// Queues a replay of a graph that [`Backend::capture`] made.
    ///
    /// # Errors
    /// If it is refused.
    fn launch(&mut self, graph: usize) -> Result<(), BackendError>;

    /// Waits until every stream is empty; at most `timeout_ms` for each.
    ///
    /// # Errors
    /// The first error of a device, or the time-out.
    fn synchronise(&mut self, timeout_ms: u32) -> Result<(), BackendError>;

    /// Aborts every stream. Goes on after errors and returns the first.
    ///
    /// # Errors
    /// If a stream cannot be aborted.
    fn abort(&mut self) -> Result<(), BackendError>;

    /// Gives everything back. Goes on after errors and returns the first.
    ///
    /// # Errors
    /// If something cannot be given back.
    fn release(&mut self) -> Result<(), BackendError>;

    /// Writes bytes into a buffer, by index, while no step runs.
    ///
    /// # Errors
    /// If they do not fit.
    fn write(&mut self, buffer: usize, offset: u64, bytes: &[u8]) -> Result<(), BackendError>;

    /// Reads bytes from a buffer, by index, while no step runs.
    ///
    /// # Errors
    /// If there are not so many.
    fn read(&mut self, buffer: usize, offset: u64, bytes: &mut [u8]) -> Result<(), BackendError>;

    /// Takes what it recorded of the tasks that have ended since the last call, in the order of
    /// their ends; nothing if it records nothing. So far only the emulator does.
    ///
    /// # Errors
    /// If the record cannot be read.
    fn take_spans(&mut self) -> Result<Option<Vec<TaskSpan>>, BackendError> {
        Ok(None)
    }
}

/// When a task ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSpan {
    /// Index of its rank in [`Resources::ranks`].
    pub rank: usize,
    /// Its op, as [`Step::op`].
    pub op: u32,
    /// The id of its stream on the device.
    pub stream: u32,
    /// When it started, in ns of the device's clock. A wait starts when its stream reaches it.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

/// What a device is and has left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its number.
    pub device: u32,
    /// The name of the chip.
    pub soc: String,
    /// Cube cores.
    pub aic: u32,
    /// Vector cores.
    pub aiv: u32,
    /// Streams that are free.
    pub streams: u32,
    /// Event ids that are free.
    pub events: u32,
}

/// Why a backend did not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// An ACL call failed.
    #[error(transparent)]
    Acl(#[from] AclError),
    /// The plan needs something that is not there.
    #[error("this CANN or device has no {0}, which the schedule needs")]
    Missing(Capability),
    /// An op has no binding, and this is not the emulator.
    #[error("the op has no launch binding; only the emulator can stand in for it")]
    Unbound,
    /// The schedule names something that was not given.
    #[error("no {what} called `{name}` was given")]
    NotGiven {
        /// What it is.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A callback of the host framework failed.
    #[error("the callback `{name}` failed: {message}")]
    Callback {
        /// Its name.
        name: String,
        /// What it said.
        message: String,
    },
    /// The ranks need more than one process.
    #[error("device {device} is not one of the {count} of this process")]
    NoDevice {
        /// The device.
        device: u32,
        /// How many there are.
        count: u32,
    },
}

/// Enqueues an op on the stream it is given; the rank is its index.
pub type Callback = Box<dyn FnMut(&Stream, usize) -> Result<(), String>>;

/// What the host framework gives to a run.
#[derive(Default)]
pub struct Bindings {
    /// Callbacks by name.
    pub callbacks: BTreeMap<String, Callback>,
    /// Host functions by name. They live as long as the program, since a graph may call them.
    pub functions: BTreeMap<String, &'static HostFunction>,
    /// Borrowed streams by the number of their rank and name.
    pub streams: BTreeMap<(u32, String), Stream>,
    /// Where relative paths of kernel binaries start: the folder of the schedule file. Without one,
    /// the current folder.
    pub folder: Option<PathBuf>,
}

impl fmt::Debug for Bindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bindings")
            .field("callbacks", &self.callbacks.keys())
            .field("functions", &self.functions.keys())
            .field("streams", &self.streams)
            .field("folder", &self.folder)
            .finish()
    }
}
