//! Changes that mend a finding.

use serde::Serialize;

/// One change of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// Records a new `ex` event after one op and waits for it before another of the same program.
    AddEvent {
        /// The program.
        program: String,
        /// The op after which it is recorded.
        after: String,
        /// The op before which it is waited for.
        before: String,
    },
}
