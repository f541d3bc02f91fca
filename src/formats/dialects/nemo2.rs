//! Recipes of `NeMo` 2: what the parts of a recipe are called in Megatron-Bridge, whose configuration has the same
//! fields in other sections (`nemo/lightning` and `nemo/collections/llm` at 8cfedd7203).

pub mod models;

use super::bridge::{self, CLASS_DEFAULTS, together};
use super::destinations::field_of;
use super::framework::{Files, Framework};
use super::meaning::KeyMeaning::{self, Field, Irrelevant, Role};
use super::meaning::look_up;
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::derivations::{activation, adapters, gpus, hybrid, optimizer, packing, precision, vocabulary};
use crate::formats::import::ImportError;
use crate::formats::import::draft::{JobDraft, python};
use crate::formats::import::imported::Question;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{is_off, truth, word};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// `NeMo` 2's recipes.
pub static NEMO2: Framework = Framework {
    name: "NeMo 2",
    find,
    defaults: &[CLASS_DEFAULTS],
    begin: |_, _, keys| refuse(keys),
    special,
    derivations: &[
        model,
        vocabulary,
        activation::function,
        adapters::of_bridge,
        precision::mixed,
        vocabulary::given,
        hybrid::layers,
        vocabulary::of_tokenizer,
        gpus::of_nodes,
        optimizer::layer_wise,
        together::without_what_is_off,
        packing::to_length,
        overlap,
        enough_gpus,
    ],
    after_defaults: precision::gradients_as_said,
    names_published_models: true,
    ..Framework::PLAIN
};

/// The class of the model's configuration.
const MODEL: &str = "model.config._class";

/// Refuses models that are no GPTs.
fn refuse(keys: &Keys<'_>) -> Result<(), ImportError> {
    let class = keys.at(MODEL).map(|item| shown(&item.value));
    match class.as_deref().and_then(models::refused) {
        Some(what) => Err(ImportError::NotRead(what)),
        None => Ok(()),
    }
}

/// The parts of a recipe.
pub(in crate::formats) const PARTS: Files = Files {
    keys: &[
        ("trainer.num_nodes", "num_nodes"),
        ("trainer.devices", "devices"),
        ("trainer.plugins.fp8_params", "mixed_precision.fp8_param"),
        ("trainer.strategy.fsdp", "fsdp"),
        ("data.seq_length", "dataset.seq_length"),
        ("data.micro_batch_size", "train.micro_batch_size"),
        ("data.global_batch_size", "train.global_batch_size"),
        (
            "data.packed_sequence_specs.packed_sequence_size",
            "dataset.packed_sequence_specs.packed_sequence_size",
        ),
        ("data.tokenizer.0", "tokenizer.tokenizer_model"),
        // The mixed precision decides (`update_config_with_dtype_overrides`).
        ("trainer.strategy.ddp.grad_reduce_in_fp32", "ignored"),
        // The length of the data counts.
        ("model.config.seq_length", "ignored"),
    ],
    places: &[
        ("trainer.strategy.ddp.", "ddp."),
        ("trainer.strategy.", "model."),
        ("trainer.plugins.", "mixed_precision."),
        ("model.config.", "model."),
        ("optim.config.", "optimizer."),
        ("peft.", "peft."),
    ],
    ignored: &[
        "trainer.strategy.ckpt_",
        "trainer.strategy.save_ckpt_format",
        "trainer.strategy.gradient_as_bucket_view",
        "trainer.strategy.progress_interval",
        "trainer.strategy.replace_progress_bar",
        "trainer.strategy.use_te_rng_tracker",
        "trainer.accelerator",
        "trainer.accumulate_grad_batches",
        "trainer.limit_",
        "trainer.log_every_n_steps",
        "trainer.max_",
        "trainer.num_sanity_val_steps",
        "trainer.use_distributed_sampler",
        "trainer.val_check_interval",
        "trainer.enable_checkpointing",
        "trainer.logger",
        "trainer.gradient_clip_val",
        "data.",
        "optim.lr_scheduler.",
        "model.tokenizer",
    ],
    model: MODEL,
    ..Files::NONE
};

/// Names that Megatron-Bridge does not have, or has with another meaning.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("ignored", Irrelevant),
    ("num_nodes", Role(gpus::NODES)),
    ("devices", Role(gpus::PER_NODE)),
    ("model.pipeline_dtype", Irrelevant),
    ("model.moe_enable_deepep", Irrelevant),
    // The fusion of the bias with dropout is called otherwise in Megatron-Core, and this name is no field of it.
    ("model.bias_dropout_add_fusion", Irrelevant),
    ("model.tp_only_amax_red", Irrelevant),
    ("model.generation_config", Irrelevant),
    (
        "model.use_transformer_engine_full_layer_spec",
        KeyMeaning::nothing("Transformer Engine's own layer keeps the same tensors"),
    ),
    ("model.vocab_size", Field("padded_vocab_size")),
    ("model.enable_cuda_graph", Field("enable_cuda_graph")),
    ("mixed_precision.autocast_enabled", Irrelevant),
    ("optimizer.lr", Irrelevant),
];

/// The meaning of a key, once the beginning of its path has been replaced as the layout's `places` say.
fn find(key: &str) -> Option<KeyMeaning> {
    look_up(KEYS, key).or_else(|| bridge::find(key))
}

/// Callbacks that change no memory of a training step.
const CALLBACKS: &[&str] = &[
    "DDPParityChecker",
    "FaultToleranceCallback",
    "FLOPsMeasurementCallback",
    "GarbageCollectionCallback",
    "LearningRateMonitor",
    "MemoryMonitor",
    "MemoryProfileCallback",
    "ModelCheckpoint",
    "NsysCallback",
    "PreemptionCallback",
    "ProgressPrinter",
    "PytorchProfilerCallback",
    "RuntimeEstimator",
    "StragglerDetectionCallback",
    "TimingCallback",
];

/// Reads a key that is not another name of a setting of Megatron-Bridge. Returns whether the key is one of them.
fn special(draft: &mut JobDraft, keys: &mut Keys<'_>, item: &KeyValue, _: &str) -> bool {
    let path = item.key.as_str();
    if let Some(callback) = path.strip_prefix("trainer.callbacks") {
        self::callback(draft, keys, item, callback.trim_start_matches('.'));
        return true;
    }
    match path {
        // The model's class is applied when all other settings are known.
        MODEL => {}
        "peft._class" => return false,
        "trainer.plugins.precision" => precision(draft, keys, item),
        "trainer.strategy.fsdp" if word(&item.value) == "megatron" => {
            let id = FieldId::use_megatron_fsdp;
            draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
        }
        "trainer.strategy.fsdp" => {
            draft.row(item, KeyStatus::Ignored, None, "switched off");
        }
        "trainer.strategy.ddp" if word(&item.value) == "pytorch" => {
            let reason = "PyTorch's DDP keeps gradients in buckets of its own";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
        "trainer.strategy.ddp" => draft.row(item, KeyStatus::Ignored, None, "the default"),
        _ if path.ends_with("._class") => {
            let note = "how the configuration is built";
            draft.row(item, KeyStatus::Ignored, None, note);
        }
        _ => return false,
    }
    true
}

/// The dtype of training, and of gradients where nothing else says it: `MegatronMixedPrecision` reduces them in fp32.
fn precision(draft: &mut JobDraft, keys: &Keys<'_>, item: &KeyValue) {
    let id = match word(&item.value).trim_end_matches("-mixed") {
        "bf16" => FieldId::bf16,
        "16" | "fp16" => FieldId::fp16,
        _ => {
            let note = "parameters of fp32";
            return draft.row(item, KeyStatus::Mapped, Some(FieldId::bf16), note);
        }
    };
    draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
    if keys.at("trainer.plugins.grad_reduce_in_fp32").is_none() {
        let fp32 = FieldId::accumulate_allreduce_grads_in_fp32;
        draft.default(fp32, Value::Bool(true));
    }
}

/// A callback, or an argument of one.
fn callback(draft: &mut JobDraft, keys: &Keys<'_>, item: &KeyValue, callback: &str) {
    let (class, argument) = callback.split_once('.').unwrap_or((callback, ""));
    let mut set = |id, value| draft.set(item, id, value, KeyStatus::Derived, "");
    match (class, argument) {
        ("DeepEPCallback", "_class") => {
            set(FieldId::moe_token_dispatcher_type, Value::Text("flex".to_owned()));
            set(FieldId::moe_flex_dispatcher_backend, Value::Text("deepep".to_owned()));
            let note = "DeepEP, which the callback leaves off on Blackwell";
            set(FieldId::moe_shared_expert_overlap, Value::Bool(false));
            if let Some(row) = draft.report.last_mut() {
                row.note = note.into();
            }
        }
        ("MegatronTokenDropCallback", "_class") => {
            let of = |name: &str| {
                let path = format!("trainer.callbacks.MegatronTokenDropCallback.{name}");
                keys.at(&path).map(|item| item.value.clone())
            };
            let factor = of("moe_expert_capacity_factor").unwrap_or(Value::Float(1.0));
            let pads = of("moe_pad_expert_input_to_capacity").unwrap_or(Value::Bool(true));
            set(FieldId::moe_expert_capacity_factor, factor);
            set(FieldId::moe_pad_expert_input_to_capacity, pads);
        }
        ("DeepEPCallback" | "MegatronTokenDropCallback" | "MegatronCommOverlapCallback", _) => {
            draft.row(item, KeyStatus::Derived, None, "");
        }
        _ if class.is_empty() || CALLBACKS.contains(&class) => {
            draft.row(item, KeyStatus::Ignored, None, "does not change memory");
        }
        (_, "_class") => {
            let reason = "a callback that is not followed";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
        _ => draft.row(item, KeyStatus::Ignored, None, "of a callback"),
    }
}

/// Applies `MegatronCommOverlapCallback`, which turns settings on where the layout can use them: user buffers with
/// tensor and sequence parallelism, larger buckets with a distributed optimizer and several data-parallel ranks.
fn overlap(draft: &mut JobDraft, keys: &Keys<'_>) {
    let path = "trainer.callbacks.MegatronCommOverlapCallback";
    let Some(item) = keys.at(&format!("{path}._class")) else {
        return;
    };
    let given = |name: &str| keys.at(&format!("{path}.{name}")).filter(|item| !is_off(&item.value));
    let is_on = |draft: &JobDraft, id| draft.settings.get(id).and_then(truth) == Some(true);
    let size = |draft: &JobDraft, id| draft.number(id).unwrap_or(1);
    let tensor = size(draft, FieldId::tensor_model_parallel_size);
    if tensor > 1 && is_on(draft, FieldId::sequence_parallel) && given("tp_comm_overlap").is_some() {
        let id = FieldId::tp_comm_overlap;
        draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
    }
    for (name, id) in [
        ("defer_embedding_wgrad_compute", FieldId::defer_embedding_wgrad_compute),
        ("wgrad_deferral_limit", FieldId::wgrad_deferral_limit),
    ] {
        if let Some(item) = given(name) {
            draft.set(item, id, item.value.clone(), KeyStatus::Derived, "");
        }
    }
    let replica = replica(draft);
    let world = draft.number(FieldId::world_size);
    let is_alone = world.is_some_and(|world| world <= replica);
    if !is_on(draft, FieldId::use_distributed_optimizer) || is_alone {
        return;
    }
    let bucket = given("bucket_size").map_or(Value::Int(128 * 1024 * 1024), |item| item.value.clone());
    draft.set(item, FieldId::ddp_bucket_size, bucket, KeyStatus::Derived, "");
    for (name, id) in [
        ("overlap_grad_reduce", FieldId::overlap_grad_reduce),
        ("overlap_param_gather", FieldId::overlap_param_gather),
    ] {
        let said = keys.at(&format!("{path}.{name}"));
        let on = said.and_then(|item| truth(&item.value)).unwrap_or(true);
        draft.set(item, id, Value::Bool(on), KeyStatus::Derived, "");
    }
}

/// The GPUs that hold one copy of the model.
fn replica(draft: &JobDraft) -> u64 {
    let sizes = [
        FieldId::tensor_model_parallel_size,
        FieldId::pipeline_model_parallel_size,
        FieldId::context_parallel_size,
    ];
    let sizes = sizes.map(|id| draft.number(id).unwrap_or(1));
    sizes.into_iter().fold(1, u64::saturating_mul)
}

/// Takes the number of GPUs out where it holds no copy of the model: recipes have a default for it, which whoever
/// starts them is to replace.
fn enough_gpus(draft: &mut JobDraft, _: &Keys<'_>) {
    let id = FieldId::world_size;
    let replica = replica(draft);
    if draft.number(id).is_some_and(|world| world < replica) {
        draft.settings.unset(id);
        let of_gpus = draft.report.iter_mut().filter(|row| row.field == Some(id));
        for row in of_gpus {
            row.status = KeyStatus::Ignored;
            row.note = format!("one copy of the model takes {replica} GPUs").into();
        }
    }
}

/// The model: its shape is that of a preset, and its class decides the settings that the recipe leaves.
fn model(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(item) = keys.at(MODEL) else {
        return;
    };
    let class = shown(&item.value);
    let known = models::find(&class);
    let name = known.map_or(class.as_str(), |model| model.preset).to_owned();
    let named = KeyValue {
        value: Value::Text(name.clone()),
        ..item.clone()
    };
    draft.questions.push(Question::Model { name });
    let note = "the architecture is that of a class of NeMo's";
    draft.not_modelled(&named, MemoryEffect::Nothing, note);
    for (field, value) in known.into_iter().flat_map(models::Model::settings) {
        if let Some(id) = field_of(field).filter(|id| !draft.has(*id)) {
            let note = format!("of NeMo's {class}");
            draft.set(item, id, python(value), KeyStatus::Derived, note);
        }
    }
}

/// The vocabulary of GPT-2's tokenizer, which data for pretraining has where the recipe gives no other one.
const GPT2_VOCABULARY: i128 = 50_257;

/// The vocabulary: that of the model's class, or that of the data's tokenizer. Fine-tuning has the tokenizer of the
/// model.
fn vocabulary(draft: &mut JobDraft, keys: &Keys<'_>) {
    let data = keys.at("data._class");
    let is_pretraining =
        |item: &&KeyValue| matches!(shown(&item.value).as_str(), "MockDataModule" | "PreTrainingDataModule");
    let has_tokenizer = keys.all().iter().any(|item| item.key.starts_with("data.tokenizer"));
    if let Some(data) = data.filter(is_pretraining)
        && !has_tokenizer
        && !draft.has(FieldId::padded_vocab_size)
        && !draft.has(FieldId::vocab_size)
    {
        let note = "the vocabulary of GPT-2, whose tokenizer this data has by default";
        let size = Value::Int(GPT2_VOCABULARY);
        draft.set(data, FieldId::vocab_size, size, KeyStatus::Derived, note);
    }
}
