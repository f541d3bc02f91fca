//! Rules over several fields: what Megatron refuses, with its reason and what would work instead,
//! and what it accepts but a planner should know.

mod batch;
mod context_parallel;
mod encoder;
mod fp8;
mod graphs;

mod linear_attention;
mod model;
mod moe;
mod optimizer;
mod overlap;
mod parallelism;
mod recompute;
mod rule;
mod stages;

pub(super) use stages::stages;

use self::rule::Rule;
use super::check::Draft;
use super::problem::Problem;

/// Every rule, in the order in which its problems are shown.
const TABLES: [&[Rule]; 12] = [
    model::RULES,
    linear_attention::RULES,
    context_parallel::RULES,
    encoder::RULES,
    moe::RULES,
    parallelism::RULES,
    batch::RULES,
    recompute::RULES,
    overlap::RULES,
    optimizer::RULES,
    fp8::RULES,
    graphs::RULES,
];

/// Asks every rule.
pub(super) fn apply(draft: &Draft<'_>, problems: &mut Vec<Problem>) {
    for table in TABLES {
        Rule::apply(table, draft, problems);
    }
}
