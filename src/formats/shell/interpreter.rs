//! Follows the statements of a script without executing any program.

mod environment;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::arithmetic::Failure;
use super::condition::Verdict;
use super::syntax::{self, Statement};
use super::text::{Text, is_unresolved, joined};
use super::{Answers, Command, Note, NoteKind, ScriptChoice, ShellImport, Variable, arithmetic, launch, parser};

/// The most text that expansion may produce, in bytes, so that no script fills the memory. An empty piece of text
/// counts too, since storing it takes memory.
const MAX_EXPANSION: usize = 8_000_000;
/// Most statements that are followed, loops counted in.
const MAX_STATEMENTS: u32 = 300_000;
/// How deep functions, `bash -c` strings and command substitutions may nest.
const MAX_CALLS: u32 = 8;
/// Most rounds of one loop.
const MAX_ROUNDS: u32 = 4_096;
/// Most commands, choices, assignments, notes and environment variables that are reported.
pub(super) const MAX_REPORTED: usize = 500;

#[derive(Clone, Debug)]
pub(super) enum Stored {
    Scalar(Text),
    Array(Vec<Text>),
}

#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) value: Stored,
    exported: bool,
    read: bool,
    pub(super) line: u32,
}

pub(super) struct Machine<'a> {
    pub(super) answers: Answers<'a>,
    pub(super) variables: BTreeMap<String, Binding>,
    pub(super) functions: BTreeMap<String, Rc<Vec<Statement>>>,
    /// The arguments of the functions that are being followed, the innermost last.
    pub(super) frames: Vec<Vec<Text>>,
    externals: Vec<Variable>,
    external_ids: BTreeMap<String, u32>,
    pub(super) used: BTreeSet<u32>,
    /// Indices of the environment variables that arithmetic has read.
    pub(super) read_origins: Vec<u32>,
    /// Names of variables that a branch of some choice sets.
    pub(super) set_by_choices: BTreeSet<String>,
    /// Indices of the environment variables that conditions have read.
    pub(super) tested: Vec<u32>,
    pub(super) commands: Vec<Command>,
    pub(super) choices: Vec<ScriptChoice>,
    notes: Vec<Note>,
    expansion_left: usize,
    pub(super) statements_left: u32,
    calls: u32,
    /// The line of the statement that is being followed.
    pub(super) line: u32,
}

pub(super) fn run(text: &str, answers: Answers<'_>) -> ShellImport {
    let (statements, notes) = parser::parse(text, 1, Vec::new());
    let directives = launch::batch_directives(text);
    // What the user says counts: the last value of a name does.
    let mut variables = launch::slurm_variables(&directives);
    variables.extend_from_slice(answers.variables);
    let answers = Answers {
        variables: &variables,
        ..answers
    };
    let mut machine = Machine {
        answers,
        variables: BTreeMap::new(),
        functions: BTreeMap::new(),
        frames: Vec::new(),
        externals: Vec::new(),
        external_ids: BTreeMap::new(),
        used: BTreeSet::new(),
        read_origins: Vec::new(),
        set_by_choices: BTreeSet::new(),
        tested: Vec::new(),
        commands: Vec::new(),
        choices: Vec::new(),
        notes,
        expansion_left: MAX_EXPANSION,
        statements_left: MAX_STATEMENTS,
        calls: 0,
        line: 1,
    };
    machine.all(&statements);
    machine.finish(&directives)
}

impl Machine<'_> {
    pub(super) fn all(&mut self, statements: &[Statement]) -> Verdict {
        let mut verdict = Verdict::default();
        for statement in statements {
            verdict = self.execute(statement);
        }
        verdict
    }

    pub(super) fn execute(&mut self, statement: &Statement) -> Verdict {
        let Some(left) = self.statements_left.checked_sub(1) else {
            let line = self.line;
            self.spend(usize::MAX, line);
            return Verdict::default();
        };
        self.statements_left = left;
        match statement {
            Statement::Simple {
                assignments,
                words,
                exported,
                line,
            } => {
                self.line = *line;
                for assignment in assignments {
                    self.assign(assignment, *exported || !words.is_empty());
                }
                self.simple(words, *line)
            }
            Statement::Chain {
                first,
                rest,
                label,
                line,
            } => self.chain(first, rest, label, *line),
            Statement::Pipe(statements) => self.all(statements).unless_test(),
            Statement::Not(inner) => self.execute(inner).negated(),
            Statement::Arithmetic(word) => {
                let operands = self.text(word);
                let source = joined(&operands);
                self.read_origins.clear();
                let value = arithmetic::evaluate(&source, self);
                self.tested.append(&mut self.read_origins);
                if value == Err(Failure::Malformed) && !is_unresolved(&operands) {
                    self.not_understood(&source, word.line);
                }
                Verdict::of_test(value.ok().map(|value| value != 0))
            }
            Statement::Choice {
                subject,
                branches,
                line,
            } => self.choice(subject.as_ref(), branches, *line),
            Statement::ForEach {
                name,
                words,
                body,
                line,
            } => self.for_each(name, words, body, *line),
            Statement::ForCount { header, body, line } => self.for_count(header, body, *line),
            Statement::Loop { body, line } => {
                // Often the reading of options, which says nothing; a loop that adds or passes
                // flags, such as one that starts again after a failure, is followed once.
                if self.adds_flags(body) {
                    self.all(body);
                }
                if !body.is_empty() {
                    self.note(Note {
                        line: *line,
                        kind: NoteKind::Loop,
                    });
                }
                Verdict::default()
            }
            Statement::Function { name, body } => {
                self.functions.insert(name.clone(), Rc::new(body.clone()));
                Verdict::default()
            }
            Statement::Group(body) => self.all(body),
        }
    }

    fn for_each(&mut self, name: &str, words: &[syntax::Word], body: &[Statement], line: u32) -> Verdict {
        let mut items = Vec::new();
        for word in words {
            items.append(&mut self.fields(word));
        }
        let known = items
            .iter()
            .all(|item| !is_unresolved(item) && !item.iter().any(|piece| piece.text.contains(['*', '{'])));
        if !known || items.len() > usize::try_from(MAX_ROUNDS).unwrap_or(usize::MAX) {
            self.note(Note {
                line,
                kind: NoteKind::Loop,
            });
            return Verdict::default();
        }
        for item in items {
            if self.statements_left == 0 {
                break;
            }
            self.assign_scalar(name, item, false, line);
            self.all(body);
        }
        Verdict::default()
    }

    fn for_count(&mut self, [start, test, step]: &[syntax::Word; 3], body: &[Statement], line: u32) -> Verdict {
        let mut followed = self.number(start).is_some();
        let mut rounds = 0;
        while followed {
            match self.number(test) {
                Some(0) => return Verdict::default(),
                Some(_) => {}
                None => break,
            }
            rounds += 1;
            followed = rounds <= MAX_ROUNDS && self.statements_left > 0;
            if followed {
                self.all(body);
                followed = self.number(step).is_some();
            }
        }
        self.note(Note {
            line,
            kind: NoteKind::Loop,
        });
        Verdict::default()
    }

    fn number(&mut self, word: &syntax::Word) -> Option<i64> {
        let source = joined(&self.text(word));
        self.statements_left = self.statements_left.checked_sub(1)?;
        arithmetic::evaluate(&source, self).ok()
    }

    /// Notes an expression of arithmetic that was not understood.
    pub(super) fn not_understood(&mut self, expression: &str, line: u32) {
        let shown = expression.trim().chars().take(80).collect();
        self.note(Note {
            line,
            kind: NoteKind::Arithmetic(shown),
        });
    }

    pub(super) fn names(&self, origins: &[u32]) -> Vec<String> {
        let mut names = Vec::new();
        for origin in origins {
            let variable = usize::try_from(*origin).ok().and_then(|at| self.externals.get(at));
            if let Some(variable) = variable
                && names.len() < 16
                && !names.contains(&variable.name)
            {
                names.push(variable.name.clone());
            }
        }
        names
    }
}
