//! Random small schedules with memory.

use std::fmt;

use ascsim_schedules::explore::Options;
use ascsim_schedules::testing::{Fragment, Small, small};
use ascsim_schedules::{
    Access, AccessMode, Accesses, Buffer, Extra, Limits, Memory, Op, OpKind, Peer, Range, Schedule,
    Tags,
};
use proptest::prelude::*;

/// How much to try.
pub(crate) struct Effort {
    pub(crate) cases: u32,
    pub(crate) instances: usize,
    pub(crate) options: Options,
}

/// `ASCSIM_CASES` cases of larger schedules, or what fits into every test run.
pub(crate) fn effort() -> Effort {
    let cases = std::env::var("ASCSIM_CASES").ok();
    let cases = cases.and_then(|text| text.parse().ok());
    let (instances, max_states) = match cases {
        Some(_) => (18, 40_000),
        None => (14, 2_000),
    };
    Effort {
        cases: cases.unwrap_or(10_000),
        instances,
        options: Options { max_states },
    }
}

/// A small schedule whose kernels and copies touch a few buffers.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) schedule: Schedule,
    pub(crate) limits: Limits,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schedule, limits } = self.clone();
        write!(f, "{:?}", Small { schedule, limits })?;
        for program in &self.schedule.programs {
            for op in &program.ops {
                for access in op.accesses.known() {
                    writeln!(
                        f,
                        "{} {} {:?} {} {:?}",
                        program.name, op.id, access.mode, access.buffer, access.range
                    )?;
                }
            }
        }
        Ok(())
    }
}

/// Cases with up to about `ops` ops and at most `instances` instances.
pub(crate) fn case(
    fragment: Fragment,
    ops: usize,
    instances: usize,
) -> impl Strategy<Value = Case> {
    let touches = proptest::collection::vec(0..32usize, 64);
    (small(fragment, ops, instances), touches).prop_map(|(small, touches)| {
        let Small {
            mut schedule,
            limits,
        } = small;
        schedule.buffers.push(buffer("data"));
        let mut touches = touches.into_iter().cycle();
        for program in &mut schedule.programs {
            for op in &mut program.ops {
                touch(op, &mut touches);
            }
        }
        Case { schedule, limits }
    })
}

fn touch(op: &mut Op, touches: &mut impl Iterator<Item = usize>) {
    match &mut op.kind {
        OpKind::Group(group) => {
            for task in &mut group.tasks {
                touch(&mut task.op, touches);
            }
        }
        OpKind::SuperKernel(kernel) => {
            for part in &mut kernel.parts {
                touch(&mut part.op, touches);
            }
        }
        OpKind::Kernel(_) | OpKind::Copy(_) => {
            let number = touches.next().unwrap_or(0);
            op.accesses = Accesses::Known(access(number).into_iter().collect());
        }
        _ => op.accesses = Accesses::Known(Vec::new()),
    }
}

/// Most ops touch nothing, so that there are schedules without a race.
fn access(number: usize) -> Option<Access> {
    let mode = match number % 5 {
        0 | 1 => AccessMode::Read,
        2 => AccessMode::ReadWrite,
        3 => AccessMode::Accumulate,
        _ => AccessMode::Write,
    };
    let range = match number / 5 {
        0 => Range::Whole,
        1 => Range::Bytes(0, 16),
        2 => Range::Bytes(16, 16),
        3 => Range::Bytes(8, 16),
        _ => return None,
    };
    Some(Access {
        buffer: "data".into(),
        mode,
        range,
        peer: Peer::Own,
        extra: Extra::default(),
    })
}

fn buffer(name: &str) -> Buffer {
    Buffer {
        name: name.into(),
        bytes: 32,
        memory: Memory::Hbm,
        view: None,
        tags: Tags::default(),
        extra: Extra::default(),
    }
}
