//! What `index.html` shows of the default job before the calculator is there, and that nothing moves when it comes.
//!
//! The part between the markers is a copy of what the calculator draws. `FIRST_VIEW=write` in the environment of the
//! first test brings it up to date, after `cargo xtask build`; it takes a second build to get it into `dist`.

use std::{env, fs};

use serde_json::json;

use super::page::Page;

/// What stands around the copy in `index.html`.
const MARKERS: [&str; 2] = ["<!-- first view -->\n", "<!-- /first view -->"];

/// The header and the headline as HTML, an element a line, without what only scripts use: of lists only what is chosen,
/// and the list of models is not there, since only the attribute that is left out keeps it closed. The controls that
/// say which job it is are inert: what is typed before the calculator is there would be lost.
const DRAWN: &str = "
    (() => {
      const copy = (selector) => document.querySelector(`#app ${selector}`).cloneNode(true);
      const [header, summary] = [copy('.header'), copy('.summary')];
      const chosen = [...document.querySelectorAll('#app .header select')].map((list) => list.value);
      for (const [index, list] of header.querySelectorAll('select').entries()) {
        list.replaceChildren(list.querySelector(`option[value='${chosen[index]}']`));
      }
      header.querySelector('#presets').remove();
      header.querySelector('.job').toggleAttribute('inert', true);
      summary.querySelector('.headline-bar').replaceChildren();
      for (const part of [header, summary]) {
        for (const element of [part, ...part.querySelectorAll('*')]) {
          // In one order, whichever way they were set.
          const attributes = [...element.attributes].sort((a, b) => (a.name < b.name ? -1 : 1));
          for (const { name } of attributes) element.removeAttribute(name);
          for (const { name, value } of attributes) {
            if (!/^(id|popover|popovertarget|aria-haspopup|aria-pressed|aria-disabled|data-(?!verdict).*)$/.test(name)) element.setAttribute(name, value);
          }
          for (const child of [...element.childNodes]) if (child.nodeType === Node.COMMENT_NODE) child.remove();
        }
      }
      const html = `${header.outerHTML}<main class=\"panes\">${summary.outerHTML}`;
      return html.replace(/<(?!\\/)/g, '\\n<').trim() + '\\n';
    })()";

#[test]
fn the_first_view_is_what_the_calculator_draws() {
    let page = Page::open("");
    let drawn = page.eval(DRAWN).as_str().unwrap().to_owned();
    let path = browser::root().join("index.html");
    let document = fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once(MARKERS[0]).unwrap();
    let (shown, after) = rest.split_once(MARKERS[1]).unwrap();
    if env::var_os("FIRST_VIEW").is_some_and(|task| task == "write") {
        let updated = [before, MARKERS[0], &drawn, MARKERS[1], after].concat();
        fs::write(path, updated).unwrap();
    } else {
        assert_eq!(shown, drawn, "index.html: see {}", file!());
    }
}

/// Windows from a small phone's to a desktop's.
const WIDTHS: [(u32, u32); 5] = [(360, 740), (412, 800), (768, 900), (1280, 800), (1440, 900)];

/// Left, top and width of the parts that both views have, in CSS pixels.
const PLACES: &str = "
    ['.header', '.total', '.verdict', '.summary-foot', '.where', '.ways-out', '.form'].map((selector) => {
      const { left, top, width } = document.querySelector(`#app ${selector}`).getBoundingClientRect();
      return [left, top, width];
    })";

#[test]
fn the_calculator_takes_the_place_of_the_first_view() {
    for (width, height) in WIDTHS {
        let page = Page::blank();
        page.viewport(width, height);
        page.block(&["*.wasm*"]);
        page.go("");
        assert_eq!(page.count("#app > .shell"), 1);
        let places = || -> Vec<[f64; 3]> { serde_json::from_value(page.eval(PLACES)).unwrap() };
        let first = places();
        page.block(&[]);
        page.load("");
        let then = places();
        // The same text is a little narrower in more pieces.
        let moved = |(a, b): (&f64, &f64)| (a - b).abs() > 2.0;
        for (first, then) in first.iter().zip(&then) {
            let is_moved = first.iter().zip(then).any(moved);
            assert!(!is_moved, "at {width}: {first:?}, {then:?}");
        }
        assert_eq!(first.len(), then.len());
    }
}

#[test]
fn the_largest_paint_is_the_first_view_and_nothing_shifts() {
    for (width, height) in WIDTHS {
        let page = Page::blank();
        page.viewport(width, height);
        // Fast enough for the test and slow enough for the page to be painted before the calculator has arrived.
        page.throttle(1_000_000);
        page.load("");
        let seen = |kind: &str, value: &str| {
            page.eval(&format!(
                "new Promise((done) => {{
                   new PerformanceObserver((list) => done(list.getEntries().map((entry) => {value})))
                     .observe({{ type: '{kind}', buffered: true }});
                   setTimeout(() => done([]), 1000);
                 }})"
            ))
        };
        // An element that is no longer in the document is not named.
        let largest = seen("largest-contentful-paint", "entry.element?.outerHTML ?? null");
        assert_eq!(
            largest.as_array().unwrap().last(),
            Some(&json!(null)),
            "{largest} at {width}"
        );
        let shifts = seen("layout-shift", "entry.value");
        let sum: f64 = shifts
            .as_array()
            .unwrap()
            .iter()
            .filter_map(serde_json::Value::as_f64)
            .sum();
        assert!(sum < 0.02, "{shifts} at {width}");
    }
}

#[test]
fn a_link_to_another_job_does_not_show_the_default_one_first() {
    let page = Page::blank();
    page.block(&["*.wasm*"]);
    page.go("v1;m=llama3-8b@1");
    assert_eq!(
        page.eval("document.querySelector('.total').checkVisibility({ visibilityProperty: true })"),
        false
    );
    page.go("");
    page.eval("location.reload()");
    page.until("document.querySelector('.total').checkVisibility({ visibilityProperty: true })");
}
