//! The types of the IR. Each module holds one idea; [`Schedule`] ties them together.
//!
//! Every type reads from and writes to JSON by itself, so the file format is these types. A struct
//! that a later minor version may extend keeps what it does not know in `extra`; the others are closed
//! and refuse unknown fields, so that nothing is ever dropped in silence.

mod access;
mod cost;
mod declare;
mod expr;
mod expr_text;
mod extra;
mod host;
mod kind;
mod kind_name;
mod launch;
mod limits;
mod name;
mod op;
mod prediction;
mod schedule;
mod tags;
mod version;

pub use access::{Access, AccessMode, Accesses, Range};
pub use cost::{Delay, DelayCause, Measured, Provenance, Work};
pub use declare::{
    Buffer, Communicator, CoreLimit, Event, EventKind, Expansion, Memory, Notify, Owner, Stream,
    View,
};
pub use expr::{Distribution, EvalError, Expr, Variable, VariableRef};
pub use extra::Extra;
pub use host::{HostKind, SyncTarget};
pub use kind::{
    CaptureMode, Collective, CollectiveKind, Comm, Compare, CopyDirection, Cores, GraphLaunch,
    Group, GroupTask, Kernel, Memcpy, NotifyRecord, NotifyWait, OpKind, Prefetch, Record, Repeat,
    ScheduleMode, SuperKernel, TaskUpdate, ValueWait, ValueWrite, Wait,
};
pub use launch::{Argument, Launch};
pub use limits::Limits;
pub use name::{
    BufferName, CommunicatorName, EventName, NotifyName, OpId, ProgramName, StreamName, ThreadName,
};
pub use op::Op;
pub use prediction::{OpPrediction, Prediction, Span};
pub use schedule::{Capture, Device, Override, Peer, Program, RankGroup, Schedule};
pub use tags::Tags;
pub use version::{PredictionFormat, ScheduleFormat, UnknownVersion};
