//! The hazards of section 16 that no other case states.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use ascsim_exec::acl::{Capability, EventFlags};

use crate::Case;
use crate::lab::LONG;

pub(crate) const CASES: &[Case] = &[
    (
        "a_full_queue_blocks_the_host_until_another_thread_helps",
        "0, 16.1",
        &[],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            let notify = Arc::new(acl.create_notify().unwrap());
            acl.wait_notify(&notify, stream, 0).unwrap();
            let issued = Arc::new(AtomicU32::new(0));
            let (done, is_done) = mpsc::channel();
            let memory = Arc::new(acl.malloc(64).unwrap());
            let filler = {
                let (issued, memory) = (Arc::clone(&issued), Arc::clone(&memory));
                thread::spawn(move || {
                    acl.set_device(0).unwrap();
                    for _ in 0..3_000 {
                        acl.fill_async(&memory, 0, 8, 1, stream).unwrap();
                        issued.fetch_add(1, SeqCst);
                    }
                    acl.reset_device(0).unwrap();
                    done.send(()).unwrap();
                })
            };
            assert!(
                is_done.recv_timeout(Duration::from_millis(500)).is_err(),
                "the host is not blocked"
            );
            let stuck = issued.load(SeqCst);
            // The wait is in the queue as well.
            assert!(
                (1_900..=2_047).contains(&stuck),
                "blocked after {stuck} tasks"
            );
            let opener = lab.stream();
            acl.record_notify(&notify, opener).unwrap();
            is_done
                .recv_timeout(Duration::from_secs(10))
                .expect("the host goes on");
            filler.join().unwrap();
            lab.assert_done(stream);
            assert_eq!(issued.load(SeqCst), 3_000);
        },
    ),
    (
        "aborting_the_recorder_leaves_the_waiter_hung",
        "2, 16.7",
        &[Capability::StreamAbort],
        |lab| {
            let (acl, recorder, waiter) = (lab.acl, lab.stream(), lab.stream());
            let event = acl.create_event_ex(EventFlags::SYNC).unwrap();
            let gate = lab.gate(recorder);
            acl.record_event(&event, recorder).unwrap();
            acl.wait_event(waiter, &event).unwrap();
            acl.abort_stream(recorder).unwrap();
            gate.open();
            lab.assert_done(recorder);
            lab.assert_blocked(waiter);
            acl.abort_stream(waiter).unwrap();
            acl.synchronize_stream(waiter, LONG).unwrap();
        },
    ),
];
