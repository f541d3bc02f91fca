//! Command lines and launch scripts.

use super::trees::{framework_of_keys, read_tree};
use super::{derive, finish, limit_keys, model_zoo, sections};
use crate::config::choices::Launcher;
use crate::config::fields::FieldId;
use crate::config::gpus;
use crate::config::launcher_arguments::LOOKED_AT;
use crate::config::not_modelled::{Feature, MemoryEffect};
use crate::formats::derivations::{adapters, environment as variables, model, vocabulary};
use crate::formats::detect::Format;
use crate::formats::dialects::arity::arity;
use crate::formats::dialects::bridge::BRIDGE;
use crate::formats::dialects::chatlearn::{self, CHATLEARN};
use crate::formats::dialects::framework::Framework;
use crate::formats::dialects::meaning::Decides;
use crate::formats::dialects::megatron_lm::MEGATRON_LM;
use crate::formats::dialects::mindspeed::{self, MINDSPEED};
use crate::formats::dialects::nemo_rl::{self, NEMO_RL};
use crate::formats::dialects::slime::{self, SLIME};
use crate::formats::dialects::swift::SWIFT;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::{Import, Question, Row};
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::missing::{GPUS, unset};
use crate::formats::import::rules;
use crate::formats::import::{ImportError, Options};
use crate::formats::megatron_args::Arity;
use crate::formats::node::{Entry, Node};
use crate::formats::python::recipe::model_of;
use crate::formats::report::KeyStatus;
use crate::formats::shell::{self, Answers, Assignment, Flag, ScriptChoice, ShellImport, Variable, Word};
use crate::formats::{environment, overrides};
use crate::value::Value;

/// A command line or a launch script.
pub(in crate::formats::import) fn command(
    text: &str,
    format: Format,
    options: &Options<'_>,
) -> Result<Import, ImportError> {
    let answers = Answers {
        variables: options.variables,
        branches: options.branches,
    };
    // Each flag is looked up in long tables.
    limit_keys(text.matches("--").count())?;
    let (script, which) = match model_zoo::script(text, options)? {
        Some(launched) => launched,
        None => (shell::read(text, answers), None),
    };
    let program = script.command.program.as_ref();
    let program = program.map_or("", |program| program.text.as_str());
    let is_swift = format == Format::SwiftCommand || program.starts_with("megatron ") || program.starts_with("swift ");
    if is_swift && program.ends_with(" export") {
        return Err(ImportError::NotRead("a conversion of checkpoints"));
    }
    let flags = script.flags();
    let framework = if is_swift {
        &SWIFT
    } else if flags.iter().any(|flag| slime::is_own(&flag.name)) {
        &SLIME
    } else if flags.iter().filter(|flag| mindspeed::is_own(&flag.name)).count() > 1 {
        &MINDSPEED
    } else {
        &MEGATRON_LM
    };
    let words = script.command.arguments.iter();
    let set = overrides::from_words(words.map(|word| (word.text.as_str(), word.line)));
    refuse_other_trainers(program, flags, &set.root)?;
    let file = flags.iter().find(|flag| flag.name == "config");
    let file = file.and_then(|flag| Some((flag.values.first()?.text.as_str(), flag.line)));
    if let Some(config) = nemo_rl::config(program, file) {
        let mut draft = sections::of_overrides(&NEMO_RL, &set.root, config)?;
        add_questions(&mut draft, &script);
        return finish(draft, format, options);
    }
    let is_recipe = flags.iter().any(|flag| is_recipe(&flag.name));
    if set.root.entries().len() > flags.len() || is_recipe {
        let framework = if is_recipe {
            &BRIDGE
        } else {
            framework_of_keys(&set.root)
        };
        let mut draft = read_tree(&set.root, framework, Some(&script))?;
        recipe_flags(&mut draft, flags);
        add_questions(&mut draft, &script);
        return finish(draft, format, options);
    }
    let mut draft = JobDraft::new(framework);
    let mut keys = Keys::default();
    if let Some(program) = self::program(&script) {
        keys.keep(model::PROGRAM, &program);
    }
    entry_point(&mut draft, &script)?;
    for flag in flags {
        self::flag(&mut draft, &mut keys, flag, &script);
    }
    selective_recompute(&mut draft, &script);
    launcher(&mut draft, &script);
    refuse_encoders(&keys)?;
    derive(&mut draft, &keys);
    add_questions(&mut draft, &script);
    draft.questions.extend(which);
    finish(draft, format, options)
}

/// Refuses jobs with a tokenizer that only BERT and T5 are trained with.
pub(super) fn refuse_encoders(keys: &Keys<'_>) -> Result<(), ImportError> {
    let kind = keys.get(vocabulary::TOKENIZER);
    let is_encoder = kind.is_some_and(|item| match &item.value {
        Value::Text(name) => name.starts_with("BertWordPiece"),
        _ => false,
    });
    if is_encoder {
        let what = "a job of BERT or T5, by its tokenizer";
        return Err(ImportError::NotRead(what));
    }
    Ok(())
}

/// Refuses jobs of trainers whose overrides look like those of others.
fn refuse_other_trainers(program: &str, flags: &[Flag], overrides: &Node) -> Result<(), ImportError> {
    let of_lite = |entry: &Entry| entry.key.contains("mlite") || has_key(&entry.node, "impl_cfg");
    let has_fsdp = |flag: &Flag| {
        let mut values = flag.values.iter();
        shell::same_name(&flag.name, "config-file") && values.any(|word| word.text.contains("fsdp"))
    };
    let is_chatlearn = program.contains("chatlearn");
    if is_chatlearn && flags.iter().any(has_fsdp) {
        Err(ImportError::NotRead(chatlearn::FSDP))
    } else if is_chatlearn && *framework_of_keys(overrides) != CHATLEARN {
        let what = "a job of ChatLearn whose settings are in another file";
        Err(ImportError::NotRead(what))
    } else if overrides.entries().iter().any(of_lite) {
        let what = "a job of verl with its own engine, Megatron-Lite";
        Err(ImportError::NotRead(what))
    } else {
        Ok(())
    }
}

/// Whether a tree has a key, at any depth.
fn has_key(node: &Node, key: &str) -> bool {
    let mut entries = node.entries().iter();
    entries.any(|entry| entry.key == key || has_key(&entry.node, key))
}

/// Programs that train other models than GPTs, and what they train.
const OTHER_PROGRAMS: &[(&str, &str)] = &[
    ("pretrain_t5.py", "a job of T5"),
    ("pretrain_bert.py", "a job of BERT"),
    ("pretrain_ict.py", "a job of a retriever with BERT"),
    ("pretrain_retro.py", "a job of RETRO"),
    ("pretrain_vision_classify.py", "a job of a vision transformer"),
    ("run_mamba_text_generation_server.py", "a job of inference"),
    ("run_text_generation_server.py", "a job of inference"),
    ("checkpoint_inspector.py", "a conversion of checkpoints"),
    ("run_text_generation_server.py", "a job of inference"),
    ("run_mamba_text_generation_server.py", "a job of inference"),
    ("run_hybrid_text_generation_server.py", "a job of inference"),
    ("pretrain_vision_dino.py", "a job of a vision transformer"),
    ("pretrain_vision_inpaint.py", "a job of a vision transformer"),
];

/// Whether a flag names a recipe of Megatron-Bridge, for `run_recipe.py` or for `setup_experiment.py`.
fn is_recipe(flag: &str) -> bool {
    let names = ["recipe", "recipe-name", "model-recipe-name"];
    names.iter().any(|name| shell::same_name(name, flag))
}

/// Reports the flags beside overrides, and applies those of the programs with which Megatron-Bridge runs a recipe:
/// which recipe it is, and whether only adapters are trained.
fn recipe_flags(draft: &mut JobDraft, flags: &[Flag]) {
    let mut recipe = None;
    for flag in flags {
        let text = flag.values.first().map_or("", |word| word.text.as_str());
        let item = KeyValue {
            key: format!("--{}", flag.name),
            value: Value::Text(text.to_owned()),
            line: flag.line,
        };
        let is = |names: &[&str]| names.iter().any(|name| shell::same_name(name, &flag.name));
        let trains_adapters = matches!(text, "lora" | "dora" | "peft") || text.contains("_peft_");
        if is(&["mode", "peft-scheme", "peft"]) && trains_adapters {
            adapters::of_recipe(draft, &item);
        } else if is(&["num-gpus"]) {
            let id = FieldId::world_size;
            draft.set(&item, id, item.value.clone(), KeyStatus::Mapped, "");
        } else if is(&["gpu"])
            && let Some(gpu) = gpus::candidates(text).next()
        {
            let gpu = Value::Text(gpu.id.to_owned());
            draft.set(&item, FieldId::gpu, gpu, KeyStatus::Mapped, "");
        } else if is_recipe(&flag.name) {
            let note = "what it sets beyond its template and its name is not in the text";
            draft.not_modelled(&item, MemoryEffect::More, note);
            recipe = Some(text.to_owned());
        } else if is(&["mode", "step-func", "dataset", "peft-scheme", "peft", "config-file"]) {
            draft.row(&item, KeyStatus::Ignored, None, "does not change memory");
        } else {
            draft.row(&item, KeyStatus::Ignored, None, "not a setting of the job");
        }
    }
    let names_model = |asked: &Question| matches!(asked, Question::Model { .. });
    let shape = [FieldId::num_layers, FieldId::hidden_size];
    let has_model = draft.questions.iter().any(names_model) || shape.into_iter().any(|id| draft.has(id));
    if let Some(recipe) = recipe.filter(|_| !has_model) {
        let name = model_of(&recipe).map_or(recipe.clone(), str::to_owned);
        draft.questions.push(Question::Model { name });
        if recipe.contains("_peft") {
            let item = KeyValue {
                key: "--recipe".to_owned(),
                value: Value::Text(recipe),
                line: 0,
            };
            adapters::of_recipe(draft, &item);
        }
    }
}

/// Refuses jobs of other models than GPTs by their program, and marks those whose program trains more than a GPT.
fn entry_point(draft: &mut JobDraft, script: &ShellImport) -> Result<(), ImportError> {
    let Some(program) = &script.command.program else {
        return Ok(());
    };
    let name = program.text.rsplit('/').next().unwrap_or_default();
    let mut others = OTHER_PROGRAMS.iter();
    if let Some((_, what)) = others.find(|(known, _)| *known == name) {
        return Err(ImportError::NotRead(what));
    }
    if let Some(feature) = Feature::of_key(name) {
        let item = KeyValue {
            key: name.to_owned(),
            value: Value::Text(program.text.clone()),
            line: program.line,
        };
        draft.not_modelled(&item, MemoryEffect::More, feature.reason);
    }
    Ok(())
}

/// `--recompute-activations` sets the granularity to selective, whatever stands beside it (`validate_args`).
fn selective_recompute(draft: &mut JobDraft, script: &ShellImport) {
    let given = draft.settings.get(FieldId::recompute_granularity).is_some();
    if given && *draft.framework == MEGATRON_LM && script.flag("recompute-activations").is_some() {
        let selective = Value::Text("selective".to_owned());
        draft.settings.set(FieldId::recompute_granularity, selective);
    }
}

/// The programs that Megatron-LM's own launcher is: they check their arguments by `validate_args`.
const MEGATRON_LM_PROGRAMS: [&str; 3] = ["pretrain_gpt.py", "pretrain_hybrid.py", "pretrain_mamba.py"];

/// Says that Megatron-LM's own launcher starts the job, where it does, with the arguments that no field has and that the
/// launcher looks at.
fn launcher(draft: &mut JobDraft, script: &ShellImport) {
    let program = program(script);
    let is_own = program.is_some_and(|program| MEGATRON_LM_PROGRAMS.contains(&program.key.as_str()));
    if !is_own || *draft.framework != MEGATRON_LM {
        return;
    }
    let name = Value::Text(Launcher::MegatronLm.name().to_owned());
    draft.settings.set(FieldId::launcher, name);
    let flags = script.flags().iter();
    let looked_at = flags.filter(|flag| LOOKED_AT.iter().any(|name| shell::same_name(name, &flag.name)));
    let texts = looked_at.map(|flag| {
        let values = flag.values.iter().map(|word| format!(" {}", word.text));
        format!("--{}{}", flag.name.replace('_', "-"), values.collect::<String>())
    });
    let texts: Vec<String> = texts.collect();
    if !texts.is_empty() {
        let text = Value::Text(texts.join(" "));
        draft.settings.set(FieldId::launcher_arguments, text);
    }
}

/// The program of a script, by its name without its folder.
fn program(script: &ShellImport) -> Option<KeyValue> {
    let program = script.command.program.as_ref()?;
    let name = program.text.rsplit('/').next().unwrap_or_default();
    Some(KeyValue {
        key: name.to_owned(),
        value: Value::Text(program.text.clone()),
        line: program.line,
    })
}

/// Applies a flag of a script.
pub(super) fn flag(draft: &mut JobDraft, keys: &mut Keys<'_>, flag: &Flag, script: &ShellImport) {
    let arity = arity(&flag.name);
    let words: Vec<Value> = flag.values.iter().map(|word| Value::Text(word.text.clone())).collect();
    let value = match (arity, words.as_slice()) {
        (Some(Arity::Many), []) => Value::List(Vec::new()),
        (_, []) => Value::Bool(true),
        (Some(Arity::Many), _) => Value::List(words),
        (_, [one]) => one.clone(),
        _ => Value::List(words),
    };
    let item = KeyValue {
        key: format!("--{}", flag.name),
        value,
        line: flag.line,
    };
    apply_written(draft, keys, &item, &flag.name, &flag.values, script);
}

/// Applies a key whose value is made of these words of a script. Where a word has a variable that nobody sets, the
/// key is reported as missing.
pub(super) fn apply_written(
    draft: &mut JobDraft,
    keys: &mut Keys<'_>,
    item: &KeyValue,
    name: &str,
    words: &[Word],
    script: &ShellImport,
) {
    let known = draft.missing.len();
    let decides = rules::decides(draft.framework, name);
    match decides {
        Decides::Setting(field) if words.iter().any(|word| word.unresolved) => {
            draft.add_missing(item, field, unset(words, script));
        }
        _ => rules::apply(draft, keys, item, name),
    }
    draft.name_variables(known, words);
}

/// Takes from a script what stands outside its flags: the number of GPUs, environment variables, the questions that it
/// leaves open, and the notes of the shell reader.
fn add_questions(draft: &mut JobDraft, script: &ShellImport) {
    if let Some(gpus) = script.launch.world_size()
        && !draft.has(FieldId::world_size)
    {
        let launch = &script.launch;
        let words = [&launch.processes_per_node, &launch.gpus_per_node, &launch.processes];
        let item = KeyValue {
            key: GPUS.to_owned(),
            value: Value::Int(gpus.into()),
            line: words.into_iter().flatten().map(|word| word.line).next().unwrap_or(0),
        };
        let note = "processes that are launched";
        draft.set(
            &item,
            FieldId::world_size,
            Value::Int(gpus.into()),
            KeyStatus::Derived,
            note,
        );
    }
    if script.launch.world_size().is_none() && !draft.has(FieldId::world_size) {
        report_unknown_gpus(draft, script);
    }
    for assigned in script.assignments.iter().filter(|set| set.exported) {
        let value = Value::Text(assigned.value.text.clone());
        let item = KeyValue {
            key: assigned.name.clone(),
            value,
            line: assigned.value.line,
        };
        variables::variable(draft, &item);
    }
    for variable in &script.variables {
        let keys = draft.keys_of(&variable.name);
        let is_open = variable.answer.is_none() && decides_something(draft.framework, variable, script);
        if is_open || !keys.is_empty() {
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
            status: KeyStatus::Ignored,
            field: None,
            note: note.kind.to_string().into(),
            effect: None,
        });
    }
}

/// Whether a variable of a script occurs in a setting, in the launch, or in a choice that sets something.
fn decides_something(framework: &Framework, variable: &Variable, script: &ShellImport) -> bool {
    let name = &variable.name;
    let reads = |word: &Word| word.variables.contains(name);
    let is_setting = |key: &str| !matches!(rules::decides(framework, key), Decides::Nothing);
    let in_flag = |flag: &Flag| is_setting(&flag.name) && flag.values.iter().any(reads);
    let in_argument = |word: &Word| {
        let (key, _) = word.text.split_once('=').unwrap_or((&word.text, ""));
        let key = key.trim_start_matches('+');
        // What is made of variables may be any key, or several.
        reads(word) && (key.contains('$') || is_setting(key) || is_setting(&format!("model.{key}")))
    };
    let launch = &script.launch;
    let mut launched = [
        &launch.nodes,
        &launch.processes_per_node,
        &launch.gpus_per_node,
        &launch.processes,
    ]
    .into_iter()
    .flatten();
    let in_choice = |choice: &ScriptChoice| {
        let mut branches = choice.branches.iter();
        choice.variables.contains(name)
            && branches.any(|branch| {
                let mut flags = branch.flags.iter();
                !branch.assignments.is_empty() || flags.any(|flag| is_setting(&flag.name))
            })
    };
    let is_exported = |set: &Assignment| {
        set.exported && !environment::fields(&set.name, &set.value.text).is_empty() && reads(&set.value)
    };
    launched.any(reads)
        || script.flags().iter().any(in_flag)
        || script.command.arguments.iter().any(in_argument)
        || script.choices.iter().any(in_choice)
        || script.assignments.iter().any(is_exported)
}

/// Reports that the number of GPUs is missing, where the launch computes it from variables that nobody sets.
fn report_unknown_gpus(draft: &mut JobDraft, script: &ShellImport) {
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
    let item = KeyValue {
        key: GPUS.to_owned(),
        value: Value::Text(open.text.clone()),
        line: open.line,
    };
    let known = draft.missing.len();
    draft.add_missing(&item, Some(FieldId::world_size), unset(&words, script));
    draft.name_variables(known, &words);
}
