//! What attention in fp8 needs (`get_attention_backend` and `DotProductAttention.init_fp8_metadata` of Transformer
//! Engine, `get_fp8_recipe` of Megatron-LM).

use super::rule::FixValue::{Default, Name, Off};
use super::rule::rules;
use crate::config::choices::{AttentionBackend, Fp8Recipe};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;

rules! { |d, a|
    warning "fp8_attention" by(has_no_effect);
    error "fp8_attention"
        if in_fp8(d) && !matches!(a.attention_backend, AttentionBackend::Auto | AttentionBackend::Fused)
        => [fp8_dot_product_attention, attention_backend],
        "attention in fp8 needs attention_backend fused: other kernels do not train in fp8",
        [attention_backend = Name("fused"), fp8_dot_product_attention = Off];
    error "fp8_attention"
        let generation = d.gpu_generation()?,
        if in_fp8(d) && a.fp8_recipe == Fp8Recipe::Tensorwise && generation.major() < 10
        => [fp8_dot_product_attention, fp8_recipe, gpu],
        format!(
            "attention in fp8 with fp8_recipe tensorwise needs a Blackwell GPU, not {}",
            generation.label()
        ),
        [fp8_dot_product_attention = Off, fp8_recipe = Name("delayed")];
    error "fp8_attention" by(excludes_packed_samples);
}

const ATTENTION: F = F::fp8_dot_product_attention;

/// Whether core attention is in fp8.
fn in_fp8(d: &Draft<'_>) -> bool {
    d.args.fp8_format.is_some() && d.args.fp8_dot_product_attention && d.args.fp8_recipe != Fp8Recipe::Blockwise
}

fn has_no_effect(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let whole = F::fp8_multi_head_attention;
    if a.fp4_format.is_some() {
        return None;
    }
    let (field, other, message) = if a.fp8_dot_product_attention && a.fp8_format.is_none() {
        let message = "fp8_dot_product_attention has no effect without fp8_format";
        (ATTENTION, F::fp8_format, message)
    } else if a.fp8_dot_product_attention && a.fp8_recipe == Fp8Recipe::Blockwise {
        let message = "fp8_dot_product_attention has no effect with fp8_recipe blockwise";
        (ATTENTION, F::fp8_recipe, message)
    } else if a.fp8_multi_head_attention && (a.fp8_format.is_none() || a.fp8_recipe != Fp8Recipe::Delayed) {
        let message = "fp8_multi_head_attention has no effect with another recipe than delayed";
        (whole, F::fp8_recipe, message)
    } else {
        return None;
    };
    Some(Problem::warning(&[field, other], message).fix(field, Off))
}

fn excludes_packed_samples(d: &Draft<'_>) -> Option<Problem> {
    let mxfp8 = d.args.fp8_recipe == Fp8Recipe::Mxfp8;
    (in_fp8(d) && mxfp8 && d.packing.is_some()).then(|| {
        let asked = if d.args.sft {
            F::sft
        } else {
            F::max_seqlen_per_dp_cp_rank
        };
        let message = "attention in fp8 with fp8_recipe mxfp8 does not support packed samples";
        Problem::error(&[ATTENTION, asked], message)
            .fix(ATTENTION, Off)
            .fix(asked, Default)
    })
}
