//! The parametric models of a capture, to be shown.

use serde::Serialize;

use super::parameters::{Parameters, Spread};
use crate::costs::Gaps;

/// The gap between two kinds of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GapRow {
    /// Kind of the task before the gap.
    pub from: &'static str,
    /// Kind of the task after it.
    pub to: &'static str,
    /// As recorded, ps, where the second task had long been issued.
    pub recorded: Spread,
    /// In a run that no profiler disturbs, ps (facts/traces.md section 2.6); `None` if it is not known.
    pub clean: Option<u64>,
}

/// What was fitted to a capture, in ps, each with its spread; `None` where the capture shows none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fitted {
    /// Gaps, the most frequent pair of kinds first.
    pub gaps: Vec<GapRow>,
    /// From the end of a call to the start of its task on a free stream; negative where tasks start
    /// before their calls return.
    pub launch: Option<Spread>,
    /// From the end of a record to the end of a wait that it ended.
    pub event: Option<Spread>,
    /// From the end of the work that a host synchronisation waited for to its return.
    pub synchronise: Option<Spread>,
    /// From when something was handed over to when a waiting thread took it.
    pub hand_over: Option<Spread>,
}

impl Fitted {
    /// What `parameters` say, beside `clean` gaps.
    pub fn new(parameters: &Parameters, clean: &Gaps) -> Self {
        let rows = parameters.gaps.iter().map(|((from, to), recorded)| GapRow {
            from: from.name(),
            to: to.name(),
            recorded: *recorded,
            clean: Some(clean.get(*from, *to)).filter(|gap| *gap > 0),
        });
        let mut gaps: Vec<GapRow> = rows.collect();
        gaps.sort_by_key(|row| std::cmp::Reverse(row.recorded.count));
        Self {
            gaps,
            launch: parameters.launch,
            event: parameters.event,
            synchronise: parameters.synchronise,
            hand_over: parameters.hand_over,
        }
    }
}
