//! One or two keys over their ranges: where a change is best, and where it turns over.
//!
//! Coarse samples come first, then finer ones around the best. Points are simulated on all cores; the
//! result does not depend on how many there are, since points are chosen from results only.

use std::borrow::Cow;
use std::cmp::Ordering;

use ascsim_schedules::Schedule;
use ascsim_schedules::rewrite::{Change, ChangeError, Note, set_key};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::axis::{Axis, AxisError, Value};
use crate::result::{Range, Source};
use crate::side::{Ready, StudyError, ns};
use crate::what_if::{Input, Setup, Step, Variant, add, what_if_given};

/// Rounds of finer samples.
const ROUNDS: usize = 3;
/// Finer samples per axis and round.
const FINE: usize = 6;

/// The answer to a sweep, as it is written to JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// `ascsim.sweep/1`.
    pub format: String,
    /// The tool and its version.
    pub tool: String,
    /// What was read.
    pub source: Source,
    /// What holds before and after, without the swept values.
    pub given: Vec<String>,
    /// The changes, without the swept values.
    pub changes: Vec<String>,
    /// The keys.
    pub keys: Vec<SweptKey>,
    /// All points, in the order of their values.
    pub points: Vec<SweepPoint>,
    /// The best point, as a position in `points`; absent where none ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<usize>,
    /// The range of the difference at the best point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_difference: Option<Range>,
    /// The shape over one numeric key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
    /// Why the worst point gains nothing or loses, or the best where none gains.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// What was assumed at the best point, and what is doubtful.
    pub notes: Vec<Note>,
}

impl Sweep {
    /// The value of `format` that this version writes.
    pub const FORMAT: &str = "ascsim.sweep/1";
}

/// A swept key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweptKey {
    /// The change.
    pub change: String,
    /// The key.
    pub key: String,
    /// Whether the change holds before as well as after.
    pub given: bool,
}

/// One point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// The value of each key.
    pub values: Vec<String>,
    /// The makespan with what is given alone; absent where that hangs or is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_ns: Option<i64>,
    /// What became of it.
    pub outcome: PointOutcome,
}

/// What became of a point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointOutcome {
    /// It ends, after so many ns.
    Ends {
        /// The makespan.
        ns: i64,
    },
    /// It hangs.
    Hangs {
        /// Why.
        why: String,
    },
    /// A change is refused.
    Refused {
        /// Why.
        why: String,
    },
}

impl SweepPoint {
    /// After less before, in ns; the makespan itself where there is no before.
    pub fn difference(&self) -> Option<i64> {
        match self.outcome {
            PointOutcome::Ends { ns } => Some(ns - self.before_ns?),
            _ => None,
        }
    }
}

/// The shape of the differences over one numeric key, from its least value to its greatest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Curve {
    /// The same everywhere.
    Flat,
    /// Best at the least value.
    BestAtLeast,
    /// Best at the greatest value: it may go on getting better beyond.
    BestAtGreatest,
    /// Best inside: better up to `from`, worse from `to` on.
    TurnsOver {
        /// The least value that is as good as the best.
        from: String,
        /// The greatest.
        to: String,
    },
}

/// Why a sweep has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// An axis fits nothing.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// A value makes a change that is none.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The study has no answer.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// More than two keys, or none.
    #[error("one or two keys can be swept, not {0}")]
    Keys(usize),
}

/// What a sweep asks.
#[derive(Clone, Debug)]
pub struct SweepQuestion {
    /// Changes that hold before and after.
    pub given: Vec<String>,
    /// The changes asked about.
    pub changes: Vec<String>,
    /// The keys with their ranges.
    pub axes: Vec<Axis>,
    /// Coarse samples per key; 17 for one key and 9 for two where it is absent.
    pub points: Option<usize>,
}

/// Where the key of an axis is.
#[derive(Clone, Copy, Debug)]
struct Place {
    given: bool,
    at: usize,
}

/// Sweeps the keys on the reading of the input that counts. `progress` gets the share done of the
/// round, and may be called from other threads.
///
/// # Errors
/// If a key fits no change, a value is none, or the input cannot be simulated. A point that hangs or is
/// refused is an answer.
///
/// # Complexity
/// O(points × (rewrite + simulation)), divided by the cores.
pub fn sweep(
    input: &Input,
    question: &SweepQuestion,
    setup: &Setup,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Sweep, SweepError> {
    let axes = &question.axes;
    if axes.is_empty() || axes.len() > 2 {
        return Err(SweepError::Keys(axes.len()));
    }
    let (mut given, mut changes) = (question.given.clone(), question.changes.clone());
    if changes.is_empty() {
        // Without anything asked about, what is given is.
        std::mem::swap(&mut given, &mut changes);
    }
    let asked = changes.len();
    let mut places = Vec::new();
    for axis in axes {
        // Asked about first; what is given only where nothing asked about has the key.
        let place = match axis.place(&mut changes) {
            Ok(at) if at < asked || !named(axis, &given) => Place { given: false, at },
            Ok(_) => {
                changes.pop();
                Place {
                    given: true,
                    at: axis.place(&mut given)?,
                }
            }
            Err(AxisError::Nowhere { .. }) => Place {
                given: true,
                at: axis.place(&mut given)?,
            },
            Err(error) => return Err(error.into()),
        };
        places.push(place);
    }
    let variant = input.variants.last().ok_or(StudyError::Empty)?;
    let work = Work {
        variant,
        setup,
        axes,
        places: &places,
        given: &given,
        changes: &changes,
        fixed: places.iter().all(|place| !place.given),
    };
    let fixed = if work.fixed {
        let before = work.schedule_of(&variant.schedule, &given)?;
        match before {
            Err(why) => return Err(refused_given(why).into()),
            Ok(schedule) => {
                let ready = Ready::new(&schedule, &variant.options)?;
                let timeline = ready
                    .run(&variant.options)?
                    .map_err(StudyError::HangsBefore)?;
                if timeline.last().is_none() {
                    return Err(StudyError::Empty.into());
                }
                Some((schedule.into_owned(), ns(timeline.makespan(setup.origin))))
            }
        }
    } else {
        None
    };
    let coarse = question
        .points
        .unwrap_or(if axes.len() == 1 { 17 } else { 9 })
        .max(2);
    let grid: Vec<Vec<Value>> = axes.iter().map(|axis| axis.coarse(coarse)).collect();
    let mut done: Vec<(Vec<Value>, SweepPoint)> = Vec::new();
    let mut todo = combinations(&grid);
    for round in 0..=ROUNDS {
        todo.retain(|values| !done.iter().any(|(have, _)| have == values));
        if todo.is_empty() {
            break;
        }
        let finished = std::sync::atomic::AtomicUsize::new(0);
        let count = todo.len() as f64;
        let points: Result<Vec<SweepPoint>, SweepError> = todo
            .par_iter()
            .map(|values| {
                let point = work.point(values, fixed.as_ref());
                let finished = finished.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                let share = finished as f64 / count;
                progress((round as f64 + share) / (ROUNDS + 1) as f64);
                point
            })
            .collect();
        done.extend(std::mem::take(&mut todo).into_iter().zip(points?));
        done.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
        let Some(best) = best(&done) else { break };
        let finer: Vec<Vec<Value>> = axes
            .iter()
            .enumerate()
            .map(|(axis, spec)| finer(spec, axis, &done, &done[best].0))
            .collect();
        todo = combinations(&finer);
    }
    progress(1.0);
    let best = best(&done);
    let mut notes = input.notes.clone();
    let (mut best_difference, mut cause) = (None, String::new());
    if let Some(best) = best {
        let worst = worst(&done).unwrap_or(best);
        // The range at the best point, and why the worst is no better.
        for (point, counts) in [(best, true), (worst, false)] {
            let (given, changes) = work.texts(&done[point].0)?;
            let steps = |texts: &[String]| -> Result<Vec<Step>, ChangeError> {
                texts.iter().map(|text| Step::parse(text)).collect()
            };
            let setup = Setup {
                samples: if counts { setup.samples } else { 0 },
                ..setup.clone()
            };
            let only = Input {
                variants: vec![variant.clone()],
                ..input.clone()
            };
            let run = what_if_given(&only, &steps(&given)?, &steps(&changes)?, &setup, &|_| {})?;
            let answer = run.result.answer();
            if counts {
                best_difference = answer.and_then(|answer| answer.difference);
                add(&mut notes, run.result.notes.clone());
            }
            if let Some(answer) = answer.filter(|answer| !answer.cause.is_empty()) {
                cause.clone_from(&answer.cause);
            }
        }
    }
    let keys = axes.iter().zip(&places).map(|(axis, place)| {
        let texts = if place.given { &given } else { &changes };
        let name = texts[place.at].split(':').next().unwrap_or_default();
        SweptKey {
            change: name.to_owned(),
            key: axis.key.clone(),
            given: place.given,
        }
    });
    Ok(Sweep {
        format: Sweep::FORMAT.to_owned(),
        tool: setup.tool.clone(),
        source: input.source.clone(),
        given: given.clone(),
        changes: changes.clone(),
        keys: keys.collect(),
        curve: (axes.len() == 1 && axes[0].is_numeric())
            .then(|| curve(&done))
            .flatten(),
        points: done.into_iter().map(|(_, point)| point).collect(),
        best,
        best_difference,
        cause,
        notes,
    })
}

/// Whether an axis names a change that is among what is given.
fn named(axis: &Axis, given: &[String]) -> bool {
    let name = |text: &String| text.split(':').next().unwrap_or_default().trim().to_owned();
    axis.change
        .as_ref()
        .is_some_and(|change| given.iter().any(|text| name(text) == *change))
}

fn refused_given(why: String) -> StudyError {
    StudyError::Given(why)
}

/// All combinations, the last list fastest.
fn combinations(lists: &[Vec<Value>]) -> Vec<Vec<Value>> {
    lists.iter().fold(vec![Vec::new()], |all, list| {
        all.iter()
            .flat_map(|head| {
                list.iter().map(move |value| {
                    let mut next = head.clone();
                    next.push(*value);
                    next
                })
            })
            .collect()
    })
}

/// The value of the best point and some between it and its neighbours.
fn finer(axis: &Axis, at: usize, done: &[(Vec<Value>, SweepPoint)], best: &[Value]) -> Vec<Value> {
    let best = best[at];
    let mut known: Vec<Value> = done.iter().map(|(values, _)| values[at]).collect();
    known.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    known.dedup();
    let place = known.iter().position(|value| *value == best).unwrap_or(0);
    let mut values = vec![best];
    let neighbours = [
        place.checked_sub(1).and_then(|below| known.get(below)),
        known.get(place + 1),
    ];
    if let Some(below) = neighbours[0] {
        values.extend(axis.fine(*below, best, FINE / 2));
    }
    if let Some(above) = neighbours[1] {
        values.extend(axis.fine(best, *above, FINE / 2));
    }
    values
}

/// The point with the least difference; of several, the first.
fn best(done: &[(Vec<Value>, SweepPoint)]) -> Option<usize> {
    let points = done.iter().enumerate();
    points
        .filter_map(|(at, (_, point))| Some((point.difference()?, at)))
        .min()
        .map(|(_, at)| at)
}

/// The point with the greatest difference; of several, the last.
fn worst(done: &[(Vec<Value>, SweepPoint)]) -> Option<usize> {
    let points = done.iter().enumerate();
    points
        .filter_map(|(at, (_, point))| Some((point.difference()?, at)))
        .max()
        .map(|(_, at)| at)
}

fn curve(done: &[(Vec<Value>, SweepPoint)]) -> Option<Curve> {
    let ends: Vec<(&str, i64)> = done
        .iter()
        .filter_map(|(_, point)| Some((point.values[0].as_str(), point.difference()?)))
        .collect();
    let least = ends.iter().map(|(_, ns)| *ns).min()?;
    let at = ends.iter().position(|(_, ns)| *ns == least)?;
    let to = at + ends[at..].iter().take_while(|(_, ns)| *ns == least).count() - 1;
    Some(match (at == 0, to + 1 == ends.len()) {
        (true, true) => Curve::Flat,
        (true, false) => Curve::BestAtLeast,
        (false, true) => Curve::BestAtGreatest,
        (false, false) => Curve::TurnsOver {
            from: ends[at].0.to_owned(),
            to: ends[to].0.to_owned(),
        },
    })
}

/// What each point needs.
struct Work<'a> {
    variant: &'a Variant,
    setup: &'a Setup,
    axes: &'a [Axis],
    places: &'a [Place],
    given: &'a [String],
    changes: &'a [String],
    /// Whether what is given is the same at every point.
    fixed: bool,
}

/// A changed schedule, or why a change was refused.
type Made<'s> = Result<Cow<'s, Schedule>, String>;

impl Work<'_> {
    /// What is given, and the changes, with the values of a point.
    fn texts(&self, values: &[Value]) -> Result<(Vec<String>, Vec<String>), ChangeError> {
        let (mut given, mut changes) = (self.given.to_vec(), self.changes.to_vec());
        for ((axis, place), value) in self.axes.iter().zip(self.places).zip(values) {
            let texts = if place.given {
                &mut given
            } else {
                &mut changes
            };
            texts[place.at] = set_key(&texts[place.at], &axis.key, &axis.text(*value))?;
        }
        Ok((given, changes))
    }

    fn schedule_of<'s>(
        &self,
        from: &'s Schedule,
        texts: &[String],
    ) -> Result<Made<'s>, ChangeError> {
        let mut schedule = Cow::Borrowed(from);
        for text in texts {
            match Change::parse(text)?.apply(&schedule) {
                Ok(rewritten) => schedule = Cow::Owned(rewritten.schedule),
                Err(error) => return Ok(Err(format!("`{text}` is refused: {error}"))),
            }
        }
        Ok(Ok(schedule))
    }

    /// Simulates a schedule.
    fn outcome(&self, schedule: &Schedule) -> Result<PointOutcome, StudyError> {
        let options = &self.variant.options;
        let ready = Ready::new(schedule, options)?;
        Ok(match ready.run(options)? {
            Ok(timeline) => PointOutcome::Ends {
                ns: ns(timeline.makespan(self.setup.origin)),
            },
            Err(hang) => PointOutcome::Hangs { why: hang.why },
        })
    }

    fn point(
        &self,
        values: &[Value],
        fixed: Option<&(Schedule, i64)>,
    ) -> Result<SweepPoint, SweepError> {
        let (given, changes) = self.texts(values)?;
        let texts = self
            .axes
            .iter()
            .zip(values)
            .map(|(axis, value)| axis.text(*value));
        let mut point = SweepPoint {
            values: texts.collect(),
            before_ns: None,
            outcome: PointOutcome::Refused { why: String::new() },
        };
        let own;
        let before = match fixed {
            Some((schedule, ns)) => {
                point.before_ns = Some(*ns);
                schedule
            }
            None => match self.schedule_of(&self.variant.schedule, &given)? {
                Err(why) => {
                    point.outcome = PointOutcome::Refused { why };
                    return Ok(point);
                }
                Ok(schedule) => {
                    own = schedule.into_owned();
                    if let PointOutcome::Ends { ns } = self.outcome(&own)? {
                        point.before_ns = Some(ns);
                    }
                    &own
                }
            },
        };
        point.outcome = match self.schedule_of(before, &changes)? {
            Err(why) => PointOutcome::Refused { why },
            Ok(schedule) => self.outcome(&schedule)?,
        };
        Ok(point)
    }
}
