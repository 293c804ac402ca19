//! Making what a plan needs.

use std::path::PathBuf;

use ascsim_schedules::{CaptureMode, EventKind, Memory, Owner};

use super::{AclBackend, Buffer, Kernel, StreamEntry};
use crate::acl::{
    Acl, Capability, CoreKind, DeviceMemory, EventFlags, GraphMode, Stream, StreamFlags,
};
use crate::backend::BackendError;
use crate::plan::{GraphSpec, KernelArgument, Resources};

impl AclBackend {
    pub(super) fn prepare_all(&mut self, resources: &Resources) -> Result<(), BackendError> {
        self.devices = resources.ranks.iter().map(|rank| rank.device).collect();
        for spec in &resources.buffers {
            self.enter_rank(spec.rank)?;
            self.buffers.push(match spec.memory {
                Memory::Hbm => {
                    let memory = self.acl.malloc(spec.bytes.max(1))?;
                    self.buffers_zeroed(&memory)?;
                    Buffer::Device(memory)
                }
                Memory::HostPinned | Memory::HostPageable => {
                    Buffer::Pinned(self.acl.malloc_host(spec.bytes.max(1))?)
                }
            });
        }
        for spec in &resources.streams {
            self.enter_rank(spec.rank)?;
            let own = |acl: &Acl| {
                let flags = StreamFlags(StreamFlags::FAST_LAUNCH.0 | StreamFlags::FAST_SYNC.0);
                acl.create_stream(spec.priority, flags)
            };
            let (stream, borrowed) = match spec.owner {
                Owner::Own => (own(&self.acl)?, false),
                Owner::Default => (Stream::DEFAULT, true),
                Owner::Borrowed => {
                    let key = (resources.ranks[spec.rank].rank, spec.name.clone());
                    let given = self.bindings.streams.remove(&key);
                    let given = given.ok_or_else(|| BackendError::NotGiven {
                        what: "stream",
                        name: spec.name.clone(),
                    })?;
                    (given, true)
                }
            };
            if let Some(limit) = spec.core_limit {
                self.need(Capability::CoreLimits)?;
                for (kind, cores) in [(CoreKind::Aic, limit.aic), (CoreKind::Aiv, limit.aiv)] {
                    if let Some(cores) = cores {
                        self.acl.set_stream_cores(&stream, kind, cores)?;
                    }
                }
            }
            self.streams.push(StreamEntry {
                rank: spec.rank,
                stream,
                borrowed,
            });
        }
        for spec in &resources.events {
            self.enter_rank(spec.rank)?;
            self.events.push(match spec.kind {
                EventKind::Ex => self.acl.create_event_ex(EventFlags::SYNC)?,
                EventKind::Default => self.acl.create_event()?,
                EventKind::Sync => self.acl.create_event_with_flag(EventFlags::SYNC)?,
                EventKind::External => self.acl.create_event_with_flag(EventFlags::EXTERNAL)?,
                EventKind::Timeline => self.acl.create_event_ex(EventFlags::TIME_LINE)?,
            });
        }
        for rank in &resources.notifies {
            self.enter_rank(*rank)?;
            self.notifies.push(self.acl.create_notify()?);
        }
        while let Some(spec) = resources.communicators.get(self.communicators.len()) {
            self.need(Capability::Collectives)?;
            self.communicators
                .extend(self.acl.communicators(&spec.devices)?);
        }
        for spec in &resources.kernels {
            self.enter_rank(spec.rank)?;
            let key = (self.devices[spec.rank], spec.binary.clone());
            if !self.binaries.contains_key(&key) {
                let binary = self.acl.load_binary(&self.binary(&spec.binary)?)?;
                self.binaries.insert(key.clone(), binary);
            }
            let function = self.acl.function(&self.binaries[&key], &spec.function)?;
            let bits = |argument: &KernelArgument| match argument {
                KernelArgument::Address(place) => self.address(*place),
                KernelArgument::Bits(bits) => *bits,
            };
            let arguments = spec
                .arguments
                .iter()
                .flat_map(|argument| bits(argument).to_ne_bytes())
                .collect();
            let (blocks, batch) = (spec.blocks, spec.batch);
            self.kernels.push(Kernel {
                function,
                blocks,
                batch,
                arguments,
            });
        }
        self.callbacks.clone_from(&resources.callbacks);
        self.functions.clone_from(&resources.functions);
        let given = |what: &'static str, name: &String, has: bool| {
            if has {
                Ok(())
            } else {
                Err(BackendError::NotGiven {
                    what,
                    name: name.clone(),
                })
            }
        };
        for name in &self.callbacks {
            given("callback", name, self.bindings.callbacks.contains_key(name))?;
        }
        for name in &self.functions {
            given(
                "host function",
                name,
                self.bindings.functions.contains_key(name),
            )?;
        }
        resources
            .graphs
            .iter()
            .try_for_each(|graph| self.capture_program(graph))
    }

    /// The path of a binary, absolute as ACL needs it (facts/acl.md section 8).
    fn binary(&self, path: &str) -> Result<PathBuf, BackendError> {
        let path = match &self.bindings.folder {
            Some(folder) => folder.join(path),
            None => PathBuf::from(path),
        };
        std::path::absolute(&path).map_err(|_| BackendError::NotGiven {
            what: "kernel binary",
            name: path.display().to_string(),
        })
    }

    /// All words of device memory are 0 at the start.
    pub(super) fn buffers_zeroed(&self, memory: &DeviceMemory) -> Result<(), BackendError> {
        let bytes = memory.bytes();
        self.acl.fill_async(memory, 0, bytes, 0, &Stream::DEFAULT)?;
        Ok(self
            .acl
            .synchronize_stream(&Stream::DEFAULT, Some(60_000))?)
    }

    pub(super) fn capture_program(&mut self, spec: &GraphSpec) -> Result<(), BackendError> {
        self.need(Capability::GraphCapture)?;
        self.enter_rank(spec.rank)?;
        let mode = match spec.mode {
            CaptureMode::Global => GraphMode::Global,
            CaptureMode::ThreadLocal => GraphMode::ThreadLocal,
            CaptureMode::Relaxed => GraphMode::Relaxed,
        };
        self.acl
            .begin_capture(&self.streams[spec.origin].stream, mode)?;
        let steps = spec.steps.iter().try_for_each(|step| self.queue(step));
        let graph = self.acl.end_capture(&self.streams[spec.origin].stream);
        match (steps, graph) {
            (Ok(()), Ok(graph)) => {
                self.graphs.push(graph);
                Ok(())
            }
            // A failed step explains a failed end.
            (Err(error), Ok(graph)) => {
                self.acl.destroy_graph(graph)?;
                Err(error)
            }
            (Err(error), Err(_)) => Err(error),
            (Ok(()), Err(error)) => Err(error.into()),
        }
    }
}
