//! What a simulation predicts, in the form that the executor compares with what it measures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Extra, PredictionFormat};

/// Predicted times of one step of a schedule. Written by what-if, read by the executor for drift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// The version of the format.
    pub format: PredictionFormat,
    /// Structure hash of the schedule, in hexadecimal.
    pub structure: String,
    /// Content hash of the schedule, in hexadecimal.
    pub content: String,
    /// Version of the tool that made it.
    pub tool: String,
    /// From the start of the first task to the end of the last.
    pub makespan: Span,
    /// One entry per op instance that takes device or host time, by rank and issue order.
    pub ops: Vec<OpPrediction>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Predicted times of one op instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpPrediction {
    /// The rank.
    pub rank: u32,
    /// The path of the instance: ids from the rank's program inwards, as in `step[2]/gate`.
    pub op: String,
    /// Predicted start in ns from the start of the step.
    pub start_ns: i64,
    /// Predicted end in ns from the start of the step.
    pub end_ns: i64,
    /// Range of its running time.
    pub duration: Span,
}

/// A value with its range, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The value.
    pub ns: i64,
    /// The low end of the range.
    pub low_ns: i64,
    /// The high end of the range.
    pub high_ns: i64,
}
