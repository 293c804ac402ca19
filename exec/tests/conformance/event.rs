//! The table and rules of section 3.

use ascsim_exec::acl::{Code, EventFlags, QueryStatus};

use crate::Case;
use crate::lab::{LONG, Lab, SHORT, assert_code};

pub(crate) const CASES: &[Case] = &[
    (
        "ex_wait_before_any_record_does_nothing",
        "3 row 2",
        &[],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            let event = acl.create_event_ex(EventFlags::SYNC).unwrap();
            acl.wait_event(stream, &event).unwrap();
            lab.assert_done(stream);
        },
    ),
    (
        "flag_wait_before_any_record_blocks_until_one",
        "3 row 2",
        &[],
        |lab| {
            let (acl, waiter, recorder) = (lab.acl, lab.stream(), lab.stream());
            let event = acl.create_event_with_flag(EventFlags::SYNC).unwrap();
            acl.wait_event(waiter, &event).unwrap();
            lab.assert_blocked(waiter);
            acl.record_event(&event, recorder).unwrap();
            lab.assert_done(waiter);
        },
    ),
    (
        "default_wait_before_any_record_is_refused",
        "3 row 2",
        &[],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            let event = acl.create_event().unwrap();
            assert_code(acl.wait_event(stream, &event), Code::PARAM_INVALID);
            lab.assert_done(stream);
        },
    ),
    ("waits_for_a_finished_record_pass", "3 row 3", &[], |lab| {
        let (acl, recorder, waiter) = (lab.acl, lab.stream(), lab.stream());
        for event in three_kinds(lab) {
            acl.record_event(&event, recorder).unwrap();
            lab.assert_done(recorder);
            acl.wait_event(waiter, &event).unwrap();
            lab.assert_done(waiter);
        }
    }),
    (
        "waits_bind_to_a_pending_record",
        "3 ordering rule",
        &[],
        |lab| {
            let acl = lab.acl;
            for event in three_kinds(lab) {
                let (recorder, waiter) = (lab.stream(), lab.stream());
                let gate = lab.gate(recorder);
                acl.record_event(&event, recorder).unwrap();
                acl.wait_event(waiter, &event).unwrap();
                lab.assert_blocked(waiter);
                gate.open();
                lab.assert_done(waiter);
            }
        },
    ),
    (
        "waits_on_the_recording_stream_pass",
        "3 row 4",
        &[],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            for event in three_kinds(lab) {
                acl.record_event(&event, stream).unwrap();
                acl.wait_event(stream, &event).unwrap();
                lab.assert_done(stream);
            }
        },
    ),
    (
        "second_ex_record_leaves_earlier_waits_alone",
        "3 row 5",
        &[],
        |lab| {
            second_record(lab, acl_ex);
        },
    ),
    (
        "second_default_record_leaves_earlier_waits_alone",
        "3 row 5",
        &[],
        |lab| {
            second_record(lab, |lab| lab.acl.create_event().unwrap());
        },
    ),
    (
        "second_flag_wait_without_reset_passes_at_once",
        "3 row 5",
        &[],
        |lab| {
            let (acl, recorder, waiter) = (lab.acl, lab.stream(), lab.stream());
            let event = acl.create_event_with_flag(EventFlags::SYNC).unwrap();
            acl.record_event(&event, recorder).unwrap();
            acl.wait_event(waiter, &event).unwrap();
            lab.assert_done(waiter);
            let gate = lab.gate(recorder);
            acl.record_event(&event, recorder).unwrap();
            acl.wait_event(waiter, &event).unwrap();
            lab.assert_done(waiter);
            acl.reset_event(&event, waiter).unwrap();
            acl.wait_event(waiter, &event).unwrap();
            lab.assert_blocked(waiter);
            gate.open();
            lab.assert_done(waiter);
        },
    ),
    (
        "reset_of_an_ex_event_is_not_supported",
        "3 row 6",
        &[],
        |lab| {
            let event = acl_ex(lab);
            assert_code(
                lab.acl.reset_event(&event, lab.stream()),
                Code::FEATURE_NOT_SUPPORT,
            );
        },
    ),
    (
        "reset_by_one_of_two_waiters_hangs_the_late_one",
        "3 row 6, 16.3",
        &[],
        |lab| {
            let (acl, recorder, early, late) = (lab.acl, lab.stream(), lab.stream(), lab.stream());
            let event = acl.create_event_with_flag(EventFlags::SYNC).unwrap();
            let gate = lab.gate(late);
            acl.wait_event(early, &event).unwrap();
            acl.reset_event(&event, early).unwrap();
            acl.wait_event(late, &event).unwrap();
            acl.record_event(&event, recorder).unwrap();
            lab.assert_done(early);
            gate.open();
            lab.assert_blocked(late);
            acl.record_event(&event, recorder).unwrap();
            lab.assert_done(late);
        },
    ),
    ("status_of_never_recorded_events", "3 row 7", &[], |lab| {
        let expected = [
            QueryStatus::NotReady,
            QueryStatus::NotReady,
            QueryStatus::Complete,
        ];
        for (event, expected) in three_kinds(lab).into_iter().zip(expected) {
            assert_eq!(lab.acl.event_status(&event), Ok(expected));
        }
    }),
    ("status_follows_the_latest_record", "3 row 7", &[], |lab| {
        let acl = lab.acl;
        for event in three_kinds(lab) {
            let stream = lab.stream();
            let gate = lab.gate(stream);
            acl.record_event(&event, stream).unwrap();
            assert_eq!(acl.event_status(&event), Ok(QueryStatus::NotReady));
            gate.open();
            acl.synchronize_event(&event, LONG).unwrap();
            assert_eq!(acl.event_status(&event), Ok(QueryStatus::Complete));
        }
    }),
    (
        "synchronising_a_never_recorded_event_returns_at_once",
        "3 row 8",
        &[],
        |lab| {
            for event in three_kinds(lab) {
                lab.acl.synchronize_event(&event, LONG).unwrap();
            }
        },
    ),
    ("old_queries_are_not_for_ex_events", "3 row 9", &[], |lab| {
        let (acl, stream) = (lab.acl, lab.stream());
        let [plain, flag, ex] = three_kinds(lab);
        for event in [&plain, &flag] {
            acl.record_event(event, stream).unwrap();
            lab.assert_done(stream);
            assert_eq!(acl.event_status_old(event), Ok(QueryStatus::Complete));
            assert_eq!(acl.event_wait_status(event), Ok(QueryStatus::Complete));
        }
        acl.event_status_old(&ex).unwrap_err();
        acl.event_wait_status(&ex).unwrap_err();
    }),
    ("waits_need_the_sync_bit", "3", &[], |lab| {
        let (acl, stream) = (lab.acl, lab.stream());
        let event = acl.create_event_ex(EventFlags::TIME_LINE).unwrap();
        acl.record_event(&event, stream).unwrap();
        assert_code(acl.wait_event(stream, &event), Code::FEATURE_NOT_SUPPORT);
        acl.synchronize_event(&event, LONG).unwrap();
    }),
    ("an_ex_event_is_not_external", "3", &[], |lab| {
        assert_code(
            lab.acl.create_event_ex(EventFlags::EXTERNAL),
            Code::PARAM_INVALID,
        );
    }),
    ("one_record_lets_many_waits_pass", "3", &[], |lab| {
        let acl = lab.acl;
        for event in three_kinds(lab) {
            let (recorder, waiters) = (lab.stream(), [lab.stream(), lab.stream()]);
            let gate = lab.gate(recorder);
            acl.record_event(&event, recorder).unwrap();
            waiters
                .iter()
                .for_each(|waiter| acl.wait_event(waiter, &event).unwrap());
            gate.open();
            waiters.iter().for_each(|waiter| lab.assert_done(waiter));
        }
    }),
    (
        "destroying_an_event_leaves_waits_working",
        "3",
        &[],
        |lab| {
            let (acl, recorder, waiter) = (lab.acl, lab.stream(), lab.stream());
            let event = acl_ex(lab);
            let gate = lab.gate(recorder);
            acl.record_event(&event, recorder).unwrap();
            acl.wait_event(waiter, &event).unwrap();
            acl.destroy_event(event).unwrap();
            lab.assert_blocked(waiter);
            gate.open();
            lab.assert_done(waiter);
        },
    ),
    ("time_stamps_need_the_flag_time_line", "3", &[], |lab| {
        let (acl, stream) = (lab.acl, lab.stream());
        let (start, end) = (acl_ex(lab), acl_ex(lab));
        acl.record_event(&start, stream).unwrap();
        acl.record_event(&end, stream).unwrap();
        lab.assert_done(stream);
        assert_code(acl.elapsed_ms(&start, &end), Code::EVENT_TIMESTAMP_INVALID);
        let [start, end] =
            [(); 2].map(|()| acl.create_event_ex(EventFlags::SYNC_TIME_LINE).unwrap());
        acl.record_event(&start, stream).unwrap();
        let gate = lab.gate(stream);
        acl.record_event(&end, stream).unwrap();
        lab.assert_blocked(stream);
        gate.open();
        acl.synchronize_event(&end, LONG).unwrap();
        assert!(acl.elapsed_ms(&start, &end).unwrap() > 10.0);
        assert!(acl.event_timestamp_us(&start).unwrap() < acl.event_timestamp_us(&end).unwrap());
    }),
    ("synchronising_an_event_times_out", "3, 15", &[], |lab| {
        let (acl, stream) = (lab.acl, lab.stream());
        for event in three_kinds(lab) {
            let gate = lab.gate(stream);
            acl.record_event(&event, stream).unwrap();
            assert_code(
                acl.synchronize_event(&event, SHORT),
                Code::EVENT_SYNC_TIMEOUT,
            );
            gate.open();
            acl.synchronize_event(&event, LONG).unwrap();
        }
    }),
    (
        "a_wait_that_times_out_is_reported_by_the_next_synchronisation",
        "3",
        &[],
        |lab| {
            let (acl, recorder, waiter) = (lab.acl, lab.stream(), lab.stream());
            let event = acl.create_event_with_flag(EventFlags::SYNC).unwrap();
            acl.wait_event_timeout(waiter, &event, 1).unwrap();
            acl.synchronize_stream(waiter, LONG).unwrap_err();
            acl.record_event(&event, recorder).unwrap();
            lab.assert_done(waiter);
        },
    ),
    (
        "event_ids_run_out_and_ex_events_take_one_while_they_are_pending",
        "0, 3",
        &[],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            let many: Vec<_> = (0..70_000).map(|_| acl_ex(lab)).collect();
            for event in many {
                acl.record_event(&event, stream).unwrap();
                acl.destroy_event(event).unwrap();
            }
            lab.assert_done(stream);
            let mut held = Vec::new();
            let refused = loop {
                match acl.create_event_with_flag(EventFlags::SYNC) {
                    Ok(event) => held.push(event),
                    Err(error) => break error,
                }
                assert!(held.len() <= 65_536, "more flag events than there are ids");
            };
            assert_eq!(refused.code(), Some(Code::NO_EVENT_RESOURCE));
            let event = acl_ex(lab);
            assert_code(acl.record_event(&event, stream), Code::NO_EVENT_RESOURCE);
            held.into_iter()
                .for_each(|event| acl.destroy_event(event).unwrap());
            acl.record_event(&event, stream).unwrap();
        },
    ),
];

fn acl_ex(lab: &Lab) -> ascsim_exec::acl::Event {
    lab.acl.create_event_ex(EventFlags::SYNC).unwrap()
}

/// An event by `aclrtCreateEvent`, one by `…WithFlag(SYNC)`, one by `…ExWithFlag(SYNC)`.
fn three_kinds(lab: &Lab) -> [ascsim_exec::acl::Event; 3] {
    let acl = lab.acl;
    [
        acl.create_event().unwrap(),
        acl.create_event_with_flag(EventFlags::SYNC).unwrap(),
        acl_ex(lab),
    ]
}

/// A wait keeps the record that it captured; a later wait sees the newer one.
fn second_record(lab: &Lab, create: fn(&Lab) -> ascsim_exec::acl::Event) {
    let acl = lab.acl;
    let event = create(lab);
    let (first, second, early, late) = (lab.stream(), lab.stream(), lab.stream(), lab.stream());
    let first_gate = lab.gate(first);
    acl.record_event(&event, first).unwrap();
    acl.wait_event(early, &event).unwrap();
    let second_gate = lab.gate(second);
    acl.record_event(&event, second).unwrap();
    acl.wait_event(late, &event).unwrap();
    second_gate.open();
    lab.assert_done(late);
    lab.assert_blocked(early);
    first_gate.open();
    lab.assert_done(early);
}
