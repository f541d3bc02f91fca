//! Sparse attention (`TransformerConfig.__post_init__`, `AbsorbedMLASelfAttention.__init__`, `DSAttention`).

use super::rule::FixValue::{Default, Name, Number, Off, On};
use super::rule::{Rule, Violation, rule, warning};
use crate::config::choices::{AttentionVariant, CpCommType, PositionEmbedding, RecomputeModule};
use crate::config::draft::{Draft, mtp_without_decoder};
use crate::config::fields::FieldId as F;
use crate::config::layers::{Mixer, indexer_layer};
use crate::parallel::stages::StageLayout;

pub(super) const RULES: &[Rule] = &[
    rule("sparse_attention_mla", mla),
    rule("sparse_attention_sizes", |d| {
        size(d, F::dsa_indexer_n_heads, d.args.dsa_indexer_n_heads, 64)
    }),
    rule("sparse_attention_sizes", |d| {
        size(d, F::dsa_indexer_head_dim, d.args.dsa_indexer_head_dim, 128)
    }),
    rule("sparse_attention_sizes", |d| {
        size(d, F::dsa_indexer_topk, d.args.dsa_indexer_topk, 2048)
    }),
    rule("indexer_rotary_width", rotary_width),
    rule("sparse_attention_norms", norms),
    rule("sparse_attention_biases", biases),
    warning("sparse_attention_bf16", bf16),
    rule("sparse_attention_sequence_parallel", sequence_parallel),
    rule("sparse_attention_rope_fusion", rope_fusion),
    rule("sparse_attention_cp", context_parallel),
    rule("sparse_attention_fp8_recompute", fp8_recompute),
    rule("sparse_attention_mtp", mtp),
];

/// Whether some layer has sparse attention.
fn sparse(d: &Draft<'_>) -> bool {
    d.layers.has_sparse_attention()
}

/// `get_dsa_module_spec_for_backend`.
fn mla(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let field = F::experimental_attention_variant;
    (sparse(d) && !a.multi_latent_attention).then(|| {
        let fields = [field, F::multi_latent_attention];
        let message = "experimental_attention_variant dsa needs multi_latent_attention";
        Violation::error(&fields, message)
            .fix(field, Default)
            .fix(F::multi_latent_attention, On)
    })
}

fn size(d: &Draft<'_>, field: F, given: Option<u64>, usual: u64) -> Option<Violation> {
    (sparse(d) && given.is_none()).then(|| {
        let message = format!(
            "sparse attention needs {}; DeepSeek-V3.2 has {usual}",
            field.field().name
        );
        Violation::error(&[field], message).fix(field, Number(usual))
    })
}

/// The indexer rotates the first part of each of its heads (`DSAIndexer._apply_rope`).
fn rotary_width(d: &Draft<'_>) -> Option<Violation> {
    let (width, rotary) = (d.args.dsa_indexer_head_dim?, d.args.qk_pos_emb_head_dim);
    (sparse(d) && width < rotary).then(|| {
        let message = format!(
            "dsa_indexer_head_dim {width} must be at least qk_pos_emb_head_dim {rotary}: that part of it is rotated"
        );
        let fields = [F::dsa_indexer_head_dim, F::qk_pos_emb_head_dim];
        Violation::error(&fields, message).fix(F::dsa_indexer_head_dim, Number(rotary))
    })
}

/// `QKNormConfigResolver._resolve_dsa_qk_layernorm`.
fn norms(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let variant = a.experimental_attention_variant == Some(AttentionVariant::Dsa);
    (variant && a.qk_layernorm && a.q_lora_rank.is_none()).then(|| {
        Violation::error(
            &[F::q_lora_rank, F::qk_layernorm],
            "sparse attention with qk_layernorm needs q_lora_rank: there is no compressed query for the norm otherwise",
        )
        .fix(F::q_lora_rank, Number(1536))
        .fix(F::qk_layernorm, Off)
    })
}

fn biases(d: &Draft<'_>) -> Option<Violation> {
    (sparse(d) && d.args.add_bias_linear).then(|| {
        Violation::error(
            &[F::add_bias_linear],
            "sparse attention does not support add_bias_linear",
        )
        .fix(F::add_bias_linear, Off)
    })
}

/// `rotate_activation` takes nothing else.
fn bf16(d: &Draft<'_>) -> Option<Violation> {
    (sparse(d) && !d.args.bf16).then(|| {
        Violation::warning(
            &[F::bf16],
            "Megatron stops in the first forward pass: the indexer of sparse attention works only in bf16",
        )
        .fix(F::bf16, On)
    })
}

fn sequence_parallel(d: &Draft<'_>) -> Option<Violation> {
    (sparse(d) && d.tp > 1 && !d.args.sequence_parallel).then(|| {
        Violation::error(
            &[F::sequence_parallel, F::tensor_model_parallel_size],
            "sparse attention with tensor parallelism needs sequence_parallel",
        )
        .fix(F::sequence_parallel, On)
    })
}

/// Megatron refuses fused rotary embedding, which is the default of Megatron-LM's launcher and off in Megatron-Bridge.
/// Where the job does not ask for it, it has none.
fn rope_fusion(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let fused = a.apply_rope_fusion && a.position_embedding_type == PositionEmbedding::Rope;
    if !sparse(d) || !fused {
        return None;
    }
    let fields = [F::apply_rope_fusion];
    let violation = if d.context.states_rope_fusion {
        Violation::error(&fields, "sparse attention does not support apply_rope_fusion")
    } else {
        Violation::warning(
            &fields,
            "sparse attention does not support apply_rope_fusion, the default of Megatron-LM's launcher: turn it off",
        )
    };
    Some(violation.fix(F::apply_rope_fusion, Off))
}

fn context_parallel(d: &Draft<'_>) -> Option<Violation> {
    let gathers = d.args.cp_comm_type == CpCommType::AllGather;
    (sparse(d) && d.splits_sequences() && !gathers).then(|| {
        Violation::error(
            &[F::cp_comm_type, F::context_parallel_size],
            "sparse attention with context parallelism needs cp_comm_type all_gather",
        )
        .fix(F::cp_comm_type, Name("all_gather"))
    })
}

/// `AbsorbedMLASelfAttention.get_query_key_value_tensors`.
fn fp8_recompute(d: &Draft<'_>) -> Option<Violation> {
    let recomputed = d.recomputes(RecomputeModule::MlaUpProj);
    (sparse(d) && recomputed && d.args.fp8_format.is_some()).then(|| {
        Violation::error(
            &[F::recompute_modules, F::fp8_format],
            "recompute module mla_up_proj does not work with sparse attention in fp8",
        )
        .fix(F::fp8_format, Default)
    })
}

/// MTP depths of a `GPTModel` are numbered from 1 like layers, so that a later depth may have no indexer although the
/// first has one.
fn mtp(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let shared = d.pattern().is_some() || a.mtp_use_repeated_layer;
    let differs = (2..=d.mtp_num_layers).any(|depth| indexer_layer(a, depth) != depth);
    (sparse(d) && !shared && differs).then(|| {
        Violation::error(
            &[F::mtp_num_layers, F::dsa_indexer_topk_freq],
            "MTP depths of which some have an indexer and others have none are not modelled",
        )
        .fix(F::mtp_num_layers, Number(1))
        .fix(F::mtp_use_repeated_layer, On)
    })
}

/// A layer without an indexer uses what a layer before it in the same chunk has picked
/// (`_validate_dsa_index_share_pipeline_split`).
pub(super) fn stages(d: &Draft<'_>, layout: &StageLayout) -> Option<Violation> {
    let without_indexer = Mixer::SparseAttention { indexer: false };
    if !d.layers.has_mixer(without_indexer) {
        return None;
    }
    let layers = d.layers.decoder();
    let has = |number: u64, indexer: bool| {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let mixer = layers.get(index)?.mixer?;
        Some(mixer == Mixer::SparseAttention { indexer })
    };
    let wrong = layout.chunks().iter().find_map(|chunk| {
        let first = u64::from(chunk.layers.start) + 1;
        let mut numbers = first..=u64::from(chunk.layers.end);
        numbers.find_map(|number| {
            let source = indexer_layer(&d.args, number);
            let reached = source >= first && has(source, true) == Some(true);
            (has(number, false) == Some(true) && !reached).then_some((number, source))
        })
    });
    let (number, source) = wrong?;
    let message = format!(
        "layer {number} uses the tokens that the indexer of layer {source} picks, and that is no layer of sparse attention before it on the same pipeline stage: let every stage start with a layer that has an indexer"
    );
    let fields = [
        F::dsa_indexer_topk_freq,
        F::dsa_indexer_skip_topk_offset,
        F::pipeline_model_parallel_size,
    ];
    Some(Violation::error(&fields, message).fix(F::dsa_indexer_topk_freq, Number(1)))
}

/// The plain layer that an MTP depth is in a chunk without decoder layers has its norms in the up projections, which
/// sparse attention refuses (`QKNormConfigResolver._dsa_linear_or_default`).
pub(super) fn mtp_stage(d: &Draft<'_>, layout: &StageLayout) -> Option<Violation> {
    let refused = sparse(d) && d.args.qk_layernorm && d.pattern().is_none();
    (refused && mtp_without_decoder(layout)).then(|| {
        let fields = [F::mtp_num_layers, F::pipeline_model_parallel_layout, F::qk_layernorm];
        let message = "with sparse attention and qk_layernorm the stage with the MTP layers must have a decoder layer";
        Violation::error(&fields, message)
            .fix(F::pipeline_model_parallel_layout, Default)
            .fix(F::mtp_num_layers, Default)
    })
}
