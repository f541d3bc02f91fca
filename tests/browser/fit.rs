//! From a first visit to a job that fits: the settings at the top, the sizes that fit, and changes that make a job fit.

use std::time::Duration;

use super::page::Page;

const LIMIT: Duration = Duration::from_mins(1);

fn fits(page: &Page) -> bool {
    page.text("[data-testid=verdict]") == "Fits"
}

/// The numbers of a chip, as it shows them once they are worked out.
fn chip(page: &Page, name: &str) -> String {
    page.until_within(
        LIMIT,
        &format!("/\\d/.test(document.querySelector('[data-testid={name}] strong').innerText) && !document.querySelector('.limits.waiting')"),
    );
    page.text(&format!("[data-testid={name}] strong"))
}

/// Empty storage to "64 H100, Qwen3-235B, the longest sequence that fits": a model, a number, a layout, a length.
#[test]
fn a_newcomer_gets_the_longest_sequence_in_five_actions() {
    let page = Page::open("");
    assert!(page.text(".tagline").contains("Megatron training run"));
    page.click("#preset");
    page.until("document.activeElement.id === 'preset-search'");
    page.type_keys("#preset-search", "qwen3-235b\u{E007}");
    page.until("document.getElementById('preset').value === 'qwen3-235b-a22b'");
    page.fill("#gpu-count", "64");
    page.until("document.querySelector('.summary [data-testid=lay-out]')?.checkVisibility()");
    assert_eq!(page.value("#gpu-type"), "h100-80gb");
    page.click(".summary [data-testid=lay-out]");
    page.until_within(
        LIMIT,
        "['Fits', 'Tight'].includes(document.querySelector('[data-testid=verdict]').innerText)",
    );
    // The changes are where the free memory is offered.
    page.until("document.querySelector('.summary .primary').innerText === 'Use the free memory'");
    page.click(".summary .primary");
    let longest = chip(&page, "longest-sequence").replace([',', ' '], "");
    page.click("[data-testid=longest-sequence]");
    let tokens = longest.trim_end_matches("tokens");
    page.until(&format!("document.getElementById('field-seq').value === '{tokens}'"));
    page.until("document.querySelector('[data-testid=verdict]').innerText === 'Fits'");
    assert_eq!(page.value("#field-gpus"), "64");
    assert!(page.complaints().is_empty());
}

#[test]
fn a_change_makes_the_job_fit_and_is_undone_by_a_click() {
    let page = Page::open("v1;m=mixtral-8x7b@2;mbs=4");
    assert!(!fits(&page));
    page.show("Change");
    page.until_within(LIMIT, "document.querySelectorAll('.moves li').length > 2");
    let before = page.fragment();
    page.click(".moves li:first-child button");
    page.until("document.querySelector('[data-testid=verdict]').innerText === 'Fits'");
    page.until("document.querySelector('.fit .panel-note').innerText.includes('what the free memory allows')");
    assert_ne!(page.fragment(), before);
    page.click(".notice [data-testid=undo]");
    page.until("document.querySelector('[data-testid=verdict]').innerText !== 'Fits'");
    page.until_within(LIMIT, "document.querySelectorAll('.moves li').length > 2");
}

#[test]
fn what_expandable_segments_gain_is_found_by_a_replay_and_taken_by_a_click() {
    let page = Page::open("v1;m=llama3-70b@1");
    page.show("Change");
    page.run("document.querySelector('[data-testid=allocator-gains]').scrollIntoView({ block: 'center' })");
    let words = "document.querySelector('[data-testid=allocator-gains] p')?.innerText";
    page.until_within(
        LIMIT,
        &format!("{words}?.includes('expandable segments would reserve')"),
    );
    page.click("[data-testid=allocator-gains] button");
    page.until("location.hash.includes('expseg=1')");
    // Who has them gains nothing by them.
    page.until(&format!("!{words}?.includes('expandable segments would reserve')"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn the_free_memory_of_a_job_is_spent_by_a_click_and_the_job_still_fits() {
    let page = Page::open("v1;m=qwen3-235b-a22b@1;rc=full;rcm=uniform;rcn=1");
    assert!(fits(&page));
    page.show("Change");
    page.until_within(LIMIT, "document.querySelectorAll('.moves li').length > 1");
    let change = page.text(".moves li:first-child");
    assert!(change.contains("Recompute") && change.contains('+'), "{change}");
    let before = page.fragment();
    let total = page.text("[data-testid=total]");
    page.click(".moves li:first-child button");
    page.until(&format!(
        "document.querySelector('[data-testid=total]').innerText !== '{total}'"
    ));
    assert!(fits(&page));
    page.click(".notice [data-testid=undo]");
    page.until(&format!("location.hash === '#{before}'"));
}

#[test]
fn the_fewest_gpus_of_several_modules_are_one_click_away() {
    let page = Page::open("v1;m=qwen2.5-vl-3b@1");
    assert!(fits(&page));
    page.show("Change");
    page.until_within(LIMIT, "!document.querySelector('.limits.waiting')");
    assert_eq!(page.text("[data-testid=fewest-gpus] strong"), "2 GPUs");
    page.click("[data-testid=fewest-gpus]");
    page.until("document.querySelector('[data-testid=fewest-gpus]').ariaPressed === 'true'");
    assert!(fits(&page));
}

/// Of a job with many changes, and of one with few.
#[test]
fn what_is_below_the_changes_stays_where_it_is() {
    for width in [390, 1280] {
        let page = Page::blank();
        page.viewport(width, 844);
        let heights = [
            ("v1;m=mixtral-8x7b@2;mbs=4", "length > 2"),
            ("v1;m=deepseek-v3@1", "length > 0"),
        ]
        .map(|(link, changes)| {
            page.load(&format!("{link};tab=change"));
            page.until("document.querySelector('.fit-changes')");
            let at_first = page.eval("document.querySelector('.fit-changes').offsetHeight");
            page.until_within(LIMIT, &format!("document.querySelectorAll('.moves li').{changes}"));
            let height = page.eval("document.querySelector('.fit-changes').offsetHeight");
            assert_eq!(height, at_first, "{link} at {width}");
            height
        });
        let [many, few] = heights;
        assert_eq!(many, few, "at {width}");
    }
}

#[test]
fn the_tab_says_the_answer() {
    let page = Page::open("v1;m=llama3-8b@2");
    let total = page.text("[data-testid=total]");
    page.until(&format!(
        "document.title.startsWith('{total} GiB · Llama 3 8B · 8 × H100 80 GB')"
    ));
    page.fill("#field-tp", "3");
    page.until("document.title.startsWith('Cannot run')");
}
