//! What Transformer Engine cannot do with sequences that are split over ranks (`get_attention_backend` and
//! `attn_forward_func_with_cp`).

use super::rule::{ERROR, Rule, To, WARNING};
use crate::config::check::Draft;
use crate::config::choices::{CpCommType, TransformerImpl};
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "context_parallel",
        fields: &[F::context_parallel_size, F::bf16],
        broken: |d, _| splits(d) && !d.a.bf16 && !d.a.fp16,
        words: "Megatron stops in the first forward pass: context parallelism does not support fp32",
        fixes: &[(F::bf16, To::On)],
        ..WARNING
    },
    Rule {
        name: "cp_comm_type",
        fields: &[F::cp_comm_type, F::context_parallel_size],
        broken: |d, f| splits(d) && f.why(beyond_exchange(d)),
        words: "this cp_comm_type does not support {}",
        fixes: &[(F::cp_comm_type, To::Default)],
        ..ERROR
    },
];

/// What the exchange between the ranks does not support, if the job has it.
fn beyond_exchange(d: &Draft<'_>) -> &'static str {
    let uneven = |heads: u64| !(heads / d.tp).max(1).is_multiple_of(d.cp);
    let keys = d.a.qk_head_dim + d.a.qk_pos_emb_head_dim;
    match d.a.cp_comm_type {
        CpCommType::A2a | CpCommType::AllGather
            if d.a.multi_latent_attention && keys != d.a.v_head_dim =>
        {
            "multi_latent_attention"
        }
        CpCommType::A2a if uneven(d.a.num_attention_heads) || uneven(d.num_query_groups) => {
            "this CP: heads and query groups of a TP rank must be multiples of it"
        }
        _ => "",
    }
}

/// Whether Transformer Engine splits sequences.
fn splits(d: &Draft<'_>) -> bool {
    d.a.transformer_impl != TransformerImpl::Local && d.splits_sequences()
}
