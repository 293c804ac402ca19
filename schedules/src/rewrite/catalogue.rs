//! The changes there are, with what each needs and cannot model.

use super::parse::{ChangeError, Keys};
use super::{Change, LaunchMode, layout, redundant, shared};

/// What a change is, for help and documentation.
#[derive(Clone, Copy, Debug)]
pub struct ChangeDoc {
    /// Its name.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// Its keys.
    pub keys: &'static [KeyDoc],
    /// What must hold, what it rewrites, what it cannot model.
    pub details: &'static str,
    /// An example that parses.
    pub example: &'static str,
    /// Makes the change of the values of its keys.
    pub(super) parse: fn(&Keys) -> Result<Change, ChangeError>,
}

/// A key of a change.
#[derive(Clone, Copy, Debug)]
pub struct KeyDoc {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be given.
    pub required: bool,
    /// What its value means, with unit and default.
    pub meaning: &'static str,
}

pub(super) const SELECT: KeyDoc = KeyDoc {
    name: "select",
    required: true,
    meaning: "selector of the ops",
};

pub(super) const CATALOGUE: &[ChangeDoc] = &[
    ChangeDoc {
        name: "scale",
        summary: "multiply durations",
        keys: &[
            SELECT,
            KeyDoc {
                name: "factor",
                required: true,
                meaning: "factor, 0 or more",
            },
        ],
        details: "The duration of every selected op, or of the parts of a selected group, is \
                  multiplied. Delays and host times stay. For a collective it is the time from the \
                  last rank's start. It cannot model why the duration would change.",
        example: "scale:select=name=MatMul*,factor=0.8",
        parse: |keys| {
            Ok(Change::Scale {
                select: keys.selector("select")?,
                factor: keys.number("factor")?,
            })
        },
    },
    ChangeDoc {
        name: "set-duration",
        summary: "replace durations",
        keys: &[
            SELECT,
            KeyDoc {
                name: "us",
                required: true,
                meaning: "duration in µs, 0 or more",
            },
        ],
        details: "As scale, with a duration in place of a factor.",
        example: "set-duration:select=name=MatMul*,us=12.5",
        parse: |keys| {
            Ok(Change::SetDuration {
                select: keys.selector("select")?,
                ns: keys.microseconds("us")?,
            })
        },
    },
    ChangeDoc {
        name: "remove",
        summary: "remove ops",
        keys: &[SELECT],
        details: "Removes kernels, copies, collectives and host ops. Event, notify and value ops are \
                  refused: others depend on them. A collective goes on every rank that runs the \
                  program. Whether anybody needs the result is checked only where accesses are known.",
        example: "remove:select=name=Transpose*|Cast*",
        parse: |keys| {
            Ok(Change::Remove {
                select: keys.selector("select")?,
            })
        },
    },
    ChangeDoc {
        name: "move-to-stream",
        summary: "run ops on another stream between two join points",
        keys: &[
            SELECT,
            KeyDoc {
                name: "stream",
                required: true,
                meaning: "the stream; declared if it is new",
            },
            KeyDoc {
                name: "after",
                required: false,
                meaning: "selector of the op after which they may start: the last match before them",
            },
            KeyDoc {
                name: "before",
                required: false,
                meaning: "selector of the op that waits for them: the first match after them",
            },
        ],
        details: "The ops keep their place in the host issue order. An event recorded after the \
                  `after` op holds them back, and the `before` op waits for an event recorded after \
                  the last of them. Without join points they are derived from the ops' accesses; \
                  where these are unknown (every import) the change is refused.",
        example: "move-to-stream:select=module=moe.shared.*,stream=S1,after=name=Cast,before=name=Add",
        parse: |keys| {
            Ok(Change::MoveToStream {
                select: keys.selector("select")?,
                stream: keys.text("stream")?.into(),
                after: keys.optional_selector("after")?,
                before: keys.optional_selector("before")?,
            })
        },
    },
    ChangeDoc {
        name: "move-wait",
        summary: "move waits to before another op",
        keys: &[
            KeyDoc {
                name: "select",
                required: true,
                meaning: "selector of the waits",
            },
            KeyDoc {
                name: "before",
                required: true,
                meaning: "selector of ops on the stream of the wait; the nearest one counts",
            },
        ],
        details: "Refused where the wait would be issued before its record, since ACL would drop it.",
        example: "move-wait:select=kind=wait event=E1,before=name=GroupedMatmul",
        parse: |keys| {
            Ok(Change::MoveWait {
                select: keys.selector("select")?,
                before: keys.selector("before")?,
            })
        },
    },
    ChangeDoc {
        name: "move-record",
        summary: "move records to after another op",
        keys: &[
            KeyDoc {
                name: "select",
                required: true,
                meaning: "selector of the records",
            },
            KeyDoc {
                name: "after",
                required: true,
                meaning: "selector of ops on the stream of the record; the nearest one counts",
            },
        ],
        details: "Refused where the record would be issued after its wait, since ACL would drop it.",
        example: "move-record:select=kind=record event=E1,after=name=Cast",
        parse: |keys| {
            Ok(Change::MoveRecord {
                select: keys.selector("select")?,
                after: keys.selector("after")?,
            })
        },
    },
    ChangeDoc {
        name: "drop-wait",
        summary: "remove waits",
        keys: &[KeyDoc {
            name: "select",
            required: true,
            meaning: "selector of the waits",
        }],
        details: "Records that nobody waits for any more go too. Whether the order was needed is not \
                  known on an import.",
        example: "drop-wait:select=kind=wait event=E1",
        parse: |keys| {
            Ok(Change::DropWait {
                select: keys.selector("select")?,
            })
        },
    },
    ChangeDoc {
        name: "drop-record",
        summary: "remove records and the waits bound to them",
        keys: &[KeyDoc {
            name: "select",
            required: true,
            meaning: "selector of the records",
        }],
        details: "Refused for `sync` and `external` events, whose waits would hang, and where the host \
                  synchronises with the event.",
        example: "drop-record:select=kind=record event=E1",
        parse: |keys| {
            Ok(Change::DropRecord {
                select: keys.selector("select")?,
            })
        },
    },
    redundant::DROP,
    redundant::MERGE,
    shared::DOC,
    layout::ONE_STREAM,
    layout::PER_LAYER,
    layout::ADD_EVENT,
    ChangeDoc {
        name: "eager",
        summary: "issue every op by a call of its own",
        keys: &[
            KeyDoc {
                name: "us",
                required: true,
                meaning: "host time per call in µs",
            },
            KeyDoc {
                name: "event-us",
                required: false,
                meaning: "host time per record, wait or notify in µs; default a fifth of us",
            },
        ],
        details: "Captured graphs are issued op by op. Kernels run as long as before. Host think and \
                  work between calls stay.",
        example: "eager:us=5",
        parse: |keys| {
            let op_ns = keys.microseconds("us")?;
            let event_ns = match keys.get("event-us") {
                Some(_) => keys.microseconds("event-us")?,
                None => op_ns / 5.0,
            };
            Ok(Change::Launch(LaunchMode::Eager { op_ns, event_ns }))
        },
    },
    ChangeDoc {
        name: "graph",
        summary: "capture what is issued between host calls, and launch it by one call",
        keys: &[KeyDoc {
            name: "us",
            required: false,
            meaning: "host time of a launch in µs; default 20, which is assumed",
        }],
        details: "Each run of ops between calls that cannot be captured (synchronisation, blocking \
                  copies, host work) becomes a graph. Host think time between its first and its last op \
                  goes, and so do hand-overs between threads: one thread launches. Host time before \
                  and after stays. Side streams are joined from and to the main stream at both ends. \
                  Ranks that were not captured arrive as before.",
        example: "graph:us=20",
        parse: |keys| {
            let launch_ns = match keys.get("us") {
                Some(_) => keys.microseconds("us")?,
                None => 20_000.0,
            };
            Ok(Change::Launch(LaunchMode::Graph { launch_ns }))
        },
    },
];

/// All changes, in the order of the documentation.
pub fn catalogue() -> &'static [ChangeDoc] {
    CATALOGUE
}
