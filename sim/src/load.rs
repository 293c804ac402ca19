//! What a task takes of its die while it runs: cores of each kind, and bandwidth.

/// The kinds of cores of a die. A channel of the SDMA engine counts as a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Engine {
    /// Cube cores.
    Aic,
    /// Vector cores.
    Aiv,
    /// AICPU cores that kernels and collectives may use.
    AiCpu,
    /// SDMA channels.
    Sdma,
}

impl Engine {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; KINDS] = [Self::Aic, Self::Aiv, Self::AiCpu, Self::Sdma];

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aic => "AIC",
            Self::Aiv => "AIV",
            Self::AiCpu => "AICPU",
            Self::Sdma => "SDMA",
        }
    }
}

/// Number of kinds of cores.
pub(crate) const KINDS: usize = 4;

/// What the tasks of a die share in proportion: bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Resource {
    /// HBM of the die.
    Hbm,
    /// L2 cache of the die.
    L2,
    /// The links of the die to other packages.
    Link,
    /// The SDMA engine's prefetching into L2.
    Cmo,
}

impl Resource {
    /// All resources, in the order of their numbers.
    pub const ALL: [Self; RESOURCES] = [Self::Hbm, Self::L2, Self::Link, Self::Cmo];
}

/// Number of resources.
pub(crate) const RESOURCES: usize = 4;

/// Bytes per second in bytes per ps.
pub(crate) const PER_PS: f64 = 1e-12;

/// Amounts of each resource, in bytes per ps.
pub(crate) type Rates = [f64; RESOURCES];

/// What one die has.
#[derive(Clone, Debug, PartialEq)]
pub struct Die {
    /// Cores of each kind, by [`Engine`].
    pub cores: [u32; KINDS],
    /// Bandwidth of each resource in bytes per second, by [`Resource`]; infinite where it is not
    /// shared.
    pub bytes_per_s: [f64; RESOURCES],
    /// Bandwidth of all prefetches into L2 together, in bytes per second, when there are several at
    /// once: they get in each other's way.
    pub shared_cmo_bytes_per_s: f64,
    /// Capacity of the L2 cache in bytes; 0 keeps nothing.
    pub l2_bytes: u64,
}

impl Default for Die {
    /// The cores of a full 910C die (facts/hardware.md section 1.1), and bandwidth without end.
    fn default() -> Self {
        Self {
            cores: [24, 48, 6, u32::MAX],
            bytes_per_s: [f64::INFINITY; RESOURCES],
            shared_cmo_bytes_per_s: f64::INFINITY,
            l2_bytes: 0,
        }
    }
}

impl Die {
    /// Bandwidths in bytes per ps, where at most one prefetch runs and where several do.
    pub(crate) fn rates(&self) -> [Rates; 2] {
        let alone = self.bytes_per_s.map(|rate| rate * PER_PS);
        let mut shared = alone;
        shared[Resource::Cmo as usize] = self.shared_cmo_bytes_per_s * PER_PS;
        [alone, shared]
    }
}

/// What a task takes while it runs.
///
/// A kernel consists of equal *units*: one block, or for kernels on both engines the blocks that
/// belong together. Its units are handed to cores one by one or, where [`whole`](Self::whole) says
/// so, all at once. The first units spend `fixed` before they work; from then on each draws `rates`
/// as long as nothing slows it down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Load {
    /// Cores of each kind that one unit takes.
    pub(crate) unit: [u16; KINDS],
    /// Number of units; 0 if the task takes no cores.
    pub(crate) units: u32,
    /// In how many rounds its units run alone on the die that its duration is for; at least 1.
    pub(crate) waves: u32,
    /// Whether there is one unit because all blocks must start at once (batch mode), so that it
    /// never starts where the die has too few cores.
    pub(crate) whole: bool,
    /// Time before it works, in ps, part of the task's duration.
    pub(crate) fixed: u64,
    /// Bytes per ps that one unit draws at full speed.
    pub(crate) rates: Rates,
    /// How it changes with what it finds in L2.
    pub(crate) warm: Warm,
}

/// How the body of a task changes with the share of its reads that L2 holds. Times are relative to
/// the body of a task that finds nothing there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Warm {
    /// Bytes it reads; 0 where nothing is known, and nothing changes.
    pub(crate) read: f64,
    /// What its cores need to compute.
    pub(crate) compute: f64,
    /// What its cores need to draw its bytes, with none of them in L2 and with all of them.
    pub(crate) draw: [f64; 2],
    /// The share of its HBM traffic that is reads.
    pub(crate) hbm: f64,
    /// Bytes per ps that one unit reads of L2 if it reads all there.
    pub(crate) l2: f64,
    /// Whether only prefetched bytes count, because its time was measured with the others there.
    pub(crate) prefetched_only: bool,
}

impl Load {
    /// How long the body takes relative to the cold one, and what one unit draws meanwhile, with
    /// this share of the reads in L2.
    pub(crate) fn with_hits(&self, share: f64) -> (f64, Rates) {
        if share <= 0.0 {
            return (1.0, self.rates);
        }
        let [cold, warm] = self.warm.draw;
        let own = self.warm.compute.max(cold + (warm - cold) * share);
        let own = own.max(MOST_FASTER);
        let mut rates = self.rates;
        let hbm = &mut rates[Resource::Hbm as usize];
        *hbm *= 1.0 - self.warm.hbm * share;
        rates[Resource::L2 as usize] += self.warm.l2 * share;
        (own, rates.map(|rate| rate / own))
    }
}

/// The least that hits leave of a body: nothing is drawn in no time.
const MOST_FASTER: f64 = 1e-3;

impl Load {
    /// A load of `aic` and `aiv` blocks: as many equal units as these divide into, or with `batch` a
    /// single one.
    pub(crate) fn blocks(aic: u32, aiv: u32, batch: bool) -> Self {
        let units = match (batch, aic, aiv) {
            (_, 0, 0) => 0,
            (true, _, _) => 1,
            // No kernel has more; the count shares a word with other things in the event queue.
            (false, _, _) => common_divisor(aic, aiv).min(1 << 24),
        };
        let part = |blocks: u32| u16::try_from(blocks / units.max(1)).unwrap_or(u16::MAX);
        Self {
            unit: [part(aic), part(aiv), 0, 0],
            units,
            whole: batch,
            ..Self::default()
        }
    }

    /// The load with all units as one that starts at once, if necessary on fewer cores.
    pub(crate) fn as_one(self) -> Self {
        let units = u16::try_from(self.units).unwrap_or(u16::MAX);
        Self {
            unit: self.unit.map(|cores| cores.saturating_mul(units)),
            units: self.units.min(1),
            ..self
        }
    }

    /// The load with the rounds in which its units run alone on a die. A unit larger than the die
    /// is cut down to it.
    pub(crate) fn on(mut self, die: &Die) -> Self {
        let mut unit = self;
        for (unit, cores) in unit.unit.iter_mut().zip(&die.cores) {
            *unit = u16::try_from(*cores).map_or(*unit, |cores| cores.min(*unit));
        }
        self.waves = match self.units {
            0 | 1 => 1,
            units => units.div_ceil(fits(die.cores, &unit).max(1)),
        };
        self
    }

    /// Whether it takes cores of a kind.
    pub(crate) fn takes(&self, engine: Engine) -> bool {
        self.units > 0 && self.unit[engine as usize] > 0
    }

    /// Whether it draws on bandwidth.
    pub(crate) fn flows(&self) -> bool {
        self.rates.iter().any(|rate| *rate > 0.0)
    }
}

/// How many units of a load so many cores hold.
pub(crate) fn fits(cores: [u32; KINDS], load: &Load) -> u32 {
    let kinds = cores.iter().zip(&load.unit);
    kinds
        .filter(|(_, unit)| **unit > 0)
        .map(|(cores, unit)| cores / u32::from(*unit))
        .fold(u32::MAX, u32::min)
}

fn common_divisor(a: u32, b: u32) -> u32 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_on_both_engines_have_units_of_both() {
        let of = |aic, aiv, batch| {
            let load = Load::blocks(aic, aiv, batch);
            (load.units, load.unit[0], load.unit[1])
        };
        assert_eq!(of(24, 48, false), (24, 1, 2));
        assert_eq!(of(20, 0, false), (20, 1, 0));
        assert_eq!(of(20, 48, false), (4, 5, 12));
        assert_eq!(of(0, 8, true), (1, 0, 8));
        assert_eq!(of(0, 0, true), (0, 0, 0));
    }
}
