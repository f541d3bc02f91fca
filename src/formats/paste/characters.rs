//! Characters that word processors, chats and web pages put in the place of those that were typed.

/// The text with plain blanks, quotes and dashes; `None` where it has no others.
pub(super) fn plain(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    // Where a text has straight quotes too, the curly ones are part of a value.
    let double = !text.contains('"');
    let single = !text.contains('\'');
    let mut plain = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => plain.push(' '),
            '\u{200b}' | '\u{2060}' | '\u{feff}' => {}
            '\u{2028}' | '\u{2029}' => plain.push('\n'),
            '\u{201c}' | '\u{201d}' if double => plain.push('"'),
            '\u{2018}' | '\u{2019}' if single => plain.push('\''),
            // Two dashes in front of a flag become one long one.
            '\u{2013}' | '\u{2014}'
                if !before.is_alphanumeric() && chars.peek().is_some_and(char::is_ascii_alphabetic) =>
            {
                plain.push_str("--");
            }
            c => plain.push(c),
        }
        before = c;
    }
    (plain != text).then_some(plain)
}
