//! Values as Python prints them: what `repr` and `str` give for plain data, enums, dtypes and objects made of them.
//!
//! Nothing is evaluated. An enum member is the text of its dotted name (`AttnBackend.flash`), a call is a map of its
//! keyword arguments (`Namespace(num_layers=4)`), or its only positional argument (`PosixPath('/data')`).

use super::node::{Data, Entry, Node};

/// How deep lists, maps and calls are read; deeper ones are read as nothing.
const MAX_DEPTH: u32 = 24;

/// Reads the value that `text` starts with. What follows it is not looked at. A text that is no value of Python's is a
/// text: that is how `str` prints strings.
#[must_use]
pub fn parse(text: &str) -> Node {
    let mut parser = Parser { text, at: 0, line: 1 };
    parser.value(0)
}

/// Reads a value that stands alone, such as what `str` prints for it: a text that is no value as a whole is a text.
#[must_use]
pub fn parse_whole(text: &str) -> Node {
    let mut parser = Parser { text, at: 0, line: 1 };
    let node = parser.value(0);
    parser.skip_blank();
    if parser.at == text.len() {
        return node;
    }
    Node {
        line: 1,
        data: Data::Text(text.trim().to_owned()),
    }
}

/// A position in a text.
struct Parser<'t> {
    text: &'t str,
    /// Bytes that were read.
    at: usize,
    /// The line of that position, counted from 1.
    line: u32,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Goes on by so many bytes, which end at a character.
    fn advance(&mut self, bytes: usize) {
        let passed = self.rest().get(..bytes).unwrap_or_default();
        let lines = passed.bytes().filter(|byte| *byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.at = self.at.saturating_add(bytes).min(self.text.len());
    }

    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.advance(blank);
            if !self.rest().starts_with('#') {
                return;
            }
            let comment = self.rest().find('\n').unwrap_or(self.rest().len());
            self.advance(comment);
        }
    }

    /// Takes this character, where it is the next one after blanks.
    fn takes(&mut self, wanted: char) -> bool {
        self.skip_blank();
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.advance(wanted.len_utf8());
        }
        is_next
    }

    fn value(&mut self, depth: u32) -> Node {
        self.skip_blank();
        let line = self.line;
        let data = match self.peek() {
            _ if depth >= MAX_DEPTH => {
                self.advance(self.rest().len());
                Data::Null
            }
            Some('[') => self.items(']', depth),
            Some('(') => self.items(')', depth),
            Some('{') => self.braces(depth),
            Some('<') => self.object(),
            Some('"' | '\'') => Data::Text(self.quoted()),
            _ => self.word(depth),
        };
        Node { line, data }
    }

    /// The items of a list or tuple up to its closing bracket.
    fn items(&mut self, close: char, depth: u32) -> Data {
        self.advance(1);
        let mut items = Vec::new();
        while !self.takes(close) && self.at < self.text.len() {
            let before = self.at;
            items.push(self.value(depth + 1));
            self.go_on(before, close);
        }
        Data::List(items)
    }

    /// Takes the comma after an item. Anything else that stands there is skipped, so that every call goes on.
    fn go_on(&mut self, before: usize, close: char) {
        self.skip_blank();
        if self.takes(',') || self.peek() == Some(close) {
            return;
        }
        if self.at == before || self.peek().is_some() {
            self.advance(self.peek().map_or(0, char::len_utf8));
        }
    }

    /// A dict or a set.
    fn braces(&mut self, depth: u32) -> Data {
        self.advance(1);
        let mut entries = Vec::new();
        let mut items = Vec::new();
        while !self.takes('}') && self.at < self.text.len() {
            let before = self.at;
            let line = self.line;
            let key = self.value(depth + 1);
            if self.takes(':') {
                let node = self.value(depth + 1);
                let key = match key.data {
                    Data::Text(text) => text,
                    other => other.to_value().to_string(),
                };
                entries.push(Entry { key, line, node });
            } else {
                items.push(key);
            }
            self.go_on(before, '}');
        }
        if items.is_empty() {
            Data::Map(entries)
        } else {
            Data::List(items)
        }
    }

    /// `<CudaGraphModule.attn: 1>` and other objects in angle brackets: the name that says most.
    fn object(&mut self) -> Data {
        let end = self.rest().find('>').map_or(self.rest().len(), |end| end + 1);
        let whole = self.rest().get(..end).unwrap_or_default();
        let inside = whole.trim_start_matches('<').trim_end_matches('>');
        let member = inside.split_once(": ").map(|(name, _)| name);
        let name = member.unwrap_or_else(|| {
            let named = inside
                .strip_prefix("function ")
                .or_else(|| inside.strip_prefix("class "))
                .unwrap_or(inside);
            named.split(' ').next().unwrap_or_default()
        });
        let name = name.trim_matches(['\'', '"']).to_owned();
        self.advance(end);
        Data::Text(name)
    }

    fn quoted(&mut self) -> String {
        let Some(quote) = self.peek() else {
            return String::new();
        };
        let triple: String = [quote; 3].iter().collect();
        if let Some(inside) = self.rest().strip_prefix(&triple) {
            let length = inside.find(&triple).unwrap_or(inside.len());
            let text = inside.get(..length).unwrap_or_default().to_owned();
            self.advance((length + 6).min(self.rest().len()));
            return text;
        }
        let mut text = String::new();
        let mut escaped = false;
        let mut length = self.rest().len();
        for (at, c) in self.rest().char_indices().skip(1) {
            match c {
                _ if escaped => {
                    escaped = false;
                    text.push(match c {
                        'n' => '\n',
                        't' => '\t',
                        other => other,
                    });
                }
                '\\' => escaped = true,
                c if c == quote => {
                    length = at + c.len_utf8();
                    break;
                }
                c => text.push(c),
            }
        }
        self.advance(length);
        text
    }

    /// A number, a constant, a dotted name, or a call.
    fn word(&mut self, depth: u32) -> Data {
        let ends = |c: char| {
            c.is_whitespace() || matches!(c, ',' | ')' | ']' | '}' | '(' | '=' | '[' | '{' | '"' | '\'') || c == ':'
        };
        let length = self.rest().find(ends).unwrap_or(self.rest().len());
        let word = self.rest().get(..length).unwrap_or_default().to_owned();
        self.advance(length);
        let prefixes_text = matches!(word.as_str(), "r" | "b" | "u" | "f" | "R" | "B");
        match self.peek() {
            Some('"' | '\'') if prefixes_text => Data::Text(self.quoted()),
            Some('(') if !word.is_empty() => self.call(depth),
            _ => constant(&word),
        }
    }

    /// The arguments of a call.
    fn call(&mut self, depth: u32) -> Data {
        self.advance(1);
        let mut entries = Vec::new();
        let mut items = Vec::new();
        while !self.takes(')') && self.at < self.text.len() {
            let before = self.at;
            let line = self.line;
            let first = self.value(depth + 1);
            self.skip_blank();
            match first.data {
                Data::Text(key) if self.peek() == Some('=') => {
                    self.advance(1);
                    let node = self.value(depth + 1);
                    entries.push(Entry { key, line, node });
                }
                data => items.push(Node { line: first.line, data }),
            }
            self.go_on(before, ')');
        }
        match (entries.is_empty(), items.len()) {
            (true, 1) => items.pop().map_or(Data::Null, |only| only.data),
            (true, _) => Data::List(items),
            (false, _) => Data::Map(entries),
        }
    }
}

/// A word without quotes.
fn constant(word: &str) -> Data {
    match word {
        "None" | "null" => return Data::Null,
        "True" | "true" => return Data::Bool(true),
        "False" | "false" => return Data::Bool(false),
        _ => {}
    }
    let digits = word.replace('_', "");
    if word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        if let Ok(number) = digits.parse() {
            return Data::Int(number);
        }
        if let Ok(number) = digits.parse::<f64>() {
            return Data::Float(number);
        }
    }
    Data::Text(word.to_owned())
}
