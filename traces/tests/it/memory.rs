//! Memory: a reader keeps rows and not JSON. Measured by hand:
//!
//! ```text
//! cargo test -p ascsim-traces --test it memory -- --ignored --nocapture --test-threads 1
//! ```

use std::fs;

use ascsim_traces::model::{DeviceTask, Engine, HostCall, HostKind, TaskKind};
use ascsim_traces::time::Span;
use ascsim_traces::write::{Form, write};
use ascsim_traces::{Trace, read, read_all};

/// The most memory that this process ever held, bytes (Linux).
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    kilobytes.and_then(|text| text.parse::<u64>().ok()).unwrap() * 1024
}

/// Forgets the peak so far.
fn reset_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// A rank with `count` tasks on four streams, each with its call.
fn many(rank: u32, count: i64) -> Trace {
    let mut trace = Trace {
        epoch_ns: 1_700_000_000_000_000_000,
        ..Trace::default()
    };
    trace.meta.rank = Some(rank);
    let kernel = trace.names.intern("AI_CORE");
    let launch = trace.names.intern("Node@launch");
    for at in 0..count {
        let name = trace.names.intern(&format!("MatMul_{}", at % 500));
        let span = |start| Span {
            start,
            end: start + 900,
        };
        trace.host.push(HostCall {
            kind: HostKind::Node,
            name: launch,
            thread: 7,
            span: span(at * 1_000),
            connection: Some(at as u64 + 1),
            correlation: None,
        });
        trace.tasks.push(DeviceTask {
            name,
            task_type: kernel,
            kind: TaskKind::Kernel,
            engine: Engine::AiCore,
            stream: (at % 4) as u32,
            task: Some((at % 65_536) as u32),
            context: None,
            model: None,
            span: span(at * 1_000 + 5_000),
            connection: Some(at as u64 + 1),
            launch: None,
            framework_op: None,
            detail: None,
            event: None,
        });
    }
    trace
}

#[test]
#[ignore = "writes and reads 300 MB"]
fn memory_of_a_300_mb_timeline_is_that_of_its_rows() {
    let run = tempfile::tempdir().unwrap();
    write(&many(0, 775_000), run.path(), Form::Text).unwrap();
    let file = run.path().join("ASCEND_PROFILER_OUTPUT/trace_view.json");
    let bytes = fs::metadata(&file).unwrap().len();
    assert!(bytes >= 300_000_000, "{bytes}");
    reset_peak();
    let before = peak();
    let trace = read(run.path()).unwrap();
    let used = peak() - before;
    let rows =
        trace.tasks.len() * size_of::<DeviceTask>() + trace.host.len() * size_of::<HostCall>();
    println!("{bytes} bytes of JSON, {rows} of rows, {used} at most to read them");
    assert!(used < bytes, "{used}");
}

#[test]
#[ignore = "writes and reads 16 ranks"]
fn memory_of_16_ranks_is_that_of_their_rows() {
    let run = tempfile::tempdir().unwrap();
    let mut bytes = 0;
    for rank in 0..16 {
        let folder = run.path().join(format!("rank{rank}"));
        write(&many(rank, 48_000), &folder, Form::Text).unwrap();
        let file = folder.join("ASCEND_PROFILER_OUTPUT/trace_view.json");
        bytes += fs::metadata(&file).unwrap().len();
    }
    reset_peak();
    let before = peak();
    let traces = read_all(run.path()).unwrap();
    let used = peak() - before;
    let rows: usize = traces
        .iter()
        .map(|t| t.tasks.len() * size_of::<DeviceTask>() + t.host.len() * size_of::<HostCall>())
        .sum();
    println!("{bytes} bytes of JSON, {rows} of rows, {used} at most to read them");
    assert_eq!(traces.len(), 16);
    assert!(used < bytes, "{used}");
}
