//! What an accessibility checker finds in every state of the page.

use super::page::Page;

#[test]
fn no_barriers_in_light_and_dark() {
    let page = Page::open("");
    for scheme in ["light", "dark"] {
        page.media("prefers-color-scheme", scheme);
        assert_eq!(page.barriers(), Vec::<String>::new(), "{scheme}");
    }
}

#[test]
fn a_narrow_screen_needs_no_sideways_scrolling() {
    let page = Page::open("");
    page.viewport(320, 640);
    assert_eq!(page.eval("document.documentElement.scrollWidth"), 320);
}
