//! Which ops hold cores, and which of them can be resident together.

use std::collections::HashMap;

use ascsim_schedules::flat::{CollectiveId, Instance, InstanceId, Role};
use ascsim_schedules::{CollectiveKind, Cores, Expansion, OpKind, ScheduleMode};

use crate::context::Context;

/// How an op takes its cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// As they come.
    Plain,
    /// All at once.
    Batch,
    /// All at once, and then waits for other ranks.
    Collective(CollectiveId),
    /// As they come, but each block waits for all others, and for other ranks if there are: a fused
    /// MoE kernel without batch mode (facts/collectives.md 4.2).
    Barrier(Option<CollectiveId>),
}

/// An op that holds cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CoreOp {
    pub(super) id: InstanceId,
    pub(super) cores: [u32; 2],
    pub(super) hold: Hold,
    /// The chain of its die that it is on.
    pub(super) chain: usize,
}

/// The engines whose cores are counted.
pub(super) const ENGINES: [&str; 2] = ["aic", "aiv"];

impl CoreOp {
    /// The cores of an engine without which it does not go on.
    pub(super) fn wants(&self, engine: usize) -> u32 {
        match self.hold {
            Hold::Plain => self.cores[engine].min(1),
            _ => self.cores[engine],
        }
    }

    pub(super) fn is_gang(&self) -> bool {
        self.hold != Hold::Plain
    }

    pub(super) fn collective(&self) -> Option<CollectiveId> {
        match self.hold {
            Hold::Collective(id) => Some(id),
            Hold::Barrier(id) => id,
            _ => None,
        }
    }
}

/// The ops of one die that hold cores, by chain.
#[derive(Debug)]
pub(super) struct Die {
    pub(super) chains: Vec<Vec<CoreOp>>,
    /// Per engine: the most cores that collectives of each chain hold, and any gang of it wants.
    most: Vec<[(u32, u32); 2]>,
}

impl Die {
    fn push(&mut self, op: CoreOp) {
        self.chains[op.chain].push(op);
        for engine in 0..2 {
            let (held, wanted) = &mut self.most[op.chain][engine];
            if op.collective().is_some() {
                *held = op.cores[engine].max(*held);
            }
            if op.is_gang() {
                *wanted = op.cores[engine].max(*wanted);
            }
        }
    }

    /// Whether anything could be kept from cores of an engine while `holder` holds its own, if all
    /// chains did their most at once.
    fn is_tight(&self, holder: &CoreOp, engine: usize, have: u32) -> bool {
        if holder.cores[engine] == 0 {
            return false;
        }
        let others = || {
            let chains = self.most.iter().enumerate();
            chains
                .filter(|(chain, _)| *chain != holder.chain)
                .map(|(_, most)| most[engine])
        };
        let held: u32 = others().map(|(held, _)| held).sum();
        let wanted = others().map(|(_, wanted)| wanted).max().unwrap_or(0);
        let free = have.saturating_sub(holder.cores[engine].saturating_add(held));
        wanted.max(1) > free
    }
}

/// The ops of all dies that hold cores.
#[derive(Debug)]
pub(super) struct Residents<'r, 'c, 's> {
    pub(super) context: &'r Context<'c, 's>,
    pub(super) dies: Vec<Die>,
    /// Cores of a die per engine.
    pub(super) have: [u32; 2],
}

impl<'r, 'c, 's> Residents<'r, 'c, 's> {
    /// Finds them.
    ///
    /// # Complexity
    /// O(instances).
    pub(super) fn new(context: &'r Context<'c, 's>) -> Self {
        let mut dies: Vec<Die> = Vec::new();
        let mut places: HashMap<(u32, usize), usize> = HashMap::new();
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        for id in context.flat.ids() {
            let Some((cores, hold)) = core_op(context, id) else {
                continue;
            };
            let rank = context.flat[id].rank;
            let die = *numbers.entry(rank).or_insert_with(|| {
                dies.push(Die {
                    chains: Vec::new(),
                    most: Vec::new(),
                });
                dies.len() - 1
            });
            let die = &mut dies[die];
            let chain = *places.entry((rank, context.chain(id))).or_insert_with(|| {
                die.chains.push(Vec::new());
                die.most.push(Default::default());
                die.chains.len() - 1
            });
            die.push(CoreOp {
                id,
                cores,
                hold,
                chain,
            });
        }
        let have = [context.limits.aic, context.limits.aiv];
        Self {
            context,
            dies,
            have,
        }
    }

    /// Those of a chain that are neither certainly done before `op` starts nor certain to start after
    /// it is done.
    pub(super) fn beside<'l>(&self, chain: &'l [CoreOp], op: InstanceId) -> &'l [CoreOp] {
        let context = self.context;
        let low = chain.partition_point(|other| context.before(other.id, op));
        let high = chain.partition_point(|other| !context.before(op, other.id));
        &chain[low.min(high)..high]
    }

    /// Whether `wanting` can be kept from the cores it needs while `holder`, which is on the same die
    /// and stuck, holds its own; with the claims that show it.
    pub(super) fn denied(
        &self,
        die: &Die,
        wanting: &CoreOp,
        holder: &CoreOp,
    ) -> Option<Vec<(CoreOp, usize, bool)>> {
        (0..2).find_map(|engine| self.denied_on(die, wanting, holder, engine))
    }

    fn denied_on(
        &self,
        die: &Die,
        wanting: &CoreOp,
        holder: &CoreOp,
        engine: usize,
    ) -> Option<Vec<(CoreOp, usize, bool)>> {
        if wanting.cores[engine] == 0 || !die.is_tight(holder, engine, self.have[engine]) {
            return None;
        }
        let mut claims = vec![(*holder, engine, true)];
        let mut held = holder.cores[engine];
        let mut gatherer: Option<CoreOp> = None;
        for (number, chain) in die.chains.iter().enumerate() {
            if number == holder.chain || number == wanting.chain {
                continue;
            }
            let both = |other: &&CoreOp| {
                !self.context.before(wanting.id, other.id)
                    && !self.context.before(other.id, wanting.id)
            };
            let beside = self.beside(chain, holder.id);
            let gangs = || beside.iter().filter(|op| op.is_gang()).filter(both);
            let other = gangs()
                .filter(|op| op.collective().is_some() && op.collective() != holder.collective())
                .max_by_key(|op| op.cores[engine]);
            if let Some(other) = other.filter(|op| op.cores[engine] > 0) {
                held += other.cores[engine];
                claims.push((*other, engine, true));
            }
            let widest = gangs().max_by_key(|op| op.cores[engine]);
            if let Some(widest) = widest
                && gatherer.is_none_or(|op| op.cores[engine] < widest.cores[engine])
            {
                gatherer = Some(*widest);
            }
        }
        let free = self.have[engine].saturating_sub(held);
        if wanting.wants(engine) > free {
            claims.push((*wanting, engine, false));
            return Some(claims);
        }
        // The scheduler keeps what is free for a batch kernel that does not fit.
        let kept = gatherer.filter(|op| op.cores[engine] > free)?;
        claims.retain(|(op, _, _)| op.id != kept.id);
        claims.push((kept, engine, false));
        claims.push((*wanting, engine, false));
        Some(claims)
    }
}

/// What cores an instance holds, if it holds any by itself.
fn core_op(context: &Context<'_, '_>, id: InstanceId) -> Option<([u32; 2], Hold)> {
    let instance = &context.flat[id];
    if !context.runs(id) {
        return None;
    }
    // A super kernel holds the cores of its parts as one.
    if instance.role == Role::Part
        && let Some(parent) = instance.parent
        && matches!(context.flat[parent].op.kind, OpKind::SuperKernel(_))
    {
        return None;
    }
    let cores = cores(context, instance)?;
    let hold = hold(context, instance, cores);
    let cores = [cores.aic, cores.aiv];
    (cores != [0, 0]).then_some((cores, hold))
}

/// Cores of an op, with what HCCL takes at least where it does not say.
fn cores(context: &Context<'_, '_>, instance: &Instance<'_>) -> Option<Cores> {
    let op = instance.op;
    if let Some(cores) = op.cores {
        return Some(cores);
    }
    if let OpKind::SuperKernel(kernel) = &op.kind {
        return Some(fused(kernel.parts.iter().filter_map(|part| part.op.cores)));
    }
    let comm = op.comm.as_deref()?;
    let collective = context.flat.collective(instance.collective?);
    let ranks = collective.communicator.groups[collective.group].len();
    let ranks = u32::try_from(ranks).unwrap_or(u32::MAX);
    let aiv = match comm.kind {
        // All of them (facts/collectives.md 4.1).
        CollectiveKind::Dispatch | CollectiveKind::Combine => context.limits.aiv,
        _ if expansion(context, instance) == Some(Expansion::Aiv) => {
            // A core per rank, the least of what HCCL takes (facts/collectives.md 2.2).
            ranks.min(context.limits.aiv)
        }
        _ => return None,
    };
    Some(Cores {
        aiv,
        ..Cores::default()
    })
}

/// The cores of a super kernel made of parts with these: the greatest of each engine, and vector
/// cores in the ratio 1:1 or 1:2 where both engines are used (facts/schedules.md D3).
pub(super) fn fused(parts: impl Iterator<Item = Cores>) -> Cores {
    let most = parts.fold((0, 0), |(aic, aiv), cores| {
        (cores.aic.max(aic), cores.aiv.max(aiv))
    });
    let (aic, aiv) = match most {
        (0, aiv) => (0, aiv),
        (aic, 0) => (aic, 0),
        (aic, aiv) if aiv <= aic => (aic, aic),
        (aic, aiv) => {
            let aic = aic.max(aiv.div_ceil(2));
            (aic, aic.saturating_mul(2))
        }
    };
    Cores {
        aic,
        aiv,
        ..Cores::default()
    }
}

/// Who carries an instance's collective out.
pub(super) fn expansion(context: &Context<'_, '_>, instance: &Instance<'_>) -> Option<Expansion> {
    let comm = instance.op.comm.as_deref()?;
    let communicator = context.flat.collective(instance.collective?).communicator;
    comm.expansion.or(communicator.expansion)
}

fn hold(context: &Context<'_, '_>, instance: &Instance<'_>, cores: Cores) -> Hold {
    let batch = cores.mode == ScheduleMode::Batch;
    // On its own, it waits for nobody.
    let several = |id: &CollectiveId| context.flat.collective(*id).members().len() > 1;
    match instance.collective.filter(several) {
        others if is_fused_moe(instance) && !batch => Hold::Barrier(others),
        Some(id) => Hold::Collective(id),
        None if batch || instance.collective.is_some() => Hold::Batch,
        None => Hold::Plain,
    }
}

/// Whether an op is a fused MoE kernel, with barriers over all its cores and ranks inside.
fn is_fused_moe(instance: &Instance<'_>) -> bool {
    let by_name = match &instance.op.kind {
        OpKind::Kernel(kernel) => {
            let name = kernel.name.to_ascii_lowercase().replace('_', "");
            name.contains("dispatchffncombine") || name.contains("fuseddeepmoe")
        }
        _ => false,
    };
    let comm = instance.op.comm.as_deref();
    by_name || comm.is_some_and(|comm| comm.kind == CollectiveKind::DispatchFfnCombine)
}
