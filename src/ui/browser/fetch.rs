//! The one request that leaves the page: for a model's `config.json`, when the reader asks for it.

use gloo::net::http::Request;
use web_sys::{AbortSignal, ReferrerPolicy, RequestCredentials};

/// How long an answer may take, in milliseconds.
const TIMEOUT_MS: u32 = 30_000;

/// The text at an address, asked for without cookies and without saying which page asks.
///
/// # Errors
/// The HTTP status of another answer than a good one, or the browser's message where there was none.
pub(crate) async fn fetch_text(address: &str) -> Result<String, String> {
    let request = Request::get(address)
        .credentials(RequestCredentials::Omit)
        .referrer_policy(ReferrerPolicy::NoReferrer)
        .abort_signal(Some(&AbortSignal::timeout_with_u32(TIMEOUT_MS)));
    let response = request.send().await.map_err(|error| error.to_string())?;
    if !response.ok() {
        return Err(response.status().to_string());
    }
    response.text().await.map_err(|error| error.to_string())
}
