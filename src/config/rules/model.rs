//! Heads, widths, vocabulary and positions.

use super::rule::FixValue::{Default, Name, Number, Off};
use super::rule::{Alternatives, rules};
use crate::config::choices::{PositionEmbedding, RopeType, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::layers::{Mixer, MlpKind};
use crate::config::nearby::{near_divisors, near_multiples, or_list};
use crate::config::problem::Problem;

rules! { |d, a|
    error "heads_by_tp" : Some(a.num_attention_heads) => "num_attention_heads {}",
        d.tensor_parts() => "tensor_model_parallel_size {}", [tensor_model_parallel_size, num_attention_heads],
        or(|d, _, _| Alternatives::of_tp(d.near_tp(&|_| true)));
    error "head_width"
        let hidden = a.hidden_size, let heads = a.num_attention_heads,
        if a.kv_channels.is_none() && !a.multi_latent_attention && !hidden.is_multiple_of(heads)
        => [kv_channels, hidden_size, num_attention_heads],
        format!("hidden_size {hidden} is not a multiple of num_attention_heads {heads}: give kv_channels"),
        [kv_channels = Number(128)];
    error "heads_by_groups" by(heads_by_groups);
    error "groups_by_tp" by(groups_by_tp);
    // Ranks split `linear_qkv` evenly, also where there are fewer query groups than ranks.
    error "qkv_width_by_tp" : d.layers.has_mixer(Mixer::Attention).then(|| qkv_width(d))
            => "the width of linear_qkv, {},",
        d.tensor_parts() => "tensor_model_parallel_size {}",
        [tensor_model_parallel_size, num_query_groups, kv_channels],
        or(|d, width, _| Alternatives::of_tp(d.near_tp(&|tp| width.is_multiple_of(tp))));
    // `MiMoV2FlashModelProvider.provide`.
    error "value_width" if a.v_channels.is_some() && a.multi_latent_attention => [v_channels, multi_latent_attention],
        "v_channels is for heads with keys and values of their own: multi_latent_attention has v_head_dim",
        [v_channels = Default];
    error "value_width"
        let least = d.least_query_groups(),
        if a.v_channels.is_some() && d.tensor_parts() > least
        => [v_channels, tensor_model_parallel_size, num_query_groups],
        format!("v_channels needs tensor_model_parallel_size of at most the query groups of every layer, {least}"),
        [tensor_model_parallel_size = Number(least)];
    error "mla_excludes_gqa" if a.multi_latent_attention && a.group_query_attention
        => [multi_latent_attention, group_query_attention],
        "group_query_attention and multi_latent_attention exclude each other", [group_query_attention = Off];
    // `MLATransformerConfig.__post_init__`.
    error "mla_excludes_gate" if a.multi_latent_attention && a.attention_output_gate
        => [multi_latent_attention, attention_output_gate],
        "attention_output_gate and multi_latent_attention exclude each other", [attention_output_gate = Off];
    // `QKNormConfigResolver.resolve`.
    error "mla_excludes_l2_norm" if a.multi_latent_attention && a.qk_l2_norm => [multi_latent_attention, qk_l2_norm],
        "qk_l2_norm and multi_latent_attention exclude each other", [qk_l2_norm = Off];
    // `validate_args`.
    error "fused_down_projection" if a.mla_down_proj_fusion && !a.multi_latent_attention
        => [mla_down_proj_fusion, multi_latent_attention],
        "mla_down_proj_fusion needs multi_latent_attention", [mla_down_proj_fusion = Off];
    // `FusedMLASelfAttention.__init__`.
    error "fused_down_projection" if fuses_down_projection(d) && a.multi_latent_attention && a.q_lora_rank.is_none()
        => [mla_down_proj_fusion, q_lora_rank],
        "mla_down_proj_fusion needs q_lora_rank: it fuses the projection of queries with that of keys and values",
        [mla_down_proj_fusion = Off];
    // Ranks split both parts of the fused projection (`FusedMLASelfAttention._qkv_down_projection`).
    error "fused_down_projection_by_tp"
        let width = a.q_lora_rank?,
        if fuses_down_projection(d) && !width.is_multiple_of(d.tp)
        => [mla_down_proj_fusion, tensor_model_parallel_size, q_lora_rank, kv_lora_rank],
        format!(
            "mla_down_proj_fusion needs q_lora_rank {width} to be a multiple of tensor_model_parallel_size {}", d.tp
        ),
        [mla_down_proj_fusion = Off];
    error "fused_down_projection_by_tp"
        let width = a.kv_lora_rank.saturating_add(a.qk_pos_emb_head_dim),
        if fuses_down_projection(d) && !width.is_multiple_of(d.tp)
        => [mla_down_proj_fusion, tensor_model_parallel_size, q_lora_rank, kv_lora_rank],
        format!(
            "mla_down_proj_fusion needs kv_lora_rank + qk_pos_emb_head_dim {width} to be a multiple of tensor_model_parallel_size {}",
            d.tp
        ),
        [mla_down_proj_fusion = Off];
    // `RotaryEmbedding` makes an even number of angles, one more than an odd width has room for
    // (`_apply_rotary_pos_emb_bshd`).
    error "rotary_width" : a.multi_latent_attention.then_some(a.qk_pos_emb_head_dim) => "qk_pos_emb_head_dim {}",
        2 => "{}", [qk_pos_emb_head_dim],
        or(|_, width, _| Alternatives::of("", F::qk_pos_emb_head_dim, near_multiples(width, 2)));
    // `core_transformer_config_from_args`; Megatron-Bridge has a class of its own for it.
    warning "rope_type" if a.rope_type == Some(RopeType::Yarn) && !a.multi_latent_attention
        => [rope_type, multi_latent_attention],
        "Megatron-LM refuses rope_type yarn without multi_latent_attention: position_embedding_type yarn asks for it there",
        [rope_type = Default];
    error "ffn_by_tp" by(ffn_by_tp);
    error "one_activation" by(one_activation);
    error "vocabulary" if d.io.is_language() && a.vocab_size.is_none() && a.padded_vocab_size.is_none()
        => [vocab_size],
        "vocab_size must be given (Megatron-LM takes it from the tokenizer), or padded_vocab_size", [];
    error "padded_vocabulary"
        let padded = a.padded_vocab_size?, let vocab = a.vocab_size?,
        if d.io.is_language() && padded < vocab => [padded_vocab_size, vocab_size],
        format!("padded_vocab_size {padded} is smaller than vocab_size {vocab}"), [padded_vocab_size = Default];
    error "padded_vocabulary_by_tp"
        let padded = a.padded_vocab_size?,
        if d.io.is_language() && !padded.is_multiple_of(d.tp) => [padded_vocab_size, tensor_model_parallel_size],
        format!("padded_vocab_size {padded} must be a multiple of tensor_model_parallel_size {}", d.tp),
        [padded_vocab_size = Default];
    error "positions" by(positions);
    // An MTP block embeds the tokens that it predicts from, and has no table of positions for them.
    error "mtp_positions"
        let kind = a.position_embedding_type,
        if d.mtp_num_layers > 0 && matches!(kind, PositionEmbedding::LearnedAbsolute | PositionEmbedding::Relative)
        => [mtp_num_layers, position_embedding_type],
        format!("mtp_num_layers is not supported with position_embedding_type {}", kind.name()),
        [position_embedding_type = Name("rope"), mtp_num_layers = Default];
    error "fused_activation" if a.squared_relu && a.add_bias_linear && a.bias_gelu_fusion
        => [squared_relu, bias_gelu_fusion],
        "squared_relu has no kernel that adds the bias as well: turn bias_gelu_fusion off, or the biases",
        [bias_gelu_fusion = Off, add_bias_linear = Off];
}

/// The rows of `linear_qkv`: queries, keys, values, and gates where there are any.
fn qkv_width(d: &Draft<'_>) -> u64 {
    let queries = d.args.num_attention_heads;
    let gates = if d.args.attention_output_gate { queries } else { 0 };
    let heads = queries
        .saturating_add(gates)
        .saturating_add(d.num_query_groups.saturating_mul(2));
    let values = d.args.v_channels.unwrap_or(d.kv_channels);
    let narrower = d.num_query_groups.saturating_mul(d.kv_channels.saturating_sub(values));
    heads.saturating_mul(d.kv_channels).saturating_sub(narrower)
}

fn heads_by_groups(d: &Draft<'_>) -> Option<Problem> {
    let (groups, heads) = (d.num_query_groups, d.args.num_attention_heads);
    if !d.args.group_query_attention || heads.is_multiple_of(groups) {
        return None;
    }
    let near = near_divisors(heads, groups, 3);
    let message = format!(
        "num_query_groups {groups} must divide num_attention_heads {heads}; {} would work",
        or_list(&near)
    );
    let fields = [F::num_query_groups, F::num_attention_heads];
    Some(Problem::error(&fields, message).fix_each(F::num_query_groups, &near))
}

fn groups_by_tp(d: &Draft<'_>) -> Option<Problem> {
    let groups = d.num_query_groups;
    let fits = |tp: u64| groups.is_multiple_of(tp) || tp.is_multiple_of(groups);
    if !d.args.group_query_attention || fits(d.tensor_parts()) {
        return None;
    }
    let near = d.near_tp(&fits);
    let message = format!(
        "num_query_groups {groups} must be a multiple or a divisor of tensor_model_parallel_size {}; TP {} would work",
        d.tp,
        or_list(&near)
    );
    let fields = [F::tensor_model_parallel_size, F::num_query_groups];
    Some(Problem::error(&fields, message).fix_each(F::tensor_model_parallel_size, &near))
}

/// Whether some layer is built as a `FusedMLASelfAttention`.
fn fuses_down_projection(d: &Draft<'_>) -> bool {
    let a = &d.args;
    let latent = d.layers.has_latent_attention();
    a.mla_down_proj_fusion && latent && a.transformer_impl != TransformerImpl::Local
}

/// Column- and row-parallel layers split their widths evenly (`divide` in megatron/core/utils.py).
fn ffn_by_tp(d: &Draft<'_>) -> Option<Problem> {
    let dense = d.layers.has_mlp(MlpKind::Dense);
    let width = d.ffn_hidden_size;
    if !dense || width.is_multiple_of(d.tensor_parts()) {
        return None;
    }
    let message = format!(
        "ffn_hidden_size {width} must be a multiple of tensor_model_parallel_size {}",
        d.tp
    );
    let mut fields = vec![F::ffn_hidden_size, F::tensor_model_parallel_size];
    if d.args.ffn_hidden_size.is_none() {
        fields.push(F::hidden_size);
    }
    Some(Alternatives::tp(d, F::ffn_hidden_size, width, d.tp).offer(&fields, &message))
}

fn one_activation(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let flags = [
        (a.swiglu, F::swiglu),
        (a.quick_geglu, F::quick_geglu),
        (a.geglu, F::geglu),
        (a.squared_relu, F::squared_relu),
    ];
    let on: Vec<F> = flags
        .into_iter()
        .filter_map(|(on, field)| on.then_some(field))
        .collect();
    let [first, .., last] = *on.as_slice() else {
        return None;
    };
    // `core_transformer_config_from_args` asks for the square first, and then for nothing else.
    if on == [F::quick_geglu, F::squared_relu] {
        let message = "quick_geglu has no effect beside squared_relu";
        return Some(Problem::warning(&on, message).fix(F::quick_geglu, Off));
    }
    let message = format!(
        "{} and {} exclude each other: an MLP has one activation",
        first.field().name,
        last.field().name
    );
    Some(Problem::error(&on, message).fix(last, Off))
}

/// A table of learned positions would be read past its end. Otherwise Megatron-LM's launcher refuses the
/// arguments, but the model itself has no limit, and nothing in memory depends on it.
fn positions(d: &Draft<'_>) -> Option<Problem> {
    let (longest, length) = (d.args.max_position_embeddings?, d.args.seq_length);
    if !d.io.is_language() || longest >= length {
        return None;
    }
    let fields = [F::seq_length, F::max_position_embeddings];
    let message = format!("max_position_embeddings {longest} is less than seq_length {length}");
    let violation = if d.args.position_embedding_type == PositionEmbedding::LearnedAbsolute {
        let message = format!("{message}: the table of learned positions is too short");
        Problem::error(&fields, message)
    } else {
        let message = format!("{message}, which Megatron-LM refuses");
        Problem::warning(&fields, message)
    };
    Some(violation.fix(F::max_position_embeddings, Number(length)))
}
