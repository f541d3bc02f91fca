//! Tensors of a fixed size for experts, and the paged stash that keeps them (`TransformerConfig.__post_init__`,
//! `_NCCLEPManager.__init__`).

use super::rule::FixValue::{Default, Name, Number, Off, On};
use super::rule::{Rule, Violation, rule, warning};
use crate::config::choices::{FlexBackend, OffloadModule};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    rule("rank_capacity", needs_backend),
    rule("rank_capacity", needs_fused_experts),
    warning("rank_capacity", overflows),
    rule("paged_stash", needs_capacity),
    rule("paged_stash", excludes_layers_on_the_host),
    rule("paged_stash", excludes_offload_modules),
];

const CAPACITY: F = F::moe_expert_rank_capacity_factor;
const STASH: F = F::moe_paged_stash;

fn needs_backend(d: &Draft<'_>) -> Option<Violation> {
    let backend = F::moe_flex_dispatcher_backend;
    let given = d.args.moe_expert_rank_capacity_factor.is_some();
    (given && d.args.moe_flex_dispatcher_backend == FlexBackend::DeepEp).then(|| {
        let message = "moe_expert_rank_capacity_factor needs moe_flex_dispatcher_backend hybridep or ncclep";
        Violation::error(&[CAPACITY, backend], message)
            .fix(backend, Name("hybridep"))
            .fix(CAPACITY, Default)
    })
}

/// With `HybridEP`, `moe_use_grouped_tensor` would do too.
fn needs_fused_experts(d: &Draft<'_>) -> Option<Violation> {
    let (fuser, grouped) = (F::use_transformer_engine_op_fuser, F::moe_grouped_gemm);
    let a = &d.args;
    let given = a.moe_expert_rank_capacity_factor.is_some() && d.has_experts();
    let violation = match a.moe_flex_dispatcher_backend {
        FlexBackend::HybridEp if !a.use_transformer_engine_op_fuser => Violation::warning(
            &[CAPACITY, fuser],
            "moe_expert_rank_capacity_factor with hybridep needs use_transformer_engine_op_fuser or moe_use_grouped_tensor",
        ),
        FlexBackend::NcclEp if !a.use_transformer_engine_op_fuser || !a.moe_grouped_gemm => {
            let message = "moe_expert_rank_capacity_factor with ncclep needs use_transformer_engine_op_fuser and moe_grouped_gemm";
            let violation = Violation::error(&[CAPACITY, fuser, grouped], message);
            if a.moe_grouped_gemm {
                violation.fix(fuser, On)
            } else if a.use_transformer_engine_op_fuser {
                violation.fix(grouped, On)
            } else {
                violation
            }
        }
        _ => return None,
    };
    given.then(|| violation.fix(CAPACITY, Default))
}

/// Megatron runs a step again without fixed sizes where a rank gets more tokens than it has room for.
fn overflows(d: &Draft<'_>) -> Option<Violation> {
    let imbalance = F::expert_load_imbalance;
    let capacity = d.args.moe_expert_rank_capacity_factor?;
    (d.has_experts() && d.args.expert_load_imbalance > capacity).then(|| {
        let message = format!(
            "expert_load_imbalance {} is above moe_expert_rank_capacity_factor {capacity}: Megatron runs such steps again \
             without tensors of a fixed size, and they need more memory than is counted",
            d.args.expert_load_imbalance
        );
        Violation::warning(&[imbalance, CAPACITY], message).fix(CAPACITY, Default)
    })
}

fn needs_capacity(d: &Draft<'_>) -> Option<Violation> {
    let missing = d.args.moe_expert_rank_capacity_factor.is_none();
    (d.args.moe_paged_stash && missing).then(|| {
        let message = "moe_paged_stash needs moe_expert_rank_capacity_factor";
        Violation::error(&[STASH, CAPACITY], message).fix(STASH, Off)
    })
}

fn excludes_layers_on_the_host(d: &Draft<'_>) -> Option<Violation> {
    let layers = F::cpu_offloading_num_layers;
    (d.args.moe_paged_stash && d.args.cpu_offloading_num_layers > 0).then(|| {
        Violation::error(&[STASH, layers], "moe_paged_stash excludes cpu_offloading_num_layers")
            .fix(layers, Number(0))
            .fix(STASH, Off)
    })
}

fn excludes_offload_modules(d: &Draft<'_>) -> Option<Violation> {
    use OffloadModule::{ExpertFc1, FusedGroupMlp, MoeAct};
    let modules = [ExpertFc1, MoeAct, FusedGroupMlp].into_iter();
    let mut offloaded = modules.filter(|module| d.args.offload_modules.contains(*module));
    let module = offloaded.next().filter(|_| d.args.moe_paged_stash)?;
    let message = format!(
        "moe_paged_stash excludes offload module {}: it keeps what experts save itself",
        module.name()
    );
    let field = F::offload_modules;
    let violation = Violation::error(&[STASH, field], message).fix(STASH, Off);
    Some(if d.args.fine_grained_activation_offloading {
        violation
    } else {
        violation.fix(field, Default)
    })
}
