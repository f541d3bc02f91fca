//! Share links: `#v1;m=deepseek-v3@1;tp=2;pp=8`, readable, and only what differs from the preset.
//!
//! Tokens are separated by `;`, in the order of the fields' declaration, so that equal jobs give equal links:
//!
//! | token | meaning |
//! | --- | --- |
//! | `m=deepseek-v3@1` | the preset; `m=null` after `vs` for a pinned job without one |
//! | `tp=2` | a field by its link key; the reader takes Megatron's name too; `null` is "explicitly nothing" |
//! | `mod=language:0,vision:8` | the modules with their first ranks, where there is more than one model |
//! | `vision.tp=1` | a module's own value; `@2.tp=1` when names do not tell modules apart |
//! | `nm=perform_rl_step`, `nm=model.peft:lora` | what is not modelled: keys, with the name of a feature or a reason where the key does not say it |
//! | `tab=table`, `stage=3`, `stage=1.3` | what is shown: tab, pipeline rank, module and pipeline rank |
//! | `vs` | what follows, up to the next `vs`, is a pinned job: over the job on the page, or over its own `m=` |
//! | anything else | unknown here, kept for the next link |
//!
//! States that are too long for that take the form `#z1:` with the JSON of [`job_json`](super::job_json),
//! compressed. Every version's reader is kept for ever.

mod keys;
mod marks;
mod notation;
mod notice;
mod packed;
mod pin;
mod read;
mod text;
mod write;

pub use notice::Notice;
pub use pin::{PinError, pin};
pub use text::decode as unescape;

use super::state::{Setup, ShareState};

/// Longest link that is read, in characters.
pub const MAX_LINK: usize = 8_192;
/// The most tokens of a link.
pub const MAX_TOKENS: usize = 256;
/// The longest token of a link, in characters.
pub const MAX_TOKEN: usize = 512;
/// From this length on a link is packed.
const LONG: usize = 1_500;

/// The link of a state, with its `#`. Equal states give equal links.
///
/// A state with more than fits [`MAX_LINK`] loses its unknown keys, and then pinned jobs, those that were pinned first
/// before the others: [`left_out`] says how many. [`pin`] refuses to pin what does not fit.
#[must_use]
pub fn encode(state: &ShareState) -> String {
    readable(state).1.link
}

/// How many of a state's pinned jobs its link has no room for.
#[must_use]
pub fn left_out(state: &ShareState) -> usize {
    let (kept, _) = readable(state);
    state.pinned.len().saturating_sub(kept.pinned.len())
}

/// What of a state its link says, and the link.
fn readable(state: &ShareState) -> (ShareState, Encoded) {
    let mut state = state.normalize();
    let mut encoded = encode_normal(&state);
    if !encoded.is_readable {
        state.setup.job.unknown.clear();
        encoded = encode_normal(&state);
    }
    while !encoded.is_readable && state.pinned.pop().is_some() {
        encoded = encode_normal(&state);
    }
    (state, encoded)
}

/// A link, and whether it is within the limits of what [`decode`] reads.
struct Encoded {
    link: String,
    is_readable: bool,
}

fn encode_normal(state: &ShareState) -> Encoded {
    let mut tokens = write::tokens(state);
    if let Some(last) = tokens.last_mut() {
        text::close(last);
    }
    let length: usize = tokens.iter().map(|token| token.len() + 1).sum();
    let fits = tokens.len() <= MAX_TOKENS && tokens.iter().all(|token| token.len() <= MAX_TOKEN);
    if fits && length <= LONG {
        return Encoded {
            link: format!("#{}", tokens.join(";")),
            is_readable: true,
        };
    }
    packed::encode(state)
}

/// Reads a link: the part from `#` on, or the whole address. What cannot be used is named in the notices, and
/// the rest is restored, in canonical form.
#[must_use]
pub fn decode(link: &str) -> (ShareState, Vec<Notice>) {
    let link = link.split_once('#').map_or(link, |(_, hash)| hash).trim();
    let is_empty = link.is_empty();
    // Links never end like this; programs that look for links in text may take such characters along.
    let paired = link.contains('(');
    // A percent sign is half of an escape: the link was cut or changed, and its reader says so.
    let link =
        link.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || "-_=%".contains(c) || c == ')' && paired));
    let ignored = |notice| (ShareState::default(), vec![notice]);
    if link.is_empty() {
        let notices = if is_empty { Vec::new() } else { vec![Notice::NotALink] };
        return (ShareState::default(), notices);
    }
    if link.len() > MAX_LINK {
        let length = link.chars().count();
        return ignored(Notice::TooLong { length });
    }
    // Some mail programs escape a link that is escaped already, some twice.
    let mut link = link.to_owned();
    for _ in 0..3 {
        match head(&link) {
            Some(Head::Readable(tokens)) => return read::state(tokens),
            Some(Head::Packed(data)) => return packed::decode(data),
            Some(Head::Newer(version)) => {
                return ignored(Notice::Newer {
                    version: notice::clip(version),
                });
            }
            None => link = text::decode(&link),
        }
    }
    ignored(Notice::NotALink)
}

/// The state that a page with a link shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// The state of the page.
    pub state: ShareState,
    /// The parts of the link that could not be used.
    pub notices: Vec<Notice>,
    /// Why the job is not that of the link, but a demonstration; `None` where the link can be read. An empty link, as
    /// on a first visit, asks for the demonstration.
    pub broken: Option<Notice>,
}

/// The state that a page with this link shows: the job of a first visit where the link names none that can be used.
#[must_use]
pub fn visit(link: &str) -> Visit {
    let (mut state, notices) = decode(link);
    let is_empty = state.setup == Setup::default();
    let broken = notices.first().filter(|_| is_empty).cloned();
    if is_empty {
        state.setup = Setup::first();
    }
    Visit { state, notices, broken }
}

/// How a link begins.
enum Head<'l> {
    /// `v1`: the tokens.
    Readable(&'l str),
    /// `z1`: the compressed data.
    Packed(&'l str),
    /// Another version of either.
    Newer(&'l str),
}

fn head(link: &str) -> Option<Head<'_>> {
    let end = link.find([';', ':', '%']).unwrap_or(link.len());
    let (version, rest) = link.split_at_checked(end)?;
    let number = version.strip_prefix(['v', 'z'])?;
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match (version, rest.chars().next()) {
        ("v1", None | Some(';')) => Some(Head::Readable(rest)),
        ("z1", Some(':')) => Some(Head::Packed(rest.get(1..)?)),
        ("v1" | "z1", _) | (_, Some('%')) => None,
        _ => Some(Head::Newer(version)),
    }
}

/// Whether a text looks like a link, or like an address with one.
#[must_use]
pub fn recognizes(text: &str) -> bool {
    let text = text.trim();
    let hash = text.split_once('#').map_or(text, |(_, hash)| hash);
    text.len() <= 2 * MAX_LINK
        && !text.contains(char::is_whitespace)
        && (head(hash).is_some() || head(&text::decode(hash)).is_some())
}
