//! Max-min fair sharing.
//!
//! Every flow is raised at the same pace, measured by the share that it takes of the resource it
//! needs most, until it runs at its own full speed or a resource it needs has no more to give
//! (progressive filling; with several resources this is dominant resource fairness, Ghodsi et al.
//! 2011). With one resource: no flow gets less than another unless it wants less.

use crate::load::{RESOURCES, Rates};

/// What one flow wants, and what it gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// What it draws of each resource at full speed.
    pub(crate) rates: Rates,
    /// The speed it gets, from 0 to 1.
    pub(crate) speed: f64,
    /// The largest share of a resource that it takes at full speed; negative once its speed is
    /// settled.
    weight: f64,
}

impl Share {
    pub(crate) fn new(rates: Rates) -> Self {
        Self {
            rates,
            speed: 1.0,
            weight: 0.0,
        }
    }
}

/// Sets the speed of every flow. Whatever is wanted is given if there is enough of everything.
///
/// # Complexity
/// O((flows + resources) × flows) at worst, O(flows) if there is enough.
pub(crate) fn share(flows: &mut [Share], capacity: &Rates) {
    let mut wanted = [0.0; RESOURCES];
    for flow in flows.iter_mut() {
        flow.speed = 1.0;
        for (sum, rate) in wanted.iter_mut().zip(&flow.rates) {
            *sum += rate;
        }
    }
    if wanted.iter().zip(capacity).all(|(sum, most)| sum <= most) {
        return;
    }
    for flow in flows.iter_mut() {
        let shares = flow.rates.iter().zip(capacity);
        // Where nothing is wanted of what is not there: 0 / 0.
        flow.weight = shares
            .map(|(rate, most)| if *rate > 0.0 { rate / most } else { 0.0 })
            .fold(0.0, f64::max);
    }
    let mut left = *capacity;
    loop {
        // How high the level of all unsettled flows may rise before a resource runs out, if none of
        // them reached its full speed.
        let mut pace = [0.0; RESOURCES];
        for flow in flows.iter().filter(|flow| flow.weight > 0.0) {
            for (sum, rate) in pace.iter_mut().zip(&flow.rates) {
                *sum += rate / flow.weight;
            }
        }
        let mut level = f64::INFINITY;
        let mut scarce = 0;
        for (at, (left, pace)) in left.iter().zip(&pace).enumerate() {
            if *pace > 0.0 && left.max(0.0) / pace < level {
                level = left.max(0.0) / pace;
                scarce = at;
            }
        }
        if level == f64::INFINITY {
            return;
        }
        let full = |flow: &Share| flow.weight > 0.0 && flow.weight <= level;
        let some_full = flows.iter().any(full);
        for flow in flows.iter_mut() {
            if flow.weight <= 0.0 {
                continue;
            }
            if some_full {
                if flow.weight > level {
                    continue;
                }
            } else if flow.rates[scarce] > 0.0 {
                flow.speed = level / flow.weight;
            } else {
                continue;
            }
            flow.weight = -1.0;
            for (left, rate) in left.iter_mut().zip(&flow.rates) {
                *left -= rate * flow.speed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The speeds by bisection: again and again, the highest common level that fits, with each flow
    /// at most at full speed; then the flows that cannot rise alone are settled.
    fn reference(rates: &[Rates], capacity: &Rates) -> Vec<f64> {
        let weight = |rates: &Rates| {
            let shares = (0..RESOURCES).filter(|r| rates[*r] > 0.0);
            shares.map(|r| rates[r] / capacity[r]).fold(0.0, f64::max)
        };
        let mut settled: Vec<Option<f64>> = rates
            .iter()
            .map(|rates| (weight(rates) == 0.0).then_some(1.0))
            .collect();
        let speeds = |settled: &[Option<f64>], level: f64| -> Vec<f64> {
            let flows = settled.iter().zip(rates);
            flows
                .map(|(speed, rates)| speed.unwrap_or_else(|| (level / weight(rates)).min(1.0)))
                .collect()
        };
        let used = |speeds: &[f64], resource: usize| -> f64 {
            let flows = speeds.iter().zip(rates);
            flows.map(|(speed, rates)| speed * rates[resource]).sum()
        };
        let fits = |speeds: &[f64]| (0..RESOURCES).all(|r| used(speeds, r) <= capacity[r]);
        while settled.iter().any(Option::is_none) {
            let (mut low, mut high) = (0.0, 1e6);
            for _ in 0..400 {
                let middle = (low + high) / 2.0;
                if fits(&speeds(&settled, middle)) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            let now = speeds(&settled, low);
            let scarce: Vec<usize> = (0..RESOURCES)
                .filter(|r| used(&now, *r) >= capacity[*r] * (1.0 - 1e-12))
                .collect();
            for (at, rates) in rates.iter().enumerate() {
                let stuck = now[at] >= 1.0 || scarce.iter().any(|r| rates[*r] > 0.0);
                if settled[at].is_none() && stuck {
                    settled[at] = Some(now[at]);
                }
            }
        }
        settled
            .into_iter()
            .map(|speed| speed.unwrap_or(1.0))
            .collect()
    }

    fn rates() -> impl Strategy<Value = Rates> {
        let one = prop_oneof![Just(0.0), Just(1.0), 0.01_f64..10.0];
        [one.clone(), one.clone(), one.clone(), one]
    }

    fn solve(rates: &[Rates], capacity: &Rates) -> Vec<f64> {
        let mut flows: Vec<Share> = rates.iter().map(|rates| Share::new(*rates)).collect();
        share(&mut flows, capacity);
        flows.iter().map(|flow| flow.speed).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 3_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn shares_equal_those_of_an_independent_solver(
            flows in prop::collection::vec(rates(), 0..10),
            capacity in [0.1_f64..20.0, 0.1_f64..20.0, 0.1_f64..20.0, 0.1_f64..20.0],
        ) {
            let found = solve(&flows, &capacity);
            let expected = reference(&flows, &capacity);
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!((found - expected).abs() <= 1e-9, "{:?} {:?}", found, expected);
            }
        }

        #[test]
        fn one_resource_is_shared_max_min_fair(
            wants in prop::collection::vec(0.01_f64..10.0, 1..12),
            capacity in 0.1_f64..20.0,
        ) {
            let flows: Vec<Rates> = wants.iter().map(|want| [*want, 0.0, 0.0, 0.0]).collect();
            let speeds = solve(&flows, &[capacity, f64::INFINITY, f64::INFINITY, f64::INFINITY]);
            let got: Vec<f64> = speeds.iter().zip(&wants).map(|(s, want)| s * want).collect();
            let sum: f64 = got.iter().sum();
            let wanted: f64 = wants.iter().sum();
            prop_assert!((sum - capacity.min(wanted)).abs() < 1e-9);
            let most = got.iter().copied().fold(0.0, f64::max);
            for (got, want) in got.iter().zip(&wants) {
                prop_assert!(*got >= want - 1e-9 || *got >= most - 1e-9, "{} of {}", got, want);
            }
        }
    }

    #[test]
    fn what_is_enough_is_given_exactly() {
        let flows = [[1.0, 0.0, 0.0, 0.0], [2.0, 5.0, 0.0, 0.0]];
        assert_eq!(solve(&flows, &[3.0, 5.0, 0.0, 0.0]), [1.0, 1.0]);
        assert_eq!(
            solve(&[[4.0, 0.0, 0.0, 0.0]; 2], &[4.0, 1.0, 1.0, 1.0]),
            [0.5, 0.5]
        );
    }
}
