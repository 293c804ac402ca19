//! What each rule says of itself.

use ascsim_schedules::Severity::{Error, Warning};

use super::RuleGroup::{Deadlock, Race};
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
    }
}
