//! Patterns of hybrid models and the sizes of their Mamba layers (`validate_args`, `parse_hybrid_pattern`,
//! `MambaMixer.__init__`, `MambaContextParallel.__init__`).

use super::rule::FixValue::{Default, Name, Number};
use super::rule::{Alternatives, Rule, Violation, rule, warning};
use crate::config::choices::{HybridStackSpec, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::hybrid_pattern::{HybridPattern, HybridPatternError, LayerSymbol};
use crate::config::job::mamba_num_heads;
use crate::config::nearby::{near_divisors, near_matches, or_list};
use crate::value::Value;

pub(super) const RULES: &[Rule] = &[
    rule("hybrid_pattern", hybrid_pattern),
    rule("delta_product_spec", delta_product_spec),
    rule("delta_product_heads", delta_product_heads),
    rule("hybrid_experts", hybrid_experts),
    warning("hybrid_num_layers", hybrid_num_layers),
    warning("hybrid_mtp", hybrid_mtp),
    rule("hybrid_modules", hybrid_modules),
    rule("mamba_heads", mamba_heads),
    rule("mamba_heads_by_tp", mamba_heads_by_tp),
    rule("mamba_groups_by_tp", mamba_groups_by_tp),
    rule("mamba_heads_by_groups", mamba_heads_by_groups),
    rule("mamba_heads_by_cp", mamba_heads_by_cp),
    rule("mamba_groups_by_cp", mamba_groups_by_cp),
    rule("mamba_fp8_width", mamba_fp8_width),
];

fn hybrid_pattern(d: &Draft<'_>) -> Option<Violation> {
    let error = d.hybrid.as_ref()?.as_ref().err()?;
    let field = F::hybrid_layer_pattern;
    let violation = Violation::error(&[field], format!("hybrid_layer_pattern {error}"));
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
            let upper = given.trim().to_uppercase();
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

/// `gated_delta_product_stack_spec` has no module for `+`.
fn delta_product_spec(d: &Draft<'_>) -> Option<Violation> {
    let pattern = d.pattern()?;
    let products = d.args.spec == HybridStackSpec::GatedDeltaProductStackSpec;
    let place = pattern.place_of(LayerSymbol::MultiLatentAttention)?;
    products.then(|| {
        let message = format!("spec gated_delta_product_stack_spec has no layer for MLA (+ at character {place})");
        Violation::error(&[F::spec, F::hybrid_layer_pattern], message).fix(F::spec, Default)
    })
}

/// `GatedDeltaProductMixer.__init__` knows no default.
fn delta_product_heads(d: &Draft<'_>) -> Option<Violation> {
    heads(d)?;
    let products = d.args.spec == HybridStackSpec::GatedDeltaProductStackSpec;
    (products && d.args.mamba_num_heads.is_none()).then(|| {
        let usual = mamba_num_heads(&d.args);
        Violation::error(
            &[F::mamba_num_heads, F::spec],
            "spec gated_delta_product_stack_spec needs mamba_num_heads",
        )
        .fix(F::mamba_num_heads, Number(usual))
    })
}

fn hybrid_experts(d: &Draft<'_>) -> Option<Violation> {
    let pattern = d.pattern().filter(|_| !d.has_experts())?;
    let place = pattern.place_of(LayerSymbol::Moe)?;
    let message = format!("hybrid_layer_pattern has a MoE layer (E at character {place}), which needs num_experts");
    let dense = pattern.replacing(LayerSymbol::Moe, LayerSymbol::Mlp);
    Some(
        Violation::error(&[F::hybrid_layer_pattern, F::num_experts], message)
            .fix(F::num_experts, Number(8))
            .fix(F::hybrid_layer_pattern, Value::Text(dense.to_string())),
    )
}

fn hybrid_num_layers(d: &Draft<'_>) -> Option<Violation> {
    let given = d.context.own_num_layers?;
    let layers = d.pattern()?.layers().count() as u64;
    (given != layers).then(|| {
        let message = format!("num_layers {given} is ignored: hybrid_layer_pattern has {layers} layers, one a letter");
        Violation::warning(&[F::num_layers, F::hybrid_layer_pattern], message)
            .fix(F::num_layers, Default)
            .fix(F::num_layers, Number(layers))
    })
}

/// A pattern without `/` has no MTP, whatever `mtp_num_layers` says; one with `/` counts the depths itself.
fn hybrid_mtp(d: &Draft<'_>) -> Option<Violation> {
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
            Violation::warning(&fields, message)
                .fix(F::hybrid_layer_pattern, Value::Text(with.to_string()))
                .fix(F::mtp_num_layers, Default),
        );
    }
    (depths > 0 && given != depths).then(|| {
        let message =
            format!("mtp_num_layers {given} is ignored: hybrid_layer_pattern has {depths} MTP depths (parts behind /)");
        Violation::warning(&fields, message).fix(F::mtp_num_layers, Number(depths))
    })
}

/// The layers of a hybrid model are Transformer Engine's modules (`hybrid_layer_specs.py`).
fn hybrid_modules(d: &Draft<'_>) -> Option<Violation> {
    d.pattern()?;
    (d.args.transformer_impl == TransformerImpl::Local).then(|| {
        Violation::error(
            &[F::transformer_impl, F::hybrid_layer_pattern],
            "hybrid_layer_pattern needs transformer_impl transformer_engine: no layer of a hybrid model has local modules",
        )
        .fix(F::transformer_impl, Name("transformer_engine"))
    })
}

/// The pattern and the number of Mamba heads, where the pattern has Mamba layers.
fn heads(d: &Draft<'_>) -> Option<u64> {
    let pattern = d.pattern()?;
    pattern.has(LayerSymbol::Mamba).then(|| mamba_num_heads(&d.args))
}

fn mamba_heads(d: &Draft<'_>) -> Option<Violation> {
    heads(d)?;
    let (inner, width) = (d.args.hidden_size.saturating_mul(2), d.args.mamba_head_dim);
    (d.args.mamba_num_heads.is_none() && !inner.is_multiple_of(width)).then(|| {
        let message =
            format!("mamba_head_dim {width} must divide 2 · hidden_size = {inner}, or mamba_num_heads be given");
        let near = near_divisors(inner, width, 3);
        let fields = [F::mamba_head_dim, F::mamba_num_heads, F::hidden_size];
        Violation::error(&fields, message).fix_each(F::mamba_head_dim, &near)
    })
}

fn mamba_heads_by_tp(d: &Draft<'_>) -> Option<Violation> {
    let heads = heads(d).filter(|heads| !heads.is_multiple_of(d.tp))?;
    let near = near_divisors(heads, d.tp, 3);
    let message = format!(
        "{heads} Mamba heads must be a multiple of tensor_model_parallel_size {}",
        d.tp
    );
    let fields = [F::tensor_model_parallel_size, F::mamba_num_heads];
    Some(
        Alternatives::sizes(F::tensor_model_parallel_size, &near, F::mamba_num_heads, heads, d.tp)
            .offer(&fields, &message),
    )
}

fn mamba_groups_by_tp(d: &Draft<'_>) -> Option<Violation> {
    heads(d)?;
    let groups = d.args.mamba_num_groups;
    if groups.is_multiple_of(d.tp) {
        return None;
    }
    let near = near_divisors(groups, d.tp, 3);
    let message = format!(
        "mamba_num_groups {groups} must be a multiple of tensor_model_parallel_size {}",
        d.tp
    );
    let fields = [F::tensor_model_parallel_size, F::mamba_num_groups];
    Some(
        Alternatives::sizes(F::tensor_model_parallel_size, &near, F::mamba_num_groups, groups, d.tp)
            .offer(&fields, &message),
    )
}

fn mamba_heads_by_groups(d: &Draft<'_>) -> Option<Violation> {
    let heads = heads(d)?;
    let groups = d.args.mamba_num_groups;
    if heads.is_multiple_of(groups) {
        return None;
    }
    let near = near_divisors(heads, groups, 3);
    let message = format!(
        "{heads} Mamba heads must be a multiple of mamba_num_groups {groups}; {} would work",
        or_list(&near)
    );
    let fields = [F::mamba_num_groups, F::mamba_num_heads];
    Some(Violation::error(&fields, message).fix_each(F::mamba_num_groups, &near))
}

fn mamba_heads_by_cp(d: &Draft<'_>) -> Option<Violation> {
    let heads = heads(d)? / d.tp.max(1);
    if !d.splits_sequences() || heads.is_multiple_of(d.cp) {
        return None;
    }
    let near = near_divisors(heads, d.cp, 3);
    let message = format!(
        "the {heads} Mamba heads of a tensor-parallel rank must be a multiple of context_parallel_size {}; CP {} would work",
        d.cp,
        or_list(&near)
    );
    let fields = [F::context_parallel_size, F::mamba_num_heads];
    Some(Violation::error(&fields, message).fix_each(F::context_parallel_size, &near))
}

/// Context-parallel ranks split the groups, or each group is on several of them.
fn mamba_groups_by_cp(d: &Draft<'_>) -> Option<Violation> {
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
    Some(Violation::error(&fields, message).fix_each(F::context_parallel_size, &near))
}

fn mamba_fp8_width(d: &Draft<'_>) -> Option<Violation> {
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
        Violation::error(&fields, message)
            .fix(F::mamba_num_heads, Number(heads.next_multiple_of(16)))
            .fix(F::fp8_format, Default)
    })
}
