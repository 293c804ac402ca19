//! One step of a plan as calls.
#![expect(
    unsafe_code,
    reason = "kernels are launched with arguments that only the schedule vouches for"
)]

use super::{AclBackend, Buffer};
use crate::acl::raw::EmulatorTask;
use crate::acl::{Capability, CmoKind, Communicator, Stream};
use crate::backend::BackendError;
use crate::plan::{CollectiveCall, Command, Place, Step};

/// What the emulator's trace shows for a step; never 0.
fn tag(step: &Step) -> u64 {
    ((step.rank as u64) << 32 | u64::from(step.op)) + 1
}

/// Rank index and op of a tag.
pub(super) fn tagged(tag: u64) -> Option<(usize, u32)> {
    let tag = tag.checked_sub(1)?;
    let rank = usize::try_from(tag >> 32).ok()?;
    Some((rank, u32::try_from(tag & u64::from(u32::MAX)).ok()?))
}

impl AclBackend {
    pub(super) fn hint(&self, step: &Step) -> Result<(), BackendError> {
        if !self.capabilities.has(Capability::TimedKernels) {
            return Ok(());
        }
        let task = EmulatorTask {
            tag: tag(step),
            duration_ns: step.shape.duration_ns,
            aic: step.shape.aic,
            aiv: step.shape.aiv,
            batch: u32::from(step.shape.batch),
            reserved: 0,
        };
        Ok(self.acl.emulator_next_task(task)?)
    }

    /// Queues one step on a stream.
    pub(super) fn queue(&mut self, step: &Step) -> Result<(), BackendError> {
        self.enter_rank(step.rank)?;
        self.hint(step)?;
        let acl = &self.acl;
        let on = |stream: usize| &self.streams[stream].stream;
        match &step.command {
            Command::Record {
                stream,
                event,
                external,
            } => {
                let event = &self.events[*event];
                if *external {
                    acl.record_event_external(event, on(*stream))?;
                } else {
                    acl.record_event(event, on(*stream))?;
                }
            }
            Command::Wait {
                stream,
                event,
                external,
                timeout_s,
            } => {
                let event = &self.events[*event];
                if *external {
                    acl.wait_event_external(on(*stream), event)?;
                } else if *timeout_s > 0 {
                    acl.wait_event_timeout(on(*stream), event, *timeout_s)?;
                } else {
                    acl.wait_event(on(*stream), event)?;
                }
            }
            Command::Reset { stream, event } => {
                acl.reset_event(&self.events[*event], on(*stream))?;
            }
            Command::NotifyRecord { stream, notify } => {
                acl.record_notify(&self.notifies[*notify], on(*stream))?;
            }
            Command::NotifyWait {
                stream,
                notify,
                timeout_s,
            } => {
                acl.wait_notify(&self.notifies[*notify], on(*stream), *timeout_s)?;
            }
            Command::ValueWrite {
                stream,
                word,
                value,
            } => {
                let (memory, offset) = self.device_memory(*word)?;
                acl.write_value(memory, offset, *value, on(*stream))?;
            }
            Command::ValueWait {
                stream,
                word,
                value,
                condition,
            } => {
                let (memory, offset) = self.device_memory(*word)?;
                acl.wait_value(memory, offset, *value, *condition, on(*stream))?;
            }
            Command::Copy {
                stream,
                to,
                from,
                bytes,
                blocking,
            } => {
                self.copy(on(*stream), *to, *from, *bytes)?;
                if *blocking {
                    acl.synchronize_stream(on(*stream), None)?;
                }
            }
            Command::Prefetch { stream, at, bytes } => {
                self.need(Capability::Prefetch)?;
                let (memory, offset) = self.device_memory(*at)?;
                acl.cmo(memory, offset, *bytes, CmoKind::Prefetch, on(*stream))?;
            }
            Command::Kernel { stream, kernel } => {
                let stream = &self.streams[*stream].stream;
                let kernel = &mut self.kernels[*kernel];
                // SAFETY: the schedule says what the kernel is given, and the checked schedule is
                // what its author vouches for; addresses are those of live buffers.
                unsafe {
                    acl.launch_kernel(
                        &kernel.function,
                        kernel.blocks,
                        kernel.batch,
                        &mut kernel.arguments,
                        stream,
                    )?;
                }
            }
            Command::Timed { stream } => {
                if !self.capabilities.has(Capability::TimedKernels) {
                    return Err(BackendError::Unbound);
                }
                acl.emulator_launch(on(*stream))?;
            }
            Command::Callback { stream, callback } => {
                let name = &self.callbacks[*callback];
                if let Some(callback) = self.bindings.callbacks.get_mut(name) {
                    callback(&self.streams[*stream].stream, step.rank).map_err(|message| {
                        BackendError::Callback {
                            name: name.clone(),
                            message,
                        }
                    })?;
                }
            }
            Command::HostFunction { stream, function } => {
                self.need(Capability::HostFunctions)?;
                let name = &self.functions[*function];
                if let Some(function) = self.bindings.functions.get(name) {
                    acl.launch_host_call(on(*stream), function)?;
                }
            }
            Command::Collective {
                stream,
                communicator,
                call,
            } => {
                self.collective(on(*stream), &self.communicators[*communicator], *call)?;
            }
            Command::Launch { stream, graph } => {
                acl.launch_graph(&self.graphs[*graph], on(*stream))?;
            }
            // Synchronisations are not queued.
            Command::SynchroniseStream { .. }
            | Command::SynchroniseEvent { .. }
            | Command::SynchroniseDevice => {}
        }
        Ok(())
    }

    pub(super) fn copy(
        &self,
        stream: &Stream,
        to: Place,
        from: Place,
        bytes: u64,
    ) -> Result<(), BackendError> {
        let acl = &self.acl;
        match (&self.buffers[to.buffer], &self.buffers[from.buffer]) {
            (Buffer::Device(t), Buffer::Device(f)) => {
                acl.copy_device_async((t, to.offset), (f, from.offset), bytes, stream)?
            }
            (Buffer::Device(t), Buffer::Pinned(f)) => {
                acl.copy_in_async((t, to.offset), (f, from.offset), bytes, stream)?
            }
            (Buffer::Pinned(t), Buffer::Device(f)) => {
                acl.copy_out_async((t, to.offset), (f, from.offset), bytes, stream)?
            }
            (Buffer::Pinned(t), Buffer::Pinned(f)) => {
                acl.copy_host_async((t, to.offset), (f, from.offset), bytes, stream)?
            }
        }
        Ok(())
    }

    pub(super) fn collective(
        &self,
        stream: &Stream,
        communicator: &Communicator,
        call: CollectiveCall,
    ) -> Result<(), BackendError> {
        let (acl, at) = (&self.acl, |place| self.device_memory(place));
        match call {
            CollectiveCall::AllReduce {
                send,
                receive,
                count,
                dtype,
                reduce,
            } => {
                acl.all_reduce(
                    at(send)?,
                    at(receive)?,
                    count,
                    dtype,
                    reduce,
                    communicator,
                    stream,
                )?;
            }
            CollectiveCall::ReduceScatter {
                send,
                receive,
                count,
                dtype,
                reduce,
            } => {
                let (send, receive) = (at(send)?, at(receive)?);
                acl.reduce_scatter(send, receive, count, dtype, reduce, communicator, stream)?;
            }
            CollectiveCall::AllGather {
                send,
                receive,
                count,
                dtype,
            } => {
                acl.all_gather(at(send)?, at(receive)?, count, dtype, communicator, stream)?;
            }
            CollectiveCall::AllToAll {
                send,
                receive,
                count,
                dtype,
            } => {
                acl.all_to_all(at(send)?, at(receive)?, count, dtype, communicator, stream)?;
            }
            CollectiveCall::Broadcast {
                buffer,
                count,
                dtype,
                root,
            } => {
                acl.broadcast(at(buffer)?, count, dtype, root, communicator, stream)?;
            }
            CollectiveCall::Send {
                from,
                count,
                dtype,
                peer,
            } => {
                acl.send(at(from)?, count, dtype, peer, communicator, stream)?;
            }
            CollectiveCall::Receive {
                to,
                count,
                dtype,
                peer,
            } => {
                acl.receive(at(to)?, count, dtype, peer, communicator, stream)?;
            }
            CollectiveCall::Barrier => acl.barrier(communicator, stream)?,
        }
        Ok(())
    }

    /// Forgets a hint that no task took, such as that of a wait that queued nothing.
    pub(super) fn clear_hint(&self) -> Result<(), BackendError> {
        if self.capabilities.has(Capability::TimedKernels) {
            self.acl.emulator_next_task(EmulatorTask::default())?;
        }
        Ok(())
    }
}
