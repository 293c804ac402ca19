//! Compares each access with those of other chains that nothing orders.

use std::collections::{HashMap, HashSet};

use ascsim_schedules::flat::{InstanceId, Role};
use ascsim_schedules::{AccessMode, Op, OpKind};

use super::access::{Access, Shared, collect};
use crate::context::Context;
use crate::finding::{Finding, Witness};
use crate::fix::Edit;
use crate::rule::Rule;

/// Races of one buffer that are told.
const MOST_OF_A_BUFFER: usize = 20;

/// All pairs of accesses that race, up to a number per buffer, each pair of ops once.
///
/// # Complexity
/// O(accesses x chains on the same bytes) where accesses are ordered; where many are not, each access
/// is compared with all that it is not ordered with.
pub(super) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for shared in collect(context) {
        let mut told: HashSet<(*const Op, *const Op)> = HashSet::new();
        for part in parts(&shared) {
            sweep(context, &part, &mut |first, second| {
                let ops = (
                    std::ptr::from_ref(context.flat[first.id].op),
                    std::ptr::from_ref(context.flat[second.id].op),
                );
                if told.insert(ops) {
                    found.push(race(context, &shared, first, second));
                }
                told.len() < MOST_OF_A_BUFFER
            });
        }
    }
    found
}

/// Accesses split so that those of different parts share no byte.
fn parts(shared: &Shared) -> Vec<Vec<Access>> {
    let mut ranges: Vec<(u64, u64)> = shared.accesses.iter().map(|a| (a.start, a.end)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    // Where each part begins.
    let mut starts = Vec::new();
    let mut end = 0;
    for (from, to) in ranges {
        if starts.is_empty() || from >= end {
            starts.push(from);
        }
        end = end.max(to);
    }
    if starts.len() == 1 {
        return vec![shared.accesses.clone()];
    }
    let mut parts = vec![Vec::new(); starts.len()];
    for &access in &shared.accesses {
        let part = starts.partition_point(|&start| start <= access.start);
        parts[part - 1].push(access);
    }
    parts
}

/// What one chain did so far.
#[derive(Debug, Default)]
struct Past {
    readers: Vec<Access>,
    writers: Vec<Access>,
}

/// Calls `race` for accesses that race, until it returns false.
fn sweep(
    context: &Context<'_, '_>,
    accesses: &[Access],
    race: &mut dyn FnMut(&Access, &Access) -> bool,
) {
    if accesses
        .iter()
        .all(|access| access.mode == AccessMode::Read)
    {
        return;
    }
    let mut pasts: Vec<Past> = Vec::new();
    let mut numbers: HashMap<u32, usize> = HashMap::new();
    for access in accesses.iter().filter(|access| context.runs(access.id)) {
        let own = *numbers.entry(access.chain).or_insert_with(|| {
            pasts.push(Past::default());
            pasts.len() - 1
        });
        for (number, past) in pasts.iter().enumerate() {
            if number == own {
                continue;
            }
            let readers = match access.mode {
                AccessMode::Read => &[],
                _ => past.readers.as_slice(),
            };
            for list in [past.writers.as_slice(), readers] {
                for other in unordered(context, list, access) {
                    let overlap = other.start < access.end && access.start < other.end;
                    if overlap
                        && other.mode.conflicts_with(access.mode)
                        && !inside(context, other.id, access.id)
                        && !race(other, access)
                    {
                        return;
                    }
                }
            }
        }
        let past = &mut pasts[own];
        match access.mode {
            AccessMode::Read => past.readers.push(*access),
            _ => past.writers.push(*access),
        }
    }
}

/// Those of a chain's accesses that are ordered neither before nor after `access`, the latest first.
fn unordered<'l>(
    context: &Context<'_, '_>,
    list: &'l [Access],
    access: &Access,
) -> impl Iterator<Item = &'l Access> {
    let mut end = list.len();
    let mut start = end;
    if let Some(last) = list.last()
        && !context.before(last.id, access.id)
    {
        // Rarely does an op that is issued later come first: a notify waited for before its record.
        if context.before(access.id, last.id) {
            end = list.partition_point(|other| !context.before(access.id, other.id));
        }
        start = list[..end].partition_point(|other| context.before(other.id, access.id));
    }
    list[start..end].iter().rev()
}

/// Whether one of two instances is inside the other.
fn inside(context: &Context<'_, '_>, one: InstanceId, other: InstanceId) -> bool {
    let within = |inner: InstanceId, outer: InstanceId| {
        std::iter::successors(Some(inner), |&id| context.flat[id].parent).any(|id| id == outer)
    };
    within(one, other) || within(other, one)
}

fn race(context: &Context<'_, '_>, shared: &Shared, first: &Access, second: &Access) -> Finding {
    let flat = context.flat;
    let buffer = &context.schedule.buffers[shared.root].name;
    let verb = |access: &Access| match (&flat[access.id].op.kind, access.mode) {
        (OpKind::Prefetch(_), _) => "prefetches",
        (_, AccessMode::Read) => "reads",
        (_, AccessMode::Write) => "writes",
        (_, AccessMode::ReadWrite) => "reads and writes",
        (_, AccessMode::Accumulate) => "accumulates into",
    };
    let bytes = [first.start.max(second.start), first.end.min(second.end)];
    let message = format!(
        "`{}` {} and `{}` {} bytes {} to {} of `{buffer}`, and nothing orders them",
        flat.path(first.id),
        verb(first),
        flat.path(second.id),
        verb(second),
        bytes[0],
        bytes[1],
    );
    let is_prefetch = |access: &Access| matches!(flat[access.id].op.kind, OpKind::Prefetch(_));
    let rule = match is_prefetch(first) || is_prefetch(second) {
        true => Rule::RacePrefetch,
        false => Rule::RaceAccess,
    };
    let finding = Finding::new(rule, message)
        .about(flat, [first.id, second.id])
        .witness(Witness::Bytes {
            buffer: buffer.to_string(),
            rank: shared.rank,
            bytes,
        });
    match missing_event(context, first.id, second.id) {
        Some(Edit::AddEvent {
            program,
            after,
            before,
        }) => finding
            .suggest(format!(
                "record an event after `{after}` and wait for it before `{before}`"
            ))
            .edits(vec![Edit::AddEvent {
                program,
                after,
                before,
            }]),
        _ => finding.suggest("order the two: an event within a rank, a notify between ranks"),
    }
}

/// The event that orders the two, if they are calls of one program that one event can order.
fn missing_event(context: &Context<'_, '_>, first: InstanceId, second: InstanceId) -> Option<Edit> {
    let (one, other) = (&context.flat[first], &context.flat[second]);
    let place = |op: &Op| {
        let ops = &one.program.ops;
        ops.iter().position(|listed| std::ptr::eq(listed, op))
    };
    let alike = one.rank == other.rank
        && std::ptr::eq(one.program, other.program)
        && one.role != Role::Part
        && other.role != Role::Part
        && one.is_task()
        && other.is_task()
        && one.parent == other.parent;
    if !alike || place(one.op)? >= place(other.op)? {
        return None;
    }
    Some(Edit::AddEvent {
        program: one.program.name.to_string(),
        after: one.op.id.to_string(),
        before: other.op.id.to_string(),
    })
}
