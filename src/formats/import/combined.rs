//! Fields that several keys decide together: batch size, sequence length, activation function, number of GPUs.

use super::adapters::{self, AdapterKeys};
use super::bridge;
use super::draft::{JobDraft, KeyValue};
use super::hybrid::{self, HybridKeys};
use super::mindspeed::{self, MindSpeedKeys};
use super::precision;
use super::rlhf;
use super::task_type;
use super::values::{int, truth, word};
use super::vocabulary::{self, Tokenizer};
use crate::config::fields::FieldId;
use crate::config::not_modelled::NotModelled;
use crate::formats::dialects::Dialect;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// The keys that decide a field only together with others, kept until all keys were read.
#[derive(Default)]
pub(super) struct CombinedKeys {
    pub(super) gated: Option<KeyValue>,
    pub(super) activation: Option<KeyValue>,
    pub(super) gradients: Option<KeyValue>,
    pub(super) vocabulary: Option<KeyValue>,
    pub(super) tokenizer: Tokenizer,
    pub(super) pad_vocabulary: bool,
    pub(super) nodes: Option<KeyValue>,
    pub(super) gpus_per_node: Option<KeyValue>,
    pub(super) prompt: Option<KeyValue>,
    pub(super) response: Option<KeyValue>,
    pub(super) tokens: Option<KeyValue>,
    pub(super) dynamic: Option<KeyValue>,
    pub(super) pack_length: Option<KeyValue>,
    pub(super) prompts: Option<KeyValue>,
    pub(super) samples: Option<KeyValue>,
    pub(super) steps: Option<KeyValue>,
    pub(super) batch: Option<KeyValue>,
    pub(super) hybrid: HybridKeys,
    pub(super) mindspeed: MindSpeedKeys,
    pub(super) layer_wise: Option<KeyValue>,
    pub(super) offloading: Option<KeyValue>,
    pub(super) adapters: AdapterKeys,
    pub(super) rlhf: Option<KeyValue>,
    pub(super) task: Option<KeyValue>,
    pub(super) labels: Option<KeyValue>,
}

/// Sets the fields that several keys decide together.
pub(super) fn combine(draft: &mut JobDraft, combined: CombinedKeys) {
    activation(draft, combined.gated, combined.activation);
    adapters::combine(draft, &combined.adapters);
    task_type::combine(draft, combined.task.as_ref(), combined.labels.as_ref());
    let generates = combined.rlhf.is_some();
    if let Some(item) = &combined.rlhf {
        rlhf::settle(draft, item);
    }
    precision::combine(draft, combined.gradients);
    if let Some(item) = &combined.vocabulary
        && item.value == Value::Null
    {
        let note = "the tokenizer's counts";
        draft.row(item, KeyStatus::Ignored, Some(FieldId::vocab_size), note);
        let kind = combined.tokenizer.kind.as_ref();
        if kind.is_some_and(|kind| word(&kind.value) == "NullTokenizer") {
            // `_validate_and_set_vocab_size` in Bridge's `training/setup.py`.
            let why =
                "the run has NullTokenizer's vocabulary, which is counted, and not the one of the published model";
            draft.marks.push(NotModelled::new("tokenizer.tokenizer_type", why));
        }
    } else if let Some(item) = combined.vocabulary {
        let id = if combined.pad_vocabulary {
            FieldId::vocab_size
        } else {
            FieldId::padded_vocab_size
        };
        let value = item.value.clone();
        draft.set(&item, id, value, KeyStatus::Mapped, "");
    }
    hybrid::combine(draft, combined.hybrid);
    mindspeed::combine(draft, combined.mindspeed);
    vocabulary::combine(draft, combined.tokenizer);
    if let (Some(nodes), Some(each)) = (&combined.nodes, &combined.gpus_per_node)
        && let (Some(n), Some(g)) = (int(nodes), int(each))
    {
        let value = Value::Int(n.saturating_mul(g).into());
        draft.settings.set(FieldId::gpus_per_node, Value::Int(g.into()));
        draft.row(nodes, KeyStatus::Derived, Some(FieldId::world_size), "");
        draft.set(
            each,
            FieldId::world_size,
            value,
            KeyStatus::Derived,
            "nodes · GPUs per node",
        );
    } else {
        for item in [combined.nodes, combined.gpus_per_node].into_iter().flatten() {
            draft.row(&item, KeyStatus::Ignored, None, "without the other no number of GPUs");
        }
    }
    if let Some(item) = combined.layer_wise {
        let id = FieldId::use_distributed_optimizer;
        if truth(&item.value) == Some(true) {
            draft.set(&item, id, Value::Bool(true), KeyStatus::Derived, "");
        } else {
            draft.row(&item, KeyStatus::Ignored, None, "switched off");
        }
    }
    if matches!(draft.dialect, Dialect::Bridge | Dialect::Nemo2) {
        bridge::settle(draft, combined.offloading.as_ref());
    }
    if generates && let Some(response) = &combined.response {
        rlhf::add_response(draft, response);
    }
    sequence(
        draft,
        combined.prompt,
        combined.response,
        combined.tokens,
        combined.dynamic,
    );
    if let Some(item) = combined.pack_length {
        pack(draft, &item);
    }
    batch(
        draft,
        combined.prompts,
        combined.samples,
        combined.steps,
        combined.batch,
    );
}

fn activation(draft: &mut JobDraft, gated: Option<KeyValue>, function: Option<KeyValue>) {
    let on = gated.as_ref().is_some_and(|item| truth(&item.value) == Some(true));
    let name = function.as_ref().map(|item| word(&item.value)).unwrap_or_default();
    let id = match (on, name.as_str()) {
        (true, "gelu" | "fast_gelu") => Some(FieldId::geglu),
        (true, "quick_gelu") => Some(FieldId::quick_geglu),
        // `--yaml-cfg` has names for gated functions, and one of its own for the squared one.
        (true, _) | (false, "swiglu") => Some(FieldId::swiglu),
        (false, "squared_relu" | "squaredrelu") => Some(FieldId::squared_relu),
        (false, _) => None,
    };
    for item in [gated, function].into_iter().flatten() {
        match id {
            Some(id) => draft.set(&item, id, Value::Bool(true), KeyStatus::Derived, ""),
            None => draft.row(&item, KeyStatus::Mapped, None, "GELU, not gated"),
        }
    }
}

/// The global batch: of prompts with several samples each, in several steps, or as the data loader hands it out.
fn batch(
    draft: &mut JobDraft,
    prompts: Option<KeyValue>,
    samples: Option<KeyValue>,
    steps: Option<KeyValue>,
    loaded: Option<KeyValue>,
) {
    let id = FieldId::global_batch_size;
    let given = draft.has(id);
    let count = |item: &Option<KeyValue>| item.as_ref().and_then(int).unwrap_or(1).max(1);
    let all = prompts.as_ref().and_then(int);
    let all = all.map(|prompts| prompts.saturating_mul(count(&samples)) / count(&steps));
    let other = "the global batch is given";
    if let Some(item) = prompts {
        match all {
            Some(all) if !given => {
                let note = match steps {
                    Some(_) => "prompts · samples of each / steps",
                    None => "prompts · samples of each",
                };
                draft.set(&item, id, Value::Int(all.into()), KeyStatus::Derived, note);
            }
            _ => draft.row(&item, KeyStatus::Ignored, None, other),
        }
    }
    // Batches of prompts are split further, by a setting with a default of its own.
    let split = draft.has(id) || samples.is_some();
    for item in [samples, steps].into_iter().flatten() {
        draft.row(&item, KeyStatus::Derived, Some(id), "");
    }
    if let Some(item) = loaded {
        if split {
            draft.row(&item, KeyStatus::Ignored, None, "split into smaller batches");
        } else {
            let value = item.value.clone();
            draft.set(&item, id, value, KeyStatus::Mapped, "");
        }
    }
}

/// Sets the length that samples are packed to. ms-swift has one only with `packing`, and the same number of tokens as
/// `max_length` where it has none.
fn pack(draft: &mut JobDraft, item: &KeyValue) {
    let (packed, id) = (FieldId::sft, FieldId::seq_length);
    let on = draft.settings.get(packed) == Some(&Value::Bool(true));
    let length = int(item).filter(|length| *length > 0);
    let Some(length) = length.filter(|_| on || draft.dialect != Dialect::Swift) else {
        return draft.row(item, KeyStatus::Ignored, None, "samples are not packed");
    };
    draft.settings.set(packed, Value::Bool(true));
    if let Some(longest) = draft.number(id).filter(|longest| *longest < length) {
        let longest = Value::Int(longest.into());
        draft.settings.set(FieldId::longest_sample_length, longest);
    }
    let note = "samples are packed to this length";
    draft.set(item, id, Value::Int(length.into()), KeyStatus::Derived, note);
}

/// Sets the tokens that a GPU gets in one micro batch, where micro batches are filled up to a number of tokens. verl
/// has a default for it (`ppo_max_token_len_per_gpu` and `max_token_len_per_gpu` in its `trainer/config`).
fn token_budget(draft: &mut JobDraft, tokens: Option<&KeyValue>, dynamic: Option<&KeyValue>) -> Option<u64> {
    let id = FieldId::max_seqlen_per_dp_cp_rank;
    let dynamic = dynamic?;
    let (item, count, note) = match tokens.and_then(|item| Some((item, int(item)?))) {
        Some((item, count)) => (item, count, "tokens of a micro batch on each GPU"),
        None if draft.dialect == Dialect::Verl => {
            let (count, note) = if dynamic.key.starts_with("data.") {
                (8192, "verl's default: 8192 tokens of a micro batch on each GPU")
            } else {
                (16_384, "verl's default: 16384 tokens of a micro batch on each GPU")
            };
            (dynamic, count, note)
        }
        None => return None,
    };
    // `ChatLearn` says the tokens of all ranks of context parallelism.
    let count = match draft.number(FieldId::context_parallel_size) {
        Some(ranks) if draft.dialect == Dialect::ChatLearn => count.div_ceil(ranks.max(1)),
        _ => count,
    };
    draft.settings.set(FieldId::micro_batch_size, Value::Int(1));
    draft.set(item, id, Value::Int(count.into()), KeyStatus::Derived, note);
    Some(count)
}

fn sequence(
    draft: &mut JobDraft,
    prompt: Option<KeyValue>,
    response: Option<KeyValue>,
    tokens: Option<KeyValue>,
    dynamic: Option<KeyValue>,
) {
    let id = FieldId::seq_length;
    // verl's fine-tuning and `ChatLearn` fill micro batches up to a number of tokens unless they are told otherwise.
    let is_default = dynamic.is_none();
    let by_default = tokens.clone().filter(|item| match draft.dialect {
        Dialect::Verl => is_default && item.key.starts_with("data."),
        Dialect::ChatLearn => is_default,
        _ => false,
    });
    let switch = dynamic.as_ref().filter(|item| truth(&item.value) == Some(true));
    let switch = switch.or(by_default.as_ref());
    let budget = token_budget(draft, tokens.as_ref(), switch);
    if let (Some(p), Some(r)) = (prompt.as_ref().and_then(int), response.as_ref().and_then(int))
        && let Some(item) = &response
        && !draft.has(id)
    {
        let value = Value::Int(p.saturating_add(r).into());
        draft.set(item, id, value, KeyStatus::Derived, "prompt + response");
    } else if let Some(budget) = budget
        && !draft.has(id)
    {
        // Nothing says how long a prompt is: the longest sample may fill a micro batch.
        let cp = draft.number(FieldId::context_parallel_size).unwrap_or(1);
        let response = response.as_ref().and_then(int).unwrap_or(0);
        let longest = budget.saturating_mul(cp).max(response);
        draft.settings.set(id, Value::Int(longest.into()));
    }
    let packs = dynamic.as_ref().is_none_or(|item| truth(&item.value) == Some(true));
    if draft.dialect == Dialect::ChatLearn
        && packs
        && budget.is_none()
        && let Some(length) = draft.number(id)
    {
        let ranks = draft.number(FieldId::context_parallel_size).unwrap_or(1);
        let tokens = Value::Int(length.div_ceil(ranks.max(1)).into());
        draft.settings.set(FieldId::micro_batch_size, Value::Int(1));
        draft.default(FieldId::max_seqlen_per_dp_cp_rank, tokens);
    }
    let decided = draft.has(id);
    for item in [prompt, response, tokens, dynamic].into_iter().flatten() {
        if draft.report.iter().any(|row| row.key == item.key) {
            continue;
        }
        if decided {
            draft.row(&item, KeyStatus::Derived, Some(id), "");
        } else {
            draft.row(&item, KeyStatus::Ignored, None, "says no sequence length alone");
        }
    }
}
