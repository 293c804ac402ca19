//! How many tasks of each kind a schedule issues.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ir::{OpKind, Program, Schedule};

/// Tasks that one rank issues in a step, by what they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Kernels, by operator type.
    pub kernels: BTreeMap<String, u64>,
    /// Copies, by direction.
    pub copies: BTreeMap<String, u64>,
    /// Collectives, by kind; kernels that communicate are kernels.
    pub collectives: BTreeMap<String, u64>,
    /// Event records, waits and resets.
    pub events: u64,
    /// Updates of captured tasks.
    pub updates: u64,
}

impl Counts {
    /// The counts of one program, what it launches left out.
    ///
    /// # Complexity
    /// O(ops * log kinds).
    pub fn of_program(program: &Program) -> Self {
        Self::of_ops(&program.ops)
    }

    /// The counts of every program of a schedule, each once.
    pub fn of_schedule(schedule: &Schedule) -> Self {
        Self::of_ops(schedule.programs.iter().flat_map(|program| &program.ops))
    }

    /// The counts of these ops.
    pub fn of_ops<'a>(ops: impl IntoIterator<Item = &'a crate::ir::Op>) -> Self {
        let mut counts = Self::default();
        for op in ops {
            match &op.kind {
                OpKind::Kernel(kernel) => one(&mut counts.kernels, kernel.name.to_string()),
                OpKind::Copy(copy) => one(&mut counts.copies, name(&copy.direction)),
                OpKind::Collective(_) => {
                    if let Some(comm) = &op.comm {
                        one(&mut counts.collectives, name(&comm.kind));
                    }
                }
                OpKind::Record(_) | OpKind::Wait(_) | OpKind::EventReset(_) => counts.events += 1,
                OpKind::TaskUpdate(_) => counts.updates += 1,
                _ => {}
            }
        }
        counts
    }

    /// All kernels.
    pub fn all_kernels(&self) -> u64 {
        self.kernels.values().sum()
    }

    /// All copies.
    pub fn all_copies(&self) -> u64 {
        self.copies.values().sum()
    }

    /// All collectives.
    pub fn all_collectives(&self) -> u64 {
        self.collectives.values().sum()
    }
}

fn one(counts: &mut BTreeMap<String, u64>, name: String) {
    *counts.entry(name).or_default() += 1;
}

/// The name that files use.
fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}
