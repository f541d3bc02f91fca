//! What Transformer Engine's fused operations need (`TEGroupedMLP._is_fused_impl_supported`, and the assertion that
//! calls it).

use super::rule::FixValue::{Default, Number, Off, On};
use super::rule::{Rule, Violation, rule};
use crate::config::choices::{OffloadModule, RecomputeModule};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::job::Activation;

pub(super) const RULES: &[Rule] = &[
    rule("op_fuser", excludes_expert_tensor_parallel),
    rule("op_fuser", knows_activations),
    rule("op_fuser", excludes_offloading),
    rule("op_fuser", offloads_fused_experts),
];

const FUSER: F = F::use_transformer_engine_op_fuser;

/// Whether fused operations run the routed experts.
fn fuses(d: &Draft<'_>) -> bool {
    d.args.use_transformer_engine_op_fuser && d.args.moe_grouped_gemm && d.has_experts()
}

fn excludes_expert_tensor_parallel(d: &Draft<'_>) -> Option<Violation> {
    let field = F::expert_tensor_parallel_size;
    (fuses(d) && d.etp > 1).then(|| {
        let message = format!(
            "use_transformer_engine_op_fuser with moe_grouped_gemm needs expert_tensor_parallel_size 1, not {}",
            d.etp
        );
        Violation::error(&[FUSER, field], message)
            .fix(field, Number(1))
            .fix(FUSER, Off)
    })
}

fn knows_activations(d: &Draft<'_>) -> Option<Violation> {
    let field = F::use_fused_weighted_squared_relu;
    let known = match d.activation {
        Activation::SwiGlu | Activation::QuickGeGlu => true,
        Activation::SquaredRelu => d.args.use_fused_weighted_squared_relu,
        Activation::Gelu | Activation::GeGlu => false,
    };
    (fuses(d) && !known).then(|| {
        let message = "use_transformer_engine_op_fuser with moe_grouped_gemm needs swiglu, quick_geglu, or squared_relu \
                       with use_fused_weighted_squared_relu";
        let violation = Violation::error(&[FUSER, F::swiglu, field], message);
        let violation = if d.activation == Activation::SquaredRelu {
            violation.fix(field, On)
        } else {
            violation
        };
        violation.fix(FUSER, Off)
    })
}

fn excludes_offloading(d: &Draft<'_>) -> Option<Violation> {
    let modules = [OffloadModule::ExpertFc1, OffloadModule::MoeAct];
    let offloaded = modules
        .into_iter()
        .any(|module| d.args.offload_modules.contains(module));
    (fuses(d) && d.args.fine_grained_activation_offloading && offloaded).then(|| {
        let message = "use_transformer_engine_op_fuser does not support offload modules expert_fc1 and moe_act";
        Violation::error(&[FUSER, F::offload_modules], message)
            .fix(FUSER, Off)
            .fix(F::offload_modules, Default)
    })
}

/// Offload module `fused_group_mlp` is the fused operation as a whole.
fn offloads_fused_experts(d: &Draft<'_>) -> Option<Violation> {
    let field = F::offload_modules;
    let has = |module| d.args.offload_modules.contains(module);
    let offloads = d.args.fine_grained_activation_offloading && has(OffloadModule::FusedGroupMlp);
    let parts = has(OffloadModule::ExpertFc1) || has(OffloadModule::MoeAct);
    let (fields, message): (&[F], _) = if !d.args.use_transformer_engine_op_fuser {
        let message = "offload module fused_group_mlp needs use_transformer_engine_op_fuser";
        (&[field, FUSER], message)
    } else if parts {
        let message = "offload module fused_group_mlp excludes expert_fc1 and moe_act, which are parts of it";
        (&[field], message)
    } else if d.recomputes(RecomputeModule::Moe) {
        let message =
            "offload module fused_group_mlp excludes recompute module moe: it runs the experts again as a whole";
        (&[field, F::recompute_modules], message)
    } else {
        return None;
    };
    offloads.then(|| Violation::error(fields, message))
}
