//! What the page makes of its surroundings: a keyboard alone, a denied clipboard or storage, a second tab, settings of
//! the system, and no network.

use serde_json::json;

use super::page::Page;

const TAB: &str = "\u{E004}";
const ENTER: &str = "\u{E007}";
const SMALL: &str = "v1;m=llama3-8b@1;gpus=8;tp=1;pp=2;cp=1;gbs=64;sp=0";

/// What has the focus, where the focus cannot be seen there: no ring, off the screen, or covered.
const UNSEEN: &str = "
    (() => {
      const at = document.activeElement;
      const { left, right, top, bottom } = at.getBoundingClientRect();
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      const name = `${at.tagName} ${at.id} ${at.className} ${at.innerText ?? ''}`;
      // Marks of pictures have a line of their own.
      if (!at.closest('svg') && (outlineStyle === 'none' || parseFloat(outlineWidth) < 2)) return `${name}: no ring`;
      const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
      if (!hit) return `${name}: off the screen`;
      const own = at.contains(hit) || hit.contains(at) || hit.closest('svg') === at.closest('svg') || hit.closest('label');
      return own ? null : `${name}: covered by ${hit.tagName} ${hit.className}`;
    })()";

#[test]
fn the_tab_key_leads_through_the_page_and_the_focus_is_always_seen() {
    let page = Page::open("");
    page.until("document.querySelector('#parts-3')");
    page.press(TAB);
    assert_eq!(page.eval("document.activeElement.className"), "skip");
    page.run("window.visited = new Set()");
    for _ in 0..70 {
        page.press(TAB);
        let unseen = page.eval(UNSEEN);
        assert_eq!(unseen, json!(null));
        page.run("visited.add(document.activeElement)");
    }
    // No trap: each stop is another element.
    assert_eq!(page.eval("visited.size"), 70);
}

#[test]
fn the_table_is_sorted_by_keyboard_and_copied_with_tabs() {
    let page = Page::open("");
    page.before_load(
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } })",
    );
    page.eval("location.reload()");
    page.until("document.querySelectorAll('.numbers tbody tr').length === 16");
    let first = "document.querySelector('.numbers tbody tr th').textContent.trim()";
    assert_eq!(page.eval(first), "stage 0");
    page.eval(
        "[...document.querySelectorAll('.numbers thead button')].find((b) => b.textContent.includes('Total')).focus()",
    );
    page.press(ENTER);
    page.until("document.querySelector('.numbers thead [aria-sort=descending]')");
    assert_eq!(page.eval(first), "stage 1");
    assert_eq!(
        page.eval("[...document.querySelectorAll('.numbers th')].filter((th) => !th.scope).length"),
        0
    );
    page.eval("[...document.querySelectorAll('.numbers button')].find((b) => b.textContent === 'Copy as TSV').click()");
    page.until("window.copied?.split('\\n').length >= 17");
    let total = page.text("[data-testid=total]");
    let row = page.eval("copied.split('\\n')[1]");
    let number = total.split_whitespace().next().unwrap();
    let cells: Vec<&str> = row.as_str().unwrap().split('\t').collect();
    // The headline has a digit less.
    let of_row: f64 = cells.last().unwrap().parse().unwrap();
    assert!(cells.len() > 2, "{row}");
    assert_eq!(format!("{of_row:.1}"), number, "{row}");
}

#[test]
fn a_link_is_copied_or_selected_where_the_clipboard_is_denied() {
    for allowed in [true, false] {
        let page = Page::blank();
        page.before_load(&format!(
            "Object.defineProperty(navigator, 'clipboard', {{ value: {{ writeText: async (text) => {{
               if (!{allowed}) throw new DOMException('denied', 'NotAllowedError');
               window.copied = text;
             }} }} }});
             document.execCommand = () => false;"
        ));
        page.load(SMALL);
        page.click("[data-testid=copy-link]");
        if allowed {
            page.until("window.copied?.includes('#v1;m=llama3-8b@1;')");
            page.until("document.querySelector('.notice').innerText.includes('Link copied')");
            page.until("document.getElementById('spoken').innerText.includes('Link copied')");
        } else {
            page.until("document.querySelector('dialog[open]')");
            page.until("document.getElementById('link-text').value.includes('#v1;m=llama3-8b@1;') && document.getElementById('link-text').selectionEnd > 20");
        }
    }
}

#[test]
fn nothing_is_requested_while_the_job_is_edited() {
    let page = Page::open(SMALL);
    page.requests();
    for value in ["1024", "2048", "4096", "8192", "x", "4096"] {
        page.fill("#field-seq", value);
    }
    page.choose_preset("qwen3-235b-a22b");
    page.click("#tab-1");
    // A browser without a history looks for the icon of every address anew.
    let mut requests = page.requests();
    requests.retain(|address| !address.starts_with("./favicon.svg"));
    assert_eq!(requests, Vec::<String>::new());
}

#[test]
fn without_storage_everything_else_works() {
    let page = Page::blank();
    page.before_load(
        "for (const name of ['localStorage', 'sessionStorage'])
           Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError'); } });",
    );
    page.load(SMALL);
    let before = page.text("[data-testid=total]");
    page.fill("#field-seq", "2048");
    page.until(&format!(
        "document.querySelector('[data-testid=total]').innerText !== {}",
        json!(before)
    ));
    page.until("location.hash.includes('seq=2048')");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn two_tabs_do_not_touch_each_other() {
    let page = Page::open(SMALL);
    let (fragment, total) = (page.fragment(), page.text("[data-testid=total]"));
    page.run("window.other = window.open(`${location.pathname}#v1;m=qwen3-235b-a22b@2`)");
    page.until("other.document.querySelector('[data-testid=total]') && other.document.getElementById('field-seq')");
    page.run(
        "const field = other.document.getElementById('field-seq');
         field.value = '2048';
         field.dispatchEvent(new Event('input', { bubbles: true }));",
    );
    page.until("other.location.hash.includes('seq=2048')");
    assert_eq!(page.fragment(), fragment);
    assert_eq!(page.text("[data-testid=total]"), total);
    page.eval("location.reload()");
    page.until_started();
    assert_eq!(page.fragment(), fragment);
    assert_eq!(page.text("[data-testid=total]"), total);
}

#[test]
fn settings_of_the_system_are_followed() {
    let page = Page::blank();
    page.block(&["*.wasm*"]);
    page.media("prefers-color-scheme", "dark");
    page.go("");
    // Dark from the first frame on, before the calculator is there.
    let back = "getComputedStyle(document.documentElement).backgroundColor";
    assert_eq!(page.eval(back), "rgb(20, 22, 26)");
    page.block(&[]);
    page.media("prefers-reduced-motion", "reduce");
    page.load("");
    page.until("document.querySelector('#parts-3')");
    let moving = "[...document.querySelectorAll('body *')].filter((element) => {
        const { transitionDuration, animationName } = getComputedStyle(element);
        return animationName !== 'none' || transitionDuration.split(', ').some((time) => parseFloat(time) > 0.001);
    }).length";
    assert_eq!(page.eval(moving), 0);
    page.media("forced-colors", "active");
    page.until("matchMedia('(forced-colors: active)').matches");
    // The colors of buckets are data, and a line keeps neighbors apart.
    let kept = "(({ forcedColorAdjust, strokeWidth }) => [forcedColorAdjust, parseFloat(strokeWidth) > 0])(getComputedStyle(document.querySelector('.scene .bucket')))";
    assert_eq!(page.eval(kept), json!(["none", true]));
}
