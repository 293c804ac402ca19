//! How long a check of a million ops takes, and how much memory: 64 streams, 200,000 events, buffers
//! declared. `cargo run --release -p ascsim-check --example million`.

use std::time::Instant;

use ascsim_check::{Target, check};
use ascsim_schedules::builder::*;
use ascsim_schedules::flat::Flat;
use ascsim_schedules::hash::structure_hash;
use ascsim_schedules::order::Order;
use ascsim_schedules::{Op, Schedule};

const OPS: usize = 1_000_000;
const STREAMS: usize = 64;

/// Five ops in a row: two kernels and a record on a stream, a wait and a kernel on the next. Each
/// kernel reads what the one before it wrote, over streams too.
fn schedule() -> Schedule {
    let mut builder = ScheduleBuilder::new("million");
    let mut ops: Vec<Op> = Vec::with_capacity(OPS);
    for at in 0..OPS / 5 {
        let stream = format!("s{}", at % STREAMS);
        let next = format!("s{}", (at + 1) % STREAMS);
        let event = format!("e{at}");
        let buffer = |at: usize| format!("b{}", at % (4 * STREAMS));
        ops.push(
            kernel(format!("k{at}"), "K")
                .on(&*stream)
                .reads(buffer(at))
                .writes(format!("t{}", at % STREAMS)),
        );
        ops.push(
            kernel(format!("l{at}"), "K")
                .on(&*stream)
                .reads(format!("t{}", at % STREAMS)),
        );
        ops.push(record(&*event).on(&*stream).id(format!("r{at}")));
        ops.push(wait(&*event).on(&*next).id(format!("w{at}")));
        ops.push(
            kernel(format!("m{at}"), "K")
                .on(&*next)
                .writes(buffer(at + 1)),
        );
    }
    for at in 0..4 * STREAMS {
        builder = builder.buffer(format!("b{at}"), 4_096);
    }
    for at in 0..STREAMS {
        builder = builder.buffer(format!("t{at}"), 4_096);
    }
    let builder = builder.program("step", ops).ranks(0..1, "step");
    builder.build().expect("it is valid")
}

/// The most memory the process has had, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1_024
}

/// The processor time that the process has taken, in s: a busy machine does not change it.
fn busy() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.split_whitespace().collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|text| text.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    // In hundredths of a second on every Linux there is.
    (ticks(13) + ticks(14)) / 100.0
}

/// Prints what `work` took.
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (start, before) = (Instant::now(), busy());
    let result = work();
    println!(
        "{what}: {:.2} s, {:.2} s of processor time, peak {} MiB",
        start.elapsed().as_secs_f64(),
        busy() - before,
        peak(),
    );
    result
}

fn main() {
    let schedule = schedule();
    println!("schedule: peak {} MiB", peak());
    let target = Target::default();
    let report = timed("check", || check(&schedule, &target).expect("it unrolls"));
    println!(
        "{} instances, {} errors, {} warnings, races {:?}",
        report.instances, report.errors, report.warnings, report.races,
    );
    let flat = timed("of which unrolling", || {
        Flat::new(&schedule).expect("it unrolls")
    });
    timed("of which the order", || Order::new(&flat, &target.limits));
    timed("of which the hash", || structure_hash(&schedule));
    for finding in report.findings.iter().take(3) {
        println!("{}: {}", finding.rule.code(), finding.message);
    }
}
