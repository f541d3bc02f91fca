//! The presets as the page offers them.

use crate::config::fields::FieldId as F;
use crate::config::raw::RawJob;
use crate::config::raw::Settings;
use crate::units::Bytes;
use crate::value::Value;

/// A model that can be picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its id in links.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Whose model it is.
    pub family: &'static str,
}

/// The models in the order of the list.
pub const MODELS: &[Model] = &[Model {
    id: "deepseek-v3",
    name: "DeepSeek-V3",
    family: "DeepSeek",
}];

/// The model of a first visit.
pub const FIRST: &str = "deepseek-v3";

/// A GPU that can be picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its id in links.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Memory that a process can use.
    pub usable: Bytes,
}

/// The GPUs in the order of the list.
pub const GPUS: &[Gpu] = &[
    Gpu {
        id: "a100-80gb",
        name: "A100 80 GB",
        usable: Bytes::mib(81_920),
    },
    Gpu {
        id: "h100-80gb",
        name: "H100 80 GB",
        usable: Bytes::mib(81_559),
    },
    Gpu {
        id: "h200-141gb",
        name: "H200 141 GB",
        usable: Bytes::mib(143_771),
    },
];

/// The settings of a model with the job suggested for it.
#[must_use]
pub fn job(id: &str) -> Option<RawJob> {
    (id == FIRST).then(|| RawJob {
        shared: DEEPSEEK_V3
            .iter()
            .map(|(id, text)| (*id, Value::Text((*text).to_owned())))
            .collect::<Settings>(),
        ..RawJob::default()
    })
}

const DEEPSEEK_V3: &[(F, &str)] = &[
    (F::num_layers, "61"),
    (F::hidden_size, "7168"),
    (F::ffn_hidden_size, "18432"),
    (F::vocab_size, "129280"),
    (F::make_vocab_size_divisible_by, "1280"),
    (F::untie_embeddings_and_output_weights, "true"),
    (F::position_embedding_type, "rope"),
    (F::max_position_embeddings, "4096"),
    (F::normalization, "RMSNorm"),
    (F::swiglu, "true"),
    (F::add_bias_linear, "false"),
    (F::mtp_num_layers, "1"),
    (F::num_attention_heads, "128"),
    (F::kv_channels, "128"),
    (F::qk_layernorm, "true"),
    (F::multi_latent_attention, "true"),
    (F::q_lora_rank, "1536"),
    (F::kv_lora_rank, "512"),
    (F::qk_head_dim, "128"),
    (F::qk_pos_emb_head_dim, "64"),
    (F::v_head_dim, "128"),
    (F::num_experts, "256"),
    (F::moe_router_topk, "8"),
    (F::moe_ffn_hidden_size, "2048"),
    (F::moe_shared_expert_intermediate_size, "2048"),
    (F::moe_layer_freq, "([0]*3+[1]*58)"),
    (F::moe_router_enable_expert_bias, "true"),
    (F::moe_router_score_function, "sigmoid"),
    (F::moe_token_dispatcher_type, "alltoall"),
    (F::moe_grouped_gemm, "true"),
    (F::world_size, "2048"),
    (F::tensor_model_parallel_size, "2"),
    (F::pipeline_model_parallel_size, "16"),
    (F::expert_model_parallel_size, "64"),
    (F::expert_tensor_parallel_size, "1"),
    (F::sequence_parallel, "true"),
    (
        F::pipeline_model_parallel_layout,
        "Et*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|tmL",
    ),
    (F::seq_length, "4096"),
    (F::micro_batch_size, "1"),
    (F::global_batch_size, "512"),
    (F::recompute_granularity, "selective"),
    (F::bf16, "true"),
    (F::use_distributed_optimizer, "true"),
    (F::attention_dropout, "0"),
    (F::hidden_dropout, "0"),
    (F::gpu, "h100-80gb"),
];
