//! The facts of facts/acl.md, one test a row or remark.

mod events;
mod graphs;
mod streams;

use super::*;
use crate::ir::{CaptureMode, Limits};

/// A machine under test: one thread on device 0 unless said, and streams to use.
struct Rig {
    machine: Machine,
    a: Stream,
    b: Stream,
    c: Stream,
}

const THREAD: u32 = 0;

fn config() -> Config {
    Config::new(2, &Limits::default())
}

impl Rig {
    fn new() -> Self {
        Self::with(config())
    }

    fn with(config: Config) -> Self {
        let mut machine = Machine::new(config);
        for thread in 0..3 {
            let set = machine.call(thread, &Call::SetDevice { device: 0 });
            assert_eq!(set, Reply::DONE);
        }
        let mut stream = || match machine.call(THREAD, &Call::CreateStream) {
            Reply::Ok(Value::Stream(stream)) => stream,
            reply => panic!("{reply:?}"),
        };
        let (a, b, c) = (stream(), stream(), stream());
        Self { machine, a, b, c }
    }

    fn call(&mut self, call: &Call) -> Reply {
        self.machine.call(THREAD, call)
    }

    fn ok(&mut self, call: &Call) {
        let reply = self.call(call);
        assert!(matches!(reply, Reply::Ok(_)), "{call:?}: {reply:?}");
    }

    fn event(&mut self, call: &Call) -> Event {
        match self.call(call) {
            Reply::Ok(Value::Event(event)) => event,
            reply => panic!("{reply:?}"),
        }
    }

    /// The events of the three columns of the table in section 3, and which column each is in.
    fn columns(&mut self) -> [Event; 4] {
        [
            self.event(&Call::CreateEvent),
            self.event(&Call::CreateEventWithFlag { flags: EVENT_SYNC }),
            self.event(&Call::CreateEventWithFlag {
                flags: EVENT_EXTERNAL,
            }),
            self.ex(),
        ]
    }

    fn ex(&mut self) -> Event {
        self.event(&Call::CreateEventExWithFlag { flags: EVENT_SYNC })
    }

    fn sync_flag(&mut self) -> Event {
        self.event(&Call::CreateEventWithFlag { flags: EVENT_SYNC })
    }

    fn notify(&mut self) -> Notify {
        match self.call(&Call::CreateNotify) {
            Reply::Ok(Value::Notify(notify)) => notify,
            reply => panic!("{reply:?}"),
        }
    }

    fn record(&mut self, event: Event, stream: Stream) -> Reply {
        self.call(&Call::RecordEvent {
            event,
            stream,
            external: false,
        })
    }

    fn wait(&mut self, stream: Stream, event: Event) -> Reply {
        self.call(&Call::StreamWaitEvent {
            stream,
            event,
            external: false,
        })
    }

    fn task(&mut self, stream: Stream) {
        self.ok(&Call::LaunchTask { stream });
    }

    /// Lets devices do all they can.
    fn run(&mut self) {
        while let Some(&step) = self.machine.enabled().first() {
            self.machine.step(step).expect("it is enabled");
        }
    }

    /// Lets a stream do all it can by itself.
    fn run_stream(&mut self, stream: Stream) {
        while self.machine.enabled().contains(&Step::Head(stream)) {
            self.machine
                .step(Step::Head(stream))
                .expect("it is enabled");
        }
    }

    fn is_empty(&mut self, stream: Stream) -> bool {
        match self.call(&Call::QueryStream { stream }) {
            Reply::Ok(Value::Complete(complete)) => complete,
            reply => panic!("{reply:?}"),
        }
    }

    /// `aclrtSynchronizeStreamWithTimeout`.
    fn sync(&mut self, stream: Stream) -> Reply {
        self.call(&Call::SynchronizeStream {
            stream,
            limited: true,
        })
    }

    /// Captures what `body` calls, from stream `a`.
    fn capture(&mut self, body: impl FnOnce(&mut Self)) -> Graph {
        let stream = self.a;
        let mode = CaptureMode::Global;
        self.ok(&Call::CaptureBegin { stream, mode });
        body(self);
        match self.call(&Call::CaptureEnd { stream }) {
            Reply::Ok(Value::Graph(graph)) => graph,
            reply => panic!("{reply:?}"),
        }
    }
}

const COMPLETE: Reply = Reply::Ok(Value::Complete(true));
const NOT_READY: Reply = Reply::Ok(Value::Complete(false));
