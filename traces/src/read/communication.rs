//! `communication.json`: the profiler's split of each collective's time.

use std::path::Path;

use super::document::Document;
use super::row::Row;
use crate::TraceError;
use crate::model::CommTimes;

/// One collective: its name, its group's id, and its times.
#[derive(Debug)]
pub(crate) struct CommRow {
    pub(crate) name: String,
    pub(crate) group_id: String,
    pub(crate) times: CommTimes,
}

/// Reads the file at `path`: `{"stepN": {"collective": {"NAME@GROUP": …}, "p2p": …}}`.
///
/// # Errors
/// A file that cannot be read, malformed JSON, a key that comes twice.
pub(crate) fn read(path: &Path) -> Result<Vec<CommRow>, TraceError> {
    let document = Document::open(path)?;
    let steps = document.root()?;
    let mut rows = Vec::new();
    for (_, step) in children(&document, &steps)? {
        for kind in ["collective", "p2p"] {
            for (key, op) in children(&document, &step.nested(kind)?)? {
                // "Total Op Info" has no group.
                let Some((name, group_id)) = key.split_once('@') else {
                    continue;
                };
                let times = times(&op.nested("Communication Time Info")?)?;
                rows.push(CommRow {
                    name: name.to_owned(),
                    group_id: group_id.to_owned(),
                    times,
                });
            }
        }
    }
    Ok(rows)
}

/// The fields of `row` that are objects.
fn children<'a>(
    document: &'a Document,
    row: &Row<'a>,
) -> Result<Vec<(String, Row<'a>)>, TraceError> {
    row.object()
        .fields()
        .filter(|(_, raw)| raw.starts_with('{'))
        .map(|(key, raw)| Ok((key.to_owned(), document.row(raw)?)))
        .collect()
}

fn times(info: &Row<'_>) -> Result<CommTimes, TraceError> {
    // Milliseconds here, unlike everywhere else.
    let time = |key: &str| -> Result<i64, TraceError> {
        if !info.object().has(key) {
            return Ok(0);
        }
        info.time_in_ms(key)
    };
    Ok(CommTimes {
        elapse_ns: time("Elapse Time(ms)")?,
        transit_ns: time("Transit Time(ms)")?,
        wait_ns: time("Wait Time(ms)")?,
        synchronization_ns: time("Synchronization Time(ms)")?,
        idle_ns: time("Idle Time(ms)")?,
    })
}
