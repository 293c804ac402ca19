//! Cores, block by block: the slow version of how they are handed out.

use ascsim_schedules::OpKind;
use ascsim_sim::EngineModel;

use super::Reference;

impl Reference<'_, '_> {
    /// How many blocks an instance has, where that matters, what each takes of AIC and AIV, and
    /// whether it waits for ever if that is more than there is.
    pub(super) fn wanted(&self, at: usize) -> (u32, [u32; 2], bool) {
        let this = self.get(at);
        let inside = this.parent.map(|whole| &self.flat[whole].op.kind);
        if self.options.engines == EngineModel::Unlimited
            || matches!(inside, Some(OpKind::SuperKernel(_)))
        {
            return (0, [0; 2], false);
        }
        let mut cores = this.op.cores.unwrap_or_default();
        if let (OpKind::SuperKernel(kernel), None) = (&this.op.kind, this.op.cores) {
            for part in &kernel.parts {
                let part = part.op.cores.unwrap_or_default();
                cores.aic = cores.aic.max(part.aic);
                cores.aiv = cores.aiv.max(part.aiv);
            }
        }
        let all = [cores.aic, cores.aiv];
        if all == [0; 2] {
            return (0, all, false);
        }
        if self.options.engines == EngineModel::Exclusive {
            return (1, all.map(|blocks| blocks.min(1)), false);
        }
        let batch = !cores.mode.is_normal();
        let ends_by_itself = this.collective.is_none()
            && (!matches!(this.op.kind, OpKind::Group(_) | OpKind::SuperKernel(_))
                || self.runs_as_one(at));
        let parts = |n: &u32| all.iter().all(|blocks| blocks % n == 0);
        let units = match batch {
            true => 1,
            false => (1..=all[0] + all[1]).rev().find(parts).unwrap_or(1),
        };
        let there = [self.options.die.cores[0], self.options.die.cores[1]];
        let one = all.map(|blocks| blocks / units);
        let fit = |one: [u32; 2]| match batch {
            true => one,
            false => [one[0].min(there[0]), one[1].min(there[1])],
        };
        match ends_by_itself {
            true => (units, fit(one), batch),
            false => (1, fit(all), batch),
        }
    }

    fn capacity(&self) -> [u32; 2] {
        match self.options.engines {
            EngineModel::Shared => [self.options.die.cores[0], self.options.die.cores[1]],
            EngineModel::Exclusive | EngineModel::Unlimited => [1; 2],
        }
    }

    /// The first of the pending instances for whose next block there are cores.
    pub(super) fn first_with_cores(&self) -> Option<usize> {
        let fits = |at: &usize| {
            let rank = self.get(*at).rank;
            let mut free = self.capacity();
            for (holder, held, _) in &self.blocks {
                if self.get(*holder).rank == rank {
                    free = [free[0] - held[0], free[1] - held[1]];
                }
            }
            let (_, one, _) = self.wanted(*at);
            one[0] <= free[0] && one[1] <= free[1]
        };
        self.pending.iter().copied().find(fits)
    }

    /// A block of an instance takes its cores.
    pub(super) fn takes_cores(&mut self, at: usize) {
        let (units, one, _) = self.wanted(at);
        let first = !self.begun[at];
        let started = self.started.entry(at).or_default();
        *started += 1;
        if *started == units {
            self.pending.remove(&at);
        }
        self.blocks.push((at, one, None));
        if first {
            self.begin(at);
        }
        // Kernels in blocks end with their last block.
        if self.options.engines == EngineModel::Shared && self.end_at[at].is_none() {
            let this = self.get(at);
            let timed = matches!(
                this.op.kind,
                OpKind::Kernel(_) | OpKind::Copy(_) | OpKind::Prefetch(_)
            );
            if this.collective.is_none() && (timed || self.runs_as_one(at)) {
                let there = self.capacity();
                let most = (0..2).filter(|engine| one[*engine] > 0);
                let side_by_side = most.map(|engine| there[engine] / one[engine]).min();
                let waves = u64::from(units.div_ceil(side_by_side.unwrap_or(1).max(1)));
                let (each, rest) = (self.duration(at) / waves, self.duration(at) % waves);
                let with_start = self.run.start[at] == Some(self.now);
                let takes = each + if with_start { rest } else { 0 };
                let end = self.at(self.now + takes);
                if let Some(block) = self.blocks.last_mut() {
                    block.2 = Some(end);
                }
            }
        }
    }

    /// Whether all blocks of a kernel have started and ended.
    pub(super) fn blocks_done(&mut self, at: usize) -> bool {
        let (units, _, _) = self.wanted(at);
        let now = self.now;
        self.blocks
            .retain(|(holder, _, end)| *holder != at || end.is_none_or(|end| end > now));
        self.started.get(&at) == Some(&units)
            && self.blocks.iter().all(|(holder, _, _)| *holder != at)
    }
}
