//! Reading the ground truth under `tests/oracle`.

use std::path::PathBuf;

use super::ROOT;

/// The folder with the ground truth.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(ROOT).join("tests/oracle")
}

/// One JSON file of the ground truth.
pub(crate) fn json(path: &str) -> serde_json::Value {
    let path = folder().join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The JSON files of a folder of the ground truth, in order, as paths for [`json`].
pub(crate) fn files(name: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder().join(name)).unwrap();
    let mut files: Vec<String> = entries
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .map(|file| format!("{name}/{file}"))
        .collect();
    files.sort();
    files
}
