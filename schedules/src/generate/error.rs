//! Why no schedule was generated.

use crate::validate::Invalid;

/// Why no schedule was generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// A model that is not known.
    #[error("no model is called `{name}`; there are {known}")]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A stack that is not known.
    #[error("no stack is called `{name}`; there are {known}")]
    UnknownStack {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Something that is known, but for which no op list is: it is not made up.
    #[error("cannot generate {what}: {why}")]
    Refused {
        /// What was asked for.
        what: String,
        /// Why, and what would be needed.
        why: String,
    },
    /// A number of the request that cannot be.
    #[error("{0}")]
    Request(String),
    /// A fault in the data of this crate.
    #[error("{file}: {what}; this is a fault of the op lists")]
    Data {
        /// The file.
        file: String,
        /// What is wrong.
        what: String,
    },
    /// The generated schedule is not valid: a fault of the generator.
    #[error("the generated schedule is not valid: {0}")]
    Invalid(#[from] Invalid),
}

impl GenerateError {
    pub(super) fn refused(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Refused {
            what: what.into(),
            why: why.into(),
        }
    }

    /// Whether the request is at fault, not this crate.
    pub fn is_of_request(&self) -> bool {
        !matches!(self, Self::Data { .. } | Self::Invalid(_))
    }
}
