//! Deadlocks in words.

use ascsim_schedules::OpKind;
use ascsim_schedules::flat::{CollectiveId, InstanceId, Target};
use ascsim_schedules::order::{Point, Why};

use super::Root;
use crate::context::Context;
use crate::finding::{Finding, Place, Step, Witness};
use crate::progress::{Failure, Node};
use crate::rule::Rule;

pub(super) fn finding(context: &Context<'_, '_>, root: Root) -> Finding {
    match root {
        Root::Cycle(nodes) => cycle(context, &nodes),
        Root::Signal(wait, failure) => signal(context, wait, failure),
        Root::Collective(id) => collective(context, id),
    }
}

/// `in every run` or `in some runs`.
fn when(context: &Context<'_, '_>, id: InstanceId) -> &'static str {
    match context.order.can_happen(Point::done(id)) {
        true => "in some runs",
        false => "in every run",
    }
}

fn cycle(context: &Context<'_, '_>, nodes: &[(Node, Why)]) -> Finding {
    // One step per instance: how it comes to wait for another one.
    let mut steps: Vec<(InstanceId, Why)> = Vec::new();
    for &(node, why) in nodes {
        let Node::Point(point) = node else {
            // The members of a collective wait for each other.
            continue;
        };
        match steps.last_mut() {
            Some((id, last)) if *id == point.instance => *last = why,
            _ => steps.push((point.instance, why)),
        }
    }
    if steps.len() > 1 && steps[0].0 == steps[steps.len() - 1].0 {
        // The circle was cut inside the life of one instance.
        let first = steps.remove(0);
        if let Some(last) = steps.last_mut()
            && last.1 == Why::Life
        {
            last.1 = first.1;
        }
    }
    let queue = steps.iter().any(|(_, why)| *why == Why::Queue);
    let rule = match queue {
        true => Rule::DeadlockQueue,
        false => Rule::DeadlockCycle,
    };
    let flat = context.flat;
    let names: Vec<String> = steps
        .iter()
        .map(|(id, _)| format!("`{}`", flat.path(*id)))
        .collect();
    let when = steps
        .first()
        .map_or("in some runs", |(id, _)| when(context, *id));
    let message = match (&names[..], queue) {
        ([only], _) => format!("{only} waits for itself {when}"),
        ([first, .., last], true) => format!(
            "{first} can find its queue full, and waits {when} for what comes only after it ({} ops in the circle, back from {last})",
            names.len(),
        ),
        (names, _) => format!("these wait for each other {when}: {}", names.join(", ")),
    };
    let ids = steps.iter().map(|(id, _)| *id);
    let witness = steps.iter().map(|&(id, why)| Step {
        op: Place::new(flat, id),
        because: because(why).to_owned(),
    });
    let suggestion = match queue {
        true => "issue what the queue waits for before the queue can fill",
        false => {
            "issue the ops of the circle in one order on every stream, thread and rank, or drop one wait of it"
        }
    };
    Finding::new(rule, message)
        .about(flat, ids)
        .witness(Witness::Cycle(witness.collect()))
        .suggest(suggestion)
}

fn because(why: Why) -> &'static str {
    match why {
        Why::Thread => "its host thread makes that call first",
        Why::Object => "calls on one stream, event, communicator or graph are made in list order",
        Why::Queue => "the queue of its stream has no room before that is done",
        Why::Life => "it is part of the same op",
        Why::Stream => "that is before it on its stream",
        Why::Event => "it waits for that record",
        Why::Collective => "the collective ends only after that member has started",
        Why::Graph => "the graph is replayed in that order",
        Why::Group => "that is a part of it, or before it in the group",
        Why::Sync => "the host call returns only when that is done",
        Why::Signal => "it waits for the signal of that",
    }
}

/// What a wait waits for, in words.
fn waited_for(context: &Context<'_, '_>, wait: InstanceId) -> String {
    let instance = &context.flat[wait];
    match (instance.target, &instance.op.kind) {
        (Target::Notify(id), _) => format!("notify `{}`", context.flat.notify(id).1.name),
        (Target::Event(id), _) => format!("event `{}`", context.flat.event(id).1.name),
        (Target::Word(id), OpKind::ValueWait(wait)) => {
            let word = context.flat.word(id);
            let name = &word.buffer.name;
            format!(
                "the word at byte {} of `{name}` to compare with {}",
                word.offset, wait.value
            )
        }
        _ => "a signal".to_owned(),
    }
}

fn signal(context: &Context<'_, '_>, wait: InstanceId, failure: Failure) -> Finding {
    let flat = context.flat;
    let what = waited_for(context, wait);
    let path = flat.path(wait);
    match failure {
        Failure::Nobody => {
            let message = format!("`{path}` waits for {what}, and nothing gives it");
            Finding::new(Rule::DeadlockUnsignalled, message)
                .about(flat, [wait])
                .suggest("record it, or drop the wait")
        }
        Failure::Cleared(clearer) => {
            let by = flat.path(clearer);
            let when = when(context, wait);
            let takes = match &flat[clearer].op.kind {
                OpKind::NotifyWait(_) => "takes",
                OpKind::EventReset(_) => "resets",
                _ => "overwrites",
            };
            let message = format!(
                "`{path}` waits for {what}; {when} `{by}` {takes} it before, and nothing is certain to give it again"
            );
            Finding::new(Rule::DeadlockSignal, message)
                .about(flat, [wait, clearer])
                .suggest(format!(
                    "order `{by}` after `{path}`, or give each its own signal"
                ))
        }
    }
}

fn collective(context: &Context<'_, '_>, id: CollectiveId) -> Finding {
    let flat = context.flat;
    let collective = flat.collective(id);
    let (name, nth) = (&collective.communicator.name, collective.nth + 1);
    let first = collective.members().first().copied();
    let message = match collective.mismatch {
        Some(other) => {
            let kind = |id: InstanceId| {
                flat[id]
                    .op
                    .comm
                    .as_ref()
                    .map_or("a collective", |comm| comm.kind.name())
            };
            let path = |id: InstanceId| flat.path(id);
            let first = first.unwrap_or(other);
            format!(
                "collective {nth} of communicator `{name}` is {} on rank {} (`{}`) but {} on rank {} (`{}`)",
                kind(first),
                flat[first].rank,
                path(first),
                kind(other),
                flat[other].rank,
                path(other),
            )
        }
        None => {
            let missing: Vec<String> = collective.missing.iter().map(u32::to_string).collect();
            format!(
                "collective {nth} of communicator `{name}` is issued by {} rank(s), but never by rank {}",
                collective.members().len(),
                missing.join(", "),
            )
        }
    };
    let members = collective.members().iter().copied();
    let mut about: Vec<InstanceId> = members.take(8).collect();
    if let Some(other) = collective.mismatch
        && !about.contains(&other)
    {
        about.push(other);
    }
    Finding::new(Rule::DeadlockCollective, message)
        .about(flat, about)
        .suggest("issue the same collectives in the same order on every rank of the communicator")
}
