//! From keys to fields: renamed ones, and those with rules of their own.

use super::Question;
use super::dialect::{Dialect, Found, field_of};
use super::draft::{Draft, Item, python};
use crate::config::field::Kind;
use crate::config::fields::FieldId;
use crate::config::parse::{Parsed, parse};
use crate::formats::bridge_keys;
use crate::formats::json;
use crate::formats::keys::{Meaning, Rule};
use crate::formats::megatron_args;
use crate::formats::report::{Fate, shown};
use crate::parallel::stages::PipelineLayout;
use crate::value::Value;

/// What one key cannot say alone.
#[derive(Default)]
pub(super) struct Parts {
    gated: Option<Item>,
    activation: Option<Item>,
    vocabulary: Option<Item>,
    pad_vocabulary: bool,
    nodes: Option<Item>,
    gpus_per_node: Option<Item>,
    prompt: Option<Item>,
    response: Option<Item>,
    tokens: Option<Item>,
    dynamic: Option<Item>,
    prompts: Option<Item>,
    samples: Option<Item>,
}

/// Destinations without a field, with what happens to them.
const WITHOUT_FIELD: &[(&str, Fate, &str)] = &[
    ("use_flash_attn", Fate::Ignored, "attention_backend decides"),
    (
        "openai_gelu",
        Fate::Ignored,
        "another formula of the same size",
    ),
    (
        "tokenizer_type",
        Fate::Ignored,
        "the vocabulary's size is what counts",
    ),
    (
        "deprecated_use_mcore_models",
        Fate::Ignored,
        "the only kind of model that is left",
    ),
    (
        "add_position_embedding",
        Fate::Ignored,
        "position_embedding_type decides",
    ),
    (
        "calculate_per_token_loss",
        Fate::Ignored,
        "does not change memory",
    ),
    (
        "rampup_batch_size",
        Fate::Ignored,
        "the full batch is what counts",
    ),
    (
        "moe_router_load_balancing_type",
        Fate::Ignored,
        "does not change what is kept",
    ),
    (
        "fake_process_group",
        Fate::Ignored,
        "a way to measure, not a job",
    ),
    (
        "checkpoint_activations",
        Fate::Conflicting,
        "Megatron-LM refuses it; use --recompute-granularity",
    ),
    (
        "model_parallel_size",
        Fate::Conflicting,
        "Megatron-LM refuses it; use --tensor-model-parallel-size",
    ),
];

/// Takes one key in.
pub(super) fn apply(draft: &mut Draft, parts: &mut Parts, item: &Item, name: &str) {
    match draft.dialect.find(name) {
        None => draft.row(item, Fate::Unknown, None, ""),
        Some(Found::Retired(successor)) => retired(draft, item, successor),
        Some(Found::Means(meaning)) => match meaning {
            Meaning::Irrelevant => {
                draft.row(item, Fate::Ignored, None, "does not change memory");
            }
            Meaning::NotModelled(_) if is_off(&item.value) => {
                draft.row(item, Fate::Ignored, None, "switched off");
            }
            Meaning::NotModelled(why) => draft.row(item, Fate::NotModelled, None, why),
            Meaning::Field(destination) => field(draft, item, destination),
            Meaning::Opposite(destination) => opposite(draft, item, destination),
            Meaning::Rule(rule) => self::rule(draft, parts, item, rule),
        },
    }
}

fn retired(draft: &mut Draft, item: &Item, successor: Option<&'static str>) {
    let Some(successor) = successor else {
        let note = "this version of Megatron-LM does not have it";
        return draft.row(item, Fate::Ignored, None, note);
    };
    match draft.dialect.find(successor) {
        Some(Found::Means(Meaning::Field(destination))) if field_of(destination).is_some() => {
            field(draft, item, destination);
        }
        _ => draft.row(item, Fate::Ignored, None, format!("now called {successor}")),
    }
}

/// Sets the field behind one of Megatron-LM's destinations.
fn field(draft: &mut Draft, item: &Item, destination: &'static str) {
    if let Some(id) = field_of(destination) {
        let value = plain(id, &item.value);
        return draft.set(item, id, value, Fate::Mapped, "");
    }
    if is_off(&item.value) {
        return draft.row(item, Fate::Ignored, None, "switched off");
    }
    let set = |draft: &mut Draft, id, value: &str| {
        draft.set(item, id, Value::Text(value.to_owned()), Fate::Derived, "");
    };
    match destination {
        "recompute_activations" => set(draft, FieldId::recompute_granularity, "selective"),
        "moe_layer_recompute" => {
            set(draft, FieldId::recompute_granularity, "selective");
            set(draft, FieldId::recompute_modules, "moe");
        }
        "use_rotary_position_embeddings" => set(draft, FieldId::position_embedding_type, "rope"),
        "encoder_num_layers" => draft.set(
            item,
            FieldId::num_layers,
            item.value.clone(),
            Fate::Mapped,
            "",
        ),
        "encoder_seq_length" => draft.set(
            item,
            FieldId::seq_length,
            item.value.clone(),
            Fate::Mapped,
            "",
        ),
        _ => {
            let known = WITHOUT_FIELD.iter().find(|(name, ..)| *name == destination);
            let default = draft.dialect.default_of(destination).map(python);
            if let Some((_, fate, note)) = known {
                draft.row(item, *fate, None, *note);
            } else if default.is_some_and(|default| shown(&default) == shown(&item.value)) {
                draft.row(item, Fate::Ignored, None, "the default");
            } else {
                let note = "the estimate does not follow it";
                draft.row(item, Fate::NotModelled, None, note);
            }
        }
    }
}

fn opposite(draft: &mut Draft, item: &Item, destination: &'static str) {
    let Some(on) = truth(&item.value) else {
        return draft.row(item, Fate::Conflicting, None, "needs true or false");
    };
    let given = Item {
        value: Value::Bool(!on),
        ..item.clone()
    };
    match (field_of(destination), destination) {
        (Some(id), _) => draft.set(item, id, given.value, Fate::Mapped, ""),
        (None, "pad_vocab_size") if on => {
            let vocabulary = draft.settings.get(FieldId::vocab_size).cloned();
            match vocabulary {
                Some(vocabulary) => {
                    let id = FieldId::padded_vocab_size;
                    draft.set(
                        item,
                        id,
                        vocabulary,
                        Fate::Derived,
                        "the vocabulary as it is",
                    );
                }
                None => draft.row(
                    item,
                    Fate::NotModelled,
                    None,
                    "the vocabulary's size is not known",
                ),
            }
        }
        // On by default, and switched off here.
        (None, _) if on => {
            let known = WITHOUT_FIELD.iter().find(|(name, ..)| *name == destination);
            let (fate, note) = known.map_or(
                (Fate::NotModelled, "the estimate does not follow it"),
                |(_, fate, note)| (*fate, *note),
            );
            draft.row(item, fate, None, note);
        }
        (None, _) => draft.row(item, Fate::Ignored, None, "the default"),
    }
}

fn rule(draft: &mut Draft, parts: &mut Parts, item: &Item, rule: Rule) {
    let mut later = |slot: fn(&mut Parts) -> &mut Option<Item>| *slot(parts) = Some(item.clone());
    match rule {
        Rule::QueryGroups if item.value == Value::Null => {
            draft.row(
                item,
                Fate::Mapped,
                Some(FieldId::num_query_groups),
                "no grouped queries",
            );
        }
        Rule::QueryGroups => {
            draft
                .settings
                .set(FieldId::group_query_attention, Value::Bool(true));
            let value = item.value.clone();
            draft.set(item, FieldId::num_query_groups, value, Fate::Mapped, "");
        }
        Rule::PrecisionPreset => precision(draft, item),
        Rule::Dtype => dtype(draft, item),
        Rule::PadVocabulary => {
            parts.pad_vocabulary = truth(&item.value) == Some(true);
            draft.row(item, Fate::Mapped, Some(FieldId::padded_vocab_size), "");
        }
        Rule::VirtualStages => {
            let id = FieldId::virtual_pipeline_model_parallel_size;
            let value = item.value.clone();
            draft.set(item, id, value, Fate::Mapped, "");
        }
        Rule::HfModel => {
            if let Value::Text(name) = &item.value {
                draft.questions.push(Question::Model { name: name.clone() });
            }
            let note = "the architecture is in the model's config.json";
            draft.row(item, Fate::NotModelled, None, note);
        }
        Rule::Nested => nested(draft, parts, item),
        Rule::GatedLinearUnit => later(|parts| &mut parts.gated),
        Rule::ActivationFunction => later(|parts| &mut parts.activation),
        Rule::PaddedVocabulary => later(|parts| &mut parts.vocabulary),
        Rule::Nodes => later(|parts| &mut parts.nodes),
        Rule::GpusPerNode => later(|parts| &mut parts.gpus_per_node),
        Rule::PromptLength => later(|parts| &mut parts.prompt),
        Rule::ResponseLength => later(|parts| &mut parts.response),
        Rule::TokensPerGpu => later(|parts| &mut parts.tokens),
        Rule::DynamicBatch => later(|parts| &mut parts.dynamic),
        Rule::PromptBatch => later(|parts| &mut parts.prompts),
        Rule::SamplesPerPrompt => later(|parts| &mut parts.samples),
    }
}

fn precision(draft: &mut Draft, item: &Item) {
    let name = shown(&item.value);
    let Some(preset) = bridge_keys::precision_called(&name) else {
        return draft.row(item, Fate::Unknown, None, "no precision of this name");
    };
    for (destination, value) in preset.fields {
        if let Some(id) = field_of(destination)
            && !draft.has(id)
        {
            draft.settings.set(id, python(value));
        }
    }
    draft.row(item, Fate::Mapped, Some(FieldId::bf16), "");
}

fn dtype(draft: &mut Draft, item: &Item) {
    let id = match word(&item.value).as_str() {
        "bfloat16" | "bf16" => FieldId::bf16,
        "float16" | "half" | "fp16" => FieldId::fp16,
        _ => {
            let note = "parameters of fp32";
            return draft.row(item, Fate::Mapped, Some(FieldId::bf16), note);
        }
    };
    draft.set(item, id, Value::Bool(true), Fate::Derived, "");
}

/// Settings inside one value: a map, or JSON in text.
fn nested(draft: &mut Draft, parts: &mut Parts, item: &Item) {
    let Value::Text(text) = &item.value else {
        // Maps were taken apart before; an empty one is left.
        return draft.row(item, Fate::Ignored, None, "empty");
    };
    let Ok(root) = json::parse(text) else {
        return draft.row(item, Fate::Unknown, None, "not JSON");
    };
    draft.row(item, Fate::Mapped, None, "");
    for entry in root.entries() {
        let inner = Item {
            key: format!("{}.{}", item.key, entry.key),
            value: entry.node.to_value(),
            line: item.line,
        };
        // One level: what is nested again belongs to no field.
        if !matches!(inner.value, Value::Map(_)) {
            apply(draft, parts, &inner, &entry.key);
        }
    }
}

/// Puts together what several keys say.
pub(super) fn combine(draft: &mut Draft, parts: Parts) {
    activation(draft, parts.gated, parts.activation);
    if let Some(item) = parts.vocabulary {
        let id = if parts.pad_vocabulary {
            FieldId::vocab_size
        } else {
            FieldId::padded_vocab_size
        };
        let value = item.value.clone();
        draft.set(&item, id, value, Fate::Mapped, "");
    }
    if let (Some(nodes), Some(each)) = (&parts.nodes, &parts.gpus_per_node)
        && let (Some(n), Some(g)) = (int(nodes), int(each))
    {
        let value = Value::Int(n.saturating_mul(g).into());
        draft
            .settings
            .set(FieldId::gpus_per_node, Value::Int(g.into()));
        draft.row(nodes, Fate::Derived, Some(FieldId::world_size), "");
        draft.set(
            each,
            FieldId::world_size,
            value,
            Fate::Derived,
            "nodes · GPUs per node",
        );
    } else {
        for item in [parts.nodes, parts.gpus_per_node].into_iter().flatten() {
            draft.row(
                &item,
                Fate::Ignored,
                None,
                "without the other no number of GPUs",
            );
        }
    }
    sequence(
        draft,
        parts.prompt,
        parts.response,
        parts.tokens,
        parts.dynamic,
    );
    let samples = parts.samples.as_ref().and_then(int).unwrap_or(1);
    if let Some(item) = parts.prompts {
        match int(&item) {
            Some(prompts) if !draft.has(FieldId::global_batch_size) => {
                let value = Value::Int(prompts.saturating_mul(samples).into());
                let note = "prompts · samples of each";
                draft.set(
                    &item,
                    FieldId::global_batch_size,
                    value,
                    Fate::Derived,
                    note,
                );
            }
            _ => draft.row(&item, Fate::Ignored, None, "the global batch is given"),
        }
    }
    if let Some(item) = parts.samples {
        draft.row(&item, Fate::Derived, Some(FieldId::global_batch_size), "");
    }
}

fn activation(draft: &mut Draft, gated: Option<Item>, function: Option<Item>) {
    let on = gated
        .as_ref()
        .is_some_and(|item| truth(&item.value) == Some(true));
    let name = function
        .as_ref()
        .map(|item| word(&item.value))
        .unwrap_or_default();
    let id = match (on, name.as_str()) {
        (true, "gelu" | "fast_gelu") => Some(FieldId::geglu),
        (true, "quick_gelu") => Some(FieldId::quick_geglu),
        (true, _) => Some(FieldId::swiglu),
        (false, "squared_relu") => Some(FieldId::squared_relu),
        (false, _) => None,
    };
    for item in [gated, function].into_iter().flatten() {
        match id {
            Some(id) => draft.set(&item, id, Value::Bool(true), Fate::Derived, ""),
            None => draft.row(&item, Fate::Mapped, None, "GELU, not gated"),
        }
    }
}

fn sequence(
    draft: &mut Draft,
    prompt: Option<Item>,
    response: Option<Item>,
    tokens: Option<Item>,
    dynamic: Option<Item>,
) {
    let id = FieldId::seq_length;
    let is_dynamic = dynamic
        .as_ref()
        .is_some_and(|item| truth(&item.value) == Some(true));
    if let (Some(item), true) = (&tokens, is_dynamic)
        && let Some(count) = int(item)
    {
        // Each rank of a context-parallel group takes its part of the tokens.
        let cp = draft.number(FieldId::context_parallel_size).unwrap_or(1);
        let value = Value::Int(count.saturating_mul(cp).into());
        let note = "packed to this many tokens per GPU · CP, as one sample";
        draft.settings.set(FieldId::micro_batch_size, Value::Int(1));
        draft.set(item, id, value, Fate::Derived, note);
    } else if let (Some(p), Some(r)) = (
        prompt.as_ref().and_then(int),
        response.as_ref().and_then(int),
    ) && let Some(item) = &response
        && !draft.has(id)
    {
        let value = Value::Int(p.saturating_add(r).into());
        draft.set(item, id, value, Fate::Derived, "prompt + response");
    }
    let decided = draft.has(id);
    for item in [prompt, response, tokens, dynamic].into_iter().flatten() {
        if draft.report.iter().any(|row| row.key == item.key) {
            continue;
        }
        if decided {
            draft.row(&item, Fate::Derived, Some(id), "");
        } else {
            draft.row(&item, Fate::Ignored, None, "says no sequence length alone");
        }
    }
}

/// A value in the form that a field reads: names without their module, dtypes by short name, layouts as text.
fn plain(id: FieldId, value: &Value) -> Value {
    let kind = id.field().kind;
    match (kind, value) {
        (Kind::Choice(names), Value::Map(_)) => {
            // An enum written out: its class, and the number or name of its value.
            let first = match value.get("_args_") {
                Some(Value::List(items)) => items.first(),
                _ => None,
            };
            match first {
                Some(Value::Int(number)) if id == FieldId::attention_backend => {
                    let index = usize::try_from(number - 1).ok();
                    let name = index.and_then(|index| names.get(index));
                    name.map_or(Value::Null, |name| Value::Text((*name).to_owned()))
                }
                Some(Value::Text(name)) => Value::Text(name.clone()),
                _ => Value::Text(short(&word(value))),
            }
        }
        // One name for each layer; the same for all is one name.
        (Kind::Choice(_), Value::List(items)) => match items.split_first() {
            Some((first, rest)) if rest.iter().all(|item| item == first) => plain(id, first),
            _ => value.clone(),
        },
        (Kind::Choice(names), Value::Text(text)) if !names.contains(&text.as_str()) => {
            // A list of one, as `MODEL_ARGS` has them.
            let one = text.trim_start_matches('[').trim_end_matches(']').trim();
            if names.contains(&one) {
                return Value::Text(one.to_owned());
            }
            Value::Text(short(&word(value)))
        }
        (Kind::Set(_), Value::Text(text)) => {
            let bare = text.replace(['[', ']', '\'', '"'], " ");
            Value::Text(bare)
        }
        (Kind::Text { .. }, Value::List(rows)) if id == FieldId::pipeline_model_parallel_layout => {
            layout(rows).unwrap_or_else(|| value.clone())
        }
        (_, Value::Text(text)) if text == "None" => Value::Null,
        (Kind::Int { .. }, Value::Text(text)) if parse(id.field(), value).is_err() => {
            // `4096.0` and the like come from programs; anything else stays for the user to see.
            Value::Text(text.trim_end_matches(".0").to_owned())
        }
        _ => value.clone(),
    }
}

fn layout(rows: &[Value]) -> Option<Value> {
    let names = rows.iter().map(|row| match row {
        Value::List(names) => names.iter().map(shown).collect::<Vec<_>>(),
        other => vec![shown(other)],
    });
    let layout = PipelineLayout::from_names(names).ok()?;
    Some(Value::Text(layout.to_string()))
}

/// The short name of a dtype; any other word as it is.
fn short(word: &str) -> String {
    let short = match word {
        "bfloat16" => "bf16",
        "float16" | "half" => "fp16",
        "float32" | "float" => "fp32",
        "uint8" => "fp8",
        other => other,
    };
    short.to_owned()
}

/// The last part of a dotted name; of `{_target_: …}` that of the target.
fn word(value: &Value) -> String {
    let text = shown(
        value
            .get("_target_")
            .or(value.get("_name_"))
            .unwrap_or(value),
    );
    text.rsplit('.').next().unwrap_or_default().to_owned()
}

/// A truth value as any front end writes it.
fn truth(value: &Value) -> Option<bool> {
    match parse(FieldId::bf16.field(), value) {
        Ok(Some(Parsed::Flag(on))) => Some(on),
        _ => None,
    }
}

fn is_off(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) | Value::Int(0) => true,
        Value::Text(text) => matches!(
            text.as_str(),
            "" | "None" | "none" | "null" | "false" | "False"
        ),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}

fn int(item: &Item) -> Option<u64> {
    match parse(FieldId::ddp_bucket_size.field(), &item.value) {
        Ok(Some(Parsed::Int(i))) => Some(i),
        _ => None,
    }
}

/// Whether a flag is one that only slime has.
pub(super) fn is_slime(name: &str) -> bool {
    megatron_args::find(name).is_none()
        && matches!(
            Dialect::Slime.find(name),
            Some(Found::Means(Meaning::Rule(_) | Meaning::NotModelled(_)))
        )
}
