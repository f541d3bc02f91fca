//! The job trained in full, with adapters and with Megatron FSDP, side by side.

use serde_json::json;

use super::page::Page;

const ROWS: &str = ".methods tbody tr";

fn open(fragment: &str) -> Page {
    let page = Page::open(fragment);
    page.show("Change");
    assert_eq!(page.count(ROWS), 0);
    page.click("[data-testid=all-methods]");
    page.until(&format!("document.querySelectorAll('{ROWS}').length === 3"));
    page
}

fn peak(page: &Page, method: &str) -> String {
    page.text(&format!(".methods [data-method={method}] [data-cell=peak]"))
}

#[test]
fn a_way_of_training_is_compared_taken_over_and_undone() {
    let page = open("v1;m=llama3-8b@2;pp=1");
    let total = page.text("[data-testid=total]");
    assert_eq!(peak(&page, "full"), format!("{total} GiB"));
    assert_eq!(
        page.eval("document.querySelector('.methods [aria-pressed=true]').innerText"),
        json!("Full training")
    );
    let lora = peak(&page, "adapters");
    assert_ne!(lora, peak(&page, "full"));
    assert_ne!(peak(&page, "fsdp"), peak(&page, "full"));
    page.eval("document.querySelector('.methods').scrollIntoView()");
    page.screenshot("methods");
    assert_eq!(page.barriers(), Vec::<String>::new());
    // With the keyboard, as any button.
    page.eval("document.querySelector('.methods [data-method=adapters] button').focus()");
    page.press("\u{E007}");
    page.until("location.hash.includes('peft=lora')");
    assert_eq!(
        format!("{} GiB", page.text("[data-testid=total]")),
        lora,
        "the job needs what its row says"
    );
    page.until("document.querySelector('.methods [aria-pressed=true]').innerText === 'LoRA'");
    assert_eq!(
        page.eval("document.activeElement.innerText"),
        json!("LoRA"),
        "the button keeps the focus"
    );
    page.click(".notice [data-testid=undo]");
    page.until("!location.hash.includes('peft')");
    page.until("document.querySelector('.methods [aria-pressed=true]').innerText === 'Full training'");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_way_that_megatron_refuses_says_why() {
    let page = open("v1;m=deepseek-v3@1");
    let refused = page.text(".methods [data-method=fsdp] .refused");
    assert!(refused.contains("pipeline stages"), "names the rule: {refused}");
    assert_eq!(
        page.eval("document.querySelector('.methods [data-method=fsdp] button').disabled"),
        json!(true)
    );
    page.viewport(320, 640);
    assert_eq!(page.eval("document.documentElement.scrollWidth"), json!(320));
}
