//! Buffers given back while something still uses them.
//!
//! The caching allocator hands a freed buffer out again to the stream that allocated it, in the order
//! of that stream. What other streams do with it must be over by then: known on that stream, or told
//! to the allocator by a `stream_use` (`record_stream`) before the free.

use std::collections::HashMap;

use ascsim_schedules::flat::{InstanceId, StreamId};
use ascsim_schedules::order::Point;
use ascsim_schedules::{BufferName, OpKind};

use super::access::prefetched;
use crate::context::Context;
use crate::finding::Finding;
use crate::fix::Edit;
use crate::rule::Rule;

/// What is known of a buffer of a rank on the way through its calls.
#[derive(Debug, Default)]
struct Life {
    allocated: Option<InstanceId>,
    freed: Option<InstanceId>,
    /// The last op of each stream that touched it.
    uses: HashMap<StreamId, InstanceId>,
    told: Vec<StreamId>,
    /// What used the memory last, before it was allocated, on its stream.
    previous: Option<InstanceId>,
}

/// Findings about allocation and release.
///
/// # Complexity
/// O(accesses + frees x streams).
pub(super) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let flat = context.flat;
    let manages = |op: &OpKind| {
        matches!(
            op,
            OpKind::Alloc(_) | OpKind::Free(_) | OpKind::StreamUse(_)
        )
    };
    if !flat
        .instances()
        .iter()
        .any(|instance| manages(&instance.op.kind))
    {
        return Vec::new();
    }
    let mut walk = Walk {
        context,
        lives: HashMap::new(),
        tails: HashMap::new(),
        given_back: HashMap::new(),
        found: Vec::new(),
    };
    for id in flat.ids() {
        walk.call(id);
    }
    walk.found
}

struct Walk<'w, 'c, 's> {
    context: &'w Context<'c, 's>,
    lives: HashMap<(u32, usize), Life>,
    /// The last task of each stream.
    tails: HashMap<StreamId, InstanceId>,
    /// Per stream: the last op on it that used a buffer which was given back to it.
    given_back: HashMap<StreamId, InstanceId>,
    found: Vec<Finding>,
}

impl Walk<'_, '_, '_> {
    fn call(&mut self, id: InstanceId) {
        let context = self.context;
        let instance = &context.flat[id];
        let root = |name: &BufferName| Some((instance.rank, context.footprints.root(name)?));
        match &instance.op.kind {
            OpKind::Alloc(name) => {
                if let Some(key) = root(name) {
                    let previous = instance
                        .stream
                        .and_then(|of| self.given_back.get(&of).copied());
                    let allocated = Some(id);
                    self.lives.insert(
                        key,
                        Life {
                            allocated,
                            previous,
                            ..Life::default()
                        },
                    );
                }
            }
            OpKind::StreamUse(name) => {
                if let (Some(key), Some(stream)) = (root(name), instance.stream) {
                    self.lives.entry(key).or_default().told.push(stream);
                }
            }
            OpKind::Free(name) => {
                if let Some(key) = root(name) {
                    self.free(id, name, key);
                }
            }
            kind => {
                let mut roots: Vec<usize> = Vec::new();
                for access in instance.op.accesses.known() {
                    if access.peer.is_own()
                        && let Some(root) = context.footprints.root(&access.buffer)
                    {
                        roots.push(root);
                    }
                }
                if let OpKind::Prefetch(prefetch) = kind {
                    roots.extend(prefetched(context, id, prefetch).map(|(root, _, _)| root));
                }
                roots.dedup();
                for root in roots {
                    self.used(id, (instance.rank, root));
                }
            }
        }
        if instance.is_task()
            && let Some(stream) = instance.stream
        {
            self.tails.insert(stream, id);
        }
    }

    fn used(&mut self, id: InstanceId, key: (u32, usize)) {
        let context = self.context;
        let flat = context.flat;
        let name = &context.schedule.buffers[key.1].name;
        let Some(life) = self.lives.get_mut(&key) else {
            return;
        };
        if let Some(freed) = life.freed {
            let message = format!(
                "`{}` uses `{name}` after `{}` gave it back",
                flat.path(id),
                flat.path(freed)
            );
            let finding = Finding::new(Rule::RaceUseAfterFree, message).about(flat, [id, freed]);
            self.found
                .push(finding.suggest("free it after its last use"));
            return;
        }
        let Some(stream) = flat[id].stream else {
            return;
        };
        let first = life.uses.insert(stream, id).is_none();
        let home = life.allocated.and_then(|allocated| flat[allocated].stream);
        if let (true, Some(home), Some(previous)) = (first, home, life.previous)
            && home != stream
            && !context.before(previous, id)
        {
            let message = format!(
                "`{}` uses `{name}` on another stream than it was allocated for, and may get the memory while `{}` still uses it",
                flat.path(id),
                flat.path(previous)
            );
            let finding = Finding::new(Rule::RaceReuse, message).about(flat, [id, previous]);
            let home = &flat.stream(home).stream.name;
            self.found.push(finding.suggest(format!(
                "let the stream wait for `{home}` after the allocation, or allocate on the stream that uses it"
            )));
        }
    }

    fn free(&mut self, id: InstanceId, name: &BufferName, key: (u32, usize)) {
        let context = self.context;
        let flat = context.flat;
        let life = self.lives.entry(key).or_default();
        life.freed = Some(id);
        let Some(home) = life.allocated.and_then(|allocated| flat[allocated].stream) else {
            return;
        };
        if let Some(&own) = life.uses.get(&home) {
            self.given_back.insert(home, own);
        }
        let tail = self.tails.get(&home);
        let mut uses: Vec<(StreamId, InstanceId)> = life
            .uses
            .iter()
            .map(|(stream, used)| (*stream, *used))
            .collect();
        uses.sort_unstable();
        for (stream, used) in uses {
            let over = |point: Point| context.order.known_at(used, point);
            let safe = stream == home
                || life.told.contains(&stream)
                || over(Point::issue(id))
                || tail.is_some_and(|&tail| tail == used || over(Point::done(tail)));
            if safe || !context.runs(used) {
                continue;
            }
            let (by, home) = (
                &flat.stream(stream).stream.name,
                &flat.stream(home).stream.name,
            );
            let message = format!(
                "`{}` gives `{name}` back to stream `{home}` while `{}` on `{by}` may still use it",
                flat.path(id),
                flat.path(used)
            );
            let program = flat[id].program.name.to_string();
            self.found.push(
                Finding::new(Rule::RaceFree, message)
                    .about(flat, [id, used])
                    .suggest(format!(
                        "call record_stream: a `stream_use` of `{name}` on `{by}` before the free"
                    ))
                    .edits(vec![Edit::AddStreamUse {
                        program,
                        buffer: name.to_string(),
                        stream: by.to_string(),
                        before: flat[id].op.id.to_string(),
                    }]),
            );
        }
    }
}
