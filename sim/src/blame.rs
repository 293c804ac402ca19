//! Where the time went: the makespan split into categories that add up to it exactly.

use std::fmt;
use std::ops::Index;

use ascsim_schedules::DelayCause;

use crate::critical::CriticalPath;

/// What a stretch of the critical path was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Category {
    /// Kernels.
    Compute,
    /// Copies and prefetches; and what kernels take longer than their cores need, for want of
    /// bandwidth.
    Memory,
    /// The transfer of collectives, from the last member's start; kernels that communicate.
    Collective,
    /// Latency of events, notifies and values. What happened before the record is blamed on what
    /// the recording stream did.
    WaitOnEvent,
    /// A ready kernel without free cores, named by who held them; and what a kernel takes longer
    /// because it had too few.
    WaitOnCores,
    /// Host time of calls that issue device tasks, and their way to the device.
    Launch,
    /// Between two tasks of a stream.
    Gap,
    /// Host work, host calls besides launches, and host functions.
    Host,
    /// A rank that is not part of the schedule.
    External,
    /// Delays whose cause nobody knows.
    Unexplained,
}

impl Category {
    /// All categories.
    pub const ALL: [Self; 10] = [
        Self::Compute,
        Self::Memory,
        Self::Collective,
        Self::WaitOnEvent,
        Self::WaitOnCores,
        Self::Launch,
        Self::Gap,
        Self::Host,
        Self::External,
        Self::Unexplained,
    ];

    /// The category of a delay. A cause that the capture records is a gap.
    pub fn of_delay(cause: DelayCause) -> Self {
        match cause {
            DelayCause::Recorded => Self::Gap,
            DelayCause::External => Self::External,
            DelayCause::HostThink => Self::Host,
            DelayCause::Unexplained => Self::Unexplained,
        }
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Collective => "collective",
            Self::WaitOnEvent => "wait on event",
            Self::WaitOnCores => "wait on cores",
            Self::Launch => "launch",
            Self::Gap => "gap",
            Self::Host => "host",
            Self::External => "external",
            Self::Unexplained => "unexplained",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The time spent on each category, in ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blame([u64; Category::ALL.len()]);

impl Blame {
    /// Splits what lies between `from` and the end of a critical path, both in ps.
    ///
    /// The path covers that span without holes or overlaps, so the split adds up to it.
    pub fn new(path: &CriticalPath, from: u64) -> Self {
        let mut split = [0; Category::ALL.len()];
        for segment in &path.segments {
            let start = segment.from.max(from);
            split[segment.category as usize] += segment.to.saturating_sub(start);
        }
        Self(split)
    }

    /// The sum over all categories in ps.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Each category with its time in ps.
    pub fn iter(&self) -> impl Iterator<Item = (Category, u64)> + '_ {
        Category::ALL.into_iter().zip(self.0)
    }
}

impl Index<Category> for Blame {
    type Output = u64;

    fn index(&self, category: Category) -> &u64 {
        &self.0[category as usize]
    }
}
