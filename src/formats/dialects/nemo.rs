//! Configurations of `NeMo` 1 and of the `NeMo` Framework Launcher for GPT models
//! (`nemo/collections/nlp/models/language_modeling/megatron_gpt_model.py` and `megatron_base_model.py`).

use super::framework::{Defaults, Files, Framework, Signs};
use super::meaning::KeyMeaning::{self, Field, Irrelevant, Opposite, Role};
use super::meaning::look_up;
use super::{arguments, megatron_lm};
use crate::config::fields::FieldId;
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::formats::derivations::{activation, gpus, hybrid, model, optimizer, vocabulary};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{is_off, truth};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// `NeMo` 1's GPT models.
pub static NEMO: Framework = Framework {
    name: "NeMo 1",
    find,
    defaults: &[DEFAULTS],
    files: Some(FILES),
    signs: &[
        Signs {
            refused: None,
            all: &["trainer", "exp_manager"],
            any: &["encoder_seq_length", "restore_from_path", "optim", "model"],
        },
        Signs {
            refused: None,
            all: &["run", "trainer", "exp_manager"],
            any: &["model"],
        },
    ],
    special,
    derivations: &[
        own_layers,
        checkpoint,
        activation::function,
        hybrid::layers,
        vocabulary::of_tokenizer,
        gpus::of_nodes,
        optimizer::layer_wise,
    ],
    ..Framework::PLAIN
};

/// The sections of a file. Those of the Launcher stand beside them.
const FILES: Files = Files {
    id: "nemo_yaml",
    label: "a NeMo 1 configuration",
    keys: &[
        ("trainer.num_nodes", "num_nodes"),
        ("trainer.devices", "devices"),
        ("trainer.precision", "precision"),
        ("model.tokenizer.type", "tokenizer.type"),
        ("model.peft.peft_scheme", "peft_scheme"),
    ],
    places: &[
        ("model.optim.", "optim."),
        ("model.mcore_customization_config.", ""),
        ("model.", ""),
    ],
    ignored: &[
        "name",
        "restore_from_path",
        "defaults",
        "hydra.",
        "run.",
        "trainer.",
        "exp_manager.",
        "s3_checkpointing",
        "cluster_type",
        "model.data.",
        "model.tokenizer.",
        "model.nsys_profile.",
        "model.optim.sched.",
        "model.peft.",
        "model.ub_tp_comm_overlap_cfg",
    ],
    refused: &[
        ("model.encoder", ENCODER_DECODER),
        ("model.mcore_t5", ENCODER_DECODER),
        ("model.share_token_embeddings", ENCODER_DECODER),
        ("model.bert_binary_head", "a NeMo 1 configuration of BERT"),
        ("model.mm_cfg", "a NeMo 1 configuration of a multimodal model"),
        ("model.retro", "a NeMo 1 configuration of RETRO"),
        ("model.unet_config", "a NeMo 1 configuration of a diffusion model"),
    ],
    ..Files::NONE
};

const ENCODER_DECODER: &str = "a NeMo 1 configuration of a model with an encoder and a decoder";

/// Names that Megatron-LM does not have, or has with another meaning. [`special`] reads names whose values have to be
/// converted.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("num_nodes", Role(gpus::NODES)),
    ("devices", Role(gpus::PER_NODE)),
    ("peft_scheme", KeyMeaning::more(ADAPTERS)),
    // Model.
    ("encoder_seq_length", Field("seq_length")),
    ("bias", Field("add_bias_linear")),
    ("qkv_bias", Field("add_qkv_bias")),
    ("activation", Role(activation::FUNCTION)),
    ("layernorm_zero_centered_gamma", Field("apply_layernorm_1p")),
    ("num_query_groups", Role(model::QUERY_GROUPS)),
    ("num_moe_experts", Field("num_experts")),
    (
        "share_embeddings_and_output_weights",
        Opposite("untie_embeddings_and_output_weights"),
    ),
    ("tokenizer.type", Role(vocabulary::TOKENIZER_MODEL)),
    ("override_vocab_size", Field("vocab_size")),
    ("headscale", HEADSCALE),
    // Dropout between the two matrices of the MLP, which Megatron-Core's layers do not have.
    ("ffn_dropout", Irrelevant),
    ("mamba_ssm_ngroups", Field("mamba_num_groups")),
    ("mamba_ngroups", Field("mamba_num_groups")),
    ("megatron_legacy", LEGACY),
    // Precision.
    ("fp8_e4m3", Irrelevant),
    ("fp8_hybrid", Irrelevant),
    ("fp8_params", Field("fp8_param_gather")),
    // Recomputation.
    ("activations_checkpoint_granularity", Field("recompute_granularity")),
    ("activations_checkpoint_method", Field("recompute_method")),
    ("activations_checkpoint_num_layers", Field("recompute_num_layers")),
    (
        "activations_checkpoint_layers_per_pipeline",
        KeyMeaning::more("more layers are recomputed on some pipeline ranks than on others"),
    ),
    (
        "num_micro_batches_with_partial_activation_checkpoints",
        KeyMeaning::more("some micro batches are recomputed less than others"),
    ),
    // Parallelism.
    ("virtual_pipeline_model_parallel_size", Role(model::VIRTUAL_STAGES)),
    ("ub_tp_comm_overlap", Field("tp_comm_overlap")),
    (
        "fsdp",
        KeyMeaning::more("PyTorch's FSDP shards parameters, gradients and optimizer states"),
    ),
    // Optimizer.
    ("optim.overlap_grad_sync", Field("overlap_grad_reduce")),
    ("optim.overlap_param_sync", Field("overlap_param_gather")),
];

const ADAPTERS: &str = "only adapters are trained: all other weights need no gradients and no optimizer states";
const LEGACY: KeyMeaning = KeyMeaning::more("layers of NeMo's own are counted like those of Megatron-Core");
const HEADSCALE: KeyMeaning = KeyMeaning::less("a scale for each attention head is not counted");

/// Names that change no memory of a training step and that Megatron-LM does not have.
const IRRELEVANT: &[&str] = &[
    "apply_embedding_scaling",
    "barrier",
    "deteministic_mode",
    "cpu_offloading",
    "dist_ckpt_assume_constant_structure",
    "dist_ckpt_load_strictness",
    "dist_ckpt_parallel_dist_opt",
    "gated_linear_unit",
    "dist_ckpt_parallel_load",
    "dist_ckpt_parallel_save_within_dp",
    "dist_ckpt_torch_dist_multiproc",
    "enable_megatron_timers",
    "log_every_n_steps",
    "log_mode",
    "name",
    // The layers of other models do not know these two.
    "new_decoder_architecture",
    "parallel_attention",
    "reset_lr",
    "reset_lr_steps",
    "validation_param_sync_overlap",
    "apex_transformer_log_level",
    "attention_type",
    "batch_p2p_comm",
    "bias_activation_fusion",
    "bias_dropout_add_fusion",
    "dist_ckpt_format",
    "dist_ckpt_load_on_device",
    "dist_ckpt_parallel_save",
    "do_layer_norm_weight_decay",
    "fsdp_grad_reduce_dtype",
    "fsdp_sharded_checkpoint",
    "fsdp_sharding_strategy",
    "gc_interval",
    "get_attention_mask_from_fusion",
    "grad_allreduce_chunk_size_mb",
    "grad_div_ar_fusion",
    "gradient_as_bucket_view",
    "hysteresis",
    "init_method_std",
    "layernorm_epsilon",
    "native_amp_growth_interval",
    "native_amp_init_scale",
    "normalize_attention_scores",
    "onnx_safe",
    "overlap_p2p_comm",
    "persist_layer_norm",
    "post_process",
    "pre_process",
    "reduce_amax",
    "restore_from_ckpt",
    "restore_from_path",
    "resume_from_checkpoint",
    "rotary_base",
    "rotary_percentage",
    "scale_positional_embedding",
    "seq_len_interpolation_factor",
    "sharp",
    "sync_batch_comm",
    "transformer_engine",
    "use_emha",
    "use_flash_attention",
    "use_scaled_init_method",
    "use_te_rng_tracker",
];

/// The meaning of a key; given without its section.
fn find(key: &str) -> Option<KeyMeaning> {
    if IRRELEVANT.contains(&key) {
        return Some(Irrelevant);
    }
    if let Some(meaning) = look_up(KEYS, key) {
        return Some(meaning);
    }
    match key.strip_prefix("optim.") {
        Some(_) => Some(Irrelevant),
        None => arguments::find(key).or_else(|| megatron_lm::find(key)),
    }
}

/// The defaults of `NeMo` 1 that differ from those of Megatron-LM's command line.
const DEFAULTS: Defaults = &[
    ("create_attention_mask_in_dataloader", "False"),
    ("fp8_amax_history_len", "1024"),
];

/// Reads a key whose value has to be converted. Returns whether the key is one of them.
///
/// After `megatron_base_model.py` and `megatron_gpt_model.py` of `NeMo`.
fn special(draft: &mut JobDraft, keys: &mut Keys<'_>, item: &KeyValue, name: &str) -> bool {
    let value = shown(&item.value).to_ascii_lowercase();
    let switched = |path: &str| keys.at(path).is_some_and(|item| truth(&item.value) == Some(true));
    match name {
        "precision" => precision(draft, item, &value),
        "normalization" => normalization(draft, item, &value),
        "activation" => activation(draft, keys, item, &value),
        "transformer_block_type" if value == "pre_ln" => {
            draft.row(item, KeyStatus::Mapped, None, "norms before attention and MLP");
        }
        "transformer_block_type" => {
            let reason = "norms elsewhere than before attention and MLP are not counted";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
        "mcore_gpt" if switched("model.mcore_gpt") => {
            draft.row(item, KeyStatus::Mapped, None, "layers of Megatron-Core");
        }
        "mcore_gpt" => {
            let reason = "layers of NeMo's own are counted like those of Megatron-Core";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
        "megatron_amp_O2" => half_precision(draft, keys, item),
        "fp8" if truth(&item.value) == Some(true) => {
            let format = if switched("model.fp8_e4m3") { "e4m3" } else { "hybrid" };
            let format = Value::Text(format.to_owned());
            draft.set(item, FieldId::fp8_format, format, KeyStatus::Derived, "");
        }
        "fp8" => draft.row(item, KeyStatus::Ignored, None, "switched off"),
        "activations_checkpoint_method" | "activations_checkpoint_num_layers" => {
            let granularity = keys.at("model.activations_checkpoint_granularity");
            let full = granularity.is_some_and(|item| shown(&item.value) == "full");
            if !full {
                let note = "only whole layers are recomputed that way";
                draft.row(item, KeyStatus::Ignored, None, note);
            }
            return !full;
        }
        "parallel_attention" if is_falcon(keys) => {
            let id = FieldId::parallel_attention;
            draft.set(item, id, item.value.clone(), KeyStatus::Mapped, "");
        }
        "new_decoder_architecture" if is_falcon(keys) && truth(&item.value) == Some(true) => {
            let reason = "attention and the MLP stand side by side behind a norm for each";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
        "cpu_offloading_num_layers" | "cpu_offloading_activations" | "cpu_offloading_weights"
            if !switched("model.cpu_offloading") =>
        {
            draft.row(item, KeyStatus::Ignored, None, "cpu_offloading is off");
        }
        "optim.name" => optimizer(draft, keys, item, &value),
        "optim.overlap_grad_sync" | "optim.overlap_param_sync" if !is_distributed(keys) => {
            let note = "only of a distributed optimizer";
            draft.row(item, KeyStatus::Ignored, None, note);
        }
        "optim.grad_sync_dtype" if matches!(value.as_str(), "bf16" | "torch.bfloat16") => {
            let id = FieldId::grad_reduce_in_bf16;
            draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
        }
        "optim.grad_sync_dtype" => {
            let id = FieldId::accumulate_allreduce_grads_in_fp32;
            draft.row(item, KeyStatus::Mapped, Some(id), "");
        }
        _ => return false,
    }
    true
}

/// Whether layers are those of Falcon (`get_specs`).
fn is_falcon(keys: &Keys<'_>) -> bool {
    keys.at("model.name")
        .is_some_and(|item| shown(&item.value) == "megatron_falcon_gpt")
}

/// PyTorch Lightning's precision of the trainer.
fn precision(draft: &mut JobDraft, item: &KeyValue, value: &str) {
    let id = match value.trim_end_matches("-mixed").trim_end_matches("-true") {
        "bf16" => FieldId::bf16,
        "16" => FieldId::fp16,
        _ => {
            let note = "parameters of fp32";
            return draft.row(item, KeyStatus::Mapped, Some(FieldId::bf16), note);
        }
    };
    draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
}

fn normalization(draft: &mut JobDraft, item: &KeyValue, value: &str) {
    let name = match value {
        "rmsnorm" => "RMSNorm",
        "layernorm" | "layernorm1p" => "LayerNorm",
        _ => value,
    };
    if value == "layernorm1p" {
        let id = FieldId::apply_layernorm_1p;
        draft.settings.set(id, Value::Bool(true));
    }
    let name = Value::Text(name.to_owned());
    draft.set(item, FieldId::normalization, name, KeyStatus::Mapped, "");
}

/// Gated functions have names that end in `glu`; `fast-` is how their two matrices are stored.
fn activation(draft: &mut JobDraft, keys: &mut Keys<'_>, item: &KeyValue, value: &str) {
    let name = value.trim_start_matches("fast-").replace('-', "_");
    let id = match name.as_str() {
        "geglu" => FieldId::geglu,
        "quick_geglu" => FieldId::quick_geglu,
        "swiglu" => FieldId::swiglu,
        "squared_relu" => FieldId::squared_relu,
        "reglu" => {
            let reason = "the gated ReLU is not counted";
            return draft.not_modelled(item, MemoryEffect::More, reason);
        }
        _ => return keys.keep(activation::FUNCTION, item),
    };
    draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
}

/// `megatron_amp_O2`: weights in half precision beside main weights in fp32. Without it, autocast makes half-precision
/// copies of weights in fp32.
fn half_precision(draft: &mut JobDraft, keys: &Keys<'_>, item: &KeyValue) {
    let is_half = keys
        .at("trainer.precision")
        .is_some_and(|item| !shown(&item.value).starts_with("32"));
    if truth(&item.value) == Some(true) || !is_half {
        draft.row(item, KeyStatus::Mapped, None, "");
    } else {
        let reason = "weights stay in fp32, and autocast makes copies of them in half precision";
        draft.row(item, KeyStatus::NotModelled, None, reason);
        if let Some(row) = draft.report.last_mut() {
            row.effect = Some(MemoryEffect::More);
        }
        draft.marks.push(NotModelled::new(&item.key, reason));
    }
}

/// Whether the optimizer shards its states over data-parallel ranks.
fn is_distributed(keys: &Keys<'_>) -> bool {
    let name = keys.at("model.optim.name").map(|item| shown(&item.value));
    matches!(
        name.as_deref(),
        Some("mcore_distributed_optim" | "distributed_fused_adam")
    )
}

fn optimizer(draft: &mut JobDraft, keys: &Keys<'_>, item: &KeyValue, value: &str) {
    let (on, distributed) = (Value::Bool(true), FieldId::use_distributed_optimizer);
    let is_contiguous = keys.at("model.optim.contiguous_grad_buffer");
    match value {
        "mcore_distributed_optim" => draft.set(item, distributed, on, KeyStatus::Derived, ""),
        // Apex keeps all gradients where their buffer is contiguous, and only a shard of them elsewhere.
        "distributed_fused_adam" if is_contiguous.is_some_and(|item| truth(&item.value) == Some(true)) => {
            let note = "Apex's distributed optimizer, counted like Megatron's";
            draft.set(item, distributed, on, KeyStatus::Derived, note);
        }
        "distributed_fused_adam" => {
            let reason = "Apex's optimizer shards gradients as well, bucket by bucket";
            draft.not_modelled(item, MemoryEffect::More, reason);
            draft.settings.set(distributed, on);
        }
        "fused_adam" | "adam" | "adamw" => {
            draft.row(item, KeyStatus::Mapped, Some(FieldId::optimizer), "");
        }
        _ => {
            let reason = "the states of this optimizer are not counted";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
    }
}

/// Marks a job whose layers are `NeMo`'s own because the file does not ask for those of Megatron-Core.
fn own_layers(draft: &mut JobDraft, keys: &Keys<'_>) {
    let asks = keys.at("model.mcore_gpt").or_else(|| keys.at("model.mamba_hybrid"));
    let is_hybrid = draft.has(FieldId::hybrid_layer_pattern);
    if asks.is_none() && !is_hybrid {
        let reason = "layers of NeMo's own are counted like those of Megatron-Core";
        draft.marks.push(NotModelled::new("model.mcore_gpt", reason));
    }
}

/// Marks a job whose architecture is in a checkpoint.
fn checkpoint(draft: &mut JobDraft, keys: &Keys<'_>) {
    let restores = keys.at("model.restore_from_path");
    if restores.is_some_and(|item| !is_off(&item.value)) && !draft.has(FieldId::num_layers) {
        let reason = "the architecture is in the checkpoint";
        draft.marks.push(NotModelled::new("model.restore_from_path", reason));
    }
}
