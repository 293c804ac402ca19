//! What a hardware model says of an op: how long its cores take, and what it draws.

use ascsim_hwmodels::collective::{
    self, CollectiveCost, CollectiveError, Request, Topology, Workflow,
};
use ascsim_hwmodels::copy::{CopyWork, copy, prefetch};
use ascsim_hwmodels::kernel::{Format, KernelClass, KernelCost, KernelWork, kernel};
use ascsim_hwmodels::launch::{Signal, dynamic_kernel, signal_task};
use ascsim_hwmodels::superkernel::saving;
use ascsim_hwmodels::{Level, ParameterId as P, Reader, Values};
use ascsim_schedules::flat::{Instance, InstanceId, Role as Runs};
use ascsim_schedules::{
    Buffer, CopyDirection, Cores, Device, Expr, HostKind, Memory, OpKind, Peer, Work,
};

use super::{Compiler, to_ps};
use crate::compiled::Role;
use crate::load::{Engine, Load, Rates, Resource, Warm, fits};

/// How long a task takes at full speed, in ps, and what it takes meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) duration: u64,
    pub(super) load: Load,
}

/// What a task does after its fixed part, all its units together.
#[derive(Clone, Copy, Debug, Default)]
struct Body {
    /// What its cores need by themselves, in ps.
    own: u64,
    /// Bytes of each resource.
    bytes: Rates,
    /// What it takes alone on its die, in ps.
    alone: u64,
    /// Bytes it reads, the share of its HBM traffic that these are, and what it reads of L2 if all
    /// of them are there.
    read: (f64, f64, f64),
    /// What its cores need to compute, and to draw its bytes from HBM and from L2, in ps.
    compute: f64,
    draw: [f64; 2],
    /// Whether it was measured.
    measured: bool,
}

impl Compiler<'_, '_> {
    /// The cost of an instance by the hardware model; none where the model says nothing, so that the
    /// duration stated for it, if any, holds. `load`: the cores it takes.
    pub(super) fn cost(&self, id: InstanceId, role: Role, load: Load) -> Option<Cost> {
        let values = self.options.hardware.as_ref()?;
        let r = Reader::new(values);
        let instance = &self.flat[id];
        let stated = match instance.duration() {
            Some(time) => Some(to_ps(&time.ns, self.values).ok()?),
            None => None,
        };
        if instance.op.comm.is_some() {
            return self.collective(id, load, stated, &r);
        }
        match &instance.op.kind {
            OpKind::Kernel(_) if matches!(role, Role::Task) => {
                Some(self.kernel(id, load, stated, &r))
            }
            OpKind::Copy(_) => self.copy(instance, stated, &r),
            OpKind::Prefetch(_) => self.prefetch(instance, stated, &r),
            OpKind::Record(_)
            | OpKind::Wait(_)
            | OpKind::EventReset(_)
            | OpKind::Host(HostKind::RecordExternal { .. }) => {
                let duration = stated.unwrap_or_else(|| signal_task(Signal::Event, &r));
                Some(Cost { duration, load })
            }
            OpKind::NotifyRecord(_)
            | OpKind::NotifyWait(_)
            | OpKind::ValueWrite(_)
            | OpKind::ValueWait(_) => {
                let duration = stated.unwrap_or_else(|| signal_task(Signal::Notify, &r));
                Some(Cost { duration, load })
            }
            _ => None,
        }
    }

    /// A kernel: a fixed part, then its body. A stated duration scales the body as a whole, so that
    /// what bounds it stays the same. On a limited stream it has fewer, larger blocks.
    fn kernel(&self, id: InstanceId, load: Load, stated: Option<u64>, r: &Reader<'_>) -> Cost {
        let instance = &self.flat[id];
        let asked = instance.op.cores.unwrap_or_default();
        let limited = self.limited(instance, asked);
        let work = self.work(instance, asked, r);
        let modelled = work.map(|work| kernel(&work, r));
        let class = class_of(instance);
        let fixed = match &modelled {
            // With what lifts it to the floor of all kernels.
            Some(cost) => cost.ps - cost.body_ps.min(cost.ps),
            None => ascsim_hwmodels::number::ps(r.get(class.fixed())),
        };
        let scale = match (stated, &modelled) {
            (Some(stated), Some(cost)) if cost.body_ps > 0 => {
                let load = Load::blocks(asked.aic, asked.aiv, load.whole).on(&self.options.die);
                let alone = self.alone(cost, &load);
                stated.saturating_sub(fixed) as f64 / alone.max(1.0)
            }
            _ => 1.0,
        };
        let on_limit = work.map(|work| KernelWork {
            aic_blocks: limited.aic,
            aiv_blocks: limited.aiv,
            ..work
        });
        let mut fixed = fixed.min(stated.unwrap_or(u64::MAX));
        let body = match on_limit.map(|work| (work, kernel(&work, r))) {
            Some((work, cost)) if cost.body_ps > 0 => {
                let all = KernelWork {
                    l2_hit_bytes: work.bytes_read,
                    ..work
                };
                let moved = (work.bytes_read + work.bytes_written).max(1.0);
                let scaled = |ps: u64| ps as f64 * scale;
                Body {
                    own: (scaled(cost.own_ps) + 0.5) as u64,
                    bytes: [cost.hbm_bytes * scale, cost.l2_bytes * scale, 0.0, 0.0],
                    alone: (scaled(cost.body_ps) + 0.5) as u64,
                    read: (
                        work.bytes_read,
                        work.bytes_read / moved,
                        work.bytes_read * scale,
                    ),
                    compute: scaled(cost.compute_ps),
                    draw: [scaled(cost.draw_ps), scaled(kernel(&all, r).draw_ps)],
                    measured: stated.is_some(),
                }
            }
            _ => {
                // Nothing is known but a time: all of it is work on its cores.
                let whole = stated.unwrap_or(0).saturating_sub(fixed);
                let larger = ratio(asked.aic, limited.aic).max(ratio(asked.aiv, limited.aiv));
                let own = (whole as f64 * larger + 0.5) as u64;
                Body {
                    own,
                    alone: own,
                    ..Body::default()
                }
            }
        };
        let replayed = instance.role != Runs::Issued;
        if stated.is_none()
            && replayed
            && matches!(&instance.op.kind, OpKind::Kernel(kernel) if kernel.dynamic)
        {
            fixed += dynamic_kernel(r);
        }
        if self.follows_in_super_kernel(id) {
            fixed = fixed.saturating_sub(saving(2, r));
        }
        self.put_together(fixed, body, load)
    }

    /// What the body of a kernel takes alone on its die, in ps: in each round of its units, what its
    /// cores need or what memory takes.
    fn alone(&self, cost: &KernelCost, load: &Load) -> f64 {
        if load.waves <= 1 {
            return cost.body_ps as f64;
        }
        let [most, _] = self.options.die.rates();
        let (rounds, units) = (f64::from(load.waves), f64::from(load.units));
        let own = cost.own_ps as f64 / rounds;
        let round = |share: f64| {
            let hbm = cost.hbm_bytes * share / most[Resource::Hbm as usize];
            own.max(hbm)
                .max(cost.l2_bytes * share / most[Resource::L2 as usize])
        };
        let side_by_side = f64::from(fits(self.options.die.cores, load).max(1)) / units;
        let full = rounds - 1.0;
        full * round(side_by_side) + round(1.0 - full * side_by_side)
    }

    /// Whether it is a part of a super kernel and not the first one: its boundary is gone.
    fn follows_in_super_kernel(&self, id: InstanceId) -> bool {
        let parent = self.flat[id].parent;
        parent.is_some_and(|whole| {
            matches!(self.flat[whole].op.kind, OpKind::SuperKernel(_))
                && id.index() > whole.index() + 1
        })
    }

    /// Sets what each unit draws so that all units together draw the bytes of the body.
    fn put_together(&self, fixed: u64, body: Body, mut load: Load) -> Cost {
        // Without a limit of its own, a task draws as much as there is.
        let own = match body.own {
            0 => body.alone,
            own => own,
        };
        if own > 0 {
            let each = own as f64 / f64::from(load.waves) * f64::from(load.units.max(1));
            load.rates = body.bytes.map(|bytes| bytes / each);
            let whole = own as f64;
            let (read, share, from_l2) = body.read;
            load.warm = Warm {
                // What takes only memory time has no cores to draw faster.
                read: if body.own > 0 { read } else { 0.0 },
                compute: body.compute / whole,
                draw: body.draw.map(|ps| ps / whole),
                hbm: share,
                l2: from_l2 / each,
                prefetched_only: body.measured,
            };
        }
        load.fixed = fixed;
        Cost {
            duration: fixed.saturating_add(own),
            load,
        }
    }

    /// What a kernel does, by its `work`; none if it states none.
    fn work(&self, instance: &Instance<'_>, cores: Cores, r: &Reader<'_>) -> Option<KernelWork> {
        let work: &Work = instance.op.work.as_deref()?;
        let number = |expr: &Option<Expr>| {
            let value = expr.as_ref().and_then(|expr| expr.eval(self.values).ok());
            value.unwrap_or(0.0).max(0.0)
        };
        let count = |id| u32::try_from(r.whole(id)).unwrap_or(u32::MAX);
        Some(KernelWork {
            class: class_of(instance),
            format: work.dtype.as_deref().map_or(Format::default(), Format::of),
            cube_flops: number(&work.cube_flops),
            vector_flops: number(&work.vector_flops),
            bytes_read: number(&work.bytes_read),
            l2_hit_bytes: 0.0,
            bytes_written: number(&work.bytes_written),
            aic_blocks: cores.aic,
            aiv_blocks: cores.aiv,
            aic_cores: count(P::ChipAic),
            aiv_cores: count(P::ChipAiv),
        })
    }

    /// The collective that an instance takes part in, as HCCL would carry it out.
    pub(super) fn choice(
        &self,
        id: InstanceId,
        r: &Reader<'_>,
    ) -> Option<Result<CollectiveCost, CollectiveError>> {
        let instance = &self.flat[id];
        let comm = instance.op.comm.as_deref()?;
        let collective = self.flat.collective(instance.collective?);
        let communicator = collective.communicator;
        let ranks = communicator.groups.get(collective.group)?;
        let devices: Vec<u32> = ranks.iter().map(|rank| self.device(*rank, r)).collect();
        let bytes = instance.bytes()?.eval(self.values).ok()?.max(0.0);
        let topology = Topology::of(&devices, r);
        let mut request = Request::of(comm, communicator, (bytes + 0.5) as u64, topology);
        if instance.role == Runs::Replayed {
            request.workflow = Workflow::AclGraph;
        }
        let stream = instance
            .stream
            .map(|stream| self.flat.stream(stream).stream);
        request.core_limit = stream
            .and_then(|stream| stream.core_limit)
            .and_then(|limit| limit.aiv);
        Some(collective::cost(&request, r))
    }

    /// A collective draws on the links and the HBM of each member's die once all have started.
    fn collective(
        &self,
        id: InstanceId,
        load: Load,
        stated: Option<u64>,
        r: &Reader<'_>,
    ) -> Option<Cost> {
        let cost = self.choice(id, r)?.ok()?;
        let duration = stated.unwrap_or(cost.ps);
        let head = cost.phases.iter().map(|phase| phase.start_ps).max();
        let head = head.unwrap_or(0).min(cost.ps);
        // The fixed part of a stated time is in proportion.
        let fixed = match cost.ps {
            0 => 0,
            all => (duration as f64 * (head as f64 / all as f64)) as u64,
        };
        let bytes = cost.remote_bytes as f64;
        let mut all = [0.0; 4];
        // Read by the others, and written here.
        all[Resource::Hbm as usize] = 2.0 * bytes;
        if cost.level > Level::Package {
            all[Resource::Link as usize] = bytes;
        }
        let own = duration - fixed.min(duration);
        let mut load = load;
        load.fixed = fixed;
        if own > 0 {
            load.rates = all.map(|bytes| bytes / own as f64);
        }
        Some(Cost { duration, load })
    }

    fn copy(&self, instance: &Instance<'_>, stated: Option<u64>, r: &Reader<'_>) -> Option<Cost> {
        let OpKind::Copy(memcpy) = &instance.op.kind else {
            return None;
        };
        let bytes = instance.bytes()?.eval(self.values).ok()?.max(0.0);
        let work = CopyWork {
            direction: memcpy.direction,
            bytes: (bytes + 0.5) as u64,
            host: self.host_memory(instance),
            level: self.level_of_copy(instance, r),
        };
        let all = copy(&work, r);
        let fixed = copy(&CopyWork { bytes: 0, ..work }, r).min(all);
        let duration = stated.unwrap_or(all);
        let fixed = fixed.min(duration);
        let mut drawn = [0.0; 4];
        drawn[Resource::Hbm as usize] = match memcpy.direction {
            CopyDirection::DeviceToDevice => 2.0 * bytes,
            _ => bytes,
        };
        if memcpy.direction == CopyDirection::Peer && work.level > Level::Package {
            drawn[Resource::Link as usize] = bytes;
        }
        Some(sdma(fixed, duration, drawn))
    }

    fn prefetch(
        &self,
        instance: &Instance<'_>,
        stated: Option<u64>,
        r: &Reader<'_>,
    ) -> Option<Cost> {
        let bytes = instance.bytes()?.eval(self.values).ok()?.max(0.0);
        let duration = stated.unwrap_or_else(|| prefetch((bytes + 0.5) as u64, 1, r));
        let mut drawn = [0.0; 4];
        drawn[Resource::Hbm as usize] = bytes;
        drawn[Resource::Cmo as usize] = bytes;
        Some(sdma(0, duration, drawn))
    }

    /// The kind of host memory of a copy, by the buffers it touches; pinned unless one is pageable.
    fn host_memory(&self, instance: &Instance<'_>) -> Memory {
        let buffers = &self.flat.schedule().buffers;
        let of = |name: &str| {
            buffers
                .iter()
                .find(|buffer: &&Buffer| buffer.name.as_str() == name)
        };
        let accesses = instance.op.accesses.known().iter();
        let mut memories = accesses.filter_map(|access| of(access.buffer.as_str()));
        match memories.any(|buffer| buffer.memory == Memory::HostPageable) {
            true => Memory::HostPageable,
            false => Memory::HostPinned,
        }
    }

    fn level_of_copy(&self, instance: &Instance<'_>, r: &Reader<'_>) -> Level {
        let peer = instance
            .op
            .accesses
            .known()
            .iter()
            .find_map(|access| match &access.peer {
                Peer::Rank(rank) => Some(*rank),
                _ => None,
            });
        match peer {
            Some(peer) => {
                let devices = [self.device(instance.rank, r), self.device(peer, r)];
                Topology::of(&devices, r).level
            }
            None => Level::Server,
        }
    }

    /// The number of a rank's die on the machine.
    fn device(&self, rank: u32, r: &Reader<'_>) -> u32 {
        let groups = self.flat.schedule().ranks.iter();
        let group = groups
            .clone()
            .find(|group| (group.first..group.first.saturating_add(group.count)).contains(&rank));
        let place = group.and_then(|group| group.devices.get((rank - group.first) as usize));
        let place = place.copied().unwrap_or_else(|| Device::of_rank(rank));
        let dies = r.whole(P::MachineDies).max(1) as u32;
        let packages = r.whole(P::MachinePackages).max(1) as u32;
        let package = place
            .server
            .saturating_mul(packages)
            .saturating_add(place.package);
        package.saturating_mul(dies).saturating_add(place.die)
    }

    /// The blocks that a kernel asks for on its stream (facts/acl.md section 13).
    pub(super) fn limited(&self, instance: &Instance<'_>, cores: Cores) -> Cores {
        let stream = instance
            .stream
            .map(|stream| self.flat.stream(stream).stream);
        let limit = stream
            .and_then(|stream| stream.core_limit)
            .unwrap_or_default();
        let least = |blocks: u32, most: Option<u32>| match most {
            Some(most) if blocks > 0 => blocks.min(most.max(1)),
            _ => blocks,
        };
        Cores {
            aic: least(cores.aic, limit.aic),
            aiv: least(cores.aiv, limit.aiv),
            ..cores
        }
    }

    /// The cores that a collective holds, by the hardware model.
    pub(super) fn cores_of_collective(&self, id: InstanceId, values: &Values) -> Option<Cores> {
        let cost = self.choice(id, &Reader::new(values))?.ok()?;
        Some(cost.cores)
    }
}

/// A task of the SDMA engine.
fn sdma(fixed: u64, duration: u64, bytes: Rates) -> Cost {
    let mut load = Load {
        units: 1,
        waves: 1,
        fixed,
        ..Load::default()
    };
    load.unit[Engine::Sdma as usize] = 1;
    let own = duration - fixed;
    if own > 0 {
        load.rates = bytes.map(|bytes| bytes / own as f64);
    }
    Cost { duration, load }
}

fn class_of(instance: &Instance<'_>) -> KernelClass {
    match (&instance.op.kind, instance.op.cores) {
        (
            _,
            Some(Cores {
                aic: 0,
                aiv: 0,
                aicpu: 1..,
                ..
            }),
        ) => KernelClass::AiCpu,
        (OpKind::Kernel(kernel), _) => KernelClass::of(&kernel.name),
        _ => KernelClass::Vector,
    }
}

fn ratio(all: u32, some: u32) -> f64 {
    f64::from(all.max(1)) / f64::from(some.max(1))
}
