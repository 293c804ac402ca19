//! What the device and its runtime have, against what the schedule asks for.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use ascsim_schedules::flat::{EventId, GraphId, InstanceId, NotifyId, StreamId};
use ascsim_schedules::{Expansion, Launch, OpKind};

use crate::context::Context;
use crate::finding::{Finding, Witness};
use crate::rule::Rule;

pub(crate) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (rank, use_of) in counted(context) {
        let limits = context.limits;
        let aicpu = use_of.aicpu.len() as u64;
        let for_streams = aicpu * u64::from(limits.aicpu_communicator_streams);
        let streams = use_of.streams + use_of.graph_streams + for_streams;
        budget(
            &mut found,
            Rule::LimitStreams,
            format!(
                "rank {rank} takes {streams} streams: {} of its own, {} of captured graphs, {for_streams} of {aicpu} communicators that the AICPU expands",
                use_of.streams, use_of.graph_streams
            ),
            "streams of the device",
            streams,
            limits.streams,
            "capture fewer graphs or sizes, use fewer side streams, or let vector cores expand small collectives",
        );
        let for_notifies = aicpu * u64::from(limits.aicpu_communicator_notifies);
        let notifies = use_of.notifies + for_notifies;
        budget(
            &mut found,
            Rule::LimitNotifies,
            format!(
                "rank {rank} takes {notifies} notifies, {for_notifies} of them for {aicpu} communicators"
            ),
            "notifies of the device",
            notifies,
            limits.notifies,
            "use events within the device, or fewer communicators",
        );
        budget(
            &mut found,
            Rule::LimitEvents,
            format!(
                "rank {rank} takes {} `sync` and `external` events",
                use_of.events
            ),
            "event ids of the device",
            use_of.events,
            limits.events,
            "use `ex` events, which take an id only while they are recorded",
        );
    }
    arguments(context, &mut found);
    aicpu_graphs(context, &mut found);
    found
}

fn budget(
    found: &mut Vec<Finding>,
    rule: Rule,
    message: String,
    what: &str,
    used: u64,
    limit: u32,
    suggestion: &str,
) {
    let limit = u64::from(limit);
    if used > limit {
        let what = what.to_owned();
        let finding = Finding::new(rule, format!("{message}; the device has {limit}"));
        found.push(
            finding
                .witness(Witness::Budget { what, used, limit })
                .suggest(suggestion),
        );
    }
}

#[derive(Debug, Default)]
struct Use<'s> {
    streams: u64,
    graph_streams: u64,
    events: u64,
    notifies: u64,
    /// Communicators that the AICPU expands.
    aicpu: BTreeSet<&'s str>,
}

/// What each rank takes.
fn counted<'s>(context: &Context<'_, 's>) -> BTreeMap<u32, Use<'s>> {
    let flat = context.flat;
    let mut uses: BTreeMap<u32, Use<'s>> = BTreeMap::new();
    for &(rank, _) in flat.ranks() {
        uses.entry(rank).or_default();
    }
    for id in (0..flat.stream_count()).map(StreamId::new) {
        let info = flat.stream(id);
        let of_rank = uses.entry(info.rank).or_default();
        match info.graph {
            Some(_) => of_rank.graph_streams += 1,
            None => of_rank.streams += 1,
        }
    }
    for id in (0..flat.event_count()).map(EventId::new) {
        let (rank, event) = flat.event(id);
        uses.entry(rank).or_default().events += u64::from(event.kind.is_flag());
    }
    for id in (0..flat.notify_count()).map(NotifyId::new) {
        uses.entry(flat.notify(id).0).or_default().notifies += 1;
    }
    for id in flat.ids() {
        if is_aicpu(context, id)
            && let Some(comm) = &flat[id].op.comm
        {
            let of_rank = uses.entry(flat[id].rank).or_default();
            of_rank.aicpu.insert(comm.communicator.as_str());
        }
    }
    uses
}

/// Whether an instance is a collective that the AICPU expands: what HCCL does unless told.
pub(crate) fn is_aicpu(context: &Context<'_, '_>, id: InstanceId) -> bool {
    let instance = &context.flat[id];
    let (OpKind::Collective(_), Some(comm), Some(collective)) =
        (&instance.op.kind, &instance.op.comm, instance.collective)
    else {
        return false;
    };
    let communicator = context.flat.collective(collective).communicator;
    let expansion = comm.expansion.or(communicator.expansion);
    expansion.is_none_or(|expansion| expansion == Expansion::AiCpu)
}

fn arguments(context: &Context<'_, '_>, found: &mut Vec<Finding>) {
    let limit = context.limits.launch_arguments;
    for id in context.flat.ids() {
        let Some(Launch::Kernel { arguments, .. }) = context.flat[id].op.launch.as_deref() else {
            continue;
        };
        if arguments.len() as u64 > u64::from(limit) {
            let message = format!(
                "`{}` passes {} arguments; a launch takes {limit}",
                context.flat.path(id),
                arguments.len()
            );
            let finding = Finding::new(Rule::LimitArguments, message).about(context.flat, [id]);
            found.push(finding.suggest("pass a structure in device memory"));
        }
    }
}

/// Graphs with AICPU collectives that can be under way at once.
fn aicpu_graphs(context: &Context<'_, '_>, found: &mut Vec<Finding>) {
    let flat = context.flat;
    let limit = context.limits.aicpu_graphs as usize;
    let mut launches: BTreeMap<u32, BTreeMap<usize, Vec<InstanceId>>> = BTreeMap::new();
    let mut graphs: HashSet<GraphId> = HashSet::new();
    for id in flat.ids() {
        let ascsim_schedules::flat::Target::Graph(graph) = flat[id].target else {
            continue;
        };
        if matches!(flat[id].op.kind, OpKind::GraphLaunch(_))
            && (graphs.contains(&graph) || flat.inside(id).any(|inner| is_aicpu(context, inner)))
        {
            graphs.insert(graph);
            let of_rank = launches.entry(flat[id].rank).or_default();
            of_rank.entry(context.chain(id)).or_default().push(id);
        }
    }
    for (rank, streams) in launches {
        if streams.len() <= limit {
            continue;
        }
        for &launch in streams.values().flatten() {
            let beside = streams.values().filter_map(|list| {
                let low = list.partition_point(|&other| context.before(other, launch));
                list.get(low)
                    .copied()
                    .filter(|&other| !context.before(launch, other))
            });
            let mut beside: Vec<InstanceId> = beside.collect();
            if beside.len() > limit {
                let message = format!(
                    "{} graphs with AICPU collectives can run at once on rank {rank}; more than {limit} fill the AICPU",
                    beside.len()
                );
                beside.truncate(limit + 1);
                let finding = Finding::new(Rule::LimitAicpuGraphs, message).about(flat, beside);
                found.push(finding.suggest(
                    "order some of the launches, or expand their collectives on vector cores",
                ));
                break;
            }
        }
    }
}
