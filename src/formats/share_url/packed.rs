//! The packed form `z1:`: our own JSON, compressed, in base64.

use super::notice::clip;
use super::{Notice, text};
use crate::config::canonical::{Meaning, meaning};
use crate::config::fields::FieldId;
use crate::formats::deflate::{deflate, inflate};
use crate::formats::job_json::{self, JobJsonError};
use crate::formats::report::Fate;
use crate::formats::state::ShareState;
use crate::formats::{base64, json};

/// The most that a link may unpack to, in bytes.
const MAX_UNPACKED: usize = 65_536;

/// The link of a state in canonical form, with its `#`.
pub(super) fn encode(state: &ShareState) -> String {
    let mut document = job_json::document(state).to_string();
    // A link ends in a letter or digit; another blank in front of the end moves the last bits.
    for _ in 0..8 {
        let packed = base64::encode(&deflate(document.as_bytes()));
        if packed.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            return format!("#z1:{packed}");
        }
        document.push(' ');
    }
    format!("#z1:{}", base64::encode(&deflate(document.as_bytes())))
}

/// Reads what follows `z1:`.
pub(super) fn decode(data: &str) -> (ShareState, Vec<Notice>) {
    match unpack(data) {
        Ok(unpacked) => unpacked,
        Err(notice) => (ShareState::default(), vec![notice]),
    }
}

fn unpack(data: &str) -> Result<(ShareState, Vec<Notice>), Notice> {
    let packed = base64::decode(data)
        .or_else(|| base64::decode(&text::decode(data)))
        .ok_or(Notice::Damaged)?;
    let bytes = inflate(&packed, MAX_UNPACKED).map_err(|_| Notice::Damaged)?;
    let document = String::from_utf8(bytes).map_err(|_| Notice::Damaged)?;
    let root = json::parse(&document).map_err(|_| Notice::Damaged)?;
    let document = job_json::read(&root).map_err(|error| match error {
        JobJsonError::NotAJob => Notice::Damaged,
        JobJsonError::Newer { schema } => Notice::Newer { version: schema },
    })?;
    let mut notices = Vec::new();
    for row in &document.report {
        let key = clip(&row.key);
        match row.fate {
            Fate::Unknown => notices.push(Notice::UnknownKey { key }),
            Fate::Conflicting => notices.push(Notice::BadValue {
                key,
                value: String::new(),
                reason: row.note.to_string(),
            }),
            _ => {}
        }
    }
    let state = &document.state;
    for setup in [Some(&state.setup), state.compare.as_ref()]
        .into_iter()
        .flatten()
    {
        for (id, value) in setup.job.shared.iter() {
            if meaning(id, Some(value)) == Meaning::Bad {
                notices.push(bad_value(id, &value.to_string()));
            }
        }
    }
    notices.truncate(super::MAX_TOKENS);
    Ok((state.normalize(), notices))
}

fn bad_value(id: FieldId, value: &str) -> Notice {
    Notice::BadValue {
        key: id.field().name.to_owned(),
        value: clip(value),
        reason: "cannot take this value".to_owned(),
    }
}
