//! Random programs and the kinds of ops that run others.

use super::declare::Declared;
use super::{Choices, expr, op};
use crate::ir::{Capture, CaptureMode, GraphLaunch, Op, OpId, OpKind, Program, Repeat, TaskUpdate};

/// One to four programs, each of which runs later ones only. The first is not captured.
pub(super) fn programs(choices: &mut Choices, declared: &Declared) -> Vec<Program> {
    let count = 1 + choices.below(4);
    let mut programs: Vec<Program> = Vec::new();
    // Innermost first, since a task update names the ops of a program.
    for index in (0..count).rev() {
        let captured = index > 0 && choices.flag();
        let ops = (0..choices.below(12))
            .map(|at| match choices.below(10) {
                9 if !programs.is_empty() => {
                    let inner = choices.below(programs.len());
                    runs(choices, declared, &programs[inner], at)
                }
                _ => op::any(choices, declared, at),
            })
            .collect();
        programs.push(Program {
            name: choices.name("p", index).into(),
            capture: captured.then(|| Capture {
                origin: choices.pick(&declared.streams).name.clone(),
                mode: *choices.pick(&[
                    CaptureMode::Global,
                    CaptureMode::ThreadLocal,
                    CaptureMode::Relaxed,
                ]),
                size: choices.maybe(|choices| choices.below(1000) as u32),
                extra: choices.extra(),
            }),
            ops,
            extra: choices.extra(),
        });
    }
    programs.reverse();
    programs
}

/// An op that runs or updates `inner`.
fn runs(choices: &mut Choices, declared: &Declared, inner: &Program, at: usize) -> Op {
    let program = inner.name.clone();
    let kind = match (inner.capture.is_some(), choices.flag()) {
        (true, false) => OpKind::GraphLaunch(GraphLaunch {
            program,
            extra: choices.extra(),
        }),
        (true, true) => {
            let all = inner.ops.iter().map(|op| &op.id);
            let ops: Vec<OpId> = all.filter(|_| choices.flag()).cloned().collect();
            OpKind::TaskUpdate(TaskUpdate {
                program,
                ops,
                extra: choices.extra(),
            })
        }
        (false, _) => OpKind::Repeat(Repeat {
            program,
            count: expr::amount(choices, declared, 5.0),
            extra: choices.extra(),
        }),
    };
    op::with_kind(choices, declared, at, kind)
}
