//! Launch bindings: what the executor calls for an op.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::{BufferName, Extra};

/// What the executor calls for an op. Ops whose kind says it all (copies, events, notifies, values,
/// prefetches, collectives) need none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Launch {
    /// A function of a kernel binary (facts/acl.md section 8).
    Kernel {
        /// Path of the binary; relative to the schedule file.
        binary: String,
        /// Name of the function in it.
        function: String,
        /// Arguments from left to right, at most 128.
        arguments: Vec<Argument>,
        /// Unknown fields.
        #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
        #[schemars(skip)]
        extra: Extra,
    },
    /// A two-phase operator (facts/acl.md section 11).
    Aclnn {
        /// Its name without the suffix: `aclnnAdd`.
        operator: String,
        /// Arguments from left to right.
        arguments: Vec<Argument>,
        /// Unknown fields.
        #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
        #[schemars(skip)]
        extra: Extra,
    },
    /// A function that the host framework registered, which enqueues the op itself on the stream it
    /// is given.
    Callback {
        /// The name it is registered under.
        #[schemars(with = "String")]
        name: SmolStr,
        /// Unknown fields.
        #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
        #[schemars(skip)]
        extra: Extra,
    },
}

/// An argument of a kernel or operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Argument {
    /// The device address of a buffer or view.
    Buffer(BufferName),
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// Whole numbers (shape, strides, axes).
    Ints(Vec<i64>),
    /// A tensor for an aclnn operator.
    Tensor {
        /// Its memory.
        buffer: BufferName,
        /// Its shape.
        shape: Vec<i64>,
        /// Its data type.
        #[schemars(with = "String")]
        dtype: SmolStr,
        /// Its format (`nd`, `nz`, …).
        #[schemars(with = "String")]
        format: SmolStr,
    },
}
