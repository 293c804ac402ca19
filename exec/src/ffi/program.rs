//! A program behind the C interface: schedule, certificate, bindings, executor.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, ThreadId};

use ascsim_schedules::{Certificate, Schedule, format};

use super::{AscsimBackend, AscsimOptions, AscsimProgress, AscsimState, AscsimStatus};
use crate::acl::{Acl, HostFunction, Stream};
use crate::backend::{
    AclBackend, Backend, BackendError, Bindings, Callback, DeviceInfo, NullBackend,
};
use crate::checked::Checked;
use crate::executor::{Executor, Mode, RunError, Silent};

/// Why a call failed.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) status: AscsimStatus,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(status: AscsimStatus, message: impl fmt::Display) -> Self {
        Self {
            status,
            message: message.to_string(),
        }
    }

    pub(super) fn null(what: &str) -> Self {
        Self::new(AscsimStatus::Refused, format!("`{what}` is null"))
    }

    fn refused(message: impl fmt::Display) -> Self {
        Self::new(AscsimStatus::Refused, message)
    }

    fn misuse(message: impl fmt::Display) -> Self {
        Self::new(AscsimStatus::Misuse, message)
    }
}

/// Something bound by name.
pub(super) enum Given {
    Callback(String, Callback),
    Function(String, HostFunction),
    Stream(u32, String, Stream),
}

/// A schedule with its certificate, what it is bound to, and what runs it.
#[derive(Debug)]
pub struct AscsimProgram {
    owner: ThreadId,
    schedule: Schedule,
    certificate: Certificate,
    state: AtomicU32,
    steps: AtomicU64,
    abort: AtomicBool,
    /// Opened only by the owner; a callback that calls back finds it open.
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    bindings: Bindings,
    /// Borrowed streams by the number of their rank.
    streams: Vec<(u32, String, Stream)>,
    executor: Option<Box<dyn Steps>>,
}

/// An executor of whatever backend.
trait Steps: fmt::Debug {
    fn step(&mut self) -> Result<(), RunError>;
    fn stop(&mut self) -> Result<(), BackendError>;
    fn find(&self, rank: u32, buffer: &str) -> Option<usize>;
    fn backend(&mut self) -> &mut dyn Backend;
    fn close(self: Box<Self>) -> Result<(), BackendError>;
}

impl<B: Backend + fmt::Debug> Steps for Executor<B> {
    fn step(&mut self) -> Result<(), RunError> {
        self.run_step(&mut Silent)
    }

    fn stop(&mut self) -> Result<(), BackendError> {
        self.abort()
    }

    fn find(&self, rank: u32, buffer: &str) -> Option<usize> {
        self.buffer(rank, buffer)
    }

    fn backend(&mut self) -> &mut dyn Backend {
        self.backend()
    }

    fn close(self: Box<Self>) -> Result<(), BackendError> {
        (*self).close().map(drop)
    }
}

impl AscsimProgram {
    pub(super) fn load(schedule: &[u8], certificate: &[u8]) -> Result<Self, Fault> {
        let schedule: Schedule = format::read(schedule).map_err(Fault::refused)?;
        let certificate: Certificate = serde_json::from_slice(certificate)
            .map_err(|error| Fault::refused(format!("the certificate: {error}")))?;
        Checked::new(&schedule, &certificate).map_err(Fault::refused)?;
        Ok(Self {
            owner: thread::current().id(),
            schedule,
            certificate,
            state: AtomicU32::new(AscsimState::Loaded as u32),
            steps: AtomicU64::new(0),
            abort: AtomicBool::new(false),
            inner: RefCell::default(),
        })
    }

    pub(super) fn check_thread(&self) -> Result<(), Fault> {
        if self.owner == thread::current().id() {
            return Ok(());
        }
        let why = "the program belongs to the thread that loaded it";
        Err(Fault::misuse(why))
    }

    fn enter(&self, state: AscsimState, what: &str) -> Result<(), Fault> {
        if self.state.load(Ordering::Acquire) == state as u32 {
            return Ok(());
        }
        let have = match self.state.load(Ordering::Acquire) {
            0 => "was only loaded",
            1 => "is prepared",
            2 => "runs",
            _ => "has stopped",
        };
        Err(Fault::misuse(format!("{what}: the program {have}")))
    }

    fn set(&self, state: AscsimState) {
        self.state.store(state as u32, Ordering::Release);
    }

    pub(super) fn verify(&self) -> Result<(), Fault> {
        let checked = Checked::new(&self.schedule, &self.certificate).map_err(Fault::refused)?;
        let Ok(mut inner) = self.inner.try_borrow_mut() else {
            return Err(Fault::misuse("verify: the program runs"));
        };
        let Some(executor) = &mut inner.executor else {
            return Ok(());
        };
        let info = executor.backend().device(0).map_err(Fault::refused)?;
        // What the program needs is taken already.
        let uses = DeviceInfo::default();
        checked.admit(&info, &uses).map_err(Fault::refused)
    }

    pub(super) fn bind(&self, given: Given) -> Result<(), Fault> {
        self.enter(AscsimState::Loaded, "bind")?;
        let mut inner = self.inner.borrow_mut();
        match given {
            Given::Callback(name, callback) => {
                inner.bindings.callbacks.insert(name, callback);
            }
            Given::Function(name, function) => {
                // A graph may call it for as long as the process lives.
                let function: &'static HostFunction = Box::leak(Box::new(function));
                inner.bindings.functions.insert(name, function);
            }
            Given::Stream(rank, name, stream) => inner.streams.push((rank, name, stream)),
        }
        Ok(())
    }

    pub(super) fn prepare(
        &self,
        options: &AscsimOptions,
        library: Option<String>,
        folder: Option<String>,
    ) -> Result<(), Fault> {
        self.enter(AscsimState::Loaded, "prepare")?;
        let mode = match options.graph {
            0 => Mode::Eager,
            1 => Mode::Graph,
            other => return Err(Fault::refused(format!("`graph` is 0 or 1, not {other}"))),
        };
        let mut inner = self.inner.borrow_mut();
        let mut bindings = std::mem::take(&mut inner.bindings);
        bindings.folder = folder.map(PathBuf::from);
        for (rank, name, stream) in std::mem::take(&mut inner.streams) {
            bindings.streams.insert((rank, name), stream);
        }
        let checked = Checked::new(&self.schedule, &self.certificate).map_err(Fault::refused)?;
        let timeout = options.timeout_ms;
        inner.executor = Some(match options.backend {
            it if it == AscsimBackend::Acl as u32 => {
                let acl = Acl::open(library.as_deref().map(OsStr::new)).map_err(Fault::refused)?;
                let backend = AclBackend::new(Arc::new(acl), 0).map_err(Fault::refused)?;
                let made = Executor::new(&checked, backend, bindings, mode, timeout);
                Box::new(made.map_err(Fault::refused)?) as Box<dyn Steps>
            }
            it if it == AscsimBackend::Null as u32 => {
                let backend = NullBackend::of(&self.certificate);
                let made = Executor::new(&checked, backend, bindings, mode, timeout);
                Box::new(made.map_err(Fault::refused)?)
            }
            other => return Err(Fault::refused(format!("there is no backend {other}"))),
        });
        self.set(AscsimState::Ready);
        Ok(())
    }

    pub(super) fn run(&self, steps: u64) -> Result<(), Fault> {
        self.enter(AscsimState::Ready, "run")?;
        let mut inner = self.inner.borrow_mut();
        let Some(executor) = &mut inner.executor else {
            return Err(Fault::misuse("run: the program is not prepared"));
        };
        self.set(AscsimState::Running);
        for _ in 0..steps {
            if self.abort.load(Ordering::Acquire) {
                self.set(AscsimState::Stopped);
                let stopped = executor.stop();
                stopped.map_err(|error| Fault::new(AscsimStatus::Failed, error))?;
                return Err(Fault::new(AscsimStatus::Aborted, "the run was aborted"));
            }
            if let Err(error) = executor.step() {
                self.set(AscsimState::Stopped);
                return Err(Fault::new(AscsimStatus::Failed, error));
            }
            self.steps.fetch_add(1, Ordering::AcqRel);
        }
        self.set(AscsimState::Ready);
        Ok(())
    }

    pub(super) fn progress(&self) -> AscsimProgress {
        AscsimProgress {
            state: self.state.load(Ordering::Acquire),
            reserved: 0,
            steps: self.steps.load(Ordering::Acquire),
        }
    }

    pub(super) fn abort(&self) {
        self.abort.store(true, Ordering::Release);
    }

    pub(super) fn write(
        &self,
        rank: u32,
        buffer: &str,
        offset: u64,
        from: &[u8],
    ) -> Result<(), Fault> {
        self.on_buffer(rank, buffer, |backend, buffer| {
            backend.write(buffer, offset, from)
        })
    }

    pub(super) fn read(
        &self,
        rank: u32,
        buffer: &str,
        offset: u64,
        to: &mut [u8],
    ) -> Result<(), Fault> {
        self.on_buffer(rank, buffer, |backend, buffer| {
            backend.read(buffer, offset, to)
        })
    }

    fn on_buffer(
        &self,
        rank: u32,
        name: &str,
        body: impl FnOnce(&mut dyn Backend, usize) -> Result<(), BackendError>,
    ) -> Result<(), Fault> {
        self.enter(AscsimState::Ready, "reading and writing buffers")?;
        let mut inner = self.inner.borrow_mut();
        let Some(executor) = &mut inner.executor else {
            return Err(Fault::misuse("the program is not prepared"));
        };
        let buffer = executor.find(rank, name).ok_or_else(|| {
            Fault::refused(format!("no op of rank {rank} uses a buffer `{name}`"))
        })?;
        body(executor.backend(), buffer).map_err(Fault::refused)
    }

    pub(super) fn close(&self) -> Result<(), Fault> {
        let Ok(mut inner) = self.inner.try_borrow_mut() else {
            return Err(Fault::misuse("free: the program runs"));
        };
        // The library stays initialised: others of the process may use it.
        match inner.executor.take().map(Steps::close) {
            Some(Err(error)) => Err(Fault::new(AscsimStatus::Failed, error)),
            _ => Ok(()),
        }
    }
}
