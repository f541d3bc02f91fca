//! Embeds in documentation sites as their own tools build them. `cargo xtask test docs` builds the sites first.

use std::{env, path::PathBuf};

use serde_json::json;

use super::{page::Page, site::Site};

const FRAME: &str = "document.querySelector('megatron-memory')?.shadowRoot?.querySelector('iframe')";
/// The frame of the element that shows the job which every site shows; a site may have others before it.
const FRAMED_LLAMA: &str =
    "document.querySelector('megatron-memory[config*=llama3]')?.shadowRoot?.querySelector('iframe')";
const TOTAL: &str = "document.querySelector('[data-testid=total]')?.innerText";

/// Opens a site and checks what its embeds show.
fn open(name: &str) -> (Page, Site) {
    let sites = env::var_os("DOCS_SITES").expect("run by: cargo xtask test docs");
    let folder = PathBuf::from(sites).join(name);
    assert!(folder.join("index.html").exists(), "{name} is not built");
    let right = Page::open("v1;m=llama3-8b@1;tp=2").text("[data-testid=total]");
    let calculator = Site::new("");
    let site = Site::of_folder(folder, &calculator);
    let page = Page::blank();
    page.visit(&format!("{}index.html", site.address));
    page.eval("document.querySelectorAll('megatron-memory, iframe').forEach((e) => e.scrollIntoView())");
    for (frame, kind) in [
        (FRAMED_LLAMA, "the element"),
        ("document.querySelector('iframe[src*=embed]')", "the frame"),
    ] {
        page.eval(&format!("{frame}?.scrollIntoView()"));
        page.until(&format!("{frame}?.clientHeight > 100"));
        page.enter(frame);
        page.until(TOTAL);
        assert_eq!(page.text("[data-testid=total]"), right, "{name}: {kind}");
        page.leave();
    }
    (page, calculator)
}

/// Does something to the page and waits until the embed is in these colors.
fn colors(page: &Page, change: &str, theme: &str) {
    page.eval(change);
    page.enter(FRAME);
    page.until(&format!("document.documentElement.dataset.theme === '{theme}'"));
    page.leave();
}

#[test]
#[ignore = "needs built sites: cargo xtask test docs"]
fn plain_page_with_every_kind() {
    let (page, _) = open("plain");
    assert!(page.eval("document.querySelector('img').naturalWidth").as_u64() > Some(300));
    page.eval("document.querySelectorAll('megatron-memory').forEach((e) => e.open())");
    page.until("[...document.querySelectorAll('megatron-memory')].every((e) => e.shadowRoot?.querySelector('iframe')?.clientHeight > 100)");
    assert_eq!(page.barriers(), Vec::<String>::new());
    page.screenshot("embeds");
}

#[test]
#[ignore = "needs built sites: cargo xtask test docs"]
fn sphinx_with_myst_as_megatron_bridge_has_it() {
    let (page, _) = open("sphinx");
    assert_eq!(page.text("#raw"), "Raw HTML of a fence.");
    colors(&page, "document.documentElement.dataset.theme = 'dark'", "dark");
    colors(&page, "document.documentElement.dataset.theme = 'light'", "light");
}

#[test]
#[ignore = "needs built sites: cargo xtask test docs"]
fn mkdocs_with_material_and_instant_navigation() {
    let (page, _) = open("mkdocs");
    colors(
        &page,
        "document.querySelector('label[for=__palette_1]').click()",
        "dark",
    );
    page.eval("(window.stays = true, document.querySelector('article a[href*=other]').click())");
    page.until("document.querySelector('h1').innerText.includes('other') && document.querySelector('megatron-memory')");
    page.until(&format!("{FRAME}?.clientHeight > 100"));
    assert_eq!(
        page.eval("window.stays"),
        json!(true),
        "the page was loaded afresh, and nothing tested"
    );
    page.enter(FRAME);
    page.until(TOTAL);
    assert_eq!(
        page.text("[data-testid=total]"),
        Page::open("v1;m=gpt2@1").text("[data-testid=total]")
    );
    page.leave();
}

#[test]
#[ignore = "needs built sites: cargo xtask test docs"]
fn mdbook_in_its_own_themes() {
    let (page, _) = open("mdbook");
    for (theme, color) in [("coal", "dark"), ("rust", "light"), ("ayu", "dark"), ("light", "light")] {
        // The menu's own button, which is what changes the class.
        colors(
            &page,
            &format!("document.querySelector('.theme#{theme}, .theme#mdbook-theme-{theme}').click()"),
            color,
        );
    }
}

#[test]
#[ignore = "needs built sites: cargo xtask test docs"]
fn docusaurus_with_its_switch() {
    let (page, _) = open("docusaurus");
    colors(&page, "document.documentElement.dataset.theme = 'dark'", "dark");
    colors(&page, "document.documentElement.dataset.theme = 'light'", "light");
}
