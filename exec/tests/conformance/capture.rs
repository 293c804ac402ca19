//! Graph capture and replay: section 10, and the last row of section 3.

use ascsim_exec::acl::{Capability, Code, EventFlags, GraphMode, Stream};

use crate::Case;
use crate::lab::{LONG, Lab, assert_code};

const NEEDS: &[Capability] = &[Capability::GraphCapture];
const EXTERNAL: &[Capability] = &[Capability::GraphCapture, Capability::ExternalEvents];

pub(crate) const CASES: &[Case] = &[
    (
        "a_captured_task_runs_at_each_replay_only",
        "10",
        NEEDS,
        |lab| {
            let (acl, origin, other) = (lab.acl, lab.stream(), lab.stream());
            let memory = acl.malloc(64).unwrap();
            acl.begin_capture(origin, GraphMode::Global).unwrap();
            assert_eq!(acl.is_capturing(origin), Ok(true));
            acl.fill_async(&memory, 0, 64, 7, origin).unwrap();
            let graph = acl.end_capture(origin).unwrap();
            lab.assert_done(origin);
            let read = || {
                let mut bytes = [0; 64];
                acl.copy_out(&mut bytes, &memory, 0).unwrap();
                bytes
            };
            let before = [1; 64];
            acl.copy_in(&memory, 0, &before).unwrap();
            assert_eq!(read(), before);
            for stream in [origin, other] {
                acl.copy_in(&memory, 0, &before).unwrap();
                acl.launch_graph(&graph, stream).unwrap();
                lab.assert_done(stream);
                assert_eq!(read(), [7; 64]);
            }
            acl.destroy_graph(graph).unwrap();
            acl.free(memory).unwrap();
        },
    ),
    ("side_streams_fork_and_join", "10", NEEDS, |lab| {
        let (acl, origin, side) = (lab.acl, lab.stream(), lab.stream());
        let (a, b) = (acl.malloc(64).unwrap(), acl.malloc(64).unwrap());
        let (fork, join) = (ex(lab), ex(lab));
        acl.begin_capture(origin, GraphMode::Global).unwrap();
        acl.fill_async(&a, 0, 64, 4, origin).unwrap();
        acl.record_event(&fork, origin).unwrap();
        acl.wait_event(side, &fork).unwrap();
        assert_eq!(acl.is_capturing(side), Ok(true));
        acl.copy_device_async((&b, 0), (&a, 0), 64, side).unwrap();
        acl.record_event(&join, side).unwrap();
        acl.wait_event(origin, &join).unwrap();
        acl.fill_async(&a, 0, 64, 5, origin).unwrap();
        let graph = acl.end_capture(origin).unwrap();
        assert_eq!(acl.is_capturing(side), Ok(false));
        for _ in 0..204 {
            acl.launch_graph(&graph, origin).unwrap();
        }
        lab.assert_done(origin);
        let mut bytes = [0; 64];
        acl.copy_out(&mut bytes, &b, 0).unwrap();
        assert_eq!(bytes, [4; 64]);
        acl.destroy_graph(graph).unwrap();
        acl.free(a).unwrap();
        acl.free(b).unwrap();
    }),
    (
        "a_side_stream_that_does_not_return_is_an_error",
        "10, 16.4",
        NEEDS,
        |lab| {
            let (acl, origin, side) = (lab.acl, lab.stream(), lab.stream());
            let fork = ex(lab);
            acl.begin_capture(origin, GraphMode::Global).unwrap();
            acl.record_event(&fork, origin).unwrap();
            acl.wait_event(side, &fork).unwrap();
            assert_code(acl.end_capture(origin), Code::STREAM_UNJOINED);
        },
    ),
    (
        "a_side_stream_gets_no_task_after_its_last_record",
        "10",
        NEEDS,
        |lab| {
            let (acl, origin, side) = (lab.acl, lab.stream(), lab.stream());
            let (fork, join) = (ex(lab), ex(lab));
            let memory = acl.malloc(64).unwrap();
            acl.begin_capture(origin, GraphMode::Global).unwrap();
            acl.record_event(&fork, origin).unwrap();
            acl.wait_event(side, &fork).unwrap();
            acl.record_event(&join, side).unwrap();
            acl.fill_async(&memory, 0, 64, 1, side).unwrap();
            acl.wait_event(origin, &join).unwrap();
            assert_code(acl.end_capture(origin), Code::STREAM_UNJOINED);
            acl.free(memory).unwrap();
        },
    ),
    (
        "synchronising_or_querying_a_capturing_stream_is_refused",
        "10, 16.4",
        NEEDS,
        |lab| {
            captured(lab, GraphMode::Global, |origin| {
                let acl = lab.acl;
                assert_code(acl.synchronize_stream(origin, LONG), Code::STREAM_CAPTURED);
                assert_code(acl.is_stream_complete(origin), Code::STREAM_CAPTURED);
            });
        },
    ),
    (
        "the_device_and_captured_events_are_not_synchronised",
        "10",
        NEEDS,
        |lab| {
            let event = ex(lab);
            captured(lab, GraphMode::Global, |origin| {
                lab.acl.record_event(&event, origin).unwrap();
                lab.acl.synchronize_event(&event, LONG).unwrap_err();
                lab.acl.event_status(&event).unwrap_err();
                lab.acl.synchronize_device(LONG).unwrap_err();
            });
        },
    ),
    ("the_default_stream_is_not_captured", "10", NEEDS, |lab| {
        let begun = lab.acl.begin_capture(&Stream::DEFAULT, GraphMode::Global);
        assert_code(begun, Code::STREAM_CAPTURE_IMPLICIT);
    }),
    (
        "a_global_capture_forbids_synchronous_copies_and_survives",
        "10",
        NEEDS,
        |lab| {
            let (acl, other) = (lab.acl, lab.stream());
            let memory = acl.malloc(64).unwrap();
            let pinned = acl.malloc_host(64).unwrap();
            captured(lab, GraphMode::Global, |_| {
                assert_code(
                    acl.copy_in(&memory, 0, &[1; 64]),
                    Code::CAPTURE_MODE_NOT_SUPPORT,
                );
                // Everything else on other streams goes on.
                lab.assert_done(other);
                acl.copy_in_async((&memory, 0), (&pinned, 0), 64, other)
                    .unwrap();
                lab.assert_done(other);
                acl.free(acl.malloc(64).unwrap()).unwrap();
            });
            acl.free(memory).unwrap();
            acl.free_host(pinned).unwrap();
        },
    ),
    (
        "a_global_capture_forbids_pageable_copies",
        "6, 10, 16.4",
        NEEDS,
        |lab| {
            let (acl, other) = (lab.acl, lab.stream());
            let memory = acl.malloc(64).unwrap();
            captured(lab, GraphMode::Global, |_| {
                let copied = acl.copy_pageable(&memory, 0, &[1; 64], other);
                assert_code(copied, Code::CAPTURE_MODE_BLOCK_ASYNC);
            });
            acl.free(memory).unwrap();
        },
    ),
    (
        "a_relaxed_capture_forbids_nothing_elsewhere",
        "10",
        NEEDS,
        |lab| {
            let memory = lab.acl.malloc(64).unwrap();
            captured(lab, GraphMode::Relaxed, |_| {
                lab.acl.copy_in(&memory, 0, &[1; 64]).unwrap()
            });
            lab.acl.free(memory).unwrap();
        },
    ),
    (
        "capture_ends_on_the_thread_on_which_it_began",
        "10",
        NEEDS,
        |lab| {
            let (acl, origin) = (lab.acl, lab.stream());
            acl.begin_capture(origin, GraphMode::ThreadLocal).unwrap();
            let ended = std::thread::spawn(move || {
                acl.set_device(0).unwrap();
                let ended = acl.end_capture(origin);
                acl.reset_device(0).unwrap();
                ended
            });
            assert_code(ended.join().unwrap(), Code::CAPTURE_WRONG_THREAD);
            acl.destroy_graph(acl.end_capture(origin).unwrap()).unwrap();
        },
    ),
    (
        "capture_ends_on_the_stream_on_which_it_began",
        "10",
        NEEDS,
        |lab| {
            let (acl, origin, side) = (lab.acl, lab.stream(), lab.stream());
            assert_code(acl.end_capture(origin), Code::STREAM_NOT_CAPTURED);
            let (fork, join) = (ex(lab), ex(lab));
            acl.begin_capture(origin, GraphMode::Global).unwrap();
            acl.record_event(&fork, origin).unwrap();
            acl.wait_event(side, &fork).unwrap();
            assert_code(acl.end_capture(side), Code::CAPTURE_UNMATCHED);
            acl.record_event(&join, side).unwrap();
            acl.wait_event(origin, &join).unwrap();
            acl.destroy_graph(acl.end_capture(origin).unwrap()).unwrap();
        },
    ),
    (
        "default_and_sync_events_are_not_captured",
        "3 row 10",
        NEEDS,
        |lab| {
            let (acl, other) = (lab.acl, lab.stream());
            let plain = acl.create_event().unwrap();
            let flag = acl.create_event_with_flag(EventFlags::SYNC).unwrap();
            acl.record_event(&plain, other).unwrap();
            captured(lab, GraphMode::Global, |origin| {
                let no = Code::FEATURE_NOT_SUPPORT;
                assert_code(acl.record_event(&plain, origin), no);
                assert_code(acl.wait_event(origin, &plain), no);
                assert_code(acl.record_event(&flag, origin), no);
                assert_code(acl.wait_event(origin, &flag), no);
                assert_code(acl.reset_event(&flag, origin), no);
            });
        },
    ),
    (
        "waiting_in_a_capture_for_a_record_outside_is_an_error",
        "10",
        NEEDS,
        |lab| {
            let (acl, other) = (lab.acl, lab.stream());
            let (recorded, never) = (ex(lab), ex(lab));
            acl.record_event(&recorded, other).unwrap();
            captured(lab, GraphMode::Global, |origin| {
                assert_code(acl.wait_event(origin, &recorded), Code::CAPTURE_DEPENDENCY);
                acl.wait_event(origin, &never).unwrap();
            });
        },
    ),
    (
        "an_external_event_is_recorded_outside_for_each_replay",
        "10",
        NEEDS,
        |lab| {
            let (acl, launcher, recorder) = (lab.acl, lab.stream(), lab.stream());
            let event = acl.create_event_with_flag(EventFlags::EXTERNAL).unwrap();
            let origin = lab.stream();
            acl.begin_capture(origin, GraphMode::Global).unwrap();
            acl.wait_event(origin, &event).unwrap();
            acl.reset_event(&event, origin).unwrap();
            let graph = acl.end_capture(origin).unwrap();
            for _ in 0..3 {
                acl.launch_graph(&graph, launcher).unwrap();
                lab.assert_blocked(launcher);
                acl.record_event(&event, recorder).unwrap();
                lab.assert_done(launcher);
            }
            acl.destroy_graph(graph).unwrap();
        },
    ),
    (
        "external_waits_and_records_of_ex_events_cross_the_graph",
        "10",
        EXTERNAL,
        |lab| {
            let (acl, origin, outside) = (lab.acl, lab.stream(), lab.stream());
            let (before, after) = (ex(lab), ex(lab));
            acl.begin_capture(origin, GraphMode::Global).unwrap();
            acl.wait_event_external(origin, &before).unwrap();
            acl.record_event_external(&after, origin).unwrap();
            let graph = acl.end_capture(origin).unwrap();
            let gate = lab.gate(outside);
            acl.record_event(&before, outside).unwrap();
            acl.launch_graph(&graph, origin).unwrap();
            let waiter = lab.stream();
            acl.wait_event(waiter, &after).unwrap();
            lab.assert_blocked(waiter);
            gate.open();
            lab.assert_done(waiter);
            lab.assert_done(origin);
            acl.destroy_graph(graph).unwrap();
        },
    ),
    (
        "notifies_and_values_replay",
        "10",
        &[Capability::GraphCapture, Capability::Values],
        |lab| {
            let (acl, origin, outside) = (lab.acl, lab.stream(), lab.stream());
            let memory = acl.malloc(64).unwrap();
            let (go, done) = (acl.create_notify().unwrap(), acl.create_notify().unwrap());
            acl.begin_capture(origin, GraphMode::Global).unwrap();
            acl.wait_notify(&go, origin, 0).unwrap();
            acl.write_value(&memory, 0, 3, origin).unwrap();
            acl.wait_value(&memory, 0, 3, 1, origin).unwrap();
            acl.record_notify(&done, origin).unwrap();
            let graph = acl.end_capture(origin).unwrap();
            for _ in 0..2 {
                acl.launch_graph(&graph, origin).unwrap();
                lab.assert_blocked(origin);
                acl.record_notify(&go, outside).unwrap();
                acl.wait_notify(&done, outside, 0).unwrap();
                lab.assert_done(outside);
                lab.assert_done(origin);
            }
            acl.destroy_graph(graph).unwrap();
            acl.free(memory).unwrap();
        },
    ),
    (
        "an_update_replaces_tasks_of_the_same_kind",
        "10",
        &[Capability::TaskUpdate],
        |lab| {
            let (acl, origin, updater) = (lab.acl, lab.stream(), lab.stream());
            let memory = acl.malloc(64).unwrap();
            acl.begin_capture(origin, GraphMode::Global).unwrap();
            acl.begin_task_group(origin).unwrap();
            acl.fill_async(&memory, 0, 64, 1, origin).unwrap();
            let group = acl.end_task_group(origin).unwrap();
            let graph = acl.end_capture(origin).unwrap();
            acl.begin_task_update(updater, &group).unwrap();
            acl.fill_async(&memory, 0, 64, 2, updater).unwrap();
            acl.end_task_update(updater).unwrap();
            lab.assert_done(updater);
            acl.launch_graph(&graph, origin).unwrap();
            lab.assert_done(origin);
            let mut bytes = [0; 64];
            acl.copy_out(&mut bytes, &memory, 0).unwrap();
            assert_eq!(bytes, [2; 64]);
            acl.begin_task_update(updater, &group).unwrap();
            acl.end_task_update(updater).unwrap_err();
            acl.destroy_graph(graph).unwrap();
            acl.free(memory).unwrap();
        },
    ),
];

fn ex(lab: &Lab) -> ascsim_exec::acl::Event {
    lab.acl.create_event_ex(EventFlags::SYNC).unwrap()
}

/// Runs `body` within a capture, which must survive it.
fn captured(lab: &Lab, mode: GraphMode, body: impl FnOnce(&Stream)) {
    let origin = lab.stream();
    lab.acl.begin_capture(origin, mode).unwrap();
    body(origin);
    lab.acl
        .destroy_graph(lab.acl.end_capture(origin).unwrap())
        .unwrap();
}
