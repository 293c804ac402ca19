//! From captures to one schedule.

use std::collections::BTreeSet;

use ascsim_schedules::{Extra, OpKind, Program, RankGroup, Schedule};

use super::chain::{Chain, Inputs};
use super::clock::{View, align};
use super::collective::{self, Gathered, Together};
use super::declared::Declared;
use super::entry::{Body, Unit, entries, units};
use super::signal::signals;
use super::steps::Steps;
use super::summary::{Assumed, ImportSummary};
use super::{RecoverError, Recovered, SeenRank, Settings};
use crate::Trace;
use crate::inspect::{Perturbation, Verdict};
use crate::model::Lane;
use crate::pair::LinkClass;

/// See [`super::recover`].
pub(super) fn recover(captures: &[&Trace], settings: Settings) -> Result<Recovered, RecoverError> {
    let mut summary = ImportSummary {
        step: settings.step,
        ..ImportSummary::default()
    };
    let (mut views, notifies) = align(captures, &mut summary.assumed)?;
    for view in &views {
        check_step(view, settings.step)?;
    }
    let zero = start_at_zero(&mut views, settings.step)?;
    let steps: Vec<Steps<'_>> = views.iter().map(|view| Steps::new(view.trace)).collect();
    let gathered: Vec<Vec<Gathered>> = views
        .iter()
        .zip(&steps)
        .map(|(view, steps)| collective::gather(view, steps, settings.step))
        .collect();
    let together = collective::join(&views, &gathered);
    let signals = signals(captures, &views, &notifies, &mut summary);

    let mut schedule = Schedule {
        name: "import".to_owned(),
        ..Schedule::default()
    };
    let mut declared = Declared::default();
    let mut seen = Vec::new();
    let mut first_task = i64::MAX;
    for (at, view) in views.iter().enumerate() {
        let units = units(view, &steps[at], settings.step, &gathered[at]);
        let Some(first) = units.iter().map(|unit| unit.span.start).min() else {
            return Err(RecoverError::NoTask {
                rank: view.rank,
                step: settings.step,
            });
        };
        first_task = first_task.min(first);
        let (entries, hand_overs, out_of_order) =
            entries(view, &steps[at], settings.step, &units, &mut summary);
        declared.hand_overs = declared.hand_overs.max(hand_overs);
        if out_of_order > 0 {
            summary.assumed.push(Assumed::OutOfOrder(out_of_order));
        }
        count_links(view, &units, &mut summary);
        let inputs = Inputs {
            view,
            units: &units,
            gathered: &gathered[at],
            together: &together,
            joints: &together.of[at],
            signals: &signals[at],
            tag_steps: settings.step.is_none() && view.trace.steps.len() > 1,
        };
        let (ops, own) = Chain::new(inputs, &entries, &mut declared, &mut summary).run(&entries);
        summary.ops += ops.len();
        let name = format!("rank {}", view.rank);
        schedule.ranks.push(ranks(view.rank, Some(&name)));
        schedule.programs.push(Program {
            name: name.into(),
            capture: None,
            ops,
            extra: Extra::default(),
        });
        seen.push(SeenRank {
            rank: view.rank,
            ops: own,
            captured: true,
            perturbed: match Perturbation::of(view.trace, &view.links.host).verdict {
                Verdict::Clean => Some(false),
                Verdict::Perturbed | Verdict::Suspected => Some(true),
                Verdict::Unknown => None,
            },
        });
        summary.captured.push(view.rank);
    }
    add_external(
        &mut schedule,
        &mut seen,
        &together,
        &mut declared,
        &mut summary,
        first_task,
    );
    declared.finish(&mut schedule, together);
    conclude(&views, &schedule, &mut summary);
    let epoch = captures.first().map_or(0, |trace| trace.epoch_ns);
    Ok(Recovered {
        schedule,
        zero_ns: epoch.saturating_add(zero),
        seen,
        summary,
    })
}

fn check_step(view: &View<'_>, wanted: Option<u32>) -> Result<(), RecoverError> {
    let Some(step) = wanted else { return Ok(()) };
    let found: BTreeSet<u32> = view.trace.steps.iter().map(|step| step.number).collect();
    let detail = || {
        view.trace
            .details
            .iter()
            .any(|detail| detail.step == Some(step))
    };
    if found.contains(&step) || detail() {
        return Ok(());
    }
    Err(RecoverError::NoStep {
        rank: view.rank,
        step,
        found: found.into_iter().collect(),
    })
}

/// Lets the common clock start with the step: at the first marker, call or task that belongs to it.
fn start_at_zero(views: &mut [View<'_>], wanted: Option<u32>) -> Result<i64, RecoverError> {
    let mut zero = i64::MAX;
    for view in views.iter() {
        let steps = Steps::new(view.trace);
        let markers = view.trace.steps.iter();
        let markers = markers.filter(|step| wanted.is_none_or(|wanted| step.number == wanted));
        let markers = markers.map(|step| view.host(step.span.start));
        let calls = view
            .trace
            .host
            .iter()
            .filter(|call| call.kind.is_cann() && wanted.is_none());
        let calls = calls.map(|call| view.host(call.span.start));
        let tasks = view.trace.tasks.iter().enumerate().filter(|(index, task)| {
            task.kind.is_in_span()
                && (wanted.is_none() || steps.of_task(&view.links, *index) == wanted)
        });
        let tasks = tasks.map(|(_, task)| view.device_span(task.span).start);
        let first = markers.chain(calls).chain(tasks).min();
        zero = zero.min(first.ok_or(RecoverError::NoTask {
            rank: view.rank,
            step: wanted,
        })?);
    }
    for view in views {
        view.start_at(zero);
    }
    Ok(zero)
}

/// Counts the links of what the schedule holds.
fn count_links(view: &View<'_>, units: &[Unit], summary: &mut ImportSummary) {
    let mut shown = BTreeSet::new();
    let mut without_call = 0;
    let mut tasks = 0;
    for unit in units {
        let Body::Task(index) = unit.body else {
            continue;
        };
        shown.insert(index);
        tasks += 1;
        if let Some(link) = view.links.host.tasks.get(index) {
            summary.link("task to call", link.class);
            without_call += usize::from(link.issue.is_none());
        }
    }
    for link in &view.links.events {
        if shown.contains(&(link.wait as usize)) {
            summary.link("event", link.class);
        }
    }
    summary.tasks += tasks;
    if without_call > 0 {
        summary.assumed.push(Assumed::NoCalls {
            rank: view.rank,
            tasks: without_call,
            of: tasks,
        });
    }
}

/// Adds the ranks that were not captured.
fn add_external(
    schedule: &mut Schedule,
    seen: &mut Vec<SeenRank>,
    together: &Together,
    declared: &mut Declared,
    summary: &mut ImportSummary,
    first_task: i64,
) {
    const STREAM: &str = "external";
    let late = collective::late_ranks(together, STREAM, first_task);
    for (rank, program, own) in late {
        declared.streams.insert(STREAM.into());
        schedule
            .ranks
            .push(ranks(rank, Some(program.name.as_str())));
        schedule.programs.push(program);
        seen.push(own);
        summary.seen_late.push(rank);
        summary.assumed.push(Assumed::Arrives(rank));
    }
    let runs: BTreeSet<u32> = schedule.ranks.iter().map(|group| group.first).collect();
    let mut others: BTreeSet<u32> = &together.members - &runs;
    if others.is_empty() && declared.open_notifies {
        others.extend((0..).find(|rank| !runs.contains(rank)));
    }
    for rank in &others {
        schedule.ranks.push(ranks(*rank, None));
    }
    let captured: BTreeSet<u32> = summary.captured.iter().copied().collect();
    summary.external = (&together.members - &captured).into_iter().collect();
    schedule.ranks.sort_by_key(|group| group.first);
    seen.sort_by_key(|rank| rank.rank);
    for joint in &together.joints {
        summary.link(
            "collective across ranks",
            if joint.found == summary.captured.len() {
                LinkClass::Paired
            } else {
                LinkClass::Open
            },
        );
    }
    let blind = together
        .joints
        .iter()
        .filter(|joint| !joint.has_planes)
        .count();
    if blind > 0 {
        summary.assumed.push(Assumed::NoArrival(blind));
    }
}

fn ranks(first: u32, program: Option<&str>) -> RankGroup {
    RankGroup {
        first,
        count: 1,
        program: program.map(Into::into),
        devices: Vec::new(),
        overrides: Vec::new(),
        extra: Extra::default(),
    }
}

fn conclude(views: &[View<'_>], schedule: &Schedule, summary: &mut ImportSummary) {
    let count = |want: fn(&OpKind) -> bool| {
        let ops = schedule.programs.iter().flat_map(|program| &program.ops);
        ops.filter(|op| want(&op.kind)).count()
    };
    let copies = count(|kind| matches!(kind, OpKind::Copy(_)));
    if copies > 0 {
        summary.assumed.push(Assumed::NoBytes(copies));
    }
    let guessed = summary.count("host synchronisation").guessed;
    if guessed > 0 {
        summary.assumed.push(Assumed::SyncStreams(guessed));
    }
    let has_collectives = !schedule.communicators.is_empty();
    if has_collectives && views.iter().any(|view| view.trace.lacks(Lane::Planes)) {
        summary.assumed.push(Assumed::Members);
    }
    summary.assumed.push(Assumed::NoAccesses);
    summary.streams = schedule.streams.len();
}
