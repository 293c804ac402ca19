//! Section 3: the table, one test a row over all its columns, and the remarks below it.

use super::*;

#[test]
fn row_event_id() {
    // No flag and Ex: one id per record, given back when it retires. Flags: one id from creation.
    let mut rig = Rig::with(Config {
        event_ids: 2,
        ..config()
    });
    let (default, ex) = (rig.event(&Call::CreateEvent), rig.ex());
    let (a, b) = (rig.a, rig.b);
    assert_eq!(rig.record(default, a), Reply::DONE);
    assert_eq!(rig.record(ex, a), Reply::DONE);
    // The host may block for a free id, until one retires.
    assert_eq!(rig.record(default, b), Reply::Blocks);
    assert_eq!(rig.record(ex, b), Reply::Blocks);
    assert_eq!(
        rig.call(&Call::CreateEventWithFlag { flags: EVENT_SYNC }),
        Reply::Err(AclError::NO_EVENT_RESOURCE)
    );
    rig.run();
    let _flag = rig.sync_flag();
    assert_eq!(rig.record(ex, b), Reply::DONE);
    assert_eq!(
        rig.call(&Call::CreateEventWithFlag { flags: EVENT_SYNC }),
        Reply::Err(AclError::NO_EVENT_RESOURCE)
    );
    // Creation of the others is unlimited.
    for _ in 0..10 {
        rig.ex();
        rig.event(&Call::CreateEvent);
    }
}

#[test]
fn an_ex_record_keeps_its_id_until_its_waits_retire() {
    let mut rig = Rig::with(Config {
        event_ids: 1,
        ..config()
    });
    let (ex, other, n) = (rig.ex(), rig.ex(), rig.notify());
    let (a, b, c) = (rig.a, rig.b, rig.c);
    rig.ok(&Call::WaitAndResetNotify {
        notify: n,
        stream: b,
    });
    assert_eq!(rig.record(ex, a), Reply::DONE);
    assert_eq!(rig.wait(b, ex), Reply::DONE);
    rig.run_stream(a);
    assert_eq!(rig.record(other, c), Reply::Blocks);
    rig.ok(&Call::RecordNotify {
        notify: n,
        stream: a,
    });
    rig.run();
    assert_eq!(rig.record(other, c), Reply::DONE);
}

#[test]
fn row_wait_on_a_never_recorded_event() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let [default, sync, external, ex] = rig.columns();
    assert_eq!(rig.wait(a, default), Reply::Err(AclError::PARAM_INVALID));
    assert!(rig.is_empty(a));
    // Queued, and blocks the stream until some later record.
    for flag in [sync, external] {
        assert_eq!(rig.wait(a, flag), Reply::DONE);
        rig.run();
        assert_eq!(rig.sync(a), Reply::Err(AclError::STREAM_SYNC_TIMEOUT));
        assert_eq!(rig.record(flag, b), Reply::DONE);
        rig.run();
        assert_eq!(rig.sync(a), Reply::DONE);
    }
    // Nothing is queued, even if a record comes later.
    assert_eq!(rig.wait(a, ex), Reply::DONE);
    assert!(rig.is_empty(a));
    assert_eq!(rig.sync(a), Reply::DONE);
}

#[test]
fn row_wait_when_the_record_has_finished() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let [default, sync, external, ex] = rig.columns();
    for (event, queued) in [
        (default, false),
        (sync, true),
        (external, true),
        (ex, false),
    ] {
        assert_eq!(rig.record(event, a), Reply::DONE);
        rig.run();
        assert_eq!(rig.wait(b, event), Reply::DONE);
        assert_eq!(!rig.is_empty(b), queued, "{event:?}");
        // The flag is still set: it passes.
        rig.run();
        assert!(rig.is_empty(b));
    }
}

#[test]
fn row_wait_on_the_stream_of_the_record() {
    let mut rig = Rig::new();
    let a = rig.a;
    let [default, sync, external, ex] = rig.columns();
    for (event, tasks) in [(default, 2), (sync, 2), (external, 2), (ex, 1)] {
        let before = rig.machine.queued(a);
        assert_eq!(rig.record(event, a), Reply::DONE);
        assert_eq!(rig.wait(a, event), Reply::DONE);
        assert_eq!(rig.machine.queued(a) - before, tasks, "{event:?}");
        rig.run();
        assert!(rig.is_empty(a));
    }
}

#[test]
fn row_second_record() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let [default, sync, external, ex] = rig.columns();
    let n = rig.notify();
    // New ids: the wait after the second record waits for the second one.
    for event in [default, ex] {
        assert_eq!(rig.record(event, a), Reply::DONE);
        rig.run();
        rig.ok(&Call::WaitAndResetNotify {
            notify: n,
            stream: b,
        });
        assert_eq!(rig.record(event, b), Reply::DONE);
        assert_eq!(rig.wait(c, event), Reply::DONE);
        rig.run();
        assert!(!rig.is_empty(c), "{event:?}");
        rig.ok(&Call::RecordNotify {
            notify: n,
            stream: a,
        });
        rig.run();
        assert!(rig.is_empty(c), "{event:?}");
    }
    // The same flag is still set: a wait meant for the second record passes at once.
    for event in [sync, external] {
        assert_eq!(rig.record(event, a), Reply::DONE);
        rig.run();
        rig.ok(&Call::WaitAndResetNotify {
            notify: n,
            stream: b,
        });
        assert_eq!(rig.record(event, b), Reply::DONE);
        assert_eq!(rig.wait(c, event), Reply::DONE);
        rig.run();
        assert!(rig.is_empty(c), "{event:?}");
        rig.ok(&Call::RecordNotify {
            notify: n,
            stream: a,
        });
        rig.run();
    }
}

#[test]
fn earlier_ex_waits_keep_the_record_they_captured() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let (ex, n) = (rig.ex(), rig.notify());
    rig.ok(&Call::WaitAndResetNotify {
        notify: n,
        stream: a,
    });
    assert_eq!(rig.record(ex, a), Reply::DONE);
    assert_eq!(rig.wait(b, ex), Reply::DONE);
    // A record on another stream does not release the waiter of the first.
    assert_eq!(rig.record(ex, c), Reply::DONE);
    rig.run();
    assert!(rig.is_empty(c));
    assert!(!rig.is_empty(b));
    rig.ok(&Call::RecordNotify {
        notify: n,
        stream: c,
    });
    rig.run();
    assert!(rig.is_empty(b));
}

#[test]
fn row_reset() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let [default, sync, external, ex] = rig.columns();
    let reset = |event| Call::ResetEvent { event, stream: b };
    assert_eq!(rig.call(&reset(default)), Reply::Undefined);
    assert_eq!(
        rig.call(&reset(ex)),
        Reply::Err(AclError::FEATURE_NOT_SUPPORT)
    );
    for event in [sync, external] {
        assert_eq!(rig.record(event, a), Reply::DONE);
        assert_eq!(rig.wait(b, event), Reply::DONE);
        rig.ok(&reset(event));
        // Required for reuse: the second wait blocks until the second record.
        assert_eq!(rig.wait(b, event), Reply::DONE);
        rig.run();
        assert!(!rig.is_empty(b), "{event:?}");
        assert_eq!(rig.record(event, a), Reply::DONE);
        rig.run();
        assert!(rig.is_empty(b), "{event:?}");
    }
}

#[test]
fn a_reset_on_one_of_two_waiting_streams_hangs_the_other() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let sync = rig.sync_flag();
    assert_eq!(rig.wait(b, sync), Reply::DONE);
    rig.ok(&Call::ResetEvent {
        event: sync,
        stream: b,
    });
    assert_eq!(rig.wait(c, sync), Reply::DONE);
    assert_eq!(rig.record(sync, a), Reply::DONE);
    rig.run_stream(a);
    rig.run_stream(b);
    rig.run();
    assert_eq!(rig.sync(c), Reply::Err(AclError::STREAM_SYNC_TIMEOUT));
}

#[test]
fn row_query_event_status_never_recorded() {
    let mut rig = Rig::new();
    let [default, sync, external, ex] = rig.columns();
    let mut query = |event| rig.call(&Call::QueryEventStatus { event });
    assert_eq!(query(default), NOT_READY);
    assert_eq!(query(sync), NOT_READY);
    assert_eq!(query(external), NOT_READY);
    assert_eq!(query(ex), COMPLETE);
}

#[test]
fn query_event_status_follows_the_latest_record() {
    let mut rig = Rig::new();
    let a = rig.a;
    for event in rig.columns() {
        assert_eq!(rig.record(event, a), Reply::DONE);
        assert_eq!(rig.call(&Call::QueryEventStatus { event }), NOT_READY);
        rig.run();
        assert_eq!(rig.call(&Call::QueryEventStatus { event }), COMPLETE);
    }
}

#[test]
fn row_synchronize_event_never_recorded() {
    let mut rig = Rig::new();
    let a = rig.a;
    for event in rig.columns() {
        let sync = Call::SynchronizeEvent {
            event,
            limited: false,
        };
        assert_eq!(rig.call(&sync), Reply::DONE);
        // After a record, it waits for that.
        assert_eq!(rig.record(event, a), Reply::DONE);
        assert_eq!(rig.call(&sync), Reply::Blocks);
        rig.run();
        assert_eq!(rig.call(&sync), Reply::DONE);
    }
}

#[test]
fn synchronize_event_times_out_when_its_record_cannot_run() {
    let mut rig = Rig::new();
    let a = rig.a;
    let (ex, notify) = (rig.ex(), rig.notify());
    rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
    assert_eq!(rig.record(ex, a), Reply::DONE);
    let sync = Call::SynchronizeEvent {
        event: ex,
        limited: true,
    };
    assert_eq!(rig.call(&sync), Reply::Err(AclError::EVENT_SYNC_TIMEOUT));
}

#[test]
fn row_query_event_and_wait_status() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let [default, sync, external, ex] = rig.columns();
    let notify = rig.notify();
    for event in [default, sync, external] {
        rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
        assert_eq!(rig.record(event, a), Reply::DONE);
        assert_eq!(rig.call(&Call::QueryEvent { event }), NOT_READY);
        assert_eq!(rig.call(&Call::QueryEventWaitStatus { event }), COMPLETE);
        assert_eq!(rig.wait(b, event), Reply::DONE);
        assert_eq!(rig.call(&Call::QueryEventWaitStatus { event }), NOT_READY);
        rig.ok(&Call::RecordNotify { notify, stream: b });
        // The notify is recorded behind the wait that needs it; another stream gives it.
        let c = rig.c;
        rig.ok(&Call::RecordNotify { notify, stream: c });
        rig.run();
        assert_eq!(rig.call(&Call::QueryEvent { event }), COMPLETE);
        assert_eq!(rig.call(&Call::QueryEventWaitStatus { event }), COMPLETE);
        rig.ok(&Call::ResetNotify { notify });
    }
    let unsupported = Reply::Err(AclError::FEATURE_NOT_SUPPORT);
    assert_eq!(rig.call(&Call::QueryEvent { event: ex }), unsupported);
    assert_eq!(
        rig.call(&Call::QueryEventWaitStatus { event: ex }),
        unsupported
    );
}

#[test]
fn row_graph_capture() {
    let mut rig = Rig::new();
    let a = rig.a;
    let [default, sync, external, ex] = rig.columns();
    rig.capture(|rig| {
        let unsupported = Reply::Err(AclError::FEATURE_NOT_SUPPORT);
        assert_eq!(rig.record(default, a), unsupported);
        assert_eq!(rig.wait(a, default), unsupported);
        assert_eq!(rig.record(sync, a), unsupported);
        assert_eq!(rig.wait(a, sync), unsupported);
        let reset = |event| Call::ResetEvent { event, stream: a };
        assert_eq!(rig.call(&reset(sync)), unsupported);
        assert_eq!(rig.record(external, a), Reply::DONE);
        assert_eq!(rig.wait(a, external), Reply::DONE);
        assert_eq!(rig.call(&reset(external)), Reply::DONE);
        assert_eq!(rig.record(ex, a), Reply::DONE);
        assert_eq!(rig.wait(a, ex), Reply::DONE);
    });
}

#[test]
fn destroyed_events_release_their_waiters() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let (ex, notify) = (rig.ex(), rig.notify());
    rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
    assert_eq!(rig.record(ex, a), Reply::DONE);
    assert_eq!(rig.wait(b, ex), Reply::DONE);
    rig.ok(&Call::DestroyEvent { event: ex });
    rig.run();
    assert!(!rig.is_empty(b));
    let c = rig.c;
    rig.ok(&Call::RecordNotify { notify, stream: c });
    rig.run();
    assert!(rig.is_empty(b));
    assert_eq!(rig.record(ex, a), Reply::Err(AclError::INVALID_HANDLE));
}

#[test]
fn without_the_sync_bit_streams_cannot_wait() {
    let mut rig = Rig::new();
    let a = rig.a;
    for flags in [EVENT_TIME_LINE, EVENT_CAPTURE_STREAM_PROGRESS] {
        let event = rig.event(&Call::CreateEventExWithFlag { flags });
        assert_eq!(rig.record(event, a), Reply::DONE);
        assert_eq!(
            rig.wait(a, event),
            Reply::Err(AclError::FEATURE_NOT_SUPPORT)
        );
        // The host can synchronise with it.
        let sync = Call::SynchronizeEvent {
            event,
            limited: false,
        };
        assert_eq!(rig.call(&sync), Reply::Blocks);
        rig.run();
        assert_eq!(rig.call(&sync), Reply::DONE);
    }
}

#[test]
fn flags_of_ex_events() {
    let mut rig = Rig::new();
    let create = |flags| Call::CreateEventExWithFlag { flags };
    let invalid = Reply::Err(AclError::PARAM_INVALID);
    assert_eq!(rig.call(&create(EVENT_EXTERNAL)), invalid);
    assert_eq!(rig.call(&create(EVENT_SYNC | EVENT_IPC)), invalid);
    rig.ok(&create(EVENT_IPC));
    rig.ok(&create(EVENT_SYNC | EVENT_TIME_LINE));
}

#[test]
fn elapsed_time_needs_time_line_events_that_are_done() {
    let mut rig = Rig::new();
    let a = rig.a;
    let timed = Call::CreateEventExWithFlag {
        flags: EVENT_TIME_LINE,
    };
    let (start, end, ex) = (rig.event(&timed), rig.event(&timed), rig.ex());
    for event in [start, end, ex] {
        assert_eq!(rig.record(event, a), Reply::DONE);
    }
    rig.run();
    let elapsed = |start, end| Call::EventElapsedTime { start, end };
    assert_eq!(rig.call(&elapsed(start, end)), Reply::DONE);
    let invalid = Reply::Err(AclError::EVENT_TIMESTAMP_INVALID);
    assert_eq!(rig.call(&elapsed(start, ex)), invalid);
}

#[test]
fn flag_events_can_take_all_ids() {
    let mut rig = Rig::with(Config {
        event_ids: 3,
        ..config()
    });
    let a = rig.a;
    let ex = rig.ex();
    let flags: Vec<Event> = (0..3).map(|_| rig.sync_flag()).collect();
    let none = Reply::Err(AclError::NO_EVENT_RESOURCE);
    assert_eq!(
        rig.call(&Call::CreateEventWithFlag { flags: EVENT_SYNC }),
        none
    );
    assert_eq!(rig.record(ex, a), none);
    rig.ok(&Call::DestroyEvent { event: flags[0] });
    assert_eq!(rig.record(ex, a), Reply::DONE);
}

#[test]
fn ex_events_recorded_one_after_the_other_never_run_out() {
    let mut rig = Rig::with(Config {
        event_ids: 4,
        ..config()
    });
    let a = rig.a;
    for _ in 0..100 {
        let ex = rig.ex();
        assert_eq!(rig.record(ex, a), Reply::DONE);
        rig.run();
    }
}

#[test]
fn many_waits_per_record() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let ex = rig.ex();
    assert_eq!(rig.record(ex, a), Reply::DONE);
    for stream in [b, c, b] {
        assert_eq!(rig.wait(stream, ex), Reply::DONE);
    }
    rig.run();
    assert!(rig.is_empty(b) && rig.is_empty(c));
}

#[test]
fn across_devices_an_ex_wait_is_lost_where_stream_ids_agree() {
    let mut rig = Rig::new();
    let a = rig.a;
    let ex = rig.ex();
    assert_eq!(
        rig.machine.call(9, &Call::SetDevice { device: 1 }),
        Reply::DONE
    );
    let mut create = || match rig.machine.call(9, &Call::CreateStream) {
        Reply::Ok(Value::Stream(stream)) => stream,
        reply => panic!("{reply:?}"),
    };
    let (same, other) = (create(), create());
    assert_eq!(rig.record(ex, a), Reply::DONE);
    for (stream, queued) in [(same, 0), (other, 1)] {
        let wait = Call::StreamWaitEvent {
            stream,
            event: ex,
            external: false,
        };
        assert_eq!(rig.machine.call(9, &wait), Reply::DONE);
        assert_eq!(rig.machine.queued(stream), queued);
    }
}
