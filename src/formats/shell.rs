//! Command lines and bash launch scripts to flags, with nothing executed.
//!
//! The script is read like bash would read it: variables, arrays, defaults, integer arithmetic,
//! `if`, `case` and counted loops are followed as far as the text alone decides them. What it does
//! not decide is reported: a variable that nobody sets, a branch that depends on one, a file that
//! is sourced, a loop, a command substitution.

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

/// What the reader may use beside the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answers<'a> {
    /// Values of variables that the script leaves to its environment.
    pub variables: &'a [(String, String)],
    /// Which branch to take at an `if` or `case`: its line, and the branch's position in
    /// [`Choice::branches`]; a position past the end takes none.
    pub branches: &'a [(u32, usize)],
}

/// A word after expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The text; what has no known value stands in it as written, like `${TP}`.
    pub text: String,
    /// The line of its first character, counted from 1.
    pub line: u32,
    /// Whether part of the text has no known value.
    pub unresolved: bool,
    /// Names of the environment's variables that went into the text, known or not.
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
    /// The flag that a word is, with the value that stands in the same word.
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

/// A variable that the script takes from its environment or from its own arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name; of `TP=$1` it is `TP`.
    pub name: String,
    /// The lines that read it.
    pub lines: Vec<u32>,
    /// What the script falls back to, as in `${TP:-8}`.
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
    /// Whether programs see it.
    pub exported: bool,
}

/// An `if`, a `case` or a `test && …` that adds flags or sets variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its line, counted from 1.
    pub line: u32,
    /// Whether the known variables decide it; if not, the branch taken is a guess.
    pub decided: bool,
    /// The environment's variables that it depends on.
    pub variables: Vec<String>,
    /// Its sides.
    pub branches: Vec<Branch>,
}

/// One side of a [`Choice`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The condition or pattern as written, or `else`.
    pub label: String,
    /// Its line, counted from 1.
    pub line: u32,
    /// Whether its flags and assignments count.
    pub taken: bool,
    /// The flags that it adds.
    pub flags: Vec<Flag>,
    /// The variables that it sets.
    pub assignments: Vec<Assignment>,
}

/// A command that starts training, or may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its line, counted from 1.
    pub line: u32,
    /// Flags of what launches the program: `torchrun`, `srun`, `python -m …`.
    pub launcher: Vec<Flag>,
    /// The program: `pretrain_gpt.py`, a Python module, `megatron sft`. None for bare flags.
    pub program: Option<Word>,
    /// The program's flags.
    pub flags: Vec<Flag>,
    /// Its other words, such as Hydra's `a.b=c`.
    pub arguments: Vec<Word>,
}

/// What a script says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellImport {
    /// The command whose flags count: the one with the most.
    pub command: Command,
    /// The other commands that start something with flags.
    pub other_commands: Vec<Command>,
    /// How many processes are started.
    pub launch: Launch,
    /// The environment's variables that flags, launch and choices depend on.
    pub variables: Vec<Variable>,
    /// The choices, in order of lines.
    pub choices: Vec<Choice>,
    /// The variables that the script sets, by name.
    pub assignments: Vec<Assignment>,
    /// What was not followed, in order of lines.
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
        self.flags()
            .iter()
            .rev()
            .find(|flag| same_name(&flag.name, name))
    }

    /// The variables whose value is neither given nor defaulted.
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
