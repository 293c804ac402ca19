//! Joins the rows of a profile into a [`Trace`].

use std::collections::{BTreeMap, HashMap};

use super::communication::CommRow;
use super::kernel_details::KernelRow;
use super::trace_view::{Flows, Lane, Timeline};
use crate::Trace;
use crate::model::{HostKind, HostPoint, Name, OracleSpan};
use crate::time::Span;

/// How far a kernel row's start may lie from its task's, ns: one export writes
/// a single decimal of a µs.
const START_TOLERANCE_NS: u64 = 100;

/// The framework op that issued what has a connection id: its thread, its span
/// and its name, times absolute.
pub(crate) type Ops = BTreeMap<u64, (u64, Span, Name)>;

/// The zero of a trace: the earliest row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    epoch_ns: i64,
}

impl Clock {
    /// The clock that starts with the earliest row of `timeline`.
    pub(crate) fn of(timeline: &Timeline) -> Self {
        let tasks = timeline.tasks.iter().map(|task| task.span.start);
        let host = timeline.host.iter().map(|call| call.span.start);
        let collectives = timeline.collectives.iter().map(|(_, op)| op.span.start);
        Self {
            epoch_ns: tasks
                .chain(host)
                .chain(collectives)
                .min()
                .unwrap_or_default(),
        }
    }

    /// Absolute to relative. Saturates on times no clock of this century shows.
    fn at(self, absolute: i64) -> i64 {
        absolute.saturating_sub(self.epoch_ns)
    }

    fn span(self, span: Span) -> Span {
        Span {
            start: self.at(span.start),
            end: self.at(span.end),
        }
    }

    /// The oracle's rows on this clock.
    pub(crate) fn oracle(self, rows: &[OracleSpan]) -> Vec<OracleSpan> {
        rows.iter()
            .map(|row| OracleSpan {
                span: self.span(row.span),
                ..*row
            })
            .collect()
    }
}

/// Sorts and joins the rows of the timeline.
///
/// # Complexity
/// O(n log n) in the rows.
pub(crate) fn timeline(mut timeline: Timeline, clock: Clock) -> Trace {
    for task in &mut timeline.tasks {
        task.span = clock.span(task.span);
    }
    for call in &mut timeline.host {
        call.span = clock.span(call.span);
    }
    for step in &mut timeline.steps {
        step.span = clock.span(step.span);
    }
    timeline
        .tasks
        .sort_by_key(|task| (task.span.start, task.stream, task.task, task.context));
    timeline
        .host
        .sort_by_key(|call| (call.span.start, -call.span.len(), call.thread, call.kind));
    timeline
        .steps
        .sort_by_key(|step| (step.span.start, step.number));

    let groups = Groups::of(&timeline);
    let mut collectives: Vec<_> = timeline.collectives;
    for (thread, op) in &mut collectives {
        op.span = clock.span(op.span);
        op.group = groups.group(*thread);
    }
    collectives.sort_by_key(|(thread, op)| (op.span.start, *thread));
    for (thread, plane) in &mut timeline.planes {
        plane.span = clock.span(plane.span);
        (plane.group, plane.plane) = (groups.group(*thread), groups.plane(*thread));
    }
    timeline.planes.sort_by_key(|(thread, plane)| {
        (
            plane.span.start,
            *thread,
            plane.stream,
            plane.task,
            plane.context,
        )
    });

    let threads: Vec<u64> = collectives.iter().map(|(thread, _)| *thread).collect();
    let mut trace = Trace {
        epoch_ns: clock.epoch_ns,
        names: timeline.names,
        tasks: timeline.tasks,
        host: timeline.host,
        collectives: collectives.into_iter().map(|(_, op)| op).collect(),
        planes: timeline
            .planes
            .into_iter()
            .map(|(_, plane)| plane)
            .collect(),
        steps: timeline.steps,
        ..Trace::default()
    };
    flows(
        &mut trace,
        &threads,
        &timeline.launches,
        &timeline.framework,
        clock,
    );
    planes(&mut trace);
    trace
}

/// Which group and plane the threads of the HCCL lanes belong to: a group's
/// lane comes first, then its planes. MindSpore's only group comes last.
struct Groups(BTreeMap<u64, (Name, u32)>);

impl Groups {
    fn of(timeline: &Timeline) -> Self {
        let plane = |name: Name| -> Option<u32> {
            let text = timeline.names.get(name).strip_prefix("Plane")?;
            text.trim().parse().ok()
        };
        let lanes = || timeline.hccl_threads.iter();
        let first = lanes().find(|(_, name)| plane(**name).is_none());
        let mut group = first.map_or(Name::default(), |(_, name)| *name);
        let mut threads = BTreeMap::new();
        for (&thread, &name) in lanes() {
            let plane = plane(name);
            if plane.is_none() {
                group = name;
            }
            threads.insert(thread, (group, plane.unwrap_or_default()));
        }
        Self(threads)
    }

    fn group(&self, thread: u64) -> Name {
        self.0
            .get(&thread)
            .map_or(Name::default(), |(group, _)| *group)
    }

    fn plane(&self, thread: u64) -> u32 {
        self.0.get(&thread).map_or(0, |(_, plane)| *plane)
    }
}

/// Follows the flow arrows from host to device.
fn flows(
    trace: &mut Trace,
    collective_threads: &[u64],
    launches: &Flows,
    framework: &Flows,
    clock: Clock,
) {
    let mut tasks: HashMap<(u64, i64), Vec<usize>> = HashMap::new();
    for (index, task) in trace.tasks.iter().enumerate() {
        tasks
            .entry((u64::from(task.stream), task.span.start))
            .or_default()
            .push(index);
    }
    let mut collectives: HashMap<(u64, i64), usize> = HashMap::new();
    for (index, (op, thread)) in trace.collectives.iter().zip(collective_threads).enumerate() {
        collectives.entry((*thread, op.span.start)).or_insert(index);
    }
    // Arrows start where a call does; the outermost call sorts first.
    let mut ops: HashMap<(u64, i64), u32> = HashMap::new();
    for (index, call) in trace.host.iter().enumerate() {
        let is_op = matches!(call.kind, HostKind::FrameworkOp | HostKind::Annotation);
        if let (true, Ok(index)) = (is_op, u32::try_from(index)) {
            ops.entry((call.thread, call.span.start)).or_insert(index);
        }
    }
    let mut issued: HashMap<u64, HostPoint> = HashMap::new();
    for (id, lane, thread, at) in &launches.ends {
        let Some(start) = launches.starts.get(id) else {
            continue;
        };
        let mut start = *start;
        start.at = clock.at(start.at);
        let end = (*thread, clock.at(*at));
        // The arrow ends at the first task of a call; all have its connection id.
        let connection = match lane {
            Lane::Device => {
                let found = tasks.get(&end).map_or(&[][..], Vec::as_slice);
                for &index in found {
                    trace.tasks[index].launch.get_or_insert(start);
                }
                found
                    .first()
                    .and_then(|&index| trace.tasks[index].connection)
            }
            Lane::Hccl => collectives
                .get(&end)
                .and_then(|&index| trace.collectives[index].connection),
            _ => None,
        };
        if let Some(connection) = connection {
            issued.entry(connection).or_insert(start);
        }
    }
    for task in &mut trace.tasks {
        let start = task.connection.and_then(|id| issued.get(&id));
        task.launch = task.launch.or(start.copied());
    }
    for (id, lane, thread, at) in &framework.ends {
        let Some(start) = framework.starts.get(id) else {
            continue;
        };
        let Some(&op) = ops.get(&(start.thread, clock.at(start.at))) else {
            continue;
        };
        let end = (*thread, clock.at(*at));
        match lane {
            Lane::Device => {
                for &index in tasks.get(&end).into_iter().flatten() {
                    trace.tasks[index].framework_op.get_or_insert(op);
                }
            }
            Lane::Hccl => {
                if let Some(&index) = collectives.get(&end) {
                    trace.collectives[index].framework_op.get_or_insert(op);
                }
            }
            _ => {}
        }
    }
}

/// Joins plane tasks to the same device task and to their collective.
fn planes(trace: &mut Trace) {
    let mut tasks: HashMap<_, Vec<usize>> = HashMap::new();
    for (index, task) in trace.tasks.iter().enumerate() {
        tasks
            .entry((task.stream, task.task, task.context))
            .or_default()
            .push(index);
    }
    let mut collectives: HashMap<Option<u64>, Vec<usize>> = HashMap::new();
    for (index, op) in trace.collectives.iter().enumerate() {
        collectives.entry(op.connection).or_default().push(index);
    }
    for plane in &mut trace.planes {
        let same = tasks.get(&(plane.stream, plane.task, plane.context));
        // Task ids wrap around: the same ids with another start are another task.
        let task = same.into_iter().flatten().copied().find(|&index| {
            trace
                .tasks
                .get(index)
                .is_some_and(|task| task.span.start == plane.span.start)
        });
        plane.device_task = task.and_then(|index| u32::try_from(index).ok());
        let connection = task.and_then(|index| trace.tasks[index].connection);
        let by_connection = connection.and_then(|id| collectives.get(&Some(id)));
        let holds = |&index: &usize| {
            let op = &trace.collectives[index];
            op.group == plane.group
                && op.span.start <= plane.span.start
                && plane.span.end <= op.span.end
        };
        let found = match by_connection {
            Some(candidates) => candidates.iter().copied().find(holds),
            // The latest one that has begun is nearly always the one.
            None => {
                let end = trace
                    .collectives
                    .partition_point(|op| op.span.start <= plane.span.start);
                (0..end).rev().find(holds)
            }
        };
        plane.collective = found.and_then(|index| u32::try_from(index).ok());
    }
}

/// Adds the kernel table to the tasks: by (stream, task, context), where the
/// table has no ids by start time. Gives the number of rows that match nothing.
pub(crate) fn kernels(trace: &mut Trace, rows: Vec<KernelRow>, clock: Clock) -> usize {
    let mut by_ids: HashMap<_, Vec<usize>> = HashMap::new();
    let mut by_start: HashMap<i64, Vec<usize>> = HashMap::new();
    for (index, task) in trace.tasks.iter().enumerate() {
        by_ids
            .entry((task.stream, task.task, task.context))
            .or_default()
            .push(index);
        by_start.entry(task.span.start).or_default().push(index);
    }
    let mut unmatched = 0;
    for row in rows {
        let start = clock.at(row.span.start);
        let distance = |index: &usize| trace.tasks[*index].span.start.abs_diff(start);
        let found = match (row.stream, row.task) {
            (Some(stream), Some(task)) => {
                let same = by_ids.get(&(stream, Some(task), row.context));
                let nearest = same.into_iter().flatten().copied().min_by_key(distance);
                nearest.filter(|index| distance(index) <= START_TOLERANCE_NS)
            }
            _ => {
                let same = by_start.get(&start);
                same.into_iter()
                    .flatten()
                    .copied()
                    .find(|&i| trace.tasks[i].name == row.name)
            }
        };
        let (Some(index), Ok(detail)) = (found, u32::try_from(trace.details.len())) else {
            unmatched += 1;
            continue;
        };
        let task = &mut trace.tasks[index];
        task.engine = row.engine.unwrap_or(task.engine);
        task.detail = Some(detail);
        trace.details.push(row.detail);
    }
    unmatched
}

/// Sets the ids of groups that the source itself has, by the name of the lane.
pub(crate) fn group_ids(trace: &mut Trace, ids: &BTreeMap<Name, Name>) {
    for op in &mut trace.collectives {
        op.group_id = op.group_id.or(ids.get(&op.group).copied());
    }
}

/// Links tasks and collectives to the framework op that has their connection id.
pub(crate) fn framework(trace: &mut Trace, ops: &Ops, clock: Clock) {
    let mut calls: HashMap<(u64, Span, Name), u32> = HashMap::new();
    for (index, call) in trace.host.iter().enumerate() {
        if let Ok(index) = u32::try_from(index) {
            calls
                .entry((call.thread, call.span, call.name))
                .or_insert(index);
        }
    }
    let op = |connection: Option<u64>| {
        let (thread, span, name) = ops.get(&connection?)?;
        calls.get(&(*thread, clock.span(*span), *name)).copied()
    };
    for task in &mut trace.tasks {
        task.framework_op = op(task.connection);
    }
    for collective in &mut trace.collectives {
        collective.framework_op = op(collective.connection);
    }
}

/// Adds the profiler's times to the collectives, by name.
pub(crate) fn communication(trace: &mut Trace, rows: Vec<CommRow>) {
    let mut by_name: HashMap<&str, &CommRow> = HashMap::new();
    for row in &rows {
        by_name.entry(&row.name).or_insert(row);
    }
    for op in &mut trace.collectives {
        if let Some(row) = by_name.get(trace.names.get(op.name)) {
            op.times = Some(row.times);
            let id = trace.names.intern(&row.group_id);
            op.group_id.get_or_insert(id);
        }
    }
}
