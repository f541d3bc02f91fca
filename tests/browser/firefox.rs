//! A look at the page in another browser: it starts, calculates, answers keys and opens what is embedded.

use super::{page::Page, site::Site};

#[test]
fn firefox_shows_a_job_and_answers_keys() {
    let page = Page::open_in_firefox("v1;m=llama3-8b@1;tp=2");
    assert!(!page.shows("#recover"), "{}", page.text("#recover"));
    let before = page.text("[data-testid=total]");
    assert_eq!(before, Page::open("v1;m=llama3-8b@1;tp=2").text("[data-testid=total]"));
    page.fill("#field-seq", "2048");
    page.until(&format!(
        "document.querySelector('[data-testid=total]').innerText !== '{before}' && location.hash.includes('seq=2048')"
    ));
    page.press("\u{E009}z\u{E000}");
    page.until(&format!(
        "document.querySelector('[data-testid=total]').innerText === '{before}'"
    ));
}

#[test]
fn firefox_shows_an_embed_in_a_frame_without_an_origin() {
    let site = Site::new(
        "<iframe sandbox=allow-scripts height=240 src='./calculator/embed.html?view=bar#v1;m=llama3-8b@1'></iframe>",
    );
    let page = Page::open_in_firefox("");
    page.visit(&site.address);
    page.until("document.querySelector('iframe')");
    page.enter("document.querySelector('iframe')");
    page.until("document.querySelector('[data-testid=total]')?.innerText");
    page.leave();
}
