//! Collectives across ranks, and the ranks that were not captured.
//!
//! A collective ends on all ranks when its last member has started and the transfer is done. The
//! captures tell when each captured rank started; and when a rank that was not captured arrived, if a
//! captured one was seen waiting for it: the wait for the notify of its rank, before the first
//! transfer between ranks, ends then. The rank that arrives last gets a program of its own, in which
//! it arrives at that time whatever else changes, with the cause `external`. Without it, a change
//! that lets a captured rank start later would move the end of a collective that was waiting for
//! somebody else all the time.
//!
//! The transfer is what lies between the last arrival and the first end on a captured rank. A rank
//! that ends later does what follows later by that much: a delay.

use std::collections::{BTreeMap, BTreeSet};

use ascsim_schedules::{
    Collective as CollectiveOp, CollectiveKind, Comm, Communicator, CommunicatorName, Delay,
    DelayCause, Expansion, Expr, Extra, HostKind, Measured, Op, OpKind, Program, Provenance, Tags,
};
use smol_str::{SmolStr, format_smolstr};

use super::clock::View;
use super::steps::Steps;
use super::{Seen, SeenRank};
use crate::model::PlaneKind;
use crate::pair::event::BLOCKING_NS;
use crate::time::Span;

/// One collective on one rank, with all tasks that carry it.
#[derive(Debug)]
pub(super) struct Gathered {
    /// Index in the trace.
    pub(super) index: usize,
    /// Its first task.
    pub(super) first: Option<usize>,
    pub(super) tasks: usize,
    pub(super) stream: u32,
    /// On the common clock, ns.
    pub(super) span: Span,
    pub(super) step: Option<u32>,
    group: SmolStr,
    members: BTreeSet<u32>,
    /// When other ranks were seen to arrive; only those this rank waited for.
    arrivals: BTreeMap<u32, i64>,
    /// Whether it has transfers, so that arrivals would be seen.
    has_planes: bool,
}

/// The collectives of a rank in order of their start. One without tasks is on a stream of its
/// own, beyond the physical ones.
pub(super) fn gather(view: &View<'_>, steps: &Steps<'_>, wanted: Option<u32>) -> Vec<Gathered> {
    let trace = view.trace;
    let mut found: Vec<Gathered> = trace
        .collectives
        .iter()
        .enumerate()
        .map(|(index, op)| {
            let call = op
                .framework_op
                .and_then(|call| trace.host.get(call as usize));
            Gathered {
                index,
                first: None,
                tasks: 0,
                stream: u32::MAX,
                span: view.device_span(op.span),
                step: call.and_then(|call| steps.of_host(call.thread, call.span.start)),
                group: trace.name(op.group_id.unwrap_or(op.group)).into(),
                members: BTreeSet::new(),
                arrivals: BTreeMap::new(),
                has_planes: false,
            }
        })
        .collect();
    for (index, op) in view.links.carried.iter().enumerate() {
        let own = op.and_then(|op| found.get_mut(op as usize));
        let (Some(own), Some(task)) = (own, trace.tasks.get(index)) else {
            continue;
        };
        let span = view.device_span(task.span);
        if own.first.is_none() {
            own.first = Some(index);
            own.stream = task.stream;
            own.span = span;
            own.step = steps.of_task(&view.links, index).or(own.step);
        }
        own.tasks += 1;
        own.span.start = own.span.start.min(span.start);
        own.span.end = own.span.end.max(span.end);
    }
    arrivals(view, &mut found);
    if wanted.is_some() {
        found.retain(|op| op.step == wanted);
    }
    found
}

/// When other ranks arrived, from the waits before the first transfer between ranks.
fn arrivals(view: &View<'_>, found: &mut [Gathered]) {
    let mut moved = vec![false; found.len()];
    for plane in &view.trace.planes {
        let Some(place) = plane.collective.map(|op| op as usize) else {
            continue;
        };
        let Some(own) = found.get_mut(place) else {
            continue;
        };
        own.has_planes = true;
        let peers = [plane.source, plane.destination].into_iter().flatten();
        own.members.extend(peers.clone());
        let peer = peers.into_iter().find(|rank| *rank != view.rank);
        match (plane.kind, peer) {
            (PlaneKind::Memcpy | PlaneKind::Reduce, Some(_)) => moved[place] = true,
            (PlaneKind::NotifyWait, Some(peer)) if !moved[place] => {
                let span = view.device_span(plane.span);
                if span.len() > BLOCKING_NS {
                    own.arrivals.entry(peer).or_insert(span.end);
                }
            }
            _ => {}
        }
    }
}

/// A collective over all captured ranks.
#[derive(Debug)]
pub(super) struct Joint {
    pub(super) communicator: CommunicatorName,
    /// From the last arrival to the first end, ns.
    pub(super) transfer: i64,
    /// When it ends, ns.
    pub(super) end: i64,
    /// The rank that was not captured and came last, and when.
    late: Option<(u32, i64)>,
    /// When the first captured rank started, ns.
    begin: i64,
    kind: CollectiveKind,
    expansion: Option<Expansion>,
    pub(super) has_planes: bool,
    /// On how many of the captured ranks it was found.
    pub(super) found: usize,
}

/// All collectives: [`Joint`]s in order, and the one of each rank's gathered ones.
#[derive(Debug, Default)]
pub(super) struct Together {
    pub(super) joints: Vec<Joint>,
    /// Per rank and gathered collective: its joint one.
    pub(super) of: Vec<Vec<usize>>,
    pub(super) communicators: Vec<Communicator>,
    pub(super) members: BTreeSet<u32>,
}

/// Joins the k-th collective of a group on each rank.
pub(super) fn join(views: &[View<'_>], gathered: &[Vec<Gathered>]) -> Together {
    let captured: BTreeSet<u32> = views.iter().map(|view| view.rank).collect();
    let mut together = Together::default();
    let mut parts: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut by_place: BTreeMap<(SmolStr, usize), usize> = BTreeMap::new();
    let mut members: BTreeMap<SmolStr, BTreeSet<u32>> = BTreeMap::new();
    for (rank, list) in gathered.iter().enumerate() {
        let mut next: BTreeMap<SmolStr, usize> = BTreeMap::new();
        let mut own = Vec::with_capacity(list.len());
        for (place, op) in list.iter().enumerate() {
            let nth = next.entry(op.group.clone()).or_default();
            let key = (op.group.clone(), *nth);
            *nth += 1;
            let joint = *by_place.entry(key).or_insert_with(|| {
                parts.push(Vec::new());
                parts.len() - 1
            });
            parts[joint].push((rank, place));
            own.push(joint);
            let all = members.entry(op.group.clone()).or_default();
            all.extend(op.members.iter().copied());
            all.insert(views[rank].rank);
        }
        together.of.push(own);
    }
    for list in &parts {
        let ops = || {
            list.iter()
                .map(|(rank, place)| (&views[*rank], &gathered[*rank][*place]))
        };
        let begin = ops().map(|(_, op)| op.span.start).min().unwrap_or(0);
        let last = ops().map(|(_, op)| op.span.start).max().unwrap_or(0);
        let mut late: BTreeMap<u32, i64> = BTreeMap::new();
        for (_, op) in ops() {
            for (peer, at) in &op.arrivals {
                if !captured.contains(peer) {
                    let first = late.entry(*peer).or_insert(*at);
                    *first = (*first).min(*at);
                }
            }
        }
        let late = late.into_iter().max_by_key(|(peer, at)| (*at, *peer));
        let late = late.filter(|(_, at)| *at > last);
        let arrived = late.map_or(last, |(_, at)| at.max(last));
        let end = ops()
            .map(|(_, op)| op.span.end)
            .min()
            .unwrap_or(arrived)
            .max(arrived);
        let Some((view, op)) = ops().next() else {
            continue;
        };
        let row = &view.trace.collectives[op.index];
        let algorithm = row.algorithm.map_or("", |name| view.trace.name(name));
        together.joints.push(Joint {
            communicator: op.group.clone().into(),
            transfer: end - arrived,
            end,
            late,
            begin,
            kind: kind_of(view.trace.name(row.name)),
            expansion: expansion_of(
                algorithm,
                op.first.map(|task| view.trace.tasks[task].context),
            ),
            has_planes: ops().all(|(_, op)| op.has_planes),
            found: list.len(),
        });
    }
    for (group, ranks) in members {
        together.members.extend(ranks.iter().copied());
        together.communicators.push(Communicator {
            name: group.into(),
            groups: vec![ranks.into_iter().collect()],
            expansion: None,
            buffer_bytes: None,
            deterministic: false,
            extra: Extra::default(),
        });
    }
    together
}

/// The kind of collective by its recorded name, `hcom_allReduce__586_0_1`. An unknown one is taken
/// for an AllReduce: all members wait for each other.
fn kind_of(name: &str) -> CollectiveKind {
    let name = name.to_ascii_lowercase();
    let kinds = [
        ("allreduce", CollectiveKind::AllReduce),
        ("allgather", CollectiveKind::AllGather),
        ("reducescatter", CollectiveKind::ReduceScatter),
        ("alltoallv", CollectiveKind::AllToAllV),
        ("alltoall", CollectiveKind::AllToAll),
        ("broadcast", CollectiveKind::Broadcast),
        ("scatter", CollectiveKind::Scatter),
        ("barrier", CollectiveKind::Barrier),
    ];
    let found = kinds.iter().find(|(part, _)| name.contains(part));
    found.map_or(CollectiveKind::AllReduce, |(_, kind)| *kind)
}

/// Who carries it out: FFTS+ if its tasks have contexts.
fn expansion_of(algorithm: &str, context: Option<Option<u32>>) -> Option<Expansion> {
    match context {
        Some(Some(_)) => Some(Expansion::Ffts),
        _ if algorithm.contains("AIV") => Some(Expansion::Aiv),
        _ => None,
    }
}

/// Bytes of a data type; 0 if unknown.
fn size_of(data_type: &str) -> u64 {
    match data_type.to_ascii_uppercase().as_str() {
        "INT8" | "UINT8" => 1,
        "FP16" | "BFP16" | "BF16" | "INT16" | "UINT16" => 2,
        "FP32" | "INT32" | "UINT32" => 4,
        "FP64" | "INT64" | "UINT64" => 8,
        _ => 0,
    }
}

/// The op of a collective on a rank, without thread and stream.
pub(super) fn op(view: &View<'_>, op: &Gathered, joint: &Joint, id: SmolStr) -> Op {
    let trace = view.trace;
    let row = &trace.collectives[op.index];
    let data_type = row.data_type.map(|name| trace.name(name));
    let bytes = row
        .count
        .zip(data_type)
        .map(|(count, data_type)| count.saturating_mul(size_of(data_type)));
    let bytes = bytes
        .and_then(|bytes| i64::try_from(bytes).ok())
        .unwrap_or(0);
    let mut made = member(joint, id, joint.transfer, bytes);
    if let (Some(comm), Some(data_type)) = (made.comm.as_mut(), data_type) {
        comm.dtype = Some(SmolStr::new(data_type.to_ascii_lowercase()));
    }
    made.tags.set("name", trace.name(row.name));
    made
}

fn member(joint: &Joint, id: SmolStr, transfer: i64, bytes: i64) -> Op {
    let mut op = Op::new(id, OpKind::Collective(CollectiveOp::default()));
    op.comm = Some(Box::new(Comm {
        communicator: joint.communicator.clone(),
        kind: joint.kind,
        bytes: Expr::Int(bytes),
        expansion: joint.expansion,
        peer: None,
        in_place: false,
        dtype: None,
        reduce: None,
        extra: Extra::default(),
    }));
    op.duration = Some(Box::new(Measured::new(transfer, Provenance::Derived)));
    op
}

/// The name of the program of a rank that was not captured, but that others were seen waiting for.
pub fn external_program(rank: u32) -> String {
    format!("rank {rank} as others saw it")
}

/// The programs of ranks that others were seen waiting for. At a collective where it was not last, such
/// a rank arrives as soon as it can: after the collective before, but never before the first task
/// of the schedule.
pub(super) fn late_ranks(
    together: &Together,
    stream: &str,
    first: i64,
) -> Vec<(u32, Program, SeenRank)> {
    let late: BTreeSet<u32> = together
        .joints
        .iter()
        .filter_map(|j| Some(j.late?.0))
        .collect();
    let mut made = Vec::new();
    for rank in late {
        let mut ops = Vec::new();
        let mut seen = Vec::new();
        let mut now = 0;
        let mut free = 0;
        let mut joints: Vec<&Joint> = together
            .joints
            .iter()
            .filter(|joint| {
                let group = together.communicators.iter();
                let mut group = group.filter(|group| group.name == joint.communicator);
                group.any(|group| group.groups.iter().any(|ranks| ranks.contains(&rank)))
            })
            .collect();
        joints.sort_by_key(|joint| joint.begin);
        for (nth, joint) in joints.into_iter().enumerate() {
            let arrival = match joint.late {
                Some((late, at)) if late == rank => at,
                _ => first,
            };
            if arrival > now {
                let mut wait = Op::new(
                    format_smolstr!("arrive.{nth}"),
                    OpKind::Host(HostKind::Think),
                );
                wait.delay = Some(Box::new(Delay {
                    ns: Expr::Int(arrival - now),
                    cause: DelayCause::External,
                    note: Some(SmolStr::new_static(
                        "captured ranks were seen waiting for it",
                    )),
                    extra: Extra::default(),
                }));
                ops.push(wait);
                seen.push(Seen {
                    call: Some(Span {
                        start: arrival,
                        end: arrival,
                    }),
                    task: None,
                });
                now = arrival;
            }
            let mut op = member(joint, format_smolstr!("collective.{nth}"), 0, 0);
            op.stream = Some(stream.into());
            op.issue = Some(Box::new(Measured::new(0_i64, Provenance::Derived)));
            op.tags = Tags::from_iter([("rank", "external")]);
            ops.push(op);
            seen.push(Seen {
                call: Some(Span {
                    start: now,
                    end: now,
                }),
                task: Some(Span {
                    start: now.max(free),
                    end: joint.end,
                }),
            });
            free = joint.end;
        }
        let program = Program {
            name: external_program(rank).into(),
            capture: None,
            ops,
            extra: Extra::default(),
        };
        let seen = SeenRank {
            rank,
            ops: seen,
            captured: false,
            perturbed: None,
        };
        made.push((rank, program, seen));
    }
    made
}
