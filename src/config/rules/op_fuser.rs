//! What Transformer Engine's fused operations need (`TEGroupedMLP._is_fused_impl_supported`, and the assertion that
//! calls it).

use super::rule::FixValue::{Default, Number, Off, On};
use super::rule::rules;
use crate::config::choices::OffloadModule::{ExpertFc1, FusedGroupMlp, MoeAct};
use crate::config::choices::RecomputeModule;
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::job::Activation;
use crate::config::problem::Problem;

rules! { |d, a|
    error "op_fuser" if fuses(d) && d.etp > 1 => [use_transformer_engine_op_fuser, expert_tensor_parallel_size],
        format!(
            "use_transformer_engine_op_fuser with moe_grouped_gemm needs expert_tensor_parallel_size 1, not {}",
            d.etp
        ),
        [expert_tensor_parallel_size = Number(1), use_transformer_engine_op_fuser = Off];
    error "op_fuser" by(knows_activations);
    error "op_fuser" if fuses(d) && (d.offloads(ExpertFc1) || d.offloads(MoeAct))
        => [use_transformer_engine_op_fuser, offload_modules],
        "use_transformer_engine_op_fuser does not support offload modules expert_fc1 and moe_act",
        [use_transformer_engine_op_fuser = Off, offload_modules = Default];
    error "op_fuser" by(offloads_fused_experts);
}

const FUSER: F = F::use_transformer_engine_op_fuser;

/// Whether fused operations run the routed experts.
fn fuses(d: &Draft<'_>) -> bool {
    d.args.use_transformer_engine_op_fuser && d.args.moe_grouped_gemm && d.has_experts()
}

fn knows_activations(d: &Draft<'_>) -> Option<Problem> {
    let field = F::use_fused_weighted_squared_relu;
    let known = match d.activation {
        Activation::SwiGlu | Activation::QuickGeGlu => true,
        Activation::SquaredRelu => d.args.use_fused_weighted_squared_relu,
        Activation::Gelu | Activation::GeGlu | Activation::SiTu => false,
    };
    (fuses(d) && !known).then(|| {
        let message = "use_transformer_engine_op_fuser with moe_grouped_gemm needs swiglu, quick_geglu, or squared_relu \
                       with use_fused_weighted_squared_relu";
        let violation = Problem::error(&[FUSER, F::swiglu, field], message);
        let violation = if d.activation == Activation::SquaredRelu {
            violation.fix(field, On)
        } else {
            violation
        };
        violation.fix(FUSER, Off)
    })
}

/// Offload module `fused_group_mlp` is the fused operation as a whole.
fn offloads_fused_experts(d: &Draft<'_>) -> Option<Problem> {
    let field = F::offload_modules;
    let (fields, message): (&[F], _) = if !d.args.use_transformer_engine_op_fuser {
        let message = "offload module fused_group_mlp needs use_transformer_engine_op_fuser";
        (&[field, FUSER], message)
    } else if d.offloads(ExpertFc1) || d.offloads(MoeAct) {
        let message = "offload module fused_group_mlp excludes expert_fc1 and moe_act, which are parts of it";
        (&[field], message)
    } else if d.recomputes(RecomputeModule::Moe) {
        let message =
            "offload module fused_group_mlp excludes recompute module moe: it runs the experts again as a whole";
        (&[field, F::recompute_modules], message)
    } else {
        return None;
    };
    d.offloads(FusedGroupMlp).then(|| Problem::error(fields, message))
}
