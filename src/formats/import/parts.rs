//! What several keys say together: batch, sequence, activation, number of GPUs.

use super::draft::{Draft, Item};
use super::precision;
use super::values::{int, truth, word};
use super::vocabulary::{self, Tokenizer};
use crate::config::fields::FieldId;
use crate::formats::report::Fate;
use crate::value::Value;

/// What one key cannot say alone.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) gated: Option<Item>,
    pub(super) activation: Option<Item>,
    pub(super) gradients: Option<Item>,
    pub(super) vocabulary: Option<Item>,
    pub(super) tokenizer: Tokenizer,
    pub(super) pad_vocabulary: bool,
    pub(super) nodes: Option<Item>,
    pub(super) gpus_per_node: Option<Item>,
    pub(super) prompt: Option<Item>,
    pub(super) response: Option<Item>,
    pub(super) tokens: Option<Item>,
    pub(super) dynamic: Option<Item>,
    pub(super) prompts: Option<Item>,
    pub(super) samples: Option<Item>,
    pub(super) steps: Option<Item>,
    pub(super) batch: Option<Item>,
}

/// Puts together what several keys say.
pub(super) fn combine(draft: &mut Draft, parts: Parts) {
    activation(draft, parts.gated, parts.activation);
    precision::combine(draft, parts.gradients);
    if let Some(item) = parts.vocabulary {
        let id = if parts.pad_vocabulary {
            FieldId::vocab_size
        } else {
            FieldId::padded_vocab_size
        };
        let value = item.value.clone();
        draft.set(&item, id, value, Fate::Mapped, "");
    }
    vocabulary::combine(draft, parts.tokenizer);
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
    batch(
        draft,
        parts.prompts,
        parts.samples,
        parts.steps,
        parts.batch,
    );
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

/// The global batch: of prompts with several samples each, in several steps, or as the data loader hands it out.
fn batch(
    draft: &mut Draft,
    prompts: Option<Item>,
    samples: Option<Item>,
    steps: Option<Item>,
    loaded: Option<Item>,
) {
    let id = FieldId::global_batch_size;
    let given = draft.has(id);
    let count = |item: &Option<Item>| item.as_ref().and_then(int).unwrap_or(1).max(1);
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
                draft.set(&item, id, Value::Int(all.into()), Fate::Derived, note);
            }
            _ => draft.row(&item, Fate::Ignored, None, other),
        }
    }
    // Batches of prompts are split further, by a setting with a default of its own.
    let split = draft.has(id) || samples.is_some();
    for item in [samples, steps].into_iter().flatten() {
        draft.row(&item, Fate::Derived, Some(id), "");
    }
    if let Some(item) = loaded {
        if split {
            draft.row(&item, Fate::Ignored, None, "split into smaller batches");
        } else {
            let value = item.value.clone();
            draft.set(&item, id, value, Fate::Mapped, "");
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
