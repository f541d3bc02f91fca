//! Norms of layers in fp32, embeddings per layer and shared keys and values: what the dense models of Gemma 4 run with in
//! Megatron-Bridge (`Gemma4DenseProvider`, `Gemma4DenseTransformerLayer`).

use super::rule::FixValue::{self, Default, Name, Number, Off, On};
use super::rule::{Excluded, any_fsdp, beyond_attention_and_mlp, first_excluded, offloading_and_graphs, rules};
use crate::config::choices::{AdapterType, Normalization, RecomputeModule, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::layers::Layer;
use crate::config::problem::Problem;

rules! { |d, a|
    error "layer_norms_in_fp32" by(runs_with);
    error "per_layer_embed_dim" if a.per_layer_embed_dim.is_some() && !a.layer_norms_in_fp32
        => [per_layer_embed_dim, layer_norms_in_fp32],
        "per_layer_embed_dim needs layer_norms_in_fp32: only the dense models of Gemma 4 have embeddings per layer",
        [per_layer_embed_dim = Default, layer_norms_in_fp32 = On];
    error "per_layer_embed_vocab_size"
        let rows = a.per_layer_embed_vocab_size?,
        if a.per_layer_embed_dim.is_some() && !rows.is_multiple_of(d.tp)
        => [per_layer_embed_vocab_size, tensor_model_parallel_size],
        format!("per_layer_embed_vocab_size {rows} must be a multiple of tensor_model_parallel_size {}", d.tp),
        [per_layer_embed_vocab_size = Number(rows.next_multiple_of(d.tp))];
    error "shared_kv" by(shared_kv);
}

/// The first setting that these layers cannot do without, or do not run with.
fn runs_with(d: &Draft<'_>) -> Option<Problem> {
    if d.args.layer_norms_in_fp32 {
        needs(d).or_else(|| excludes(d))
    } else {
        None
    }
}

/// The first setting that these layers cannot do without.
fn needs(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let needed: [(bool, F, FixValue, &str); 3] = [
        (
            a.transformer_impl == TransformerImpl::Local,
            F::transformer_impl,
            Name("local"),
            "local",
        ),
        (
            a.normalization == Normalization::RmsNorm,
            F::normalization,
            Name("RMSNorm"),
            "RMSNorm",
        ),
        (a.qk_layernorm, F::qk_layernorm, On, "on"),
    ];
    let (_, field, fix, value) = needed.into_iter().find(|(holds, ..)| !*holds)?;
    let name = field.field().name;
    let message = format!("layer_norms_in_fp32 needs {name} {value}: the layers of dense Gemma 4 are built so");
    let problem = Problem::error(&[F::layer_norms_in_fp32, field], message);
    Some(problem.fix(field, fix).fix(F::layer_norms_in_fp32, Off))
}

/// Whether a submodule is recomputed whose checkpoint `Gemma4DenseTransformerLayer` passes by.
fn recomputes_others(d: &Draft<'_>) -> bool {
    let others = [RecomputeModule::Mlp, RecomputeModule::Layernorm];
    others.into_iter().any(|module| d.recomputes(module))
}

/// The first setting with which Megatron-Bridge does not build these layers, or with which they are not modelled.
fn excludes(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let excluded: [Excluded; 12] = [
        (d.pp > 1, F::pipeline_model_parallel_size, Default),
        (a.parallel_attention, F::parallel_attention, Off),
        (a.mamba_beside_attention, F::mamba_beside_attention, Off),
        (
            a.kimi_attn_res_block_size.is_some(),
            F::kimi_attn_res_block_size,
            Default,
        ),
        (a.enable_mhc_connections, F::enable_mhc_connections, Off),
        (d.mtp_num_layers > 0, F::mtp_num_layers, Default),
        (a.add_bias_linear, F::add_bias_linear, Off),
        (a.layer_scaling, F::layer_scaling, Off),
        (a.fp32_residual_connection, F::fp32_residual_connection, Off),
        (a.attention_output_gate, F::attention_output_gate, Off),
        (a.peft_type != AdapterType::None, F::peft_type, Default),
        (recomputes_others(d), F::recompute_modules, Name("core_attn")),
    ];
    let excluded = beyond_attention_and_mlp(d)
        .into_iter()
        .chain(excluded)
        .chain(offloading_and_graphs(d))
        .chain([any_fsdp(d)]);
    first_excluded(F::layer_norms_in_fp32, excluded, |name| {
        format!("layer_norms_in_fp32 is not known with {name}: Megatron-Bridge builds dense Gemma 4 without it")
    })
}

/// Layers that attend to keys and values of an earlier one need one of their kind before them that has its own.
fn shared_kv(d: &Draft<'_>) -> Option<Problem> {
    if !d.layers.distinct().iter().any(|layer| layer.sizes.shared_kv) {
        return None;
    }
    let layers = d.layers.decoder();
    let is_alone = |(index, layer): (usize, &Layer)| {
        let before = layers.get(..index).unwrap_or_default();
        let source = |earlier: &&Layer| !earlier.sizes.shared_kv && earlier.sizes.window == layer.sizes.window;
        layer.sizes.shared_kv && before.iter().find(source).is_none()
    };
    let alone = layers
        .iter()
        .enumerate()
        .find(|(index, layer)| is_alone((*index, *layer)));
    let message = if let Some((index, _)) = alone {
        format!(
            "layer_sizes has sharedkv in layer {index} (from 0), and no layer of its kind before it has keys of its own"
        )
    } else if !d.args.layer_norms_in_fp32 {
        String::from(
            "layer_sizes has sharedkv, which only the dense models of Gemma 4 have: it needs layer_norms_in_fp32",
        )
    } else {
        return None;
    };
    let problem = Problem::error(&[F::layer_sizes], message).fix(F::layer_sizes, Default);
    Some(if alone.is_none() {
        problem.fix(F::layer_norms_in_fp32, On)
    } else {
        problem
    })
}
