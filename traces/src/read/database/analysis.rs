//! `analysis.db`: the profiler's own step and collective times. Oracle only.

use std::path::Path;

use super::sql::{Cells, Database};
use crate::model::{CommTimes, StepTrace};
use crate::read::communication::CommRow;
use crate::read::join;
use crate::{Trace, TraceError};

const STEPS: &[&[&str]] = &[
    &["step"],
    &["computing"],
    &["communication_not_overlapped"],
    &["overlapped"],
    &["communication"],
    &["free"],
    &["stage"],
    &["deviceId"],
];

const COLLECTIVES: &[&[&str]] = &[
    &["hccl_op_name"],
    &["group_name"],
    &["elapse_time"],
    &["transit_time"],
    &["wait_time"],
    &["synchronization_time"],
    &["idle_time"],
];

/// Adds what the file says to `trace`, which is of `device`: step times in µs
/// and collective times in ms, the same numbers as in the text export
/// (facts/traces.md section 2.5).
pub(super) fn read(path: &Path, device: Option<u32>, trace: &mut Trace) -> Result<(), TraceError> {
    let database = Database::open(path)?;
    database.rows("StepTraceTime", STEPS, |row| {
        let of = row.small_id(7)?;
        if of.is_none() || of == device {
            trace.oracle.step_trace.push(StepTrace {
                step: step(row)?,
                computing_ns: ns(row, 1, 1e3)?,
                not_overlapped_ns: ns(row, 2, 1e3)?,
                overlapped_ns: ns(row, 3, 1e3)?,
                communication_ns: ns(row, 4, 1e3)?,
                free_ns: ns(row, 5, 1e3)?,
                stage_ns: ns(row, 6, 1e3)?,
            });
        }
        Ok(())
    })?;
    let mut rows = Vec::new();
    database.rows("CommAnalyzerTime", COLLECTIVES, |row| {
        let (Some(name), Some(group_id)) = (row.text(0)?, row.text(1)?) else {
            return Ok(());
        };
        rows.push(CommRow {
            name: name.to_owned(),
            group_id: group_id.to_owned(),
            times: CommTimes {
                elapse_ns: ns(row, 2, 1e6)?,
                transit_ns: ns(row, 3, 1e6)?,
                wait_ns: ns(row, 4, 1e6)?,
                synchronization_ns: ns(row, 5, 1e6)?,
                idle_ns: ns(row, 6, 1e6)?,
            },
        });
        Ok(())
    })?;
    join::communication(trace, rows);
    Ok(())
}

/// The number of a step, written as `12`, `"12"` or `"step12"`.
fn step(row: &Cells<'_>) -> Result<Option<u32>, TraceError> {
    match row.text(0)? {
        Some(text) => {
            let text = text.trim();
            Ok(text.strip_prefix("step").unwrap_or(text).parse().ok())
        }
        None => row.small_id(0),
    }
}

/// A time as ns; 0 if there is none. Saturates beyond 64-bit ns.
fn ns(row: &Cells<'_>, column: usize, unit: f64) -> Result<i64, TraceError> {
    Ok((row.number(column)?.unwrap_or_default() * unit).round() as i64)
}
