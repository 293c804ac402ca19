//! What an executor acts on: a schedule without everything else.

use std::collections::BTreeSet;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::ir::{
    Buffer, Communicator, Delay, Distribution, Event, Expr, Extra, Group, GroupTask, Measured,
    Notify, Op, OpKind, Override, Program, Provenance, RankGroup, Schedule, Stream, SuperKernel,
    Tags, Variable, Work,
};

/// The structural part of a schedule. It serializes to one text per structure; ops are stripped one
/// by one on the way.
#[derive(Debug, Serialize)]
pub(super) struct Skeleton<'a> {
    variables: Vec<Variable>,
    buffers: Vec<Buffer>,
    streams: Vec<&'a Stream>,
    events: Vec<&'a Event>,
    notifies: Vec<&'a Notify>,
    communicators: Vec<&'a Communicator>,
    programs: Vec<Body<'a>>,
    ranks: Vec<RankGroup>,
    extra: &'a Extra,
}

impl<'a> Skeleton<'a> {
    pub(super) fn of(schedule: &'a Schedule) -> Self {
        // Every field by name, so that a new one cannot be forgotten here.
        let Schedule {
            format: _,
            name: _,
            description: _,
            variables,
            buffers,
            streams,
            events,
            notifies,
            communicators,
            programs,
            ranks,
            extra,
        } = schedule;
        let used = structural_variables(schedule);
        let mut ranks: Vec<_> = ranks.iter().map(rank_group).collect();
        ranks.sort_by_key(|group| group.first);
        let variables = variables.iter();
        let variables = variables.filter_map(|item| variable(item, used.contains(&*item.name)));
        Self {
            variables: sorted(variables, |item| item.name.clone()),
            buffers: sorted(buffers.iter().map(buffer), |item| item.name.clone()),
            streams: sorted(streams, |item| &item.name),
            events: sorted(events, |item| &item.name),
            notifies: sorted(notifies, |item| &item.name),
            communicators: sorted(communicators, |item| &item.name),
            programs: sorted(programs.iter().map(Body), |body| &body.0.name),
            ranks,
            extra,
        }
    }
}

fn sorted<T, K: Ord>(items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort_by_key(key);
    items
}

/// A program whose ops are stripped when they are serialized.
#[derive(Debug)]
struct Body<'a>(&'a Program);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Ops<'a>(&'a [Op]);
        impl Serialize for Ops<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.0.iter().map(op))
            }
        }
        let Program {
            name,
            capture,
            ops,
            extra,
        } = self.0;
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("name", name)?;
        map.serialize_entry("capture", capture)?;
        map.serialize_entry("ops", &Ops(ops))?;
        map.serialize_entry("extra", extra)?;
        map.end()
    }
}

fn op(op: &Op) -> Op {
    let Op {
        id,
        thread,
        stream,
        kind,
        cores,
        comm,
        accesses,
        work,
        duration,
        issue,
        delay,
        tags: _,
        launch,
        extra,
    } = op;
    Op {
        id: id.clone(),
        thread: thread.clone(),
        stream: stream.clone(),
        kind: op_kind(kind),
        cores: *cores,
        comm: comm.clone(),
        accesses: accesses.clone(),
        work: work.as_ref().and_then(|work| unknown_work(work)),
        duration: duration.as_ref().and_then(|time| unknown_time(time)),
        issue: issue.as_ref().and_then(|time| unknown_time(time)),
        delay: delay.as_ref().and_then(|delay| unknown_delay(delay)),
        tags: Tags::default(),
        launch: launch.clone(),
        extra: extra.clone(),
    }
}

fn op_kind(kind: &OpKind) -> OpKind {
    let strip = |tasks: &[GroupTask]| {
        let stripped = tasks.iter().map(|GroupTask { op: task, after }| GroupTask {
            op: op(task),
            after: after.clone(),
        });
        stripped.collect()
    };
    match kind {
        OpKind::Group(group) => OpKind::Group(Group {
            tasks: strip(&group.tasks),
            extra: group.extra.clone(),
        }),
        OpKind::SuperKernel(fused) => OpKind::SuperKernel(SuperKernel {
            name: fused.name.clone(),
            parts: strip(&fused.parts),
            stream_fusion: fused.stream_fusion,
            feed_sync_all: fused.feed_sync_all,
            extra: fused.extra.clone(),
        }),
        other => other.clone(),
    }
}

fn buffer(buffer: &Buffer) -> Buffer {
    let tags = Tags::default();
    Buffer {
        tags,
        ..buffer.clone()
    }
}

/// A variable without provenance; without its values too where nothing structural uses them, and
/// nothing at all if then nothing is left.
fn variable(variable: &Variable, used: bool) -> Option<Variable> {
    let Variable {
        name,
        nominal,
        distribution,
        from: _,
        note: _,
        extra,
    } = variable;
    (used || !extra.is_empty()).then(|| Variable {
        name: name.clone(),
        nominal: if used { nominal.clone() } else { Vec::new() },
        distribution: match used {
            true => distribution.clone(),
            false => Distribution::Fixed,
        },
        from: Provenance::Assumed,
        note: None,
        extra: extra.clone(),
    })
}

fn rank_group(group: &RankGroup) -> RankGroup {
    let overrides = group.overrides.iter().filter_map(strip_override);
    RankGroup {
        first: group.first,
        count: group.count,
        program: group.program.clone(),
        devices: group.devices.clone(),
        overrides: sorted(overrides, |item| {
            (item.rank, item.program.clone(), item.op.clone())
        }),
        extra: group.extra.clone(),
    }
}

/// An override without times, or nothing if then nothing is left.
fn strip_override(entry: &Override) -> Option<Override> {
    let Override {
        rank,
        program,
        op,
        duration,
        issue,
        delay,
        bytes,
        peer,
        extra,
    } = entry;
    let stripped = Override {
        rank: *rank,
        program: program.clone(),
        op: op.clone(),
        duration: duration.as_ref().and_then(unknown_time),
        issue: issue.as_ref().and_then(unknown_time),
        delay: delay.as_ref().and_then(unknown_delay),
        bytes: bytes.clone(),
        peer: peer.clone(),
        extra: extra.clone(),
    };
    let nothing = Override {
        rank: *rank,
        program: program.clone(),
        op: op.clone(),
        duration: None,
        issue: None,
        delay: None,
        bytes: None,
        peer: None,
        extra: Extra::default(),
    };
    (stripped != nothing).then_some(stripped)
}

/// The unknown fields of a time, if it has any, in a time that says nothing else.
fn unknown_time<T: From<Measured>>(time: &Measured) -> Option<T> {
    let blank = || Measured {
        extra: time.extra.clone(),
        ..Measured::new(0_i64, Provenance::Assumed)
    };
    (!time.extra.is_empty()).then(|| blank().into())
}

fn unknown_delay<T: From<Delay>>(delay: &Delay) -> Option<T> {
    let blank = || Delay {
        ns: Expr::Int(0),
        cause: crate::ir::DelayCause::Unexplained,
        note: None,
        extra: delay.extra.clone(),
    };
    (!delay.extra.is_empty()).then(|| blank().into())
}

fn unknown_work<T: From<Work>>(work: &Work) -> Option<T> {
    let blank = || Work {
        extra: work.extra.clone(),
        ..Work::default()
    };
    (!work.extra.is_empty()).then(|| blank().into())
}

/// The names of the variables that bytes and counts depend on.
fn structural_variables(schedule: &Schedule) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for op in schedule.programs.iter().flat_map(|program| &program.ops) {
        structural_expressions(op, &mut |expr| collect(expr, &mut names));
    }
    for group in &schedule.ranks {
        let bytes = group
            .overrides
            .iter()
            .filter_map(|entry| entry.bytes.as_ref());
        bytes.for_each(|expr| collect(expr, &mut names));
    }
    names
}

fn collect<'a>(expr: &'a Expr, names: &mut BTreeSet<&'a str>) {
    expr.visit_variables(&mut |variable| {
        names.insert(&variable.name);
    });
}

/// Calls `visit` with each expression of `op` and the tasks in it that is structural.
fn structural_expressions<'a>(op: &'a Op, visit: &mut dyn FnMut(&'a Expr)) {
    if let Some(comm) = &op.comm {
        visit(&comm.bytes);
    }
    match &op.kind {
        OpKind::Copy(copy) => visit(&copy.bytes),
        OpKind::Prefetch(prefetch) => visit(&prefetch.bytes),
        OpKind::Repeat(repeat) => visit(&repeat.count),
        _ => {}
    }
    for task in op.kind.tasks() {
        structural_expressions(&task.op, visit);
    }
}
