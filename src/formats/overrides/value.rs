//! The right side of an override.

use crate::formats::node::{Data, Entry, Node};

/// How deep lists and maps may nest; deeper ones are text.
const MAX_DEPTH: u32 = 32;

/// The value of `text`; what is not a list or a map all the way to its end is text.
pub(super) fn parse(text: &str, line: u32) -> Node {
    let mut reader = Reader {
        rest: text.trim(),
        depth: 0,
        line,
    };
    match reader.value(&[]) {
        Some(node) if reader.rest.is_empty() => node,
        _ => Node {
            line,
            data: Data::Text(text.trim().to_owned()),
        },
    }
}

struct Reader<'t> {
    rest: &'t str,
    depth: u32,
    line: u32,
}

impl Reader<'_> {
    fn eat(&mut self, token: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    /// A value that ends before one of `ends`.
    fn value(&mut self, ends: &[char]) -> Option<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let data = if self.eat('[') {
            let mut items = Vec::new();
            while !self.eat(']') {
                items.push(self.value(&[',', ']'])?);
                if !self.eat(',') && !self.rest.starts_with(']') {
                    return None;
                }
            }
            Data::List(items)
        } else if self.eat('{') {
            let mut entries = Vec::new();
            while !self.eat('}') {
                let key = match self.value(&[':', ',', '}'])?.data {
                    Data::Text(key) => key,
                    Data::Int(number) => number.to_string(),
                    _ => return None,
                };
                if !self.eat(':') {
                    return None;
                }
                entries.push(Entry {
                    key,
                    line: self.line,
                    node: self.value(&[',', '}'])?,
                });
                if !self.eat(',') && !self.rest.starts_with('}') {
                    return None;
                }
            }
            Data::Map(entries)
        } else if self.rest.starts_with(['"', '\'']) {
            Data::Text(self.quoted()?)
        } else {
            let end = self.rest.find(ends).unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(end);
            self.rest = rest;
            primitive(text.trim())
        };
        self.depth -= 1;
        Some(Node { line: self.line, data })
    }

    fn quoted(&mut self) -> Option<String> {
        let mut chars = self.rest.char_indices();
        let (_, quote) = chars.next()?;
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => text.extend(chars.next().map(|(_, c)| c)),
                c if c == quote => {
                    self.rest = self.rest.get(at + c.len_utf8()..)?.trim_start();
                    return Some(text);
                }
                c => text.push(c),
            }
        }
        None
    }
}

fn primitive(text: &str) -> Data {
    if text.eq_ignore_ascii_case("true") {
        return Data::Bool(true);
    }
    if text.eq_ignore_ascii_case("false") {
        return Data::Bool(false);
    }
    if text.is_empty() || text.eq_ignore_ascii_case("null") || text == "None" {
        return Data::Null;
    }
    let number = text.replace('_', "");
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && text.contains(|c: char| c.is_ascii_digit())
        && !text.starts_with("._");
    if numeric && let Ok(whole) = number.parse() {
        return Data::Int(whole);
    }
    let fraction = numeric.then(|| number.parse::<f64>().ok()).flatten();
    match fraction {
        Some(fraction) if number.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c)) => Data::Float(fraction),
        _ => Data::Text(text.to_owned()),
    }
}
