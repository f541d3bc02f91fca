//! The page with measured runs beside their predictions.

use serde_json::json;

use super::page::Page;

const VISIBLE: &str = "[...document.querySelectorAll('tr[data-measure]')].filter((row) => row.checkVisibility())";

pub(crate) fn open(page: &Page) {
    page.follow("evidence.html");
}

#[test]
fn every_run_is_there_without_scripts() {
    let page = Page::blank();
    page.javascript(false);
    open(&page);
    page.javascript(true);
    assert!(page.count("tr[data-measure]") > 300);
    assert!(page.count("section:last-of-type tbody tr") > 100);
    // Groups are shown as they are, and opened by the browser itself.
    assert!(page.count("details.group") > 5);
    assert!(!page.shows("tr[data-measure]"));
    assert!(!page.shows(".filters"));
    // Worst first.
    let errors = page.eval(
        "[...document.querySelectorAll('table.runs')].map((table) => {
            const column = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === 'Error');
            return [...table.querySelectorAll('tr[data-measure]')]
                .filter((row) => !row.textContent.includes('Stale'))
                .map((row) => parseFloat(row.cells[column].textContent.slice(1)) || 0);
        })",
    );
    let groups: Vec<Vec<f64>> = serde_json::from_value(errors).unwrap();
    for errors in groups {
        assert!(errors.is_sorted_by(|a, b| a >= b), "{errors:?}");
    }
}

#[test]
fn tables_are_read_when_they_are_opened() {
    let page = Page::blank();
    open(&page);
    page.until("!document.querySelector('.filters').hidden");
    assert_eq!(page.count("tr[data-measure]"), 0);
    let elements = page.count("*");
    assert!(elements < 1_000, "{elements}");
    page.eval("document.querySelector('details.group > summary').click()");
    page.until("document.querySelector('tr[data-measure]')?.checkVisibility()");
    let rows = page.count("tr[data-measure]");
    assert!(page.count("noscript") + 1 == page.count("details.group"));
    page.eval("document.querySelector('details.group > summary').click()");
    page.eval("document.querySelector('details.group > summary').click()");
    assert_eq!(page.count("tr[data-measure]"), rows);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn filters_narrow_the_rows() {
    let page = Page::blank();
    open(&page);
    page.until("!document.querySelector('.filters').hidden");
    page.fill("#words", "deepseek peak allocated");
    let few = page.eval(&format!("{VISIBLE}.length")).as_u64().unwrap();
    let all = page.count("tr[data-measure]");
    assert!(few > 0 && few < all && all > 300);
    assert_eq!(page.text("output"), format!("{few} of {all}"));
    page.eval("(document.querySelector('#confidence').value = 'A', document.querySelector('#confidence').dispatchEvent(new Event('input', { bubbles: true })))");
    assert_eq!(
        page.eval(&format!("new Set({VISIBLE}.map((row) => row.dataset.confidence)).size")),
        json!(1)
    );
    // Groups without a row that fits are not shown.
    let empty = "[...document.querySelectorAll('details.group')].filter((group) => group.checkVisibility() && group.querySelector('tr[data-measure]') && ![...group.querySelectorAll('tr[data-measure]')].some((row) => !row.hidden)).length";
    assert_eq!(page.eval(empty), json!(0));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_row_opens_the_calculator_with_its_job() {
    let page = Page::blank();
    open(&page);
    page.eval("document.querySelectorAll('details.group').forEach((group) => (group.open = true))");
    page.until(&format!("{VISIBLE}.length > 300"));
    // Of one module: where several share a rank, the calculator opens on the stage of one of them.
    let row = format!(
        "{VISIBLE}.find((row) => row.dataset.measure === 'peak allocated' && !row.querySelector('a.model').hash.includes('mod='))"
    );
    let predicted = page.eval(&format!("{row}.cells[6].textContent"));
    let stage = page.eval(&format!("{row}.cells[2].textContent"));
    page.eval(&format!("{row}.querySelector('a.model').click()"));
    page.until_started();
    let shown = page.text("[data-testid=stage]");
    assert!(
        shown
            .to_lowercase()
            .contains(&format!("stage {}", stage.as_str().unwrap())),
        "{shown}"
    );
    let note = page.text(".detail .panel-note");
    assert!(note.starts_with(predicted.as_str().unwrap()), "{note} and {predicted}");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn it_fits_a_phone() {
    let page = Page::blank();
    open(&page);
    for scheme in ["light", "dark"] {
        page.media("prefers-color-scheme", scheme);
        page.screenshot(&format!("evidence-{scheme}"));
    }
    page.viewport(320, 640);
    page.eval("document.querySelector('details.group').open = true");
    page.until("document.querySelector('tr[data-measure]')");
    page.screenshot("evidence-phone");
    assert_eq!(page.eval("document.documentElement.scrollWidth"), 320);
    // Links and summaries are at least 24 pixels high.
    let low = "[...document.querySelectorAll('main :is(th a, summary), .home a')].filter((link) => link.checkVisibility() && link.getBoundingClientRect().height < 24).map((link) => link.textContent)";
    assert_eq!(page.eval(low), json!([]));
    // So are the labels of the picture, at that size, legible.
    let small = "[...document.querySelectorAll('.chart text')].filter((text) => text.checkVisibility() && text.getBoundingClientRect().height < 10).length";
    assert_eq!(page.eval(small), json!(0));
}
