//! The layout search in the built page: what it does to the page while it runs, and what can be done with its table.

use super::page::Page;

const LLAMA: &str = "v1;m=llama3-8b@1;gpus=64;tp=2;cp=1;gbs=256";
const DIALOG: &str = "dialog.exchange";
const TOTAL: &str = "[data-testid=total]";

/// The page with the search open.
fn open(fragment: &str) -> Page {
    let page = Page::open(fragment);
    page.until(&format!("document.querySelector('{TOTAL}').innerText"));
    page.click("[data-exchange=search]");
    page.until(&format!("document.querySelector('{DIALOG}[open] h2')"));
    page
}

fn at(place: &str) -> String {
    format!("{DIALOG} [data-at=\"{place}\"]")
}

fn search(page: &Page) {
    page.click(&at("start"));
    page.until(&format!(
        "document.querySelector('{DIALOG} .layouts-progress').innerText.includes('Done')"
    ));
}

/// Text of the cells of a column, from the first row on.
fn column(page: &Page, number: usize) -> Vec<String> {
    let cells = page.eval(&format!(
        "Array.from(document.querySelectorAll('{DIALOG} tbody tr:not(.layouts-gap) td:nth-child({number})'), (cell) => cell.innerText)"
    ));
    let cells = cells.as_array().unwrap().iter();
    cells
        .map(|cell| cell.as_str().unwrap().to_owned())
        .collect()
}

fn numbers(page: &Page, number: usize) -> Vec<f64> {
    column(page, number)
        .iter()
        .map(|cell| cell.parse().unwrap())
        .collect()
}

#[test]
fn a_layout_is_found_and_applied_in_one_step_that_undo_takes_back() {
    let page = open(LLAMA);
    let said = page.text(DIALOG);
    assert!(
        said.contains("7 values of PP × 7 values of TP = 49 combinations."),
        "{said}"
    );
    let before = page.fragment();
    search(&page);
    page.screenshot("layouts");
    let status = page.text(&format!("{DIALOG} .layouts-progress [role=status]"));
    assert!(status.starts_with("Done: "), "{status}");
    // Ordered by GPUs a copy, then by the bubble.
    assert!(numbers(&page, 6).is_sorted(), "{:?}", column(&page, 6));
    page.click(&format!("{DIALOG} tbody [aria-label=\"Apply PP 4, TP 2\"]"));
    page.until(&format!("!document.querySelector('{DIALOG}').open"));
    page.until(&format!(
        "location.hash === '#{}'",
        before.replace("tp=2", "tp=2;pp=4")
    ));
    page.click("[data-at=undo]");
    page.until(&format!("location.hash === '#{before}'"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}
