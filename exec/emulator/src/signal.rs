//! What tasks signal and wait for: records, flags, notifies. They outlive the handles of the events
//! and notifies that made them, for as long as a task refers to them (facts/acl.md section 3).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::table::Key;

const PENDING: u64 = u64::MAX;

/// Holds one of a device's event ids until dropped.
#[derive(Debug)]
pub(crate) struct Lease(Arc<AtomicU32>);

impl Lease {
    /// Takes an id, if fewer than `most` are in use.
    pub(crate) fn take(used: &Arc<AtomicU32>, most: u32) -> Option<Self> {
        if used.load(Relaxed) >= most {
            return None;
        }
        used.fetch_add(1, Relaxed);
        Some(Self(Arc::clone(used)))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// One record of an event.
#[derive(Debug)]
pub(crate) struct Record {
    done: AtomicU64,
    /// The event.
    pub(crate) event: Key,
    /// The stream that records.
    pub(crate) stream: Key,
    /// That stream's id on its device, which is all that the runtime compares.
    pub(crate) stream_id: i32,
    /// Set for a record made in a capture.
    pub(crate) capture: Option<u64>,
    _lease: Option<Lease>,
}

impl Record {
    pub(crate) fn new(
        event: Key,
        stream: Key,
        stream_id: i32,
        capture: Option<u64>,
        lease: Option<Lease>,
    ) -> Arc<Self> {
        Arc::new(Self {
            done: AtomicU64::new(PENDING),
            event,
            stream,
            stream_id,
            capture,
            _lease: lease,
        })
    }

    pub(crate) fn complete(&self, now: u64) {
        self.done.store(now, Relaxed);
    }

    /// When it was reached, in ns.
    pub(crate) fn time(&self) -> Option<u64> {
        let time = self.done.load(Relaxed);
        (time != PENDING).then_some(time)
    }
}

/// The sticky flag of a `sync` or `external` event.
#[derive(Debug)]
pub(crate) struct Flag {
    set: AtomicBool,
    _lease: Lease,
}

impl Flag {
    pub(crate) fn new(lease: Lease) -> Arc<Self> {
        let set = AtomicBool::new(false);
        Arc::new(Self { set, _lease: lease })
    }

    pub(crate) fn set(&self) {
        self.set.store(true, Relaxed);
    }

    pub(crate) fn reset(&self) {
        self.set.store(false, Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Relaxed)
    }
}

/// The flag of a notify.
#[derive(Debug, Default)]
pub(crate) struct NotifyFlag(AtomicBool);

impl NotifyFlag {
    pub(crate) fn set(&self) {
        self.0.store(true, Relaxed);
    }

    /// Clears it; whether it was set.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Relaxed)
    }
}
