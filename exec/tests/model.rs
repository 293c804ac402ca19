//! The emulator against the executable model of ACL in `schedules`: random sequences of calls of one
//! host thread have the same replies, call by call.
//!
//! After each call the model makes every step it can, as the emulator does when tasks take no time.
//! What depends on which of two streams is faster is not generated: each notify and each flag event
//! is waited for by one stream only, and each word is written by one stream only, so that words grow.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use ascsim_exec::acl::{
    Acl, AclError, DeviceMemory, Event, EventFlags, Graph, GraphMode, Notify, QueryStatus, Stream,
    StreamFlags,
};
use ascsim_schedules::acl::{self as model, Call, Machine, Reply, Value};
use ascsim_schedules::{CaptureMode, Compare, Limits};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const STREAMS: u32 = 3;
const EVENTS: u32 = 8;
const NOTIFIES: u32 = 2;
const WORDS: u64 = 2;

/// What both sides say about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Done,
    Is(bool),
    Code(i32),
}

/// Both sides, with the objects of each in the same order.
struct Both<'a> {
    acl: &'a Acl,
    machine: Machine,
    streams: BTreeMap<u32, Stream>,
    events: Vec<Event>,
    notifies: Vec<Notify>,
    graphs: BTreeMap<u32, Graph>,
    memory: DeviceMemory,
    written: [u64; WORDS as usize],
}

fn said<T>(outcome: Result<T, AclError>, ok: impl FnOnce(T) -> Said) -> Said {
    match outcome {
        Ok(value) => ok(value),
        Err(error) => Said::Code(error.code().unwrap_or_else(|| panic!("{error}")).0),
    }
}

fn done<T>(outcome: Result<T, AclError>) -> Said {
    said(outcome, |_| Said::Done)
}

fn status(outcome: Result<QueryStatus, AclError>) -> Said {
    said(outcome, |status| Said::Is(status == QueryStatus::Complete))
}

impl<'a> Both<'a> {
    fn new(acl: &'a Acl) -> Self {
        acl.init().unwrap();
        acl.set_device(0).unwrap();
        let mut both = Self {
            acl,
            machine: Machine::new(model::Config::new(1, &Limits::default())),
            streams: BTreeMap::new(),
            events: Vec::new(),
            notifies: Vec::new(),
            graphs: BTreeMap::new(),
            memory: acl.malloc(8 * WORDS).unwrap(),
            written: [0; WORDS as usize],
        };
        assert_eq!(
            both.machine.call(0, &Call::SetDevice { device: 0 }),
            Reply::DONE
        );
        for _ in 0..STREAMS {
            let Reply::Ok(Value::Stream(stream)) = both.machine.call(0, &Call::CreateStream) else {
                panic!("the model has streams");
            };
            let ours = acl.create_stream(0, StreamFlags::default()).unwrap();
            both.streams.insert(stream.0, ours);
        }
        for event in 0..EVENTS {
            let (call, ours) = match event % 4 {
                0 => (Call::CreateEvent, acl.create_event()),
                1 => {
                    let flags = model::EVENT_SYNC;
                    let ours = acl.create_event_with_flag(EventFlags::SYNC);
                    (Call::CreateEventWithFlag { flags }, ours)
                }
                2 => {
                    let flags = model::EVENT_EXTERNAL;
                    let ours = acl.create_event_with_flag(EventFlags::EXTERNAL);
                    (Call::CreateEventWithFlag { flags }, ours)
                }
                _ => {
                    let flags = model::EVENT_SYNC;
                    (
                        Call::CreateEventExWithFlag { flags },
                        acl.create_event_ex(EventFlags::SYNC),
                    )
                }
            };
            let reply = both.machine.call(0, &call);
            assert_eq!(reply, Reply::Ok(Value::Event(model::Event(event))));
            both.events.push(ours.unwrap());
        }
        for notify in 0..NOTIFIES {
            let reply = both.machine.call(0, &Call::CreateNotify);
            assert_eq!(reply, Reply::Ok(Value::Notify(model::Notify(notify))));
            both.notifies.push(acl.create_notify().unwrap());
        }
        both
    }

    fn settle(&mut self) {
        while let Some(step) = self.machine.enabled().first() {
            self.machine
                .step(*step)
                .expect("an enabled step can be made");
        }
    }

    /// A call that random numbers choose; none if its outcome would be a race or is not documented.
    fn choose(&mut self, [what, a, b]: [u8; 3]) -> Option<Call> {
        let stream = model::Stream(1 + u32::from(a) % STREAMS);
        let event = model::Event(u32::from(b) % EVENTS);
        let notify = model::Notify(u32::from(b) % NOTIFIES);
        let word = usize::from(b) % WORDS as usize;
        let capturing = self.machine.call(0, &Call::CaptureGetInfo { stream })
            == Reply::Ok(Value::Capturing(true));
        let (kind, flag_waiter) = (event.0 % 4, model::Stream(1 + event.0 % STREAMS));
        let is_flag = kind == 1 || kind == 2;
        Some(match what % 21 {
            // What a query says of a flag that a graph sets is not documented.
            0..3 if kind == 2 && capturing => return None,
            0..3 => Call::RecordEvent {
                event,
                stream,
                external: false,
            },
            3..7 => {
                // A flag of a graph is waited for by whichever stream launches it.
                let stream = if is_flag { flag_waiter } else { stream };
                if kind == 2 && self.is_capturing(stream) {
                    return None;
                }
                Call::StreamWaitEvent {
                    stream,
                    event,
                    external: false,
                }
            }
            7 if kind == 0 => return None,
            7 => {
                let stream = if is_flag { flag_waiter } else { stream };
                if kind == 2 && self.is_capturing(stream) {
                    return None;
                }
                Call::ResetEvent { event, stream }
            }
            8 => Call::QueryEventStatus { event },
            9 => Call::QueryEvent { event },
            10 => Call::QueryEventWaitStatus { event },
            11 => Call::SynchronizeEvent {
                event,
                limited: true,
            },
            12 => Call::SynchronizeStream {
                stream,
                limited: true,
            },
            13 => Call::QueryStream { stream },
            14 => Call::RecordNotify { notify, stream },
            15 => {
                let stream = model::Stream(1 + notify.0 % STREAMS);
                if self.is_capturing(stream) {
                    return None;
                }
                Call::WaitAndResetNotify { notify, stream }
            }
            16 => {
                let stream = model::Stream(1 + word as u32 % STREAMS);
                if self.is_capturing(stream) {
                    return None;
                }
                self.written[word] += 1;
                let (address, value) = (8 * word as u64, self.written[word]);
                Call::ValueWrite {
                    device: 0,
                    address,
                    value,
                    stream,
                }
            }
            17 if !capturing => {
                let (address, value) = (8 * word as u64, self.written[word] + u64::from(a) / 128);
                Call::ValueWait {
                    device: 0,
                    address,
                    value,
                    compare: Compare::Geq,
                    stream,
                }
            }
            18 if capturing => Call::CaptureEnd { stream },
            18 => Call::CaptureBegin {
                stream,
                mode: CaptureMode::Global,
            },
            19 => {
                let graph = self
                    .graphs
                    .keys()
                    .nth(usize::from(b) % self.graphs.len().max(1))?;
                let graph = model::Graph(*graph);
                match b {
                    0..32 => Call::DestroyGraph { graph },
                    _ => Call::ExecuteAsync { graph, stream },
                }
            }
            20 if b < 64 => Call::MemcpySync,
            20 => Call::LaunchTask { stream },
            _ => return None,
        })
    }

    fn is_capturing(&mut self, stream: model::Stream) -> bool {
        let reply = self.machine.call(0, &Call::CaptureGetInfo { stream });
        reply == Reply::Ok(Value::Capturing(true))
    }

    /// What the emulator says.
    fn emulate(&mut self, call: &Call) -> Said {
        let acl = self.acl;
        let on = |stream: model::Stream| &self.streams[&stream.0];
        let event = |event: model::Event| &self.events[event.0 as usize];
        match *call {
            Call::RecordEvent {
                event: e, stream, ..
            } => done(acl.record_event(event(e), on(stream))),
            Call::StreamWaitEvent {
                stream, event: e, ..
            } => done(acl.wait_event(on(stream), event(e))),
            Call::ResetEvent { event: e, stream } => done(acl.reset_event(event(e), on(stream))),
            Call::QueryEventStatus { event: e } => status(acl.event_status(event(e))),
            Call::QueryEvent { event: e } => status(acl.event_status_old(event(e))),
            Call::QueryEventWaitStatus { event: e } => status(acl.event_wait_status(event(e))),
            Call::SynchronizeEvent { event: e, .. } => {
                done(acl.synchronize_event(event(e), Some(1)))
            }
            Call::SynchronizeStream { stream, .. } => {
                done(acl.synchronize_stream(on(stream), Some(1)))
            }
            Call::QueryStream { stream } => said(acl.is_stream_complete(on(stream)), Said::Is),
            Call::RecordNotify { notify, stream } => {
                done(acl.record_notify(&self.notifies[notify.0 as usize], on(stream)))
            }
            Call::WaitAndResetNotify { notify, stream } => {
                done(acl.wait_notify(&self.notifies[notify.0 as usize], on(stream), 0))
            }
            Call::ValueWrite {
                address,
                value,
                stream,
                ..
            } => done(acl.write_value(&self.memory, address, value, on(stream))),
            Call::ValueWait {
                address,
                value,
                stream,
                ..
            } => done(acl.wait_value(&self.memory, address, value, 0, on(stream))),
            Call::MemcpySync => {
                let mut bytes = [0; 8];
                done(acl.copy_out(&mut bytes, &self.memory, 0))
            }
            Call::LaunchTask { stream } => done(acl.emulator_launch(on(stream))),
            Call::CaptureBegin { stream, .. } => {
                done(acl.begin_capture(on(stream), GraphMode::Global))
            }
            Call::ExecuteAsync { graph, stream } => {
                done(acl.launch_graph(&self.graphs[&graph.0], on(stream)))
            }
            ref other => panic!("{other:?} is not generated"),
        }
    }

    /// Makes one call on both sides and compares what they say.
    fn step(&mut self, choice: [u8; 3]) {
        let Some(call) = self.choose(choice) else {
            return;
        };
        let reply = self.machine.call(0, &call);
        let expected = match reply {
            Reply::Ok(Value::Complete(is) | Value::Capturing(is)) => Said::Is(is),
            Reply::Ok(_) => Said::Done,
            Reply::Err(error) => Said::Code(error.0),
            Reply::Blocks | Reply::Undefined => panic!("{call:?} is not generated: {reply:?}"),
        };
        self.settle();
        let found = match call {
            Call::CaptureEnd { stream } => match self.acl.end_capture(&self.streams[&stream.0]) {
                Ok(ours) => {
                    if let Reply::Ok(Value::Graph(graph)) = reply {
                        self.graphs.insert(graph.0, ours);
                    }
                    Said::Done
                }
                Err(error) => done::<()>(Err(error)),
            },
            Call::DestroyGraph { graph } if expected == Said::Done => {
                let ours = self.graphs.remove(&graph.0).expect("the graph lives");
                done(self.acl.destroy_graph(ours))
            }
            // A failed call would still take the handle.
            Call::DestroyGraph { .. } => expected,
            _ => self.emulate(&call),
        };
        assert_eq!(found, expected, "{call:?}");
    }
}

#[test]
fn the_emulator_replies_as_the_model_of_acl() {
    let acl = Acl::open(Some(OsStr::new(&ascsim_tests::emulator()))).unwrap();
    acl.emulator_configure("clock=virtual").unwrap();
    let config = Config {
        cases: 20_000,
        failure_persistence: None,
        ..Config::default()
    };
    let calls = prop::collection::vec(any::<[u8; 3]>(), 1..80);
    let outcome = TestRunner::new(config).run(&calls, |calls| {
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut both = Both::new(&acl);
            calls.into_iter().for_each(|call| both.step(call));
        }));
        acl.finalize().unwrap();
        ran.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            TestCaseError::fail(text.unwrap_or_default())
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
