//! Texts made of the facts of real files, and what becomes of them.

use std::fmt::Write as _;

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::import::Question;
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::memory::estimate;
use megatron_memory::value::Value;
use serde_json::{Map, Value as Json};

/// The text that has the facts of a file: YAML of a tree, the command that a script starts, the functions of a
/// recipe, or what it imports.
pub(crate) fn text_of(facts: &Json) -> String {
    let mut text = String::new();
    if let Some(tree) = facts.get("tree") {
        yaml(tree, 0, &mut text);
    } else if let Some(launches) = facts.get("launches") {
        exports(facts, &mut text);
        for launch in launches.as_array().into_iter().flatten() {
            for (name, value) in launch["environment"].as_object().into_iter().flatten() {
                write!(text, "{name}={} ", quoted(value.as_str().unwrap())).unwrap();
            }
            write!(text, "bash {}", launch["program"].as_str().unwrap()).unwrap();
            words(launch, &mut text);
        }
    } else if let Some(functions) = facts.get("functions") {
        python(facts, functions, &mut text);
    } else if let Some(imports) = facts.get("imports") {
        for line in strings(imports) {
            writeln!(text, "{line}").unwrap();
        }
        for call in strings(&facts["calls"]) {
            writeln!(text, "job = {call}()").unwrap();
        }
    } else {
        command(facts, &mut text);
    }
    text
}

/// Writes functions with their parameters, assignments and calls as Python.
fn python(facts: &Json, functions: &Json, text: &mut String) {
    for line in strings(&facts["imports"]) {
        writeln!(text, "{line}").unwrap();
    }
    for (name, value) in facts["constants"].as_object().into_iter().flatten() {
        writeln!(text, "{name} = {}", value.as_str().unwrap()).unwrap();
    }
    for function in functions.as_array().unwrap() {
        let parameters = function["parameters"].as_array().unwrap().iter();
        let parameters: Vec<String> = parameters
            .map(|parameter| match (parameter[0].as_str(), parameter[1].as_str()) {
                (Some(name), Some(default)) => format!("{name}={default}"),
                (name, _) => name.unwrap().to_owned(),
            })
            .collect();
        let name = function["name"].as_str().unwrap();
        writeln!(text, "\ndef {name}({}):", parameters.join(", ")).unwrap();
        for statement in function["body"].as_array().unwrap() {
            let value = expression(&statement[1]);
            match statement[0].as_str().unwrap() {
                "return" => writeln!(text, "    return {value}").unwrap(),
                target if target.ends_with(".append") => {
                    writeln!(text, "    {target}({value})").unwrap();
                }
                target => writeln!(text, "    {target} = {value}").unwrap(),
            }
        }
    }
}

/// An expression of Python: a plain value or a name as text, a call, a list, or a choice.
fn expression(facts: &Json) -> String {
    let all = |list: &Json| -> Vec<String> { list.as_array().into_iter().flatten().map(expression).collect() };
    if let Some(plain) = facts.as_str() {
        plain.to_owned()
    } else if let Some(name) = facts["call"].as_str() {
        let named = facts["with"].as_object().into_iter().flatten();
        let named = named.map(|(name, value)| format!("{name}={}", expression(value)));
        let arguments: Vec<String> = all(&facts["of"]).into_iter().chain(named).collect();
        format!("{name}({})", arguments.join(", "))
    } else if facts["if"].is_string() {
        let (then, other) = (expression(&facts["then"]), expression(&facts["else"]));
        format!("{then} if {} else {other}", facts["if"].as_str().unwrap())
    } else {
        format!("[{}]", all(&facts["list"]).join(", "))
    }
}

fn strings(list: &Json) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str)
}

/// Writes a map as YAML in blocks. JSON is YAML in every other place.
fn yaml(tree: &Json, depth: usize, text: &mut String) {
    for (key, value) in tree.as_object().into_iter().flatten() {
        let indent = "  ".repeat(depth);
        match value {
            Json::Object(inner) if !inner.is_empty() => {
                writeln!(text, "{indent}{key}:").unwrap();
                yaml(value, depth + 1, text);
            }
            Json::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                writeln!(text, "{indent}{key}:").unwrap();
                for item in items {
                    writeln!(text, "{indent}  - {item}").unwrap();
                }
            }
            _ => writeln!(text, "{indent}{key}: {value}").unwrap(),
        }
    }
}

/// Writes the variables that a script exports.
fn exports(facts: &Json, text: &mut String) {
    for (name, value) in facts["environment"].as_object().into_iter().flatten() {
        writeln!(text, "export {name}={}", quoted(value.as_str().unwrap_or_default())).unwrap();
    }
}

/// Writes the words behind a program.
fn words(facts: &Json, text: &mut String) {
    for word in strings(&facts["words"]) {
        write!(text, " \\\n  {}", quoted(word)).unwrap();
    }
    text.push('\n');
}

/// Writes a launch of a program.
fn command(facts: &Json, text: &mut String) {
    let word = |key: &str| facts[key].as_str();
    exports(facts, text);
    let program = word("program");
    let is_swift = program.is_some_and(|program| program.starts_with("megatron ") || program.starts_with("swift "));
    let (nodes, each) = (word("nodes"), word("gpus_per_node"));
    if is_swift {
        for (name, value) in [("NNODES", nodes), ("NPROC_PER_NODE", each)] {
            if let Some(value) = value {
                write!(text, "{name}={} ", quoted(value)).unwrap();
            }
        }
    } else if each.is_some() || nodes.is_some() {
        text.push_str("torchrun");
        for (flag, value) in [("nnodes", nodes), ("nproc_per_node", each)] {
            if let Some(value) = value {
                write!(text, " --{flag} {}", quoted(value)).unwrap();
            }
        }
        text.push(' ');
    } else {
        if let Some(value) = word("processes") {
            write!(text, "WORLD_SIZE={} ", quoted(value)).unwrap();
        }
        text.push_str("python ");
    }
    text.push_str(program.unwrap_or("pretrain_gpt.py"));
    words(facts, text);
}

/// A word for a shell. Variables stay variables.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else if word.contains("${") && !word.contains('"') {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The answers to the questions of an import, one for each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) gpus: Option<u64>,
    /// The id of a preset, or the name on the Hugging Face Hub of a model in `tests/oracle/hf_totals.json`.
    pub(crate) model: Option<String>,
    /// The memory-relevant keys of a model's `config.json`, where neither has the model.
    pub(crate) config: Option<String>,
    pub(crate) fields: Vec<(String, u64)>,
    pub(crate) variables: Vec<(String, String)>,
}

impl Answers {
    /// The answers that a file's facts come with.
    pub(crate) fn of(json: &Json) -> Self {
        let pairs = |key: &str| json[key].as_object().cloned().unwrap_or_else(Map::new);
        let number = |value: &Json| value.as_u64().unwrap();
        let text = |value: &Json| value.as_str().unwrap().to_owned();
        Self {
            gpus: json["gpus"].as_u64(),
            model: json["model"].as_str().map(str::to_owned),
            config: json["config"].is_object().then(|| json["config"].to_string()),
            fields: pairs("fields")
                .iter()
                .map(|(key, value)| (key.clone(), number(value)))
                .collect(),
            variables: pairs("variables")
                .iter()
                .map(|(key, value)| (key.clone(), text(value)))
                .collect(),
        }
    }

    /// How many questions they answer.
    pub(crate) fn count(&self) -> usize {
        usize::from(self.gpus.is_some())
            + usize::from(self.model.is_some() || self.config.is_some())
            + self.fields.len()
            + self.variables.len()
    }

    /// The options of the import. `config` has the `config.json` of a model by its name on the Hub.
    pub(crate) fn options(&self, config: impl Fn(&str) -> Option<String>) -> ImportOptions {
        let field = |(name, number): &(String, u64)| {
            let id = FieldId::by_name(name).unwrap();
            (id, Value::Int(i128::from(*number)))
        };
        ImportOptions {
            gpus: self.gpus,
            model: self
                .model
                .as_ref()
                .map(|name| config(name).unwrap_or_else(|| name.clone()))
                .or_else(|| self.config.clone()),
            fields: self.fields.iter().map(field).collect(),
            variables: self.variables.clone(),
            ..ImportOptions::default()
        }
    }
}

/// What becomes of a text: the parameters and what is not modelled, or why there is no job.
pub(crate) fn verdict(text: &str, options: &ImportOptions) -> String {
    let import = match import_text(text, options) {
        Ok(import) => import,
        Err(error) => return format!("refused: {error}"),
    };
    let job = &import.import.state.setup.job;
    let checked = check(job);
    let Some(config) = &checked.config else {
        let mut questions = import.import.questions.iter();
        let model = questions.find_map(|asked| match asked {
            Question::Model { name } => Some(name),
            _ => None,
        });
        if let Some(name) = model {
            return format!("asks for the config.json of {name}");
        }
        let problem = checked.errors().next().map(ToString::to_string);
        return format!("no job: {}", problem.unwrap_or_default());
    };
    let total = estimate(config).modules[0].parameters.total();
    let mut verdict = format!("{total} parameters");
    let marks: Vec<&str> = job.not_modelled.iter().map(|mark| mark.key.as_str()).collect();
    if !marks.is_empty() {
        write!(verdict, "; not modelled: {}", marks.join(", ")).unwrap();
    }
    verdict
}
