//! Calls that ACL refuses, drops or understands in another way than they read.

use std::collections::HashMap;

use ascsim_schedules::flat::{Binding, EventId, InstanceId, Target};
use ascsim_schedules::{EventKind, HostKind, OpKind};

use crate::context::Context;
use crate::finding::Finding;
use crate::fix::Edit;
use crate::rule::Rule;

pub(crate) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut flags: HashMap<EventId, Vec<InstanceId>> = HashMap::new();
    let mut records: HashMap<EventId, Vec<InstanceId>> = HashMap::new();
    let flat = context.flat;
    for id in flat.ids() {
        if let Target::Event(event) = flat[id].target {
            if flat[id].is_record() {
                records.entry(event).or_default().push(id);
            }
            if flat.binding(id) == Some(Binding::Flag) {
                flags.entry(event).or_default().push(id);
            }
        }
    }
    for id in flat.ids() {
        let instance = &flat[id];
        let path = || flat.path(id);
        match (&instance.op.kind, instance.target, flat.binding(id)) {
            (
                OpKind::Host(HostKind::Function {
                    calls_acl: true,
                    name,
                }),
                _,
                _,
            ) => found.push(
                Finding::new(
                    Rule::AclHostFunction,
                    format!(
                        "host function `{name}` (`{}`) calls ACL: it never returns",
                        path()
                    ),
                )
                .about(flat, [id])
                .suggest("do the ACL calls from the issuing thread"),
            ),
            (OpKind::Wait(_), Target::Event(event), Some(Binding::Unrecorded)) => {
                found.push(unrecorded(context, id, event, records.get(&event)));
            }
            (_, Target::Event(event), Some(Binding::Refused(refusal))) => {
                let name = &flat.event(event).1.name;
                let message = format!("ACL refuses `{}` on event `{name}`: {refusal}", path());
                found.push(Finding::new(Rule::AclRefused, message).about(flat, [id]));
            }
            _ => {}
        }
    }
    let mut flags: Vec<(EventId, Vec<InstanceId>)> = flags.into_iter().collect();
    flags.sort_unstable();
    for (event, ops) in flags {
        reuse(context, event, &ops, &mut found);
    }
    found
}

fn unrecorded(
    context: &Context<'_, '_>,
    wait: InstanceId,
    event: EventId,
    records: Option<&Vec<InstanceId>>,
) -> Finding {
    let flat = context.flat;
    let name = &flat.event(event).1.name;
    let path = flat.path(wait);
    let later = records.and_then(|records| records.iter().find(|&&record| record > wait));
    let Some(&record) = later else {
        let message = format!(
            "`{path}` waits for event `{name}`, which is never recorded: ACL drops the wait silently"
        );
        return Finding::new(Rule::AclWaitUnrecorded, message)
            .about(flat, [wait])
            .suggest("record the event first, or drop the wait");
    };
    let message = format!(
        "`{path}` waits for event `{name}` before `{}` records it: ACL drops the wait silently",
        flat.path(record)
    );
    let finding = Finding::new(Rule::AclWaitUnrecorded, message)
        .about(flat, [wait, record])
        .suggest(format!("issue `{}` before `{path}`", flat.path(record)));
    let (one, other) = (&flat[wait], &flat[record]);
    let alike = std::ptr::eq(one.program, other.program)
        && one.parent == other.parent
        && one.op.thread == other.op.thread;
    match alike {
        true => finding.edits(vec![Edit::MoveAfter {
            program: one.program.name.to_string(),
            op: one.op.id.to_string(),
            after: other.op.id.to_string(),
        }]),
        false => finding,
    }
}

/// Flag events that are used again: `ops` are all their records, waits and resets in issue order.
fn reuse(context: &Context<'_, '_>, event: EventId, ops: &[InstanceId], found: &mut Vec<Finding>) {
    let flat = context.flat;
    let (_, declared) = flat.event(event);
    if !matches!(declared.kind, EventKind::Sync | EventKind::External) {
        return;
    }
    let name = &declared.name;
    let is_wait = |id: InstanceId| matches!(flat[id].op.kind, OpKind::Wait(_));
    let is_reset = |id: InstanceId| matches!(flat[id].op.kind, OpKind::EventReset(_));
    let mut before: Option<InstanceId> = None;
    let mut latest: Option<InstanceId> = None;
    // Since the latest record.
    let mut waits: Vec<InstanceId> = Vec::new();
    let mut resets: Vec<InstanceId> = Vec::new();
    let to_ex = || {
        vec![Edit::UseExEvent {
            event: name.to_string(),
        }]
    };
    let early = |reset: InstanceId, wait: InstanceId| {
        let message = format!(
            "`{}` resets event `{name}`, and nothing makes it come after `{}`, which waits for it",
            flat.path(reset),
            flat.path(wait),
        );
        let finding = Finding::new(Rule::AclResetEarly, message).about(flat, [reset, wait]);
        let finding = finding.edits(to_ex());
        finding
            .suggest("reset it only after every wait, or use an `ex` event, which needs no reset")
    };
    for &id in ops {
        if flat[id].is_record() {
            before = latest.or(before);
            latest = Some(id);
            waits.clear();
            resets.clear();
        } else if is_wait(id) {
            waits.push(id);
            let stray = resets.iter().find(|&&reset| !context.before(id, reset));
            found.extend(stray.map(|&reset| early(reset, id)));
            // It is meant for the latest record listed before it.
            if let (Some(stale), Some(record)) = (before, latest)
                && !context.before(record, id)
                && !reset_between(context, ops, stale, record, id)
            {
                let message = format!(
                    "`{}` is meant for `{}`, but event `{name}` is still set by `{}`: it passes at once",
                    flat.path(id),
                    flat.path(record),
                    flat.path(stale),
                );
                let finding = Finding::new(Rule::AclEventReuse, message);
                let finding = finding.about(flat, [id, record, stale]).edits(to_ex());
                found.push(finding.suggest(format!(
                    "reset `{name}` on the waiting stream after its wait, and before it is recorded again; or use an `ex` event"
                )));
            }
        } else if is_reset(id) {
            resets.push(id);
            let late = waits.iter().find(|&&wait| !context.before(wait, id));
            found.extend(late.map(|&wait| early(id, wait)));
        }
    }
}

/// Whether a reset is certain to come after the stale record and before the wait.
fn reset_between(
    context: &Context<'_, '_>,
    ops: &[InstanceId],
    stale: InstanceId,
    record: InstanceId,
    wait: InstanceId,
) -> bool {
    ops.iter().any(|&reset| {
        matches!(context.flat[reset].op.kind, OpKind::EventReset(_))
            && context.before(stale, reset)
            && context.before(reset, wait)
            && !context.before(record, reset)
    })
}
