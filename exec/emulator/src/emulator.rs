//! The lock around the world, the two clocks, and calls that block.
//!
//! * **Real clock**: a thread of our own lets the world follow the time of day.
//! * **Virtual clock**: time passes only while a host thread waits (or polls), and jumps from one
//!   happening to the next. With one host thread the run is deterministic. When every host thread
//!   waits and nothing is due, a wait with a time-out times out at once, and one without is a
//!   deadlock, which is reported instead of waited out.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::fault::{Fault, Outcome, code};
use crate::table::Key;
use crate::task::{Shape, Task, Work};
use crate::world::World;

/// What the lock guards.
#[derive(Debug)]
pub(crate) struct State {
    world: World,
    /// Settings for the next initialisation, if they were given by a call.
    configured: Option<Config>,
    started: Instant,
    /// Host threads that work in a context.
    threads: BTreeSet<u64>,
    /// Those that wait, with the virtual time at which they stop to.
    blocked: BTreeMap<u64, Option<u64>>,
    next_thread: u64,
    /// Whether the threads of the emulator run.
    engine: bool,
    callbacks: bool,
}

/// The emulator of the process.
#[derive(Debug)]
pub(crate) struct Emulator {
    state: Mutex<State>,
    /// Told after every change.
    changed: Condvar,
}

pub(crate) static EMULATOR: LazyLock<Emulator> = LazyLock::new(|| Emulator {
    state: Mutex::new(State {
        world: World::new(Config::default(), 0),
        configured: None,
        started: Instant::now(),
        threads: BTreeSet::new(),
        blocked: BTreeMap::new(),
        next_thread: 0,
        engine: false,
        callbacks: false,
    }),
    changed: Condvar::new(),
});

/// What the emulator knows of a host thread.
#[derive(Debug, Default)]
pub(crate) struct HostThread {
    pub(crate) id: u64,
    generation: u64,
    pub(crate) context: Key,
    /// The message of the latest failure, until it is read.
    pub(crate) message: Option<CString>,
    /// The message that was read last, which the caller may still look at.
    pub(crate) shown: Option<CString>,
    pub(crate) last_error: i32,
    /// What the next task is to look like.
    pub(crate) shape: Option<Shape>,
    pub(crate) capture_mode: u32,
    pub(crate) limit_stream: Key,
    pub(crate) last_task: u32,
}

impl Drop for HostThread {
    fn drop(&mut self) {
        let mut state = EMULATOR.lock();
        state.threads.remove(&self.id);
        drop(state);
        EMULATOR.changed.notify_all();
    }
}

thread_local! {
    pub(crate) static HOST: RefCell<HostThread> = RefCell::default();
    /// Whether the thread runs a function of the caller's for the device.
    static DEVICE_SIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs device work, from which no function may be called.
pub(crate) fn is_device_side() -> bool {
    DEVICE_SIDE.get()
}

/// Runs device work, which may call functions of the caller's.
fn on_device_side<T>(work: impl FnOnce() -> T) -> T {
    let before = DEVICE_SIDE.replace(true);
    let result = work();
    DEVICE_SIDE.set(before);
    result
}

impl Emulator {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the body of a call.
    pub(crate) fn call<T>(
        &'static self,
        host: &mut HostThread,
        function: &'static str,
        body: impl FnOnce(&mut Session<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        let mut state = self.lock();
        if host.id == 0 {
            state.next_thread += 1;
            host.id = state.next_thread;
        }
        if host.generation != state.world.generation {
            host.generation = state.world.generation;
            host.context = 0;
            host.capture_mode = 0;
            host.limit_stream = 0;
        }
        let mut session = Session {
            emulator: self,
            state: Some(state),
            host,
        };
        session.catch_up();
        let config = &session.config;
        let (call_ns, virtual_clock) = (config.call_ns, config.virtual_clock);
        if virtual_clock && call_ns > 0 {
            let until = session.now + call_ns;
            on_device_side(|| session.pass(until));
        }
        let outcome = match session.injected(function) {
            Some(fault) => Err(fault),
            None => body(&mut session),
        };
        drop(session);
        self.changed.notify_all();
        outcome
    }

    /// After a panic: drops the world, so that nothing refers to memory of a caller who returns.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        let generation = state.world.generation + 1;
        state.world = World::new(Config::default(), generation);
        state.blocked.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// The thread that follows the time of day.
    fn follow(&self) {
        let mut state = self.lock();
        loop {
            // Only a change is told: whoever wakes up and finds none goes back to sleep silently.
            if state.catch_up() {
                self.changed.notify_all();
            }
            state = match state.world.next_timer() {
                Some(due) if !state.world.config.virtual_clock => {
                    let sleep = Duration::from_nanos(due.saturating_sub(state.world.now));
                    self.changed
                        .wait_timeout(state, sleep)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                _ => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// The thread that calls host functions.
    fn serve_calls(&self) {
        DEVICE_SIDE.set(true);
        let mut state = self.lock();
        loop {
            let Some((stream, run_id, call)) = state.world.calls.pop_front() else {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.world.calls_out += 1;
            let generation = state.world.generation;
            drop(state);
            call.call();
            state = self.lock();
            if state.world.generation == generation {
                state.catch_up();
                state.world.calls_out -= 1;
                state.world.end_host(stream, run_id);
            }
            self.changed.notify_all();
        }
    }
}

impl State {
    /// With the real clock: lets the world come up to the time of day. Whether anything happened.
    fn catch_up(&mut self) -> bool {
        if !self.world.initialised || self.world.config.virtual_clock {
            return false;
        }
        let now = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        on_device_side(|| self.world.pass(now))
    }
}

/// One call of one thread: the locked state and what is known of the thread.
pub(crate) struct Session<'a> {
    emulator: &'static Emulator,
    /// Taken only while the thread waits.
    state: Option<MutexGuard<'static, State>>,
    pub(crate) host: &'a mut HostThread,
}

impl Deref for Session<'_> {
    type Target = World;

    fn deref(&self) -> &World {
        &self.locked().world
    }
}

impl DerefMut for Session<'_> {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.locked_mut().world
    }
}

#[expect(
    clippy::expect_used,
    reason = "the state is put back before `wait` returns"
)]
impl Session<'_> {
    fn locked(&self) -> &State {
        self.state.as_deref().expect("the state is locked")
    }

    fn locked_mut(&mut self) -> &mut State {
        self.state.as_deref_mut().expect("the state is locked")
    }
}

/// How a wait ended without what was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmet {
    TimedOut,
    Deadlock,
}

impl Session<'_> {
    fn catch_up(&mut self) {
        if self.locked_mut().catch_up() {
            self.emulator.changed.notify_all();
        }
    }

    fn injected(&mut self, function: &'static str) -> Option<Fault> {
        if self.config.fail_calls.is_empty() {
            return None;
        }
        let count = self.counts.entry(function).or_default();
        *count += 1;
        let count = *count;
        let failing = self
            .config
            .fail_calls
            .iter()
            .find(|fail| fail.function == function && fail.at == count)?;
        Some(Fault::new(
            failing.code,
            format!("EZ9999: injected into call {count} of {function}"),
        ))
    }

    /// Replaces the world by a fresh one.
    pub(crate) fn restart(&mut self, initialised: bool) -> Outcome {
        let generation = self.generation + 1;
        let state = self.locked_mut();
        let config = match (&state.configured, std::env::var("ASCSIM_EMULATOR")) {
            (Some(config), _) => config.clone(),
            (None, Ok(text)) => Config::parse(&text).map_err(|error| {
                Fault::new(code::INVALID_PARAM, format!("ASCSIM_EMULATOR: {error}"))
            })?,
            (None, Err(_)) => Config::default(),
        };
        let real = !config.virtual_clock;
        state.world = World::new(config, generation);
        state.world.initialised = initialised;
        state.started = Instant::now();
        state.threads.clear();
        self.host.generation = generation;
        self.host.context = 0;
        if initialised && real && !std::mem::replace(&mut self.locked_mut().engine, true) {
            self.spawn("ascsim-engine", Emulator::follow)?;
        }
        Ok(())
    }

    fn spawn(&self, name: &str, body: fn(&Emulator)) -> Outcome {
        let emulator = self.emulator;
        std::thread::Builder::new()
            .name(name.into())
            .spawn(move || body(emulator))
            .map(drop)
            .map_err(|error| Fault::new(code::INTERNAL, format!("no thread: {error}")))
    }

    pub(crate) fn configure(&mut self, text: &str) -> Outcome {
        let config = Config::parse(text).map_err(|error| Fault::new(code::INVALID_PARAM, error))?;
        self.locked_mut().configured = Some(config);
        Ok(())
    }

    /// Makes `context` that of the thread.
    pub(crate) fn enter_context(&mut self, context: Key) {
        self.host.context = context;
        let thread = self.host.id;
        self.locked_mut().threads.insert(thread);
    }

    /// If the context of the thread is gone: nobody waits for the thread any more.
    pub(crate) fn leave_context(&mut self) {
        if self.contexts.get(self.host.context).is_err() {
            let thread = self.host.id;
            self.locked_mut().threads.remove(&thread);
        }
    }

    /// Waits until `ready` gives a result. With the virtual clock, `timeout` is over when neither
    /// the devices nor a thread with a context can do anything before it.
    pub(crate) fn wait<T>(
        &mut self,
        timeout: Option<u64>,
        mut ready: impl FnMut(&mut World) -> Option<T>,
    ) -> Result<T, Unmet> {
        let began = Instant::now();
        let thread = self.host.id;
        let deadline = timeout.map(|timeout| self.now.saturating_add(timeout));
        self.locked_mut().blocked.insert(thread, deadline);
        self.emulator.changed.notify_all();
        let result = loop {
            self.catch_up();
            if let Some(result) = ready(self) {
                break Ok(result);
            }
            match self.pause(timeout.map(Duration::from_nanos), deadline, began) {
                Ok(()) => {}
                Err(unmet) => break ready(self).ok_or(unmet),
            }
        };
        self.locked_mut().blocked.remove(&thread);
        self.emulator.changed.notify_all();
        result
    }

    /// Lets something happen: moves the virtual clock on, or waits for another thread.
    fn pause(
        &mut self,
        timeout: Option<Duration>,
        deadline: Option<u64>,
        began: Instant,
    ) -> Result<(), Unmet> {
        if !self.config.virtual_clock {
            let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
            if left == Some(Duration::ZERO) {
                return Err(Unmet::TimedOut);
            }
            let due = self.next_timer();
            let due = due.map(|due| Duration::from_nanos(due.saturating_sub(self.now)));
            self.sleep([left, due].into_iter().flatten().min());
            return Ok(());
        }
        if self.calls_out > 0 || !self.calls.is_empty() {
            self.sleep(None);
            return Ok(());
        }
        if on_device_side(|| self.step(deadline)) {
            self.emulator.changed.notify_all();
            return Ok(());
        }
        // Nothing can happen by itself: only another thread could still do something. How long that
        // one takes says nothing about virtual time, so this does not give up before all wait.
        let state = self.locked();
        let alone = state
            .threads
            .iter()
            .all(|thread| state.blocked.contains_key(thread));
        let first = state.blocked.values().flatten().min().copied();
        match deadline {
            Some(deadline) if alone && first == Some(deadline) => {
                self.now = self.now.max(deadline);
                Err(Unmet::TimedOut)
            }
            None if alone && first.is_none() => Err(Unmet::Deadlock),
            _ => {
                self.sleep(None);
                Ok(())
            }
        }
    }

    fn sleep(&mut self, most: Option<Duration>) {
        if let Some(state) = self.state.take() {
            let changed = &self.emulator.changed;
            self.state = Some(match most {
                Some(most) => {
                    changed
                        .wait_timeout(state, most)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            });
        }
    }

    /// Makes sure that there is a thread for host functions.
    pub(crate) fn serve(&mut self) -> Outcome {
        if !std::mem::replace(&mut self.locked_mut().callbacks, true) {
            self.spawn("ascsim-callbacks", Emulator::serve_calls)?;
        }
        Ok(())
    }

    /// Queues a replay of the graph.
    pub(crate) fn launch_graph(&mut self, graph: Key, stream: Key) -> Outcome {
        let task = self.instantiate(graph, stream)?;
        on_device_side(|| self.push(stream, task))
    }

    /// Queues a task on the stream: into its capture, its update or its queue. Blocks while the
    /// queue is full.
    pub(crate) fn enqueue(&mut self, key: Key, work: Work) -> Outcome {
        self.enqueue_shaped(key, work, Shape::default())
    }

    /// As [`Self::enqueue`], with a shape for when the thread has given none for its next task.
    pub(crate) fn enqueue_shaped(&mut self, key: Key, mut work: Work, shape: Shape) -> Outcome {
        let shape = self.host.shape.take().map_or(shape, |given| Shape {
            sync_all: given.sync_all || shape.sync_all,
            ..given
        });
        let entries = work.entries();
        let stream = self.streams.get_mut(key)?;
        let task = |work| Task {
            issue: (0, 0),
            work,
            shape,
        };
        if let Some((_, tasks)) = &mut stream.update {
            tasks.push(task(work));
            return Ok(());
        }
        if let Some(capture) = stream.capture {
            return self.add_captured(capture, key, task(work));
        }
        let (depth, aborts) = (self.config.depth, self.streams.get(key)?.aborts);
        let room = |world: &mut World| match world.streams.get(key) {
            Ok(stream) if stream.aborts != aborts => Some(Fault::err(
                code::STREAM_ABORT,
                "EE1019: the stream was aborted",
            )),
            Ok(stream) => (stream.entries + entries <= depth).then_some(Ok(())),
            Err(fault) => Some(Err(fault)),
        };
        match self.wait(None, room) {
            Ok(outcome) => outcome?,
            Err(_) => {
                return Fault::err(
                    code::INTERNAL,
                    "deadlock: the queue is full, and neither host nor device can go on",
                );
            }
        }
        if let Work::Collective(collective) = &mut work {
            self.meetings.appoint(collective);
        }
        self.host.last_task = self.host.last_task.wrapping_add(1) & 0xFFFF;
        on_device_side(|| self.push(key, task(work)))
    }
}
