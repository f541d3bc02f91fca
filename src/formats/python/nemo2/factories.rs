//! Functions of `NeMo` 2 that recipes of other files call, and what they configure: `nemo/collections/llm/recipes` at
//! 8cfedd7203, only what decides memory.

use std::collections::BTreeMap;

use super::evaluate::Evaluation;
use super::objects::Object;

/// The part of a job that a function configures.
#[derive(Clone, Copy)]
pub(super) enum Factory {
    /// `bf16_mixed` and others: `MegatronMixedPrecision` with these fields.
    Precision(&'static [(&'static str, &'static str)]),
    /// `distributed_fused_adam_with_cosine_annealing`: Adam with `use_distributed_optimizer`.
    Adam,
    /// A trainer with a `MegatronStrategy`: the defaults of its parameters that are not those of the others.
    Trainer(&'static [(&'static str, &'static str)]),
    /// A model by its version.
    Model,
    /// `default_finetune_recipe`.
    FineTuning,
    /// `default_finetune_trainer`.
    FineTuningTrainer,
}

const BF16: (&str, &str) = ("precision", "\"bf16-mixed\"");
const FP16: (&str, &str) = ("precision", "\"16-mixed\"");
const IN_FP32: (&str, &str) = ("grad_reduce_in_fp32", "True");
const IN_FP16: (&str, &str) = ("grad_reduce_in_fp32", "False");
const HYBRID: (&str, &str) = ("fp8", "\"hybrid\"");
const GATHER: (&str, &str) = ("fp8_param_gather", "True");
const ONE_AT_EACH_END: [(&str, &str); 3] = at_ends("1");
const TWO_AT_EACH_END: [(&str, &str); 3] = at_ends("2");

/// Layers that stay in bf16.
const fn at_ends(count: &'static str) -> [(&'static str, &'static str); 3] {
    [
        ("first_last_layers_bf16", "True"),
        ("num_layers_at_start_in_bf16", count),
        ("num_layers_at_end_in_bf16", count),
    ]
}

/// The functions of `precision/mixed_precision.py`.
const PRECISIONS: &[(&str, &[(&str, &str)])] = &[
    ("bf16_mixed", &[BF16, IN_FP32]),
    ("fp16_mixed", &[FP16, IN_FP16]),
    (
        "bf16_with_fp8_mixed",
        &[
            BF16,
            IN_FP32,
            HYBRID,
            ("fp8_recipe", "\"delayed\""),
            ("fp8_amax_history_len", "1024"),
            GATHER,
        ],
    ),
    (
        "fp16_with_fp8_mixed",
        &[
            FP16,
            IN_FP16,
            HYBRID,
            ("fp8_recipe", "\"delayed\""),
            ("fp8_amax_history_len", "1024"),
            GATHER,
        ],
    ),
    (
        "bf16_with_mxfp8_mixed",
        &[
            BF16,
            IN_FP32,
            HYBRID,
            ("fp8_recipe", "\"mxfp8\""),
            GATHER,
            ("reuse_grad_buf_for_mxfp8_param_ag", "True"),
        ],
    ),
    (
        "bf16_with_fp8_current_scaling_mixed",
        &[
            BF16,
            IN_FP32,
            HYBRID,
            ("fp8_recipe", "\"tensorwise\""),
            ONE_AT_EACH_END[0],
            ONE_AT_EACH_END[1],
            ONE_AT_EACH_END[2],
            GATHER,
        ],
    ),
    (
        "nemotron_h_bf16_with_fp8_current_scaling_mixed",
        &[
            BF16,
            IN_FP32,
            HYBRID,
            ("fp8_recipe", "\"tensorwise\""),
            TWO_AT_EACH_END[0],
            TWO_AT_EACH_END[1],
            TWO_AT_EACH_END[2],
            GATHER,
        ],
    ),
    (
        "bf16_with_fp8_subchannel_scaling_mixed",
        &[
            BF16,
            IN_FP32,
            HYBRID,
            ("fp8_recipe", "\"blockwise\""),
            ("fp8_param_gather", "False"),
        ],
    ),
];

/// Trainers, by the module and the name of their functions.
const TRAINERS: &[(&str, &[(&str, &str)])] = &[
    ("gemma2.gemma2_trainer", &[]),
    ("nemotron.nemotron_trainer", &[TP_2]),
    ("qwen2.qwen2_trainer", &[TP_2]),
    ("starcoder2.starcoder2_trainer", &[TP_2]),
    (
        "qwen3.qwen3_trainer",
        &[
            ("expert_parallelism", "1"),
            ("expert_tensor_parallelism", "1"),
            ("account_for_embedding_in_pipeline_split", "False"),
            ("account_for_loss_in_pipeline_split", "False"),
        ],
    ),
    (
        "deepseek.trainer",
        &[("expert_parallelism", "1"), ("sequence_parallelism", "True")],
    ),
];

const TP_2: (&str, &str) = ("tensor_parallelism", "2");

/// The parameters of trainers, the field of `MegatronStrategy` that they become, and the defaults of most trainers.
const PARAMETERS: &[(&str, &str, Option<&str>)] = &[
    ("tensor_parallelism", "tensor_model_parallel_size", Some("1")),
    ("pipeline_parallelism", "pipeline_model_parallel_size", Some("1")),
    ("pipeline_parallelism_type", "pipeline_dtype", None),
    (
        "virtual_pipeline_parallelism",
        "virtual_pipeline_model_parallel_size",
        None,
    ),
    ("context_parallelism", "context_parallel_size", Some("1")),
    ("sequence_parallelism", "sequence_parallel", Some("False")),
    ("expert_parallelism", "expert_model_parallel_size", None),
    ("expert_tensor_parallelism", "expert_tensor_parallel_size", None),
    (
        "account_for_embedding_in_pipeline_split",
        "account_for_embedding_in_pipeline_split",
        None,
    ),
    (
        "account_for_loss_in_pipeline_split",
        "account_for_loss_in_pipeline_split",
        None,
    ),
];

/// The classes of models, by the version that functions such as `qwen3_model` take.
const VERSIONS: &[(&str, &str)] = &[
    ("gemma2_2b", "Gemma2Config2B"),
    ("gemma2_9b", "Gemma2Config9B"),
    ("gemma2_27b", "Gemma2Config27B"),
    ("nemotron3_4b", "Nemotron3Config4B"),
    ("nemotron3_8b", "Nemotron3Config8B"),
    ("nemotron3_22b", "Nemotron3Config22B"),
    ("nemotron3_22b_16k", "Nemotron3Config22B"),
    ("nemotron3_22b_64k", "Nemotron3Config22B"),
    ("nemotron4_15b", "Nemotron4Config15B"),
    ("nemotron4_15b_16k", "Nemotron4Config15B"),
    ("nemotron4_15b_64k", "Nemotron4Config15B"),
    ("nemotron4_340b", "Nemotron4Config340B"),
    ("qwen2_500m", "Qwen2Config500M"),
    ("qwen25_500m", "Qwen25Config500M"),
    ("qwen2_1p5b", "Qwen2Config1P5B"),
    ("qwen25_1p5b", "Qwen25Config1P5B"),
    ("qwen25_3b", "Qwen25Config3B"),
    ("qwen2_7b", "Qwen2Config7B"),
    ("qwen25_7b", "Qwen25Config7B"),
    ("qwen25_14b", "Qwen25Config14B"),
    ("qwen25_32b", "Qwen25Config32B"),
    ("qwen2_72b", "Qwen2Config72B"),
    ("qwen25_72b", "Qwen25Config72B"),
    ("qwen3_600m", "Qwen3Config600M"),
    ("qwen3_1p7b", "Qwen3Config1P7B"),
    ("qwen3_4b", "Qwen3Config4B"),
    ("qwen3_8b", "Qwen3Config8B"),
    ("qwen3_14b", "Qwen3Config14B"),
    ("qwen3_32b", "Qwen3Config32B"),
    ("qwen3_30b_a3b", "Qwen3Config30B_A3B"),
    ("qwen3_235b_a22b", "Qwen3Config235B_A22B"),
    ("starcoder2_3b", "Starcoder2Config3B"),
    ("starcoder2_7b", "Starcoder2Config7B"),
    ("starcoder2_15b", "Starcoder2Config15B"),
];

/// What a function of another file configures; it is given with the module that it comes from, where the file imports
/// it.
pub(super) fn find(path: &str) -> Option<Factory> {
    let name = path.rsplit('.').next().unwrap_or_default();
    if let Some((_, fields)) = PRECISIONS.iter().find(|(known, _)| *known == name) {
        return Some(Factory::Precision(fields));
    }
    let mut trainers = TRAINERS.iter();
    if let Some((_, defaults)) = trainers.find(|(known, _)| path.ends_with(known)) {
        return Some(Factory::Trainer(defaults));
    }
    match name {
        "distributed_fused_adam_with_cosine_annealing" => Some(Factory::Adam),
        "default_finetune_recipe" => Some(Factory::FineTuning),
        "default_finetune_trainer" => Some(Factory::FineTuningTrainer),
        "gemma2_model" | "nemotron_model" | "qwen2_model" | "qwen3_model" | "starcoder2_model" => Some(Factory::Model),
        _ => None,
    }
}

impl Factory {
    /// The names of its parameters, as far as they are given by position.
    pub(super) const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::FineTuning => &[
                "model",
                "resume_path",
                "dir",
                "name",
                "num_nodes",
                "num_gpus_per_node",
                "packed_sequence",
                "tokenizer",
            ],
            Self::Model => &["version"],
            _ => &[],
        }
    }

    /// Makes the object.
    pub(super) fn make(self, evaluation: &mut Evaluation<'_>, given: &BTreeMap<String, Object>) -> Object {
        match self {
            Self::Precision(fields) => {
                let fields = plain(evaluation, fields);
                evaluation.add("MegatronMixedPrecision", fields)
            }
            Self::Adam => {
                let fields = plain(
                    evaluation,
                    &[("optimizer", "\"adam\""), ("use_distributed_optimizer", "True")],
                );
                let config = evaluation.add("OptimizerConfig", fields);
                one(evaluation, "MegatronOptimizerModule", "config", config)
            }
            Self::Trainer(defaults) => {
                let ddp = plain(
                    evaluation,
                    &[("overlap_grad_reduce", "True"), ("overlap_param_gather", "True")],
                );
                let ddp = evaluation.add("DistributedDataParallelConfig", ddp);
                trainer(evaluation, given, defaults, Some(ddp))
            }
            Self::FineTuningTrainer => trainer(evaluation, given, &[], None),
            Self::Model => {
                let version = given.get("version").and_then(Object::text).unwrap_or_default();
                let class = VERSIONS.iter().find(|(known, _)| *known == version);
                let class = class.map_or(version, |(_, class)| *class).to_owned();
                let config = evaluation.add(&class, Vec::new());
                one(evaluation, "GPTModel", "config", config)
            }
            Self::FineTuning => fine_tuning(evaluation, given),
        }
    }
}

/// Plain fields of an object.
fn plain(evaluation: &Evaluation<'_>, fields: &[(&str, &str)]) -> Vec<(String, Object, u32)> {
    let line = evaluation.line;
    let fields = fields.iter();
    fields
        .map(|(name, value)| ((*name).to_owned(), Object::plain(value), line))
        .collect()
}

/// An object with one field.
fn one(evaluation: &mut Evaluation<'_>, class: &str, name: &str, object: Object) -> Object {
    let line = evaluation.line;
    evaluation.add(class, vec![(name.to_owned(), object, line)])
}

/// A trainer with its strategy.
fn trainer(
    evaluation: &mut Evaluation<'_>,
    given: &BTreeMap<String, Object>,
    defaults: &[(&str, &str)],
    ddp: Option<Object>,
) -> Object {
    let line = evaluation.line;
    let argument = |name: &str| {
        let own = defaults.iter().find(|(known, _)| *known == name);
        let own = own.map(|(_, value)| Object::plain(value));
        given.get(name).cloned().or(own)
    };
    let mut strategy = Vec::new();
    for (parameter, field, usual) in PARAMETERS {
        if let Some(value) = argument(parameter).or_else(|| usual.map(Object::plain)) {
            strategy.push(((*field).to_owned(), value, line));
        }
    }
    if let Some(ddp) = ddp {
        strategy.push(("ddp".to_owned(), ddp, line));
    }
    let strategy = evaluation.add("MegatronStrategy", strategy);
    let is_fp16 = given.get("precision").and_then(Object::text) == Some("16-mixed");
    let precision = if is_fp16 { "fp16_mixed" } else { "bf16_mixed" };
    let plugins = match find(precision) {
        Some(precision) => precision.make(evaluation, given),
        None => Object::plain("None"),
    };
    let nodes = argument("num_nodes").unwrap_or_else(|| Object::plain("1"));
    let devices = argument("num_gpus_per_node").unwrap_or_else(|| Object::plain("8"));
    let mut fields = vec![
        ("num_nodes".to_owned(), nodes, line),
        ("devices".to_owned(), devices, line),
        ("plugins".to_owned(), plugins, line),
        ("strategy".to_owned(), strategy, line),
    ];
    if let Some(callbacks) = given.get("callbacks") {
        fields.push(("callbacks".to_owned(), callbacks.clone(), line));
    }
    evaluation.add("Trainer", fields)
}

/// `default_finetune_recipe`: the data of `SQuAD` with samples of 2,048 tokens, of which 128 are a batch, or 8 packed
/// ones.
fn fine_tuning(evaluation: &mut Evaluation<'_>, given: &BTreeMap<String, Object>) -> Object {
    let line = evaluation.line;
    let packed = given.get("packed_sequence").and_then(Object::text) == Some("True");
    let batch = if packed { "8" } else { "128" };
    let mut data = plain(
        evaluation,
        &[
            ("seq_length", "2048"),
            ("global_batch_size", batch),
            ("micro_batch_size", "1"),
        ],
    );
    if packed {
        let specs = plain(evaluation, &[("packed_sequence_size", "2048")]);
        let specs = evaluation.add("PackedSequenceSpecs", specs);
        data.push(("packed_sequence_specs".to_owned(), specs, line));
    }
    let data = evaluation.add("SquadDataModule", data);
    let trainer = Factory::FineTuningTrainer.make(evaluation, given);
    let optim = Factory::Adam.make(evaluation, given);
    let model = given.get("model").cloned();
    let model = model.unwrap_or_else(|| Object::Open("model".to_owned()));
    let fields = [("model", model), ("trainer", trainer), ("data", data), ("optim", optim)];
    let fields = fields.map(|(name, object)| (name.to_owned(), object, line));
    evaluation.add("finetune", fields.to_vec())
}
