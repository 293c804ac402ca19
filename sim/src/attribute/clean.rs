//! Gaps of a timeline that no profiler bent.

use ascsim_hwmodels::Reader;
use ascsim_hwmodels::launch::{Task, gap};

use crate::costs::{Gaps, TaskKind};

/// The gaps between tasks of a stream as a software stack's profile has them (facts/traces.md
/// section 2.6 and facts/hardware.md section 9, with their sources and ranges in the profile). What the profile
/// does not know, such as a graph launch, has none.
pub fn clean_gaps(stack: &Reader<'_>) -> Gaps {
    let mut gaps = Gaps::default();
    for first in TaskKind::ALL {
        for second in TaskKind::ALL {
            if let (Some(from), Some(to)) = (task(first), task(second)) {
                gaps.set(first, second, gap(from, to, stack));
            }
        }
    }
    gaps
}

/// The kind of task in a profile.
fn task(kind: TaskKind) -> Option<Task> {
    Some(match kind {
        TaskKind::Aic | TaskKind::AiCpu => Task::Aic,
        TaskKind::Aiv => Task::Aiv,
        TaskKind::Mix => Task::Mix,
        TaskKind::Copy | TaskKind::Prefetch => Task::Copy,
        TaskKind::Collective => Task::Collective,
        TaskKind::Record | TaskKind::Wait | TaskKind::Notify | TaskKind::NotifyWait => Task::Signal,
        TaskKind::Group => Task::Group,
        TaskKind::SuperKernel => Task::Mix,
        TaskKind::Graph | TaskKind::Update | TaskKind::HostFunction | TaskKind::Part => {
            return None;
        }
    })
}
