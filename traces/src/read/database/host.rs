//! CANN_API, PYTORCH_API and STEP_TIME: what the host did.

use std::collections::BTreeMap;

use super::{Source, layer, names_of};
use crate::TraceError;
use crate::model::{HostCall, HostKind, Step};
use crate::read::join::Ops;
use crate::read::trace_view::Timeline;

/// Marks a step, as in the text export.
const STEP: &str = "ProfilerStep#";

/// Reads the calls of CANN and of the framework.
pub(super) fn read(source: &mut Source<'_>, timeline: &mut Timeline) -> Result<Ops, TraceError> {
    cann(source, timeline)?;
    framework(source, timeline)
}

fn cann(source: &mut Source<'_>, timeline: &mut Timeline) -> Result<(), TraceError> {
    let types = names_of(source.database, "ENUM_API_TYPE")?;
    let columns: &[&[&str]] = &[
        &["startNs"],
        &["endNs"],
        &["type"],
        &["globalTid"],
        &["connectionId"],
        &["name"],
    ];
    let database = source.database;
    let mut text = String::new();
    database.rows("CANN_API", columns, |row| {
        let span = source.span(row, 0, 1)?;
        let kind = row.integer(2)?.and_then(|id| types.get(&id));
        let (kind, prefix) = layer(kind.map_or("", String::as_str));
        text.clear();
        text.push_str(prefix);
        text.push_str(source.string(row, 5)?.unwrap_or_default());
        timeline.host.push(HostCall {
            kind,
            name: timeline.names.intern(&text),
            thread: thread(row.integer(3)?),
            span,
            connection: row.id(4)?,
            correlation: None,
        });
        Ok(())
    })
}

/// The low half of a global thread id is the thread, the high half the process.
fn thread(global: Option<i64>) -> u64 {
    u64::from(global.unwrap_or_default() as u32)
}

fn framework(source: &mut Source<'_>, timeline: &mut Timeline) -> Result<Ops, TraceError> {
    let database = source.database;
    // One op may have issued several tasks.
    let mut connections: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
    database.rows("CONNECTION_IDS", &[&["id"], &["connectionId"]], |row| {
        if let (Some(id), Some(connection)) = (row.integer(0)?, row.id(1)?) {
            connections.entry(id).or_default().push(connection);
        }
        Ok(())
    })?;
    let types = names_of(database, "ENUM_API_TYPE")?;
    let columns: &[&[&str]] = &[
        &["startNs"],
        &["endNs"],
        &["globalTid"],
        &["connectionId"],
        &["name"],
        &["type"],
    ];
    let mut ops = Ops::new();
    database.rows("PYTORCH_API", columns, |row| {
        let kind = row.integer(5)?.and_then(|id| types.get(&id));
        let name = source.string(row, 4)?.unwrap_or_default().to_owned();
        let kind = match kind.map_or("op", String::as_str) {
            "trace" => {
                timeline.python_functions += 1;
                return Ok(());
            }
            "queue" if name.starts_with("Dequeue") => HostKind::Dequeue,
            "queue" => HostKind::Enqueue,
            "mstx" => HostKind::Annotation,
            _ if name.starts_with(STEP) => HostKind::Annotation,
            _ => HostKind::FrameworkOp,
        };
        let span = source.span(row, 0, 1)?;
        let linked = row.integer(3)?.and_then(|id| connections.get(&id));
        let linked = linked.map_or(&[][..], Vec::as_slice);
        let name = timeline.names.intern(&name);
        let thread = thread(row.integer(2)?);
        let is_queue = matches!(kind, HostKind::Enqueue | HostKind::Dequeue);
        if !is_queue {
            for connection in linked {
                ops.entry(*connection).or_insert((thread, span, name));
            }
        }
        timeline.host.push(HostCall {
            kind,
            name,
            thread,
            span,
            connection: None,
            correlation: linked.first().copied().filter(|_| is_queue),
        });
        Ok(())
    })?;
    Ok(ops)
}

/// Reads the steps; an old schema has them as framework calls only.
pub(super) fn steps(source: &mut Source<'_>, timeline: &mut Timeline) -> Result<(), TraceError> {
    let database = source.database;
    database.rows("STEP_TIME", &[&["startNs"], &["endNs"], &["id"]], |row| {
        let span = source.span(row, 0, 1)?;
        if let Some(number) = row.small_id(2)? {
            timeline.steps.push(Step { number, span });
        }
        Ok(())
    })?;
    if timeline.steps.is_empty() {
        let calls = timeline.host.iter();
        timeline.steps = calls
            .filter_map(|call| {
                let name = timeline.names.get(call.name);
                let number = name.strip_prefix(STEP)?.parse().ok()?;
                let span = call.span;
                Some(Step { number, span })
            })
            .collect();
    }
    Ok(())
}
