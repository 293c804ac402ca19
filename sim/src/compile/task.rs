//! What an instance is for the engine: role, kind, category and load.

use ascsim_schedules::flat::{Binding, Instance, InstanceId, Target};
use ascsim_schedules::{Compare, Cores, Expansion, HostKind, OpKind};

use super::Compiler;
use crate::blame::Category;
use crate::compiled::{Role, WordOp};
use crate::costs::{HostCosts, TaskKind};
use crate::load::{Engine, Load};

/// Host time in ps of a call whose op names none.
pub(super) fn issue_cost(kind: &OpKind, costs: &HostCosts) -> u64 {
    match kind {
        OpKind::Kernel(_) | OpKind::SuperKernel(_) | OpKind::Group(_) => costs.launch,
        OpKind::Collective(_) => costs.collective,
        OpKind::Copy(_) | OpKind::Prefetch(_) => costs.copy,
        OpKind::TaskUpdate(_) => costs.update,
        OpKind::Host(HostKind::Synchronise(_)) => costs.synchronise,
        OpKind::Record(_)
        | OpKind::Wait(_)
        | OpKind::EventReset(_)
        | OpKind::NotifyRecord(_)
        | OpKind::NotifyWait(_)
        | OpKind::ValueWrite(_)
        | OpKind::ValueWait(_)
        | OpKind::Host(HostKind::RecordExternal { .. }) => costs.signal,
        OpKind::GraphLaunch(_) => costs.graph,
        OpKind::Host(_)
        | OpKind::Alloc(_)
        | OpKind::Free(_)
        | OpKind::StreamUse(_)
        | OpKind::Repeat(_) => 0,
    }
}

impl Compiler<'_, '_> {
    /// What ends the task of an instance. `whole`: it is a group or super kernel with one duration.
    pub(super) fn role(&mut self, id: InstanceId, whole: bool) -> Role {
        let instance = &self.flat[id];
        if let Some(collective) = instance.collective {
            return Role::Collective(collective.index() as u32);
        }
        match (&instance.op.kind, instance.target) {
            _ if self.flat.binding(id).is_some() => self.event_role(id),
            (OpKind::NotifyRecord(_), Target::Notify(notify)) => {
                Role::SetNotify(notify.index() as u32)
            }
            (OpKind::NotifyWait(_), Target::Notify(notify)) => {
                if self.seen.external && !self.seen.notifies[notify.index()] {
                    self.seen.external_signals += 1;
                    return Role::Task;
                }
                Role::WaitNotify(notify.index() as u32)
            }
            (OpKind::ValueWrite(write), Target::Word(word)) => {
                Role::Write(self.builder.add_word_op(WordOp {
                    word: word.index() as u32,
                    value: write.value,
                    compare: Compare::Eq,
                }))
            }
            (OpKind::ValueWait(wait), Target::Word(word)) => {
                if self.seen.external && !self.seen.words[word.index()] {
                    self.seen.external_signals += 1;
                    return Role::Task;
                }
                Role::WaitWord(self.builder.add_word_op(WordOp {
                    word: word.index() as u32,
                    value: wait.value,
                    compare: wait.compare,
                }))
            }
            (OpKind::SuperKernel(_) | OpKind::Group(_), _) if whole => Role::Task,
            (OpKind::SuperKernel(_) | OpKind::Group(_) | OpKind::GraphLaunch(_), _) => {
                Role::Container
            }
            (OpKind::Host(HostKind::Function { calls_acl, .. }), _) => match calls_acl {
                true => Role::Never,
                false => Role::Task,
            },
            (
                OpKind::Host(_)
                | OpKind::Alloc(_)
                | OpKind::Free(_)
                | OpKind::StreamUse(_)
                | OpKind::Repeat(_),
                _,
            ) => Role::Host,
            _ => Role::Task,
        }
    }

    fn event_role(&mut self, id: InstanceId) -> Role {
        let instance = &self.flat[id];
        let event = match instance.target {
            Target::Event(event) => event.index() as u32,
            _ => return Role::Task,
        };
        let waits = matches!(instance.op.kind, OpKind::Wait(_));
        match self.flat.binding(id) {
            Some(Binding::Flag) if waits => Role::WaitFlag(event),
            Some(Binding::Flag) if matches!(instance.op.kind, OpKind::EventReset(_)) => {
                Role::ClearFlag(event)
            }
            Some(Binding::Flag) => Role::SetFlag(event),
            Some(Binding::Record(_)) if waits => Role::Wait,
            Some(Binding::Recorded) => Role::Task,
            Some(Binding::Refused(_)) => {
                self.seen.refused += 1;
                Role::Host
            }
            Some(Binding::Unrecorded) if waits => {
                self.seen.dropped += 1;
                Role::Host
            }
            // Waits on the stream of the record, and host synchronisations.
            Some(Binding::SameStream(_) | Binding::Unrecorded | Binding::Record(_)) | None => {
                Role::Host
            }
        }
    }

    pub(super) fn kind(&self, instance: &Instance<'_>) -> TaskKind {
        let part_of_super_kernel = instance
            .parent
            .is_some_and(|parent| matches!(self.flat[parent].op.kind, OpKind::SuperKernel(_)));
        match &instance.op.kind {
            _ if part_of_super_kernel => TaskKind::Part,
            OpKind::Kernel(_) => match instance.op.cores {
                Some(Cores {
                    aic: 1.., aiv: 0, ..
                }) => TaskKind::Aic,
                Some(Cores {
                    aic: 0, aiv: 1.., ..
                }) => TaskKind::Aiv,
                Some(Cores { aic: 1.., .. }) => TaskKind::Mix,
                _ => TaskKind::AiCpu,
            },
            OpKind::Copy(_) => TaskKind::Copy,
            OpKind::Prefetch(_) => TaskKind::Prefetch,
            OpKind::Collective(_) => TaskKind::Collective,
            OpKind::Wait(_) => TaskKind::Wait,
            OpKind::NotifyRecord(_) | OpKind::ValueWrite(_) => TaskKind::Notify,
            OpKind::NotifyWait(_) | OpKind::ValueWait(_) => TaskKind::NotifyWait,
            OpKind::SuperKernel(_) => TaskKind::SuperKernel,
            OpKind::Group(_) => TaskKind::Group,
            OpKind::GraphLaunch(_) => TaskKind::Graph,
            OpKind::TaskUpdate(_) => TaskKind::Update,
            OpKind::Host(HostKind::Function { .. }) => TaskKind::HostFunction,
            OpKind::Record(_)
            | OpKind::EventReset(_)
            | OpKind::Host(_)
            | OpKind::Alloc(_)
            | OpKind::Free(_)
            | OpKind::StreamUse(_)
            | OpKind::Repeat(_) => TaskKind::Record,
        }
    }

    pub(super) fn category(&self, instance: &Instance<'_>, role: Role) -> Category {
        match &instance.op.kind {
            _ if matches!(role, Role::Collective(_)) => Category::Collective,
            OpKind::Kernel(_) | OpKind::SuperKernel(_) | OpKind::Group(_) => Category::Compute,
            OpKind::Copy(_) | OpKind::Prefetch(_) => Category::Memory,
            OpKind::Collective(_) => Category::Collective,
            OpKind::Record(_)
            | OpKind::Wait(_)
            | OpKind::EventReset(_)
            | OpKind::NotifyRecord(_)
            | OpKind::NotifyWait(_)
            | OpKind::ValueWrite(_)
            | OpKind::ValueWait(_)
            | OpKind::Host(HostKind::RecordExternal { .. }) => Category::WaitOnEvent,
            OpKind::GraphLaunch(_) | OpKind::TaskUpdate(_) => Category::Launch,
            OpKind::Host(_)
            | OpKind::Alloc(_)
            | OpKind::Free(_)
            | OpKind::StreamUse(_)
            | OpKind::Repeat(_) => Category::Host,
        }
    }

    /// What a task takes of its die: its blocks, at most the cores its stream is limited to; what
    /// all its parts need for a super kernel, whose parts take none by themselves; vector cores for
    /// a collective that they carry out.
    pub(super) fn load(&mut self, id: InstanceId, role: Role) -> Load {
        let instance = &self.flat[id];
        let in_super_kernel = instance
            .parent
            .is_some_and(|parent| matches!(self.flat[parent].op.kind, OpKind::SuperKernel(_)));
        if in_super_kernel || role == Role::Host {
            return Load::default();
        }
        let own = instance.op.cores.map(|cores| self.limited(instance, cores));
        let load = match &instance.op.kind {
            OpKind::SuperKernel(_) => own.map_or_else(
                || {
                    let parts = self.flat.inside(id);
                    let cores = parts.filter_map(|part| self.flat[part].op.cores);
                    let most = cores.fold((0, 0), |most: (u32, u32), cores| {
                        (most.0.max(cores.aic), most.1.max(cores.aiv))
                    });
                    Load::blocks(most.0, most.1, false)
                },
                load_of,
            ),
            OpKind::Collective(_) => own.map_or_else(|| self.collective_load(id), load_of),
            OpKind::Kernel(_) => own.map_or_else(
                || {
                    self.seen.no_cores += 1;
                    Load::default()
                },
                load_of,
            ),
            _ => own.map_or_else(Load::default, load_of),
        };
        match role {
            // They end with something else than their blocks.
            Role::Container | Role::Collective(_) => load.as_one(),
            _ => load,
        }
    }

    fn collective_load(&self, id: InstanceId) -> Load {
        let instance = &self.flat[id];
        let values = self.options.hardware.as_ref();
        if let Some(cores) = values.and_then(|values| self.cores_of_collective(id, values)) {
            return load_of(cores);
        }
        let own = instance.op.comm.as_ref().and_then(|comm| comm.expansion);
        let communicator = instance
            .collective
            .and_then(|collective| self.flat.collective(collective).communicator.expansion);
        match own.or(communicator) {
            Some(Expansion::Aiv) => {
                let most = self.options.die.cores[Engine::Aiv as usize];
                Load::blocks(0, most, true)
            }
            Some(Expansion::AiCpu | Expansion::Host | Expansion::Ffts) | None => Load::default(),
        }
    }
}

fn load_of(cores: Cores) -> Load {
    let mut load = Load::blocks(cores.aic, cores.aiv, !cores.mode.is_normal());
    for (engine, count) in [(Engine::AiCpu, cores.aicpu), (Engine::Sdma, cores.sdma)] {
        if count > 0 {
            // These are few, and not handed out in blocks.
            load = load.as_one();
            load.units = 1;
            load.unit[engine as usize] = u16::try_from(count).unwrap_or(u16::MAX);
        }
    }
    load
}
