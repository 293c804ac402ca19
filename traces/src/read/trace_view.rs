//! Timelines as Chrome trace events: `trace_view.json` of torch_npu,
//! `msprof_*.json` of msprof, MindSpore's files of each iteration.
//!
//! Rows are told apart by the name of their process, never by its number
//! (facts/traces.md section 2.1). A row whose process is named only later in the
//! file is kept as text until then.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::json_array::ArrayReader;
use super::object::text;
use super::row::Row;
use super::source;
use super::window::Window;
use crate::TraceError;
use crate::model::{
    Collective, DeviceTask, Engine, HostCall, HostKind, HostPoint, Name, Names, OracleLane,
    OracleSpan, PlaneKind, PlaneTask, Step, TaskKind,
};
use crate::time::{Span, us_to_ns};

/// Notify id that means "none".
const NO_NOTIFY: u64 = u64::MAX;

/// Connection id that means "none".
const NO_CONNECTION: u64 = u64::MAX;

/// The rows of a timeline, times absolute, in file order, not yet joined.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) names: Names,
    pub(crate) tasks: Vec<DeviceTask>,
    pub(crate) host: Vec<HostCall>,
    /// With the thread of the row, which names its group.
    pub(crate) collectives: Vec<(u64, Collective)>,
    /// With the thread of the row, which names its plane.
    pub(crate) planes: Vec<(u64, PlaneTask)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) overlap: Vec<OracleSpan>,
    /// Names of the threads of HCCL lanes.
    pub(crate) hccl_threads: BTreeMap<u64, Name>,
    /// Id of each group by the name of its lane, where the source has it.
    pub(crate) group_ids: BTreeMap<Name, Name>,
    /// Cube time of tasks whose own row has it (910A), by start and stream.
    pub(crate) core_times: BTreeMap<(i64, u32), i64>,
    pub(crate) device_label: Option<String>,
    pub(crate) core_mhz: Option<(u32, u32)>,
    /// HostToDevice flows: from the CANN call to the device row.
    pub(crate) launches: Flows,
    /// async_npu flows: from the framework op to the device row.
    pub(crate) framework: Flows,
    /// `python_function` rows, which are not kept.
    pub(crate) python_functions: u64,
}

/// Flow arrows of one category.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    /// Start of each flow by id; ids are text, some are beyond 64 bits.
    pub(crate) starts: BTreeMap<Name, HostPoint>,
    /// (id, lane, thread, time) of each end; one start may have several.
    pub(crate) ends: Vec<(Name, Lane, u64, i64)>,
}

/// What the rows of a process are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Device,
    Hccl,
    Cann,
    Overlap,
    CoreClock,
    Ignored,
}

impl Lane {
    fn of(process: &str) -> Self {
        match process {
            "Ascend Hardware" => Self::Device,
            "HCCL" | "Communication" => Self::Hccl,
            "CANN" => Self::Cann,
            "Overlap Analysis" => Self::Overlap,
            "AI Core Freq" => Self::CoreClock,
            _ => Self::Ignored,
        }
    }
}

/// The thread that stands for a lane of group `group` (its own if `plane` is
/// `None`) in sources that have groups and planes instead of threads.
pub(crate) fn plane_thread(group: u32, plane: Option<u32>) -> u64 {
    (u64::from(group) << 33) | plane.map_or(0, |plane| u64::from(plane) + 1)
}

/// Reads the timeline in `paths`, parts of one capture.
///
/// # Errors
/// A file that cannot be read, is no array of trace events, or has a row that
/// cannot be understood; tasks of several devices.
///
/// # Complexity
/// Linear in the files; memory linear in the rows kept.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Timeline, TraceError> {
    let mut reader = Reader::default();
    for path in paths {
        reader.read(path)?;
    }
    Ok(reader.timeline)
}

#[derive(Debug, Default)]
struct Reader {
    timeline: Timeline,
    lanes: BTreeMap<Name, Lane>,
    /// The process whose tasks these are.
    device: Option<Name>,
    pending: Vec<(u64, String)>,
    window: Window,
}

impl Reader {
    fn read(&mut self, path: &Path) -> Result<(), TraceError> {
        let (input, _) = source::open(path)?;
        let mut elements = ArrayReader::new(path, input);
        while let Some(element) = elements.next()? {
            let row = Row::parse(path, element.offset, element.text)?;
            if !self.take(&row)? {
                self.pending.push((element.offset, element.text.to_owned()));
            }
        }
        for (offset, text) in std::mem::take(&mut self.pending) {
            let row = Row::parse(path, offset, &text)?;
            // A process without a name is none of those that are read.
            self.take(&row)?;
        }
        Ok(())
    }

    /// Takes one row; `false` if the name of its process is not known yet.
    fn take(&mut self, row: &Row<'_>) -> Result<bool, TraceError> {
        match row.needed("ph")?.as_ref() {
            "M" => self.metadata(row).map(|()| true),
            "X" => self.complete(row),
            "s" | "f" => self.flow(row),
            "C" => self.counter(row),
            _ => Ok(true),
        }
    }

    /// The span of a row, near the other rows of the file.
    fn span(&mut self, row: &Row<'_>) -> Result<Span, TraceError> {
        let span = row.span()?;
        self.in_range(row, span.start)?;
        self.in_range(row, span.end)?;
        Ok(span)
    }

    fn in_range(&mut self, row: &Row<'_>, at: i64) -> Result<(), TraceError> {
        let checked = self.window.check(at);
        checked.map_err(|reason| row.field("ts", reason))
    }

    fn process(&mut self, row: &Row<'_>) -> Result<Name, TraceError> {
        let pid = row.needed("pid")?;
        Ok(self.timeline.names.intern(&pid))
    }

    fn metadata(&mut self, row: &Row<'_>) -> Result<(), TraceError> {
        let process = self.process(row)?;
        let args = row.nested("args")?;
        match row.needed("name")?.as_ref() {
            "process_name" => {
                let lane = Lane::of(args.text("name").unwrap_or_default().trim());
                self.lanes.insert(process, lane);
            }
            "process_labels" if self.lanes.get(&process) == Some(&Lane::Device) => {
                self.timeline.device_label = args.text("labels").map(|label| label.into_owned());
            }
            // Threads of all processes: an HCCL process may be named later, and
            // ids of its lanes are small numbers, those of host threads are not.
            "thread_name" => {
                let name = args.text("name").unwrap_or_default();
                if name.contains("Communication") || name.starts_with("Plane") {
                    let known = self.lanes.get(&process);
                    if known.is_none_or(|&lane| lane == Lane::Hccl) {
                        let tid = row.id(&["tid"])?.unwrap_or_default();
                        let name = self.timeline.names.intern(&name);
                        self.timeline.hccl_threads.insert(tid, name);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn complete(&mut self, row: &Row<'_>) -> Result<bool, TraceError> {
        if let Some(category) = row.text("cat") {
            match category.as_ref() {
                "enqueue" => self.framework(row, HostKind::Enqueue)?,
                "dequeue" => self.framework(row, HostKind::Dequeue)?,
                "cpu_op" => self.framework(row, HostKind::FrameworkOp)?,
                "user_annotation" => self.framework(row, HostKind::Annotation)?,
                "python_function" => self.timeline.python_functions += 1,
                "Iteration Time" => self.iteration(row)?,
                _ => {}
            }
            return Ok(true);
        }
        let process = self.process(row)?;
        match self.lanes.get(&process) {
            None => return Ok(false),
            Some(Lane::Device) => {
                if *self.device.get_or_insert(process) != process {
                    return Err(row.several_devices());
                }
                self.device(row)?;
            }
            Some(Lane::Hccl) => self.hccl(row)?,
            Some(Lane::Cann) => self.cann(row)?,
            Some(Lane::Overlap) => self.overlap(row)?,
            Some(Lane::CoreClock | Lane::Ignored) => {}
        }
        Ok(true)
    }

    /// An iteration of a sunk graph, which has no marker on the host. Files of
    /// other iterations repeat it.
    fn iteration(&mut self, row: &Row<'_>) -> Result<(), TraceError> {
        let span = self.span(row)?;
        let number = row.nested("args")?.small_id(&["Iteration ID"])?;
        let mut known = self.timeline.steps.iter();
        if let Some(number) = number.filter(|&n| known.all(|step| step.number != n)) {
            self.timeline.steps.push(Step { number, span });
        }
        Ok(())
    }

    fn framework(&mut self, row: &Row<'_>, kind: HostKind) -> Result<(), TraceError> {
        let name = row.needed("name")?;
        let span = self.span(row)?;
        let step = name
            .strip_prefix("ProfilerStep#")
            .and_then(|number| number.parse().ok());
        if let Some(number) = step {
            self.timeline.steps.push(Step { number, span });
        }
        let correlation = match kind {
            HostKind::Enqueue | HostKind::Dequeue => row.nested("args")?.id(&["correlation_id"])?,
            _ => None,
        };
        self.timeline.host.push(HostCall {
            kind: if step.is_some() {
                HostKind::Annotation
            } else {
                kind
            },
            name: self.timeline.names.intern(&name),
            thread: row.id(&["tid"])?.unwrap_or_default(),
            span,
            connection: None,
            correlation,
        });
        Ok(())
    }

    fn cann(&mut self, row: &Row<'_>) -> Result<(), TraceError> {
        let args = row.nested("args")?;
        let kind = match args.text("level").unwrap_or_default().as_ref() {
            "acl" => HostKind::Acl,
            "runtime" => HostKind::Runtime,
            "node" => HostKind::Node,
            "model" => HostKind::Model,
            "hccl" | "communication" => HostKind::Hccl,
            _ => HostKind::OtherCann,
        };
        let span = self.span(row)?;
        self.timeline.host.push(HostCall {
            kind,
            name: self.timeline.names.intern(&row.needed("name")?),
            thread: row.id(&["tid"])?.unwrap_or_default(),
            span,
            connection: connection(&args)?,
            correlation: None,
        });
        Ok(())
    }

    fn device(&mut self, row: &Row<'_>) -> Result<(), TraceError> {
        let args = row.nested("args")?;
        let name = row.needed("name")?;
        let task_type = args.text("Task Type").unwrap_or_default();
        let kind = TaskKind::of(&task_type, &name);
        let stream = match args.small_id(&["Physic Stream Id", "Stream Id"])? {
            Some(stream) => Some(stream),
            None => row.small_id(&["tid"])?,
        };
        let span = self.span(row)?;
        let stream = stream.ok_or_else(|| row.field("tid", "is missing".to_owned()))?;
        // Called ms, but 21 of them fit into 23 µs.
        if let Some(ns) = args
            .text("Aicore Time(ms)")
            .and_then(|us| us_to_ns(&us).ok())
        {
            self.timeline.core_times.insert((span.start, stream), ns);
        }
        self.timeline.tasks.push(DeviceTask {
            name: self.timeline.names.intern(&name),
            task_type: self.timeline.names.intern(&task_type),
            kind,
            engine: Engine::of_task_type(&task_type, kind),
            stream,
            task: args.small_id(&["Task Id"])?,
            context: args.small_id(&["Subtask Id"])?,
            model: args.small_id(&["Model Id"])?,
            span,
            connection: connection(&args)?,
            launch: None,
            framework_op: None,
            detail: None,
            event: None,
        });
        Ok(())
    }

    fn hccl(&mut self, row: &Row<'_>) -> Result<(), TraceError> {
        let args = row.nested("args")?;
        let thread = row.id(&["tid"])?.unwrap_or_default();
        let name = row.needed("name")?;
        let span = self.span(row)?;
        let names = &mut self.timeline.names;
        // Known when all threads are named.
        let group = Name::default();
        let interned = |names: &mut Names, key: &str| args.text(key).map(|t| names.intern(&t));
        // A plane's row says what it moves or signals; a collective's does not.
        if !args.object().has("notify_id") && !args.object().has("task type") {
            let collective = Collective {
                name: names.intern(&name),
                group,
                group_id: None,
                connection: connection(&args)?,
                model: args.small_id(&["model id"])?,
                algorithm: interned(names, "alg_type"),
                data_type: interned(names, "data_type"),
                count: args.id(&["count"])?,
                span,
                framework_op: None,
                times: None,
            };
            self.timeline.collectives.push((thread, collective));
            return Ok(());
        }
        let kind = PlaneKind::of(&name);
        let is_notify = matches!(kind, PlaneKind::NotifyRecord | PlaneKind::NotifyWait);
        let stream = args.small_id(&["stream id"])?;
        let plane = PlaneTask {
            kind,
            name: names.intern(&name),
            group,
            plane: 0,
            // Transfers of 910A have a rounded "none" here, which is no id.
            notify: match is_notify {
                true => args.id(&["notify_id"])?.filter(|&id| id != NO_NOTIFY),
                false => None,
            },
            source: args.small_id(&["src rank"])?,
            destination: args.small_id(&["dst rank"])?,
            bytes: args.id(&["size(Byte)"])?,
            transport: interned(names, "transport type"),
            link: interned(names, "link type"),
            stream: stream.ok_or_else(|| row.field("stream id", "is missing".to_owned()))?,
            task: args.small_id(&["task id"])?,
            context: args.small_id(&["context id"])?,
            span,
            device_task: None,
            collective: None,
        };
        self.timeline.planes.push((thread, plane));
        Ok(())
    }

    fn overlap(&mut self, row: &Row<'_>) -> Result<(), TraceError> {
        let lane = match row.needed("name")?.as_ref() {
            "Computing" => OracleLane::Computing,
            "Communication" => OracleLane::Communication,
            "Communication(Not Overlapped)" => OracleLane::NotOverlapped,
            "Free" => OracleLane::Free,
            _ => return Ok(()),
        };
        let span = self.span(row)?;
        self.timeline.overlap.push(OracleSpan { lane, span });
        Ok(())
    }

    fn flow(&mut self, row: &Row<'_>) -> Result<bool, TraceError> {
        let category = row.text("cat").unwrap_or_default();
        let is_launch = category == "HostToDevice";
        if !is_launch && category != "async_npu" {
            return Ok(true);
        }
        let is_start = row.needed("ph")? == "s";
        let process = self.process(row)?;
        let lane = self.lanes.get(&process).copied();
        let lane = match lane {
            // Starts lie on the host, whatever its process is called.
            _ if is_start => Lane::Ignored,
            Some(lane) => lane,
            None => return Ok(false),
        };
        let id = self.timeline.names.intern(&row.needed("id")?);
        let thread = row.id(&["tid"])?.unwrap_or_default();
        let at = row.time("ts")?;
        self.in_range(row, at)?;
        let timeline = &mut self.timeline;
        let flows = if is_launch {
            &mut timeline.launches
        } else {
            &mut timeline.framework
        };
        if is_start {
            // The same arrow may be written twice; the first counts.
            flows.starts.entry(id).or_insert(HostPoint { thread, at });
        } else {
            flows.ends.push((id, lane, thread, at));
        }
        Ok(true)
    }

    fn counter(&mut self, row: &Row<'_>) -> Result<bool, TraceError> {
        if row.object().raw("name").map(text).as_deref() != Some("AI Core Freq") {
            return Ok(true);
        }
        let args = row.nested("args")?;
        let mhz = args
            .text("MHz")
            .and_then(|mhz| mhz.trim().parse::<f64>().ok());
        // Saturates; a clock beyond u32 MHz is no clock.
        if let Some(mhz) = mhz.filter(|mhz| *mhz > 0.0).map(|mhz| mhz as u32) {
            let (low, high) = self.timeline.core_mhz.unwrap_or((mhz, mhz));
            self.timeline.core_mhz = Some((low.min(mhz), high.max(mhz)));
        }
        Ok(true)
    }
}

/// The connection id of a row, if it has one.
fn connection(args: &Row<'_>) -> Result<Option<u64>, TraceError> {
    let id = args.id(&["connection_id"])?;
    Ok(id.filter(|&id| id != NO_CONNECTION))
}
