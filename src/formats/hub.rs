//! Models on the Hugging Face Hub: reads the name of a repository, and builds the address of its `config.json`.

pub mod known;

use crate::presets;

/// The Hub's address: besides its own, the only one that the page sends requests to.
const HUB: &str = "https://huggingface.co/";
/// The longest name of a repository, as the Hub has it.
const MAX_NAME: usize = 96;
/// The longest name of a revision that is taken; a commit has 40 characters.
const MAX_REVISION: usize = 100;
/// The path segments that stand between a repository and a revision in addresses of the Hub.
const KINDS: [&str; 4] = ["tree", "blob", "raw", "resolve"];

/// The error message for a text that names no repository.
const WANTED: &str =
    "A name such as Qwen/Qwen3-8B, with @ and a revision where it is not main, or its address on huggingface.co.";

/// A revision of a model's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    name: String,
    revision: String,
}

impl Repository {
    /// The repository that `text` names: `org/model`, `org/model@revision`, or an address of the Hub.
    ///
    /// # Errors
    /// When the text names none: a message that says what to type.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        let bare = text.strip_prefix("https://").or(text.strip_prefix("http://"));
        let path = ["huggingface.co/", "hf.co/"]
            .into_iter()
            .find_map(|host| bare.unwrap_or(text).strip_prefix(host));
        let named = match (path, bare) {
            (Some(path), _) => from_path(path),
            (None, Some(_)) => None,
            (None, None) => {
                let (name, revision) = text.split_once('@').unwrap_or((text, "main"));
                Some((name.to_owned(), revision))
            }
        };
        let (name, revision) = named.ok_or(WANTED)?;
        if !is_name(&name) || !is_revision(revision) {
            return Err(WANTED);
        }
        let revision = revision.to_owned();
        Ok(Self { name, revision })
    }

    /// The repository's name, `org/model`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address of its `config.json`.
    #[must_use]
    pub fn address(&self) -> String {
        let revision = self.revision.replace('/', "%2F");
        format!("{HUB}{}/raw/{revision}/config.json", self.name)
    }
}

/// Whether a text is nothing but the name of a model: `org/model`, an address of the Hub, or the id of a preset.
pub(super) fn is_named(text: &str) -> bool {
    let is_word = !text.is_empty() && !text.contains(char::is_whitespace);
    is_word && (presets::by_id(text).is_some() || (text.contains('/') && Repository::read(text).is_ok()))
}

/// The repository's name and the revision in the path of an address of the Hub.
fn from_path(path: &str) -> Option<(String, &str)> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    let mut name = parts.next()?.to_owned();
    if matches!(name.as_str(), "datasets" | "spaces" | "collections" | "papers") {
        return None;
    }
    if let Some(rest) = parts.next_if(|part| !KINDS.contains(part)) {
        name.push('/');
        name.push_str(rest);
    }
    match parts.next() {
        None => Some((name, "main")),
        Some(kind) if KINDS.contains(&kind) => Some((name, parts.next().unwrap_or("main"))),
        Some(_) => None,
    }
}

/// Whether the Hub lets a repository have this name: one part, or two with a slash between them.
fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        !part.is_empty() && part.bytes().all(plain) && !part.starts_with(['-', '.']) && !part.ends_with(['-', '.'])
    };
    let parts = name.split('/');
    name.len() <= MAX_NAME
        && parts.clone().count() <= 2
        && parts.into_iter().all(part)
        && !["--", ".."].iter().any(|pair| name.contains(pair))
}

/// Whether a text can be a branch, a tag or a commit.
fn is_revision(revision: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    (1..=MAX_REVISION).contains(&revision.len())
        && revision.bytes().all(plain)
        && !revision.contains("..")
        && !revision.starts_with(['-', '.', '/'])
        && !revision.ends_with('/')
}

/// The message for a failed request: why there was no `config.json` at `address`, and what to do instead. `reason` is
/// the HTTP status, or the browser's error message where no response came.
#[must_use]
pub fn refusal(address: &str, reason: &str) -> String {
    let why = match reason {
        "401" | "403" => "there is no public model of this name, or it is only for those who log in".to_owned(),
        "404" => "the repository has no config.json at this revision".to_owned(),
        "429" => "the Hub has had too many requests from this network".to_owned(),
        status if status.bytes().all(|b| b.is_ascii_digit()) => {
            format!("the answer was status {status}")
        }
        other => format!("no answer came ({other}); the network may be down or closed to it"),
    };
    format!("Asked {address}: {why}. Pasting the text of config.json or dropping the file works instead.")
}
