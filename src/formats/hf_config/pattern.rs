//! The layers of a model that have experts.

use super::error::HfProblemKind;
use super::family::MoeLayers;
use super::source::{KeyedValue, Source};
use crate::formats::node::{Data, Node};
use crate::formats::report::KeyStatus;
use crate::value::Value;

const PATTERN: &str = "moe_layer_freq";
const ONE_PER_LAYER: HfProblemKind = HfProblemKind::WrongType {
    expected: "a list with one known entry per layer",
};
const LAYER_NUMBERS: HfProblemKind = HfProblemKind::WrongType {
    expected: "a list of layer numbers, counted from 0",
};

/// Sets which layers have experts: 1 when all have, else a list of 0 and 1.
pub(super) fn translate(source: &mut Source<'_>, layers: usize) {
    let problems = source.problems.len();
    let listed = listed(source, layers);
    if source.problems.len() > problems {
        return;
    }
    let pattern = listed.or_else(|| match source.family.experts.layers {
        MoeLayers::All => Some(vec![true; layers]),
        MoeLayers::AfterFirst => Some(after_first(source, layers)),
        MoeLayers::SparseStep => sparse_step(source, layers),
        MoeLayers::Interleaved => interleaved(source, layers),
        MoeLayers::Range => Some(range(source, layers)),
        MoeLayers::FromStart => {
            // The first of two numbers, for experts of text and of images, counts for both.
            let start = rule(source, "moe_layer_start_index", 0, 1);
            for key in ["moe_layer_end_index", "moe_layer_interval"] {
                if let Some(found) = source.find(key) {
                    let note = "Megatron-Bridge puts experts into every layer from the first one on";
                    source.row(&found, KeyStatus::Ignored, Some(PATTERN), note);
                }
            }
            Some((0..layers).map(|layer| layer >= start).collect())
        }
    });
    if let Some(pattern) = pattern {
        let value = if pattern.iter().all(|&moe| moe) {
            Value::Int(1)
        } else {
            Value::List(pattern.into_iter().map(|moe| Value::Int(moe.into())).collect())
        };
        source.derive_from_family(PATTERN, value, "1 for all layers, else which layers have experts");
    }
}

/// The pattern from a key that names every layer's kind.
fn listed(source: &mut Source<'_>, layers: usize) -> Option<Vec<bool>> {
    for key in ["mlp_layer_types", "is_moe_layer", "moe_layer_freq"] {
        let Some(found) = source.find(key) else {
            continue;
        };
        let Data::List(items) = found.data else {
            continue;
        };
        let kinds: Option<Vec<bool>> = items
            .iter()
            .map(|item| match &item.data {
                Data::Bool(moe) => Some(*moe),
                Data::Int(i @ 0..=1) => Some(*i == 1),
                Data::Text(kind) => match kind.as_str() {
                    "dense" => Some(false),
                    "sparse" | "moe" | "hash_moe" => Some(true),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        return match kinds {
            Some(kinds) if kinds.len() == layers => {
                source.row(&found, KeyStatus::Derived, Some(PATTERN), "");
                if let Some(found) = source.find("first_k_dense_replace") {
                    source.row(
                        &found,
                        KeyStatus::Ignored,
                        Some(PATTERN),
                        "another key lists the layers",
                    );
                }
                Some(kinds)
            }
            _ => {
                source.problem(&found, ONE_PER_LAYER);
                None
            }
        };
    }
    let (found, text) = source.text("moe_layers_enum")?;
    let mut pattern = vec![false; layers];
    for number in text.split(',') {
        let layer: Option<usize> = number.trim().parse().ok();
        let Some(moe) = layer.and_then(|layer| pattern.get_mut(layer)) else {
            source.problem(&found, ONE_PER_LAYER);
            return None;
        };
        *moe = true;
    }
    source.row(&found, KeyStatus::Derived, Some(PATTERN), "");
    Some(pattern)
}

/// The whole number under a key of the pattern's rule, or its default without the key.
fn rule(source: &mut Source<'_>, key: &'static str, min: i128, otherwise: usize) -> usize {
    match source.count(key, min) {
        Some((found, number)) => {
            source.row(&found, KeyStatus::Derived, Some(PATTERN), "");
            usize::try_from(number).unwrap_or(usize::MAX)
        }
        None => otherwise,
    }
}

fn after_first(source: &mut Source<'_>, layers: usize) -> Vec<bool> {
    let dense = rule(source, "first_k_dense_replace", 0, 0);
    let step = rule(source, "moe_layer_freq", 1, 1);
    (0..layers)
        .map(|layer| layer >= dense && layer.checked_rem(step) == Some(0))
        .collect()
}

fn sparse_step(source: &mut Source<'_>, layers: usize) -> Option<Vec<bool>> {
    let step = rule(source, "decoder_sparse_step", 1, 1);
    let mut pattern: Vec<bool> = (1..=layers).map(|layer| layer.checked_rem(step) == Some(0)).collect();
    if let Some(found) = source.find("mlp_only_layers") {
        for layer in layer_numbers(source, &found, layers)? {
            if let Some(moe) = pattern.get_mut(layer) {
                *moe = false;
            }
        }
        source.row(&found, KeyStatus::Derived, Some(PATTERN), "");
    }
    Some(pattern)
}

fn interleaved(source: &mut Source<'_>, layers: usize) -> Option<Vec<bool>> {
    let step = rule(source, "interleave_moe_layer_step", 1, 1);
    match source.find("moe_layers") {
        Some(found) if *found.data != Data::Null => {
            let mut pattern = vec![false; layers];
            for layer in layer_numbers(source, &found, layers)? {
                if let Some(moe) = pattern.get_mut(layer) {
                    *moe = true;
                }
            }
            source.row(&found, KeyStatus::Derived, Some(PATTERN), "");
            Some(pattern)
        }
        _ => Some((1..=layers).map(|layer| layer.checked_rem(step) == Some(0)).collect()),
    }
}

fn range(source: &mut Source<'_>, layers: usize) -> Vec<bool> {
    let start = rule(source, "moe_layer_start_index", 0, 0);
    let interval = rule(source, "moe_layer_interval", 1, 1);
    let end = match source.find("moe_layer_end_index") {
        Some(found) => {
            let end = source.integer(&found, -1, i128::from(u32::MAX));
            source.row(&found, KeyStatus::Derived, Some(PATTERN), "");
            // -1 stands for the last layer.
            end.and_then(|end| usize::try_from(end).ok()).unwrap_or(usize::MAX)
        }
        None => usize::MAX,
    };
    let moe = |layer: usize| (start..=end).contains(&layer) && (layer + 1).checked_rem(interval) == Some(0);
    (0..layers).map(moe).collect()
}

/// Layer numbers in a list; null is an empty list.
fn layer_numbers(source: &mut Source<'_>, found: &KeyedValue<'_>, layers: usize) -> Option<Vec<usize>> {
    let items = match found.data {
        Data::List(items) => items.as_slice(),
        Data::Null => &[],
        _ => {
            source.problem(found, LAYER_NUMBERS);
            return None;
        }
    };
    let number = |item: &Node| match item.data {
        Data::Int(i) => usize::try_from(i).ok().filter(|&layer| layer < layers),
        _ => None,
    };
    let numbers: Option<Vec<usize>> = items.iter().map(number).collect();
    if numbers.is_none() {
        source.problem(found, LAYER_NUMBERS);
    }
    numbers
}
