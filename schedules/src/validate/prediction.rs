//! Checks of a prediction.

use std::collections::HashSet;

use super::problem::{Invalid, ProblemKind};
use crate::ir::{Prediction, Span};
use crate::path::At;

/// Checks that hashes are hashes, values lie in their ranges, ops end after they start, and each op
/// instance of a rank is there once.
///
/// # Errors
/// Everything that is wrong, up to [`Invalid::LIMIT`] problems.
///
/// # Complexity
/// O(ops).
pub fn validate_prediction(prediction: &Prediction) -> Result<(), Invalid> {
    let mut found = Invalid::default();
    let hashes = [
        ("structure", &prediction.structure),
        ("content", &prediction.content),
    ];
    for (name, hash) in hashes {
        if blake3::Hash::from_hex(hash).is_err() {
            found.push(&At::ROOT.field(name), ProblemKind::NotAHash);
        }
    }
    span(
        &At::ROOT.field("makespan"),
        &prediction.makespan,
        &mut found,
    );
    let list = At::ROOT.field("ops");
    let mut seen = HashSet::with_capacity(prediction.ops.len());
    for (index, op) in prediction.ops.iter().enumerate() {
        let at = list.named(index, &op.op);
        if op.end_ns < op.start_ns {
            let problem = "it ends before it starts; correct `start_ns` or `end_ns`";
            found.push(&at, ProblemKind::Times(problem));
        }
        span(&at.field("duration"), &op.duration, &mut found);
        if !seen.insert((op.rank, op.op.as_str())) {
            let problem = "this op of this rank was predicted already; keep one";
            found.push(&at, ProblemKind::Times(problem));
        }
    }
    found.or_ok()
}

fn span(at: &At<'_>, span: &Span, found: &mut Invalid) {
    if !(span.low_ns <= span.ns && span.ns <= span.high_ns) {
        let problem = "`ns` is not between `low_ns` and `high_ns`; correct one of them";
        found.push(at, ProblemKind::Times(problem));
    }
}
