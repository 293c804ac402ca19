//! `kernel_details.csv`, `task_time_*.csv` and `step_trace_time.csv`.

use std::io::{self, Write};

use crate::Trace;
use crate::model::{DeviceTask, Engine, KernelDetail, Lane, Name};
use crate::time::{Span, format_us};

const NONE: &str = "N/A";

/// Whether there is anything for a kernel table.
pub(super) fn has_kernels(trace: &Trace) -> bool {
    !trace.details.is_empty() || (trace.lacks(Lane::Timeline) && !trace.collectives.is_empty())
}

/// Whether tasks of a capture without a timeline are in no kernel table.
pub(super) fn has_task_time(trace: &Trace) -> bool {
    trace.lacks(Lane::Timeline) && trace.tasks.iter().any(|task| task.detail.is_none())
}

/// `Accelerator Core` of an engine.
pub(super) fn core(engine: Engine) -> &'static str {
    match engine {
        Engine::Aic => "AI_CORE",
        Engine::Aiv => "AI_VECTOR_CORE",
        Engine::MixAic => "MIX_AIC",
        Engine::MixAiv => "MIX_AIV",
        Engine::AiCpu => "AI_CPU",
        Engine::Dsa => "DSA_SQE",
        _ => NONE,
    }
}

/// The kernel table: those kernels that have a detail, in their order.
pub(super) fn kernel_details(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let has_streams = !trace.lacks(Lane::Streams);
    let mut table = csv::Writer::from_writer(out);
    let mut header = vec!["Step Id", "Model ID", "Task ID"];
    header.extend(has_streams.then_some("Stream ID"));
    header.extend([
        "Name",
        "Type",
        "Accelerator Core",
        "Start Time(us)",
        "Duration(us)",
        "Wait Time(us)",
        "Block Dim",
        "Mix Block Dim",
        "Input Shapes",
        "Input Data Types",
        "Output Shapes",
        "Output Data Types",
        "Context ID",
        "aicore_time(us)",
        "aic_mac_ratio",
        "aic_mte2_ratio",
        "aiv_time(us)",
        "aiv_vec_ratio",
        "aiv_mte2_ratio",
        "aiv_mte3_ratio",
    ]);
    table.write_record(&header)?;
    for task in &trace.tasks {
        let detail = task.detail.and_then(|at| trace.details.get(at as usize));
        let Some(detail) = detail else { continue };
        let mut row = vec![
            detail.step.map_or(String::new(), |step| step.to_string()),
            id(task.model.or(Some(u32::MAX))),
            id(task.task),
        ];
        row.extend(has_streams.then(|| task.stream.to_string()));
        row.extend(kernel(trace, task, detail));
        table.write_record(&row)?;
    }
    if trace.lacks(Lane::Timeline) {
        for op in &trace.collectives {
            let [start, duration] = times(trace, op.span);
            let name = trace.name(op.name).to_owned();
            let mut row = vec![NONE.to_owned(); header.len()];
            let place = 3 + usize::from(has_streams);
            let cells = [name, String::new(), "HCCL".to_owned(), start, duration];
            row.splice(place..place + cells.len(), cells);
            table.write_record(&row)?;
        }
    }
    table.flush()
}

/// The cells of a kernel from its name on.
fn kernel(trace: &Trace, task: &DeviceTask, detail: &KernelDetail) -> Vec<String> {
    let [start, duration] = times(trace, task.span);
    // Without a timeline, the core is all that says what the task is.
    let core = match trace.lacks(Lane::Timeline) {
        true => trace.name(task.task_type),
        false => core(task.engine),
    };
    let text = |name: Option<Name>| match name {
        Some(name) => format!("\"{}\"", trace.name(name)),
        None => NONE.to_owned(),
    };
    let time = |ns: Option<i64>| ns.map_or(NONE.to_owned(), format_us);
    let ratio = |ratio: Option<f64>| ratio.map_or(NONE.to_owned(), |ratio| ratio.to_string());
    let pmu = &detail.pmu;
    vec![
        trace.name(task.name).to_owned(),
        trace.name(detail.op_type).to_owned(),
        core.to_owned(),
        start,
        duration,
        "0".to_owned(),
        id(detail.block_dim),
        id(detail.mix_block_dim),
        text(detail.input_shapes),
        text(detail.input_types),
        text(detail.output_shapes),
        text(detail.output_types),
        id(task.context),
        time(pmu.aic_ns),
        ratio(pmu.aic_mac_ratio),
        ratio(pmu.aic_mte2_ratio),
        time(pmu.aiv_ns),
        ratio(pmu.aiv_vec_ratio),
        ratio(pmu.aiv_mte2_ratio),
        ratio(pmu.aiv_mte3_ratio),
    ]
}

/// The tasks of a capture without a timeline that no kernel table has.
pub(super) fn task_time(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record([
        "kernel_name",
        "kernel_type",
        "stream_id",
        "task_id",
        "task_time(us)",
        "task_start(us)",
        "task_stop(us)",
    ])?;
    for task in trace.tasks.iter().filter(|task| task.detail.is_none()) {
        let [start, duration] = times(trace, task.span);
        let stop = format_us(trace.epoch_ns.saturating_add(task.span.end));
        table.write_record([
            trace.name(task.name),
            trace.name(task.task_type),
            &task.stream.to_string(),
            &id(task.task),
            &duration,
            &start,
            &stop,
        ])?;
    }
    table.flush()
}

/// The profiler's own step times.
pub(super) fn step_trace(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record([
        "Step",
        "Computing",
        "Communication(Not Overlapped)",
        "Overlapped",
        "Communication",
        "Free",
        "Stage",
    ])?;
    for row in &trace.oracle.step_trace {
        let mut cells = vec![row.step.map_or(String::new(), |step| step.to_string())];
        cells.extend(
            [
                row.computing_ns,
                row.not_overlapped_ns,
                row.overlapped_ns,
                row.communication_ns,
                row.free_ns,
                row.stage_ns,
            ]
            .map(format_us),
        );
        table.write_record(&cells)?;
    }
    table.flush()
}

/// Start and length, µs.
fn times(trace: &Trace, span: Span) -> [String; 2] {
    let start = trace.epoch_ns.saturating_add(span.start);
    [format_us(start), format_us(span.len())]
}

fn id(id: Option<u32>) -> String {
    id.map_or(NONE.to_owned(), |id| id.to_string())
}
