//! A link to the job, in several dressings.

use crate::formats::share_url;
use crate::formats::state::ShareState;

/// The link itself. `page` is the calculator's address without a hash.
#[must_use]
pub fn plain(page: &str, state: &ShareState) -> String {
    format!("{}{}", before_hash(page), share_url::encode(state))
}

/// The link in Markdown. Links have no character that Markdown would read.
#[must_use]
pub fn markdown(page: &str, state: &ShareState, label: &str) -> String {
    let label = label.replace(['[', ']', '\\', '\n', '\r'], " ");
    format!("[{label}]({})", plain(page, state))
}

/// The result in words, and the link under it.
#[must_use]
pub fn with_summary(page: &str, state: &ShareState, summary: &str) -> String {
    format!("{summary}\n{}\n", plain(page, state))
}

/// HTML that shows the job inside another page. `embed` is the address of `embed.html`.
#[must_use]
pub fn embed(embed: &str, state: &ShareState, title: &str) -> String {
    format!(
        "<iframe src=\"{}\" title=\"{}\" width=\"100%\" height=\"480\" loading=\"lazy\" style=\"border:0\" referrerpolicy=\"no-referrer\" allow=\"clipboard-write\" sandbox=\"allow-scripts allow-popups allow-popups-to-escape-sandbox allow-downloads\"></iframe>\n",
        attribute(&plain(embed, state)),
        attribute(title)
    )
}

fn before_hash(page: &str) -> &str {
    page.split('#').next().unwrap_or_default()
}

/// Text as the value of an HTML attribute.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
