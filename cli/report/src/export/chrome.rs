//! Chrome trace events in the lanes of a `torch_npu` profile (facts/traces.md 2.1): a process
//! `Ascend Hardware` per rank with a thread per stream, and a process `CANN` with the host threads.

use std::io::{self, Write};

use ascsim_studies::{LaneKind, LinkKind, Row, StepTimeline};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Writes the timeline as a JSON array, one event a line.
pub(super) fn write(step: &StepTimeline, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { out, first: true };
    processes(step, &mut events)?;
    for row in &step.rows {
        events.put(&event(step, row)?)?;
    }
    for (id, link) in step.links.iter().enumerate() {
        let (from, to) = (&step.rows[link.from as usize], &step.rows[link.to as usize]);
        let (start, end) = match link.kind {
            // The reader takes a launch from the start of the call to the start of the task.
            LinkKind::Launch => (from.start_ns, to.start_ns),
            LinkKind::Collective => (from.start_ns, to.end_ns),
            LinkKind::Event | LinkKind::Notify | LinkKind::Value => (from.end_ns, to.end_ns),
        };
        let category = match link.kind {
            LinkKind::Launch => "HostToDevice",
            other => other.name(),
        };
        for (phase, row, at) in [("s", from, start), ("f", to, end)] {
            let (pid, tid) = place(step, row.lane);
            events.put(&Flow {
                ph: phase,
                cat: category,
                name: category,
                id: &id.to_string(),
                pid,
                tid,
                ts: micros(at)?,
                bp: (phase == "f").then_some("e"),
            })?;
        }
    }
    events.end()
}

/// A task or call.
#[derive(Serialize)]
struct Complete<'a> {
    ph: &'static str,
    name: &'a str,
    pid: u32,
    tid: u32,
    ts: Box<RawValue>,
    dur: Box<RawValue>,
    args: Value,
}

/// One end of an arrow.
#[derive(Serialize)]
struct Flow<'a> {
    ph: &'static str,
    cat: &'static str,
    name: &'static str,
    id: &'a str,
    pid: u32,
    tid: u32,
    ts: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
}

struct Events<'a> {
    out: &'a mut dyn Write,
    first: bool,
}

impl Events<'_> {
    fn put(&mut self, event: &impl Serialize) -> io::Result<()> {
        self.out
            .write_all(if self.first { b"[\n" } else { b",\n" })?;
        self.first = false;
        serde_json::to_writer(&mut *self.out, event)?;
        Ok(())
    }

    fn end(self) -> io::Result<()> {
        self.out
            .write_all(if self.first { b"[]\n" } else { b"\n]\n" })
    }
}

/// Names the processes and threads.
fn processes(step: &StepTimeline, events: &mut Events<'_>) -> io::Result<()> {
    let mut named = std::collections::BTreeSet::new();
    for (at, lane) in (0_u32..).zip(&step.lanes) {
        let (pid, tid) = place(step, at);
        let is_host = lane.kind == LaneKind::Thread;
        if named.insert(pid) {
            let name = if is_host { "CANN" } else { "Ascend Hardware" };
            let label = if is_host {
                format!("CPU of rank {}", lane.rank)
            } else {
                format!("NPU {}", lane.rank)
            };
            for (what, args) in [
                ("process_name", json!({"name": name})),
                ("process_labels", json!({"labels": label})),
                ("process_sort_index", json!({"sort_index": pid})),
            ] {
                events
                    .put(&json!({"ph": "M", "name": what, "pid": pid, "tid": 0, "args": args}))?;
            }
        }
        let name = match lane.kind {
            LaneKind::Stream => format!("Stream {}", lane.name),
            LaneKind::Parts => lane.name.clone(),
            LaneKind::Thread => format!("Thread {}", lane.name),
        };
        for (what, args) in [
            ("thread_name", json!({"name": name})),
            ("thread_sort_index", json!({"sort_index": tid})),
        ] {
            events.put(&json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}))?;
        }
    }
    Ok(())
}

/// Process and thread of a lane. The host of a rank comes before its device.
fn place(step: &StepTimeline, lane: u32) -> (u32, u32) {
    let at = &step.lanes[lane as usize];
    let pid = 2 * at.rank + u32::from(at.kind != LaneKind::Thread);
    (pid, lane)
}

fn event<'a>(step: &'a StepTimeline, row: &Row) -> io::Result<Complete<'a>> {
    let (pid, tid) = place(step, row.lane);
    let is_call = step.lanes[row.lane as usize].kind == LaneKind::Thread;
    let mut args = json!({ "op": step.text(row.op), "kind": step.text(row.kind) });
    if is_call {
        args["level"] = json!("node");
    } else {
        args["Task Type"] = json!(task_type(step, row));
        args["Physic Stream Id"] = json!(tid);
        args["issued_ns"] = json!(row.issued_ns);
        args["ready_ns"] = json!(row.ready_ns);
    }
    for (key, id) in [
        ("tags", row.tags),
        ("cores", row.cores),
        ("duration from", row.provenance),
        ("moves", row.moves),
    ] {
        if id != 0 {
            args[key] = json!(step.text(id));
        }
    }
    if row.critical_ns > 0 {
        args["critical_ns"] = json!(row.critical_ns);
    }
    Ok(Complete {
        ph: "X",
        name: step.text(row.name),
        pid,
        tid,
        ts: micros(row.start_ns)?,
        dur: micros(row.len_ns())?,
        args,
    })
}

/// The task type that a profile gives such a task.
fn task_type(step: &StepTimeline, row: &Row) -> &'static str {
    match step.text(row.kind) {
        "kernel" | "super_kernel" => match (row.engines & Row::AIC, row.engines & Row::AIV) {
            (0, 0) => "AI_CPU",
            (_, 0) => "AI_CORE",
            (0, _) => "AI_VECTOR_CORE",
            _ => "MIX_AIC",
        },
        "copy" | "prefetch" => "SDMA_SQE",
        "record" => "EVENT_RECORD_SQE",
        "wait" => "EVENT_WAIT_SQE",
        "event_reset" => "EVENT_RESET_SQE",
        "notify_record" => "NOTIFY_RECORD_SQE",
        "value_write" => "WRITE_VALUE_SQE",
        "notify_wait" => "NOTIFY_WAIT_SQE",
        "collective" => "COMMUNICATION",
        _ => "OTHER",
    }
}

/// µs with three decimals, as a number that is written exactly so: a float could not hold every ns.
fn micros(ns: i64) -> io::Result<Box<RawValue>> {
    let size = ns.unsigned_abs();
    let sign = if ns < 0 { "-" } else { "" };
    let text = format!("{sign}{}.{:03}", size / 1000, size % 1000);
    RawValue::from_string(text).map_err(io::Error::from)
}
