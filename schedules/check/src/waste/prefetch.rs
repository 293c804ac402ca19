//! Prefetches that bring nothing new, or more than L2 holds.

use std::collections::HashMap;

use ascsim_schedules::OpKind;
use ascsim_schedules::flat::InstanceId;

use crate::context::Context;
use crate::finding::{Finding, Witness};
use crate::fix::Edit;
use crate::race::prefetched;
use crate::rule::Rule;

/// What was prefetched and not read yet: who, first byte, one past the last.
type Waiting = Vec<(InstanceId, u64, u64)>;

/// Walks each rank in issue order.
///
/// # Complexity
/// O(accesses x prefetches of one buffer that are not read yet).
pub(super) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let flat = context.flat;
    let l2 = context.limits.l2_bytes;
    let mut found = Vec::new();
    if !flat
        .instances()
        .iter()
        .any(|one| matches!(one.op.kind, OpKind::Prefetch(_)))
    {
        return found;
    }
    let mut waiting: HashMap<(u32, usize), Waiting> = HashMap::new();
    let mut outstanding: HashMap<u32, u64> = HashMap::new();
    for id in flat.ids() {
        let instance = &flat[id];
        let rank = instance.rank;
        if let OpKind::Prefetch(prefetch) = &instance.op.kind {
            let Some((root, start, end)) = prefetched(context, id, prefetch) else {
                continue;
            };
            let list = waiting.entry((rank, root)).or_default();
            if let Some((first, ..)) = list
                .iter()
                .find(|(_, from, to)| *from <= start && end <= *to)
            {
                let message = format!(
                    "`{}` prefetches what `{}` prefetched, and nothing has used it since",
                    flat.path(id),
                    flat.path(*first)
                );
                let edit = Edit::Remove {
                    program: instance.program.name.to_string(),
                    op: instance.op.id.to_string(),
                };
                let finding = Finding::new(Rule::WasteDuplicatePrefetch, message)
                    .about(flat, [id, *first])
                    .suggest(format!("drop `{}`", instance.op.id));
                found.push(finding.edits(vec![edit]));
                continue;
            }
            list.push((id, start, end));
            let sum = outstanding.entry(rank).or_default();
            *sum += end - start;
            // The rest of L2 is what the kernels work in.
            if l2 > 0 && *sum > l2 / 2 {
                let message = format!(
                    "with `{}`, {sum} bytes are prefetched and not used yet: more than half of the {l2} bytes of L2",
                    flat.path(id)
                );
                let what = "bytes prefetched and not used yet".to_owned();
                let witness = Witness::Budget {
                    what,
                    used: *sum,
                    limit: l2 / 2,
                };
                let finding = Finding::new(Rule::WastePrefetch, message).about(flat, [id]);
                found.push(finding.witness(witness).suggest("prefetch less, or later"));
            }
            continue;
        }
        for access in instance.op.accesses.known() {
            let Some(print) = context.footprints.of(access) else {
                continue;
            };
            if let Some(list) = waiting.get_mut(&(rank, print.root)) {
                let sum = outstanding.entry(rank).or_default();
                list.retain(|(_, start, end)| {
                    let used = *start < print.end && print.start < *end;
                    if used {
                        *sum = sum.saturating_sub(end - start);
                    }
                    !used
                });
            }
        }
    }
    found
}
