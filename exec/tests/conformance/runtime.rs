//! Devices, streams, host functions, collectives, core limits, errors: sections 1, 2, 9, 12, 13, 15.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use ascsim_exec::acl::{Capability, Code, CoreKind, Stream, StreamFlags};

use crate::Case;
use crate::lab::{LONG, assert_code};

pub(crate) const CASES: &[Case] = &[
    ("a_thread_needs_a_context", "1", &[], |lab| {
        let acl = lab.acl;
        let created = thread::spawn(|| acl.create_stream(0, StreamFlags::default()));
        assert_code(created.join().unwrap(), Code::CONTEXT_NULL);
    }),
    ("a_stream_of_another_context_is_refused", "1", &[], |lab| {
        let (acl, stream) = (lab.acl, lab.stream());
        let primary = acl.current_context().unwrap();
        let other = acl.create_context(0).unwrap();
        let event = acl
            .create_event_ex(ascsim_exec::acl::EventFlags::SYNC)
            .unwrap();
        let recorded = acl.record_event(&event, stream);
        acl.set_current_context(&primary).unwrap();
        acl.destroy_context(other).unwrap();
        assert_code(recorded, Code::STREAM_CONTEXT);
    }),
    (
        "threads_that_set_the_same_device_share_its_context",
        "1",
        &[],
        |lab| {
            let acl = lab.acl;
            let here = acl.current_context().unwrap().as_raw();
            let there = thread::spawn(|| {
                acl.set_device(0).unwrap();
                let context = acl.current_context().unwrap().as_raw();
                acl.reset_device(0).unwrap();
                context
            });
            assert_eq!(there.join().unwrap(), here);
        },
    ),
    ("a_device_that_does_not_exist_is_refused", "1", &[], |lab| {
        lab.acl.set_device(9_999).unwrap_err();
        assert_eq!(lab.acl.device(), Ok(0));
    }),
    (
        "the_default_stream_does_not_wait_for_others",
        "1",
        &[],
        |lab| {
            let stream = lab.stream();
            let gate = lab.gate(stream);
            lab.acl.synchronize_stream(&Stream::DEFAULT, LONG).unwrap();
            gate.open();
        },
    ),
    (
        "query_and_time_out_see_an_unfinished_stream",
        "2",
        &[],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            assert_eq!(acl.is_stream_complete(stream), Ok(true));
            let gate = lab.gate(stream);
            assert_eq!(acl.is_stream_complete(stream), Ok(false));
            lab.assert_blocked(stream);
            gate.open();
            lab.assert_done(stream);
            assert_eq!(acl.is_stream_complete(stream), Ok(true));
        },
    ),
    (
        "an_aborted_stream_is_usable_at_once",
        "2",
        &[Capability::StreamAbort],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            let gate = lab.gate(stream);
            acl.abort_stream(stream).unwrap();
            lab.assert_done(stream);
            gate.open();
            lab.assert_done(stream);
        },
    ),
    (
        "abort_ends_a_synchronisation_in_flight",
        "2",
        &[Capability::StreamAbort],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            let _gate = lab.gate(stream);
            let waiting = thread::spawn(move || {
                acl.set_device(0).unwrap();
                let outcome = acl.synchronize_stream(stream, LONG);
                acl.reset_device(0).unwrap();
                outcome
            });
            thread::sleep(Duration::from_millis(50));
            acl.abort_stream(stream).unwrap();
            assert_code(waiting.join().unwrap(), Code::STREAM_ABORT);
        },
    ),
    (
        "host_functions_run_in_stream_order",
        "9",
        &[Capability::HostFunctions],
        |lab| {
            let (acl, stream, other) = (lab.acl, lab.stream(), lab.stream());
            let count = Arc::new(AtomicU32::new(0));
            let event = acl
                .create_event_with_flag(ascsim_exec::acl::EventFlags::SYNC)
                .unwrap();
            for expected in 0..3 {
                let count = Arc::clone(&count);
                let run = move || {
                    thread::sleep(Duration::from_millis(20));
                    // Shows in the sum below if the order was another.
                    count.fetch_add(u32::from(count.load(SeqCst) == expected), SeqCst);
                };
                acl.launch_host_function(stream, run).unwrap();
            }
            acl.record_event(&event, stream).unwrap();
            acl.wait_event(other, &event).unwrap();
            acl.synchronize_stream(other, LONG).unwrap();
            assert_eq!(count.load(SeqCst), 3);
        },
    ),
    (
        "collectives_meet_and_move_bytes",
        "12",
        &[Capability::Collectives],
        |lab| {
            if !lab.two_devices {
                println!("  not run: one device");
                return;
            }
            let acl = lab.acl;
            let communicators = acl.communicators(&[0, 1]).unwrap();
            let mut ranks = Vec::new();
            for (device, communicator) in (0..).zip(communicators) {
                acl.set_device(device).unwrap();
                let stream = acl.create_stream(0, StreamFlags::default()).unwrap();
                let (send, receive) = (acl.malloc(64).unwrap(), acl.malloc(64).unwrap());
                let values: Vec<u8> = (0..16)
                    .flat_map(|i: i32| (i + 100 * device.cast_signed()).to_ne_bytes())
                    .collect();
                acl.copy_in(&send, 0, &values).unwrap();
                // HCCL_DATA_TYPE_INT32 2, HCCL_REDUCE_SUM 0.
                let (to, from) = ((&receive, 0), (&send, 0));
                acl.all_reduce(from, to, 16, 2, 0, &communicator, &stream)
                    .unwrap();
                if device == 0 {
                    assert_code(
                        acl.synchronize_stream(&stream, Some(60)),
                        Code::STREAM_SYNC_TIMEOUT,
                    );
                }
                ranks.push((device, communicator, stream, send, receive));
            }
            for (device, communicator, stream, send, receive) in ranks {
                acl.set_device(device).unwrap();
                acl.synchronize_stream(&stream, LONG).unwrap();
                let mut result = [0; 64];
                acl.copy_out(&mut result, &receive, 0).unwrap();
                let expected: Vec<u8> = (0..16)
                    .flat_map(|i: i32| (2 * i + 100).to_ne_bytes())
                    .collect();
                assert_eq!(result.as_slice(), expected);
                acl.destroy_communicator(communicator).unwrap();
                acl.destroy_stream(stream).unwrap();
                acl.free(send).unwrap();
                acl.free(receive).unwrap();
            }
            acl.reset_device(1).unwrap();
            acl.set_device(0).unwrap();
        },
    ),
    (
        "stream_core_limits_go_before_device_limits",
        "13",
        &[Capability::CoreLimits],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            let all = acl.thread_cores(CoreKind::Aiv).unwrap();
            acl.set_device_cores(0, CoreKind::Aiv, all - 1).unwrap();
            assert_eq!(acl.thread_cores(CoreKind::Aiv), Ok(all - 1));
            acl.set_stream_cores(stream, CoreKind::Aiv, all / 2)
                .unwrap();
            // Only in threads that ask for it.
            assert_eq!(acl.thread_cores(CoreKind::Aiv), Ok(all - 1));
            acl.use_stream_cores(stream).unwrap();
            assert_eq!(acl.thread_cores(CoreKind::Aiv), Ok(all / 2));
            acl.unuse_stream_cores(stream).unwrap();
            acl.reset_device_cores(0).unwrap();
            assert_eq!(acl.thread_cores(CoreKind::Aiv), Ok(all));
        },
    ),
    (
        "messages_are_of_the_thread_and_cleared_by_reading",
        "15",
        &[],
        |lab| {
            let acl = lab.acl;
            let error = acl.set_device(9_999).unwrap_err();
            assert!(!error.to_string().is_empty());
            // The error has fetched the text already.
            assert_eq!(acl.recent_message(), None);
            let elsewhere = thread::spawn(|| acl.recent_message());
            assert_eq!(elsewhere.join().unwrap(), None);
        },
    ),
];
