//! Converts values as front ends write them.

use super::key_value::KeyValue;
use crate::config::choices::FsdpDtype;
use crate::config::field::Kind;
use crate::config::fields::FieldId;
use crate::config::parse::{Parsed, parse};
use crate::formats::report::shown;
use crate::parallel::stages::PipelineLayout;
use crate::value::Value;

/// A value in the form that a field reads: names without their module, dtypes by short name, layouts as text.
pub(in crate::formats) fn plain(id: FieldId, value: &Value) -> Value {
    let kind = id.field().kind;
    match (kind, value) {
        // The router computes in the dtype of the parameters where it has none of its own.
        (_, Value::Text(text)) if text == "bf16" && id == FieldId::moe_router_dtype => Value::Null,
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
        // Megatron-Bridge has no name for a buffer's own dtype.
        (Kind::Choice(names), Value::Null) if *names == *FsdpDtype::NAMES => {
            Value::Text(FsdpDtype::Auto.name().to_owned())
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
        (Kind::Set(_), Value::List(names)) => Value::List(names.iter().map(|name| Value::Text(word(name))).collect()),
        (Kind::Set(_), Value::Text(text)) => {
            let bare = text.replace(['[', ']', '\'', '"'], " ");
            Value::Text(bare)
        }
        (Kind::Text { .. }, Value::List(rows)) if id == FieldId::pipeline_model_parallel_layout => {
            layout(rows).unwrap_or_else(|| value.clone())
        }
        (_, Value::Text(text)) if text == "None" => Value::Null,
        // A negative factor is none (`TransformerConfig.__post_init__`).
        (Kind::Decimal { .. }, Value::Text(text))
            if id == FieldId::moe_expert_capacity_factor && text.trim().starts_with('-') =>
        {
            Value::Null
        }
        (Kind::Decimal { .. }, Value::Int(_) | Value::Float(_))
            if id == FieldId::moe_expert_capacity_factor && shown(value).starts_with('-') =>
        {
            Value::Null
        }
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
pub(in crate::formats) fn word(value: &Value) -> String {
    let text = shown(value.get("_target_").or(value.get("_name_")).unwrap_or(value));
    text.rsplit('.').next().unwrap_or_default().to_owned()
}

/// A truth value as any front end writes it.
pub(in crate::formats) fn truth(value: &Value) -> Option<bool> {
    match parse(FieldId::bf16.field(), value) {
        Ok(Some(Parsed::Flag(on))) => Some(on),
        _ => None,
    }
}

pub(in crate::formats) fn is_off(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) | Value::Int(0) => true,
        Value::Text(text) => matches!(text.as_str(), "" | "None" | "none" | "null" | "false" | "False"),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}

pub(in crate::formats) fn int(item: &KeyValue) -> Option<u64> {
    match parse(FieldId::ddp_bucket_size.field(), &item.value) {
        Ok(Some(Parsed::Int(i))) => Some(i),
        _ => None,
    }
}

/// A decimal number such as `1.3`, as a fraction.
pub(in crate::formats) struct Decimal {
    numerator: u64,
    denominator: u64,
}

impl Decimal {
    /// The product with a whole number, rounded down.
    pub(in crate::formats) fn of(&self, number: u64) -> u64 {
        number.saturating_mul(self.numerator) / self.denominator.max(1)
    }
}

impl core::str::FromStr for Decimal {
    type Err = core::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = u32::try_from(part.len()).unwrap_or(u32::MAX);
        Ok(Self {
            numerator: format!("{whole}{part}").parse()?,
            denominator: 10_u64.saturating_pow(digits),
        })
    }
}
