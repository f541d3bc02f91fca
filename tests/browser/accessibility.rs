//! What an accessibility checker finds in every state of the page, and what a small screen shows.

use serde_json::json;

use super::evidence;
use super::page::Page;
use super::site::Site;
use super::webdriver::Font;

const ESCAPE: &str = "\u{E00C}";

#[test]
fn no_barriers_in_light_and_dark() {
    let page = Page::open("");
    for scheme in ["light", "dark"] {
        page.media("prefers-color-scheme", scheme);
        assert_eq!(page.barriers(), Vec::<String>::new(), "{scheme}");
    }
}

#[test]
fn no_barriers_beside_problems_and_with_everything_open() {
    let page = Page::open("v1;m=llama3-8b@1;tp=3");
    page.until("document.querySelector('.problem')");
    assert_eq!(page.barriers(), Vec::<String>::new());
    open_everything(&page);
    page.eval("document.querySelectorAll('.tip').forEach((b) => b.click())");
    assert_eq!(page.barriers(), Vec::<String>::new());
}

#[test]
fn no_barriers_beside_timeline_and_ledger() {
    let page = Page::open(super::peaks::LLAMA);
    for tab in ["Change", "Compare", "Check"] {
        page.show(tab);
        if tab == "Change" {
            page.until("document.querySelectorAll('.savings tbody tr').length > 5");
        }
        assert_eq!(page.barriers(), Vec::<String>::new(), "{tab}");
    }
    page.show("Memory");
    page.click("#tab-2");
    assert_eq!(page.barriers(), Vec::<String>::new());
}

/// The list of models in each of its orders, the menu of a phone, and the dialogs beside those of jobs.
#[test]
fn no_barriers_in_menus_and_small_dialogs() {
    let page = Page::open("v1;m=llama3-8b@1;vs;m=llama3-8b@1;tp=2");
    page.click("#preset");
    page.until("document.querySelector('#presets .preset-option')");
    for order in 1..=3 {
        page.click(&format!("#presets .segments button:nth-child({order})"));
        assert_eq!(page.barriers(), Vec::<String>::new(), "order {order}");
    }
    page.press(ESCAPE);
    page.until("!document.querySelector('#presets').matches(':popover-open')");
    for (opener, dialog) in [("[data-testid=help]", "#help"), (".foot button", "#report")] {
        page.eval(&format!("document.querySelector('{opener}').click()"));
        page.until(&format!("document.querySelector('{dialog}').open"));
        assert_eq!(page.barriers(), Vec::<String>::new(), "{dialog}");
        page.press(ESCAPE);
        page.until(&format!("!document.querySelector('{dialog}').open"));
    }
    page.viewport(390, 844);
    page.click("[data-testid=more]");
    page.until("document.querySelector('.menu').matches(':popover-open')");
    assert_eq!(page.barriers(), Vec::<String>::new(), "the menu of a phone");
}

#[test]
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
fn no_barriers_beside_the_evidence() {
    let page = Page::blank();
    evidence::open(&page);
    // Hundreds of rows are alike; the checker would look at each of their cells for minutes.
    page.eval("document.querySelectorAll('tbody tr').forEach((row, i) => { if (i % 10) row.remove(); })");
    for scheme in ["light", "dark"] {
        page.media("prefers-color-scheme", scheme);
        assert_eq!(page.barriers(), Vec::<String>::new(), "{scheme}");
    }
}

#[test]
fn no_barriers_among_the_formulas() {
    let page = Page::blank();
    page.follow("formulas.html");
    page.eval("document.querySelectorAll('details').forEach((part) => { part.open = true; })");
    for scheme in ["light", "dark"] {
        page.media("prefers-color-scheme", scheme);
        assert_eq!(page.barriers(), Vec::<String>::new(), "{scheme}");
    }
}

/// The controls of the results that end beyond the window and do not scroll by themselves.
const STICKING_OUT: &str = "
    [...document.querySelectorAll('.results button, .results input, .results label, .results textarea')]
      .filter((control) => control.checkVisibility() && !control.closest('.table-scroll') && control.getBoundingClientRect().right > innerWidth)
      .map((control) => control.name || control.innerText)";

#[test]
fn a_narrow_screen_needs_no_sideways_scrolling() {
    let page = Page::open("");
    for tab in ["Memory", "Change", "Compare", "Check"] {
        page.show(tab);
        // A small phone, the usual one, and a laptop whose reader has everything twice as large.
        for (width, height) in [(320, 640), (360, 740), (640, 360)] {
            page.viewport(width, height);
            assert_eq!(
                page.eval("document.documentElement.scrollWidth <= innerWidth"),
                true,
                "{tab} at {width}"
            );
            assert_eq!(page.eval(STICKING_OUT), json!([]), "{tab} at {width}");
        }
    }
}

/// Opens all sections with all their fields.
fn open_everything(page: &Page) {
    page.eval("document.querySelectorAll('.section-line[aria-expanded=false]').forEach((b) => b.click())");
    page.until("!document.querySelector('.section-line[aria-expanded=false]')");
    page.eval(
        "document.querySelectorAll('.section-foot button').forEach((b) => b.innerText.startsWith('All ') && b.click())",
    );
    page.until("document.querySelectorAll('.field').length > 150");
}

/// The controls that can be hit in less than a square of `SIDE` pixels, but for the borders that neighbors share. Marks
/// of charts may be narrow: the table below them has buttons for the same.
const SMALL: &str = "
    (() => {
      const small = [];
      for (const control of document.querySelectorAll('a[href], button, input, select, summary, textarea')) {
        if (!control.checkVisibility({ visibilityProperty: true }) || control.disabled || control.matches('.skip')) continue;
        const target = control.closest('label') ?? control;
        target.scrollIntoView({ block: 'center', inline: 'center' });
        const { left, right, top, bottom } = target.getBoundingClientRect();
        const [x, y, far] = [(left + right) / 2, (top + bottom) / 2, SIDE / 2 - 2];
        const hits = (dx, dy) => target.contains(document.elementFromPoint(x + dx, y + dy));
        const sides = [[far, 0], [-far, 0], [0, far], [0, -far]];
        if (!sides.every(([dx, dy]) => hits(dx, dy))) {
          small.push(`${control.tagName}.${control.className} ${control.innerText || control.ariaLabel || control.id}: ${right - left} by ${bottom - top}`);
        }
      }
      return small;
    })()";

#[test]
fn everything_can_be_hit_with_a_finger() {
    for font in [Font::Wide, Font::Narrow] {
        hit_everything(font);
    }
}

#[track_caller]
fn hit_everything(font: Font) {
    let page = Page::open_in(font, "");
    open_everything(&page);
    let small = |side: &str| page.eval(&SMALL.replace("SIDE", side));
    assert_eq!(small("24"), json!([]), "{font:?}");
    page.viewport(360, 740);
    page.touch();
    assert_eq!(small("44"), json!([]), "{font:?}");
}

/// Makes all words a third longer, as those of other languages are, and the page read from `DIRECTION`.
const LENGTHEN: &str = "
    (() => {
      document.documentElement.dir = DIRECTION;
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const text = texts.currentNode;
        if (!text.parentElement.closest('code, pre, option, textarea, .formula')) {
          text.data = text.data.replace(/[a-z]{2,}/gi, (word) => word.replace(/[aeiou]/gi, '$&$&'));
        }
      }
    })()";

/// Sets lines, paragraphs, letters and words as far apart as WCAG 1.4.12 lets readers set them, but for pictures.
const SPREAD: &str = "
    (() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(`body *:not(svg, svg *) { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }
        body p { margin-bottom: 2em !important }`);
      document.adoptedStyleSheets = [sheet];
    })()";

/// What lies on each other or sticks out. What scrolls by itself may be wider than its place.
const CROWDED: &str = "
    (() => {
      const crowded = [];
      const name = (element) => `${element.tagName}.${element.className}`;
      const seen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.offsetWidth > 1;
      for (const box of document.querySelectorAll('body *')) {
        if (box.closest('svg, .table-scroll, .switch, .field-name') || !seen(box)) continue;
        const style = getComputedStyle(box);
        if (style.display !== 'inline' && style.overflowX === 'visible' && box.scrollWidth > box.clientWidth + 2) {
          crowded.push(`${name(box)} sticks out`);
        }
        if (!/flex|grid/.test(style.display)) continue;
        const inside = [...box.children].filter((child) =>
          seen(child) && !/absolute|fixed|sticky/.test(getComputedStyle(child).position));
        for (const [i, child] of inside.entries()) {
          const a = child.getBoundingClientRect();
          for (const other of inside.slice(i + 1)) {
            const b = other.getBoundingClientRect();
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (across > 2 && down > 2) crowded.push(`${name(child)} on ${name(other)}`);
          }
        }
      }
      const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
      for (const picture of document.querySelectorAll('svg.scene')) {
        const place = (shape) => shape.getBoundingClientRect();
        const texts = [...picture.querySelectorAll('text')].filter((text) => place(text).width > 0);
        const frame = place(picture);
        for (const [i, text] of texts.entries()) {
          const [a, said] = [place(text), `${picture.classList[1]}: ${text.textContent}`];
          if (a.left < frame.left - 2 || a.right > frame.right + 2) crowded.push(`${said} sticks out`);
          for (const other of texts.slice(i + 1)) {
            if (over(a, place(other))) crowded.push(`${said} on ${other.textContent}`);
          }
          const bars = [...text.parentElement.querySelectorAll('.bucket')].map(place).filter(({ width }) => width > 0);
          if (text.matches('.row .label') && bars.some((bar) => over(a, bar))) crowded.push(`${said} on its bar`);
          if (text.matches('.inside') && bars.some((bar) => a.right > bar.right)) crowded.push(`${said} leaves its bar`);
        }
      }
      return crowded;
    })()";

#[test]
fn long_words_find_room_in_both_directions() {
    for direction in ["'ltr'", "'rtl'"] {
        find_room(Font::Wide, "", "#tab-0", direction);
    }
}

#[test]
fn long_words_find_room_in_a_narrow_font_too() {
    find_room(Font::Narrow, "", "#tab-0", "'ltr'");
}

#[test]
fn long_words_find_room_in_every_picture() {
    for (link, tab) in [("", "#tab-1"), ("", "#tab-2"), ("v1;m=qwen3.5-vl-27b@1", "#tab-0")] {
        find_room(Font::Wide, link, tab, "'ltr'");
    }
}

#[track_caller]
fn find_room(font: Font, link: &str, tab: &str, direction: &str) {
    for width in [1280, 360] {
        let page = Page::open_in(font, link);
        open_everything(&page);
        page.click(tab);
        page.viewport(width, 800);
        page.until(&format!(
            "document.querySelector('{tab}[aria-selected=true]') && document.querySelector('#parts-2 polygon')"
        ));
        page.eval(&LENGTHEN.replace("DIRECTION", direction));
        let crowded = page.eval(CROWDED);
        assert_eq!(crowded, json!([]), "{font:?} {link} {tab} {direction} at {width}");
        assert_eq!(page.eval("document.documentElement.scrollWidth"), width);
    }
}

#[test]
fn texts_that_are_set_wide_find_room() {
    for width in [1280, 360] {
        let page = Page::open("");
        open_everything(&page);
        page.viewport(width, 800);
        page.until("document.querySelector('#parts-2 polygon')");
        page.eval(SPREAD);
        let crowded = page.eval(CROWDED);
        assert_eq!(crowded, json!([]), "at {width}");
        assert_eq!(page.eval("document.documentElement.scrollWidth"), width);
    }
}

/// A few lines of header with model and GPUs, and below it a headline that stays.
#[test]
fn a_phone_shows_the_total_and_keeps_what_is_rarely_needed_in_a_menu() {
    let page = Page::open("v1;m=deepseek-v3@1");
    for width in [320, 360, 400, 500] {
        page.viewport(width, 640);
        let height = page.eval("document.querySelector('.header').offsetHeight");
        let most = if width < 360 { 180 } else { 145 };
        assert!(height.as_u64().unwrap() < most, "{height} at {width}");
        let name = page.eval(
            "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(
                document.querySelector('.preset-name'))",
        );
        assert_eq!(name, true, "the name of the model is cut at {width}");
    }
    page.viewport(360, 640);
    assert!(!page.shows("[data-testid=import]"));
    page.click("[data-testid=more]");
    assert!(page.shows("[data-testid=import]"));
    page.press(ESCAPE);
    page.eval("document.getElementById('field-seq').scrollIntoView({ block: 'center' })");
    page.until("scrollY > 0");
    let top = page.eval("document.querySelector('.total').getBoundingClientRect().top >= 0");
    assert_eq!(top, true);
}

#[test]
fn inputs_result_and_chart_print_on_two_sheets() {
    let page = Page::open("");
    for (link, last_stage) in [
        ("v1;m=deepseek-v3@1", "stage 15"),
        ("v1;m=qwen3.5-vl-27b@1", "images stage 0"),
    ] {
        page.load(link);
        // What is out of sight follows a frame later.
        page.until(&format!(
            "document.querySelector('#app').textContent.includes('{last_stage}')"
        ));
        assert_eq!(page.sheets(), 2, "{link}");
    }
}
