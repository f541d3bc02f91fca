//! What hiding communication and putting work off exclude (`TransformerConfig.__post_init__`,
//! `ModelParallelConfig.__post_init__`).

use crate::config::check::Draft;
use crate::config::choices::{RecomputeModule, TokenDispatcher};
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;
use crate::value::Value;

/// Expert communication behind the other pass of a pair.
pub(super) fn expert_communication(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let a = d.a;
    if !a.overlap_moe_expert_parallel_comm {
        return;
    }
    let field = F::overlap_moe_expert_parallel_comm;
    let moe_again = d.selective_recompute() && a.recompute_modules.contains(RecomputeModule::Moe);
    let refusals = [
        (
            d.ep == 1,
            F::expert_model_parallel_size,
            "needs expert parallelism",
        ),
        (
            a.moe_token_dispatcher_type == TokenDispatcher::AllGather,
            F::moe_token_dispatcher_type,
            "needs the alltoall or the flex dispatcher",
        ),
        (
            moe_again,
            F::recompute_modules,
            "excludes recompute module moe",
        ),
        (!a.bf16 && !a.fp16, F::bf16, "needs bf16 or fp16"),
        (
            a.moe_shared_expert_overlap,
            F::moe_shared_expert_overlap,
            "excludes moe_shared_expert_overlap",
        ),
        (
            a.mtp_num_layers.is_some_and(|depths| depths > 1),
            F::mtp_num_layers,
            "takes one MTP depth at most",
        ),
    ];
    refuse(d, problems, field, "expert_overlap", &refusals);
    // Later versions than the pinned one run these.
    let refusals = [
        (
            d.pp > 1 && !d.interleaved(),
            F::virtual_pipeline_model_parallel_size,
            "without virtual stages",
        ),
        (
            d.full_recompute(),
            F::recompute_granularity,
            "together with full recompute",
        ),
    ];
    for (refused, other, reason) in refusals {
        if refused {
            let message = format!(
                "overlap_moe_expert_parallel_comm {reason} is refused by released versions of Megatron"
            );
            d.warning(problems, "expert_overlap", &[field, other], message)
                .fix(field, Value::Bool(false));
        }
    }
}

/// Weight gradients of the output layer at the end of an iteration.
pub(super) fn deferral(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if !d.a.defer_embedding_wgrad_compute {
        return;
    }
    let refusals = [
        (
            d.pp == 1,
            F::pipeline_model_parallel_size,
            "needs pipeline stages",
        ),
        (
            !d.a.gradient_accumulation_fusion,
            F::gradient_accumulation_fusion,
            "needs gradient_accumulation_fusion",
        ),
    ];
    let field = F::defer_embedding_wgrad_compute;
    refuse(d, problems, field, "deferred_gradient", &refusals);
}

/// Reports every refusal of a switch, with its other field.
fn refuse(
    d: &Draft<'_>,
    problems: &mut Vec<Problem>,
    field: F,
    rule: &'static str,
    refusals: &[(bool, F, &str)],
) {
    for (refused, other, reason) in refusals {
        if *refused {
            let message = format!("{} {reason}", field.field().name);
            d.error(problems, rule, &[field, *other], message)
                .fix(field, Value::Bool(false));
        }
    }
}
