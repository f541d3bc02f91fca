//! What an accessibility checker finds in every state of the page, and what a small screen shows.

use super::evidence;
use super::page::Page;
use super::site::Site;

#[test]
#[ignore = "needs the checker: cargo xtask test"]
fn no_barriers_in_light_and_dark() {
    let page = Page::open("");
    for scheme in ["light", "dark"] {
        page.media("prefers-color-scheme", scheme);
        assert_eq!(page.barriers(), Vec::<String>::new(), "{scheme}");
    }
}

#[test]
#[ignore = "needs the checker: cargo xtask test"]
fn no_barriers_beside_problems_and_with_everything_open() {
    let page = Page::open("v1;m=llama3-8b@1;tp=3");
    page.until("document.querySelector('.problem')");
    assert_eq!(page.barriers(), Vec::<String>::new());
    page.eval(
        "document.querySelectorAll('.section-line[aria-expanded=false]').forEach((b) => b.click())",
    );
    page.until("!document.querySelector('.section-line[aria-expanded=false]')");
    page.eval("document.querySelectorAll('.section-foot button').forEach((b) => b.innerText.startsWith('all') && b.click())");
    page.eval("document.querySelectorAll('.tip').forEach((b) => b.click())");
    assert_eq!(page.barriers(), Vec::<String>::new());
}

#[test]
#[ignore = "needs the checker: cargo xtask test"]
fn no_barriers_beside_timeline_and_ledger() {
    let page = Page::open(super::peaks::LLAMA);
    page.until("document.querySelectorAll('.savings tbody tr').length > 5");
    page.click("#tab-2");
    assert_eq!(page.barriers(), Vec::<String>::new());
}

#[test]
#[ignore = "needs the checker: cargo xtask test"]
fn no_barriers_in_embeds() {
    let site = Site::new("");
    let page = Page::blank();
    for view in ["full", "compact", "bar", "table", "timeline", "sweep"] {
        let address = site.calculator();
        page.visit(&format!("{address}embed.html?view={view}#v1;m=llama3-8b@1"));
        page.until("document.querySelector('[data-testid=total]')?.innerText");
        assert_eq!(page.barriers(), Vec::<String>::new(), "{view}");
    }
}

#[test]
#[ignore = "needs the checker: cargo xtask test"]
fn no_barriers_beside_the_evidence() {
    let page = Page::blank();
    evidence::open(&page);
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

/// Two lines of header, and below it a headline that stays.
#[test]
fn a_phone_shows_the_total_and_keeps_what_is_rarely_needed_in_a_menu() {
    let page = Page::open("v1;m=llama3-8b@1");
    for width in [320, 360, 400, 500] {
        page.viewport(width, 640);
        let height = page.eval("document.querySelector('.header').offsetHeight");
        assert!(height.as_u64().unwrap() < 100, "{height} at {width}");
        let preset = page.eval("document.querySelector('.preset select').offsetWidth");
        assert!(preset.as_u64().unwrap() >= 140, "{preset} at {width}");
    }
    page.viewport(360, 640);
    assert!(!page.shows("[data-at=import]"));
    page.click("[data-at=more]");
    assert!(page.shows("[data-at=import]"));
    page.press("\u{E00C}");
    page.eval("document.getElementById('field-seq').scrollIntoView({ block: 'center' })");
    page.until("scrollY > 0");
    let top = page.eval("document.querySelector('.total').getBoundingClientRect().top >= 0");
    assert_eq!(top, true);
}

#[test]
fn inputs_result_and_chart_print_on_two_sheets() {
    let page = Page::open("");
    for link in ["v1;m=deepseek-v3@1", "v1;m=qwen3.5-vl-27b@1"] {
        page.load(link);
        assert_eq!(page.sheets(), 2, "{link}");
    }
}
