//! The whole way in one call: a flat schedule in, times and their reasons out.

use ascsim_schedules::flat::{Flat, InstanceId};
use ascsim_schedules::{Extra, OpPrediction, Prediction, PredictionFormat, Span};

use crate::blame::Blame;
use crate::compile::{CompileError, compile};
use crate::compiled::{Assumption, Compiled};
use crate::costs::Options;
use crate::critical::CriticalPath;
use crate::engine::{SimError, Simulator};
use crate::timeline::{Origin, Timeline};

/// Why a schedule has no simulation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimulateError {
    /// It cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Its run has no result.
    #[error(transparent)]
    Run(#[from] SimError),
}

/// One run of a schedule.
#[derive(Debug)]
pub struct Simulation<'f, 's> {
    flat: &'f Flat<'s>,
    options: Options,
    compiled: Compiled,
    timeline: Timeline,
}

/// Simulates a schedule with the nominal values of its variables.
///
/// # Errors
/// If the schedule cannot be compiled, or deadlocks; a deadlock names ops by their paths.
pub fn simulate<'f, 's>(
    flat: &'f Flat<'s>,
    options: &Options,
) -> Result<Simulation<'f, 's>, SimulateError> {
    let compiled = compile(flat, options)?;
    let mut simulator = Simulator::new();
    if let Err(error) = simulator.run(&compiled, options, compiled.times()) {
        return Err(named(flat, error).into());
    }
    Ok(Simulation {
        flat,
        options: options.clone(),
        compiled,
        timeline: simulator.take(),
    })
}

/// The error with the instances of a deadlock named by their paths in `flat`.
pub fn named(flat: &Flat<'_>, error: SimError) -> SimError {
    match error {
        SimError::Deadlock(deadlock) => {
            let path = |instance| flat.path(InstanceId::new(instance as usize));
            SimError::Deadlock(Box::new(deadlock.with_paths(path)))
        }
        SimError::TooLong | SimError::OtherProgram { .. } => error,
    }
}

/// ps as ns, to the nearest.
fn ns(ps: u64) -> i64 {
    // A thousandth of any u64 fits.
    ((ps + 500) / 1_000) as i64
}

fn exact(ns: i64) -> Span {
    Span {
        ns,
        low_ns: ns,
        high_ns: ns,
    }
}

impl<'f, 's> Simulation<'f, 's> {
    /// The flat schedule.
    pub fn flat(&self) -> &'f Flat<'s> {
        self.flat
    }

    /// The compiled program, to run it again with other times.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// When everything happened.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// What had to be assumed.
    pub fn assumptions(&self) -> &[Assumption] {
        self.compiled.assumptions()
    }

    /// The makespan in ps, up to the end of the last device task.
    pub fn makespan(&self, origin: Origin) -> u64 {
        self.timeline.makespan(origin)
    }

    /// The critical path.
    pub fn critical_path(&self) -> CriticalPath {
        CriticalPath::new(
            &self.compiled,
            &self.options,
            self.compiled.times(),
            &self.timeline,
        )
    }

    /// What the makespan was spent on; adds up to it exactly.
    pub fn blame(&self, origin: Origin) -> Blame {
        let start = self.timeline.span(origin).map_or(0, |(start, _)| start);
        Blame::new(&self.critical_path(), start)
    }

    /// The run as a prediction for the executor, with ranges of no width. The hashes of the schedule
    /// and the tool's version are the caller's to give.
    pub fn prediction(&self, structure: String, content: String, tool: String) -> Prediction {
        let ops = self.flat.ids().filter_map(|id| {
            let at = id.index();
            let (start, end) = (self.timeline.start[at], self.timeline.end[at]);
            let takes_time = end != u64::MAX && end > start;
            takes_time.then(|| OpPrediction {
                rank: self.flat[id].rank,
                op: self.flat.path(id),
                start_ns: ns(start),
                end_ns: ns(end),
                duration: exact(ns(end) - ns(start)),
            })
        });
        Prediction {
            format: PredictionFormat::default(),
            structure,
            content,
            tool,
            makespan: exact(ns(self.makespan(Origin::Device))),
            ops: ops.collect(),
            extra: Extra::default(),
        }
    }
}
