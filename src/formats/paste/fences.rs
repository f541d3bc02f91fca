//! Code blocks of Markdown.

use crate::formats::detect;

/// The contents of the code blocks of a Markdown text, on the same lines; `None` where the text has no code blocks, or
/// has the marks of a format outside of them.
pub(super) fn inside(text: &str) -> Option<String> {
    if !text.lines().any(is_fence) {
        return None;
    }
    let mut blocks: Vec<String> = Vec::new();
    let mut outside = String::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, is_fence(line)) {
            (Some(_), true) => blocks.extend(open.take().map(|(_, block)| block)),
            (Some((_, block)), false) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, true) => open = Some((number, "\n".repeat(number + 1))),
            (None, false) => {
                outside.push_str(line);
                outside.push('\n');
            }
        }
    }
    // The closing fence may have been left out when the text was copied.
    blocks.extend(open.map(|(_, block)| block));
    // A script or a recipe may have Markdown in a comment.
    if detect::recognize(&outside).is_some() {
        return None;
    }
    let known = |block: &&String| detect::recognize(block).is_some();
    let length = |block: &&String| block.trim_start().len();
    let found = blocks.iter().filter(known).max_by_key(length);
    found.or(blocks.iter().max_by_key(length)).cloned()
}

/// Whether a line opens or closes a code block: three backquotes or tildes and at most the name of a language.
fn is_fence(line: &str) -> bool {
    let line = line.trim();
    let rest = line.strip_prefix("```").or_else(|| line.strip_prefix("~~~"));
    rest.is_some_and(|name| {
        name.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_+`{}=\". ".contains(&b))
    })
}
