//! The state of all devices: everything that the lock guards.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::capture::{Capture, Graph, TaskGroup};
use crate::collective::{Communicator, Meetings};
use crate::config::Config;
use crate::engine::{Run, Timer};
use crate::event::Event;
use crate::fault::{Fault, Outcome, code};
use crate::kernel::{Binary, Function};
use crate::memory::Memory;
use crate::raw::{HostCall, KernelCall};
use crate::signal::NotifyFlag;
use crate::table::{Key, Table};
use crate::task::{Task, TraceRecord};

/// How many of the latest tasks the trace keeps.
const TRACE: usize = 1 << 18;

/// A die.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) references: u32,
    pub(crate) primary: Option<Key>,
    pub(crate) free_aic: u32,
    pub(crate) free_aiv: u32,
    pub(crate) stream_ids: BTreeSet<i32>,
    pub(crate) event_ids: Arc<AtomicU32>,
    pub(crate) notifies: u32,
    /// Limits on cube and vector cores.
    pub(crate) limits: [Option<u32>; 2],
}

impl Device {
    /// Takes cube and vector cores that are free.
    pub(crate) fn take(&mut self, [aic, aiv]: [u32; 2]) {
        self.free_aic -= aic;
        self.free_aiv -= aiv;
    }

    /// Gives cube and vector cores back.
    pub(crate) fn give(&mut self, [aic, aiv]: [u32; 2]) {
        self.free_aic += aic;
        self.free_aiv += aiv;
    }
}

/// A context: what a thread works in.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) device: u32,
    pub(crate) default_stream: Key,
    pub(crate) primary: bool,
    /// Set when a stream with `ACL_STOP_ON_FAILURE` failed.
    pub(crate) stopped: Option<Fault>,
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: Key,
    pub(crate) device: u32,
    pub(crate) id: i32,
    pub(crate) default: bool,
    pub(crate) priority: u32,
    pub(crate) flags: u32,
    pub(crate) queue: VecDeque<Task>,
    /// Entries of the queue in use.
    pub(crate) entries: u32,
    pub(crate) run: Run,
    /// Tells a run of a task from the next.
    pub(crate) run_id: u64,
    /// Cube and vector cores that the task at the head holds.
    pub(crate) held: [u32; 2],
    /// When the task at the head started.
    pub(crate) started: u64,
    /// Counts aborts.
    pub(crate) aborts: u64,
    /// The first error since the last time that one was reported.
    pub(crate) error: Option<Fault>,
    pub(crate) stop_on_failure: Option<bool>,
    pub(crate) capture: Option<u64>,
    /// An update of the tasks of a graph in progress: the group and what was issued.
    pub(crate) update: Option<(Key, Vec<Task>)>,
    /// Set for a stream of a replay: the stream that launched it.
    pub(crate) parent: Option<Key>,
    pub(crate) limits: [Option<u32>; 2],
}

impl Stream {
    /// An empty stream.
    pub(crate) fn new(context: Key, device: u32, id: i32) -> Self {
        Self {
            context,
            device,
            id,
            default: false,
            priority: 0,
            flags: 0,
            queue: VecDeque::new(),
            entries: 0,
            run: Run::Idle,
            run_id: 0,
            held: [0; 2],
            started: 0,
            aborts: 0,
            error: None,
            stop_on_failure: None,
            capture: None,
            update: None,
            parent: None,
            limits: [None; 2],
        }
    }
}

/// A notify.
#[derive(Debug)]
pub(crate) struct Notify {
    pub(crate) device: u32,
    pub(crate) id: u32,
    pub(crate) flag: Arc<NotifyFlag>,
}

/// Everything.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) config: Config,
    /// Counts initialisations, so that what a thread remembers of an earlier one is not used.
    pub(crate) generation: u64,
    pub(crate) initialised: bool,
    /// ns since initialisation.
    pub(crate) now: u64,
    pub(crate) devices: Vec<Device>,
    pub(crate) contexts: Table<Context>,
    pub(crate) streams: Table<Stream>,
    pub(crate) events: Table<Event>,
    pub(crate) notifies: Table<Notify>,
    pub(crate) binaries: Table<Binary>,
    pub(crate) functions: Table<Function>,
    pub(crate) graphs: Table<Graph>,
    pub(crate) groups: Table<TaskGroup>,
    pub(crate) communicators: Table<Communicator>,
    pub(crate) meetings: Meetings,
    pub(crate) captures: BTreeMap<u64, Capture>,
    pub(crate) kernels: BTreeMap<String, KernelCall>,
    pub(crate) memory: Memory,
    /// Streams with tasks.
    pub(crate) active: BTreeSet<Key>,
    pub(crate) timers: BTreeMap<(u64, u64), Timer>,
    /// Host functions to be called, each with its stream and run.
    pub(crate) calls: VecDeque<(Key, u64, HostCall)>,
    /// Host functions handed to the callback thread and not back.
    pub(crate) calls_out: u32,
    pub(crate) trace: VecDeque<TraceRecord>,
    /// How often each function was called, for injected failures.
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// Default time-out of event waits in ns.
    pub(crate) wait_timeout: Option<u64>,
    /// Time-out of kernels in ns.
    pub(crate) kernel_timeout: u64,
    serial: u64,
}

/// Default time-out of a kernel: 1091 s (facts/acl.md section 0).
const KERNEL_TIMEOUT: u64 = 1_090_921_693_000;

impl World {
    pub(crate) fn new(config: Config, generation: u64) -> Self {
        let device = |_| Device {
            references: 0,
            primary: None,
            free_aic: config.aic,
            free_aiv: config.aiv,
            stream_ids: BTreeSet::new(),
            event_ids: Arc::default(),
            notifies: 0,
            limits: [None; 2],
        };
        Self {
            devices: (0..config.devices).map(device).collect(),
            config,
            generation,
            initialised: false,
            now: 0,
            contexts: Table::new(1, "context"),
            streams: Table::new(2, "stream"),
            events: Table::new(3, "event"),
            notifies: Table::new(4, "notify"),
            binaries: Table::new(5, "binary"),
            functions: Table::new(6, "function"),
            graphs: Table::new(7, "graph"),
            groups: Table::new(8, "task group"),
            communicators: Table::new(9, "communicator"),
            meetings: Meetings::default(),
            captures: BTreeMap::new(),
            kernels: BTreeMap::new(),
            memory: Memory::default(),
            active: BTreeSet::new(),
            timers: BTreeMap::new(),
            calls: VecDeque::new(),
            calls_out: 0,
            trace: VecDeque::new(),
            counts: BTreeMap::new(),
            wait_timeout: None,
            kernel_timeout: KERNEL_TIMEOUT,
            serial: 0,
        }
    }

    /// A number that was not given out before.
    pub(crate) fn serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(crate) fn device(&mut self, device: i32) -> Outcome<(u32, &mut Device)> {
        let count = self.devices.len();
        u32::try_from(device)
            .ok()
            .and_then(|index| Some((index, self.devices.get_mut(index as usize)?)))
            .ok_or_else(|| {
                Fault::new(
                    code::INVALID_DEVICE,
                    format!("EE1001: device {device} does not exist; there are {count}"),
                )
            })
    }

    /// The primary context of the device, made if there is none.
    pub(crate) fn primary(&mut self, device: i32) -> Outcome<Key> {
        let (index, entry) = self.device(device)?;
        entry.references += 1;
        match entry.primary {
            Some(context) => Ok(context),
            None => {
                let context = self.create_context(index, true)?;
                self.devices[index as usize].primary = Some(context);
                Ok(context)
            }
        }
    }

    pub(crate) fn create_context(&mut self, device: u32, primary: bool) -> Outcome<Key> {
        let context = self.contexts.insert(Context {
            device,
            default_stream: 0,
            primary,
            stopped: None,
        });
        let stream = self.create_stream(context, device, 0, 0, true)?;
        self.contexts.get_mut(context)?.default_stream = stream;
        Ok(context)
    }

    /// Drops the context with its streams.
    pub(crate) fn drop_context(&mut self, context: Key) -> Outcome {
        self.contexts.remove(context)?;
        let streams: Vec<Key> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.context == context)
            .map(|(key, _)| key)
            .collect();
        for stream in streams {
            self.drop_stream(stream)?;
        }
        Ok(())
    }

    pub(crate) fn create_stream(
        &mut self,
        context: Key,
        device: u32,
        priority: u32,
        flags: u32,
        default: bool,
    ) -> Outcome<Key> {
        let most = self.config.streams;
        let ids = &mut self.devices[device as usize].stream_ids;
        // The lowest id that is free.
        let id = ids
            .iter()
            .zip(0..)
            .find(|(used, id)| *used != id)
            .map(|(_, id)| id);
        let id = id.unwrap_or_else(|| i32::try_from(ids.len()).unwrap_or(i32::MAX));
        if ids.len() >= most as usize {
            return Fault::err(
                code::NO_STREAM_RESOURCE,
                format!("EE1021: all {most} streams of the device are in use"),
            );
        }
        ids.insert(id);
        Ok(self.streams.insert(Stream {
            priority: priority.min(7),
            flags,
            default,
            ..Stream::new(context, device, id)
        }))
    }

    /// Drops the stream and whatever is in it.
    pub(crate) fn drop_stream(&mut self, key: Key) -> Outcome {
        self.clear(key)?;
        let stream = self.streams.remove(key)?;
        if stream.parent.is_none() {
            self.devices[stream.device as usize]
                .stream_ids
                .remove(&stream.id);
        }
        Ok(())
    }

    /// Puts a task on a stream at once.
    pub(crate) fn push(&mut self, key: Key, mut task: Task) -> Outcome {
        if task.issue == (0, 0) {
            task.issue = (self.serial(), 0);
        }
        let stream = self.streams.get_mut(key)?;
        stream.entries += task.work.entries();
        stream.queue.push_back(task);
        self.active.insert(key);
        self.settle();
        self.pass(self.now);
        Ok(())
    }

    pub(crate) fn note(&mut self, record: TraceRecord) {
        if self.trace.len() == TRACE {
            self.trace.pop_front();
        }
        self.trace.push_back(record);
    }
}
