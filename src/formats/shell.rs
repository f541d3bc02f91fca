//! Reads the flags of command lines and bash launch scripts. Nothing is executed.
//!
//! The script is read like bash would read it: variables, arrays, defaults, integer arithmetic,
//! `if`, `case` and counted loops are followed as far as the text alone decides them. Everything else
//! is reported: variables that nobody sets, branches that depend on them, sourced files, loops, command
//! substitutions.

mod arithmetic;
mod choices;
mod commands;
mod condition;
mod expand;
mod flags;
mod interpreter;
mod launch;
mod lexer;
mod note;
mod parser;
mod pattern;
mod syntax;
mod text;

pub use launch::Launch;
pub use note::{Note, NoteKind};

/// Largest text that is read, in bytes.
pub const MAX_BYTES: usize = 100_000;

/// The user's answers to questions that the text leaves open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answers<'a> {
    /// Values of variables that the script reads and does not set: names and values.
    pub variables: &'a [(String, String)],
    /// Which branch to take at an `if` or `case`: its line, and the branch's position in
    /// [`ScriptChoice::branches`]; a position past the end takes none.
    pub branches: &'a [(u32, usize)],
}

/// A word after expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The text. Expansions without a known value stand in it as written: `${TP}`.
    pub text: String,
    /// The line of its first character, counted from 1.
    pub line: u32,
    /// Whether an expansion in the text has no known value.
    pub unresolved: bool,
    /// Names of the environment variables that occur in the text, with or without a known value.
    pub variables: Vec<String>,
}

/// One flag with the words after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The name without its leading dashes, otherwise as written: `num-layers` or `num_layers`.
    pub name: String,
    /// The words up to the next flag.
    pub values: Vec<Word>,
    /// The line of the name, counted from 1.
    pub line: u32,
}

impl Flag {
    /// The flag that a word holds, with its value where that is in the same word: `--tp=2`.
    fn of_word(word: &Word, name: &str, value: Option<&str>) -> Self {
        let value = value.map(|value| Word {
            text: value.to_owned(),
            ..word.clone()
        });
        Self {
            name: name.to_owned(),
            values: value.into_iter().collect(),
            line: word.line,
        }
    }
}

/// A variable that the script reads from its environment or from its own arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name. For `TP=$1` it is `TP`.
    pub name: String,
    /// The lines that read it.
    pub lines: Vec<u32>,
    /// The script's default for it, as in `${TP:-8}`.
    pub default: Option<String>,
    /// The value from [`Answers::variables`].
    pub answer: Option<String>,
}

/// A variable that the script sets, with its last value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Word,
    /// Whether it is exported to the environment of the programs that the script starts.
    pub exported: bool,
}

/// A choice of the script: an `if`, a `case` or a `test && …` that adds flags or sets variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptChoice {
    /// Its line, counted from 1.
    pub line: u32,
    /// Whether known variables decide it; otherwise the branch taken is a guess.
    pub decided: bool,
    /// The environment's variables that it depends on.
    pub variables: Vec<String>,
    /// Its branches.
    pub branches: Vec<Branch>,
}

/// One branch of a [`ScriptChoice`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The condition or pattern as written, or `else`.
    pub label: String,
    /// Its line, counted from 1.
    pub line: u32,
    /// Whether the branch is taken: its flags and assignments count.
    pub taken: bool,
    /// The flags that it adds.
    pub flags: Vec<Flag>,
    /// The variables that it sets.
    pub assignments: Vec<Assignment>,
}

/// A command that starts training, or looks as if it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its line, counted from 1.
    pub line: u32,
    /// Flags of the launcher: `torchrun`, `srun`, `python -m …`.
    pub launcher: Vec<Flag>,
    /// The program: `pretrain_gpt.py`, a Python module, `megatron sft`. None for bare flags.
    pub program: Option<Word>,
    /// The program's flags.
    pub flags: Vec<Flag>,
    /// Its other words, such as Hydra's `a.b=c`.
    pub arguments: Vec<Word>,
    /// The variables that say how many processes start, as they are where it starts.
    pub counts: Vec<Assignment>,
}

/// A script after reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellImport {
    /// The training command: of several the one with the most flags that neither converts nor generates.
    pub command: Command,
    /// The other commands that start something with flags.
    pub other_commands: Vec<Command>,
    /// The number of processes that are started.
    pub launch: Launch,
    /// The environment's variables that flags, launch and choices depend on.
    pub variables: Vec<Variable>,
    /// The choices, in order of lines.
    pub choices: Vec<ScriptChoice>,
    /// The variables that the script sets, by name.
    pub assignments: Vec<Assignment>,
    /// Remarks on statements that were not followed, in order of lines.
    pub notes: Vec<Note>,
}

impl ShellImport {
    /// The flags of [`ShellImport::command`].
    #[must_use]
    pub fn flags(&self) -> &[Flag] {
        &self.command.flags
    }

    /// The last flag called `name`, with dashes and underscores taken as the same.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<&Flag> {
        self.flags().iter().rev().find(|flag| same_name(&flag.name, name))
    }

    /// The variables that have neither an answer nor a default.
    pub fn unresolved(&self) -> impl Iterator<Item = &Variable> {
        self.variables
            .iter()
            .filter(|variable| variable.default.is_none() && variable.answer.is_none())
    }
}

/// Whether two flag names differ at most in dashes and underscores.
#[must_use]
pub fn same_name(a: &str, b: &str) -> bool {
    let dashed = |c: char| if c == '_' { '-' } else { c };
    a.len() == b.len() && a.chars().map(dashed).eq(b.chars().map(dashed))
}

/// Reads a command line or a launch script.
#[must_use]
pub fn read(text: &str, answers: Answers<'_>) -> ShellImport {
    if text.len() > MAX_BYTES {
        return ShellImport {
            notes: vec![Note {
                line: 1,
                kind: NoteKind::TooLarge,
            }],
            ..ShellImport::default()
        };
    }
    interpreter::run(text, answers)
}
