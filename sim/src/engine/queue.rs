//! The events to come, in the order in which they happen.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    /// A task has all it needs but cores.
    Ready,
    /// So many units of a task have ended; 0 for one that takes no cores.
    End(u32),
    /// So many units of a task start to draw bandwidth.
    Flow(u32),
    /// Something that draws bandwidth may have ended on the instance's die.
    Drained,
}

/// The most units of a task.
const MOST_UNITS: u32 = (1 << 30) - 1;

/// Events ordered by time and then by instance, which is by rank and issue index.
///
/// An event is one number: time (64 bits), instance (32), what happens (2) and units (30), from the
/// highest bits to the lowest.
#[derive(Debug, Default)]
pub(super) struct Queue(BinaryHeap<Reverse<u128>>);

impl Queue {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn push(&mut self, time: u64, instance: u32, what: Happening) {
        let (what, units): (u8, u32) = match what {
            Happening::Ready => (0, 0),
            Happening::End(units) => (1, units),
            Happening::Flow(units) => (2, units),
            Happening::Drained => (3, 0),
        };
        let low = u64::from(instance) << 32 | u64::from(what) << 30 | u64::from(units & MOST_UNITS);
        self.0
            .push(Reverse(u128::from(time) << 64 | u128::from(low)));
    }

    /// The time of the next event.
    pub(super) fn time(&self) -> Option<u64> {
        self.0.peek().map(|event| (event.0 >> 64) as u64)
    }

    pub(super) fn pop(&mut self) -> Option<(u64, u32, Happening)> {
        let Reverse(event) = self.0.pop()?;
        let units = event as u32 & MOST_UNITS;
        let what = match (event >> 30) as u8 & 3 {
            0 => Happening::Ready,
            1 => Happening::End(units),
            2 => Happening::Flow(units),
            _ => Happening::Drained,
        };
        Some(((event >> 64) as u64, (event >> 32) as u32, what))
    }
}
