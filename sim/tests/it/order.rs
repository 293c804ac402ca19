//! The simulator is one of the runs that happens-before describes.

use ascsim_schedules::flat::{Flat, InstanceId};
use ascsim_schedules::order::{Order, Phase, Point};
use ascsim_schedules::{HostKind, OpKind};
use ascsim_sim::{Compiled, EngineModel, SimError, Timeline, compile};
use proptest::prelude::*;

use crate::{arbitrary, laws};

/// When a point happened, if it did. A task of the simulator starts when its stream gets there, which
/// for a wait or a host call is before it is met: of those only the end is compared. A wait whose record
/// has ended before it is issued takes no place on its stream (facts/acl.md section 3), so it has none.
fn time(flat: &Flat<'_>, timeline: &Timeline, point: Point) -> Option<u64> {
    let instance = &flat[point.instance];
    let at = point.instance.index();
    if instance.is_task() && !timeline.was_queued(at as u32) {
        return None;
    }
    let waits = matches!(
        instance.op.kind,
        OpKind::Wait(_) | OpKind::NotifyWait(_) | OpKind::ValueWait(_) | OpKind::Host(_)
    );
    let time = match point.phase {
        Phase::Issue => return None,
        Phase::Start if waits => return None,
        Phase::Start => timeline.start[at],
        Phase::Done => timeline.end[at],
    };
    (time != u64::MAX).then_some(time)
}

/// Whether a host function calls ACL and so hangs its stream, which no run can end.
fn calls_back(flat: &Flat<'_>) -> bool {
    let hangs = |kind: &OpKind| {
        matches!(
            kind,
            OpKind::Host(HostKind::Function {
                calls_acl: true,
                ..
            })
        )
    };
    flat.instances()
        .iter()
        .any(|instance| hangs(&instance.op.kind))
}

/// Holds the times to what the order says of every pair. Events inside a graph are edges of it, not
/// tasks, and have no times.
fn compare(
    flat: &Flat<'_>,
    order: &Order<'_, '_>,
    compiled: &Compiled,
    timeline: &Timeline,
) -> Result<(), TestCaseError> {
    let all: Vec<InstanceId> = flat.ids().collect();
    for &second in &all {
        for point in [Point::start(second), Point::done(second)] {
            let Some(happened) = time(flat, timeline, point) else {
                continue;
            };
            prop_assert!(
                order.can_happen(point),
                "{} happened, and the order says that it cannot",
                flat.path(second)
            );
            for &first in all.iter().filter(|&&first| first != second) {
                let has_time = !flat[first].is_task() || compiled.has_task(first.index() as u32);
                if !has_time || !order.known_at(first, point) {
                    continue;
                }
                let done = timeline.end[first.index()];
                prop_assert!(
                    done <= happened,
                    "{} was done at {done} ps, after {:?} of {} at {happened} ps",
                    flat.path(first),
                    point.phase,
                    flat.path(second),
                );
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_engine_keeps_happens_before(
        case in arbitrary::schedules(),
        options in arbitrary::options(),
    ) {
        let flat = Flat::new(&case.schedule).expect("a valid schedule");
        let compiled = compile(&flat, &options).expect("complete times");
        let (timeline, outcome) = laws::run(&compiled, &options);
        let order = Order::new(&flat, &options.limits);
        compare(&flat, &order, &compiled, &timeline)?;
        match outcome {
            Ok(()) => prop_assert!(order.stuck().is_none(), "finished: {:?}", order.stuck()),
            // Engines and what host functions do are no part of happens-before, and where the order
            // is inexact some runs may end and others not.
            Err(SimError::Deadlock(deadlock)) => prop_assert!(
                order.stuck().is_some()
                    || !order.inexact().is_empty()
                    || options.engines != EngineModel::Unlimited
                    || calls_back(&flat),
                "some run ends, and the engine says {deadlock:?}"
            ),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}
