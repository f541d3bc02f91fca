//! How the page arrives, and what it says when it does not.

use std::collections::BTreeSet;

use serde_json::json;

use super::page::Page;

#[test]
fn the_page_comes_alive_without_a_complaint() {
    let page = Page::open("");
    assert_eq!(page.complaints(), Vec::<String>::new());
    assert!(page.text("h1").contains("Megatron Memory"));
    assert!(!page.shows("#recover"));
    page.screenshot("loaded");
}

#[test]
fn it_loads_twelve_files_at_most_and_all_of_them_its_own() {
    let page = Page::open("");
    // The page, its dialogs, its further panels, and what these two share.
    let loaded = "performance.getEntriesByType('resource').filter(({ name }) => name.includes('.wasm'))";
    page.until(&format!("{loaded}.length === 4"));
    let requests = page.requests();
    assert!(requests.iter().all(|address| address.starts_with("./")), "{requests:?}");
    // The icon is asked for twice, by the page and by the manifest, and the second time comes from the cache.
    let files: BTreeSet<&String> = requests.iter().collect();
    assert!((4..=12).contains(&files.len()), "{requests:?}");
    assert_eq!(
        requests.iter().filter(|address| address.contains(".wasm")).count(),
        4,
        "fetched twice: {requests:?}"
    );
    // Nothing more when it is up.
    page.press("\u{E004}");
    assert_eq!(page.requests(), Vec::<String>::new());
}

#[test]
fn before_the_calculator_is_there_the_page_says_what_it_is() {
    let page = Page::blank();
    page.block(&["*.wasm*", "*page.js*"]);
    page.go("");
    assert!(page.text("#app").contains("How much GPU memory"));
}

#[test]
fn without_javascript_the_page_says_so() {
    let page = Page::blank();
    page.javascript(false);
    page.go("");
    assert!(page.shows("noscript"));
    assert!(!page.shows("#loading"));
    assert!(page.shows("h1"));
    page.click("#app a[href='./formulas.html']");
    assert_eq!(page.text("h1"), "Formulas and terms");
    assert!(page.shows(".scene .mark"));
    page.click("details:has(td) summary");
    assert!(page.text("details[open] tbody").contains(" bytes"));
    assert!(page.text("#tp").contains("tensor_model_parallel_size"));
}

#[test]
fn the_formulas_are_a_page_of_the_same_look_without_barriers_of_its_own() {
    let page = Page::blank();
    page.follow("formulas.html#mla");
    assert_eq!(page.complaints(), Vec::<String>::new());
    let own = page.requests();
    assert!(own.iter().all(|address| address.starts_with("./")), "{own:?}");
    assert!(page.text("#mla").contains("MLA"));
    // The amounts of the example are those of the calculator.
    let told = page.text("main p:has(a[href^='./#v1;m=llama3-8b'])");
    page.load("v1;m=llama3-8b@1;tp=2");
    let total = page.text("[data-testid=total]");
    let number = total.split_whitespace().next().unwrap();
    assert!(told.starts_with(number), "{told} and {total}");
    for width in [320, 1280] {
        page.viewport(width, 800);
        page.follow("formulas.html");
        let wide = page.eval("document.documentElement.scrollWidth <= innerWidth");
        assert_eq!(wide, serde_json::json!(true), "{width}");
    }
    page.screenshot("formulas");
}

#[test]
fn when_the_calculator_cannot_be_loaded_the_page_says_so_and_keeps_the_link() {
    let page = Page::blank();
    page.block(&["*.wasm*"]);
    page.go("v1;m=anything");
    page.until("!document.getElementById('recover').hidden");
    assert!(
        page.text("#recover").contains("could not be started"),
        "{}",
        page.text("#recover")
    );
    assert!(page.text("h1").contains("Megatron Memory"));
    assert_eq!(page.fragment(), "v1;m=anything");
}

#[test]
fn what_cannot_be_loaded_says_so_in_its_place_and_comes_when_the_reader_tries_again() {
    let page = Page::blank();
    page.block(&["*/split_*", "*/chunk_*"]);
    page.go("");
    page.until_started();
    page.run("document.querySelector('.results > .rest').scrollIntoView({ block: 'end' })");
    page.until("document.querySelector('.results .not-loaded')");
    let told = page.text(".results .not-loaded");
    assert!(told.contains("could not be loaded"), "{told}");
    page.click("[data-testid=import]");
    page.until("document.querySelector('dialog[open] .not-loaded')");
    page.click("dialog[open] form button");
    page.until("!document.querySelector('dialog[open]')");
    assert!(!page.shows("#recover"));
    page.block(&[]);
    page.click(".results .not-loaded button");
    page.until("document.querySelector('[data-testid=stage]')");
    // The dialog asks anew each time that it opens.
    page.click("[data-testid=import]");
    page.until("document.querySelector('dialog[open] textarea')");
}

/// Nothing ever comes of what the page loads after its first view.
const NOTHING_FURTHER: &str = r"
    const load = fetch;
    window.fetch = (address, ...rest) =>
      /\/(split|chunk)_/.test(address) ? new Promise(() => {}) : load(address, ...rest);";

#[test]
fn only_what_is_in_sight_keeps_the_results_busy() {
    let page = Page::blank();
    page.before_load(NOTHING_FURTHER);
    page.viewport(390, 844);
    page.go("");
    page.until_started();
    assert_eq!(page.count("#detail-title"), 0);
    // The first panel's end is in sight, and the second one is missing.
    page.viewport(1280, 2400);
    page.until("document.querySelector('.results[aria-busy=true]')");
}

#[test]
fn after_a_panic_the_page_offers_a_way_on_and_keeps_the_link() {
    let page = Page::open("v1;m=anything");
    let fragment = page.fragment();
    page.trap();
    page.eval("document.querySelector('.results-pane').scrollTo(0, 1000)");
    page.until("!document.getElementById('recover').hidden");
    assert!(page.text("#recover").contains("mistake in the calculator"));
    let place = page.eval("(({ top, bottom }) => [top >= 0, bottom <= innerHeight])(document.getElementById('recover').getBoundingClientRect())");
    assert_eq!(place, serde_json::json!([true, true]), "out of sight");
    assert_eq!(page.fragment(), fragment);
    page.click("#recover-reload");
    page.until("document.getElementById('recover').hidden && !document.querySelector('#app > .shell')");
    assert_eq!(page.fragment(), fragment);
}

#[test]
fn a_report_of_a_wrong_estimate_holds_the_link_and_is_sent_by_nobody() {
    let page = Page::open("v1;m=llama3-8b@1;tp=2");
    page.requests();
    page.eval("document.querySelector('.foot button').click()");
    page.until("document.getElementById('report').open");
    page.until("document.querySelector('#report textarea').value.includes('#v1;m=llama3-8b@1;tp=2')");
    assert!(page.text(".foot").contains("Megatron-LM d98e8a64"));
    assert_eq!(page.requests(), Vec::<String>::new());
}

/// Keeps the headings of the panels that are there when the page first says that what is in sight is complete, and sums
/// up what moves.
const WATCH: &str = "
    new MutationObserver(() => {
      const results = document.querySelector('.results[aria-busy=false]');
      if (results) window.firstHeadings ??= [...results.querySelectorAll('h2')].map(({ id }) => id);
    }).observe(document, { subtree: true, childList: true, attributes: true });
    window.moved = 0;
    new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => (window.moved += value)))
      .observe({ type: 'layout-shift', buffered: true });";

#[test]
fn panels_below_come_after_what_is_in_sight_and_move_nothing() {
    let page = Page::blank();
    page.viewport(1280, 720);
    page.before_load(WATCH);
    page.go("");
    page.until("window.firstHeadings");
    let first = page.eval("window.firstHeadings");
    let first: Vec<&str> = first.as_array().unwrap().iter().filter_map(|id| id.as_str()).collect();
    assert!(first.starts_with(&["stages-title"]), "{first:?}");
    assert!(!first.contains(&"step-time-title"), "{first:?}");
    // Without being asked for, where the browser's own search finds them.
    page.until(
        "document.querySelector('#step-time-title') && !document.querySelector('.results > .rest:not([hidden])')",
    );
    assert_eq!(
        page.eval("window.moved < 0.001"),
        json!(true),
        "{}",
        page.eval("window.moved")
    );
}

/// No timer of a second ever ends, so that what waits for a quiet moment waits for ever.
const NEVER_QUIET: &str = "
    const wait = setTimeout;
    window.setTimeout = (act, time, ...rest) => wait(act, time === 1000 ? 1e9 : time, ...rest);";

#[test]
fn a_panel_is_there_when_the_reader_scrolls_or_follows_a_link_to_it() {
    let page = Page::blank();
    page.viewport(1280, 720);
    page.before_load(&format!("{WATCH}{NEVER_QUIET}"));
    page.go("");
    page.until("window.firstHeadings");
    assert_eq!(page.count("#step-time-title"), 0);
    page.run("document.querySelector('.results > .rest').scrollIntoView({ block: 'end' })");
    page.until("document.querySelector('#step-time-title')");
    page.go("ranks-title");
    page.eval("location.reload()");
    page.until("document.activeElement.id === 'ranks-title'");
}
