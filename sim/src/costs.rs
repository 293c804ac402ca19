//! What things cost besides the tasks themselves: gaps, latencies and host calls.
//!
//! Everything is 0 unless set: an unmeasured number is the caller's to give (hardware profiles do).

use std::fmt;

use ascsim_hwmodels::Values;
use ascsim_schedules::Limits;

use crate::load::Die;

/// How the engines of a die are shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineModel {
    /// Any number of kernels run side by side at full speed.
    #[default]
    Unlimited,
    /// AIC and AIV hold one kernel at a time each, and MIX kernels take both. Whenever an engine is
    /// free, the lowest issue index among the ready kernels that fit takes it.
    Exclusive,
    /// Kernels take as many cores as they have blocks and the [`Die`] has left, and running tasks
    /// share its bandwidth.
    Shared,
}

/// The kind of a device task, as far as gaps between tasks depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TaskKind {
    /// A kernel on cube cores.
    Aic,
    /// A kernel on vector cores.
    Aiv,
    /// A kernel on both.
    Mix,
    /// A kernel on AICPU cores, or one whose cores are not known.
    AiCpu,
    /// A copy.
    Copy,
    /// A prefetch into L2.
    Prefetch,
    /// A collective.
    Collective,
    /// An event record or reset.
    Record,
    /// An event wait.
    Wait,
    /// A notify record or value write.
    Notify,
    /// A notify wait or value wait.
    NotifyWait,
    /// A super kernel.
    SuperKernel,
    /// A graph of tasks in one slot (FFTS+).
    Group,
    /// A graph launch.
    Graph,
    /// A task update.
    Update,
    /// A host function.
    HostFunction,
    /// A part of a super kernel; a gap between two of them is the cost of a boundary inside it.
    Part,
}

impl TaskKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 17] = [
        Self::Aic,
        Self::Aiv,
        Self::Mix,
        Self::AiCpu,
        Self::Copy,
        Self::Prefetch,
        Self::Collective,
        Self::Record,
        Self::Wait,
        Self::Notify,
        Self::NotifyWait,
        Self::SuperKernel,
        Self::Group,
        Self::Graph,
        Self::Update,
        Self::HostFunction,
        Self::Part,
    ];

    /// The name that tables and JSON show.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aic => "AIC kernel",
            Self::Aiv => "AIV kernel",
            Self::Mix => "MIX kernel",
            Self::AiCpu => "AICPU kernel",
            Self::Copy => "copy",
            Self::Prefetch => "prefetch",
            Self::Collective => "collective",
            Self::Record => "event record",
            Self::Wait => "event wait",
            Self::Notify => "notify record",
            Self::NotifyWait => "notify wait",
            Self::SuperKernel => "super kernel",
            Self::Group => "group",
            Self::Graph => "graph launch",
            Self::Update => "task update",
            Self::HostFunction => "host function",
            Self::Part => "part of a super kernel",
        }
    }
}

/// The time from the end of a task to the start of the next on its stream, in ps, per pair of kinds.
#[derive(Clone, PartialEq, Eq)]
pub struct Gaps([[u64; TaskKind::ALL.len()]; TaskKind::ALL.len()]);

impl Gaps {
    /// The same gap, in ps, between all kinds.
    pub const fn uniform(ps: u64) -> Self {
        Self([[ps; TaskKind::ALL.len()]; TaskKind::ALL.len()])
    }

    /// The gap in ps between a task of kind `first` and the next, of kind `second`.
    #[inline]
    pub fn get(&self, first: TaskKind, second: TaskKind) -> u64 {
        self.0[first as usize][second as usize]
    }

    /// Sets the gap between two kinds to `ps`.
    pub fn set(&mut self, first: TaskKind, second: TaskKind, ps: u64) {
        self.0[first as usize][second as usize] = ps;
    }

    /// The largest gap in ps.
    pub(crate) fn largest(&self) -> u64 {
        self.0.iter().flatten().copied().max().unwrap_or(0)
    }
}

impl Default for Gaps {
    fn default() -> Self {
        Self::uniform(0)
    }
}

impl fmt::Debug for Gaps {
    /// Lists the pairs with a gap.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for first in TaskKind::ALL {
            for second in TaskKind::ALL {
                match self.get(first, second) {
                    0 => {}
                    ps => {
                        map.entry(&(first, second), &ps);
                    }
                }
            }
        }
        map.finish()
    }
}

/// Delays of the device's own signals, in ps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// From the end of a host call to the earliest start of the task it issued.
    pub launch: u64,
    /// From the end of an event record to the end of a wait for it.
    pub event: u64,
    /// From the end of a notify record to the end of the wait that it wakes.
    pub notify: u64,
    /// From the end of a value write to the end of the waits that it releases.
    pub value: u64,
}

/// Host time of the calls whose op names no `issue` time, in ps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCosts {
    /// Launching a kernel, super kernel or group.
    pub launch: u64,
    /// Launching a collective.
    pub collective: u64,
    /// Launching a copy or prefetch.
    pub copy: u64,
    /// An event, notify or value call.
    pub signal: u64,
    /// Launching a captured graph.
    pub graph: u64,
    /// Updating tasks of a captured graph.
    pub update: u64,
    /// A synchronisation, besides the waiting.
    pub synchronise: u64,
}

impl HostCosts {
    /// The same host time, in ps, for each call that launches something but a graph.
    pub fn launches(ps: u64) -> Self {
        Self {
            launch: ps,
            collective: ps,
            copy: ps,
            ..Self::default()
        }
    }
}

/// How a schedule is simulated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// How engines are shared.
    pub engines: EngineModel,
    /// What each die has, for [`EngineModel::Shared`].
    pub die: Die,
    /// Host time of calls.
    pub host: HostCosts,
    /// Latencies of signals.
    pub latencies: Latencies,
    /// Gaps between tasks of a stream.
    pub gaps: Gaps,
    /// Depth of the streams' queues.
    pub limits: Limits,
    /// The parameters of the hardware model that gives ops their durations and loads; without it,
    /// durations must be stated, and tasks draw no bandwidth.
    pub hardware: Option<Values>,
}
