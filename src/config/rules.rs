//! Rules over several fields: what Megatron refuses, with its reason and what would work instead,
//! and what it accepts but a planner should know.

mod batch;
mod encoder;
mod linear_attention;
mod model;
mod moe;
mod optimizer;
mod overlap;
mod parallelism;
mod recompute;
mod stages;

pub(super) use stages::stages;

use super::check::Draft;
use super::problem::Problem;

/// A rule looks at one module and reports what is wrong.
type Rule = fn(&Draft<'_>, &mut Vec<Problem>);

/// Every rule, in the order in which its problems are shown.
const RULES: &[Rule] = &[
    model::heads,
    model::query_groups,
    model::latent_attention,
    model::widths,
    model::activations,
    model::vocabulary,
    model::positions,
    linear_attention::heads,
    linear_attention::pattern,
    encoder::images,
    encoder::stages,
    encoder::projector,
    encoder::micro_batch,
    moe::experts,
    moe::layer_freq,
    moe::biases,
    moe::shared_experts,
    moe::dispatch,
    parallelism::world,
    parallelism::experts,
    parallelism::sequence,
    batch::global_batch,
    batch::interleaving,
    recompute::granularity,
    recompute::modules,
    recompute::offloading,
    overlap::expert_communication,
    overlap::deferral,
    optimizer::precision,
    optimizer::dtypes,
    optimizer::distributed,
    optimizer::fp8,
];

/// Asks every rule.
pub(super) fn apply(draft: &Draft<'_>, problems: &mut Vec<Problem>) {
    for rule in RULES {
        rule(draft, problems);
    }
}
