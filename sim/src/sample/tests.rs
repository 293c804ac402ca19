use ascsim_schedules::{Distribution, Extra, Provenance, Variable, VariableRef};
use proptest::prelude::*;

use super::Sampler;

fn variable(name: &str, nominal: Vec<f64>, distribution: Distribution) -> Variable {
    Variable {
        name: name.into(),
        nominal,
        distribution,
        from: Provenance::Assumed,
        note: None,
        extra: Extra::default(),
    }
}

fn samples(distribution: Distribution, nominal: Vec<f64>, count: u64) -> Vec<Vec<f64>> {
    let variables = [variable("x", nominal, distribution)];
    let sampler = Sampler::new(&variables).expect("a valid distribution");
    let draw = |sample| sampler.draw(7, sample).values("x").expect("x").to_vec();
    (0..count).map(draw).collect()
}

fn mean(samples: &[Vec<f64>], component: usize) -> f64 {
    let sum: f64 = samples.iter().map(|sample| sample[component]).sum();
    sum / samples.len() as f64
}

#[test]
fn means_are_those_of_the_distributions() {
    let uniform = samples(
        Distribution::Uniform {
            low: 2.0,
            high: 4.0,
        },
        vec![3.0; 2],
        20_000,
    );
    assert!((mean(&uniform, 0) - 3.0).abs() < 0.02);
    let components = uniform.iter().filter(|sample| sample[0] == sample[1]);
    assert_eq!(components.count(), 0, "components are drawn on their own");
    let triangular = Distribution::Triangular {
        low: 0.0,
        high: 9.0,
    };
    let triangular = samples(triangular, vec![3.0], 20_000);
    assert!((mean(&triangular, 0) - 4.0).abs() < 0.06);
    let median = triangular
        .iter()
        .filter(|s| s[0] < 9.0 - 27.0_f64.sqrt())
        .count();
    assert!(median.abs_diff(10_000) < 300, "{median}");
    let discrete = Distribution::Discrete {
        values: vec![1.0, 5.0, 100.0],
        weights: vec![3.0, 1.0, 0.0],
    };
    assert!((mean(&samples(discrete, vec![0.0], 20_000), 0) - 2.0).abs() < 0.05);
    let rows = Distribution::Rows {
        rows: vec![vec![1.0, 10.0], vec![3.0, 30.0]],
    };
    let rows = samples(rows, vec![0.0; 2], 20_000);
    assert!((mean(&rows, 0) - 2.0).abs() < 0.05);
    assert!(
        rows.iter().all(|row| row[1] == 10.0 * row[0]),
        "rows stay whole"
    );
    let acceptance = Distribution::Acceptance { rate: 0.5, most: 2 };
    assert!((mean(&samples(acceptance, vec![0.0], 20_000), 0) - 0.75).abs() < 0.02);
    assert_eq!(samples(Distribution::Fixed, vec![6.5], 1), [[6.5]]);
}

#[test]
fn popularity_falls_with_the_rank() {
    let routing = |skew, top_k| Distribution::Routing {
        tokens: 4_000,
        top_k,
        experts: 4,
        skew,
    };
    let even = samples(routing(0.0, 1), vec![0.0; 4], 20);
    let zipf = samples(routing(1.0, 1), vec![0.0; 4], 20);
    let root = samples(routing(0.5, 1), vec![0.0; 4], 20);
    // 1 + 1/2 + 1/3 + 1/4 = 25/12, and the same with roots.
    let roots: f64 = (1..=4).map(|rank| 1.0 / f64::from(rank).sqrt()).sum();
    for (component, rank) in (1..=4).map(f64::from).enumerate() {
        assert!((mean(&even, component) - 1_000.0).abs() < 30.0);
        assert!((mean(&zipf, component) - 4_000.0 * 12.0 / 25.0 / rank).abs() < 30.0);
        assert!((mean(&root, component) - 4_000.0 / roots / rank.sqrt()).abs() < 30.0);
    }
    let two = samples(routing(0.0, 2), vec![0.0; 2], 20);
    assert!(
        (mean(&two, 0) - 4_000.0).abs() < 60.0,
        "blocks of two experts"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn routing_loses_no_token(
        components in 1_usize..6,
        block in 1_u32..6,
        tokens in 0_u32..60,
        top_k in 0_u32..8,
        halves in 0_u32..9,
        sample in any::<u64>(),
    ) {
        let experts = components as u32 * block;
        let top_k = top_k.min(experts);
        let skew = f64::from(halves) / 2.0;
        let distribution = Distribution::Routing { tokens, top_k, experts, skew };
        let variables = [variable("x", vec![0.0; components], distribution)];
        let draw = Sampler::new(&variables).expect("valid").draw(1, sample);
        let loads = draw.values("x").expect("x");
        let total: f64 = loads.iter().sum();
        prop_assert_eq!(total, f64::from(tokens * top_k));
        let most = f64::from(tokens * top_k.min(block));
        let least = f64::from(tokens * top_k.saturating_sub(experts - block));
        for load in loads {
            // A token chooses an expert once at most.
            prop_assert!(least <= *load && *load <= most, "{:?}", loads);
        }
    }

    #[test]
    fn a_sample_depends_on_nothing_but_its_seed_and_number(
        seed in any::<u64>(),
        sample in any::<u64>(),
    ) {
        let uniform = || Distribution::Uniform { low: 0.0, high: 1.0 };
        let x = variable("x", vec![0.5], uniform());
        let y = variable("y", vec![0.5], uniform());
        let (one, both) = ([x.clone()], [y, x]);
        let (one, both) = (Sampler::new(&one).expect("valid"), Sampler::new(&both).expect("valid"));
        let later = one.draw(seed, sample.wrapping_add(1));
        let first = one.draw(seed, sample);
        prop_assert_eq!(&first, &one.draw(seed, sample));
        prop_assert_ne!(&first, &later);
        prop_assert_ne!(&first, &one.draw(seed.wrapping_add(1), sample));
        let draw = both.draw(seed, sample);
        prop_assert_eq!(first.values("x"), draw.values("x"));
        prop_assert_ne!(draw.values("x"), draw.values("y"));
    }
}

#[test]
fn the_numbers_stay_the_same_in_every_version() {
    let x = Distribution::Uniform {
        low: 0.0,
        high: 1.0,
    };
    let drawn = samples(x, vec![0.5; 2], 2);
    expect_test::expect![
        "[[0.9913548319753759, 0.7980488603778508], [0.13730521578170363, 0.3149695048420551]]"
    ]
    .assert_eq(&format!("{drawn:?}"));
}

#[test]
fn values_are_found_by_name_and_component() {
    let variables = [variable("x", vec![1.0, 2.0], Distribution::Fixed)];
    let nominal = Sampler::new(&variables).expect("valid").nominal();
    let value = |name: &str, index| {
        nominal.value_of(&VariableRef {
            name: name.into(),
            index,
        })
    };
    assert_eq!(value("x", 1), Some(2.0));
    assert_eq!(value("x", 2), None);
    assert_eq!(value("y", 0), None);
}

#[test]
fn senseless_distributions_are_refused() {
    let routing = |top_k, experts, skew| Distribution::Routing {
        tokens: 1,
        top_k,
        experts,
        skew,
    };
    let bad = [
        Distribution::Uniform {
            low: 2.0,
            high: 1.0,
        },
        Distribution::Uniform {
            low: f64::NAN,
            high: 1.0,
        },
        Distribution::Triangular {
            low: 2.0,
            high: 3.0,
        },
        Distribution::Discrete {
            values: vec![1.0],
            weights: vec![],
        },
        Distribution::Discrete {
            values: vec![1.0],
            weights: vec![0.0],
        },
        Distribution::Discrete {
            values: vec![1.0, 2.0],
            weights: vec![2.0, -1.0],
        },
        Distribution::Rows { rows: vec![] },
        Distribution::Rows {
            rows: vec![vec![1.0, 2.0]],
        },
        routing(5, 4, 0.0),
        routing(1, 0, 0.0),
        routing(1, 4, 0.3),
        routing(1, 4, -0.5),
        Distribution::Acceptance { rate: 1.5, most: 3 },
    ];
    for distribution in bad {
        let text = format!("{distribution:?}");
        let variables = [variable("x", vec![1.0], distribution)];
        assert!(Sampler::new(&variables).is_err(), "{text}");
    }
    let none = [variable("x", vec![], Distribution::Fixed)];
    assert!(Sampler::new(&none).is_err());
}
