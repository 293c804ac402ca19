//! Replays of real captures: with all delays as a check of the import, and with parameters from
//! elsewhere as a prediction.

use ascsim_sim::attribute::{Delays, From, Parameters, predict, replay, take_arrivals};
use ascsim_tests::shared;
use ascsim_traces::pair::{Links, notifies};
use ascsim_traces::recover::{Recovered, Settings, recover};
use ascsim_traces::{Trace, read};

const T1: [&str; 2] = ["ddp-910b-text/level1-rank0", "ddp-910b-text/level1-rank1"];
const T1_LEVEL0: &str = "ddp-910b-text/level0-rank0";
const T2: [&str; 2] = ["ddp-910b-db/level2-rank0", "ddp-910b-db/level1-rank0-clean"];
const T7: &str = "tinymlp-910b3";

const PS_PER_US: u64 = 1_000_000;

fn capture(name: &str) -> Option<Trace> {
    let folder = shared()?.join("traces").join(name);
    Some(read(&folder).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn made(captures: &[&Trace], step: Option<u32>) -> Recovered {
    recover(captures, Settings { step }).expect("the captures fit together")
}

/// The sanity bar: makespan within 0.1 %, 99 of 100 starts within 1 µs. A replay without any link would
/// pass it, too: what tells them apart is the perturbation test.
fn assert_reproduced(name: &str, recovered: &Recovered) {
    let replayed = replay(recovered, Delays::Observed).expect("it can be replayed");
    println!(
        "{name}: starts {:?}, {} and {} ps, classes {:?} of {} ps",
        replayed.starts, replayed.observed, replayed.simulated, replayed.classes, replayed.path
    );
    assert_eq!(replayed.too_early, 0, "{name}: {:?}", replayed.notes);
    assert!(
        replayed.starts.p99 <= PS_PER_US,
        "{name}: {:?}",
        replayed.starts
    );
    let error = replayed.observed.abs_diff(replayed.simulated);
    assert!(error * 1_000 <= replayed.observed, "{name}: {error} ps");
    // The path is split without rest, and delays are a part of it.
    assert_eq!(
        replayed.blame.values().sum::<u64>(),
        replayed.path,
        "{name}"
    );
    assert!(
        replayed.classes.values().sum::<u64>() <= replayed.path,
        "{name}"
    );
}

#[test]
fn with_all_delays_captures_are_reproduced() {
    let others = [
        T1_LEVEL0,
        T2[0],
        T2[1],
        "llm-train-910b-pp2dp2/rank0",
        T7,
        "tinymlp-910b3/mindstudio_profiler_output",
        "matmul-910b3",
        "torchair-eager-910b/eager_prof.json",
        "parser-fixtures",
    ];
    for name in T1.into_iter().chain(others) {
        let Some(trace) = capture(name) else { return };
        assert_reproduced(name, &made(&[&trace], None));
    }
    let (Some(first), Some(second)) = (capture(T1[0]), capture(T1[1])) else {
        return;
    };
    assert_reproduced("both ranks", &made(&[&first, &second], Some(50)));
    let Some(trace) = capture(T7) else { return };
    for step in 3..8 {
        assert_reproduced("one step", &made(&[&trace], Some(step)));
    }
}

#[test]
fn little_of_the_critical_path_is_unexplained_where_host_rows_exist() {
    for name in T1.into_iter().chain(T2).chain([T7]) {
        let Some(trace) = capture(name) else { return };
        let replayed =
            replay(&made(&[&trace], None), Delays::Observed).expect("it can be replayed");
        let share = replayed.share("unexplained");
        println!("{name}: {share}");
        assert!(share <= 0.1, "{name}: {share}");
    }
}

/// Each step of T7 is predicted from the other four: gaps, launch latency and the durations of kernels are
/// theirs. The host calls and the time between them are the step's own: they are what the host did, and
/// no property of the device (the design takes both from the capture).
#[test]
fn steps_of_t7_follow_from_the_parameters_of_the_others() {
    let Some(trace) = capture(T7) else { return };
    let steps: Vec<Recovered> = (3..8).map(|step| made(&[&trace], Some(step))).collect();
    let mut medians = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let others = steps.iter().enumerate().filter(|(other, _)| *other != at);
        let parameters = Parameters::fit(others.map(|(_, other)| other)).expect("they compile");
        let from = |calls| From {
            calls,
            durations: true,
        };
        let own = predict(step, &parameters, from(false)).expect("it can be predicted");
        let all = predict(step, &parameters, from(true)).expect("it can be predicted");
        println!(
            "step {}: starts {:?}; with the calls of other steps too {:?}",
            at + 3,
            own.starts,
            all.starts
        );
        assert_eq!(own.starts.tasks, 7);
        assert!(
            own.starts.median <= 4 * PS_PER_US,
            "step {}: {:?}",
            at + 3,
            own.starts
        );
        medians.push(own.starts.median);
    }
    // A prediction, not a replay: something has to be off.
    assert!(medians.iter().all(|median| *median > 0), "{medians:?}");
}

/// The collectives of rank 1 end when rank 0's capture says: its gaps, latencies and durations, and
/// when it saw the late rank arrive. The clocks are aligned by the notifies of the two ranks, not
/// by what is predicted.
#[test]
fn collectives_of_t1_end_on_rank_1_as_rank_0_lets_expect() {
    let (Some(first), Some(second)) = (capture(T1[0]), capture(T1[1])) else {
        return;
    };
    let offset = notifies(&[&first, &second]).offsets[0].offset_ns;
    let clock = |trace: &Trace| Links::of(trace).host.clock_offset_ns;
    let ahead = offset + clock(&second) - clock(&first);
    let (known, mut wanted) = (made(&[&first], Some(50)), made(&[&second], Some(50)));
    // The first arrival, and one per collective after it.
    assert_eq!(take_arrivals(&mut wanted, &known, ahead), 4);
    let parameters = Parameters::fit([&known]).expect("it compiles");
    for calls in [false, true] {
        let from = From {
            calls,
            durations: true,
        };
        let predicted = predict(&wanted, &parameters, from).expect("it can be predicted");
        println!("starts {:?}", predicted.starts);
        for number in 0..4 {
            let id = format!("hcom_allReduce.{number}");
            let seen = wanted
                .seen_of(1, &id.as_str().into())
                .and_then(|seen| seen.task);
            let seen = seen.expect("it was observed").end;
            let (_, end) = predicted.tasks[&(1, id.clone())];
            let error = end as i64 / 1_000 - seen;
            println!("{id}: {error} ns");
            assert!(error.abs() <= 10_000, "{id}: {error} ns");
        }
    }
}
