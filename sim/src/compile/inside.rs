//! Graphs, groups and super kernels: what starts their parts and ends the whole; and what device
//! waits are bound to.

use std::collections::HashMap;

use ascsim_schedules::flat::{Binding, Flat, InstanceId, Role as Runs, Target};
use ascsim_schedules::{GroupTask, OpKind};

use crate::compiled::{Builder, NONE, Need, Point, Reason};

/// Walks over instances in order, and knows what they are inside.
pub(super) struct Inside<'a, 's> {
    flat: &'a Flat<'s>,
    /// The latest launch of each graph.
    launches: HashMap<usize, u32>,
    /// The launches, groups and super kernels whose parts are being added, from the outermost.
    open: Vec<Whole<'s>>,
}

/// A launch, group or super kernel whose parts are being added.
struct Whole<'s> {
    id: InstanceId,
    /// The streams of its parts, each with its last part.
    streams: Vec<(u32, u32)>,
    /// Where a stream is in `streams`.
    places: HashMap<u32, usize>,
    /// Parts of a group or super kernel by their ids.
    parts: HashMap<&'s str, u32>,
    /// The streams that were made for its parts, by name.
    made: HashMap<&'s str, u32>,
}

impl<'a, 's> Inside<'a, 's> {
    pub(super) fn new(flat: &'a Flat<'s>) -> Self {
        Self {
            flat,
            launches: HashMap::new(),
            open: Vec::new(),
        }
    }

    /// The parts of a group or super kernel; empty for others.
    fn parts(&self, id: InstanceId) -> &'s [GroupTask] {
        match &self.flat[id].op.kind {
            OpKind::Group(group) => &group.tasks,
            OpKind::SuperKernel(kernel) => &kernel.parts,
            _ => &[],
        }
    }

    /// Whether an instance is a group or super kernel whose duration is known only as a whole: it has
    /// one, and none of its parts has, nor does any of them do more than run.
    pub(super) fn runs_as_one(&self, id: InstanceId) -> bool {
        let instance = &self.flat[id];
        let plain = |task: &GroupTask| {
            task.op.duration.is_none()
                && task.op.comm.is_none()
                && matches!(
                    task.op.kind,
                    OpKind::Kernel(_) | OpKind::Copy(_) | OpKind::Prefetch(_)
                )
        };
        matches!(instance.op.kind, OpKind::Group(_) | OpKind::SuperKernel(_))
            && instance.duration().is_some()
            && self.parts(id).iter().all(plain)
    }

    /// The stream on which a part of a group or super kernel runs. Each part of a group has its own.
    /// Parts of a super kernel share one, or with stream fusion one per stream that they name.
    pub(super) fn stream_of_part(&mut self, builder: &mut Builder, id: InstanceId) -> u32 {
        let part = &self.flat[id];
        let fusion = match part.parent.map(|whole| &self.flat[whole].op.kind) {
            Some(OpKind::SuperKernel(kernel)) => kernel.stream_fusion,
            _ => return builder.add_stream(),
        };
        let name = match &part.op.stream {
            Some(name) if fusion => name.as_str(),
            _ => "",
        };
        match self.open.last_mut() {
            Some(whole) => *whole
                .made
                .entry(name)
                .or_insert_with(|| builder.add_stream()),
            None => builder.add_stream(),
        }
    }

    /// Adds what the task of an instance, if it has one, needs besides its stream.
    pub(super) fn add(&mut self, builder: &mut Builder, id: InstanceId, stream: u32) {
        let instance = &self.flat[id];
        while let Some(whole) = self.open.last() {
            if Some(whole.id) == instance.parent {
                break;
            }
            self.close(builder);
        }
        if stream == NONE {
            return;
        }
        let number = id.index() as u32;
        let parts = match instance.parent {
            Some(whole) if instance.role == Runs::Part => self.parts(whole),
            _ => &[],
        };
        if let Some(whole) = self.open.last_mut() {
            whole.add(builder, number, stream);
            let place = id.index() - whole.id.index() - 1;
            if let Some(part) = parts.get(place) {
                whole.part(builder, number, part);
            }
        }
        match &instance.op.kind {
            OpKind::GraphLaunch(_) => {
                if let Target::Graph(graph) = instance.target
                    && let Some(before) = self.launches.insert(graph.index(), number)
                {
                    builder.start_need(number, need(before, Point::End, Reason::Replay));
                }
                self.open.push(Whole::new(id));
            }
            OpKind::Group(_) | OpKind::SuperKernel(_) if !self.runs_as_one(id) => {
                self.open.push(Whole::new(id));
            }
            OpKind::Wait(_) => {
                if let Some(Binding::Record(record)) = self.flat.binding(id) {
                    let record = record.index() as u32;
                    builder.end_need(number, need(record, Point::End, Reason::Event));
                }
            }
            _ => {}
        }
    }

    /// A whole ends when the last part on each of its streams has.
    fn close(&mut self, builder: &mut Builder) {
        if let Some(whole) = self.open.pop() {
            for (_, last) in whole.streams {
                let number = whole.id.index() as u32;
                builder.end_need(number, need(last, Point::End, Reason::Part));
            }
        }
    }

    /// Ends everything at the end of a rank.
    pub(super) fn end_rank(&mut self, builder: &mut Builder) {
        while !self.open.is_empty() {
            self.close(builder);
        }
        self.launches.clear();
    }
}

impl<'s> Whole<'s> {
    fn new(id: InstanceId) -> Self {
        Self {
            id,
            streams: Vec::new(),
            places: HashMap::new(),
            parts: HashMap::new(),
            made: HashMap::new(),
        }
    }

    /// The first part on each stream starts no earlier than the whole.
    fn add(&mut self, builder: &mut Builder, number: u32, stream: u32) {
        match self.places.get(&stream) {
            Some(place) => self.streams[*place].1 = number,
            None => {
                self.places.insert(stream, self.streams.len());
                self.streams.push((stream, number));
                let whole = self.id.index() as u32;
                builder.start_need(number, need(whole, Point::Start, Reason::Container));
            }
        }
    }

    /// A part starts when the parts that it comes after have ended.
    fn part(&mut self, builder: &mut Builder, number: u32, part: &'s GroupTask) {
        for before in &part.after {
            if let Some(before) = self.parts.get(before.as_str()) {
                builder.start_need(number, need(*before, Point::End, Reason::Part));
            }
        }
        self.parts.insert(part.op.id.as_str(), number);
    }
}

fn need(on: u32, point: Point, why: Reason) -> Need {
    Need { on, point, why }
}
