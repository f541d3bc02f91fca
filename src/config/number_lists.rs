//! Lists of whole numbers as Python writes them: `[0,1,1]`, `+`, and `* n`, with parentheses. A closed grammar and never
//! an evaluator.

/// The longest list that is expanded.
pub(super) const LONGEST: usize = 10_000;
/// The deepest nesting of parentheses.
const DEEPEST: u32 = 16;

/// Why a text does not list numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListError {
    /// The text does not follow the grammar.
    Syntax {
        /// Position in characters, from 1.
        place: usize,
    },
    /// More entries than any model has layers.
    TooLong,
}

/// Reads a list. Blanks mean nothing.
pub(super) fn read(text: &str) -> Result<Vec<usize>, ListError> {
    let mut reader = Reader {
        chars: text.chars().filter(|c| *c != ' ').collect(),
        place: 0,
        depth: 0,
    };
    let mut list = Vec::new();
    reader.sum(&mut list)?;
    if reader.place < reader.chars.len() {
        return Err(reader.syntax());
    }
    Ok(list)
}

/// `sum = product ("+" product)*`, `product = (n "*")* atom ("*" n)*`, `atom = "(" sum ")" | "[" entries "]"`.
struct Reader {
    chars: Vec<char>,
    place: usize,
    depth: u32,
}

impl Reader {
    fn syntax(&self) -> ListError {
        ListError::Syntax { place: self.place + 1 }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.place).copied()
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.place += usize::from(found);
        found
    }

    fn expect(&mut self, c: char) -> Result<(), ListError> {
        if self.take(c) { Ok(()) } else { Err(self.syntax()) }
    }

    /// Adds what the text lists to the end of `list`.
    fn sum(&mut self, list: &mut Vec<usize>) -> Result<(), ListError> {
        let start = list.len();
        self.product(list)?;
        while self.take('+') {
            self.product(list)?;
            if list.len() - start > LONGEST {
                return Err(ListError::TooLong);
            }
        }
        Ok(())
    }

    fn product(&mut self, list: &mut Vec<usize>) -> Result<(), ListError> {
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
                return Err(ListError::TooLong);
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

    fn atom(&mut self, list: &mut Vec<usize>) -> Result<(), ListError> {
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
            list.push(self.number()?);
            if list.len() - start > LONGEST {
                return Err(ListError::TooLong);
            }
            if !self.take(',') && self.peek() != Some(']') {
                return Err(self.syntax());
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<usize, ListError> {
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
