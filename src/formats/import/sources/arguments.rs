//! Megatron-LM's arguments after parsing: printed in a training log, or written down by a program.

use super::trees::read_tree;
use super::{derive, finish, limit_keys};
use crate::config::choices::SoftwareStack;
use crate::config::fields::FieldId;
use crate::formats::arguments::{self as written, ArgumentsError};
use crate::formats::detect::Format;
use crate::formats::dialects::arguments::ARGUMENTS;
use crate::formats::dialects::bridge::BRIDGE;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::Import;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::{ImportError, Options, derived, rules};
use crate::formats::node::Data;
use crate::formats::python_literal;
use crate::formats::report::KeyStatus;
use crate::formats::training_log::{self, CoreRelease};
use crate::value::Value;

/// A training log.
pub(in crate::formats::import) fn training_log(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    let log = training_log::read(text);
    if log.arguments.is_empty() {
        return Err(ImportError::NoArguments);
    }
    let names = log.arguments.iter().map(|argument| argument.name.as_str()).collect();
    let of_scripts = log.of_pretrain_script;
    let release = training_log::release_of(&names);
    // The other programs that print these arguments have data iterators of their own.
    let release = release.filter(|release| release.stack != SoftwareStack::MegatronLm018 || of_scripts);
    let arguments = log.arguments.into_iter().map(|argument| KeyValue {
        value: printed(&argument.value),
        key: argument.name,
        line: argument.line,
    });
    let mut draft = draft(arguments, log.vocabulary);
    derived::remove(&mut draft);
    if let Some(release) = release {
        set_software(&mut draft, release);
    }
    let mut import = finish(draft, Format::TrainingLog, options)?;
    import.measured = Some(log.measured).filter(|measured| !measured.is_empty());
    Ok(import)
}

/// Sets the software of a dated log, unless it is what everything is read from anyway.
fn set_software(draft: &mut JobDraft, release: CoreRelease) {
    if release.stack == SoftwareStack::MegatronMain || draft.has(FieldId::software_stack) {
        return;
    }
    let item = KeyValue {
        key: "argument names".to_owned(),
        value: Value::Text(format!("Megatron-Core {}", release.version)),
        line: 1,
    };
    let note =
        "the log has the arguments of this release and of none after it; another container may have other software";
    draft.set(
        &item,
        FieldId::software_stack,
        Value::Text(release.stack.name().to_owned()),
        KeyStatus::Derived,
        note,
    );
}

/// Arguments that a program has written down.
pub(in crate::formats::import) fn arguments(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    let root = written::read(text).map_err(|error| match error {
        ArgumentsError::Json(error) => ImportError::Json(error),
        ArgumentsError::Yaml(error) => ImportError::Yaml(error),
    })?;
    limit_keys(root.entries().len())?;
    // A run of Megatron-Bridge has sections there.
    if matches!(root.get("model").map(|model| &model.data), Some(Data::Map(_))) {
        let draft = read_tree(&root, &BRIDGE, None)?;
        return finish(draft, Format::BridgeYaml, options);
    }
    let arguments = root.entries().iter().map(|entry| KeyValue {
        key: entry.key.clone(),
        value: short_dtype(entry.node.to_value()),
        line: entry.line,
    });
    let mut draft = draft(arguments, None);
    derived::remove(&mut draft);
    finish(draft, Format::Arguments, options)
}

/// Applies arguments. `vocabulary` is the vocabulary before and after padding, with its line.
fn draft(arguments: impl Iterator<Item = KeyValue>, vocabulary: Option<(u64, u64, u32)>) -> JobDraft {
    let mut draft = JobDraft::new(&ARGUMENTS);
    let mut keys = Keys::default();
    for item in arguments {
        let name = item.key.clone();
        rules::apply(&mut draft, &mut keys, &item, &name);
    }
    if let Some((size, padded, line)) = vocabulary {
        for (id, count) in [(FieldId::vocab_size, size), (FieldId::padded_vocab_size, padded)] {
            let value = Value::Int(count.into());
            let item = KeyValue {
                key: "padded vocab".to_owned(),
                value: value.clone(),
                line,
            };
            if draft.number(id).is_none() {
                draft.set(&item, id, value, KeyStatus::Mapped, "");
            }
        }
    }
    derive(&mut draft, &keys);
    draft
}

/// The value for which `str` prints this text. Strings have no quotes there, so that only brackets, numbers and
/// constants tell what it is.
fn printed(text: &str) -> Value {
    let has_brackets = text.starts_with(['[', '(', '{', '<']);
    if text.is_empty() {
        Value::Null
    } else if has_brackets || !text.contains(['(', ' ', '\'', '"']) {
        short_dtype(python_literal::parse_whole(text).to_value())
    } else {
        Value::Text(text.to_owned())
    }
}

/// A dtype by the name that flags have for it; any other value as it is.
fn short_dtype(value: Value) -> Value {
    let Value::Text(text) = &value else {
        return value;
    };
    let short = match text.as_str() {
        "torch.float32" => "fp32",
        "torch.bfloat16" => "bf16",
        "torch.float16" => "fp16",
        _ => return value,
    };
    Value::Text(short.to_owned())
}
