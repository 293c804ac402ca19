//! Writes small torch_npu text profiles of our own making.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Zero of the synthetic profiles, ns since 1970; 19 digits, as in real ones.
pub(crate) const EPOCH_NS: i64 = 1_800_000_000_000_000_000;

const PYTHON: u64 = 4242;
const CANN: u64 = 100;
const DEVICE: u64 = 101;
const HCCL: u64 = 102;
const OVERLAP: u64 = 103;

/// One task of a synthetic profile. Times in ns from [`EPOCH_NS`].
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) task_type: &'static str,
    /// `Accelerator Core` in the kernel table; `None` for tasks not in it.
    pub(crate) core: Option<&'static str>,
    pub(crate) stream: u32,
    pub(crate) task: u32,
    pub(crate) context: Option<u32>,
    pub(crate) connection: u64,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

/// One CANN call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) level: &'static str,
    pub(crate) thread: u64,
    pub(crate) connection: u64,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

/// One collective.
#[derive(Debug, Clone)]
pub(crate) struct Op {
    pub(crate) name: &'static str,
    pub(crate) connection: u64,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

/// One notify of a collective.
#[derive(Debug, Clone)]
pub(crate) struct Notify {
    pub(crate) is_wait: bool,
    pub(crate) notify: u64,
    pub(crate) source: u32,
    pub(crate) destination: u32,
    pub(crate) stream: u32,
    pub(crate) task: u32,
    pub(crate) context: u32,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

/// A profile to be written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Profile {
    pub(crate) rank: u32,
    pub(crate) l2_cache: bool,
    pub(crate) tasks: Vec<Task>,
    pub(crate) calls: Vec<Call>,
    pub(crate) ops: Vec<Op>,
    pub(crate) notifies: Vec<Notify>,
    /// (number, start, end) of step markers.
    pub(crate) steps: Vec<(u32, i64, i64)>,
    /// Extra rows of the timeline, as they are.
    pub(crate) raw: Vec<String>,
}

/// `ns` from the epoch as the text of a `ts`.
pub(crate) fn ts(ns: i64) -> String {
    ascsim_traces::time::format_us(EPOCH_NS + ns)
}

/// `ns` as the text of a `dur`.
pub(crate) fn dur(start: i64, end: i64) -> String {
    ascsim_traces::time::format_us(end - start)
}

fn id(value: Option<u32>) -> u32 {
    value.unwrap_or(u32::MAX)
}

impl Profile {
    /// Two streams: kernels on both, an event between them, a step marker.
    pub(crate) fn small() -> Self {
        let task = |name, task_type, core, stream, task, start, end| Task {
            name,
            task_type,
            core,
            stream,
            task,
            context: None,
            connection: u64::from(stream) * 100 + u64::from(task),
            start,
            end,
        };
        let call = |name, connection, start| Call {
            name,
            level: if name == "Node@launch" { "node" } else { "acl" },
            thread: 7,
            connection,
            start,
            end: start + 500,
        };
        Self {
            tasks: vec![
                task("MatMul_0", "AI_CORE", Some("AI_CORE"), 2, 1, 10_000, 20_000),
                task(
                    "Gelu_0",
                    "AI_CORE",
                    Some("AI_VECTOR_CORE"),
                    2,
                    2,
                    20_020,
                    25_000,
                ),
                task(
                    "EVENT_RECORD",
                    "EVENT_RECORD_SQE",
                    None,
                    2,
                    3,
                    25_040,
                    25_060,
                ),
                task("EVENT_WAIT", "EVENT_WAIT_SQE", None, 3, 1, 12_000, 25_460),
                task(
                    "Add_0",
                    "AI_VECTOR_CORE",
                    Some("AI_VECTOR_CORE"),
                    3,
                    2,
                    25_480,
                    30_000,
                ),
            ],
            calls: vec![
                call("Node@launch", 201, 1_000),
                call("Node@launch", 202, 2_000),
                call("AscendCL@aclrtRecordEvent", 203, 3_000),
                call("AscendCL@aclrtStreamWaitEvent", 301, 4_000),
                call("Node@launch", 302, 5_000),
            ],
            steps: vec![(1, 0, 6_000)],
            ..Self::default()
        }
    }

    /// [`Profile::small`] with a collective of one record and one wait, and a
    /// launch arrow.
    pub(crate) fn rich() -> Self {
        let mut profile = Self::small();
        profile.ops = vec![Op {
            name: "hcom_allReduce__1_0_1",
            connection: 900,
            start: 24_000,
            end: 40_000,
        }];
        for (context, is_wait) in [(0, false), (1, true)] {
            let (start, end) = (25_000 + i64::from(context), 39_000);
            let name = if is_wait {
                "Notify Wait"
            } else {
                "Write Value"
            };
            profile.tasks.push(Task {
                name,
                task_type: name,
                core: None,
                stream: 4,
                task: 9,
                context: Some(context),
                connection: 900,
                start,
                end,
            });
            profile.notifies.push(Notify {
                is_wait,
                notify: 88,
                source: 0,
                destination: 1,
                stream: 4,
                task: 9,
                context,
                start,
                end,
            });
        }
        for (phase, pid, tid, at) in [("s", CANN, 7, 1_000), ("f", DEVICE, 2, 10_000)] {
            profile.raw.push(format!(
                r#"{{"name":"HostToDevice1","ph":"{phase}","cat":"HostToDevice","id":"1","pid":{pid},"tid":{tid},"ts":"{}"}}"#,
                ts(at)
            ));
        }
        profile
    }

    /// The rows of `trace_view.json`.
    fn rows(&self) -> Vec<String> {
        let mut rows = Vec::new();
        for (start, end, number) in self.steps.iter().map(|&(number, s, e)| (s, e, number)) {
            rows.push(format!(
                r#"{{"ph":"X","name":"ProfilerStep#{number}","pid":{PYTHON},"tid":7,"ts":"{}","dur":{},"cat":"cpu_op","args":{{}}}}"#,
                ts(start),
                dur(start, end)
            ));
        }
        for (pid, name) in [
            (PYTHON, "Python"),
            (CANN, "CANN"),
            (DEVICE, "Ascend Hardware"),
            (HCCL, "HCCL"),
            (OVERLAP, "Overlap Analysis"),
        ] {
            rows.push(format!(
                r#"{{"ph":"M","name":"process_name","pid":{pid},"tid":0,"args":{{"name":"{name}"}}}}"#
            ));
        }
        for (tid, name) in [(0, "Group 0 Communication"), (1, "Plane 0")] {
            rows.push(format!(
                r#"{{"ph":"M","name":"thread_name","pid":{HCCL},"tid":{tid},"args":{{"name":"{name}"}}}}"#
            ));
        }
        rows.extend(self.calls.iter().map(|call| {
            format!(
                r#"{{"name":"{}","ph":"X","pid":{CANN},"tid":{},"ts":"{}","dur":{},"args":{{"Thread Id":{},"level":"{}","connection_id":{}}}}}"#,
                call.name, call.thread, ts(call.start), dur(call.start, call.end), call.thread, call.level, call.connection
            )
        }));
        rows.extend(self.tasks.iter().map(|task| {
            format!(
                r#"{{"name":"{}","ph":"X","pid":{DEVICE},"tid":{},"ts":"{}","dur":{},"args":{{"Model Id":4294967295,"Task Type":"{}","Physic Stream Id":{},"Task Id":{},"Batch Id":0,"Subtask Id":{},"connection_id":{}}}}}"#,
                task.name, task.stream, ts(task.start), dur(task.start, task.end), task.task_type, task.stream, task.task, id(task.context), task.connection
            )
        }));
        rows.extend(self.ops.iter().map(|op| {
            format!(
                r#"{{"name":"{}","ph":"X","pid":{HCCL},"tid":0,"ts":"{}","dur":{},"args":{{"connection_id":{},"model id":4294967295,"data_type":"FP32","alg_type":"MESH","count":64}}}}"#,
                op.name, ts(op.start), dur(op.start, op.end), op.connection
            )
        }));
        rows.extend(self.notifies.iter().map(|notify| {
            format!(
                r#"{{"name":"{}","ph":"X","pid":{HCCL},"tid":1,"ts":"{}","dur":{},"args":{{"notify_id":"{}","stream id":{},"task id":{},"context id":{},"task type":"Notify","src rank":{},"dst rank":{},"transport type":"LOCAL","size(Byte)":0,"link type":"HCCS"}}}}"#,
                if notify.is_wait { "Notify_Wait" } else { "Notify_Record" },
                ts(notify.start), dur(notify.start, notify.end), notify.notify, notify.stream, notify.task, notify.context, notify.source, notify.destination
            )
        }));
        rows.extend(self.raw.iter().cloned());
        rows
    }

    /// The text of `trace_view.json`.
    pub(crate) fn trace_view(&self) -> String {
        format!("[{}]", self.rows().join(", "))
    }

    /// The text of `kernel_details.csv`: CRLF and trailing TABs, as CANN 8 writes.
    pub(crate) fn kernel_details(&self) -> String {
        let mut text = String::from(
            "Step Id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,Input Shapes,Context ID,aicore_time(us),aiv_time(us)\r\n",
        );
        let step = self.steps.first().map_or(0, |step| step.0);
        for task in &self.tasks {
            let Some(core) = task.core else { continue };
            let context = task
                .context
                .map_or("N/A".to_owned(), |context| context.to_string());
            let _ = write!(
                text,
                "{step},4294967295,{},{},{},{},{core},{}\t,{},0,24,0,\"\"\"16,3;16\"\"\",{context},1.5,0.0\r\n",
                task.task,
                task.stream,
                task.name,
                task.name,
                ts(task.start),
                dur(task.start, task.end)
            );
        }
        text
    }

    /// The text of `profiler_info_RANK.json`.
    fn info(&self) -> String {
        format!(
            r#"{{"config":{{"common_config":{{"record_shapes":true}},"experimental_config":{{"_profiler_level":"Level1","_l2_cache":{}}}}},"rank_id":{},"cann_version":"9.0"}}"#,
            self.l2_cache, self.rank
        )
    }

    /// Writes the profile into `folder`.
    pub(crate) fn write(&self, folder: &Path) {
        self.write_with(
            folder,
            self.trace_view().as_bytes(),
            self.kernel_details().as_bytes(),
        );
    }

    /// Writes the profile into `folder`, with other bytes for the two large files.
    pub(crate) fn write_with(&self, folder: &Path, trace_view: &[u8], kernel_details: &[u8]) {
        let output = folder.join("ASCEND_PROFILER_OUTPUT");
        fs::create_dir_all(&output).unwrap();
        fs::write(output.join("trace_view.json"), trace_view).unwrap();
        fs::write(output.join("kernel_details.csv"), kernel_details).unwrap();
        fs::write(
            folder.join(format!("profiler_info_{}.json", self.rank)),
            self.info(),
        )
        .unwrap();
    }
}
