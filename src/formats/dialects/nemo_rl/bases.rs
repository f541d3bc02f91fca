//! The files of NeMo-RL that its configurations change.

use crate::formats::import::ImportError;
use crate::formats::import::draft::KeyValue;
use crate::formats::import::values::is_off;
use crate::formats::report::shown;
use crate::formats::yaml;
use crate::value::Value;

/// Adds the settings of the file that `defaults` names, where it is one of NeMo-RL's own: the text changes some of
/// them.
pub(super) fn add(leaves: &mut Vec<KeyValue>) -> Result<(), ImportError> {
    let mut named = leaves.iter().filter(|item| item.key == "defaults");
    let Some(named) = named.next().filter(|item| !is_off(&item.value)) else {
        return Ok(());
    };
    let name = match &named.value {
        Value::List(files) if files.len() == 1 => files.first().map(shown).unwrap_or_default(),
        other => shown(other),
    };
    let what = "a NeMo-RL configuration that changes another one, whose settings are not in the text (paste the configuration \
                that NeMo-RL prints when it starts)";
    let mut name = name;
    for _ in 0..MAX_CHANGED {
        let base = base(&name).ok_or(ImportError::NotRead(what))?;
        match add_file(leaves, base) {
            Some(next) => next.clone_into(&mut name),
            None => return Ok(()),
        }
    }
    Err(ImportError::NotRead(what))
}

/// How many files may change one another.
const MAX_CHANGED: usize = 8;

/// Adds the settings of a file that the text does not change. Returns the file that it changes itself.
fn add_file(
    leaves: &mut Vec<KeyValue>,
    base: impl Iterator<Item = &'static (&'static str, &'static str)>,
) -> Option<&'static str> {
    let mut next = None;
    for (path, value) in base {
        if *path == "defaults" {
            next = Some(*value);
        }
        let section = format!("{path}.");
        if !leaves
            .iter()
            .any(|item| item.key == *path || item.key.starts_with(&section))
        {
            leaves.push(KeyValue {
                key: (*path).to_owned(),
                value: yaml::plain_scalar(value).to_value(),
                line: 0,
            });
        }
    }
    next
}

/// The settings of a file that configurations of NeMo-RL change, by its path: their paths and values. With `defaults`
/// it changes another file itself.
fn base(path: &str) -> Option<impl Iterator<Item = &'static (&'static str, &'static str)>> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut bases = BASES.iter().chain(CHANGED_BASES);
    let (_, own) = bases.find(|(known, _)| *known == name)?;
    let changes_another = own.iter().any(|(path, _)| *path == "defaults");
    let common = IN_ALL_BASES.iter();
    Some(own.iter().chain(common.filter(move |_| !changes_another)))
}

/// The settings that matter of the files that most configurations change, by the files' names (`examples/configs` of
/// NeMo-RL).
const BASES: &[(&str, &[(&str, &str)])] = &[
    (
        "grpo_math_1B.yaml",
        &[
            ("policy.model_name", "Qwen/Qwen2.5-1.5B"),
            ("policy.train_global_batch_size", "512"),
            ("policy.train_micro_batch_size", "4"),
            ("policy.max_total_sequence_length", "512"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "false"),
            ("policy.megatron_cfg.sequence_parallel", "false"),
            ("policy.megatron_cfg.freeze_moe_router", "true"),
            ("policy.megatron_cfg.moe_router_dtype", "fp64"),
            ("policy.sequence_packing.enabled", "true"),
            ("cluster.gpus_per_node", "1"),
            ("cluster.num_nodes", "1"),
        ],
    ),
    (
        "grpo_math_1B_megatron.yaml",
        &[
            ("policy.model_name", "Qwen/Qwen2.5-1.5B"),
            ("policy.train_global_batch_size", "512"),
            ("policy.train_micro_batch_size", "4"),
            ("policy.max_total_sequence_length", "512"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "true"),
            ("policy.megatron_cfg.freeze_moe_router", "true"),
            ("policy.megatron_cfg.moe_router_dtype", "fp64"),
            ("policy.sequence_packing.enabled", "true"),
            ("cluster.gpus_per_node", "1"),
            ("cluster.num_nodes", "1"),
        ],
    ),
    (
        "sft_openmathinstruct2.yaml",
        &[
            ("policy.model_name", "meta-llama/Llama-3.1-8B"),
            ("policy.train_global_batch_size", "512"),
            ("policy.train_micro_batch_size", "2"),
            ("policy.max_total_sequence_length", "4096"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "false"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "1"),
        ],
    ),
    (
        "sft.yaml",
        &[
            ("policy.model_name", "meta-llama/Llama-3.2-1B"),
            ("policy.train_global_batch_size", "32"),
            ("policy.train_micro_batch_size", "1"),
            ("policy.max_total_sequence_length", "1024"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "false"),
            ("cluster.gpus_per_node", "1"),
            ("cluster.num_nodes", "1"),
        ],
    ),
    (
        "dpo.yaml",
        &[
            ("policy.model_name", "meta-llama/Llama-3.2-1B-Instruct"),
            ("policy.train_global_batch_size", "128"),
            ("policy.train_micro_batch_size", "2"),
            ("policy.max_total_sequence_length", "1024"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "false"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "2"),
            ("policy.megatron_cfg.sequence_parallel", "true"),
            ("policy.megatron_cfg.moe_router_dtype", "fp64"),
            ("cluster.gpus_per_node", "1"),
            ("cluster.num_nodes", "1"),
        ],
    ),
    (
        "distillation_math.yaml",
        &[
            ("policy.model_name", "Qwen/Qwen3-1.7B-Base"),
            ("policy.train_global_batch_size", "64"),
            ("policy.train_micro_batch_size", "1"),
            ("policy.max_total_sequence_length", "8192"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "false"),
            ("policy.megatron_cfg.empty_unused_memory_level", "0"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "2"),
            ("policy.megatron_cfg.pipeline_model_parallel_size", "2"),
            ("policy.megatron_cfg.context_parallel_size", "2"),
            ("policy.megatron_cfg.sequence_parallel", "false"),
            ("policy.megatron_cfg.freeze_moe_router", "true"),
            ("policy.megatron_cfg.moe_router_dtype", "fp64"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "1"),
        ],
    ),
];

/// The settings that matter of published files that change one of [`BASES`]; `defaults` names the file that they
/// change.
const CHANGED_BASES: &[(&str, &[(&str, &str)])] = &[
    (
        "distillation-qwen3-32b-to-1.7b-base-1n8g-megatron-tp2pp2cp2-pack.yaml",
        &[
            ("defaults", "distillation_math.yaml"),
            ("policy.train_global_batch_size", "32"),
            ("policy.sequence_packing.enabled", "true"),
            ("policy.megatron_cfg.enabled", "true"),
        ],
    ),
    (
        "dpo-llama3.1-8b-instruct-4n8g-megatrontp2pp2-quick.yaml",
        &[
            ("defaults", "dpo.yaml"),
            ("policy.model_name", "meta-llama/Llama-3.1-8B-Instruct"),
            ("policy.train_global_batch_size", "256"),
            ("policy.train_micro_batch_size", "1"),
            ("policy.max_total_sequence_length", "2048"),
            ("policy.megatron_cfg.enabled", "true"),
            ("policy.megatron_cfg.pipeline_model_parallel_size", "2"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "4"),
        ],
    ),
    (
        "grpo_math_qwen30ba3b_megatron.yaml",
        &[
            ("defaults", "grpo_math_1B_megatron.yaml"),
            ("policy.model_name", "Qwen/Qwen3-30B-A3B"),
            ("policy.train_global_batch_size", "512"),
            ("policy.train_micro_batch_size", "1"),
            ("policy.max_total_sequence_length", "4096"),
            ("policy.sequence_packing.enabled", "false"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "2"),
            ("policy.megatron_cfg.expert_model_parallel_size", "8"),
            ("policy.megatron_cfg.sequence_parallel", "true"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "8"),
        ],
    ),
    (
        "grpo-qwen3-30ba3b-8n8g-megatron-cp2-r3.yaml",
        &[
            ("defaults", "grpo_math_qwen30ba3b_megatron.yaml"),
            ("policy.train_global_batch_size", "128"),
            ("policy.sequence_packing.enabled", "true"),
            ("policy.router_replay.enabled", "true"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "4"),
            ("policy.megatron_cfg.pipeline_model_parallel_size", "2"),
            ("policy.megatron_cfg.context_parallel_size", "2"),
            ("policy.megatron_cfg.expert_model_parallel_size", "4"),
        ],
    ),
    (
        "grpo-qwen3-30ba3b-10n8g-megatron-cp2-r3-async.yaml",
        &[
            ("defaults", "grpo-qwen3-30ba3b-8n8g-megatron-cp2-r3.yaml"),
            ("policy.generation.colocated.enabled", "false"),
            ("policy.generation.colocated.resources.num_nodes", "2"),
            ("policy.generation.colocated.resources.gpus_per_node", "8"),
            ("cluster.num_nodes", "10"),
        ],
    ),
    (
        "grpo-qwen3.5-35ba3b-2n8g-megatron-ep16tp2cp2.yaml",
        &[
            ("defaults", "grpo_math_1B.yaml"),
            ("policy.model_name", "Qwen/Qwen3.5-35B-A3B-Base"),
            ("policy.train_micro_batch_size", "1"),
            ("policy.max_total_sequence_length", "4096"),
            ("policy.megatron_cfg.enabled", "true"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "2"),
            ("policy.megatron_cfg.context_parallel_size", "2"),
            ("policy.megatron_cfg.sequence_parallel", "true"),
            ("policy.megatron_cfg.expert_model_parallel_size", "16"),
            ("policy.megatron_cfg.apply_rope_fusion", "false"),
            ("policy.megatron_cfg.activation_checkpointing", "true"),
            ("policy.megatron_cfg.defer_fp32_logits", "true"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "2"),
        ],
    ),
    (
        "sft-qwen2.5-math7b-2n8g-megatron.yaml",
        &[
            ("defaults", "sft.yaml"),
            ("policy.model_name", "Qwen/Qwen2.5-Math-7B"),
            ("policy.train_global_batch_size", "512"),
            ("policy.max_total_sequence_length", "16384"),
            ("policy.megatron_cfg.enabled", "true"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "4"),
            ("policy.megatron_cfg.context_parallel_size", "2"),
            ("policy.megatron_cfg.sequence_parallel", "true"),
            ("policy.megatron_cfg.freeze_moe_router", "true"),
            ("policy.megatron_cfg.moe_router_dtype", "fp64"),
            (
                "policy.megatron_cfg.distributed_data_parallel_config.overlap_param_gather",
                "false",
            ),
            ("policy.megatron_cfg.optimizer.use_distributed_optimizer", "false"),
            ("policy.megatron_cfg.optimizer.use_precision_aware_optimizer", "false"),
            ("policy.sequence_packing.enabled", "true"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "2"),
        ],
    ),
];

/// The settings that are the same in all of [`BASES`].
const IN_ALL_BASES: &[(&str, &str)] = &[
    ("policy.megatron_cfg.empty_unused_memory_level", "1"),
    ("policy.megatron_cfg.activation_checkpointing", "false"),
    ("policy.megatron_cfg.expert_tensor_parallel_size", "1"),
    ("policy.megatron_cfg.moe_permute_fusion", "true"),
    ("policy.megatron_cfg.apply_rope_fusion", "true"),
    ("policy.megatron_cfg.moe_token_dispatcher_type", "alltoall"),
    ("policy.megatron_cfg.optimizer.optimizer", "adam"),
    ("policy.megatron_cfg.optimizer.bf16", "true"),
    ("policy.megatron_cfg.optimizer.use_distributed_optimizer", "true"),
    ("policy.megatron_cfg.optimizer.use_precision_aware_optimizer", "true"),
    (
        "policy.megatron_cfg.distributed_data_parallel_config.grad_reduce_in_fp32",
        "false",
    ),
    (
        "policy.megatron_cfg.distributed_data_parallel_config.overlap_grad_reduce",
        "true",
    ),
    (
        "policy.megatron_cfg.distributed_data_parallel_config.overlap_param_gather",
        "true",
    ),
];
