//! Lines of an op list to ops of a schedule.

use std::collections::{BTreeMap, HashMap};

use smol_str::{SmolStr, format_smolstr};

use super::GenerateError;
use super::formula::{Symbols, add, multiply};
use super::list::{Line, Lists, PartOf};
use crate::builder::{collective, comm, copy, kernel, record, reset, wait};
use crate::ir::{
    Access, AccessMode, Accesses, Buffer, CollectiveKind, CopyDirection, Cores, Expr, Extra,
    Memory, Op, OpKind, Range, ScheduleMode, Tags, Work,
};

/// The stream of the model.
pub(super) const MAIN: &str = "main";
/// The stream of the shared expert, where it overlaps.
const SIDE: &str = "side";

/// Copies within a device of more bytes are a kernel (facts/op-inventory.md rule 2).
const MOST_COPIED: f64 = 400_000.0;
/// Columns of a matmul per cube core: what fits the published times of narrow projections
/// (facts/hardware.md 1.5) with the rate of one core (1.3).
const MATMUL_COLUMNS: f64 = 32.0;
/// Rows of a matmul per cube core: one tile of the larger side.
const MATMUL_ROWS: f64 = 128.0;
/// Bytes per vector core below which another core does not pay: 16 rows of 512-byte lines. An
/// assumption; the tiling of the vector kernels is not published.
const VECTOR_BYTES: f64 = 8192.0;

/// Where ops belong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub layer: Option<u32>,
    /// The draft step.
    pub draft: Option<u32>,
}

impl Place {
    /// The prefix of what a layer has of its own, whatever the step.
    fn owner(self) -> String {
        self.layer.map_or_else(String::new, |n| format!("L{n}."))
    }

    /// The prefix of ids and events.
    fn prefix(self) -> String {
        let step = self.draft.map_or_else(String::new, |n| format!("D{n}."));
        step + &self.owner()
    }
}

/// A captured task that the host updates for each replay, and the event it records then.
#[derive(Clone, Debug)]
pub(super) struct Update {
    pub op: SmolStr,
    pub event: SmolStr,
}

/// Makes ops, and remembers what they need.
#[derive(Debug)]
pub(super) struct Emitter<'a> {
    lists: &'a Lists,
    cores: (u32, u32),
    expert_bytes: f64,
    phase: &'static str,
    overlap: bool,
    static_kernels: bool,
    buffers: BTreeMap<SmolStr, Buffer>,
    ids: HashMap<String, u32>,
    /// Tasks to update, since they were last taken.
    pub updates: Vec<Update>,
    /// External events.
    pub external: Vec<SmolStr>,
    /// Bytes of weights that were read.
    pub weight_bytes: Expr,
}

/// What is the same for every op of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub cores: (u32, u32),
    pub expert_bytes: f64,
    pub phase: &'static str,
    pub overlap: bool,
    pub static_kernels: bool,
}

/// The symbols of a place. Buffers are sized with the nominal values of what is random.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'a> {
    pub work: &'a Symbols,
    pub size: &'a Symbols,
    /// Whether the ops are captured.
    pub captured: bool,
}

/// Accesses and the bytes they move.
#[derive(Default)]
struct Traffic {
    accesses: Vec<Access>,
    read: Option<Expr>,
    written: Option<Expr>,
}

impl Traffic {
    fn add(&mut self, buffer: &SmolStr, mode: AccessMode, range: Range, bytes: Expr) {
        let total = match mode {
            AccessMode::Read => &mut self.read,
            _ => &mut self.written,
        };
        *total = Some(match total.take() {
            Some(before) => add(before, bytes),
            None => bytes,
        });
        let same = self
            .accesses
            .iter_mut()
            .find(|access| access.buffer.as_str() == buffer.as_str());
        match same {
            Some(access) => {
                if access.mode != mode {
                    access.mode = AccessMode::ReadWrite;
                }
                if access.range != range {
                    access.range = Range::Whole;
                }
            }
            None => self.accesses.push(Access {
                buffer: buffer.clone().into(),
                mode,
                range,
                peer: crate::ir::Peer::Own,
                extra: Extra::default(),
            }),
        }
    }
}

impl<'a> Emitter<'a> {
    pub(super) fn new(lists: &'a Lists, setting: Setting) -> Self {
        Self {
            lists,
            cores: setting.cores,
            expert_bytes: setting.expert_bytes,
            phase: setting.phase,
            overlap: setting.overlap,
            static_kernels: setting.static_kernels,
            buffers: BTreeMap::new(),
            ids: HashMap::new(),
            updates: Vec::new(),
            external: Vec::new(),
            weight_bytes: Expr::Int(0),
        }
    }

    /// Every buffer that an op named, by name.
    pub(super) fn into_buffers(self) -> Vec<Buffer> {
        self.buffers.into_values().collect()
    }

    /// The ops of the part `name` at `place`.
    pub(super) fn part(
        &mut self,
        name: &str,
        place: Place,
        values: Values<'_>,
    ) -> Result<Vec<Op>, GenerateError> {
        let part = self.lists.part(name)?;
        let mut ops = Vec::with_capacity(part.part.ops.len());
        let mut pending = None;
        for (index, line) in part.part.ops.iter().enumerate() {
            self.line(part, line, place, values, &mut pending, &mut ops)
                .map_err(|what| GenerateError::Data {
                    file: format!("models/lists/{}.toml", part.file),
                    what: format!("op {index} of part `{name}`: {what}"),
                })?;
        }
        Ok(ops)
    }

    fn line(
        &mut self,
        part: PartOf<'_>,
        line: &Line,
        place: Place,
        values: Values<'_>,
        pending: &mut Option<(String, SmolStr)>,
        ops: &mut Vec<Op>,
    ) -> Result<(), String> {
        if !values.work.holds(&line.when)? {
            return Ok(());
        }
        let times = match line.times.as_str() {
            "" => 1.0,
            text => values.work.number(text)?,
        };
        let prefix = place.prefix();
        for _ in 0..times as u32 {
            let mut made = self.ops(part, line, place, values)?;
            for op in &mut made {
                let what = match &op.kind {
                    OpKind::Kernel(kernel) => kernel.name.as_str(),
                    kind => kind.name(),
                };
                let base = format!("{prefix}{}.{what}", line.at);
                let count = self.ids.entry(base.clone()).or_default();
                *count += 1;
                let id: SmolStr = match count {
                    1 => base.into(),
                    n => format_smolstr!("{base}.{n}"),
                };
                if pending.as_ref().is_some_and(|(kernel, _)| kernel == what)
                    && let Some((_, event)) = pending.take()
                {
                    let op = id.clone();
                    self.updates.push(Update { op, event });
                }
                op.id = id.into();
                self.tag(op, part, line, place);
            }
            if !line.external.is_empty() {
                let event = format_smolstr!("{prefix}{}", line.external);
                *pending = Some((line.updates.clone(), event));
            }
            ops.extend(made);
        }
        Ok(())
    }

    fn tag(&self, op: &mut Op, part: PartOf<'_>, line: &Line, place: Place) {
        op.tags = Tags::from_iter([
            ("module", line.at.as_str()),
            ("part", part.part.name.as_str()),
            ("phase", self.phase),
        ]);
        if let Some(layer) = place.layer {
            op.tags.set("layer", format_smolstr!("{layer}"));
        }
        if let Some(draft) = place.draft {
            op.tags.set("draft", format_smolstr!("{draft}"));
        }
        let stream = match line.stream.as_str() {
            "" => MAIN,
            SIDE if !self.overlap => MAIN,
            other => other,
        };
        op.stream = Some(stream.into());
    }

    fn ops(
        &mut self,
        part: PartOf<'_>,
        line: &Line,
        place: Place,
        values: Values<'_>,
    ) -> Result<Vec<Op>, String> {
        let event = |name: &str| format_smolstr!("{}{name}", place.prefix());
        let untouched = |mut op: Op| {
            op.accesses = Accesses::Known(Vec::new());
            op
        };
        if !line.record.is_empty() {
            return Ok(vec![untouched(record(event(&line.record)))]);
        }
        if !line.wait.is_empty() {
            return Ok(vec![untouched(wait(event(&line.wait)))]);
        }
        if !line.external.is_empty() {
            let event = event(&line.external);
            self.external.push(event.clone());
            return Ok(vec![
                untouched(wait(event.clone())),
                untouched(reset(event)),
            ]);
        }
        let traffic = self.traffic(part, line, place, values)?;
        if !line.copy.is_empty() {
            return Ok(vec![self.copy(line, traffic)?]);
        }
        if !line.collective.is_empty() {
            let kind = collective_kind(&line.collective)?;
            let bytes = values.work.eval(&line.bytes)?;
            let mut op = collective("", line.over.as_str(), kind, bytes);
            if let Some(comm) = &mut op.comm {
                comm.in_place = line.reads == line.writes;
                comm.dtype = Some("bf16".into());
            }
            op.accesses = Accesses::Known(traffic.accesses);
            return Ok(vec![op]);
        }
        Ok(vec![self.kernel(line, traffic, place, values)?])
    }

    fn copy(&self, line: &Line, traffic: Traffic) -> Result<Op, String> {
        let bytes = traffic.written.clone().ok_or("a copy writes something")?;
        let direction = match line.copy.as_str() {
            "h2d" => CopyDirection::HostToDevice,
            "d2h" => CopyDirection::DeviceToHost,
            "d2d" => CopyDirection::DeviceToDevice,
            other => return Err(format!("unknown direction `{other}`")),
        };
        let large = bytes.constant().is_none_or(|bytes| bytes > MOST_COPIED);
        let mut op = if direction == CopyDirection::DeviceToDevice && large {
            let mut op = kernel("", "TensorMove");
            op.cores = Some(Cores {
                aiv: self.vector_blocks(&traffic),
                ..Cores::default()
            });
            op.work = Some(Box::new(Work {
                bytes_read: Some(bytes.clone()),
                bytes_written: Some(bytes),
                ..Work::default()
            }));
            op
        } else {
            copy("", direction, bytes)
        };
        if let OpKind::Copy(copy) = &mut op.kind {
            copy.blocking = line.blocking;
        }
        op.accesses = Accesses::Known(traffic.accesses);
        Ok(op)
    }

    fn kernel(
        &mut self,
        line: &Line,
        mut traffic: Traffic,
        place: Place,
        values: Values<'_>,
    ) -> Result<Op, String> {
        if line.kernel.is_empty() {
            return Err("an op is a kernel, copy, collective, record, wait or external".to_owned());
        }
        let mut op = kernel("", line.kernel.as_str());
        if let OpKind::Kernel(kernel) = &mut op.kind {
            kernel.dynamic =
                values.captured && (line.always_dynamic || !line.fixed && !self.static_kernels);
        }
        let mut work = Work::default();
        let mut columns = None;
        if let Some([rows, inner, outer]) = &line.matmul {
            let (per_weight, format) = match line.weight.as_str() {
                _ if line.experts && self.expert_bytes < 2.0 => (self.expert_bytes, "int8"),
                "" => (2.0, "bf16"),
                "int8" => (1.0, "int8"),
                "fp32" => (4.0, "fp32"),
                other => return Err(format!("unknown weight format `{other}`")),
            };
            let weights = multiply(values.work.eval(inner)?, values.work.eval(outer)?);
            let bytes = multiply(weights.clone(), super::formula::constant(per_weight));
            let name = format_smolstr!("{}{}", place.owner(), line.at);
            let experts = match line.experts {
                true => (values.work.eval("D")?, values.size.bytes("El")?),
                false => (Expr::Int(1), 1),
            };
            let whole = bytes.constant().ok_or("a weight has a fixed size")?;
            self.declare(&name, (whole.ceil() as u64).saturating_mul(experts.1), true);
            let range = if line.experts {
                Range::Any
            } else {
                Range::Whole
            };
            let read = multiply(experts.0, bytes);
            self.weight_bytes = add(self.weight_bytes.clone(), read.clone());
            traffic.add(&name, AccessMode::Read, range, read);
            let rows = values.work.eval(rows)?;
            columns = Some((rows.clone(), values.work.number(outer)?));
            work.cube_flops = Some(multiply(multiply(Expr::Int(2), rows), weights));
            work.dtype = Some(format.into());
        }
        if !line.cube.is_empty() {
            work.cube_flops = Some(values.work.eval(&line.cube)?);
            work.dtype = Some("bf16".into());
        }
        if !line.dtype.is_empty() {
            work.dtype = Some(line.dtype.as_str().into());
        }
        if !line.vector.is_empty() {
            work.vector_flops = Some(values.work.eval(&line.vector)?);
        } else if line.on == "aiv"
            && let Some(written) = &traffic.written
        {
            let half = super::formula::constant(0.5);
            work.vector_flops = Some(multiply(half, written.clone()));
        }
        op.cores = Some(self.cores_of(line, columns, &traffic)?);
        work.bytes_read = traffic.read;
        work.bytes_written = traffic.written;
        op.work = Some(Box::new(work));
        if !line.comm.is_empty() {
            let kind = collective_kind(&line.comm)?;
            let bytes = values.work.eval(&line.bytes)?;
            op.comm = Some(Box::new(comm(line.over.as_str(), kind, bytes)));
        }
        op.accesses = Accesses::Known(traffic.accesses);
        Ok(op)
    }

    fn cores_of(
        &self,
        line: &Line,
        matmul: Option<(Expr, f64)>,
        traffic: &Traffic,
    ) -> Result<Cores, String> {
        let (aic, aiv) = self.cores;
        let cube = match matmul {
            Some((rows, columns)) if !line.experts => {
                let rows = rows.constant().unwrap_or(f64::INFINITY);
                let blocks = (columns / MATMUL_COLUMNS).ceil() * (rows / MATMUL_ROWS).ceil();
                // A saturating cast: what is too large is more than there are cores.
                (blocks as u32).clamp(1, aic)
            }
            _ => aic,
        };
        let none = Cores::default();
        Ok(match line.on.as_str() {
            "aic" => Cores { aic: cube, ..none },
            "mix" => Cores {
                aic: cube,
                aiv: (2 * cube).min(aiv),
                ..none
            },
            "aiv" => Cores {
                aiv: self.vector_blocks(traffic),
                ..none
            },
            "all_aiv" => Cores {
                aiv,
                mode: ScheduleMode::Batch,
                ..none
            },
            "all" => Cores { aic, aiv, ..none },
            "aicpu" => Cores { aicpu: 1, ..none },
            other => return Err(format!("unknown engine `{other}`")),
        })
    }

    fn vector_blocks(&self, traffic: &Traffic) -> u32 {
        let bytes = [&traffic.read, &traffic.written]
            .into_iter()
            .flatten()
            .map(|bytes| bytes.constant().unwrap_or(f64::INFINITY))
            .fold(0.0, f64::max);
        ((bytes / VECTOR_BYTES).ceil() as u32).clamp(1, self.cores.1)
    }

    /// What the op reads and writes, in that order.
    fn traffic(
        &mut self,
        part: PartOf<'_>,
        line: &Line,
        place: Place,
        values: Values<'_>,
    ) -> Result<Traffic, String> {
        let mut traffic = Traffic::default();
        let tokens = line
            .reads
            .split_whitespace()
            .map(|token| (token, AccessMode::Read))
            .chain(
                line.writes
                    .split_whitespace()
                    .map(|token| (token, AccessMode::Write)),
            );
        for (token, mode) in tokens {
            let (token, some) = match token.split_once('@') {
                Some((token, bytes)) => (token, Some(values.work.eval(bytes)?)),
                None => (token, None),
            };
            let (name, size) = if let Some((kind, size)) = token.split_once(':') {
                let mut name = place.owner() + &line.at;
                if kind != "w" {
                    name = name + "." + kind;
                }
                let name = SmolStr::from(name);
                let size = values.size.bytes(size)?;
                self.declare(&name, size, true);
                let bytes = some.clone().unwrap_or_else(|| whole(size));
                self.weight_bytes = add(self.weight_bytes.clone(), bytes);
                (name, size)
            } else {
                let (formula, own) = part
                    .buffer(token)
                    .ok_or_else(|| format!("no buffer is called `{token}`"))?;
                let name = match own {
                    true => format_smolstr!("{}{token}", place.owner()),
                    false => SmolStr::from(token),
                };
                let size = values.size.bytes(formula)?;
                self.declare(&name, size, false);
                (name, size)
            };
            let (range, bytes) = match some {
                Some(bytes) => (Range::Any, bytes),
                None => (Range::Whole, whole(size)),
            };
            traffic.add(&name, mode, range, bytes);
        }
        Ok(traffic)
    }

    fn declare(&mut self, name: &SmolStr, bytes: u64, weight: bool) {
        let buffer = self.buffers.entry(name.clone()).or_insert_with(|| Buffer {
            name: name.clone().into(),
            bytes: 0,
            memory: match name.starts_with("host.") {
                true => Memory::HostPinned,
                false => Memory::Hbm,
            },
            view: None,
            tags: Tags::from_iter([("role", if weight { "weight" } else { "activation" })]),
            extra: Extra::default(),
        });
        buffer.bytes = buffer.bytes.max(bytes);
    }
}

fn whole(bytes: u64) -> Expr {
    super::formula::constant(bytes as f64)
}

fn collective_kind(name: &str) -> Result<CollectiveKind, String> {
    serde_json::from_value(serde_json::Value::String(name.to_owned()))
        .map_err(|_| format!("unknown collective `{name}`"))
}
