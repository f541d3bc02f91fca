//! What Megatron-LM refuses and what it takes, against thousands of argument sets that its own launcher has judged.

use std::collections::BTreeMap;

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::problem::Problem;
use megatron_memory::config::{check, launcher_problems};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::value::Value;
use serde_json::Value as Json;

use crate::oracle;

/// Words of the errors of argument sets that are accepted here although Megatron-LM refuses them, how many there are at
/// most, and why.
const ACCEPTED: [(&str, usize, &str); 10] = [
    (
        "validate_args:582",
        24,
        "no field has the sizes of hierarchical context parallelism",
    ),
    (
        "validate_args:584",
        3,
        "no field has the sizes of hierarchical context parallelism",
    ),
    (
        "argument is None",
        11,
        "left out, positions reach as far as the sequence",
    ),
    (
        "cross entropy loss fusion is disabled",
        10,
        "jobs of other launchers have it; an export says so",
    ),
    (
        "no-check-for-nan-in-loss-and-grad",
        7,
        "no field has it; an export adds it",
    ),
    ("full_iteration", 2, "an old spelling beside a new one"),
    ("validate_args:693", 7, "left out, a micro batch is one sample"),
    ("moe-router-pre-softmax", 6, "no field has it; an export adds it"),
    (
        "validate_args:1332",
        2,
        "MLA does not read the width of heads that the launcher derives",
    ),
    (
        "apply_rope_fusion for MLA",
        1,
        "fused rotary embedding is the default of this launcher alone",
    ),
];

/// Rules that refuse argument sets which the launcher takes, since it builds nothing: they are those of the optimizer,
/// of process groups, of the schedule, of layers and of the GPU, which Megatron meets later. `value` stands for values
/// that a field cannot hold, in arguments that Megatron reads only where something else is on.
const MET_LATER: [&str; 47] = [
    "attention_backend",
    "delta_product_heads",
    "distributed_sgd",
    "dtypes_need_precision_aware",
    "emerging_optimizer",
    "expert_grid",
    "expert_width_by_etp",
    "ffn_by_tp",
    "fp4",
    "fp8",
    "fsdp_pipeline",
    "full_needs_layers",
    "heads_by_groups",
    "hybrid_experts",
    "hybrid_modules",
    "hyper_connections",
    "last_group",
    "layer_freq_length",
    "linear_attention",
    "linear_attention_freq",
    "local_impl",
    "mamba_heads_by_groups",
    "microbatch_group",
    "microbatches_fill_group",
    "mla_excludes_l2_norm",
    "moe_needs_sequence_parallel",
    "mtp_recompute",
    "op_fuser",
    "optimizer_instances",
    "optimizer_instances_experts",
    "packed_attention",
    "padded_vocabulary",
    "padded_vocabulary_by_tp",
    "precision_aware_needs_adam",
    "precision_aware_needs_distributed",
    "sequence_by_tp",
    "shared_experts_have_no_bias",
    "shared_width_by_tp",
    "sparse_attention_mla",
    "sparse_attention_mtp_stage",
    "sparse_attention_norms",
    "sparse_attention_sequence_parallel",
    "sparse_attention_sizes",
    "sparse_attention_stages",
    "stages",
    "topk",
    "value",
];

/// The problems of a row that keep its job from running under Megatron-LM's own launcher, which refuses more than
/// others do.
fn refusals(bases: &Json, row: &Json) -> Vec<Problem> {
    let base = &bases[row[0].as_str().unwrap()];
    let mut gpus = base["world"].as_u64();
    let mut flags: Vec<String> = base["flags"].as_array().unwrap().iter().map(text).collect();
    let name = |flag: &str| flag.split(' ').next().unwrap().to_owned();
    for change in row[1].as_array().unwrap().iter().map(text) {
        if let Some(number) = change.strip_prefix("world ") {
            gpus = number.parse().ok();
        } else if let Some(removed) = change.strip_prefix("---") {
            flags.retain(|flag| name(flag) != format!("--{removed}"));
        } else if let Some(flag) = flags.iter_mut().find(|flag| name(flag) == name(&change)) {
            *flag = change;
        } else {
            flags.push(change);
        }
    }
    let quoted = flags.iter().map(|flag| match flag.split_once(' ') {
        Some((name, value)) if value.contains(['|', '(', '*']) => format!("{name} '{value}'"),
        _ => flag.clone(),
    });
    let hybrid = flags.iter().any(|flag| name(flag) == "--hybrid-layer-pattern");
    let program = if hybrid {
        "pretrain_hybrid.py"
    } else {
        "pretrain_gpt.py"
    };
    let command = format!("python {program} {}", quoted.collect::<Vec<_>>().join(" "));
    let options = ImportOptions {
        gpus,
        ..ImportOptions::default()
    };
    let mut job = import_text(&command, &options).unwrap().import.state.setup.job;
    job.put(0, FieldId::gpu, Value::Text("h100-sxm".to_owned()));
    let mut problems = check(&job).problems;
    problems.retain(|problem| problem.keeps_from_training() || problem.message.contains("refuse"));
    problems.extend(launcher_problems(&job));
    problems
}

fn text(value: &Json) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn what_megatron_refuses_is_refused() {
    let data = oracle::json("refusals.json");
    let (mut refused, mut accepted) = (0, BTreeMap::new());
    for row in data["rows"].as_array().unwrap() {
        let Some(error) = row[2].as_str() else { continue };
        refused += 1;
        if !refusals(&data["bases"], row).is_empty() {
            continue;
        }
        let known = ACCEPTED.iter().find(|(words, ..)| error.contains(words));
        let (words, ..) = known.unwrap_or_else(|| panic!("{row} is accepted"));
        *accepted.entry(*words).or_insert(0) += 1;
    }
    assert_eq!(refused, 1125);
    for (words, most, reason) in ACCEPTED {
        let count = accepted.get(words).copied().unwrap_or(0);
        assert!(
            count <= most,
            "{count} argument sets are accepted, {most} of them since {reason}: {words}"
        );
    }
}

#[test]
fn what_megatron_runs_is_accepted() {
    let data = oracle::json("refusals.json");
    let (mut taken, mut refused) = (0, 0);
    for row in data["rows"].as_array().unwrap().iter().filter(|row| row[2].is_null()) {
        taken += 1;
        let mut problems = refusals(&data["bases"], row);
        problems.retain(Problem::keeps_from_training);
        refused += usize::from(!problems.is_empty());
        for problem in problems {
            assert!(MET_LATER.contains(&problem.rule), "{row} is refused: {problem}");
        }
    }
    assert_eq!(taken, 1677);
    assert!(refused <= 180, "{refused}");
}

/// Words of the errors about arguments of Megatron-LM that no field has, and which an export adds: a job cannot lack
/// them.
const ADDED_BY_EXPORTS: [&str; 7] = [
    "validate_args:693",
    "argument is None",
    "no-check-for-nan-in-loss-and-grad",
    "hierarchical-context-parallel-sizes",
    "mrope-section",
    "moe-router-pre-softmax",
    "calculate-per-token-loss",
];

/// Argument sets that no rule was written from.
#[test]
fn what_is_kept_back_is_judged_as_megatron_does() {
    let data = oracle::json("refusals_held_out.json");
    let (mut refused, mut accepted, mut taken, mut wrong) = (0, Vec::new(), 0, BTreeMap::new());
    for row in data["rows"].as_array().unwrap() {
        let problems = refusals(&data["bases"], row);
        let Some(error) = row[2].as_str() else {
            taken += 1;
            for problem in problems.into_iter().filter(Problem::keeps_from_training) {
                if !MET_LATER.contains(&problem.rule) {
                    wrong.entry(problem.rule).or_insert_with(|| format!("{row}: {problem}"));
                }
            }
            continue;
        };
        if ADDED_BY_EXPORTS.iter().any(|words| error.contains(words)) {
            continue;
        }
        refused += 1;
        if problems.is_empty() {
            accepted.push(row.to_string());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(refused > 1000 && taken > 1000, "{refused} {taken}");
    assert!(
        accepted.len() * 100 <= refused,
        "{} of {refused}: {accepted:#?}",
        accepted.len()
    );
}
