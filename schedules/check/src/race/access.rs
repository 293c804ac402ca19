//! All accesses of a schedule, by the bytes they may share.

use std::collections::HashMap;

use ascsim_schedules::flat::InstanceId;
use ascsim_schedules::{AccessMode, OpKind};

use crate::context::Context;

/// One access of one instance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) id: InstanceId,
    pub(super) chain: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) mode: AccessMode,
}

/// Accesses to one buffer of one rank.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) rank: u32,
    /// Index of the root buffer in the schedule.
    pub(super) root: usize,
    /// In the order of the instances.
    pub(super) accesses: Vec<Access>,
}

/// The accesses to each buffer of each rank. A prefetch reads what it brings.
///
/// # Complexity
/// O(accesses).
pub(super) fn collect(context: &Context<'_, '_>) -> Vec<Shared> {
    let mut shared: Vec<Shared> = Vec::new();
    let mut numbers: HashMap<(u32, usize), usize> = HashMap::new();
    let flat = context.flat;
    for id in flat.ids() {
        let instance = &flat[id];
        let op = instance.op;
        let mut push = |rank: u32, root: usize, start: u64, end: u64, mode: AccessMode| {
            if start >= end {
                return;
            }
            let number = *numbers.entry((rank, root)).or_insert_with(|| {
                let accesses = Vec::new();
                shared.push(Shared {
                    rank,
                    root,
                    accesses,
                });
                shared.len() - 1
            });
            // Chains are fewer than instances, which fit into 32 bits.
            let chain = context.chain(id) as u32;
            shared[number].accesses.push(Access {
                id,
                chain,
                start,
                end,
                mode,
            });
        };
        for access in op.accesses.known() {
            if let Some(print) = context.footprints.of(access) {
                let rank = context.peer(instance.rank, print.peer);
                push(rank, print.root, print.start, print.end, print.mode);
            }
        }
        if let OpKind::Prefetch(prefetch) = &op.kind
            && op.accesses.known().is_empty()
            && let Some((root, start, end)) = prefetched(context, id, prefetch)
        {
            push(instance.rank, root, start, end, AccessMode::Read);
        }
    }
    shared
}

/// The bytes that a prefetch brings: root buffer, first byte, one past the last.
pub(crate) fn prefetched(
    context: &Context<'_, '_>,
    id: InstanceId,
    prefetch: &ascsim_schedules::Prefetch,
) -> Option<(usize, u64, u64)> {
    let bytes = context.flat[id]
        .bytes()
        .and_then(|bytes| context.whole(bytes))?;
    let range = ascsim_schedules::Range::Bytes(prefetch.offset, bytes);
    let access = ascsim_schedules::Access {
        buffer: prefetch.buffer.clone(),
        mode: AccessMode::Read,
        range,
        peer: Default::default(),
        extra: Default::default(),
    };
    let print = context.footprints.of(&access)?;
    Some((print.root, print.start, print.end))
}
