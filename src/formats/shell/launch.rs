//! Commands that start training: their launcher, program and flags, and the number of GPUs.

use super::text::{Text, joined};
use super::{Assignment, Command, Flag, Word, flags, same_name};
use crate::formats::megatron_args;

/// The numbers of nodes and processes that a script starts, as far as it gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Nodes: `--nnodes`, `srun --nodes`, `#SBATCH -N`.
    pub nodes: Option<Word>,
    /// Processes, one per GPU, on each node: `--nproc_per_node`, `--ntasks-per-node` above 1.
    pub processes_per_node: Option<Word>,
    /// GPUs of each node that are requested from a scheduler: `--gpus-per-node`, `--gres=gpu:8`.
    pub gpus_per_node: Option<Word>,
    /// All processes: `srun --ntasks`, `mpirun -np`, `WORLD_SIZE`.
    pub processes: Option<Word>,
}

impl Launch {
    /// The number of GPUs of the job, where the script gives it.
    #[must_use]
    pub fn world_size(&self) -> Option<u64> {
        let number =
            |word: &Option<Word>| -> Option<u64> { word.as_ref().and_then(|word| word.text.trim().parse().ok()) };
        let per_node = number(&self.processes_per_node).or_else(|| number(&self.gpus_per_node));
        match per_node {
            // `torchrun` on its own is one node.
            Some(per_node) if self.nodes.is_none() => number(&self.processes).or(Some(per_node)),
            Some(per_node) => number(&self.nodes)?.checked_mul(per_node),
            None => number(&self.processes),
        }
    }

    /// Adds the numbers of `other` that are not known yet. Numbers nearest to the program are added first.
    fn learn(&mut self, flags: &[Flag]) {
        for flag in flags.iter().rev() {
            let Some(value) = flag.values.first() else {
                continue;
            };
            let is = |names: &[&str]| names.iter().any(|name| same_name(name, &flag.name));
            if is(&["nnodes", "nodes", "num-nodes", "num-machines", "N"]) {
                set(&mut self.nodes, value);
            } else if is(&["nproc-per-node", "num-gpus"]) {
                set(&mut self.processes_per_node, value);
            } else if is(&["ntasks-per-node"]) {
                // One task per node starts a launcher of its own.
                if value.text != "1" {
                    set(&mut self.processes_per_node, value);
                }
            } else if is(&["gpus-per-node"]) {
                set(&mut self.gpus_per_node, value);
            } else if is(&["gres"]) {
                let count = value.text.rsplit(':').next().unwrap_or_default();
                if value.text.starts_with("gpu") && count.bytes().all(|b| b.is_ascii_digit()) {
                    let count = count.to_owned();
                    set(
                        &mut self.gpus_per_node,
                        &Word {
                            text: count,
                            ..value.clone()
                        },
                    );
                }
            } else if is(&["ntasks", "np", "n", "num-processes"]) {
                set(&mut self.processes, value);
            }
        }
    }
}

fn set(slot: &mut Option<Word>, value: &Word) {
    if slot.is_none() {
        // `gpu:8` and `h100:8` name the kind too; `2:4` of an elastic job starts with the least.
        *slot = Some(value.clone());
    }
}

/// Variables that say how many GPUs a node has, how many nodes there are, and how many processes start in all.
const COUNTS: [&[&str]; 3] = [
    &["NPROC_PER_NODE", "GPUS_PER_NODE", "NUM_GPUS_PER_NODE"],
    &["NNODES", "NUM_NODES", "SLURM_NNODES", "NODES"],
    &["WORLD_SIZE", "NUM_GPUS"],
];

/// Whether a variable says how many processes start.
pub(super) fn is_count(name: &str) -> bool {
    COUNTS.iter().any(|names| names.contains(&name))
}

/// Whether a command may train: those that convert checkpoints, prepare data or generate do not.
pub(super) fn may_train(command: &Command) -> bool {
    let program = command.program.as_ref().map_or("", |program| program.text.as_str());
    let file = program.rsplit('/').next().unwrap_or_default();
    let others = ["convert", "preprocess", "download"];
    !file.ends_with(" export") && !file.ends_with(" infer") && !others.iter().any(|word| file.contains(word))
}

/// The numbers given by a command, by the `#SBATCH` lines of its script, and by variables, those first that stand
/// where it starts.
pub(super) fn facts(command: &Command, directives: &[Flag], assignments: &[Assignment]) -> Launch {
    let mut launch = Launch::default();
    launch.learn(&command.launcher);
    launch.learn(directives);
    let variable = |names: &[&str]| {
        let known = || command.counts.iter().chain(assignments);
        let mut named = names.iter().filter_map(|name| known().find(|a| a.name == *name));
        named.next().map(|a| a.value.clone())
    };
    let [per_node, of_nodes, in_all] = COUNTS;
    let Launch {
        nodes,
        processes_per_node,
        gpus_per_node,
        processes,
    } = &mut launch;
    if processes_per_node.is_none() && gpus_per_node.is_none() {
        *gpus_per_node = variable(per_node);
    }
    if nodes.is_none() {
        *nodes = variable(of_nodes);
    }
    if processes.is_none() {
        *processes = variable(in_all);
    }
    launch
}

/// The flags of `#SBATCH` lines.
pub(super) fn batch_directives(text: &str) -> Vec<Flag> {
    let mut flags = Vec::new();
    for (line, directive) in (1..).zip(text.lines().take(1_000)) {
        if let Some(rest) = directive.trim_start().strip_prefix("#SBATCH") {
            let words = rest.split_whitespace().map(|text| Word {
                text: text.to_owned(),
                line,
                ..Word::default()
            });
            flags.append(&mut launcher_flags(&words.collect::<Vec<_>>()));
        }
    }
    flags
}

/// The variables that Slurm sets for the processes of a job, as far as `#SBATCH` lines say them: names and values.
pub(super) fn slurm_variables(directives: &[Flag]) -> Vec<(String, String)> {
    let mut launch = Launch::default();
    launch.learn(directives);
    let tasks = directives.iter().rev().find_map(|flag| {
        let is_tasks = same_name(&flag.name, "ntasks-per-node");
        is_tasks.then(|| flag.values.first().cloned()).flatten()
    });
    let set = [
        ("SLURM_NNODES", &launch.nodes),
        ("SLURM_JOB_NUM_NODES", &launch.nodes),
        ("SLURM_GPUS_PER_NODE", &launch.gpus_per_node),
        ("SLURM_GPUS_ON_NODE", &launch.gpus_per_node),
        ("SLURM_NTASKS_PER_NODE", &tasks),
        ("SLURM_NTASKS", &launch.processes),
        ("SLURM_NPROCS", &launch.processes),
    ];
    let number = |word: &Word| {
        let text = word.text.trim();
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| text.to_owned())
    };
    let set = set.into_iter();
    set.filter_map(|(name, word)| Some((name.to_owned(), word.as_ref().and_then(number)?)))
        .collect()
}

/// Flags with one or two dashes, each with at most one value.
fn launcher_flags(words: &[Word]) -> Vec<Flag> {
    let mut flags: Vec<Flag> = Vec::new();
    for word in words {
        let name = word.text.trim_start_matches('-');
        let named = name.len() < word.text.len() && name.starts_with(|c: char| c.is_ascii_alphabetic());
        if named {
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (name, None),
            };
            // `-N4`
            let (name, value) = match (name.as_bytes(), value) {
                ([b'N' | b'n', digit, ..], None) if digit.is_ascii_digit() => {
                    (name.get(..1).unwrap_or_default(), name.get(1..))
                }
                _ => (name, value),
            };
            flags.push(Flag::of_word(word, name, value));
        } else if let Some(flag) = flags.last_mut().filter(|flag| flag.values.is_empty()) {
            flag.values.push(word.clone());
        }
    }
    flags
}

/// The position of the script in `bash -c SCRIPT`, wherever it stands in a command.
pub(super) fn nested_script(fields: &[Text]) -> Option<usize> {
    let is_shell = |text: &str| matches!(text.rsplit('/').next(), Some("bash" | "sh" | "zsh"));
    let at = fields.iter().position(|field| is_shell(&joined(field)))?;
    let mut after = fields.iter().enumerate().skip(at + 1).take(4);
    let option = after.find(|(_, field)| {
        let text = joined(field);
        text.starts_with('-') && !text.starts_with("--") && text.ends_with('c')
    })?;
    Some(option.0 + 1).filter(|script| *script < fields.len())
}

/// Puts the flags of `srun … bash -c` in front of what the script launches.
pub(super) fn wrap(commands: Option<&mut [Command]>, wrapper: &[Word], line: u32) {
    for command in commands.unwrap_or_default() {
        let mut launcher = launcher_flags(wrapper);
        launcher.append(&mut command.launcher);
        command.launcher = launcher;
        if command.line == 0 {
            command.line = line;
        }
    }
}

/// A command as launcher, program and flags; `None` where it starts no known program.
pub(super) fn split(words: &[Word]) -> Option<Command> {
    let line = words.first()?.line;
    if flags::is_flag(&words.first()?.text) {
        let (flags, arguments) = flags::group(words);
        return Some(Command {
            line,
            flags,
            arguments,
            ..Command::default()
        });
    }
    let (end, program, start) = program(words)?;
    let (flags, arguments) = flags::group(words.get(start..).unwrap_or_default());
    Some(Command {
        line,
        launcher: launcher_flags(words.get(..end).unwrap_or_default()),
        program: Some(program),
        flags,
        arguments,
        counts: Vec::new(),
    })
}

/// The end of the launcher's words, the program, and the start of its arguments.
fn program(words: &[Word]) -> Option<(usize, Word, usize)> {
    let name = |word: &Word| word.text.rsplit('/').next().unwrap_or_default().to_owned();
    for (at, word) in words.iter().enumerate() {
        if word.text.strip_suffix(".py").is_some() {
            return Some((at, word.clone(), at + 1));
        }
        let next = words.get(at + 1);
        if word.text == "-m"
            && let Some(module) = next
            && !is_launcher_module(&module.text)
        {
            return Some((at, module.clone(), at + 2));
        }
        if matches!(name(word).as_str(), "megatron" | "swift")
            && let Some(task) = next.filter(|next| is_task(&next.text))
        {
            let program = Word {
                text: format!("{} {}", name(word), task.text),
                ..word.clone()
            };
            return Some((at, program, at + 2));
        }
    }
    let launcher = words.iter().rposition(|word| {
        matches!(name(word).as_str(), "torchrun" | "deepspeed" | "accelerate")
            || name(word).starts_with("python")
            || is_launcher_module(&word.text)
    });
    if let Some(at) = launcher {
        // The program has another kind of name, or none that is known: the first word that is
        // neither an option nor its value.
        let mut next = at + 1;
        while let Some(word) = words.get(next) {
            if !word.text.starts_with('-') {
                return Some((next, word.clone(), next + 1));
            }
            let alone = word.text.contains('=')
                || [
                    "--standalone",
                    "--no-python",
                    "--no_python",
                    "-u",
                    "--use-env",
                    "--use_env",
                ]
                .contains(&word.text.as_str());
            next += if alone { 1 } else { 2 };
        }
        return None;
    }
    let known = |word: &&Word| {
        word.text.strip_prefix("--").is_some_and(|text| {
            let flag = text.split('=').next().unwrap_or_default();
            megatron_args::find(flag).is_some()
        })
    };
    let first = words.first()?;
    match name(first).as_str() {
        "sbatch" | "srun" | "salloc" | "mpirun" => Some((words.len(), first.clone(), words.len())),
        _ if words.iter().any(|word| flags::is_override(&word.text)) => Some((1, first.clone(), 1)),
        _ if words.iter().filter(known).count() > 0 => Some((1, first.clone(), 1)),
        _ => None,
    }
}

fn is_launcher_module(text: &str) -> bool {
    matches!(text, "torch.distributed.launch" | "torch.distributed.run")
}

fn is_task(text: &str) -> bool {
    matches!(text, "pt" | "sft" | "rlhf" | "export" | "infer")
}
