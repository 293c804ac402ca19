//! Random schedules of every kind of op and every field, and random predictions.
//!
//! A schedule is made from a list of numbers, the [`Choices`]: whatever they are, it is valid. When
//! they run out, each further choice is the first one, which makes for the smallest schedule, so a
//! failing case shrinks as the list does.

mod choices;
mod declare;
mod expr;
mod op;
mod program;
mod ranks;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};

pub use choices::Choices;

use crate::ir::{
    Extra, OpPrediction, Prediction, PredictionFormat, Schedule, ScheduleFormat, Span,
};
use declare::Declared;

/// Any valid schedule: every kind of op and every field, in any combination that
/// [`validate`](crate::validate::validate) accepts. Whether it deadlocks or races is left to chance.
pub fn arbitrary_schedule() -> impl Strategy<Value = Schedule> {
    vec(any::<u32>(), 0..1_500).prop_map(|numbers| schedule(&mut Choices::new(numbers)))
}

/// Any valid prediction.
pub fn arbitrary_prediction() -> impl Strategy<Value = Prediction> {
    vec(any::<u32>(), 0..200).prop_map(|numbers| prediction(&mut Choices::new(numbers)))
}

/// The valid schedule that `choices` make.
pub fn schedule(choices: &mut Choices) -> Schedule {
    let mut declared = Declared::choose(choices);
    let programs = program::programs(choices, &declared);
    let ranks = ranks::groups(choices, &declared, &programs);
    Schedule {
        format: ScheduleFormat {
            minor: choices.below(3) as u32,
        },
        name: choices.text(),
        description: choices.maybe(Choices::text).unwrap_or_default(),
        variables: std::mem::take(&mut declared.variables),
        buffers: std::mem::take(&mut declared.buffers),
        streams: std::mem::take(&mut declared.streams),
        events: std::mem::take(&mut declared.events),
        notifies: std::mem::take(&mut declared.notifies),
        communicators: std::mem::take(&mut declared.communicators),
        programs,
        ranks,
        extra: choices.extra(),
    }
}

/// The valid prediction that `choices` make.
pub fn prediction(choices: &mut Choices) -> Prediction {
    let hash = |choices: &mut Choices| blake3::hash(choices.text().as_bytes()).to_string();
    Prediction {
        format: PredictionFormat {
            minor: choices.below(3) as u32,
        },
        structure: hash(choices),
        content: hash(choices),
        tool: choices.text(),
        makespan: span(choices),
        ops: (0..choices.below(9))
            .map(|index| {
                let start_ns = choices.integer() / 2;
                OpPrediction {
                    rank: choices.below(3) as u32,
                    op: format!("{}{index}", choices.text()),
                    start_ns,
                    end_ns: start_ns.saturating_add(choices.integer().saturating_abs()),
                    duration: span(choices),
                }
            })
            .collect(),
        extra: choices.extra(),
    }
}

fn span(choices: &mut Choices) -> Span {
    let mut values = [choices.integer(), choices.integer(), choices.integer()];
    values.sort_unstable();
    let [low_ns, ns, high_ns] = values;
    Span {
        ns,
        low_ns,
        high_ns,
    }
}

impl Choices {
    /// Unknown fields, mostly none.
    pub(crate) fn extra(&mut self) -> Extra {
        let mut extra = Extra::default();
        if self.below(8) == 7 {
            for _ in 0..=self.below(2) {
                // Never the name of a known field.
                let name = format!("x {}", self.text());
                let value = self.json(3);
                extra.0.insert(name, value);
            }
        }
        extra
    }
}
