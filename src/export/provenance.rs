//! The provenance of exported files: the version of this calculator, the revisions of the frameworks that it follows, and the
//! link of the job. Files have no dates, so that equal jobs give equal files.

use core::fmt::Write as _;

use crate::config::problem::{Problem, Severity};
use crate::source::{MEGATRON_BRIDGE_REVISION, MEGATRON_LM_REVISION};

/// The version of this calculator.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How a format writes comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentStyle {
    /// Lines that start with `#`, at the top.
    Hash,
    /// A line at the end.
    Markdown,
    /// The format has no comments, or a field of its own for the provenance.
    None,
}

/// The version of this calculator and the revisions of the frameworks that it follows, in words.
#[must_use]
pub fn made_by() -> String {
    let short = |revision: &'static str| revision.get(..8).unwrap_or(revision);
    format!(
        "Megatron Memory {VERSION}, after Megatron-LM {} and Megatron-Bridge {}",
        short(MEGATRON_LM_REVISION),
        short(MEGATRON_BRIDGE_REVISION)
    )
}

/// The text after a comment that lists the errors among `problems`, for formats with comments at the top.
#[must_use]
pub fn with_errors(comments: CommentStyle, text: &str, problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|p| p.severity == Severity::Error);
    if comments != CommentStyle::Hash || errors.clone().next().is_none() {
        return text.to_owned();
    }
    let mut out = String::from("# Megatron refuses this job as it is:\n");
    for problem in errors {
        // Messages quote what was typed. A line break in it would end the comment.
        let words = problem.message.chars();
        let words = words.filter(|c| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}'));
        let _ = writeln!(out, "# - {}", words.collect::<String>());
    }
    out + text
}

/// The text with a comment that states its provenance. `link` is the link of the job.
#[must_use]
pub fn with_provenance(comments: CommentStyle, text: &str, link: &str) -> String {
    // The page's URL comes from the caller and may hold control characters.
    let link: String = link.chars().filter(|c| !c.is_control()).collect();
    let made_by = made_by();
    match comments {
        CommentStyle::Hash => format!("# {made_by}\n# {link}\n{text}"),
        CommentStyle::Markdown => format!("{text}\n[{made_by}]({link})\n"),
        CommentStyle::None => text.to_owned(),
    }
}
