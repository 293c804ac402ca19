//! `step_trace_time.csv`: the profiler's own step times. Oracle only.

use std::path::Path;

use super::table::Table;
use crate::TraceError;
use crate::model::StepTrace;

/// Reads the table at `path`.
///
/// # Errors
/// A table that cannot be read or understood, with the row.
pub(crate) fn read(path: &Path) -> Result<Vec<StepTrace>, TraceError> {
    let mut table = Table::open(path)?;
    let step = table.column(&["Step"]);
    let computing = table.needed(&["Computing"])?;
    let not_overlapped = table.needed(&["Communication(Not Overlapped)"])?;
    let overlapped = table.needed(&["Overlapped"])?;
    let communication = table.needed(&["Communication"])?;
    let free = table.needed(&["Free"])?;
    let stage = table.needed(&["Stage"])?;
    let mut rows = Vec::new();
    while table.next()? {
        rows.push(StepTrace {
            step: table.id(step.as_ref())?,
            computing_ns: table.needed_time(&computing)?,
            not_overlapped_ns: table.needed_time(&not_overlapped)?,
            overlapped_ns: table.needed_time(&overlapped)?,
            communication_ns: table.needed_time(&communication)?,
            free_ns: table.needed_time(&free)?,
            stage_ns: table.needed_time(&stage)?,
        });
    }
    Ok(rows)
}
