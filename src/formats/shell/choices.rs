//! `if`, `case` and `test && …`: which branch is taken, and which flags and variables each branch would add.

use super::condition::Verdict;
use super::interpreter::{MAX_REPORTED, Machine};
use super::syntax::{self, Assigned, Statement, Test};
use super::text::{Text, is_unresolved, joined};
use super::{Assignment, Branch, ScriptChoice, flags, pattern};

/// The flags and assignments that the statements of a branch would make.
#[derive(Default)]
struct BranchEffects {
    words: Vec<Text>,
    assignments: Vec<Assignment>,
}

impl Machine<'_> {
    pub(super) fn chain(&mut self, first: &Statement, rest: &[(bool, Statement)], label: &str, line: u32) -> Verdict {
        self.tested.clear();
        let mut verdict = self.execute(first);
        let tested = std::mem::take(&mut self.tested);
        for (and, statement) in rest {
            let runs = match verdict.value {
                Some(value) => value == *and,
                // A program is taken to succeed.
                None if !verdict.test => *and,
                None => false,
            };
            let runs = if verdict.test {
                let runs = match self.chosen(line) {
                    Some(at) => at == 0,
                    None => runs,
                };
                let sides = [(label.to_owned(), line, std::slice::from_ref(statement))];
                self.report_choice(line, &sides, runs.then_some(0), verdict.is_decided(), &tested);
                runs
            } else {
                runs
            };
            if runs {
                verdict = self.execute(statement);
            }
        }
        verdict
    }

    /// The user's answer to the choice on `line`.
    fn chosen(&self, line: u32) -> Option<usize> {
        let mut answers = self.answers.branches.iter().rev();
        answers.find(|(at, _)| *at == line).map(|(_, branch)| *branch)
    }

    pub(super) fn choice(&mut self, subject: Option<&syntax::Word>, branches: &[syntax::Branch], line: u32) -> Verdict {
        self.tested.clear();
        let subject = subject.map(|word| {
            let text = self.text(word);
            self.tested.extend(text.iter().flat_map(|piece| &piece.origins));
            (!is_unresolved(&text)).then(|| joined(&text))
        });
        let subject = subject.flatten();
        let mut taken = None;
        let mut decided = true;
        for (at, branch) in branches.iter().enumerate() {
            let verdict = match &branch.test {
                // What the test sets counts: `if (( n++ ))`.
                Test::Statements(statements) => self.all(statements),
                Test::Always => Verdict::of_test(Some(true)),
                Test::Patterns(patterns) => Verdict::of_test(self.case_matches(subject.as_deref(), patterns)),
            };
            decided = decided && verdict.is_decided();
            if verdict.value == Some(true) {
                taken = Some(at);
                break;
            }
        }
        let tested = std::mem::take(&mut self.tested);
        if let Some(answer) = self.chosen(line) {
            taken = Some(answer);
        }
        let sides: Vec<_> = branches
            .iter()
            .map(|branch| (branch.label.clone(), branch.line, branch.body.as_slice()))
            .collect();
        self.report_choice(line, &sides, taken, decided, &tested);
        match taken.and_then(|at| branches.get(at)) {
            Some(branch) => self.all(&branch.body),
            None => Verdict::default(),
        }
    }

    fn case_matches(&mut self, subject: Option<&str>, patterns: &[syntax::Word]) -> Option<bool> {
        let mut unsure = subject.is_none();
        for word in patterns {
            let pattern = joined(&self.text(word));
            if pattern == "*" {
                return Some(true);
            }
            match subject.map(|subject| pattern::matches(&pattern, subject)) {
                Some(Some(true)) => return Some(true),
                Some(Some(false)) => {}
                _ => unsure = true,
            }
        }
        (!unsure).then_some(false)
    }

    fn report_choice(
        &mut self,
        line: u32,
        sides: &[(String, u32, &[Statement])],
        taken: Option<usize>,
        decided: bool,
        tested: &[u32],
    ) {
        let known = self.choices.len() >= MAX_REPORTED || self.choices.iter().any(|choice| choice.line == line);
        if known {
            return;
        }
        let mut branches = Vec::new();
        for (at, (label, line, body)) in sides.iter().enumerate() {
            let mut found = BranchEffects::default();
            self.collect(body, &mut found, 0);
            let words = self.words(found.words);
            branches.push(Branch {
                label: label.clone(),
                line: *line,
                taken: taken == Some(at),
                flags: flags::group(&words).0,
                assignments: found.assignments,
            });
        }
        let says_something = |branch: &Branch| !branch.flags.is_empty() || !branch.assignments.is_empty();
        if !branches.iter().any(says_something) {
            return;
        }
        let variables = self.names(tested);
        self.used.extend(tested);
        self.choices.push(ScriptChoice {
            line,
            decided,
            variables,
            branches,
        });
    }

    /// Whether flags occur in `body`.
    pub(super) fn adds_flags(&mut self, body: &[Statement]) -> bool {
        let mut found = BranchEffects::default();
        self.collect(body, &mut found, 0);
        found.words.iter().any(|word| flags::is_flag(&joined(word)))
    }

    /// The flags and assignments that `body` would make, without making them.
    fn collect(&mut self, body: &[Statement], found: &mut BranchEffects, depth: u32) {
        for statement in body {
            let Some(left) = self.statements_left.checked_sub(1).filter(|_| depth < 16) else {
                return;
            };
            self.statements_left = left;
            match statement {
                Statement::Simple { assignments, words, .. } => {
                    for assignment in assignments {
                        self.collect_assignment(assignment, found);
                    }
                    let starts = words
                        .iter()
                        .any(|word| matches!(word.bare(), Some(text) if text.starts_with("--")));
                    for word in words.iter().filter(|_| starts) {
                        let mut fields = self.fields(word);
                        found.words.append(&mut fields);
                    }
                }
                Statement::Chain { first, rest, .. } => {
                    self.collect(std::slice::from_ref(first), found, depth + 1);
                    for (_, statement) in rest {
                        self.collect(std::slice::from_ref(statement), found, depth + 1);
                    }
                }
                Statement::Choice { branches, .. } => {
                    for branch in branches {
                        self.collect(&branch.body, found, depth + 1);
                    }
                }
                Statement::ForEach { body, .. }
                | Statement::ForCount { body, .. }
                | Statement::Loop { body, .. }
                | Statement::Group(body)
                | Statement::Pipe(body) => self.collect(body, found, depth + 1),
                Statement::Not(_) | Statement::Arithmetic(_) | Statement::Function { .. } => {}
            }
        }
    }

    fn collect_assignment(&mut self, assignment: &syntax::Assignment, found: &mut BranchEffects) {
        self.set_by_choices.insert(assignment.name.clone());
        match &assignment.value {
            Assigned::Array(words) => {
                // `A=( "${A[@]}" --more )` adds only what is written here.
                let own = |word: &&syntax::Word| {
                    !word.parts.iter().any(
                        |part| matches!(&part.kind, syntax::Kind::Parameter { name, .. } if *name == assignment.name),
                    )
                };
                for word in words.iter().filter(own) {
                    let mut fields = self.fields(word);
                    found.words.append(&mut fields);
                }
            }
            Assigned::Scalar(word) => {
                let text = self.text(word);
                if joined(&text).trim_start().starts_with("--") {
                    let mut fields = self.fields(&syntax::Word {
                        parts: word
                            .parts
                            .iter()
                            .map(|part| syntax::Part {
                                quoted: false,
                                ..part.clone()
                            })
                            .collect(),
                        line: word.line,
                    });
                    found.words.append(&mut fields);
                } else if found.assignments.len() < MAX_REPORTED {
                    let value = self.word(&text, assignment.line);
                    found.assignments.push(Assignment {
                        name: assignment.name.clone(),
                        value,
                        exported: false,
                    });
                }
            }
        }
    }
}
