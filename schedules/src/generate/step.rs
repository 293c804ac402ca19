//! One step: what the host does, what runs eagerly, what is captured, and who runs it.

use smol_str::{SmolStr, format_smolstr};

use super::GenerateError;
use super::emit::{Emitter, MAIN, Place, Setting, Update, Values};
use super::formula::Symbols;
use super::list::Lists;
use super::plan::Plan;
use super::request::Phase;
use super::routing;
use crate::builder::{
    ScheduleBuilder, graph_launch, host_work, record_external, synchronise_stream, task_update,
    think,
};
use crate::ir::{
    Accesses, Communicator, EventKind, Expr, Extra, Op, Provenance, Schedule, Variable, VariableRef,
};

/// The stream on which the host updates captured tasks.
const UPDATE: &str = "update";
/// The program of a step.
const STEP: &str = "step";
/// The captured model, and the captured draft steps.
const MODEL: &str = "model";
const DRAFT: &str = "draft";

/// A schedule with what a person wants to know about it.
#[derive(Debug)]
pub struct Generated {
    /// The schedule.
    pub schedule: Schedule,
    /// What had to be assumed, for people.
    pub notes: Vec<String>,
    /// Bytes of weights that a rank reads in the step, nominal.
    pub weight_bytes: f64,
}

/// The names of the host's own times, with nominal, least and greatest in µs. Published are only sums:
/// a step of Qwen3.5 spends 0.9 ms between graphs (facts/hardware.md section 9), most of it in issuing
/// the eager ops, which the hardware model charges by itself.
const HOST_TIMES: [(&str, f64, f64, f64, &str); 3] = [
    (
        "host.prepare",
        100.0,
        50.0,
        200.0,
        "ns; scheduler output to input buffers, besides issuing the copies",
    ),
    (
        "host.bookkeeping",
        50.0,
        20.0,
        100.0,
        "ns; sampled tokens to requests",
    ),
    (
        "host.between",
        50.0,
        0.0,
        200.0,
        "ns; between two steps; with all host work of a step 200 µs of idle device are published",
    ),
];

/// Builds the schedule of a plan.
pub(super) fn build(plan: &Plan<'_>) -> Result<Generated, GenerateError> {
    let lists = Lists::read()?;
    let request = plan.request;
    let setting = Setting {
        cores: (request.aic.max(1), request.aiv.max(1)),
        expert_bytes: plan.expert_bytes,
        phase: match request.phase {
            Phase::Decode => "decode",
            Phase::Prefill => "prefill",
        },
        overlap: request.overlap,
        static_kernels: request.static_kernels,
    };
    let mut step = Step {
        plan,
        emitter: Emitter::new(&lists, setting),
        variables: Vec::new(),
        step: Vec::new(),
        model: Vec::new(),
        draft: Vec::new(),
    };
    step.routing();
    step.issue()?;
    step.finish()
}

struct Step<'a> {
    plan: &'a Plan<'a>,
    emitter: Emitter<'a>,
    variables: Vec<Variable>,
    step: Vec<Op>,
    model: Vec<Op>,
    draft: Vec<Op>,
}

/// Where ops go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    Step,
    Model,
    Draft,
}

impl Step<'_> {
    /// Declares the variables of expert routing.
    fn routing(&mut self) {
        let Some(choice) = self.plan.choice() else {
            return;
        };
        let request = self.plan.request;
        let layers = self.layers() + u32::from(request.speculative > 0);
        let variable = routing::distinct(choice, layers, &request.routing);
        self.variables.push(variable);
        if request.ep > 1 {
            for layer in 0..layers {
                if self.plan.model.config.has_experts(layer) {
                    let name = received(layer);
                    let variable = routing::received(&name, choice, request.ep, &request.routing);
                    self.variables.push(variable);
                }
            }
        }
    }

    fn layers(&self) -> u32 {
        self.plan.model.config.num_hidden_layers
    }

    /// The symbols of a layer for `rows` rows: for work, and for sizes.
    fn symbols(&self, rows: u32, sampled: u32, layer: Option<u32>) -> (Symbols, Symbols) {
        let request = self.plan.request;
        let mut work = self.plan.symbols(rows, sampled);
        let config = &self.plan.model.config;
        let top_k = config.num_experts_per_tok;
        let routed = i64::from(rows) * i64::from(top_k);
        work.set("layer", i64::from(layer.unwrap_or(0)));
        work.set("A", routed);
        work.set("D", 0);
        let mut size = work.clone();
        let experts = layer.filter(|layer| config.has_experts(*layer));
        if let (Some(layer), Some(choice)) = (experts, self.plan.choice()) {
            let name = routing::DISTINCT.into();
            let index = layer;
            work.set("D", Expr::Var(VariableRef { name, index }));
            if request.ep > 1 {
                // Room for twice the mean; what routing sends beyond it is work, not memory.
                let mean = i64::from(choice.tokens) * i64::from(top_k) / i64::from(request.ep);
                work.set("A", routing::busiest(&received(layer), request.ep));
                size.set("A", (2 * mean).max(1));
            }
        }
        (work, size)
    }

    fn part(
        &mut self,
        name: &str,
        into: Destination,
        place: Place,
        rows: (u32, u32),
    ) -> Result<(), GenerateError> {
        let (work, size) = self.symbols(rows.0, rows.1, place.layer);
        let values = Values {
            work: &work,
            size: &size,
            captured: into != Destination::Step && self.plan.graph,
        };
        let ops = self.emitter.part(name, place, values)?;
        match into {
            Destination::Model if self.plan.graph => self.model.extend(ops),
            Destination::Draft if self.plan.graph => self.draft.extend(ops),
            _ => self.step.extend(ops),
        }
        Ok(())
    }

    /// Issues everything, in the order of facts/op-inventory.md 7.1.
    fn issue(&mut self) -> Result<(), GenerateError> {
        let rows = (self.plan.rows(), self.plan.sampled());
        let request = self.plan.request;
        let place = Place::default();
        for (name, us, low, high, note) in HOST_TIMES {
            let variable = routing::host_time(name, us * 1e3, low * 1e3, high * 1e3, note);
            self.variables.push(variable);
        }
        self.step
            .push(host("prepare", host_work(host_time("host.prepare"))));
        self.part("input_preparation", Destination::Step, place, rows)?;
        let embedding = match self.plan.embeds_eagerly() {
            true => Destination::Step,
            false => Destination::Model,
        };
        for name in self.plan.before() {
            self.part(name, embedding, place, rows)?;
        }
        if self.plan.graph {
            // The stack waits for the device before each replay.
            self.step
                .push(host("before_replay", synchronise_stream(MAIN)));
            self.step.push(host("replay", graph_launch(MODEL).on(MAIN)));
        }
        for layer in 0..self.layers() {
            let place = Place {
                layer: Some(layer),
                draft: None,
            };
            for name in self.plan.layer(layer) {
                self.part(name, Destination::Model, place, rows)?;
            }
        }
        for name in self.plan.after() {
            self.part(name, Destination::Model, place, rows)?;
        }
        self.update(MODEL);
        self.part("lm_head", Destination::Step, place, rows)?;
        self.part("sampler", Destination::Step, place, rows)?;
        if request.speculative > 0 {
            self.speculate()?;
        }
        self.part("output_copy", Destination::Step, place, rows)?;
        self.step
            .push(host("output", synchronise_stream("output")).from_thread("output"));
        self.step.push(host(
            "bookkeeping",
            host_work(host_time("host.bookkeeping")),
        ));
        self.step
            .push(host("between_steps", think(host_time("host.between"))));
        Ok(())
    }

    /// Rejection sampling, then all draft steps as one more graph.
    fn speculate(&mut self) -> Result<(), GenerateError> {
        let request = self.plan.request;
        let rows = (self.plan.rows(), self.plan.sampled());
        let accepted = routing::accepted(request.speculative, request.acceptance);
        self.variables.push(accepted);
        self.part("rejection", Destination::Step, Place::default(), rows)?;
        if self.plan.graph {
            self.step
                .push(host("replay_draft", graph_launch(DRAFT).on(MAIN)));
        }
        let (before, layer, after) = self.plan.draft();
        for draft in 0..request.speculative {
            // The first step sees all verified rows, the others one row per request.
            let rows = match draft {
                0 => (self.plan.rows(), request.batch),
                _ => (request.batch, request.batch),
            };
            let step = Place {
                layer: None,
                draft: Some(draft),
            };
            let inner = Place {
                layer: Some(self.layers()),
                draft: Some(draft),
            };
            self.part(before, Destination::Draft, step, rows)?;
            for name in &layer {
                self.part(name, Destination::Draft, inner, rows)?;
            }
            for name in &after {
                self.part(name, Destination::Draft, step, rows)?;
            }
        }
        self.update(DRAFT);
        Ok(())
    }

    /// The host re-tiles attention for the replay and lets each layer go.
    fn update(&mut self, program: &str) {
        for Update { op, event } in std::mem::take(&mut self.emitter.updates) {
            let update = task_update(program, [op]).on(UPDATE);
            let go = record_external(event.clone()).on(UPDATE);
            self.step
                .push(host(&format!("{event}.update"), update).tag("part", "retiling"));
            self.step
                .push(host(&format!("{event}.record"), go).tag("part", "retiling"));
        }
    }

    fn finish(self) -> Result<Generated, GenerateError> {
        let plan = self.plan;
        let request = plan.request;
        let nominal = |variable: &VariableRef| {
            let declared = self
                .variables
                .iter()
                .find(|known| known.name == variable.name)?;
            declared.nominal.get(variable.index as usize).copied()
        };
        let weight_bytes =
            self.emitter
                .weight_bytes
                .eval(&nominal)
                .map_err(|error| GenerateError::Data {
                    file: "models/lists".to_owned(),
                    what: error.to_string(),
                })?;
        let world = plan.world();
        let mut builder = ScheduleBuilder::new(name(plan)).description(description(plan));
        for variable in self.variables {
            builder = builder.variable(variable);
        }
        let groups = |size: u32| {
            (0..world / size)
                .map(|group| (group * size..(group + 1) * size).collect())
                .collect()
        };
        for (name, size) in [("tp", request.tp), ("ep", request.ep)] {
            if size > 1 {
                builder = builder.declare_communicator(Communicator {
                    name: name.into(),
                    groups: groups(size),
                    expansion: request.expansion,
                    buffer_bytes: None,
                    deterministic: false,
                    extra: Extra::default(),
                });
            }
        }
        for event in &self.emitter.external {
            builder = builder.event(event.clone(), EventKind::External);
        }
        for buffer in self.emitter.into_buffers() {
            builder = builder.declare_buffer(buffer);
        }
        builder = builder.program(STEP, self.step);
        if plan.graph {
            builder = builder.captured(MODEL, MAIN, self.model);
            if request.speculative > 0 {
                builder = builder.captured(DRAFT, MAIN, self.draft);
            }
        }
        let schedule = builder.ranks(0..world, STEP).build()?;
        Ok(Generated {
            schedule,
            notes: plan.notes.clone(),
            weight_bytes,
        })
    }
}

fn received(layer: u32) -> SmolStr {
    format_smolstr!("received.L{layer}")
}

fn host_time(name: &str) -> Expr {
    Expr::Var(VariableRef {
        name: name.into(),
        index: 0,
    })
}

/// An op of the host that touches no declared memory.
fn host(id: &str, mut op: Op) -> Op {
    op.accesses = Accesses::Known(Vec::new());
    if let Some(duration) = &mut op.duration {
        duration.from = Provenance::Assumed;
    }
    op.id(id).tag("part", "host")
}

fn name(plan: &Plan<'_>) -> String {
    let r = plan.request;
    let phase = match r.phase {
        Phase::Decode => "decode",
        Phase::Prefill => "prefill",
    };
    format!(
        "{} {phase} tp{} dp{} ep{} batch {} context {}",
        plan.model.title, r.tp, r.dp, r.ep, r.batch, r.context
    )
}

fn description(plan: &Plan<'_>) -> String {
    let mut text = format!(
        "Generated from the op lists of {} and the config fields of {}.",
        plan.request.stack, plan.model.source
    );
    for note in &plan.notes {
        text += "\n";
        text += note;
    }
    text
}
