//! Takes from a pasted text what copying has put around or into it, before its format is recognized: Markdown fences,
//! typographic characters, a manifest or a list around a command, HTML around a link, out-of-memory errors and what a
//! thread says of them.
//!
//! Lines keep their numbers wherever the text is read line by line, so that a report names lines of the pasted text.

mod characters;
mod containers;
mod fences;
mod links;

use std::borrow::Cow;

use super::out_of_memory;

/// Longer texts are logs and saved jobs, which nobody copies out of a page: they are left as they are.
const MAX_BYTES: usize = 400_000;

/// The text without what copying has added.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.len() > MAX_BYTES {
        return Cow::Borrowed(text);
    }
    let steps: [fn(&str) -> Option<String>; 5] = [
        characters::plain,
        links::own_link,
        out_of_memory::without_messages,
        fences::inside,
        containers::command,
    ];
    let mut text = Cow::Borrowed(text);
    for step in steps {
        if let Some(changed) = step(&text) {
            text = Cow::Owned(changed);
        }
    }
    text
}
