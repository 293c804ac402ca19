//! What to generate.

use crate::ir::Expansion;

/// The stacks whose op lists are known, newest first; the first is the default.
pub const STACKS: &[&str] = &[
    "vllm-ascend-0.23.0",
    "vllm-ascend-0.22.1rc1",
    "vllm-ascend-0.15.0-flashcomm1",
];

/// What a step does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// One token per request, or one and the speculative ones.
    #[default]
    Decode,
    /// The whole prompt of each request.
    Prefill,
}

/// Number format of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// BF16.
    Bf16,
    /// INT8 weights and activations.
    W8a8,
    /// INT8 activations; INT4 weights of the routed experts.
    W4a8,
    /// BF16 activations; INT4 weights of the routed experts.
    W4a16,
}

/// Number format of the cache of keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// BF16.
    #[default]
    Bf16,
    /// INT8.
    Int8,
}

/// How tokens and partial sums travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommMethod {
    /// AllReduce after each half of a layer; experts split over TP.
    AllReduce,
    /// ReduceScatter and AllGather (FLASHCOMM1), dispatch and combine in one kernel.
    ReduceScatterAllGather,
    /// MoeDistributeDispatch and MoeDistributeCombine between the experts' ranks.
    Mc2,
    /// Dispatch, experts and combine in one kernel.
    FusedMc2,
    /// AllToAllV between the experts' ranks.
    AllToAll,
}

/// Which experts tokens choose.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Routing {
    /// Every expert equally often.
    #[default]
    Uniform,
    /// The r-th most popular expert `1 / r^skew` as often as the first; a whole number of halves.
    Zipf {
        /// The exponent.
        skew: f64,
    },
    /// As often as counted: one count per expert, for all layers.
    Histogram(Vec<f64>),
}

/// What to generate. [`Request::new`] has the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Name of the model ([`super::models`]).
    pub model: String,
    /// Generation of the serving stack, one of [`STACKS`].
    pub stack: String,
    /// What the step does.
    pub phase: Phase,
    /// Requests per data-parallel rank.
    pub batch: u32,
    /// Tokens of each request: in decode those in the cache, in prefill those of the prompt.
    pub context: u32,
    /// Tensor-parallel ranks.
    pub tp: u32,
    /// Expert-parallel ranks: 1, or all `tp * dp`.
    pub ep: u32,
    /// Data-parallel ranks.
    pub dp: u32,
    /// Context-parallel ranks; only 1 is known.
    pub cp: u32,
    /// Number format of the weights; none for the one the model is served in.
    pub weights: Option<Weights>,
    /// Number format of the cache.
    pub cache: Cache,
    /// How ranks communicate; none for what the stack chooses.
    pub comm: Option<CommMethod>,
    /// Who carries collectives out; none leaves it to the hardware model.
    pub expansion: Option<Expansion>,
    /// Which experts tokens choose.
    pub routing: Routing,
    /// Speculative tokens per request and step.
    pub speculative: u32,
    /// Probability that one more speculative token is accepted.
    pub acceptance: f64,
    /// Whether the shared expert runs beside the routed ones, on a stream of its own.
    pub overlap: bool,
    /// Whether MLA is preprocessed by one kernel (MLAPO).
    pub mlapo: bool,
    /// Whether kernels are compiled for static shapes.
    pub static_kernels: bool,
    /// Whether the model runs as a captured graph; none for what the stack does in this phase.
    pub graph: Option<bool>,
    /// Cube cores of a die.
    pub aic: u32,
    /// Vector cores of a die.
    pub aiv: u32,
}

impl Request {
    /// One request in decode with 1,024 tokens in the cache on one die of 24 cube and 48 vector
    /// cores (facts/hardware.md 1.1, 752T die), with the stack's own choices.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            stack: STACKS[0].to_owned(),
            phase: Phase::Decode,
            batch: 1,
            context: 1024,
            tp: 1,
            ep: 1,
            dp: 1,
            cp: 1,
            weights: None,
            cache: Cache::Bf16,
            comm: None,
            expansion: None,
            routing: Routing::Uniform,
            speculative: 0,
            acceptance: 0.7,
            overlap: false,
            mlapo: false,
            static_kernels: false,
            graph: None,
            aic: 24,
            aiv: 48,
        }
    }
}
