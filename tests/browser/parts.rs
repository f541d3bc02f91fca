//! The two parts of an embed's calculator: what a look takes, and what comes with the first touch.

use serde_json::{Value, json};

use super::page::Page;
use super::site::Site;

const LLAMA: &str = "#v1;m=llama3-8b@1";
const RESULT: &str = "document.documentElement.dataset.result";

/// Opens an embed on a page of its own and waits until it has a result.
fn open(page: &Page, address: &str) {
    // Another fragment alone would not open it anew.
    page.visit("about:blank");
    page.follow(&format!("embed.html{address}"));
    page.until(RESULT);
}

/// Whether the second part has been asked for since somebody last wanted to know.
fn asked(page: &Page) -> bool {
    page.requests().iter().any(|path| path.contains("_rest."))
}

/// The links of all presets, those of models first, and what the JavaScript API says that each stage takes.
fn presets(page: &Page) -> Vec<(String, Value)> {
    let list = page.eval(
        "import('./api/megatron_memory.js').then(async (api) => { await api.default(); \
         const presets = await api.presets(); \
         return presets.map(({ id, version, job }) => \
             [`#v1;m=${id}@${version}`, api.estimate(job).modules.map(({ stages }) => stages.map(({ memory }) => memory.total))]); })",
    );
    let list = list.as_array().unwrap().iter();
    list.map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].clone()))
        .collect()
}

/// What an embed says that each stage takes.
fn stages(page: &Page) -> Value {
    page.eval(&format!("JSON.parse({RESULT}).totals.stages"))
}

/// Makes the second part wait until `proceed()`, or fail at `fail()`.
fn hold_back(page: &Page) {
    page.eval(
        "(window.fetch = ((fetch) => (...what) => new Promise((proceed, fail) => \
         Object.assign(window, { proceed: () => proceed(fetch(...what)), fail })))(fetch), 0)",
    );
}

#[test]
fn a_look_at_any_model_takes_the_first_part_alone() {
    let page = Page::blank();
    page.follow("embed.html");
    let models = presets(&page).into_iter();
    let models: Vec<_> = models
        .filter(|(_, stages)| stages.as_array().unwrap().len() == 1)
        .collect();
    assert!(models.len() >= 40, "{}", models.len());
    page.requests();
    for (number, (link, expected)) in models.into_iter().enumerate() {
        let query = ["", "?view=bar", "?readonly=1"][number % 3];
        open(&page, &format!("{query}{link}"));
        assert_eq!(stages(&page), expected, "{query}{link}");
        assert!(!asked(&page), "{query}{link}");
    }
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn what_takes_more_is_shown_all_the_same() {
    let page = Page::blank();
    page.follow("embed.html");
    let presets = presets(&page).into_iter();
    let several: Vec<_> = presets
        .filter(|(_, stages)| stages.as_array().unwrap().len() > 1)
        .collect();
    assert!(several.len() >= 5, "{}", several.len());
    for (link, expected) in several {
        open(&page, &link);
        assert_eq!(stages(&page), expected, "{link}");
        assert!(!page.shows("#recover"), "{link}");
    }
    for view in ["full", "sweep", "table", "timeline"] {
        page.requests();
        open(&page, &format!("?view={view}{LLAMA}"));
        let opened = page.requests();
        let opened = opened.iter().filter(|path| path.contains("embed.html"));
        assert_eq!(opened.count(), 1, "{view}");
        assert!(!page.shows("#recover"), "{view}");
    }
    for damaged in ["#v1;m=nothing@1;tp=2", "#v1;m=llama3-8b@1;tp=eight", "#v9"] {
        open(&page, damaged);
        assert!(!page.shows("#recover"), "{damaged}");
    }
}

#[test]
fn what_is_typed_while_the_second_part_is_on_its_way_takes_effect() {
    let page = Page::blank();
    open(&page, &format!("?fields=tp,pp,sp,rc,mbs{LLAMA}"));
    let before = page.eval(RESULT);
    hold_back(&page);
    page.fill("#field-tp", "2");
    page.until("window.proceed");
    page.fill("#field-mbs", "2");
    page.click("[data-at='pp/up']");
    page.click("#field-sp");
    page.eval(
        "(() => { const list = document.getElementById('field-rc'); list.value = 'full'; \
         list.dispatchEvent(new Event('change', { bubbles: true })); })()",
    );
    assert_eq!(page.value("#field-tp"), "2");
    assert_eq!(page.eval(RESULT), before);
    page.eval("proceed()");
    let all = ["tp=2", "pp=2", "sp=1", "rc=full", "mbs=2"];
    for field in all {
        page.until(&format!("location.hash.split(';').includes('{field}')"));
    }
    assert_eq!(page.value("#field-tp"), "2");
    assert_eq!(page.value("#field-pp"), "2");
    // Each of them once, and from then on as ever.
    page.fill("#field-mbs", "4");
    page.until("location.hash.split(';').includes('mbs=4')");
    assert_eq!(page.value("#field-pp"), "2");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn pointing_at_something_takes_the_second_part_and_pointing_beside_it_does_not() {
    let page = Page::blank();
    open(&page, LLAMA);
    page.requests();
    page.hover("[data-testid=total]");
    page.hover(".embed-foot a");
    page.eval("document.querySelector('.embed-foot a').focus()");
    assert!(!asked(&page));
    page.hover(".headline-bar .mark");
    page.until("document.querySelector('.headline-bar .dims')");
    assert!(asked(&page));
}

#[test]
fn without_the_second_part_a_look_goes_on_and_an_edit_says_so() {
    let page = Page::blank();
    open(&page, LLAMA);
    hold_back(&page);
    page.eval("document.getElementById('field-tp').focus()");
    page.until("window.fail");
    page.eval("fail(new Error('gone'))");
    page.eval("delete window.fail");
    page.eval("document.getElementById('field-pp').focus()");
    page.until("window.fail");
    assert!(!page.shows("#recover"));
    page.type_keys("#field-pp", "2");
    page.eval("fail(new Error('gone'))");
    page.until("!document.getElementById('recover').hidden");
    assert!(page.text("#recover").contains("could not be loaded"));
}

#[test]
fn a_trap_is_a_mistake_only_when_nothing_is_missing() {
    let page = Page::blank();
    open(&page, LLAMA);
    page.trap();
    page.until("location.search.includes('whole')");
    page.until(RESULT);
    assert_eq!(page.eval("location.hash"), json!(LLAMA));
    assert!(!page.shows("#recover"));
    page.trap();
    page.until("!document.getElementById('recover').hidden");
    assert!(page.text("#recover").contains("mistake in the calculator"));
}

#[test]
fn several_edited_embeds_share_one_download_of_either_part() {
    let calculator = Site::new("");
    let script = format!(
        "<script src='{}embed.js'></script>",
        calculator.calculator()
    );
    let three = format!("<megatron-memory config='{LLAMA}'></megatron-memory>").repeat(3);
    let page = Page::blank();
    page.visit(&Site::new(format!("{script}<body>{three}")).address);
    let frame = |number: usize| {
        format!(
            "document.querySelectorAll('megatron-memory')[{number}].shadowRoot?.querySelector('iframe')"
        )
    };
    for number in 0..3 {
        page.until(&format!("{}?.clientHeight > 100", frame(number)));
        page.enter(&frame(number));
        page.fill("#field-tp", "2");
        page.until("location.hash.includes('tp=2')");
        page.leave();
    }
    let requests = calculator.requests();
    for part in ["_bg.wasm", "_rest.wasm"] {
        let count = requests.iter().filter(|path| path.ends_with(part)).count();
        assert_eq!(count, 1, "{part}");
    }
}

#[test]
fn elements_with_and_without_an_origin_get_both_parts() {
    for attribute in ["", "isolated"] {
        let calculator = Site::new("");
        let script = format!(
            "<script src='{}embed.js'></script>",
            calculator.calculator()
        );
        let element =
            format!("<megatron-memory {attribute} config='#v1;m=llava-7b@1'></megatron-memory>");
        let page = Page::blank();
        page.visit(&Site::new(format!("{script}<body>{element}")).address);
        let frame = "document.querySelector('megatron-memory').shadowRoot?.querySelector('iframe')";
        page.until(&format!("{frame}?.clientHeight > 100"));
        page.enter(frame);
        page.until(&format!("JSON.parse({RESULT}).totals.stages.length > 1"));
        page.leave();
        page.eval(&format!(
            "document.querySelector('megatron-memory').setAttribute('config', '{LLAMA}')"
        ));
        page.enter(frame);
        page.until(&format!("JSON.parse({RESULT}).totals.stages.length === 1"));
        assert!(!page.shows("#recover"), "{attribute}");
        page.leave();
        // Another element starts with the first part, and gets the second by what its page says.
        page.eval(
            "(() => { const old = document.querySelector('megatron-memory'); const next = old.cloneNode(true); \
             old.replaceWith(next); next.scrollIntoView(); })()",
        );
        page.until(&format!("{frame}?.clientHeight > 100"));
        page.eval("document.querySelector('megatron-memory').setAttribute('config', '#v1;m=llama3-8b@1;tp=2')");
        page.enter(frame);
        page.until("location.hash === '#v1;m=llama3-8b@1;tp=2' && document.querySelector('#field-tp').value === '2'");
        assert_eq!(page.eval("location.search.includes('whole')"), json!(false));
        page.fill("#field-tp", "4");
        page.until("location.hash.includes('tp=4')");
    }
}
