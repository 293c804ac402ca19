//! The executor's own time per op: `cargo bench -p ascsim-exec`.
//!
//! `null` does nothing, so that what is left is the executor's; `emulator` goes through the `acl`
//! backend and contains what the emulator takes.

#[path = "../tests/submission/layers.rs"]
mod layers;

use std::ffi::OsStr;
use std::hint::black_box;
use std::sync::Arc;

use ascsim_exec::acl::Acl;
use ascsim_exec::{AclBackend, Backend, Bindings, Checked, Executor, Mode, NullBackend, Silent};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use layers::{LAYERS, certificate, schedule};

fn measure<B: Backend>(criterion: &mut Criterion, name: &str, backend: B) {
    let schedule = schedule();
    let certificate = certificate(&schedule);
    let checked = Checked::new(&schedule, &certificate).expect("certified");
    let made = Executor::new(&checked, backend, Bindings::default(), Mode::Eager, 10_000);
    let mut executor = made.expect("prepared");
    let mut group = criterion.benchmark_group("submission");
    group.throughput(Throughput::Elements(6 * LAYERS as u64));
    group.bench_function(name, |bencher| {
        bencher.iter(|| black_box(executor.run_step(&mut Silent)).expect("a step"));
    });
    group.finish();
}

fn submission(criterion: &mut Criterion) {
    let null = NullBackend::of(&certificate(&schedule()));
    measure(criterion, "null", null);
    let acl = Acl::open(Some(OsStr::new(&ascsim_tests::emulator()))).expect("the emulator");
    acl.emulator_configure("clock=virtual").expect("settings");
    let backend = AclBackend::new(Arc::new(acl), 0).expect("a device");
    measure(criterion, "emulator", backend);
}

criterion_group!(benches, submission);
criterion_main!(benches);
