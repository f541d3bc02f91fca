//! The reasons, one function each: a [`Difference`] where it applies to the module.

mod activations;
mod attention;
mod mlp;
mod mtp;
mod other_parameters;
mod pipeline_stages;
mod states;

use super::Framework::{self, MegatronBridge, MegatronLm};
use super::{Difference, FullestStage};

const BOTH: &[Framework] = &[MegatronLm, MegatronBridge];

/// Every reason.
pub(super) const ALL: &[fn(&FullestStage<'_>) -> Option<Difference>] = &[
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
