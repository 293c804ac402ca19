//! Schedules whose times depend on random variables.

use std::thread;

use ascsim_schedules::flat::Flat;
use ascsim_schedules::{
    Distribution, Expr, Extra, Measured, Provenance, Schedule, Variable, VariableRef,
};
use ascsim_sim::{Options, Origin, Sampler, SimError, Simulator, compile, compile_with};

use crate::notation::schedule;

/// Two streams whose kernels take as long as the tokens of the two halves of the experts.
fn routed() -> Schedule {
    let mut schedule = schedule("k s0 a 1 c\nk s1 b 1 c i=1\nk s0 c 2 c");
    schedule.variables = vec![Variable {
        name: "load".into(),
        nominal: vec![32.0; 2],
        distribution: Distribution::Routing {
            tokens: 64,
            top_k: 1,
            experts: 8,
            skew: 0.5,
        },
        from: Provenance::Assumed,
        note: None,
        extra: Extra::default(),
    }];
    let ops = &mut schedule.programs[0].ops;
    for (op, index) in ops.iter_mut().zip([0, 1]) {
        let load = Expr::Var(VariableRef {
            name: "load".into(),
            index,
        });
        let ns = Expr::Mul(vec![load, Expr::Int(100)]);
        op.duration = Some(Box::new(Measured::new(ns, Provenance::Modelled)));
    }
    schedule
}

/// The makespans in ps of samples `first`, `first + step`, and so on below `count`.
fn makespans(schedule: &Schedule, first: u64, step: usize, count: u64) -> Vec<u64> {
    let flat = Flat::new(schedule).expect("a valid schedule");
    let options = Options::default();
    let compiled = compile(&flat, &options).expect("complete times");
    let sampler = Sampler::new(&schedule.variables).expect("valid distributions");
    let mut simulator = Simulator::new();
    let mut times = compiled.times().clone();
    let mut run = |sample| {
        let draw = sampler.draw(3, sample);
        compiled.evaluate(&|variable| draw.value_of(variable), &mut times)?;
        let timeline = simulator.run(&compiled, &options, &times)?;
        Ok::<_, Box<dyn std::error::Error>>(timeline.makespan(Origin::Host))
    };
    let samples = (first..count).step_by(step);
    samples.map(|sample| run(sample).expect("a run")).collect()
}

#[test]
fn evaluated_times_are_those_of_compiling_anew() {
    let schedule = routed();
    let flat = Flat::new(&schedule).expect("a valid schedule");
    let options = Options::default();
    let compiled = compile(&flat, &options).expect("complete times");
    assert!(compiled.varies());
    let sampler = Sampler::new(&schedule.variables).expect("valid distributions");
    let mut times = compiled.times().clone();
    let mut different = 0;
    for sample in 0..20 {
        let draw = sampler.draw(3, sample);
        let values = |variable: &VariableRef| draw.value_of(variable);
        compiled.evaluate(&values, &mut times).expect("values");
        let anew = compile_with(&flat, &options, &values).expect("complete times");
        assert_eq!(&times, anew.times());
        different += usize::from(&times != compiled.times());
    }
    assert!(
        different > 15,
        "only {different} samples differ from the nominal times"
    );
}

#[test]
fn samples_are_the_same_on_any_number_of_threads() {
    let schedule = routed();
    let one = makespans(&schedule, 0, 1, 40);
    let (even, odd) = thread::scope(|scope| {
        let even = scope.spawn(|| makespans(&schedule, 0, 2, 40));
        let odd = scope.spawn(|| makespans(&schedule, 1, 2, 40));
        (
            even.join().expect("no panic"),
            odd.join().expect("no panic"),
        )
    });
    let two: Vec<u64> = even
        .into_iter()
        .zip(odd)
        .flat_map(<[u64; 2]>::from)
        .collect();
    assert_eq!(one, two);
    // Each is the longer of the two halves: 64 tokens of 0.1 µs on both together.
    assert!(one.iter().all(|ps| *ps >= 3_200_000));
}

#[test]
fn times_that_cannot_be_used_are_refused() {
    let mut schedule = routed();
    let flat = Flat::new(&schedule).expect("a valid schedule");
    let options = Options::default();
    let compiled = compile(&flat, &options).expect("complete times");
    let mut times = compiled.times().clone();
    let error = compiled
        .evaluate(&|_| Some(-1.0), &mut times)
        .expect_err("a negative time");
    assert_eq!(
        error.to_string(),
        "the duration of `instance 0` on rank 0 cannot be used: -100 ns is negative",
    );
    let other = ascsim_sim::Times::default();
    let error = Simulator::new()
        .run(&compiled, &options, &other)
        .expect_err("no times");
    assert_eq!(
        error,
        SimError::OtherProgram {
            instances: 3,
            times: 0
        }
    );
    schedule.programs[0].ops[2].duration = None;
    let flat = Flat::new(&schedule).expect("a valid schedule");
    let error = compile(&flat, &options).expect_err("no duration");
    assert_eq!(
        error.to_string(),
        "`c` on rank 0 has no duration; give it one, or let a hardware model compute it",
    );
    let long = Expr::Int(i64::MAX);
    let long = Measured::new(long, Provenance::Stated);
    schedule.programs[0].ops[2].duration = Some(Box::new(long));
    let flat = Flat::new(&schedule).expect("a valid schedule");
    let error = compile(&flat, &options).expect_err("too long");
    assert_eq!(
        error.to_string(),
        "the duration of `c` on rank 0 cannot be used: it is longer than 53 days",
    );
}
