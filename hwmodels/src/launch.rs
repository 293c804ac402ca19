//! What it costs to issue ops, to pass signals between streams, and what lies between two tasks.
//! Times in ps. Numbers: facts/hardware.md section 2, facts/traces.md section 2.6.

use ascsim_schedules::{Cores, OpKind};
use serde::Serialize;

use crate::ParameterId as P;
use crate::Reader;
use crate::number::ps;

/// A call of the host that issues something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// A kernel through aclnn.
    Kernel,
    /// A kernel through aclnn on a slow host or a slow path.
    SlowKernel,
    /// A Triton kernel.
    TritonKernel,
    /// A collective.
    Collective,
    /// An event, notify or value op.
    Event,
    /// An asynchronous copy or a prefetch.
    Copy,
    /// The replay of a captured graph.
    GraphLaunch,
    /// An update of one captured task.
    TaskUpdate,
    /// A synchronisation of a stream, event or device, beside the waiting.
    Synchronise,
}

/// Host time of a call.
pub fn host(call: Call, r: &Reader<'_>) -> u64 {
    ps(r.get(match call {
        Call::Kernel => P::LaunchEager,
        Call::SlowKernel => P::LaunchEagerSlow,
        Call::TritonKernel => P::LaunchTriton,
        Call::Collective => P::LaunchEagerCollective,
        Call::Event => P::LaunchEagerEvent,
        Call::Copy => P::LaunchEagerCopy,
        Call::GraphLaunch => P::LaunchGraph,
        Call::TaskUpdate => P::LaunchTaskUpdate,
        Call::Synchronise => P::SyncStream,
    }))
}

/// From the end of a host call until its task reaches the device.
pub fn issue(r: &Reader<'_>) -> u64 {
    ps(r.get(P::LaunchIssue))
}

/// What a kernel of dynamic shape takes longer than a static one.
pub fn dynamic_kernel(r: &Reader<'_>) -> u64 {
    ps(r.get(P::LaunchDynamic))
}

/// How the host allocates memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Allocators {
    /// Device memory in expandable segments of 1 GiB pages (`PYTORCH_NPU_ALLOC_CONF`).
    pub expandable_segments: bool,
    /// jemalloc instead of the malloc of glibc.
    pub jemalloc: bool,
}

/// What the allocators and the software generation add to a decode step, in ps; negative for a
/// generation that is faster than the reference. Lump sums of one publication each, whose mechanism
/// is unknown: calibration, not prediction.
pub fn step(allocators: Allocators, r: &Reader<'_>) -> i64 {
    let mut us = r.get(P::VersionStep);
    if !allocators.expandable_segments {
        us += r.get(P::AllocatorDefault);
    }
    if !allocators.jemalloc {
        us += r.get(P::AllocatorMalloc);
    }
    // Whole picoseconds of a few milliseconds fit with room to spare; the cast saturates.
    (us * 1e6) as i64
}

/// A way to pass a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// An event between streams of a device.
    Event,
    /// An event that the host records for a wait inside a captured graph.
    External,
    /// A notify, also across devices.
    Notify,
    /// A 64-bit word, also across devices.
    Value,
}

/// From the end of the record to the end of a wait that it releases.
pub fn latency(signal: Signal, r: &Reader<'_>) -> u64 {
    ps(r.get(match signal {
        Signal::Event => P::EventLatency,
        Signal::External => P::EventExternal,
        Signal::Notify => P::NotifyLatency,
        Signal::Value => P::ValueWaitPoll,
    }))
}

/// Stream time of a record, or of a wait that is already met.
pub fn signal_task(signal: Signal, r: &Reader<'_>) -> u64 {
    ps(r.get(match signal {
        Signal::Event | Signal::External => P::EventTask,
        Signal::Notify | Signal::Value => P::NotifyTask,
    }))
}

/// The kinds of tasks that gaps tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A kernel on cube cores, or on the AICPU.
    Aic,
    /// A kernel on vector cores.
    Aiv,
    /// A kernel on both.
    Mix,
    /// A copy or a prefetch.
    Copy,
    /// A record, wait, reset, notify or value op.
    Signal,
    /// An FFTS+ group.
    Group,
    /// A collective.
    Collective,
}

impl Task {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Aic,
        Self::Aiv,
        Self::Mix,
        Self::Copy,
        Self::Signal,
        Self::Group,
        Self::Collective,
    ];

    /// The kind of an op, or `None` for what is no task of a stream: host ops, allocations, repeats.
    pub fn of(kind: &OpKind, cores: &Cores) -> Option<Self> {
        Some(match kind {
            OpKind::Kernel(_) | OpKind::SuperKernel(_) => match (cores.aic > 0, cores.aiv > 0) {
                (true, true) => Self::Mix,
                (false, true) => Self::Aiv,
                (_, false) => Self::Aic,
            },
            OpKind::Copy(_) | OpKind::Prefetch(_) => Self::Copy,
            OpKind::Collective(_) => Self::Collective,
            OpKind::Group(_) => Self::Group,
            OpKind::Record(_)
            | OpKind::Wait(_)
            | OpKind::EventReset(_)
            | OpKind::NotifyRecord(_)
            | OpKind::NotifyWait(_)
            | OpKind::ValueWrite(_)
            | OpKind::ValueWait(_)
            | OpKind::GraphLaunch(_)
            | OpKind::TaskUpdate(_) => Self::Signal,
            OpKind::Host(_)
            | OpKind::Alloc(_)
            | OpKind::Free(_)
            | OpKind::StreamUse(_)
            | OpKind::Repeat(_) => return None,
        })
    }
}

/// The gap between two tasks that follow each other on a stream without waiting. Signals have their
/// own stream time and no gap before them.
pub fn gap(from: Task, to: Task, r: &Reader<'_>) -> u64 {
    let id = match (from, to) {
        (_, Task::Signal) => return 0,
        (_, Task::Collective) => P::GapCollectiveBefore,
        (Task::Collective, _) => P::GapCollectiveAfter,
        (_, Task::Group) => P::GapGroupBefore,
        (Task::Group, _) => P::GapGroupAfter,
        (Task::Copy, Task::Copy) => P::GapCopy,
        (Task::Copy | Task::Signal, _) | (_, Task::Copy) => P::GapDma,
        (Task::Aiv, Task::Mix) => P::GapAivMix,
        (Task::Mix, Task::Aiv) => P::GapMixAiv,
        (Task::Mix, Task::Aic) => P::GapMixAic,
        (Task::Mix, _) | (_, Task::Mix) => P::GapMix,
        (Task::Aic | Task::Aiv, Task::Aic | Task::Aiv) => P::GapKernel,
    };
    ps(r.get(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Values;

    #[test]
    fn each_pair_of_tasks_reads_its_own_gap() {
        let values = Values::new(|id| id.index() as f64);
        let mut table = String::new();
        for from in Task::ALL {
            for to in Task::ALL {
                let r = Reader::new(&values);
                let gap = gap(from, to, &r);
                let read: Vec<_> = r.used().iter().map(|id| id.field()).collect();
                let read = read.first().copied().unwrap_or("none");
                table += &format!("{from:?} {to:?} {read}\n");
                assert_eq!(gap == 0, to == Task::Signal, "{from:?} {to:?}");
            }
        }
        expect_test::expect![[r#"
            Aic Aic kernel_us
            Aic Aiv kernel_us
            Aic Mix mix_us
            Aic Copy dma_to_kernel_us
            Aic Signal none
            Aic Group group_before_us
            Aic Collective collective_before_us
            Aiv Aic kernel_us
            Aiv Aiv kernel_us
            Aiv Mix aiv_to_mix_us
            Aiv Copy dma_to_kernel_us
            Aiv Signal none
            Aiv Group group_before_us
            Aiv Collective collective_before_us
            Mix Aic mix_to_aic_us
            Mix Aiv mix_to_aiv_us
            Mix Mix mix_us
            Mix Copy dma_to_kernel_us
            Mix Signal none
            Mix Group group_before_us
            Mix Collective collective_before_us
            Copy Aic dma_to_kernel_us
            Copy Aiv dma_to_kernel_us
            Copy Mix dma_to_kernel_us
            Copy Copy copy_to_copy_us
            Copy Signal none
            Copy Group group_before_us
            Copy Collective collective_before_us
            Signal Aic dma_to_kernel_us
            Signal Aiv dma_to_kernel_us
            Signal Mix dma_to_kernel_us
            Signal Copy dma_to_kernel_us
            Signal Signal none
            Signal Group group_before_us
            Signal Collective collective_before_us
            Group Aic group_after_us
            Group Aiv group_after_us
            Group Mix group_after_us
            Group Copy group_after_us
            Group Signal none
            Group Group group_before_us
            Group Collective collective_before_us
            Collective Aic collective_after_us
            Collective Aiv collective_after_us
            Collective Mix collective_after_us
            Collective Copy collective_after_us
            Collective Signal none
            Collective Group collective_after_us
            Collective Collective collective_before_us
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn a_fork_and_join_of_met_events_takes_four_tasks() {
        let values = Values::new(|id| if id == P::EventTask { 0.16 } else { 0.0 });
        assert_eq!(
            4 * signal_task(Signal::Event, &Reader::new(&values)),
            640_000
        );
    }

    #[test]
    fn a_step_takes_what_the_settings_leave_in() {
        let values = Values::new(|id| match id {
            P::VersionStep => -300.0,
            P::AllocatorDefault => 200.0,
            P::AllocatorMalloc => 10.0,
            _ => 0.0,
        });
        let of = |expandable_segments, jemalloc| {
            let allocators = Allocators {
                expandable_segments,
                jemalloc,
            };
            step(allocators, &Reader::new(&values)) / 1_000_000
        };
        assert_eq!(
            [of(true, true), of(false, true), of(false, false)],
            [-300, -100, -90]
        );
    }

    #[test]
    fn kernels_are_told_apart_by_their_cores() {
        let kernel = OpKind::Kernel(ascsim_schedules::Kernel {
            name: "X".into(),
            dynamic: false,
            extra: ascsim_schedules::Extra::default(),
        });
        let of = |aic, aiv| {
            let cores = Cores {
                aic,
                aiv,
                ..Cores::default()
            };
            Task::of(&kernel, &cores)
        };
        assert_eq!(
            [of(24, 0), of(0, 48), of(24, 48), of(0, 0)],
            [
                Some(Task::Aic),
                Some(Task::Aiv),
                Some(Task::Mix),
                Some(Task::Aic)
            ]
        );
        let alloc = OpKind::Alloc("buffer".into());
        assert_eq!(Task::of(&alloc, &Cores::default()), None);
    }
}
