//! The reasons, one function each: a [`Difference`] where it applies to the module.

mod activations;
mod attention;
mod hybrid;
mod mlp;
mod mtp;
mod other_parameters;
mod pipeline_stages;
mod states;

use super::difference::{Difference, Framework};
use super::fullest_stage::FullestStage;

/// The reasons that apply to a hybrid model. Megatron-LM refuses it, and what depends on whole layers says nothing of
/// it.
pub(super) fn of_hybrid(fullest: &FullestStage<'_>) -> Vec<Difference> {
    let of_bridge = HYBRID.iter().filter_map(|reason| reason(fullest));
    let of_bridge = of_bridge.filter(|found| found.frameworks.contains(&Framework::MegatronBridge));
    let of_bridge = of_bridge.map(|found| Difference {
        frameworks: &[Framework::MegatronBridge],
        ..found
    });
    hybrid::refused(fullest).into_iter().chain(of_bridge).collect()
}

type Reason = fn(&FullestStage<'_>) -> Option<Difference>;

/// The reasons that hold whatever the layers are made of.
const HYBRID: &[Reason] = &[
    hybrid::letters,
    states::bytes_of_a_parameter,
    mlp::third_projection,
    pipeline_stages::ends_added_up,
    mtp::mtp_projection,
    mtp::mtp_embedding,
    mlp::router,
    mlp::latent_projections,
    other_parameters::biases,
    attention::qk_norms,
    attention::sinks,
    other_parameters::positions,
    mlp::shared_expert_gate,
    activations::formula_of_megatron_bridge,
];

/// Every reason that may apply to a GPT model.
pub(super) const ALL: &[Reason] = &[
    states::optimizer_shard,
    states::bytes_of_a_parameter,
    attention::latent_attention,
    attention::latent_attention_split,
    mlp::third_projection,
    pipeline_stages::average_stage,
    pipeline_stages::unread_split,
    pipeline_stages::ends_added_up,
    mtp::mtp_projection,
    mtp::mtp_embedding,
    mlp::router,
    other_parameters::norms,
    mlp::latent_projections,
    other_parameters::biases,
    attention::qk_norms,
    attention::sinks,
    other_parameters::positions,
    mlp::shared_expert_gate,
    activations::formula_of_megatron_lm,
    activations::formula_of_megatron_bridge,
];
