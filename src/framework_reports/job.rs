//! From a checked module to the inputs of the two estimators, under the names that they read.

use super::differences::Framework;
use super::megatron_bridge::{self, MegatronBridgeReport};
use super::megatron_lm::{self, MegatronLmReport};
use super::{MEGABYTE, PythonError};
use crate::config::job::{Activation, Module};
use crate::config::pattern::LayerPattern;
use crate::units::Bytes;
use crate::value::Value;

/// What both frameworks would print for one module.
#[derive(Clone, Debug, PartialEq)]
pub struct Reports {
    /// Megatron-LM's.
    pub megatron_lm: MegatronLmReport,
    /// Megatron-Bridge's.
    pub megatron_bridge: MegatronBridgeReport,
}

/// What both frameworks would print for one module, trained on its own ranks.
#[must_use]
pub fn reports(m: &Module) -> Reports {
    Reports {
        megatron_lm: megatron_lm::report(&megatron_lm_args(m), Some(&int(m.num_microbatches))),
        megatron_bridge: megatron_bridge::report(&megatron_bridge_input(m)),
    }
}

/// The arguments that [`megatron_lm::report`] reads.
#[must_use]
pub fn megatron_lm_args(m: &Module) -> Value {
    let a = m.args();
    let mla = a.multi_latent_attention;
    let latent = |value: u64| if mla { int(value) } else { Value::Null };
    map([
        ("num_layers", int(a.num_layers)),
        ("hidden_size", int(a.hidden_size)),
        ("ffn_hidden_size", int(m.ffn_hidden_size)),
        ("num_attention_heads", int(a.num_attention_heads)),
        (
            "group_query_attention",
            Value::Bool(a.group_query_attention),
        ),
        ("num_query_groups", int(m.num_query_groups)),
        ("kv_channels", int(m.kv_channels)),
        ("normalization", text(a.normalization.name())),
        ("add_bias_linear", Value::Bool(a.add_bias_linear)),
        ("swiglu", Value::Bool(a.swiglu)),
        (
            "untie_embeddings_and_output_weights",
            Value::Bool(a.untie_embeddings_and_output_weights),
        ),
        ("seq_length", int(a.seq_length)),
        ("padded_vocab_size", int(m.padded_vocab_size)),
        ("num_experts", some(a.num_experts)),
        ("moe_layer_freq", layer_freq(m)),
        (
            "moe_ffn_hidden_size",
            some(m.moe.as_ref().map(|moe| moe.ffn_hidden_size)),
        ),
        ("moe_router_topk", int(a.moe_router_topk)),
        (
            "moe_shared_expert_intermediate_size",
            some(a.moe_shared_expert_intermediate_size),
        ),
        (
            "moe_shared_expert_gate",
            Value::Bool(a.moe_shared_expert_gate),
        ),
        ("moe_latent_size", some(a.moe_latent_size)),
        ("multi_latent_attention", Value::Bool(mla)),
        ("q_lora_rank", some(a.q_lora_rank.filter(|_| mla))),
        ("kv_lora_rank", latent(a.kv_lora_rank)),
        ("qk_head_dim", latent(a.qk_head_dim)),
        ("qk_pos_emb_head_dim", latent(a.qk_pos_emb_head_dim)),
        ("v_head_dim", latent(a.v_head_dim)),
        ("mtp_num_layers", some(a.mtp_num_layers)),
        ("world_size", int(m.ranks())),
        ("tensor_model_parallel_size", int(m.tp)),
        ("pipeline_model_parallel_size", int(m.pp)),
        (
            "virtual_pipeline_model_parallel_size",
            some(m.stages.vpp().map(u64::from)),
        ),
        ("context_parallel_size", int(m.cp)),
        ("expert_model_parallel_size", int(m.ep)),
        ("expert_tensor_parallel_size", int(m.etp)),
        ("data_parallel_size", int(m.dp)),
        ("sequence_parallel", Value::Bool(m.sequence_parallel)),
        ("micro_batch_size", int(a.micro_batch_size)),
        (
            "use_distributed_optimizer",
            Value::Bool(a.use_distributed_optimizer),
        ),
        ("recompute_granularity", granularity(m)),
        ("hybrid_layer_pattern", Value::Null),
    ])
}

/// The input that [`megatron_bridge::report`] reads, activations included.
#[must_use]
pub fn megatron_bridge_input(m: &Module) -> Value {
    let a = m.args();
    // A vocabulary that is given after padding is not padded again.
    let vocab_size = m.vocab_size.filter(|_| a.padded_vocab_size.is_none());
    let model = map([
        ("num_layers", int(a.num_layers)),
        ("hidden_size", int(a.hidden_size)),
        ("ffn_hidden_size", int(m.ffn_hidden_size)),
        ("num_attention_heads", int(a.num_attention_heads)),
        (
            "num_query_groups",
            some(a.group_query_attention.then_some(m.num_query_groups)),
        ),
        ("kv_channels", int(m.kv_channels)),
        ("seq_length", int(a.seq_length)),
        ("vocab_size", int(vocab_size.unwrap_or(m.padded_vocab_size))),
        (
            "make_vocab_size_divisible_by",
            int(a.make_vocab_size_divisible_by),
        ),
        ("should_pad_vocab", Value::Bool(vocab_size.is_some())),
        (
            "share_embeddings_and_output_weights",
            Value::Bool(!a.untie_embeddings_and_output_weights),
        ),
        ("gated_linear_unit", Value::Bool(m.activation.gated())),
        ("activation_func", text(activation(m.activation))),
        ("num_moe_experts", some(a.num_experts)),
        ("moe_layer_freq", layer_freq(m)),
        (
            "moe_ffn_hidden_size",
            some(m.moe.as_ref().map(|moe| moe.ffn_hidden_size)),
        ),
        ("moe_router_topk", int(a.moe_router_topk)),
        (
            "moe_shared_expert_intermediate_size",
            some(a.moe_shared_expert_intermediate_size),
        ),
        ("moe_latent_size", some(a.moe_latent_size)),
        ("mtp_num_layers", some(a.mtp_num_layers)),
        ("tensor_model_parallel_size", int(m.tp)),
        ("pipeline_model_parallel_size", int(m.pp)),
        (
            "virtual_pipeline_model_parallel_size",
            some(m.stages.vpp().map(u64::from)),
        ),
        ("context_parallel_size", int(m.cp)),
        ("expert_model_parallel_size", int(m.ep)),
        ("expert_tensor_parallel_size", int(m.etp)),
        (
            "num_layers_in_first_pipeline_stage",
            some(a.decoder_first_pipeline_num_layers),
        ),
        (
            "num_layers_in_last_pipeline_stage",
            some(a.decoder_last_pipeline_num_layers),
        ),
        ("sequence_parallel", Value::Bool(m.sequence_parallel)),
        ("recompute_granularity", granularity(m)),
    ]);
    let train = map([
        ("data_parallel_size", int(m.dp)),
        ("micro_batch_size", int(a.micro_batch_size)),
        (
            "use_distributed_optimizer",
            Value::Bool(a.use_distributed_optimizer),
        ),
    ]);
    map([
        ("model", model),
        ("train", train),
        ("num_microbatches", int(m.num_microbatches)),
        ("include_activation", Value::Bool(true)),
    ])
}

/// The name of the activation function in a Megatron-Bridge configuration.
fn activation(activation: Activation) -> &'static str {
    match activation {
        Activation::SwiGlu => "silu",
        Activation::Gelu | Activation::GeGlu => "gelu",
        Activation::QuickGeGlu => "quick_gelu",
        Activation::SquaredRelu => "squared_relu",
    }
}

fn layer_freq(m: &Module) -> Value {
    match &m.args().moe_layer_freq {
        LayerPattern::Every(n) => int(*n),
        LayerPattern::List(layers) => {
            Value::List(layers.iter().map(|moe| int(u64::from(*moe))).collect())
        }
    }
}

fn granularity(m: &Module) -> Value {
    m.args()
        .recompute_granularity
        .map_or(Value::Null, |granularity| text(granularity.name()))
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(
        entries
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

fn int(value: u64) -> Value {
    Value::Int(value.into())
}

fn some(value: Option<u64>) -> Value {
    value.map_or(Value::Null, int)
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

/// One framework's report as amounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amounts {
    /// Whose report it is.
    pub framework: Framework,
    /// Weights, gradients and optimizer states, in whole bytes; or why there are none.
    pub states: Result<Bytes, PythonError>,
    /// Activations as the report prints them, where it does.
    pub activations: Option<Bytes>,
    /// What it prints.
    pub printed: String,
}

impl Reports {
    /// Both reports as amounts.
    #[must_use]
    pub fn amounts(&self) -> [Amounts; 2] {
        let (lm, bridge) = (&self.megatron_lm, &self.megatron_bridge);
        let [.., lm_activations, _] = match lm.report_mb {
            Ok(Some(printed)) => printed,
            _ => [f64::NAN; 3],
        };
        let estimate = bridge.estimate.as_ref();
        let printed = bridge.report_verbose_stdout.contains("activation=");
        let activation = estimate
            .ok()
            .and_then(|estimate| estimate.activation.as_ref());
        [
            Amounts {
                framework: Framework::MegatronLm,
                states: lm.weight_and_optimizer_bytes.clone().map(bytes),
                activations: lm_activations
                    .is_finite()
                    .then(|| bytes(lm_activations * f64::from(MEGABYTE))),
                printed: lm.report_verbose_stdout.clone(),
            },
            Amounts {
                framework: Framework::MegatronBridge,
                states: match estimate {
                    Ok(estimate) => Ok(bytes(estimate.weight_and_optimizer_bytes)),
                    Err(error) => Err(error.clone()),
                },
                activations: activation
                    .filter(|_| printed)
                    .map(|a| bytes(a.memory_bytes)),
                printed: bridge.report_verbose_stdout.clone(),
            },
        ]
    }
}

/// A float of the reports in whole bytes.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "amounts are shown to the hundredth of a GiB; a float that no amount has saturates"
)]
fn bytes(amount: f64) -> Bytes {
    Bytes(amount.round() as u64)
}
