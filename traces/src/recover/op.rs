//! One op from one task.

use ascsim_schedules::{
    CopyDirection, Cores, EventName, Expr, Extra, Kernel, Measured, Memcpy, NotifyName,
    NotifyRecord, NotifyWait, Op, OpKind, Peer, Provenance, Record, ScheduleMode, Wait,
};
use smol_str::{SmolStr, format_smolstr};

use super::clock::View;
use crate::model::{DeviceTask, Engine, TaskKind};

/// What the links say of a task that is an event or notify.
#[derive(Debug, Clone, Default)]
pub(super) struct Signal {
    /// The event it records or waits for.
    pub(super) event: Option<EventName>,
    /// The notify it sets, of which rank; or the one it waits for.
    pub(super) notify: Option<(NotifyName, Peer)>,
    /// Whether what ends a notify wait was captured.
    pub(super) is_known: bool,
}

/// The op of a task, without thread, stream and issue.
pub(super) fn op(
    view: &View<'_>,
    index: usize,
    id: SmolStr,
    signal: &Signal,
    blocking: bool,
) -> Op {
    let trace = view.trace;
    let task = &trace.tasks[index];
    let (kind, is_derived) = match (task.kind, &signal.event, &signal.notify) {
        (TaskKind::EventWait, Some(event), _) => (
            OpKind::Wait(Wait {
                event: event.clone(),
                external: false,
                timeout_s: None,
                extra: Extra::default(),
            }),
            true,
        ),
        (TaskKind::NotifyRecord, _, Some((notify, peer))) => (
            OpKind::NotifyRecord(NotifyRecord {
                notify: notify.clone(),
                peer: peer.clone(),
                extra: Extra::default(),
            }),
            false,
        ),
        (TaskKind::NotifyWait, _, Some((notify, _))) => (
            OpKind::NotifyWait(NotifyWait {
                notify: notify.clone(),
                timeout_s: None,
                extra: Extra::default(),
            }),
            signal.is_known,
        ),
        (TaskKind::Copy, ..) => (
            OpKind::Copy(Memcpy {
                direction: match task.engine {
                    Engine::Pcie => CopyDirection::HostToDevice,
                    _ => CopyDirection::DeviceToDevice,
                },
                bytes: Expr::Int(0),
                blocking,
                extra: Extra::default(),
            }),
            false,
        ),
        // A record, and a reset, which takes a place on its stream as a record does.
        (_, Some(event), _) => (
            OpKind::Record(Record {
                event: event.clone(),
                external: false,
                extra: Extra::default(),
            }),
            false,
        ),
        _ => (
            OpKind::Kernel(Kernel {
                name: kernel_name(view, task),
                dynamic: false,
                extra: Extra::default(),
            }),
            false,
        ),
    };
    let mut op = Op::new(id, kind);
    if !is_derived {
        op.duration = Some(Box::new(Measured::new(
            task.span.len(),
            Provenance::Measured,
        )));
    }
    op.cores = cores(view, task);
    op.tags.set("name", trace.name(task.name));
    if !matches!(task.engine, Engine::None | Engine::Unknown) {
        op.tags.set("engine", task.engine.label());
    }
    let framework = task
        .framework_op
        .and_then(|call| trace.host.get(call as usize));
    if let Some(call) = framework {
        op.tags.set("op", trace.name(call.name));
    }
    op
}

/// The operator type, or the task's name where no kernel table gives it.
fn kernel_name(view: &View<'_>, task: &DeviceTask) -> SmolStr {
    let detail = task
        .detail
        .and_then(|at| view.trace.details.get(at as usize));
    let kind = detail.map_or("", |detail| view.trace.name(detail.op_type));
    if kind.is_empty() {
        view.trace.name(task.name).into()
    } else {
        kind.into()
    }
}

/// The cores a kernel takes; none where the capture does not tell which.
fn cores(view: &View<'_>, task: &DeviceTask) -> Option<Cores> {
    let detail = task
        .detail
        .and_then(|at| view.trace.details.get(at as usize));
    let blocks = detail
        .and_then(|detail| detail.block_dim)
        .unwrap_or(1)
        .max(1);
    let mixed = detail.and_then(|detail| detail.mix_block_dim).unwrap_or(0);
    let cores = |aic, aiv, aicpu, sdma| Cores {
        aic,
        aiv,
        aicpu,
        sdma,
        mode: ScheduleMode::Normal,
    };
    Some(match task.engine {
        Engine::Aic => cores(blocks, 0, 0, 0),
        Engine::Aiv => cores(0, blocks, 0, 0),
        Engine::MixAic => cores(blocks, mixed, 0, 0),
        Engine::MixAiv => cores(mixed, blocks, 0, 0),
        Engine::AiCpu => cores(0, 0, 1, 0),
        Engine::Sdma => cores(0, 0, 0, 1),
        Engine::Dsa => cores(0, 0, 0, 0),
        Engine::AiCore | Engine::Pcie | Engine::None | Engine::Unknown => return None,
    })
}

/// Gives ops ids that are the same in every step and rank with the same kernels: the name and how
/// many of this name come before it.
#[derive(Debug, Default)]
pub(super) struct Ids(std::collections::HashMap<SmolStr, usize>);

impl Ids {
    /// The next id for `name`. A path separator of schedules cannot be part of it.
    pub(super) fn next(&mut self, name: &str) -> SmolStr {
        let name: SmolStr = if name.contains('/') {
            name.replace('/', ":").into()
        } else {
            name.into()
        };
        let count = self.0.entry(name.clone()).or_default();
        let id = format_smolstr!("{name}.{count}");
        *count += 1;
        id
    }
}
