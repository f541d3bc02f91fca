//! How GPT-NeoX and `DeepSpeed` train: precision, sharding, recomputation, batch and tokenizer.

use super::Keys;
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::dialects::neox::PART;
use crate::formats::import::RankBatch;
use crate::formats::import::draft::{JobDraft, KeyValue};
use crate::formats::import::values::is_off;
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// Reads a key of the training whose value has to be converted. Returns whether the key is one of them.
pub(super) fn key(draft: &mut JobDraft, keys: &Keys, item: &KeyValue) -> bool {
    let (section, _) = item.key.split_once('.').unwrap_or((&item.key, ""));
    match (section, item.key.as_str()) {
        ("fp16" | "bf16" | "precision", _) => {
            let is_kind = matches!(
                item.key.as_str(),
                "precision" | "fp16.enabled" | "fp16.type" | "bf16.enabled"
            );
            let (status, id) = if is_kind {
                (
                    KeyStatus::Derived,
                    Some(kind_of_precision(keys).unwrap_or(FieldId::bf16)),
                )
            } else {
                (KeyStatus::Ignored, None)
            };
            draft.row(item, status, id, "");
        }
        ("zero_optimization", _) => sharding(draft, item),
        ("data_types", "data_types.grad_accum_dtype") if shown(&item.value) == "fp32" => {
            let id = FieldId::accumulate_allreduce_grads_in_fp32;
            draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
        }
        ("data_types", _) => draft.row(item, KeyStatus::Ignored, None, "the default"),
        (_, "optimizer.type") => optimizer(draft, keys, item),
        (_, "checkpoint_activations" | "checkpoint_num_layers" | "partition_activations") => {
            let id = match section {
                "checkpoint_activations" => FieldId::recompute_granularity,
                "checkpoint_num_layers" => FieldId::recompute_num_layers,
                _ => FieldId::distribute_saved_activations,
            };
            let is_recomputed = keys.is_on("checkpoint_activations", false);
            let status = if is_recomputed {
                KeyStatus::Derived
            } else {
                KeyStatus::Ignored
            };
            let note = if is_recomputed { "" } else { "nothing is recomputed" };
            draft.row(item, status, is_recomputed.then_some(id), note);
        }
        (_, "train_micro_batch_size_per_gpu") if !is_off(&item.value) => {
            let value = item.value.clone();
            draft.set(item, FieldId::micro_batch_size, value, KeyStatus::Mapped, "");
        }
        (_, "train_batch_size" | "gradient_accumulation_steps" | "batch_size" | "train_micro_batch_size_per_gpu") => {
            let note = "with the number of data-parallel ranks";
            draft.row(item, KeyStatus::Derived, Some(FieldId::global_batch_size), note);
        }
        // Read by `vocabulary`.
        (_, "tokenizer_type" | "vocab_file") => {}
        (_, "train_impl") if shown(&item.value) != "normal" => {
            let reason = "another loss than cross-entropy, mostly with a second model";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
        (_, "train_impl") => draft.row(item, KeyStatus::Ignored, None, "the default"),
        _ => return false,
    }
    true
}

/// `ZeRO`: the first stage shards optimizer states as Megatron's distributed optimizer does.
fn sharding(draft: &mut JobDraft, item: &KeyValue) {
    let id = FieldId::use_distributed_optimizer;
    match (item.key.as_str(), shown(&item.value).as_str()) {
        ("zero_optimization.stage", "0") => {
            draft.set(item, id, Value::Bool(false), KeyStatus::Derived, "");
        }
        ("zero_optimization.stage", "1") => {
            draft.set(item, id, Value::Bool(true), KeyStatus::Derived, "");
        }
        ("zero_optimization.stage", stage) => {
            let reason = match stage {
                "2" => "ZeRO 2 shards gradients as well",
                _ => "ZeRO 3 shards gradients and parameters as well",
            };
            draft.not_modelled(item, MemoryEffect::More, reason);
            draft.settings.set(id, Value::Bool(true));
        }
        (
            "zero_optimization.cpu_offload"
            | "zero_optimization.offload_optimizer.device"
            | "zero_optimization.offload_param.device"
            | "zero_optimization.cpu_offload_params",
            _,
        ) if !is_off(&item.value) => {
            let reason = "DeepSpeed has optimizer states or parameters on the host";
            draft.not_modelled(item, MemoryEffect::More, reason);
        }
        _ => draft.row(item, KeyStatus::Ignored, None, "of DeepSpeed's buffers"),
    }
}

fn optimizer(draft: &mut JobDraft, keys: &Keys, item: &KeyValue) {
    let id = FieldId::optimizer;
    let name = match shown(&item.value).to_ascii_lowercase().as_str() {
        "adam" | "adamw" => "adam",
        "sgd" => "sgd",
        "lion" => "lion",
        _ => {
            let reason = "the states of this optimizer are counted like Adam's";
            return draft.not_modelled(item, MemoryEffect::More, reason);
        }
    };
    if name == "sgd" {
        let momentum = keys.find("optimizer.params.momentum");
        let momentum = momentum.map_or(Value::Int(0), |item| item.value.clone());
        draft.settings.set(FieldId::sgd_momentum, momentum);
    }
    let name = Value::Text(name.to_owned());
    draft.set(item, id, name, KeyStatus::Mapped, "");
}

/// The precision; `None` for fp32. `fp16.type` is of `DeeperSpeed`, the fork of `DeepSpeed` that GPT-NeoX had before.
fn kind_of_precision(keys: &Keys) -> Option<FieldId> {
    let named = match keys.word("precision").as_str() {
        "bfloat16" => Some(FieldId::bf16),
        "fp16" => Some(FieldId::fp16),
        _ => None,
    };
    let half = match keys.word("fp16.type").as_str() {
        "bfloat16" => FieldId::bf16,
        _ => FieldId::fp16,
    };
    named
        .or_else(|| keys.is_on("fp16.enabled", false).then_some(half))
        .or_else(|| keys.is_on("bf16.enabled", false).then_some(FieldId::bf16))
}

/// Sets what several keys decide, or what the files leave out.
pub(super) fn settle(draft: &mut JobDraft, keys: &Keys) {
    let precision = kind_of_precision(keys);
    if let Some(id) = precision {
        draft.settings.set(id, Value::Bool(true));
    }
    recomputation(draft, keys);
    let samples = keys.number("train_batch_size");
    let accumulation = keys.number("gradient_accumulation_steps");
    draft.batch = Some(RankBatch {
        samples,
        accumulation: accumulation.unwrap_or(1),
    });
    // GPT-NeoX refuses a job without a batch: this is a part of one.
    if samples.is_none() && !draft.has(FieldId::micro_batch_size) {
        draft.warning = Some(PART);
        absent(draft, "train_micro_batch_size_per_gpu", FieldId::micro_batch_size);
        if precision.is_none() {
            let id = FieldId::fp16;
            draft.settings.set(id, Value::Bool(true));
            absent(draft, "precision", id);
        }
    }
    vocabulary(draft, keys);
}

/// Reports a key that every job has, in this file or in another.
fn absent(draft: &mut JobDraft, key: &str, id: FieldId) {
    let item = KeyValue {
        key: key.to_owned(),
        value: Value::Null,
        line: 0,
    };
    draft.add_missing(&item, Some(id), "in another file of the job".to_owned());
}

/// Layers whose inputs alone are kept. `partition_activations` splits these inputs over the ranks of tensor
/// parallelism.
fn recomputation(draft: &mut JobDraft, keys: &Keys) {
    if !keys.is_on("checkpoint_activations", false) {
        return;
    }
    let layers = keys.number("checkpoint_num_layers").unwrap_or(1);
    let text = |word: &str| Value::Text(word.to_owned());
    let splits = keys.is_on("partition_activations", false)
        && draft
            .number(FieldId::tensor_model_parallel_size)
            .is_some_and(|size| size > 1)
        && !keys.is_on("sequence_parallel", false);
    for (id, value) in [
        (FieldId::recompute_granularity, text("full")),
        (FieldId::recompute_method, text("uniform")),
        (FieldId::recompute_num_layers, Value::Int(layers.into())),
        (FieldId::distribute_saved_activations, Value::Bool(splits)),
    ] {
        draft.settings.set(id, value);
    }
}

/// Sets the tokens of the tokenizer where they are known (`megatron/tokenizer/tokenizer.py`). Its class is that of
/// GPT-2 where the files name none.
fn vocabulary(draft: &mut JobDraft, keys: &Keys) {
    let file = keys.word("vocab_file");
    let name = file.rsplit('/').next().unwrap_or_default();
    let class = keys.word("tokenizer_type");
    let known = match class.as_str() {
        "" | "gpt2bpetokenizer" if name.starts_with("gpt2") => Some((50_257, "GPT-2's tokens")),
        "hfgpt2tokenizer" if name.is_empty() => Some((50_258, "GPT-2's tokens and one for padding")),
        "hftokenizer" if name.contains("20b_tokenizer") => Some((50_277, "GPT-NeoX-20B's tokens")),
        "charleveltokenizer" => Some((512, "characters")),
        _ => None,
    };
    let id = FieldId::vocab_size;
    let is_given = draft.number(FieldId::padded_vocab_size).is_some();
    let mut known = known.filter(|_| !is_given);
    for item in ["vocab_file", "tokenizer_type"]
        .into_iter()
        .filter_map(|path| keys.find(path))
    {
        match known.take() {
            Some((size, note)) => draft.set(item, id, Value::Int(size), KeyStatus::Derived, note),
            None if draft.has(id) => draft.row(item, KeyStatus::Derived, Some(id), ""),
            None => {
                let note = "the vocabulary's size is what counts";
                draft.row(item, KeyStatus::Ignored, None, note);
            }
        }
    }
}
