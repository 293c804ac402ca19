//! What a kernel costs alone on its cores: a roofline with a fixed part. Times in ps. Numbers:
//! facts/hardware.md sections 1.1, 1.3 and 9.

use serde::Serialize;

use crate::ParameterId as P;
use crate::Reader;
use crate::number::{ps, us_at};

/// The classes of kernels, which differ in fixed part and in the share of bandwidth they reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelClass {
    /// A matmul in floating point.
    Matmul,
    /// A matmul in INT8.
    QuantMatmul,
    /// A grouped matmul (routed experts).
    GroupedMatmul,
    /// Attention.
    Attention,
    /// Anything on vector cores.
    Vector,
    /// A kernel on the AICPU.
    AiCpu,
}

impl KernelClass {
    /// The class of an operator type such as `QuantBatchMatmulV3`, by its name; names as in
    /// facts/op-inventory.md section 1.
    pub fn of(operator: &str) -> Self {
        let name = operator.to_ascii_lowercase();
        let has = |part: &str| name.contains(part);
        if has("aicpu") {
            Self::AiCpu
        } else if has("groupedmatmul") || has("gmm") {
            Self::GroupedMatmul
        } else if has("quantbatchmatmul") || has("quantmatmul") {
            Self::QuantMatmul
        } else if has("matmul") {
            Self::Matmul
        } else if has("attention") || has("mlaprolog") {
            Self::Attention
        } else {
            Self::Vector
        }
    }

    /// The parameter with the fixed part of the class.
    pub fn fixed(self) -> P {
        match self {
            Self::Matmul => P::KernelMatmulFixed,
            Self::QuantMatmul => P::KernelQuantFixed,
            Self::GroupedMatmul => P::KernelGroupedFixed,
            Self::Attention => P::KernelAttentionFixed,
            Self::Vector => P::KernelVectorFixed,
            Self::AiCpu => P::KernelAicpuFixed,
        }
    }

    fn hbm_efficiency(self) -> P {
        match self {
            Self::Matmul => P::KernelMatmul,
            Self::QuantMatmul => P::KernelQuant,
            Self::GroupedMatmul => P::KernelGrouped,
            Self::Attention => P::KernelAttention,
            Self::Vector | Self::AiCpu => P::KernelVectorHbm,
        }
    }
}

/// Number formats with a peak rate of their own on the cube cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// BF16.
    #[default]
    Bf16,
    /// FP16.
    Fp16,
    /// INT8, and INT4 weights that are widened to it.
    Int8,
    /// FP32.
    Fp32,
}

impl Format {
    /// The format that operands of a data type are multiplied in; BF16 for unknown ones.
    pub fn of(dtype: &str) -> Self {
        match dtype.to_ascii_lowercase().as_str() {
            "fp16" | "float16" | "half" => Self::Fp16,
            "int8" | "int4" | "uint8" => Self::Int8,
            "fp32" | "float32" | "float" => Self::Fp32,
            _ => Self::Bf16,
        }
    }

    fn peak(self) -> P {
        match self {
            Self::Bf16 => P::ChipBf16,
            Self::Fp16 => P::ChipFp16,
            Self::Int8 => P::ChipInt8,
            Self::Fp32 => P::ChipFp32,
        }
    }
}

/// What a kernel does, and on which cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelWork {
    /// Its class.
    pub class: KernelClass,
    /// The number format of the cube cores.
    pub format: Format,
    /// Operations on cube cores.
    pub cube_flops: f64,
    /// Operations on vector cores.
    pub vector_flops: f64,
    /// Bytes read, of which `l2_hit_bytes` from L2.
    pub bytes_read: f64,
    /// Bytes of `bytes_read` that are in L2.
    pub l2_hit_bytes: f64,
    /// Bytes written.
    pub bytes_written: f64,
    /// Blocks on cube cores; 0 if none.
    pub aic_blocks: u32,
    /// Blocks on vector cores; 0 if none.
    pub aiv_blocks: u32,
    /// Cube cores that it may use, at most those of the die.
    pub aic_cores: u32,
    /// Vector cores that it may use, at most those of the die.
    pub aiv_cores: u32,
}

/// What bounds a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Its fixed part or the floor of all kernels.
    Fixed,
    /// The peak of the cube cores it has.
    Cube,
    /// The peak of the vector cores it has.
    Vector,
    /// HBM bandwidth.
    Hbm,
    /// L2 bandwidth.
    L2,
    /// What its cores can draw from memory.
    Cores,
}

/// The parts of a kernel's time, in ps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KernelCost {
    /// The time: the fixed part and the longest of the others, at least the floor.
    pub ps: u64,
    /// The fixed part.
    pub fixed_ps: u64,
    /// The longest of compute and memory.
    pub body_ps: u64,
    /// What its cores need for the body by themselves, if memory gave all they can draw.
    pub own_ps: u64,
    /// What its cores need to compute, in ps.
    pub compute_ps: u64,
    /// What its cores need to draw its bytes, in ps.
    pub draw_ps: u64,
    /// HBM traffic in bytes at nominal bandwidth: what it moves, over the share of the bandwidth
    /// that its class reaches. Over nominal bandwidth, it gives the time on HBM alone.
    pub hbm_bytes: f64,
    /// Bytes it reads from L2.
    pub l2_bytes: f64,
    /// What bounds it.
    pub bound: Bound,
    /// Waves: how often the busiest engine hands out blocks.
    pub waves: u32,
}

/// The cost of a kernel alone on its die. With fewer cores than blocks it runs in waves: each core
/// takes `ceil(blocks / cores)` blocks, and both its compute and what it can draw from memory stretch
/// by that; HBM and L2 as a whole do not. More cores or bandwidth never make it slower.
pub fn kernel(work: &KernelWork, r: &Reader<'_>) -> KernelCost {
    let cube = Engine::new(work.aic_blocks, work.aic_cores, r.get(P::ChipAic));
    let vector = Engine::new(work.aiv_blocks, work.aiv_cores, r.get(P::ChipAiv));
    let mut body = 0.0;
    let mut compute: f64 = 0.0;
    let mut draw = 0.0;
    let mut hbm_bytes = 0.0;
    let mut bound = Bound::Fixed;
    let mut consider = |us: f64, what: Bound| {
        if us > body {
            body = us;
            bound = what;
        }
    };
    if work.cube_flops > 0.0 {
        let rate = r.get(work.format.peak()) * r.get(P::KernelCube);
        let us = cube.stretch * us_at(work.cube_flops, rate);
        compute = compute.max(us);
        consider(us, Bound::Cube);
    }
    if work.vector_flops > 0.0 {
        let rate = r.get(P::ChipVector) * r.get(P::KernelVector);
        let us = vector.stretch * us_at(work.vector_flops, rate);
        compute = compute.max(us);
        consider(us, Bound::Vector);
    }
    let hit = work.l2_hit_bytes.clamp(0.0, work.bytes_read.max(0.0));
    let hbm = work.bytes_read.max(0.0) - hit + work.bytes_written.max(0.0);
    if hbm > 0.0 {
        hbm_bytes = hbm / r.get(work.class.hbm_efficiency());
        consider(us_at(hbm_bytes, r.get(P::ChipHbm)), Bound::Hbm);
    }
    if hit > 0.0 {
        consider(us_at(hit, r.get(P::ChipL2)), Bound::L2);
    }
    if hit + hbm > 0.0 && work.class != KernelClass::AiCpu {
        // Cube cores feed a kernel that has any; otherwise vector cores do.
        let (engine, from_hbm, from_l2) = if work.aic_blocks > 0 {
            (&cube, P::ChipAicHbm, P::ChipAicL2)
        } else {
            (&vector, P::ChipAivHbm, P::ChipAivL2)
        };
        let mut one = 0.0;
        if hbm > 0.0 {
            one += us_at(hbm, r.get(from_hbm));
        }
        if hit > 0.0 {
            one += us_at(hit, r.get(from_l2));
        }
        draw = one * engine.share;
        consider(one * engine.share, Bound::Cores);
    }
    let fixed = r.get(work.class.fixed());
    let floor = r.get(P::KernelFloor);
    if fixed >= body {
        bound = Bound::Fixed;
    }
    KernelCost {
        ps: ps((fixed + body).max(floor)),
        fixed_ps: ps(fixed),
        body_ps: ps(body),
        own_ps: ps(compute.max(draw)),
        compute_ps: ps(compute),
        draw_ps: ps(draw),
        hbm_bytes,
        l2_bytes: hit,
        bound,
        waves: cube.waves.max(vector.waves),
    }
}

/// An engine as one kernel sees it.
struct Engine {
    waves: u32,
    /// Share of the work that the busiest core does.
    share: f64,
    /// How much longer the work takes than on all cores of the die.
    stretch: f64,
}

impl Engine {
    /// A kernel without blocks on the engine, or one whose block dim is unknown, is taken to use as
    /// many blocks as it has cores.
    fn new(blocks: u32, cores: u32, of_die: f64) -> Self {
        let cores = f64::from(cores.max(1)).min(of_die.max(1.0));
        let blocks = if blocks == 0 {
            cores
        } else {
            f64::from(blocks)
        };
        let waves = (blocks / cores).ceil();
        let share = waves / blocks;
        Self {
            waves: waves as u32,
            share,
            stretch: share * of_die,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalogue, Model, Selection, Values};

    fn values() -> Values {
        let catalogue = Catalogue::built_in().expect("the built-in profiles are valid");
        Model::new(&catalogue, &Selection::default())
            .expect("the built-in profiles are complete")
            .values()
    }

    fn matmul(bytes: f64, cores: u32) -> KernelWork {
        KernelWork {
            class: KernelClass::Matmul,
            format: Format::Bf16,
            cube_flops: bytes,
            vector_flops: 0.0,
            bytes_read: bytes,
            l2_hit_bytes: 0.0,
            bytes_written: 0.0,
            aic_blocks: 24,
            aiv_blocks: 0,
            aic_cores: cores,
            aiv_cores: 48,
        }
    }

    #[test]
    fn decode_matmuls_follow_the_published_fit() {
        // facts/hardware.md section 1.5: Qwen3-32B TP16, BF16: 5120 -> 3200, 1600 -> 5120, lm_head.
        let values = values();
        for (bytes, us) in [
            (2.0 * 5120.0 * 3200.0, 32.1),
            (2.0 * 1600.0 * 5120.0, 18.8),
            (97e6, 86.6),
        ] {
            let cost = kernel(&matmul(bytes, 24), &Reader::new(&values));
            let model = cost.ps as f64 / 1e6;
            assert!((model / us - 1.0).abs() < 0.03, "{bytes}: {model} for {us}");
            assert_eq!(cost.bound, Bound::Hbm);
        }
    }

    #[test]
    fn half_the_cores_slow_a_memory_bound_matmul_less_than_twice() {
        // facts/hardware.md section 1.5: 24 -> 12 AIC makes MatMul 1.27 times slower (14.2 us).
        let values = values();
        let bytes = 9.8e-6 * 1.18e12;
        let full = kernel(&matmul(bytes, 24), &Reader::new(&values)).ps as f64;
        let half = kernel(&matmul(bytes, 12), &Reader::new(&values));
        assert_eq!((half.waves, half.bound), (2, Bound::Cores));
        let ratio = half.ps as f64 / full;
        assert!((1.2..1.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn bytes_in_l2_cost_less_and_small_kernels_hit_the_floor() {
        let values = values();
        let r = Reader::new(&values);
        let cold = matmul(50e6, 24);
        let warm = KernelWork {
            l2_hit_bytes: 50e6,
            ..cold
        };
        assert!(kernel(&warm, &r).ps < kernel(&cold, &r).ps);
        let mut low = values.clone();
        low.set(P::KernelMatmulFixed, 0.1);
        let tiny = kernel(&matmul(64.0, 24), &Reader::new(&low));
        assert_eq!(tiny.ps, 1_300_000);
        assert_eq!(tiny.bound, Bound::Fixed);
    }

    #[test]
    fn a_compute_bound_kernel_runs_at_its_share_of_the_peak() {
        // facts/hardware.md section 1.3: BF16 GEMM of 41040 x 5120 x 3200 at 317 TF, 90 % of peak.
        let values = values().with(P::KernelCube, 0.9);
        let flops = 2.0 * 41040.0 * 5120.0 * 3200.0;
        let work = KernelWork {
            cube_flops: flops,
            ..matmul(2.0 * (41040.0 * 8320.0 + 5120.0 * 3200.0), 24)
        };
        let cost = kernel(&work, &Reader::new(&values));
        assert_eq!(cost.bound, Bound::Cube);
        assert!((cost.ps as f64 / 4244.6e6 - 1.0).abs() < 0.01, "{cost:?}");
    }

    #[test]
    fn operators_are_classed_by_name() {
        for (name, class) in [
            ("MatMulV2", KernelClass::Matmul),
            ("QuantBatchMatmulV3", KernelClass::QuantMatmul),
            ("GroupedMatmulSwigluQuant", KernelClass::GroupedMatmul),
            ("FusedInferAttentionScore", KernelClass::Attention),
            ("AddRmsNormBias", KernelClass::Vector),
            ("allreduceAicpuKernel", KernelClass::AiCpu),
        ] {
            assert_eq!(KernelClass::of(name), class, "{name}");
        }
        assert_eq!(Format::of("INT8"), Format::Int8);
        assert_eq!(Format::of("bf16"), Format::Bf16);
    }
}
