//! Megatron-LM's command line, as a bash array and as `MODEL_ARGS` YAML.

use core::fmt::Write;

use super::arguments::{Argument, arguments, quoted};
use super::heterogeneous;
use super::launcher;
use super::launcher_changes;
use crate::config::canonical::{Meaning, hybrid_pattern, is_on, meaning};
use crate::config::choices::HybridStackSpec;
use crate::config::condition::Condition;
use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::config::launcher_arguments::{LauncherArguments, text_of};
use crate::config::parse::Parsed;
use crate::config::raw::{RawJob, Settings};
use crate::config::relevance::Relevance;
use crate::formats::dialects::dev_branch;
use crate::formats::dialects::megatron_lm::MEGATRON_LM;
use crate::formats::megatron_args::{self, Arity};
use crate::value::Value;

/// The module with the specs of hybrid models.
const HYBRID_SPECS: &str = "megatron.core.models.hybrid.hybrid_layer_specs";

/// The program that trains a job.
pub(super) fn program(settings: &Settings) -> &'static str {
    match hybrid_pattern(settings) {
        Some(_) => "pretrain_hybrid.py",
        None => "pretrain_gpt.py",
    }
}

/// A flag with the words of its value. `many` is whether the flag takes a list.
struct Flag {
    name: String,
    words: Vec<String>,
    many: bool,
}

/// The flags that a job needs: those of arguments that differ from Megatron-LM's defaults, and those of [`launcher`].
fn flags(settings: &Settings) -> Vec<Flag> {
    let layout = FieldId::pipeline_model_parallel_layout;
    let has_layout = matches!(meaning(layout, settings.get(layout)), Meaning::Is(_));
    let all = arguments(settings, &MEGATRON_LM);
    let is_hybrid = hybrid_pattern(settings).is_some();
    // A list without names is no argument, and nothing is recomputed then.
    let recomputes_nothing = all
        .iter()
        .any(|argument| argument.id == FieldId::recompute_modules && argument.words().is_empty());
    let relevance = Relevance::of_settings(settings);
    let stated = text_of(settings);
    let stated = LauncherArguments::new(stated.as_deref());
    let left_open = |name: &&str| !stated.has(name);
    all.iter()
        .filter(|argument| has_effect(settings, &relevance, argument.id))
        .filter(|argument| !(recomputes_nothing && of_selective_recompute(argument.id)))
        .filter(|argument| !((has_layout || is_hybrid) && counts_virtual_stages(argument.id)))
        // The pattern says how many layers there are.
        .filter(|argument| !(is_hybrid && argument.id == FieldId::num_layers))
        .filter(|argument| argument.id != FieldId::spec)
        .filter_map(|argument| flag(settings, argument))
        .chain(is_hybrid.then(|| spec(settings)))
        .chain(positions(settings))
        .chain(plain_quick_geglu(settings))
        .chain(launcher::switches(settings).filter(left_open).map(switch))
        .chain(
            launcher::values(settings)
                .filter(|(name, _)| left_open(name))
                .map(several),
        )
        .chain(
            stated
                .iter()
                .map(|(name, values)| several((name, values.into_iter().map(str::to_owned).collect()))),
        )
        .chain(heterogeneous::flags(settings).into_iter().map(|(name, word)| Flag {
            words: word.into_iter().collect(),
            ..switch(name)
        }))
        .chain(checkpoints(settings))
        .collect()
}

/// Whether a field changes the job, or the launcher looks at it all the same: at the width of heads with multi-latent
/// attention, at how stages are cut, and for the precision-aware optimizer at the recipe of fp8
/// (`OptimizerConfig.__post_init__`).
fn has_effect(settings: &Settings, relevance: &Relevance, id: FieldId) -> bool {
    let read = match id {
        FieldId::kv_channels => true,
        FieldId::fp8_recipe => is_on(settings, FieldId::use_precision_aware_optimizer),
        _ => id.field().relevant_if == Some(Condition::PipelineStages),
    };
    read || relevance.has(id)
}

/// Whether a field asks for selective recompute.
fn of_selective_recompute(id: FieldId) -> bool {
    matches!(id, FieldId::recompute_granularity | FieldId::recompute_modules)
}

/// The only format of checkpoints that Megatron FSDP runs with.
fn checkpoints(settings: &Settings) -> Option<Flag> {
    is_on(settings, FieldId::use_megatron_fsdp).then(|| Flag {
        words: vec!["fsdp_dtensor".to_owned()],
        ..switch("ckpt-format")
    })
}

/// The spec of a hybrid model.
pub(super) fn stack_spec(settings: &Settings) -> HybridStackSpec {
    let spec = match meaning(FieldId::spec, settings.get(FieldId::spec)) {
        Meaning::Is(Parsed::Choice(index)) => HybridStackSpec::at(index),
        _ => None,
    };
    spec.unwrap_or(HybridStackSpec::HybridStackSpec)
}

/// What the letters of a pattern stand for, which Megatron-LM has no default for (`hybrid_builder`): a module and a
/// function in it.
fn spec(settings: &Settings) -> Flag {
    Flag {
        words: vec![HYBRID_SPECS.to_owned(), stack_spec(settings).name().to_owned()],
        many: true,
        ..switch("spec")
    }
}

/// The flag `--max-position-embeddings` where the job leaves it open: Megatron-LM requires it, and the sequence length
/// is this calculator's default.
fn positions(settings: &Settings) -> Option<Flag> {
    let number = |id| match meaning(id, settings.get(id)) {
        Meaning::Is(Parsed::Int(number)) => Some(number),
        _ => None,
    };
    let length = number(FieldId::seq_length)?;
    let open = number(FieldId::max_position_embeddings).is_none();
    open.then(|| Flag {
        name: "max-position-embeddings".to_owned(),
        words: vec![length.to_string()],
        many: false,
    })
}

/// Whether a field sets the number of virtual stages. Megatron-LM refuses such a field beside a pipeline layout or the
/// pattern of a hybrid model, which set the number too.
fn counts_virtual_stages(id: FieldId) -> bool {
    matches!(
        id,
        FieldId::virtual_pipeline_model_parallel_size
            | FieldId::num_virtual_stages_per_pipeline_rank
            | FieldId::num_layers_per_virtual_pipeline_stage
    )
}

/// A flag without a value.
fn switch(name: &str) -> Flag {
    Flag {
        name: name.to_owned(),
        words: Vec::new(),
        many: false,
    }
}

/// A flag with these values.
fn several((name, words): (&str, Vec<String>)) -> Flag {
    Flag {
        many: words.len() > 1,
        words,
        ..switch(name)
    }
}

/// The flag with which Megatron-LM's launcher computes `quick_geglu` operation by operation: that of GELU, where the
/// job's launcher has another one.
fn plain_quick_geglu(settings: &Settings) -> Option<Flag> {
    let on = |id| is_on(settings, id);
    let is_plain = on(FieldId::quick_geglu) && !on(FieldId::swiglu) && !on(FieldId::bias_swiglu_fusion);
    let takes_flag = on(FieldId::add_bias_linear) && on(FieldId::bias_gelu_fusion);
    (is_plain && takes_flag && !launcher::is_own(settings)).then(|| switch("no-bias-gelu-fusion"))
}

/// Whether a value is the absence of a flag of the dev branch.
fn is_off(means: &Meaning) -> bool {
    matches!(means, Meaning::Nothing | Meaning::Is(Parsed::Flag(false)))
}

/// The flag of an argument; `None` where Megatron-LM has none, or where the argument's value is the flag's absence.
fn flag(settings: &Settings, argument: &Argument) -> Option<Flag> {
    if argument.id == FieldId::virtual_pipeline_model_parallel_size {
        return Some(Flag {
            words: argument.words(),
            ..switch("num-virtual-stages-per-pipeline-rank")
        });
    }
    if let Some(destination) = dev_branch::destination_of(settings, argument.id) {
        return (!is_off(&argument.means)).then(|| Flag {
            words: if argument.is_on() { Vec::new() } else { argument.words() },
            ..switch(&destination.replace('_', "-"))
        });
    }
    let flag = argument.id.flag()?;
    match (flag.arity, &argument.means) {
        (Arity::Switch, Meaning::Is(Parsed::Flag(true)))
        | (Arity::InvertedSwitch, Meaning::Is(Parsed::Flag(false))) => Some(switch(flag.name)),
        (Arity::One | Arity::Many, Meaning::Is(_)) => Some(Flag {
            words: argument.words(),
            many: flag.arity == Arity::Many,
            ..switch(flag.name)
        }),
        _ => None,
    }
}

/// The fields of a job that differ from Megatron-LM's defaults and for which Megatron-LM has no flag.
#[must_use]
pub fn without_flag(job: &RawJob) -> Vec<FieldId> {
    let all = arguments(&job.shared, &MEGATRON_LM);
    all.iter()
        .filter(|argument| flag(&job.shared, argument).is_none() && argument.id != FieldId::world_size)
        .filter(|argument| argument.id != FieldId::layer_sizes || !heterogeneous::has(&job.shared))
        .map(|argument| argument.id)
        .collect()
}

/// Comments that name what has to be changed by hand, and the fields without a flag, other than those of the hardware,
/// which are no arguments of Megatron-LM.
fn comments(job: &RawJob) -> String {
    let mut out = launcher::comments(&job.shared);
    let lost = without_flag(job).into_iter();
    for id in lost.filter(|id| id.field().group != Group::Hardware) {
        let _ = writeln!(out, "# Megatron-LM has no flag for {}.", id.field().name);
    }
    out
}

/// The job whose arguments are written, and the comments above them.
fn written(job: &RawJob) -> (RawJob, String) {
    let (accepted, changes) = launcher_changes::accepted(job);
    let comments = launcher_changes::comment(job, &accepted, &changes) + &comments(&accepted);
    (accepted, comments)
}

/// Bash: comments, exports of environment variables, and an array of the flags.
pub(super) fn array(job: &RawJob) -> String {
    let (job, mut out) = written(job);
    for (name, value) in launcher::variables(&job.shared) {
        let _ = writeln!(out, "export {name}={value}");
    }
    out.push_str("MEGATRON_ARGS=(\n");
    for flag in flags(&job.shared) {
        out.push_str("    --");
        out.push_str(&flag.name);
        for word in &flag.words {
            // The parser takes a word that begins with a dash for another flag.
            out.push(if word.starts_with('-') { '=' } else { ' ' });
            out.push_str(&quoted(word));
        }
        out.push('\n');
    }
    out.push_str(")\n");
    out
}

/// A bash script: [`array`], and the `torchrun` command where the number of GPUs is known.
#[must_use]
pub fn script(job: &RawJob) -> String {
    let mut out = array(job);
    let number = |id| match meaning(id, job.shared.get(id)) {
        Meaning::Is(Parsed::Int(i)) => Some(i),
        _ => None,
    };
    if let (Some(gpus), Some(node)) = (number(FieldId::world_size), number(FieldId::gpus_per_node)) {
        let (nodes, node) = if gpus.is_multiple_of(node) {
            (gpus / node, node)
        } else {
            (1, gpus)
        };
        let program = program(&job.shared);
        let _ = writeln!(
            out,
            "torchrun --nproc_per_node {node} --nnodes {nodes} {program} \"${{MEGATRON_ARGS[@]}}\""
        );
    }
    out
}

/// YAML with `ENV_VARS` and `MODEL_ARGS`, as Megatron-LM's functional tests have them.
#[must_use]
pub fn yaml(job: &RawJob) -> String {
    let (job, mut out) = written(job);
    let variables = launcher::variables(&job.shared);
    if !variables.is_empty() {
        out.push_str("ENV_VARS:\n");
    }
    for (name, value) in variables {
        let _ = writeln!(out, "  {name}: {value}");
    }
    out.push_str("MODEL_ARGS:\n");
    for flag in flags(&job.shared) {
        let arity = megatron_args::arity(&flag.name);
        let value = match (arity, flag.words.as_slice()) {
            // A switch of the dev branch is unknown to the pinned revision.
            (Some(Arity::Switch | Arity::InvertedSwitch), _) | (None, []) => "true".to_owned(),
            (_, words) if flag.many && words.len() != 1 => Value::Text(format!("[{}]", words.join(" "))).to_string(),
            (_, [word]) if word.bytes().all(|b| b.is_ascii_digit() || b == b'.') => word.clone(),
            (_, words) => Value::Text(words.join(" ")).to_string(),
        };
        let _ = writeln!(out, "  --{}: {value}", flag.name);
    }
    out
}
