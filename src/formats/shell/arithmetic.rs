//! Integer arithmetic of `$((…))` and `((…))`, on 64-bit numbers as in bash: what launch scripts compute with. Other
//! operators (`**`, `&&`, `||`, `!`, those of bits, `+=` and its like, `,`, `++` before a name) and numbers in other bases
//! make an expression that is not understood.

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
    let value = reader.assignment()?;
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
    /// Whether `++` and `--` store: not in the side of `?:` that is not taken.
    live: bool,
}

/// Binary operators with their precedence; longer spellings stand first.
const BINARY: [(&str, u8); 11] = [
    ("==", 1),
    ("!=", 1),
    ("<=", 2),
    (">=", 2),
    ("<", 2),
    (">", 2),
    ("+", 3),
    ("-", 3),
    ("*", 4),
    ("/", 4),
    ("%", 4),
];

/// Operators that begin like one of [`BINARY`] or follow an operand, and are not followed.
const OTHERS: [&str; 13] = [
    "**", "<<", ">>", "&&", "||", "+=", "-=", "*=", "/=", "%=", "|", "&", "^",
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

    /// `NAME = …` or an expression without an assignment.
    fn assignment(&mut self) -> Result<i64, Failure> {
        let start = self.rest;
        let name = self.name();
        if !starts_with_digit(&name) && !name.is_empty() && self.rest.starts_with('=') && !self.rest.starts_with("==") {
            self.eat("=");
            let value = self.ternary()?;
            self.names.store(&name, value);
            return Ok(value);
        }
        self.rest = start;
        self.ternary()
    }

    /// `condition ? … : …`, or an expression without a condition.
    fn ternary(&mut self) -> Result<i64, Failure> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(Failure::Malformed);
        }
        let mut value = self.binary(0)?;
        if self.eat("?") {
            let (live, condition) = (self.live, value != 0);
            self.live = live && condition;
            let yes = self.ternary()?;
            self.live = live && !condition;
            if !self.eat(":") {
                return Err(Failure::Malformed);
            }
            let no = self.ternary()?;
            self.live = live;
            value = if condition { yes } else { no };
        }
        self.depth -= 1;
        Ok(value)
    }

    fn binary(&mut self, tightest: u8) -> Result<i64, Failure> {
        let mut left = self.unary()?;
        loop {
            if OTHERS.iter().any(|other| self.rest.starts_with(other)) {
                return Err(Failure::Malformed);
            }
            let operator = BINARY.into_iter().find(|(text, _)| self.rest.starts_with(text));
            let Some((text, binding)) = operator.filter(|(_, binding)| *binding > tightest) else {
                return Ok(left);
            };
            self.eat(text);
            let right = self.binary(binding)?;
            left = apply(text, left, right).ok_or(Failure::Malformed)?;
        }
    }

    fn unary(&mut self) -> Result<i64, Failure> {
        let mut negate = false;
        loop {
            // `++` and `--` before a name would change it.
            let changes = ["++", "--"].iter().find_map(|sign| self.rest.strip_prefix(sign));
            if changes.is_some_and(|rest| rest.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())) {
                return Err(Failure::Malformed);
            }
            if self.eat("-") {
                negate = !negate;
            } else if !self.eat("+") {
                break;
            }
        }
        let value = self.primary()?;
        if negate {
            value.checked_neg().ok_or(Failure::Malformed)
        } else {
            Ok(value)
        }
    }

    fn primary(&mut self) -> Result<i64, Failure> {
        if self.eat("(") {
            let value = self.ternary()?;
            return if self.eat(")") {
                Ok(value)
            } else {
                Err(Failure::Malformed)
            };
        }
        let name = self.name();
        if starts_with_digit(&name) {
            // A leading zero would make it octal.
            let decimal = name == "0" || !name.starts_with('0');
            return name.parse().ok().filter(|_| decimal).ok_or(Failure::Malformed);
        }
        if name.is_empty() {
            return Err(match self.rest.strip_prefix("${") {
                Some(rest) => Failure::Unknown(rest.split('}').next().unwrap_or_default().into()),
                None => Failure::Malformed,
            });
        }
        let value = self.names.number(&name)?;
        for (operator, step) in [("++", 1), ("--", -1)] {
            if self.eat(operator) {
                let next = value.checked_add(step).ok_or(Failure::Malformed)?;
                if self.live {
                    self.names.store(&name, next);
                }
            }
        }
        Ok(value)
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
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

fn apply(operator: &str, left: i64, right: i64) -> Option<i64> {
    match operator {
        "==" => Some(i64::from(left == right)),
        "!=" => Some(i64::from(left != right)),
        "<=" => Some(i64::from(left <= right)),
        ">=" => Some(i64::from(left >= right)),
        "<" => Some(i64::from(left < right)),
        ">" => Some(i64::from(left > right)),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        _ => None,
    }
}
