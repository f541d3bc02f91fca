//! Texts to keys: one function for each kind of text.

use core::slice;

use super::dialect::Dialect;
use super::draft::{Draft, Item};
use super::missing::{GPUS, unset};
use super::parts::{self, Parts};
use super::rules::Decides;
use super::{Import, ImportError, Options, Question, Row, precision, rules};
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::formats::detect::Format;
use crate::formats::keys::arity;
use crate::formats::megatron_args::{self, Arity};
use crate::formats::node::{Data, Entry, Node};
use crate::formats::overrides::Overrides;
use crate::formats::report::{Fate, KeyReport};
use crate::formats::shell::{self, Answers, Flag, ShellImport, Word};
use crate::formats::state::{Setup, ShareState};
use crate::formats::{environment, hf_config, job_json, json, overrides, python, share_url, yaml};
use crate::value::Value;

/// The most keys that are read; configurations have hundreds.
const MAX_KEYS: usize = 2_000;

/// A share link.
pub(super) fn link(text: &str) -> Result<Import, ImportError> {
    let (state, notices) = share_url::decode(text);
    if state == ShareState::default()
        && let Some(notice) = notices.first()
    {
        return Err(ImportError::Link(notice.clone()));
    }
    let rows = notices.into_iter().map(|notice| Row {
        key: String::new(),
        value: String::new(),
        line: Some(1),
        fate: match notice {
            share_url::Notice::UnknownKey { .. } => Fate::Unknown,
            _ => Fate::Conflicting,
        },
        field: None,
        note: notice.to_string().into(),
    });
    Ok(Import {
        format: Format::ShareLink,
        dialect: "this calculator",
        report: rows.collect(),
        state,
        questions: Vec::new(),
    })
}

/// Our own JSON.
pub(super) fn own_json(text: &str) -> Result<Import, ImportError> {
    let root = json::parse(text).map_err(ImportError::Json)?;
    few(widest(&root))?;
    let document = job_json::read(&root).map_err(ImportError::Job)?;
    Ok(Import {
        format: Format::OwnJson,
        dialect: "this calculator",
        report: rows(document.report),
        state: document.state,
        questions: Vec::new(),
    })
}

/// A model's `config.json`.
pub(super) fn hf_config(text: &str) -> Result<Import, ImportError> {
    let root = json::parse(text).map_err(ImportError::Json)?;
    few(widest(&root))?;
    let model = hf_config::read(&root).map_err(ImportError::Model)?;
    let settings = model.settings.into_iter();
    let shared = settings
        .filter_map(|setting| Some((FieldId::by_name(setting.field)?, setting.value)))
        .collect();
    let job = RawJob {
        shared,
        ..RawJob::default()
    };
    Ok(Import {
        format: Format::HfConfig,
        dialect: model.family,
        report: rows(model.report),
        state: ShareState {
            setup: Setup { preset: None, job },
            ..ShareState::default()
        },
        questions: Vec::new(),
    })
}

/// Rows of a reader as rows of the report.
fn rows(report: Vec<KeyReport>) -> Vec<Row> {
    let row = |row: KeyReport| Row {
        key: row.key.into_owned(),
        value: row.value,
        line: row.line,
        fate: row.fate,
        field: row.field.and_then(FieldId::by_name),
        note: row.note,
    };
    report.into_iter().map(row).collect()
}

/// A command line or a script.
pub(super) fn command(
    text: &str,
    format: Format,
    options: &Options<'_>,
) -> Result<Import, ImportError> {
    let answers = Answers {
        variables: options.variables,
        branches: options.branches,
    };
    // Each flag is looked up in long tables.
    few(text.matches("--").count())?;
    let script = shell::read(text, answers);
    let program = script.command.program.as_ref();
    let program = program.map_or("", |program| program.text.as_str());
    let is_swift = format == Format::SwiftCommand
        || program.starts_with("megatron ")
        || program.starts_with("swift ");
    let flags = script.flags();
    let dialect = if is_swift {
        Dialect::Swift
    } else if flags.iter().any(|flag| rules::is_slime(&flag.name)) {
        Dialect::Slime
    } else {
        Dialect::MegatronLm
    };
    let words = script.command.arguments.iter();
    let set = overrides::from_words(words.map(|word| (word.text.as_str(), word.line)));
    if set.root.entries().len() > flags.len() {
        let mut draft = tree(&set.root, dialect_of_keys(&set.root), Some(&script))?;
        ask(&mut draft, &script);
        return finish(draft, format, options);
    }
    let mut draft = Draft::new(dialect);
    let mut parts = Parts::default();
    for flag in flags {
        self::flag(&mut draft, &mut parts, flag, &script);
    }
    parts::combine(&mut draft, parts);
    ask(&mut draft, &script);
    finish(draft, format, options)
}

fn flag(draft: &mut Draft, parts: &mut Parts, flag: &Flag, script: &ShellImport) {
    let arity = arity(&flag.name);
    let words: Vec<Value> = flag
        .values
        .iter()
        .map(|word| Value::Text(word.text.clone()))
        .collect();
    let value = match (arity, words.as_slice()) {
        (Some(Arity::Many), []) => Value::List(Vec::new()),
        (_, []) => Value::Bool(true),
        (Some(Arity::Many), _) => Value::List(words),
        (_, [one]) => one.clone(),
        _ => Value::List(words),
    };
    let item = Item {
        key: format!("--{}", flag.name),
        value,
        line: flag.line,
    };
    written(draft, parts, &item, &flag.name, &flag.values, script);
}

/// Takes in a key whose value a script writes with these words.
fn written(
    draft: &mut Draft,
    parts: &mut Parts,
    item: &Item,
    name: &str,
    words: &[Word],
    script: &ShellImport,
) {
    let known = draft.missing.len();
    let decides = rules::decides(draft.dialect, name);
    match decides {
        Decides::Setting(field) if words.iter().any(|word| word.unresolved) => {
            draft.lack(item, field, unset(words, script));
        }
        _ => rules::apply(draft, parts, item, name),
    }
    draft.blame(known, words);
}

/// A variable of the training processes' environment, and whether it says something about memory.
fn variable(draft: &mut Draft, item: &Item) -> bool {
    let name = item.key.rsplit('.').next().unwrap_or_default();
    let said = match &item.value {
        Value::Text(text) => environment::field(name, text),
        _ => None,
    };
    if let Some((id, value)) = said.clone() {
        draft.set(item, id, value, Fate::Mapped, "read by PyTorch");
    }
    said.is_some()
}

/// The same where a configuration lists the environment: every variable has a row.
fn listed_variable(draft: &mut Draft, item: &Item) {
    if !variable(draft, item) {
        draft.row(item, Fate::Ignored, None, "does not change memory");
    }
}

/// What a script sets in the environment, what it leaves open, and its number of GPUs.
fn ask(draft: &mut Draft, script: &ShellImport) {
    if let Some(gpus) = script.launch.world_size()
        && !draft.has(FieldId::world_size)
    {
        let launch = &script.launch;
        let words = [
            &launch.processes_per_node,
            &launch.gpus_per_node,
            &launch.processes,
        ];
        let item = Item {
            key: GPUS.to_owned(),
            value: Value::Int(gpus.into()),
            line: words
                .into_iter()
                .flatten()
                .map(|word| word.line)
                .next()
                .unwrap_or(0),
        };
        let note = "processes that are launched";
        draft.set(
            &item,
            FieldId::world_size,
            Value::Int(gpus.into()),
            Fate::Derived,
            note,
        );
    }
    if script.launch.world_size().is_none() && !draft.has(FieldId::world_size) {
        without_gpus(draft, script);
    }
    for assigned in script.assignments.iter().filter(|set| set.exported) {
        let value = Value::Text(assigned.value.text.clone());
        let item = Item {
            key: assigned.name.clone(),
            value,
            line: assigned.value.line,
        };
        variable(draft, &item);
    }
    for variable in &script.variables {
        let keys = draft.keys_of(&variable.name);
        if variable.answer.is_none() || !keys.is_empty() {
            draft.questions.push(Question::Variable {
                name: variable.name.clone(),
                lines: variable.lines.clone(),
                default: variable.default.clone(),
                keys,
            });
        }
    }
    for choice in script.choices.iter().filter(|choice| !choice.decided) {
        draft.questions.push(Question::Branch {
            line: choice.line,
            labels: choice.branches.iter().map(|b| b.label.clone()).collect(),
            taken: choice.branches.iter().position(|branch| branch.taken),
        });
    }
    for note in &script.notes {
        draft.report.push(Row {
            key: String::new(),
            value: String::new(),
            line: Some(note.line),
            fate: Fate::Ignored,
            field: None,
            note: note.kind.to_string().into(),
        });
    }
}

/// Says of a launch with variables that nobody sets that it has no number of GPUs.
fn without_gpus(draft: &mut Draft, script: &ShellImport) {
    let launch = &script.launch;
    let words = [
        &launch.nodes,
        &launch.processes_per_node,
        &launch.gpus_per_node,
        &launch.processes,
    ];
    let words: Vec<Word> = words.into_iter().flatten().cloned().collect();
    let Some(open) = words.iter().find(|word| word.unresolved) else {
        return;
    };
    let item = Item {
        key: GPUS.to_owned(),
        value: Value::Text(open.text.clone()),
        line: open.line,
    };
    let known = draft.missing.len();
    draft.lack(&item, Some(FieldId::world_size), unset(&words, script));
    draft.blame(known, &words);
}

/// `MODEL_ARGS:` with flags as keys.
pub(super) fn model_args(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    let root = yaml::parse(text).map_err(ImportError::Yaml)?.root;
    let mut draft = Draft::new(Dialect::MegatronLm);
    let mut parts = Parts::default();
    for section in root.entries() {
        let item_of = |entry: &Entry| Item {
            key: entry.key.clone(),
            value: entry.node.to_value(),
            line: entry.line,
        };
        if section.key == "ENV_VARS" {
            few(section.node.entries().len())?;
            for item in section.node.entries().iter().map(item_of) {
                listed_variable(&mut draft, &item);
            }
            continue;
        }
        if section.key != "MODEL_ARGS" {
            let item = item_of(section);
            draft.row(&item, Fate::Ignored, None, "not an argument of the model");
            continue;
        }
        few(section.node.entries().len())?;
        for entry in section.node.entries() {
            let name = entry.key.trim_start_matches('-');
            let item = item_of(entry);
            let arity = megatron_args::arity(name);
            let switch = matches!(arity, Some(Arity::Switch | Arity::InvertedSwitch));
            if switch && matches!(entry.node.data, Data::Bool(false) | Data::Null) {
                draft.row(&item, Fate::Ignored, None, "switched off");
            } else {
                rules::apply(&mut draft, &mut parts, &item, name);
            }
        }
    }
    parts::combine(&mut draft, parts);
    finish(draft, Format::ModelArgsYaml, options)
}

/// A configuration as a YAML tree.
pub(super) fn yaml_tree(
    text: &str,
    format: Format,
    options: &Options<'_>,
) -> Result<Import, ImportError> {
    let root = yaml::parse(text).map_err(ImportError::Yaml)?.root;
    let dialect = match format {
        Format::VerlYaml => Dialect::Verl,
        Format::MegatronYaml => Dialect::MegatronLm,
        Format::SwiftYaml => Dialect::Swift,
        _ => Dialect::Bridge,
    };
    finish(tree(&root, dialect, None)?, format, options)
}

/// Overrides alone.
pub(super) fn overrides(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    let set = overrides::parse(text);
    let dialect = dialect_of_keys(&set.root);
    assigned(set, dialect, Format::Overrides, options)
}

/// Assignments in Python.
pub(super) fn python(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    let set = python::parse(text);
    assigned(set, Dialect::Bridge, Format::BridgePython, options)
}

fn assigned(
    set: Overrides,
    dialect: Dialect,
    format: Format,
    options: &Options<'_>,
) -> Result<Import, ImportError> {
    let mut draft = tree(&set.root, dialect, None)?;
    for (key, line) in set.removed.into_iter().chain(set.unread) {
        let item = Item {
            key,
            value: Value::Null,
            line,
        };
        draft.row(&item, Fate::Ignored, None, "not a setting");
    }
    finish(draft, format, options)
}

fn dialect_of_keys(root: &Node) -> Dialect {
    // Sections that Megatron-Bridge does not have.
    let verl = [
        "actor_rollout_ref",
        "trainer",
        "data",
        "actor",
        "engine",
        "optim",
        "algorithm",
    ];
    let is_verl = root.entries().iter().any(|entry| {
        let first = entry.key.split('.').next().unwrap_or_default();
        verl.contains(&first)
    });
    if is_verl {
        Dialect::Verl
    } else {
        Dialect::Bridge
    }
}

/// Takes a tree of maps apart and reads its leaves, which the script that they are from wrote, if one did.
fn tree(root: &Node, dialect: Dialect, script: Option<&ShellImport>) -> Result<Draft, ImportError> {
    let mut draft = Draft::new(dialect);
    let mut parts = Parts::default();
    let mut leaves = Vec::new();
    flatten(root, "", &mut leaves);
    few(leaves.len())?;
    for item in leaves {
        let name = item.key.clone();
        let last = name.rsplit('.').next().unwrap_or_default();
        let section = name.split('.').next().unwrap_or_default();
        if last.starts_with('_') {
            draft.row(&item, Fate::Ignored, None, "how the configuration is built");
        } else if dialect == Dialect::Swift && section == "ENV" {
            listed_variable(&mut draft, &item);
        } else if dialect == Dialect::Swift && matches!(section, "rollout" | "teacher") {
            draft.row(&item, Fate::Ignored, None, "not of the training processes");
        } else if matches!(dialect, Dialect::MegatronLm | Dialect::Swift) {
            // Their sections only group what flags say as well.
            rules::apply(&mut draft, &mut parts, &item, last);
        } else {
            // Without sections, as on its own, a key belongs to the model.
            let name = match (dialect, name.contains('.')) {
                (Dialect::Bridge, false) if dialect.find(&name).is_none() => {
                    format!("model.{name}")
                }
                _ => name,
            };
            let word = script.and_then(|script| Some((script, word_of(&item, script)?)));
            match word {
                Some((script, word)) => {
                    written(
                        &mut draft,
                        &mut parts,
                        &item,
                        &name,
                        slice::from_ref(word),
                        script,
                    );
                }
                None => rules::apply(&mut draft, &mut parts, &item, &name),
            }
        }
    }
    parts::combine(&mut draft, parts);
    Ok(draft)
}

/// The word of a script that sets a key.
fn word_of<'s>(item: &Item, script: &'s ShellImport) -> Option<&'s Word> {
    script.command.arguments.iter().find(|word| {
        let (key, _) = word.text.split_once('=').unwrap_or_default();
        word.line == item.line && key.trim_start_matches('+') == item.key
    })
}

/// The size of the largest map that is read key by key.
fn widest(node: &Node) -> usize {
    let inside = match &node.data {
        Data::List(items) => items.iter().map(widest).max(),
        Data::Map(entries) => {
            // Quantized checkpoints name thousands of layers there, and nothing in it is read.
            let read = entries
                .iter()
                .filter(|entry| entry.key != "quantization_config");
            read.map(|entry| widest(&entry.node)).max()
        }
        _ => None,
    };
    node.entries().len().max(inside.unwrap_or_default())
}

/// Refuses more keys than any job has.
fn few(keys: usize) -> Result<(), ImportError> {
    if keys > MAX_KEYS {
        return Err(ImportError::TooManyKeys);
    }
    Ok(())
}

fn flatten(node: &Node, path: &str, leaves: &mut Vec<Item>) {
    for entry in node.entries() {
        let key = if path.is_empty() {
            entry.key.clone()
        } else {
            format!("{path}.{}", entry.key)
        };
        // An object of Python's is one value.
        let is_object = entry.node.get("_target_").is_some() && entry.node.entries().len() <= 3;
        let inner = !entry.node.entries().is_empty() && (path.is_empty() || !is_object);
        if inner {
            flatten(&entry.node, &key, leaves);
        } else {
            leaves.push(Item {
                key,
                value: entry.node.to_value(),
                line: entry.line,
            });
        }
    }
}

fn finish(mut draft: Draft, format: Format, options: &Options<'_>) -> Result<Import, ImportError> {
    let names_model = |asked: &Question| matches!(asked, Question::Model { .. });
    let says = draft.settings.iter().next().is_some() || !draft.missing.is_empty();
    if !says && !draft.questions.iter().any(names_model) {
        return Err(ImportError::Nothing);
    }
    rules::graphs(&mut draft);
    if !options.partial {
        draft.defaults();
        precision::gradients(&mut draft);
    }
    draft.stand_in(options.partial);
    if !draft.has(FieldId::world_size) {
        draft.questions.push(Question::Gpus);
    }
    Ok(draft.finish(format))
}
