//! Integer arithmetic of `$((…))` and `((…))`, on 64-bit numbers as in bash.

/// How deep parentheses may nest.
const MAX_NESTING: u32 = 64;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// A variable in it is not known; its name.
    Unknown(String),
    /// The text is no supported expression, or the expression divides by zero or overflows.
    Malformed,
}

/// Reads and sets the variables that occur in expressions.
pub(super) trait Names {
    /// The value of the variable `name`. Bash evaluates it as an expression; here it must be a number.
    fn number(&mut self, name: &str) -> Result<i64, Failure>;
    /// Stores an assignment.
    fn store(&mut self, name: &str, value: i64);
}

/// The value of `text`.
pub(super) fn evaluate(text: &str, names: &mut dyn Names) -> Result<i64, Failure> {
    let mut reader = Reader {
        rest: text,
        names,
        depth: 0,
        live: true,
    };
    reader.skip_blanks();
    if reader.rest.is_empty() {
        return Ok(0);
    }
    let value = reader.comma()?;
    if reader.rest.is_empty() {
        Ok(value)
    } else {
        Err(Failure::Malformed)
    }
}

struct Reader<'a> {
    rest: &'a str,
    names: &'a mut dyn Names,
    depth: u32,
    /// Whether assignments are stored: false in the operand of `&&`, `||` and `?:` that is not evaluated.
    live: bool,
}

/// Binary operators with their precedence; longer spellings stand first.
const BINARY: [(&str, u8); 18] = [
    ("**", 11),
    ("||", 1),
    ("&&", 2),
    ("==", 6),
    ("!=", 6),
    ("<=", 7),
    (">=", 7),
    ("<<", 8),
    (">>", 8),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("<", 7),
    (">", 7),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
];

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn comma(&mut self) -> Result<i64, Failure> {
        let mut value = self.ternary()?;
        while self.eat(",") {
            value = self.ternary()?;
        }
        Ok(value)
    }

    fn ternary(&mut self) -> Result<i64, Failure> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(Failure::Malformed);
        }
        let condition = self.binary(0)?;
        let value = if self.eat("?") {
            let live = self.live;
            self.live = live && condition != 0;
            let yes = self.ternary();
            self.live = live && condition == 0;
            let no = if self.eat(":") {
                self.ternary()
            } else {
                Err(Failure::Malformed)
            };
            self.live = live;
            if condition != 0 { no.and(yes) } else { yes.and(no) }
        } else {
            Ok(condition)
        };
        self.depth -= 1;
        value
    }

    fn binary(&mut self, tightest: u8) -> Result<i64, Failure> {
        let mut left = self.unary()?;
        loop {
            let operator = BINARY
                .into_iter()
                .chain([("%", 10)])
                .find(|(text, _)| self.rest.starts_with(text));
            let Some((text, binding)) = operator.filter(|(_, binding)| *binding > tightest) else {
                return Ok(left);
            };
            self.eat(text);
            let live = self.live;
            self.live = live
                && match text {
                    "&&" => left != 0,
                    "||" => left == 0,
                    _ => true,
                };
            let right = self.binary(binding);
            self.live = live;
            left = apply(text, left, right?).ok_or(Failure::Malformed)?;
        }
    }

    fn unary(&mut self) -> Result<i64, Failure> {
        let mut negate = false;
        let mut signs = String::new();
        loop {
            if self.rest.starts_with("++") || self.rest.starts_with("--") {
                let step = if self.rest.starts_with('+') { 1 } else { -1 };
                let rest = self.rest.get(2..).unwrap_or_default();
                if rest.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()) {
                    self.rest = rest;
                    let name = self.name();
                    let value = self.names.number(&name)?.checked_add(step);
                    let value = value.ok_or(Failure::Malformed)?;
                    self.store(&name, value);
                    return finish_unary(value, negate, &signs);
                }
            }
            if self.eat("-") {
                negate = !negate;
            } else if self.eat("+") {
            } else if self.eat("!") {
                if negate {
                    return Err(Failure::Malformed);
                }
                signs.push('!');
            } else if self.eat("~") {
                if negate {
                    return Err(Failure::Malformed);
                }
                signs.push('~');
            } else {
                break;
            }
        }
        let value = self.primary()?;
        finish_unary(value, negate, &signs)
    }

    fn primary(&mut self) -> Result<i64, Failure> {
        if self.eat("(") {
            let value = self.comma()?;
            return if self.eat(")") {
                Ok(value)
            } else {
                Err(Failure::Malformed)
            };
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return self.literal();
        }
        let name = self.name();
        if name.is_empty() {
            return Err(match self.rest.strip_prefix("${") {
                Some(rest) => Failure::Unknown(rest.split('}').next().unwrap_or_default().into()),
                None => Failure::Malformed,
            });
        }
        if self.rest.starts_with('=') && !self.rest.starts_with("==") {
            self.eat("=");
            let value = self.ternary()?;
            self.store(&name, value);
            return Ok(value);
        }
        for operator in ["+", "-", "*", "/", "%"] {
            let spelled = self
                .rest
                .strip_prefix(operator)
                .is_some_and(|rest| rest.starts_with('='));
            if spelled {
                self.eat(operator);
                self.eat("=");
                let right = self.ternary()?;
                let left = self.names.number(&name)?;
                let value = apply(operator, left, right).ok_or(Failure::Malformed)?;
                self.store(&name, value);
                return Ok(value);
            }
        }
        let value = self.names.number(&name)?;
        for (operator, step) in [("++", 1), ("--", -1)] {
            if self.eat(operator) {
                let next = value.checked_add(step).ok_or(Failure::Malformed)?;
                self.store(&name, next);
            }
        }
        Ok(value)
    }

    fn store(&mut self, name: &str, value: i64) {
        if self.live {
            self.names.store(name, value);
        }
    }

    fn name(&mut self) -> String {
        let end = self
            .rest
            .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        name.to_owned()
    }

    fn literal(&mut self) -> Result<i64, Failure> {
        let text = self.name();
        let (digits, radix) = if let Some(hex) = text.strip_prefix("0x") {
            (hex, 16)
        } else if text.len() > 1 && text.starts_with('0') {
            (text.as_str(), 8)
        } else {
            (text.as_str(), 10)
        };
        i64::from_str_radix(digits, radix).map_err(|_| Failure::Malformed)
    }
}

fn finish_unary(value: i64, negate: bool, signs: &str) -> Result<i64, Failure> {
    let value = if negate {
        value.checked_neg().ok_or(Failure::Malformed)?
    } else {
        value
    };
    Ok(signs.chars().rev().fold(value, |value, sign| match sign {
        '!' => i64::from(value == 0),
        _ => !value,
    }))
}

fn apply(operator: &str, left: i64, right: i64) -> Option<i64> {
    match operator {
        "**" => left.checked_pow(u32::try_from(right).ok()?),
        "||" => Some(i64::from(left != 0 || right != 0)),
        "&&" => Some(i64::from(left != 0 && right != 0)),
        "==" => Some(i64::from(left == right)),
        "!=" => Some(i64::from(left != right)),
        "<=" => Some(i64::from(left <= right)),
        ">=" => Some(i64::from(left >= right)),
        "<" => Some(i64::from(left < right)),
        ">" => Some(i64::from(left > right)),
        "<<" => left.checked_mul(2_i64.checked_pow(u32::try_from(right).ok()?)?),
        ">>" => left.checked_shr(u32::try_from(right).ok()?),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "&" => Some(left & right),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        _ => None,
    }
}
