//! The page with the fewest GPUs for every model, by way of training.

use serde_json::json;

use super::page::Page;

fn open(page: &Page) {
    page.follow("fewest-gpus.html");
}

#[test]
fn every_way_of_training_is_there_without_scripts() {
    let page = Page::blank();
    page.javascript(false);
    open(&page);
    page.javascript(true);
    let rows = page.count("tr[data-measure]");
    assert!(rows > 100 && rows.is_multiple_of(3), "{rows}");
    assert!(page.count("td.number a") > 2000);
}

#[test]
fn a_number_opens_a_job_that_fits_on_so_many_gpus() {
    let page = Page::blank();
    open(&page);
    page.until("!document.querySelector('.filters').hidden");
    page.fill("#words", "llama 3 8b");
    page.eval("(() => { const of = document.getElementById('measure'); of.value = 'adapters'; of.dispatchEvent(new Event('input', { bubbles: true })); })()");
    let row = "[...document.querySelectorAll('tr[data-measure=adapters]')].find((row) => row.checkVisibility())";
    assert!(
        page.eval(&format!("{row}.cells[0].innerText"))
            .as_str()
            .unwrap()
            .contains("LoRA")
    );
    page.screenshot("fewest-gpus");
    for scheme in ["light", "dark"] {
        page.media("prefers-color-scheme", scheme);
        assert_eq!(page.barriers(), Vec::<String>::new(), "{scheme}");
    }
    let link = format!("{row}.querySelector('a')");
    let gpus = page.eval(&format!("{link}.innerText"));
    page.eval(&format!("{link}.click()"));
    page.until_started();
    page.until("document.querySelector('[data-testid=verdict]').innerText === 'Fits'");
    assert_eq!(json!(page.value("#gpu-count")), gpus);
    assert!(page.fragment().contains("peft=lora"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn it_fits_a_phone() {
    let page = Page::blank();
    open(&page);
    page.viewport(320, 640);
    page.eval("document.querySelector('details.group').open = true");
    page.until("document.querySelector('tr[data-measure]')");
    page.screenshot("fewest-gpus-phone");
    assert_eq!(page.eval("document.documentElement.scrollWidth"), json!(320));
}
