//! How long an op takes and how much it does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::{Expr, Extra};

/// A time with its provenance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The time in ns, a whole number where it was measured. A negative or non-finite value is
    /// refused when the schedule is read or compiled.
    pub ns: Expr,
    /// Where the number comes from.
    pub from: Provenance,
    /// A note for people: the file and row, the formula, the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub note: Option<SmolStr>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

impl Measured {
    /// A time of `ns` nanoseconds with provenance `from` and no note.
    pub fn new(ns: impl Into<Expr>, from: Provenance) -> Self {
        Self {
            ns: ns.into(),
            from,
            note: None,
            extra: Extra::default(),
        }
    }
}

/// Where a time comes from, from the most to the least trustworthy.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// Measured on a device and recorded by a profiler.
    Measured,
    /// Solved for from measurements (for instance a duration freed from contention).
    Derived,
    /// Stated by a person or a publication.
    Stated,
    /// Computed by a hardware model.
    Modelled,
    /// Assumed for want of anything better.
    Assumed,
}

/// What an op does, for the hardware model: operations and bytes, not time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// Operations on cube cores (a multiply-add counts as two).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cube_flops: Option<Expr>,
    /// Operations on vector cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_flops: Option<Expr>,
    /// Bytes read from memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<Expr>,
    /// Bytes written to memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<Expr>,
    /// Data type of the operands (`bf16`, `int8`, …), which selects the peak rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub dtype: Option<SmolStr>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What is left of an observed start when everything derived has been taken away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delay {
    /// How much later than derived the op starts, in ns.
    pub ns: Expr,
    /// Why.
    pub cause: DelayCause,
    /// A note for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub note: Option<SmolStr>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Why an op starts later than derived.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DelayCause {
    /// A cause that the capture records (the note names it).
    Recorded,
    /// A rank that is not in the capture.
    External,
    /// The host was busy between calls.
    HostThink,
    /// Nothing in the capture explains it.
    Unexplained,
}
