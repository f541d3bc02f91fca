//! What the modules of a transformer implementation and the kernels of attention cannot do
//! (`DotProductAttention`, `WrappedTorchNorm`, Transformer Engine's `get_attention_backend` and
//! `attn_forward_func_with_cp`).

use super::rule::{ERROR, Rule, To, WARNING};
use crate::config::check::Draft;
use crate::config::choices::{
    AttentionBackend as Backend, CpCommType, Normalization, PositionEmbedding, SoftmaxType,
    TransformerImpl,
};
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    Rule {
        fields: &[F::transformer_impl, F::context_parallel_size],
        broken: |d, _| is_local(d) && d.splits_sequences(),
        words: "transformer_impl local does not support context parallelism",
        ..LOCAL
    },
    Rule {
        fields: &[F::transformer_impl, F::multi_latent_attention],
        broken: |d, _| is_local(d) && d.a.multi_latent_attention,
        words: "transformer_impl local does not support multi_latent_attention",
        ..LOCAL
    },
    Rule {
        fields: &[F::transformer_impl, F::position_embedding_type],
        broken: |d, _| is_local(d) && d.a.position_embedding_type == PositionEmbedding::Relative,
        words: "transformer_impl local does not support position_embedding_type relative",
        ..LOCAL
    },
    Rule {
        fields: &[
            F::transformer_impl,
            F::normalization,
            F::sequence_parallel,
            F::apply_layernorm_1p,
        ],
        broken: |d, _| {
            let rms = d.a.normalization == Normalization::RmsNorm;
            let parallel = d.a.sequence_parallel && d.tp > 1;
            is_local(d) && rms && (parallel || d.a.apply_layernorm_1p)
        },
        words: "RMSNorm of transformer_impl local supports neither sequence_parallel nor apply_layernorm_1p",
        ..LOCAL
    },
    // `validate_args` looks for it in a list that is not there.
    Rule {
        severity: WARNING.severity,
        fields: &[F::attention_backend],
        broken: |d, _| d.a.attention_backend == Backend::Local,
        words: "Megatron-LM does not start with attention_backend local, only Megatron-Bridge does",
        ..BACKEND
    },
    Rule {
        fields: &[F::attention_backend, F::bf16],
        broken: |d, f| {
            let backend = d.a.attention_backend;
            let half = matches!(backend, Backend::Flash | Backend::Fused);
            is_fp32(d) && half && f.text(backend.name())
        },
        words: "attention_backend {} does not compute in fp32",
        ..BACKEND
    },
    Rule {
        fields: &[F::attention_backend, F::context_parallel_size],
        broken: |d, _| splits(d) && d.a.attention_backend == Backend::Unfused,
        words: "attention_backend unfused does not support context parallelism",
        ..BACKEND
    },
    Rule {
        fields: &[F::attention_backend, F::softmax_type],
        broken: |d, f| {
            let flash = d.a.attention_backend == Backend::Flash;
            !is_local(d) && flash && has_other_softmax(d) && f.text(d.a.softmax_type.name())
        },
        words: "attention_backend flash does not support softmax_type {}",
        ..BACKEND
    },
    Rule {
        severity: WARNING.severity,
        fields: &[F::context_parallel_size, F::bf16],
        broken: |d, _| splits(d) && is_fp32(d),
        words: "Megatron stops in the first forward pass: context parallelism does not compute in fp32",
        fixes: &[(F::bf16, To::On)],
        ..CONTEXT
    },
    Rule {
        severity: WARNING.severity,
        fields: &[F::cp_comm_type, F::softmax_type, F::context_parallel_size],
        broken: |d, f| {
            splits(d)
                && has_other_softmax(d)
                && d.a.cp_comm_type != CpCommType::A2a
                && f.text(d.a.softmax_type.name())
        },
        words: "Megatron stops in the first forward pass: softmax_type {} with context parallelism needs cp_comm_type a2a",
        fixes: &[(F::cp_comm_type, To::Name("a2a"))],
        ..CONTEXT
    },
    Rule {
        fields: &[F::cp_comm_type, F::multi_latent_attention],
        broken: |d, _| {
            let whole = matches!(d.a.cp_comm_type, CpCommType::A2a | CpCommType::AllGather);
            let keys = d.a.qk_head_dim + d.a.qk_pos_emb_head_dim;
            splits(d) && whole && d.a.multi_latent_attention && keys != d.a.v_head_dim
        },
        words: "multi_latent_attention with context parallelism needs cp_comm_type p2p or a2a+p2p",
        ..CONTEXT
    },
    Rule {
        fields: &[
            F::cp_comm_type,
            F::num_attention_heads,
            F::num_query_groups,
            F::context_parallel_size,
        ],
        broken: |d, f| {
            let (heads, groups) = (d.a.num_attention_heads / d.tp, d.num_query_groups / d.tp);
            let groups = groups.max(1);
            let fit = heads.is_multiple_of(d.cp) && groups.is_multiple_of(d.cp);
            let a2a = d.a.cp_comm_type == CpCommType::A2a;
            splits(d) && a2a && !fit && f.numbers(&[heads, groups, d.cp])
        },
        words: "cp_comm_type a2a: the {} heads and {} query groups of a TP rank must be multiples of CP {}",
        ..CONTEXT
    },
];

const LOCAL: Rule = Rule {
    name: "local_impl",
    fixes: &[(F::transformer_impl, To::Default)],
    ..ERROR
};

const BACKEND: Rule = Rule {
    name: "attention_backend",
    fixes: &[(F::attention_backend, To::Default)],
    ..ERROR
};

const CONTEXT: Rule = Rule {
    name: "context_parallel",
    fixes: &[(F::cp_comm_type, To::Default)],
    ..ERROR
};

fn is_local(d: &Draft<'_>) -> bool {
    d.a.transformer_impl == TransformerImpl::Local
}

/// Whether Transformer Engine splits sequences.
fn splits(d: &Draft<'_>) -> bool {
    !is_local(d) && d.splits_sequences()
}

fn is_fp32(d: &Draft<'_>) -> bool {
    !is_local(d) && !d.a.bf16 && !d.a.fp16
}

fn has_other_softmax(d: &Draft<'_>) -> bool {
    d.a.softmax_type != SoftmaxType::Vanilla
}
