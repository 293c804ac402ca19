//! The executor on the emulator: random schedules that are ordered by construction leave the bytes
//! of a serial reference and keep every order in the trace; what is not certified is refused.
#![expect(
    unsafe_code,
    reason = "registers a kernel of its own, which works on the memory of the emulator"
)]

#[path = "executor/generate.rs"]
mod generate;

use std::collections::BTreeMap;
use std::ffi::{OsStr, c_void};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use ascsim_exec::acl::{Acl, Code};
use ascsim_exec::{
    AclBackend, Backend, Bindings, Checked, Command, DeviceInfo, Executor, Mode, NullBackend,
    Refusal, RunError, Silent,
};
use ascsim_schedules::flat::{Flat, InstanceId};
use ascsim_schedules::hash::structure_hash;
use ascsim_schedules::order::Order;
use ascsim_schedules::{Certificate, CertifiedFinding, Limits, OpKind, Schedule, Severity};
use generate::{BYTES, Case, Signals};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// One library for the process, with the virtual clock; its tests run one after the other.
static ACL: LazyLock<Mutex<Arc<Acl>>> = LazyLock::new(|| {
    let path = ascsim_tests::emulator();
    let acl = Acl::open(Some(OsStr::new(&path))).expect("the emulator opens");
    Mutex::new(Arc::new(acl))
});

/// Runs `body` with a fresh world.
fn with_acl<T>(settings: &str, body: impl FnOnce(&Arc<Acl>) -> T) -> T {
    let acl = ACL.lock().unwrap_or_else(PoisonError::into_inner);
    acl.emulator_configure(&format!("clock=virtual,{settings}"))
        .expect("settings");
    acl.init().expect("aclInit");
    // SAFETY: `mix` takes what the generated schedules launch it with.
    unsafe { acl.emulator_register_kernel("mix", mix, std::ptr::null_mut()) }.expect("register");
    let result = body(&acl);
    acl.finalize().expect("aclFinalize");
    result
}

/// `out[i] = 31 out[i] + in[i] + k` over the bytes of both buffers.
unsafe extern "C" fn mix(arguments: *const c_void, bytes: usize, _: u32, _: *mut c_void) {
    assert_eq!(bytes, 24);
    // SAFETY: three words, as checked; the first two are addresses of buffers of `BYTES` bytes, and
    // nothing else of the emulator runs meanwhile.
    unsafe {
        let words = std::slice::from_raw_parts(arguments.cast::<u64>(), 3);
        let out = std::ptr::with_exposed_provenance_mut::<u8>(words[0] as usize);
        let from = std::ptr::with_exposed_provenance::<u8>(words[1] as usize);
        for at in 0..BYTES {
            let value = generate::mixed(*out.add(at), *from.add(at), words[2]);
            *out.add(at) = value;
        }
    }
}

fn certificate(schedule: &Schedule) -> Certificate {
    Certificate {
        format: Certificate::FORMAT.into(),
        structure: structure_hash(schedule).to_string(),
        checker: "test".into(),
        profile: "test".into(),
        device_class: "Ascend910_93".into(),
        limits: Limits::default(),
        findings: Vec::new(),
        extra: Default::default(),
    }
}

fn executor(
    schedule: &Schedule,
    acl: &Arc<Acl>,
    mode: Mode,
) -> Result<Executor<AclBackend>, RunError> {
    let certificate = certificate(schedule);
    let checked = Checked::new(schedule, &certificate)?;
    let backend = AclBackend::new(Arc::clone(acl), 0).expect("the backend");
    Executor::new(&checked, backend, Bindings::default(), mode, 10_000)
}

/// Runs two steps and compares bytes and order with the reference.
fn check(case: &Case, acl: &Arc<Acl>, mode: Mode) {
    let mut executor = executor(&case.schedule, acl, mode).unwrap_or_else(|e| panic!("{e}"));
    let mut memory = case.initial();
    for ((rank, name), bytes) in &memory {
        if let Some(buffer) = executor.buffer(*rank, name) {
            executor.backend().write(buffer, 0, bytes).unwrap();
        }
    }
    acl.emulator_trace().unwrap();
    let flat = Flat::new(&case.schedule).unwrap();
    let order = Order::new(&flat, &Limits::default());
    let ids: BTreeMap<String, InstanceId> = flat.ids().map(|id| (flat.path(id), id)).collect();
    for (first, second) in case.ordered_pairs() {
        assert!(order.happens_before(ids[first], ids[second]));
    }
    for _ in 0..2 {
        executor
            .run_step(&mut Silent)
            .unwrap_or_else(|e| panic!("{e}"));
        case.run_serially(&mut memory);
        let mut spans = BTreeMap::new();
        for record in acl.emulator_trace().unwrap() {
            if let Some(tag) = record.tag.checked_sub(1) {
                let op = InstanceId::new(usize::try_from(tag & u64::from(u32::MAX)).unwrap());
                // A wait takes place when it is met; the trace shows since when it waited.
                let waits = matches!(
                    flat[op].op.kind,
                    OpKind::Wait(_) | OpKind::NotifyWait(_) | OpKind::ValueWait(_)
                );
                let start = if waits {
                    record.end_ns
                } else {
                    record.start_ns
                };
                spans.insert(op, (start, record.end_ns));
            }
        }
        for (first, (_, end)) in &spans {
            for (second, (start, _)) in &spans {
                assert!(
                    !order.happens_before(*first, *second) || end <= start,
                    "an order is not kept: {} before {}",
                    flat.path(*first),
                    flat.path(*second),
                );
            }
        }
    }
    for ((rank, name), expected) in &memory {
        if let Some(buffer) = executor.buffer(*rank, name) {
            let mut found = vec![0; BYTES];
            executor.backend().read(buffer, 0, &mut found).unwrap();
            assert_eq!(&found, expected, "rank {rank}, buffer {name}");
        }
    }
    executor.close().unwrap();
}

fn property(mode: Mode, signals: Signals, cases: u32) {
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let choices = prop::collection::vec(any::<u32>(), 40 * 6);
    let outcome = runner.run(&choices, |choices| {
        let case = Case::new(&choices, signals);
        with_acl("", |acl| check(&case, acl, mode));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn random_schedules_leave_the_bytes_of_a_serial_run_when_submitted_eagerly() {
    property(Mode::Eager, Signals::All, 500);
    // Without the host in between, more overlaps.
    property(Mode::Eager, Signals::Queued, 500);
}

#[test]
fn random_schedules_leave_the_bytes_of_a_serial_run_when_replayed_as_graphs() {
    property(Mode::Graph, Signals::Capturable, 1_000);
}

fn some_case() -> Case {
    let choices: Vec<u32> = (0..240_u32)
        .map(|i| i.wrapping_mul(2_654_435_761))
        .collect();
    Case::new(&choices, Signals::All)
}

#[test]
fn nothing_but_what_was_certified_is_run() {
    let case = some_case();
    let mut other = certificate(&case.schedule);
    // Another stream for one op is another structure; another name is not.
    let mut changed = case.schedule.clone();
    changed.name = "renamed".into();
    assert!(Checked::new(&changed, &other).is_ok());
    let op = &mut changed.programs[0].ops[0];
    op.stream = Some(
        if op.stream == Some("s0".into()) {
            "s1"
        } else {
            "s0"
        }
        .into(),
    );
    assert!(matches!(
        Checked::new(&changed, &other),
        Err(Refusal::Structure { .. })
    ));
    other.findings.push(CertifiedFinding {
        severity: Severity::Error,
        rule: "deadlock".into(),
        message: "a cycle".into(),
    });
    assert!(matches!(
        Checked::new(&case.schedule, &other),
        Err(Refusal::Findings { .. })
    ));
    other.findings[0].severity = Severity::Warning;
    other.format = "ascsim.certificate/9".into();
    assert!(matches!(
        Checked::new(&case.schedule, &other),
        Err(Refusal::Format { .. })
    ));
    other.format = Certificate::FORMAT.into();
    let class = Some("Ascend910_9391");
    for (class, aiv, streams, refused) in [
        (class, 48, 1_000, false),
        (Some("Ascend910B4"), 48, 1_000, true),
        (class, 40, 1_000, true),
        (class, 48, 1, true),
    ] {
        let info = DeviceInfo {
            device: 0,
            soc: class.unwrap_or_default().into(),
            aic: 24,
            aiv,
            streams,
            events: 65_536,
        };
        let checked = Checked::new(&case.schedule, &other).unwrap();
        let backend = NullBackend::new(info);
        let made = Executor::new(&checked, backend, Bindings::default(), Mode::Eager, 1_000);
        assert_eq!(matches!(made, Err(RunError::Refused(_))), refused);
    }
}

#[test]
fn a_failed_submission_names_the_op_stops_everything_and_leaves_no_stream_behind() {
    let case = some_case();
    with_acl("fail=aclrtLaunchKernelWithHostArgs:3:507899", |acl| {
        acl.set_device(0).unwrap();
        let before = acl.available_streams().unwrap();
        let mut executor = executor(&case.schedule, acl, Mode::Eager).unwrap();
        let kernels = executor.plan().steps.iter();
        let third = kernels
            .filter(|step| matches!(step.command, Command::Kernel { .. }))
            .nth(2)
            .expect("the case has three kernels")
            .op;
        let expected = executor.path(third).unwrap().to_owned();
        match executor.run_step(&mut Silent) {
            Err(RunError::Submit { op, source, .. }) => {
                assert_eq!(op, expected);
                assert!(source.to_string().contains("507899"), "{source}");
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(
            executor.run_step(&mut Silent),
            Err(RunError::Stopped)
        ));
        drop(executor.close().unwrap());
        acl.set_device(0).unwrap();
        assert_eq!(acl.available_streams().unwrap(), before);
        // The same process can run it afterwards.
        check(&case, acl, Mode::Eager);
    });
}

#[test]
fn a_task_that_hangs_or_fails_ends_the_step_in_bounded_time() {
    let case = some_case();
    let op = case.kernel();
    let tag = 1 + with_acl("", |acl| {
        let executor = executor(&case.schedule, acl, Mode::Eager).unwrap();
        let steps = &executor.plan().steps;
        let step = steps
            .iter()
            .find(|step| executor.path(step.op) == Some(op.as_str()))
            .unwrap();
        (step.rank as u64) << 32 | u64::from(step.op)
    });
    for (fault, code) in [
        (format!("hang_task={tag}"), Code::STREAM_SYNC_TIMEOUT),
        (
            format!("fail_task={tag}:507035"),
            Code::VECTOR_CORE_EXCEPTION,
        ),
    ] {
        with_acl(&fault, |acl| {
            let mut executor = executor(&case.schedule, acl, Mode::Eager).unwrap();
            let error = executor.run_step(&mut Silent).unwrap_err().to_string();
            assert!(error.contains(&code.0.to_string()), "{error}");
            drop(executor.close().unwrap());
        });
    }
}
