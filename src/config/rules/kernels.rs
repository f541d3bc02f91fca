//! What the modules of a transformer implementation and the kernels of attention cannot do
//! (`DotProductAttention`, `WrappedTorchNorm`, Transformer Engine's `get_attention_backend` and
//! `attn_forward_func_with_cp`), and what only the launcher of Megatron-LM refuses.

use super::rule::{ERROR, Rule, To, WARNING};
use crate::config::check::Draft;
use crate::config::choices::{
    AttentionBackend as Backend, CpCommType, Normalization, SoftmaxType, TransformerImpl,
};
use crate::config::fields::FieldId as F;
use crate::value::Value;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "local_impl",
        fields: &[F::transformer_impl],
        broken: |d, f| is_local(d) && f.why(beyond_local(d)),
        words: "transformer_impl local does not support {}",
        fixes: &[(F::transformer_impl, To::Default)],
        ..ERROR
    },
    Rule {
        name: "attention_backend",
        fields: &[F::attention_backend],
        broken: |d, f| {
            let why = beyond_backend(d);
            !why.is_empty() && f.text(d.a.attention_backend.name()) && f.why(why)
        },
        words: "attention_backend {} does not support {}",
        fixes: &[(F::attention_backend, To::Default)],
        ..ERROR
    },
    Rule {
        name: "context_parallel",
        fields: &[F::context_parallel_size, F::bf16],
        broken: |d, _| splits(d) && is_fp32(d),
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
    Rule {
        name: "launcher",
        broken: |d, f| {
            let (why, field) = refused_by_launcher(d);
            f.why(why) && f.about(&[field]) && f.fix(field, Value::Null)
        },
        words: "Megatron-LM refuses {}; Megatron-Bridge does not",
        ..WARNING
    },
];

fn is_local(d: &Draft<'_>) -> bool {
    d.a.transformer_impl == TransformerImpl::Local
}

fn beyond_local(d: &Draft<'_>) -> &'static str {
    let rms = d.a.normalization == Normalization::RmsNorm;
    let parallel = d.a.sequence_parallel && d.tp > 1;
    if d.splits_sequences() {
        "context parallelism"
    } else if rms && (parallel || d.a.apply_layernorm_1p) {
        "RMSNorm with sequence_parallel or apply_layernorm_1p"
    } else {
        ""
    }
}

fn beyond_backend(d: &Draft<'_>) -> &'static str {
    match d.a.attention_backend {
        _ if is_local(d) => "",
        Backend::Flash if has_other_softmax(d) => "this softmax_type",
        Backend::Flash | Backend::Fused if is_fp32(d) => "fp32",
        Backend::Unfused if d.splits_sequences() => "context parallelism",
        _ => "",
    }
}

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

/// What `validate_args` refuses and Megatron-Bridge takes or turns off, with the field to set back.
fn refused_by_launcher(d: &Draft<'_>) -> (&'static str, F) {
    if d.a.tp_comm_overlap && !(d.a.sequence_parallel && d.tp > 1) {
        let why = "tp_comm_overlap without sequence_parallel";
        (why, F::tp_comm_overlap)
    } else if d.a.deterministic_mode && (d.a.cross_entropy_loss_fusion || d.a.tp_comm_overlap) {
        let why = "deterministic_mode with cross_entropy_loss_fusion or tp_comm_overlap";
        (why, F::deterministic_mode)
    } else {
        ("", F::attention_backend)
    }
}

/// Whether Transformer Engine splits sequences.
fn splits(d: &Draft<'_>) -> bool {
    !is_local(d) && d.splits_sequences()
}

fn is_fp32(d: &Draft<'_>) -> bool {
    !d.a.bf16 && !d.a.fp16
}

fn has_other_softmax(d: &Draft<'_>) -> bool {
    d.a.softmax_type != SoftmaxType::Vanilla
}
