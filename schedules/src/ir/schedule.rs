//! The schedule itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Buffer, CaptureMode, Communicator, CommunicatorName, Delay, Event, Expr, Extra, Measured,
    Notify, Op, OpId, ProgramName, ScheduleFormat, Stream, StreamName, Variable,
};

/// Everything that is issued, by whom, where and in which order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// The version of the format.
    pub format: ScheduleFormat,
    /// Its name, for people.
    pub name: String,
    /// What it is, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Random variables that durations and bytes may depend on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// Buffers; one instance per rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<Buffer>,
    /// Streams; one instance per rank, and one more per captured program that uses it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<Stream>,
    /// Events; one instance per rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// Notifies; one instance per rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notifies: Vec<Notify>,
    /// Communicators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub communicators: Vec<Communicator>,
    /// Programs; ranks and other programs name them.
    pub programs: Vec<Program>,
    /// Which ranks run which program. Every rank appears once.
    pub ranks: Vec<RankGroup>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A list of ops in host issue order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// Its name.
    pub name: ProgramName,
    /// Set for a program that is captured once and replayed by graph launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// Its ops in host issue order.
    pub ops: Vec<Op>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How a program is captured. Its streams are instances of their own, not those of the caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capture {
    /// The stream on which capture begins and ends; every other stream joins from it and returns
    /// to it.
    pub origin: StreamName,
    /// Capture mode.
    #[serde(default)]
    pub mode: CaptureMode,
    /// The batch or token count it is captured for, which smaller ones are padded to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Consecutive ranks that run the same program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankGroup {
    /// The first rank.
    pub first: u32,
    /// How many ranks; at least one.
    pub count: u32,
    /// The program they run. None for external ranks: they take part in collectives, but what they
    /// do is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramName>,
    /// Where each rank is; one entry per rank, or empty for rank `r` on die `r % 2` of package
    /// `r / 2 % 8` of server `r / 16`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
    /// What differs on single ranks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Where a rank is: one die is one ACL device.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The server.
    pub server: u32,
    /// The package in it.
    pub package: u32,
    /// The die in it.
    pub die: u32,
}

impl Device {
    /// Where rank `rank` is unless its group says otherwise: die `rank % 2` of package `rank / 2 % 8`
    /// of server `rank / 16` (Atlas A3: 8 packages of 2 dies).
    pub fn of_rank(rank: u32) -> Self {
        Self {
            server: rank / 16,
            package: rank / 2 % 8,
            die: rank % 2,
        }
    }
}

/// What differs on one rank from the program it shares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Override {
    /// The rank.
    pub rank: u32,
    /// The program that holds the op.
    pub program: ProgramName,
    /// The op.
    pub op: OpId,
    /// Its duration on this rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Measured>,
    /// Its host issue time on this rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<Measured>,
    /// Its delay on this rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// The bytes of its copy, prefetch or communication on this rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Expr>,
    /// The peer of its notify record or value write on this rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<Peer>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Whose instance of an object an op means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Peer {
    /// The rank's own.
    #[default]
    Own,
    /// That of a given rank.
    Rank(u32),
    /// That of the member `offset` places further on in the rank's group of a communicator, going
    /// round at the end.
    Member {
        /// The communicator.
        communicator: CommunicatorName,
        /// How many places further on; may be negative.
        offset: i32,
    },
}

impl Peer {
    /// Whether it is the rank's own.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Own)
    }
}
