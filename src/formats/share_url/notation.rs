//! How a link writes the value of one field.
//!
//! Numbers and names are themselves, flags are 1 and 0, names of a set are separated by commas. Patterns and
//! layouts are lists of runs: `0~3,1~58` is three zeros and fifty-eight ones; in `Et3,t2~29,m,L` the commas end
//! pipeline stages, a number repeats a layer and `~` repeats a stage. In the pattern of a hybrid model commas end
//! stages, colons begin MTP depths, `a` is attention and `l` is latent attention: `M-Ma-,MEME:aE`.

use crate::config::canonical::{meaning, names, set_names};
use crate::config::field::Kind;
use crate::config::fields::FieldId;
use crate::config::hybrid_pattern::HybridPattern;
use crate::config::layer_sizes::LayerSizesList;
use crate::config::parse::{Parsed, parse};
use crate::config::pattern::LayerPattern;
use crate::parallel::stages::{LayerType, PipelineLayout};
use crate::value::Value;

/// How a link writes "explicitly nothing". Without the token the preset's value counts.
pub(super) const NULL: &str = "null";
/// How a link writes an empty set.
const EMPTY: &str = "0";
/// The most entries of a list of runs.
const MAX_RUNS: usize = 10_000;

/// A field's value before percent-encoding.
pub(super) fn write(id: FieldId, parsed: &Parsed) -> String {
    let kind = id.field().kind;
    match parsed {
        Parsed::Int(i) => i.to_string(),
        Parsed::Flag(b) => u8::from(*b).to_string(),
        Parsed::Decimal(decimal) => decimal.to_string(),
        Parsed::Choice(index) => names(kind)
            .get(usize::from(*index))
            .copied()
            .unwrap_or_default()
            .to_owned(),
        Parsed::Set(0) => EMPTY.to_owned(),
        Parsed::Set(bits) => set_names(kind, *bits).collect::<Vec<_>>().join(","),
        Parsed::Pattern(LayerPattern::Every(n)) => n.to_string(),
        Parsed::Pattern(LayerPattern::List(list)) => write_pattern(list),
        Parsed::Text(text) if id == FieldId::pipeline_model_parallel_layout => match text.parse::<PipelineLayout>() {
            Ok(layout) => write_layout(&layout),
            Err(_) => text.clone(),
        },
        Parsed::Text(text) if id == FieldId::hybrid_layer_pattern => {
            with_letters(&LETTERS, text, |(symbol, letter)| (*symbol, *letter))
        }
        Parsed::Text(text) if id == FieldId::layer_sizes => {
            with_letters(&LAYER_SIZES, text, |(symbol, letter)| (*symbol, *letter))
        }
        Parsed::Text(text) => text.clone(),
    }
}

/// What a link writes for the symbols of a hybrid pattern that links do not show as they are.
const LETTERS: [(char, char); 4] = [('*', 'a'), ('+', 'l'), ('|', ','), ('/', ':')];

/// What a link writes for the characters of layer sizes that links do not show as they are.
const LAYER_SIZES: [(char, char); 4] = [('*', '~'), ('/', ':'), ('(', '@'), (')', '_')];

/// The text with the characters of `letters` replaced; `pair` says from which to which.
fn with_letters(letters: &[(char, char)], text: &str, pair: fn(&(char, char)) -> (char, char)) -> String {
    let replaced = |c: char| {
        let mut pairs = letters.iter().map(pair);
        pairs.find(|(from, _)| *from == c).map_or(c, |(_, to)| to)
    };
    text.chars().map(replaced).collect()
}

/// What stands in front of a value that the field cannot take, where the value alone would mean another one.
const BAD: char = '?';

/// A value that the field cannot take, before percent-encoding.
pub(super) fn write_bad(id: FieldId, text: &str) -> String {
    if text.is_empty() {
        // A link cannot end with `=`.
        return String::from(" ");
    }
    let plain = match id {
        FieldId::hybrid_layer_pattern => with_letters(&LETTERS, text, |(symbol, letter)| (*symbol, *letter)),
        FieldId::layer_sizes => with_letters(&LAYER_SIZES, text, |(symbol, letter)| (*symbol, *letter)),
        _ => text.to_owned(),
    };
    match read(id, &plain) {
        Err(bad) if bad.value == text && !plain.starts_with(BAD) => plain,
        _ => format!("{BAD}{text}"),
    }
}

/// A value of a link that the field cannot take.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadValue {
    /// The value in the field's own notation.
    pub(super) value: String,
    /// Why the field cannot take it.
    pub(super) reason: String,
}

/// The raw value that `text` stands for.
///
/// # Errors
/// When the field cannot take the value.
pub(super) fn read(id: FieldId, text: &str) -> Result<Value, BadValue> {
    if text == NULL {
        return Ok(Value::Null);
    }
    // A field of names takes a text that begins with the mark as it is.
    if let Some(value) = text.strip_prefix(BAD)
        && reason(id, text).is_some()
        && let Some(reason) = reason(id, value)
    {
        let value = value.to_owned();
        return Err(BadValue { value, reason });
    }
    let full = match id {
        FieldId::hybrid_layer_pattern => Some(with_letters(&LETTERS, text, |(symbol, letter)| (*letter, *symbol))),
        FieldId::layer_sizes => Some(with_letters(&LAYER_SIZES, text, |(symbol, letter)| (*letter, *symbol))),
        FieldId::moe_layer_freq | FieldId::linear_attention_freq => read_pattern(text),
        FieldId::pipeline_model_parallel_layout => read_layout(text),
        _ if text == EMPTY && matches!(id.field().kind, Kind::Set(_)) => Some(String::new()),
        _ => None,
    };
    let value = full.unwrap_or_else(|| text.to_owned());
    match reason(id, &value) {
        None => Ok(Value::Text(value)),
        Some(reason) => Err(BadValue { value, reason }),
    }
}

/// Why a field cannot take a text; `None` where it can.
fn reason(id: FieldId, text: &str) -> Option<String> {
    let value = Value::Text(text.to_owned());
    if let Err(error) = parse(id.field(), &value) {
        return Some(error.to_string());
    }
    let found = match id {
        FieldId::pipeline_model_parallel_layout => text.parse::<PipelineLayout>().err().map(|e| e.to_string()),
        FieldId::hybrid_layer_pattern => text.parse::<HybridPattern>().err().map(|e| e.to_string()),
        FieldId::layer_sizes => text.parse::<LayerSizesList>().err().map(|e| e.to_string()),
        _ => None,
    };
    let is_bad = meaning(id, Some(&value)).is_bad();
    found.or_else(|| is_bad.then(|| String::from("has no layers")))
}

fn write_pattern(list: &[bool]) -> String {
    let runs: Vec<String> = list
        .chunk_by(|a, b| a == b)
        .map(|run| {
            let entry = u8::from(run.first() == Some(&true));
            // A single entry needs a mark too: `1` alone is a whole number, not a list.
            if run.len() == 1 && list.len() > 1 {
                entry.to_string()
            } else {
                format!("{entry}~{}", run.len())
            }
        })
        .collect();
    if runs.is_empty() {
        return "0~0".to_owned();
    }
    runs.join(",")
}

/// The pattern in Megatron's notation; `None` where `text` is not a list of runs.
fn read_pattern(text: &str) -> Option<String> {
    if !text.contains([',', '~']) {
        return None;
    }
    let mut list = Vec::new();
    for run in text.split(',') {
        let (entry, times) = run.split_once('~').unwrap_or((run, "1"));
        let entry = match entry {
            "0" => false,
            "1" => true,
            _ => return None,
        };
        extend(&mut list, &entry, times)?;
    }
    Some(LayerPattern::List(list).to_string())
}

fn write_layout(layout: &PipelineLayout) -> String {
    let mut parts = Vec::new();
    for run in layout.stages().chunk_by(|a, b| a == b) {
        let Some(stage) = run.first() else { continue };
        let mut part = String::new();
        for layers in stage.chunk_by(|a, b| a == b) {
            part.extend(layers.first().map(|layer| layer.letter()));
            if layers.len() > 1 {
                part.push_str(&layers.len().to_string());
            }
        }
        if run.len() > 1 {
            part.push('~');
            part.push_str(&run.len().to_string());
        }
        parts.push(part);
    }
    parts.join(",")
}

/// The layout in Megatron's notation; `None` where `text` is not in the notation of links.
fn read_layout(text: &str) -> Option<String> {
    let mut stages = Vec::new();
    let mut items = 0_usize;
    for part in text.split(',') {
        let (layers, times) = part.split_once('~').unwrap_or((part, "1"));
        let mut stage = Vec::new();
        let mut rest = layers;
        while let Some(letter) = rest.chars().next() {
            let layer = LayerType::ALL.into_iter().find(|l| l.letter() == letter)?;
            rest = rest.get(letter.len_utf8()..)?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let count = rest.get(..digits)?;
            extend(&mut stage, &layer.name(), if digits == 0 { "1" } else { count })?;
            rest = rest.get(digits..)?;
        }
        // Bounded as a whole, not stage by stage.
        items = items.checked_add((stage.len() + 1).checked_mul(times.parse().ok()?)?)?;
        if items > 2 * MAX_RUNS {
            return None;
        }
        extend(&mut stages, &stage, times)?;
    }
    let layout = PipelineLayout::from_names(stages).ok()?;
    Some(layout.to_string())
}

fn extend<T: Clone>(list: &mut Vec<T>, entry: &T, times: &str) -> Option<()> {
    let times: usize = times.parse().ok()?;
    if list.len().checked_add(times)? > MAX_RUNS {
        return None;
    }
    list.extend(core::iter::repeat_n(entry.clone(), times));
    Some(())
}
