//! Predicted times of every op, for the executor to compare with what it measures.

use ascsim_schedules::hash::{content_hash, structure_hash};
use ascsim_schedules::{Extra, OpPrediction, Prediction, PredictionFormat, Schedule, Span};
use ascsim_sim::{Options, SimError, Simulator, Times};

use crate::side::{Ready, StudyError, ns};
use crate::spread::{Draw, Parameter};
use crate::what_if::{Setup, percentiles};

/// Predicts the times of every op of `schedule` that takes a place on a stream or host time, with the
/// range in which 90 % of the samples fall.
///
/// # Errors
/// If the schedule cannot be simulated, or hangs.
///
/// # Complexity
/// O(samples × simulation) time, O(samples × instances) memory.
pub fn predict(
    schedule: &Schedule,
    options: &Options,
    setup: &Setup,
) -> Result<Prediction, StudyError> {
    let ready = Ready::new(schedule, options)?;
    let timeline = ready.run(options)?.map_err(StudyError::HangsBefore)?;
    let (mut times, mut simulator) = (Times::default(), Simulator::new());
    let mut makespans = Vec::new();
    let mut durations: Vec<Vec<i64>> = vec![Vec::new(); timeline.len()];
    for number in 0..setup.samples {
        let draw = Draw::new(setup.seed, number, &Parameter::ALL);
        let run = ready
            .spread
            .run(&ready.compiled, options, &draw, &mut times, &mut simulator);
        let sample = match run {
            Ok(sample) => sample,
            Err(SimError::Deadlock(_)) => continue,
            Err(error) => return Err(StudyError::Sim(error)),
        };
        makespans.push(ns(sample.makespan(setup.origin)));
        for (list, (start, end)) in durations
            .iter_mut()
            .zip(sample.start.iter().zip(&sample.end))
        {
            list.push(ns(*end) - ns(*start));
        }
    }
    let span = |value: i64, samples: Vec<i64>| {
        let range = percentiles(value, samples);
        Span {
            ns: range.ns,
            low_ns: range.low_ns,
            high_ns: range.high_ns,
        }
    };
    let mut ops = Vec::new();
    for (id, samples) in ready.flat.ids().zip(durations) {
        let index = id.index();
        if timeline.end[index] == timeline.start[index] && !timeline.was_queued(index as u32) {
            continue;
        }
        let (start_ns, end_ns) = (ns(timeline.start[index]), ns(timeline.end[index]));
        ops.push(OpPrediction {
            rank: ready.flat.instances()[index].rank,
            op: ready.flat.path(id),
            start_ns,
            end_ns,
            duration: span(end_ns - start_ns, samples),
        });
    }
    Ok(Prediction {
        format: PredictionFormat::default(),
        structure: structure_hash(schedule).to_string(),
        content: content_hash(schedule).to_string(),
        tool: setup.tool.clone(),
        makespan: span(ns(timeline.makespan(setup.origin)), makespans),
        ops,
        extra: Extra::default(),
    })
}
