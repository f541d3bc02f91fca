//! Patterns of hybrid models and the sizes of their Mamba layers (`validate_args`, `parse_hybrid_pattern`,
//! `MambaMixer.__init__`, `MambaContextParallel.__init__`).

use super::rule::FixValue::{Default, Name, Number};
use super::rule::{Alternatives, rules};
use crate::config::choices::{HybridStackSpec, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::hybrid_pattern::{HybridPattern, HybridPatternError, LayerSymbol};
use crate::config::job::mamba_num_heads;
use crate::config::nearby::{near_divisors, near_matches, or_list};
use crate::config::problem::Problem;
use crate::value::Value;

rules! { |d, a|
    error "hybrid_pattern" by(hybrid_pattern);
    // `gated_delta_product_stack_spec` has no module for `+`.
    error "delta_product_spec"
        let place = d.pattern()?.place_of(LayerSymbol::MultiLatentAttention)?,
        if a.spec == HybridStackSpec::GatedDeltaProductStackSpec => [spec, hybrid_layer_pattern],
        format!("spec gated_delta_product_stack_spec has no layer for MLA (+ at character {place})"), [spec = Default];
    // `GatedDeltaProductMixer.__init__` knows no default.
    error "delta_product_heads"
        let usual = heads(d)?,
        if a.spec == HybridStackSpec::GatedDeltaProductStackSpec && a.mamba_num_heads.is_none()
        => [mamba_num_heads, spec],
        "spec gated_delta_product_stack_spec needs mamba_num_heads", [mamba_num_heads = Number(usual)];
    error "hybrid_experts"
        let pattern = d.pattern()?, let place = pattern.place_of(LayerSymbol::Moe)?,
        if !d.has_experts() => [hybrid_layer_pattern, num_experts],
        format!("hybrid_layer_pattern has a MoE layer (E at character {place}), which needs num_experts"),
        [num_experts = Number(8), hybrid_layer_pattern = without_experts(pattern)];
    warning "hybrid_num_layers"
        let given = d.context.own_num_layers?, let layers = d.pattern()?.layers().count() as u64,
        if given != layers => [num_layers, hybrid_layer_pattern],
        format!("num_layers {given} is ignored: hybrid_layer_pattern has {layers} layers, one a letter"),
        [num_layers = Default, num_layers = Number(layers)];
    warning "hybrid_mtp" by(hybrid_mtp);
    // The layers of a hybrid model are Transformer Engine's modules (`hybrid_layer_specs.py`).
    error "hybrid_modules" if d.pattern().is_some() && a.transformer_impl == TransformerImpl::Local
        => [transformer_impl, hybrid_layer_pattern],
        "hybrid_layer_pattern needs transformer_impl transformer_engine: no layer of a hybrid model has local modules",
        [transformer_impl = Name("transformer_engine")];

    error "mamba_heads" by(mamba_heads);
    error "mamba_heads_by_tp" : heads(d) => "{} Mamba heads", d.tp => "tensor_model_parallel_size {}",
        [tensor_model_parallel_size, mamba_num_heads],
        or(|_, heads, tp| tensor_sizes(F::mamba_num_heads, heads, tp));
    error "mamba_groups_by_tp" : heads(d).map(|_| a.mamba_num_groups) => "mamba_num_groups {}",
        d.tp => "tensor_model_parallel_size {}", [tensor_model_parallel_size, mamba_num_groups],
        or(|_, groups, tp| tensor_sizes(F::mamba_num_groups, groups, tp));
    error "mamba_heads_by_groups" : heads(d) => "{} Mamba heads", a.mamba_num_groups => "mamba_num_groups {}",
        [mamba_num_groups, mamba_num_heads],
        or(|_, heads, groups| Alternatives::of("", F::mamba_num_groups, near_divisors(heads, groups, 3)));
    error "mamba_heads_by_cp"
        : heads(d).filter(|_| d.splits_sequences()).map(|heads| heads / d.tp.max(1))
            => "the {} Mamba heads of a tensor-parallel rank",
        d.cp => "context_parallel_size {}", [context_parallel_size, mamba_num_heads],
        or(|_, heads, cp| Alternatives::of("CP", F::context_parallel_size, near_divisors(heads, cp, 3)));
    error "mamba_groups_by_cp" by(mamba_groups_by_cp);
    error "mamba_fp8_width" by(mamba_fp8_width);
}

/// Tensor-parallel sizes that divide the field `split`, whose value is `n`, or values for that field.
fn tensor_sizes(split: F, n: u64, tp: u64) -> Alternatives {
    let near = near_divisors(n, tp, 3);
    Alternatives::sizes(F::tensor_model_parallel_size, &near, split, n, tp)
}

/// The text of a pattern with dense MLPs in place of its MoE layers.
fn without_experts(pattern: &HybridPattern) -> Value {
    Value::Text(pattern.replacing(LayerSymbol::Moe, LayerSymbol::Mlp).to_string())
}

fn hybrid_pattern(d: &Draft<'_>) -> Option<Problem> {
    let error = d.hybrid.as_ref()?.as_ref().err()?;
    let field = F::hybrid_layer_pattern;
    let violation = Problem::error(&[field], format!("hybrid_layer_pattern {error}"));
    let given = d.args.hybrid_layer_pattern.as_deref().unwrap_or_default();
    Some(match repaired(given, error) {
        Some(pattern) => violation.fix(field, Value::Text(pattern)),
        None => violation.fix(field, Default),
    })
}

/// The nearest text that is a pattern.
fn repaired(given: &str, error: &HybridPatternError) -> Option<String> {
    let (main, mtp) = given.split_once('/').unwrap_or((given, ""));
    let text = match error {
        HybridPatternError::UnknownSymbol { .. } => {
            let known = |c: &char| matches!(c, '|' | '/') || LayerSymbol::of(*c).is_some();
            let upper = given.trim().to_ascii_uppercase();
            upper.chars().filter(known).collect()
        }
        HybridPatternError::SegmentInMtp { .. } => format!("{main}/{}", mtp.replace('|', "")),
        HybridPatternError::UnequalDepths { first, .. } => {
            let depths = mtp.split('/').count();
            format!("{main}{}", format!("/{first}").repeat(depths))
        }
        HybridPatternError::MixedAttention { letter, .. } => given.replace('*', &letter.to_string()),
        HybridPatternError::Empty | HybridPatternError::Expression { .. } | HybridPatternError::TooLong => return None,
    };
    text.parse::<HybridPattern>().ok().map(|_| text)
}

/// A pattern without `/` has no MTP, whatever `mtp_num_layers` says; one with `/` counts the depths itself.
fn hybrid_mtp(d: &Draft<'_>) -> Option<Problem> {
    let given = d.context.own_mtp_num_layers?;
    let pattern = d.pattern()?;
    let depths = pattern.depths();
    let fields = [F::mtp_num_layers, F::hybrid_layer_pattern];
    if depths == 0 && given > 0 {
        let layers: Vec<LayerSymbol> = pattern.layers().collect();
        let last = layers.len().saturating_sub(2);
        let mtp = layers.get(last..).unwrap_or_default().to_vec();
        let with = HybridPattern::new(pattern.segments().to_vec(), mtp, given);
        let message = format!(
            "mtp_num_layers {given} builds nothing: hybrid_layer_pattern has no MTP part; add one such as /{}",
            with.to_string().rsplit('/').next().unwrap_or_default()
        );
        return Some(
            Problem::warning(&fields, message)
                .fix(F::hybrid_layer_pattern, Value::Text(with.to_string()))
                .fix(F::mtp_num_layers, Default),
        );
    }
    (depths > 0 && given != depths).then(|| {
        let message =
            format!("mtp_num_layers {given} is ignored: hybrid_layer_pattern has {depths} MTP depths (parts behind /)");
        Problem::warning(&fields, message).fix(F::mtp_num_layers, Number(depths))
    })
}

/// The number of Mamba heads, where any layer has a Mamba mixer.
fn heads(d: &Draft<'_>) -> Option<u64> {
    let of_pattern = d.pattern().is_some_and(|pattern| pattern.has(LayerSymbol::Mamba));
    let has_mixers = d.args.mamba_beside_attention || of_pattern;
    has_mixers.then(|| mamba_num_heads(&d.args))
}

fn mamba_heads(d: &Draft<'_>) -> Option<Problem> {
    heads(d)?;
    let (inner, width) = (d.args.hidden_size.saturating_mul(2), d.args.mamba_head_dim);
    (d.args.mamba_num_heads.is_none() && !inner.is_multiple_of(width)).then(|| {
        let message =
            format!("mamba_head_dim {width} must divide 2 · hidden_size = {inner}, or mamba_num_heads be given");
        let near = near_divisors(inner, width, 3);
        let fields = [F::mamba_head_dim, F::mamba_num_heads, F::hidden_size];
        Problem::error(&fields, message).fix_each(F::mamba_head_dim, &near)
    })
}

/// Context-parallel ranks split the groups, or each group is on several of them.
fn mamba_groups_by_cp(d: &Draft<'_>) -> Option<Problem> {
    heads(d)?;
    let groups = (d.args.mamba_num_groups / d.tp.max(1)).max(1);
    let fits = |cp: u64| {
        if groups < cp {
            cp.is_multiple_of(groups)
        } else {
            groups.is_multiple_of(cp)
        }
    };
    if !d.splits_sequences() || fits(d.cp) {
        return None;
    }
    let near = near_matches(d.cp, d.cp.saturating_mul(2), 3, &fits);
    let message = format!(
        "the {groups} Mamba groups of a tensor-parallel rank must be a multiple or a divisor of context_parallel_size {}; CP {} would work",
        d.cp,
        or_list(&near)
    );
    let fields = [F::context_parallel_size, F::mamba_num_groups];
    Some(Problem::error(&fields, message).fix_each(F::context_parallel_size, &near))
}

fn mamba_fp8_width(d: &Draft<'_>) -> Option<Problem> {
    let heads = heads(d)?;
    let a = &d.args;
    let inner = heads.saturating_mul(a.mamba_head_dim);
    let states = a.mamba_num_groups.saturating_mul(a.mamba_state_dim);
    let width = match a.spec {
        HybridStackSpec::HybridStackSpec => inner.saturating_add(states).saturating_mul(2).saturating_add(heads),
        HybridStackSpec::GatedDeltaProductStackSpec => inner
            .saturating_add(states)
            .saturating_add(heads)
            .saturating_mul(a.gdp_num_householder.saturating_add(1)),
    };
    (a.fp8_format.is_some() && !width.is_multiple_of(16)).then(|| {
        let message = format!(
            "fp8 needs the width of Mamba's in_proj, {width}, to be a multiple of 16: choose mamba_num_heads as a multiple of 16"
        );
        let fields = [F::fp8_format, F::mamba_num_heads, F::mamba_num_groups];
        Problem::error(&fields, message)
            .fix(F::mamba_num_heads, Number(heads.next_multiple_of(16)))
            .fix(F::fp8_format, Default)
    })
}
