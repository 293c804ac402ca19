//! What each stream and each engine did.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::interval::Busy;
use crate::Trace;
use crate::model::{DeviceTask, Engine, TaskKind};
use crate::time::Span;

/// One stream over the span of the capture's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamUse {
    /// Physical stream.
    pub stream: u32,
    /// Tasks, profiling switches and place holders not counted.
    pub tasks: usize,
    /// From its first to its last task.
    pub extent: Span,
    /// Some task other than a wait runs, ns.
    pub busy_ns: i64,
    /// It only waits for an event or a notify, ns.
    pub waiting_ns: i64,
    /// Neither, ns; busy, waiting and idle add up to the span.
    pub idle_ns: i64,
    /// Engines its tasks run on.
    pub engines: Vec<Engine>,
    /// Whether it holds FFTS+ groups, whose tasks run in parallel.
    pub has_groups: bool,
}

/// The tasks of one engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineUse {
    /// Engine.
    pub engine: Engine,
    /// Tasks.
    pub tasks: usize,
    /// Of these, how many carry a collective.
    pub carry_collectives: usize,
    /// Sum of their durations, ns.
    pub time_ns: i64,
    /// Some of them runs, ns.
    pub busy_ns: i64,
}

/// The tasks of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindUse {
    /// Kind.
    pub kind: TaskKind,
    /// Tasks.
    pub tasks: usize,
    /// Sum of their durations, ns.
    pub time_ns: i64,
}

/// The streams of `trace` over `span`, by number.
///
/// # Complexity
/// O(n log n) in the tasks.
pub(crate) fn streams(trace: &Trace, span: Span) -> Vec<StreamUse> {
    let mut by_stream: BTreeMap<u32, Vec<&DeviceTask>> = BTreeMap::new();
    for task in trace.tasks.iter().filter(|task| task.kind.is_in_span()) {
        by_stream.entry(task.stream).or_default().push(task);
    }
    let rows = by_stream.into_iter().map(|(stream, tasks)| {
        let spans = |waits: bool| {
            let kept = tasks
                .iter()
                .filter(move |task| task.kind.is_wait() == waits);
            Busy::union(kept.map(|task| task.span))
        };
        let (busy, waiting) = (spans(false), spans(true));
        let occupied_ns = busy.or(&waiting).len_ns();
        let engines: BTreeSet<Engine> = tasks.iter().map(|task| task.engine).collect();
        StreamUse {
            stream,
            tasks: tasks.len(),
            extent: tasks.iter().fold(tasks[0].span, |extent, task| Span {
                start: extent.start.min(task.span.start),
                end: extent.end.max(task.span.end),
            }),
            busy_ns: busy.len_ns(),
            waiting_ns: occupied_ns - busy.len_ns(),
            idle_ns: span.len() - occupied_ns,
            engines: engines
                .into_iter()
                .filter(|engine| *engine != Engine::None)
                .collect(),
            has_groups: has_groups(&tasks),
        }
    });
    rows.collect()
}

/// Whether several contexts of one task are among `tasks`; a MIX kernel has one.
fn has_groups(tasks: &[&DeviceTask]) -> bool {
    let mut seen = BTreeMap::new();
    tasks
        .iter()
        .filter_map(|task| Some((task.task?, task.context?)))
        .any(|(task, context)| {
            let first = *seen.entry(task).or_insert(context);
            first != context
        })
}

/// The engines of `trace`, in the order of [`Engine`]; tasks without one are
/// left out.
///
/// # Complexity
/// O(n log n) in the tasks.
pub(crate) fn engines(trace: &Trace, carried: &[Option<u32>]) -> Vec<EngineUse> {
    let mut by_engine: BTreeMap<Engine, Vec<(Span, bool)>> = BTreeMap::new();
    for (task, op) in trace.tasks.iter().zip(carried) {
        if task.engine != Engine::None {
            by_engine
                .entry(task.engine)
                .or_default()
                .push((task.span, op.is_some()));
        }
    }
    let rows = by_engine.into_iter().map(|(engine, tasks)| EngineUse {
        engine,
        tasks: tasks.len(),
        carry_collectives: tasks.iter().filter(|(_, carries)| *carries).count(),
        time_ns: tasks
            .iter()
            .fold(0, |sum: i64, (span, _)| sum.saturating_add(span.len())),
        busy_ns: Busy::union(tasks.iter().map(|(span, _)| *span)).len_ns(),
    });
    rows.collect()
}

/// The kinds of tasks of `trace`, in the order of [`TaskKind`].
pub(crate) fn kinds(trace: &Trace) -> Vec<KindUse> {
    let mut by_kind: BTreeMap<TaskKind, (usize, i64)> = BTreeMap::new();
    for task in &trace.tasks {
        let (tasks, time_ns) = by_kind.entry(task.kind).or_default();
        *tasks += 1;
        *time_ns = time_ns.saturating_add(task.span.len());
    }
    let rows = by_kind.into_iter();
    rows.map(|(kind, (tasks, time_ns))| KindUse {
        kind,
        tasks,
        time_ns,
    })
    .collect()
}
