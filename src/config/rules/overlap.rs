//! What hiding communication and putting work off exclude (`TransformerConfig.__post_init__`,
//! `ModelParallelConfig.__post_init__`).

use super::rule::{ERROR, Rule, To, WARNING};
use crate::config::choices::{RecomputeModule, TokenDispatcher};
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    Rule {
        fields: &[
            F::overlap_moe_expert_parallel_comm,
            F::expert_model_parallel_size,
        ],
        broken: |d, _| d.a.overlap_moe_expert_parallel_comm && d.ep == 1,
        words: "overlap_moe_expert_parallel_comm needs expert parallelism",
        ..EXPERT_OVERLAP
    },
    Rule {
        fields: &[
            F::overlap_moe_expert_parallel_comm,
            F::moe_token_dispatcher_type,
        ],
        broken: |d, _| {
            d.a.overlap_moe_expert_parallel_comm
                && d.a.moe_token_dispatcher_type == TokenDispatcher::AllGather
        },
        words: "overlap_moe_expert_parallel_comm needs the alltoall or the flex dispatcher",
        ..EXPERT_OVERLAP
    },
    Rule {
        fields: &[F::overlap_moe_expert_parallel_comm, F::recompute_modules],
        broken: |d, _| d.a.overlap_moe_expert_parallel_comm && d.recomputes(RecomputeModule::Moe),
        words: "overlap_moe_expert_parallel_comm excludes recompute module moe",
        ..EXPERT_OVERLAP
    },
    Rule {
        fields: &[F::overlap_moe_expert_parallel_comm, F::bf16],
        broken: |d, _| d.a.overlap_moe_expert_parallel_comm && !d.a.bf16 && !d.a.fp16,
        words: "overlap_moe_expert_parallel_comm needs bf16 or fp16",
        ..EXPERT_OVERLAP
    },
    Rule {
        fields: &[
            F::overlap_moe_expert_parallel_comm,
            F::moe_shared_expert_overlap,
        ],
        broken: |d, _| d.a.overlap_moe_expert_parallel_comm && d.a.moe_shared_expert_overlap,
        words: "overlap_moe_expert_parallel_comm excludes moe_shared_expert_overlap",
        ..EXPERT_OVERLAP
    },
    Rule {
        fields: &[F::overlap_moe_expert_parallel_comm, F::mtp_num_layers],
        broken: |d, _| d.a.overlap_moe_expert_parallel_comm && d.mtp_num_layers > 1,
        words: "overlap_moe_expert_parallel_comm takes one MTP depth at most",
        ..EXPERT_OVERLAP
    },
    Rule {
        fields: &[
            F::overlap_moe_expert_parallel_comm,
            F::virtual_pipeline_model_parallel_size,
        ],
        broken: |d, _| {
            let a = &d.a;
            let chunks = d.interleaved()
                || a.virtual_pipeline_model_parallel_size.is_some()
                || a.pipeline_model_parallel_layout.is_some();
            a.overlap_moe_expert_parallel_comm && d.pp > 1 && !chunks
        },
        words: "overlap_moe_expert_parallel_comm with pipeline stages needs virtual ones",
        ..EXPERT_OVERLAP
    },
    // Later versions than the pinned one run it.
    Rule {
        fields: &[
            F::overlap_moe_expert_parallel_comm,
            F::recompute_granularity,
        ],
        severity: WARNING.severity,
        broken: |d, _| d.a.overlap_moe_expert_parallel_comm && d.full_recompute(),
        words: "overlap_moe_expert_parallel_comm together with full recompute is refused by released versions of Megatron",
        ..EXPERT_OVERLAP
    },
    Rule {
        fields: &[
            F::defer_embedding_wgrad_compute,
            F::pipeline_model_parallel_size,
        ],
        broken: |d, _| d.a.defer_embedding_wgrad_compute && d.pp == 1,
        words: "defer_embedding_wgrad_compute needs pipeline stages",
        ..DEFERRED
    },
    Rule {
        fields: &[
            F::defer_embedding_wgrad_compute,
            F::gradient_accumulation_fusion,
        ],
        broken: |d, _| d.a.defer_embedding_wgrad_compute && !d.a.gradient_accumulation_fusion,
        words: "defer_embedding_wgrad_compute needs gradient_accumulation_fusion",
        ..DEFERRED
    },
];

/// Expert communication behind the other pass of a pair.
const EXPERT_OVERLAP: Rule = Rule {
    name: "expert_overlap",
    fixes: &[(F::overlap_moe_expert_parallel_comm, To::Off)],
    ..ERROR
};

/// Weight gradients of the output layer at the end of an iteration.
const DEFERRED: Rule = Rule {
    name: "deferred_gradient",
    fixes: &[(F::defer_embedding_wgrad_compute, To::Off)],
    ..ERROR
};
