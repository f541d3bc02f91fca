//! Files of several functions, each of which is a job of its own.

use megatron_memory::formats::import::Question;
use megatron_memory::formats::import_text::{ImportOptions, ImportedText, import_text};

/// The import of a file with the question which function is meant answered; `None` where it stays open.
pub(super) fn import_function(text: &str, function: Option<usize>) -> ImportedText {
    let mut options = ImportOptions::default();
    let first = import_text(text, &options).unwrap();
    if let (Some(function), Some((line, _))) = (function, question(&first)) {
        options.branches.push((line, function));
    }
    import_text(text, &options).unwrap()
}

/// The question which function is meant: its line and its choices. `None` where the file has only one.
pub(super) fn question(imported: &ImportedText) -> Option<(u32, Vec<String>)> {
    let mut questions = imported.import.questions.iter();
    questions.find_map(|question| match question {
        Question::Branch { line, labels, .. } => Some((*line, labels.clone())),
        _ => None,
    })
}
