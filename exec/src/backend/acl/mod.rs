//! The backend over an ACL library: CANN's or our emulator.
mod capture;
mod prepare;
mod queue;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Backend, BackendError, Bindings, DeviceInfo, TaskSpan};
use crate::acl::{
    Acl, AclError, Binary, Capabilities, Capability, Communicator, Context, DeviceMemory, Event,
    Function, Graph, GraphMode, Notify, PinnedMemory, Stream, StreamFlags, value,
};
use crate::plan::{Command, Place, Resources, Step};

/// Submits to an ACL library.
#[derive(Debug)]
pub struct AclBackend {
    acl: Arc<Acl>,
    capabilities: Capabilities,
    /// Contexts by device.
    contexts: BTreeMap<u32, Context>,
    /// The device whose context the thread has.
    current: Option<u32>,
    /// By rank index.
    devices: Vec<u32>,
    streams: Vec<StreamEntry>,
    events: Vec<Event>,
    notifies: Vec<Notify>,
    buffers: Vec<Buffer>,
    communicators: Vec<Communicator>,
    binaries: BTreeMap<(u32, String), Binary>,
    kernels: Vec<Kernel>,
    graphs: Vec<Graph>,
    /// Graphs of whole steps, each with the rank and the stream it is launched on.
    captured: Vec<(usize, Graph, usize)>,
    bindings: Bindings,
    callbacks: Vec<String>,
    functions: Vec<String>,
    /// Of the captured graphs.
    joints: Vec<Event>,
}

#[derive(Debug)]
struct StreamEntry {
    rank: usize,
    stream: Stream,
    borrowed: bool,
}

#[derive(Debug)]
enum Buffer {
    Device(DeviceMemory),
    Pinned(PinnedMemory),
}

#[derive(Debug)]
struct Kernel {
    function: Function,
    blocks: u32,
    batch: bool,
    arguments: Vec<u8>,
}

impl AclBackend {
    /// Initialises the library and probes device `device`.
    ///
    /// # Errors
    /// If that fails.
    pub fn new(acl: Arc<Acl>, device: u32) -> Result<Self, BackendError> {
        acl.init()?;
        acl.set_device(device)?;
        let capabilities = acl.probe()?;
        let context = acl.current_context()?;
        Ok(Self {
            acl,
            capabilities,
            contexts: BTreeMap::from([(device, context)]),
            current: Some(device),
            devices: Vec::new(),
            streams: Vec::new(),
            events: Vec::new(),
            notifies: Vec::new(),
            buffers: Vec::new(),
            communicators: Vec::new(),
            binaries: BTreeMap::new(),
            kernels: Vec::new(),
            graphs: Vec::new(),
            captured: Vec::new(),
            bindings: Bindings::default(),
            callbacks: Vec::new(),
            functions: Vec::new(),
            joints: Vec::new(),
        })
    }

    /// The library.
    pub fn acl(&self) -> &Arc<Acl> {
        &self.acl
    }

    fn enter(&mut self, device: u32) -> Result<(), BackendError> {
        if self.current == Some(device) {
            return Ok(());
        }
        match self.contexts.get(&device) {
            Some(context) => self.acl.set_current_context(context)?,
            None => {
                let count = self.acl.device_count()?;
                if device >= count {
                    return Err(BackendError::NoDevice { device, count });
                }
                self.acl.set_device(device)?;
                self.contexts.insert(device, self.acl.current_context()?);
            }
        }
        self.current = Some(device);
        Ok(())
    }

    fn enter_rank(&mut self, rank: usize) -> Result<(), BackendError> {
        self.enter(self.devices[rank])
    }

    fn address(&self, place: Place) -> u64 {
        let start = match &self.buffers[place.buffer] {
            Buffer::Device(memory) => memory.address(),
            Buffer::Pinned(memory) => memory.address(),
        };
        start as u64 + place.offset
    }

    fn device_memory(&self, place: Place) -> Result<(&DeviceMemory, u64), BackendError> {
        match &self.buffers[place.buffer] {
            Buffer::Device(memory) => Ok((memory, place.offset)),
            Buffer::Pinned(_) => Err(BackendError::Acl(AclError::Argument {
                function: "submit",
                reason: "the op needs device memory, and the buffer is host memory".into(),
            })),
        }
    }

    fn need(&self, capability: Capability) -> Result<(), BackendError> {
        if self.capabilities.has(capability) {
            return Ok(());
        }
        Err(BackendError::Missing(capability))
    }
}

/// Keeps the first error.
fn note(first: &mut Result<(), BackendError>, outcome: Result<(), AclError>) {
    if let (Ok(()), Err(error)) = (&first, outcome) {
        *first = Err(error.into());
    }
}

impl Backend for AclBackend {
    fn name(&self) -> &str {
        self.acl.library()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn device(&mut self, device: u32) -> Result<DeviceInfo, BackendError> {
        self.enter(device)?;
        let cores = |attribute| {
            let cores = self.acl.device_info(device, attribute)?;
            Ok::<u32, AclError>(u32::try_from(cores).unwrap_or(0))
        };
        Ok(DeviceInfo {
            device,
            soc: self.acl.soc_name()?,
            aic: cores(value::ACL_DEV_ATTR_CUBE_CORE_NUM)?,
            aiv: cores(value::ACL_DEV_ATTR_VECTOR_CORE_NUM)?,
            streams: self.acl.available_streams()?,
            events: self.acl.available_events()?,
        })
    }

    fn prepare(&mut self, resources: &Resources, bindings: Bindings) -> Result<(), BackendError> {
        self.bindings = bindings;
        self.prepare_all(resources)
    }

    fn submit(&mut self, step: &Step, timeout_ms: u32) -> Result<(), BackendError> {
        let timeout = Some(timeout_ms);
        match &step.command {
            Command::SynchroniseStream { stream } => {
                self.enter_rank(step.rank)?;
                Ok(self
                    .acl
                    .synchronize_stream(&self.streams[*stream].stream, timeout)?)
            }
            Command::SynchroniseEvent { event } => {
                self.enter_rank(step.rank)?;
                Ok(self.acl.synchronize_event(&self.events[*event], timeout)?)
            }
            Command::SynchroniseDevice => {
                self.enter_rank(step.rank)?;
                Ok(self.acl.synchronize_device(timeout)?)
            }
            Command::Copy {
                stream,
                to,
                from,
                bytes,
                blocking: true,
            } => {
                self.enter_rank(step.rank)?;
                self.hint(step)?;
                let stream = &self.streams[*stream].stream;
                self.copy(stream, *to, *from, *bytes)?;
                Ok(self.acl.synchronize_stream(stream, timeout)?)
            }
            _ => self.queue(step),
        }
    }

    fn capture(&mut self, rank: usize, steps: &[Step]) -> Result<usize, BackendError> {
        self.need(Capability::GraphCapture)?;
        self.enter_rank(rank)?;
        let mine = self
            .streams
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.rank == rank);
        // Streams of graphs that the plan launches are not in the capture, and those of the default
        // kind cannot be.
        let streams: Vec<usize> = mine
            .filter(|(at, entry)| !entry.borrowed && steps.iter().any(|step| uses(step, *at)))
            .map(|(at, _)| at)
            .collect();
        let origin = self.streams.len();
        let stream = self.acl.create_stream(0, StreamFlags::default())?;
        self.streams.push(StreamEntry {
            rank,
            stream,
            borrowed: false,
        });
        self.acl
            .begin_capture(&self.streams[origin].stream, GraphMode::Global)?;
        let captured = self
            .fork(origin, &streams)
            .and_then(|()| steps.iter().try_for_each(|step| self.queue(step)))
            .and_then(|()| self.join(origin, &streams));
        let graph = self.acl.end_capture(&self.streams[origin].stream);
        captured?;
        self.captured.push((rank, graph?, origin));
        Ok(self.captured.len() - 1)
    }

    fn launch(&mut self, graph: usize) -> Result<(), BackendError> {
        let (rank, _, _) = self.captured[graph];
        self.enter_rank(rank)?;
        let (_, graph, stream) = &self.captured[graph];
        Ok(self
            .acl
            .launch_graph(graph, &self.streams[*stream].stream)?)
    }

    fn synchronise(&mut self, timeout_ms: u32) -> Result<(), BackendError> {
        for stream in 0..self.streams.len() {
            self.enter_rank(self.streams[stream].rank)?;
            self.acl
                .synchronize_stream(&self.streams[stream].stream, Some(timeout_ms))?;
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<(), BackendError> {
        let mut first = Ok(());
        for stream in 0..self.streams.len() {
            self.enter_rank(self.streams[stream].rank)?;
            let aborted = self.acl.abort_stream(&self.streams[stream].stream);
            note(&mut first, aborted);
        }
        first
    }

    fn release(&mut self) -> Result<(), BackendError> {
        let mut first = Ok(());
        let acl = Arc::clone(&self.acl);
        for (_, graph, _) in std::mem::take(&mut self.captured) {
            note(&mut first, acl.destroy_graph(graph));
        }
        for graph in std::mem::take(&mut self.graphs) {
            note(&mut first, acl.destroy_graph(graph));
        }
        for communicator in std::mem::take(&mut self.communicators) {
            note(&mut first, acl.destroy_communicator(communicator));
        }
        for event in std::mem::take(&mut self.events)
            .into_iter()
            .chain(self.joints.drain(..))
        {
            note(&mut first, acl.destroy_event(event));
        }
        for notify in std::mem::take(&mut self.notifies) {
            note(&mut first, acl.destroy_notify(notify));
        }
        for StreamEntry {
            rank,
            stream,
            borrowed,
        } in std::mem::take(&mut self.streams)
        {
            if !borrowed {
                self.enter_rank(rank)?;
                note(&mut first, acl.destroy_stream_force(stream));
            }
        }
        self.kernels.clear();
        for (_, binary) in std::mem::take(&mut self.binaries) {
            note(&mut first, acl.unload_binary(binary));
        }
        for buffer in std::mem::take(&mut self.buffers) {
            note(
                &mut first,
                match buffer {
                    Buffer::Device(memory) => acl.free(memory),
                    Buffer::Pinned(memory) => acl.free_host(memory),
                },
            );
        }
        first
    }

    fn write(&mut self, buffer: usize, offset: u64, bytes: &[u8]) -> Result<(), BackendError> {
        match &self.buffers[buffer] {
            Buffer::Device(memory) => self.acl.copy_in(memory, offset, bytes)?,
            Buffer::Pinned(memory) => memory.write(offset, bytes)?,
        }
        Ok(())
    }

    fn read(&mut self, buffer: usize, offset: u64, bytes: &mut [u8]) -> Result<(), BackendError> {
        match &self.buffers[buffer] {
            Buffer::Device(memory) => self.acl.copy_out(bytes, memory, offset)?,
            Buffer::Pinned(memory) => memory.read(offset, bytes)?,
        }
        Ok(())
    }

    fn take_spans(&mut self) -> Result<Option<Vec<TaskSpan>>, BackendError> {
        if !self.capabilities.has(Capability::TimedKernels) {
            return Ok(None);
        }
        let records = self.acl.emulator_trace()?;
        // Tasks without a tag are our own, such as the joins of captures.
        let spans = records.iter().filter_map(|record| {
            let (rank, op) = queue::tagged(record.tag)?;
            Some(TaskSpan {
                rank,
                op,
                stream: record.stream,
                start_ns: record.start_ns,
                end_ns: record.end_ns,
            })
        });
        Ok(Some(spans.collect()))
    }
}

impl Drop for AclBackend {
    fn drop(&mut self) {
        // What cannot be given back now is given back with the device.
        drop(self.release());
        for (device, _) in std::mem::take(&mut self.contexts) {
            drop(self.acl.reset_device(device));
        }
    }
}

/// Whether a step queues something on the stream.
fn uses(step: &Step, at: usize) -> bool {
    step.command.stream() == Some(at)
}
