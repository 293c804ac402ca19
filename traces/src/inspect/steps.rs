//! Computing, communication and free time per step, from the tasks.
//!
//! The definitions, found by experiment: with them every figure of T1 (three
//! captures) and T7 (five steps) equals `step_trace_time.csv` to the rounding of
//! that file's own sums.
//!
//! * **Computing**: kernels on AI cores, the AICPU and DSA that carry no
//!   collective. Copies, events, notifies and place holders are not computing.
//! * **Communication**: the rows of the collectives, from start to end, their
//!   waiting included; not their tasks, which are the same time once more.
//! * **Step of a row**: the one whose marker holds the start of the framework op
//!   that issued it, else the one the kernel table names.
//!   A row that neither tells belongs to the window it starts in.
//! * **Window of a step**: from the first computing or communication row of the
//!   step to the first of the next step; the last step ends with its last row.
//!   Copies before the first kernel are outside of every window.
//! * **Overlapped**: in both computing and communication. **Not overlapped**:
//!   communication less overlapped. **Free**: the window less both.
//! * **Preparing**: from the start of the marker on the host to that of the window.
//!
//! A row that reaches into the next window counts in each for its part.

use std::collections::BTreeMap;

use serde::Serialize;

use super::interval::Busy;
use crate::Trace;
use crate::model::{Lane, Step, TaskKind};
use crate::time::Span;

/// The times of one step, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StepTimes {
    /// Its number; `None` for the whole of a capture without steps.
    pub step: Option<u32>,
    /// Its window on the device, relative to the epoch of the trace.
    pub window: Span,
    /// From the start of its marker on the host to that of the window, clocks as
    /// recorded; `None` without a marker.
    pub preparing_ns: Option<i64>,
    /// Some kernel computes.
    pub computing_ns: i64,
    /// Some collective is under way.
    pub communication_ns: i64,
    /// Both.
    pub overlapped_ns: i64,
    /// A collective is under way and no kernel computes.
    pub not_overlapped_ns: i64,
    /// Neither; `None` if the capture is a kernel table alone, which does not
    /// show what else the device did.
    pub free_ns: Option<i64>,
}

/// The times of every step of `trace`; `carried` as [`crate::pair::Links::carried`]
/// has it. Empty if nothing computes or communicates.
///
/// # Complexity
/// O(n log n) in the rows.
pub fn steps(trace: &Trace, carried: &[Option<u32>]) -> Vec<StepTimes> {
    let kernels = trace.tasks.iter().zip(carried);
    let kernels = kernels.filter(|(task, op)| task.kind == TaskKind::Kernel && op.is_none());
    let named = |detail: Option<u32>| trace.details.get(detail? as usize)?.step;
    let computing: Vec<(Span, Option<u32>)> = kernels
        .map(|(task, _)| {
            let step = by_marker(trace, task.framework_op).or_else(|| named(task.detail));
            (task.span, step)
        })
        .collect();
    let communication: Vec<(Span, Option<u32>)> = trace
        .collectives
        .iter()
        .map(|op| (op.span, by_marker(trace, op.framework_op)))
        .collect();

    let windows = windows(computing.iter().chain(&communication).copied());
    let markers: BTreeMap<u32, Step> = trace
        .steps
        .iter()
        .rev()
        .map(|step| (step.number, *step))
        .collect();
    let computing = Busy::union(computing.into_iter().map(|(span, _)| span));
    let communication = Busy::union(communication.into_iter().map(|(span, _)| span));
    let lacks_timeline = trace.lacks(Lane::Timeline);
    let times = windows.into_iter().map(|(step, window)| {
        let computing = computing.clip(window);
        let communication = communication.clip(window);
        let overlapped_ns = computing.common_ns(&communication);
        let marker = step.and_then(|step| markers.get(&step));
        StepTimes {
            step,
            window,
            preparing_ns: marker.map(|marker| window.start - marker.span.start),
            computing_ns: computing.len_ns(),
            communication_ns: communication.len_ns(),
            overlapped_ns,
            not_overlapped_ns: communication.len_ns() - overlapped_ns,
            free_ns: (!lacks_timeline)
                .then(|| window.len() - computing.or(&communication).len_ns()),
        }
    });
    times.collect()
}

/// The step whose marker holds the start of host call `op`.
fn by_marker(trace: &Trace, op: Option<u32>) -> Option<u32> {
    let at = trace.host.get(op? as usize)?.span.start;
    let end = trace.steps.partition_point(|step| step.span.start <= at);
    let step = trace.steps.get(end.checked_sub(1)?)?;
    (at <= step.span.end).then_some(step.number)
}

/// The windows of the steps that `rows` belong to, by time.
fn windows(rows: impl Iterator<Item = (Span, Option<u32>)>) -> Vec<(Option<u32>, Span)> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable();
    let grow = |extent: Span, span: Span| Span {
        start: extent.start.min(span.start),
        end: extent.end.max(span.end),
    };
    let mut extents: BTreeMap<u32, Span> = BTreeMap::new();
    for (span, step) in &rows {
        if let Some(step) = step {
            let extent = extents.entry(*step).or_insert(*span);
            *extent = grow(*extent, *span);
        }
    }
    if extents.is_empty() {
        let whole = rows.iter().map(|(span, _)| *span).reduce(grow);
        return whole.map(|whole| (None, whole)).into_iter().collect();
    }
    let mut windows: Vec<(Option<u32>, Span)> = extents
        .into_iter()
        .map(|(step, extent)| (Some(step), extent))
        .collect();
    windows.sort_by_key(|(step, extent)| (extent.start, *step));
    for index in 1..windows.len() {
        windows[index - 1].1.end = windows[index].1.start;
    }
    if let Some((_, last)) = windows.last_mut() {
        for (span, step) in rows {
            if step.is_none() && span.start >= last.start && span.start < last.end {
                *last = grow(*last, span);
            }
        }
    }
    windows
}
