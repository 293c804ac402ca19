//! Records nobody waits for, and waits that order nothing new.

use std::collections::HashMap;

use ascsim_schedules::flat::{Binding, InstanceId, Role, StreamId};
use ascsim_schedules::order::Point;
use ascsim_schedules::{OpKind, Record};

use crate::context::Context;
use crate::finding::Finding;
use crate::fix::Edit;
use crate::rule::Rule;

pub(super) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let flat = context.flat;
    let mut found = Vec::new();
    // Per record: waits and synchronisations bound to it, and how many of them are of use.
    let mut bound: HashMap<InstanceId, (usize, usize)> = HashMap::new();
    let mut tails: HashMap<StreamId, InstanceId> = HashMap::new();
    for id in flat.ids() {
        let instance = &flat[id];
        let before = match instance.stream {
            Some(stream) if instance.is_task() => tails.insert(stream, id),
            _ => None,
        };
        match (flat.binding(id), instance.role) {
            (Some(Binding::SameStream(record)), _) => {
                bound.entry(record).or_default().0 += 1;
                let message = format!(
                    "`{}` waits for `{}` on its own stream, which comes before it anyway",
                    flat.path(id),
                    flat.path(record)
                );
                found.push(useless(context, id, Rule::WasteSameStream, message));
            }
            (Some(Binding::Record(record)), role) => {
                let uses = bound.entry(record).or_default();
                uses.0 += 1;
                let known = |point| context.order.known_at(record, point);
                let implied = matches!(instance.op.kind, OpKind::Wait(_))
                    && context.runs(id)
                    && (before.is_some_and(|before| known(Point::done(before)))
                        || role == Role::Issued && known(Point::issue(id)));
                if !implied {
                    uses.1 += 1;
                    continue;
                }
                let message = format!(
                    "`{}` waits for `{}`, which is done by then anyway",
                    flat.path(id),
                    flat.path(record)
                );
                found.push(useless(context, id, Rule::WasteImpliedWait, message));
            }
            _ => {}
        }
    }
    for id in flat.ids() {
        let OpKind::Record(Record {
            external: false, ..
        }) = flat[id].op.kind
        else {
            continue;
        };
        if flat.binding(id) != Some(Binding::Recorded) {
            continue;
        }
        let path = flat.path(id);
        match bound.get(&id) {
            None => {
                let message = format!("`{path}` records an event that nobody waits for");
                found.push(useless(context, id, Rule::WasteRecord, message));
            }
            Some((_, 0)) => {
                let message = format!("`{path}` records an event for waits that order nothing");
                found.push(useless(context, id, Rule::WasteRecord, message));
            }
            Some(_) => {}
        }
    }
    found
}

fn useless(context: &Context<'_, '_>, id: InstanceId, rule: Rule, message: String) -> Finding {
    let instance = &context.flat[id];
    let edit = Edit::Remove {
        program: instance.program.name.to_string(),
        op: instance.op.id.to_string(),
    };
    Finding::new(rule, message)
        .about(context.flat, [id])
        .suggest(format!("drop `{}`", instance.op.id))
        .edits(vec![edit])
}
