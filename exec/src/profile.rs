//! What was recorded of a run, written as the files that `torch_npu` writes of a profile
//! (facts/traces.md 2.1), so that every reader of such profiles reads it.
//!
//! Collectives are shown as tasks of the stream they were issued on; the streams and notifies that
//! HCCL uses inside are not recorded.

use std::fmt::Write as _;
use std::io::{self, Write};

use ascsim_schedules::flat::{Flat, InstanceId};
use ascsim_schedules::{Cores, HostKind, Op, OpKind};

use crate::backend::TaskSpan;

/// A recorded step of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepSpan {
    /// Its number.
    pub number: u64,
    /// When it began, in ns of the clock of the tasks.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

/// Writes the timeline (`trace_view.json`) of one rank, given by its index.
///
/// # Errors
/// Of the writer.
///
/// # Complexity
/// O(spans + steps).
pub fn timeline(
    out: &mut dyn Write,
    flat: &Flat<'_>,
    rank: usize,
    steps: &[StepSpan],
    spans: &[TaskSpan],
) -> io::Result<()> {
    out.write_all(
        b"[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"Ascend Hardware\"}}",
    )?;
    for step in steps {
        write!(
            out,
            ",\n{{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#{}\",\"pid\":2,\
             \"tid\":1,\"ts\":\"{}\",\"dur\":{},\"args\":{{}}}}",
            step.number,
            microseconds(step.start_ns),
            microseconds(step.end_ns - step.start_ns),
        )?;
    }
    for (index, span) in of_rank(spans, rank).enumerate() {
        let number = task_id(index);
        let op = op_of(flat, span);
        write!(
            out,
            ",\n{{\"ph\":\"X\",\"name\":{},\"pid\":1,\"tid\":{},\"ts\":\"{}\",\"dur\":{},\"args\":\
             {{\"Task Type\":\"{}\",\"Physic Stream Id\":{},\"Task Id\":{number},\"op\":{}}}}}",
            quoted(name(op)),
            span.stream,
            microseconds(span.start_ns),
            microseconds(span.end_ns - span.start_ns),
            task_type(op),
            span.stream,
            quoted(&flat.path(InstanceId::new(span.op as usize))),
        )?;
        // That the step issued it. When is not recorded: at its start, as far as anybody knows.
        let after = steps.partition_point(|step| step.start_ns <= span.start_ns);
        let Some(step) = after.checked_sub(1).and_then(|at| steps.get(at)) else {
            continue;
        };
        for (phase, process, thread, at) in [
            ("s", 2, 1, step.start_ns),
            ("f", 1, span.stream, span.start_ns),
        ] {
            write!(
                out,
                ",\n{{\"ph\":\"{phase}\",\"cat\":\"HostToDevice\",\"name\":\"HostToDevice\",\
                 \"id\":\"{index}\",\"pid\":{process},\"tid\":{thread},\"ts\":\"{}\",\"bp\":\"e\"}}",
                microseconds(at),
            )?;
        }
    }
    out.write_all(b"\n]\n")
}

/// Writes the table of kernels (`kernel_details.csv`) of one rank, given by its index.
///
/// # Errors
/// Of the writer.
///
/// # Complexity
/// O(spans).
pub fn kernels(
    out: &mut dyn Write,
    flat: &Flat<'_>,
    rank: usize,
    spans: &[TaskSpan],
) -> io::Result<()> {
    out.write_all(
        b"Name,Type,Accelerator Core,Start Time(us),Duration(us),Block Dim,Mix Block Dim,\
          Stream ID,Task ID\n",
    )?;
    for (index, span) in of_rank(spans, rank).enumerate() {
        let number = task_id(index);
        let op = op_of(flat, span);
        if !is_kernel(op) {
            continue;
        }
        let cores = op.cores.unwrap_or_default();
        let (blocks, mixed) = match (cores.aic, cores.aiv) {
            (0, aiv) => (aiv, 0),
            (aic, aiv) => (aic, aiv),
        };
        // Names of ops have no quotes or commas in practice; those that do are made harmless.
        let name = name(op).replace(['"', ',', '\n', '\r'], "_");
        writeln!(
            out,
            "{name},{name},{},{},{},{blocks},{mixed},{},{number}",
            core(cores),
            microseconds(span.start_ns),
            microseconds(span.end_ns - span.start_ns),
            span.stream,
        )?;
    }
    Ok(())
}

/// Writes the settings (`profiler_info_RANK.json`) of one rank, given by its number.
///
/// # Errors
/// Of the writer.
pub fn settings(out: &mut dyn Write, rank: u32) -> io::Result<()> {
    writeln!(out, "{{\"rank_id\": {rank}, \"recorded_by\": \"ascsim\"}}")
}

fn of_rank(spans: &[TaskSpan], rank: usize) -> impl Iterator<Item = &TaskSpan> {
    spans.iter().filter(move |span| span.rank == rank)
}

/// Task ids are 16 bit and wrap (facts/acl.md section 0).
fn task_id(index: usize) -> usize {
    index % (1 << 16)
}

fn op_of<'s>(flat: &Flat<'s>, span: &TaskSpan) -> &'s Op {
    flat[InstanceId::new(span.op as usize)].op
}

fn is_kernel(op: &Op) -> bool {
    matches!(
        op.kind,
        OpKind::Kernel(_) | OpKind::SuperKernel(_) | OpKind::Collective(_)
    )
}

/// What a profiler calls the task.
fn name(op: &Op) -> &str {
    match &op.kind {
        OpKind::Kernel(kernel) => &kernel.name,
        OpKind::SuperKernel(_) | OpKind::Collective(_) => op.id.as_str(),
        _ => task_type(op),
    }
}

fn task_type(op: &Op) -> &'static str {
    match &op.kind {
        OpKind::Kernel(_) | OpKind::SuperKernel(_) | OpKind::Collective(_) => {
            core(op.cores.unwrap_or_default())
        }
        OpKind::Copy(_) => "MEMCPY_ASYNC",
        OpKind::Record(_) | OpKind::Host(HostKind::RecordExternal { .. }) => "EVENT_RECORD",
        OpKind::Wait(_) => "EVENT_WAIT",
        OpKind::EventReset(_) => "EVENT_RESET",
        OpKind::NotifyRecord(_) => "NOTIFY_RECORD",
        OpKind::NotifyWait(_) => "NOTIFY_WAIT",
        OpKind::ValueWrite(_) => "VALUE_WRITE",
        OpKind::ValueWait(_) => "VALUE_WAIT",
        OpKind::Prefetch(_) => "CMO",
        OpKind::Host(_) => "CALLBACK_LAUNCH",
        OpKind::GraphLaunch(_) => "MODEL_EXECUTE",
        _ => "OTHER",
    }
}

/// The `Accelerator Core` of a kernel.
fn core(cores: Cores) -> &'static str {
    match (cores.aic, cores.aiv) {
        (0, 0) if cores.aicpu > 0 => "AI_CPU",
        // The schedule does not say.
        (0, 0) => "KERNEL_AICORE",
        (0, _) => "AI_VECTOR_CORE",
        (_, 0) => "AI_CORE",
        _ => "MIX_AIC",
    }
}

/// ns as µs with all their digits.
fn microseconds(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

/// Text as JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // Writing to a string does not fail.
            c if c < ' ' => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
