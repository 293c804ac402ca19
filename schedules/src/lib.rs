//! The schedule IR of ascsim: what is issued to the streams of Ascend devices, in which order, and
//! what must happen before what.
//!
//! One representation serves the checker, the simulator and the executor.
//!
//! * [`ir`]: the types of a [`Schedule`].
//! * [`format`](mod@format): its files. [`validate`]: what readers and writers refuse, so that the
//!   rest may take it for granted.
//! * [`hash`]: its two hashes. [`builder`]: schedules in code. [`dump`]: schedules for people.
//! * [`generate`](mod@generate): schedules from a model config.
//! * [`flat`]: a schedule unrolled into op instances, with every name resolved.
//! * [`order`]: which op is done before which other starts, in every run.
//! * [`acl`]: an executable model of ACL; [`explore`] visits every run of a small schedule on it.
//!
//! # What a schedule means
//!
//! 1. **Host issue order.** The ops of a program are listed in the order in which the host makes the
//!    calls. Each host thread makes its own calls one after the other. Calls that touch the same
//!    object (a stream, an event, a communicator) are made in list order even when different threads
//!    make them; calls of different threads on different objects are not ordered.
//! 2. **Streams are FIFOs.** A device op starts when the op before it on its stream has ended, the
//!    host has issued it, and its own waits are met.
//! 3. **Ranks are instances.** Streams, events, notifies and buffers are declared once and exist once
//!    per rank: two ranks that run one program share no object, unless an op names a
//!    [`Peer`].
//! 4. **Ex events bind when issued.** A wait on an `ex` event waits for the latest record of that
//!    event listed before it; with none, it does nothing (facts/acl.md section 3).
//! 5. **Dependencies are derived**, never stored: from streams, events, notifies, collectives, host
//!    threads and synchronisations.

pub mod acl;
pub mod builder;
mod certificate;
pub mod dump;
pub mod explore;
pub mod flat;
pub mod footprint;
pub mod format;
pub mod generate;
pub mod hash;
pub mod ir;
pub mod library;
pub mod order;
mod path;
pub mod rewrite;
pub mod select;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod validate;

pub use certificate::{Certificate, CertifiedFinding, Severity};
pub use ir::*;
pub use path::{JsonPath, JsonStep};
