//! What can go wrong with a call.

use super::Code;

/// Why a call had no effect or no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AclError {
    /// No library could be opened. Nothing was called.
    #[error(
        "no ACL library could be opened ({}); install CANN and source its set_env.sh, or name the \
         library with ASCSIM_ACL_LIB",
        tried.join("; ")
    )]
    Open {
        /// Each library tried with the loader's message.
        tried: Vec<String>,
    },
    /// The library has no such function: this CANN is older than the feature. Nothing was called.
    #[error("this CANN has no {function}")]
    Missing {
        /// The function.
        function: &'static str,
    },
    /// The function refused or failed. What it was to do is not done.
    #[error("{function} returned {code}{}{message}", if message.is_empty() { "" } else { ": " })]
    Call {
        /// The function.
        function: &'static str,
        /// What it returned.
        code: Code,
        /// What `aclGetRecentErrMsg` said right after; empty if nothing.
        message: String,
    },
    /// An argument that cannot be passed on, such as a range outside its memory. Nothing was called.
    #[error("{function}: {reason}")]
    Argument {
        /// The function.
        function: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl AclError {
    /// The code that the function returned, if it was called.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Call { code, .. } => Some(*code),
            Self::Open { .. } | Self::Missing { .. } | Self::Argument { .. } => None,
        }
    }

    /// Whether this says that the CANN or firmware lacks the feature (as against a failure).
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Missing { .. } => true,
            Self::Call { code, .. } => *code == Code::FEATURE_NOT_SUPPORT,
            Self::Open { .. } | Self::Argument { .. } => false,
        }
    }
}
