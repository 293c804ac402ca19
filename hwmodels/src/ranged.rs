//! A cost with its range and what the range comes from.

use serde::Serialize;

use crate::{Model, ParameterId, Reader, Used, Values};

/// A time with its range. The ends combine what each parameter used moves the time when it goes to
/// its own end alone: the root of the sum of squares, for parameters that err independently.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranged {
    /// The time in ps, every parameter at its value.
    pub ps: u64,
    /// The low end in ps.
    pub low_ps: u64,
    /// The high end in ps.
    pub high_ps: u64,
    /// The parameters used and what each contributes, the greatest first.
    pub contributions: Vec<Contribution>,
}

/// What one parameter contributes to a range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contribution {
    /// The parameter.
    pub parameter: ParameterId,
    /// How far below the time its range alone leads, in ps.
    pub below_ps: u64,
    /// How far above the time its range alone leads, in ps.
    pub above_ps: u64,
    /// Whether it is a guess that nobody measured.
    pub uncalibrated: bool,
}

/// The time that `cost` gives in ps, with its range over `model`. Evaluates `cost` twice per
/// parameter that it uses.
pub fn ranged(model: &Model, cost: impl Fn(&Reader<'_>) -> u64) -> Ranged {
    let values = model.values();
    let (ps, used) = evaluate(&values, &cost);
    let mut contributions = Vec::new();
    let (mut below, mut above) = (0.0, 0.0);
    for id in used.iter() {
        let parameter = model.parameter(id);
        let ends =
            [parameter.low, parameter.high].map(|end| evaluate(&values.with(id, end), &cost).0);
        let below_ps = ends
            .into_iter()
            .map(|end| ps.saturating_sub(end))
            .max()
            .unwrap_or(0);
        let above_ps = ends
            .into_iter()
            .map(|end| end.saturating_sub(ps))
            .max()
            .unwrap_or(0);
        below += below_ps as f64 * below_ps as f64;
        above += above_ps as f64 * above_ps as f64;
        contributions.push(Contribution {
            parameter: id,
            below_ps,
            above_ps,
            uncalibrated: !parameter.measured,
        });
    }
    contributions.sort_by_key(|c| (u64::MAX - c.below_ps.max(c.above_ps), c.parameter));
    Ranged {
        ps,
        low_ps: ps.saturating_sub(below.sqrt() as u64),
        high_ps: ps.saturating_add(above.sqrt() as u64),
        contributions,
    }
}

fn evaluate(values: &Values, cost: &impl Fn(&Reader<'_>) -> u64) -> (u64, Used) {
    let reader = Reader::new(values);
    let ps = cost(&reader);
    (ps, reader.used())
}
