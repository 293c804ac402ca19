//! The parameters there are: one list, from which names, units, documentation and profiles' required
//! fields all follow.

use std::fmt;

use crate::Unit;

/// The kinds of profiles. Each says which groups of parameters it must give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A die: cores, clocks, memory.
    Chip,
    /// One link: rate and latency.
    Link,
    /// How dies, packages and servers are put together, and the link of each level.
    Machine,
    /// CANN, HCCL, runtime and framework: limits, overheads, efficiencies.
    Stack,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Chip, Self::Link, Self::Machine, Self::Stack];

    /// The kind as profiles write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chip => "chip",
            Self::Link => "link",
            Self::Machine => "machine",
            Self::Stack => "stack",
        }
    }

    /// The kind that a profile writes as `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! parameters {
    ($($group:literal $kind:ident { $($id:ident $name:literal $unit:ident $about:literal;)* })*) => {
        /// The index of a parameter: into a [`Model`](crate::Model), a [`Values`](crate::Values).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum ParameterId {
            $($(#[doc = $about] $id,)*)*
        }

        impl ParameterId {
            /// All parameters, in order of index.
            pub const ALL: &'static [Self] = &[$($(Self::$id,)*)*];

            fn definition(self) -> &'static Definition {
                match self {
                    $($(Self::$id => &Definition {
                        group: $group,
                        field: $name,
                        name: concat!($group, ".", $name),
                        unit: Unit::$unit,
                        kind: Kind::$kind,
                        about: $about,
                    },)*)*
                }
            }
        }
    };
}

struct Definition {
    group: &'static str,
    field: &'static str,
    name: &'static str,
    unit: Unit,
    kind: Kind,
    about: &'static str,
}

impl ParameterId {
    /// Number of parameters.
    pub const COUNT: usize = Self::ALL.len();

    /// Its full name, such as `chip.hbm_bytes_per_s`.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// The part of its name before the last dot: the table of a profile that holds it.
    pub fn group(self) -> &'static str {
        self.definition().group
    }

    /// The part of its name after the last dot.
    pub fn field(self) -> &'static str {
        self.definition().field
    }

    /// Its unit.
    pub fn unit(self) -> Unit {
        self.definition().unit
    }

    /// The kind of profile that gives it.
    pub fn kind(self) -> Kind {
        self.definition().kind
    }

    /// One sentence that says what it is.
    pub fn about(self) -> &'static str {
        self.definition().about
    }

    /// Its index, below [`Self::COUNT`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The parameter of that full name. Linear in the number of parameters.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|id| id.name() == name)
    }
}

impl fmt::Display for ParameterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl serde::Serialize for ParameterId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

parameters! {
"chip" Chip {
    ChipAic "aic" Cores "Cube cores of a die.";
    ChipAiv "aiv" Cores "Vector cores of a die.";
    ChipAicpu "aicpu" Cores "AICPU cores of a die that kernels may use.";
    ChipSdmaChannels "sdma_channels" Count "Copies and prefetches that SDMA carries side by side.";
    ChipCubeHz "cube_hz" Hz "Clock of the cube cores.";
    ChipBf16 "cube_bf16_ops_per_s" OpsPerSecond "Peak of all cube cores in BF16.";
    ChipFp16 "cube_fp16_ops_per_s" OpsPerSecond "Peak of all cube cores in FP16.";
    ChipInt8 "cube_int8_ops_per_s" OpsPerSecond "Peak of all cube cores in INT8.";
    ChipFp32 "cube_fp32_ops_per_s" OpsPerSecond "Peak of all cube cores in FP32.";
    ChipVector "vector_fp16_ops_per_s" OpsPerSecond "Peak of all vector cores in FP16.";
    ChipHbmBytes "hbm_bytes" Bytes "Capacity of the die's HBM.";
    ChipHbm "hbm_bytes_per_s" BytesPerSecond "Nominal HBM bandwidth of a die.";
    ChipHbmRead "hbm_read_bytes_per_s" BytesPerSecond "HBM bandwidth that a pure read reaches with all cores.";
    ChipHbmWrite "hbm_write_bytes_per_s" BytesPerSecond "HBM bandwidth that a pure write reaches with all cores.";
    ChipL2Bytes "l2_bytes" Bytes "Capacity of the L2 cache of a die.";
    ChipL2Line "l2_line_bytes" Bytes "Line of the L2 cache; shorter rows are over-fetched.";
    ChipL2 "l2_bytes_per_s" BytesPerSecond "Bandwidth of reads that hit L2.";
    ChipAicHbm "aic_hbm_bytes_per_s" BytesPerSecond "What one cube core can draw from HBM.";
    ChipAicL2 "aic_l2_bytes_per_s" BytesPerSecond "What one cube core can draw from L2.";
    ChipAivHbm "aiv_hbm_bytes_per_s" BytesPerSecond "What one vector core can draw from HBM.";
    ChipAivL2 "aiv_l2_bytes_per_s" BytesPerSecond "What one vector core can draw from L2.";
    ChipCmo "cmo_bytes_per_s" BytesPerSecond "Rate of a prefetch into L2 (CMO) alone on SDMA.";
    ChipCmoShared "cmo_shared_bytes_per_s" BytesPerSecond "Rate of all prefetches together when two streams prefetch at once.";
    ChipCmoFixed "cmo_fixed_us" Us "Time that a prefetch takes from the kernels beside it.";
}
"machine" Machine {
    MachineDies "dies_per_package" Count "Dies of a package; each is one ACL device.";
    MachinePackages "packages_per_server" Count "Packages of a server.";
    MachineServers "servers_per_pod" Count "Servers of a super-pod, within which memory is shared.";
}
"link.package" Link {
    LinkPackage "bytes_per_s" BytesPerSecond "Die to die within a package, one direction, nominal.";
    LinkPackageAchieved "achieved_bytes_per_s" BytesPerSecond "Die to die within a package, one direction, achieved by copies.";
    LinkPackageLatency "latency_us" Us "Die to die within a package, latency.";
}
"link.server" Link {
    LinkServer "bytes_per_s" BytesPerSecond "Die to another package of the server, one direction, nominal.";
    LinkServerAchieved "achieved_bytes_per_s" BytesPerSecond "Die to another package of the server, one direction, achieved by copies.";
    LinkServerLatency "latency_us" Us "Die to another package of the server, latency.";
}
"link.pod" Link {
    LinkPod "bytes_per_s" BytesPerSecond "Die to another server of the super-pod, one direction, nominal.";
    LinkPodAchieved "achieved_bytes_per_s" BytesPerSecond "Die to another server of the super-pod, one direction, achieved.";
    LinkPodLatency "latency_us" Us "Die to another server of the super-pod, latency.";
}
"link.cluster" Link {
    LinkCluster "bytes_per_s" BytesPerSecond "Die to another super-pod, one direction, nominal.";
    LinkClusterAchieved "achieved_bytes_per_s" BytesPerSecond "Die to another super-pod, one direction, achieved.";
    LinkClusterLatency "latency_us" Us "Die to another super-pod, latency.";
}
"link.host" Link {
    LinkHost "bytes_per_s" BytesPerSecond "Host to die, one direction, nominal.";
    LinkHostAchieved "achieved_bytes_per_s" BytesPerSecond "Host to die, one direction, achieved by pinned copies.";
    LinkHostLatency "latency_us" Us "Host to die, latency.";
}
"runtime" Stack {
    RuntimeQueueTasks "queue_tasks" Count "Tasks a stream's queue takes before the issuing thread blocks.";
    RuntimeValueWaitEntries "value_wait_entries" Count "Submission entries that one value wait takes.";
    RuntimeStreams "streams" Count "Streams of a device.";
    RuntimeEvents "events" Count "`sync` and `external` events of a device.";
    RuntimeNotifies "notifies" Count "Notifies of a device.";
    RuntimeLaunchArguments "launch_arguments" Count "Arguments of a kernel launch.";
    RuntimeAicpuGraphs "aicpu_graphs" Count "Graphs with AICPU collectives that may run at once on a die.";
    RuntimeCommunicatorStreams "aicpu_communicator_streams" Count "Device streams of a communicator that the AICPU expands.";
    RuntimeCommunicatorNotifies "aicpu_communicator_notifies" Count "Device notifies of a communicator that the AICPU expands.";
}
"launch" Stack {
    LaunchEager "eager_us" Us "Host time to issue one op eagerly.";
    LaunchEagerSlow "eager_slow_us" Us "Host time to issue one op eagerly on a slow host or slow path.";
    LaunchEagerCollective "eager_collective_us" Us "Host time to issue one collective eagerly.";
    LaunchEagerEvent "eager_event_us" Us "Host time to issue one event, notify or value op eagerly.";
    LaunchEagerCopy "eager_copy_us" Us "Host time to issue one asynchronous copy eagerly.";
    LaunchTriton "triton_us" Us "Host time to launch one Triton kernel eagerly.";
    LaunchIssue "issue_us" Us "Time from the end of a host call until the task reaches the device.";
    LaunchGraph "graph_us" Us "Fixed cost of one replay of a captured graph.";
    LaunchGraphHost "graph_host_us" Us "Host time of one graph launch with the CPU work between graphs.";
    LaunchDynamic "dynamic_kernel_us" Us "What a kernel of dynamic shape costs more than a static one, in a graph.";
    LaunchTaskUpdate "task_update_us" Us "Host time to update one captured task.";
    LaunchAicpu "aicpu_us" Us "Time to start a kernel on the AICPU.";
}
"sync" Stack {
    SyncStream "stream_us" Us "Host time of a stream or event synchronisation beside the waiting.";
    SyncPiecewise "piecewise_us" Us "Cost of a synchronisation inside a piecewise graph replay.";
    SyncInterStep "inter_step_us" Us "Device idle between two decode steps with asynchronous scheduling.";
}
"event" Stack {
    EventLatency "latency_us" Us "From the end of an event record to the end of a wait that it releases.";
    EventTask "task_us" Us "Stream time of an event record, or of a wait that is already met.";
    EventExternal "external_us" Us "From a host-recorded external event to the start of the graph part that waits.";
    NotifyTask "notify_task_us" Us "Stream time of a notify record or a value write.";
    NotifyLatency "notify_latency_us" Us "From a notify record to the end of the wait of another rank.";
    ValueWaitPoll "value_wait_us" Us "From a value write to the end of a value wait, which polls memory.";
}
"gap" Stack {
    GapKernel "kernel_us" Us "Gap between two plain kernels of a stream.";
    GapAivMix "aiv_to_mix_us" Us "Gap from a vector kernel to a MIX kernel.";
    GapMixAiv "mix_to_aiv_us" Us "Gap from a MIX kernel to a vector kernel.";
    GapMixAic "mix_to_aic_us" Us "Gap from a MIX kernel to a cube kernel.";
    GapMix "mix_us" Us "Gap between two kernels one of which is MIX, for other pairs.";
    GapDma "dma_to_kernel_us" Us "Gap from a copy, an event record or a placeholder to a kernel.";
    GapCopy "copy_to_copy_us" Us "Gap between two copies.";
    GapGroupBefore "group_before_us" Us "Gap before an FFTS+ group.";
    GapGroupAfter "group_after_us" Us "Gap after an FFTS+ group.";
    GapCollectiveBefore "collective_before_us" Us "Gap before a collective.";
    GapCollectiveAfter "collective_after_us" Us "Gap after a collective.";
}
"copy" Stack {
    CopySmall "small_us" Us "Fixed time of a copy within a device.";
    CopyDevice "device_bytes_per_s" BytesPerSecond "Rate of a copy within a device (bytes copied).";
    CopyHostFixed "host_fixed_us" Us "Fixed time of a copy between pinned host memory and device.";
    CopyH2d "h2d_bytes_per_s" BytesPerSecond "Rate of a copy from pinned host memory.";
    CopyD2h "d2h_bytes_per_s" BytesPerSecond "Rate of a copy to pinned host memory.";
    CopyPageableFixed "pageable_fixed_us" Us "What a copy of pageable memory costs beside the pinned one.";
    CopyPageable "pageable_ratio" Ratio "Rate of a copy of pageable memory relative to pinned.";
    CopyPeerFixed "peer_fixed_us" Us "Fixed time of a copy to or from another die.";
}
"kernel" Stack {
    KernelFloor "floor_us" Us "Duration below which no kernel goes.";
    KernelVectorFixed "vector_fixed_us" Us "Fixed part of a vector kernel.";
    KernelMatmulFixed "matmul_fixed_us" Us "Fixed part of a floating-point matmul.";
    KernelMatmul "matmul_hbm_efficiency" Ratio "Share of nominal HBM bandwidth that a floating-point matmul reaches.";
    KernelQuantFixed "quant_matmul_fixed_us" Us "Fixed part of an INT8 matmul.";
    KernelQuant "quant_matmul_hbm_efficiency" Ratio "Share of nominal HBM bandwidth that an INT8 matmul reaches.";
    KernelGroupedFixed "grouped_matmul_fixed_us" Us "Fixed part of a grouped matmul.";
    KernelGrouped "grouped_matmul_hbm_efficiency" Ratio "Share of nominal HBM bandwidth that a grouped matmul reaches.";
    KernelAttentionFixed "attention_fixed_us" Us "Fixed part of an attention kernel.";
    KernelAttention "attention_hbm_efficiency" Ratio "Share of nominal HBM bandwidth that an attention kernel reaches.";
    KernelVectorHbm "vector_hbm_efficiency" Ratio "Share of nominal HBM bandwidth that a vector kernel reaches.";
    KernelCube "cube_efficiency" Ratio "Share of the cube peak that a compute-bound kernel reaches.";
    KernelVector "vector_efficiency" Ratio "Share of the vector peak that a compute-bound kernel reaches.";
    KernelAicpuFixed "aicpu_fixed_us" Us "Duration of a small AICPU kernel.";
}
"superkernel" Stack {
    SuperKernelBoundary "boundary_us" Us "Kernel time that fusing away one boundary saves, launch gaps not counted.";
    SuperKernelPart "part_us" Us "Synchronisation between two parts of a SuperKernel.";
    SuperKernelCrossEngine "cross_engine_us" Us "Flag between the cube and the vector queue of a SuperKernel.";
}
"hccl" Stack {
    HcclBuffer "buffer_bytes" Bytes "HCCL_BUFFSIZE default: the CCL buffer, in and out each.";
    HcclAllReduceOpBase "allreduce_aiv_op_base_bytes_per_rank" Bytes "AllReduce stays on AIV up to this many bytes per rank, single-op workflow.";
    HcclAllReduceGraph "allreduce_aiv_graph_bytes_per_rank" Bytes "AllReduce stays on AIV up to this many bytes per rank, graph workflow.";
    HcclReduceScatterOpBase "reducescatter_aiv_op_base_bytes" Bytes "ReduceScatter stays on AIV up to this size, single-op workflow.";
    HcclReduceScatterGraph "reducescatter_aiv_graph_bytes" Bytes "ReduceScatter stays on AIV up to this size, graph workflow.";
    HcclAllGatherOpBase "allgather_aiv_op_base_bytes" Bytes "AllGather stays on AIV up to this size, single-op workflow.";
    HcclAllGatherGraph "allgather_aiv_graph_bytes" Bytes "AllGather stays on AIV up to this size, graph workflow.";
    HcclAllToAllOpBase "alltoall_aiv_op_base_bytes" Bytes "AllToAll stays on AIV up to this size per peer, single-op workflow.";
}
"collective" Stack {
    AivFixed "aiv_fixed_us" Us "Fixed part of an AIV collective with one exchange (AllGather, ReduceScatter, one-shot AllReduce).";
    AivTwoShotFixed "aiv_allreduce_two_shot_fixed_us" Us "Fixed part of the two-shot AIV AllReduce.";
    AivCopyRead "aiv_copy_read_bytes_per_s" BytesPerSecond "One vector core: copy to the window, then read a peer's.";
    AivCopyAdd "aiv_copy_add_bytes_per_s" BytesPerSecond "One vector core: copy to the window, then read a peer's with atomic add.";
    AivCopyAddRead "aiv_copy_add_read_bytes_per_s" BytesPerSecond "One vector core: the three phases of the two-shot AllReduce.";
    AivDieCap "aiv_die_bytes_per_s" BytesPerSecond "Remote reads of all vector cores of a die together.";
    AivCrossServer "aiv_cross_server_us" Us "What a phase of an AIV collective costs more across servers.";
    AivClear "aiv_clear_us" Us "The buffer clearing of every 1000th AIV call of a communicator.";
    AicpuLaunchEager "aicpu_launch_eager_us" Us "Launch of an AICPU collective issued eagerly.";
    AicpuLaunchGraph "aicpu_launch_graph_us" Us "Launch of an AICPU collective in a graph replay.";
    AicpuTask "aicpu_task_us" Us "AICPU time to expand one task of an uncached collective.";
    AicpuTaskCached "aicpu_task_cached_us" Us "AICPU time to issue one task of a cached collective.";
    HdTask "hd_task_us" Us "Time of one task of the halving-doubling AllReduce.";
    RingGatherStep "ring_allgather_step_us" Us "One step of the double-ring AllGather.";
    RingGather "ring_allgather_bytes_per_s" BytesPerSecond "Rate of the double-ring AllGather.";
    RingScatterStep "ring_reducescatter_step_us" Us "One step of the double-ring ReduceScatter.";
    RingScatter "ring_reducescatter_bytes_per_s" BytesPerSecond "Rate of the double-ring ReduceScatter.";
    SingleRingTasks "single_ring_step_tasks" Count "Tasks of one step of a single ring.";
    SemiRingStep "semi_ring_step_us" Us "One step of the SemiRing AllGather or ReduceScatter.";
    FullMeshStep "full_mesh_step_us" Us "One round of the direct full-mesh AllToAll.";
    NhrStep "nhr_step_us" Us "One step of the NHR algorithm between servers.";
    PeerFixed "peer_fixed_us" Us "Send to and receive from one peer: fixed part.";
}
"mc2" Stack {
    Mc2DispatchFixed "dispatch_fixed_us" Us "Fixed part of MoeDistributeDispatch.";
    Mc2DispatchRow "dispatch_row_us" Us "MoeDistributeDispatch: one (token, expert) row on one core, at the reference hidden size.";
    Mc2DispatchDoubling "dispatch_doubling_us" Us "MoeDistributeDispatch: each doubling of EP beyond 8.";
    Mc2CombineFixed "combine_fixed_us" Us "Fixed part of MoeDistributeCombine.";
    Mc2CombineRow "combine_row_us" Us "MoeDistributeCombine: one (token, expert) row on one core, at the reference hidden size.";
    Mc2CombineDoubling "combine_doubling_us" Us "MoeDistributeCombine: each doubling of EP beyond 8.";
    Mc2ReferenceHidden "reference_hidden" Count "Hidden size at which the row costs were measured.";
    Mc2RowHiddenShare "row_hidden_share" Ratio "Share of a row's cost that grows with the hidden size.";
    Mc2FfnOverlap "ffn_combine_overlap" Ratio "Share of the shorter side that DispatchFFNCombine hides behind the longer.";
    Mc2FfnFixed "ffn_combine_fixed_us" Us "Fixed part of DispatchFFNCombine.";
    Mc2MatmulOverlap "matmul_overlap" Ratio "Share of the shorter side that a fused matmul and collective hides.";
}
"allocator" Stack {
    AllocatorDefault "default_step_us" Us "What the default device allocator costs a decode step against expandable segments of 1 GiB pages.";
    AllocatorMalloc "malloc_step_us" Us "What glibc malloc costs a decode step against jemalloc.";
}
"version" Stack {
    VersionStep "step_us" Us "What this generation costs a decode step against the reference generation, mechanism unknown.";
}
}
