//! What Megatron-LM refuses and what it takes, against thousands of argument sets that its own launcher has judged.

use std::collections::BTreeMap;

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::problem::Problem;
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
/// of process groups, of layers and of the GPU, which Megatron meets later. The last ones are values that a field cannot
/// hold, in arguments that Megatron reads only where something else is on.
const MET_LATER: [&str; 27] = [
    "attention_backend",
    "distributed_sgd",
    "dtypes_need_precision_aware",
    "expert_grid",
    "ffn_by_tp",
    "fp4",
    "full_needs_layers",
    "heads_by_groups",
    "hybrid_modules",
    "layer_freq_length",
    "local_impl",
    "microbatch_group",
    "microbatches_fill_group",
    "moe_needs_sequence_parallel",
    "optimizer_instances",
    "optimizer_instances_experts",
    "precision_aware_needs_adam",
    "precision_aware_needs_distributed",
    "shared_experts_have_no_bias",
    "sparse_attention_mla",
    "sparse_attention_mtp_stage",
    "sparse_attention_norms",
    "sparse_attention_sizes",
    "stages",
    "topk",
    "value",
    "last_group",
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
    let command = format!("python pretrain_gpt.py {}", quoted.collect::<Vec<_>>().join(" "));
    let options = ImportOptions {
        gpus,
        ..ImportOptions::default()
    };
    let mut job = import_text(&command, &options).unwrap().import.state.setup.job;
    job.put(0, FieldId::gpu, Value::Text("h100-sxm".to_owned()));
    let mut problems = check(&job).problems;
    problems.retain(|problem| problem.keeps_from_training() || problem.message.contains("Megatron-LM refuses"));
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
