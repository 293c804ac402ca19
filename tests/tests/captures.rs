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
const T9: &str = "mindspore-910a-graphsink";
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
        T9,
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
    let Some(trace) = capture(T9) else { return };
    for step in 1..6 {
        assert_reproduced("one iteration", &made(&[&trace], Some(step)));
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

/// Starts of the compute stream of an iteration of T9 before its AllReduce, as a FIFO with one gap and the
/// durations of `from`: the errors in ps, sorted, with the first task in its place.
fn as_fifo(step: &Recovered, from: &Recovered, gap: u64) -> Vec<u64> {
    use ascsim_schedules::OpKind;
    use ascsim_schedules::flat::Flat;
    use ascsim_sim::{Gaps, Options, Simulator, TimeField, compile};

    let options = Options {
        gaps: Gaps::uniform(gap),
        ..Options::default()
    };
    let flat = Flat::new(&step.schedule).expect("it is valid");
    let program = compile(&flat, &options).expect("it compiles");
    let mut times = program.times().clone();
    let ops = &step.schedule.programs[0].ops;
    for (at, op) in ops.iter().enumerate() {
        let other = from.seen_of(0, &op.id).and_then(|seen| seen.task);
        if let (Some(_), Some(other)) = (&op.duration, other) {
            times.set(TimeField::Duration, at as u32, 1_000 * other.len() as u64);
        }
    }
    let mut simulator = Simulator::new();
    let timeline = simulator.run(&program, &options, &times).expect("it ends");
    // The compute stream is the one with the most tasks; its record starts the AllReduce.
    let on = |stream: &str| {
        let own = ops.iter().enumerate();
        own.filter(move |(_, op)| op.stream.as_ref().is_some_and(|own| own.as_str() == stream))
            .collect::<Vec<_>>()
    };
    let compute = on("stream.2");
    assert_eq!(compute.len(), 144);
    let record = compute.iter().position(|(_, op)| {
        matches!(op.kind, OpKind::Record(_)) && op.tags.get("name") == Some("EVENT_RECORD")
    });
    let before = &compute[..record.expect("it records an event")];
    let seen = &step.seen[0].ops;
    let start = |at: usize| 1_000 * seen[at].task.expect("it was observed").start;
    let first = before[0].0;
    let zero = timeline.start[first] as i64 - start(first);
    let errors = before
        .iter()
        // When a wait is shown says nothing of its start.
        .filter(|(_, op)| !matches!(op.kind, OpKind::Wait(_)))
        .map(|(at, _)| (timeline.start[*at] as i64 - zero - start(*at)).unsigned_abs());
    let mut errors: Vec<u64> = errors.collect();
    errors.sort_unstable();
    errors
}

/// One gap for all kinds: 0.11 us, as facts/traces.md section 2.6 has it for the 910A.
#[test]
fn the_compute_stream_of_t9_is_a_fifo_with_one_gap() {
    const GAP: u64 = 110_000;
    let Some(trace) = capture(T9) else { return };
    let steps: Vec<Recovered> = (1..6).map(|step| made(&[&trace], Some(step))).collect();
    for (at, step) in steps.iter().enumerate() {
        let own = as_fifo(step, step, GAP);
        let with_first = as_fifo(step, &steps[0], GAP);
        let p99 = with_first[(with_first.len() - 1) * 99 / 100];
        let worst = own.last().copied().expect("it has tasks");
        println!(
            "iteration {}: {} tasks, worst {worst} ps; with the durations of iteration 1 p99 {p99} ps",
            at + 1,
            own.len()
        );
        assert!(worst <= 6 * PS_PER_US, "iteration {}: {worst} ps", at + 1);
        assert!(p99 <= 40 * PS_PER_US, "iteration {}: {p99} ps", at + 1);
        // A model, not a replay.
        assert!(worst > 0 && (at == 0 || p99 > worst));
    }
}
