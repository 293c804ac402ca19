//! Runs a plan, step by step.

use ascsim_schedules::flat::FlatError;

use crate::backend::{Backend, BackendError, Bindings, DeviceInfo};
use crate::checked::{Checked, Refusal};
use crate::plan::{Command, Plan, PlanError, Step};

/// How the steps of the model are submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every op in every step.
    #[default]
    Eager,
    /// One graph per rank, captured once and launched in every step.
    Graph,
}

/// Is told what the executor does. All methods do nothing unless written.
pub trait Observer {
    /// A step of the model begins.
    fn step_began(&mut self, _number: u64) {}
    /// A step of the plan is about to be submitted.
    fn submitting(&mut self, _step: &Step) {}
    /// A step of the model ended, with or without an error.
    fn step_ended(&mut self, _number: u64, _error: Option<&RunError>) {}
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Why a step was not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The schedule is not admitted. Nothing was submitted.
    #[error("refused: {0}")]
    Refused(#[from] Refusal),
    /// The schedule cannot be submitted. Nothing was.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The devices could not be prepared. Nothing was submitted, everything was given back.
    #[error("preparing {backend} failed: {source}")]
    Prepare {
        /// The backend.
        backend: String,
        /// Why.
        source: BackendError,
    },
    /// The plan cannot be captured as a graph.
    #[error("rank {rank}, op {op}: a captured graph cannot hold it; run it eagerly")]
    NotCapturable {
        /// The rank.
        rank: u32,
        /// The path of the op.
        op: String,
    },
    /// A submission failed. Every stream has been aborted.
    #[error("step {step}, rank {rank}, op {op}: {source}")]
    Submit {
        /// The step of the model.
        step: u64,
        /// The rank.
        rank: u32,
        /// The path of the op.
        op: String,
        /// Why.
        source: BackendError,
    },
    /// A stream did not get to its end in time, or a task failed. Every stream has been aborted.
    #[error("step {step}: {source}")]
    Step {
        /// The step of the model.
        step: u64,
        /// Why.
        source: BackendError,
    },
    /// The executor has failed before, and its streams are aborted: make a new one.
    #[error("an earlier step failed; prepare the executor again")]
    Stopped,
}

/// Runs the steps of one checked schedule on a backend.
#[derive(Debug)]
pub struct Executor<B: Backend> {
    backend: B,
    plan: Plan,
    /// Paths of the ops, for messages.
    paths: Vec<String>,
    mode: Mode,
    graphs: Vec<usize>,
    timeout_ms: u32,
    step: u64,
    stopped: bool,
}

impl<B: Backend> Executor<B> {
    /// Compiles the schedule, compares the devices with the certificate and prepares the backend.
    /// Waits of the host end after `timeout_ms`.
    ///
    /// # Errors
    /// [`RunError::Refused`], [`RunError::Plan`], [`RunError::Prepare`] or
    /// [`RunError::NotCapturable`].
    pub fn new(
        checked: &Checked<'_>,
        mut backend: B,
        bindings: Bindings,
        mode: Mode,
        timeout_ms: u32,
    ) -> Result<Self, RunError> {
        let plan = Plan::new(checked.schedule(), &checked.certificate().limits)?;
        let name = backend.name().to_owned();
        let prepare = |source| RunError::Prepare {
            backend: name.clone(),
            source,
        };
        let mut devices: Vec<u32> = plan
            .resources
            .ranks
            .iter()
            .map(|rank| rank.device)
            .collect();
        devices.sort_unstable();
        devices.dedup();
        for device in devices {
            let info = backend.device(device).map_err(&prepare)?;
            checked.admit(&info, &uses(&plan, device))?;
        }
        let paths = paths(checked).map_err(PlanError::from)?;
        if let Err(source) = backend.prepare(&plan.resources, bindings) {
            // The first error says more than those of giving back what was half made.
            drop(backend.release());
            return Err(prepare(source));
        }
        let mut executor = Self {
            backend,
            plan,
            paths,
            mode,
            graphs: Vec::new(),
            timeout_ms,
            step: 0,
            stopped: false,
        };
        if mode == Mode::Graph {
            executor.capture()?;
        }
        Ok(executor)
    }

    fn capture(&mut self) -> Result<(), RunError> {
        for rank in 0..self.plan.resources.ranks.len() {
            let steps: Vec<Step> = self
                .plan
                .steps
                .iter()
                .filter(|step| step.rank == rank)
                .cloned()
                .collect();
            if let Some(step) = steps.iter().find(|step| !step.command.is_capturable()) {
                let (rank, op) = self.describe(step);
                return Err(RunError::NotCapturable { rank, op });
            }
            match self.backend.capture(rank, &steps) {
                Ok(graph) => self.graphs.push(graph),
                Err(source) => {
                    drop(self.backend.release());
                    return Err(RunError::Prepare {
                        backend: self.backend.name().into(),
                        source,
                    });
                }
            }
        }
        Ok(())
    }

    fn describe(&self, step: &Step) -> (u32, String) {
        let path = self
            .paths
            .get(step.op as usize)
            .cloned()
            .unwrap_or_default();
        (self.plan.resources.ranks[step.rank].rank, path)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The path of an op, by its number in [`Step::op`].
    pub fn path(&self, op: u32) -> Option<&str> {
        self.paths.get(op as usize).map(String::as_str)
    }

    /// The backend, for reading and writing buffers between steps.
    pub fn backend(&mut self) -> &mut B {
        &mut self.backend
    }

    /// The name of the backend.
    pub fn backend_name(&self) -> &str {
        self.backend.name()
    }

    /// The index of a rank's buffer.
    pub fn buffer(&self, rank: u32, name: &str) -> Option<usize> {
        let resources = &self.plan.resources;
        resources
            .buffers
            .iter()
            .position(|buffer| buffer.name == name && resources.ranks[buffer.rank].rank == rank)
    }

    /// Runs one step of the model and waits for its end. Does not allocate unless it fails.
    ///
    /// # Errors
    /// [`RunError::Submit`] or [`RunError::Step`], after which every stream is aborted and all later
    /// steps are [`RunError::Stopped`].
    ///
    /// # Complexity
    /// O(ops) calls of the backend in eager mode, O(ranks) in graph mode.
    pub fn run_step(&mut self, observer: &mut dyn Observer) -> Result<(), RunError> {
        if self.stopped {
            return Err(RunError::Stopped);
        }
        observer.step_began(self.step);
        let outcome = self.submit(observer).and_then(|()| {
            let ended = self.backend.synchronise(self.timeout_ms);
            ended.map_err(|source| RunError::Step {
                step: self.step,
                source,
            })
        });
        if outcome.is_err() {
            self.stopped = true;
            // A stream that cannot be aborted is one more reason why the step failed, not another.
            drop(self.backend.abort());
        }
        observer.step_ended(self.step, outcome.as_ref().err());
        self.step += 1;
        outcome
    }

    fn submit(&mut self, observer: &mut dyn Observer) -> Result<(), RunError> {
        if self.mode == Mode::Graph {
            for graph in &self.graphs {
                let launched = self.backend.launch(*graph);
                launched.map_err(|source| RunError::Step {
                    step: self.step,
                    source,
                })?;
            }
            return Ok(());
        }
        for step in &self.plan.steps {
            observer.submitting(step);
            if let Err(source) = self.backend.submit(step, self.timeout_ms) {
                let (rank, op) = self.describe(step);
                return Err(RunError::Submit {
                    step: self.step,
                    rank,
                    op,
                    source,
                });
            }
        }
        Ok(())
    }

    /// Aborts whatever runs and stops the executor.
    ///
    /// # Errors
    /// If a stream cannot be aborted.
    pub fn abort(&mut self) -> Result<(), BackendError> {
        self.stopped = true;
        self.backend.abort()
    }

    /// Gives everything back, and the backend.
    ///
    /// # Errors
    /// If something could not be given back.
    pub fn close(mut self) -> Result<B, BackendError> {
        self.backend.release()?;
        Ok(self.backend)
    }
}

fn paths(checked: &Checked<'_>) -> Result<Vec<String>, FlatError> {
    let flat = ascsim_schedules::flat::Flat::new(checked.schedule())?;
    Ok(flat.ids().map(|id| flat.path(id)).collect())
}

/// The streams and event ids of a device that a plan takes.
fn uses(plan: &Plan, device: u32) -> DeviceInfo {
    let resources = &plan.resources;
    let here = |rank: usize| resources.ranks[rank].device == device;
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let flags = |event: &&crate::plan::EventSpec| here(event.rank) && event.kind.is_flag();
    // An Ex or default event takes an id for each record that is pending.
    let records = plan
        .steps
        .iter()
        .filter(|step| here(step.rank) && matches!(step.command, Command::Record { .. }));
    DeviceInfo {
        device,
        streams: count(
            resources
                .streams
                .iter()
                .filter(|stream| here(stream.rank))
                .count(),
        ),
        events: count(resources.events.iter().filter(flags).count() + records.count()),
        ..DeviceInfo::default()
    }
}
