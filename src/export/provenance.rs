//! The provenance of exported files: the version of this calculator, the revisions of the frameworks that it follows,
//! and the link of the job. Files have no dates, so that equal jobs give equal files.

use core::fmt::Write as _;
use core::iter::{once, repeat};

use super::tables::cell;
use crate::config::not_modelled::NotModelled;
use crate::config::problem::{Problem, Severity};
use crate::report::verdict;
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
    /// A last column of a table whose rows are lines.
    Column,
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
    let mut out = String::from("# Cannot run: Megatron refuses this job as it is:\n");
    for problem in errors {
        let _ = writeln!(out, "# - {}", on_one_line(&problem.message));
    }
    out + text
}

/// The text after a comment that names what of the job is not modelled, for formats with comments.
#[must_use]
pub fn with_marks(comments: CommentStyle, text: &str, marks: &[NotModelled]) -> String {
    let Some(headline) = verdict::headline(marks) else {
        return text.to_owned();
    };
    let headline = on_one_line(&headline);
    match comments {
        CommentStyle::Hash => {
            let mut out = format!("# {headline}:\n");
            for mark in marks {
                let _ = writeln!(out, "# - {}", on_one_line(&mark.to_string()));
            }
            out + text
        }
        CommentStyle::Markdown => {
            let mut out = format!("**{}**\n\n", markdown(&headline));
            for mark in marks {
                let _ = writeln!(out, "- {}", markdown(&on_one_line(&mark.to_string())));
            }
            format!("{out}\n{text}")
        }
        CommentStyle::Column | CommentStyle::None => text.to_owned(),
    }
}

/// A text without line breaks and control characters, which would end a comment. Keys and messages quote what was
/// typed.
fn on_one_line(text: &str) -> String {
    let words = text.chars();
    let words = words.filter(|c| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}'));
    words.collect()
}

/// A text in Markdown, in which underscores and other punctuation of keys stay as they are.
fn markdown(text: &str) -> String {
    let special = |c: char| matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#');
    let mut out = String::new();
    for c in text.chars() {
        if special(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The text with a comment, or a column, that states its provenance. `link` is the link of the job.
#[must_use]
pub fn with_provenance(comments: CommentStyle, text: &str, link: &str) -> String {
    // The page's URL comes from the caller and may hold control characters.
    let link: String = link.chars().filter(|c| !c.is_control()).collect();
    let made_by = made_by();
    match comments {
        CommentStyle::Hash => format!("# {made_by}\n# {link}\n{text}"),
        CommentStyle::Markdown => format!("{text}\n[{made_by}]({link})\n"),
        CommentStyle::Column => {
            let made_by = cell(&format!("{made_by}: {link}"));
            let ends = once("made_by").chain(repeat(made_by.as_str()));
            let lines = text.lines().zip(ends);
            lines.fold(String::new(), |mut out, (line, end)| {
                let _ = write!(out, "{line},{end}\r\n");
                out
            })
        }
        CommentStyle::None => text.to_owned(),
    }
}
