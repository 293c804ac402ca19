//! Models: the fields of public configs, from `models/*.toml`.

use serde::Deserialize;

use super::GenerateError;

/// Which code path of the serving stack a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Family {
    /// Gated delta net and full attention.
    Hybrid,
    /// Grouped-query attention.
    Qwen3,
    /// Multi-head latent attention.
    Mla,
    /// None that is known.
    Other,
}

/// A model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    pub title: String,
    pub family: Family,
    pub source: String,
    /// Why nothing can be generated for it.
    pub missing: Option<String>,
    pub config: Config,
}

/// The fields of a config, under their Hugging Face names; 0 for those that a model has not.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Config {
    pub hidden_size: u32,
    pub num_hidden_layers: u32,
    pub num_attention_heads: u32,
    pub num_key_value_heads: u32,
    pub head_dim: u32,
    pub vocab_size: u32,
    pub intermediate_size: u32,
    pub full_attention_interval: u32,
    pub linear_num_key_heads: u32,
    pub linear_num_value_heads: u32,
    pub linear_key_head_dim: u32,
    pub linear_value_head_dim: u32,
    pub linear_conv_kernel_dim: u32,
    pub num_experts: u32,
    pub num_experts_per_tok: u32,
    pub moe_intermediate_size: u32,
    pub shared_expert_intermediate_size: u32,
    pub first_k_dense_replace: u32,
    pub q_lora_rank: u32,
    pub kv_lora_rank: u32,
    pub qk_nope_head_dim: u32,
    pub qk_rope_head_dim: u32,
    pub v_head_dim: u32,
    pub mtp_num_hidden_layers: u32,
}

impl Config {
    /// Whether the layer `layer` has routed experts.
    pub(super) fn has_experts(&self, layer: u32) -> bool {
        self.num_experts > 0 && layer >= self.first_k_dense_replace
    }

    /// Whether the layer `layer` of a hybrid model is one of full attention: every
    /// `full_attention_interval`-th, the last of each group.
    pub(super) fn is_full_attention(&self, layer: u32) -> bool {
        self.full_attention_interval > 0 && (layer + 1).is_multiple_of(self.full_attention_interval)
    }
}

/// A model that can be asked for.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ModelInfo {
    /// The name that a request gives.
    pub name: String,
    /// The name its makers give it.
    pub title: String,
    /// Where the fields come from.
    pub source: String,
    /// Layers; 0 if unknown.
    pub layers: u32,
    /// Why nothing can be generated for it; none if it can.
    pub missing: Option<String>,
}

const FILES: &[(&str, &str)] = &[
    (
        "qwen3.5-35b-a3b",
        include_str!("../../models/qwen3.5-35b-a3b.toml"),
    ),
    ("qwen3.5-27b", include_str!("../../models/qwen3.5-27b.toml")),
    ("qwen3-8b", include_str!("../../models/qwen3-8b.toml")),
    ("qwen3-32b", include_str!("../../models/qwen3-32b.toml")),
    (
        "qwen3-30b-a3b",
        include_str!("../../models/qwen3-30b-a3b.toml"),
    ),
    (
        "qwen3-235b-a22b",
        include_str!("../../models/qwen3-235b-a22b.toml"),
    ),
    ("deepseek-v3", include_str!("../../models/deepseek-v3.toml")),
    (
        "deepseek-v3.2",
        include_str!("../../models/deepseek-v3.2.toml"),
    ),
    (
        "deepseek-v4.1-flash",
        include_str!("../../models/deepseek-v4.1-flash.toml"),
    ),
    ("kimi-k2", include_str!("../../models/kimi-k2.toml")),
    (
        "longcat-flash-lite",
        include_str!("../../models/longcat-flash-lite.toml"),
    ),
    ("hy3", include_str!("../../models/hy3.toml")),
];

/// Every model, whether it can be generated or not, in a fixed order.
///
/// # Errors
/// None that a release can have: a test reads them all.
pub fn models() -> Result<Vec<ModelInfo>, GenerateError> {
    let info = |(name, text): &(&str, &str)| {
        let model = parse(name, text)?;
        Ok(ModelInfo {
            name: (*name).to_owned(),
            title: model.title,
            source: model.source,
            layers: model.config.num_hidden_layers,
            missing: model.missing,
        })
    };
    FILES.iter().map(info).collect()
}

/// The model `name`; letters of either case.
pub(super) fn model(name: &str) -> Result<Model, GenerateError> {
    let found = FILES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    let Some((name, text)) = found else {
        let known: Vec<_> = FILES.iter().map(|(name, _)| *name).collect();
        return Err(GenerateError::UnknownModel {
            name: name.to_owned(),
            known: known.join(", "),
        });
    };
    parse(name, text)
}

fn parse(name: &str, text: &str) -> Result<Model, GenerateError> {
    toml::from_str(text).map_err(|error| GenerateError::Data {
        file: format!("models/{name}.toml"),
        what: error.to_string(),
    })
}
