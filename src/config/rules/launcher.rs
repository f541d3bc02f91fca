//! Rules that hold for Megatron-LM's own launcher alone: what it refuses (`validate_args`), and what it has no argument
//! for. A job of another launcher may break them; they are problems of commands that are imported, and of arguments that
//! are exported.

use super::rule::FixValue::{Name, Number, Off, On};
use super::rule::rules;
use crate::config::choices::{CrossEntropyFusion, PositionEmbedding, RopeType};
use crate::config::draft::Draft;

rules! { |d, a|
    // `validate_args`; `ModelParallelConfig.__post_init__` warns of it.
    warning "fused_loss"
        if a.cross_entropy_loss_fusion && a.cross_entropy_fusion_impl == CrossEntropyFusion::Te
        => [cross_entropy_fusion_impl, cross_entropy_loss_fusion],
        "Megatron-LM refuses cross_entropy_fusion_impl te; native is its own fused loss, and needs another amount of memory",
        [cross_entropy_fusion_impl = Name("native")];
    // `validate_args` derives a width of heads that multi-latent attention does not read.
    warning "latent_head_width"
        let heads = a.num_attention_heads, let width = a.qk_head_dim.saturating_add(a.qk_pos_emb_head_dim),
        if a.multi_latent_attention && a.kv_channels.is_none() && !a.hidden_size.is_multiple_of(heads)
        => [kv_channels, hidden_size, num_attention_heads],
        format!(
            "Megatron-LM refuses hidden_size {} that is not a multiple of num_attention_heads {heads} without kv_channels, \
             though multi_latent_attention does not read it: any value such as {width} will do",
            a.hidden_size
        ),
        [kv_channels = Number(width)];
    // `MLATransformerConfig.__post_init__`. Megatron-Bridge has no fused rotary embedding unless it is asked for.
    warning "latent_rope_fusion"
        if a.multi_latent_attention && a.apply_rope_fusion && a.rope_type == Some(RopeType::Rope)
            && a.position_embedding_type == PositionEmbedding::Rope
        => [apply_rope_fusion, rope_type, multi_latent_attention],
        "Megatron-LM refuses apply_rope_fusion with multi_latent_attention unless rope_type is yarn",
        [apply_rope_fusion = Off];
    // `core_transformer_config_from_args`.
    warning "outputs_deallocated"
        if !a.deallocate_pipeline_outputs && d.pp > 1
        => [deallocate_pipeline_outputs],
        "Megatron-LM's command line has no argument for deallocate_pipeline_outputs, which is always on there",
        [deallocate_pipeline_outputs = On];
    // `validate_args`.
    warning "mtp_rotary_positions"
        let kind = a.position_embedding_type,
        if d.mtp_num_layers > 0 && matches!(kind, PositionEmbedding::Mrope | PositionEmbedding::Yarn)
        => [position_embedding_type, mtp_num_layers],
        format!("Megatron-LM refuses mtp_num_layers with position_embedding_type {}: rope or none would work", kind.name()),
        [position_embedding_type = Name("rope")];
}
