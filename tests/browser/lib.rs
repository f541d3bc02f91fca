//! What the tests and the times of the built page share: browsers, the page in one of them, and servers of files.

use std::path::Path;

mod context;
pub mod page;
pub mod server;
pub mod site;
pub mod webdriver;

/// The top of the checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}
