//! What submission costs in memory: nothing, once everything is prepared. `benches/submission.rs`
//! measures the time.
#![expect(unsafe_code, reason = "a global allocator that counts")]

mod layers;

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ascsim_exec::acl::Acl;
use ascsim_exec::{AclBackend, Backend, Bindings, Checked, Executor, Mode, NullBackend, Silent};
use layers::{LAYERS, certificate, schedule};

/// Counts what the test and the executor allocate; the emulator is a library of its own, with its own
/// allocator.
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

/// Runs 20 steps after a first one, and returns the backend and what they allocated.
fn allocated<B: Backend>(backend: B, mode: Mode) -> (B, u64) {
    let schedule = schedule();
    let certificate = certificate(&schedule);
    let checked = Checked::new(&schedule, &certificate).unwrap();
    let made = Executor::new(&checked, backend, Bindings::default(), mode, 10_000);
    let mut executor = made.unwrap_or_else(|error| panic!("{error}"));
    executor.run_step(&mut Silent).unwrap();
    let before = ALLOCATIONS.load(Relaxed);
    for _ in 0..20 {
        executor.run_step(&mut Silent).unwrap();
    }
    let count = ALLOCATIONS.load(Relaxed) - before;
    (executor.close().unwrap(), count)
}

/// One test, since what another one allocates would be counted too.
#[test]
fn a_step_allocates_nothing() {
    let schedule = schedule();
    let certificate = certificate(&schedule);
    let null = NullBackend::of(&certificate);
    let (null, count) = allocated(null, Mode::Eager);
    assert_eq!((null.submitted, count), (21 * 6 * LAYERS as u64, 0));

    let acl = Acl::open(Some(OsStr::new(&ascsim_tests::emulator()))).unwrap();
    acl.emulator_configure("clock=virtual").unwrap();
    let acl = Arc::new(acl);
    for mode in [Mode::Eager, Mode::Graph] {
        let backend = AclBackend::new(Arc::clone(&acl), 0).unwrap();
        let (_, count) = allocated(backend, mode);
        assert_eq!(count, 0, "{mode:?}");
    }
}
