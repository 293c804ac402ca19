//! Random expressions, times and variables.

use super::Choices;
use super::declare::Declared;
use crate::ir::{
    Delay, DelayCause, Distribution, Expr, Measured, Provenance, Variable, VariableRef, Work,
};
use crate::validate::{MOST_AMOUNT, MOST_NS};

/// An expression whose nominal value is from 0 to `most`.
pub(super) fn amount(choices: &mut Choices, declared: &Declared, most: f64) -> Expr {
    let expr = any(choices, declared, 3);
    match expr.eval(&|variable| declared.nominal(variable)) {
        Ok(value) if (0.0..=most).contains(&value) => expr,
        Ok(value) if (-most..0.0).contains(&value) => Expr::Sub(Box::new([Expr::Int(0), expr])),
        _ => Expr::Int(choices.below(most.min(1e6) as usize) as i64),
    }
}

/// Any expression over declared variables; it may have no value.
fn any(choices: &mut Choices, declared: &Declared, depth: usize) -> Expr {
    let inner = |choices: &mut Choices| any(choices, declared, depth.saturating_sub(1));
    match choices.below(if depth == 0 { 4 } else { 12 }) {
        0 => Expr::Int(choices.below(1000) as i64),
        1 => Expr::Int(choices.integer()),
        2 => Expr::Float(choices.number()),
        3 => match declared.variables.is_empty() {
            true => Expr::Int(7),
            false => {
                let variable = choices.pick(&declared.variables);
                Expr::Var(VariableRef {
                    name: variable.name.clone(),
                    index: choices.below(variable.nominal.len()) as u32,
                })
            }
        },
        4 => Expr::Add((0..choices.below(4)).map(|_| inner(choices)).collect()),
        5 => Expr::Mul((0..choices.below(4)).map(|_| inner(choices)).collect()),
        6 => Expr::Min((0..=choices.below(3)).map(|_| inner(choices)).collect()),
        7 => Expr::Max((0..=choices.below(3)).map(|_| inner(choices)).collect()),
        8 => Expr::Sub(Box::new([inner(choices), inner(choices)])),
        9 => Expr::Div(Box::new([inner(choices), inner(choices)])),
        10 => Expr::Ceil(Box::new(inner(choices))),
        _ => Expr::Sqrt(Box::new(inner(choices))),
    }
}

pub(super) fn measured(choices: &mut Choices, declared: &Declared) -> Measured {
    Measured {
        ns: amount(choices, declared, MOST_NS),
        from: provenance(choices),
        note: choices.maybe(|choices| choices.text().into()),
        extra: choices.extra(),
    }
}

pub(super) fn delay(choices: &mut Choices, declared: &Declared) -> Delay {
    Delay {
        ns: amount(choices, declared, MOST_NS),
        cause: *choices.pick(&[
            DelayCause::Recorded,
            DelayCause::External,
            DelayCause::HostThink,
            DelayCause::Unexplained,
        ]),
        note: choices.maybe(|choices| choices.text().into()),
        extra: choices.extra(),
    }
}

pub(super) fn work(choices: &mut Choices, declared: &Declared) -> Work {
    let some =
        |choices: &mut Choices| choices.maybe(|choices| amount(choices, declared, MOST_AMOUNT));
    Work {
        cube_flops: some(choices),
        vector_flops: some(choices),
        bytes_read: some(choices),
        bytes_written: some(choices),
        dtype: choices.maybe(|choices| choices.text().into()),
        extra: choices.extra(),
    }
}

fn provenance(choices: &mut Choices) -> Provenance {
    *choices.pick(&[
        Provenance::Measured,
        Provenance::Derived,
        Provenance::Stated,
        Provenance::Modelled,
        Provenance::Assumed,
    ])
}

pub(super) fn variable(choices: &mut Choices, index: usize) -> Variable {
    let nominal: Vec<f64> = (0..=choices.below(3)).map(|_| choices.number()).collect();
    let low = nominal.iter().copied().fold(f64::MAX, f64::min);
    let high = nominal.iter().copied().fold(f64::MIN, f64::max);
    let distribution = match choices.below(7) {
        0 => Distribution::Fixed,
        1 => Distribution::Uniform { low, high },
        2 => Distribution::Triangular { low, high },
        3 => {
            let values: Vec<f64> = (0..=choices.below(3)).map(|_| choices.number()).collect();
            let weights = (1..=values.len()).map(|_| 1.0 + choices.below(9) as f64);
            Distribution::Discrete {
                weights: weights.collect(),
                values,
            }
        }
        4 => Distribution::Rows {
            rows: (0..=choices.below(2))
                .map(|_| nominal.iter().map(|_| choices.number()).collect())
                .collect(),
        },
        5 => Distribution::Routing {
            tokens: choices.below(500) as u32,
            top_k: choices.below(3) as u32,
            experts: nominal.len() as u32 * (2 + choices.below(4) as u32),
            skew: choices.below(5) as f64 / 2.0,
        },
        _ => Distribution::Acceptance {
            rate: choices.below(11) as f64 / 10.0,
            most: choices.below(4) as u32,
        },
    };
    Variable {
        name: format!("v{index}.a-b_c").into(),
        nominal,
        distribution,
        from: provenance(choices),
        note: choices.maybe(|choices| choices.text().into()),
        extra: choices.extra(),
    }
}
