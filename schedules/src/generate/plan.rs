//! What a request means: the parts of each layer, the symbols of the formulas, and what is refused.

use super::GenerateError;
use super::formula::Symbols;
use super::model::{Family, Model, model};
use super::request::{Cache, CommMethod, Phase, Request, Routing, STACKS, Weights};
use super::routing::Choice;
use crate::ir::Expr;

/// The most tokens per TP rank that MC2 takes (facts/op-inventory.md section 3).
const MC2_ROWS: u32 = 512;
/// The most ranks that DispatchFFNCombine spans (facts/collectives.md 4.2).
const FUSED_RANKS: u32 = 32;
/// The most ranks that dispatch and combine span (facts/collectives.md 4.1).
const MC2_RANKS: u32 = 768;
/// More ranks than any system this models has dies.
const MOST_RANKS: u32 = 4096;
/// More than any captured batch or prompt.
const MOST_TOKENS: u64 = 1 << 24;

/// A request that can be generated.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub request: &'a Request,
    pub model: Model,
    pub comm: CommMethod,
    /// Whether the model runs as a captured graph.
    pub graph: bool,
    /// What had to be assumed.
    pub notes: Vec<String>,
    /// Bytes per weight of the routed experts.
    pub expert_bytes: f64,
    weights: Weights,
}

impl<'a> Plan<'a> {
    /// Checks `request`.
    pub(super) fn new(request: &'a Request) -> Result<Self, GenerateError> {
        if !STACKS.contains(&request.stack.as_str()) {
            return Err(GenerateError::UnknownStack {
                name: request.stack.clone(),
                known: STACKS.join(", "),
            });
        }
        let model = model(&request.model)?;
        if let Some(why) = &model.missing {
            return Err(GenerateError::refused(model.title, why.clone()));
        }
        let mut plan = Self {
            request,
            weights: request.weights.unwrap_or(match model.family {
                Family::Mla => Weights::W8a8,
                _ => Weights::Bf16,
            }),
            comm: CommMethod::AllReduce,
            graph: request.graph.unwrap_or(request.phase == Phase::Decode),
            notes: Vec::new(),
            expert_bytes: 2.0,
            model,
        };
        plan.check_numbers()?;
        plan.check_stack()?;
        plan.check_formats()?;
        plan.comm = plan.choose_comm()?;
        Ok(plan)
    }

    /// Ranks there are.
    pub(super) fn world(&self) -> u32 {
        self.request.tp * self.request.dp
    }

    /// Rows that the model sees on a data-parallel rank.
    pub(super) fn rows(&self) -> u32 {
        let request = self.request;
        match request.phase {
            Phase::Decode => request.batch * (1 + request.speculative),
            Phase::Prefill => request.batch * request.context,
        }
    }

    /// Rows of which logits are computed.
    pub(super) fn sampled(&self) -> u32 {
        match self.request.phase {
            Phase::Decode => self.rows(),
            Phase::Prefill => self.request.batch,
        }
    }

    fn flashcomm(&self) -> bool {
        self.comm == CommMethod::ReduceScatterAllGather
    }

    fn check_numbers(&self) -> Result<(), GenerateError> {
        let r = self.request;
        let config = &self.model.config;
        let bad = |text: String| Err(GenerateError::Request(text));
        let counts = [
            ("--batch", r.batch),
            ("--context", r.context),
            ("--tp", r.tp),
            ("--ep", r.ep),
            ("--dp", r.dp),
            ("--cp", r.cp),
        ];
        for (name, count) in counts {
            if count == 0 {
                return bad(format!("{name} must be at least 1"));
            }
        }
        if u64::from(r.tp) * u64::from(r.dp) > u64::from(MOST_RANKS) {
            return bad(format!("--tp times --dp is more than {MOST_RANKS} ranks"));
        }
        let per_request = u64::from(r.context).max(1 + u64::from(r.speculative));
        let rows = u64::from(r.batch).saturating_mul(per_request);
        if rows > MOST_TOKENS {
            return bad(format!(
                "--batch times --context is more than {MOST_TOKENS} tokens"
            ));
        }
        for (what, number) in [
            ("attention heads", config.num_attention_heads),
            ("vocabulary", config.vocab_size),
            ("value heads", config.linear_num_value_heads),
            ("key heads", config.linear_num_key_heads),
            ("intermediate size", config.intermediate_size),
            (
                "expert intermediate size",
                if r.ep > 1 {
                    0
                } else {
                    config.moe_intermediate_size
                },
            ),
            (
                "shared expert's intermediate size",
                config.shared_expert_intermediate_size,
            ),
        ] {
            if !number.is_multiple_of(r.tp) {
                return bad(format!(
                    "--tp {}: it must divide the {what}, {number}",
                    r.tp
                ));
            }
        }
        if !(0.0..=1.0).contains(&r.acceptance) {
            return bad("--acceptance is a probability, from 0 to 1".to_owned());
        }
        let routed = config.num_experts;
        match &r.routing {
            Routing::Zipf { skew }
                if !(0.0..=4.0).contains(skew) || (skew * 2.0).fract() != 0.0 =>
            {
                bad("--routing zipf:S: S is a whole number of halves from 0 to 4".to_owned())
            }
            Routing::Histogram(counts)
                if counts.len() != routed as usize
                    || !counts
                        .iter()
                        .all(|count| count.is_finite() && *count >= 0.0)
                    || counts.iter().filter(|count| **count > 0.0).count()
                        < config.num_experts_per_tok as usize =>
            {
                bad(format!(
                    "the histogram needs one count that is not negative for each of the {routed} experts, \
                     and {} that are not zero",
                    config.num_experts_per_tok
                ))
            }
            _ => Ok(()),
        }
    }

    fn check_stack(&mut self) -> Result<(), GenerateError> {
        let r = self.request;
        let family = self.model.family;
        let what = |text: &str| format!("{} with {text}", self.model.title);
        if r.cp > 1 {
            let why = "no public op list shows what context parallelism issues";
            return Err(GenerateError::refused(what("--cp"), why));
        }
        if r.phase == Phase::Prefill && self.graph {
            let why = "the stack captures decode batches only (FULL_DECODE_ONLY); prefill is eager";
            return Err(GenerateError::refused(what("--graph in prefill"), why));
        }
        if r.phase == Phase::Prefill && r.speculative > 0 {
            let why = "speculative tokens are part of decode";
            return Err(GenerateError::refused(
                what("--speculative in prefill"),
                why,
            ));
        }
        if r.stack == "vllm-ascend-0.22.1rc1" && family != Family::Hybrid {
            let why = "of this generation only the difference of the hybrid models is recorded";
            return Err(GenerateError::refused(what(&r.stack), why));
        }
        if r.stack == "vllm-ascend-0.15.0-flashcomm1" {
            if family != Family::Mla || r.phase == Phase::Prefill || r.tp < 2 {
                let why =
                    "the capture of this generation is a decode step of an MLA model with --tp > 1";
                return Err(GenerateError::refused(what(&r.stack), why));
            }
            if r.speculative > 0 || r.mlapo {
                let why = "the capture of this generation has neither";
                return Err(GenerateError::refused(
                    what("--speculative or --mlapo"),
                    why,
                ));
            }
            self.notes.push(
                "input preparation and sampler are those of vllm-ascend 0.23.0: the capture shows only \
                 how many kernels they have"
                    .to_owned(),
            );
        }
        if r.speculative > 0 && self.model.config.mtp_num_hidden_layers == 0 {
            let why = "it has no draft layer";
            return Err(GenerateError::refused(what("--speculative"), why));
        }
        if r.speculative > 0 && !self.model.config.has_experts(u32::MAX) {
            let why = "only the draft layer with routed experts has an op list";
            return Err(GenerateError::refused(what("--speculative"), why));
        }
        if r.mlapo && (family != Family::Mla || r.phase == Phase::Prefill) {
            let why = "MLAPO is a kernel of MLA in decode";
            return Err(GenerateError::refused(what("--mlapo"), why));
        }
        if r.overlap && self.model.config.shared_expert_intermediate_size == 0 {
            let why = "it has no shared expert";
            return Err(GenerateError::refused(what("--overlap"), why));
        }
        Ok(())
    }

    fn check_formats(&mut self) -> Result<(), GenerateError> {
        let title = self.model.title.clone();
        let experts = self.model.config.num_experts > 0;
        let known = match (self.model.family, self.weights) {
            (Family::Mla, Weights::W8a8 | Weights::W4a8)
            | (Family::Qwen3 | Family::Hybrid, Weights::Bf16) => true,
            (Family::Qwen3, Weights::W8a8 | Weights::W4a8 | Weights::W4a16)
            | (Family::Hybrid, Weights::W4a16) => experts,
            _ => false,
        };
        if !known {
            let what = format!("{title} with weights in {:?}", self.weights);
            let why =
                "no op list of it in this format is recorded, and the kernels differ by format";
            return Err(GenerateError::refused(what, why));
        }
        if self.request.cache == Cache::Int8 {
            let what = format!("{title} with an INT8 cache");
            let why = "a quantised cache changes the kernels around attention, and no public op list \
                       shows all of them";
            return Err(GenerateError::refused(what, why));
        }
        self.expert_bytes = match self.weights {
            Weights::Bf16 => 2.0,
            Weights::W8a8 => 1.0,
            Weights::W4a8 | Weights::W4a16 => 0.5,
        };
        let like = match self.weights {
            Weights::W4a8 => "W8A8",
            Weights::W4a16 => "BF16",
            Weights::Bf16 | Weights::W8a8 => return Ok(()),
        };
        self.notes.push(format!(
            "assumed: the kernels of {like}, with half a byte per weight of the routed experts; scales \
             are left out"
        ));
        Ok(())
    }

    fn choose_comm(&self) -> Result<CommMethod, GenerateError> {
        let r = self.request;
        let config = &self.model.config;
        let refuse = |what: &str, why: String| {
            Err(GenerateError::refused(
                format!("{} with {what}", self.model.title),
                why,
            ))
        };
        if r.ep > 1 && config.num_experts == 0 {
            return refuse("--ep", "it has no experts".to_owned());
        }
        if r.ep > 1 && r.ep != self.world() {
            let why = format!(
                "the stack spreads experts over all ranks: --ep must be 1 or {} (--tp times --dp)",
                self.world()
            );
            return refuse("this --ep", why);
        }
        if r.ep > 1 && !config.num_experts.is_multiple_of(r.ep) {
            let why = format!("--ep must divide the {} experts", config.num_experts);
            return refuse("this --ep", why);
        }
        let flashcomm = r.stack == "vllm-ascend-0.15.0-flashcomm1";
        let per_rank = self.rows().div_ceil(r.tp);
        let comm = r.comm.unwrap_or(if flashcomm {
            CommMethod::ReduceScatterAllGather
        } else if r.ep == 1 {
            CommMethod::AllReduce
        } else if per_rank <= MC2_ROWS {
            CommMethod::Mc2
        } else {
            CommMethod::AllToAll
        });
        if flashcomm != (comm == CommMethod::ReduceScatterAllGather) {
            let why = "ReduceScatter and AllGather are recorded for the stack \
                       vllm-ascend-0.15.0-flashcomm1, and nothing else is for that stack";
            return refuse("this --comm", why.to_owned());
        }
        let mla = self.model.family == Family::Mla;
        match comm {
            CommMethod::AllReduce if r.ep > 1 => {
                let why = "with --ep the stack sends tokens to the experts' ranks: mc2, fused-mc2 or all-to-all";
                refuse("--comm all-reduce", why.to_owned())
            }
            CommMethod::AllReduce if mla => {
                let why = format!(
                    "its experts are recorded with expert parallelism only: give --ep {} and enough --dp",
                    self.world().max(16)
                );
                refuse("experts on every rank", why)
            }
            CommMethod::AllReduce => Ok(comm),
            _ if r.ep == 1 => refuse("this --comm", "it needs --ep".to_owned()),
            CommMethod::Mc2 if per_rank > MC2_ROWS || r.ep > MC2_RANKS => {
                let why = format!("MC2 takes {MC2_ROWS} rows per rank and {MC2_RANKS} ranks");
                refuse("--comm mc2", why)
            }
            CommMethod::Mc2 if !mla && self.weights != Weights::Bf16 => {
                refuse("--comm mc2", "its list is recorded in BF16 only".to_owned())
            }
            CommMethod::FusedMc2 | CommMethod::ReduceScatterAllGather
                if !mla || r.ep > FUSED_RANKS || per_rank > MC2_ROWS =>
            {
                let why = format!(
                    "the kernel is recorded for MLA models, up to {FUSED_RANKS} ranks and {MC2_ROWS} rows each"
                );
                refuse("this --comm", why)
            }
            CommMethod::FusedMc2 if r.tp > 1 => refuse(
                "--comm fused-mc2",
                "its list is recorded for --tp 1".to_owned(),
            ),
            CommMethod::FusedMc2 if r.overlap => {
                let why = "the stack turns the overlap off with it: two streams would wait for each other's cores";
                refuse("--overlap and --comm fused-mc2", why.to_owned())
            }
            CommMethod::AllToAll if !mla => {
                let why = "the AllToAll list is recorded in W8A8 for MLA models".to_owned();
                refuse("--comm all-to-all", why)
            }
            _ => Ok(comm),
        }
    }

    /// The parts of layer `layer`, in issue order.
    pub(super) fn layer(&self, layer: u32) -> Vec<&'static str> {
        let config = &self.model.config;
        let experts = config.has_experts(layer);
        let prefill = self.request.phase == Phase::Prefill;
        if self.model.family == Family::Mla {
            let mixer: &[&str] = match (prefill, self.flashcomm(), self.request.mlapo) {
                (true, ..) => &["mla_prefill_norm", "mla_prefill"],
                (_, true, _) => &["mla_flashcomm"],
                (_, _, true) => &["mla_mlapo"],
                _ => &["mla"],
            };
            let half = match (experts, self.comm) {
                (false, CommMethod::ReduceScatterAllGather) => "dense_mlp_flashcomm",
                (true, CommMethod::ReduceScatterAllGather) => "moe_flashcomm",
                (false, _) => "mla_dense_mlp",
                (true, CommMethod::FusedMc2) => "mla_moe_fused_mc2",
                (true, CommMethod::AllToAll) => "mla_moe_all_to_all",
                (true, _) => "mla_moe_mc2",
            };
            return [mixer, &[half]].concat();
        }
        let eight_bit = matches!(self.weights, Weights::W8a8 | Weights::W4a8);
        let mixer = match self.model.family {
            Family::Hybrid if config.is_full_attention(layer) => "full_attention",
            Family::Hybrid if prefill => "gdn_mixer_prefill",
            Family::Hybrid => "gdn_mixer",
            _ if eight_bit => "attention_w8a8",
            _ => "attention",
        };
        let half = match (experts, self.comm) {
            (false, _) => "dense_mlp",
            (true, CommMethod::Mc2) => "moe_mc2",
            (true, _) if eight_bit => "moe_w8a8",
            (true, _) => "moe",
        };
        vec![mixer, half]
    }

    /// Parts before the first layer.
    pub(super) fn before(&self) -> &'static [&'static str] {
        match self.model.family {
            // The runner of these models takes embeddings as input (multimodal).
            Family::Hybrid => &["embedding", "inputs_embeds"],
            _ => &["embedding"],
        }
    }

    /// Whether the parts before the first layer are outside the graph.
    pub(super) fn embeds_eagerly(&self) -> bool {
        self.model.family == Family::Hybrid
    }

    /// Parts after the last layer that belong to the graph.
    pub(super) fn after(&self) -> &'static [&'static str] {
        match self.flashcomm() {
            true => &["final_norm", "gather_rows"],
            false => &["final_norm"],
        }
    }

    /// Parts of a draft step: before, of its layer, after. The layer is numbered after the last.
    pub(super) fn draft(&self) -> (&'static str, Vec<&'static str>, Vec<&'static str>) {
        match self.model.family {
            Family::Hybrid => {
                let half = *self.layer(0).last().unwrap_or(&"moe");
                let parts = vec!["full_attention", half];
                ("mtp_head_in", parts, vec!["final_norm", "mtp_logits"])
            }
            _ => {
                let parts = self.layer(self.model.config.num_hidden_layers);
                ("mtp_in", parts, vec!["mtp_out"])
            }
        }
    }

    /// Who chooses experts in one layer, if anybody does.
    pub(super) fn choice(&self) -> Option<Choice> {
        let config = &self.model.config;
        let tokens = match self.request.ep {
            1 => self.rows(),
            _ => self.rows().div_ceil(self.request.tp) * self.world(),
        };
        (config.num_experts > 0).then_some(Choice {
            tokens,
            top_k: config.num_experts_per_tok,
            experts: config.num_experts,
            local: config.num_experts / self.request.ep,
        })
    }

    /// The symbols that do not depend on the layer.
    pub(super) fn symbols(&self, rows: u32, sampled: u32) -> Symbols {
        let r = self.request;
        let c = &self.model.config;
        let heads = c.num_attention_heads / r.tp;
        let kv = (c.num_key_value_heads / r.tp).max(1);
        let key_dim = c.linear_num_key_heads * c.linear_key_head_dim;
        let value_dim = c.linear_num_value_heads * c.linear_value_head_dim;
        let experts_inner = c.moe_intermediate_size / if r.ep > 1 { 1 } else { r.tp };
        let attended = match r.phase {
            Phase::Decode => Expr::Int(i64::from(r.context)),
            Phase::Prefill => super::formula::constant(f64::from(r.context) / 2.0),
        };
        let rotary = if c.qk_rope_head_dim > 0 {
            c.qk_rope_head_dim
        } else {
            c.head_dim
        };
        let hybrid = self.model.family == Family::Hybrid;
        let mla = self.model.family == Family::Mla;
        let mut symbols = Symbols::default();
        for (name, value) in [
            ("T", rows),
            ("Tl", rows.div_ceil(r.tp)),
            ("n", sampled),
            ("B", r.batch),
            ("C", r.context),
            ("tp", r.tp),
            ("ep", r.ep),
            ("H", c.hidden_size),
            ("V", c.vocab_size),
            ("h", c.num_attention_heads),
            ("kv", c.num_key_value_heads),
            ("hl", heads),
            ("kvl", kv),
            ("hd", c.head_dim),
            ("rotary", rotary),
            ("KD", key_dim),
            ("VD", value_dim),
            ("VH", c.linear_num_value_heads / r.tp),
            ("dk", c.linear_key_head_dim),
            ("dv", c.linear_value_head_dim),
            ("conv", (2 * key_dim + value_dim) / r.tp),
            ("ck", c.linear_conv_kernel_dim),
            ("E", c.num_experts),
            ("El", c.num_experts / r.ep),
            ("k", c.num_experts_per_tok),
            ("Ie", experts_inner),
            ("Is", c.shared_expert_intermediate_size),
            ("Idense", c.intermediate_size),
            ("ql", c.q_lora_rank),
            ("kl", c.kv_lora_rank),
            ("nope", c.qk_nope_head_dim),
            ("rope", c.qk_rope_head_dim),
            ("vd", c.v_head_dim),
            ("cb", 2),
        ] {
            symbols.set(name, i64::from(value));
        }
        symbols.set("Ca", attended);
        for (name, flag) in [
            ("hybrid", hybrid),
            ("gemma", hybrid),
            ("mla", mla),
            (
                "norm_bias",
                mla && r.model.eq_ignore_ascii_case("deepseek-v3"),
            ),
            ("overlap", r.overlap),
            ("graph", self.graph),
            ("flashcomm", self.flashcomm()),
            ("gdn_lists", r.stack == "vllm-ascend-0.22.1rc1"),
        ] {
            symbols.set(name, i64::from(flag));
        }
        symbols
    }
}
