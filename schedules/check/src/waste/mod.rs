//! Time given away.

mod event;
mod prefetch;
mod stream;

use std::collections::HashMap;

use ascsim_schedules::flat::{InstanceId, ThreadId};

use crate::context::Context;
use crate::finding::Finding;
use crate::rule::Rule;

pub(crate) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let mut found = event::find(context);
    found.extend(prefetch::find(context));
    found.extend(stream::find(context));
    found.extend(blocking_copies(context));
    found
}

/// Copies that block their host thread while it has more to issue.
fn blocking_copies(context: &Context<'_, '_>) -> Vec<Finding> {
    let flat = context.flat;
    let mut last: HashMap<ThreadId, InstanceId> = HashMap::new();
    for id in flat.ids().filter(|&id| flat[id].is_task()) {
        last.insert(flat[id].thread, id);
    }
    let stalls = |id: &InstanceId| {
        flat[*id].blocks_host() && last.get(&flat[*id].thread).is_some_and(|last| last > id)
    };
    let finding = |id: InstanceId| {
        let message = format!(
            "`{}` copies synchronously or from pageable memory: its thread issues nothing until it is done",
            flat.path(id)
        );
        let finding = Finding::new(Rule::WasteBlockingCopy, message).about(flat, [id]);
        finding.suggest("allocate the host side pinned (aclrtMallocHost) and copy asynchronously")
    };
    flat.ids().filter(stalls).map(finding).collect()
}
