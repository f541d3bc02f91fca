//! What Transformer Engine cannot do with sequences that are split over ranks (`get_attention_backend` and
//! `attn_forward_func_with_cp`).

use super::rule::FixValue::{Default, On};
use super::rule::rules;
use crate::config::choices::{CpCommType, TransformerImpl};
use crate::config::draft::Draft;

rules! { |d, a|
    warning "context_parallel" if splits(d) && !d.half_precision() => [context_parallel_size, bf16],
        "Megatron stops in the first forward pass: context parallelism does not support fp32", [bf16 = On];
    error "cp_comm_type"
        let unsupported = unsupported(d)?,
        if splits(d) => [cp_comm_type, context_parallel_size],
        format!("this cp_comm_type does not support {unsupported}"), [cp_comm_type = Default];
}

/// Whether Transformer Engine splits sequences.
fn splits(d: &Draft<'_>) -> bool {
    d.args.transformer_impl != TransformerImpl::Local && d.splits_sequences()
}

/// What the way in which context-parallel ranks exchange keys and values does not support.
fn unsupported(d: &Draft<'_>) -> Option<&'static str> {
    let uneven = |heads: u64| !(heads / d.tp).max(1).is_multiple_of(d.cp);
    let keys = d.args.qk_head_dim + d.args.qk_pos_emb_head_dim;
    match d.args.cp_comm_type {
        CpCommType::A2a | CpCommType::AllGather
            if d.args.multi_latent_attention
                && keys != d.args.v_head_dim
                && (d.layers.has_latent_attention() || !d.layers.has_sparse_attention()) =>
        {
            Some("multi_latent_attention")
        }
        CpCommType::A2a if uneven(d.args.num_attention_heads) || uneven(d.num_query_groups) => {
            Some("this CP: heads and query groups of a TP rank must be multiples of it")
        }
        CpCommType::P2p | CpCommType::A2a | CpCommType::AllGather | CpCommType::A2aP2p => None,
    }
}
