//! Patterns as recipes in Python build them: quoted parts, `+`, `* n`, and parentheses.

use super::{HybridPatternError, LONGEST};

/// The deepest nesting of parentheses.
const DEEPEST: u32 = 16;

/// The text that the expression makes.
pub(super) fn expand(text: &str) -> Result<String, HybridPatternError> {
    let mut reader = Reader {
        chars: text.chars().collect(),
        place: 0,
        depth: 0,
    };
    let out = reader.sum()?;
    reader.skip_spaces();
    if reader.place < reader.chars.len() {
        return Err(reader.error());
    }
    Ok(out)
}

/// `sum = product ("+" product)*`, `product = (n "*")* atom ("*" n)*`, `atom = "(" sum ")" | quoted text`.
struct Reader {
    chars: Vec<char>,
    place: usize,
    depth: u32,
}

impl Reader {
    fn error(&self) -> HybridPatternError {
        HybridPatternError::Expression { place: self.place + 1 }
    }

    fn skip_spaces(&mut self) {
        while self.chars.get(self.place).is_some_and(|c| c.is_whitespace()) {
            self.place += 1;
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_spaces();
        self.chars.get(self.place).copied()
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.place += usize::from(found);
        found
    }

    fn sum(&mut self) -> Result<String, HybridPatternError> {
        let mut out = self.product()?;
        while self.take('+') {
            out.push_str(&self.product()?);
            if out.len() > LONGEST {
                return Err(HybridPatternError::TooLong);
            }
        }
        Ok(out)
    }

    fn product(&mut self) -> Result<String, HybridPatternError> {
        let mut times = 1_usize;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            times = times.saturating_mul(self.number());
            if !self.take('*') {
                return Err(self.error());
            }
        }
        let one = self.atom()?;
        while self.take('*') {
            if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
                return Err(self.error());
            }
            times = times.saturating_mul(self.number());
        }
        if one.len().saturating_mul(times) > LONGEST {
            return Err(HybridPatternError::TooLong);
        }
        Ok(one.repeat(times))
    }

    fn atom(&mut self) -> Result<String, HybridPatternError> {
        if self.take('(') {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(self.error());
            }
            let out = self.sum()?;
            self.depth -= 1;
            return if self.take(')') { Ok(out) } else { Err(self.error()) };
        }
        let Some(quote @ ('"' | '\'')) = self.peek() else {
            return Err(self.error());
        };
        self.place += 1;
        let mut out = String::new();
        while let Some(c) = self.chars.get(self.place).copied() {
            self.place += 1;
            if c == quote {
                return Ok(out);
            }
            out.push(c);
        }
        Err(self.error())
    }

    fn number(&mut self) -> usize {
        let mut number = 0_usize;
        while let Some(digit) = self.chars.get(self.place).and_then(|c| c.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(digit as usize);
            self.place += 1;
        }
        number
    }
}
