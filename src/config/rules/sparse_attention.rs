//! Sparse attention (`TransformerConfig.__post_init__`, `AbsorbedMLASelfAttention.__init__`, `DSAttention`).

use super::rule::FixValue::{Default, Name, Number, Off, On};
use super::rule::rules;
use crate::config::choices::{AttentionVariant, CpCommType, PositionEmbedding, RecomputeModule};
use crate::config::draft::{Draft, mtp_without_decoder};
use crate::config::fields::{Args, FieldId as F};
use crate::config::layers::{Mixer, indexer_layer};
use crate::config::problem::Problem;
use crate::parallel::stages::StageLayout;

rules! { |d, a|
    // `get_dsa_module_spec_for_backend`.
    error "sparse_attention_mla" if sparse(d) && !a.multi_latent_attention
        => [experimental_attention_variant, multi_latent_attention],
        "experimental_attention_variant dsa needs multi_latent_attention",
        [experimental_attention_variant = Default, multi_latent_attention = On];
    error "sparse_attention_sizes" if sparse(d) && a.dsa_indexer_n_heads.is_none() => [dsa_indexer_n_heads],
        "sparse attention needs dsa_indexer_n_heads; DeepSeek-V3.2 has 64", [dsa_indexer_n_heads = Number(64)];
    error "sparse_attention_sizes" if sparse(d) && a.dsa_indexer_head_dim.is_none() => [dsa_indexer_head_dim],
        "sparse attention needs dsa_indexer_head_dim; DeepSeek-V3.2 has 128", [dsa_indexer_head_dim = Number(128)];
    error "sparse_attention_sizes" if sparse(d) && a.dsa_indexer_topk.is_none() => [dsa_indexer_topk],
        "sparse attention needs dsa_indexer_topk; DeepSeek-V3.2 has 2048", [dsa_indexer_topk = Number(2048)];
    // The indexer rotates the first part of each of its heads (`DSAIndexer._apply_rope`).
    error "indexer_rotary_width"
        let width = a.dsa_indexer_head_dim?, let rotary = a.qk_pos_emb_head_dim,
        if sparse(d) && width < rotary => [dsa_indexer_head_dim, qk_pos_emb_head_dim],
        format!("dsa_indexer_head_dim {width} must be at least qk_pos_emb_head_dim {rotary}: that part of it is rotated"),
        [dsa_indexer_head_dim = Number(rotary)];
    // `QKNormConfigResolver._resolve_dsa_qk_layernorm`.
    error "sparse_attention_norms"
        if a.experimental_attention_variant == Some(AttentionVariant::Dsa) && a.qk_layernorm && a.q_lora_rank.is_none()
        => [q_lora_rank, qk_layernorm],
        "sparse attention with qk_layernorm needs q_lora_rank: there is no compressed query for the norm otherwise",
        [q_lora_rank = Number(1536), qk_layernorm = Off];
    error "sparse_attention_biases" if sparse(d) && a.add_bias_linear => [add_bias_linear],
        "sparse attention does not support add_bias_linear", [add_bias_linear = Off];
    // `rotate_activation` takes nothing else.
    warning "sparse_attention_bf16" if sparse(d) && !a.bf16 => [bf16],
        "Megatron stops in the first forward pass: the indexer of sparse attention works only in bf16", [bf16 = On];
    error "sparse_attention_sequence_parallel" if sparse(d) && d.tp > 1 && !a.sequence_parallel
        => [sequence_parallel, tensor_model_parallel_size],
        "sparse attention with tensor parallelism needs sequence_parallel", [sequence_parallel = On];
    error "sparse_attention_rope_fusion" by(rope_fusion);
    error "sparse_attention_cp" if sparse(d) && d.splits_sequences() && a.cp_comm_type != CpCommType::AllGather
        => [cp_comm_type, context_parallel_size],
        "sparse attention with context parallelism needs cp_comm_type all_gather", [cp_comm_type = Name("all_gather")];
    // `AbsorbedMLASelfAttention.get_query_key_value_tensors`.
    error "sparse_attention_fp8_recompute"
        if sparse(d) && d.recomputes(RecomputeModule::MlaUpProj) && a.fp8_format.is_some()
        => [recompute_modules, fp8_format],
        "recompute module mla_up_proj does not work with sparse attention in fp8", [fp8_format = Default];
    // MTP depths of a `GPTModel` are numbered from 1 like layers, so that a later depth may have no indexer although
    // the first has one.
    error "sparse_attention_mtp"
        let shared = d.pattern().is_some() || a.mtp_use_repeated_layer,
        if sparse(d) && !shared && (2..=d.mtp_num_layers).any(|depth| source_layer(a, depth) != depth)
        => [mtp_num_layers, dsa_indexer_topk_freq],
        "MTP depths of which some have an indexer and others have none are not modelled",
        [mtp_num_layers = Number(1), mtp_use_repeated_layer = On];
}

/// The layer or MTP depth whose indexer picks the tokens for this one, both counted from 1.
fn source_layer(a: &Args, number: u64) -> u64 {
    indexer_layer([a.dsa_indexer_skip_topk_offset, a.dsa_indexer_topk_freq], number)
}

/// Whether some layer has sparse attention.
fn sparse(d: &Draft<'_>) -> bool {
    d.layers.has_sparse_attention()
}

/// Megatron refuses fused rotary embedding, which is the default of Megatron-LM's launcher and off in Megatron-Bridge.
/// Where the job does not ask for it, it has none.
fn rope_fusion(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let fused = a.apply_rope_fusion && a.position_embedding_type == PositionEmbedding::Rope;
    if !sparse(d) || !fused {
        return None;
    }
    let fields = [F::apply_rope_fusion];
    let violation = if d.context.states_rope_fusion {
        Problem::error(&fields, "sparse attention does not support apply_rope_fusion")
    } else {
        Problem::warning(
            &fields,
            "sparse attention does not support apply_rope_fusion, the default of Megatron-LM's launcher: turn it off",
        )
    };
    Some(violation.fix(F::apply_rope_fusion, Off))
}

/// A layer without an indexer uses what a layer before it in the same chunk has picked
/// (`_validate_dsa_index_share_pipeline_split`).
pub(super) fn stages(d: &Draft<'_>, layout: &StageLayout) -> Option<Problem> {
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
            let source = source_layer(&d.args, number);
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
    Some(Problem::error(&fields, message).fix(F::dsa_indexer_topk_freq, Number(1)))
}

/// The plain layer that an MTP depth is in a chunk without decoder layers has its norms in the up projections, which
/// sparse attention refuses (`QKNormConfigResolver._dsa_linear_or_default`).
pub(super) fn mtp_stage(d: &Draft<'_>, layout: &StageLayout) -> Option<Problem> {
    let refused = sparse(d) && d.args.qk_layernorm && d.pattern().is_none();
    (refused && mtp_without_decoder(layout)).then(|| {
        let fields = [F::mtp_num_layers, F::pipeline_model_parallel_layout, F::qk_layernorm];
        let message = "with sparse attention and qk_layernorm the stage with the MTP layers must have a decoder layer";
        Problem::error(&fields, message)
            .fix(F::pipeline_model_parallel_layout, Default)
            .fix(F::mtp_num_layers, Default)
    })
}
