//! The packed form `z1:`: the job document as JSON, compressed by DEFLATE without a header, in base64 for URLs
//! without padding.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::notice::clip;
use super::{Encoded, MAX_LINK, Notice, text};
use crate::config::canonical::meaning;
use crate::config::fields::FieldId;
use crate::formats::job_json::{self, JobJsonError};
use crate::formats::json;
use crate::formats::report::KeyStatus;
use crate::formats::state::ShareState;

/// The most that a link may unpack to, in bytes.
const MAX_UNPACKED: usize = 65_536;
/// The highest compression level. Links are short and time does not matter.
const LEVEL: u8 = 10;

/// The link of a state in canonical form, with its `#`.
pub(super) fn encode(state: &ShareState) -> Encoded {
    let mut document = job_json::document(state).to_string();
    let mut link = format!("#z1:{}", pack(&document));
    // Mail and chat programs leave a dash at the end out of the link. Blanks behind the document mean nothing and
    // change the last characters.
    for _ in 0..8 {
        if link.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            break;
        }
        document.push(' ');
        link = format!("#z1:{}", pack(&document));
    }
    Encoded {
        is_readable: link.len() <= MAX_LINK && document.len() <= MAX_UNPACKED,
        link,
    }
}

fn pack(document: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(compress_to_vec(document.as_bytes(), LEVEL))
}

/// Reads what follows `z1:`.
pub(super) fn decode(data: &str) -> (ShareState, Vec<Notice>) {
    match unpack(data) {
        Ok(unpacked) => unpacked,
        Err(notice) => (ShareState::default(), vec![notice]),
    }
}

/// The bytes of base64, with or without padding.
fn bytes(data: &str) -> Option<Vec<u8>> {
    let data = data.trim_end_matches('=');
    BASE64_URL_SAFE_NO_PAD.decode(data).ok()
}

fn unpack(data: &str) -> Result<(ShareState, Vec<Notice>), Notice> {
    let packed = bytes(data).or_else(|| bytes(&text::decode(data)));
    let packed = packed.ok_or(Notice::Damaged)?;
    let bytes = decompress_to_vec_with_limit(&packed, MAX_UNPACKED);
    let bytes = bytes.map_err(|_| Notice::Damaged)?;
    let document = String::from_utf8(bytes).map_err(|_| Notice::Damaged)?;
    let root = json::parse(&document).map_err(|_| Notice::Damaged)?;
    let document = job_json::read(&root).map_err(|error| match error {
        JobJsonError::NotAJob => Notice::Damaged,
        JobJsonError::Newer { schema } => Notice::Newer { version: schema },
        JobJsonError::UnknownPreset { name, .. } => Notice::unknown_preset(&name),
    })?;
    let mut notices = Vec::new();
    for row in &document.report {
        let key = clip(&row.key);
        match row.status {
            KeyStatus::Unknown => notices.push(Notice::UnknownKey { key }),
            KeyStatus::Conflicting => notices.push(Notice::BadValue {
                key,
                value: String::new(),
                reason: row.note.to_string(),
            }),
            _ => {}
        }
    }
    let state = &document.state;
    for setup in core::iter::once(&state.setup).chain(&state.pinned) {
        for (id, value) in setup.job.shared.iter() {
            if meaning(id, Some(value)).is_bad() {
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
