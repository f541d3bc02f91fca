//! This calculator's own embeds, elements, Markdown and messages: they hold the link of their job.

use crate::formats::detect;

/// The link of the job in HTML, in Markdown or in a message; `None` where the text has no link of this calculator, or
/// is something else that only mentions one.
pub(super) fn own_link(text: &str) -> Option<String> {
    let link = link(text)?;
    let whole = text.trim();
    if whole == link {
        return None;
    }
    let is_page = whole.starts_with('<') || whole.starts_with("![") || is_markdown_link(whole);
    (is_page || detect::recognize(text).is_none()).then_some(link)
}

/// Whether a text is `[label](address)` and nothing else.
fn is_markdown_link(text: &str) -> bool {
    text.starts_with('[') && text.ends_with(')') && text.contains("](")
}

/// The first fragment of a link of this calculator, with its `#`.
fn link(text: &str) -> Option<String> {
    let starts = text.match_indices('#').filter_map(|(at, _)| text.get(at..));
    let mut links = starts.filter_map(|rest| {
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | ')');
        let end = rest.find(ends).unwrap_or(rest.len());
        let link = rest.get(..end)?;
        detect::is_link(link).then(|| link.replace("&amp;", "&"))
    });
    links.next()
}
