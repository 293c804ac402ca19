//! The result of a what-if, as it is written to JSON. Times are whole ns.

use ascsim_schedules::rewrite::Note;
use serde::{Deserialize, Serialize};

/// The answer to a what-if.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// `ascsim.what-if/1`.
    pub format: String,
    /// The tool and its version.
    pub tool: String,
    /// What was read.
    pub source: Source,
    /// What holds before as well as after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<AppliedChange>,
    /// The changes in the order in which they were applied.
    pub changes: Vec<AppliedChange>,
    /// One answer per reading of the input; the last one counts. A perturbed capture has two: with
    /// the gaps as recorded, and with clean ones.
    pub answers: Vec<Answer>,
    /// What was assumed, and what is doubtful.
    pub notes: Vec<Note>,
}

impl WhatIf {
    /// The value of `format` that this version writes.
    pub const FORMAT: &str = "ascsim.what-if/1";

    /// The answer that counts.
    pub fn answer(&self) -> Option<&Answer> {
        self.answers.last()
    }
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The path as given, or the name of the built-in example.
    pub path: String,
    /// What it is.
    pub kind: SourceKind,
    /// Content hash of the schedule that was read or recovered, in hexadecimal.
    pub content: String,
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// An example that is part of the tool.
    BuiltIn,
    /// A schedule file.
    Schedule,
    /// A profile.
    Profile,
}

/// A change that was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedChange {
    /// Its text.
    pub change: String,
    /// How many ops it touched.
    pub touched: usize,
}

/// Before and after, for one reading of the input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// How the input was read, such as `recorded gaps`; empty where there is one way only.
    pub reading: String,
    /// The schedule as it is.
    pub before: Side,
    /// The schedule with the changes; absent where none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Outcome>,
    /// After less before; absent where there is no after, or it hangs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Range>,
    /// Why the changes gain nothing or lose; empty where they gain.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// What takes less of the critical path after than before, the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_path: Vec<PathChange>,
    /// What takes more of it, the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entered_path: Vec<PathChange>,
    /// What carries the range of the difference (of the makespan without an after), the greatest
    /// first.
    pub carriers: Vec<Carrier>,
}

/// What became of a changed schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ends.
    Ends(Side),
    /// It hangs.
    Hangs(Hang),
}

/// Why a schedule hangs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hang {
    /// In words.
    pub why: String,
    /// The ops in the chain of waits, each waiting for the next.
    pub ops: Vec<String>,
    /// Ranks that are waited for.
    pub ranks: Vec<u32>,
}

/// A simulated schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// From the start of the step to the end of the last device task.
    pub makespan: Range,
    /// Start of the first device task in ns from the start of the step; 0 where there is none.
    pub first_task_ns: i64,
    /// Where the time went; adds up to the makespan exactly.
    pub blame: Vec<BlameEntry>,
    /// The critical path: its longest stretches in the order of time.
    pub critical_path: Vec<PathEntry>,
    /// Its streams.
    pub streams: Vec<StreamLine>,
    /// Whether the ops of side streams run beside others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlap: Vec<Overlap>,
}

/// How much of the time of an op something ran on the other streams of its rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlap {
    /// The rank.
    pub rank: u32,
    /// The side stream.
    pub stream: String,
    /// The op's path.
    pub op: String,
    /// How long it ran.
    pub ns: i64,
    /// How much of that something else ran too.
    pub beside_ns: i64,
    /// What to call that.
    pub kind: OverlapKind,
}

/// Whether an op ran in parallel (facts/schedules.md B7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverlapKind {
    /// For half of its time or more.
    True,
    /// For more than a twentieth of it.
    Partial,
    /// For less.
    Fake,
}

/// How much of the critical path an op takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChange {
    /// The rank.
    pub rank: u32,
    /// The op's path.
    pub op: String,
    /// Before, in ns.
    pub before_ns: i64,
    /// After, in ns.
    pub after_ns: i64,
}

/// A value with the range in which 90 % of the samples fall, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The value with every parameter at its nominal value.
    pub ns: i64,
    /// The 5th percentile of the samples.
    pub low_ns: i64,
    /// The 95th percentile of the samples.
    pub high_ns: i64,
}

/// A share of the makespan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlameEntry {
    /// On what it was spent.
    pub category: String,
    /// How much, in ns.
    pub ns: i64,
}

/// A stretch of the critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathEntry {
    /// The rank.
    pub rank: u32,
    /// The op's path.
    pub op: String,
    /// On what it was spent.
    pub category: String,
    /// Start in ns from the start of the step.
    pub start_ns: i64,
    /// Length in ns.
    pub ns: i64,
}

/// A stream and what it carried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamLine {
    /// The rank.
    pub rank: u32,
    /// Its name, with the captured program it belongs to, if any.
    pub stream: String,
    /// Time in which a task other than a wait ran, in ns.
    pub busy_ns: i64,
    /// Its tasks in order, without records, waits and other tasks of no length.
    pub tasks: Vec<StreamTask>,
}

/// A task on a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTask {
    /// The op's path.
    pub op: String,
    /// What it is: `kernel`, `collective`, `copy`, `wait`, ….
    pub kind: String,
    /// Start in ns from the start of the step.
    pub start_ns: i64,
    /// End in ns.
    pub end_ns: i64,
}

/// A parameter and how much of a range it carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carrier {
    /// Its name.
    pub parameter: String,
    /// What it is, with its range.
    pub meaning: String,
    /// Where its range comes from.
    pub source: String,
    /// Whether it was measured; an uncalibrated range is a guess.
    pub calibrated: bool,
    /// Width of the range when only this parameter varies, in ns.
    pub width_ns: i64,
}
