//! An executable model of ACL: what each call does to streams, events, notifies, words of memory,
//! queues, captures and graphs, and what devices then may do (facts/acl.md sections 2, 3, 4, 5, 9, 10
//! and 16).
//!
//! It has no clock. The explorer runs it over every reachable state; the emulator is tested against
//! it.
//!
//! Where the facts name no code: a destroyed or unknown object is `INVALID_HANDLE`, a query of an
//! event of a capture `EVENT_CAPTURED`, a device synchronisation during a capture
//! `CAPTURE_MODE_NOT_SUPPORT`, a second external use of an event in one graph `PARAM_INVALID`.

mod call;
mod capture;
mod error;
mod event;
mod machine;
mod queue;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use call::{
    Call, Comm, EVENT_CAPTURE_STREAM_PROGRESS, EVENT_EXTERNAL, EVENT_IPC, EVENT_SYNC,
    EVENT_TIME_LINE, Event, Graph, Notify, PartCall, Reply, Stream, Value,
};
pub use error::AclError;
pub use machine::Machine;
pub use state::Config;
pub use step::{Effect, Step};
