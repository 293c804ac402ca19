//! Events and notifies: which record a wait is for.

use std::collections::HashMap;

use ascsim_schedules::Peer;
use smol_str::{SmolStr, format_smolstr};

use super::clock::View;
use super::op::Signal;
use super::summary::ImportSummary;
use crate::Trace;
use crate::model::TaskKind;
use crate::pair::{LinkClass, NotifyLinks};

/// What each task of each view is, if it is an event or an uncarried notify.
pub(super) fn signals(
    captures: &[&Trace],
    views: &[View<'_>],
    notifies: &NotifyLinks,
    summary: &mut ImportSummary,
) -> Vec<HashMap<usize, Signal>> {
    let mut found: Vec<HashMap<usize, Signal>> = Vec::with_capacity(views.len());
    for view in views {
        let mut own: HashMap<usize, Signal> = HashMap::new();
        for (index, task) in view.trace.tasks.iter().enumerate() {
            let carried = view.links.carried.get(index).copied().flatten().is_some();
            let signal = match task.kind {
                _ if carried => continue,
                TaskKind::EventRecord | TaskKind::EventReset | TaskKind::PlaceHolder => Signal {
                    event: Some(format_smolstr!("event.{index}").into()),
                    ..Signal::default()
                },
                // Until its record is known, it waits for one that nobody records.
                TaskKind::EventWait => Signal {
                    event: Some(format_smolstr!("unrecorded.{index}").into()),
                    ..Signal::default()
                },
                TaskKind::NotifyRecord | TaskKind::NotifyWait => Signal {
                    notify: Some((
                        format_smolstr!("notify.{}.{index}", view.rank).into(),
                        Peer::Own,
                    )),
                    ..Signal::default()
                },
                _ => continue,
            };
            own.insert(index, signal);
        }
        for link in &view.links.events {
            if let Some(record) = link.record
                && let Some(signal) = own.get_mut(&(link.wait as usize))
            {
                signal.event = Some(format_smolstr!("event.{record}").into());
            }
        }
        found.push(own);
    }
    // Notifies outside of collectives.
    let place = |capture: usize| {
        let trace = captures.get(capture)?;
        views
            .iter()
            .position(|view| std::ptr::eq(view.trace, *trace))
    };
    let task = |(capture, plane): (usize, u32)| {
        let at = place(capture)?;
        let plane = views[at].trace.planes.get(plane as usize)?;
        Some((at, plane.device_task? as usize))
    };
    for link in &notifies.links {
        summary.link("notify", link.class);
        let (Some(record), Some(wait)) = (link.record.and_then(task), link.wait.and_then(task))
        else {
            continue;
        };
        if link.class == LinkClass::Violated || !found[record.0].contains_key(&record.1) {
            continue;
        }
        let owner = views[wait.0].rank;
        let name: SmolStr = format_smolstr!("notify.{owner}.{}", wait.1);
        if let Some(signal) = found[wait.0].get_mut(&wait.1) {
            signal.is_known = true;
            if let Some(signal) = found[record.0].get_mut(&record.1) {
                let peer = if record.0 == wait.0 {
                    Peer::Own
                } else {
                    Peer::Rank(owner)
                };
                signal.notify = Some((name.into(), peer));
            }
        }
    }
    found
}
