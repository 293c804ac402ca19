//! The events to come, in the order in which they happen.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    /// A task has all it needs but cores.
    Ready,
    /// A task ends.
    End,
}

/// Events ordered by time and then by instance, which is by rank and issue index.
///
/// An event is one number: time, instance and what happens, from the highest bits to the lowest.
#[derive(Debug, Default)]
pub(super) struct Queue(BinaryHeap<Reverse<u128>>);

impl Queue {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn push(&mut self, time: u64, instance: u32, what: Happening) {
        let what = u128::from(what == Happening::End);
        let event = u128::from(time) << 64 | u128::from(instance) << 1 | what;
        self.0.push(Reverse(event));
    }

    /// The time of the next event.
    pub(super) fn time(&self) -> Option<u64> {
        self.0.peek().map(|event| (event.0 >> 64) as u64)
    }

    pub(super) fn pop(&mut self) -> Option<(u64, u32, Happening)> {
        let Reverse(event) = self.0.pop()?;
        let what = if event & 1 == 1 {
            Happening::End
        } else {
            Happening::Ready
        };
        Some(((event >> 64) as u64, (event >> 1) as u32, what))
    }
}
