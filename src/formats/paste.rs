//! Takes from a pasted text what copying has put around or into it, before its format is recognized: Markdown fences,
//! typographic characters, a manifest or a list around a command, HTML around a link.
//!
//! Lines keep their numbers wherever the text is read line by line, so that a report names lines of the pasted text.

mod characters;
mod containers;
mod fences;
mod links;

use std::borrow::Cow;

/// Longer texts are logs and saved jobs, which nobody copies out of a page: they are left as they are.
const MAX_BYTES: usize = 400_000;

/// The text without what copying has added.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.len() > MAX_BYTES {
        return Cow::Borrowed(text);
    }
    let steps: [fn(&str) -> Option<String>; 4] =
        [characters::plain, links::own_link, fences::inside, containers::command];
    let mut text = Cow::Borrowed(text);
    for step in steps {
        if let Some(changed) = step(&text) {
            text = Cow::Owned(changed);
        }
    }
    text
}
