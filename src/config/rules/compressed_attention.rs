//! Compressed attention and hash routing (`MLATransformerConfig.__post_init__`, `DSv4HybridSelfAttention.__init__` and
//! `CompressedSparseAttention.__init__` of Megatron-LM's dev branch).

use super::rule::FixValue::{Default, Name, Number, Off, On};
use super::rule::rules;
use crate::config::choices::{
    AdapterType, AttentionVariant, DsaKernelBackend, OffloadModule, RecomputeModule, SoftwareStack, TransformerImpl,
};
use crate::config::compress_ratios::{CompressRatio, CompressRatios};
use crate::config::draft::{Draft, mtp_without_decoder};
use crate::config::fields::FieldId as F;
use crate::config::nearby::{near_divisors, or_list};
use crate::config::packing::is_packed;
use crate::config::problem::Problem;
use crate::parallel::stages::StageLayout;
use crate::value::Value;

rules! { |d, a|
    error "compressed_attention" if is_on(d) && a.software_stack != SoftwareStack::MegatronDev
        => [experimental_attention_variant, software_stack],
        "of Megatron-LM only the dev branch builds layers of experimental_attention_variant dsv4_hybrid",
        [software_stack = Name("megatron_dev"), experimental_attention_variant = Default];
    error "compressed_attention" if is_on(d) && !a.multi_latent_attention
        => [experimental_attention_variant, multi_latent_attention],
        "experimental_attention_variant dsv4_hybrid needs multi_latent_attention",
        [multi_latent_attention = On, experimental_attention_variant = Default];
    error "compressed_attention" if is_on(d) && d.pattern().is_some()
        => [experimental_attention_variant, hybrid_layer_pattern],
        "no letter of hybrid_layer_pattern stands for a layer of dsv4_hybrid: give num_layers",
        [experimental_attention_variant = Default];
    error "compress_ratios" by(ratios);
    error "compressed_attention_sizes" if is_on(d) && a.q_lora_rank.is_none() => [q_lora_rank],
        "experimental_attention_variant dsv4_hybrid needs q_lora_rank; DeepSeek-V4-Flash has 1024",
        [q_lora_rank = Number(1024)];
    error "compressed_attention_sizes"
        let (value, rotary) = (a.v_head_dim, a.qk_pos_emb_head_dim),
        if is_on(d) && value <= rotary => [v_head_dim, qk_pos_emb_head_dim],
        format!("v_head_dim {value} must be more than qk_pos_emb_head_dim {rotary}: that part of each head is rotated"),
        [v_head_dim = Number(512)];
    error "compressed_attention_groups" by(groups);
    error "compressed_attention_indexer" if indexes(d) && a.dsa_indexer_n_heads.is_none() => [dsa_indexer_n_heads],
        "compressed sparse attention needs dsa_indexer_n_heads; DeepSeek-V4 has 64", [dsa_indexer_n_heads = Number(64)];
    error "compressed_attention_indexer" if indexes(d) && a.dsa_indexer_head_dim.is_none() => [dsa_indexer_head_dim],
        "compressed sparse attention needs dsa_indexer_head_dim; DeepSeek-V4 has 128",
        [dsa_indexer_head_dim = Number(128)];
    error "compressed_attention_indexer" if indexes(d) && a.dsa_indexer_topk.is_none() => [dsa_indexer_topk],
        "compressed sparse attention needs dsa_indexer_topk; DeepSeek-V4-Flash has 512",
        [dsa_indexer_topk = Number(512)];
    error "compressed_attention_tp"
        let tp = d.tp,
        if is_on(d) && tp > 1 => [tensor_model_parallel_size, experimental_attention_variant],
        format!("experimental_attention_variant dsv4_hybrid needs tensor_model_parallel_size 1, not {tp}"),
        [tensor_model_parallel_size = Number(1)];
    // `DSv4HybridSelfAttention.forward`, `CompressedSparseAttention.forward`.
    error "compressed_attention_cp" if is_on(d) && d.splits_sequences()
        => [context_parallel_size, experimental_attention_variant],
        if is_packed(a) {
            "context parallelism of packed sequences with experimental_attention_variant dsv4_hybrid is not modelled"
        } else {
            "Megatron splits sequences of experimental_attention_variant dsv4_hybrid over ranks only where they are packed"
        },
        [context_parallel_size = Number(1)];
    error "compressed_attention_impl" if is_on(d) && a.transformer_impl != TransformerImpl::TransformerEngine
        => [transformer_impl, experimental_attention_variant],
        "experimental_attention_variant dsv4_hybrid needs transformer_impl transformer_engine",
        [transformer_impl = Default];
    error "compressed_attention_kernels" if is_on(d) && a.dsa_kernel_backend == DsaKernelBackend::Tilelang
        => [dsa_kernel_backend],
        "experimental_attention_variant dsv4_hybrid has no TileLang kernels: dsa_kernel_backend none and cudnn work",
        [dsa_kernel_backend = Name("cudnn")];
    error "compressed_attention_recompute" if is_on(d) && d.recomputes(RecomputeModule::CoreAttn)
        => [recompute_modules, recompute_granularity],
        "recompute module core_attn does not work with experimental_attention_variant dsv4_hybrid: mla_up_proj does",
        [recompute_modules = Name("mla_up_proj"), recompute_granularity = Default];
    error "compressed_attention_offload" if is_on(d) && d.offloads(OffloadModule::QkvLinear)
        => [offload_modules, fine_grained_activation_offloading],
        "offload module qkv_linear does not work with experimental_attention_variant dsv4_hybrid: core_attn does",
        [offload_modules = Name("core_attn"), fine_grained_activation_offloading = Off];
    error "compressed_attention_adapters" if is_on(d) && a.peft_type != AdapterType::None => [peft_type],
        "adapters beside layers of experimental_attention_variant dsv4_hybrid are not modelled", [peft_type = Default];
    error "hash_routing" if a.moe_n_hash_layers > 0 && a.software_stack != SoftwareStack::MegatronDev
        => [moe_n_hash_layers, software_stack],
        "moe_n_hash_layers is an argument of Megatron-LM's dev branch",
        [software_stack = Name("megatron_dev"), moe_n_hash_layers = Default];
    error "hash_routing"
        let (hashed, layers) = (a.moe_n_hash_layers, a.num_layers),
        if hashed > layers => [moe_n_hash_layers, num_layers],
        format!("moe_n_hash_layers {hashed} is more than num_layers {layers}"), [moe_n_hash_layers = Default];
    error "hash_routing_overlap" if a.moe_n_hash_layers > 0 && a.overlap_moe_expert_parallel_comm
        => [moe_n_hash_layers, overlap_moe_expert_parallel_comm],
        "moe_n_hash_layers excludes overlap_moe_expert_parallel_comm", [overlap_moe_expert_parallel_comm = Off];
}

/// Whether layers have compressed attention.
fn is_on(d: &Draft<'_>) -> bool {
    d.args.experimental_attention_variant == Some(AttentionVariant::Dsv4Hybrid)
}

/// Whether some layer has an indexer.
fn indexes(d: &Draft<'_>) -> bool {
    let read = d.args.csa_compress_ratios.as_deref().map(str::parse::<CompressRatios>);
    let sparse = read.is_some_and(|read| read.is_ok_and(|CompressRatios(all)| all.contains(&CompressRatio::Sparse)));
    is_on(d) && !d.args.csa_dense_mode && sparse
}

/// There is a ratio for each layer and each MTP depth.
fn ratios(d: &Draft<'_>) -> Option<Problem> {
    if !is_on(d) {
        return None;
    }
    let a = &d.args;
    let field = F::csa_compress_ratios;
    let needed = a.num_layers.saturating_add(d.mtp_num_layers);
    let Some(text) = a.csa_compress_ratios.as_deref() else {
        let message =
            "experimental_attention_variant dsv4_hybrid needs csa_compress_ratios, with an entry for each layer";
        return Some(Problem::error(&[field], message).fix(field, alternating(needed)));
    };
    let mut ratios = match text.parse() {
        Ok(CompressRatios(ratios)) => ratios,
        Err(error) => {
            let problem = Problem::error(&[field], format!("csa_compress_ratios {error}"));
            return Some(problem.fix(field, alternating(needed)));
        }
    };
    let given = u64::try_from(ratios.len()).unwrap_or(u64::MAX);
    let fields = [field, F::num_layers, F::mtp_num_layers];
    if given < needed {
        let message = format!(
            "csa_compress_ratios lists {given} ratios, and the model has {needed} layers with those of MTP: list one for each"
        );
        ratios.resize(usize::try_from(needed).unwrap_or_default(), CompressRatio::Window);
        let whole = Value::Text(CompressRatios(ratios).to_string());
        return Some(Problem::error(&fields, message).fix(field, whole));
    }
    let layers = usize::try_from(a.num_layers).unwrap_or(usize::MAX);
    let depths = usize::try_from(d.mtp_num_layers).unwrap_or(usize::MAX);
    let mut of_mtp = ratios.iter().skip(layers).take(depths);
    let first = of_mtp.next();
    of_mtp.any(|ratio| Some(ratio) != first).then(|| {
        let message = "MTP depths with different csa_compress_ratios are not modelled";
        Problem::error(&fields, message).fix(F::mtp_num_layers, Number(1))
    })
}

/// Ratios of so many layers as in most of DeepSeek-V4's.
fn alternating(layers: u64) -> Value {
    let pair = [CompressRatio::Sparse, CompressRatio::Heavy].into_iter().cycle();
    let ratios = pair.take(usize::try_from(layers).unwrap_or_default());
    Value::Text(CompressRatios(ratios.collect()).to_string())
}

/// Heads fall into groups of one size.
fn groups(d: &Draft<'_>) -> Option<Problem> {
    let (heads, groups) = (d.args.num_attention_heads, d.args.o_groups);
    if !is_on(d) || heads.is_multiple_of(groups.max(1)) {
        return None;
    }
    let near = near_divisors(heads, groups, 2);
    let message = format!(
        "num_attention_heads {heads} must be a multiple of o_groups {groups}; {} would work",
        or_list(&near)
    );
    let problem = Problem::error(&[F::o_groups, F::num_attention_heads], message);
    Some(problem.fix_each(F::o_groups, &near))
}

/// A table of the vocabulary routes tokens only where their numbers are: beside the embedding.
pub(super) fn hash_stages(d: &Draft<'_>, layout: &StageLayout) -> Option<Problem> {
    let hashed = d.args.moe_n_hash_layers;
    if hashed == 0 || d.pp < 2 {
        return None;
    }
    let fields = [F::moe_n_hash_layers, F::pipeline_model_parallel_layout];
    if d.args.pipeline_model_parallel_layout.is_none() {
        let message = "moe_n_hash_layers with pipeline parallelism needs pipeline_model_parallel_layout";
        return Some(Problem::error(&fields, message).fix(F::moe_n_hash_layers, Default));
    }
    let first = layout.chunks().iter().find(|chunk| chunk.embedding)?;
    let beside = u64::from(first.layers.end);
    (beside < hashed).then(|| {
        let message = format!(
            "the {hashed} layers of moe_n_hash_layers must be in the chunk of the embedding, which has {beside} layers"
        );
        Problem::error(&fields, message).fix(F::moe_n_hash_layers, Number(beside))
    })
}

/// An MTP depth is like the decoder's last layer, of which its chunk must have one.
pub(super) fn mtp_stage(d: &Draft<'_>, layout: &StageLayout) -> Option<Problem> {
    (is_on(d) && mtp_without_decoder(layout)).then(|| {
        let fields = [F::mtp_num_layers, F::pipeline_model_parallel_layout];
        let message = "with dsv4_hybrid the stage with the MTP layers must have a decoder layer";
        Problem::error(&fields, message)
            .fix(F::pipeline_model_parallel_layout, Default)
            .fix(F::mtp_num_layers, Default)
    })
}
