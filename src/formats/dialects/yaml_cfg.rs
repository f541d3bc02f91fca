//! The file of Megatron-LM's `--yaml-cfg`: sections with the names of `TransformerConfig` and `ModelParallelConfig`,
//! and Megatron-LM's arguments beside them (`megatron/training/yaml_arguments.py`).

use super::framework::Framework;
use super::meaning::KeyMeaning::{self, Field, Irrelevant, Role};
use super::meaning::look_up;
use super::megatron_lm;
use crate::formats::derivations::{activation, hybrid, model, vocabulary};

/// The file of Megatron-LM's `--yaml-cfg`.
pub static YAML_CFG: Framework = Framework {
    find,
    // Its sections only group what flags say as well.
    name_of: |path| path.rsplit('.').next().unwrap_or_default().to_owned(),
    derivations: &[activation::function, hybrid::layers, vocabulary::of_tokenizer],
    ..Framework::PLAIN
};

/// Names of `TransformerConfig` that Megatron-LM's arguments do not have.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("activation_func", Role(activation::FUNCTION)),
    // `core_transformer_config_from_yaml` takes it from `activation_func`.
    ("gated_linear_unit", Irrelevant),
    ("num_query_groups", Role(model::QUERY_GROUPS)),
    ("num_moe_experts", Field("num_experts")),
    // Taken from `fp16` and `bf16`.
    ("params_dtype", Irrelevant),
    ("init_method", Irrelevant),
    ("embedding_init_method", Irrelevant),
    ("perform_initialization", Irrelevant),
    ("timers", Irrelevant),
];

/// The meaning of a key; given without its section.
fn find(key: &str) -> Option<KeyMeaning> {
    look_up(KEYS, key).or_else(|| megatron_lm::find(key))
}
