//! TASK: what ran on the device.

use std::collections::HashMap;

use super::Source;
use super::kernels::Kernels;
use crate::TraceError;
use crate::model::{DeviceTask, Engine, Name, TaskKind};
use crate::read::trace_view::Timeline;
use crate::time::Span;

const COLUMNS: &[&[&str]] = &[
    &["startNs"],
    &["endNs"],
    &["deviceId"],
    &["connectionId"],
    &["globalTaskId"],
    &["taskType"],
    &["contextId"],
    &["streamId"],
    &["taskId"],
    &["modelId"],
];

/// What other tables have to know of a task.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub(super) name: Name,
    pub(super) stream: u32,
    pub(super) task: Option<u32>,
    pub(super) context: Option<u32>,
    pub(super) span: Span,
}

/// The tasks that were read, by their global id.
#[derive(Debug, Default)]
pub(super) struct Tasks(HashMap<i64, Task>);

impl Tasks {
    /// The task of a global id.
    pub(super) fn get(&self, id: i64) -> Option<&Task> {
        self.0.get(&id)
    }
}

/// Reads the tasks of the device. FFTS+ parents whose children are there are
/// left out: they are the same time once more (facts/traces.md section 2.5).
pub(super) fn read(
    source: &mut Source<'_>,
    kernels: &Kernels,
    timeline: &mut Timeline,
) -> Result<Tasks, TraceError> {
    let mut ids: Vec<Option<i64>> = Vec::new();
    let database = source.database;
    database.rows("TASK", COLUMNS, |row| {
        if !source.is_here(row, 2)? {
            return Ok(());
        }
        let span = source.span(row, 0, 1)?;
        let id = row.integer(4)?;
        let kernel = id.and_then(|id| kernels.name(source, id));
        let task_type = source.string(row, 5)?.unwrap_or_default();
        let name = kernel.filter(|name| !name.is_empty()).unwrap_or(task_type);
        // The type is that of the host: it says STARS_COMMON of a kernel on DSA.
        let kind = match kernel {
            Some(_) => TaskKind::Kernel,
            None => TaskKind::of(task_type, name),
        };
        let stream = row.small_id(7)?;
        timeline.tasks.push(DeviceTask {
            name: timeline.names.intern(name),
            task_type: timeline.names.intern(task_type),
            kind,
            engine: Engine::of_task_type(task_type, kind),
            stream: stream.ok_or_else(|| row.bad(7, "is missing".to_owned()))?,
            task: row.small_id(8)?,
            context: row.small_id(6)?,
            model: row.small_id(9)?,
            span,
            connection: row.id(3)?,
            launch: None,
            framework_op: None,
            detail: None,
            event: None,
        });
        ids.push(id);
        Ok(())
    })?;
    let is_parent = parents(&timeline.tasks);
    let mut tasks = Tasks::default();
    let rows = timeline.tasks.iter().zip(&ids).zip(&is_parent);
    for ((task, id), is_parent) in rows {
        if let (Some(id), false) = (id, is_parent) {
            tasks.0.entry(*id).or_insert(Task {
                name: task.name,
                stream: task.stream,
                task: task.task,
                context: task.context,
                span: task.span,
            });
        }
    }
    let mut keep = is_parent.iter().map(|is_parent| !is_parent);
    timeline.tasks.retain(|_| keep.next().unwrap_or(true));
    Ok(tasks)
}

/// Which tasks are parents: without a context, and around tasks with one of the
/// same stream and task id. Ids wrap around, so the times count too.
fn parents(tasks: &[DeviceTask]) -> Vec<bool> {
    let mut children: HashMap<(u32, Option<u32>), Vec<i64>> = HashMap::new();
    for task in tasks.iter().filter(|task| task.context.is_some()) {
        children
            .entry((task.stream, task.task))
            .or_default()
            .push(task.span.start);
    }
    for starts in children.values_mut() {
        starts.sort_unstable();
    }
    tasks
        .iter()
        .map(|task| {
            let starts = children.get(&(task.stream, task.task));
            let starts = starts.map_or(&[][..], Vec::as_slice);
            let first = starts.partition_point(|&start| start < task.span.start);
            let is_inside = starts
                .get(first)
                .is_some_and(|&start| start <= task.span.end);
            task.context.is_none() && is_inside
        })
        .collect()
}
