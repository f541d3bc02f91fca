//! Keeping fewer activations: recomputing them, or moving them to the host.

use super::{change, on, subsets};
use crate::config::NameSet;
use crate::config::choices::{OffloadModule, RecomputeGranularity, RecomputeModule, TransformerImpl};
use crate::config::fields::FieldId as F;
use crate::config::job::Module;
use crate::fit::cost::{ChangeKind, Cost};
use crate::fit::offer::Change;
use crate::memory::savings::{Choice, choice_of, choices, recomputed_ppm};
use crate::value::Value;

/// The most kinds of modules of which all subsets are tried: each one more doubles their number.
const MOST_MODULES: usize = 8;

/// Selective recompute of every set of modules that contains those of the job, and full recompute of layers.
pub(super) fn recompute(m: &Module) -> Vec<Change> {
    let modules = recomputable(m);
    let now = choice_of(m);
    let kept: Vec<RecomputeModule> = match now {
        Choice::Selective(set) => set.iter().collect(),
        _ => Vec::new(),
    };
    let extends = |set: &Vec<RecomputeModule>| kept.iter().all(|module| set.contains(module));
    let sets = subsets(&modules).into_iter().filter(extends);
    let mut tried: Vec<Choice> = match m.args().recompute_granularity {
        Some(RecomputeGranularity::Full) => Vec::new(),
        _ => sets.map(|set| Choice::Selective(NameSet::of(&set))).collect(),
    };
    for layers in 1..=layers_of_a_chunk(m) {
        tried.extend([Choice::Block(layers), Choice::Uniform(layers)]);
    }
    let tried = tried.into_iter().filter(|choice| *choice != now);
    tried.map(|choice| recompute_as(m, choice)).collect()
}

/// Every way of recomputing that repeats fewer operations than the job's own.
pub(super) fn less_recompute(m: &Module) -> Vec<Change> {
    let now = Cost::Recomputed(recomputed_ppm(m, choice_of(m)));
    let sets = subsets(&recomputable(m)).into_iter();
    let mut tried: Vec<Choice> = sets.map(|set| Choice::Selective(NameSet::of(&set))).collect();
    tried.push(Choice::Nothing);
    tried.extend((1..=layers_of_a_chunk(m)).map(Choice::Block));
    let changes = tried.into_iter().map(|choice| recompute_as(m, choice));
    changes.filter(|change| change.cost < now).collect()
}

/// The modules that selective recompute has for a module's layers.
fn recomputable(m: &Module) -> Vec<RecomputeModule> {
    let mut modules: Vec<RecomputeModule> = Vec::new();
    for choice in choices(m) {
        if let Choice::Selective(set) = choice {
            modules.extend(set.iter());
        }
    }
    modules.sort_unstable_by_key(|module| module.name());
    modules.dedup();
    modules.truncate(MOST_MODULES);
    modules
}

/// The layers of the longest chunk.
fn layers_of_a_chunk(m: &Module) -> u64 {
    let chunks = m.stages().chunks().iter();
    let layers = chunks.map(|chunk| u64::from(chunk.num_layers())).max();
    layers.unwrap_or(1).max(1)
}

fn recompute_as(m: &Module, choice: Choice) -> Change {
    let cost = Cost::Recomputed(recomputed_ppm(m, choice));
    let label = match choice {
        Choice::Uniform(_) | Choice::Block(_) => choice.label().replacen("full", "full recompute", 1),
        _ => format!("recompute {}", choice.label()),
    };
    let settings = recompute_settings(choice);
    change(ChangeKind::Recompute, label, cost, settings)
}

/// The settings of a way of recomputing. What is offloaded stays.
fn recompute_settings(choice: Choice) -> Vec<(F, Value)> {
    let of_recompute = [
        F::recompute_granularity,
        F::recompute_method,
        F::recompute_num_layers,
        F::recompute_modules,
    ];
    let settings = choice.settings().into_iter();
    settings.filter(|(field, _)| of_recompute.contains(field)).collect()
}

/// Offloading of every set of modules that contains those of the job.
pub(super) fn offload(m: &Module) -> Vec<Change> {
    let a = m.args();
    if a.transformer_impl != TransformerImpl::TransformerEngine {
        return Vec::new();
    }
    let kept = offloaded(m);
    let of_experts = [OffloadModule::ExpertFc1, OffloadModule::MoeAct];
    let as_a_whole = OffloadModule::FusedGroupMlp;
    let of_hybrid = |module: &OffloadModule| module.name().starts_with("gdp");
    let fuses = a.use_transformer_engine_op_fuser && a.moe_grouped_gemm;
    let sensible = |module: &OffloadModule| {
        (m.moe.is_some() && !fuses || !of_experts.contains(module))
            && (m.moe.is_some() && fuses || *module != as_a_whole)
            && (m.hybrid().is_some() || !of_hybrid(module))
    };
    let modules: Vec<OffloadModule> = OffloadModule::ALL.iter().copied().filter(sensible).collect();
    let extends = |set: &Vec<OffloadModule>| set.len() > kept.len() && kept.iter().all(|module| set.contains(module));
    let sets = subsets(&modules).into_iter().filter(extends);
    sets.map(|set| offload_as(&set)).collect()
}

/// Offloading of every set of modules that lacks some of the job's.
pub(super) fn less_offload(m: &Module) -> Vec<Change> {
    let kept = offloaded(m);
    if kept.is_empty() {
        return Vec::new();
    }
    let sets = subsets(&kept).into_iter();
    let fewer = sets.filter(|set| set.len() < kept.len());
    let mut changes: Vec<Change> = fewer.map(|set| offload_as(&set)).collect();
    let settings = [
        (F::fine_grained_activation_offloading, Value::Bool(false)),
        (F::offload_modules, Value::Null),
    ];
    let cost = Cost::OffloadedModules(0);
    changes.push(change(ChangeKind::Offload, "offload nothing", cost, settings));
    changes
}

/// The modules whose activations the job offloads.
fn offloaded(m: &Module) -> Vec<OffloadModule> {
    let a = m.args();
    if a.fine_grained_activation_offloading {
        a.offload_modules.iter().collect()
    } else {
        Vec::new()
    }
}

fn offload_as(modules: &[OffloadModule]) -> Change {
    let names: Vec<&str> = modules.iter().map(|module| module.name()).collect();
    let cost = Cost::OffloadedModules(u64::try_from(modules.len()).unwrap_or(u64::MAX));
    let list = names.iter().map(|name| Value::Text((*name).to_owned()));
    let settings = [
        on(F::fine_grained_activation_offloading),
        (F::offload_modules, Value::List(list.collect())),
        (F::cpu_offloading_num_layers, Value::Null),
    ];
    let label = format!("offload {}", names.join(" + "));
    change(ChangeKind::Offload, label, cost, settings)
}
