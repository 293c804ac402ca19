//! Notifies and words: sections 4 and 5.

use ascsim_exec::acl::{Capability, Code, StreamFlags};

use crate::Case;
use crate::lab::{LONG, assert_code};

pub(crate) const CASES: &[Case] = &[
    (
        "a_notify_wait_may_come_before_its_record",
        "4",
        &[],
        |lab| {
            let (acl, waiter, recorder) = (lab.acl, lab.stream(), lab.stream());
            let notify = acl.create_notify().unwrap();
            acl.wait_notify(&notify, waiter, 0).unwrap();
            lab.assert_blocked(waiter);
            acl.record_notify(&notify, recorder).unwrap();
            lab.assert_done(waiter);
        },
    ),
    ("one_notify_record_wakes_one_wait", "4", &[], |lab| {
        let (acl, waiters, recorder) = (lab.acl, [lab.stream(), lab.stream()], lab.stream());
        let notify = acl.create_notify().unwrap();
        acl.record_notify(&notify, recorder).unwrap();
        lab.assert_done(recorder);
        acl.wait_notify(&notify, waiters[0], 0).unwrap();
        lab.assert_done(waiters[0]);
        acl.wait_notify(&notify, waiters[1], 0).unwrap();
        lab.assert_blocked(waiters[1]);
        acl.record_notify(&notify, recorder).unwrap();
        lab.assert_done(waiters[1]);
    }),
    ("a_notify_wait_times_out", "4", &[], |lab| {
        let (acl, waiter) = (lab.acl, lab.stream());
        let notify = acl.create_notify().unwrap();
        acl.wait_notify(&notify, waiter, 1).unwrap();
        acl.synchronize_stream(waiter, LONG).unwrap_err();
        lab.assert_done(waiter);
    }),
    ("notifies_cross_devices", "4", &[], |lab| {
        if !lab.two_devices {
            println!("  not run: one device");
            return;
        }
        let acl = lab.acl;
        let notify = acl.create_notify().unwrap();
        let waiter = lab.stream();
        acl.wait_notify(&notify, waiter, 0).unwrap();
        acl.set_device(1).unwrap();
        let recorder = acl.create_stream(0, StreamFlags::default()).unwrap();
        acl.record_notify(&notify, &recorder).unwrap();
        acl.synchronize_stream(&recorder, LONG).unwrap();
        acl.destroy_stream(recorder).unwrap();
        acl.set_device(0).unwrap();
        lab.assert_done(waiter);
        acl.reset_device(1).unwrap();
        acl.reset_device(0).unwrap();
    }),
    ("notifies_run_out", "0, 4", &[], |lab| {
        let acl = lab.acl;
        let mut held = Vec::new();
        let refused = loop {
            match acl.create_notify() {
                Ok(notify) => held.push(notify),
                Err(error) => break error,
            }
            assert!(held.len() <= 8192, "more notifies than a device has");
        };
        assert_eq!(refused.code(), Some(Code::NO_NOTIFY_RESOURCE));
        held.into_iter()
            .for_each(|notify| acl.destroy_notify(notify).unwrap());
    }),
    (
        "a_value_wait_is_released_by_a_write",
        "5",
        &[Capability::Values],
        |lab| {
            let (acl, waiter, writer) = (lab.acl, lab.stream(), lab.stream());
            let memory = acl.malloc(64).unwrap();
            // Condition, operand of the wait, a word that does not meet it, one that does.
            let minus_one = u64::MAX;
            for (condition, operand, unmet, met) in [
                (0, 5, 4, 6),
                (0, 0, minus_one, 0),
                (1, 7, 8, 7),
                (2, 0b110, 0b001, 0b100),
                (3, 0xFF, !0xFF, 0),
            ] {
                acl.write_value(&memory, 8, unmet, writer).unwrap();
                lab.assert_done(writer);
                acl.wait_value(&memory, 8, operand, condition, waiter)
                    .unwrap();
                lab.assert_blocked(waiter);
                acl.write_value(&memory, 8, met, writer).unwrap();
                lab.assert_done(waiter);
                // The wait does not change the word.
                acl.wait_value(&memory, 8, operand, condition, waiter)
                    .unwrap();
                lab.assert_done(waiter);
            }
            let mut word = [1; 8];
            acl.copy_out(&mut word, &memory, 8).unwrap();
            assert_eq!(word, [0; 8]);
            acl.free(memory).unwrap();
        },
    ),
    (
        "words_are_aligned_and_conditions_are_four",
        "5",
        &[Capability::Values],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            let memory = acl.malloc(64).unwrap();
            assert_code(acl.write_value(&memory, 4, 1, stream), Code::PARAM_INVALID);
            assert_code(
                acl.wait_value(&memory, 4, 1, 1, stream),
                Code::PARAM_INVALID,
            );
            assert_code(
                acl.wait_value(&memory, 0, 1, 4, stream),
                Code::PARAM_INVALID,
            );
            acl.free(memory).unwrap();
        },
    ),
];
