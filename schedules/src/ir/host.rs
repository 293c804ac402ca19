//! What the host does besides issuing device ops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::{EventName, StreamName};

/// What a host op does. Its `duration` is the host time it takes besides any waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HostKind {
    /// Work of the host between calls that has a name: tiling, input preparation, sampling.
    Work,
    /// Time between calls whose purpose is not known.
    Think,
    /// The thread waits until the target is done.
    Synchronise(SyncTarget),
    /// The host records an event that a captured graph waits for, by queueing a record on the op's
    /// stream outside the graph (facts/acl.md section 10, `external` events).
    RecordExternal {
        /// The event, of kind `external`.
        event: EventName,
    },
    /// A function that a thread of the runtime runs at this place of the op's stream; later ops of
    /// the stream wait for it. It must not call ACL (facts/acl.md section 9).
    Function {
        /// The name it is registered under.
        #[schemars(with = "String")]
        name: SmolStr,
        /// Whether it calls ACL, which deadlocks.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        calls_acl: bool,
    },
}

/// What a host thread waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncTarget {
    /// Everything issued to a stream before the call.
    Stream(StreamName),
    /// The latest record of an event issued before the call; returns at once if there is none.
    Event(EventName),
    /// Everything issued to any stream of the rank before the call.
    Device,
}
