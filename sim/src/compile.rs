//! From a flat schedule to a simulation program.

mod cost;
mod error;
mod host;
mod inside;
mod task;
mod touch;

use std::collections::HashMap;

use ascsim_schedules::flat::{Flat, Instance, InstanceId, Role as Runs};
use ascsim_schedules::footprint::Footprints;
use ascsim_schedules::{DelayCause, Expr, OpKind, VariableRef};

pub use error::{CompileError, TimeError};

use crate::compiled::{Assumption, Builder, Compiled, Counts, NONE, Role, Spec, Transfer, Varying};
use crate::costs::Options;
use crate::times::{TimeField, Times};
use host::Calls;
use inside::Inside;

/// The values of variables; none for one that is not declared.
pub type Values<'a> = &'a dyn Fn(&VariableRef) -> Option<f64>;

/// The largest single time in ps: 53 days.
const MOST_PS: f64 = 4.6e18;

/// Compiles a flat schedule with the nominal values of its variables.
///
/// # Errors
/// If a kernel, copy, prefetch or collective has no duration, or a time is negative or has no value.
///
/// # Complexity
/// O(instances + needs) time and memory.
pub fn compile(flat: &Flat<'_>, options: &Options) -> Result<Compiled, CompileError> {
    let nominal: HashMap<&str, &[f64]> = flat
        .schedule()
        .variables
        .iter()
        .map(|variable| (variable.name.as_str(), variable.nominal.as_slice()))
        .collect();
    compile_with(flat, options, &|variable| {
        let values = nominal.get(variable.name.as_str())?;
        values.get(variable.index as usize).copied()
    })
}

/// Compiles a flat schedule with the variables' values from `values`, which should be those that it
/// was unrolled with.
///
/// # Errors
/// As [`compile`].
///
/// # Complexity
/// As [`compile`].
pub fn compile_with(
    flat: &Flat<'_>,
    options: &Options,
    values: Values<'_>,
) -> Result<Compiled, CompileError> {
    let mut compiler = Compiler {
        flat,
        options,
        values,
        builder: Builder::new(
            flat.ranks().iter().map(|(rank, _)| *rank).collect(),
            Counts {
                threads: flat.thread_count() as u32,
                streams: flat.stream_count() as u32,
                flags: flat.event_count() as u32,
                notifies: flat.notify_count() as u32,
                words: flat.word_count() as u32,
            },
        ),
        seen: Seen::new(flat),
    };
    compiler.collectives();
    let mut calls = Calls::new(flat, options);
    let mut inside = Inside::new(flat);
    let caches = options.hardware.is_some() && options.die.l2_bytes > 0;
    let footprints = caches.then(|| Footprints::new(flat.schedule()));
    for (die, (_, range)) in flat.ranks().iter().enumerate() {
        for index in range.clone() {
            let id = InstanceId::new(index);
            let spec = compiler.spec(die as u32, id, &mut inside)?;
            let stream = spec.stream;
            compiler.builder.push(spec);
            if let Some(footprints) = footprints.as_ref().filter(|_| stream != NONE) {
                compiler.touches(id, footprints);
            }
            calls.add(&mut compiler.builder, id, stream != NONE);
            inside.add(&mut compiler.builder, id, stream);
        }
        calls.end_rank();
        inside.end_rank(&mut compiler.builder);
    }
    compiler.assumptions();
    Ok(compiler.builder.finish())
}

impl Compiled {
    /// Writes the times for other values of the schedule's variables into `times`, which must be
    /// times of this program.
    ///
    /// # Errors
    /// If an expression has no value, or a negative one.
    ///
    /// # Complexity
    /// O(times that depend on variables).
    pub fn evaluate(&self, values: Values<'_>, times: &mut Times) -> Result<(), CompileError> {
        for varying in &self.varying {
            let ps = to_ps(&varying.expr, values).map_err(|reason| CompileError::Time {
                rank: self.rank(varying.instance),
                path: format!("instance {}", varying.instance),
                what: varying.field.name(),
                reason,
            })?;
            times.set(varying.field, varying.instance, ps);
        }
        Ok(())
    }

    /// Whether any time depends on the schedule's variables.
    pub fn varies(&self) -> bool {
        !self.varying.is_empty()
    }
}

/// A time in ns as ps.
fn to_ps(ns: &Expr, values: Values<'_>) -> Result<u64, error::TimeError> {
    if let Expr::Int(ns) = ns {
        let ps = u64::try_from(*ns).map_err(|_| error::TimeError::Negative(*ns as f64))?;
        return ps.checked_mul(1_000).ok_or(error::TimeError::TooLong);
    }
    let ns = ns.eval(values)?;
    if ns < 0.0 {
        return Err(error::TimeError::Negative(ns));
    }
    let ps = (ns * 1_000.0).round();
    if ps < MOST_PS {
        // In range, by the test.
        Ok(ps as u64)
    } else {
        Err(error::TimeError::TooLong)
    }
}

/// What the whole schedule holds, for assumptions.
struct Seen {
    /// Whether some rank that others refer to runs no program.
    external: bool,
    /// Per notify and per word: whether an instance sets it.
    notifies: Vec<bool>,
    words: Vec<bool>,
    external_signals: usize,
    no_cores: usize,
    dropped: usize,
    refused: usize,
    modelled: usize,
    stated: usize,
}

impl Seen {
    fn new(flat: &Flat<'_>) -> Self {
        use ascsim_schedules::flat::Target;
        let mut notifies = vec![false; flat.notify_count()];
        let mut words = vec![false; flat.word_count()];
        for instance in flat.instances() {
            match (&instance.op.kind, instance.target) {
                (OpKind::NotifyRecord(_), Target::Notify(id)) => notifies[id.index()] = true,
                (OpKind::ValueWrite(_), Target::Word(id)) => words[id.index()] = true,
                _ => {}
            }
        }
        Self {
            external: flat.schedule().ranks.iter().any(|g| g.program.is_none()),
            notifies,
            words,
            external_signals: 0,
            no_cores: 0,
            dropped: 0,
            refused: 0,
            modelled: 0,
            stated: 0,
        }
    }
}

struct Compiler<'a, 's> {
    flat: &'a Flat<'s>,
    options: &'a Options,
    values: Values<'a>,
    builder: Builder,
    seen: Seen,
}

impl<'s> Compiler<'_, 's> {
    fn collectives(&mut self) {
        for collective in self.flat.collectives() {
            let members = collective.members().iter();
            self.builder.add_transfer(Transfer {
                members: members.map(|member| member.index() as u32).collect(),
                missing: collective.missing.clone(),
                mismatch: collective.mismatch.is_some(),
            });
        }
    }

    fn assumptions(&mut self) {
        let collectives = self.flat.collectives().iter();
        let external = collectives.filter(|collective| collective.external > 0);
        let list = [
            Assumption::ExternalMembers(external.count()),
            Assumption::ExternalSignals(self.seen.external_signals),
            Assumption::NoCores(self.seen.no_cores),
            Assumption::DroppedWaits(self.seen.dropped),
            Assumption::RefusedCalls(self.seen.refused),
            Assumption::Modelled(self.seen.modelled),
            Assumption::Stated(self.seen.stated),
        ];
        for assumption in list {
            if assumption.count() > 0 {
                self.builder.assume(assumption);
            }
        }
    }

    fn spec(
        &mut self,
        die: u32,
        id: InstanceId,
        inside: &mut Inside<'_, 's>,
    ) -> Result<Spec, CompileError> {
        let instance = &self.flat[id];
        let whole = inside.runs_as_one(id);
        let inert = instance
            .parent
            .is_some_and(|parent| inside.runs_as_one(parent));
        let role = if inert {
            Role::Host
        } else {
            self.role(id, whole)
        };
        let stream = match role {
            Role::Host => NONE,
            _ if instance.role == Runs::Part => inside.stream_of_part(&mut self.builder, id),
            // A device task names a stream; the flat schedule has checked it.
            _ => instance.stream.map_or(NONE, |stream| stream.index() as u32),
        };
        let thread = match instance.role {
            Runs::Issued => instance.thread.index() as u32,
            Runs::Replayed | Runs::Part => NONE,
        };
        let kind = self.kind(instance);
        let load = self.load(id, role).on(&self.options.die);
        let (duration, load) = match self.cost(id, role, load) {
            _ if inert => (0, load),
            Some(cost) => {
                self.modelled(id, cost.duration);
                (cost.duration, cost.load)
            }
            None => (self.duration(id, role)?, load),
        };
        Ok(Spec {
            die,
            thread,
            stream,
            role,
            kind,
            category: self.category(instance, role),
            load,
            blocking: instance.blocks_host(),
            duration,
            issue: self.issue(id)?,
            delay: match instance.delay() {
                Some(delay) => self.time(id, TimeField::Delay, &delay.ns)?,
                None => 0,
            },
            cause: match instance.delay() {
                Some(delay) => delay.cause,
                None => DelayCause::Unexplained,
            },
        })
    }

    fn duration(&mut self, id: InstanceId, role: Role) -> Result<u64, CompileError> {
        let instance = &self.flat[id];
        match instance.duration() {
            // Its parts have theirs.
            _ if role == Role::Container => Ok(0),
            Some(measured) => self.time(id, TimeField::Duration, &measured.ns),
            None if needs_duration(instance) && role != Role::Host => {
                Err(CompileError::NoDuration {
                    rank: instance.rank,
                    path: self.flat.path(id),
                })
            }
            None => Ok(0),
        }
    }

    /// Notes that the hardware model gave an instance its time, or how it splits.
    fn modelled(&mut self, id: InstanceId, duration: u64) {
        let instance = &self.flat[id];
        if !needs_duration(instance) || duration == 0 {
            return;
        }
        match instance.duration() {
            Some(_) => self.seen.stated += 1,
            None => self.seen.modelled += 1,
        }
    }

    fn issue(&mut self, id: InstanceId) -> Result<u64, CompileError> {
        let instance = &self.flat[id];
        if instance.role != Runs::Issued {
            return Ok(0);
        }
        match instance.issue() {
            Some(measured) => self.time(id, TimeField::Issue, &measured.ns),
            None => Ok(task::issue_cost(&instance.op.kind, &self.options.host)),
        }
    }

    /// The value of a time in ps. One that depends on variables is noted to be evaluated again.
    fn time(&mut self, id: InstanceId, field: TimeField, ns: &Expr) -> Result<u64, CompileError> {
        let ps = to_ps(ns, self.values).map_err(|reason| CompileError::Time {
            rank: self.flat[id].rank,
            path: self.flat.path(id),
            what: field.name(),
            reason,
        })?;
        if ns.constant().is_none() {
            self.builder.vary(Varying {
                instance: self.builder.next(),
                field,
                expr: ns.clone(),
            });
        }
        Ok(ps)
    }
}

/// Whether an instance takes a time that only a measurement or hardware model can give.
fn needs_duration(instance: &Instance<'_>) -> bool {
    instance.op.comm.is_some()
        || matches!(
            instance.op.kind,
            OpKind::Kernel(_) | OpKind::Copy(_) | OpKind::Prefetch(_) | OpKind::Collective(_)
        )
}
