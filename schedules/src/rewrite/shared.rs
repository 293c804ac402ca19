//! The shared expert of MoE layers on a side stream (facts/schedules.md C1).

use std::collections::{BTreeMap, BTreeSet};

use super::catalogue::{ChangeDoc, KeyDoc};
use super::edit::{
    Names, declare_stream, has_work, is_signal, main_stream, positions, record, recorded, unfit,
    usual_issue, wait, waited,
};
use super::event::latest_records;
use super::moe::{Layer, Point};
use super::parse::{ChangeError, Keys};
use super::{Change, Note, RewriteError, Rewritten};
use crate::footprint::Footprints;
use crate::ir::{EventName, Op, Program, Schedule, StreamName};
use crate::select::Selector;

pub(super) const DOC: ChangeDoc = ChangeDoc {
    name: "shared-expert-overlap",
    summary: "run the shared expert of every MoE layer on one side stream, beside the routed experts",
    keys: &[
        KeyDoc {
            name: "select",
            required: false,
            meaning: "selector of the shared expert's ops with its collectives; default those whose tag \
                      `module` or id has `shared` in it",
        },
        KeyDoc {
            name: "stream",
            required: false,
            meaning: "the side stream; default `shared`",
        },
        KeyDoc {
            name: "preset",
            required: false,
            meaning: "wait points of a quantisation, as vllm-ascend has them: `w8a8` (default), \
                      `w4a8-mxfp`, `unquantised`, or `start-only`",
        },
        KeyDoc {
            name: "start",
            required: false,
            meaning: "what the first op waits for: `before-gate`, `after-gate`, `before-dispatch`, \
                      `before-gmm2`, `before-combine`",
        },
        KeyDoc {
            name: "gate-up",
            required: false,
            meaning: "what the first matmul waits for; a wait point or `none`",
        },
        KeyDoc {
            name: "act",
            required: false,
            meaning: "what the op after the first matmul waits for; a wait point or `none`",
        },
        KeyDoc {
            name: "down",
            required: false,
            meaning: "what the last matmul waits for; a wait point or `none`",
        },
        KeyDoc {
            name: "before",
            required: false,
            meaning: "selector of the op that needs the result: the first match after the shared expert; \
                      default from the accesses, or else the next op on the main stream",
        },
        KeyDoc {
            name: "join-event",
            required: false,
            meaning: "name of the event that the main stream waits for; default `shared.done`",
        },
    ],
    details: "Needs, per layer, the shared expert's ops on the main stream, and the points that are \
              waited for: the router's matmul before its top-k, dispatch, two grouped matmuls, combine. \
              The ops go to the side stream, each with the wait before it; a record is put at every \
              wait point that has none; the main stream waits for the side stream before the op that \
              needs the result. Waits for main-stream records that stand before the ops go, those for \
              other streams are kept on both. Where a wait would be issued before its record, the ops \
              are issued later. Layers are told apart by the tag `layer`, or by the routed ops between \
              them. The presets are the table of facts/schedules.md C1. It cannot model that dispatch \
              and combine slow the side stream by their memory traffic beyond what the contention model \
              has, and does not look at the order of collectives across ranks: `ascsim check` does.",
    example: "shared-expert-overlap:preset=w8a8,down=before-combine",
    parse,
};

/// Where the stages of a shared expert wait.
#[derive(Clone, Debug)]
pub struct SharedOverlap {
    /// Its ops; those called `shared` without it.
    pub select: Option<Selector>,
    /// The side stream.
    pub stream: StreamName,
    /// What the first op waits for.
    pub start: WaitPoint,
    /// What the first matmul waits for besides.
    pub gate_up: Option<WaitPoint>,
    /// What the op after the first matmul waits for besides.
    pub act: Option<WaitPoint>,
    /// What the last matmul waits for besides.
    pub down: Option<WaitPoint>,
    /// The op that needs the result.
    pub before: Option<Selector>,
    /// The event that the main stream waits for.
    pub join: String,
}

/// A point of the routed path (facts/schedules.md C1, E0 to E4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitPoint {
    /// Before the router's matmul.
    BeforeGate,
    /// After the router's matmul.
    AfterGate,
    /// Before dispatch.
    BeforeDispatch,
    /// Before the second grouped matmul.
    BeforeGmm2,
    /// Before combine.
    BeforeCombine,
}

impl WaitPoint {
    const ALL: [(&'static str, Self); 5] = [
        ("before-gate", Self::BeforeGate),
        ("after-gate", Self::AfterGate),
        ("before-dispatch", Self::BeforeDispatch),
        ("before-gmm2", Self::BeforeGmm2),
        ("before-combine", Self::BeforeCombine),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, point)| *point == self)
            .map_or("", |(name, _)| name)
    }

    fn place(self, layer: &Layer) -> Option<Point> {
        match self {
            Self::BeforeGate => layer.gate.map(Point::Before),
            Self::AfterGate => layer.gate.map(Point::After),
            Self::BeforeDispatch => layer.dispatch.map(Point::Before),
            Self::BeforeGmm2 => layer.gmm2.map(Point::Before),
            Self::BeforeCombine => layer.combine.map(Point::Before),
        }
    }
}

fn parse(keys: &Keys) -> Result<Change, ChangeError> {
    use WaitPoint::{AfterGate, BeforeCombine, BeforeDispatch, BeforeGate, BeforeGmm2};
    let preset = match keys.get("preset") {
        None | Some("w8a8") => [Some(AfterGate), Some(BeforeGmm2), Some(BeforeCombine)],
        Some("w4a8-mxfp") => [Some(BeforeDispatch), Some(BeforeGmm2), Some(BeforeCombine)],
        Some("unquantised") => [Some(BeforeDispatch), None, Some(BeforeCombine)],
        Some("start-only") => [None; 3],
        Some(other) => {
            return Err(ChangeError::Value {
                key: "preset",
                value: other.to_owned(),
                why: "expected w8a8, w4a8-mxfp, unquantised or start-only".to_owned(),
            });
        }
    };
    let point = |key: &'static str, default: Option<WaitPoint>| match keys.get(key) {
        None => Ok(default),
        Some("none") if key != "start" => Ok(None),
        Some(text) => {
            let found = WaitPoint::ALL.iter().find(|(name, _)| *name == text);
            found.map(|(_, point)| Some(*point)).ok_or_else(|| {
                let names = WaitPoint::ALL.map(|(name, _)| name).join(", ");
                let none = if key == "start" { "" } else { ", or none" };
                ChangeError::Value {
                    key,
                    value: text.to_owned(),
                    why: format!("expected {names}{none}"),
                }
            })
        }
    };
    let [gate_up, act, down] = preset;
    Ok(Change::SharedExpertOverlap(SharedOverlap {
        select: keys.optional_selector("select")?,
        stream: keys.get("stream").unwrap_or("shared").into(),
        start: point("start", Some(BeforeGate))?.unwrap_or(BeforeGate),
        gate_up: point("gate-up", gate_up)?,
        act: point("act", act)?,
        down: point("down", down)?,
        before: keys.optional_selector("before")?,
        join: keys.get("join-event").unwrap_or("shared.done").to_owned(),
    }))
}

/// Moves the shared experts.
pub(super) fn apply(
    schedule: &Schedule,
    change: &SharedOverlap,
) -> Result<Rewritten, RewriteError> {
    let mut result = schedule.clone();
    let (mut touched, mut collective, mut blind) = (0, None, false);
    for (index, program) in schedule.programs.iter().enumerate() {
        let Some(main) = main_stream(program) else {
            continue;
        };
        let shared = shared_ops(program, change.select.as_ref());
        if shared.is_empty() {
            continue;
        }
        if let Some(&at) = shared
            .iter()
            .find(|&&at| program.ops[at].stream.as_ref() != Some(&main))
        {
            let why = format!(
                "it is on another stream than `{main}` already: use move-wait to choose other wait points"
            );
            return Err(unfit(program, &program.ops[at], why));
        }
        let layers = Layer::find(program, &main, &shared);
        let mut edit = Edit::new(schedule, program, &main, change);
        for layer in &layers {
            edit.layer(&mut result, layer)?;
        }
        touched += shared.len();
        blind |= edit.blind;
        collective = collective.or_else(|| {
            let moved = shared.iter().map(|&at| &program.ops[at]);
            moved.clone().find(|op| op.comm.is_some()).cloned()
        });
        result.programs[index].ops = edit.finish();
    }
    if touched == 0 {
        return Err(RewriteError::NothingSelected {
            selector: change.select.as_ref().map_or_else(
                || "module=*shared* or id=*shared*".to_owned(),
                ToString::to_string,
            ),
            what: "op of a shared expert",
        });
    }
    declare_stream(&mut result, &change.stream);
    let mut notes = Vec::new();
    if blind {
        notes.push(Note::assumption(
            "the shared expert needs nothing that is computed after its first wait point, and nothing \
             before the op that waits for it needs its result: accesses are unknown",
        ));
    }
    if let Some(op) = collective {
        notes.push(Note::warning(format!(
            "the collective `{}` is on the side stream now: whether collectives of two streams can block \
             each other is for `ascsim check` to say",
            op.id
        )));
    }
    Ok(Rewritten {
        schedule: result,
        touched,
        notes,
    })
}

/// Positions of the shared experts' ops.
fn shared_ops(program: &Program, select: Option<&Selector>) -> Vec<usize> {
    if let Some(select) = select {
        return positions(program, select, has_work);
    }
    let is_shared = |op: &Op| {
        has_work(op)
            && (op
                .tags
                .get("module")
                .is_some_and(|tag| tag.contains("shared"))
                || op.id.as_str().contains("shared"))
    };
    let ops = program.ops.iter().enumerate();
    ops.filter(|(_, op)| is_shared(op))
        .map(|(at, _)| at)
        .collect()
}

/// The new list of one program as it is made.
struct Edit<'a> {
    schedule: &'a Schedule,
    program: &'a Program,
    main: &'a StreamName,
    change: &'a SharedOverlap,
    footprints: Footprints<'a>,
    bound: std::collections::HashMap<usize, usize>,
    names: Names,
    issue: Option<crate::ir::Measured>,
    /// Ops in front of and behind the op at a position.
    before: BTreeMap<usize, Vec<Op>>,
    after: BTreeMap<usize, Vec<Op>>,
    gone: BTreeSet<usize>,
    blind: bool,
}

impl<'a> Edit<'a> {
    fn new(
        schedule: &'a Schedule,
        program: &'a Program,
        main: &'a StreamName,
        change: &'a SharedOverlap,
    ) -> Self {
        Self {
            schedule,
            program,
            main,
            change,
            footprints: Footprints::new(schedule),
            bound: latest_records(program),
            names: Names::new(schedule, program),
            issue: usual_issue(program, is_signal),
            before: BTreeMap::new(),
            after: BTreeMap::new(),
            gone: BTreeSet::new(),
            blind: false,
        }
    }

    fn signal(&self, mut op: Op) -> Op {
        op.issue = self.issue.clone().map(Box::new);
        op
    }

    fn layer(&mut self, result: &mut Schedule, layer: &Layer) -> Result<(), RewriteError> {
        let ops = &self.program.ops;
        let (&first, &last) = match (layer.shared.first(), layer.shared.last()) {
            (Some(first), Some(last)) => (first, last),
            _ => return Ok(()),
        };
        let stages = self.stages(&layer.shared);
        let mut chain: Vec<Op> = Vec::new();
        let mut issued_at = first;
        // Events of this layer's wait points, made as they are needed.
        let mut events: BTreeMap<WaitPoint, EventName> = BTreeMap::new();
        let mut waits: BTreeSet<EventName> = BTreeSet::new();
        for &at in &layer.shared {
            let op = &ops[at];
            let (mut own, foreign) = self.waits_before(at);
            for wait in foreign {
                let mut copy = ops[wait].clone();
                copy.id = self.names.op(copy.id.as_str());
                copy.stream = Some(self.change.stream.clone());
                chain.push(copy);
            }
            for point in stages.get(&at).into_iter().flatten() {
                let place = point.place(layer).ok_or_else(|| {
                    let why = format!(
                        "its layer has no op that looks like the one of the wait point `{}`, so it cannot \
                         wait there: choose another point, or tag the layer's ops with `layer`",
                        point.name()
                    );
                    unfit(self.program, op, why)
                })?;
                let event = match events.get(point) {
                    Some(event) => event.clone(),
                    None => self.event_at(result, place, *point),
                };
                events.insert(*point, event.clone());
                issued_at = issued_at.max(place.op());
                if !waits.insert(event.clone()) {
                    continue;
                }
                // The wait that stood there already serves.
                let have = own
                    .iter()
                    .position(|&wait| waited(&ops[wait]) == Some(&event));
                let mut blocked = match have {
                    Some(at) => ops[own.remove(at)].clone(),
                    None => {
                        let fresh = wait(&mut self.names, &event, op);
                        self.signal(fresh)
                    }
                };
                blocked.stream = Some(self.change.stream.clone());
                chain.push(blocked);
            }
            let mut moved = op.clone();
            moved.stream = Some(self.change.stream.clone());
            chain.push(moved);
        }
        let join = self.join(layer, last)?;
        if join <= issued_at {
            let why = format!(
                "it is needed by `{}`, which is issued before the wait point: choose an earlier point",
                ops[join].id
            );
            return Err(unfit(self.program, &ops[last], why));
        }
        let name = self.names.event(result, &self.change.join);
        if let Some(tail) = chain.last().cloned() {
            let done = record(&mut self.names, &name, &tail);
            chain.push(self.signal(done));
        }
        let blocked = wait(&mut self.names, &name, &ops[join]);
        let blocked = self.signal(blocked);
        self.gone.extend(&layer.shared);
        if issued_at == first {
            // In its own place.
            self.before.entry(first).or_default().extend(chain);
        } else {
            let at = issued_at.max(last);
            self.after.entry(at).or_default().extend(chain);
        }
        self.before.entry(join).or_default().push(blocked);
        Ok(())
    }

    /// What each op of a shared expert waits for.
    fn stages(&self, shared: &[usize]) -> BTreeMap<usize, Vec<WaitPoint>> {
        let is_matmul = |at: &&usize| super::moe::is_matmul(&self.program.ops[**at]);
        let first = shared[0];
        let gate_up = shared.iter().find(is_matmul).copied();
        let down = shared
            .iter()
            .rfind(is_matmul)
            .copied()
            .filter(|at| Some(*at) != gate_up);
        let act = gate_up.and_then(|up| shared.iter().find(|at| **at > up).copied());
        let mut stages: BTreeMap<usize, Vec<WaitPoint>> = BTreeMap::new();
        stages.entry(first).or_default().push(self.change.start);
        for (at, point) in [
            (gate_up, self.change.gate_up),
            (act.filter(|at| Some(*at) != down), self.change.act),
            (down, self.change.down),
        ] {
            if let (Some(at), Some(point)) = (at, point) {
                stages.entry(at).or_default().push(point);
            }
        }
        stages
    }

    /// Waits that stand right before a shared op on its stream. Those for records of the main stream
    /// go from there; the others, which are returned second, stay for the main stream's sake.
    fn waits_before(&mut self, at: usize) -> (Vec<usize>, Vec<usize>) {
        let ops = &self.program.ops;
        let mut found = Vec::new();
        for before in (0..at).rev() {
            if ops[before].stream.as_ref() != Some(self.main) {
                continue;
            }
            if waited(&ops[before]).is_none() {
                break;
            }
            if !self.gone.contains(&before) {
                found.push(before);
            }
        }
        found.reverse();
        let (own, foreign): (Vec<usize>, Vec<usize>) = found.into_iter().partition(|wait| {
            self.bound
                .get(wait)
                .is_some_and(|record| ops[*record].stream.as_ref() == Some(self.main))
        });
        self.gone.extend(&own);
        (own, foreign)
    }

    /// The event recorded at a point of the main stream; a new record if there is none.
    fn event_at(&mut self, result: &mut Schedule, place: Point, point: WaitPoint) -> EventName {
        let ops = &self.program.ops;
        let on_main = |at: &usize| ops[*at].stream.as_ref() == Some(self.main);
        // Records that follow the last task before the point directly.
        let around: Vec<usize> = match place {
            Point::Before(at) => {
                let mut before = (0..at).rev().filter(on_main);
                let mut found = Vec::new();
                while let Some(at) = before.next().filter(|at| recorded(&ops[*at]).is_some()) {
                    found.push(at);
                }
                found
            }
            Point::After(at) => {
                let after = (at + 1..ops.len()).filter(on_main);
                after
                    .take_while(|at| recorded(&ops[*at]).is_some())
                    .collect()
            }
        };
        for at in around {
            if let Some(event) = recorded(&ops[at])
                && self.is_plain(event)
            {
                return event.clone();
            }
        }
        let event = self.names.event(result, &format!("moe.{}", point.name()));
        let signal = record(&mut self.names, &event, &ops[place.op()]);
        let signal = self.signal(signal);
        match place {
            Point::Before(at) => self.before.entry(at).or_default().push(signal),
            Point::After(at) => self.after.entry(at).or_default().insert(0, signal),
        }
        event
    }

    /// Whether an event is `ex` and recorded once, so that a wait issued later binds to that record.
    fn is_plain(&self, event: &EventName) -> bool {
        let records = self
            .program
            .ops
            .iter()
            .filter(|op| recorded(op) == Some(event));
        let declared = self.schedule.events.iter().find(|have| have.name == *event);
        declared.is_some_and(|event| event.kind.is_ex()) && records.count() == 1
    }

    /// The op that waits for the shared expert.
    fn join(&mut self, layer: &Layer, last: usize) -> Result<usize, RewriteError> {
        let ops = &self.program.ops;
        let shared: BTreeSet<usize> = layer.shared.iter().copied().collect();
        let on_main = |at: &usize| {
            ops[*at].stream.as_ref() == Some(self.main)
                && !shared.contains(at)
                && has_work(&ops[*at])
        };
        let found = if let Some(before) = &self.change.before {
            positions(self.program, before, Op::is_device)
                .into_iter()
                .find(|at| *at > last)
        } else if shared.iter().any(|&at| ops[at].accesses.is_unknown()) {
            self.blind = true;
            (last + 1..ops.len()).find(on_main)
        } else {
            (last + 1..ops.len()).filter(on_main).find(|&other| {
                shared
                    .iter()
                    .any(|&at| self.footprints.conflict(&ops[at], &ops[other]) != Some(false))
            })
        };
        found.ok_or_else(|| {
            let why = "no op after it needs its result: give it with before=SELECTOR";
            unfit(self.program, &ops[last], why)
        })
    }

    fn finish(mut self) -> Vec<Op> {
        let mut ops = Vec::with_capacity(self.program.ops.len() + 8);
        for (at, op) in self.program.ops.iter().enumerate() {
            ops.extend(self.before.remove(&at).unwrap_or_default());
            if !self.gone.contains(&at) {
                ops.push(op.clone());
            }
            ops.extend(self.after.remove(&at).unwrap_or_default());
        }
        ops
    }
}
