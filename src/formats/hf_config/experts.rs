//! The keys of mixtures of experts.

use super::family::Shared;
use super::pattern;
use super::source::Source;
use crate::formats::node::Data;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// Reads the experts, if the model has any.
pub(super) fn translate(source: &mut Source<'_>, layers: Option<i128>) {
    let Some((found, experts)) = source.count("num_experts", 0) else {
        if let Some(found) = source.find("num_experts") {
            source.row(&found, KeyStatus::Mapped, Some("num_experts"), "none");
        }
        return;
    };
    if experts == 0 {
        source.row(&found, KeyStatus::Mapped, Some("num_experts"), "none");
        return;
    }
    source.map(&found, "num_experts", Value::Int(experts));
    source.required("num_experts_per_tok", "moe_router_topk");
    let width = width(source);
    shared(source, width);
    router(source);
    if let Some(layers) = layers.and_then(|layers| usize::try_from(layers).ok()) {
        pattern::translate(source, layers);
    }
}

/// The width of a routed expert.
fn width(source: &mut Source<'_>) -> Option<i128> {
    let family = source.family;
    let (key, field) = (family.experts.width, "moe_ffn_hidden_size");
    if family.experts.pools
        && let Some(found) = source.find(key)
        && let Data::List(items) = found.data
        && let [text, vision] = items.as_slice()
        && let (Data::Int(text @ 1..), Data::Int(vision @ 1..)) = (&text.data, &vision.data)
    {
        let note = "the first width is that of experts for text";
        source.derive(&found, field, Value::Int(*text), note);
        let note = "the second width is that of experts for images";
        source.derive(&found, "moe_vision_ffn_hidden_size", Value::Int(*vision), note);
        return Some(*text);
    }
    if family.experts.width_may_be_dense
        && source.find(key).is_none()
        && let Some((found, width)) = source.count(family.dense_width, 1)
    {
        let note = "the file names no other width for experts";
        source.derive(&found, field, Value::Int(width), note);
        return Some(width);
    }
    source.required(key, field)
}

fn shared(source: &mut Source<'_>, width: Option<i128>) {
    let field = "moe_shared_expert_intermediate_size";
    match source.family.experts.shared {
        Shared::None => {}
        Shared::Key { key, gate } => {
            if let Some((found, shared)) = source.count(key, 0)
                && shared > 0
            {
                source.map(&found, field, Value::Int(shared));
                source.derive_from_family("moe_shared_expert_gate", Value::Bool(gate), "");
            }
        }
        Shared::CountOf(key) => {
            let Some((width, each)) = source.count(key, 0) else {
                return;
            };
            let count = source.count("n_shared_experts", 0);
            let number = count.as_ref().map_or(1, |(_, number)| *number);
            if let Some((found, _)) = &count {
                source.row(found, KeyStatus::Derived, Some(field), "their number");
            }
            if number * each > 0 {
                source.derive(&width, field, Value::Int(number * each), "the width of each");
            } else {
                source.row(&width, KeyStatus::Mapped, Some(field), "none");
            }
        }
        Shared::One => {
            let note = "one shared expert as wide as a routed one, whatever their number";
            if let Some(found) = source.find("n_shared_experts") {
                source.row(&found, KeyStatus::Ignored, Some(field), note);
            }
            if let Some(width) = width {
                source.derive_from_family(field, Value::Int(width), note);
            }
        }
        Shared::Count => {
            if let Some((found, count)) = source.count("n_shared_experts", 0) {
                if count == 0 {
                    source.row(&found, KeyStatus::Mapped, Some(field), "none");
                } else if let Some(width) = width {
                    let note = "their number times the width of a routed expert";
                    source.derive(&found, field, Value::Int(count * width), note);
                }
            }
        }
    }
}

fn router(source: &mut Source<'_>) {
    let field = "moe_router_score_function";
    let experts = source.family.experts;
    match source.text("scoring_func") {
        Some((found, name @ ("softmax" | "sigmoid" | "sqrtsoftplus"))) => {
            source.map(&found, field, Value::Text(name.to_owned()));
        }
        other => {
            if let Some((found, _)) = other {
                source.row(
                    &found,
                    KeyStatus::NotModelled,
                    Some(field),
                    "a rule that Megatron-LM does not have",
                );
            }
            source.derive_from_family(field, Value::Text(experts.score.to_owned()), "");
        }
    }
    source.derive_from_family("moe_router_enable_expert_bias", Value::Bool(experts.bias), "");
}
