//! What each rule says of itself.

use ascsim_schedules::Severity::{Error, Note, Warning};

use super::RuleGroup::{Acl, Deadlock, Limits, Race, Waste};
use super::{Rule, RuleDoc};

pub(super) fn doc(rule: Rule) -> &'static RuleDoc {
    match rule {
        Rule::DeadlockCycle => &RuleDoc {
            code: "deadlock-cycle",
            group: Deadlock,
            severity: Error,
            title: "ops that wait for each other in a circle",
            explanation: "Each op of the witness waits for the next one, and the last for the first: \
                through the order of a stream, an event or notify, a collective, a host thread or a \
                host synchronisation. Nothing on the circle ever happens; on the device the job hangs \
                until a time-out, 1,091 s by default for a kernel (facts/acl.md section 0). Break the \
                circle: issue the record before what depends on it, or take one wait away.",
            fix: None,
        },
        Rule::DeadlockQueue => &RuleDoc {
            code: "deadlock-queue",
            group: Deadlock,
            severity: Error,
            title: "a host thread blocked on a full queue behind work it has still to issue",
            explanation: "A launch into a full stream queue blocks the calling thread without a time \
                limit (facts/acl.md section 0). Here the queue can fill behind a wait whose record or \
                partner the same thread, or one that waits for it, issues only later. An `ex` wait \
                takes an entry only if its record is unfinished when it is issued, so it may happen \
                in some runs and not in others. Issue in one topological order over all streams and \
                keep at most 1,900 tasks behind an unmet wait.",
            fix: None,
        },
        Rule::DeadlockUnsignalled => &RuleDoc {
            code: "deadlock-unsignalled",
            group: Deadlock,
            severity: Error,
            title: "a wait that nothing can satisfy",
            explanation: "No op that can run records the notify, sets the flag event or writes the word \
                often enough, so the wait blocks its stream for good (facts/acl.md sections 3 to 5).",
            fix: None,
        },
        Rule::DeadlockSignal => &RuleDoc {
            code: "deadlock-signal",
            group: Deadlock,
            severity: Error,
            title: "a signal that can be taken or cleared before its wait sees it",
            explanation: "A notify is cleared by the wait that takes it, a `sync` or `external` event by \
                a reset, a word by a write of another value. In some order of execution that happens \
                after the last signal and before this wait, which then blocks for good: two records \
                before one wait count once, a reset with several waiters strands the late one \
                (facts/acl.md section 3). Order the clearing op after every wait, or give each wait a \
                signal of its own.",
            fix: None,
        },
        Rule::DeadlockCollective => &RuleDoc {
            code: "deadlock-collective",
            group: Deadlock,
            severity: Error,
            title: "ranks that disagree about the collectives of a communicator",
            explanation: "HCCL pairs the k-th collective of a communicator on every rank, in the order \
                of the calls (facts/acl.md section 12). Here a rank issues fewer than the others, or \
                another kind in its place: the members that did start wait until the time-out. Issue \
                the same collectives in the same order on every rank, whatever their streams.",
            fix: None,
        },
        Rule::RaceAccess => &RuleDoc {
            code: "race-access",
            group: Race,
            severity: Error,
            title: "two ops touch the same bytes, one of them writes, and nothing orders them",
            explanation: "Neither op is done before the other starts in every run: no stream, event, \
                notify, collective or host synchronisation orders them, so what is read depends on who \
                is faster. Views of one buffer count as its bytes. This is how accuracy drops without \
                an error (vllm-ascend #4214: 86.67 to 43.33). Record an event after the first and wait \
                for it before the second.",
            fix: Some(
                "adds the missing event: a record after the op issued first, a wait before the other",
            ),
        },
        Rule::RacePrefetch => &RuleDoc {
            code: "race-prefetch",
            group: Race,
            severity: Error,
            title: "a prefetch of bytes that are being written",
            explanation: "The prefetch (CMO) is not ordered with the op that writes the same bytes: what \
                it brings into L2 may be the old content or a mixture, and it takes bandwidth from the \
                write. Start it after the write, or prefetch something else (facts/acl.md section 7).",
            fix: Some(
                "adds the missing event: a record after the op issued first, a wait before the other",
            ),
        },
        Rule::RaceUnknown => &RuleDoc {
            code: "race-unknown",
            group: Race,
            severity: Warning,
            title: "ops whose memory accesses are not known",
            explanation: "Ops that declare no accesses cannot be checked for races; a schedule recovered \
                from a profile has no data flow at all. Nothing is said about races with them: the \
                schedule is not called clean. Declare what the ops read and write.",
            fix: None,
        },
        Rule::DeadlockCores => &RuleDoc {
            code: "deadlock-cores",
            group: Deadlock,
            severity: Error,
            title: "collectives that hold cores while they wait for cores on another rank",
            explanation: "A collective on vector cores or an MC2 kernel holds its cores from its own start until \
                every rank has started it, and a batch-mode kernel needs all its cores at once; while it \
                waits, the scheduler may keep what is free for it. Here such ops can be resident \
                together and need more cores than the die has, so that each rank may admit them in \
                another order and all wait: with 48 vector cores, a ReduceScatter that holds 16 on one \
                die, a fused dispatch that holds 24 on the other and a NonZero that wants 48 on both \
                (facts/schedules.md D1, facts/collectives.md 2.4). Limit their cores so that what can be \
                resident together fits, or order them with events. Found also where one op wants more \
                cores at once than the die has.",
            fix: None,
        },
        Rule::DeadlockAivCommunicators => &RuleDoc {
            code: "deadlock-aiv-communicators",
            group: Deadlock,
            severity: Error,
            title: "collectives of two AIV communicators that can run at once on a die",
            explanation: "HCCL allows one communicator on vector cores at a time; with two in parallel its \
                behaviour is undefined, and hangs are reported (facts/acl.md section 12, \
                facts/collectives.md section 6 rule 2). Order the two with an event, or let the AICPU \
                expand one of them.",
            fix: None,
        },
        Rule::DeadlockFusedMoe => &RuleDoc {
            code: "deadlock-fused-moe",
            group: Deadlock,
            severity: Error,
            title: "a fused MoE kernel without batch mode beside an op that can hold its cores",
            explanation: "DispatchFFNCombine and fused_deep_moe have barriers over all their blocks and over \
                ranks, but are launched in normal mode: blocks start as cores become free. If another op \
                holds some of their cores, the blocks that run spin for those that do not \
                (facts/collectives.md 4.2 and section 6 rule 6). Run nothing beside them, or launch them \
                in batch mode.",
            fix: Some(
                "launches the kernel in batch mode, where that removes the finding and adds none",
            ),
        },
        Rule::DeadlockSuperKernel => &RuleDoc {
            code: "deadlock-super-kernel",
            group: Deadlock,
            severity: Error,
            title: "a barrier in a super kernel over fewer cores than the super kernel has",
            explanation: "A part with an all-core barrier runs on fewer cores than the super kernel it is fused \
                into; without `feed-sync-all` the other cores never reach the barrier \
                (facts/schedules.md D3 rule 9).",
            fix: Some("sets `feed_sync_all`"),
        },
        Rule::RaceFree => &RuleDoc {
            code: "race-free",
            group: Race,
            severity: Error,
            title: "a buffer given back while another stream may still use it",
            explanation: "The caching allocator hands a freed buffer out again to the stream it was allocated for, \
                at once and without an event. An op on another stream that is not known to be over by \
                then reads or writes what belongs to somebody else: missing `record_stream` (vllm-ascend \
                #13397 and #13398, wrong values and inf). Tell the allocator, or let the home stream \
                wait before the free. Calls inside captured programs are not looked at.",
            fix: Some("adds the `stream_use` before the free"),
        },
        Rule::RaceReuse => &RuleDoc {
            code: "race-reuse",
            group: Race,
            severity: Error,
            title: "a buffer used on another stream before its memory is free",
            explanation: "The buffer is allocated for one stream and first used on another that does not wait for \
                it. The allocator may have given it memory that earlier ops of the home stream still \
                use.",
            fix: None,
        },
        Rule::RaceUseAfterFree => &RuleDoc {
            code: "race-use-after-free",
            group: Race,
            severity: Error,
            title: "a buffer used after it was given back",
            explanation: "The op is issued after the free of the buffer: its memory may belong to another buffer \
                by then.",
            fix: None,
        },
        Rule::AclWaitUnrecorded => &RuleDoc {
            code: "acl-wait-unrecorded",
            group: Acl,
            severity: Error,
            title: "an `ex` wait issued before its record, which ACL drops",
            explanation: "A wait for an `ex` event binds to the latest record issued before it. With none, the \
                call returns success and queues nothing: the order that the code shows does not exist \
                (facts/acl.md section 3). Issue the record first, in host call order.",
            fix: Some("issues the wait, and what follows it on its stream, after the record"),
        },
        Rule::AclRefused => &RuleDoc {
            code: "acl-refused",
            group: Acl,
            severity: Error,
            title: "a call on an event that ACL refuses",
            explanation: "ACL returns an error: a `default` event waited for before its record, a `timeline` event \
                waited for by a stream, a `default` or `sync` event inside a capture, a reset of an \
                event that is no flag (facts/acl.md section 3). Waits across devices, which ACL accepts \
                and may lose, cannot be written down in a schedule: every rank has its own events.",
            fix: None,
        },
        Rule::AclEventReuse => &RuleDoc {
            code: "acl-event-reuse",
            group: Acl,
            severity: Error,
            title: "a `sync` event recorded again without a reset",
            explanation: "The flag of a `sync` or `external` event stays set until a reset. A wait meant for the \
                second record finds it set by the first and passes at once (facts/acl.md section 3). \
                Reset it on the waiting stream after the wait, or use an `ex` event.",
            fix: Some(
                "makes the event an `ex` event without resets, where nothing waits before its record",
            ),
        },
        Rule::AclResetEarly => &RuleDoc {
            code: "acl-reset-early",
            group: Acl,
            severity: Error,
            title: "a reset that a wait for the event may still come after",
            explanation: "Nothing orders the reset after every wait for the event. With several waiting streams \
                the late one loses the signal and hangs (facts/acl.md section 3).",
            fix: Some(
                "makes the event an `ex` event without resets, where nothing waits before its record",
            ),
        },
        Rule::AclHostFunction => &RuleDoc {
            code: "acl-host-function",
            group: Acl,
            severity: Error,
            title: "a host function that calls ACL",
            explanation: "Functions queued by `aclrtLaunchHostFunc` run on a thread of the runtime, which \
                deadlocks when they call ACL (facts/acl.md section 9).",
            fix: None,
        },
        Rule::AclCaptureUnjoined => &RuleDoc {
            code: "acl-capture-unjoined",
            group: Acl,
            severity: Error,
            title: "a side stream that does not join a capture, or does not come back to its origin",
            explanation: "A stream takes part in a capture after it has waited for an event recorded in it; before \
                the end, the origin must wait for its last op, or the capture fails with 107025 \
                (facts/acl.md section 10).",
            fix: None,
        },
        Rule::AclCaptureForeignWait => &RuleDoc {
            code: "acl-capture-foreign-wait",
            group: Acl,
            severity: Error,
            title: "a wait inside a capture for an event recorded outside",
            explanation: "ACL refuses it with 107024 unless the wait has the external flag, which needs new \
                firmware; an `external` event with a reset in the graph works everywhere (facts/acl.md \
                section 10).",
            fix: None,
        },
        Rule::AclCaptureSync => &RuleDoc {
            code: "acl-capture-sync",
            group: Acl,
            severity: Error,
            title: "a synchronisation inside a capture with what is being captured",
            explanation: "Synchronising a capturing stream, an event recorded in the capture, or the device fails \
                with 107027 (facts/acl.md section 10).",
            fix: None,
        },
        Rule::AclCaptureDefaultStream => &RuleDoc {
            code: "acl-capture-default-stream",
            group: Acl,
            severity: Error,
            title: "the default stream in a capture",
            explanation: "The default stream cannot be captured: 107031 (facts/acl.md section 10).",
            fix: None,
        },
        Rule::AclCaptureBlockingCopy => &RuleDoc {
            code: "acl-capture-blocking-copy",
            group: Acl,
            severity: Error,
            title: "a synchronous or pageable copy in a global capture",
            explanation: "Synchronous copies and copies of pageable memory are refused while a capture in global \
                mode is going on, from any thread: 107030, 107041 (facts/acl.md section 10).",
            fix: None,
        },
        Rule::AclCollectiveSize => &RuleDoc {
            code: "acl-collective-size",
            group: Acl,
            severity: Error,
            title: "ranks that give one collective different sizes",
            explanation: "The k-th collective of a communicator has the same kind but another size on another \
                rank: most likely the ranks issue their collectives in different orders (vllm-ascend \
                #14527). HCCL then hangs, or moves the wrong bytes.",
            fix: None,
        },
        Rule::AclSharedExchange => &RuleDoc {
            code: "acl-shared-exchange",
            group: Acl,
            severity: Error,
            title: "other ops on the communicator of dispatch and combine",
            explanation: "The communicator of an MC2 exchange must carry no other op (facts/collectives.md 4.1).",
            fix: None,
        },
        Rule::AclNoMatmulAllReduce => &RuleDoc {
            code: "acl-no-matmul-all-reduce",
            group: Acl,
            severity: Error,
            title: "MatmulAllReduce on 910C",
            explanation: "The operator is built for 910B only (facts/collectives.md 4.3).",
            fix: None,
        },
        Rule::LimitStreams => &RuleDoc {
            code: "limit-streams",
            group: Limits,
            severity: Error,
            title: "more streams than the device has",
            explanation: "Streams of the rank, of each captured graph, and 40 for each communicator that the AICPU \
                expands come out of one budget (facts/acl.md sections 0 and 10, facts/collectives.md \
                3.2). Beyond it capture fails with 207008, late and far from the cause.",
            fix: None,
        },
        Rule::LimitEvents => &RuleDoc {
            code: "limit-events",
            group: Limits,
            severity: Error,
            title: "more flag events than the device has ids",
            explanation: "Each `sync` or `external` event takes one of 65,536 ids at its creation; beyond them \
                creation fails with 207007, and records of `ex` events too (facts/acl.md section 3).",
            fix: None,
        },
        Rule::LimitNotifies => &RuleDoc {
            code: "limit-notifies",
            group: Limits,
            severity: Error,
            title: "more notifies than the device has",
            explanation: "8,192 notifies per device, of which each communicator that the AICPU expands takes 64 \
                (facts/acl.md section 4, facts/collectives.md 3.2).",
            fix: None,
        },
        Rule::LimitArguments => &RuleDoc {
            code: "limit-arguments",
            group: Limits,
            severity: Error,
            title: "more arguments than a launch takes",
            explanation: "A kernel launch takes at most 128 arguments (facts/acl.md section 8).",
            fix: None,
        },
        Rule::LimitAicpuGraphs => &RuleDoc {
            code: "limit-aicpu-graphs",
            group: Limits,
            severity: Error,
            title: "more graphs with AICPU collectives at once than the AICPU can run",
            explanation: "An AICPU kernel that waits occupies an AICPU core; more than 6 graphs with AICPU \
                collectives at once fill them and communication blocks (facts/collectives.md 3.4).",
            fix: None,
        },
        Rule::LimitAivCores => &RuleDoc {
            code: "limit-aiv-cores",
            group: Limits,
            severity: Error,
            title: "an AIV collective with fewer vector cores than it needs",
            explanation: "Under a core limit HCCL takes the kernel that needs least; below its minimum the call \
                fails with HCCL_E_PARA. Broadcast has no such kernel and needs a core per rank \
                (facts/collectives.md section 6 rule 1).",
            fix: None,
        },
        Rule::LimitFusedRanks => &RuleDoc {
            code: "limit-fused-ranks",
            group: Limits,
            severity: Error,
            title: "DispatchFFNCombine over more than 32 ranks",
            explanation: "The kernel is built for up to 32 ranks (facts/collectives.md 4.2).",
            fix: None,
        },
        Rule::WasteImpliedWait => &RuleDoc {
            code: "waste-implied-wait",
            group: Waste,
            severity: Warning,
            title: "a wait for what is done by then anyway",
            explanation: "Without the wait the record is known to be done at the same place, by other events, \
                stream order or a host synchronisation. It costs a task, and an event id while it is \
                pending.",
            fix: Some("drops the wait"),
        },
        Rule::WasteSameStream => &RuleDoc {
            code: "waste-same-stream",
            group: Waste,
            severity: Warning,
            title: "a wait for a record of the same stream",
            explanation: "Stream order does it already. ACL queues nothing for an `ex` wait, but the record is a \
                task on every layer (facts/schedules.md C1).",
            fix: Some("drops the wait"),
        },
        Rule::WasteRecord => &RuleDoc {
            code: "waste-record",
            group: Waste,
            severity: Warning,
            title: "a record that orders nothing",
            explanation: "No wait or synchronisation that matters is bound to it.",
            fix: Some("drops the record"),
        },
        Rule::WasteDuplicatePrefetch => &RuleDoc {
            code: "waste-duplicate-prefetch",
            group: Waste,
            severity: Warning,
            title: "a prefetch of what was just prefetched",
            explanation: "Nothing has used the bytes since the first prefetch; the second takes HBM bandwidth and \
                an SDMA channel for nothing (vllm-ascend #6629).",
            fix: Some("drops the second prefetch"),
        },
        Rule::WastePrefetch => &RuleDoc {
            code: "waste-prefetch",
            group: Waste,
            severity: Warning,
            title: "more prefetched than L2 can hold beside the work",
            explanation: "What is prefetched and not used yet exceeds half of L2. The rest is what the kernels \
                work in; in a published sweep throughput turned over between 100 and 120 MB of 192 MiB \
                (vllm-ascend #1509).",
            fix: None,
        },
        Rule::WasteNoOverlap => &RuleDoc {
            code: "waste-no-overlap",
            group: Waste,
            severity: Warning,
            title: "a side stream that cannot overlap with anything",
            explanation: "Every op on it is ordered with every op on the other streams, so it saves nothing and \
                costs its events.",
            fix: None,
        },
        Rule::WasteStreamPerLayer => &RuleDoc {
            code: "waste-stream-per-layer",
            group: Waste,
            severity: Warning,
            title: "a stream for each layer",
            explanation: "One side stream shared by all layers does the same with fewer streams and events; one \
                per layer was much slower (vllm-ascend #3667).",
            fix: None,
        },
        Rule::WasteIdleStream => &RuleDoc {
            code: "waste-idle-stream",
            group: Waste,
            severity: Warning,
            title: "a stream of a graph that only records and waits",
            explanation: "Every stream of a capture takes one of the device for every captured size, so that fewer \
                sizes fit (vllm-ascend #8635).",
            fix: None,
        },
        Rule::WasteBlockingCopy => &RuleDoc {
            code: "waste-blocking-copy",
            group: Waste,
            severity: Warning,
            title: "a copy that stops its host thread",
            explanation: "A synchronous copy, or an asynchronous one of pageable memory, returns when it is done \
                (facts/acl.md section 6): the device runs dry behind it.",
            fix: None,
        },
        Rule::WasteAllToAllV => &RuleDoc {
            code: "waste-all-to-all-v",
            group: Waste,
            severity: Warning,
            title: "a large AllToAllV on vector cores",
            explanation: "AllToAllV never falls back from AIV; it is advised up to 1 MiB per pair of ranks \
                (facts/collectives.md section 6 rule 11).",
            fix: None,
        },
        Rule::WasteInPlace => &RuleDoc {
            code: "waste-in-place",
            group: Waste,
            severity: Note,
            title: "an AICPU collective in place",
            explanation: "Where input and output overlap, the AICPU expands the collective anew on every call \
                (facts/collectives.md 3.3).",
            fix: None,
        },
        Rule::WasteLoops => &RuleDoc {
            code: "waste-loops",
            group: Waste,
            severity: Warning,
            title: "a message that does not fit the CCL buffer",
            explanation: "The op goes over the buffer in a loop, and HCCL logs a warning (facts/collectives.md \
                section 6 rule 15).",
            fix: None,
        },
        Rule::WasteLeavesAiv => &RuleDoc {
            code: "waste-leaves-aiv",
            group: Waste,
            severity: Warning,
            title: "an AIV collective that cannot use the fast kernels",
            explanation: "Determinism, products and int64 leave the fast AIV kernels (facts/collectives.md section \
                6 rule 16).",
            fix: None,
        },
        Rule::WasteSingleRing => &RuleDoc {
            code: "waste-single-ring",
            group: Waste,
            severity: Note,
            title: "a communicator without package mates",
            explanation: "With one rank per package the AICPU builds a single ring, at about half the bandwidth \
                (facts/collectives.md section 6 rule 13).",
            fix: None,
        },
    }
}
