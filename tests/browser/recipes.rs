//! The page with the recipes of Megatron-Bridge.

use serde_json::json;

use super::page::Page;

fn open(page: &Page) {
    page.follow("recipes.html");
}

#[test]
fn every_recipe_is_there_without_scripts() {
    let page = Page::blank();
    page.javascript(false);
    open(&page);
    page.javascript(true);
    assert!(page.count("tr[data-measure]") > 450);
    assert_eq!(page.count("[aria-labelledby=table-title] tbody tr"), 18);
    assert!(page.count("details.group") > 10);
    // Rows whose own recipe is not among the recipes say whose settings theirs are.
    let built = page.count("[aria-labelledby=table-title] tbody .note");
    assert!(built > 0 && built < 18, "{built}");
}

#[test]
fn filters_narrow_the_recipes_and_a_row_opens_its_job() {
    let page = Page::blank();
    open(&page);
    page.until("!document.querySelector('.filters').hidden");
    page.fill("#words", "qwen3_30b pretrain h100");
    let few =
        page.eval("[...document.querySelectorAll('tr[data-measure]')].filter((row) => row.checkVisibility()).length");
    assert!(few.as_u64().unwrap() > 0);
    let all = page.count("tr[data-measure]");
    assert_eq!(page.text("output"), format!("{few} of {all}"));
    let row = "[...document.querySelectorAll('tr[data-measure=fits]')].find((row) => row.checkVisibility())";
    let needs = page.eval(&format!("{row}.cells[3].textContent"));
    page.eval(&format!("{row}.querySelector('a.model').click()"));
    page.until_started();
    let total = page.text("[data-testid=total]");
    let number = |text: &str| -> f64 { text.split_whitespace().next().unwrap().parse().unwrap() };
    let listed = number(needs.as_str().unwrap());
    assert!((number(&total) - listed).abs() < 0.1, "{total}, listed {listed}");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn it_fits_a_phone() {
    let page = Page::blank();
    open(&page);
    page.viewport(320, 640);
    page.eval("document.querySelector('details.group').open = true");
    page.until("document.querySelector('tr[data-measure]')");
    page.screenshot("recipes-phone");
    assert_eq!(page.eval("document.documentElement.scrollWidth"), json!(320));
}
