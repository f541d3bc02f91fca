//! `[ … ]`, `[[ … ]]` and `test …`.

use super::interpreter::Machine;
use super::text::{Text, is_unresolved, joined};
use super::{arithmetic, pattern, syntax};

/// The result of a condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Whether the condition holds; `None` where the text alone does not decide it.
    pub(super) value: Option<bool>,
    /// Whether the condition is a test rather than a program.
    pub(super) test: bool,
    /// Whether the value is likely rather than certain.
    guessed: bool,
}

impl Verdict {
    pub(super) fn of_test(value: Option<bool>) -> Self {
        Self {
            value,
            test: true,
            guessed: false,
        }
    }

    fn guess(value: bool) -> Self {
        Self {
            value: Some(value),
            test: true,
            guessed: true,
        }
    }

    pub(super) fn is_decided(self) -> bool {
        self.value.is_some() && !self.guessed
    }

    pub(super) fn negated(self) -> Self {
        Self {
            value: self.value.map(|value| !value),
            ..self
        }
    }

    /// The result of a pipeline: that of its last statement.
    pub(super) fn unless_test(self) -> Self {
        if self.test { Self::of_test(None) } else { self }
    }

    fn both(self, other: Self, and: bool) -> Self {
        let value = match (self.value, other.value) {
            (Some(value), _) | (_, Some(value)) if value != and => Some(value),
            (Some(_), Some(_)) => Some(and),
            _ => None,
        };
        Self {
            value,
            test: true,
            guessed: self.guessed || other.guessed,
        }
    }
}

/// How deep parentheses may nest.
const MAX_NESTING: u32 = 16;

impl Machine<'_> {
    pub(super) fn condition(&mut self, words: &[syntax::Word]) -> Verdict {
        let double = words.first().and_then(syntax::Word::bare) == Some("[[");
        let mut tokens = Vec::new();
        for word in words.iter().skip(1) {
            if matches!(word.bare(), Some("]" | "]]")) {
                break;
            }
            // Nothing is split in a test: an empty variable is an empty operand.
            let text = self.text(word);
            self.tested.extend(text.iter().flat_map(|piece| &piece.origins));
            tokens.push(Token {
                operator: word.bare().map(str::to_owned),
                text,
            });
        }
        let mut reader = Reader {
            tokens: tokens.iter().peekable(),
            machine: self,
            depth: 0,
            double,
        };
        let verdict = reader.either();
        if reader.tokens.next().is_some() {
            return Verdict::of_test(None);
        }
        verdict
    }
}

struct Token {
    operator: Option<String>,
    text: Text,
}

struct Reader<'a, 'b, 'c> {
    tokens: std::iter::Peekable<std::slice::Iter<'a, Token>>,
    machine: &'b mut Machine<'c>,
    depth: u32,
    double: bool,
}

impl Reader<'_, '_, '_> {
    fn eat(&mut self, operators: &[&str]) -> bool {
        self.tokens
            .next_if(|token| token.operator.as_deref().is_some_and(|text| operators.contains(&text)))
            .is_some()
    }

    fn either(&mut self) -> Verdict {
        let mut verdict = self.all();
        while self.eat(&["||"]) {
            verdict = verdict.both(self.all(), false);
        }
        verdict
    }

    fn all(&mut self) -> Verdict {
        let mut verdict = self.one();
        while self.eat(&["&&"]) {
            verdict = verdict.both(self.one(), true);
        }
        verdict
    }

    fn one(&mut self) -> Verdict {
        let mut negated = false;
        while self.eat(&["!"]) {
            negated = !negated;
        }
        self.depth += 1;
        let verdict = if self.depth > MAX_NESTING {
            Verdict::of_test(None)
        } else if self.eat(&["("]) {
            let verdict = self.either();
            self.eat(&[")"]);
            verdict
        } else {
            self.comparison()
        };
        self.depth -= 1;
        if negated { verdict.negated() } else { verdict }
    }

    fn comparison(&mut self) -> Verdict {
        let Some(left) = self.tokens.next() else {
            return Verdict::of_test(Some(false));
        };
        if let Some(option) = left.operator.as_deref()
            && option.starts_with('-')
            && option.len() == 2
            && let Some(operand) = self.tokens.next()
        {
            return unary(option, &operand.text);
        }
        let operator = self.tokens.peek().and_then(|token| token.operator.as_deref());
        let Some(operator) = operator.filter(|text| is_comparison(text)) else {
            return if is_unresolved(&left.text) {
                Verdict::guess(false)
            } else {
                Verdict::of_test(Some(!joined(&left.text).is_empty()))
            };
        };
        let operator = operator.to_owned();
        self.tokens.next();
        let Some(right) = self.tokens.next() else {
            return Verdict::of_test(None);
        };
        if is_unresolved(&left.text) || is_unresolved(&right.text) {
            return Verdict::of_test(None);
        }
        let (left, right) = (joined(&left.text), joined(&right.text));
        Verdict::of_test(match operator.as_str() {
            "=" | "==" if self.double => pattern::matches(&right, &left),
            "!=" if self.double => pattern::matches(&right, &left).map(|same| !same),
            "=" | "==" => Some(left == right),
            "!=" => Some(left != right),
            // Regular expressions, and the order of texts.
            "=~" | "<" | ">" => None,
            _ => self.numbers(&operator, &left, &right),
        })
    }

    fn numbers(&mut self, operator: &str, left: &str, right: &str) -> Option<bool> {
        let left = arithmetic::evaluate(left, self.machine).ok()?;
        let right = arithmetic::evaluate(right, self.machine).ok()?;
        match operator {
            "-eq" => Some(left == right),
            "-ne" => Some(left != right),
            "-lt" => Some(left < right),
            "-le" => Some(left <= right),
            "-gt" => Some(left > right),
            "-ge" => Some(left >= right),
            _ => None,
        }
    }
}

fn is_comparison(text: &str) -> bool {
    matches!(
        text,
        "=" | "==" | "!=" | "<" | ">" | "=~" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"
    )
}

fn unary(option: &str, operand: &Text) -> Verdict {
    let empty = joined(operand).is_empty();
    match option {
        // A variable that nobody has mentioned is most likely not set.
        "-z" if is_unresolved(operand) => Verdict::guess(true),
        "-n" if is_unresolved(operand) => Verdict::guess(false),
        "-z" => Verdict::of_test(Some(empty)),
        "-n" => Verdict::of_test(Some(!empty)),
        // Files and everything else about the machine.
        _ => Verdict::of_test(None),
    }
}
