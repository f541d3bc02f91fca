//! Recipes of `NeMo` 2.

use super::layered::{find, leaf};
use super::trees::leaves_of;
use super::{finish, limit_keys};
use crate::config::fields::FieldId;
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::formats::detect::Format;
use crate::formats::dialects::layered::{self, nemo2::models};
use crate::formats::dialects::{Dialect, field_of};
use crate::formats::import::combined::{self, CombinedKeys};
use crate::formats::import::draft::{JobDraft, KeyValue, python};
use crate::formats::import::rules::{Decides, decides};
use crate::formats::import::values::{is_off, truth, word};
use crate::formats::import::{Import, ImportError, Options, Question};
use crate::formats::python::nemo2::{self, Recipe};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// Reads the job of one recipe function; where a file has several and no answer chooses one, that of the first.
pub(in crate::formats::import) fn nemo2(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    let elsewhere = "a NeMo 2 script without a function that makes a recipe: its settings are in other files";
    let first = nemo2::read(text, None).ok_or(ImportError::NotRead(elsewhere))?;
    let line = first.calls.first().map_or(1, |(_, line)| *line);
    let mut answers = options.branches.iter().rev();
    let recipe = match answers.find(|(known, _)| *known == line) {
        Some((_, chosen)) => nemo2::read(text, Some(*chosen)).unwrap_or(first),
        None => first,
    };
    let leaves = leaves_of(&recipe.overrides.root);
    limit_keys(leaves.len())?;
    let class = find(&leaves, MODEL).map(|item| shown(&item.value));
    if let Some(what) = class.as_deref().and_then(models::refused) {
        return Err(ImportError::NotRead(what));
    }
    let layout = layered::of(Format::Nemo2Python).ok_or(ImportError::NotRecognized)?;
    let mut draft = JobDraft::new(Dialect::Nemo2);
    let mut combined = CombinedKeys::default();
    for item in &leaves {
        if !special(&mut draft, &leaves, item) {
            leaf(&mut draft, &mut combined, layout, &leaves, item);
        }
    }
    model(&mut draft, &leaves);
    vocabulary(&mut draft, &leaves);
    of_other_files(&mut draft, &recipe);
    combined::combine(&mut draft, combined);
    overlap(&mut draft, &leaves);
    enough_gpus(&mut draft);
    asked(&mut draft, recipe, line);
    finish(draft, Format::Nemo2Python, options)
}

/// The class of the model's configuration.
const MODEL: &str = "model.config._class";

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
fn special(draft: &mut JobDraft, leaves: &[KeyValue], item: &KeyValue) -> bool {
    let path = item.key.as_str();
    if let Some(callback) = path.strip_prefix("trainer.callbacks") {
        self::callback(draft, leaves, item, callback.trim_start_matches('.'));
        return true;
    }
    match path {
        // The model's class is applied when all other settings are known.
        MODEL => {}
        "peft._class" => return false,
        "trainer.plugins.precision" => precision(draft, leaves, item),
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
fn precision(draft: &mut JobDraft, leaves: &[KeyValue], item: &KeyValue) {
    let id = match word(&item.value).trim_end_matches("-mixed") {
        "bf16" => FieldId::bf16,
        "16" | "fp16" => FieldId::fp16,
        _ => {
            let note = "parameters of fp32";
            return draft.row(item, KeyStatus::Mapped, Some(FieldId::bf16), note);
        }
    };
    draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
    if find(leaves, "trainer.plugins.grad_reduce_in_fp32").is_none() {
        let fp32 = FieldId::accumulate_allreduce_grads_in_fp32;
        draft.default(fp32, Value::Bool(true));
    }
}

/// A callback, or an argument of one.
fn callback(draft: &mut JobDraft, leaves: &[KeyValue], item: &KeyValue, callback: &str) {
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
                find(leaves, &path).map(|item| item.value.clone())
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
fn overlap(draft: &mut JobDraft, leaves: &[KeyValue]) {
    let path = "trainer.callbacks.MegatronCommOverlapCallback";
    let Some(item) = find(leaves, &format!("{path}._class")) else {
        return;
    };
    let given = |name: &str| find(leaves, &format!("{path}.{name}")).filter(|item| !is_off(&item.value));
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
        let said = find(leaves, &format!("{path}.{name}"));
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
fn enough_gpus(draft: &mut JobDraft) {
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
fn model(draft: &mut JobDraft, leaves: &[KeyValue]) {
    let Some(item) = find(leaves, MODEL) else {
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
fn vocabulary(draft: &mut JobDraft, leaves: &[KeyValue]) {
    let data = find(leaves, "data._class");
    let is_pretraining =
        |item: &&KeyValue| matches!(shown(&item.value).as_str(), "MockDataModule" | "PreTrainingDataModule");
    let has_tokenizer = leaves.iter().any(|item| item.key.starts_with("data.tokenizer"));
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

/// Reports the values that functions of other files make.
fn of_other_files(draft: &mut JobDraft, recipe: &Recipe) {
    for (path, name, line) in &recipe.elsewhere {
        let item = KeyValue {
            key: path.clone(),
            value: Value::Text(name.clone()),
            line: *line,
        };
        let is_part = matches!(
            path.as_str(),
            "model"
                | "model.config"
                | "trainer"
                | "trainer.strategy"
                | "trainer.strategy.ddp"
                | "trainer.plugins"
                | "data"
                | "optim"
                | "optim.config"
                | "peft"
        );
        let name = path
            .strip_prefix("model.config.")
            .or_else(|| path.strip_prefix("trainer.strategy."));
        let setting = name.map(|name| decides(Dialect::Nemo2, &format!("model.{name}")));
        if is_part {
            let note = "a function of another file, whose settings are not in the text";
            draft.not_modelled(&item, MemoryEffect::More, note);
        } else if let Some(Decides::Setting(field)) = setting {
            let why = "only running the recipe would tell its value";
            draft.add_missing(&item, field, why.to_owned());
            draft.marks.push(NotModelled::new(path, why));
        } else {
            draft.row(&item, KeyStatus::Ignored, None, "does not change memory");
        }
    }
}

/// Asks which function is meant, and says which one is read.
fn asked(draft: &mut JobDraft, recipe: Recipe, line: u32) {
    if let Some((name, at)) = recipe.calls.get(recipe.taken) {
        let item = KeyValue {
            key: name.clone(),
            value: Value::Null,
            line: *at,
        };
        draft.row(&item, KeyStatus::Mapped, None, "the function that is read");
    }
    if recipe.calls.len() > 1 {
        draft.questions.push(Question::Branch {
            line,
            labels: recipe.calls.into_iter().map(|(name, _)| name).collect(),
            taken: Some(recipe.taken),
        });
    }
}
