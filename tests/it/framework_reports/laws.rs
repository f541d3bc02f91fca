//! What holds for any input at all.

use megatron_memory::framework_reports::megatron_bridge::{self, TrainingMemory};
use megatron_memory::framework_reports::megatron_lm;
use megatron_memory::framework_reports::python::PyValue;
use megatron_memory::python::Exception;
use megatron_memory::value::Value;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value as Json;

use super::plain;
use crate::oracle;

const MEGABYTE: f64 = 1_048_576.0;

/// Anything that an attribute could be, extremes included.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-3_i128..100).prop_map(Value::Int),
        any::<i128>().prop_map(Value::Int),
        select(vec![i128::MIN, i128::MAX, 1 << 20, (1 << 20) + 1, 1 << 63]).prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e300]).prop_map(Value::Float),
        "[-+ _0-9a-z.]{0,6}".prop_map(Value::Text),
    ];
    leaf.prop_recursive(2, 16, 8, |item| {
        prop_oneof![
            vec(item.clone(), 0..9).prop_map(Value::List),
            vec(("[a-z]{1,3}", item), 0..3).prop_map(Value::Map),
        ]
    })
}

/// Which attributes of which record to replace: missing ones are `None`.
fn changes() -> impl Strategy<Value = (Index, Vec<(Index, Option<Value>)>)> {
    let change = (any::<Index>(), proptest::option::weighted(0.9, anything()));
    (any::<Index>(), vec(change, 0..6))
}

fn change(section: &Json, changes: &[(Index, Option<Value>)]) -> Value {
    let Value::Map(mut entries) = plain(section) else {
        panic!("a section is a map");
    };
    for (index, value) in changes {
        let at = index.index(entries.len());
        match value {
            Some(value) => entries[at].1 = value.clone(),
            None => drop(entries.remove(at)),
        }
    }
    Value::Map(entries)
}

fn records(path: &str) -> Vec<Json> {
    oracle::json(path)["records"].as_array().unwrap().clone()
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn megatron_lm_reports_agree_with_their_parts_on_any_input() {
    let records = records("reference/megatron_lm_theoretical_memory.json");
    let run = |(record, changes): (Index, Vec<_>), microbatches: Option<Value>| {
        let args = change(&record.get(&records)["args"], &changes);
        let report = megatron_lm::report(&(&args).into(), microbatches.as_ref().into());
        let text = &report.report_verbose_stdout;
        prop_assert!(text.is_empty() || text.ends_with('\n'));
        if let Ok(Some([weights, activations, total])) = report.report_mb {
            let expected = report.weight_and_optimizer_bytes.unwrap() / MEGABYTE;
            prop_assert!(same(weights, expected));
            prop_assert!(same(total, weights + activations));
            let formulas = [report.activation_bytes, report.activation_bytes_without_sp];
            prop_assert!(
                formulas
                    .iter()
                    .flatten()
                    .any(|bytes| same(activations, bytes / MEGABYTE))
            );
            prop_assert!(text.contains("Theoretical memory footprints: "));
        }
        Ok(())
    };
    proptest!(|(changes in changes(), microbatches in proptest::option::of(anything()))| {
        run(changes, microbatches)?;
    });
}

#[test]
fn megatron_bridge_reports_add_up_on_any_input() {
    let records = records("reference/megatron_bridge_estimate.json");
    let run = |(record, model): (Index, Vec<_>), train: Vec<_>, microbatches: Value| {
        let record = record.get(&records);
        let input = Value::Map(vec![
            ("model".into(), change(&record["model"], &model)),
            ("train".into(), change(&record["train"], &train)),
            ("num_microbatches".into(), microbatches),
            ("include_activation".into(), Value::Bool(true)),
        ]);
        let report = megatron_bridge::report(&(&input).into());
        prop_assert_eq!(report.report_error.is_some(), report.report_verbose_stdout.is_empty());
        if let Ok(estimate) = report.estimate {
            let TrainingMemory {
                components, activation, ..
            } = &estimate;
            let weights = components
                .iter()
                .fold(0.0, |sum, component| sum + component.memory_bytes);
            let total = weights + activation.as_ref().unwrap().memory_bytes;
            prop_assert!(same(estimate.weight_and_optimizer_bytes, weights));
            prop_assert!(same(estimate.total_memory_bytes, total));
            prop_assert!(same(estimate.total_memory_mb, total / MEGABYTE));
        }
        Ok(())
    };
    let train = || vec((any::<Index>(), proptest::option::of(anything())), 0..2);
    proptest!(|(changes in changes(), train in train(), microbatches in anything())| {
        run(changes, train, microbatches)?;
    });
}

#[test]
fn what_is_no_map_has_no_attributes() {
    for (value, of) in [
        (Value::Null, "NoneType"),
        (Value::Int(7), "int"),
        (Value::List(Vec::new()), "list"),
        (Value::Map(Vec::new()), "types.SimpleNamespace"),
    ] {
        let error = megatron_lm::report(&(&value).into(), PyValue::None)
            .weight_and_optimizer_bytes
            .unwrap_err();
        let message = format!("'{of}' object has no attribute 'kv_channels'");
        assert_eq!(
            (error.exception, error.message),
            (Exception::AttributeError, message),
            "{value}"
        );
    }
}

#[test]
fn layers_beyond_any_model_end_in_an_error() {
    let mut records = records("reference/megatron_bridge_estimate.json");
    let record = records.first_mut().unwrap();
    for (layers, exception) in [(1_u64 << 20, None), ((1 << 20) + 1, Some(Exception::MemoryError))] {
        record["model"]["num_layers"] = layers.into();
        let report = megatron_bridge::report(&(&plain(record)).into());
        assert_eq!(report.estimate.err().map(|error| error.exception), exception);
    }
}
