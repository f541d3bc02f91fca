//! Hydra-style overrides, `model.tensor_model_parallel_size=2`, to the same tree as a YAML file.
//!
//! Megatron-Bridge, verl and `NeMo` take them on the command line. Values follow Hydra's grammar as far as
//! configurations use it: lists, maps, quotes, numbers, `null`, `true` and `false`; the rest is text.

mod value;

use super::node::{Data, Entry, Node};

/// Longest text that [`parse`] looks at, in bytes.
pub const MAX_BYTES: usize = 100_000;
/// Most overrides that are read.
pub const MAX_OVERRIDES: usize = 2_000;
/// Most parts of one key.
pub const MAX_PARTS: usize = 32;

/// The result of reading a list of overrides.
#[derive(Clone, Debug, PartialEq)]
pub struct Overrides {
    /// A map of maps; `a.b=1` is `{a: {b: 1}}`. Later overrides replace earlier ones.
    pub root: Node,
    /// Keys taken away with `~a.b`, with their lines.
    pub removed: Vec<(String, u32)>,
    /// Words that are not overrides, with their lines, and all words behind the limit.
    pub unread: Vec<(String, u32)>,
}

/// Reads overrides as pasted: separated by blanks, line ends and backslashes, quoted as for a shell, with
/// comments after `#`. Blanks inside brackets do not separate.
#[must_use]
pub fn parse(text: &str) -> Overrides {
    if text.len() > MAX_BYTES {
        return from_words([]);
    }
    let words = words(text);
    from_words(words.iter().map(|(word, line)| (word.as_str(), *line)))
}

/// Reads overrides that a shell has already split into words, with their lines.
pub fn from_words<'w>(words: impl IntoIterator<Item = (&'w str, u32)>) -> Overrides {
    let mut overrides = Overrides {
        root: empty(1),
        removed: Vec::new(),
        unread: Vec::new(),
    };
    for (count, (word, line)) in words.into_iter().enumerate() {
        if let Some(key) = word.strip_prefix('~').filter(|_| count < MAX_OVERRIDES) {
            let key = key.split('=').next().unwrap_or_default();
            overrides.removed.push((key.to_owned(), line));
            continue;
        }
        let pair = word
            .trim_start_matches('+')
            .split_once('=')
            .filter(|(key, _)| count < MAX_OVERRIDES && is_key(key));
        match pair {
            Some((key, value)) => {
                let node = value::parse(value, line);
                // `group/option@package=choice` names a file, not a path of keys.
                let parts: Vec<&str> = if key.contains(['/', '@']) {
                    vec![key]
                } else {
                    key.split('.').collect()
                };
                insert(&mut overrides.root, &parts, node, line);
            }
            None => overrides.unread.push((word.to_owned(), line)),
        }
    }
    overrides
}

/// Whether a text can be the left side of an override.
#[must_use]
pub fn is_key(text: &str) -> bool {
    let parts = text.split('.');
    text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && parts.clone().count() <= MAX_PARTS
        && parts
            .into_iter()
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-/@".contains(&b)))
}

fn empty(line: u32) -> Node {
    Node {
        line,
        data: Data::Map(Vec::new()),
    }
}

fn insert(map: &mut Node, parts: &[&str], node: Node, line: u32) {
    let Some((first, rest)) = parts.split_first() else {
        *map = node;
        return;
    };
    if !matches!(map.data, Data::Map(_)) {
        map.data = Data::Map(Vec::new());
    }
    let Data::Map(entries) = &mut map.data else {
        return;
    };
    // A name may get parts: Megatron-Bridge takes `mixed_precision=bf16_mixed` and then `mixed_precision.fp8=hybrid`.
    // The other way round the parts are gone.
    let whole = rest.is_empty();
    if whole {
        entries.retain(|entry| entry.key != *first || !matches!(entry.node.data, Data::Map(_)));
    }
    let mut same = entries
        .iter_mut()
        .filter(|entry| entry.key == *first && (whole || !matches!(entry.node.data, Data::Text(_))));
    if let Some(entry) = same.next() {
        entry.line = line;
        insert(&mut entry.node, rest, node, line);
        return;
    }
    let mut below = empty(line);
    insert(&mut below, rest, node, line);
    entries.push(Entry {
        key: (*first).to_owned(),
        line,
        node: below,
    });
}

/// The words of a text with the lines they start on.
fn words(text: &str) -> Vec<(String, u32)> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut line = 1_u32;
    let mut started = None;
    let mut depth = 0_u32;
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let separates = match quote {
            Some(open) => {
                // Quotes inside brackets belong to the value; around a word they belong to the shell.
                if c == open {
                    quote = None;
                    if depth > 0 {
                        word.push(c);
                    }
                } else {
                    word.push(c);
                }
                false
            }
            None => match c {
                '\\' if chars.peek().is_none_or(|next| next.is_whitespace()) => true,
                '#' if word.is_empty() && started.is_none() => {
                    while chars.next_if(|&next| next != '\n').is_some() {}
                    true
                }
                '\n' => {
                    depth = 0;
                    true
                }
                c if c.is_whitespace() && depth == 0 => true,
                '"' | '\'' => {
                    started = started.or(Some(line));
                    // `a.b="x y"`: Hydra's own quotes keep the text a text.
                    if depth > 0 {
                        word.push(c);
                    }
                    quote = Some(c);
                    false
                }
                c => {
                    match c {
                        '[' | '{' | '(' => depth += 1,
                        ']' | '}' | ')' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    started = started.or(Some(line));
                    word.push(c);
                    false
                }
            },
        };
        if separates && let Some(at) = started.take() {
            words.push((std::mem::take(&mut word), at));
        }
        if c == '\n' {
            line = line.saturating_add(1);
        }
    }
    if let Some(at) = started {
        words.push((word, at));
    }
    words
}
