//! What can be told from one collective or communicator (facts/collectives.md section 6). What it
//! costs, and which kernel HCCL takes, is the hardware model's.

use std::collections::{BTreeMap, HashMap, HashSet};

use ascsim_schedules::flat::InstanceId;
use ascsim_schedules::{CollectiveKind, Device, Expansion, OpKind};

use crate::context::Context;
use crate::finding::Finding;
use crate::rule::Rule;

/// A size beyond which AllToAllV over AIV is not advised, per pair of ranks: 1 MiB.
const MOST_PER_PAIR: u64 = 1 << 20;

/// The CCL buffer unless `HCCL_BUFFSIZE` says otherwise: 200 MB (facts/collectives.md section 6).
const CCL_BUFFER: u64 = 200 << 20;

/// Ranks of a communicator that DispatchFFNCombine takes.
const MOST_FUSED_RANKS: usize = 32;

pub(crate) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let flat = context.flat;
    let mut told: HashSet<*const ascsim_schedules::Op> = HashSet::new();
    for id in flat.ids() {
        if flat[id].op.comm.is_some() && told.insert(std::ptr::from_ref(flat[id].op)) {
            one(context, id, &mut found);
        }
    }
    sizes(context, &mut found);
    shared(context, &mut found);
    mates(context, &mut found);
    found
}

fn one(context: &Context<'_, '_>, id: InstanceId, found: &mut Vec<Finding>) {
    let flat = context.flat;
    let instance = &flat[id];
    let (Some(comm), Some(collective)) = (&instance.op.comm, instance.collective) else {
        return;
    };
    let collective = flat.collective(collective);
    let communicator = collective.communicator;
    let ranks = communicator.groups[collective.group].len();
    let path = flat.path(id);
    let expansion = comm.expansion.or(communicator.expansion);
    let aiv =
        expansion == Some(Expansion::Aiv) && matches!(instance.op.kind, OpKind::Collective(_));
    let bytes = instance
        .bytes()
        .and_then(|bytes| context.whole(bytes))
        .unwrap_or(0);
    let mut push = |rule: Rule, message: String, help: &str| {
        found.push(Finding::new(rule, message).about(flat, [id]).suggest(help));
    };
    if comm.kind == CollectiveKind::MatmulAllReduce {
        push(
            Rule::AclNoMatmulAllReduce,
            format!("`{path}`: MatmulAllReduce does not exist on 910C"),
            "use MatmulReduceScatter with an AllGather, or a matmul and an AllReduce",
        );
    }
    if comm.kind == CollectiveKind::DispatchFfnCombine && ranks > MOST_FUSED_RANKS {
        push(
            Rule::LimitFusedRanks,
            format!(
                "`{path}`: DispatchFFNCombine takes {MOST_FUSED_RANKS} ranks, the communicator has {ranks}"
            ),
            "use dispatch, grouped matmul and combine",
        );
    }
    let limit = instance
        .stream
        .and_then(|stream| flat.stream(stream).stream.core_limit);
    if let (true, Some(limit)) = (aiv, limit.and_then(|limit| limit.aiv)) {
        let need = least_cores(comm.kind, ranks);
        if u64::from(limit) < need {
            push(
                Rule::LimitAivCores,
                format!(
                    "`{path}` needs {need} vector cores over {ranks} ranks, its stream is limited to {limit}: HCCL fails with HCCL_E_PARA"
                ),
                "raise the core limit of the stream, or let the AICPU expand it",
            );
        }
    }
    if aiv && comm.kind == CollectiveKind::AllToAllV && bytes > MOST_PER_PAIR {
        push(
            Rule::WasteAllToAllV,
            format!(
                "`{path}`: AllToAllV of {bytes} bytes per pair stays on vector cores, which is slow beyond 1 MiB"
            ),
            "let the AICPU expand it",
        );
    }
    if !aiv && comm.in_place && matches!(instance.op.kind, OpKind::Collective(_)) {
        push(
            Rule::WasteInPlace,
            format!("`{path}` is in place: the AICPU expands it anew on every call"),
            "give it an output buffer of its own",
        );
    }
    if bytes >= communicator.buffer_bytes.unwrap_or(CCL_BUFFER) {
        push(
            Rule::WasteLoops,
            format!(
                "`{path}`: {bytes} bytes do not fit the CCL buffer of `{}`: it is sent in pieces",
                communicator.name
            ),
            "raise HCCL_BUFFSIZE",
        );
    }
    let slow = match (
        communicator.deterministic,
        comm.reduce.as_deref(),
        comm.dtype.as_deref(),
    ) {
        (true, _, _) => Some("deterministic reduction"),
        (_, Some("prod"), _) => Some("a product"),
        (_, _, Some("int64")) => Some("int64"),
        _ => None,
    };
    if let (true, Some(why)) = (aiv, slow) {
        push(
            Rule::WasteLeavesAiv,
            format!("`{path}`: {why} takes it off the fast AIV kernels"),
            "turn it off where it is not needed",
        );
    }
}

/// The least vector cores of an AIV collective (facts/collectives.md section 6 rule 1).
fn least_cores(kind: CollectiveKind, ranks: usize) -> u64 {
    let ranks = ranks as u64;
    let even = |cores: u64| cores + cores % 2;
    match kind {
        CollectiveKind::Broadcast => ranks,
        CollectiveKind::AllReduce | CollectiveKind::AllToAll | CollectiveKind::AllToAllV => {
            even(ranks.div_ceil(20).max(2))
        }
        _ => ranks.div_ceil(20).max(2),
    }
}

/// Members of one collective that name different sizes. A size of 0 is one that a capture does not
/// tell.
fn sizes(context: &Context<'_, '_>, found: &mut Vec<Finding>) {
    use CollectiveKind::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter};
    let flat = context.flat;
    for collective in flat.collectives() {
        let same = matches!(
            collective.kind,
            AllReduce | AllGather | ReduceScatter | AllToAll | Broadcast | Reduce
        );
        if !same || !collective.completes() {
            continue;
        }
        let known = |&id: &InstanceId| {
            let size = flat[id].bytes().and_then(|bytes| context.whole(bytes));
            size.filter(|size| *size != 0).map(|size| (id, size))
        };
        let mut members = collective.members().iter().filter_map(known);
        let Some((first, wanted)) = members.next() else {
            continue;
        };
        if let Some((other, found_there)) = members.find(|&(_, size)| size != wanted) {
            let message = format!(
                "collective {} of `{}` has {} bytes on rank {} (`{}`) but {} on rank {} (`{}`)",
                collective.nth + 1,
                collective.communicator.name,
                wanted,
                flat[first].rank,
                flat.path(first),
                found_there,
                flat[other].rank,
                flat.path(other),
            );
            found.push(
                Finding::new(Rule::AclCollectiveSize, message)
                    .about(flat, [first, other])
                    .suggest("issue the same collectives in the same order on every rank"),
            );
        }
    }
}

/// Communicators that MC2 exchanges share with other ops.
fn shared(context: &Context<'_, '_>, found: &mut Vec<Finding>) {
    let flat = context.flat;
    let mut exchange: HashMap<&str, InstanceId> = HashMap::new();
    let mut others: BTreeMap<&str, InstanceId> = BTreeMap::new();
    for id in flat.ids() {
        let Some(comm) = &flat[id].op.comm else {
            continue;
        };
        let name = comm.communicator.as_str();
        let is_exchange = matches!(
            comm.kind,
            CollectiveKind::Dispatch | CollectiveKind::Combine | CollectiveKind::DispatchFfnCombine
        );
        match is_exchange {
            true => exchange.entry(name).or_insert(id),
            false => others.entry(name).or_insert(id),
        };
    }
    for (name, other) in others {
        if let Some(&dispatch) = exchange.get(name) {
            let message = format!(
                "communicator `{name}` carries the exchange `{}` and also `{}`; dispatch and combine need one of their own",
                flat.path(dispatch),
                flat.path(other),
            );
            found.push(
                Finding::new(Rule::AclSharedExchange, message)
                    .about(flat, [dispatch, other])
                    .suggest("make a second communicator over the same ranks"),
            );
        }
    }
}

/// Communicators that leave package mates out.
fn mates(context: &Context<'_, '_>, found: &mut Vec<Finding>) {
    let mut devices: HashMap<u32, Device> = HashMap::new();
    for group in &context.schedule.ranks {
        for place in 0..group.count {
            let rank = group.first.saturating_add(place);
            let device = group.devices.get(place as usize).copied();
            devices.insert(rank, device.unwrap_or_else(|| Device::of_rank(rank)));
        }
    }
    let mut told: HashSet<&str> = HashSet::new();
    for collective in context.flat.collectives() {
        let communicator = collective.communicator;
        let ranks = &communicator.groups[collective.group];
        let packages: HashSet<(u32, u32)> = ranks
            .iter()
            .filter_map(|rank| devices.get(rank))
            .map(|device| (device.server, device.package))
            .collect();
        let aicpu = communicator.expansion.is_none_or(|e| e == Expansion::AiCpu);
        // Of one rank per package and several packages, every other die is left out.
        if aicpu
            && ranks.len() > 2
            && packages.len() == ranks.len()
            && told.insert(communicator.name.as_str())
        {
            let message = format!(
                "communicator `{}` has one rank per package: one ring, about half the bandwidth",
                communicator.name
            );
            let members = collective.members().iter().copied().take(1);
            found.push(
                Finding::new(Rule::WasteSingleRing, message)
                    .about(context.flat, members)
                    .suggest("put both dies of a package into it"),
            );
        }
    }
}
