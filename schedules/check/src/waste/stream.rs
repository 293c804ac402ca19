//! Streams that bring nothing.

use std::collections::{BTreeMap, BTreeSet};

use ascsim_schedules::flat::{InstanceId, StreamId};
use ascsim_schedules::{HostKind, OpKind};

use crate::context::Context;
use crate::finding::Finding;
use crate::rule::Rule;

/// Comparisons of ops in search of an overlap; beyond, nothing is said.
const MOST_COMPARED: usize = 1_000_000;

/// Streams with one layer each from which on it is said.
const MANY: usize = 4;

/// The streams of one rank or graph: with what they compute or move, and all that they do.
#[derive(Debug, Default)]
struct Streams {
    work: BTreeMap<StreamId, Vec<InstanceId>>,
    any: BTreeMap<StreamId, InstanceId>,
}

pub(super) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let flat = context.flat;
    let mut of: BTreeMap<(u32, Option<usize>), Streams> = BTreeMap::new();
    for id in flat.ids().filter(|&id| flat[id].is_task()) {
        let Some(stream) = flat[id].stream else {
            continue;
        };
        let info = flat.stream(stream);
        let streams = of
            .entry((info.rank, info.graph.map(|graph| graph.index())))
            .or_default();
        streams.any.entry(stream).or_insert(id);
        if is_work(&flat[id].op.kind) {
            streams.work.entry(stream).or_default().push(id);
        }
    }
    let mut found = Vec::new();
    let mut left = MOST_COMPARED;
    for streams in of.values() {
        idle(context, streams, &mut found);
        alone(context, streams, &mut left, &mut found);
        per_layer(context, streams, &mut found);
    }
    found
}

fn is_work(kind: &OpKind) -> bool {
    match kind {
        OpKind::Kernel(_)
        | OpKind::Copy(_)
        | OpKind::Prefetch(_)
        | OpKind::Collective(_)
        | OpKind::SuperKernel(_)
        | OpKind::Group(_)
        | OpKind::GraphLaunch(_) => true,
        OpKind::Host(kind) => matches!(kind, HostKind::Function { .. }),
        _ => false,
    }
}

/// Streams of a graph that only record and wait: each takes a stream of the device at every capture.
fn idle(context: &Context<'_, '_>, streams: &Streams, found: &mut Vec<Finding>) {
    let flat = context.flat;
    for (stream, &first) in &streams.any {
        let info = flat.stream(*stream);
        if info.graph.is_none() || streams.work.contains_key(stream) {
            continue;
        }
        let message = format!(
            "stream `{}` does nothing in the graph but record and wait, and takes a stream of the device for each capture",
            info.stream.name
        );
        let finding = Finding::new(Rule::WasteIdleStream, message).about(flat, [first]);
        found.push(finding.suggest("capture without it where there is nothing to put on it"));
    }
}

/// Side streams whose ops are ordered with all that other streams do.
fn alone(context: &Context<'_, '_>, streams: &Streams, left: &mut usize, found: &mut Vec<Finding>) {
    if streams.work.len() < 2 {
        return;
    }
    let flat = context.flat;
    // The one with the most ops is the main stream.
    let main = streams
        .work
        .iter()
        .max_by_key(|(stream, ops)| (ops.len(), std::cmp::Reverse(**stream)));
    let main = main.map(|(stream, _)| *stream);
    for (stream, ops) in streams
        .work
        .iter()
        .filter(|(stream, _)| Some(**stream) != main)
    {
        let overlaps = ops.iter().any(|&op| {
            streams
                .work
                .iter()
                .filter(|(other, _)| *other != stream)
                .any(|(_, others)| {
                    *left = left.saturating_sub(1);
                    let after = others.partition_point(|&other| context.before(other, op));
                    others
                        .get(after)
                        .is_some_and(|&other| !context.before(op, other))
                })
        });
        if *left == 0 {
            return;
        }
        if overlaps || !ops.iter().all(|&op| context.runs(op)) {
            continue;
        }
        let name = &flat.stream(*stream).stream.name;
        let message = format!(
            "nothing on stream `{name}` can overlap with anything: its {} ops are ordered with all others",
            ops.len()
        );
        let finding = Finding::new(Rule::WasteNoOverlap, message);
        let finding = finding.about(flat, ops.first().copied());
        found.push(finding.suggest(
            "record the event earlier, wait for it later, or put the ops on the main stream",
        ));
    }
}

/// A side stream for each layer, where one for all would do.
fn per_layer(context: &Context<'_, '_>, streams: &Streams, found: &mut Vec<Finding>) {
    let flat = context.flat;
    let mut layers: BTreeMap<&str, InstanceId> = BTreeMap::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for ops in streams.work.values() {
        let of = |&id: &InstanceId| flat[id].op.tags.get("layer");
        let Some(&first) = ops.first() else { continue };
        let Some(layer) = of(&first) else { continue };
        if ops.iter().all(|id| of(id) == Some(layer)) && seen.insert(layer) {
            layers.insert(layer, first);
        }
    }
    if layers.len() < MANY {
        return;
    }
    let message = format!(
        "{} streams each serve one layer only; every one takes a stream of the device and its events",
        layers.len()
    );
    let finding = Finding::new(Rule::WasteStreamPerLayer, message);
    let finding = finding.about(flat, layers.into_values().take(MANY));
    found.push(finding.suggest("share one side stream over the layers"));
}
