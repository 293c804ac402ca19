//! Expert routing: which experts tokens choose.

use super::Random;

/// Tokens that choose different experts each, by popularity.
#[derive(Clone, Debug)]
pub(super) struct Routing {
    components: usize,
    tokens: u32,
    top_k: u32,
    weights: Vec<u64>,
}

/// The weight of the most popular expert. Weights are whole numbers, so that taking one away and
/// giving it back is exact.
const UNIT: f64 = (1_u64 << 40) as f64;
/// Experts whose weights add up within 64 bits.
const MOST_EXPERTS: u32 = 1 << 20;

impl Routing {
    pub(super) fn new(
        components: usize,
        tokens: u32,
        top_k: u32,
        experts: u32,
        skew: f64,
    ) -> Result<Self, &'static str> {
        let halves = skew * 2.0;
        if experts == 0 || experts > MOST_EXPERTS || !(experts as usize).is_multiple_of(components)
        {
            Err("`experts` must be a multiple of its components, and at most 1,048,576")
        } else if top_k > experts {
            Err("`top_k` must not exceed `experts`")
        } else if !(0.0..=16.0).contains(&halves) || halves.fract() != 0.0 {
            Err("`skew` must be a whole number of halves from 0 to 8")
        } else {
            // Both in range, by the tests.
            let halves = halves as u32;
            Ok(Self {
                components,
                tokens,
                top_k,
                weights: (1..=experts).map(|rank| weight(rank, halves)).collect(),
            })
        }
    }

    /// Tokens per component; each token counts once for each expert it chose.
    ///
    /// # Complexity
    /// O(experts + tokens x top_k x log experts).
    pub(super) fn draw(&self, random: &mut Random) -> Vec<f64> {
        let mut counts = vec![0_u64; self.components];
        let block = self.weights.len() / self.components;
        let mut tree = Tree::new(&self.weights);
        let mut chosen = Vec::with_capacity(self.top_k as usize);
        for _ in 0..self.tokens {
            for _ in 0..self.top_k {
                let expert = tree.find(random.below(tree.total));
                tree.subtract(expert, self.weights[expert]);
                chosen.push(expert);
                counts[expert / block] += 1;
            }
            for expert in chosen.drain(..) {
                tree.add(expert, self.weights[expert]);
            }
        }
        counts.into_iter().map(|count| count as f64).collect()
    }
}

/// The weight of the expert of this rank: 1 / rank^(halves / 2), at least the smallest step.
fn weight(rank: u32, halves: u32) -> u64 {
    let rank = f64::from(rank);
    let whole = (0..halves / 2).fold(1.0, |power, _| power * rank);
    let power = match halves % 2 {
        0 => whole,
        _ => whole * rank.sqrt(),
    };
    // At most `UNIT`, which fits.
    ((UNIT / power).round() as u64).max(1)
}

/// Sums of weights (a Fenwick tree): finding and changing one takes O(log n).
struct Tree {
    sums: Vec<u64>,
    total: u64,
}

impl Tree {
    fn new(weights: &[u64]) -> Self {
        let mut sums = weights.to_vec();
        for at in 1..=sums.len() {
            let next = at + (at & at.wrapping_neg());
            if next <= sums.len() {
                sums[next - 1] += sums[at - 1];
            }
        }
        Self {
            sums,
            total: weights.iter().sum(),
        }
    }

    fn add(&mut self, index: usize, weight: u64) {
        self.total += weight;
        let mut at = index + 1;
        while at <= self.sums.len() {
            self.sums[at - 1] += weight;
            at += at & at.wrapping_neg();
        }
    }

    fn subtract(&mut self, index: usize, weight: u64) {
        self.total -= weight;
        let mut at = index + 1;
        while at <= self.sums.len() {
            self.sums[at - 1] -= weight;
            at += at & at.wrapping_neg();
        }
    }

    /// The index at which the running sum of weights first exceeds `target`, which is below the total.
    fn find(&self, mut target: u64) -> usize {
        let mut at = 0;
        let mut step = self.sums.len().next_power_of_two();
        while step > 0 {
            let next = at + step;
            if next <= self.sums.len() && self.sums[next - 1] <= target {
                target -= self.sums[next - 1];
                at = next;
            }
            step /= 2;
        }
        at
    }
}
