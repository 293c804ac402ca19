//! Captures of which only tables are left: a lone `kernel_details.csv`, or
//! `op_summary_*.csv` with or without `task_time_*.csv`.

use std::collections::HashMap;
use std::path::Path;

use super::kernel_details::KernelTable;
use super::table::Table;
use super::trace_view::Timeline;
use super::window::Window;
use crate::model::{Collective, DeviceTask, Engine, Name, TaskKind};
use crate::time::Span;
use crate::{Place, TraceError};

/// Fills `timeline` with the tasks that the tables name. A task in both is taken
/// from the kernel table: for MIX kernels `task_time` has the FFTS+ envelope
/// (facts/traces.md section 2.3). Rows without a stream get stream 0.
///
/// # Errors
/// A table that cannot be read or understood, with the row.
pub(crate) fn fill(
    timeline: &mut Timeline,
    table: &mut KernelTable,
    task_time: Option<&Path>,
) -> Result<(), TraceError> {
    for row in &mut table.kernels {
        let core = timeline.names.get(row.core);
        let by_type = Engine::of_task_type(core, TaskKind::Kernel);
        let engine = row.engine.unwrap_or(match by_type {
            Engine::None => Engine::Unknown,
            known => known,
        });
        let stream = row.stream.unwrap_or(0);
        if row.task.is_some() {
            row.stream = Some(stream);
        }
        timeline.tasks.push(DeviceTask {
            name: row.name,
            task_type: row.core,
            kind: TaskKind::Kernel,
            engine,
            stream,
            task: row.task,
            context: row.context,
            model: row.model,
            span: row.span,
            connection: None,
            launch: None,
            framework_op: None,
            detail: None,
            event: None,
        });
    }
    for row in &table.collectives {
        let collective = Collective {
            name: row.name,
            group: Name::default(),
            group_id: None,
            connection: None,
            model: None,
            algorithm: None,
            data_type: None,
            count: None,
            span: row.span,
            framework_op: None,
            times: None,
        };
        timeline.collectives.push((0, collective));
    }
    match task_time {
        Some(path) => add_task_time(timeline, path),
        None => Ok(()),
    }
}

/// Adds the tasks that the kernel table lacks.
fn add_task_time(timeline: &mut Timeline, path: &Path) -> Result<(), TraceError> {
    let mut known: HashMap<(u32, Option<u32>), Vec<Span>> = HashMap::new();
    for task in &timeline.tasks {
        known
            .entry((task.stream, task.task))
            .or_default()
            .push(task.span);
    }
    let mut table = Table::open(path)?;
    let name = table.column(&["kernel_name"]);
    let kind = table.needed(&["kernel_type"])?;
    let stream = table.needed(&["stream_id"])?;
    let task = table.column(&["task_id"]);
    let start = table.needed(&["task_start(us)"])?;
    let stop = table.needed(&["task_stop(us)"])?;
    let mut window = Window::default();
    if let Some(task) = timeline.tasks.first() {
        window = Window::from(task.span.start);
    }
    while table.next()? {
        let span = Span {
            start: table.needed_time(&start)?,
            end: table.needed_time(&stop)?,
        };
        for at in [span.start, span.end] {
            let checked = window.check(at);
            checked.map_err(|reason| table.bad(&start, "", &reason))?;
        }
        let task_type = table.cell(Some(&kind)).unwrap_or_default();
        let name = table.cell(name.as_ref()).unwrap_or(task_type);
        if span.end < span.start {
            return Err(negative(path, table.place(), name, span));
        }
        let on = table.id(Some(&stream))?.unwrap_or(0);
        let number = table.id(task.as_ref())?;
        let same = known.get(&(on, number)).into_iter().flatten();
        let is_same = |other: &Span| other.start <= span.end && span.start <= other.end;
        if same.into_iter().any(is_same) {
            continue;
        }
        let kind = TaskKind::of(task_type, name);
        timeline.tasks.push(DeviceTask {
            name: timeline.names.intern(name),
            task_type: timeline.names.intern(task_type),
            kind,
            engine: Engine::of_accelerator_core(task_type)
                .unwrap_or_else(|| Engine::of_task_type(task_type, kind)),
            stream: on,
            task: number,
            context: None,
            model: None,
            span,
            connection: None,
            launch: None,
            framework_op: None,
            detail: None,
            event: None,
        });
    }
    Ok(())
}

fn negative(path: &Path, place: Place, name: &str, span: Span) -> TraceError {
    TraceError::NegativeDuration {
        path: path.to_owned(),
        place,
        name: name.to_owned(),
        text: crate::time::format_us(span.len()),
    }
}
