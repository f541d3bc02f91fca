//! What newcomers come for, done from the empty page in as few actions as they have patience for; and how little stands
//! between them and the answer.

use std::time::Duration;

use serde_json::json;

use super::page::Page;

const LIMIT: Duration = Duration::from_mins(1);
const VERDICT: &str = "document.querySelector('[data-testid=verdict]').innerText";
/// The most height of the headline on a small laptop, in CSS pixels.
const HEADLINE: f64 = 170.0;
/// The most words of the first view: header and headline, without numbers and units.
const WORDS: usize = 60;
/// The most presses of the Tab key from the top of the page to the button beside the verdict.
const TAB_STOPS: usize = 12;

/// Picks a model by its name, as one who knows it does.
fn pick(page: &Page, typed: &str, id: &str) {
    page.click("#preset");
    page.until("document.activeElement.id === 'preset-search'");
    page.type_keys("#preset-search", &format!("{typed}\u{E007}"));
    page.until(&format!("document.getElementById('preset').value === '{id}'"));
}

/// Whether nothing on the page has been scrolled, and an element is in sight.
fn is_in_sight_without_scrolling(page: &Page, selector: &str) -> bool {
    page.eval(&format!(
        "(() => {{
           const scrolled = [document.scrollingElement, ...document.querySelectorAll('.results-pane, .form')].some((e) => e.scrollTop > 0);
           const {{ top, bottom }} = document.querySelector({}).getBoundingClientRect();
           return !scrolled && top >= 0 && bottom <= innerHeight;
         }})()",
        json!(selector)
    )) == json!(true)
}

/// "Qwen3-235B on 64 H100: does it fit, and with which layout?" A model, a number, and the one button that stands out.
#[test]
fn does_it_fit_and_with_which_layout_takes_three_actions() {
    let page = Page::open("");
    pick(&page, "qwen3-235b", "qwen3-235b-a22b");
    page.fill("#gpu-count", "64");
    page.until(&format!("{VERDICT} === 'Cannot run'"));
    assert_eq!(page.text(".summary .primary"), "Pick a layout for 64 GPUs");
    assert!(is_in_sight_without_scrolling(&page, ".summary .primary"));
    page.click(".summary .primary");
    page.until_within(LIMIT, &format!("['Fits', 'Tight'].includes({VERDICT})"));
    assert!(
        page.text(".notice").contains("Layout picked: TP "),
        "{}",
        page.text(".notice")
    );
    assert!(is_in_sight_without_scrolling(&page, "[data-testid=verdict]"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// "Why does stage 1 need more than stage 0?" A click on stage 0 names the difference, by bucket.
#[test]
fn why_a_stage_needs_more_than_another_takes_one_action() {
    let page = Page::open("");
    page.click("#stages-0");
    page.until("document.querySelector('[data-testid=against]')");
    let words = page.text("[data-testid=against]");
    assert!(
        words.contains("less than stage 1") && words.contains("Expert activations"),
        "{words}"
    );
}

/// "What is the longest sequence for Llama 3 70B on 32 H200 with this layout?" A model, a number, a type, a tab.
#[test]
fn the_longest_sequence_takes_four_actions() {
    let page = Page::open("");
    pick(&page, "llama 3 70b", "llama3-70b");
    page.fill("#gpu-count", "32");
    page.eval(
        "((menu) => { menu.value = 'h200'; menu.dispatchEvent(new Event('change', { bubbles: true })); })(document.getElementById('gpu-type'))",
    );
    page.show("Change");
    let chip = "document.querySelector('[data-testid=longest-sequence] strong')";
    page.until_within(LIMIT, &format!("/[0-9] tokens/.test({chip}.innerText)"));
    assert!(is_in_sight_without_scrolling(&page, "[data-testid=longest-sequence]"));
}

/// Who has typed a sequence that is too long is offered the longest that fits, in the place where the eye is.
#[test]
fn a_sequence_that_is_too_long_is_answered_with_the_longest_that_fits() {
    let page = Page::open("v1;m=llama3-8b@2");
    page.fill("#field-seq", "131072");
    page.until(&format!("{VERDICT} === 'Does not fit'"));
    page.until_within(
        LIMIT,
        "/^Longest sequence that fits: [0-9]/.test(document.querySelector('.summary .primary').innerText)",
    );
    page.click(".summary .primary");
    page.until(&format!("{VERDICT} === 'Fits'"));
    page.until("document.querySelector('.summary .primary').innerText === 'Use the free memory'");
}

/// Who brings a job that does not fit is offered the cheapest change with which it does, and a click makes it.
#[test]
fn a_job_that_does_not_fit_is_answered_with_the_cheapest_change() {
    let page = Page::open("v1;m=llama3-70b@1;seq=16384");
    let primary = "document.querySelector('.summary .primary')";
    page.until(&format!("{VERDICT} === 'Does not fit'"));
    page.until_within(
        LIMIT,
        &format!("/^(Use |Offload )/.test({primary}.innerText) && {primary}.title"),
    );
    page.click(".summary .primary");
    page.until(&format!("{VERDICT} === 'Fits'"));
    // The free memory is the next question.
    page.until(&format!("{primary}.innerText === 'Use the free memory'"));
    page.click("[data-testid=undo]");
    page.until(&format!("{VERDICT} === 'Does not fit'"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// A thread as people paste it: prose, the script, and the message with its traceback.
const THREAD: &str = include_str!("../cli/thread.md");
/// What the page says of out-of-memory errors.
const OUT_OF_MEMORY: &str = "document.querySelector('.out-of-memory')";

/// Pastes a text on the page, and waits for its import to be ready.
fn paste(page: &Page, text: &str) {
    drop_in(page, text);
    page.until(&format!("document.querySelector('{APPLY}')?.ariaDisabled === 'false'"));
}

/// Pastes a text on the page.
fn drop_in(page: &Page, text: &str) {
    page.eval(&format!(
        "(() => {{ const data = new DataTransfer(); data.setData('text', {});
            document.body.dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: data, bubbles: true }})); }})()",
        json!(text)
    ));
}

/// The button of the import dialog that takes the job.
const APPLY: &str = "dialog[open] [name=apply]";

/// "My job ran out of memory, here is all I have." Pasted, the thread takes two actions: Apply says the cause and the
/// stage, and the one button that stands out makes the job fit.
#[test]
fn a_pasted_thread_has_its_cause_and_a_job_that_fits_in_two_actions() {
    let page = Page::open("");
    paste(&page, THREAD);
    page.click(APPLY);
    page.until(&format!(
        "{OUT_OF_MEMORY}?.innerText.includes('The job is too large for the GPU: stage 0')"
    ));
    let said = page.text(".out-of-memory");
    assert!(
        said.contains("output of linear_fc1") && said.contains("79.19"),
        "{said}"
    );
    page.until(&format!("{VERDICT} === 'Does not fit'"));
    let primary = "document.querySelector('.summary .primary')";
    page.until_within(
        LIMIT,
        &format!("{primary}.title && !/^Browse/.test({primary}.innerText)"),
    );
    page.click(".summary .primary");
    page.until(&format!("{VERDICT} === 'Fits'"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// A script names its model and not its sizes: the preset of that name is one press away.
#[test]
fn the_preset_of_a_model_that_a_script_names_is_proposed() {
    let page = Page::open("");
    drop_in(
        &page,
        "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --max_length 4096 --tensor_model_parallel_size 2",
    );
    let proposed = "[name=take-preset]";
    page.until(&format!(
        "document.querySelector('{proposed}')?.innerText === 'Take Qwen3 8B'"
    ));
    page.click(proposed);
    page.until(&format!("document.querySelector('{proposed}')?.ariaPressed === 'true'"));
    page.click(APPLY);
    page.until(&format!("{VERDICT} === 'Fits'"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// A message without its job is explained by the job of the page, on a GPU with the memory that the message says.
#[test]
fn a_message_alone_is_explained_by_the_job_of_the_page() {
    let page = Page::open("v1;m=llama3-8b@1");
    paste(
        &page,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total capacity of 79.19 GiB of \
         which 2.00 GiB is free. Of the allocated memory 60.00 GiB is allocated by PyTorch, and 9.00 GiB is reserved by \
         PyTorch but unallocated.",
    );
    assert!(
        page.text("dialog[open]")
            .contains("3.91 GiB were asked for on a GPU of 79.19 GiB")
    );
    page.click(APPLY);
    page.until(&format!(
        "{OUT_OF_MEMORY}?.innerText.includes('Fragmentation: 3.91 GiB')"
    ));
    page.until("document.querySelector('[data-testid=device]').innerText.includes('of 79.2')");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// The answer to the question that was asked comes first, and no other offer beside it denies the question.
#[test]
fn one_button_answers_what_was_asked_and_others_are_folded() {
    let page = Page::open("v1;m=llama3-8b@1");
    page.fill("#field-tp", "3");
    page.until(&format!("{VERDICT} === 'Cannot run'"));
    assert_eq!(page.count(".summary .primary"), 1);
    assert!(
        page.text(".summary .primary").starts_with("TP = "),
        "{}",
        page.text(".summary .primary")
    );
    assert!(!page.shows(".more-ways"));
    page.click("[data-testid=more-ways]");
    page.until("document.querySelector('.more-ways').checkVisibility()");
    assert!(page.text(".more-ways").contains("Show the first problem"));
    assert_eq!(page.barriers(), Vec::<String>::new());
    page.press("\u{E00C}");
    page.until("!document.querySelector('.more-ways').checkVisibility()");
}

/// The headline leaves the results their room, and takes the same whether or not the job can run: nothing moves while
/// one types.
#[allow(clippy::float_cmp, reason = "boxes that are the same have the same numbers")]
#[test]
fn the_headline_is_low_and_as_high_for_a_job_that_cannot_run() {
    for (width, height) in [(1280, 720), (1440, 900)] {
        let page = Page::blank();
        page.viewport(width, height);
        page.load("v1;m=llama3-8b@2");
        let measure = "(({ height }, results) => [height, results.height, results.top])\
            (document.querySelector('.summary').getBoundingClientRect(), document.querySelector('.results-pane').getBoundingClientRect())";
        let of = |page: &Page| -> [f64; 3] { serde_json::from_value(page.eval(measure)).unwrap() };
        let valid = of(&page);
        assert!(valid[0] <= HEADLINE, "{valid:?} at {width}");
        assert!(valid[1] >= 0.6 * f64::from(height), "{valid:?} at {width}");
        for (field, typed) in [("#field-tp", "3"), ("#field-seq", "0"), ("#field-gbs", "7")] {
            page.fill(field, typed);
            page.until("document.documentElement.hasAttribute('data-stale')");
            assert_eq!(of(&page), valid, "{field} = {typed} at {width}");
            page.click("[data-testid=undo]");
            page.until("!document.documentElement.hasAttribute('data-stale')");
        }
        page.click("[aria-label='About these numbers']");
        page.until("document.querySelector('.details')");
        assert_eq!(of(&page), valid, "details at {width}");
    }
}

/// The words that can be seen in the header and the headline, without numbers and units.
const SEEN: &str = "
    ['.header', '.summary'].flatMap((part) => {
      const words = [];
      const texts = document.createTreeWalker(document.querySelector(part), NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const parent = texts.currentNode.parentElement;
        const list = parent.closest('select');
        if (!parent.checkVisibility({ visibilityProperty: true }) || parent.closest('.unseen, [hidden]')) continue;
        if (list && parent.closest('option') !== list.selectedOptions[0]) continue;
        if (parent.closest('#presets')) continue;
        words.push(...(texts.currentNode.data.match(/[A-Za-z][A-Za-z-]+/g) ?? []).filter((word) => !/^(GiB|GB)$/.test(word)));
      }
      return words;
    })";

#[test]
fn the_first_view_has_few_words() {
    for fragment in ["", "v1;m=qwen3-235b-a22b@2"] {
        let page = Page::open(fragment);
        let words = page.eval(SEEN);
        assert!(words.as_array().unwrap().len() <= WORDS, "{words} of {fragment}");
    }
}

#[test]
fn the_answer_is_a_few_tab_stops_away() {
    let page = Page::open("");
    page.until("document.querySelector('#headline-0')");
    let mut stops = Vec::new();
    while page.eval("document.activeElement.matches('.summary .primary')") != json!(true) {
        page.press("\u{E004}");
        stops.push(page.eval("document.activeElement.innerText || document.activeElement.getAttribute('aria-label') || document.activeElement.id"));
        assert!(stops.len() <= TAB_STOPS, "{stops:?}");
    }
    // Within a group the arrow keys go on.
    page.eval("document.querySelector('[data-testid=undo]').focus()");
    page.press("\u{E014}");
    page.until("document.activeElement.matches('[data-testid=redo]')");
    page.press("\u{E010}");
    page.until("document.activeElement.matches('[data-testid=copy-link]')");
}
