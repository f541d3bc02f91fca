//! The kept inputs, `tests/corpus/READER/`, and where new ones go.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The kept inputs of a reader, in the order of their names.
pub(crate) fn of(reader: &str) -> Vec<String> {
    let folder = root().join("tests/corpus").join(reader);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let read = |path: &PathBuf| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    files.iter().map(read).collect()
}

/// Keeps an input under `target/fuzz/FOLDER/`, named after what it holds, and says where.
pub(crate) fn keep(folder: &str, reader: &str, input: &str) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let folder = root().join("target/fuzz").join(folder).join(reader);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{:016x}", hasher.finish()));
    fs::write(&path, input).unwrap();
    path
}

/// The top folder of the project.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
