//! torch_npu's text export: reads its files and joins them.

use std::collections::BTreeMap;

use super::detect::TorchText;
use super::join::{self, Clock};
use super::{communication, kernel_details, profiler_info, step_trace, trace_view};
use crate::model::{Engine, Lane, Meta, Missing, Note, Oracle};
use crate::{Trace, TraceError};

/// Reads the profile in `files`.
///
/// # Errors
/// Any of its files that cannot be read or understood; no device task.
pub(crate) fn read(files: &TorchText) -> Result<Trace, TraceError> {
    let mut timeline = trace_view::read(&files.trace_view)?;
    if timeline.tasks.is_empty() {
        return Err(TraceError::NoDeviceTask {
            path: files.trace_view.clone(),
        });
    }
    let kernels = match &files.kernel_details {
        Some(path) => kernel_details::read(path, &mut timeline.names)?,
        None => Vec::new(),
    };
    let communication = match &files.communication {
        Some(path) => communication::read(path)?,
        None => Vec::new(),
    };
    let mut meta = Meta {
        source: "torch_npu text".to_owned(),
        device: timeline.device_label.take(),
        core_mhz: timeline.core_mhz,
        ..Meta::default()
    };
    if let Some(path) = &files.info {
        profiler_info::read_info(path, &mut meta)?;
    }
    if let Some(path) = &files.metadata {
        profiler_info::read_environment(path, &mut meta)?;
    }
    let step_trace = match &files.step_trace {
        Some(path) => step_trace::read(path)?,
        None => Vec::new(),
    };

    let clock = Clock::of(&timeline);
    let python_functions = timeline.python_functions;
    let overlap = clock.oracle(&timeline.overlap);
    let mut trace = join::timeline(timeline, clock);
    trace.oracle = Oracle {
        step_trace,
        overlap,
    };
    let unmatched = join::kernels(&mut trace, kernels, clock);
    join::communication(&mut trace, communication);
    trace.meta = meta;
    trace.missing = missing(&trace, files);
    trace.notes = notes(&trace, unmatched, python_functions);
    Ok(trace)
}

/// The lanes that `trace` lacks.
fn missing(trace: &Trace, files: &TorchText) -> Vec<Missing> {
    let mut found = Vec::new();
    let mut lacks = |is_missing: bool, lane, forbids, remedy| {
        if is_missing {
            found.push(Missing {
                lane,
                forbids,
                remedy,
            });
        }
    };
    let level1 = "capture with profiler_level=Level1 or higher";
    let has_collectives = !trace.collectives.is_empty();
    lacks(
        !trace.host.iter().any(|call| call.kind.is_cann()),
        Lane::Cann,
        "host calls of tasks, host syncs, issue order other than by flow arrows and connection ids",
        level1,
    );
    lacks(
        !trace.host.iter().any(|call| !call.kind.is_cann()),
        Lane::Framework,
        "framework ops of tasks, host think time between calls",
        "capture with ProfilerActivity.CPU",
    );
    lacks(
        trace.steps.is_empty(),
        Lane::Steps,
        "figures per step; the whole capture is taken as one",
        "call prof.step() after each step",
    );
    lacks(
        files.kernel_details.is_none(),
        Lane::KernelDetails,
        "cores, block dims and shapes of kernels, and with them core contention",
        "export again with kernel_details.csv",
    );
    lacks(
        files.kernel_details.is_some()
            && trace.tasks.iter().any(|task| task.engine == Engine::AiCore),
        Lane::AcceleratorCores,
        "telling cube from vector kernels, and with it core contention",
        level1,
    );
    lacks(
        has_collectives && trace.planes.is_empty(),
        Lane::Planes,
        "notify links to other ranks, transfer and waiting time within collectives",
        level1,
    );
    lacks(
        has_collectives && trace.collectives.iter().all(|op| op.times.is_none()),
        Lane::CommunicationTimes,
        "the profiler's split of collectives into transfer and waiting",
        level1,
    );
    lacks(
        files.info.is_none(),
        Lane::Settings,
        "knowing whether L2 counters perturbed the gaps",
        "keep profiler_info_*.json beside the export",
    );
    lacks(
        trace.meta.cann.is_none() && trace.meta.torch_npu.is_none(),
        Lane::Versions,
        "choosing software costs by version",
        "newer torch_npu records its versions; otherwise note them by hand",
    );
    lacks(
        trace.meta.chip.is_none(),
        Lane::Chip,
        "choosing the hardware profile by itself",
        "name the chip where a command asks for it; the text export never records it",
    );
    lacks(
        trace.meta.rank.is_none() && has_collectives,
        Lane::Rank,
        "joining this capture with those of other ranks",
        "keep profiler_info_RANK.json beside the export",
    );
    found
}

/// What else is worth saying.
fn notes(trace: &Trace, unmatched: usize, python_functions: u64) -> Vec<Note> {
    let mut notes = Vec::new();
    if unmatched > 0 {
        notes.push(Note {
            code: "kernel-rows-unmatched",
            text: format!(
                "{unmatched} rows of the kernel table match no task of the timeline and are left out"
            ),
        });
    }
    // A MIX kernel is a group of its own; those of several contexts matter.
    let mut groups: BTreeMap<_, usize> = BTreeMap::new();
    for task in trace.tasks.iter().filter(|task| task.context.is_some()) {
        *groups.entry((task.stream, task.task)).or_default() += 1;
    }
    let grouped: usize = groups.values().filter(|&&contexts| contexts > 1).sum();
    if grouped > 0 {
        notes.push(Note {
            code: "ffts-groups",
            text: format!(
                "{grouped} tasks are contexts of FFTS+ groups: those of one task id run in parallel, not as a FIFO"
            ),
        });
    }
    if python_functions > 0 {
        notes.push(Note {
            code: "python-functions-dropped",
            text: format!("{python_functions} rows of Python call stacks are not kept"),
        });
    }
    notes
}
