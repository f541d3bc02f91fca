//! Rules of `fp8_output_proj`, the output layer in MXFP8 (`TransformerConfig.__post_init__`,
//! `TELMHeadColumnParallelLinear.__init__`).

use super::rule::FixValue::{Name, Off, On};
use super::rule::{Rule, Violation, rule, warning};
use crate::config::choices::Fp8Recipe;
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    rule("fp8_output", needs_mxfp8),
    rule("fp8_output", excludes_tied_embeddings),
    rule("fp8_output", excludes_deferral),
    warning("fp8_output", hybrid_models_have_none),
];

const OUTPUT: F = F::fp8_output_proj;

fn needs_mxfp8(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    if !a.fp8_output_proj {
        return None;
    }
    if a.fp8_format.is_none() {
        let message = "fp8_output_proj needs fp8_format";
        return Some(Violation::error(&[OUTPUT, F::fp8_format], message).fix(OUTPUT, Off));
    }
    (a.fp8_recipe != Fp8Recipe::Mxfp8).then(|| {
        let message = format!("fp8_output_proj needs fp8_recipe mxfp8, not {}", a.fp8_recipe.name());
        Violation::error(&[OUTPUT, F::fp8_recipe], message)
            .fix(OUTPUT, Off)
            .fix(F::fp8_recipe, Name("mxfp8"))
    })
}

/// Whether the model has an output layer in MXFP8.
fn quantizes(d: &Draft<'_>) -> bool {
    let a = &d.args;
    let mxfp8 = a.fp8_format.is_some() && a.fp8_recipe == Fp8Recipe::Mxfp8;
    a.fp8_output_proj && mxfp8 && a.hybrid_layer_pattern.is_none()
}

/// On one stage a tied output layer has no weight of its own, and Transformer Engine's takes no other.
fn excludes_tied_embeddings(d: &Draft<'_>) -> Option<Violation> {
    let untied = F::untie_embeddings_and_output_weights;
    let tied = !d.args.untie_embeddings_and_output_weights && d.pp == 1;
    (quantizes(d) && tied).then(|| {
        let message = "fp8_output_proj on a single pipeline stage needs untie_embeddings_and_output_weights";
        Violation::error(&[OUTPUT, untied], message)
            .fix(OUTPUT, Off)
            .fix(untied, On)
    })
}

fn excludes_deferral(d: &Draft<'_>) -> Option<Violation> {
    let deferral = F::defer_embedding_wgrad_compute;
    (quantizes(d) && d.args.defer_embedding_wgrad_compute).then(|| {
        let message = "fp8_output_proj excludes defer_embedding_wgrad_compute";
        Violation::error(&[OUTPUT, deferral], message)
            .fix(deferral, Off)
            .fix(OUTPUT, Off)
    })
}

fn hybrid_models_have_none(d: &Draft<'_>) -> Option<Violation> {
    let pattern = F::hybrid_layer_pattern;
    (d.args.fp8_output_proj && d.args.hybrid_layer_pattern.is_some()).then(|| {
        let message = "fp8_output_proj has no effect in models with a hybrid_layer_pattern";
        Violation::warning(&[OUTPUT, pattern], message).fix(OUTPUT, Off)
    })
}
