//! The syntax tree of the part of bash that launch scripts use.

/// A word before expansion.
#[derive(Clone, Debug, Default)]
pub(super) struct Word {
    pub(super) parts: Vec<Part>,
    pub(super) line: u32,
}

impl Word {
    /// The text when nothing in the word is quoted or expanded: keywords, operators, command names.
    pub(super) fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [
                Part {
                    kind: Kind::Text(text),
                    quoted: false,
                    ..
                },
            ] => Some(text),
            _ => None,
        }
    }
}

/// A piece of a word.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) line: u32,
    pub(super) quoted: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Text(String),
    /// `$NAME`, `${NAME…}`.
    Parameter {
        name: String,
        index: Index,
        action: Action,
    },
    /// `$((…))`.
    Arithmetic(Word),
    /// `$(…)` or backticks, as written; never run.
    Command(String),
}

/// The subscript of a parameter.
#[derive(Clone, Debug)]
pub(super) enum Index {
    None,
    /// `[@]`
    Each,
    /// `[*]`
    Joined,
    At(Word),
}

/// What `${NAME…}` does with the value.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Plain,
    /// `${#NAME}`
    Length,
    /// `${NAME-word}`; with a colon an empty value counts as unset too.
    Default {
        colon: bool,
        assign: bool,
        word: Word,
    },
    /// `${NAME+word}`
    Alternative {
        colon: bool,
        word: Word,
    },
    Upper,
    Lower,
    /// `${NAME?message}`
    Required,
    /// Any other operator (`%`, `#`, `/`, `:offset`); it is not evaluated.
    Other,
}

#[derive(Clone, Debug)]
pub(super) struct Assignment {
    pub(super) name: String,
    /// Whether it sets one element of an array, `NAME[key]=`, which is not followed.
    pub(super) is_of_element: bool,
    pub(super) append: bool,
    pub(super) value: Assigned,
    pub(super) line: u32,
}

#[derive(Clone, Debug)]
pub(super) enum Assigned {
    Scalar(Word),
    Array(Vec<Word>),
}

#[derive(Clone, Debug)]
pub(super) struct Branch {
    /// The condition or the patterns as written.
    pub(super) label: String,
    pub(super) line: u32,
    pub(super) test: Test,
    pub(super) body: Vec<Statement>,
}

/// When a [`Branch`] is taken.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Statements(Vec<Statement>),
    Patterns(Vec<Word>),
    Always,
}

#[derive(Clone, Debug)]
pub(super) enum Statement {
    Simple {
        assignments: Vec<Assignment>,
        words: Vec<Word>,
        exported: bool,
        line: u32,
    },
    /// Statements with `&&` (true) or `||` (false) before each but the first.
    Chain {
        first: Box<Statement>,
        rest: Vec<(bool, Statement)>,
        label: String,
        line: u32,
    },
    Pipe(Vec<Statement>),
    Not(Box<Statement>),
    /// `((…))`
    Arithmetic(Word),
    /// `if` and `case`: the first branch whose test holds.
    Choice {
        subject: Option<Word>,
        branches: Vec<Branch>,
        line: u32,
    },
    ForEach {
        name: String,
        words: Vec<Word>,
        body: Vec<Statement>,
        line: u32,
    },
    /// `for ((a; b; c))`
    ForCount {
        header: [Word; 3],
        body: Vec<Statement>,
        line: u32,
    },
    /// `while` and `until`.
    Loop {
        body: Vec<Statement>,
        line: u32,
    },
    Function {
        name: String,
        body: Vec<Statement>,
    },
    Group(Vec<Statement>),
}
