//! Profiles in SQLite: `ascend_pytorch_profiler_N.db` of torch_npu and
//! `msprof_*.db`, which has the same tables but those of the framework.
//!
//! Times are integer ns, those of PYTORCH_API as text (facts/traces.md section 2.5).

mod analysis;
mod hccl;
mod host;
mod kernels;
mod sql;
mod tasks;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::detect::DatabaseFiles;
use super::join::{self, Clock};
use super::lanes::{self, Sources};
use super::profiler_info;
use super::trace_view::Timeline;
use super::window::Window;
use crate::model::{HostKind, Meta, Name, Names};
use crate::time::Span;
use crate::{Trace, TraceError};
use sql::{Cells, Database};

/// Reads the capture of every device in the database.
///
/// # Errors
/// A database that cannot be read or understood; no device task.
pub(crate) fn read(files: &DatabaseFiles) -> Result<Vec<Trace>, TraceError> {
    let database = Database::open(&files.database)?;
    let devices = devices(&database)?;
    if devices.is_empty() {
        return Err(TraceError::NoDeviceTask {
            path: files.database.clone(),
        });
    }
    let is_only = devices.len() == 1;
    devices
        .into_iter()
        .map(|device| read_device(files, &database, device, is_only))
        .collect()
}

/// The devices that have tasks.
fn devices(database: &Database) -> Result<BTreeSet<Option<u32>>, TraceError> {
    let mut found = BTreeSet::new();
    database.rows("TASK", &[&["deviceId"]], |row| {
        found.insert(row.small_id(0)?);
        Ok(())
    })?;
    Ok(found)
}

/// Reads the capture of one device.
fn read_device(
    files: &DatabaseFiles,
    database: &Database,
    device: Option<u32>,
    is_only: bool,
) -> Result<Trace, TraceError> {
    let mut source = Source {
        database,
        device,
        strings: strings(database)?,
        window: Window::default(),
    };
    let mut timeline = Timeline::default();
    let kernels = kernels::Kernels::read(&source)?;
    let tasks = tasks::read(&mut source, &kernels, &mut timeline)?;
    hccl::read(&mut source, &tasks, &mut timeline)?;
    let ops = host::read(&mut source, &mut timeline)?;
    host::steps(&mut source, &mut timeline)?;
    let rows = kernels.rows(&source, &tasks, &mut timeline.names);

    let mut meta = meta(database, device, is_only)?;
    if let Some(path) = &files.info {
        let known = meta.rank;
        profiler_info::read_info(path, &mut meta)?;
        meta.rank = known.or(meta.rank);
    }
    if is_only && meta.rank.is_none() {
        meta.rank = rank_in_name(&files.database);
    }
    let clock = Clock::of(&timeline);
    let python_functions = timeline.python_functions;
    let group_ids = std::mem::take(&mut timeline.group_ids);
    let mut trace = join::timeline(timeline, clock);
    trace.meta = meta;
    let unmatched = join::kernels(&mut trace, rows, clock);
    join::group_ids(&mut trace, &group_ids);
    join::framework(&mut trace, &ops, clock);
    if let Some(path) = &files.analysis {
        analysis::read(path, device, &mut trace)?;
    }
    let sources = Sources {
        has_kernel_table: !trace.details.is_empty(),
        has_settings: files.info.is_some(),
        is_database: true,
        ..Sources::default()
    };
    trace.missing = lanes::missing(&trace, &sources);
    trace.notes = lanes::notes(&trace, unmatched, python_functions);
    Ok(trace)
}

/// What the tables of one device are read with.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    database: &'a Database,
    device: Option<u32>,
    strings: HashMap<i64, smol_str::SmolStr>,
    window: Window,
}

impl Source<'_> {
    /// The string of the id in a cell; `None` if it is NULL, unknown or N/A.
    fn string(&self, row: &Cells<'_>, column: usize) -> Result<Option<&str>, TraceError> {
        let id = row.integer(column)?;
        let text = id.and_then(|id| self.strings.get(&id));
        Ok(text.map(|text| text.as_str()).filter(|text| *text != "N/A"))
    }

    /// The interned string of the id in a cell; the empty name if there is none.
    fn name(&self, row: &Cells<'_>, column: usize, names: &mut Names) -> Result<Name, TraceError> {
        Ok(names.intern(self.string(row, column)?.unwrap_or_default()))
    }

    /// The span in two cells.
    fn span(&mut self, row: &Cells<'_>, start: usize, end: usize) -> Result<Span, TraceError> {
        let span = Span {
            start: row.time(start)?,
            end: row.time(end)?,
        };
        for (column, at) in [(start, span.start), (end, span.end)] {
            self.window
                .check(at)
                .map_err(|reason| row.bad(column, reason))?;
        }
        if span.end < span.start {
            let (path, place) = row.place();
            return Err(TraceError::NegativeDuration {
                path: path.to_owned(),
                place,
                name: "task or call".to_owned(),
                text: crate::time::format_us(span.len()),
            });
        }
        Ok(span)
    }

    /// Whether a row is of this device, by its cell with the device's id.
    fn is_here(&self, row: &Cells<'_>, column: usize) -> Result<bool, TraceError> {
        Ok(row.small_id(column)? == self.device)
    }
}

/// The texts by id; ids are unique, of two rows with one the first counts.
fn strings(database: &Database) -> Result<HashMap<i64, smol_str::SmolStr>, TraceError> {
    let mut strings = HashMap::new();
    database.rows("STRING_IDS", &[&["id"], &["value"]], |row| {
        if let (Some(id), Some(text)) = (row.integer(0)?, row.text(1)?) {
            strings.entry(id).or_insert_with(|| text.into());
        }
        Ok(())
    })?;
    Ok(strings)
}

/// A small table of names of numbers.
fn names_of(database: &Database, table: &'static str) -> Result<BTreeMap<i64, String>, TraceError> {
    let mut found = BTreeMap::new();
    database.rows(table, &[&["id"], &["name"]], |row| {
        if let (Some(id), Some(text)) = (row.integer(0)?, row.text(1)?) {
            found.insert(id, text.to_owned());
        }
        Ok(())
    })?;
    Ok(found)
}

/// What the database says of the capture itself.
fn meta(database: &Database, device: Option<u32>, is_only: bool) -> Result<Meta, TraceError> {
    let is_torch = database.has("PYTORCH_API");
    let mut meta = Meta {
        source: if is_torch {
            "torch_npu database"
        } else {
            "msprof database"
        }
        .to_owned(),
        device: device.map(|device| format!("NPU {device}")),
        ..Meta::default()
    };
    let mut only_rank = None;
    database.rows("RANK_DEVICE_MAP", &[&["rankId"], &["deviceId"]], |row| {
        let (rank, of) = (row.small_id(0)?, row.small_id(1)?);
        if of == device {
            meta.rank = rank;
        }
        only_rank = rank;
        Ok(())
    })?;
    if is_only {
        meta.rank = meta.rank.or(only_rank);
    }
    let columns: &[&[&str]] = &[&["freq"], &["deviceId"]];
    database.rows("AICORE_FREQ", columns, |row| {
        let is_here = row.small_id(1)?.is_none_or(|of| Some(of) == device);
        if let (true, Some(mhz)) = (is_here, row.small_id(0)?) {
            let (low, high) = meta.core_mhz.unwrap_or((mhz, mhz));
            meta.core_mhz = Some((low.min(mhz), high.max(mhz)));
        }
        Ok(())
    })?;
    // NPU_INFO calls A2 and A3 alike, so it is no chip name.
    database.rows("NPU_INFO", &[&["name"], &["id"]], |row| {
        let is_here = row.small_id(1)?.is_none_or(|of| Some(of) == device);
        if let (true, Some(name)) = (is_here, row.text(0)?) {
            meta.settings.push(("npu_info".to_owned(), name.to_owned()));
        }
        Ok(())
    })?;
    database.rows("META_DATA", &[&["name"], &["value"]], |row| {
        let (Some(name), Some(value)) = (row.text(0)?, row.text(1)?) else {
            return Ok(());
        };
        match name {
            "SCHEMA_VERSION" => meta
                .settings
                .push(("schema_version".to_owned(), value.to_owned())),
            "ENV_VARIABLES" => profiler_info::environment(value, &mut meta),
            _ => {}
        }
        Ok(())
    })?;
    Ok(meta)
}

/// The rank of `ascend_pytorch_profiler_RANK.db`.
fn rank_in_name(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let stem = super::source::plain_name(name).strip_suffix(".db")?;
    stem.strip_prefix("ascend_pytorch_profiler_")?.parse().ok()
}

/// The layer of a CANN call by the name of its type, and what the text export
/// puts before the name of the call.
fn layer(name: &str) -> (HostKind, &'static str) {
    match name {
        "acl" => (HostKind::Acl, "AscendCL@"),
        "runtime" => (HostKind::Runtime, "Runtime@"),
        "node" => (HostKind::Node, "Node@"),
        "model" => (HostKind::Model, "Model@"),
        "hccl" | "communication" => (HostKind::Hccl, "Hccl@"),
        _ => (HostKind::OtherCann, ""),
    }
}
