//! What attention in fp8 needs (`get_attention_backend` and `DotProductAttention.init_fp8_metadata` of Transformer
//! Engine, `get_fp8_recipe` of Megatron-LM).

use super::rule::FixValue::{Default, Name, Off};
use super::rule::{Rule, Violation, rule, warning};
use crate::config::choices::{AttentionBackend, Fp8Recipe};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    warning("fp8_attention", has_no_effect),
    rule("fp8_attention", needs_cudnn),
    rule("fp8_attention", needs_blackwell),
    rule("fp8_attention", excludes_packed_samples),
];

const ATTENTION: F = F::fp8_dot_product_attention;

/// Whether core attention is in fp8.
fn in_fp8(d: &Draft<'_>) -> bool {
    d.args.fp8_format.is_some() && d.args.fp8_dot_product_attention && d.args.fp8_recipe != Fp8Recipe::Blockwise
}

fn has_no_effect(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    if a.fp4_format.is_some() {
        return None;
    }
    if a.fp8_dot_product_attention && a.fp8_format.is_none() {
        let message = "fp8_dot_product_attention has no effect without fp8_format";
        return Some(Violation::warning(&[ATTENTION, F::fp8_format], message).fix(ATTENTION, Off));
    }
    if a.fp8_dot_product_attention && a.fp8_recipe == Fp8Recipe::Blockwise {
        let message = "fp8_dot_product_attention has no effect with fp8_recipe blockwise";
        return Some(Violation::warning(&[ATTENTION, F::fp8_recipe], message).fix(ATTENTION, Off));
    }
    let whole = F::fp8_multi_head_attention;
    let other = a.fp8_format.is_none() || a.fp8_recipe != Fp8Recipe::Delayed;
    (a.fp8_multi_head_attention && other).then(|| {
        let message = "fp8_multi_head_attention has no effect with another recipe than delayed";
        Violation::warning(&[whole, F::fp8_recipe], message).fix(whole, Off)
    })
}

fn needs_cudnn(d: &Draft<'_>) -> Option<Violation> {
    let other = !matches!(
        d.args.attention_backend,
        AttentionBackend::Auto | AttentionBackend::Fused
    );
    (in_fp8(d) && other).then(|| {
        let message = "attention in fp8 needs attention_backend fused: other kernels do not train in fp8";
        Violation::error(&[ATTENTION, F::attention_backend], message)
            .fix(F::attention_backend, Name("fused"))
            .fix(ATTENTION, Off)
    })
}

fn needs_blackwell(d: &Draft<'_>) -> Option<Violation> {
    let generation = d.gpu_generation()?;
    let scales = d.args.fp8_recipe == Fp8Recipe::Tensorwise;
    (in_fp8(d) && scales && generation.major() < 10).then(|| {
        let message = format!(
            "attention in fp8 with fp8_recipe tensorwise needs a Blackwell GPU, not {}",
            generation.label()
        );
        Violation::error(&[ATTENTION, F::fp8_recipe, F::gpu], message)
            .fix(ATTENTION, Off)
            .fix(F::fp8_recipe, Name("delayed"))
    })
}

fn excludes_packed_samples(d: &Draft<'_>) -> Option<Violation> {
    let mxfp8 = d.args.fp8_recipe == Fp8Recipe::Mxfp8;
    (in_fp8(d) && mxfp8 && d.packing.is_some()).then(|| {
        let asked = if d.args.sft {
            F::sft
        } else {
            F::max_seqlen_per_dp_cp_rank
        };
        let message = "attention in fp8 with fp8_recipe mxfp8 does not support packed samples";
        Violation::error(&[ATTENTION, asked], message)
            .fix(ATTENTION, Off)
            .fix(asked, Default)
    })
}
