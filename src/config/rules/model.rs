//! Heads, widths, vocabulary and positions.

use super::rule::FixValue::{Default, Name, Number, Off};
use super::rule::{Alternatives, Rule, Violation, rule};
use crate::config::choices::{PositionEmbedding, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::layers::{Mixer, MlpKind};
use crate::config::nearby::{near_divisors, near_multiples, or_list};

pub(super) const RULES: &[Rule] = &[
    rule("heads_by_tp", heads_by_tp),
    rule("head_width", head_width),
    rule("heads_by_groups", heads_by_groups),
    rule("groups_by_tp", groups_by_tp),
    rule("qkv_width_by_tp", qkv_width_by_tp),
    rule("mla_excludes_gqa", mla_excludes_gqa),
    rule("mla_excludes_gate", mla_excludes_gate),
    rule("mla_excludes_l2_norm", mla_excludes_l2_norm),
    rule("fused_down_projection", fused_down_projection),
    rule("fused_down_projection_by_tp", |d| {
        fused_width_by_tp(d, "q_lora_rank", d.args.q_lora_rank?)
    }),
    rule("fused_down_projection_by_tp", |d| {
        let a = &d.args;
        let width = a.kv_lora_rank.saturating_add(a.qk_pos_emb_head_dim);
        fused_width_by_tp(d, "kv_lora_rank + qk_pos_emb_head_dim", width)
    }),
    rule("hyper_connections", hyper_connections),
    rule("rotary_width", rotary_width),
    rule("ffn_by_tp", ffn_by_tp),
    rule("one_activation", one_activation),
    rule("vocabulary", vocabulary),
    rule("padded_vocabulary", padded_vocabulary),
    rule("padded_vocabulary_by_tp", padded_vocabulary_by_tp),
    rule("positions", positions),
    rule("mtp_positions", mtp_positions),
    rule("fused_activation", fused_activation),
];

fn heads_by_tp(d: &Draft<'_>) -> Option<Violation> {
    let heads = d.args.num_attention_heads;
    if heads.is_multiple_of(d.tensor_parts()) {
        return None;
    }
    let near = d.near_tp(&|_| true);
    let message = format!(
        "num_attention_heads {heads} must be a multiple of tensor_model_parallel_size {}; TP {} would work",
        d.tp,
        or_list(&near)
    );
    let fields = [F::tensor_model_parallel_size, F::num_attention_heads];
    Some(Violation::error(&fields, message).fix_each(F::tensor_model_parallel_size, &near))
}

fn head_width(d: &Draft<'_>) -> Option<Violation> {
    let (hidden, heads) = (d.args.hidden_size, d.args.num_attention_heads);
    let derived = d.args.kv_channels.is_none() && !d.args.multi_latent_attention;
    (derived && !hidden.is_multiple_of(heads)).then(|| {
        let message =
            format!("hidden_size {hidden} is not a multiple of num_attention_heads {heads}: give kv_channels");
        let fields = [F::kv_channels, F::hidden_size, F::num_attention_heads];
        Violation::error(&fields, message).fix(F::kv_channels, Number(128))
    })
}

fn heads_by_groups(d: &Draft<'_>) -> Option<Violation> {
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
    Some(Violation::error(&fields, message).fix_each(F::num_query_groups, &near))
}

fn groups_by_tp(d: &Draft<'_>) -> Option<Violation> {
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
    Some(Violation::error(&fields, message).fix_each(F::tensor_model_parallel_size, &near))
}

/// Ranks split `linear_qkv` evenly, also where there are fewer query groups than ranks.
fn qkv_width_by_tp(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let queries = a.num_attention_heads;
    let gates = if a.attention_output_gate { queries } else { 0 };
    let heads = queries
        .saturating_add(gates)
        .saturating_add(d.num_query_groups.saturating_mul(2));
    let width = heads.saturating_mul(d.kv_channels);
    if !d.layers.has_mixer(Mixer::Attention) || width.is_multiple_of(d.tensor_parts()) {
        return None;
    }
    let near = d.near_tp(&|tp| width.is_multiple_of(tp));
    let message = format!(
        "the width of linear_qkv, {width}, must be a multiple of tensor_model_parallel_size {}; TP {} would work",
        d.tp,
        or_list(&near)
    );
    let fields = [F::tensor_model_parallel_size, F::num_query_groups, F::kv_channels];
    Some(Violation::error(&fields, message).fix_each(F::tensor_model_parallel_size, &near))
}

fn mla_excludes_gqa(d: &Draft<'_>) -> Option<Violation> {
    (d.args.multi_latent_attention && d.args.group_query_attention).then(|| {
        Violation::error(
            &[F::multi_latent_attention, F::group_query_attention],
            "group_query_attention and multi_latent_attention exclude each other",
        )
        .fix(F::group_query_attention, Off)
    })
}

/// `MLATransformerConfig.__post_init__`.
fn mla_excludes_gate(d: &Draft<'_>) -> Option<Violation> {
    (d.args.multi_latent_attention && d.args.attention_output_gate).then(|| {
        Violation::error(
            &[F::multi_latent_attention, F::attention_output_gate],
            "attention_output_gate and multi_latent_attention exclude each other",
        )
        .fix(F::attention_output_gate, Off)
    })
}

/// `QKNormConfigResolver.resolve`.
fn mla_excludes_l2_norm(d: &Draft<'_>) -> Option<Violation> {
    (d.args.multi_latent_attention && d.args.qk_l2_norm).then(|| {
        Violation::error(
            &[F::multi_latent_attention, F::qk_l2_norm],
            "qk_l2_norm and multi_latent_attention exclude each other",
        )
        .fix(F::qk_l2_norm, Off)
    })
}

/// Whether some layer is built as a `FusedMLASelfAttention`.
fn fuses_down_projection(d: &Draft<'_>) -> bool {
    let a = &d.args;
    let latent = d.layers.has_mixer(Mixer::MultiLatentAttention);
    a.mla_down_proj_fusion && latent && a.transformer_impl != TransformerImpl::Local
}

/// `validate_args` and `FusedMLASelfAttention.__init__`.
fn fused_down_projection(d: &Draft<'_>) -> Option<Violation> {
    let field = F::mla_down_proj_fusion;
    if d.args.mla_down_proj_fusion && !d.args.multi_latent_attention {
        let fields = [field, F::multi_latent_attention];
        let message = "mla_down_proj_fusion needs multi_latent_attention";
        return Some(Violation::error(&fields, message).fix(field, Off));
    }
    (fuses_down_projection(d) && d.args.q_lora_rank.is_none()).then(|| {
        let fields = [field, F::q_lora_rank];
        let message =
            "mla_down_proj_fusion needs q_lora_rank: it fuses the projection of queries with that of keys and values";
        Violation::error(&fields, message).fix(field, Off)
    })
}

/// Ranks split both parts of the fused projection (`FusedMLASelfAttention._qkv_down_projection`).
fn fused_width_by_tp(d: &Draft<'_>, name: &str, width: u64) -> Option<Violation> {
    (fuses_down_projection(d) && !width.is_multiple_of(d.tp)).then(|| {
        let message = format!(
            "mla_down_proj_fusion needs {name} {width} to be a multiple of tensor_model_parallel_size {}",
            d.tp
        );
        let fields = [
            F::mla_down_proj_fusion,
            F::tensor_model_parallel_size,
            F::q_lora_rank,
            F::kv_lora_rank,
        ];
        Violation::error(&fields, message).fix(F::mla_down_proj_fusion, Off)
    })
}

/// `TransformerLayer.__init__` refuses hyper-connections unless its class has them, which no layer spec asks for.
fn hyper_connections(d: &Draft<'_>) -> Option<Violation> {
    d.args.enable_mhc_connections.then(|| {
        Violation::error(
            &[F::enable_mhc_connections],
            "enable_mhc_connections needs layers of the class HyperConnectionTransformerLayer, and no layer spec of Megatron-LM builds them",
        )
        .fix(F::enable_mhc_connections, Off)
    })
}

/// `RotaryEmbedding` makes an even number of angles, one more than an odd width has room for
/// (`_apply_rotary_pos_emb_bshd`).
fn rotary_width(d: &Draft<'_>) -> Option<Violation> {
    let width = d.args.qk_pos_emb_head_dim;
    if !d.args.multi_latent_attention || width.is_multiple_of(2) {
        return None;
    }
    let near = near_multiples(width, 2);
    let message = format!(
        "qk_pos_emb_head_dim {width} must be a multiple of 2; {} would work",
        or_list(&near)
    );
    Some(Violation::error(&[F::qk_pos_emb_head_dim], message).fix_each(F::qk_pos_emb_head_dim, &near))
}

/// Column- and row-parallel layers split their widths evenly (`divide` in megatron/core/utils.py).
fn ffn_by_tp(d: &Draft<'_>) -> Option<Violation> {
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

fn one_activation(d: &Draft<'_>) -> Option<Violation> {
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
    let message = format!(
        "{} and {} exclude each other: an MLP has one activation",
        first.field().name,
        last.field().name
    );
    Some(Violation::error(&on, message).fix(last, Off))
}

fn vocabulary(d: &Draft<'_>) -> Option<Violation> {
    let unknown = d.args.vocab_size.is_none() && d.args.padded_vocab_size.is_none();
    (d.io.is_language() && unknown).then(|| {
        Violation::error(
            &[F::vocab_size],
            "vocab_size must be given (Megatron-LM takes it from the tokenizer), or padded_vocab_size",
        )
    })
}

fn padded_vocabulary(d: &Draft<'_>) -> Option<Violation> {
    let (padded, vocab) = (d.args.padded_vocab_size?, d.args.vocab_size?);
    (d.io.is_language() && padded < vocab).then(|| {
        let message = format!("padded_vocab_size {padded} is smaller than vocab_size {vocab}");
        Violation::error(&[F::padded_vocab_size, F::vocab_size], message).fix(F::padded_vocab_size, Default)
    })
}

fn padded_vocabulary_by_tp(d: &Draft<'_>) -> Option<Violation> {
    let padded = d.args.padded_vocab_size?;
    (d.io.is_language() && !padded.is_multiple_of(d.tp)).then(|| {
        let message = format!(
            "padded_vocab_size {padded} must be a multiple of tensor_model_parallel_size {}",
            d.tp
        );
        let fields = [F::padded_vocab_size, F::tensor_model_parallel_size];
        Violation::error(&fields, message).fix(F::padded_vocab_size, Default)
    })
}

/// A table of learned positions would be read past its end. Otherwise Megatron-LM's launcher refuses the
/// arguments, but the model itself has no limit, and nothing in memory depends on it.
fn positions(d: &Draft<'_>) -> Option<Violation> {
    let (longest, length) = (d.args.max_position_embeddings?, d.args.seq_length);
    if !d.io.is_language() || longest >= length {
        return None;
    }
    let fields = [F::seq_length, F::max_position_embeddings];
    let message = format!("max_position_embeddings {longest} is less than seq_length {length}");
    let violation = if d.args.position_embedding_type == PositionEmbedding::LearnedAbsolute {
        let message = format!("{message}: the table of learned positions is too short");
        Violation::error(&fields, message)
    } else {
        let message = format!("{message}; Megatron-LM asks for at least that many");
        Violation::warning(&fields, message)
    };
    Some(violation.fix(F::max_position_embeddings, Number(length)))
}

/// An MTP block embeds the tokens that it predicts from, and has no table of positions for them.
fn mtp_positions(d: &Draft<'_>) -> Option<Violation> {
    let kind = d.args.position_embedding_type;
    let table = matches!(kind, PositionEmbedding::LearnedAbsolute | PositionEmbedding::Relative);
    (d.mtp_num_layers > 0 && table).then(|| {
        let message = format!(
            "mtp_num_layers is not supported with position_embedding_type {}",
            kind.name()
        );
        Violation::error(&[F::mtp_num_layers, F::position_embedding_type], message)
            .fix(F::position_embedding_type, Name("rope"))
            .fix(F::mtp_num_layers, Default)
    })
}

fn fused_activation(d: &Draft<'_>) -> Option<Violation> {
    let fused = d.args.add_bias_linear && d.args.bias_gelu_fusion;
    (d.args.squared_relu && fused).then(|| {
        Violation::error(
            &[F::squared_relu, F::bias_gelu_fusion],
            "squared_relu has no kernel that adds the bias as well: turn bias_gelu_fusion off, or the biases",
        )
        .fix(F::bias_gelu_fusion, Off)
        .fix(F::add_bias_linear, Off)
    })
}
