//! From a checked module to the inputs of the two estimators, under the names that they read.

use super::differences::Framework;
use super::megatron_bridge::{self, MegatronBridgeReport};
use super::megatron_lm::{self, MegatronLmReport};
use super::{MEGABYTE, PythonError};
use crate::config::choices::RecomputeGranularity;
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

/// What both estimators read of a module, under names that both use.
fn common(m: &Module) -> Entries {
    let a = m.args();
    let mut out = Entries(Vec::with_capacity(48));
    out.int("num_layers", a.num_layers);
    out.int("hidden_size", a.hidden_size);
    out.int("ffn_hidden_size", m.ffn_hidden_size);
    out.int("num_attention_heads", a.num_attention_heads);
    out.int("kv_channels", m.kv_channels);
    out.int("seq_length", a.seq_length);
    out.set("moe_layer_freq", layer_freq(m));
    let moe = m.moe.as_ref();
    out.some("moe_ffn_hidden_size", moe.map(|moe| moe.ffn_hidden_size));
    out.int("moe_router_topk", a.moe_router_topk);
    out.some(
        "moe_shared_expert_intermediate_size",
        a.moe_shared_expert_intermediate_size,
    );
    out.some("moe_latent_size", a.moe_latent_size);
    out.some("mtp_num_layers", a.mtp_num_layers);
    out.int("tensor_model_parallel_size", m.tp);
    out.int("pipeline_model_parallel_size", m.pp);
    out.some(
        "virtual_pipeline_model_parallel_size",
        m.stages.vpp().map(u64::from),
    );
    out.int("context_parallel_size", m.cp);
    out.int("expert_model_parallel_size", m.ep);
    out.int("expert_tensor_parallel_size", m.etp);
    out.flag("sequence_parallel", m.sequence_parallel);
    let granularity = a.recompute_granularity.map(RecomputeGranularity::name);
    out.set(
        "recompute_granularity",
        granularity.map_or(Value::Null, text),
    );
    out
}

/// What both estimators read of training.
fn training(m: &Module, out: &mut Entries) {
    out.int("data_parallel_size", m.dp);
    out.int("micro_batch_size", m.args.micro_batch_size);
    out.flag(
        "use_distributed_optimizer",
        m.args.use_distributed_optimizer,
    );
}

/// The arguments that [`megatron_lm::report`] reads.
#[must_use]
pub fn megatron_lm_args(m: &Module) -> Value {
    let a = m.args();
    let mla = a.multi_latent_attention;
    let mut out = common(m);
    training(m, &mut out);
    out.flag("group_query_attention", a.group_query_attention);
    out.int("num_query_groups", m.num_query_groups);
    out.set("normalization", text(a.normalization.name()));
    out.flag("add_bias_linear", a.add_bias_linear);
    out.flag("swiglu", a.swiglu);
    out.flag(
        "untie_embeddings_and_output_weights",
        a.untie_embeddings_and_output_weights,
    );
    out.int("padded_vocab_size", m.padded_vocab_size);
    out.some("num_experts", a.num_experts);
    out.flag("moe_shared_expert_gate", a.moe_shared_expert_gate);
    out.flag("multi_latent_attention", mla);
    out.some("q_lora_rank", a.q_lora_rank.filter(|_| mla));
    for (name, width) in [
        ("kv_lora_rank", a.kv_lora_rank),
        ("qk_head_dim", a.qk_head_dim),
        ("qk_pos_emb_head_dim", a.qk_pos_emb_head_dim),
        ("v_head_dim", a.v_head_dim),
    ] {
        out.some(name, mla.then_some(width));
    }
    out.int("world_size", m.ranks());
    out.set("hybrid_layer_pattern", Value::Null);
    Value::Map(out.0)
}

/// The input that [`megatron_bridge::report`] reads, activations included.
#[must_use]
pub fn megatron_bridge_input(m: &Module) -> Value {
    let a = m.args();
    // A vocabulary that is given after padding is not padded again.
    let vocab_size = m.vocab_size.filter(|_| a.padded_vocab_size.is_none());
    let mut model = common(m);
    model.some(
        "num_query_groups",
        a.group_query_attention.then_some(m.num_query_groups),
    );
    model.int("vocab_size", vocab_size.unwrap_or(m.padded_vocab_size));
    model.int(
        "make_vocab_size_divisible_by",
        a.make_vocab_size_divisible_by,
    );
    model.flag("should_pad_vocab", vocab_size.is_some());
    model.flag(
        "share_embeddings_and_output_weights",
        !a.untie_embeddings_and_output_weights,
    );
    model.flag("gated_linear_unit", m.activation.gated());
    model.set("activation_func", text(activation(m.activation)));
    model.some("num_moe_experts", a.num_experts);
    model.some(
        "num_layers_in_first_pipeline_stage",
        a.decoder_first_pipeline_num_layers,
    );
    model.some(
        "num_layers_in_last_pipeline_stage",
        a.decoder_last_pipeline_num_layers,
    );
    let mut train = Entries(Vec::new());
    training(m, &mut train);
    let mut out = Entries(Vec::new());
    out.set("model", Value::Map(model.0));
    out.set("train", Value::Map(train.0));
    out.int("num_microbatches", m.num_microbatches);
    out.flag("include_activation", true);
    Value::Map(out.0)
}

/// The entries of a map, so far.
struct Entries(Vec<(String, Value)>);

impl Entries {
    fn set(&mut self, name: &str, value: Value) {
        self.0.push((name.to_owned(), value));
    }

    fn int(&mut self, name: &str, value: u64) {
        self.set(name, int(value));
    }

    fn some(&mut self, name: &str, value: Option<u64>) {
        self.set(name, value.map_or(Value::Null, int));
    }

    fn flag(&mut self, name: &str, value: bool) {
        self.set(name, Value::Bool(value));
    }
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

fn int(value: u64) -> Value {
    Value::Int(value.into())
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
