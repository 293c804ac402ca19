//! Changes one after another: what each adds to the ones before it.

use ascsim_schedules::rewrite::Note;
use ascsim_sim::{Simulator, Times};
use serde::{Deserialize, Serialize};

use crate::overlap::cause;
use crate::result::{BlameEntry, Hang, Range, Side, Source};
use crate::side::{Ready, StudyError, ns};
use crate::spread::{Draw, Parameter};
use crate::what_if::{Input, Setup, Step, add, percentiles, refused};

/// The answer to a ladder, as it is written to JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// `ascsim.ladder/1`.
    pub format: String,
    /// The tool and its version.
    pub tool: String,
    /// What was read.
    pub source: Source,
    /// The schedule as it is, then after each change with those before it.
    pub rungs: Vec<Rung>,
    /// What was assumed, and what is doubtful.
    pub notes: Vec<Note>,
}

impl Ladder {
    /// The value of `format` that this version writes.
    pub const FORMAT: &str = "ascsim.ladder/1";
}

/// One step of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// The change; empty for the schedule as it is.
    pub change: String,
    /// How many ops it touched.
    pub touched: usize,
    /// The makespan; absent where it hangs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub makespan: Option<Range>,
    /// Against the last rung before it that ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Range>,
    /// Against the schedule as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Range>,
    /// Where the makespan went; adds up to it.
    pub blame: Vec<BlameEntry>,
    /// Why the step gains little or loses; empty where it gains.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// Why it hangs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hangs: Option<Hang>,
}

/// Applies `steps` one after another to the reading of the input that counts, and simulates each.
///
/// # Errors
/// As [`what_if`](crate::what_if()); a rung that hangs is an answer.
///
/// # Complexity
/// O(steps × samples × simulation).
pub fn ladder(
    input: &Input,
    given: &[Step],
    steps: &[Step],
    setup: &Setup,
    progress: &dyn Fn(f64),
) -> Result<Ladder, StudyError> {
    let variant = input.variants.last().ok_or(StudyError::Empty)?;
    let mut notes = input.notes.clone();
    let mut schedule = variant.schedule.clone();
    for step in given {
        let rewritten = step.change.apply(&schedule).map_err(refused(step))?;
        add(&mut notes, rewritten.notes);
        schedule = rewritten.schedule;
    }
    let mut rungs: Vec<Rung> = Vec::new();
    let mut first: Option<Vec<u64>> = None;
    let mut last: Option<(Vec<u64>, Side)> = None;
    let parts = (steps.len() + 1) as f64;
    for (index, step) in std::iter::once(None)
        .chain(steps.iter().map(Some))
        .enumerate()
    {
        let mut touched = 0;
        if let Some(step) = step {
            let rewritten = step.change.apply(&schedule).map_err(refused(step))?;
            touched = rewritten.touched;
            add(&mut notes, rewritten.notes);
            schedule = rewritten.schedule;
        }
        let options = &variant.options;
        let ready = Ready::new(&schedule, options)?;
        add(&mut notes, ready.notes(options));
        let change = step.map_or_else(String::new, |step| step.text.clone());
        let timeline = match ready.run(options)? {
            Ok(timeline) => timeline,
            Err(hang) if step.is_none() => return Err(StudyError::HangsBefore(hang)),
            Err(hang) => {
                rungs.push(Rung {
                    change,
                    touched,
                    makespan: None,
                    step: None,
                    total: None,
                    blame: Vec::new(),
                    cause: String::new(),
                    hangs: Some(hang),
                });
                continue;
            }
        };
        if timeline.last().is_none() {
            return Err(StudyError::Empty);
        }
        // The nominal run, then the samples; each drawn as on every other rung.
        let mut values = vec![timeline.makespan(setup.origin)];
        let (mut times, mut simulator) = (Times::default(), Simulator::new());
        for number in 0..setup.samples {
            let draw = Draw::new(setup.seed, number, &Parameter::ALL);
            let run = ready
                .spread
                .run(&ready.compiled, options, &draw, &mut times, &mut simulator);
            // A sample that hangs has no makespan; it counts as the nominal one, on this rung only.
            values.push(run.map_or(values[0], |timeline| timeline.makespan(setup.origin)));
            progress((index as f64 + (number + 1) as f64 / setup.samples as f64) / parts);
        }
        let makespan = range(&values, &[]);
        let side = ready.side(options, setup.origin, &timeline, makespan);
        let against = |base: Option<&Vec<u64>>| base.map(|base| range(&values, base));
        let gain = against(last.as_ref().map(|(values, _)| values));
        let reason = match (gain, &last) {
            (Some(gain), Some((_, before))) => cause(before, &side, gain.ns),
            _ => None,
        };
        rungs.push(Rung {
            change,
            touched,
            makespan: Some(makespan),
            step: gain,
            total: against(first.as_ref()),
            blame: side.blame.clone(),
            cause: reason.unwrap_or_default(),
            hangs: None,
        });
        first.get_or_insert_with(|| values.clone());
        last = Some((values, side));
    }
    Ok(Ladder {
        format: Ladder::FORMAT.to_owned(),
        tool: setup.tool.clone(),
        source: input.source.clone(),
        rungs,
        notes,
    })
}

/// The first value with the range of the others, less the values of `base` one by one.
fn range(values: &[u64], base: &[u64]) -> Range {
    let less = |at: usize| {
        let base = base.get(at).copied().unwrap_or(0);
        let difference = i128::from(values[at]) - i128::from(base);
        ((difference + 500).div_euclid(1000)) as i64
    };
    let nominal = if base.is_empty() {
        ns(values[0])
    } else {
        less(0)
    };
    percentiles(nominal, (1..values.len()).map(less).collect())
}
