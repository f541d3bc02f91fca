//! Tensors of a fixed size for experts, and the paged stash that keeps them (`TransformerConfig.__post_init__`,
//! `_NCCLEPManager.__init__`).

use super::rule::FixValue::{Default, Name, Number, Off, On};
use super::rule::rules;
use crate::config::choices::{FlexBackend, OffloadModule};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;

rules! { |d, a|
    error "rank_capacity"
        if a.moe_expert_rank_capacity_factor.is_some() && a.moe_flex_dispatcher_backend == FlexBackend::DeepEp
        => [moe_expert_rank_capacity_factor, moe_flex_dispatcher_backend],
        "moe_expert_rank_capacity_factor needs moe_flex_dispatcher_backend hybridep or ncclep",
        [moe_flex_dispatcher_backend = Name("hybridep"), moe_expert_rank_capacity_factor = Default];
    error "rank_capacity" by(needs_fused_experts);
    // Megatron runs a step again without fixed sizes where a rank gets more tokens than it has room for.
    warning "rank_capacity"
        let capacity = a.moe_expert_rank_capacity_factor?,
        if d.has_experts() && a.expert_load_imbalance > capacity
        => [expert_load_imbalance, moe_expert_rank_capacity_factor],
        format!(
            "expert_load_imbalance {} is above moe_expert_rank_capacity_factor {capacity}: Megatron runs such steps again \
             without tensors of a fixed size, and they need more memory than is counted",
            a.expert_load_imbalance
        ),
        [moe_expert_rank_capacity_factor = Default];
    error "paged_stash" if a.moe_paged_stash && a.moe_expert_rank_capacity_factor.is_none()
        => [moe_paged_stash, moe_expert_rank_capacity_factor],
        "moe_paged_stash needs moe_expert_rank_capacity_factor", [moe_paged_stash = Off];
    error "paged_stash" if a.moe_paged_stash && a.cpu_offloading_num_layers > 0
        => [moe_paged_stash, cpu_offloading_num_layers],
        "moe_paged_stash excludes cpu_offloading_num_layers",
        [cpu_offloading_num_layers = Number(0), moe_paged_stash = Off];
    error "paged_stash" by(excludes_offload_modules);
}

const CAPACITY: F = F::moe_expert_rank_capacity_factor;
const STASH: F = F::moe_paged_stash;

/// With `HybridEP`, `moe_use_grouped_tensor` would do too.
fn needs_fused_experts(d: &Draft<'_>) -> Option<Problem> {
    let (fuser, grouped) = (F::use_transformer_engine_op_fuser, F::moe_grouped_gemm);
    let a = &d.args;
    let given = a.moe_expert_rank_capacity_factor.is_some();
    let violation = match a.moe_flex_dispatcher_backend {
        FlexBackend::HybridEp if !a.use_transformer_engine_op_fuser => Problem::warning(
            &[CAPACITY, fuser],
            "Megatron refuses moe_expert_rank_capacity_factor with hybridep unless use_transformer_engine_op_fuser or moe_use_grouped_tensor is on",
        ),
        FlexBackend::NcclEp if !a.use_transformer_engine_op_fuser || !a.moe_grouped_gemm => {
            let message = "moe_expert_rank_capacity_factor with ncclep needs use_transformer_engine_op_fuser and moe_grouped_gemm";
            let violation = Problem::error(&[CAPACITY, fuser, grouped], message);
            if a.moe_grouped_gemm {
                violation.fix(fuser, On)
            } else if a.use_transformer_engine_op_fuser {
                violation.fix(grouped, On)
            } else {
                violation
            }
        }
        FlexBackend::HybridEp | FlexBackend::NcclEp | FlexBackend::DeepEp => return None,
    };
    given.then(|| violation.fix(CAPACITY, Default))
}

fn excludes_offload_modules(d: &Draft<'_>) -> Option<Problem> {
    use OffloadModule::{ExpertFc1, FusedGroupMlp, MoeAct};
    let modules = [ExpertFc1, MoeAct, FusedGroupMlp].into_iter();
    let mut offloaded = modules.filter(|module| d.args.offload_modules.contains(*module));
    let module = offloaded.next().filter(|_| d.args.moe_paged_stash)?;
    let message = format!(
        "moe_paged_stash excludes offload module {}: it keeps what experts save itself",
        module.name()
    );
    let field = F::offload_modules;
    let violation = Problem::error(&[STASH, field], message).fix(STASH, Off);
    Some(if d.args.fine_grained_activation_offloading {
        violation
    } else {
        violation.fix(field, Default)
    })
}
