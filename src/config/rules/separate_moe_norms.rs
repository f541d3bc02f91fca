//! Norms of their own around experts: what Megatron-Bridge's Gemma 4 runs with (`_validate_gemma4_moe_orchestration`).

use super::rule::FixValue::{Default, Name, Off};
use super::rule::{Excluded, first_excluded, rules};
use crate::config::choices::{CudaGraphImpl, OffloadModule, RecomputeModule};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;

rules! { |d, a|
    error "separate_moe_norms" by(runs_with);
}

/// The first setting of the job with which these layers do not run.
fn runs_with(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    if !a.separate_moe_norms || !d.has_experts() {
        return None;
    }
    let excluded: [Excluded; 7] = [
        (a.moe_shared_expert_overlap, F::moe_shared_expert_overlap, Off),
        (
            a.cuda_graph_impl != CudaGraphImpl::None,
            F::cuda_graph_impl,
            Name("none"),
        ),
        (d.recomputes(RecomputeModule::Layernorm), F::recompute_modules, Default),
        (d.offloads(OffloadModule::MlpNorm), F::offload_modules, Default),
        (a.fp32_residual_connection, F::fp32_residual_connection, Off),
        (d.mtp_num_layers > 0, F::mtp_num_layers, Default),
        (a.enable_mhc_connections, F::enable_mhc_connections, Off),
    ];
    first_excluded(F::separate_moe_norms, excluded, |name| {
        format!("separate_moe_norms excludes {name}: Megatron-Bridge's layers of Gemma 4 do not run with it")
    })
}
