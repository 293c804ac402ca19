//! Finding the parts of MoE layers by the names that operators and models give them.

use std::collections::{BTreeMap, HashSet};

use super::edit::has_work;
use crate::ir::{CollectiveKind, Op, OpKind, Program, StreamName};

/// A place next to an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    Before(usize),
    After(usize),
}

impl Point {
    /// The op it is next to.
    pub(super) fn op(self) -> usize {
        match self {
            Self::Before(at) | Self::After(at) => at,
        }
    }
}

/// The ops of one MoE layer, by position in the program.
#[derive(Debug, Default)]
pub(super) struct Layer {
    /// The shared expert, in issue order.
    pub(super) shared: Vec<usize>,
    /// The router's matmul.
    pub(super) gate: Option<usize>,
    pub(super) dispatch: Option<usize>,
    /// The second grouped matmul.
    pub(super) gmm2: Option<usize>,
    pub(super) combine: Option<usize>,
}

/// What an op is called: operator type and id, in lower case.
fn label(op: &Op) -> String {
    let name = match &op.kind {
        OpKind::Kernel(kernel) => kernel.name.as_str(),
        OpKind::SuperKernel(kernel) => kernel.name.as_str(),
        _ => "",
    };
    format!("{name} {}", op.id).to_lowercase()
}

/// Whether an op is a matmul: by its name, or by taking cube cores only.
pub(super) fn is_matmul(op: &Op) -> bool {
    let label = label(op);
    label.contains("matmul")
        || label.contains("gmm")
        || matches!(op.kind, OpKind::Kernel(_))
            && op
                .cores
                .is_some_and(|cores| cores.aic > 0 && cores.aiv == 0)
}

fn is_grouped(op: &Op) -> bool {
    let label = label(op);
    label.contains("groupedmatmul") || label.contains("grouped_matmul") || label.contains("gmm")
}

fn comm_is(op: &Op, kind: CollectiveKind) -> bool {
    op.comm.as_ref().is_some_and(|comm| comm.kind == kind)
}

impl Layer {
    /// The layers that `shared` belong to, in issue order. Shared ops with a tag `layer` are grouped
    /// by it; others by the routed work between them. The routed ops of a layer carry its tag, or
    /// stand between its shared ops and those of the layer before; if no dispatch is there, between
    /// them and those of the layer after.
    ///
    /// # Complexity
    /// O(ops × layers without tags, ops with).
    pub(super) fn find(program: &Program, main: &StreamName, shared: &[usize]) -> Vec<Self> {
        let chosen: HashSet<usize> = shared.iter().copied().collect();
        let routed: Vec<usize> = (0..program.ops.len())
            .filter(|at| {
                let op = &program.ops[*at];
                !chosen.contains(at) && has_work(op) && op.stream.as_ref() == Some(main)
            })
            .collect();
        let tag = |at: usize| program.ops[at].tags.get("layer");
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut by_tag: BTreeMap<&str, usize> = BTreeMap::new();
        for &at in shared {
            if let Some(layer) = tag(at) {
                let group = *by_tag.entry(layer).or_insert_with(|| {
                    groups.push(Vec::new());
                    groups.len() - 1
                });
                groups[group].push(at);
                continue;
            }
            let between = |last: usize| {
                let from = routed.partition_point(|&op| op < last);
                routed.get(from).is_some_and(|&op| op < at)
            };
            match groups.last_mut() {
                Some(group)
                    if group
                        .last()
                        .is_some_and(|&last| tag(last).is_none() && !between(last)) =>
                {
                    group.push(at);
                }
                _ => groups.push(vec![at]),
            }
        }
        let mut layers = Vec::with_capacity(groups.len());
        for (index, group) in groups.iter().enumerate() {
            let first = group.first().copied().unwrap_or(0);
            let last = group.last().copied().unwrap_or(0);
            let layer = if let Some(layer) = tag(first) {
                let mine: Vec<usize> = routed
                    .iter()
                    .copied()
                    .filter(|at| tag(*at) == Some(layer))
                    .collect();
                Self::of(program, &mine)
            } else {
                let from = index
                    .checked_sub(1)
                    .and_then(|before| groups[before].last().copied());
                let to = groups.get(index + 1).and_then(|next| next.first().copied());
                let within = |low: Option<usize>, high: Option<usize>| {
                    let low = low.map_or(0, |low| routed.partition_point(|&op| op <= low));
                    let high =
                        high.map_or(routed.len(), |high| routed.partition_point(|&op| op < high));
                    &routed[low..high.max(low)]
                };
                let before = Self::of(program, within(from, Some(first)));
                if before.dispatch.is_some() || before.gate.is_some() {
                    before
                } else {
                    Self::of(program, within(Some(last), to))
                }
            };
            layers.push(Self {
                shared: group.clone(),
                ..layer
            });
        }
        layers
    }

    /// The parts among `routed`. Of several layers, the last one.
    fn of(program: &Program, routed: &[usize]) -> Self {
        let op = |at: usize| &program.ops[at];
        let last = |fits: &dyn Fn(&Op) -> bool, below: usize| {
            routed
                .iter()
                .rev()
                .copied()
                .find(|&at| at < below && fits(op(at)))
        };
        let combine = last(
            &|op| comm_is(op, CollectiveKind::Combine) || label(op).contains("combine"),
            usize::MAX,
        );
        let end = combine.unwrap_or(usize::MAX);
        let dispatch = last(
            &|op| comm_is(op, CollectiveKind::Dispatch) || label(op).contains("dispatch"),
            end,
        );
        let start = dispatch.unwrap_or(0);
        let grouped: Vec<usize> = routed
            .iter()
            .copied()
            .filter(|&at| at >= start && at < end && is_grouped(op(at)))
            .collect();
        let topk = last(
            &|op| {
                let label = label(op);
                label.contains("gating") && label.contains("topk")
                    || label.contains("gating_top_k")
                    || label.contains("router_topk")
            },
            dispatch.unwrap_or(end),
        );
        let gate = topk.and_then(|topk| last(&is_matmul, topk));
        Self {
            shared: Vec::new(),
            gate,
            dispatch,
            gmm2: (grouped.len() >= 2).then(|| grouped[grouped.len() - 1]),
            combine,
        }
    }
}
