//! One spelling for every value: `"4,096"`, `4_096` and `4096` are the same number, and a default that is
//! written out is the same as none. Links and exports use this form, so that equal jobs give equal bytes.

use core::str::FromStr;

use super::compress_ratios::CompressRatios;
use super::field::{Kind, Scope};
use super::fields::FieldId;
use super::hybrid_pattern::HybridPattern;
use super::layer_sizes::LayerSizesList;
use super::not_modelled;
use super::parse::{Parsed, default_value, parse};
use super::raw::{RawJob, RawModule, Settings};
use crate::parallel::stages::PipelineLayout;
use crate::value::Value;

/// The value of a field after parsing and defaults.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// Nothing: it is derived from other fields, or absent.
    Nothing,
    /// A value, given or by default.
    Is(Parsed),
    /// A value that the field cannot take, as text.
    Bad(String),
}

/// The longest text of a value that a field cannot take, in characters.
const LONGEST_BAD: usize = 100;

/// Whether a flag is on, said or by default.
#[must_use]
pub fn is_on(settings: &Settings, id: FieldId) -> bool {
    meaning(id, settings.get(id)) == Meaning::Is(Parsed::Flag(true))
}

/// The meaning of a field's raw value; `None` where no value was given.
#[must_use]
pub fn meaning(id: FieldId, raw: Option<&Value>) -> Meaning {
    let Some(value) = raw else {
        return default_meaning(id);
    };
    read(id, value).unwrap_or_else(|| Meaning::Bad(bad_text(id, value)))
}

/// The meaning of a field that was not given.
fn default_meaning(id: FieldId) -> Meaning {
    default_value(id.field()).map_or(Meaning::Nothing, Meaning::Is)
}

/// The meaning of a raw value; `None` for a value that the field cannot take.
fn read(id: FieldId, value: &Value) -> Option<Meaning> {
    let canonical = match parse(id.field(), value).ok()? {
        None => return Some(default_meaning(id)),
        Some(Parsed::Text(text)) if id == FieldId::pipeline_model_parallel_layout => {
            let layout = PipelineLayout::from_str(&text).ok()?;
            // A single stage without layers has no spelling of its own.
            layout.layers().next()?;
            Parsed::Text(layout.to_string())
        }
        Some(Parsed::Text(text)) if id == FieldId::hybrid_layer_pattern => {
            Parsed::Text(HybridPattern::from_str(&text).ok()?.to_string())
        }
        Some(Parsed::Text(text)) if id == FieldId::layer_sizes => {
            Parsed::Text(LayerSizesList::from_str(&text).ok()?.to_string())
        }
        Some(Parsed::Text(text)) if id == FieldId::csa_compress_ratios => {
            Parsed::Text(CompressRatios::from_str(&text).ok()?.to_string())
        }
        Some(parsed) => parsed,
    };
    Some(Meaning::Is(canonical))
}

/// A value that a field cannot take, as text that it cannot take either.
fn bad_text(id: FieldId, value: &Value) -> String {
    let text = match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    };
    let clipped: String = text.trim().chars().take(LONGEST_BAD).collect();
    let clipped = clipped.trim_end().to_owned();
    let is_bad = |text: &String| read(id, &Value::Text(text.clone())).is_none();
    let marked = format!("{clipped}…");
    let mut candidates = [clipped, marked].into_iter();
    candidates.find(is_bad).unwrap_or_default()
}

/// The layers of a hybrid model; `None` where the settings have none, or a text that is no pattern.
#[must_use]
pub fn hybrid_pattern(settings: &Settings) -> Option<HybridPattern> {
    let id = FieldId::hybrid_layer_pattern;
    match meaning(id, settings.get(id)) {
        Meaning::Is(Parsed::Text(text)) => text.parse().ok(),
        _ => None,
    }
}

impl Meaning {
    /// The canonical raw value. A value that the field cannot take is a text that it cannot take.
    #[must_use]
    pub fn to_value(&self, id: FieldId) -> Value {
        match self {
            Self::Nothing => Value::Null,
            Self::Is(parsed) => to_value(id.field().kind, parsed),
            Self::Bad(text) => Value::Text(text.clone()),
        }
    }

    /// Whether the field cannot take the value.
    #[must_use]
    pub const fn is_bad(&self) -> bool {
        matches!(self, Self::Bad(_))
    }
}

/// The raw value that reads as `parsed`.
#[must_use]
pub fn to_value(kind: Kind, parsed: &Parsed) -> Value {
    match parsed {
        Parsed::Int(i) => Value::Int((*i).into()),
        Parsed::Flag(b) => Value::Bool(*b),
        Parsed::Decimal(decimal) => {
            let text = decimal.to_string();
            if let Ok(whole) = text.parse() {
                Value::Int(whole)
            } else {
                text.parse().map_or(Value::Text(text), Value::Float)
            }
        }
        Parsed::Pattern(pattern) => match pattern {
            super::pattern::LayerPattern::Every(n) => Value::Int((*n).into()),
            list @ super::pattern::LayerPattern::List(_) => Value::Text(list.to_string()),
        },
        Parsed::Text(text) => Value::Text(text.clone()),
        Parsed::Choice(index) => Value::Text(
            names(kind)
                .get(usize::from(*index))
                .copied()
                .unwrap_or_default()
                .to_owned(),
        ),
        Parsed::Set(bits) => Value::List(
            set_names(kind, *bits)
                .map(|name| Value::Text(name.to_owned()))
                .collect(),
        ),
    }
}

/// The names that a field of this kind chooses from.
#[must_use]
pub fn names(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Choice(names) | Kind::Set(names) => names,
        _ => &[],
    }
}

/// The names of a set, in the order of the field's list.
pub fn set_names(kind: Kind, bits: u32) -> impl Iterator<Item = &'static str> {
    names(kind)
        .iter()
        .zip(0..u32::BITS)
        .filter(move |(_, bit)| bits & (1 << bit) != 0)
        .map(|(name, _)| *name)
}

/// Fields of which rules ask whether a job states them: one that states the default is another job than one that leaves
/// the field out.
const COUNT_WHEN_STATED: [FieldId; 2] = [FieldId::linear_attention_freq, FieldId::apply_rope_fusion];

/// The field that an encoder takes from the language model unless the encoder's own settings state it, even with the
/// value that all modules share. No preset of several modules states it in one of them.
const COUNTS_WHEN_STATED_BY_MODULE: FieldId = FieldId::micro_batch_size;

/// Whether a raw value says something, and not "nothing".
fn is_stated(id: FieldId, raw: Option<&Value>) -> bool {
    raw.is_some_and(|value| parse(id.field(), value) != Ok(None))
}

/// What `own` says of a field where that is something else than what `other` says. Nothing is said where the field
/// counts as soon as it is stated and `own` does not state it.
fn difference(id: FieldId, own: Option<&Value>, other: Option<&Value>) -> Option<Meaning> {
    let now = meaning(id, own);
    if !COUNT_WHEN_STATED.contains(&id) {
        return (now != meaning(id, other)).then_some(now);
    }
    match (is_stated(id, own), is_stated(id, other)) {
        (true, true) if now == meaning(id, other) => None,
        (true, _) => Some(now),
        (false, true) => Some(Meaning::Nothing),
        (false, false) => None,
    }
}

/// Whether a job with this raw value is the same as one that leaves the field out.
#[must_use]
pub fn is_default(id: FieldId, value: &Value) -> bool {
    difference(id, Some(value), None).is_none()
}

/// The fields of `settings` whose meaning differs from that in `base`, in declaration order. Values that a field cannot
/// take are among them: without them the settings would be those of another job.
pub fn differences<'s>(settings: &'s Settings, base: &'s Settings) -> impl Iterator<Item = (FieldId, Meaning)> + 's {
    FieldId::ALL.iter().filter_map(move |id| {
        let (own, other) = (settings.get(*id), base.get(*id));
        if own == other {
            return None;
        }
        Some((*id, difference(*id, own, other)?))
    })
}

/// `base` with the differences of `settings`: the same job in canonical form.
#[must_use]
pub fn normalize(settings: &Settings, base: &Settings) -> Settings {
    let mut normal = base.clone();
    for (id, meaning) in differences(settings, base) {
        normal.set(id, meaning.to_value(id));
    }
    normal
}

/// A job in canonical form over its preset's: shared values over those of `base`, each module's values over the
/// shared ones. Values that a field cannot take stay, as text.
#[must_use]
pub fn normalize_job(job: &RawJob, base: &RawJob) -> RawJob {
    let shared = normalize(&job.shared, &base.shared);
    let modules = job
        .modules
        .iter()
        .map(|module| RawModule {
            name: module.name.clone(),
            rank_offset: canonical_offset(module),
            settings: module_differences(&module.settings, &Settings::default(), &shared)
                .map(|(id, meaning)| (id, meaning.to_value(id)))
                .collect(),
        })
        .collect();
    RawJob {
        shared,
        modules,
        unknown: job.unknown.clone(),
        not_modelled: not_modelled::canonical(&job.not_modelled),
    }
}

/// The fields that mean something else for a module with the values `own` than with those of `base`, where both
/// stand over the `shared` ones of their job.
pub fn module_differences<'s>(
    own: &'s Settings,
    base: &'s Settings,
    shared: &'s Settings,
) -> impl Iterator<Item = (FieldId, Meaning)> + 's {
    FieldId::ALL.iter().filter_map(move |id| {
        if id.field().scope != Scope::Module {
            return None;
        }
        if *id == COUNTS_WHEN_STATED_BY_MODULE {
            let (value, base) = (own.get(*id), base.get(*id));
            let is_shared = is_stated(*id, shared.get(*id));
            match (is_stated(*id, value), is_stated(*id, base)) {
                (true, false) => return Some((*id, meaning(*id, value))),
                // Null over a value that all modules share.
                (false, false) if value.is_some() && base.is_none() && is_shared => {
                    return Some((*id, Meaning::Nothing));
                }
                _ => {}
            }
        }
        let counts = |settings: &'s Settings| settings.get(*id).or_else(|| shared.get(*id));
        let (now, before) = (counts(own), counts(base));
        if now == before {
            return None;
        }
        Some((*id, difference(*id, now, before)?))
    })
}

/// The first rank of a module's span in canonical form. What is no rank stays, as a number or as text.
#[must_use]
pub fn canonical_offset(module: &RawModule) -> Option<Value> {
    if let Some(offset) = rank_offset(module) {
        return Some(Value::Int(offset.into()));
    }
    let text = match module.rank_offset.as_ref()? {
        Value::Null => return None,
        Value::Text(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    if matches!(text.as_str(), "None" | "null") {
        return None;
    }
    let number = text.parse().map(Value::Int);
    Some(number.unwrap_or_else(|_| Value::Text(text.chars().take(LONGEST_BAD).collect())))
}

/// The first rank of a module's span, where it is given and can be read.
#[must_use]
pub fn rank_offset(module: &RawModule) -> Option<u64> {
    let field = super::field::Field {
        kind: Kind::Int {
            min: 0,
            max: 10_000_000,
        },
        ..*FieldId::world_size.field()
    };
    match parse(&field, module.rank_offset.as_ref()?) {
        Ok(Some(Parsed::Int(offset))) => Some(offset),
        _ => None,
    }
}
