//! The grammar of layout strings.
//!
//! `E`, `t`, `m` and `L` are layers, `|` separates stages, `x*n` repeats one of these characters and
//! `(..)*n` a group; commas mean nothing, wherever they are. Megatron expands groups with one regular
//! expression and so does not nest them; here they nest, and [`nests`] tells when a string must be
//! rewritten before Megatron can read it.

use core::fmt;
use core::iter::Peekable;
use core::str::CharIndices;

use super::LayerType;

/// The most layers and stages that a layout may have, after expansion.
pub const MAX_LAYOUT_ITEMS: usize = 10_000;

/// The longest layout string that is read, in bytes.
pub const MAX_LAYOUT_LEN: usize = 20_000;

/// Groups nest no deeper than this.
const MAX_DEPTH: usize = 8;

/// Why a layout could not be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutError {
    /// Index of the wrong character, from 0; in a list of names, index of the wrong name, counted over all stages.
    pub position: usize,
    /// The kind of mistake.
    pub kind: LayoutErrorKind,
}

/// A mistake in a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutErrorKind {
    /// A character that means nothing in a layout.
    UnknownCharacter {
        /// The character.
        found: char,
        /// The one that was probably meant.
        meant: Option<char>,
    },
    /// A name that is not a kind of layer.
    UnknownName {
        /// The name.
        found: String,
    },
    /// An encoder layer, which Megatron knows but does not support in layouts.
    Encoder,
    /// A `)` without `(`.
    Unopened,
    /// A `(` without `)`.
    Unclosed,
    /// A group with nothing in it.
    EmptyGroup,
    /// A group that is not followed by `*n`.
    GroupWithoutCount,
    /// A `*` with nothing before it that it could repeat.
    NothingToRepeat,
    /// A `*` without a number.
    MissingCount,
    /// Groups in groups in groups.
    TooDeep,
    /// More layers and stages than [`MAX_LAYOUT_ITEMS`], or a string longer than [`MAX_LAYOUT_LEN`].
    TooLong,
}

impl LayoutError {
    pub(super) fn too_long(position: usize) -> Self {
        Self {
            position,
            kind: LayoutErrorKind::TooLong,
        }
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.position.saturating_add(1); // people count from 1
        match &self.kind {
            LayoutErrorKind::UnknownCharacter { found, meant } => {
                write!(
                    f,
                    "{found:?}, character {at}, is not a layer: E is the embedding, t a decoder layer, m MTP, L the loss"
                )?;
                match meant {
                    Some(meant) => write!(f, "; did you mean {meant}?"),
                    None if found.is_whitespace() => f.write_str("; use commas to set parts apart, not spaces"),
                    None => Ok(()),
                }
            }
            LayoutErrorKind::UnknownName { found } => {
                write!(f, "layer {at}, \"{found}\", is none of embedding, decoder, mtp, loss")
            }
            LayoutErrorKind::Encoder => {
                write!(f, "layer {at}: Megatron supports no encoder layers in a layout")
            }
            LayoutErrorKind::Unopened => write!(f, "the ) at character {at} closes nothing"),
            LayoutErrorKind::Unclosed => write!(f, "the ( at character {at} is never closed"),
            LayoutErrorKind::EmptyGroup => write!(f, "the group at character {at} is empty"),
            LayoutErrorKind::GroupWithoutCount => {
                write!(f, "the group at character {at} needs a count, as in (tt|)*3")
            }
            LayoutErrorKind::NothingToRepeat => write!(
                f,
                "the * at character {at} has nothing to repeat: it follows a layer, a | or a group"
            ),
            LayoutErrorKind::MissingCount => {
                write!(f, "the * at character {at} needs a number after it, as in t*4")
            }
            LayoutErrorKind::TooDeep => {
                write!(f, "the group at character {at} is nested more than {MAX_DEPTH} deep")
            }
            LayoutErrorKind::TooLong => write!(
                f,
                "the layout is too long at character {at}: at most {MAX_LAYOUT_ITEMS} layers and stages, written in {MAX_LAYOUT_LEN} characters"
            ),
        }
    }
}

impl core::error::Error for LayoutError {}

/// Whether a layout string has a group in a group, which Megatron's own parser does not understand.
#[must_use]
pub fn nests(text: &str) -> bool {
    let mut depth = 0usize;
    text.chars().any(|c| {
        match c {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > 1
    })
}

/// The kind of layer with that name, for a list of names.
pub(super) fn layer_named(name: &str, position: usize) -> Result<LayerType, LayoutError> {
    let plain = name.trim().to_ascii_lowercase();
    let known = LayerType::ALL.into_iter().find(|l| l.name() == plain);
    known.ok_or_else(|| LayoutError {
        position,
        kind: if plain == "encoder" {
            LayoutErrorKind::Encoder
        } else {
            LayoutErrorKind::UnknownName {
                found: name.chars().take(40).collect(),
            }
        },
    })
}

/// One item of an expanded string: a layer, or a bar.
type Item = Option<LayerType>;

/// A group that is being read: where it began, and its items so far.
struct Group {
    start: usize,
    items: Vec<Item>,
    anything: bool,
}

impl Group {
    fn new(start: usize) -> Self {
        Self {
            start,
            items: Vec::new(),
            anything: false,
        }
    }

    /// Adds `items` `count` times.
    fn push(&mut self, items: &[Item], count: usize, position: usize) -> Result<(), LayoutError> {
        let more = items.len().saturating_mul(count);
        if self.items.len().saturating_add(more) > MAX_LAYOUT_ITEMS {
            return Err(LayoutError::too_long(position));
        }
        if more > 0 {
            for _ in 0..count {
                self.items.extend_from_slice(items);
            }
        }
        Ok(())
    }
}

/// Reads a layout string into stages; the work is bounded by the two limits.
pub(super) fn stages(text: &str) -> Result<Vec<Vec<LayerType>>, LayoutError> {
    if text.len() > MAX_LAYOUT_LEN {
        return Err(LayoutError::too_long(MAX_LAYOUT_LEN));
    }
    let fail = |position, kind| Err(LayoutError { position, kind });
    let mut outer: Vec<Group> = Vec::new();
    let mut group = Group::new(0);
    let mut chars = text.char_indices().peekable();

    while let Some((at, c)) = chars.next() {
        if c == ',' {
            continue;
        }
        group.anything |= c != ')';
        if c == '(' {
            if outer.len() == MAX_DEPTH {
                return fail(at, LayoutErrorKind::TooDeep);
            }
            outer.push(core::mem::replace(&mut group, Group::new(at)));
        } else if c == ')' {
            let Some(parent) = outer.pop() else {
                return fail(at, LayoutErrorKind::Unopened);
            };
            let closed = core::mem::replace(&mut group, parent);
            if !closed.anything {
                return fail(closed.start, LayoutErrorKind::EmptyGroup);
            }
            let Some(count) = count(&mut chars)? else {
                return fail(closed.start, LayoutErrorKind::GroupWithoutCount);
            };
            group.push(&closed.items, count, closed.start)?;
        } else if c == '*' {
            return fail(at, LayoutErrorKind::NothingToRepeat);
        } else if let Some(item) = item(c) {
            let count = count(&mut chars)?.unwrap_or(1);
            group.push(&[item], count, at)?;
        } else {
            let meant = meant(c);
            return fail(at, LayoutErrorKind::UnknownCharacter { found: c, meant });
        }
    }
    if !outer.is_empty() {
        return fail(group.start, LayoutErrorKind::Unclosed);
    }
    let stages = group.items.split(Option::is_none);
    Ok(stages.map(|s| s.iter().flatten().copied().collect()).collect())
}

fn item(c: char) -> Option<Item> {
    if c == '|' {
        return Some(None);
    }
    let layer = LayerType::ALL.into_iter().find(|l| l.letter() == c);
    layer.map(Some)
}

fn meant(c: char) -> Option<char> {
    match c {
        'e' => Some('E'),
        'T' | 'd' | 'D' => Some('t'),
        'M' => Some('m'),
        'l' => Some('L'),
        '[' | '{' => Some('('),
        ']' | '}' => Some(')'),
        '/' | ';' => Some('|'),
        'x' | 'X' | '×' => Some('*'),
        _ => None,
    }
}

/// The number after a `*`, if there is a `*` next.
fn count(chars: &mut Peekable<CharIndices<'_>>) -> Result<Option<usize>, LayoutError> {
    skip_commas(chars);
    let Some((at, _)) = chars.next_if(|(_, c)| *c == '*') else {
        return Ok(None);
    };
    skip_commas(chars);
    let mut number: Option<usize> = None;
    while let Some(digit) = chars.peek().and_then(|(_, c)| c.to_digit(10)) {
        let before = number.unwrap_or(0).saturating_mul(10);
        number = Some(before.saturating_add(digit as usize));
        chars.next();
        skip_commas(chars);
    }
    match number {
        Some(_) => Ok(number),
        None => Err(LayoutError {
            position: at,
            kind: LayoutErrorKind::MissingCount,
        }),
    }
}

fn skip_commas(chars: &mut Peekable<CharIndices<'_>>) {
    while chars.next_if(|(_, c)| *c == ',').is_some() {}
}
