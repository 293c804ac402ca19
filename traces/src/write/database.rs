//! `ascend_pytorch_profiler_RANK.db` and `analysis.db`.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use rusqlite::{Connection, Transaction, params};

use super::WriteError;
use super::settings;
use super::strings::{Enumeration, Strings};
use super::tables::core;
use super::timeline::groups;
use crate::Trace;
use crate::model::{DeviceTask, HostKind, Name, Pmu, TaskKind};

/// "None" of an id.
const NO_ID: u32 = u32::MAX;

const TABLES: &str = "
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER,
    globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER,
    streamId INTEGER, taskId INTEGER, modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY,
    blockDim INTEGER, mixBlockDim INTEGER, taskType INTEGER, opType INTEGER,
    inputDataTypes INTEGER, inputShapes INTEGER, outputDataTypes INTEGER, outputShapes INTEGER);
CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name INTEGER, value NUMERIC);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER,
    connectionId INTEGER, groupName INTEGER, opId INTEGER PRIMARY KEY, dataType INTEGER,
    algType INTEGER, count NUMERIC, modelId INTEGER, deviceId INTEGER);
CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER, taskType INTEGER,
    planeId INTEGER, groupName INTEGER, notifyId INTEGER, srcRank INTEGER, dstRank INTEGER,
    transportType INTEGER, size INTEGER, linkType INTEGER, opId INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,
    connectionId INTEGER, name INTEGER);
CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER,
    name INTEGER, type INTEGER);
CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);
CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
CREATE TABLE AICORE_FREQ (deviceId INTEGER, timestampNs INTEGER, freq INTEGER);
CREATE TABLE NPU_INFO (id INTEGER, name TEXT);
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
CREATE TABLE META_DATA (name TEXT, value TEXT);
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
";

const ANALYSIS: &str = "
CREATE TABLE StepTraceTime (deviceId INTEGER, step TEXT, computing NUMERIC,
    communication_not_overlapped NUMERIC, overlapped NUMERIC, communication NUMERIC,
    free NUMERIC, stage NUMERIC);
CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, elapse_time NUMERIC,
    transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC);
";

/// Writes the database of `trace` into `folder`.
pub(super) fn write(trace: &Trace, folder: &Path) -> Result<(), WriteError> {
    let rank = trace.meta.rank;
    let name = match rank {
        Some(rank) => format!("ascend_pytorch_profiler_{rank}.db"),
        None => "ascend_pytorch_profiler.db".to_owned(),
    };
    make(&folder.join(name), TABLES, |transaction| {
        let mut writer = Writer::new(trace, transaction);
        writer.tasks()?;
        writer.collectives()?;
        writer.planes()?;
        writer.host()?;
        writer.meta()?;
        writer.names()
    })?;
    let has_times = trace.collectives.iter().any(|op| op.times.is_some());
    if has_times || !trace.oracle.step_trace.is_empty() {
        make(&folder.join("analysis.db"), ANALYSIS, |transaction| {
            analysis(trace, transaction)
        })?;
    }
    Ok(())
}

/// Why rows cannot be written.
enum Failure {
    Sql(rusqlite::Error),
    Range(&'static str, u64),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// Makes a new database with `tables`, and what `fill` puts into them.
fn make(
    path: &Path,
    tables: &str,
    fill: impl FnOnce(&Transaction<'_>) -> Result<(), Failure>,
) -> Result<(), WriteError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            return Err(WriteError::io(path, source));
        }
        _ => {}
    }
    let write = || {
        let mut database = Connection::open(path)?;
        // The file is new: after a crash there is nothing to go back to.
        database.pragma_update(None, "journal_mode", "OFF")?;
        let transaction = database.transaction()?;
        transaction.execute_batch(tables)?;
        fill(&transaction)?;
        Ok(transaction.commit()?)
    };
    write().map_err(|failure| match failure {
        Failure::Sql(error) => WriteError::Database {
            path: path.to_owned(),
            reason: error.to_string(),
        },
        Failure::Range(what, value) => WriteError::Range { what, value },
    })
}

/// A 64-bit id as SQLite holds it; -1 for none.
fn id(what: &'static str, id: Option<u64>) -> Result<i64, Failure> {
    let Some(id) = id else { return Ok(-1) };
    // The largest one reads as "none".
    match i64::try_from(id) {
        Ok(id) if id != i64::MAX => Ok(id),
        _ => Err(Failure::Range(what, id)),
    }
}

struct Writer<'a, 'd> {
    trace: &'a Trace,
    database: &'a Transaction<'d>,
    /// The number of the device, if the capture says.
    device: Option<u32>,
    strings: Strings,
    enumerations: [Enumeration; 4],
    /// The id of each group's name.
    groups: HashMap<Name, i64>,
    /// The id of each collective, which is its row.
    ops: HashMap<u32, i64>,
}

/// Places in [`Writer::enumerations`].
const API: usize = 0;
const DATA: usize = 1;
const TRANSPORT: usize = 2;
const LINK: usize = 3;

impl<'a, 'd> Writer<'a, 'd> {
    fn new(trace: &'a Trace, database: &'a Transaction<'d>) -> Self {
        let label = trace.meta.device.as_deref().unwrap_or_default();
        let number = label.rsplit(' ').next().unwrap_or(label);
        Self {
            trace,
            database,
            device: number.parse().ok(),
            strings: Strings::default(),
            enumerations: enumerations(),
            groups: HashMap::new(),
            ops: HashMap::new(),
        }
    }

    fn at(&self, ns: i64) -> i64 {
        self.trace.epoch_ns.saturating_add(ns)
    }

    fn string(&mut self, name: Name) -> i64 {
        self.strings.id(self.trace.name(name))
    }

    fn tasks(&mut self) -> Result<(), Failure> {
        let mut rows = self
            .database
            .prepare("INSERT INTO TASK VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8, ?9, ?10)")?;
        let mut kernels = self.database.prepare(
            "INSERT INTO COMPUTE_TASK_INFO VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?;
        let mut counters = self
            .database
            .prepare("INSERT INTO TASK_PMU_INFO VALUES (?1, ?2, ?3)")?;
        for (number, task) in self.trace.tasks.iter().enumerate() {
            let number = number as i64;
            let kind = self.strings.id(task_type(self.trace, task));
            rows.execute(params![
                self.at(task.span.start),
                self.at(task.span.end),
                self.device,
                id("connection id", task.connection)?,
                number,
                kind,
                task.context.unwrap_or(NO_ID),
                task.stream,
                task.task.unwrap_or(NO_ID),
                task.model.unwrap_or(NO_ID),
            ])?;
            let detail = task
                .detail
                .and_then(|at| self.trace.details.get(at as usize));
            let is_named = task.name == task.task_type;
            if detail.is_none() && (task.kind != TaskKind::Kernel || is_named) {
                continue;
            }
            let name = self.string(task.name);
            let core = self.strings.id(core(task.engine));
            let op_type = detail.map(|detail| self.trace.name(detail.op_type));
            let op_type = self
                .strings
                .or_none(op_type.filter(|text| !text.is_empty()));
            // In quotes, as the empty shape of a scalar is not the lack of one.
            let mut text = |name: Option<Name>| {
                let text = name.map(|name| format!("\"{}\"", self.trace.name(name)));
                self.strings.or_none(text.as_deref())
            };
            kernels.execute(params![
                name,
                number,
                detail.and_then(|detail| detail.block_dim),
                detail.and_then(|detail| detail.mix_block_dim),
                core,
                op_type,
                text(detail.and_then(|detail| detail.input_types)),
                text(detail.and_then(|detail| detail.input_shapes)),
                text(detail.and_then(|detail| detail.output_types)),
                text(detail.and_then(|detail| detail.output_shapes)),
            ])?;
            for (counter, value) in detail.map_or(Vec::new(), |detail| values(&detail.pmu)) {
                let counter = self.strings.id(counter);
                counters.execute(params![number, counter, value])?;
            }
        }
        Ok(())
    }

    /// The collectives, by group: readers number groups as they come.
    fn collectives(&mut self) -> Result<(), Failure> {
        let order = groups(self.trace);
        for group in &order {
            let mut ops = self.trace.collectives.iter();
            let known = ops.find_map(|op| op.group_id.filter(|_| op.group == *group));
            let id = match known {
                Some(known) => self.string(known),
                // Each its own, so that groups stay apart.
                None => {
                    self.strings.texts.push("N/A".to_owned());
                    self.strings.texts.len() as i64 - 1
                }
            };
            self.groups.insert(*group, id);
        }
        let mut rows = self.database.prepare(
            "INSERT INTO COMMUNICATION_OP VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?;
        for group in order {
            for (op, number) in self.trace.collectives.iter().zip(0..) {
                if op.group != group {
                    continue;
                }
                let row = self.ops.len() as i64;
                self.ops.insert(number, row);
                let name = self.string(op.name);
                let algorithm = op.algorithm.map(|name| self.trace.name(name));
                let algorithm = self.strings.or_none(algorithm);
                let data = op.data_type.map(|name| self.trace.name(name));
                let data = data.map(|name| self.enumerations[DATA].id(name));
                rows.execute(params![
                    name,
                    self.at(op.span.start),
                    self.at(op.span.end),
                    id("connection id", op.connection)?,
                    self.groups.get(&group),
                    row,
                    data,
                    algorithm,
                    id("element count", op.count)?,
                    op.model.unwrap_or(NO_ID),
                    self.device,
                ])?;
            }
        }
        Ok(())
    }

    fn planes(&mut self) -> Result<(), Failure> {
        let mut rows = self.database.prepare(
            "INSERT INTO COMMUNICATION_TASK_INFO VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?;
        for plane in &self.trace.planes {
            // The task has its time: without one there is nothing to say.
            let Some(task) = plane.device_task else {
                continue;
            };
            let mut ops = plane.collective.into_iter();
            let op = ops.find_map(|op| self.trace.collectives.get(op as usize));
            let op = op.map_or(-1, |op| self.strings.id(self.trace.name(op.name)));
            let kind = self.string(plane.name);
            let transport = plane.transport.map(|name| self.trace.name(name));
            let link = plane.link.map(|name| self.trace.name(name));
            rows.execute(params![
                op,
                task,
                kind,
                plane.plane,
                self.groups.get(&plane.group),
                id("notify id", plane.notify)?,
                plane.source.unwrap_or(NO_ID),
                plane.destination.unwrap_or(NO_ID),
                transport.map(|name| self.enumerations[TRANSPORT].id(name)),
                id("size", plane.bytes)?,
                link.map(|name| self.enumerations[LINK].id(name)),
                plane.collective.and_then(|op| self.ops.get(&op)),
            ])?;
        }
        Ok(())
    }

    fn host(&mut self) -> Result<(), Failure> {
        // What each framework op issued.
        let mut issued: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let tasks = self
            .trace
            .tasks
            .iter()
            .map(|t| (t.framework_op, t.connection));
        let ops = self.trace.collectives.iter();
        let all = tasks.chain(ops.map(|op| (op.framework_op, op.connection)));
        for (op, connection) in all {
            if let (Some(op), Some(connection)) = (op, connection) {
                let list = issued.entry(op).or_default();
                if !list.contains(&connection) {
                    list.push(connection);
                }
            }
        }
        let mut cann = self
            .database
            .prepare("INSERT INTO CANN_API VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        let mut framework = self
            .database
            .prepare("INSERT INTO PYTORCH_API VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        let mut connections = self
            .database
            .prepare("INSERT INTO CONNECTION_IDS VALUES (?1, ?2)")?;
        for (number, call) in self.trace.host.iter().enumerate() {
            let (start, end) = (self.at(call.span.start), self.at(call.span.end));
            // The high half is the process. A thread of more than 32 bits is cut, as CANN does.
            let thread = (1_i64 << 32) | i64::from(call.thread as u32);
            let name = self.trace.name(call.name);
            if call.kind.is_cann() {
                let (kind, prefix) = layer(call.kind);
                let name = self.strings.id(name.strip_prefix(prefix).unwrap_or(name));
                let connection = id("connection id", call.connection)?;
                let kind = self.enumerations[API].id(kind);
                cann.execute(params![start, end, kind, thread, connection, name])?;
                continue;
            }
            let kind = match call.kind {
                HostKind::Enqueue | HostKind::Dequeue => "queue",
                HostKind::Annotation => "mstx",
                _ => "op",
            };
            let none = Vec::new();
            let own = u32::try_from(number).ok().and_then(|op| issued.get(&op));
            let linked = match call.correlation {
                Some(correlation) => vec![correlation],
                None => own.unwrap_or(&none).clone(),
            };
            for connection in &linked {
                connections.execute(params![
                    number as i64,
                    id("connection id", Some(*connection))?
                ])?;
            }
            framework.execute(params![
                start.to_string(),
                end.to_string(),
                thread,
                (!linked.is_empty()).then_some(number as i64),
                self.strings.id(name),
                self.enumerations[API].id(kind),
            ])?;
        }
        let mut steps = self
            .database
            .prepare("INSERT INTO STEP_TIME VALUES (?1, ?2, ?3)")?;
        for step in &self.trace.steps {
            let (start, end) = (self.at(step.span.start), self.at(step.span.end));
            steps.execute(params![step.number, start, end])?;
        }
        Ok(())
    }

    fn meta(&mut self) -> Result<(), Failure> {
        let meta = &self.trace.meta;
        let device = self.device;
        if let Some(rank) = meta.rank {
            self.database.execute(
                "INSERT INTO RANK_DEVICE_MAP VALUES (?1, ?2)",
                params![rank, device],
            )?;
        }
        if let Some((low, high)) = meta.core_mhz {
            for mhz in [low, high] {
                self.database.execute(
                    "INSERT INTO AICORE_FREQ VALUES (?1, ?2, ?3)",
                    params![device, self.trace.epoch_ns, mhz],
                )?;
            }
        }
        if let Some(name) = settings::setting(self.trace, "npu_info") {
            self.database.execute(
                "INSERT INTO NPU_INFO VALUES (?1, ?2)",
                params![device, name],
            )?;
        }
        let version = settings::setting(self.trace, "schema_version").unwrap_or("1.0.0");
        let variables = settings::variables(self.trace);
        for (name, value) in [
            ("SCHEMA_VERSION", version),
            ("ENV_VARIABLES", variables.as_str()),
        ] {
            self.database.execute(
                "INSERT INTO META_DATA VALUES (?1, ?2)",
                params![name, value],
            )?;
        }
        Ok(())
    }

    /// The tables of names, when all are known.
    fn names(&self) -> Result<(), Failure> {
        let mut rows = self
            .database
            .prepare("INSERT INTO STRING_IDS VALUES (?1, ?2)")?;
        for (id, text) in self.strings.texts.iter().enumerate() {
            rows.execute(params![id as i64, text])?;
        }
        for enumeration in &self.enumerations {
            let table = enumeration.table;
            self.database.execute_batch(&format!(
                "CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT)"
            ))?;
            let insert = format!("INSERT INTO {table} VALUES (?1, ?2)");
            let mut rows = self.database.prepare(&insert)?;
            for (id, name) in &enumeration.names {
                rows.execute(params![id, name])?;
            }
        }
        Ok(())
    }
}

/// The type of a task. A kernel has its name elsewhere; of other tasks the name is written where the
/// type alone does not say what they do.
fn task_type<'a>(trace: &'a Trace, task: &DeviceTask) -> &'a str {
    let (name, own) = (trace.name(task.name), trace.name(task.task_type));
    let says = |text: &str| TaskKind::of(text, text) == task.kind;
    if task.kind == TaskKind::Kernel || says(own) || !says(name) {
        own
    } else {
        name
    }
}

/// The counters of a kernel, as msprof calls them; times in ns.
fn values(pmu: &Pmu) -> Vec<(&'static str, f64)> {
    let ns = |ns: Option<i64>| ns.map(|ns| ns as f64);
    [
        ("aic_total_time", ns(pmu.aic_ns)),
        ("aiv_total_time", ns(pmu.aiv_ns)),
        ("aic_mac_ratio", pmu.aic_mac_ratio),
        ("aic_mte2_ratio", pmu.aic_mte2_ratio),
        ("aiv_vec_ratio", pmu.aiv_vec_ratio),
        ("aiv_mte2_ratio", pmu.aiv_mte2_ratio),
        ("aiv_mte3_ratio", pmu.aiv_mte3_ratio),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

/// The type of a CANN call, and what the text export puts before its name.
fn layer(kind: HostKind) -> (&'static str, &'static str) {
    match kind {
        HostKind::Acl => ("acl", "AscendCL@"),
        HostKind::Runtime => ("runtime", "Runtime@"),
        HostKind::Node => ("node", "Node@"),
        HostKind::Model => ("model", "Model@"),
        HostKind::Hccl => ("hccl", "Hccl@"),
        _ => ("other", ""),
    }
}

/// The enumerations (facts/traces.md section 2.5).
fn enumerations() -> [Enumeration; 4] {
    [
        Enumeration::new(
            "ENUM_API_TYPE",
            &[
                (5000, "runtime"),
                (5500, "hccl"),
                (10000, "node"),
                (15000, "model"),
                (20000, "acl"),
                (50001, "op"),
                (50002, "queue"),
                (50003, "trace"),
                (50004, "mstx"),
            ],
        ),
        Enumeration::new(
            "ENUM_HCCL_DATA_TYPE",
            &[
                (0, "INT8"),
                (1, "INT16"),
                (2, "INT32"),
                (3, "FP16"),
                (4, "FP32"),
                (5, "INT64"),
                (6, "UINT64"),
                (7, "UINT8"),
                (8, "UINT16"),
                (9, "UINT32"),
                (10, "FP64"),
                (11, "BFP16"),
                (12, "INT128"),
            ],
        ),
        Enumeration::new(
            "ENUM_HCCL_TRANSPORT_TYPE",
            &[(0, "SDMA"), (1, "RDMA"), (2, "LOCAL")],
        ),
        Enumeration::new(
            "ENUM_HCCL_LINK_TYPE",
            &[
                (0, "ON_CHIP"),
                (1, "HCCS"),
                (2, "PCIE"),
                (3, "ROCE"),
                (4, "SIO"),
                (5, "HCCS_SW"),
                (6, "STANDARD_ROCE"),
            ],
        ),
    ]
}

/// `analysis.db`: step times in µs, times of collectives in ms.
fn analysis(trace: &Trace, database: &Transaction<'_>) -> Result<(), Failure> {
    for row in &trace.oracle.step_trace {
        let us = |ns: i64| ns as f64 / 1e3;
        database.execute(
            "INSERT INTO StepTraceTime VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                row.step.map(|step| step.to_string()),
                us(row.computing_ns),
                us(row.not_overlapped_ns),
                us(row.overlapped_ns),
                us(row.communication_ns),
                us(row.free_ns),
                us(row.stage_ns),
            ],
        )?;
    }
    for op in &trace.collectives {
        let Some(times) = op.times else { continue };
        let ms = |ns: i64| ns as f64 / 1e6;
        database.execute(
            "INSERT INTO CommAnalyzerTime VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                trace.name(op.name),
                op.group_id.map_or("", |id| trace.name(id)),
                ms(times.elapse_ns),
                ms(times.transit_ns),
                ms(times.wait_ns),
                ms(times.synchronization_ns),
                ms(times.idle_ns),
            ],
        )?;
    }
    Ok(())
}
