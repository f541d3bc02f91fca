//! From a checked module to the inputs of the two estimators, under the names that they read.

use super::MEGABYTE;
use super::differences::Framework;
use super::megatron_bridge::{self, MegatronBridgeReport, ModelConfig, TrainConfig};
use super::megatron_lm::{self, MegatronLmReport};
use super::python::{PyResult, PyValue};
use crate::config::choices::RecomputeGranularity;
use crate::config::job::{Activation, Module};
use crate::config::pattern::LayerPattern;
use crate::python::PythonError;
use crate::units::Bytes;
use crate::value::Value;

/// The reports of both frameworks for one module.
#[derive(Clone, Debug, PartialEq)]
pub struct Reports {
    /// Megatron-LM's.
    pub megatron_lm: MegatronLmReport,
    /// Megatron-Bridge's.
    pub megatron_bridge: MegatronBridgeReport,
}

/// The reports of both frameworks for one module, trained on its own ranks.
#[must_use]
pub fn reports(m: &Module) -> Reports {
    let moe_layer_freq = moe_layer_freq(m);
    Reports {
        megatron_lm: megatron_lm::report(&megatron_lm_arguments(m, &moe_layer_freq), m.num_microbatches.into()),
        megatron_bridge: megatron_bridge::report(&megatron_bridge_input(m, &moe_layer_freq)),
    }
}

/// The arguments of a module for [`megatron_lm::report`], with its [`moe_layer_freq`].
#[must_use]
pub fn megatron_lm_arguments<'a>(m: &'a Module, moe_layer_freq: &'a Value) -> megatron_lm::Arguments<'a> {
    let a = m.args();
    // Without multi-latent attention Megatron-LM's defaults for it are never read.
    let latent = |width: u64| PyResult::from(a.multi_latent_attention.then_some(width));
    megatron_lm::Arguments {
        hidden_size: a.hidden_size.into(),
        num_layers: a.num_layers.into(),
        padded_vocab_size: m.padded_vocab_size.into(),
        num_attention_heads: a.num_attention_heads.into(),
        kv_channels: m.kv_channels.into(),
        group_query_attention: a.group_query_attention.into(),
        num_query_groups: m.num_query_groups.into(),
        ffn_hidden_size: m.ffn_hidden_size.into(),
        swiglu: a.swiglu.into(),
        normalization: a.normalization.name().into(),
        add_bias_linear: a.add_bias_linear.into(),
        untie_embeddings_and_output_weights: a.untie_embeddings_and_output_weights.into(),
        num_experts: a.num_experts.into(),
        moe_layer_freq: moe_layer_freq.into(),
        moe_ffn_hidden_size: moe_ffn_hidden_size(m).into(),
        moe_router_topk: a.moe_router_topk.into(),
        moe_shared_expert_intermediate_size: a.moe_shared_expert_intermediate_size.into(),
        moe_shared_expert_gate: a.moe_shared_expert_gate.into(),
        moe_latent_size: a.moe_latent_size.into(),
        mtp_num_layers: a.mtp_num_layers.into(),
        multi_latent_attention: a.multi_latent_attention.into(),
        q_lora_rank: a.q_lora_rank.filter(|_| a.multi_latent_attention).into(),
        kv_lora_rank: latent(a.kv_lora_rank),
        qk_head_dim: latent(a.qk_head_dim),
        qk_pos_emb_head_dim: latent(a.qk_pos_emb_head_dim),
        v_head_dim: latent(a.v_head_dim),
        world_size: m.ranks().into(),
        tensor_model_parallel_size: m.tp.into(),
        pipeline_model_parallel_size: m.pp.into(),
        virtual_pipeline_model_parallel_size: virtual_size(m).into(),
        expert_model_parallel_size: m.ep.into(),
        expert_tensor_parallel_size: m.etp.into(),
        data_parallel_size: m.dp.into(),
        use_distributed_optimizer: a.use_distributed_optimizer.into(),
        seq_length: a.seq_length.into(),
        micro_batch_size: m.args.micro_batch_size.into(),
        sequence_parallel: m.sequence_parallel.into(),
        recompute_granularity: recompute_granularity(m).into(),
        hybrid_layer_pattern: a.hybrid_layer_pattern.as_deref().into(),
    }
}

/// The input of a module for [`megatron_bridge::report`], activations included, with its [`moe_layer_freq`].
#[must_use]
pub fn megatron_bridge_input<'a>(m: &Module, moe_layer_freq: &'a Value) -> megatron_bridge::Input<'a> {
    let a = m.args();
    // A vocabulary that is given after padding is not padded again.
    let vocab_size = m.vocab_size.filter(|_| a.padded_vocab_size.is_none());
    let num_query_groups = a.group_query_attention.then_some(m.num_query_groups);
    let model = ModelConfig {
        num_layers: a.num_layers.into(),
        hidden_size: a.hidden_size.into(),
        ffn_hidden_size: m.ffn_hidden_size.into(),
        num_attention_heads: a.num_attention_heads.into(),
        num_query_groups: num_query_groups.into(),
        kv_channels: m.kv_channels.into(),
        seq_length: a.seq_length.into(),
        vocab_size: vocab_size.unwrap_or(m.padded_vocab_size).into(),
        make_vocab_size_divisible_by: a.make_vocab_size_divisible_by.into(),
        should_pad_vocab: vocab_size.is_some().into(),
        share_embeddings_and_output_weights: (!a.untie_embeddings_and_output_weights).into(),
        gated_linear_unit: m.activation.gated().into(),
        activation_func: activation_func(m.activation).into(),
        num_moe_experts: a.num_experts.into(),
        moe_layer_freq: moe_layer_freq.into(),
        moe_ffn_hidden_size: moe_ffn_hidden_size(m).into(),
        moe_shared_expert_intermediate_size: a.moe_shared_expert_intermediate_size.into(),
        moe_router_topk: a.moe_router_topk.into(),
        num_experts_routed_to: PyValue::None.into(),
        moe_latent_size: a.moe_latent_size.into(),
        mtp_num_layers: a.mtp_num_layers.into(),
        tensor_model_parallel_size: m.tp.into(),
        pipeline_model_parallel_size: m.pp.into(),
        virtual_pipeline_model_parallel_size: virtual_size(m).into(),
        num_layers_in_first_pipeline_stage: a.decoder_first_pipeline_num_layers.into(),
        num_layers_in_last_pipeline_stage: a.decoder_last_pipeline_num_layers.into(),
        context_parallel_size: m.cp.into(),
        expert_model_parallel_size: m.ep.into(),
        expert_tensor_parallel_size: m.etp.into(),
        sequence_parallel: m.sequence_parallel.into(),
        recompute_granularity: recompute_granularity(m).into(),
    };
    let train = TrainConfig {
        micro_batch_size: m.args.micro_batch_size.into(),
        data_parallel_size: m.dp.into(),
        use_distributed_optimizer: a.use_distributed_optimizer.into(),
    };
    megatron_bridge::Input {
        model,
        train,
        num_microbatches: m.num_microbatches.into(),
        include_activation: true,
    }
}

/// Which layers have experts, as both frameworks are told: every how many, or a list of 0 and 1.
#[must_use]
pub fn moe_layer_freq(m: &Module) -> Value {
    match &m.args().moe_layer_freq {
        LayerPattern::Every(n) => Value::Int((*n).into()),
        LayerPattern::List(layers) => {
            let entry = |is_moe: &bool| Value::Int((*is_moe).into());
            Value::List(layers.iter().map(entry).collect())
        }
    }
}

fn moe_ffn_hidden_size(m: &Module) -> Option<u64> {
    m.moe.as_ref().map(|moe| moe.ffn_hidden_size)
}

fn virtual_size(m: &Module) -> Option<u64> {
    m.stages.vpp().map(u64::from)
}

fn recompute_granularity(m: &Module) -> Option<&'static str> {
    let granularity = m.args().recompute_granularity;
    granularity.map(RecomputeGranularity::name)
}

/// The name of the activation function in a Megatron-Bridge configuration.
fn activation_func(activation: Activation) -> &'static str {
    match activation {
        // Megatron-Bridge marks SiTU as SiLU (`hf_to_megatron_activation`).
        Activation::SwiGlu | Activation::SiTu => "silu",
        Activation::Gelu | Activation::GeGlu => "gelu",
        Activation::QuickGeGlu => "quick_gelu",
        Activation::SquaredRelu => "squared_relu",
    }
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
    /// Its output.
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
        let activation = estimate.ok().and_then(|estimate| estimate.activation.as_ref());
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
                activations: activation.filter(|_| printed).map(|a| bytes(a.memory_bytes)),
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
