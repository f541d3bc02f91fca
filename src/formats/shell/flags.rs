//! Groups words into flags with values.

use super::{Flag, Word};
use crate::formats::dialects::arity::arity;
use crate::formats::dialects::meaning::KeyMeaning;
use crate::formats::dialects::slime;
use crate::formats::megatron_args::{self, Arity, Known};

/// Whether a word is a flag: two dashes and a letter. `-1` and `--` are not.
pub(super) fn is_flag(text: &str) -> bool {
    text.strip_prefix("--")
        .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Whether a word is an override like `a.b=c`, `+a.b=c` or `a/b@c=d`, not a value.
pub(super) fn is_override(text: &str) -> bool {
    let text = text.trim_start_matches(['+', '~']);
    let Some((key, _)) = text.split_once('=') else {
        return false;
    };
    key.contains(['.', '@', '/'])
        && key.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./@".contains(&b))
}

/// Groups words into flags, each with the words after it, and the words that belong to none.
///
/// A flag of Megatron-LM takes as many words as it is declared to take; others take all up to the
/// next flag. A value that was pasted with its flag in one pair of quotes is split off.
pub(super) fn group(words: &[Word]) -> (Vec<Flag>, Vec<Word>) {
    let mut flags: Vec<Flag> = Vec::new();
    let mut stray = Vec::new();
    let mut room = 0;
    for word in words {
        if is_flag(&word.text) && word.text.contains(char::is_whitespace) && !word.text.contains('=') {
            let parts: Vec<Word> = word
                .text
                .split_whitespace()
                .map(|text| Word {
                    text: text.to_owned(),
                    ..word.clone()
                })
                .collect();
            let (mut inner, mut rest) = group(&parts);
            flags.append(&mut inner);
            stray.append(&mut rest);
            room = 0;
        } else if is_flag(&word.text) {
            let text = word.text.get(2..).unwrap_or_default();
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (text, None),
            };
            room = if value.is_some() { 0 } else { room_of(name) };
            flags.push(Flag::of_word(word, name, value));
        } else if let Some(flag) = flags.last_mut()
            && (room > 0 || is_truth(&word.text) && flag.values.is_empty())
            && !is_override(&word.text)
        {
            room = room.saturating_sub(1);
            flag.values.push(word.clone());
        } else {
            stray.push(word.clone());
        }
    }
    (flags, stray)
}

/// Whether a flag may change memory: false only for flags that are known not to.
pub(super) fn matters(flag: &Flag) -> bool {
    let irrelevant = matches!(megatron_args::find(&flag.name), Some(Known::Irrelevant(_)))
        || slime::find(&flag.name) == Some(KeyMeaning::Irrelevant);
    !irrelevant
}

/// How many words a flag takes at most.
fn room_of(name: &str) -> usize {
    match arity(name) {
        Some(Arity::Switch | Arity::InvertedSwitch) => 0,
        Some(Arity::One) => 1,
        Some(Arity::Many) | None => usize::MAX,
    }
}

/// Whether a word is a truth value, as ms-swift wants one after a switch.
fn is_truth(text: &str) -> bool {
    ["true", "false"].iter().any(|truth| text.eq_ignore_ascii_case(truth))
}
