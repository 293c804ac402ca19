//! What a change did to each op: the same op before and after, by rank and path.

use std::collections::HashMap;

use ascsim_studies::{LaneKind, StepTimeline};

/// It is on another stream.
pub(super) const MOVED: u8 = 1;
/// It takes another time.
pub(super) const ALTERED: u8 = 2;
/// It is not in the other timeline.
pub(super) const ALONE: u8 = 4;

/// For each row: how it differs, and the index of its twin in the other timeline.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) flags: Vec<u8>,
    pub(super) other: Vec<Option<u32>>,
}

impl Marks {
    /// The marks of a timeline that is compared with none.
    pub(super) fn none(step: &StepTimeline) -> Self {
        Self {
            flags: vec![0; step.rows.len()],
            other: vec![None; step.rows.len()],
        }
    }

    /// The marks of both timelines of a change. Waits differ because of others, and are not marked.
    ///
    /// # Complexity
    /// O(rows) time and memory.
    pub(super) fn pair(before: &StepTimeline, after: &StepTimeline) -> (Self, Self) {
        let (mut first, mut second) = (Self::none(before), Self::none(after));
        let mut twins: HashMap<(u32, bool, &str), u32> = HashMap::new();
        let key = |step: &'_ StepTimeline, at: usize| {
            let lane = &step.lanes[step.rows[at].lane as usize];
            (lane.rank, lane.kind == LaneKind::Thread)
        };
        for (at, row) in (0_u32..).zip(&before.rows) {
            let (rank, is_call) = key(before, at as usize);
            twins.insert((rank, is_call, before.text(row.op)), at);
        }
        for (at, row) in after.rows.iter().enumerate() {
            let (rank, is_call) = key(after, at);
            let Some(twin) = twins.get(&(rank, is_call, after.text(row.op))) else {
                second.flags[at] = ALONE;
                continue;
            };
            let other = &before.rows[*twin as usize];
            let name = |step: &StepTimeline, lane: u32| step.lanes[lane as usize].name.clone();
            let mut flags = 0;
            if name(after, row.lane) != name(before, other.lane) {
                flags |= MOVED;
            }
            let waits = matches!(
                after.text(row.kind),
                "wait" | "notify_wait" | "value_wait" | "graph_launch"
            );
            if !waits && !is_call && row.len_ns() != other.len_ns() {
                flags |= ALTERED;
            }
            (second.flags[at], first.flags[*twin as usize]) = (flags, flags);
            second.other[at] = Some(*twin);
            first.other[*twin as usize] = Some(at as u32);
        }
        for (flags, other) in first.flags.iter_mut().zip(&first.other) {
            if other.is_none() {
                *flags = ALONE;
            }
        }
        (first, second)
    }
}
