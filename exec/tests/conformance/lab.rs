//! What the cases share.

use std::cell::RefCell;
use std::ffi::OsStr;

use ascsim_exec::acl::{Acl, AclError, Capabilities, Code, Notify, Stream, StreamFlags};

/// How long a case waits to see that something does not happen, in ms.
pub(crate) const SHORT: Option<u32> = Some(60);
/// How long a case waits for what must happen, in ms.
pub(crate) const LONG: Option<u32> = Some(10_000);

/// The library under test.
pub(crate) struct Lab {
    pub(crate) acl: &'static Acl,
    pub(crate) capabilities: Capabilities,
    /// Whether there is a second device.
    pub(crate) two_devices: bool,
    /// What a case has made, to be destroyed after it even if it failed.
    streams: RefCell<Vec<&'static Stream>>,
}

/// A stream that waits for a notify until the gate is opened: a way to have tasks that are queued and
/// not done.
pub(crate) struct Gate<'a> {
    lab: &'a Lab,
    notify: Notify,
}

impl Gate<'_> {
    /// Lets the stream go on.
    pub(crate) fn open(self) {
        let opener = self.lab.stream();
        self.lab
            .acl
            .record_notify(&self.notify, opener)
            .expect("record notify");
        self.lab
            .acl
            .synchronize_stream(opener, LONG)
            .expect("the opener ends");
        // The notify is not destroyed: the waiting stream may still be about to take it.
    }
}

impl Lab {
    pub(crate) fn open() -> Self {
        let named = std::env::var_os("ASCSIM_ACL_LIB");
        let path = named.is_none().then(ascsim_tests::emulator);
        let acl =
            Acl::open(path.as_deref().map(OsStr::new)).unwrap_or_else(|error| panic!("{error}"));
        let acl: &'static Acl = Box::leak(Box::new(acl));
        acl.init().expect("aclInit");
        acl.set_device(0).expect("aclrtSetDevice");
        let capabilities = acl.probe().expect("probing");
        let two_devices = acl.device_count().expect("aclrtGetDeviceCount") > 1;
        Self {
            acl,
            capabilities,
            two_devices,
            streams: RefCell::default(),
        }
    }

    pub(crate) fn run(&self, body: &fn(&Self)) {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(self)));
        // Whatever is still queued must not reach into the next case.
        for stream in self.streams.take() {
            drop(self.acl.abort_stream(stream));
        }
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    }

    /// A stream of the case.
    pub(crate) fn stream(&self) -> &'static Stream {
        let flags = StreamFlags(StreamFlags::FAST_LAUNCH.0 | StreamFlags::FAST_SYNC.0);
        let stream = self.acl.create_stream(0, flags).expect("create stream");
        let stream: &'static Stream = Box::leak(Box::new(stream));
        self.streams.borrow_mut().push(stream);
        stream
    }

    /// Closes a gate on the stream.
    pub(crate) fn gate(&self, stream: &Stream) -> Gate<'_> {
        let notify = self.acl.create_notify().expect("create notify");
        self.acl
            .wait_notify(&notify, stream, 0)
            .expect("wait notify");
        Gate { lab: self, notify }
    }

    /// Asserts that the stream does not get to its end.
    pub(crate) fn assert_blocked(&self, stream: &Stream) {
        assert_code(
            self.acl.synchronize_stream(stream, SHORT),
            Code::STREAM_SYNC_TIMEOUT,
        );
    }

    /// Asserts that the stream gets to its end.
    pub(crate) fn assert_done(&self, stream: &Stream) {
        self.acl
            .synchronize_stream(stream, LONG)
            .expect("the stream gets to its end");
    }
}

/// Asserts that a call was refused with `code`.
#[track_caller]
pub(crate) fn assert_code<T: std::fmt::Debug>(outcome: Result<T, AclError>, code: Code) {
    match outcome {
        Err(error) if error.code() == Some(code) => {}
        other => panic!("expected {code}, found {other:?}"),
    }
}
