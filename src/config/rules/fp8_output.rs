//! Rules of `fp8_output_proj`, the output layer in MXFP8 (`TransformerConfig.__post_init__`,
//! `TELMHeadColumnParallelLinear.__init__`).

use super::rule::FixValue::{Name, Off, On};
use super::rule::rules;
use crate::config::choices::Fp8Recipe;
use crate::config::draft::Draft;

rules! { |d, a|
    error "fp8_output" if a.fp8_output_proj && a.fp8_format.is_none() => [fp8_output_proj, fp8_format],
        "fp8_output_proj needs fp8_format", [fp8_output_proj = Off];
    error "fp8_output" if a.fp8_output_proj && a.fp8_format.is_some() && a.fp8_recipe != Fp8Recipe::Mxfp8
        => [fp8_output_proj, fp8_recipe],
        format!("fp8_output_proj needs fp8_recipe mxfp8, not {}", a.fp8_recipe.name()),
        [fp8_output_proj = Off, fp8_recipe = Name("mxfp8")];
    // On one stage a tied output layer has no weight of its own, and Transformer Engine's takes no other.
    error "fp8_output" if quantizes(d) && !a.untie_embeddings_and_output_weights && d.pp == 1
        => [fp8_output_proj, untie_embeddings_and_output_weights],
        "fp8_output_proj on a single pipeline stage needs untie_embeddings_and_output_weights",
        [fp8_output_proj = Off, untie_embeddings_and_output_weights = On];
    error "fp8_output" if quantizes(d) && a.defer_embedding_wgrad_compute
        => [fp8_output_proj, defer_embedding_wgrad_compute],
        "fp8_output_proj excludes defer_embedding_wgrad_compute",
        [defer_embedding_wgrad_compute = Off, fp8_output_proj = Off];
    warning "fp8_output" if a.fp8_output_proj && a.hybrid_layer_pattern.is_some()
        => [fp8_output_proj, hybrid_layer_pattern],
        "fp8_output_proj has no effect in models with a hybrid_layer_pattern", [fp8_output_proj = Off];
}

/// Whether the model has an output layer in MXFP8.
fn quantizes(d: &Draft<'_>) -> bool {
    let a = &d.args;
    let mxfp8 = a.fp8_format.is_some() && a.fp8_recipe == Fp8Recipe::Mxfp8;
    a.fp8_output_proj && mxfp8 && a.hybrid_layer_pattern.is_none()
}
