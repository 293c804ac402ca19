//! Ranges: the same schedule again and again with parameters drawn from their ranges.
//!
//! Draws are keyed by what they are for (the op's rank and path), not by order, so that an op has the
//! same luck before and after a change: the range of a difference is then the range of what the
//! change did. Only the four operations and the square root are used, so that the result is the same
//! everywhere.

use ascsim_schedules::flat::{Flat, InstanceId};
use ascsim_schedules::{OpKind, Provenance};
use ascsim_sim::{Compiled, Options, SimError, Simulator, TimeField, Timeline, Times};

/// A group of numbers that vary together or alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Run-to-run noise of measured durations; independent per op.
    MeasuredNoise,
    /// Error of modelled and stated durations; one factor per operator type.
    ModelError,
    /// Host time of calls; one factor for all.
    HostTime,
    /// Latency from a record to the end of a wait for it; one for all.
    EventLatency,
}

/// Standard deviation of a measured duration relative to its mean: the median over 187 kernels in 12
/// captures (facts/traces.md section 2.6).
const MEASURED_CV: f64 = 0.04;
/// Error of a modelled duration: the mean error that the vendor's own model reports over its 22
/// regression cases (facts/peers.md).
const MODEL_ERROR: f64 = 0.094;
/// Range of the host time of a call. Nobody has measured it.
const HOST_ERROR: f64 = 0.25;
/// Range of the event latency in ps, and its median, over 30 blocking waits (facts/traces.md 2.6).
const EVENT_LATENCY: (f64, f64, f64) = (380_000.0, 400_000.0, 520_000.0);

impl Parameter {
    /// All parameters.
    pub const ALL: [Self; 4] = [
        Self::MeasuredNoise,
        Self::ModelError,
        Self::HostTime,
        Self::EventLatency,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::MeasuredNoise => "duration.measured",
            Self::ModelError => "duration.modelled",
            Self::HostTime => "host.issue",
            Self::EventLatency => "event.latency",
        }
    }

    /// What it is, with its range.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::MeasuredNoise => {
                "run-to-run noise of a measured duration, 4 % standard deviation"
            }
            Self::ModelError => "error of a modelled or stated duration, ±9.4 % per operator type",
            Self::HostTime => "host time of calls, ±25 % in common",
            Self::EventLatency => {
                "from a record to the end of a blocked wait, scaled by 0.95 to 1.3"
            }
        }
    }

    /// Where its range comes from.
    pub fn source(self) -> &'static str {
        match self {
            Self::MeasuredNoise => {
                "median over 187 kernels in 12 captures of a 910B (facts/traces.md 2.6)"
            }
            Self::ModelError => {
                "mean error of the vendor's model over its regression cases (facts/peers.md); not \
                 this model's"
            }
            Self::HostTime => "none: a guess",
            Self::EventLatency => "30 blocked waits on a 910B (facts/traces.md 2.6)",
        }
    }

    /// Whether the range was measured.
    pub fn calibrated(self) -> bool {
        matches!(self, Self::MeasuredNoise | Self::EventLatency)
    }
}

/// A compiled schedule with what its draws are keyed by.
#[derive(Debug)]
pub struct Spread {
    keys: Vec<Key>,
}

#[derive(Clone, Copy, Debug)]
struct Key {
    /// Of this op.
    own: u64,
    /// Of all ops of its type.
    alike: u64,
    duration: Option<Parameter>,
}

impl Spread {
    /// The keys of `flat`. O(instances × depth of paths).
    pub fn new(flat: &Flat<'_>) -> Self {
        let keys = flat.ids().map(|id| key(flat, id)).collect();
        Self { keys }
    }

    /// Simulates sample number `sample` of `seed` with the parameters that `varies` accepts drawn
    /// and the others nominal. Returns the timeline.
    ///
    /// # Errors
    /// As [`Simulator::run`]; for instance when a draw makes a schedule hang that does not hang
    /// nominally.
    pub fn run<'s>(
        &self,
        compiled: &Compiled,
        options: &Options,
        draw: &Draw<'_>,
        times: &mut Times,
        simulator: &'s mut Simulator,
    ) -> Result<&'s Timeline, SimError> {
        times.clone_from(compiled.times());
        let host = draw.symmetric(Parameter::HostTime, 0, HOST_ERROR);
        for (index, key) in self.keys.iter().enumerate() {
            let index = index as u32;
            let factor = match key.duration {
                Some(parameter @ Parameter::MeasuredNoise) => {
                    // Two uniform numbers less their mean have a variance of 1/6.
                    let two = draw.uniform(parameter, key.own) + draw.uniform(parameter, !key.own);
                    1.0 + MEASURED_CV * 6_f64.sqrt() * (two - 1.0)
                }
                Some(parameter) => draw.symmetric(parameter, key.alike, MODEL_ERROR),
                None => 1.0,
            };
            scale(times, TimeField::Duration, index, factor);
            scale(times, TimeField::Issue, index, host);
        }
        if options.latencies.event == 0 || !draw.varies(Parameter::EventLatency) {
            return simulator.run(compiled, options, times);
        }
        let (low, median, high) = EVENT_LATENCY;
        let latency = low + (high - low) * draw.uniform(Parameter::EventLatency, 0);
        let mut options = options.clone();
        options.latencies.event = (options.latencies.event as f64 * (latency / median)) as u64;
        simulator.run(compiled, &options, times)
    }
}

fn scale(times: &mut Times, field: TimeField, index: u32, factor: f64) {
    if factor != 1.0
        && let Some(ps) = times.get(field, index)
    {
        // Half up; a factor is never negative, and saturates far above any real time.
        times.set(field, index, (ps as f64 * factor + 0.5) as u64);
    }
}

fn key(flat: &Flat<'_>, id: InstanceId) -> Key {
    let instance = &flat.instances()[id.index()];
    let own = hash(flat.path(id).as_bytes(), u64::from(instance.rank));
    let name = match &instance.op.kind {
        OpKind::Kernel(kernel) => kernel.name.as_str(),
        other => other.name(),
    };
    let duration = match instance.duration().map(|duration| duration.from) {
        Some(Provenance::Measured | Provenance::Derived) => Some(Parameter::MeasuredNoise),
        // Without a duration, the hardware model gives it one.
        Some(Provenance::Stated | Provenance::Modelled) | None => Some(Parameter::ModelError),
        // Given by the question itself.
        Some(Provenance::Assumed) => None,
    };
    Key {
        own,
        alike: hash(name.as_bytes(), 0),
        duration,
    }
}

/// One sample: which parameters vary, and the seed of their draws.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    seed: u64,
    sample: u64,
    varies: &'a [Parameter],
}

impl<'a> Draw<'a> {
    /// Sample number `sample` of `seed`, in which the parameters of `varies` are drawn.
    pub fn new(seed: u64, sample: u64, varies: &'a [Parameter]) -> Self {
        Self {
            seed,
            sample,
            varies,
        }
    }

    fn varies(&self, parameter: Parameter) -> bool {
        self.varies.contains(&parameter)
    }

    /// A number in [0, 1); a half if the parameter does not vary.
    fn uniform(&self, parameter: Parameter, key: u64) -> f64 {
        if !self.varies(parameter) {
            return 0.5;
        }
        let mut state = mix(self.seed ^ mix(self.sample));
        state = mix(state ^ parameter as u64);
        state = mix(state ^ key);
        // 53 bits fill a double exactly.
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A factor in `1 ± half_width`; 1 if the parameter does not vary.
    fn symmetric(&self, parameter: Parameter, key: u64, half_width: f64) -> f64 {
        1.0 + half_width * (2.0 * self.uniform(parameter, key) - 1.0)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn hash(bytes: &[u8], start: u64) -> u64 {
    let chunks = bytes.chunks(8);
    chunks.fold(mix(start ^ bytes.len() as u64), |hash, chunk| {
        let word = chunk
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte));
        mix(hash ^ word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_fill_their_range_and_repeat() {
        let varies = [Parameter::ModelError];
        let (mut low, mut high, mut sum) = (f64::MAX, f64::MIN, 0.0);
        for sample in 0..1000 {
            let draw = Draw::new(7, sample, &varies);
            let factor = draw.symmetric(Parameter::ModelError, 3, 0.1);
            let again = Draw::new(7, sample, &varies).symmetric(Parameter::ModelError, 3, 0.1);
            assert_eq!(factor.to_bits(), again.to_bits());
            assert!((0.9..1.1).contains(&factor));
            low = low.min(factor);
            high = high.max(factor);
            sum += factor;
        }
        assert!(low < 0.905 && high > 1.095, "{low} {high}");
        assert!((sum / 1000.0 - 1.0).abs() < 0.01, "{sum}");
        assert_eq!(
            Draw::new(7, 1, &[]).symmetric(Parameter::ModelError, 3, 0.1),
            1.0
        );
    }

    #[test]
    fn keys_differ_where_paths_do() {
        let texts = ["a", "b", "aa", "a/a", "step[2]/gate", "step[3]/gate"];
        let mut hashes: Vec<u64> = texts.iter().map(|text| hash(text.as_bytes(), 0)).collect();
        hashes.push(hash(b"a", 1));
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), texts.len() + 1);
    }
}
