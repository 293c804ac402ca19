//! The same schedule simulated, and run by the executor on the emulator's virtual clock with the same
//! durations: every task takes place at the same time, to the ns.
//!
//! Gaps, latencies and host times are 0 in both. Where nothing contends, kernels name no cores; where
//! cores do, each kernel takes all cores of its engine at once, so that both models hand engines out
//! the same way.
#![expect(
    unsafe_code,
    reason = "registers a kernel that does nothing; only times count here"
)]

#[path = "../../../exec/tests/executor/generate.rs"]
#[expect(
    dead_code,
    reason = "bytes and their reference are for the executor's own tests"
)]
mod generate;

use std::collections::BTreeMap;
use std::ffi::{OsStr, c_void};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use ascsim_exec::acl::Acl;
use ascsim_exec::{AclBackend, Backend, Bindings, Checked, Executor, Mode, Silent};
use ascsim_schedules::flat::{Flat, InstanceId};
use ascsim_schedules::hash::structure_hash;
use ascsim_schedules::{Certificate, Cores, Limits, OpKind, Schedule, ScheduleMode};
use ascsim_sim::{EngineModel, Options, Origin, simulate};
use generate::{Case, Signals};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// One library for the process; its worlds come one after the other.
static ACL: LazyLock<Mutex<Arc<Acl>>> = LazyLock::new(|| {
    let path = ascsim_tests::emulator();
    let acl = Acl::open(Some(OsStr::new(&path))).expect("the emulator opens");
    Mutex::new(Arc::new(acl))
});

unsafe extern "C" fn nothing(_: *const c_void, _: usize, _: u32, _: *mut c_void) {}

/// Start and end of a task in ns from the start of the step.
type Times = BTreeMap<InstanceId, (u64, u64)>;

/// The tasks of two steps, as the emulator recorded them, and how long each step took.
fn emulated(schedule: &Schedule) -> [(Times, u64); 2] {
    let certificate = Certificate {
        format: Certificate::FORMAT.into(),
        structure: structure_hash(schedule).to_string(),
        checker: "test".into(),
        profile: "test".into(),
        device_class: "Ascend910_93".into(),
        limits: Limits::default(),
        findings: Vec::new(),
        extra: Default::default(),
    };
    let checked = Checked::new(schedule, &certificate).expect("certified");
    let acl = ACL.lock().unwrap_or_else(PoisonError::into_inner);
    acl.emulator_configure("clock=virtual").expect("settings");
    acl.init().expect("aclInit");
    // SAFETY: `nothing` looks at none of its arguments.
    unsafe { acl.emulator_register_kernel("mix", nothing, std::ptr::null_mut()) }.expect("kernel");
    let backend = AclBackend::new(Arc::clone(&acl), 0).expect("the backend");
    let bindings = Bindings::default();
    let executor = Executor::new(&checked, backend, bindings, Mode::Eager, 10_000);
    let mut executor = executor.unwrap_or_else(|error| panic!("{error}"));
    let steps = [(); 2].map(|()| {
        let began = acl.emulator_clock().expect("the clock");
        executor.backend().take_spans().expect("a trace");
        let ran = executor.run_step(&mut Silent);
        ran.unwrap_or_else(|error| panic!("{error}"));
        let spans = executor.backend().take_spans().expect("a trace");
        let times = spans
            .expect("the emulator records")
            .into_iter()
            .map(|span| {
                let op = InstanceId::new(span.op as usize);
                (op, (span.start_ns - began, span.end_ns - began))
            });
        (
            times.collect(),
            acl.emulator_clock().expect("the clock") - began,
        )
    });
    executor.close().expect("everything is given back");
    acl.finalize().expect("aclFinalize");
    steps
}

/// Compares both, task by task.
fn compare(schedule: &Schedule, engines: EngineModel) -> Result<(), TestCaseError> {
    let flat = Flat::new(schedule).expect("a schedule");
    let options = Options {
        engines,
        ..Options::default()
    };
    let simulation = simulate(&flat, &options).unwrap_or_else(|error| panic!("{error}"));
    let timeline = simulation.timeline();
    let ns = |ps: u64| {
        assert_eq!(ps % 1_000, 0, "durations are whole ns");
        ps / 1_000
    };
    for (step, (times, makespan)) in emulated(schedule).into_iter().enumerate() {
        let mut compared = 0;
        for (op, (start, end)) in &times {
            let index = op.index();
            // Whether a wait is queued whose record ends at that very moment is the device's choice.
            if !timeline.was_queued(u32::try_from(index).expect("few ops")) {
                prop_assert!(matches!(flat[*op].op.kind, OpKind::Wait(_)));
                prop_assert_eq!(start, end, "{} waits in vain", flat.path(*op));
                continue;
            }
            let simulated = (ns(timeline.start[index]), ns(timeline.end[index]));
            prop_assert_eq!(
                (*start, *end),
                simulated,
                "step {}: {} emulated, simulated",
                step,
                flat.path(*op)
            );
            compared += 1;
        }
        prop_assert_eq!(compared, timeline.tasks().count(), "tasks of step {}", step);
        prop_assert_eq!(
            makespan,
            ns(timeline.makespan(Origin::Host)),
            "step {}",
            step
        );
    }
    Ok(())
}

fn property(engines: EngineModel, cores: impl Fn(&Cores) -> Option<Cores>) {
    let mut runner = TestRunner::new(Config {
        cases: 500,
        failure_persistence: None,
        ..Config::default()
    });
    let choices = prop::collection::vec(any::<u32>(), 40 * 6);
    let outcome = runner.run(&choices, |choices| {
        // One thread submits for both ranks here and one each in the simulator: what the host waits
        // for between submissions is left out.
        let mut case = Case::new(&choices, Signals::Queued);
        for op in case.schedule.programs.iter_mut().flat_map(|p| &mut p.ops) {
            op.cores = op.cores.as_ref().and_then(&cores);
        }
        compare(&case.schedule, engines)
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn simulator_and_emulator_agree_to_the_ns_where_nothing_contends() {
    property(EngineModel::Unlimited, |_| None);
}

#[test]
fn simulator_and_emulator_agree_to_the_ns_where_kernels_take_turns_on_an_engine() {
    property(EngineModel::Exclusive, |cores| {
        let (aic, aiv) = match cores.aiv % 3 {
            0 => (24, 0),
            1 => (0, 48),
            _ => (24, 48),
        };
        Some(Cores {
            aic,
            aiv,
            mode: ScheduleMode::Batch,
            ..Cores::default()
        })
    });
}
