//! What a capture lacks, and what a user of it has to know.

use std::collections::BTreeMap;

use crate::Trace;
use crate::model::{DeviceTask, Engine, Lane, Missing, Note, TaskKind};

/// What a trace was read from.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sources {
    /// A kernel table, or its like.
    pub(crate) has_kernel_table: bool,
    /// The settings of the profiler.
    pub(crate) has_settings: bool,
    /// A database rather than text.
    pub(crate) is_database: bool,
    /// Tables alone.
    pub(crate) lacks_timeline: bool,
    /// A table without streams.
    pub(crate) lacks_streams: bool,
}

fn is_of_unknown_core(task: &DeviceTask) -> bool {
    task.kind == TaskKind::Kernel && matches!(task.engine, Engine::AiCore | Engine::Unknown)
}

/// The lanes that `trace` lacks.
pub(crate) fn missing(trace: &Trace, sources: &Sources) -> Vec<Missing> {
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
        sources.lacks_timeline,
        Lane::Timeline,
        "free time, copies, events and notifies: only kernels and collectives are known",
        "keep the timeline (trace_view.json or msprof_*.json) beside the tables",
    );
    lacks(
        sources.lacks_streams,
        Lane::Streams,
        "order and overlap of streams: all kernels are shown on stream 0",
        level1,
    );
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
        !sources.has_kernel_table,
        Lane::KernelDetails,
        "cores, block dims and shapes of kernels, and with them core contention",
        "export again with kernel_details.csv",
    );
    lacks(
        sources.has_kernel_table && trace.tasks.iter().any(is_of_unknown_core),
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
        !sources.has_settings,
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
        if sources.is_database {
            "name the chip where a command asks for it; the database calls A2 and A3 alike"
        } else {
            "name the chip where a command asks for it; the text export never records it"
        },
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
pub(crate) fn notes(trace: &Trace, unmatched: usize, python_functions: u64) -> Vec<Note> {
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
