//! Laws that hold for every schedule.

use ascsim_schedules::flat::{Flat, InstanceId, Role};
use ascsim_sim::{
    Blame, Category, Compiled, CriticalPath, EngineModel, Options, Origin, Part, SimError,
    Simulator, TimeField, Timeline, compile,
};
use proptest::prelude::*;

use crate::{arbitrary, reference};

/// A run, finished or not.
pub(crate) fn run(compiled: &Compiled, options: &Options) -> (Timeline, Result<(), SimError>) {
    let mut simulator = Simulator::new();
    let result = simulator
        .run(compiled, options, compiled.times())
        .map(|_| ());
    (simulator.take(), result)
}

fn known(time: u64) -> Option<u64> {
    (time != u64::MAX).then_some(time)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_engine_equals_the_reference(
        case in arbitrary::schedules(),
        options in arbitrary::options(),
    ) {
        let flat = Flat::new(&case.schedule).expect("a valid schedule");
        let compiled = compile(&flat, &options).expect("complete times");
        let (timeline, result) = run(&compiled, &options);
        let reference = reference::simulate(&flat, &options);
        for id in flat.ids() {
            let at = id.index();
            let path = format!("{} of rank {}", flat.path(id), flat[id].rank);
            prop_assert_eq!(known(timeline.start[at]), reference.start[at], "start of {}", &path);
            prop_assert_eq!(known(timeline.end[at]), reference.end[at], "end of {}", &path);
            if flat[id].role == Role::Issued {
                prop_assert_eq!(known(timeline.issued[at]), reference.issued[at], "issue of {}", &path);
            }
        }
        if result.is_ok() {
            check_blame(&flat, &compiled, &options, &timeline)?;
            check_engines(&options, &timeline, &flat)?;
        }
    }

    #[test]
    fn a_simulator_forgets_its_runs(
        first in arbitrary::schedules(),
        second in arbitrary::schedules(),
        options in arbitrary::options(),
    ) {
        let mut simulator = Simulator::new();
        let mut last = None;
        for schedule in [&second.schedule, &first.schedule, &second.schedule] {
            let flat = Flat::new(schedule).expect("a valid schedule");
            let compiled = compile(&flat, &options).expect("complete times");
            let result = simulator.run(&compiled, &options, compiled.times()).cloned();
            if std::ptr::eq(schedule, &second.schedule) {
                match last.take() {
                    None => last = Some(result),
                    Some(before) => prop_assert_eq!(result, before),
                }
            }
        }
    }
}

/// The critical path tiles the time from 0 to the last task, and every part of the blame has a
/// reason.
fn check_blame(
    flat: &Flat<'_>,
    compiled: &Compiled,
    options: &Options,
    timeline: &Timeline,
) -> Result<(), TestCaseError> {
    let path = CriticalPath::new(compiled, options, compiled.times(), timeline);
    let mut at = 0;
    for segment in &path.segments {
        prop_assert_eq!(segment.from, at, "{:?}", &path);
        at = segment.to;
        if segment.part == Part::Task {
            let length = segment.to - segment.from;
            prop_assert!(
                length <= longest(flat, compiled, segment.instance),
                "{:?}",
                segment
            );
        }
    }
    for origin in [Origin::Host, Origin::Device] {
        if let Some((start, end)) = timeline.span(origin) {
            prop_assert_eq!(at, end);
            let blame = Blame::new(&path, start);
            prop_assert_eq!(blame.total(), timeline.makespan(origin));
            prop_assert_eq!(blame[Category::Unexplained], 0);
            if options.engines == EngineModel::Unlimited {
                prop_assert_eq!(blame[Category::WaitOnCores], 0);
            }
        }
    }
    Ok(())
}

/// How long a task runs once nothing holds it; for a collective, the slowest member decides.
fn longest(flat: &Flat<'_>, compiled: &Compiled, instance: u32) -> u64 {
    let duration = |instance| compiled.times().get(TimeField::Duration, instance);
    match flat[InstanceId::new(instance as usize)].collective {
        Some(collective) => {
            let members = flat.collective(collective).members().iter();
            let durations = members.filter_map(|member| duration(member.index() as u32));
            durations.max().unwrap_or(0)
        }
        None => duration(instance).unwrap_or(0),
    }
}

/// With exclusive engines, no two kernels hold one engine of a rank at the same time.
fn check_engines(
    options: &Options,
    timeline: &Timeline,
    flat: &Flat<'_>,
) -> Result<(), TestCaseError> {
    if options.engines != EngineModel::Exclusive {
        return Ok(());
    }
    for aiv in [false, true] {
        let mut spans: Vec<(u32, u64, u64)> = flat
            .ids()
            .filter(|id| {
                let cores = flat[*id].op.cores.unwrap_or_default();
                let wanted = if aiv { cores.aiv } else { cores.aic };
                let in_super_kernel = flat[*id].parent.is_some_and(|whole| {
                    matches!(
                        flat[whole].op.kind,
                        ascsim_schedules::OpKind::SuperKernel(_)
                    )
                });
                wanted > 0 && timeline.was_queued(id.index() as u32) && !in_super_kernel
            })
            .map(|id| {
                let at = id.index();
                (flat[id].rank, timeline.start[at], timeline.end[at])
            })
            .filter(|(_, start, end)| start < end)
            .collect();
        spans.sort_unstable();
        for pair in spans.windows(2) {
            prop_assert!(
                pair[0].0 != pair[1].0 || pair[0].2 <= pair[1].1,
                "{:?}",
                pair
            );
        }
    }
    Ok(())
}
