//! `trace_view.json`: the rows of a trace as Chrome trace events.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Arguments};
use std::io::{self, Write};

use super::is_mindspore;
use super::settings::Json;
use super::tables::core;
use crate::Trace;
use crate::model::{DeviceTask, HostCall, HostKind, Name, OracleLane, PlaneTask, TaskKind};
use crate::time::{Span, format_us};

/// Processes. Readers go by their names; the numbers are layers as msprof numbers them for process 1
/// (facts/traces.md section 2.1).
const PYTHON: u64 = 1;
const CANN: u64 = layer(7);
const CORE_CLOCK: u64 = layer(12);
const DEVICE: u64 = layer(13);
const HCCL: u64 = layer(15);
const OVERLAP: u64 = layer(23);

const fn layer(layer: u64) -> u64 {
    (1 << 10) | (layer << 5)
}

/// "None" of a 32-bit id.
const NO_ID: u32 = u32::MAX;

/// The array being written.
struct Rows<'a> {
    out: &'a mut dyn Write,
    trace: &'a Trace,
    is_first: bool,
}

/// Writes the timeline of `trace`.
pub(super) fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let threads = Threads::of(trace);
    let mut rows = Rows {
        out,
        trace,
        is_first: true,
    };
    rows.metadata(&threads)?;
    rows.steps()?;
    for call in &trace.host {
        rows.call(call)?;
    }
    for task in &trace.tasks {
        rows.task(task)?;
    }
    rows.collectives(&threads)?;
    for plane in &trace.planes {
        rows.plane(plane, &threads)?;
    }
    for row in &trace.oracle.overlap {
        let name = match row.lane {
            OracleLane::Computing => "Computing",
            OracleLane::Communication => "Communication",
            OracleLane::NotOverlapped => "Communication(Not Overlapped)",
            OracleLane::Free => "Free",
        };
        let at = rows.at(row.span);
        rows.row(format_args!(
            r#"{{"name":"{name}","ph":"X","pid":{OVERLAP},"tid":{},{at}}}"#,
            row.lane as u32
        ))?;
    }
    rows.flows(&threads)?;
    rows.end()
}

impl Rows<'_> {
    fn row(&mut self, row: Arguments<'_>) -> io::Result<()> {
        let before = if self.is_first { "[\n" } else { ",\n" };
        self.is_first = false;
        self.out.write_all(before.as_bytes())?;
        self.out.write_fmt(row)
    }

    fn end(self) -> io::Result<()> {
        let end: &[u8] = if self.is_first { b"[]\n" } else { b"\n]\n" };
        self.out.write_all(end)
    }

    /// Absolute time as text, µs.
    fn us(&self, at: i64) -> String {
        format_us(self.trace.epoch_ns.saturating_add(at))
    }

    /// `ts` and `dur` of a row.
    fn at(&self, span: Span) -> String {
        let (start, length) = (self.us(span.start), format_us(span.len()));
        format!(r#""ts":"{start}","dur":{length}"#)
    }

    fn text(&self, name: Name) -> Json<'_> {
        Json(self.trace.name(name))
    }

    fn metadata(&mut self, threads: &Threads) -> io::Result<()> {
        for (pid, name) in [
            (PYTHON, "Python"),
            (CANN, "CANN"),
            (CORE_CLOCK, "AI Core Freq"),
            (DEVICE, "Ascend Hardware"),
            (HCCL, "HCCL"),
            (OVERLAP, "Overlap Analysis"),
        ] {
            self.row(format_args!(
                r#"{{"name":"process_name","ph":"M","pid":{pid},"tid":0,"args":{{"name":"{name}"}}}}"#
            ))?;
        }
        if let Some(label) = &self.trace.meta.device {
            self.row(format_args!(
                r#"{{"name":"process_labels","ph":"M","pid":{DEVICE},"tid":0,"args":{{"labels":{}}}}}"#,
                Json(label)
            ))?;
        }
        let streams: BTreeSet<u32> = self.trace.tasks.iter().map(|task| task.stream).collect();
        for stream in streams {
            self.row(format_args!(
                r#"{{"name":"thread_name","ph":"M","pid":{DEVICE},"tid":{stream},"args":{{"name":"Stream {stream}"}}}}"#
            ))?;
        }
        for (name, tid) in &threads.names {
            self.row(format_args!(
                r#"{{"name":"thread_name","ph":"M","pid":{HCCL},"tid":{tid},"args":{{"name":{}}}}}"#,
                Json(name)
            ))?;
        }
        if let Some((low, high)) = self.trace.meta.core_mhz {
            for mhz in [low, high] {
                let at = self.us(0);
                self.row(format_args!(
                    r#"{{"name":"AI Core Freq","ph":"C","pid":{CORE_CLOCK},"tid":0,"ts":"{at}","args":{{"MHz":{mhz}}}}}"#
                ))?;
            }
        }
        Ok(())
    }

    /// Steps that no call marks.
    fn steps(&mut self) -> io::Result<()> {
        let marked: BTreeSet<(Span, &str)> = self
            .trace
            .host
            .iter()
            .map(|call| (call.span, self.trace.name(call.name)))
            .collect();
        for step in &self.trace.steps {
            let number = step.number;
            if marked.contains(&(step.span, format!("ProfilerStep#{number}").as_str())) {
                continue;
            }
            let at = self.at(step.span);
            self.row(format_args!(
                r#"{{"name":"Iteration {number}","ph":"X","cat":"Iteration Time","pid":{PYTHON},"tid":0,{at},"args":{{"Iteration ID":{number}}}}}"#
            ))?;
        }
        Ok(())
    }

    fn call(&mut self, call: &HostCall) -> io::Result<()> {
        let (at, name) = (self.at(call.span), self.text(call.name).to_string());
        let thread = call.thread;
        let category = match call.kind {
            HostKind::FrameworkOp => "cpu_op",
            HostKind::Annotation => "user_annotation",
            HostKind::Enqueue => "enqueue",
            HostKind::Dequeue => "dequeue",
            kind => {
                let level = match kind {
                    HostKind::Acl => "acl",
                    HostKind::Runtime => "runtime",
                    HostKind::Node => "node",
                    HostKind::Model => "model",
                    HostKind::Hccl => "hccl",
                    _ => "other",
                };
                let connection = Field("connection_id", call.connection);
                return self.row(format_args!(
                    r#"{{"name":{name},"ph":"X","pid":{CANN},"tid":{thread},{at},"args":{{"Thread Id":{thread},"level":"{level}"{connection}}}}}"#
                ));
            }
        };
        let correlation = match call.correlation {
            Some(id) => format!(r#""correlation_id":{id}"#),
            None => String::new(),
        };
        self.row(format_args!(
            r#"{{"name":{name},"ph":"X","cat":"{category}","pid":{PYTHON},"tid":{thread},{at},"args":{{{correlation}}}}}"#
        ))
    }

    fn task(&mut self, task: &DeviceTask) -> io::Result<()> {
        let (at, stream) = (self.at(task.span), task.stream);
        let core_time = match (is_mindspore(self.trace), task.detail) {
            (true, Some(detail)) => {
                let detail = self.trace.details.get(detail as usize);
                let ns = detail.and_then(|detail| detail.pmu.aic_ns);
                // In µs, whatever the name says.
                ns.map_or(String::new(), |ns| {
                    format!(r#","Aicore Time(ms)":{}"#, format_us(ns))
                })
            }
            _ => String::new(),
        };
        let (name, task_type) = (
            self.text(task.name).to_string(),
            Json(task_type(self.trace, task)).to_string(),
        );
        self.row(format_args!(
            r#"{{"name":{name},"ph":"X","pid":{DEVICE},"tid":{stream},{at},"args":{{"Model Id":{},"Task Type":{task_type},"Physic Stream Id":{stream},"Task Id":{},"Batch Id":0,"Subtask Id":{}{core_time}{}}}}}"#,
            task.model.unwrap_or(NO_ID),
            task.task.unwrap_or(NO_ID),
            task.context.unwrap_or(NO_ID),
            Field("connection_id", task.connection),
        ))
    }

    fn collectives(&mut self, threads: &Threads) -> io::Result<()> {
        for op in &self.trace.collectives {
            let (at, name) = (self.at(op.span), self.text(op.name).to_string());
            let text = |key, name: Option<Name>| match name {
                Some(name) => format!(r#","{key}":{}"#, Json(self.trace.name(name))),
                None => String::new(),
            };
            let data_type = text("data_type", op.data_type);
            let algorithm = text("alg_type", op.algorithm);
            self.row(format_args!(
                r#"{{"name":{name},"ph":"X","pid":{HCCL},"tid":{},{at},"args":{{"model id":{}{}{data_type}{algorithm}{}}}}}"#,
                threads.of_group(op.group),
                op.model.unwrap_or(NO_ID),
                Field("connection_id", op.connection),
                Field("count", op.count),
            ))?;
        }
        Ok(())
    }

    fn plane(&mut self, plane: &PlaneTask, threads: &Threads) -> io::Result<()> {
        let (at, name) = (self.at(plane.span), self.text(plane.name).to_string());
        let text = |key, name: Option<Name>| match name {
            Some(name) => format!(r#","{key}":{}"#, Json(self.trace.name(name))),
            None => String::new(),
        };
        let transport = text("transport type", plane.transport);
        let link = text("link type", plane.link);
        self.row(format_args!(
            r#"{{"name":{name},"ph":"X","pid":{HCCL},"tid":{},{at},"args":{{"notify_id":"{}","stream id":{},"task id":{},"context id":{},"task type":{name},"src rank":{},"dst rank":{}{transport}{link}{}}}}}"#,
            threads.of_plane(plane.group, plane.plane),
            plane.notify.unwrap_or(u64::MAX),
            plane.stream,
            plane.task.unwrap_or(NO_ID),
            plane.context.unwrap_or(NO_ID),
            plane.source.unwrap_or(NO_ID),
            plane.destination.unwrap_or(NO_ID),
            Field("size(Byte)", plane.bytes),
        ))
    }

    /// Arrows from the host to tasks and collectives.
    fn flows(&mut self, threads: &Threads) -> io::Result<()> {
        let trace = self.trace;
        for (number, task) in trace.tasks.iter().enumerate() {
            let end = (DEVICE, u64::from(task.stream), task.span.start);
            if let Some(point) = task.launch {
                let id = number.to_string();
                self.flow("HostToDevice", &id, (CANN, point.thread, point.at), end)?;
            }
            self.framework_flow(task.framework_op, end, number)?;
        }
        for (number, op) in trace.collectives.iter().enumerate() {
            let end = (HCCL, threads.of_group(op.group), op.span.start);
            self.framework_flow(op.framework_op, end, trace.tasks.len() + number)?;
        }
        Ok(())
    }

    fn framework_flow(
        &mut self,
        op: Option<u32>,
        end: (u64, u64, i64),
        number: usize,
    ) -> io::Result<()> {
        let op = op.and_then(|op| self.trace.host.get(op as usize));
        let Some(op) = op else { return Ok(()) };
        let start = (PYTHON, op.thread, op.span.start);
        self.flow("async_npu", &number.to_string(), start, end)
    }

    /// An arrow between two (process, thread, time).
    fn flow(
        &mut self,
        category: &str,
        id: &str,
        from: (u64, u64, i64),
        to: (u64, u64, i64),
    ) -> io::Result<()> {
        for (phase, (pid, tid, at)) in [(r#""s""#, from), (r#""f","bp":"e""#, to)] {
            let at = self.us(at);
            self.row(format_args!(
                r#"{{"name":"{category}","ph":{phase},"cat":"{category}","id":"{id}","pid":{pid},"tid":{tid},"ts":"{at}"}}"#
            ))?;
        }
        Ok(())
    }
}

/// The type of a task. That of a database is the host's, which says STARS_COMMON of a kernel on DSA; the
/// core then says more.
fn task_type<'a>(trace: &'a Trace, task: &DeviceTask) -> &'a str {
    let own = trace.name(task.task_type);
    let says = |text: &str| TaskKind::of(text, trace.name(task.name)) == task.kind;
    let core = core(task.engine);
    if !says(own) && says(core) { core } else { own }
}

/// A further field, left out where there is no value.
struct Field(&'static str, Option<u64>);

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(value) => write!(f, r#","{}":{value}"#, self.0),
            None => Ok(()),
        }
    }
}

/// The threads of the HCCL process: each group's lane, then its planes.
struct Threads {
    groups: HashMap<Name, u64>,
    planes: HashMap<(Name, u32), u64>,
    /// Name and thread, in order.
    names: Vec<(String, u64)>,
}

impl Threads {
    fn of(trace: &Trace) -> Self {
        let mut threads = Self {
            groups: HashMap::new(),
            planes: HashMap::new(),
            names: Vec::new(),
        };
        let mut planes: BTreeMap<Name, BTreeSet<u32>> = BTreeMap::new();
        for plane in &trace.planes {
            planes.entry(plane.group).or_default().insert(plane.plane);
        }
        let mut next = 0..;
        for (number, group) in groups(trace).into_iter().enumerate() {
            let lane = trace.name(group);
            let is_lane = lane.contains("Communication") && !lane.starts_with("Plane");
            let lane = match is_lane {
                true => lane.to_owned(),
                false => format!("Group {number} Communication"),
            };
            let thread = next.next().unwrap_or_default();
            threads.groups.insert(group, thread);
            threads.names.push((lane, thread));
            for &plane in planes.get(&group).into_iter().flatten() {
                let thread = next.next().unwrap_or_default();
                threads.planes.insert((group, plane), thread);
                threads.names.push((format!("Plane {plane}"), thread));
            }
        }
        threads
    }

    fn of_group(&self, group: Name) -> u64 {
        self.groups.get(&group).copied().unwrap_or_default()
    }

    fn of_plane(&self, group: Name, plane: u32) -> u64 {
        self.planes
            .get(&(group, plane))
            .copied()
            .unwrap_or_default()
    }
}

/// The groups by the number in the name of their lane, others as they come.
pub(super) fn groups(trace: &Trace) -> Vec<Name> {
    let ops = trace.collectives.iter().map(|op| op.group);
    let mut groups: Vec<Name> = Vec::new();
    let mut known = BTreeSet::new();
    for group in ops.chain(trace.planes.iter().map(|plane| plane.group)) {
        if known.insert(group) {
            groups.push(group);
        }
    }
    let number = |group: &Name| -> u32 {
        let rest = trace.name(*group).strip_prefix("Group ");
        let number = rest.and_then(|rest| rest.split(' ').next()?.parse().ok());
        number.unwrap_or(u32::MAX)
    };
    groups.sort_by_key(number);
    groups
}
