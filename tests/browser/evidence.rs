//! The page with measured runs beside their predictions.

use serde_json::json;

use super::page::Page;

const VISIBLE: &str =
    "[...document.querySelectorAll('tr[data-measure]')].filter((row) => row.checkVisibility())";

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
    assert!(!page.shows(".filters"));
    // Worst first.
    let errors = page.eval(
        "[...document.querySelectorAll('tr[data-measure]')]
            .filter((row) => !row.textContent.includes('Stale'))
            .map((row) => row.cells[7])
            .map((cell) => parseFloat(cell.textContent.slice(1)) || 0)",
    );
    let errors: Vec<f64> = serde_json::from_value(errors).unwrap();
    assert!(errors.is_sorted_by(|a, b| a >= b), "{errors:?}");
}

#[test]
fn filters_narrow_the_rows() {
    let page = Page::blank();
    open(&page);
    page.until("document.querySelector('output').textContent");
    let all = page.eval(&format!("{VISIBLE}.length")).as_u64().unwrap();
    page.eval("(document.querySelector('#group').value = 'SimuMax on B200', document.querySelector('#group').dispatchEvent(new Event('input', { bubbles: true })))");
    let some = page.eval(&format!("{VISIBLE}.length")).as_u64().unwrap();
    assert!(some >= 23 && some < all);
    assert_eq!(
        page.eval(&format!(
            "new Set({VISIBLE}.map((row) => row.dataset.group)).size"
        )),
        json!(1)
    );
    page.fill("#words", "deepseek peak allocated");
    let few = page.eval(&format!("{VISIBLE}.length")).as_u64().unwrap();
    assert!(few > 0 && few < some);
    assert_eq!(page.text("output"), format!("{few} of {all}"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_row_opens_the_calculator_with_its_job() {
    let page = Page::blank();
    open(&page);
    // Of one module: where several share a rank, the calculator opens on the stage of one of them.
    let row = format!(
        "{VISIBLE}.find((row) => row.dataset.measure === 'peak allocated' && !row.querySelector('td:last-child a')?.hash.includes('mod='))"
    );
    let predicted = page.eval(&format!("{row}.cells[6].textContent"));
    let stage = page.eval(&format!("{row}.cells[2].textContent"));
    page.eval(&format!("{row}.querySelector('td:last-child a').click()"));
    page.until("!document.querySelector('#app > .shell')");
    let shown = page.text("[data-testid=stage]");
    assert!(
        shown
            .to_lowercase()
            .contains(&format!("stage {}", stage.as_str().unwrap())),
        "{shown}"
    );
    let note = page.text(".detail .panel-note");
    assert!(
        note.starts_with(predicted.as_str().unwrap()),
        "{note} and {predicted}"
    );
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
    assert_eq!(page.eval("document.documentElement.scrollWidth"), 320);
}
