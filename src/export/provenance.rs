//! Where a file comes from: the version that made it, what that follows, and the job. No dates: equal jobs give equal
//! files.

use core::fmt::Write as _;

use crate::config::problem::{Problem, Severity};
use crate::source::{MEGATRON_BRIDGE_REVISION, MEGATRON_LM_REVISION};

/// The version of this calculator.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How a format takes a remark that is none of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Lines after `#`, at the top.
    Hash,
    /// A line of its own at the end.
    Markdown,
    /// Not at all, or it has a place of its own for it.
    None,
}

/// The version that made a file, and the sources that it follows.
#[must_use]
pub fn made_by() -> String {
    let short = |revision: &'static str| revision.get(..8).unwrap_or(revision);
    format!(
        "Megatron Memory {VERSION}, after Megatron-LM {} and Megatron-Bridge {}",
        short(MEGATRON_LM_REVISION),
        short(MEGATRON_BRIDGE_REVISION)
    )
}

/// A text with a remark of what keeps the job from running, where the format takes one at the top and there is something.
#[must_use]
pub fn warned(remark: Remark, text: &str, problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|p| p.severity == Severity::Error);
    if remark != Remark::Hash || errors.clone().next().is_none() {
        return text.to_owned();
    }
    let mut out = String::from("# Megatron refuses this job as it is:\n");
    for problem in errors {
        // Messages show what was typed, and a remark must not end before they do.
        let words = problem.message.chars();
        let words = words.filter(|c| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}'));
        let _ = writeln!(out, "# - {}", words.collect::<String>());
    }
    out + text
}

/// A text with the remark that says where it comes from. `link` leads to the job.
#[must_use]
pub fn signed(remark: Remark, text: &str, link: &str) -> String {
    // The address of the page is the caller's.
    let link: String = link.chars().filter(|c| !c.is_control()).collect();
    let made_by = made_by();
    match remark {
        Remark::Hash => format!("# {made_by}\n# {link}\n{text}"),
        Remark::Markdown => format!("{text}\n[{made_by}]({link})\n"),
        Remark::None => text.to_owned(),
    }
}
