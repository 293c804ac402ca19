//! Text exports: a timeline, its tables, and what lies beside them.

use super::detect::{TextFiles, TextSource};
use super::join::{self, Clock};
use super::lanes::{self, Sources};
use super::trace_view::{self, Timeline};
use super::{communication, kernel_details, mindspore, profiler_info, step_trace, tables};
use crate::model::{Meta, Oracle};
use crate::{Trace, TraceError};

/// Reads the profile in `files`.
///
/// # Errors
/// Any of its files that cannot be read or understood; no device task.
pub(crate) fn read(files: &TextFiles) -> Result<Trace, TraceError> {
    let mut timeline = trace_view::read(&files.timelines)?;
    let mut table = match &files.kernel_table {
        Some(path) => kernel_details::read(path, &mut timeline.names)?,
        None => kernel_details::KernelTable::default(),
    };
    if files.timelines.is_empty() {
        tables::fill(&mut timeline, &mut table, files.task_time.as_deref())?;
    }
    if timeline.tasks.is_empty() {
        return Err(TraceError::NoDeviceTask {
            path: files.main_file().to_owned(),
        });
    }
    let communication = match &files.communication {
        Some(path) => communication::read(path)?,
        None => Vec::new(),
    };
    let meta = meta(files, &mut timeline)?;
    let step_trace = match &files.step_trace {
        Some(path) => step_trace::read(path)?,
        None => Vec::new(),
    };

    let clock = Clock::of(&timeline);
    let python_functions = timeline.python_functions;
    let core_times = std::mem::take(&mut timeline.core_times);
    let overlap = clock.oracle(&timeline.overlap);
    let mut trace = join::timeline(timeline, clock);
    trace.oracle = Oracle {
        step_trace,
        overlap,
    };
    let unmatched = join::kernels(&mut trace, table.kernels, clock);
    join::communication(&mut trace, communication);
    trace.meta = meta;
    let sources = Sources {
        has_kernel_table: files.kernel_table.is_some(),
        has_settings: files.info.is_some(),
        is_database: false,
        lacks_timeline: files.timelines.is_empty(),
        lacks_streams: files.timelines.is_empty()
            && !table.has_streams
            && files.task_time.is_none(),
    };
    trace.missing = lanes::missing(&trace, &sources);
    trace.notes = lanes::notes(&trace, unmatched, python_functions);
    if files.source == TextSource::MindSpore {
        mindspore::finish(&mut trace, &core_times);
    }
    Ok(trace)
}

/// What the files say of the capture itself.
fn meta(files: &TextFiles, timeline: &mut Timeline) -> Result<Meta, TraceError> {
    let mut meta = Meta {
        source: files.source.label().to_owned(),
        device: timeline.device_label.take(),
        core_mhz: timeline.core_mhz,
        ..Meta::default()
    };
    if let Some(path) = &files.info {
        match files.source {
            TextSource::MindSpore => mindspore::read_info(path, &mut meta)?,
            _ => profiler_info::read_info(path, &mut meta)?,
        }
    }
    if let Some(path) = &files.metadata {
        profiler_info::read_environment(path, &mut meta)?;
    }
    Ok(meta)
}
