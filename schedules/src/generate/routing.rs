//! Random variables of expert routing and of speculative acceptance.
//!
//! A grouped matmul reads the weights of the experts that some token chose: `distinct` has one
//! component per layer, the number of them on a rank. With expert parallelism `received` has the
//! rows that each rank gets; all ranks run one body, so its work is that of the busiest rank, which
//! is the one the combine waits for.

use super::request::Routing;
use crate::ir::{Distribution, Expr, Extra, Provenance, Variable, VariableRef};

/// The tokens that choose, and among how many experts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    /// Tokens that choose at once.
    pub tokens: u32,
    /// Experts that each chooses.
    pub top_k: u32,
    /// Experts there are.
    pub experts: u32,
    /// Experts on one rank.
    pub local: u32,
}

/// The name of the variable of distinct experts.
pub(super) const DISTINCT: &str = "distinct";

/// How many different experts of a rank are chosen, one component per layer.
///
/// Uniform routing has an exact distribution: with `d` of the rank's experts chosen, the number of
/// new ones that a token adds is hypergeometric. Others are drawn from a fixed sequence of numbers.
///
/// # Complexity
/// Uniform: O(tokens * local * top_k). Others: O(200,000 * log experts) at most, or one draw.
pub(super) fn distinct(choice: Choice, layers: u32, routing: &Routing) -> Variable {
    let (nominal, distribution, note) = match routing {
        Routing::Uniform => {
            let chances = exact(choice);
            let mean = chances.iter().enumerate().map(|(d, p)| d as f64 * p).sum();
            let (values, weights) = chances
                .iter()
                .enumerate()
                .filter(|(_, weight)| **weight > 1e-9)
                .map(|(d, weight)| (d as f64, *weight))
                .unzip();
            let note = "experts of a rank that some token chose; exact for uniform routing";
            (mean, Distribution::Discrete { values, weights }, note)
        }
        Routing::Zipf { .. } | Routing::Histogram(_) => {
            let counts = drawn(choice, &popularity(choice.experts, routing));
            let mean = counts.iter().sum::<f64>() / counts.len() as f64;
            let weights = vec![1.0; counts.len()];
            let note = "experts of the first rank that some token chose; drawn from the popularity";
            let values = counts;
            (mean, Distribution::Discrete { values, weights }, note)
        }
    };
    variable(DISTINCT, vec![nominal; layers as usize], distribution, note)
}

/// The rows that each of `ranks` ranks receives in one layer.
pub(super) fn received(name: &str, choice: Choice, ranks: u32, routing: &Routing) -> Variable {
    let skew = match routing {
        Routing::Zipf { skew } => *skew,
        Routing::Uniform | Routing::Histogram(_) => 0.0,
    };
    let rows = f64::from(choice.tokens) * f64::from(choice.top_k);
    let popularity = popularity(choice.experts, routing);
    let whole: f64 = popularity.iter().sum();
    let block = (choice.experts / ranks.max(1)).max(1) as usize;
    // No expert gets more than one row of a token.
    let most = f64::from(choice.tokens) * f64::from(choice.local);
    let nominal: Vec<f64> = popularity
        .chunks(block)
        .map(|experts| (rows * experts.iter().sum::<f64>() / whole).min(most))
        .collect();
    let (distribution, note) = match routing {
        // A histogram is a fact, not a chance.
        Routing::Histogram(_) => (
            Distribution::Fixed,
            "rows each rank receives, by the histogram",
        ),
        _ => (
            Distribution::Routing {
                tokens: choice.tokens,
                top_k: choice.top_k,
                experts: choice.experts,
                skew,
            },
            "rows each rank receives",
        ),
    };
    variable(name, nominal, distribution, note)
}

/// The rows of the busiest of `ranks` ranks.
pub(super) fn busiest(name: &str, ranks: u32) -> Expr {
    let component = |index| {
        Expr::Var(VariableRef {
            name: name.into(),
            index,
        })
    };
    Expr::Max((0..ranks).map(component).collect())
}

/// Accepted speculative tokens per request and step.
pub(super) fn accepted(most: u32, rate: f64) -> Variable {
    // Successes before the first failure: r + r^2 + ...
    let (mut mean, mut power) = (0.0, 1.0);
    for _ in 0..most {
        power *= rate;
        mean += power;
    }
    let distribution = Distribution::Acceptance { rate, most };
    let note = "accepted speculative tokens of a request; a step yields one more";
    variable("accepted", vec![mean], distribution, note)
}

/// A time of the host in ns that nobody published on its own.
pub(super) fn host_time(name: &str, ns: f64, low: f64, high: f64, note: &str) -> Variable {
    let distribution = Distribution::Triangular { low, high };
    variable(name, vec![ns], distribution, note)
}

fn variable(name: &str, nominal: Vec<f64>, distribution: Distribution, note: &str) -> Variable {
    Variable {
        name: name.into(),
        nominal,
        distribution,
        from: Provenance::Assumed,
        note: Some(note.into()),
        extra: Extra::default(),
    }
}

/// The chance of each number of distinct experts of a rank, uniform routing.
fn exact(choice: Choice) -> Vec<f64> {
    let (all, local) = (choice.experts as usize, choice.local as usize);
    let mut chances = vec![0.0; local + 1];
    chances[0] = 1.0;
    // adds[d][j]: the chance that a token adds j to d.
    let adds: Vec<Vec<f64>> = (0..=local)
        .map(|d| hypergeometric(all, local - d, choice.top_k as usize))
        .collect();
    for _ in 0..choice.tokens {
        let mut next = vec![0.0; local + 1];
        for (d, chance) in chances.iter().enumerate().filter(|(_, p)| **p > 1e-15) {
            for (j, add) in adds[d].iter().enumerate() {
                next[(d + j).min(local)] += chance * add;
            }
        }
        chances = next;
    }
    chances
}

/// The chance of each number of marked items among `draws` of `all`, of which `marked` are marked.
fn hypergeometric(all: usize, marked: usize, draws: usize) -> Vec<f64> {
    let mut chances = vec![0.0; draws + 1];
    chances[0] = 1.0;
    for drawn in 0..draws {
        let mut next = vec![0.0; draws + 1];
        for (hits, chance) in chances.iter().enumerate().take(drawn + 1) {
            let left = marked.saturating_sub(hits) as f64 / (all - drawn) as f64;
            next[hits + 1] += chance * left;
            next[hits] += chance * (1.0 - left);
        }
        chances = next;
    }
    chances
}

/// How popular each expert is.
fn popularity(experts: u32, routing: &Routing) -> Vec<f64> {
    match routing {
        Routing::Uniform => vec![1.0; experts as usize],
        Routing::Histogram(counts) => counts.clone(),
        Routing::Zipf { skew } => (1..=experts)
            .map(|rank| {
                // r^skew with multiplications and one root, so that every platform agrees.
                let rank = f64::from(rank);
                let mut power = 1.0;
                for _ in 0..(*skew as u32) {
                    power *= rank;
                }
                if skew.fract() != 0.0 {
                    power *= rank.sqrt();
                }
                1.0 / power
            })
            .collect(),
    }
}

/// Numbers of distinct experts among the first `local`, drawn by popularity without replacement.
fn drawn(choice: Choice, popularity: &[f64]) -> Vec<f64> {
    let work = (u64::from(choice.tokens) * u64::from(choice.top_k)).max(1);
    let samples = (200_000 / work).clamp(1, 64);
    let mut sums = Vec::with_capacity(popularity.len());
    let mut sum = 0.0;
    for weight in popularity {
        sum += weight;
        sums.push(sum);
    }
    let mut random = SplitMix(0x5eed);
    let mut counts = Vec::new();
    for _ in 0..samples {
        let mut hit = vec![false; popularity.len()];
        for _ in 0..choice.tokens {
            let mut chosen: Vec<usize> = Vec::with_capacity(choice.top_k as usize);
            // Far more tries than any popularity needs; an expert nobody chooses ends them.
            for _ in 0..64 * choice.top_k {
                if chosen.len() == choice.top_k as usize {
                    break;
                }
                let point = random.unit() * sum;
                let expert = sums.partition_point(|upto| *upto <= point);
                if expert < popularity.len() && !chosen.contains(&expert) {
                    chosen.push(expert);
                }
            }
            chosen.into_iter().for_each(|expert| hit[expert] = true);
        }
        let local = hit.iter().take(choice.local as usize);
        counts.push(local.filter(|hit| **hit).count() as f64);
    }
    counts
}

/// The generator splitmix64: the same numbers everywhere.
struct SplitMix(u64);

impl SplitMix {
    /// A number from 0 to below 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(tokens: u32, local: u32, routing: &Routing) -> f64 {
        let choice = Choice {
            tokens,
            top_k: 8,
            experts: 256,
            local,
        };
        distinct(choice, 1, routing).nominal[0]
    }

    #[test]
    fn distinct_experts_are_those_of_the_roofline_table() {
        // facts/hardware.md section 7.
        for (tokens, published) in [(1, 8.0), (4, 30.5), (5, 37.6), (8, 57.4), (20, 120.0)] {
            let here = mean(tokens, 256, &Routing::Uniform);
            assert!(
                (here - published).abs() < 0.06 * published.sqrt(),
                "{tokens}: {here}"
            );
        }
        // A rank with a sixteenth of the experts sees a sixteenth of the distinct ones.
        let here = mean(8, 16, &Routing::Uniform) * 16.0;
        assert!((here - mean(8, 256, &Routing::Uniform)).abs() < 1e-6);
    }

    #[test]
    fn a_skewed_routing_hits_fewer_experts_and_an_even_histogram_is_uniform() {
        let even = mean(16, 256, &Routing::Uniform);
        let skewed = mean(16, 256, &Routing::Zipf { skew: 1.0 });
        assert!(skewed < 0.8 * even, "{skewed} of {even}");
        let drawn = mean(16, 256, &Routing::Histogram(vec![3.0; 256]));
        assert!((drawn - even).abs() < 0.02 * even, "{drawn} of {even}");
    }

    #[test]
    fn received_rows_add_up() {
        let choice = Choice {
            tokens: 32,
            top_k: 8,
            experts: 256,
            local: 64,
        };
        for routing in [Routing::Uniform, Routing::Histogram(vec![1.0; 256])] {
            let rows = received("received.L0", choice, 4, &routing);
            assert_eq!(rows.nominal, [64.0; 4]);
        }
    }

    #[test]
    fn acceptance_is_a_geometric_sum() {
        assert!((accepted(3, 0.5).nominal[0] - 0.875).abs() < 1e-12);
    }
}
