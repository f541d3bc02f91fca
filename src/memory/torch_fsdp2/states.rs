//! Weights, gradients, main parameters and moments of PyTorch's FSDP2.

use super::{one_micro_batch, ranks};
use crate::config::job::Module;
use crate::memory::state_rule::{AppliesTo, GradientCopy, StateRule};

/// The rules of states, where `rules` are those of the optimizer whose states so many ranks share.
pub(crate) fn state_rules(m: &Module, rules: impl FnOnce(u64) -> [StateRule; 5]) -> Option<[StateRule; 5]> {
    if !m.args.use_torch_fsdp2 {
        return None;
    }
    let shard = ranks(m);
    let [weights, grads, main_params, exp_avg, exp_avg_sq] = rules(shard);
    let grads = StateRule {
        applies_to: if one_micro_batch(m) {
            AppliesTo::None
        } else {
            AppliesTo::All
        },
        bytes: m.precision.bytes(),
        shard,
        ..grads
    };
    Some([StateRule { shard, ..weights }, grads, main_params, exp_avg, exp_avg_sq])
}

/// What the optimizer step adds: gradients in fp32 take the place of those in bf16, parameter by parameter, and stay
/// until gradients are zeroed (`Float16OptimizerWithFloat16Params._copy_model_grads_to_main_grads`); in fp32 training
/// the gradients themselves do. `None` without FSDP2.
pub(crate) fn gradient_copy(m: &Module) -> Option<GradientCopy> {
    let counted = if one_micro_batch(m) { 0 } else { m.precision.bytes() };
    m.args.use_torch_fsdp2.then(|| GradientCopy {
        bytes: 4 - counted,
        elements: |count| count.elements,
    })
}
