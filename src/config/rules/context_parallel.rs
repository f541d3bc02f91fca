//! What Transformer Engine cannot do with sequences that are split over ranks (`get_attention_backend` and
//! `attn_forward_func_with_cp`).

use super::rule::FixValue::{Default, On};
use super::rule::{Rule, Violation, rule, warning};
use crate::config::choices::{CpCommType, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::layers::Mixer;

pub(super) const RULES: &[Rule] = &[
    warning("context_parallel", context_parallel),
    rule("cp_comm_type", cp_comm_type),
];

/// Whether Transformer Engine splits sequences.
fn splits(d: &Draft<'_>) -> bool {
    d.args.transformer_impl != TransformerImpl::Local && d.splits_sequences()
}

fn context_parallel(d: &Draft<'_>) -> Option<Violation> {
    (splits(d) && !d.half_precision()).then(|| {
        Violation::warning(
            &[F::context_parallel_size, F::bf16],
            "Megatron stops in the first forward pass: context parallelism does not support fp32",
        )
        .fix(F::bf16, On)
    })
}

fn cp_comm_type(d: &Draft<'_>) -> Option<Violation> {
    let uneven = |heads: u64| !(heads / d.tp).max(1).is_multiple_of(d.cp);
    let keys = d.args.qk_head_dim + d.args.qk_pos_emb_head_dim;
    let unsupported = match d.args.cp_comm_type {
        CpCommType::A2a | CpCommType::AllGather
            if d.args.multi_latent_attention
                && keys != d.args.v_head_dim
                && (d.layers.has_mixer(Mixer::MultiLatentAttention) || !d.layers.has_sparse_attention()) =>
        {
            "multi_latent_attention"
        }
        CpCommType::A2a if uneven(d.args.num_attention_heads) || uneven(d.num_query_groups) => {
            "this CP: heads and query groups of a TP rank must be multiples of it"
        }
        _ => return None,
    };
    splits(d).then(|| {
        let message = format!("this cp_comm_type does not support {unsupported}");
        Violation::error(&[F::cp_comm_type, F::context_parallel_size], message).fix(F::cp_comm_type, Default)
    })
}
