//! Which tasks carry which collective.

use std::collections::HashMap;

use crate::Trace;
use crate::model::{Name, TaskKind};

/// The collective that each task carries, by task: as its plane tasks say, else
/// by connection id, else a communication kernel (`…AivKernel`, `…AicpuKernel`,
/// facts/traces.md section 2.2) that runs within a collective.
///
/// The collective's own row and these tasks are one and the same time.
///
/// # Complexity
/// O(n log n) in tasks and collectives.
pub fn carried(trace: &Trace) -> Vec<Option<u32>> {
    let mut found: Vec<Option<u32>> = vec![None; trace.tasks.len()];
    for plane in &trace.planes {
        let slot = plane
            .device_task
            .and_then(|task| found.get_mut(task as usize));
        if let (Some(slot), Some(op)) = (slot, plane.collective) {
            *slot = Some(op);
        }
    }
    // Collectives are sorted by start: the last one with an id that began before
    // the task is its own, should ids ever be used again.
    let mut by_connection: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, op) in trace.collectives.iter().enumerate() {
        if let Some(id) = op.connection {
            by_connection.entry(id).or_default().push(index);
        }
    }
    let mut kernels: HashMap<Name, bool> = HashMap::new();
    for (task, slot) in trace.tasks.iter().zip(&mut found) {
        if slot.is_some() {
            continue;
        }
        let same = task.connection.and_then(|id| by_connection.get(&id));
        let by_id = same.and_then(|ops| {
            let begun = ops.iter().rev();
            let mut begun =
                begun.filter(|&&op| trace.collectives[op].span.start <= task.span.start);
            begun.next().or(ops.first()).copied()
        });
        let is_kernel = task.kind == TaskKind::Kernel
            && *kernels
                .entry(task.name)
                .or_insert_with(|| is_communication(trace.name(task.name)));
        let index = by_id.or_else(|| is_kernel.then(|| within(trace, task.span.start)).flatten());
        *slot = index.and_then(|index| u32::try_from(index).ok());
    }
    found
}

/// Whether a kernel of this name carries a collective.
fn is_communication(name: &str) -> bool {
    ["AivKernel", "AicpuKernel"]
        .iter()
        .any(|part| name.contains(part))
        || name.starts_with("hcom_")
}

/// The collective that began last before `at` and has not ended by then.
fn within(trace: &Trace, at: i64) -> Option<usize> {
    let end = trace.collectives.partition_point(|op| op.span.start <= at);
    (0..end)
        .rev()
        .find(|&index| at <= trace.collectives[index].span.end)
}
