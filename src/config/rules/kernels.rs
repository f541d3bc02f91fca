//! What the modules of a transformer implementation and the kernels of attention cannot do.

use super::rule::FixValue::{Default, Number, Off, On};
use super::rule::rules;
use crate::config::choices::{AttentionBackend, Normalization, RouterDtype, SoftmaxType, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::packing::is_packed;
use crate::config::problem::Problem;

rules! { |d, a|
    error "local_impl" by(local_impl);
    // `TransformerConfig.__post_init__`.
    error "inference_modules" by(inference_modules);
    error "attention_backend" by(attention_backend);
    // `validate_args`; the name is that of an attention of Megatron's own modules.
    warning "attention_backend_local" if a.attention_backend == AttentionBackend::Local
        => [attention_backend], "Megatron-LM refuses attention_backend local without --spec local",
        [attention_backend = Default];
    error "attn_logit_softcapping" by(capped_scores);
    // `apply_determinism_to_args` of Megatron-LM, `_validate_and_apply_deterministic_mode` of Megatron-Bridge.
    error "deterministic_mode" if a.deterministic_mode && a.cross_entropy_loss_fusion
        => [deterministic_mode, cross_entropy_loss_fusion],
        "deterministic_mode excludes cross_entropy_loss_fusion",
        [cross_entropy_loss_fusion = Off, deterministic_mode = Off];
    // `apply_determinism_to_args`; Megatron-Bridge does not ask.
    warning "deterministic_mode" if a.deterministic_mode && a.tp_comm_overlap => [deterministic_mode, tp_comm_overlap],
        "Megatron-LM refuses deterministic_mode with tp_comm_overlap; Megatron-Bridge does not",
        [tp_comm_overlap = Off, deterministic_mode = Off];
    warning "tp_comm_overlap" by(tp_comm_overlap);
}

/// The kernels of inference know few kinds of layers.
fn inference_modules(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let of_experts = |unsupported: bool| d.has_experts() && unsupported;
    let (needed, field) = if a.normalization != Normalization::RmsNorm {
        ("needs normalization RMSNorm", F::normalization)
    } else if a.apply_layernorm_1p {
        ("excludes apply_layernorm_1p", F::apply_layernorm_1p)
    } else if a.add_bias_linear {
        ("excludes add_bias_linear", F::add_bias_linear)
    } else if a.add_qkv_bias {
        ("excludes add_qkv_bias", F::add_qkv_bias)
    } else if of_experts(d.etp > 1) {
        ("needs expert_tensor_parallel_size 1", F::expert_tensor_parallel_size)
    } else if of_experts(a.moe_expert_capacity_factor.is_some()) {
        ("excludes moe_expert_capacity_factor", F::moe_expert_capacity_factor)
    } else if of_experts(a.moe_router_padding_for_quantization) {
        (
            "excludes moe_router_padding_for_quantization",
            F::moe_router_padding_for_quantization,
        )
    } else if of_experts(a.moe_router_dtype != Some(RouterDtype::Fp32)) {
        ("needs moe_router_dtype fp32", F::moe_router_dtype)
    } else {
        return None;
    };
    (a.transformer_impl == TransformerImpl::InferenceOptimized).then(|| {
        let message = format!("transformer_impl inference_optimized {needed}; transformer_engine trains such layers");
        Problem::error(&[F::transformer_impl, field], message).fix(F::transformer_impl, Default)
    })
}

fn is_local(d: &Draft<'_>) -> bool {
    d.args.transformer_impl == TransformerImpl::Local
}

/// `DotProductAttention.__init__` and `WrappedTorchNorm.__new__`, which `LocalSpecProvider` takes.
fn local_impl(d: &Draft<'_>) -> Option<Problem> {
    let rms_norm = d.args.normalization == Normalization::RmsNorm;
    let (unsupported, field) = if d.splits_sequences() {
        ("context parallelism", F::context_parallel_size)
    } else if rms_norm && d.args.sequence_parallel && d.tp > 1 && !d.args.layer_norms_in_fp32 {
        ("RMSNorm with sequence_parallel", F::normalization)
    } else if rms_norm && d.args.apply_layernorm_1p {
        ("RMSNorm with apply_layernorm_1p", F::normalization)
    } else {
        return None;
    };
    is_local(d).then(|| {
        let message = format!("transformer_impl local does not support {unsupported}");
        Problem::error(&[F::transformer_impl, field], message).fix(F::transformer_impl, Default)
    })
}

/// `LanguageModule._set_attention_backend` leaves Transformer Engine one kernel, which its `get_attention_backend`
/// then turns down.
fn attention_backend(d: &Draft<'_>) -> Option<Problem> {
    use AttentionBackend::{Flash, Fused, Unfused};
    let backend = d.args.attention_backend;
    let sinks = d.args.softmax_type != SoftmaxType::Vanilla;
    let (unsupported, field) = match backend {
        Flash if sinks => ("this softmax_type", F::softmax_type),
        Flash | Fused if !d.half_precision() => ("fp32", F::bf16),
        Unfused if d.splits_sequences() => ("context parallelism", F::context_parallel_size),
        _ => return None,
    };
    (!is_local(d)).then(|| {
        let message = format!("attention_backend {} does not support {unsupported}", backend.name());
        Problem::error(&[F::attention_backend, field], message).fix(F::attention_backend, Default)
    })
}

/// The attention that caps its scores takes neither packed samples nor parts of a sequence
/// (`Gemma2DotProductAttention`).
fn capped_scores(d: &Draft<'_>) -> Option<Problem> {
    d.args.attn_logit_softcapping?;
    let cap = F::attn_logit_softcapping;
    if d.splits_sequences() {
        let message = "attn_logit_softcapping excludes context parallelism";
        let ranks = F::context_parallel_size;
        let violation = Problem::error(&[cap, ranks], message);
        return Some(violation.fix(ranks, Number(1)).fix(cap, Default));
    }
    is_packed(&d.args).then(|| {
        let message = "attn_logit_softcapping excludes packed samples";
        Problem::error(&[cap, F::sft, F::max_seqlen_per_dp_cp_rank], message).fix(cap, Default)
    })
}

/// `validate_args`, after it has turned `sequence_parallel` off with TP 1; `CommOverlapConfig` of Megatron-Bridge.
fn tp_comm_overlap(d: &Draft<'_>) -> Option<Problem> {
    let splits_sequence = d.args.sequence_parallel && d.tp > 1;
    (d.args.tp_comm_overlap && !splits_sequence).then(|| {
        let violation = Problem::warning(
            &[F::tp_comm_overlap, F::sequence_parallel],
            "Megatron-LM refuses tp_comm_overlap without sequence_parallel; Megatron-Bridge turns it off",
        );
        let violation = if d.tp > 1 {
            violation.fix(F::sequence_parallel, On)
        } else {
            violation
        };
        violation.fix(F::tp_comm_overlap, Off)
    })
}
