//! The result of a followed script.

use std::collections::BTreeSet;

use super::{MAX_REPORTED, Machine, Stored};
use crate::formats::shell::text::Text;
use crate::formats::shell::{Assignment, Command, Flag, Note, NoteKind, ShellImport, Variable, flags, launch};

impl Machine<'_> {
    pub(super) fn finish(mut self, directives: &[Flag]) -> ShellImport {
        let mut commands = std::mem::take(&mut self.commands);
        let best = commands
            .iter()
            .enumerate()
            .max_by_key(|(at, command)| {
                let size = command.flags.len() + command.arguments.len();
                (launch::may_train(command), size, core::cmp::Reverse(*at))
            })
            .map(|(at, _)| at);
        let mut command = best.map(|at| commands.remove(at)).unwrap_or_default();
        // A launcher without a program of its own, such as `sbatch job.sh`, still says how many.
        commands.retain(|other| !other.flags.is_empty() || !other.launcher.is_empty());
        if command.flags.is_empty() && command.arguments.is_empty() {
            self.flags_of_variables(&mut command);
        } else {
            self.note_the_unused(&commands);
        }
        let assignments = self.scalars(|_| true);
        let launch = launch::facts(&command, directives, &assignments);
        let mut named: BTreeSet<String> = self
            .names(&self.used.iter().copied().collect::<Vec<_>>())
            .into_iter()
            .collect();
        let words = command
            .flags
            .iter()
            .filter(|flag| flags::matters(flag))
            .flat_map(|flag| &flag.values)
            .chain(&command.arguments)
            .chain([&launch.nodes, &launch.processes_per_node].into_iter().flatten())
            .chain([&launch.gpus_per_node, &launch.processes].into_iter().flatten());
        named.extend(words.flat_map(|word| word.variables.iter().cloned()));
        let mut variables = self.externals;
        // What a side of a choice sets is not asked for: the choice is.
        let asked = |variable: &Variable| {
            variable.default.is_some() || variable.answer.is_some() || !self.set_by_choices.contains(&variable.name)
        };
        variables.retain(|variable| named.contains(&variable.name) && asked(variable));
        variables.truncate(MAX_REPORTED);
        self.choices.sort_by_key(|choice| choice.line);
        self.notes.sort_by_key(|note| note.line);
        self.notes.truncate(MAX_REPORTED);
        ShellImport {
            command,
            other_commands: commands,
            launch,
            variables,
            choices: self.choices,
            assignments,
            notes: self.notes,
        }
    }

    /// A file of arrays, to be sourced by another: the flags of those that nothing reads.
    fn flags_of_variables(&mut self, command: &mut Command) {
        let mut used = Vec::new();
        for (line, name) in self.unread() {
            if let Some(flags) = self.flags_in(&name, line) {
                command.line = if used.is_empty() { line } else { command.line };
                command.flags.extend(flags.flags);
                command.arguments.extend(flags.arguments);
                command.launcher.extend(flags.launcher);
                command.program = command.program.take().or(flags.program);
                used.push(name);
            }
        }
        if !used.is_empty() {
            let line = command.line;
            self.note(Note {
                line,
                kind: NoteKind::FlagsOfVariables(used),
            });
        }
    }

    /// Variables that nothing reads, in order of lines.
    fn unread(&self) -> Vec<(u32, String)> {
        let unread = self.variables.iter().filter(|(_, binding)| !binding.read);
        let mut names: Vec<_> = unread.map(|(name, binding)| (binding.line, name.clone())).collect();
        names.sort();
        names
    }

    fn note_the_unused(&mut self, others: &[Command]) {
        for other in others.iter().filter(|other| !other.flags.is_empty()) {
            self.note(Note {
                line: other.line,
                kind: NoteKind::AnotherCommand,
            });
        }
        for (line, name) in self.unread() {
            if self.flags_in(&name, line).is_some() {
                self.note(Note {
                    line,
                    kind: NoteKind::Unused(name),
                });
            }
        }
    }

    /// The variables that hold one value and whose names are asked for, as they are now.
    pub(in crate::formats::shell) fn scalars(&mut self, is_asked: fn(&str) -> bool) -> Vec<Assignment> {
        let variables = self.variables.iter().filter(|(name, _)| is_asked(name));
        let scalars: Vec<(String, Text, bool, u32)> = variables
            .filter_map(|(name, binding)| match &binding.value {
                Stored::Scalar(text) => Some((name.clone(), text.clone(), binding.exported, binding.line)),
                Stored::Array(_) => None,
            })
            .take(MAX_REPORTED)
            .collect();
        scalars
            .into_iter()
            .map(|(name, text, exported, line)| Assignment {
                name,
                value: self.word(&text, line),
                exported,
            })
            .collect()
    }
}
