//! Capturing what a program issues: graphs between the calls that cannot be captured.
//!
//! Each maximal run of ops without a host call in between becomes a captured program, launched on the
//! stream that carries most of the program. A launch keeps its stream until all streams of the graph
//! are done, so a later graph waits for the earlier ones by itself.
//!
//! Host time between the first and the last op of a run goes; what the host does before and after may
//! be what the replay needs (inputs, results), and stays. Where threads handed calls over to another,
//! one thread launches, and the hand-overs go.

use std::collections::{BTreeSet, HashMap};

use super::edit::{Names, main_stream, prune_overrides, record, unfit, wait};
use super::host::{handing_over, seen_from_outside};
use super::launch::cost;
use super::{Note, RewriteError, Rewritten, event};
use crate::ir::{
    Capture, CaptureMode, EventKind, EventName, Extra, GraphLaunch, HostKind, Op, OpId, OpKind,
    Owner, Program, ProgramName, Schedule, StreamName, SyncTarget, ThreadName,
};

/// Captures the programs that ranks run.
pub(super) fn capture(schedule: &Schedule, launch_ns: f64) -> Result<Rewritten, RewriteError> {
    let mut result = schedule.clone();
    for op in result
        .programs
        .iter_mut()
        .flat_map(|program| &mut program.ops)
    {
        if matches!(op.kind, OpKind::GraphLaunch(_)) {
            op.issue = Some(cost(launch_ns));
        }
    }
    let run: BTreeSet<&ProgramName> = schedule
        .ranks
        .iter()
        .filter_map(|group| group.program.as_ref())
        .collect();
    let (mut touched, mut dropped, mut outside) = (0, 0, 0);
    for (index, program) in schedule.programs.iter().enumerate() {
        let Some(origin) = main_stream(program).filter(|_| run.contains(&program.name)) else {
            continue;
        };
        if seen_from_outside(program) {
            outside += 1;
            continue;
        }
        refuse_uncapturable(schedule, program)?;
        let handing_over = handing_over(schedule, program);
        let launcher = program.ops.first().map(|op| op.thread.clone());
        let launcher = launcher.filter(|_| !handing_over.is_empty());
        let segments = segments(program, &handing_over, launcher.as_ref());
        let mut names = Names::new(&result, program);
        let mut taken: BTreeSet<ProgramName> = result
            .programs
            .iter()
            .map(|program| program.name.clone())
            .collect();
        let (mut ops, mut home) = (Vec::new(), HashMap::new());
        for segment in segments {
            match segment {
                Segment::Host(op) => {
                    let mut op = redirected(op, program, &origin);
                    op.thread = launcher.clone().unwrap_or(op.thread);
                    ops.push(op);
                }
                Segment::Graph {
                    ops: body,
                    dropped: fewer,
                } => {
                    touched += body.len();
                    dropped += fewer;
                    let name = graph_name(&program.name, &mut taken);
                    home.extend(body.iter().map(|op| (op.id.clone(), name.clone())));
                    let thread = launcher.clone().unwrap_or_else(|| body[0].thread.clone());
                    let body = joined(&mut result, &mut names, body, &origin);
                    let kind = OpKind::GraphLaunch(GraphLaunch {
                        program: name.clone(),
                        extra: Extra::default(),
                    });
                    let mut launch = Op::new(names.op(&format!("launch.{name}")), kind);
                    launch.thread = thread;
                    launch.stream = Some(origin.clone());
                    launch.issue = Some(cost(launch_ns));
                    ops.push(launch);
                    result.programs.push(captured(name, origin.clone(), body));
                }
            }
        }
        result.programs[index].ops = ops;
        move_overrides(&mut result, &program.name, &home);
    }
    let mut notes = vec![Note::assumption(format!(
        "each captured run of ops is launched by one call of {} µs, and its ops follow each other \
         without the host",
        launch_ns / 1e3
    ))];
    if dropped > 0 {
        notes.push(Note::assumption(format!(
            "{dropped} stretches of host time and hand-overs between captured calls are gone: a replay \
             does not need what the host did there"
        )));
    }
    if outside > 0 {
        notes.push(Note::assumption(format!(
            "{outside} ranks that were not captured arrive as before: how they issue is not known"
        )));
    }
    if touched == 0 {
        notes.push(Note::warning("there was nothing left to capture"));
    }
    Ok(Rewritten {
        schedule: result,
        touched,
        notes,
    })
}

/// What becomes of an op when its program is captured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Captured,
    Dropped,
    Stays,
}

fn fate(op: &Op) -> Fate {
    match &op.kind {
        OpKind::Host(HostKind::Think) => Fate::Dropped,
        OpKind::Host(HostKind::Function { .. }) => Fate::Captured,
        OpKind::Host(_) | OpKind::Repeat(_) | OpKind::GraphLaunch(_) | OpKind::TaskUpdate(_) => {
            Fate::Stays
        }
        OpKind::Copy(copy) if copy.blocking => Fate::Stays,
        _ => Fate::Captured,
    }
}

/// Refuses what ACL refuses in a capture (facts/acl.md sections 3 and 10).
fn refuse_uncapturable(schedule: &Schedule, program: &Program) -> Result<(), RewriteError> {
    let kinds: HashMap<&EventName, EventKind> = schedule
        .events
        .iter()
        .map(|event| (&event.name, event.kind))
        .collect();
    let default: BTreeSet<&StreamName> = schedule
        .streams
        .iter()
        .filter(|stream| stream.owner == Owner::Default)
        .map(|stream| &stream.name)
        .collect();
    for op in program.ops.iter().filter(|op| fate(op) == Fate::Captured) {
        if op
            .stream
            .as_ref()
            .is_some_and(|stream| default.contains(stream))
        {
            return Err(unfit(
                program,
                op,
                "the default stream cannot be captured: use another",
            ));
        }
        let event = match &op.kind {
            OpKind::Record(record) | OpKind::EventReset(record) => &record.event,
            OpKind::Wait(wait) => &wait.event,
            _ => continue,
        };
        if !matches!(kinds.get(event), Some(EventKind::Ex | EventKind::External)) {
            let why = "only events of kind `ex` and `external` can be captured: declare it so";
            return Err(unfit(program, op, why));
        }
    }
    Ok(())
}

enum Segment<'p> {
    Host(&'p Op),
    Graph { ops: Vec<Op>, dropped: usize },
}

/// What lies between two calls that stay.
#[derive(Default)]
struct Stretch<'p> {
    /// Host time before the first captured op.
    leading: Vec<&'p Op>,
    captured: Vec<Op>,
    /// Host time since the last captured op.
    trailing: Vec<&'p Op>,
    dropped: usize,
}

impl<'p> Stretch<'p> {
    fn capture(&mut self, op: &Op) {
        self.captured.push(op.clone());
        self.dropped += self.trailing.len();
        self.trailing.clear();
    }

    fn host(&mut self, op: &'p Op) {
        if self.captured.is_empty() {
            self.leading.push(op);
        } else {
            self.trailing.push(op);
        }
    }

    fn close(self, into: &mut Vec<Segment<'p>>) {
        into.extend(self.leading.into_iter().map(Segment::Host));
        if !self.captured.is_empty() {
            into.push(Segment::Graph {
                ops: self.captured,
                dropped: self.dropped,
            });
        }
        into.extend(self.trailing.into_iter().map(Segment::Host));
    }
}

/// Cuts the program at the calls that stay. Waits whose record is in an earlier graph go: that graph
/// has ended before theirs starts. With a `launcher`, only its host time counts: other threads did
/// what it handed over.
fn segments<'p>(
    program: &'p Program,
    handing_over: &BTreeSet<usize>,
    launcher: Option<&ThreadName>,
) -> Vec<Segment<'p>> {
    let bound = event::latest_records(program);
    let mut result = Vec::new();
    let (mut stretch, mut start) = (Stretch::default(), 0);
    for (at, op) in program.ops.iter().enumerate() {
        if handing_over.contains(&at) {
            stretch.dropped += 1;
            continue;
        }
        match fate(op) {
            Fate::Dropped if launcher.is_some_and(|thread| *thread != op.thread) => {
                stretch.dropped += 1;
            }
            Fate::Dropped => stretch.host(op),
            Fate::Captured => {
                if bound.get(&at).is_none_or(|&record| record >= start) {
                    stretch.capture(op);
                }
            }
            Fate::Stays => {
                std::mem::take(&mut stretch).close(&mut result);
                result.push(Segment::Host(op));
                start = at;
            }
        }
    }
    stretch.close(&mut result);
    result
}

/// A host call that stays. What it waits for is in a graph now, so it waits for the launches.
fn redirected(op: &Op, program: &Program, origin: &StreamName) -> Op {
    let mut op = op.clone();
    if let OpKind::Host(HostKind::Synchronise(target)) = &mut op.kind {
        let captured = match target {
            SyncTarget::Device => false,
            SyncTarget::Stream(stream) => program
                .ops
                .iter()
                .any(|op| op.stream.as_ref() == Some(stream) && fate(op) == Fate::Captured),
            SyncTarget::Event(event) => program
                .ops
                .iter()
                .any(|op| matches!(&op.kind, OpKind::Record(record) if record.event == *event)),
        };
        if captured {
            *target = SyncTarget::Stream(origin.clone());
        }
    }
    op
}

fn graph_name(program: &ProgramName, taken: &mut BTreeSet<ProgramName>) -> ProgramName {
    let mut number = 0_u64;
    loop {
        let name = ProgramName::from(format!("{program}.graph{number}"));
        if taken.insert(name.clone()) {
            return name;
        }
        number += 1;
    }
}

fn captured(name: ProgramName, origin: StreamName, ops: Vec<Op>) -> Program {
    let capture = Capture {
        origin,
        mode: CaptureMode::Global,
        size: None,
        extra: Extra::default(),
    };
    Program {
        name,
        capture: Some(capture),
        ops,
        extra: Extra::default(),
    }
}

/// The body of a graph with every side stream joined from the origin and back to it, as a capture
/// must be (facts/acl.md section 10).
fn joined(
    schedule: &mut Schedule,
    names: &mut Names,
    body: Vec<Op>,
    origin: &StreamName,
) -> Vec<Op> {
    let mut sides: Vec<Op> = Vec::new();
    for op in &body {
        if op.stream.as_ref().is_some_and(|stream| stream != origin)
            && !sides.iter().any(|side| side.stream == op.stream)
        {
            sides.push(op.clone());
        }
    }
    if sides.is_empty() {
        return body;
    }
    let mut on_origin = sides[0].clone();
    on_origin.stream = Some(origin.clone());
    let fork = names.event(schedule, "capture.fork");
    let mut ops = vec![record(names, &fork, &on_origin)];
    ops.extend(sides.iter().map(|side| wait(names, &fork, side)));
    ops.extend(body);
    for side in &sides {
        let join = names.event(schedule, "capture.join");
        ops.push(record(names, &join, side));
        ops.push(wait(names, &join, &on_origin));
    }
    ops
}

/// Overrides follow their ops into the graphs.
fn move_overrides(
    schedule: &mut Schedule,
    program: &ProgramName,
    home: &HashMap<OpId, ProgramName>,
) {
    for change in schedule
        .ranks
        .iter_mut()
        .flat_map(|group| &mut group.overrides)
    {
        if change.program == *program
            && let Some(graph) = home.get(&change.op)
        {
            change.program = graph.clone();
        }
    }
    prune_overrides(schedule);
}
