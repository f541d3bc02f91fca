//! `moe_layer_freq`: which decoder layers are `MoE` layers.
//!
//! Megatron-LM takes a whole number, or a Python list expression that it evaluates
//! (`moe_freq_type` in megatron/training/arguments.py). Here it is a closed grammar and never an
//! evaluator: lists of zeros and ones, `+`, and `* n`, with parentheses.

use core::fmt;

use crate::value::Value;

/// The longest pattern that is expanded.
const LONGEST: usize = 10_000;
/// The deepest nesting of parentheses.
const DEEPEST: u32 = 16;

/// The layers for which something holds: `MoE` layers, or layers with linear attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayerPattern {
    /// Layer `i` (from 0) is a `MoE` layer when `i % n == 0`.
    Every(u64),
    /// One entry a layer.
    List(Vec<bool>),
}

/// Why a layer pattern cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// An empty text.
    #[error("needs a value: 1, or a list such as ([0]*3+[1]*58)")]
    Empty,
    /// The number is not a positive whole number.
    #[error("as a number must be a positive whole number; as a list write ([0]*3+[1]*58)")]
    NotPositive,
    /// A list entry is neither 0 nor 1.
    #[error("may only list zeros (dense layers) and ones (MoE layers)")]
    NotZeroOrOne,
    /// The text does not follow the grammar.
    #[error("cannot be read at character {place}; write a number, a list like [0,1,1], or ([0]*3+[1]*58)")]
    Syntax {
        /// Position in characters, from 1.
        place: usize,
    },
    /// More entries than any model has layers.
    #[error("has more than {LONGEST} entries")]
    TooLong,
    /// A value that is neither a number, a list nor text.
    #[error("must be a number or a list, not a {given}")]
    WrongType {
        /// The type of the value, as Python calls it.
        given: &'static str,
    },
}

impl LayerPattern {
    /// Whether it holds for every layer.
    pub(super) fn is_everywhere(&self) -> bool {
        match self {
            Self::Every(period) => *period == 1,
            Self::List(list) => !list.contains(&false),
        }
    }

    /// Reads a number, a list, or text in either form.
    pub(super) fn read(value: &Value) -> Result<Self, PatternError> {
        match value {
            Value::Int(n) => every(*n),
            Value::List(items) => {
                if items.len() > LONGEST {
                    return Err(PatternError::TooLong);
                }
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.push(match item {
                        Value::Int(0) | Value::Bool(false) => false,
                        Value::Int(1) | Value::Bool(true) => true,
                        _ => return Err(PatternError::NotZeroOrOne),
                    });
                }
                Ok(Self::List(list))
            }
            Value::Text(text) => Self::read_text(text),
            Value::Float(_) => Err(PatternError::NotPositive),
            other => Err(PatternError::WrongType {
                given: other.python_type(),
            }),
        }
    }

    fn read_text(text: &str) -> Result<Self, PatternError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(PatternError::Empty);
        }
        if !trimmed.contains('[') {
            return trimmed.parse().map_err(|_| PatternError::NotPositive).and_then(every);
        }
        let mut reader = Reader {
            chars: trimmed.chars().filter(|c| *c != ' ').collect(),
            place: 0,
            depth: 0,
        };
        let mut list = Vec::new();
        reader.sum(&mut list)?;
        if reader.place < reader.chars.len() {
            return Err(reader.syntax());
        }
        Ok(Self::List(list))
    }

    /// Whether layer `index` (from 0) is a `MoE` layer. Layers beyond a list are dense; validation
    /// refuses lists of the wrong length.
    #[must_use]
    pub fn is_moe(&self, index: u64) -> bool {
        match self {
            Self::Every(n) => index.is_multiple_of(*n),
            Self::List(list) => usize::try_from(index).is_ok_and(|i| list.get(i) == Some(&true)),
        }
    }
}

/// The pattern as Megatron-LM's argument: a number, or runs such as `([0]*3+[1]*58)`.
impl fmt::Display for LayerPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = match self {
            Self::Every(n) => return write!(f, "{n}"),
            Self::List(list) => list,
        };
        if list.is_empty() {
            return f.write_str("[]");
        }
        f.write_str("(")?;
        for (i, run) in list.chunk_by(|a, b| a == b).enumerate() {
            if i > 0 {
                f.write_str("+")?;
            }
            let entry = u8::from(run.first() == Some(&true));
            write!(f, "[{entry}]")?;
            if run.len() > 1 {
                write!(f, "*{}", run.len())?;
            }
        }
        f.write_str(")")
    }
}

fn every(n: i128) -> Result<LayerPattern, PatternError> {
    match u64::try_from(n) {
        Ok(n) if n > 0 => Ok(LayerPattern::Every(n)),
        _ => Err(PatternError::NotPositive),
    }
}

/// `sum = product ("+" product)*`, `product = (n "*")* atom ("*" n)*`, `atom = "(" sum ")" | "[" entries "]"`.
struct Reader {
    chars: Vec<char>,
    place: usize,
    depth: u32,
}

impl Reader {
    fn syntax(&self) -> PatternError {
        PatternError::Syntax { place: self.place + 1 }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.place).copied()
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.place += usize::from(found);
        found
    }

    fn expect(&mut self, c: char) -> Result<(), PatternError> {
        if self.take(c) { Ok(()) } else { Err(self.syntax()) }
    }

    /// Adds what the text lists to the end of `list`.
    fn sum(&mut self, list: &mut Vec<bool>) -> Result<(), PatternError> {
        let start = list.len();
        self.product(list)?;
        while self.take('+') {
            self.product(list)?;
            if list.len() - start > LONGEST {
                return Err(PatternError::TooLong);
            }
        }
        Ok(())
    }

    fn product(&mut self, list: &mut Vec<bool>) -> Result<(), PatternError> {
        let start = list.len();
        let mut times = 1_usize;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            times = times.saturating_mul(self.number()?);
            self.expect('*')?;
        }
        self.atom(list)?;
        loop {
            let once = list.len() - start;
            let all = once.saturating_mul(times);
            if all > LONGEST {
                return Err(PatternError::TooLong);
            }
            list.truncate(start + all.min(once));
            while list.len() < start + all {
                list.extend_from_within(start..start + once);
            }
            if !self.take('*') {
                return Ok(());
            }
            times = self.number()?;
        }
    }

    fn atom(&mut self, list: &mut Vec<bool>) -> Result<(), PatternError> {
        if self.take('(') {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(self.syntax());
            }
            self.sum(list)?;
            self.depth -= 1;
            return self.expect(')');
        }
        self.expect('[')?;
        let start = list.len();
        while !self.take(']') {
            match self.number()? {
                0 => list.push(false),
                1 => list.push(true),
                _ => return Err(PatternError::NotZeroOrOne),
            }
            if list.len() - start > LONGEST {
                return Err(PatternError::TooLong);
            }
            if !self.take(',') && self.peek() != Some(']') {
                return Err(self.syntax());
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<usize, PatternError> {
        let start = self.place;
        let mut number = 0_usize;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            number = number
                .saturating_mul(10)
                .saturating_add(usize::try_from(digit).unwrap_or(0));
            self.place += 1;
        }
        if self.place == start {
            Err(self.syntax())
        } else {
            Ok(number)
        }
    }
}
