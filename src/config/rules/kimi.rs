//! Attention residuals, delta attention and latent attention of Kimi K3: what the layers are known with
//! (`KimiK3Attention`, `KimiK3TransformerLayer`, `build_kimi_k3_spec` of Megatron-Bridge).

use super::rule::FixValue::{self, Default, Name, Number, Off, On};
use super::rule::{Excluded, any_fsdp, first_excluded, offloading_and_graphs, rules};
use crate::config::choices::{AdapterType, Normalization, PositionEmbedding, RecomputeModule, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;

rules! { |d, a|
    error "kimi" by(knows_layers);
    error "kimi_heads"
        let alike = a.linear_num_key_heads == a.linear_num_value_heads && a.linear_key_head_dim == a.linear_value_head_dim,
        if is_on(d) && !alike => [linear_num_key_heads, linear_num_value_heads, linear_key_head_dim, linear_value_head_dim],
        "Kimi delta attention has as many heads of values as of keys, and as wide ones",
        [linear_num_key_heads = Number(a.linear_num_value_heads), linear_value_head_dim = Number(a.linear_key_head_dim)];
}

/// Whether the layers have attention residuals.
fn is_on(d: &Draft<'_>) -> bool {
    d.args.kimi_attn_res_block_size.is_some()
}

/// Whether a submodule is recomputed whose checkpoint `KimiK3TransformerLayer.forward` passes by.
fn recomputes_others(d: &Draft<'_>) -> bool {
    let others = [
        RecomputeModule::CoreAttn,
        RecomputeModule::Mlp,
        RecomputeModule::Layernorm,
        RecomputeModule::MlaUpProj,
    ];
    others.into_iter().any(|module| d.recomputes(module))
}

/// The first setting of the job with which Megatron-Bridge does not build these layers, or with which they are not
/// modelled.
fn knows_layers(d: &Draft<'_>) -> Option<Problem> {
    if !is_on(d) {
        return None;
    }
    needs(d).or_else(|| excludes(d))
}

/// The first setting that these layers cannot do without.
fn needs(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let needed: [(bool, F, FixValue, &str); 6] = [
        (a.multi_latent_attention, F::multi_latent_attention, On, "on"),
        (
            a.q_lora_rank.is_some(),
            F::q_lora_rank,
            Number(a.hidden_size / 4),
            "a number",
        ),
        (
            a.moe_latent_size.is_some() || !d.has_experts(),
            F::moe_latent_size,
            Number(a.hidden_size / 2),
            "a number",
        ),
        (a.hidden_dropout.0 == 0, F::hidden_dropout, Number(0), "0"),
        (
            a.normalization == Normalization::RmsNorm,
            F::normalization,
            Name("RMSNorm"),
            "RMSNorm",
        ),
        (
            a.position_embedding_type == PositionEmbedding::None,
            F::position_embedding_type,
            Name("none"),
            "none",
        ),
    ];
    let (_, field, fix, what) = needed.into_iter().find(|(is_met, ..)| !is_met)?;
    let message = format!("kimi_attn_res_block_size needs {} {what}", field.field().name);
    let problem = Problem::error(&[F::kimi_attn_res_block_size, field], message);
    Some(problem.fix(field, fix).fix(F::kimi_attn_res_block_size, Default))
}

/// The first setting that they exclude.
fn excludes(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let excluded: [Excluded; 22] = [
        (d.cp > 1, F::context_parallel_size, Number(1)),
        (d.interleaved(), d.chunk_field(), Default),
        (d.mtp_num_layers > 0, F::mtp_num_layers, Default),
        (d.hybrid.is_some(), F::hybrid_layer_pattern, Default),
        (a.layer_sizes.is_some(), F::layer_sizes, Default),
        (
            a.experimental_attention_variant.is_some(),
            F::experimental_attention_variant,
            Default,
        ),
        (a.mamba_beside_attention, F::mamba_beside_attention, Off),
        (a.parallel_attention, F::parallel_attention, Off),
        (a.separate_moe_norms, F::separate_moe_norms, Off),
        (a.enable_mhc_connections, F::enable_mhc_connections, Off),
        (a.layer_scaling, F::layer_scaling, Off),
        (a.post_layernorm, F::post_layernorm, Off),
        (a.fp32_residual_connection, F::fp32_residual_connection, Off),
        (a.add_bias_linear, F::add_bias_linear, Off),
        (a.moe_shared_expert_overlap, F::moe_shared_expert_overlap, Off),
        (
            a.overlap_moe_expert_parallel_comm,
            F::overlap_moe_expert_parallel_comm,
            Off,
        ),
        (a.fp8_format.is_some(), F::fp8_format, Default),
        (a.fp4_format.is_some(), F::fp4_format, Default),
        (
            a.transformer_impl == TransformerImpl::Local,
            F::transformer_impl,
            Name("transformer_engine"),
        ),
        (a.peft_type != AdapterType::None, F::peft_type, Default),
        (
            d.full_recompute() && a.distribute_saved_activations,
            F::distribute_saved_activations,
            Off,
        ),
        (recomputes_others(d), F::recompute_modules, Name("moe_act")),
    ];
    let excluded = excluded
        .into_iter()
        .chain(offloading_and_graphs(d))
        .chain([any_fsdp(d)]);
    first_excluded(F::kimi_attn_res_block_size, excluded, |name| {
        format!("kimi_attn_res_block_size is not modelled with {name}")
    })
}
