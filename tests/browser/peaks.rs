//! Peaks on the page: the timeline, what is in flight, what is allowed for, and what recompute would save.

use serde_json::json;

use super::page::Page;

pub(super) const LLAMA: &str = "v1;m=llama3-8b@1;tp=2;pp=4;sp=1;mbs=1;gbs=64;gpus=32";

#[test]
fn the_timeline_is_a_tab_and_a_link_opens_it() {
    let page = Page::open(LLAMA);
    page.click("#tab-1");
    page.press("\u{E014}");
    page.until("document.querySelector('#tab-2[aria-selected=true]')");
    let shown = "document.querySelector('#stage-parts svg').getAttribute('aria-label').includes('at step') \
                 && document.querySelectorAll('#stage-parts polygon.bucket').length === 4";
    page.until(shown);
    page.until("location.hash.includes('timeline')");
    let again = Page::open(&page.fragment());
    again.until(shown);
    again.eval("document.querySelector('#stage-parts').scrollIntoView()");
    again.screenshot("timeline");
    again.show("Change");
    again.until("document.querySelectorAll('.savings tbody tr').length > 5");
    again.eval("document.querySelector('.savings').scrollIntoView({ block: 'end' })");
    again.screenshot("savings");
    assert_eq!(again.complaints(), Vec::<String>::new());
}

#[test]
fn longer_numbers_of_a_stage_do_not_move_what_is_below() {
    let page = Page::open("");
    page.until("document.querySelector('.detail .panel-note').innerText.startsWith('65.18 GiB')");
    let top = "document.querySelector('#stage-parts').getBoundingClientRect().top";
    let before = page.eval(top);
    page.click("#field-mbs");
    page.press("\u{E013}");
    page.until("document.querySelector('.detail .panel-note').innerText.startsWith('122.64 GiB')");
    assert_eq!(page.eval(top), before);
}

#[test]
fn a_stage_says_what_is_in_flight_and_what_comes_on_top() {
    let page = Page::open(LLAMA);
    let alive = page.text(".peaks tbody tr td:nth-child(3)");
    assert_eq!(alive, "4");
    assert!(page.text(".peaks p").contains("Heaviest moment"));
    let moments = page.text("[data-testid=moments]");
    assert!(moments.starts_with("after the first iteration"), "{moments}");
    assert!(moments.contains("while a checkpoint is saved"), "{moments}");
    page.click(".peaks [aria-label='Set CUDA context']");
    page.until("document.activeElement.id === 'field-cudactx'");
    let before = page.text(".peaks table:last-of-type tbody tr:last-child");
    page.fill("#field-cudactx", "9000");
    page.until("document.querySelector('.missing').innerText.includes('nvidia-smi')");
    let last = "[...document.querySelectorAll('.peaks tbody tr')].at(-1).innerText";
    assert_ne!(page.eval(last), json!(before));
    let total = page.text("[data-testid=total]");
    page.fill("#field-cudactx", "100");
    assert_eq!(
        page.text("[data-testid=total]"),
        total,
        "allowances are no part of the prediction"
    );
}

#[test]
fn what_is_reserved_comes_from_a_replay_once_it_is_in_sight() {
    let page = Page::open(LLAMA);
    let line = || page.text("[data-testid=reserved] > p");
    let is_by =
        |what: &str| format!("document.querySelector('[data-testid=reserved] > p').textContent.includes('by {what}')");
    let requests = page.requests();
    assert!(
        !requests.iter().any(|address| address.contains("search-worker")),
        "{requests:?}"
    );
    assert_eq!(page.eval(&is_by("the factors")), json!(true));
    let below = "document.querySelector('.detail').getBoundingClientRect().height";
    let height = page.eval(below);
    page.run("document.querySelector('[data-testid=reserved]').scrollIntoView({ block: 'center' })");
    page.until(&is_by("a replay"));
    let first = line();
    assert!(first.contains("are free but of no use: iteration "), "{first}");
    assert_eq!(page.eval(below), height, "what is below has moved");
    // What is allocated and what comes on top stay what they are: the verdict is by the factors.
    page.click("[data-testid=reserved] summary");
    page.until(
        "document.querySelector('[data-testid=reserved] details p').innerText.includes('The verdict uses it where the factors leave open')",
    );
    // Another job gets a replay of its own.
    page.fill("#field-mbs", "2");
    page.run("document.querySelector('[data-testid=reserved]').scrollIntoView({ block: 'center' })");
    let is_first = format!(
        "document.querySelector('[data-testid=reserved] > p').textContent === {}",
        json!(first)
    );
    page.until(&format!("{} && !({is_first})", is_by("a replay")));
    // And the first job has the same numbers as before.
    page.fill("#field-mbs", "1");
    page.until(&is_first);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_choice_of_the_ledger_becomes_the_job() {
    let page = Page::open(LLAMA);
    page.show("Change");
    page.until("document.querySelectorAll('.savings tbody tr').length > 5");
    // What is far out of sight has no inner text.
    page.eval("document.querySelector('.savings').scrollIntoView()");
    let current = "document.querySelector('.savings [aria-pressed=true]').innerText";
    page.until(&format!("{current} === 'nothing'"));
    let row = "[...document.querySelectorAll('.savings tbody tr')].find((row) => row.innerText.startsWith('full, every layer'))";
    let peak = page.eval(&format!("{row}.cells[3].innerText"));
    page.eval(&format!("{row}.querySelector('button').click()"));
    page.until(&format!("{current} === 'full, every layer'"));
    page.show("Memory");
    let total = page.eval("document.querySelector('.detail .panel-note').innerText");
    assert!(
        total.as_str().unwrap().starts_with(peak.as_str().unwrap()),
        "{total} {peak}"
    );
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_replay_settles_the_headline_of_a_tight_job() {
    let page = Page::blank();
    // Where what is below stands, in each frame with a place for the sentence.
    page.before_load(
        "const seen = new Set();
         window.tops = () => {
             const below = document.querySelector('.replay-of-tight') && document.querySelector('.results');
             if (below) seen.add(below.getBoundingClientRect().top + scrollY);
             return [...seen];
         };
         const look = () => { window.tops(); requestAnimationFrame(look); };
         look();",
    );
    let line = "document.querySelector('[data-testid=replay-of-tight]')";
    // On a phone the button with the answer takes a row of its own once there is one.
    for width in [1024, 1280, 1440] {
        page.viewport(width, 900);
        page.visit("about:blank");
        page.load("v1;m=ministral-3-14b@2");
        page.until(&format!("{line}?.innerText.startsWith('Tight by the factors (7')"));
        page.until("document.querySelector('[data-testid=verdict]').innerText === 'Fits'");
        page.until("document.querySelector('.summary').innerText.includes(' by a replay; the verdict uses that.')");
        let tops = page.eval("tops()");
        assert_eq!(
            tops.as_array().map(Vec::len),
            Some(1),
            "at {width} what is below has moved: {tops}"
        );
    }
    // A job that fits by the factors says nothing of it.
    page.fill("#field-gpus", "8");
    page.until(&format!("!{line}"));
    assert_eq!(page.text("[data-testid=verdict]"), "Fits");
    // And what the replay leaves open too stays tight.
    page.visit("about:blank");
    page.load("v1;m=llama3.1-405b");
    page.until(&format!("{line}?.innerText.startsWith('Tight by the factors too (')"));
    assert_eq!(page.text("[data-testid=verdict]"), "Tight");
}
