//! What a change would do.

use std::collections::BTreeMap;

use ascsim_schedules::Schedule;
use ascsim_schedules::rewrite::{Change, ChangeError, Note, RewriteError};
use ascsim_sim::{Options, Origin, SimError, Simulator, Times};

use crate::overlap::cause;
use crate::result::{Answer, AppliedChange, Carrier, Outcome, PathChange, Range, Source, WhatIf};
use crate::side::{Ready, StudyError, ns};
use crate::spread::{Draw, Parameter};

/// What a study starts from.
#[derive(Clone, Debug)]
pub struct Input {
    /// What was read.
    pub source: Source,
    /// The readings of it; at least one, and the last one counts.
    pub variants: Vec<Variant>,
    /// What reading it assumed, and what is doubtful about it.
    pub notes: Vec<Note>,
}

/// One reading of an input.
#[derive(Clone, Debug)]
pub struct Variant {
    /// How it was read; empty where there is one way only.
    pub reading: String,
    /// The schedule.
    pub schedule: Schedule,
    /// How it is simulated.
    pub options: Options,
}

/// A change to apply.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its text, for the result.
    pub text: String,
    /// The change.
    pub change: Change,
}

impl Step {
    /// Reads a change.
    ///
    /// # Errors
    /// As [`Change::parse`].
    pub fn parse(text: &str) -> Result<Self, ChangeError> {
        Ok(Self {
            text: text.to_owned(),
            change: Change::parse(text)?,
        })
    }
}

/// Makes the refusal of a step an error of the study.
pub(crate) fn refused(step: &Step) -> impl Fn(RewriteError) -> StudyError + use<'_> {
    |source| StudyError::Refused {
        change: step.text.clone(),
        source: Box::new(source),
    }
}

/// How a study is carried out.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where the makespan begins.
    pub origin: Origin,
    /// Samples for the ranges; 0 gives none.
    pub samples: u64,
    /// Seed of the samples.
    pub seed: u64,
    /// The tool and its version, for the result.
    pub tool: String,
}

/// The result of a study, and the changed schedule.
#[derive(Clone, Debug)]
pub struct WhatIfRun {
    /// The result.
    pub result: WhatIf,
    /// The changed schedule of the reading that counts; the unchanged one without changes.
    pub schedule: Schedule,
}

/// Simulates the input as it is and with the changes applied one after the other. `progress` is
/// called with the share of the work done, between 0 and 1.
///
/// # Errors
/// If a change is refused, or the schedule cannot be simulated or hangs before the change. A schedule
/// that hangs *after* the change is an answer.
///
/// # Complexity
/// O(samples × (1 + parameters) × simulation).
pub fn what_if(
    input: &Input,
    steps: &[Step],
    setup: &Setup,
    progress: &dyn Fn(f64),
) -> Result<WhatIfRun, StudyError> {
    what_if_given(input, &[], steps, setup, progress)
}

/// As [`what_if`], with changes that hold before as well as after.
///
/// # Errors
/// As [`what_if`].
///
/// # Complexity
/// As [`what_if`].
pub fn what_if_given(
    input: &Input,
    given: &[Step],
    steps: &[Step],
    setup: &Setup,
    progress: &dyn Fn(f64),
) -> Result<WhatIfRun, StudyError> {
    let mut notes = input.notes.clone();
    let mut answers = Vec::new();
    let (mut held, mut changes) = (Vec::new(), Vec::new());
    let mut schedule = None;
    let parts = input.variants.len() as f64;
    for (index, variant) in input.variants.iter().enumerate() {
        let mut variant = variant.clone();
        held = apply(&mut variant.schedule, given, &mut notes)?;
        let mut changed = variant.schedule.clone();
        changes = apply(&mut changed, steps, &mut notes)?;
        let after = if steps.is_empty() {
            None
        } else {
            Some(&changed)
        };
        let progress = |share: f64| progress((index as f64 + share) / parts);
        answers.push(answer(&variant, after, setup, &mut notes, &progress)?);
        schedule = Some(changed);
    }
    let result = WhatIf {
        format: WhatIf::FORMAT.to_owned(),
        tool: setup.tool.clone(),
        source: input.source.clone(),
        given: held,
        changes,
        answers,
        notes,
    };
    Ok(WhatIfRun {
        result,
        schedule: schedule.ok_or(StudyError::Empty)?,
    })
}

/// Applies `steps` one after another.
fn apply(
    schedule: &mut Schedule,
    steps: &[Step],
    notes: &mut Vec<Note>,
) -> Result<Vec<AppliedChange>, StudyError> {
    let mut changes = Vec::with_capacity(steps.len());
    for step in steps {
        let rewritten = step.change.apply(schedule).map_err(refused(step))?;
        *schedule = rewritten.schedule;
        changes.push(AppliedChange {
            change: step.text.clone(),
            touched: rewritten.touched,
        });
        add(notes, rewritten.notes);
    }
    Ok(changes)
}

pub(crate) fn add(notes: &mut Vec<Note>, more: impl IntoIterator<Item = Note>) {
    for note in more {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// The notes of both sides; one that only one side has says which.
fn of_both(before: Vec<Note>, after: Vec<Note>) -> Vec<Note> {
    let only = |side: &str, note: &Note, other: &[Note]| {
        let mut note = note.clone();
        if !other.contains(&note) {
            note.text = format!("{side} the change, {}", note.text);
        }
        note
    };
    let first = before.iter().map(|note| only("before", note, &after));
    let second = after.iter().map(|note| only("after", note, &before));
    first.chain(second).collect()
}

fn answer(
    variant: &Variant,
    changed: Option<&Schedule>,
    setup: &Setup,
    notes: &mut Vec<Note>,
    progress: &dyn Fn(f64),
) -> Result<Answer, StudyError> {
    let options = &variant.options;
    let before = Ready::new(&variant.schedule, options)?;
    let after = changed
        .map(|schedule| Ready::new(schedule, options))
        .transpose()?;
    match &after {
        None => add(notes, before.notes(options)),
        Some(after) => add(notes, of_both(before.notes(options), after.notes(options))),
    }
    let timeline = before.run(options)?.map_err(StudyError::HangsBefore)?;
    if timeline.last().is_none() {
        return Err(StudyError::Empty);
    }
    let mut answer_after = None;
    let mut comparable = None;
    match after.as_ref().map(|after| after.run(options)).transpose()? {
        None => {}
        Some(Err(hang)) => answer_after = Some(Err(hang)),
        Some(Ok(timeline)) => {
            answer_after = Some(Ok(timeline));
            comparable = after.as_ref();
        }
    }
    let pair = Pair {
        before: &before,
        after: comparable,
        options,
        setup,
    };
    let nominal = Sample {
        before: timeline.makespan(setup.origin),
        after: match &answer_after {
            Some(Ok(timeline)) => Some(timeline.makespan(setup.origin)),
            _ => None,
        },
    };
    let samples = pair.samples(&Parameter::ALL, setup.samples, &|share| {
        progress(share / 2.0)
    })?;
    let carriers = pair.carriers(&|share| progress(0.5 + share / 2.0))?;
    let range = |value: fn(&Sample) -> Option<i64>| -> Option<Range> {
        Some(percentiles(
            value(&nominal)?,
            samples.iter().filter_map(value).collect(),
        ))
    };
    let makespan_before = range(|sample| Some(ns(sample.before)));
    let before_range = makespan_before.unwrap_or(Range {
        ns: 0,
        low_ns: 0,
        high_ns: 0,
    });
    let side = before.side(options, setup.origin, &timeline, before_range);
    let (mut left_path, mut entered_path) = (Vec::new(), Vec::new());
    let outcome = match (answer_after, &after) {
        (Some(Err(hang)), _) => Some(Outcome::Hangs(hang)),
        (Some(Ok(timeline_after)), Some(after)) => {
            (left_path, entered_path) = moved(
                before.on_path(options, setup.origin, &timeline),
                after.on_path(options, setup.origin, &timeline_after),
            );
            let makespan = range(|sample| sample.after.map(ns)).unwrap_or(before_range);
            Some(Outcome::Ends(after.side(
                options,
                setup.origin,
                &timeline_after,
                makespan,
            )))
        }
        _ => None,
    };
    progress(1.0);
    let difference = range(Sample::difference);
    let reason = match (&outcome, difference) {
        (Some(Outcome::Ends(after)), Some(difference)) => cause(&side, after, difference.ns),
        _ => None,
    };
    Ok(Answer {
        reading: variant.reading.clone(),
        before: side,
        after: outcome,
        difference,
        cause: reason.unwrap_or_default(),
        left_path,
        entered_path,
        carriers,
    })
}

/// The ops whose share of the critical path changed: those that take less of it, and those that take
/// more, each with the greatest change first.
fn moved(
    before: BTreeMap<(u32, String), u64>,
    mut after: BTreeMap<(u32, String), u64>,
) -> (Vec<PathChange>, Vec<PathChange>) {
    const MOST: usize = 10;
    let mut all: Vec<PathChange> = Vec::new();
    let change = |(rank, op): (u32, String), before: u64, after: u64| PathChange {
        rank,
        op,
        before_ns: ns(before),
        after_ns: ns(after),
    };
    for (op, taken) in before {
        let now = after.remove(&op).unwrap_or(0);
        all.push(change(op, taken, now));
    }
    all.extend(after.into_iter().map(|(op, taken)| change(op, 0, taken)));
    let pick = |sign: i64| {
        let mut picked: Vec<PathChange> = all
            .iter()
            .filter(|change| sign * (change.after_ns - change.before_ns) > 0)
            .cloned()
            .collect();
        picked.sort_by_key(|change| -sign * (change.after_ns - change.before_ns));
        picked.truncate(MOST);
        picked
    };
    (pick(-1), pick(1))
}

/// The makespans of one sample in ps.
#[derive(Clone, Copy, Debug)]
struct Sample {
    before: u64,
    after: Option<u64>,
}

impl Sample {
    fn difference(&self) -> Option<i64> {
        // Rounded once, so that the difference of two equal makespans is 0 and not ±1.
        let (after, before) = (i128::from(self.after?), i128::from(self.before));
        Some(((after - before + 500).div_euclid(1000)) as i64)
    }

    /// What the range is about: the difference, or the makespan where there is no after.
    fn value(&self) -> i64 {
        self.difference().unwrap_or_else(|| ns(self.before))
    }
}

struct Pair<'a> {
    before: &'a Ready<'a>,
    after: Option<&'a Ready<'a>>,
    options: &'a Options,
    setup: &'a Setup,
}

impl Pair<'_> {
    fn samples(
        &self,
        varies: &[Parameter],
        count: u64,
        progress: &dyn Fn(f64),
    ) -> Result<Vec<Sample>, StudyError> {
        let mut samples = Vec::new();
        let (mut times, mut simulator) = (Times::default(), Simulator::new());
        for number in 0..count {
            let draw = Draw::new(self.setup.seed, number, varies);
            let mut run = |ready: &Ready<'_>| {
                let result = ready.spread.run(
                    &ready.compiled,
                    self.options,
                    &draw,
                    &mut times,
                    &mut simulator,
                );
                match result {
                    Ok(timeline) => Ok(Some(timeline.makespan(self.setup.origin))),
                    // Another order of hand-out may hang where the nominal one does not: `check`
                    // is the tool that finds those.
                    Err(SimError::Deadlock(_)) => Ok(None),
                    Err(error) => Err(StudyError::Sim(error)),
                }
            };
            let before = run(self.before)?;
            let after = self.after.map(&mut run).transpose()?.flatten();
            if let Some(before) = before
                && after.is_some() == self.after.is_some()
            {
                samples.push(Sample { before, after });
            }
            progress((number + 1) as f64 / count as f64);
        }
        Ok(samples)
    }

    /// How wide the range is when one parameter varies alone, the widest first.
    fn carriers(&self, progress: &dyn Fn(f64)) -> Result<Vec<Carrier>, StudyError> {
        let count = self.setup.samples.min(50);
        let mut carriers = Vec::new();
        for (index, parameter) in Parameter::ALL.into_iter().enumerate() {
            let part = |share: f64| {
                progress((index as f64 + share) / Parameter::ALL.len() as f64);
            };
            let samples = self.samples(&[parameter], count, &part)?;
            let values: Vec<i64> = samples.iter().map(Sample::value).collect();
            let range = percentiles(0, values);
            let width_ns = range.high_ns - range.low_ns;
            if width_ns > 0 {
                carriers.push(Carrier {
                    parameter: parameter.name().to_owned(),
                    meaning: parameter.meaning().to_owned(),
                    source: parameter.source().to_owned(),
                    calibrated: parameter.calibrated(),
                    width_ns,
                });
            }
        }
        carriers.sort_by_key(|carrier| std::cmp::Reverse(carrier.width_ns));
        Ok(carriers)
    }
}

/// The value with the 5th and 95th percentile of the samples; the value itself without samples.
pub(crate) fn percentiles(ns: i64, mut samples: Vec<i64>) -> Range {
    samples.sort_unstable();
    let at = |percent: usize| {
        // The nearest rank.
        let rank = (samples.len() * percent).div_ceil(100).max(1) - 1;
        samples.get(rank).copied().unwrap_or(ns)
    };
    Range {
        ns,
        low_ns: at(5),
        high_ns: at(95),
    }
}
