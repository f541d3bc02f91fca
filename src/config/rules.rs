//! Rules over several fields: what Megatron refuses, with its reason and what would work instead,
//! and what it accepts but a planner should know.

mod adapters;
mod batch;
mod command;
mod compressed_attention;
mod context_parallel;
mod encoder;
mod fp8;
mod fp8_attention;
mod fp8_output;
mod fsdp;
mod gpu;
mod graphs;
mod hybrid;
mod hyper_connections;
mod kernels;
mod kimi;
mod labels;
mod launcher;
mod layer_norms_in_fp32;
mod layer_sizes;
mod linear_attention;
mod mamba_beside_attention;
mod model;
mod moe;
mod moe_pools;
mod op_fuser;
mod optimizer;
mod overlap;
mod packing;
mod parallel_attention;
mod parallelism;
mod placement;
mod recompute;
mod refusals;
mod rule;
mod separate_moe_norms;
mod sparse_attention;
mod stages;
mod stash;
mod step_time;
mod torch_fsdp2;

pub use refusals::Refusals;
pub(super) use stages::{stages, stages_of};

use self::rule::Rule;
use super::choices::Launcher;
use super::draft::Draft;
use super::problem::{Problem, Severity, is_refused_by_launcher};

/// Every rule, in the order in which its problems are shown.
const TABLES: [&[Rule]; 36] = [
    hybrid::RULES,
    model::RULES,
    hyper_connections::RULES,
    layer_sizes::RULES,
    labels::RULES,
    parallel_attention::RULES,
    layer_norms_in_fp32::RULES,
    mamba_beside_attention::RULES,
    kimi::RULES,
    linear_attention::RULES,
    sparse_attention::RULES,
    compressed_attention::RULES,
    kernels::RULES,
    context_parallel::RULES,
    encoder::RULES,
    moe::RULES,
    separate_moe_norms::RULES,
    moe_pools::RULES,
    op_fuser::RULES,
    stash::RULES,
    parallelism::RULES,
    placement::RULES,
    batch::RULES,
    packing::RULES,
    recompute::RULES,
    overlap::RULES,
    optimizer::RULES,
    fsdp::RULES,
    torch_fsdp2::RULES,
    fp8::RULES,
    fp8_attention::RULES,
    fp8_output::RULES,
    gpu::RULES,
    graphs::RULES,
    adapters::RULES,
    step_time::RULES,
];

/// The problem of every rule that a module breaks.
pub(super) fn problems(draft: &Draft<'_>) -> Vec<Problem> {
    let broken = |rule: &Rule| {
        let problem = (rule.check)(draft)?;
        debug_assert!(
            !rule.only_warns || problem.severity == Severity::Warning,
            "{} is in a table as a warning and is none",
            rule.name
        );
        Some(problem.of(draft.context.module, rule.name))
    };
    let mut problems: Vec<Problem> = TABLES.into_iter().flatten().filter_map(broken).collect();
    if draft.args.launcher == Launcher::MegatronLm {
        problems.extend(of_megatron_lm().filter_map(broken));
        for problem in &mut problems {
            problem.stops_launcher = stops_launcher(problem);
        }
    }
    problems
}

/// Whether Megatron-LM's own launcher stops at a problem that is only warned of under others.
fn stops_launcher(problem: &Problem) -> bool {
    let own = |name| of_megatron_lm().any(|rule| rule.name == name);
    problem.severity == Severity::Warning && (is_refused_by_launcher(problem.rule) || own(problem.rule))
}

/// The rules that only Megatron-LM's own launcher has.
fn of_megatron_lm() -> impl Iterator<Item = &'static Rule> {
    launcher::RULES.iter().chain(command::RULES)
}

/// Whether a problem is something that a command of Megatron-LM leaves open, and that an export adds.
pub(super) fn is_left_open(problem: &Problem) -> bool {
    command::RULES.iter().any(|rule| rule.name == problem.rule)
}

/// The name of every rule; rules of one concern share a name.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().flatten().map(|rule| rule.name)
}
