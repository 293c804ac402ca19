//! Sections 0, 2, 4, 5, 9 and 16: streams, queues, notifies, words and host functions.

use super::*;
use crate::ir::{CollectiveKind, Compare};

#[test]
fn threads_need_a_device_and_use_its_streams() {
    let mut rig = Rig::new();
    let a = rig.a;
    let launch = Call::LaunchTask { stream: a };
    assert_eq!(
        rig.machine.call(7, &launch),
        Reply::Err(AclError::CONTEXT_NULL)
    );
    let set = |device| Call::SetDevice { device };
    assert_eq!(
        rig.machine.call(7, &set(2)),
        Reply::Err(AclError::INVALID_DEVICEID)
    );
    assert_eq!(rig.machine.call(7, &set(1)), Reply::DONE);
    assert_eq!(
        rig.machine.call(7, &launch),
        Reply::Err(AclError::STREAM_CONTEXT)
    );
}

#[test]
fn streams_are_fifos_and_independent() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    for tag in 0..2 {
        rig.machine
            .tagged(THREAD, &Call::LaunchTask { stream: a }, Some(tag));
        rig.machine
            .tagged(THREAD, &Call::LaunchTask { stream: b }, Some(10 + tag));
    }
    let both = |tag| Ok(vec![Effect::Started(tag), Effect::Done(tag)]);
    assert_eq!(rig.machine.enabled(), [Step::Head(a), Step::Head(b)]);
    assert_eq!(rig.machine.step(Step::Head(b)), both(10));
    assert_eq!(rig.machine.step(Step::Head(b)), both(11));
    assert_eq!(rig.machine.step(Step::Head(a)), both(0));
    assert_eq!(
        rig.machine.step(Step::Head(b)),
        Err(AclError::PARAM_INVALID)
    );
}

#[test]
fn a_full_queue_blocks_the_host_until_a_task_retires() {
    let mut rig = Rig::with(Config {
        queue_entries: 2,
        ..config()
    });
    let (a, b) = (rig.a, rig.b);
    let notify = rig.notify();
    rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
    rig.task(a);
    let third = Call::LaunchTask { stream: a };
    assert_eq!(rig.call(&third), Reply::Blocks);
    rig.run();
    assert_eq!(rig.call(&third), Reply::Blocks);
    // Only another thread can still issue the record: the hazard of section 16.1.
    let record = Call::RecordNotify { notify, stream: b };
    assert_eq!(rig.machine.call(1, &record), Reply::DONE);
    rig.run();
    assert_eq!(rig.call(&third), Reply::DONE);
}

#[test]
fn a_value_wait_takes_several_entries() {
    let mut rig = Rig::with(Config {
        queue_entries: 5,
        ..config()
    });
    let a = rig.a;
    let wait = Call::ValueWait {
        device: 0,
        address: 0,
        value: 1,
        compare: Compare::Eq,
        stream: a,
    };
    rig.ok(&wait);
    assert_eq!(rig.call(&wait), Reply::Blocks);
    rig.task(a);
    assert_eq!(rig.call(&Call::LaunchTask { stream: a }), Reply::Blocks);
}

#[test]
fn a_synchronisation_waits_for_what_was_queued_before_it() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let notify = rig.notify();
    rig.task(a);
    let sync = Call::SynchronizeStream {
        stream: a,
        limited: false,
    };
    assert_eq!(rig.call(&sync), Reply::Blocks);
    let later = Call::WaitAndResetNotify { notify, stream: a };
    assert_eq!(rig.machine.call(1, &later), Reply::DONE);
    rig.run();
    assert_eq!(rig.call(&sync), Reply::DONE);
    assert_eq!(rig.call(&Call::SynchronizeDevice), Reply::Blocks);
    let record = Call::RecordNotify { notify, stream: b };
    assert_eq!(rig.machine.call(1, &record), Reply::DONE);
    rig.run();
    assert_eq!(rig.call(&Call::SynchronizeDevice), Reply::DONE);
}

#[test]
fn a_time_limit_leaves_the_tasks_running() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let notify = rig.notify();
    rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
    assert_eq!(rig.sync(a), Reply::Err(AclError::STREAM_SYNC_TIMEOUT));
    assert!(!rig.is_empty(a));
    rig.ok(&Call::RecordNotify { notify, stream: b });
    rig.run();
    assert_eq!(rig.sync(a), Reply::DONE);
}

#[test]
fn destroying_a_stream_waits_unless_forced() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    rig.task(a);
    assert_eq!(rig.call(&Call::DestroyStream { stream: a }), Reply::Blocks);
    rig.run();
    assert_eq!(rig.call(&Call::DestroyStream { stream: a }), Reply::DONE);
    assert_eq!(
        rig.call(&Call::LaunchTask { stream: a }),
        Reply::Err(AclError::INVALID_HANDLE)
    );
    rig.task(b);
    assert_eq!(
        rig.call(&Call::DestroyStreamForce { stream: b }),
        Reply::DONE
    );
    assert!(rig.machine.enabled().is_empty());
}

#[test]
fn abort_frees_the_stream_and_fails_synchronisations_in_flight() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let (notify, ex) = (rig.notify(), rig.ex());
    rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
    assert_eq!(rig.record(ex, a), Reply::DONE);
    assert_eq!(rig.wait(b, ex), Reply::DONE);
    let sync = Call::SynchronizeStream {
        stream: a,
        limited: false,
    };
    assert_eq!(rig.machine.call(1, &sync), Reply::Blocks);
    assert_eq!(rig.call(&Call::AbortStream { stream: a }), Reply::DONE);
    assert_eq!(
        rig.machine.call(1, &sync),
        Reply::Err(AclError::STREAM_ABORT)
    );
    // Usable at once.
    rig.task(a);
    rig.run();
    assert!(rig.is_empty(a));
    // Streams that waited for it hang (16.7), until they are aborted too.
    assert_eq!(rig.sync(b), Reply::Err(AclError::STREAM_SYNC_TIMEOUT));
    rig.ok(&Call::AbortStream { stream: b });
    assert_eq!(rig.sync(b), Reply::DONE);
}

#[test]
fn abort_needs_a_firmware_capability() {
    let mut rig = Rig::with(Config {
        stream_abort: false,
        ..config()
    });
    let a = rig.a;
    assert_eq!(
        rig.call(&Call::AbortStream { stream: a }),
        Reply::Err(AclError::FEATURE_NOT_SUPPORT)
    );
}

#[test]
fn one_notify_record_wakes_one_wait() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let notify = rig.notify();
    // A wait may be issued first.
    rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
    rig.ok(&Call::WaitAndResetNotify { notify, stream: b });
    rig.run();
    assert!(!rig.is_empty(a) && !rig.is_empty(b));
    let record = Call::RecordNotify { notify, stream: c };
    rig.ok(&record);
    rig.run();
    assert!(rig.is_empty(a) != rig.is_empty(b));
    rig.ok(&record);
    rig.run();
    assert!(rig.is_empty(a) && rig.is_empty(b));
    // It is a flag: of two records in a row, one is lost.
    rig.ok(&record);
    rig.ok(&record);
    rig.run();
    rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
    rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
    rig.run();
    assert!(!rig.is_empty(a));
}

#[test]
fn notifies_are_limited() {
    let mut rig = Rig::with(Config {
        notifies: 1,
        ..config()
    });
    let notify = rig.notify();
    assert_eq!(
        rig.call(&Call::CreateNotify),
        Reply::Err(AclError::NO_NOTIFY_RESOURCE)
    );
    rig.ok(&Call::DestroyNotify { notify });
    rig.notify();
}

#[test]
fn value_waits_poll_their_word() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    for (compare, value, blocked, met) in [
        (Compare::Geq, 3, 2, 3),
        (Compare::Geq, u64::MAX, u64::MAX - 1, 0),
        (Compare::Eq, 7, 8, 7),
        (Compare::And, 6, 9, 4),
        (Compare::Nor, 1, u64::MAX, 2),
    ] {
        let write = |value| Call::ValueWrite {
            device: 0,
            address: 16,
            value,
            stream: b,
        };
        rig.ok(&write(blocked));
        rig.run();
        rig.ok(&Call::ValueWait {
            device: 0,
            address: 16,
            value,
            compare,
            stream: a,
        });
        rig.run();
        assert!(!rig.is_empty(a), "{compare:?}");
        rig.ok(&write(met));
        rig.run();
        assert!(rig.is_empty(a), "{compare:?}");
    }
    let odd = Call::ValueWrite {
        device: 0,
        address: 4,
        value: 1,
        stream: a,
    };
    assert_eq!(rig.call(&odd), Reply::Err(AclError::PARAM_INVALID));
}

#[test]
fn host_functions_hold_up_their_stream_and_must_not_call_acl() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    for (stream, calls_acl) in [(a, false), (b, true)] {
        rig.ok(&Call::LaunchHostFunc { stream, calls_acl });
        rig.task(stream);
    }
    rig.run();
    assert!(rig.is_empty(a));
    assert_eq!(rig.sync(b), Reply::Err(AclError::STREAM_SYNC_TIMEOUT));
}

#[test]
fn a_copy_of_pageable_memory_returns_when_it_is_done() {
    let mut rig = Rig::new();
    let a = rig.a;
    let copy = Call::MemcpyPageable { stream: a };
    assert_eq!(rig.call(&copy), Reply::Blocks);
    assert!(rig.machine.is_inside(THREAD));
    assert_eq!(rig.machine.queued(a), 1);
    assert_eq!(rig.call(&copy), Reply::Blocks);
    rig.run();
    assert_eq!(rig.call(&copy), Reply::DONE);
    assert_eq!(rig.machine.queued(a), 1);
}

#[test]
fn collectives_end_when_all_members_have_started_and_mean_the_same() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let comm = rig.machine.add_communicator(2);
    let collective = |member, kind, stream| Call::Collective {
        comm,
        member,
        kind,
        stream,
    };
    rig.ok(&collective(0, CollectiveKind::AllReduce, a));
    rig.run();
    assert!(!rig.is_empty(a));
    rig.ok(&collective(1, CollectiveKind::AllReduce, b));
    rig.run();
    assert!(rig.is_empty(a) && rig.is_empty(b));
    rig.ok(&collective(0, CollectiveKind::AllReduce, a));
    rig.ok(&collective(1, CollectiveKind::AllGather, b));
    rig.run();
    assert!(!rig.is_empty(a) && !rig.is_empty(b));
}

#[test]
fn a_group_holds_its_place_until_all_parts_are_done() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let notify = rig.notify();
    let part = |call: Call, after: &[usize]| PartCall {
        call,
        after: after.to_vec(),
    };
    let launch = Call::LaunchTask { stream: a };
    rig.ok(&Call::LaunchGroup {
        stream: a,
        parts: vec![
            part(launch.clone(), &[]),
            part(Call::WaitAndResetNotify { notify, stream: a }, &[]),
            part(launch, &[0, 1]),
        ],
    });
    rig.machine.step(Step::Head(a)).expect("it starts");
    assert_eq!(rig.machine.enabled(), [Step::Part(a, 0)]);
    assert_eq!(
        rig.machine.step(Step::Part(a, 2)),
        Err(AclError::PARAM_INVALID)
    );
    rig.run();
    assert!(!rig.is_empty(a));
    rig.ok(&Call::RecordNotify { notify, stream: b });
    rig.run();
    assert!(rig.is_empty(a));
}
