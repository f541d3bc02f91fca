//! The files of a text. They are maps of YAML in the notation of JSON, and one begins where another has ended.

use crate::formats::import::ImportError;
use crate::formats::import::draft::KeyValue;
use crate::formats::import::sources::trees::leaves_of;
use crate::formats::yaml;

/// The leaves of all files, with underscores for dashes in keys at the top.
pub(super) fn leaves(text: &str) -> Result<Vec<KeyValue>, ImportError> {
    let mut leaves = Vec::new();
    for file in split(text) {
        let root = yaml::parse(&file).map_err(ImportError::Yaml)?.root;
        for mut item in leaves_of(&root) {
            item.key = match item.key.split_once('.') {
                Some((top, inside)) => format!("{}.{inside}", top.replace('-', "_")),
                None => item.key.replace('-', "_"),
            };
            leaves.push(item);
        }
    }
    Ok(leaves)
}

/// The files, each behind as many empty lines as stand before it, so that lines keep their numbers.
fn split(text: &str) -> Vec<String> {
    let mut files = vec![String::new()];
    let mut is_closed = false;
    for (before, line) in text.lines().enumerate() {
        let code = line.split(" #").next().unwrap_or_default().trim();
        let is_comment = code.is_empty() || code.starts_with('#');
        if code == "---" || is_closed && line.starts_with('{') {
            files.push("\n".repeat(before));
        }
        if !is_comment {
            is_closed = code.ends_with('}') && line.starts_with(['}', '{']);
        }
        if let Some(file) = files.last_mut() {
            file.push_str(if code == "---" { "" } else { line });
            file.push('\n');
        }
    }
    files.retain(|file| !file.trim().is_empty());
    files
}
