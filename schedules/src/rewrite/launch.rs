//! How ops get to the device: one call each, or a captured graph.

use std::collections::{BTreeSet, HashMap};

use super::edit::{Insertions, Names, is_signal, record, wait};
use super::host::seen_from_outside;
use super::{Note, RewriteError, Rewritten, graph};
use crate::ir::{
    Expr, Extra, Measured, OpKind, ProgramName, Provenance, Repeat, Schedule, StreamName,
};

/// How ops get to the device.
#[derive(Clone, Debug, PartialEq)]
pub enum LaunchMode {
    /// The host makes one call per op.
    Eager {
        /// Host time of a call in ns.
        op_ns: f64,
        /// Host time of a record, wait or notify call in ns.
        event_ns: f64,
    },
    /// The ops between two host synchronisations are captured, and replayed with one call.
    Graph {
        /// Host time of a launch in ns.
        launch_ns: f64,
    },
}

/// Launches everything in the given way.
pub(super) fn apply(schedule: &Schedule, mode: &LaunchMode) -> Result<Rewritten, RewriteError> {
    match *mode {
        LaunchMode::Eager { op_ns, event_ns } => eager(schedule, op_ns, event_ns),
        LaunchMode::Graph { launch_ns } => graph::capture(schedule, launch_ns),
    }
}

/// An assumed host time.
pub(super) fn cost(ns: f64) -> Box<Measured> {
    Box::new(Measured::new(ns, Provenance::Assumed))
}

fn eager(schedule: &Schedule, op_ns: f64, event_ns: f64) -> Result<Rewritten, RewriteError> {
    let mut result = schedule.clone();
    let mut touched = 0;
    let mut inlined = BTreeSet::new();
    let origins: HashMap<ProgramName, StreamName> = schedule
        .programs
        .iter()
        .filter_map(|program| {
            Some((
                program.name.clone(),
                program.capture.as_ref()?.origin.clone(),
            ))
        })
        .collect();
    for index in 0..result.programs.len() {
        if seen_from_outside(&result.programs[index]) {
            continue;
        }
        let mut program = result.programs[index].clone();
        program.capture = None;
        let mut names = Names::new(&result, &program);
        let mut insertions = Insertions::default();
        for (at, op) in program.ops.iter_mut().enumerate() {
            if let OpKind::GraphLaunch(launch) = &op.kind {
                let (stream, name) = (op.stream.take(), launch.program.clone());
                op.kind = OpKind::Repeat(Repeat {
                    program: name.clone(),
                    count: Expr::Int(1),
                    extra: Extra::default(),
                });
                op.issue = None;
                op.duration = None;
                let mut on_launch = op.clone();
                on_launch.stream = stream;
                if let Some(origin) = origins.get(&name)
                    && on_launch.stream.as_ref() != Some(origin)
                {
                    let mut on_origin = op.clone();
                    on_origin.stream = Some(origin.clone());
                    let (before, after) = (
                        names.event(&mut result, &format!("enter.{}", op.id)),
                        names.event(&mut result, &format!("leave.{}", op.id)),
                    );
                    insertions.before(at, record(&mut names, &before, &on_launch));
                    insertions.before(at, wait(&mut names, &before, &on_origin));
                    insertions.after(at, record(&mut names, &after, &on_origin));
                    insertions.after(at, wait(&mut names, &after, &on_launch));
                }
                inlined.insert(name);
                continue;
            }
            match &mut op.kind {
                OpKind::Record(record) => record.external = false,
                OpKind::Wait(wait) => wait.external = false,
                _ => {}
            }
        }
        program.ops = insertions.apply(program.ops);
        for op in &mut program.ops {
            if op.is_device() {
                let small = is_signal(op)
                    || matches!(op.kind, OpKind::NotifyRecord(_) | OpKind::NotifyWait(_));
                op.issue = Some(cost(if small { event_ns } else { op_ns }));
                touched += 1;
            }
        }
        result.programs[index] = program;
    }
    for group in &mut result.ranks {
        for change in &mut group.overrides {
            change.issue = None;
        }
    }
    let mut notes = vec![Note::assumption(format!(
        "every call takes the host {} µs, every record, wait and notify {} µs",
        op_ns / 1e3,
        event_ns / 1e3
    ))];
    if !inlined.is_empty() {
        notes.push(Note::assumption(
            "the captured graphs are issued op by op; kernels run as long as in the graph",
        ));
    }
    Ok(Rewritten {
        schedule: result,
        touched,
        notes,
    })
}
