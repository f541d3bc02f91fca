//! Layers with a Mamba mixer beside attention: what the layers of Falcon-H1 in Megatron-Bridge are known with
//! (`FalconH1Layer`, `FalconH1Stack`, `FalconH1ModelProvider.provide`).

use super::rule::FixValue::{Default, Name, Off};
use super::rule::{Excluded, any_fsdp, beyond_attention_and_mlp, first_excluded, offloading_and_graphs, rules};
use crate::config::choices::{AdapterType, RecomputeModule, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;

rules! { |d, a|
    error "mamba_beside_attention" by(knows_layers);
}

/// Whether a submodule other than the core of attention is recomputed: `FalconH1Layer` recomputes none.
fn recomputes_others(d: &Draft<'_>) -> bool {
    let others = [RecomputeModule::Mlp, RecomputeModule::Layernorm];
    others.into_iter().any(|module| d.recomputes(module))
}

/// The first setting of the job with which Megatron-Bridge does not build these layers.
fn knows_layers(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    if !a.mamba_beside_attention {
        return None;
    }
    let excluded: [Excluded; 15] = [
        (a.layer_sizes.is_some(), F::layer_sizes, Default),
        (a.parallel_attention, F::parallel_attention, Off),
        (a.enable_mhc_connections, F::enable_mhc_connections, Off),
        (d.mtp_num_layers > 0, F::mtp_num_layers, Default),
        (d.interleaved(), d.chunk_field(), Default),
        (
            a.pipeline_model_parallel_layout.is_some(),
            F::pipeline_model_parallel_layout,
            Default,
        ),
        (
            a.decoder_first_pipeline_num_layers.is_some(),
            F::decoder_first_pipeline_num_layers,
            Default,
        ),
        (
            a.decoder_last_pipeline_num_layers.is_some(),
            F::decoder_last_pipeline_num_layers,
            Default,
        ),
        (a.add_bias_linear, F::add_bias_linear, Off),
        (a.add_qkv_bias, F::add_qkv_bias, Off),
        (a.qk_layernorm, F::qk_layernorm, Off),
        (a.post_layernorm, F::post_layernorm, Off),
        (
            a.transformer_impl == TransformerImpl::Local,
            F::transformer_impl,
            Name("transformer_engine"),
        ),
        (a.peft_type != AdapterType::None, F::peft_type, Default),
        (
            d.full_recompute() || recomputes_others(d),
            F::recompute_granularity,
            Default,
        ),
    ];
    let excluded = beyond_attention_and_mlp(d)
        .into_iter()
        .chain(excluded)
        .chain(offloading_and_graphs(d))
        .chain([any_fsdp(d)]);
    first_excluded(F::mamba_beside_attention, excluded, |name| {
        format!("mamba_beside_attention is not known with {name}: Megatron-Bridge builds Falcon-H1's layers without it")
    })
}
