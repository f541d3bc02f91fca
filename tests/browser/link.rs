//! The address: what it restores, what it says, and where Back leads.

use super::page::Page;

const UP: &str = "\u{E013}";
const TAB: &str = "\u{E004}";

#[test]
fn a_reload_restores_what_was_set() {
    let page = Page::open("v1;m=llama3-8b@1");
    page.fill("#field-seq", "16k");
    page.press(TAB);
    page.until("location.hash.includes('seq=16384')");
    let (link, total) = (page.fragment(), page.text("[data-testid=total]"));
    page.load(&link);
    assert_eq!(page.value("#field-seq"), "16384");
    assert_eq!(page.text("[data-testid=total]"), total);
    assert_eq!(page.fragment(), link);
}

#[test]
fn keystrokes_are_no_entries_of_the_history_and_presets_are() {
    let page = Page::open("v1;m=llama3-8b@1");
    let entries = page.eval("history.length");
    page.click("#field-tp");
    page.press(UP);
    page.until("location.hash.includes('tp=')");
    assert_eq!(page.eval("history.length"), entries);
    let typed = page.fragment();
    page.choose_preset("deepseek-v3");
    page.until("location.hash.includes('deepseek-v3')");
    page.eval("history.back()");
    page.until("document.getElementById('preset').value === 'llama3-8b'");
    assert_eq!(page.fragment(), typed);
    page.eval("history.forward()");
    page.until("document.getElementById('preset').value === 'deepseek-v3'");
}

#[test]
fn a_preset_as_it_is_has_the_shortest_link() {
    let page = Page::open("v1;m=llama3-8b@1");
    page.click("#field-tp");
    page.press(UP);
    page.until("location.hash.includes(';tp=')");
    page.eval("document.querySelector('.field-changed .reset').click()");
    page.until("location.hash === '#v1;m=llama3-8b@1'");
}

#[test]
fn a_broken_link_shows_a_demonstration_and_says_so() {
    let long = format!("v1;m=llama3-8b@1;x={}", "9".repeat(9000));
    for link in [
        "v1;m=no-such-model@1",
        "v9;m=llama3-8b@1",
        "z1:AAAA",
        "hello",
        "%%%%",
        &long,
    ] {
        let page = Page::open(link);
        assert!(
            page.text("[data-testid=demonstration]")
                .contains("A demonstration job is shown"),
            "{link}"
        );
        assert_eq!(page.text("[data-testid=verdict]"), "Broken link", "{link}");
        assert!(
            page.eval("getComputedStyle(document.querySelector('.total')).filter")
                .as_str()
                .unwrap()
                .contains("grayscale"),
            "{link}"
        );
        assert_ne!(page.text("[data-testid=total]"), "", "{link}");
        assert_eq!(page.complaints(), Vec::<String>::new(), "{link}");
        // The demonstration is the reader's once they change it.
        page.click("#field-tp");
        page.press(UP);
        page.until("!document.querySelector('[data-testid=demonstration]')");
        assert_ne!(page.text("[data-testid=verdict]"), "Broken link", "{link}");
    }
}

#[test]
fn a_broken_link_offers_the_preset_that_was_meant() {
    for (link, expected) in [
        ("v1;m=deepseek-v", "v1;m=deepseek-v3@3"),
        ("v1;m=llama3-8;tp=2", "v1;m=llama3-8b@2;tp=2"),
    ] {
        for embed in ["", "embed.html?view=bar"] {
            let page = Page::blank();
            page.visit(&Page::address(&format!("{embed}#{link}")));
            page.until("document.querySelector('[data-testid=nearest]')");
            let top = "document.querySelector('[data-testid=demonstration]').getBoundingClientRect().top < 300";
            assert_eq!(page.eval(top), true, "{embed}");
            page.click("[data-testid=nearest]");
            page.until("!document.querySelector('[data-testid=demonstration]')");
            page.until(&format!("location.hash === '#{expected}'"));
            assert_ne!(page.text("[data-testid=verdict]"), "Broken link");
        }
    }
}

#[test]
fn a_value_that_cannot_be_used_is_named_and_its_job_cannot_run() {
    let page = Page::open("v1;m=llama3-8b@1;tp=eight");
    assert!(page.text("[data-testid=ignored]").contains("tp=eight cannot be used"));
    assert_eq!(page.text("[data-testid=verdict]"), "Cannot run");
    assert!(!page.shows("[data-testid=total]"));
    assert_eq!(page.value("#field-tp"), "eight");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn an_unknown_key_is_kept_for_the_next_reader() {
    let page = Page::open("v1;m=llama3-8b@1;novel=7");
    assert!(page.text("#app").contains("novel"));
    page.click("#field-tp");
    page.press(UP);
    page.until("location.hash.includes(';tp=')");
    assert!(page.fragment().contains("novel=7"));
}

/// Cut off in the middle of a setting, a link still has a job, which may be another one: that is said where the verdict
/// stands, until the reader makes the job his own.
#[test]
fn what_a_link_lacks_is_said_beside_the_verdict() {
    let page = Page::blank();
    page.viewport(1280, 720);
    page.load("v1;m=qwen3-235b-a22b@2");
    let height = "document.querySelector('.summary').offsetHeight";
    let as_ever = page.eval(height);
    page.load("v1;m=qwen3-235b-a22b@2;gp");
    page.until("document.querySelector('[data-testid=ignored]')");
    let said = page.text("[data-testid=ignored]");
    assert!(
        said.starts_with("Not all of this link is used: “gp” is not known here."),
        "{said}"
    );
    assert_eq!(page.eval(height), as_ever);
    page.click("#field-tp");
    page.press(UP);
    page.until("!document.querySelector('[data-testid=ignored]')");
}

#[test]
fn a_link_to_this_version_leads_to_the_same_numbers() {
    let page = Page::open("v1;m=llama3-8b@1;tp=2");
    let total = page.text("[data-testid=total]");
    page.requests();
    page.visit(&Page::address(&format!(
        "v/{}/#v1;m=llama3-8b@1;tp=2",
        env!("CARGO_PKG_VERSION")
    )));
    page.until("document.querySelector('[data-testid=total]')");
    assert_eq!(page.text("[data-testid=total]"), total);
    let own = concat!("./v/", env!("CARGO_PKG_VERSION"), "/");
    let requests = page.requests();
    assert!(
        requests.iter().all(|address| address.starts_with(own)),
        "what is not kept with it changes with later versions: {requests:?}"
    );
    // What is loaded only when somebody asks for it.
    page.click("[data-testid=export]");
    page.until("document.querySelector('.modal-result pre')?.innerText.includes('--num-layers')");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_link_to_a_corrected_preset_shows_what_it_showed() {
    let page = Page::open("");
    let newest = page.text("[data-testid=total]");
    let picked = page.eval("document.getElementById('preset').value");
    page.load("v1;m=deepseek-v3@1");
    page.until(&format!(
        "document.querySelector('[data-testid=total]').innerText !== '{newest}'"
    ));
    assert_eq!(page.fragment(), "v1;m=deepseek-v3@1");
    assert_eq!(page.eval("document.getElementById('preset').value"), picked);
}
