//! Ops that launch something: kernels, collectives, captured programs.

use ascsim_schedules::flat::{Instance, InstanceId, Role, Target};
use ascsim_schedules::{Argument, CollectiveKind, Launch, ScheduleMode};

use super::compile::{Compiler, Try};
use super::{CollectiveCall, Command, GraphSpec, KernelArgument, KernelSpec, PlanErrorKind};
use crate::acl::value;

impl<'s> Compiler<'_, 's> {
    pub(super) fn kernel(&mut self, instance: &Instance<'s>, stream: usize) -> Try<Command> {
        let cores = instance.op.cores.unwrap_or_default();
        let (binary, function, arguments) = match instance.op.launch.as_deref() {
            None => return Ok(Command::Timed { stream }),
            Some(Launch::Callback { name, .. }) => {
                let callback = intern(&mut self.resources.callbacks, name);
                return Ok(Command::Callback { stream, callback });
            }
            Some(Launch::Aclnn { .. }) => {
                return Err(PlanErrorKind::Unsupported(
                    "an aclnn operator; bind it as a callback",
                ));
            }
            Some(Launch::Kernel {
                binary,
                function,
                arguments,
                ..
            }) => (binary, function, arguments),
        };
        let mut encoded = Vec::with_capacity(arguments.len());
        for argument in arguments {
            encoded.push(match argument {
                Argument::Buffer(name) => {
                    KernelArgument::Address(self.place(instance.rank, name, 0, 0)?)
                }
                Argument::Int(value) => KernelArgument::Bits(value.cast_unsigned()),
                Argument::Float(value) => KernelArgument::Bits(value.to_bits()),
                Argument::Bool(value) => KernelArgument::Bits(u64::from(*value)),
                Argument::Ints(_) | Argument::Tensor { .. } => {
                    return Err(PlanErrorKind::Unsupported(
                        "lists and tensors as kernel arguments",
                    ));
                }
            });
        }
        let kernel = self.resources.kernels.len();
        self.resources.kernels.push(KernelSpec {
            rank: self.rank_index(instance.rank),
            binary: binary.clone(),
            function: function.clone(),
            // A mixed kernel is launched by its cube blocks.
            blocks: if cores.aic > 0 {
                cores.aic
            } else {
                cores.aiv.max(1)
            },
            batch: cores.mode == ScheduleMode::Batch,
            arguments: encoded,
        });
        Ok(Command::Kernel { stream, kernel })
    }

    pub(super) fn collective(
        &mut self,
        id: InstanceId,
        instance: &Instance<'s>,
        stream: usize,
    ) -> Try<Command> {
        if let Some(Launch::Callback { name, .. }) = instance.op.launch.as_deref() {
            let callback = intern(&mut self.resources.callbacks, name);
            return Ok(Command::Callback { stream, callback });
        }
        let comm = instance.op.comm.as_deref();
        let comm = comm.ok_or(PlanErrorKind::Unsupported("a collective without `comm`"))?;
        let key = (comm.communicator.as_str(), instance.rank);
        let communicator = *self
            .communicators
            .get(&key)
            .ok_or(PlanErrorKind::Unsupported(
                "a collective of ranks that do not run here",
            ))?;
        let command = |call: CollectiveCall| {
            Ok(Command::Collective {
                stream,
                communicator,
                call,
            })
        };
        if comm.kind == CollectiveKind::Barrier {
            return command(CollectiveCall::Barrier);
        }
        let (dtype, size) = data_type(comm.dtype.as_deref().unwrap_or("fp32"))?;
        let bytes = self.number(instance.bytes().unwrap_or(&comm.bytes), "size")?;
        let count = bytes / size;
        let reduce = match comm.reduce.as_deref().unwrap_or("sum") {
            "sum" => value::HCCL_REDUCE_SUM,
            "prod" => value::HCCL_REDUCE_PROD,
            "max" => value::HCCL_REDUCE_MAX,
            "min" => value::HCCL_REDUCE_MIN,
            other => return Err(PlanErrorKind::Hccl(other.to_owned())),
        };
        let peer = comm.peer.unwrap_or(0);
        match comm.kind {
            CollectiveKind::Send => {
                let from = self.access(id, false, "what it sends")?.0;
                return command(CollectiveCall::Send {
                    from,
                    count,
                    dtype,
                    peer,
                });
            }
            CollectiveKind::Receive => {
                let to = self.access(id, true, "what it receives")?.0;
                return command(CollectiveCall::Receive {
                    to,
                    count,
                    dtype,
                    peer,
                });
            }
            CollectiveKind::Broadcast => {
                let buffer = self.access(id, true, "what it broadcasts")?.0;
                return command(CollectiveCall::Broadcast {
                    buffer,
                    count,
                    dtype,
                    root: peer,
                });
            }
            _ => {}
        }
        let send = self.access(id, false, "what it sends")?.0;
        let receive = self.access(id, true, "what it receives")?.0;
        command(match comm.kind {
            CollectiveKind::AllReduce => CollectiveCall::AllReduce {
                send,
                receive,
                count,
                dtype,
                reduce,
            },
            CollectiveKind::ReduceScatter => CollectiveCall::ReduceScatter {
                send,
                receive,
                count,
                dtype,
                reduce,
            },
            CollectiveKind::AllGather => CollectiveCall::AllGather {
                send,
                receive,
                count,
                dtype,
            },
            CollectiveKind::AllToAll => CollectiveCall::AllToAll {
                send,
                receive,
                count,
                dtype,
            },
            other => return Err(PlanErrorKind::Collective(other)),
        })
    }

    /// The captured program that a launch replays.
    pub(super) fn graph(&mut self, launch: InstanceId) -> Try<usize> {
        let instance = self.flat[launch];
        let Target::Graph(id) = instance.target else {
            return Err(PlanErrorKind::Unsupported("a launch without a graph"));
        };
        if let Some(graph) = self.graphs.get(&id.index()) {
            return Ok(*graph);
        }
        let capture = self.flat.graph(id).1.capture.as_ref();
        let capture = capture.ok_or(PlanErrorKind::Unsupported(
            "a launch of no captured program",
        ))?;
        let mut steps = Vec::new();
        let mut origin = None;
        for inside in self.flat.inside(launch) {
            if self.flat[inside].role != Role::Replayed {
                continue;
            }
            steps.extend(self.step(inside)?);
            let stream = self.flat[inside].stream;
            origin =
                origin
                    .or(stream
                        .filter(|stream| self.flat.stream(*stream).stream.name == capture.origin));
        }
        let origin = origin.ok_or(PlanErrorKind::Unsupported("a graph with an empty origin"))?;
        let graph = self.resources.graphs.len();
        self.resources.graphs.push(GraphSpec {
            rank: self.rank_index(instance.rank),
            origin: origin.index(),
            mode: capture.mode,
            steps,
        });
        self.graphs.insert(id.index(), graph);
        Ok(graph)
    }
}

pub(super) fn intern(names: &mut Vec<String>, name: &str) -> usize {
    names
        .iter()
        .position(|have| have == name)
        .unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        })
}

/// Number and element size of an `HcclDataType`.
fn data_type(name: &str) -> Try<(u32, u64)> {
    Ok(match name {
        "int8" => (value::HCCL_DATA_TYPE_INT8, 1),
        "int16" => (value::HCCL_DATA_TYPE_INT16, 2),
        "int32" => (value::HCCL_DATA_TYPE_INT32, 4),
        "int64" => (value::HCCL_DATA_TYPE_INT64, 8),
        "uint8" => (value::HCCL_DATA_TYPE_UINT8, 1),
        "uint16" => (value::HCCL_DATA_TYPE_UINT16, 2),
        "uint32" => (value::HCCL_DATA_TYPE_UINT32, 4),
        "uint64" => (value::HCCL_DATA_TYPE_UINT64, 8),
        "fp16" => (value::HCCL_DATA_TYPE_FP16, 2),
        "bf16" => (value::HCCL_DATA_TYPE_BFP16, 2),
        "fp32" => (value::HCCL_DATA_TYPE_FP32, 4),
        "fp64" => (value::HCCL_DATA_TYPE_FP64, 8),
        other => return Err(PlanErrorKind::Hccl(other.to_owned())),
    })
}
