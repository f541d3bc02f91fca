//! The form: what happens to what a visitor types, and how to get from one legal job to another.

use std::{thread, time::Duration};

use serde_json::json;

use super::page::Page;

const BACKSPACE: &str = "\u{E003}";
const ENTER: &str = "\u{E007}";
const ESCAPE: &str = "\u{E00C}";
const TAB: &str = "\u{E004}";
const SHIFT: &str = "\u{E008}";
const CTRL: &str = "\u{E009}";
const NULL: &str = "\u{E000}";
const END: &str = "\u{E010}";
const HOME: &str = "\u{E011}";
const UP: &str = "\u{E013}";
const DOWN: &str = "\u{E015}";

/// Llama 3 8B on 8 GPUs, TP 1: small enough to know every answer.
const SMALL: &str = "v1;m=llama3-8b@1;gpus=8;tp=1;pp=1;cp=1;gbs=64;sp=0";

fn total(page: &Page) -> String {
    page.text("[data-testid=total]")
}

fn open_section(page: &Page, title: &str) {
    let button = format!(
        "[...document.querySelectorAll('.section-line')].find((b) => b.innerText.startsWith({}))",
        json!(title)
    );
    page.eval(&format!("{button}.ariaExpanded === 'true' || {button}.click()"));
    page.until(&format!("{button}.ariaExpanded === 'true'"));
}

#[test]
fn keys_arrive_in_the_order_in_which_they_are_typed() {
    let page = Page::open(SMALL);
    open_section(&page, "Optimizer");
    open_section(&page, "MoE");
    page.eval(
        "document.querySelectorAll('.section-foot button').forEach((b) => b.innerText.startsWith('All ') && b.click())",
    );
    page.until("document.getElementById('field-imb')");
    page.fill("#field-imb", "42.5");
    assert_eq!(page.value("#field-imb"), "42.5");
    page.fill("#field-seq", "8_192");
    assert_eq!(page.value("#field-seq"), "8_192");
}

#[test]
fn a_number_is_understood_as_people_write_it_and_shown_plainly_when_its_field_is_left() {
    let page = Page::open(SMALL);
    for (typed, plain) in [
        ("128k", "131072"),
        ("4_096", "4096"),
        ("4,096", "4096"),
        ("4 096", "4096"),
        ("1e6", "1000000"),
    ] {
        page.fill("#field-seq", typed);
        assert_eq!(page.value("#field-seq"), typed);
        page.press(TAB);
        page.until(&format!("document.getElementById('field-seq').value === '{plain}'"));
    }
}

#[test]
fn an_invalid_value_stays_as_typed_beside_its_problem_and_the_last_result_stays_too() {
    let page = Page::open(SMALL);
    for typed in ["1e", "0", "-3", "many", "1e99", "1000000000000000000"] {
        page.fill("#field-seq", typed);
        page.until("document.getElementById('field-seq').ariaInvalid === 'true'");
        assert_eq!(page.value("#field-seq"), typed);
        assert!(page.shows("#field-seq-problems .problem"), "{typed}");
        assert!(page.shows("[data-testid=stale]"), "{typed}");
        assert_ne!(total(&page), "", "{typed}");
        page.press(TAB);
        assert_eq!(page.value("#field-seq"), typed);
    }
    page.fill("#field-seq", "");
    page.until("document.getElementById('field-seq').ariaInvalid === 'true'");
    page.fill("#field-seq", "4096");
    page.until("document.getElementById('field-seq').ariaInvalid === 'false'");
    assert!(!page.shows("[data-testid=stale]"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// Where the number of GPUs is none, the button that stands out gives the job as many as it needs.
#[test]
fn no_gpus_are_answered_with_as_many_as_the_job_needs() {
    let page = Page::open("");
    for typed in ["0", "-1", "many", "1e99"] {
        page.fill("#gpu-count", typed);
        page.until("document.getElementById('gpu-count').ariaInvalid === 'true'");
        page.until("document.querySelector('.summary .primary')?.innerText === 'GPUs = 1024'");
        page.click(".summary .primary");
        page.until("document.getElementById('gpu-count').ariaInvalid === 'false'");
        assert_eq!(page.value("#gpu-count"), "1024", "{typed}");
    }
    // Each number that a message names is one that works.
    page.fill("#gpu-count", "1e3");
    page.until("document.querySelector('#field-gpus-problems .problem')");
    let said = page.text("#field-gpus-problems");
    assert!(
        said.contains("; 1024 GPUs would work") && !said.contains("992"),
        "{said}"
    );
    assert!(said.contains("GPUs = 1024"), "{said}");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_problem_stands_beside_every_field_involved_and_offers_a_way_out() {
    let page = Page::open(SMALL);
    page.fill("#field-tp", "3");
    page.until("document.getElementById('field-tp').ariaInvalid === 'true'");
    assert!(page.text("#field-gpus-problems").contains("world_size"));
    assert!(page.text("#field-tp-problems").contains("num_attention_heads"));
    page.eval(
        "[...document.querySelectorAll('#field-tp-problems .fix')].find((b) => b.innerText === 'TP = 2').click()",
    );
    page.until("document.getElementById('field-tp').ariaInvalid === 'false'");
    assert_eq!(page.value("#field-tp"), "2");
    page.until("document.activeElement.id === 'field-tp'");
}

/// What Megatron accepts and a planner should know is a warning: the job runs, and the verdict stays one.
#[test]
fn what_is_legal_and_wasteful_is_a_warning() {
    let page = Page::open("v1;m=llama3-8b@1;tp=1;sp=1");
    page.until("document.querySelector('#field-tp-problems .problem-warning')");
    assert!(page.text("#field-tp-problems").contains("turns sequence_parallel off"));
    assert_eq!(page.eval("document.getElementById('field-tp').ariaInvalid"), "false");
    assert_ne!(page.text("[data-testid=verdict]"), "Cannot run");
    assert_eq!(page.count(".problem-error"), 0);
}

/// The total, the chart and the table follow the last key without another step, within the frames of a tenth of a second.
#[test]
fn a_key_reaches_total_chart_and_table() {
    let page = Page::open(SMALL);
    page.until("document.querySelector('.numbers-table tbody td')");
    page.eval("document.querySelector('.numbers-table').scrollIntoView({ block: 'end' })");
    let followed = page.eval(
        "(async () => {
            const parts = ['[data-testid=total]', '.scene-headline', '.scene-stages', '.numbers-table'].map((part) => document.querySelector(part));
            const seen = () => parts.map((part) => part.innerHTML);
            const frames = async (count) => { while (count-- > 0) await new Promise(requestAnimationFrame); };
            await frames(30);
            const before = seen();
            const field = document.getElementById('field-mbs');
            field.value = '2';
            field.dispatchEvent(new Event('input', { bubbles: true }));
            await frames(6);
            const first = seen().map((part, i) => part !== before[i]);
            // What is out of sight follows once the reader pauses.
            await new Promise((done) => setTimeout(done, 1500));
            return [first, seen().map((part, i) => part !== before[i])];
        })()",
    );
    assert_eq!(followed[1], serde_json::json!([true, true, true, true]));
    assert_eq!(followed[0][0], true, "{followed}");
    assert_eq!(followed[0][1], true, "{followed}");
    assert_eq!(followed[0][3], true, "{followed}");
}

#[test]
fn arrow_keys_step_through_legal_values_only() {
    let page = Page::open(SMALL);
    page.click("#field-tp");
    for expected in ["2", "4", "8"] {
        page.press(UP);
        page.until(&format!("document.getElementById('field-tp').value === '{expected}'"));
        assert!(!page.shows("[data-testid=stale]"), "{expected}");
    }
    page.press(DOWN);
    page.until("document.getElementById('field-tp').value === '4'");
    page.press(HOME);
    page.until("document.getElementById('field-tp').value === '1'");
    page.press(END);
    page.until("document.getElementById('field-tp').value === '8'");
    // 12 GPUs would be a multiple of TP, but then the global batch is none of DP.
    page.press(DOWN);
    page.until("document.getElementById('field-tp').value === '4'");
    page.click("#field-gpus");
    page.press(UP);
    page.until("document.getElementById('field-gpus').value === '16'");
    page.press(&format!("{SHIFT}{UP}{NULL}"));
    page.until("document.getElementById('field-gpus').value === '32'");
}

#[test]
fn steps_stay_at_the_last_legal_value_and_say_so() {
    let page = Page::open("");
    page.click("#field-pp");
    page.press(UP);
    page.until("document.getElementById('field-pp').value === '32'");
    page.press(UP);
    page.until("document.getElementById('spoken').innerText.includes('no larger value of Pipeline parallel (PP)')");
    page.click("#row-pp .step:last-child");
    page.press(&format!("{SHIFT}{UP}{NULL}"));
    assert_eq!(page.value("#field-pp"), "32");
    assert!(!page.shows("[data-testid=stale]"));
    // The layout has so many chunks, and no other number.
    let chunks = page.eval("document.getElementById('field-vpp').placeholder");
    page.click("#field-vpp");
    page.press(UP);
    page.until("document.getElementById('spoken').innerText.includes('Set by the pipeline layout')");
    assert_eq!(page.value("#field-vpp"), "", "{chunks}");
}

#[test]
fn the_wheel_changes_no_number() {
    let page = Page::open(SMALL);
    page.click("#field-tp");
    page.eval(
        "document.getElementById('field-tp').dispatchEvent(new WheelEvent('wheel', { deltaY: -120, bubbles: true }))",
    );
    assert_eq!(page.value("#field-tp"), "1");
}

#[test]
fn a_run_of_keys_is_one_step_to_undo_and_fifty_steps_can_be_undone() {
    let page = Page::open(SMALL);
    let before = total(&page);
    page.fill("#field-gpus", "1024");
    page.press(TAB);
    page.click(".header h1");
    page.press(&format!("{CTRL}z{NULL}"));
    page.until("document.getElementById('field-gpus').value === '8'");
    assert_eq!(total(&page), before);
    page.press(&format!("{CTRL}{SHIFT}z{NULL}"));
    page.until("document.getElementById('field-gpus').value === '1024'");
    for _ in 0..26 {
        page.click("#field-sp");
        page.click("#field-sp");
    }
    page.click(".header h1");
    for _ in 0..53 {
        page.press(&format!("{CTRL}z{NULL}"));
    }
    page.until("document.getElementById('field-gpus').value === '8'");
}

#[test]
fn shift_redoes_and_caps_lock_changes_nothing() {
    let page = Page::open(SMALL);
    // Browsers name the letter in upper or lower case, after Shift and Caps Lock and as the system has it.
    let press = |key: &str, shift: bool| {
        page.eval(&format!(
            "document.body.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', ctrlKey: true, shiftKey: {shift}, \
             bubbles: true, cancelable: true }}))"
        ))
    };
    page.fill("#field-mbs", "2");
    page.press(TAB);
    for (undo, redo) in [("z", "z"), ("z", "Z"), ("Z", "z"), ("Z", "Z")] {
        // Nobody else gets the key.
        assert_eq!(press(undo, false), false);
        page.until("document.getElementById('field-mbs').value === '1'");
        assert_eq!(press(redo, true), false);
        page.until("document.getElementById('field-mbs').value === '2'");
    }
    press("z", false);
    page.until("document.getElementById('field-mbs').value === '1'");
    press("y", false);
    page.until("document.getElementById('field-mbs').value === '2'");
}

#[test]
fn the_live_region_speaks_once_a_second_at_most_and_no_message_takes_the_focus() {
    let page = Page::open(SMALL);
    page.eval(
        "(() => { window.spoken = []; \
         new MutationObserver(() => spoken.push(performance.now())) \
           .observe(document.getElementById('spoken'), { childList: true, characterData: true, subtree: true }); })()",
    );
    page.click("#field-pp");
    for _ in 0..20 {
        // There is no way down from 1, and one up.
        page.press(DOWN);
        page.press(UP);
    }
    page.eval("document.querySelector('[data-testid=reset]').click()");
    page.until("document.querySelector('.notice').checkVisibility()");
    page.until("document.getElementById('spoken').innerText.includes('Reset to the preset.')");
    assert_eq!(page.eval("document.activeElement.id"), "field-pp");
    thread::sleep(Duration::from_millis(2500));
    let spoken = page.eval("spoken");
    let spoken: Vec<f64> = spoken
        .as_array()
        .unwrap()
        .iter()
        .map(|time| time.as_f64().unwrap())
        .collect();
    assert!(spoken.len() > 1, "{spoken:?}");
    // What else is drawn for a change can hold up the words of the first of two.
    assert!(spoken.windows(2).all(|pair| pair[1] - pair[0] > 800.0), "{spoken:?}");
    assert_eq!(page.eval("document.activeElement.id"), "field-pp");
}

#[test]
fn what_is_done_in_a_field_is_undone_in_order_without_leaving_it() {
    let page = Page::open(SMALL);
    let undo = || page.press(&format!("{CTRL}z{NULL}"));
    let holds = |field: &str, value: &str| {
        page.until(&format!("document.getElementById('field-{field}').value === '{value}'"));
    };
    let rest = || thread::sleep(Duration::from_millis(1200));
    page.click("#field-tp");
    page.press(UP);
    page.press(UP);
    holds("tp", "4");
    undo();
    holds("tp", "1");
    for (field, value) in [("tp", "4"), ("tp", "2"), ("pp", "2")] {
        page.fill(&format!("#field-{field}"), value);
        rest();
    }
    undo();
    holds("pp", "1");
    holds("tp", "2");
    undo();
    holds("tp", "4");
    undo();
    holds("tp", "1");
    assert_eq!(page.eval("document.activeElement.id"), "field-pp");
    for step in 1..=26 {
        page.fill("#field-mbs", &format!("{step}"));
        page.fill("#field-seq", &format!("{}", 1024 * step));
    }
    for step in (0..26).rev() {
        undo();
        if step > 0 {
            holds("seq", &format!("{}", 1024 * step));
        }
        undo();
        holds("mbs", &format!("{}", step.max(1)));
    }
    assert_eq!(page.eval("document.activeElement.id"), "field-seq");
    // What is typed elsewhere is the browser's to undo.
    page.fill("#search", "tp");
    undo();
    page.until("document.getElementById('search').value !== 'tp'");
}

#[test]
fn the_focus_stays_on_a_button_that_has_done_its_work() {
    let page = Page::open("v1;m=llama3-8b@1");
    let focused = |place: &str| {
        page.until(&format!("document.activeElement.dataset.testid === '{place}'"));
    };
    page.fill("#field-mbs", "7");
    page.click("[data-testid=reset]");
    page.until("document.querySelector('[data-testid=reset]').ariaDisabled === 'true'");
    focused("reset");
    for _ in 0..2 {
        page.click(".header [data-testid=undo]");
    }
    page.until("document.querySelector('.header [data-testid=undo]').ariaDisabled === 'true'");
    focused("undo");
    page.fill("#field-mbs", "7");
    page.click("#foot-4 .section-reset");
    page.until("document.activeElement.id === 'line-4'");
}

#[test]
fn a_message_leaves_with_its_step_and_lies_on_nothing_that_is_used() {
    let page = Page::open("v1;m=llama3-8b@1");
    let reset = || {
        page.fill("#field-mbs", "7");
        page.click("[data-testid=reset]");
        page.until("document.querySelector('.notice').checkVisibility()");
    };
    let gone = || page.until("!document.querySelector('.notice').checkVisibility()");
    reset();
    page.click(".header [data-testid=undo]");
    gone();
    reset();
    // Its button would take back this step, and not the one that it tells of.
    page.fill("#field-mbs", "2");
    gone();
    reset();
    page.click(".notice [data-testid=dismiss]");
    gone();
    page.until("document.activeElement.id === 'spoken'");
    for (width, height) in [(1280, 720), (360, 640)] {
        page.viewport(width, height);
        reset();
        let covered = "[...document.querySelectorAll('.sections :is(input, select, button)')].filter((control) => {
            if (!control.checkVisibility({ visibilityProperty: true })) return false;
            control.focus();
            const [of, by] = [control, document.querySelector('.notice')].map((e) => e.getBoundingClientRect());
            return of.bottom > by.top && of.top < by.bottom && of.right > by.left && of.left < by.right;
        }).map((control) => control.id || control.ariaLabel)";
        assert_eq!(page.eval(covered), json!([]), "{width}");
    }
}

#[test]
fn problems_are_counted_alike_everywhere() {
    let page = Page::open("");
    page.fill("#field-tp", "3");
    page.until("document.querySelector('.section-errors:not([hidden])')");
    let badges =
        page.eval("Array.from(document.querySelectorAll('.section-errors:not([hidden])'), (e) => e.innerText)");
    let badges = badges.as_array().unwrap();
    // The badge of all sections together counts every problem.
    let whole = badges
        .iter()
        .filter_map(|badge| badge.as_str())
        .find(|badge| !badge.contains(" of "));
    let all = whole.unwrap().to_owned();
    let of = format!(" of {all}");
    let alike = |badge: &str| badge == all || badge.ends_with(&of);
    assert!(
        badges.iter().all(|badge| alike(badge.as_str().unwrap())),
        "{badges:?} {all}"
    );
}

#[test]
fn ways_out_are_in_the_order_of_the_sentence() {
    let page = Page::open(SMALL);
    page.fill("#field-tp", "3");
    page.until("document.querySelector('#field-tp-problems .fix')");
    let labels = page.eval(
        "[...document.querySelectorAll('#field-tp-problems .problem')].map((problem) => [...problem.querySelectorAll('.fix')]
            .map((fix) => fix.innerText).filter((label) => label.startsWith('TP = ')).map((label) => Number(label.slice(5))))",
    );
    for numbers in labels.as_array().unwrap() {
        let numbers: Vec<u64> = numbers
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap())
            .collect();
        assert!(numbers.is_sorted(), "{labels}");
    }
    assert!(labels.to_string().contains("1,2,4"), "{labels}");
}

#[test]
fn escape_closes_help_from_where_it_was_opened_and_from_within() {
    let page = Page::open(SMALL);
    page.click("#row-tp .tip");
    page.until("document.querySelector('#field-tp-help a')");
    // In the page's own colors, as other links.
    let color = |selector: &str| page.eval(&format!("getComputedStyle(document.querySelector('{selector}')).color"));
    assert_eq!(color("#field-tp-help a"), color("button.link"));
    page.press(ESCAPE);
    page.until("!document.querySelector('#field-tp-help').checkVisibility()");
    assert_eq!(page.eval("document.activeElement.matches('#row-tp .tip')"), true);
    page.click("#row-tp .tip");
    page.until("document.querySelector('#field-tp-help a')");
    page.eval("document.querySelector('#field-tp-help a').focus()");
    page.press(ESCAPE);
    page.until("document.activeElement.id === 'field-tp'");
    assert!(!page.shows("#field-tp-help"));
}

#[test]
fn five_digits_are_read_whole_on_the_narrowest_phone() {
    let page = Page::open("");
    page.viewport(320, 640);
    page.touch();
    assert_eq!(page.value("#field-gbs"), "15360");
    assert_eq!(
        page.eval(
            "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.getElementById('field-gbs'))"
        ),
        true
    );
    assert_eq!(page.eval("document.documentElement.scrollWidth"), 320);
}

#[test]
fn a_changed_field_can_be_reset_and_so_can_everything() {
    let page = Page::open("v1;m=llama3-8b@1");
    let (before, tp) = (total(&page), page.value("#field-tp"));
    assert!(!page.shows(".field-changed"));
    page.click("#field-tp");
    page.press(UP);
    page.until("document.querySelector('.field-changed #field-tp')");
    page.click(".field-changed .reset");
    page.until("!document.querySelector('.field-changed')");
    assert_eq!(page.value("#field-tp"), tp);
    page.fill("#field-mbs", "7");
    page.eval("[...document.querySelectorAll('.header button')].find((b) => b.innerText === 'Reset').click()");
    page.until("!document.querySelector('.field-changed')");
    assert_eq!(total(&page), before);
    page.eval("[...document.querySelectorAll('.notice button')].find((b) => b.innerText === 'Undo').click()");
    page.until("document.getElementById('field-mbs').value === '7'");
}

#[test]
fn a_field_is_found_by_any_name_and_gets_the_focus() {
    let page = Page::open("");
    for (name, id) in [
        ("--q-lora-rank", "field-qlora"),
        ("n_routed_experts", "field-E"),
        ("activation checkpointing", "field-rc"),
        ("ddp bucket", "field-bucket"),
        ("flash", "field-attn"),
    ] {
        page.fill("#search", name);
        page.until("document.querySelector('.matches button')");
        page.press(ENTER);
        page.until(&format!("document.activeElement.id === '{id}'"));
    }
}

#[test]
fn fields_without_a_meaning_for_the_job_wait_and_keep_their_values() {
    let page = Page::open("v1;m=deepseek-v3@1");
    assert_eq!(page.value("#field-ep"), "64");
    open_section(&page, "MoE");
    page.fill("#field-E", BACKSPACE);
    page.until("!document.getElementById('field-k')");
    page.fill("#field-E", "256");
    page.until("document.getElementById('field-k')?.value === '8'");
    let page = Page::open(SMALL);
    assert!(!page.shows("#field-ep"));
    page.fill("#search", "expert-model-parallel-size");
    page.press(ENTER);
    page.until("document.activeElement.id === 'field-ep'");
    assert_eq!(page.value("#field-ep"), "1");
    assert!(!page.text(".sections").contains("Encoder"));
    page.fill("#search", "front_end");
    page.press(ENTER);
    page.until("document.activeElement.id === 'field-front'");
    assert!(page.text(".sections").contains("Encoder"));
}

#[test]
fn another_model_keeps_the_parallelism_that_was_set_where_it_can() {
    let page = Page::open("v1;m=llama3-8b@1;gpus=64;tp=8;pp=2;cp=1;vpp=null;gbs=512");
    page.choose_preset("llama3-70b");
    page.until("location.hash.includes('m=llama3-70b')");
    assert_eq!(page.value("#field-pp"), "2");
    assert_eq!(page.value("#field-tp"), "8");
    assert!(page.text(".notice").contains("your parallelism"));
    page.eval("[...document.querySelectorAll('.notice button')].find((b) => b.innerText === 'Undo').click()");
    page.until("document.getElementById('preset').value === 'llama3-8b'");
    assert_eq!(page.value("#field-gpus"), "64");
}

#[test]
fn derived_sizes_follow() {
    let page = Page::open(SMALL);
    let derived = || page.text("#section-3 .chips").replace('\n', " ");
    assert!(derived().contains("DP 8"), "{}", derived());
    page.click("#field-tp");
    page.press(UP);
    page.until("document.querySelector('#section-3 .chips').innerText.includes('4')");
    assert!(derived().contains("DP 4"), "{}", derived());
}

#[test]
fn emptied_and_unknown_start_over() {
    // A field that may be absent is absent when it is emptied, and its problem-free rule shows instead.
    let page = Page::open(SMALL);
    page.click("#field-gbs");
    page.press(&format!("{CTRL}a{NULL}{BACKSPACE}"));
    page.until("document.getElementById('field-gbs').value === ''");
    assert!(!page.shows("[data-testid=stale]"));
    assert_eq!(page.eval("document.getElementById('field-gbs').placeholder"), "8");
}

#[test]
fn a_pinned_job_is_compared_bucket_by_bucket_and_the_link_holds_both() {
    let page = Page::open(SMALL);
    page.eval("[...document.querySelectorAll('.header button')].find((b) => b.innerText === 'Compare').click()");
    page.until("document.querySelector('.compare')");
    assert!(page.text(".compare").contains("No setting differs."));
    page.click("[data-testid=undo]");
    page.until("!document.querySelector('.compare')");
    page.click("[data-testid=redo]");
    page.until("document.querySelector('.compare')");
    let before = total(&page);
    page.click("#field-tp");
    page.press(UP);
    page.until("document.querySelector('.compare dl')?.innerText.includes('1 → 2')");
    let weights = page.text(".compare tbody tr:first-child");
    assert!(weights.contains('−'), "{weights}");
    page.until("location.hash.includes(';tp=2;') && location.hash.includes(';vs')");
    let link = page.fragment();
    page.eval("[...document.querySelectorAll('.compare button')].find((b) => b.innerText === 'Swap').click()");
    page.until("document.getElementById('field-tp').value === '1'");
    assert_eq!(total(&page), before);
    page.load(&link);
    assert!(page.text(".compare dl").contains("1 → 2"));
}

#[test]
fn single_keys_can_be_turned_off_for_this_visit_and_the_next() {
    let page = Page::open(SMALL);
    let opens = |page: &Page| {
        page.eval("document.activeElement.blur()");
        page.press("?");
        page.shows("#help")
    };
    assert!(opens(&page));
    // Help is read from its start.
    assert_eq!(page.eval("document.getElementById('help').scrollTop"), 0);
    page.click("[data-testid=single-keys-off]");
    page.press(ESCAPE);
    assert!(!opens(&page));
    page.load("v1;m=llama3-8b@1;tp=2");
    assert!(!opens(&page));
    page.click("[data-testid=help]");
    page.click("[data-testid=single-keys-off]");
    page.press(ESCAPE);
    assert!(opens(&page));
}

/// Keeps what the page saves as files in `saved`, as pairs of a name and the content, in place of downloads.
pub(super) fn catch_files(page: &Page) {
    page.eval(
        "(window.saved = [], window.blobs = new Map(), window.address = URL.createObjectURL.bind(URL), \
         URL.createObjectURL = (blob) => { const url = address(blob); blobs.set(url, blob); return url; }, \
         HTMLAnchorElement.prototype.click = function () { if (this.download) saved.push([this.download, blobs.get(this.href)]); }, 0)",
    );
}

#[test]
fn other_values_show_what_they_would_come_to_and_a_click_applies_one() {
    let page = Page::open(SMALL);
    page.click("#row-tp .tip");
    page.until("document.querySelector('#field-tp-help a')?.getAttribute('href') === './formulas.html#tp'");
    page.click("#row-tp .plot-tip");
    page.until("document.querySelector('.plot .sweep button')");
    page.until("document.activeElement.id === 'plot-title'");
    let four = ".plot .sweep [value='4']";
    // Eight query groups take TP 8 and no more; there are eight GPUs.
    assert_eq!(page.count(".plot .sweep button"), 4);
    let foretold = page.text(&format!("{four} span"));
    assert!(!foretold.starts_with(&total(&page)), "{foretold}");
    page.click(four);
    page.until("document.getElementById('field-tp').value === '4'");
    assert!(foretold.starts_with(&total(&page)), "{foretold}");
    page.until(&format!("document.querySelector(\"{four}\").ariaPressed === 'true'"));
}

#[test]
fn a_plot_says_up_to_where_the_job_fits_and_has_a_line_for_the_pinned_job() {
    let page = Page::open("v1;m=llama3-8b@2;vs;m=llama3-8b@2;tp=2");
    page.show("Change");
    // Nothing is worked out before it is asked for.
    assert_eq!(page.count(".plot svg.scene"), 0);
    page.click(".plot .plot-fields [data-field=seq]");
    page.until("document.querySelectorAll('.plot .curve-1').length > 2");
    let words = page.text(".plot .readout");
    let chip = page.text("[data-testid=longest-sequence] strong");
    assert!(words.contains(&format!("fits up to {chip}")), "{words}: {chip}");
    assert_eq!(page.count(".plot .gpu"), 1);
    page.eval("document.querySelector('.plot').scrollIntoView()");
    page.screenshot("plot");
    // The value nearest to the pointer says its numbers.
    page.hover(".plot svg.scene");
    page.until("document.querySelector('.plot .readout').innerText.startsWith('Sequence length ')");
    page.until("document.querySelector('.plot .readout').innerText.includes('on the device')");
    catch_files(&page);
    for (number, kind) in ["svg", "csv", "png"].into_iter().enumerate() {
        page.click(&format!(".plot [name=plot-{kind}]"));
        page.until(&format!("saved.length === {}", number + 1));
        assert_eq!(page.eval(&format!("saved[{number}][0]")), format!("memory-seq.{kind}"));
    }
    let text = |number: u32| page.eval(&format!("saved[{number}][1].text()"));
    let (svg, csv) = (text(0).to_string(), text(1).to_string());
    assert!(svg.contains("Llama 3 8B · 8 × H100 80 GB") && svg.contains("fits up to"));
    assert!(csv.contains("seq_length") && csv.contains("Pinned: Llama 3 8B"));
    // Pressed again, the setting closes its plot.
    page.click(".plot .plot-fields [data-field=seq]");
    page.until("!document.querySelector('.plot svg.scene')");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn the_last_job_comes_back_and_a_link_wins_over_it() {
    let page = Page::open("v1;m=llama3-8b@2");
    page.fill("#field-mbs", "2");
    page.press(TAB);
    page.until("location.hash.includes('mbs=2')");
    let last = page.fragment();
    page.visit("about:blank");
    page.load("");
    assert_eq!(page.fragment(), last);
    assert_eq!(page.value("#field-mbs"), "2");
    page.visit("about:blank");
    page.load("v1;m=qwen3-8b@1");
    assert_eq!(page.fragment(), "v1;m=qwen3-8b@1");
}

#[test]
fn the_same_job_is_shown_on_every_gpu_and_a_click_moves_it() {
    let page = Page::open("v1;m=llama3-8b@2");
    page.show("Change");
    assert_eq!(page.count(".gpu-strip button"), 0);
    page.click("[data-testid=all-gpus]");
    page.until("document.querySelectorAll('.gpu-strip button').length > 10");
    let pressed = "document.querySelector('.gpu-strip [aria-pressed=true]')?.value";
    assert_eq!(page.eval(pressed), "h100-80gb");
    page.click(".gpu-strip [value='b200']");
    page.until("document.getElementById('gpu-type').value === 'b200'");
    page.until(&format!("{pressed} === 'b200'"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// Of every panel the id of its heading, which a link can name.
const HEADINGS: [&str; 15] = [
    "fit-title",
    "stages-title",
    "detail-title",
    "plot-title",
    "gpus-title",
    "methods-title",
    "plans-title",
    "savings-title",
    "frameworks-title",
    "measured-title",
    "numbers-title",
    "ranks-title",
    "step-time-title",
    "evidence-title",
    "one-gpu-title",
];

#[test]
fn a_link_to_a_panel_opens_its_tab_and_leaves_the_job() {
    let page = Page::open(SMALL);
    let total = page.text("[data-testid=total]");
    for id in HEADINGS {
        page.eval(&format!("(location.hash = '#{id}', 0)"));
        page.until(&format!("document.activeElement.id === '{id}'"));
        let top = format!(
            "document.getElementById('{id}').getBoundingClientRect().top - document.getElementById('results').getBoundingClientRect().top"
        );
        assert!(page.eval(&top).as_f64().unwrap() < 460.0, "{id} is in sight");
        assert_eq!(page.text("[data-testid=total]"), total, "{id}");
    }
    page.until("location.hash.includes('m=llama3-8b')");
    // Before there is a job, too.
    page.visit("about:blank");
    page.load("ranks-title");
    page.until("document.activeElement.id === 'ranks-title'");
    assert_eq!(page.count("[data-testid=demonstration]"), 0);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn only_the_panels_of_the_open_tab_are_there() {
    let page = Page::open(SMALL);
    let mut seen = 0;
    for tab in ["Memory", "Change", "Compare", "Check"] {
        page.show(tab);
        let panels = page.count(".results .panel");
        assert!((2..=5).contains(&panels), "{panels} in {tab}");
        seen += panels;
    }
    // The comparison with a pinned job is there once one is pinned.
    assert_eq!(usize::try_from(seen).unwrap(), HEADINGS.len());
    page.click("#results-tab-3");
    page.press("\u{E012}");
    page.until("document.activeElement.id === 'results-tab-2'");
    page.until("location.hash.includes('tab=compare')");
    let again = Page::open(&page.fragment());
    again.until("document.querySelector('#results-tab-2[aria-selected=true]')");
    assert_eq!(again.complaints(), Vec::<String>::new());
}

#[test]
fn a_training_log_stands_beside_the_prediction_stage_by_stage() {
    let page = Page::open("v1;m=llama3-8b@1;tp=2;pp=2;gpus=8;gbs=64");
    let log = "[Rank 0] (after 2 iterations) memory (MB) | allocated: 17783.28 | max allocated: 21000.50 | reserved: 22000.00 | max reserved: 22000.00\n\
        [Rank 4] (after 2 iterations) memory (MB) | allocated: 19000.00 | max allocated: 23000.25 | reserved: 24000.00 | max reserved: 25000.00\n";
    page.show("Compare");
    let put = |text: &str| {
        page.eval(&format!(
            "((control) => {{ control.value = {}; control.dispatchEvent(new Event('change', {{ bubbles: true }})); }})(document.querySelector('[name=log]'))",
            json!(text)
        ));
    };
    put("no log at all");
    page.until("document.querySelector('.notice').innerText.includes('No memory is reported')");
    page.click("[data-testid=dismiss]");
    put(log);
    page.until("document.querySelectorAll('.measured tbody tr').length === 2");
    // What is far out of sight has no inner text.
    page.eval("document.querySelector('.measured').scrollIntoView()");
    let cells = page.eval(
        "[...document.querySelectorAll('.measured tbody tr')].map((tr) => [...tr.cells].map((cell) => cell.innerText))",
    );
    // 17783.28 MB as Megatron-LM prints them are MiB.
    assert_eq!(cells[0][1], "17.37");
    assert_eq!(cells[1][4], "22.46");
    assert!(page.text(".measured-reasons").contains("Reserved memory"));
    page.show("Memory");
    let peak = |stage: u8| {
        page.click(&format!("#stages-{stage}"));
        let selected =
            format!("document.querySelector('[data-testid=stage]').innerText.toLowerCase().includes('stage {stage}')");
        page.until(&selected);
        page.text(".detail .panel-note")
    };
    for stage in [0, 1] {
        let predicted = cells[usize::from(stage)][5].as_str().unwrap().to_owned();
        assert!(peak(stage).starts_with(&predicted), "{predicted}");
    }
    page.show("Compare");
    page.click("[name=forget-log]");
    page.until("document.querySelector('[name=log]')");
    assert_eq!(page.complaints(), Vec::<String>::new());
}
