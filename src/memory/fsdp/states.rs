//! Weights, main gradients, main parameters and moments of Megatron FSDP.

use super::Fsdp;
use crate::config::choices::FsdpDtype;
use crate::config::field::Decimal;
use crate::config::job::Module;
use crate::memory::parameters::Count;
use crate::memory::state_rule::{AppliesTo, GradientCopy, StateRule};
use crate::model::quantization::quantizes_parameters;
use crate::parallel::groups::View;

/// The rules of one view, where `rules` are those of the optimizer without FSDP.
pub(crate) fn state_rules(m: &Module, view: View, rules: impl FnOnce(u64) -> [StateRule; 5]) -> Option<[StateRule; 5]> {
    let fsdp = Fsdp::of(m)?;
    let optimizer = fsdp.optimizer_ranks(view);
    let [.., exp_avg, exp_avg_sq] = rules(optimizer);
    let in_fp8 = quantizes_parameters(m);
    let rule = |bytes: u64, fp8_bytes: u64, shard| StateRule {
        applies_to: AppliesTo::All,
        bytes,
        fp8_saving: if in_fp8 { bytes.saturating_sub(fp8_bytes) } else { 0 },
        bytes_in_fp32: bytes,
        shard,
        on_gpu: Decimal::ONE,
    };
    let grads = |fp8| fsdp.main_grads_dtype(fp8).bytes();
    let main = fsdp.main_params.bytes();
    let weights = [false, true].map(|fp8| fsdp.weight_bytes(fp8));
    Some([
        rule(weights[0], weights[1], fsdp.weight_ranks(view)),
        rule(grads(false), grads(true), fsdp.grad_ranks(view)),
        StateRule {
            applies_to: match fsdp.main_params {
                FsdpDtype::Auto => AppliesTo::None,
                _ => AppliesTo::All,
            },
            ..rule(main, main, optimizer)
        },
        exp_avg,
        exp_avg_sq,
    ])
}

/// The copies that the optimizer step makes of gradients in another dtype than that of the main parameters; `None`
/// without Megatron FSDP (`ParamAndGradBuffer.update_main_grads`).
pub(crate) fn gradient_copy(m: &Module) -> Option<GradientCopy> {
    let fsdp = Fsdp::of(m)?;
    if fsdp.decoupled_grad || fsdp.main_params == FsdpDtype::Auto {
        return Some(GradientCopy {
            bytes: 0,
            elements: |_| 0,
        });
    }
    let copied = |fp8| fsdp.main_grads_dtype(fp8) != fsdp.main_params;
    let elements: fn(&Count) -> u64 = match (copied(false), quantizes_parameters(m), copied(true)) {
        (true, false, _) | (true, true, true) => |count| count.elements,
        (true, true, false) => |count| count.elements - count.quantized,
        (false, true, true) => |count| count.quantized,
        (false, ..) => |_| 0,
    };
    Some(GradientCopy {
        bytes: fsdp.main_params.bytes(),
        elements,
    })
}
