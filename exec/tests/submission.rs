//! The executor's own time and memory per op: on a backend that does nothing.
#![expect(unsafe_code, reason = "a global allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use ascsim_exec::{Bindings, Checked, DeviceInfo, Executor, Mode, NullBackend, Silent};
use ascsim_schedules::hash::structure_hash;
use ascsim_schedules::{
    Certificate, Event, Extra, Kernel, Limits, Op, OpKind, Program, RankGroup, Record, Schedule,
    Stream, Wait,
};

/// Counts what the process allocates.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LAYERS: usize = 500;

/// A schedule of two streams with a fork, a kernel on each, and a join, many times over.
fn schedule() -> Schedule {
    let stream = |name: &str| Stream {
        name: name.into(),
        owner: Default::default(),
        priority: None,
        core_limit: None,
        extra: Extra::default(),
    };
    let mut ops = Vec::new();
    for layer in 0..LAYERS {
        let mut add = |what: &str, stream: &str, kind| {
            let mut op = Op::new(format!("{what}{layer}"), kind);
            op.stream = Some(stream.into());
            ops.push(op);
        };
        let kernel = || {
            let (name, extra) = ("Mix".into(), Extra::default());
            OpKind::Kernel(Kernel {
                name,
                dynamic: false,
                extra,
            })
        };
        let record = |event: &str| {
            let (event, extra) = (event.into(), Extra::default());
            OpKind::Record(Record {
                event,
                external: false,
                extra,
            })
        };
        let wait = |event: &str| {
            let (event, extra) = (event.into(), Extra::default());
            OpKind::Wait(Wait {
                event,
                external: false,
                timeout_s: None,
                extra,
            })
        };
        add("fork", "main", record("fork"));
        add("forked", "side", wait("fork"));
        add("side", "side", kernel());
        add("main", "main", kernel());
        add("join", "side", record("join"));
        add("joined", "main", wait("join"));
    }
    let event = |name: &str| Event {
        name: name.into(),
        kind: Default::default(),
        extra: Extra::default(),
    };
    Schedule {
        name: "layers".into(),
        streams: vec![stream("main"), stream("side")],
        events: vec![event("fork"), event("join")],
        programs: vec![Program {
            name: "step".into(),
            capture: None,
            ops,
            extra: Extra::default(),
        }],
        ranks: vec![RankGroup {
            first: 0,
            count: 1,
            program: Some("step".into()),
            devices: Vec::new(),
            overrides: Vec::new(),
            extra: Extra::default(),
        }],
        ..Schedule::default()
    }
}

#[test]
fn a_step_allocates_nothing_and_an_op_costs_at_most_1500_ns() {
    let schedule = schedule();
    let certificate = Certificate {
        format: Certificate::FORMAT.into(),
        structure: structure_hash(&schedule).to_string(),
        checker: "test".into(),
        profile: "test".into(),
        device_class: String::new(),
        limits: Limits::default(),
        findings: Vec::new(),
        extra: Extra::default(),
    };
    let checked = Checked::new(&schedule, &certificate).unwrap();
    let info = DeviceInfo {
        aic: 24,
        aiv: 48,
        streams: 99,
        events: 9_999,
        ..Default::default()
    };
    let (backend, bindings) = (NullBackend::new(info), Bindings::default());
    let mut executor = Executor::new(&checked, backend, bindings, Mode::Eager, 1_000).unwrap();
    executor.run_step(&mut Silent).unwrap();
    // The least of several, as other processes share the machine.
    let mut best = u128::MAX;
    for _ in 0..50 {
        let before = (ALLOCATIONS.load(Relaxed), Instant::now());
        executor.run_step(&mut Silent).unwrap();
        best = best.min(before.1.elapsed().as_nanos());
        assert_eq!(ALLOCATIONS.load(Relaxed), before.0, "a step allocates");
    }
    let ops = (6 * LAYERS) as u128;
    assert_eq!(u128::from(executor.backend().submitted), 51 * ops);
    println!("{} ns per 1,000 ops", best * 1_000 / ops);
    assert!(best <= 1_500 * ops, "{best} ns for {ops} ops");
}
