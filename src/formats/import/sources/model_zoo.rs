//! Megatron-MoE-ModelZoo: scripts that start its launcher, and files of flags that the launcher reads.

use crate::config::fields::FieldId;
use crate::formats::dialects::model_zoo::{self, Run};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::Question;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::missing::GPUS;
use crate::formats::import::{ImportError, Options};
use crate::formats::node::{Data, Node};
use crate::formats::report::KeyStatus;
use crate::formats::shell::{self, Answers, Assignment, Flag, ShellImport, Variable, Word};
use crate::value::Value;

/// The variable of PyTorch's allocator, and the value that the files of all models give it.
const ALLOCATOR: (&str, &str) = ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");

/// A command of a script that starts the launcher.
struct Launch<'a> {
    /// The index of its first line, and of the line after its last.
    lines: (usize, usize),
    /// The assignments in front of it.
    environment: &'a str,
    /// The flags behind it.
    arguments: &'a str,
}

/// Reads a script that starts the launcher, as the training command that the launcher makes of it; `None` where the
/// text does not start it. Of several commands one is taken, and the question which is returned.
pub(super) fn script(
    text: &str,
    options: &Options<'_>,
) -> Result<Option<(ShellImport, Option<Question>)>, ImportError> {
    let commands = commands(text);
    let launches: Vec<Launch<'_>> = commands
        .iter()
        .filter_map(|(lines, command)| launch(command, *lines))
        .collect();
    let Some(first) = launches.first() else {
        return Ok(None);
    };
    let line = u32::try_from(first.lines.0 + 1).unwrap_or(u32::MAX);
    let mut answers = options.branches.iter().rev();
    let answer = answers.find(|(known, _)| *known == line);
    let taken = answer.map_or(0, |(_, taken)| *taken);
    let Some(launch) = launches.get(taken) else {
        return Ok(None);
    };
    let question = (launches.len() > 1).then(|| Question::Branch {
        line,
        labels: launches.iter().map(label).collect(),
        taken: Some(taken),
    });
    let mut script = shell::read(
        &with_one_launch(text, &launches, taken),
        Answers {
            variables: options.variables,
            branches: options.branches,
        },
    );
    expand(&mut script, launch, options)?;
    Ok(Some((script, question)))
}

/// Adds what the launcher adds to the command of a script: the flags of the model's file, its own, and the number of
/// nodes.
fn expand(script: &mut ShellImport, launch: &Launch<'_>, options: &Options<'_>) -> Result<(), ImportError> {
    let assigned = script.assignments.clone();
    let given = |name: &str| {
        let mut assigned = assigned.iter();
        let set = assigned.find(|assignment| assignment.name == name);
        let answer = || answer(options.variables, name);
        set.map(|set| set.value.clone()).or_else(answer)
    };
    let name = given("MODEL").map(|word| word.text).unwrap_or_default();
    let model = model_zoo::find(&name);
    let what =
        "a launch script of Megatron-MoE-ModelZoo with a model of one's own (paste the file of the model's flags)";
    let run = Run {
        model: model.ok_or(ImportError::NotRead(what))?,
        given: &given,
        line: u32::try_from(launch.lines.0 + 1).unwrap_or(u32::MAX),
    };
    let mut flags = run.flags_of_model();
    // The launcher hands the words on through one more shell.
    for flag in &mut script.command.flags {
        for word in &mut flag.values {
            word.text = word.text.trim_matches(['\'', '"']).to_owned();
        }
    }
    flags.append(&mut script.command.flags);
    let mut added = run.added_flags(&flags);
    flags.append(&mut added);
    script.command.flags = flags;
    script.command.program = Some(Word {
        text: "pretrain_gpt.py".to_owned(),
        line: run.line,
        ..Word::default()
    });
    if let Some((nodes, each)) = run.nodes() {
        script.launch = shell::Launch {
            processes_per_node: Some(Word {
                text: each.to_string(),
                ..nodes.clone()
            }),
            nodes: Some(nodes),
            ..shell::Launch::default()
        };
    }
    let (name, value) = ALLOCATOR;
    script.assignments.retain(|set| set.name != name);
    script.assignments.push(Assignment {
        name: name.to_owned(),
        value: Word {
            text: value.to_owned(),
            line: run.line,
            ..Word::default()
        },
        exported: true,
    });
    Ok(())
}

/// The user's value of a variable.
fn answer(answers: &[(String, String)], name: &str) -> Option<Word> {
    let mut answers = answers.iter().rev();
    let (_, value) = answers.find(|(known, _)| known == name)?;
    Some(Word {
        text: value.clone(),
        variables: vec![name.to_owned()],
        ..Word::default()
    })
}

/// The commands of a script, each with its lines and with continued lines joined.
fn commands(text: &str) -> Vec<((usize, usize), String)> {
    let mut commands = Vec::new();
    let mut command = String::new();
    let mut start = 0;
    for (at, line) in text.lines().enumerate() {
        if command.is_empty() {
            start = at;
        }
        if let Some(continued) = line.trim_end().strip_suffix('\\') {
            command.push_str(continued);
        } else {
            command.push_str(line);
            commands.push(((start, at + 1), std::mem::take(&mut command)));
        }
    }
    commands.push(((start, text.lines().count()), command));
    commands
}

/// The launch of a command, where it is one.
fn launch(command: &str, lines: (usize, usize)) -> Option<Launch<'_>> {
    let code = command.trim();
    if code.starts_with('#') {
        return None;
    }
    let program = code.split_whitespace().find(|word| model_zoo::is_launcher(word))?;
    let (before, arguments) = code.split_once(program)?;
    let before = before.trim_end().trim_end_matches("bash");
    let environment = before.rsplit(['&', ';']).next().unwrap_or_default();
    Some(Launch {
        lines,
        environment: environment.trim(),
        arguments: arguments.trim(),
    })
}

/// A launch in a list of several: what it sets, as written.
fn label(launch: &Launch<'_>) -> String {
    let words = [launch.environment, launch.arguments];
    words.join(" ").trim().to_owned()
}

/// The script with only one of its launches, as a command that starts Megatron-LM. Lines keep their numbers.
fn with_one_launch(text: &str, launches: &[Launch<'_>], taken: usize) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (at, launch) in launches.iter().enumerate() {
        let (start, end) = launch.lines;
        for line in lines.get_mut(start..end).unwrap_or_default() {
            line.clear();
        }
        if at == taken
            && let Some(line) = lines.get_mut(start)
        {
            let export = if launch.environment.is_empty() { "" } else { "export " };
            let Launch {
                environment, arguments, ..
            } = launch;
            *line = format!("{export}{environment}; python pretrain_gpt.py {arguments}");
            if environment.is_empty() {
                *line = format!("python pretrain_gpt.py {arguments}");
            }
        }
    }
    lines.join("\n")
}

/// What the launcher says about a file of flags that is pasted alone.
pub(super) struct FileOfModel<'a> {
    model: &'static model_zoo::ZooModel,
    answers: &'a [(String, String)],
}

impl<'a> FileOfModel<'a> {
    /// The model of a file of flags, by the name of its runs: `DeepSeek-V3-TP${TP}…`.
    pub(super) fn of(root: &Node, answers: &'a [(String, String)]) -> Option<Self> {
        let name = root.get("MODEL_ARGS")?.get("--wandb-exp-name")?;
        let Data::Text(name) = &name.data else {
            return None;
        };
        let (name, _) = name.split_once("-TP${TP}")?;
        let model = model_zoo::find(name)?;
        Some(Self { model, answers })
    }

    fn with_run<T>(&self, read: impl FnOnce(&Run<'_>) -> T) -> T {
        let given = |name: &str| answer(self.answers, name);
        read(&Run {
            model: self.model,
            given: &given,
            line: 0,
        })
    }

    /// The values of the variables in the file: the launcher's, and the user's, which count.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let left_out = || "false".to_owned();
        let mut values: Vec<(String, String)> = self
            .model
            .variables()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        values.extend(self.answers.iter().cloned());
        self.with_run(|run| {
            for name in ["LAYERS_PER_VP", "PP_FIRST", "PP_LAST"] {
                let value = run.value(&format!("${{{name}}}"));
                let value = value.map_or_else(left_out, |word| word.text);
                values.push((name.to_owned(), value));
            }
        });
        values
    }

    /// Shows the launcher's values of variables as their defaults.
    pub(super) fn defaults(&self, variables: &mut [Variable]) {
        for variable in variables {
            let is_given = self.answers.iter().any(|(name, _)| *name == variable.name);
            if !is_given {
                let value = variable.answer.take();
                variable.default = variable.default.take().or(value);
            }
        }
    }

    /// Whether the launcher leaves a flag with this value out.
    pub(super) fn leaves_out(value: &Value) -> bool {
        *value == Value::Bool(false) || matches!(value, Value::Text(text) if text == "false")
    }

    /// Applies the flags that the launcher adds to those of the file, and its number of nodes.
    pub(super) fn add(
        &self,
        draft: &mut JobDraft,
        keys: &mut Keys<'_>,
        file: &Node,
        apply: impl Fn(&mut JobDraft, &mut Keys<'_>, &Flag),
    ) {
        let flags = file.entries().iter();
        let flags = flags.map(|entry| Flag {
            name: entry.key.trim_start_matches('-').to_owned(),
            values: vec![Word {
                text: entry.node.to_value().to_string(),
                ..Word::default()
            }],
            line: entry.line,
        });
        let kept = flags.filter(|flag| flag.values.iter().all(|word| word.text != "false"));
        let kept: Vec<Flag> = kept.collect();
        self.with_run(|run| {
            for flag in run.added_flags(&kept) {
                apply(draft, keys, &flag);
            }
            let Some((nodes, each)) = run.nodes() else {
                return;
            };
            let number: u64 = nodes.text.parse().unwrap_or_default();
            let item = KeyValue {
                key: GPUS.to_owned(),
                value: Value::Int(number.saturating_mul(each).into()),
                line: 0,
            };
            let note = "nodes of the launcher · GPUs of each";
            let value = item.value.clone();
            let id = FieldId::world_size;
            draft.set(&item, id, value, KeyStatus::Derived, note);
        });
    }
}
