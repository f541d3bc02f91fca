//! Linear attention layers (`TransformerConfig.__post_init__`).

use super::rule::FixValue::{Default, Number};
use super::rule::{Alternatives, rules};
use crate::config::choices::{AttentionVariant, Fp8Recipe, TransformerImpl};
use crate::config::draft::{Draft, mtp_without_decoder};
use crate::config::fields::FieldId as F;
use crate::config::layers::Gates;
use crate::config::nearby::near_divisors;
use crate::config::pattern::LayerPattern;
use crate::config::problem::Problem;
use crate::parallel::stages::StageLayout;

rules! { |d, a|
    error "linear_attention" by(linear_attention);
    error "linear_heads" : has_linear_attention(d).then_some(a.linear_num_value_heads) => "linear_num_value_heads {}",
        a.linear_num_key_heads => "linear_num_key_heads {}",
        [linear_num_value_heads, linear_num_key_heads],
        or(|_, values, keys| Alternatives::of("", F::linear_num_key_heads, near_divisors(values, keys, 3)));
    error "linear_heads_by_ranks" by(|d| heads_by_ranks(d, F::linear_num_key_heads, d.args.linear_num_key_heads));
    error "linear_heads_by_ranks" by(|d| heads_by_ranks(d, F::linear_num_value_heads, d.args.linear_num_value_heads));
    error "linear_attention_freq"
        let listed = listed(&a.linear_attention_freq)?,
        if has_linear_attention(d) && listed != a.num_layers => [linear_attention_freq, num_layers],
        format!("linear_attention_freq lists {listed} layers, but num_layers is {}", a.num_layers),
        [linear_attention_freq = Number(4)];
    error "gated_delta_net_fp8_width" by(fp8_width);
}

/// The number of layers in a pattern that lists them.
fn listed(pattern: &LayerPattern) -> Option<u64> {
    match pattern {
        LayerPattern::List(list) => Some(list.len() as u64),
        LayerPattern::Every(_) => None,
    }
}

/// Whether layers may have linear attention.
fn has_linear_attention(d: &Draft<'_>) -> bool {
    has_delta_nets(d) || d.args.kimi_attn_res_block_size.is_some()
}

/// Whether that is a gated delta net.
fn has_delta_nets(d: &Draft<'_>) -> bool {
    d.args
        .experimental_attention_variant
        .is_some_and(AttentionVariant::is_gated_delta_net)
}

fn linear_attention(d: &Draft<'_>) -> Option<Problem> {
    // Layers of a pattern need no frequency, but `TransformerConfig` asks for it with gdn all the same.
    let by_pattern = d.pattern().is_some() && d.args.experimental_attention_variant == Some(AttentionVariant::Gdn2);
    let missing = if !d.context.has_linear_freq && !by_pattern {
        "linear_attention_freq"
    } else if d.args.transformer_impl != TransformerImpl::TransformerEngine {
        "transformer_impl transformer_engine"
    } else {
        return None;
    };
    has_delta_nets(d).then(|| {
        let message = format!("experimental_attention_variant needs {missing}");
        let fields = [F::experimental_attention_variant, F::linear_attention_freq];
        Problem::error(&fields, message)
            .fix(F::linear_attention_freq, Number(4))
            .fix(F::transformer_impl, Default)
    })
}

fn heads_by_ranks(d: &Draft<'_>, field: F, heads: u64) -> Option<Problem> {
    let ranks = d.tp.saturating_mul(d.cp);
    (has_linear_attention(d) && !heads.is_multiple_of(ranks)).then(|| {
        let message = format!(
            "{} {heads} must be a multiple of TP {} · CP {} = {ranks}",
            field.field().name,
            d.tp,
            d.cp
        );
        let sizes = [field, F::tensor_model_parallel_size, F::context_parallel_size];
        Problem::error(&sizes, message)
    })
}

/// An MTP depth repeats the last layer, and takes no layer whose attention mask it does not know
/// (`MultiTokenPredictionLayer.__init__`).
pub(super) fn mtp(d: &Draft<'_>, layout: &StageLayout) -> Option<Problem> {
    let last = d.layers.decoder().last()?.mixer?;
    let linear = last.gates().is_some();
    let repeats = d.mtp_num_layers > 0 && d.pattern().is_none() && !mtp_without_decoder(layout);
    (linear && repeats).then(|| {
        let message =
            "mtp_num_layers is not supported where the last layer has linear attention: MTP repeats that layer";
        Problem::error(&[F::mtp_num_layers, F::linear_attention_freq], message).fix(F::mtp_num_layers, Default)
    })
}

/// `_GDNBase.__init__`.
fn fp8_width(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let gates = d.layers.delta_net_gates()?;
    let keys = a.linear_num_key_heads.saturating_mul(a.linear_key_head_dim);
    let heads = a.linear_num_value_heads;
    let values = heads.saturating_mul(a.linear_value_head_dim);
    let gates = match gates {
        Gates::OfChannels => keys.saturating_mul(2).saturating_add(values),
        Gates::OfHeads => heads.saturating_mul(2),
    };
    let width = keys.saturating_add(values).saturating_mul(2).saturating_add(gates);
    let align = match a.fp8_recipe {
        Fp8Recipe::Mxfp8 => 32,
        Fp8Recipe::Delayed | Fp8Recipe::Tensorwise | Fp8Recipe::Blockwise => 16,
    };
    (a.fp8_format.is_some() && !width.is_multiple_of(align)).then(|| {
        let message =
            format!("fp8 needs the width of a gated delta net's in_proj, {width}, to be a multiple of {align}");
        let fields = [F::fp8_format, F::linear_num_value_heads, F::linear_num_key_heads];
        Problem::error(&fields, message).fix(F::fp8_format, Default)
    })
}
