//! Samples of the random variables that times depend on.
//!
//! A sample is named by a seed and a number: the same two give the same values on every platform and
//! thread count, and in any order of drawing. Each variable has random numbers of its own, keyed by
//! its name, so that adding one leaves the others as they were.

mod routing;

use std::collections::BTreeMap;

use ascsim_schedules::{Distribution, Variable, VariableRef};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use routing::Routing;

/// Why a variable cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("variable `{variable}` cannot be drawn: {reason}")]
pub struct SampleError {
    /// The variable.
    pub variable: String,
    /// What is wrong with its distribution.
    pub reason: &'static str,
}

/// Draws the variables of a schedule.
#[derive(Clone, Debug)]
pub struct Sampler<'s> {
    variables: Vec<(&'s Variable, Method<'s>)>,
}

/// One value per component of each variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draw(BTreeMap<String, Vec<f64>>);

impl Draw {
    /// The value of a variable's component; none if there is no such variable or component.
    pub fn value_of(&self, variable: &VariableRef) -> Option<f64> {
        let values = self.0.get(variable.name.as_str())?;
        values.get(variable.index as usize).copied()
    }

    /// The values of all components of a variable.
    pub fn values(&self, variable: &str) -> Option<&[f64]> {
        self.0.get(variable).map(Vec::as_slice)
    }
}

/// A distribution whose parameters have been checked.
#[derive(Clone, Debug)]
enum Method<'s> {
    Fixed,
    Uniform { low: f64, high: f64 },
    Triangular { low: f64, high: f64 },
    Discrete { values: &'s [f64], sums: Vec<f64> },
    Rows(&'s [Vec<f64>]),
    Routing(Routing),
    Acceptance { rate: f64, most: u32 },
}

impl<'s> Sampler<'s> {
    /// Checks and prepares the variables of a schedule.
    ///
    /// # Errors
    /// If the parameters of a distribution make no sense.
    pub fn new(variables: &'s [Variable]) -> Result<Self, SampleError> {
        let variables = variables.iter().map(|variable| {
            let method = method(variable).map_err(|reason| SampleError {
                variable: variable.name.to_string(),
                reason,
            })?;
            Ok((variable, method))
        });
        Ok(Self {
            variables: variables.collect::<Result<_, _>>()?,
        })
    }

    /// The nominal values.
    pub fn nominal(&self) -> Draw {
        let variables = self.variables.iter();
        let values = variables.map(|(v, _)| (v.name.to_string(), v.nominal.clone()));
        Draw(values.collect())
    }

    /// Sample number `sample` of the sequence that `seed` names.
    pub fn draw(&self, seed: u64, sample: u64) -> Draw {
        let values = self.variables.iter().map(|(variable, method)| {
            let mut random = Random::new(seed, sample, variable.name.as_str());
            let values = method.draw(&variable.nominal, &mut random);
            (variable.name.to_string(), values)
        });
        Draw(values.collect())
    }
}

fn method(variable: &Variable) -> Result<Method<'_>, &'static str> {
    let nominal = &variable.nominal;
    if nominal.is_empty() {
        return Err("it has no component; give `nominal` a value for each");
    }
    if !nominal.iter().all(|value| value.is_finite()) {
        return Err("its nominal values must be finite");
    }
    let range = |low: f64, high: f64| low.is_finite() && high.is_finite() && low <= high;
    match &variable.distribution {
        Distribution::Fixed => Ok(Method::Fixed),
        &Distribution::Uniform { low, high } => match range(low, high) {
            true => Ok(Method::Uniform { low, high }),
            false => Err("`low` must not be above `high`"),
        },
        &Distribution::Triangular { low, high } => {
            if !range(low, high) {
                Err("`low` must not be above `high`")
            } else if nominal.iter().any(|mode| *mode < low || *mode > high) {
                Err("its nominal values must lie between `low` and `high`")
            } else {
                Ok(Method::Triangular { low, high })
            }
        }
        Distribution::Discrete { values, weights } => {
            let mut sum = 0.0;
            let sums: Vec<f64> = weights
                .iter()
                .map(|weight| {
                    sum += weight;
                    sum
                })
                .collect();
            if values.len() != weights.len() {
                Err("it needs as many weights as values")
            } else if !weights.iter().all(|weight| *weight >= 0.0) {
                Err("its weights must not be negative")
            } else if !(sum.is_finite() && sum > 0.0) {
                Err("its weights must have a finite sum above 0")
            } else if !values.iter().all(|value| value.is_finite()) {
                Err("its values must be finite")
            } else {
                Ok(Method::Discrete { values, sums })
            }
        }
        Distribution::Rows { rows } => {
            let fits = |row: &Vec<f64>| {
                row.len() == nominal.len() && row.iter().all(|value| value.is_finite())
            };
            if rows.is_empty() || !rows.iter().all(fits) {
                Err("it needs rows of finite values, each as long as `nominal`")
            } else {
                Ok(Method::Rows(rows))
            }
        }
        &Distribution::Routing {
            tokens,
            top_k,
            experts,
            skew,
        } => Routing::new(nominal.len(), tokens, top_k, experts, skew).map(Method::Routing),
        &Distribution::Acceptance { rate, most } => match (0.0..=1.0).contains(&rate) {
            true => Ok(Method::Acceptance { rate, most }),
            false => Err("its rate must lie between 0 and 1"),
        },
    }
}

impl Method<'_> {
    fn draw(&self, nominal: &[f64], random: &mut Random) -> Vec<f64> {
        let mut each = |draw: &dyn Fn(f64, &mut Random) -> f64| {
            nominal.iter().map(|mode| draw(*mode, random)).collect()
        };
        match self {
            Self::Fixed => nominal.to_vec(),
            Self::Uniform { low, high } => each(&|_, random| low + random.unit() * (high - low)),
            Self::Triangular { low, high } => {
                each(&|mode, random| triangular(*low, mode, *high, random.unit()))
            }
            Self::Discrete { values, sums } => each(&|_, random| {
                let total = sums.last().copied().unwrap_or(0.0);
                let at = random.unit() * total;
                let place = sums.partition_point(|sum| *sum <= at);
                // Rounding may give the total itself; the last value with a weight is meant.
                let last = sums.partition_point(|sum| *sum < total);
                values[place.min(last)]
            }),
            Self::Rows(rows) => rows[random.below(rows.len() as u64) as usize].clone(),
            Self::Routing(routing) => routing.draw(random),
            Self::Acceptance { rate, most } => each(&|_, random| {
                let tokens = (0..*most).take_while(|_| random.unit() < *rate);
                tokens.count() as f64
            }),
        }
    }
}

/// The value below which a triangular variable lies with probability `unit`.
fn triangular(low: f64, mode: f64, high: f64, unit: f64) -> f64 {
    let width = high - low;
    if width <= 0.0 {
        return low;
    }
    if unit * width < mode - low {
        low + (unit * width * (mode - low)).sqrt()
    } else {
        high - ((1.0 - unit) * width * (high - mode)).sqrt()
    }
}

/// The random numbers of one variable in one sample.
#[derive(Debug)]
struct Random(ChaCha8Rng);

impl Random {
    fn new(seed: u64, sample: u64, variable: &str) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&sample.to_le_bytes());
        key[16..24].copy_from_slice(&fnv1a(variable).to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    /// At least 0 and below 1, a multiple of 2^-53.
    fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.0.next_u64() >> 11) as f64 * STEP
    }

    /// A whole number below `bound`, all equally likely; 0 for a bound of 0.
    fn below(&mut self, bound: u64) -> u64 {
        // The upper half of a product is uniform but for the first few lower halves, which are drawn
        // again.
        let reject = match bound {
            0 => 0,
            _ => bound.wrapping_neg() % bound,
        };
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(bound);
            if product as u64 >= reject {
                return (product >> 64) as u64;
            }
        }
    }
}

/// The 64-bit FNV-1a hash of a name: the same on every platform and in every version.
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
