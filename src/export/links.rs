//! The link of a job, alone and in Markdown and HTML.

use super::provenance::VERSION;
use crate::formats::share_url;
use crate::formats::state::ShareState;

/// The `sandbox` attribute of a frame with the calculator.
///
/// It leaves out `allow-same-origin`: the surrounding page may have the calculator's own origin, and a frame of the
/// same origin could change that page. Without an origin the frame has no storage and no cache, which it does not need.
const SANDBOX: &str = "allow-scripts allow-popups allow-popups-to-escape-sandbox allow-downloads";

/// The link alone. `page` is the calculator's URL.
#[must_use]
pub fn plain(page: &str, state: &ShareState) -> String {
    format!("{}{}", before_hash(page), share_url::encode(state))
}

/// The link to this version of the calculator, in the folder `v/<version>/` below the newest version: for papers and
/// reports, whose numbers must not change with later versions. The host must keep every version in such a folder.
#[must_use]
pub fn pinned(page: &str, state: &ShareState) -> String {
    let (folder, own) = (folder(page), format!("v/{VERSION}/"));
    // The page may be the copy of this version in its own folder.
    let above = folder.strip_suffix(&own);
    let above = above.filter(|above| above.is_empty() || above.ends_with('/'));
    plain(&format!("{}{own}", above.unwrap_or(folder)), state)
}

/// The link in Markdown. The URL needs no escapes, since links have no character with a meaning in Markdown.
#[must_use]
pub fn markdown(page: &str, state: &ShareState, label: &str) -> String {
    let label = label.replace(['[', ']', '\\', '\n', '\r'], " ");
    format!("[{label}]({})", plain(page, state))
}

/// The result in words, with the link below.
#[must_use]
pub fn with_summary(page: &str, state: &ShareState, summary: &str) -> String {
    format!("{summary}\n{}\n", plain(page, state))
}

/// An `<iframe>` that shows the job inside another page.
#[must_use]
pub fn embed(page: &str, state: &ShareState, title: &str, view: &str) -> String {
    format!(
        "<iframe title=\"{}\" src=\"{}\"\n  loading=\"lazy\" width=\"100%\" height=\"{}\" style=\"border: 0\" \
         referrerpolicy=\"no-referrer\" allow=\"clipboard-write\"\n  sandbox=\"{SANDBOX}\"></iframe>\n",
        attribute(title),
        attribute(&plain(&format!("{}embed.html?view={view}", folder(page)), state)),
        match view {
            "bar" => 260,
            "full" => 900,
            _ => 480,
        }
    )
}

/// A `<megatron-memory>` element that shows the job inside another page, with a link for readers without scripts.
#[must_use]
pub fn element(page: &str, state: &ShareState, label: &str, view: &str) -> String {
    let folder = attribute(folder(page));
    let link = attribute(&plain(page, state));
    let hash = attribute(&share_url::encode(state));
    format!(
        "<script async src=\"{folder}embed.js\"></script>\n\
         <megatron-memory config=\"{hash}\" view=\"{view}\">\n  <a href=\"{link}\">{}</a>\n</megatron-memory>\n",
        attribute(label)
    )
}

/// A URL without its fragment.
fn before_hash(page: &str) -> &str {
    page.split('#').next().unwrap_or_default()
}

/// The folder of a page's URL, with the slash at the end.
fn folder(page: &str) -> &str {
    let page = before_hash(page).split('?').next().unwrap_or_default();
    let end = page.rfind('/').map_or(0, |slash| slash + 1);
    page.get(..end).unwrap_or_default()
}

/// Text as the value of an HTML attribute.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
