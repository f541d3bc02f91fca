//! A link to the job, in several dressings.

use super::provenance::VERSION;
use crate::formats::share_url;
use crate::formats::state::ShareState;

/// What a frame with the calculator may do, whatever page it stands on.
///
/// The page may be of the calculator's own origin, and a frame that has it too could reach the page. Without it the frame
/// has no storage and browsers keep no cache for it; it works all the same.
const SANDBOX: &str = "allow-scripts allow-popups allow-popups-to-escape-sandbox allow-downloads";

/// The link itself. `page` is the calculator's address without a hash.
#[must_use]
pub fn plain(page: &str, state: &ShareState) -> String {
    format!("{}{}", before_hash(page), share_url::encode(state))
}

/// The link to this version of the calculator, `v/<version>/` below where the newest is: for papers and reports, whose
/// numbers must not change with the model. It leads somewhere only where the host keeps each version there.
#[must_use]
pub fn pinned(page: &str, state: &ShareState) -> String {
    let (folder, own) = (folder(page), format!("v/{VERSION}/"));
    // Where the page is itself the copy of this version, the link leads there again.
    let above = folder.strip_suffix(&own);
    let above = above.filter(|above| above.is_empty() || above.ends_with('/'));
    plain(&format!("{}{own}", above.unwrap_or(folder)), state)
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

/// A frame that shows the job inside another page.
#[must_use]
pub fn embed(page: &str, state: &ShareState, title: &str, view: &str) -> String {
    format!(
        "<iframe title=\"{}\" src=\"{}\"\n  loading=\"lazy\" width=\"100%\" height=\"{}\" style=\"border: 0\" \
         referrerpolicy=\"no-referrer\" allow=\"clipboard-write\"\n  sandbox=\"{SANDBOX}\"></iframe>\n",
        attribute(title),
        attribute(&plain(
            &format!("{}embed.html?view={view}", folder(page)),
            state
        )),
        match view {
            "bar" => 260,
            "full" => 900,
            _ => 480,
        }
    )
}

/// The element that does the same with less to write, and a link for where scripts do not run.
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

fn before_hash(page: &str) -> &str {
    page.split('#').next().unwrap_or_default()
}

/// Where a page lives, with the slash at the end.
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
