//! Section 10: capture and graphs.

use super::*;

fn begin(stream: Stream, mode: CaptureMode) -> Call {
    Call::CaptureBegin { stream, mode }
}

#[test]
fn captured_calls_run_only_when_the_graph_does() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let graph = rig.capture(|rig| {
        rig.task(a);
        assert_eq!(
            rig.call(&Call::CaptureGetInfo { stream: a }),
            Reply::Ok(Value::Capturing(true))
        );
    });
    assert_eq!(
        rig.call(&Call::CaptureGetInfo { stream: a }),
        Reply::Ok(Value::Capturing(false))
    );
    assert!(rig.is_empty(a));
    assert!(rig.machine.enabled().is_empty());
    // Replay works on another stream than the captured one, as often as wanted.
    for _ in 0..3 {
        rig.ok(&Call::ExecuteAsync { graph, stream: b });
    }
    assert!(!rig.is_empty(b));
    rig.run();
    assert!(rig.is_empty(b));
}

#[test]
fn synchronising_or_querying_a_capturing_stream_is_refused() {
    let mut rig = Rig::new();
    let a = rig.a;
    rig.capture(|rig| {
        let captured = Reply::Err(AclError::STREAM_CAPTURED);
        assert_eq!(rig.sync(a), captured);
        assert_eq!(rig.call(&Call::QueryStream { stream: a }), captured);
    });
}

#[test]
fn what_global_mode_allows_on_the_same_thread() {
    let mut rig = Rig::new();
    let b = rig.b;
    rig.capture(|rig| {
        assert_eq!(rig.sync(b), Reply::DONE);
        rig.ok(&Call::CreateStream);
        rig.ok(&Call::Malloc);
        // An asynchronous copy of pinned memory on another stream.
        rig.task(b);
        // A synchronous copy is refused, and the capture survives.
        let refused = Reply::Err(AclError::CAPTURE_MODE_NOT_SUPPORT);
        assert_eq!(rig.call(&Call::MemcpySync), refused);
        assert_eq!(rig.call(&Call::SynchronizeDevice), refused);
        assert_eq!(
            rig.call(&Call::MemcpyPageable { stream: b }),
            Reply::Err(AclError::CAPTURE_MODE_BLOCK_ASYNC)
        );
    });
}

#[test]
fn modes_forbid_synchronous_copies_to_different_threads() {
    for (mode, own, other) in [
        (CaptureMode::Global, false, false),
        (CaptureMode::ThreadLocal, false, true),
        (CaptureMode::Relaxed, true, true),
    ] {
        let mut rig = Rig::new();
        let a = rig.a;
        rig.ok(&begin(a, mode));
        let allowed = |reply| reply == Reply::DONE;
        assert_eq!(
            allowed(rig.machine.call(0, &Call::MemcpySync)),
            own,
            "{mode:?}"
        );
        assert_eq!(
            allowed(rig.machine.call(1, &Call::MemcpySync)),
            other,
            "{mode:?}"
        );
    }
}

#[test]
fn begin_and_end_belong_together() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let end = |stream| Call::CaptureEnd { stream };
    assert_eq!(rig.call(&end(a)), Reply::Err(AclError::STREAM_NOT_CAPTURED));
    rig.ok(&begin(a, CaptureMode::Global));
    assert_eq!(
        rig.call(&begin(a, CaptureMode::Global)),
        Reply::Err(AclError::STREAM_CAPTURED)
    );
    assert_eq!(
        rig.machine.call(1, &end(a)),
        Reply::Err(AclError::CAPTURE_WRONG_THREAD)
    );
    let ex = rig.ex();
    assert_eq!(rig.record(ex, a), Reply::DONE);
    assert_eq!(rig.wait(b, ex), Reply::DONE);
    assert_eq!(rig.call(&end(b)), Reply::Err(AclError::CAPTURE_UNMATCHED));
    // In relaxed mode any thread may end it.
    let mut rig = Rig::new();
    rig.ok(&begin(a, CaptureMode::Relaxed));
    assert!(matches!(
        rig.machine.call(1, &end(a)),
        Reply::Ok(Value::Graph(_))
    ));
}

#[test]
fn the_default_stream_cannot_be_captured() {
    let mut rig = Rig::new();
    let (a, default) = (rig.a, Stream(0));
    let implicit = Reply::Err(AclError::STREAM_CAPTURE_IMPLICIT);
    assert_eq!(rig.call(&begin(default, CaptureMode::Global)), implicit);
    let ex = rig.ex();
    rig.capture(|rig| {
        assert_eq!(rig.record(ex, a), Reply::DONE);
        assert_eq!(rig.wait(default, ex), implicit);
    });
}

#[test]
fn side_streams_join_by_a_wait_and_must_return() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let (fork, join) = (rig.ex(), rig.ex());
    let graph = rig.capture(|rig| {
        assert_eq!(rig.record(fork, a), Reply::DONE);
        assert_eq!(rig.wait(b, fork), Reply::DONE);
        rig.task(b);
        assert_eq!(rig.record(join, b), Reply::DONE);
        assert_eq!(rig.wait(a, join), Reply::DONE);
    });
    rig.ok(&Call::ExecuteAsync { graph, stream: c });
    rig.run();
    assert!(rig.is_empty(c));
    // Without the way back, or with a task after it, the end fails.
    for task_after in [false, true] {
        let mut rig = Rig::new();
        let (fork, join) = (rig.ex(), rig.ex());
        rig.ok(&begin(a, CaptureMode::Global));
        assert_eq!(rig.record(fork, a), Reply::DONE);
        assert_eq!(rig.wait(b, fork), Reply::DONE);
        if task_after {
            assert_eq!(rig.record(join, b), Reply::DONE);
            assert_eq!(rig.wait(a, join), Reply::DONE);
        }
        rig.task(b);
        let end = rig.call(&Call::CaptureEnd { stream: a });
        assert_eq!(end, Reply::Err(AclError::STREAM_UNJOINED));
        // Both streams are free again.
        assert!(rig.is_empty(a) && rig.is_empty(b));
    }
}

#[test]
fn a_side_stream_may_return_through_another() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let (fork, middle, join) = (rig.ex(), rig.ex(), rig.ex());
    rig.capture(|rig| {
        assert_eq!(rig.record(fork, a), Reply::DONE);
        assert_eq!(rig.wait(b, fork), Reply::DONE);
        assert_eq!(rig.wait(c, fork), Reply::DONE);
        assert_eq!(rig.record(middle, c), Reply::DONE);
        assert_eq!(rig.wait(b, middle), Reply::DONE);
        assert_eq!(rig.record(join, b), Reply::DONE);
        assert_eq!(rig.wait(a, join), Reply::DONE);
    });
}

#[test]
fn waiting_for_a_record_outside_is_an_error_and_for_none_nothing() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let (outside, never) = (rig.ex(), rig.ex());
    assert_eq!(rig.record(outside, b), Reply::DONE);
    let graph = rig.capture(|rig| {
        assert_eq!(
            rig.wait(a, outside),
            Reply::Err(AclError::CAPTURE_DEPENDENCY)
        );
        assert_eq!(rig.wait(a, never), Reply::DONE);
        rig.ok(&Call::StreamWaitEvent {
            stream: a,
            event: outside,
            external: true,
        });
    });
    assert!(rig.machine.graph_tags(graph).is_empty());
}

#[test]
fn events_of_a_capture_cannot_be_asked_for_and_conflict_with_another() {
    let mut rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    let ex = rig.ex();
    rig.ok(&begin(a, CaptureMode::Global));
    assert_eq!(rig.record(ex, a), Reply::DONE);
    let captured = Reply::Err(AclError::EVENT_CAPTURED);
    assert_eq!(rig.call(&Call::QueryEventStatus { event: ex }), captured);
    let sync = Call::SynchronizeEvent {
        event: ex,
        limited: false,
    };
    assert_eq!(rig.call(&sync), captured);
    rig.ok(&begin(b, CaptureMode::Global));
    assert_eq!(rig.wait(b, ex), Reply::Err(AclError::CAPTURE_CONFLICT));
}

#[test]
fn external_waits_bind_at_each_launch() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let (ex, notify) = (rig.ex(), rig.notify());
    let wait = Call::StreamWaitEvent {
        stream: a,
        event: ex,
        external: true,
    };
    let graph = rig.capture(|rig| {
        rig.ok(&wait);
        // Once per event and graph.
        assert_eq!(rig.call(&wait), Reply::Err(AclError::PARAM_INVALID));
    });
    let launch = Call::ExecuteAsync { graph, stream: c };
    // Nothing recorded: it passes.
    rig.ok(&launch);
    rig.run();
    assert!(rig.is_empty(c));
    rig.ok(&Call::WaitAndResetNotify { notify, stream: b });
    assert_eq!(rig.record(ex, b), Reply::DONE);
    rig.ok(&launch);
    rig.run();
    assert!(!rig.is_empty(c));
    rig.ok(&Call::RecordNotify { notify, stream: a });
    rig.run();
    assert!(rig.is_empty(c));
}

#[test]
fn external_records_release_waits_outside() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let (ex, notify) = (rig.ex(), rig.notify());
    let graph = rig.capture(|rig| {
        rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
        rig.ok(&Call::RecordEvent {
            event: ex,
            stream: a,
            external: true,
        });
    });
    for _ in 0..2 {
        rig.ok(&Call::ExecuteAsync { graph, stream: c });
        assert_eq!(rig.wait(b, ex), Reply::DONE);
        rig.run();
        assert!(!rig.is_empty(b));
        rig.ok(&Call::RecordNotify { notify, stream: a });
        rig.run();
        assert!(rig.is_empty(b) && rig.is_empty(c));
    }
}

#[test]
fn external_use_needs_software_queues() {
    let mut rig = Rig::with(Config {
        software_queues: false,
        ..config()
    });
    let a = rig.a;
    let ex = rig.ex();
    rig.capture(|rig| {
        let record = Call::RecordEvent {
            event: ex,
            stream: a,
            external: true,
        };
        assert_eq!(rig.call(&record), Reply::Err(AclError::FEATURE_NOT_SUPPORT));
    });
}

#[test]
fn external_events_block_and_release_on_every_replay() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let event = rig.event(&Call::CreateEventWithFlag {
        flags: EVENT_EXTERNAL,
    });
    let graph = rig.capture(|rig| {
        assert_eq!(rig.wait(a, event), Reply::DONE);
        rig.ok(&Call::ResetEvent { event, stream: a });
    });
    for _ in 0..3 {
        rig.ok(&Call::ExecuteAsync { graph, stream: c });
        rig.run();
        assert!(!rig.is_empty(c));
        assert_eq!(rig.record(event, b), Reply::DONE);
        rig.run();
        assert!(rig.is_empty(c));
    }
}

#[test]
fn notifies_words_and_host_functions_replay() {
    use crate::ir::Compare;
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let notify = rig.notify();
    let write = |value, stream| Call::ValueWrite {
        device: 0,
        address: 0,
        value,
        stream,
    };
    let graph = rig.capture(|rig| {
        rig.ok(&Call::ValueWait {
            device: 0,
            address: 0,
            value: 1,
            compare: Compare::Eq,
            stream: a,
        });
        rig.ok(&write(0, a));
        rig.ok(&Call::LaunchHostFunc {
            stream: a,
            calls_acl: false,
        });
        rig.ok(&Call::RecordNotify { notify, stream: a });
    });
    for _ in 0..2 {
        rig.ok(&Call::ExecuteAsync { graph, stream: c });
        rig.ok(&Call::WaitAndResetNotify { notify, stream: b });
        rig.run();
        assert!(!rig.is_empty(b));
        rig.ok(&write(1, a));
        rig.run();
        assert!(rig.is_empty(b) && rig.is_empty(c));
    }
}

#[test]
fn launches_of_one_graph_run_one_after_the_other() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let notify = rig.notify();
    let graph = rig.capture(|rig| {
        rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
    });
    rig.ok(&Call::ExecuteAsync { graph, stream: b });
    rig.ok(&Call::ExecuteAsync { graph, stream: c });
    rig.ok(&Call::RecordNotify { notify, stream: a });
    rig.run();
    // In the order of the calls.
    assert!(rig.is_empty(b) && !rig.is_empty(c));
    assert_eq!(
        rig.call(&Call::DestroyGraph { graph }),
        Reply::Err(AclError::MODEL_RUNNING)
    );
    rig.ok(&Call::RecordNotify { notify, stream: a });
    rig.run();
    assert!(rig.is_empty(c));
    rig.ok(&Call::DestroyGraph { graph });
    assert_eq!(
        rig.call(&Call::ExecuteAsync { graph, stream: b }),
        Reply::Err(AclError::INVALID_HANDLE)
    );
}

#[test]
fn a_graph_cannot_be_launched_into_a_capture() {
    let mut rig = Rig::new();
    let a = rig.a;
    let graph = rig.capture(|rig| rig.task(a));
    rig.capture(|rig| {
        let launch = Call::ExecuteAsync { graph, stream: a };
        assert_eq!(rig.call(&launch), Reply::Err(AclError::STREAM_CAPTURED));
    });
}

#[test]
fn an_aborted_launch_does_not_hold_up_the_next() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.a, rig.b, rig.c);
    let notify = rig.notify();
    let graph = rig.capture(|rig| {
        rig.ok(&Call::WaitAndResetNotify { notify, stream: a });
    });
    // The first is running and the second queued when their stream is aborted.
    rig.ok(&Call::ExecuteAsync { graph, stream: b });
    rig.ok(&Call::ExecuteAsync { graph, stream: b });
    rig.ok(&Call::ExecuteAsync { graph, stream: c });
    rig.run();
    rig.ok(&Call::AbortStream { stream: b });
    rig.ok(&Call::RecordNotify { notify, stream: a });
    rig.run();
    assert!(rig.is_empty(b) && rig.is_empty(c));
}
