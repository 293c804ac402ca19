//! The neutral model of one rank's capture.
//!
//! Every reader (torch_npu text, its database, msprof, MindSpore) fills these
//! types; nothing here knows a file format. Rows hold integers and interned
//! names only, so a capture of millions of tasks stays small.

mod device;
mod hccl;
mod host;
mod meta;
mod names;

pub use device::{DeviceTask, Engine, KernelDetail, Pmu, TaskKind};
pub use hccl::{Collective, CommTimes, PlaneKind, PlaneTask};
pub use host::{HostCall, HostKind, HostPoint, Step};
pub use meta::{Lane, Meta, Missing, Note, Oracle, OracleLane, OracleSpan, StepTrace};
pub use names::{Name, Names};

use std::collections::HashMap;

use crate::time::Span;

/// One rank's capture.
///
/// All times are ns relative to [`Trace::epoch_ns`]. Order of the rows:
/// device tasks by (start, stream, task, context), host calls by (start,
/// longest first, thread), collectives, plane tasks and steps by start.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The zero of every time in this trace: ns since the profiler's own epoch
    /// (UTC for torch_npu, boot for MindSpore).
    pub epoch_ns: i64,
    /// Every name used in this trace.
    pub names: Names,
    /// What ran on the device, one row a task; FFTS+ parents whose children
    /// are present are left out.
    pub tasks: Vec<DeviceTask>,
    /// What `kernel_details` (or its like) says of a task; see [`DeviceTask::detail`].
    pub details: Vec<KernelDetail>,
    /// CANN and framework calls.
    pub host: Vec<HostCall>,
    /// Collectives, one row each per rank.
    pub collectives: Vec<Collective>,
    /// The transfers and notifies that collectives are made of.
    pub planes: Vec<PlaneTask>,
    /// Steps as the framework marks them.
    pub steps: Vec<Step>,
    /// What is known of the capture itself.
    pub meta: Meta,
    /// The profiler's own derived figures: for comparison, never input.
    pub oracle: Oracle,
    /// Lanes the capture does not have, and what that forbids.
    pub missing: Vec<Missing>,
    /// What else a user of this trace has to know.
    pub notes: Vec<Note>,
}

impl Trace {
    /// The text of a name of this trace.
    pub fn name(&self, name: Name) -> &str {
        self.names.get(name)
    }

    /// From the first start to the last end of the tasks that are work; without
    /// profiling switches and place holders, which with stream 0's two of them
    /// make T1's 141.2 ms read 177.6 ms (facts/traces.md section 2.1).
    /// `None` without such a task.
    pub fn work_span(&self) -> Option<Span> {
        let work = self.tasks.iter().filter(|task| task.kind.is_in_span());
        let (starts, ends): (Vec<_>, Vec<_>) =
            work.map(|task| (task.span.start, task.span.end)).unzip();
        Some(Span {
            start: starts.into_iter().min()?,
            end: ends.into_iter().max()?,
        })
    }

    /// Replaces every name of this trace by what `with` makes of its text; names that no row uses are
    /// forgotten. Linear in the rows.
    pub fn rename(&mut self, mut with: impl FnMut(&str) -> String) {
        let old = std::mem::take(&mut self.names);
        let new = &mut self.names;
        let mut known: HashMap<Name, Name> = HashMap::new();
        let mut swap = |name: &mut Name| {
            let swapped = *known
                .entry(*name)
                .or_insert_with(|| new.intern(&with(old.get(*name))));
            *name = swapped;
        };
        for task in &mut self.tasks {
            swap(&mut task.name);
            swap(&mut task.task_type);
        }
        for detail in &mut self.details {
            swap(&mut detail.op_type);
            let tensors = [
                &mut detail.input_shapes,
                &mut detail.input_types,
                &mut detail.output_shapes,
                &mut detail.output_types,
            ];
            tensors.into_iter().flatten().for_each(&mut swap);
        }
        for call in &mut self.host {
            swap(&mut call.name);
        }
        for op in &mut self.collectives {
            swap(&mut op.name);
            swap(&mut op.group);
            let rest = [&mut op.group_id, &mut op.algorithm, &mut op.data_type];
            rest.into_iter().flatten().for_each(&mut swap);
        }
        for plane in &mut self.planes {
            swap(&mut plane.name);
            swap(&mut plane.group);
            let rest = [&mut plane.transport, &mut plane.link];
            rest.into_iter().flatten().for_each(&mut swap);
        }
    }

    /// Whether `lane` is absent from this capture.
    pub fn lacks(&self, lane: Lane) -> bool {
        self.missing.iter().any(|missing| missing.lane == lane)
    }
}
