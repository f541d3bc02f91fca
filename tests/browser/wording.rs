//! Where things are said: near what they are about, once in full, and in the order in which they are read.

use serde_json::json;

use super::page::Page;

const UP: &str = "\u{E013}";
const SMALL: &str = "v1;m=llama3-8b@1;gpus=8;tp=1;pp=1;cp=1;gbs=64;sp=0";

#[test]
fn a_problem_is_told_in_full_beside_the_edited_field_and_in_short_beside_the_others() {
    let page = Page::open("");
    page.fill("#field-tp", "3");
    page.until("document.querySelector('#field-gpus-problems .problem')");
    let told = |key: &str| {
        let told = page.eval(&format!(
            "[...document.querySelectorAll('#field-{key}-problems .problem > p')].map((p) => [p.innerText, p.title])"
        ));
        let told: Vec<[String; 2]> = serde_json::from_value(told).unwrap();
        told
    };
    // In full: no other text is kept in a title.
    let edited = told("tp");
    assert!(
        !edited.is_empty() && edited.iter().all(|[_, title]| title.is_empty()),
        "{edited:?}"
    );
    let others = told("gpus");
    assert!(!others.is_empty(), "{others:?}");
    for [short, full] in &others {
        assert!(edited.iter().any(|[text, _]| text == full), "{full}");
        assert!(short.contains("More at Tensor parallel (TP)"), "{short}");
        assert!(short.len() < full.len() + 40, "{short}");
    }
    page.eval("document.querySelector('#field-gpus-problems .link').click()");
    page.until("document.activeElement.id === 'field-tp'");
}

#[test]
fn a_step_that_cannot_be_taken_says_so_at_its_field_until_the_job_changes() {
    let page = Page::open("");
    // The layout has so many chunks, and no other number.
    page.click("#row-vpp .step:last-child");
    page.until("document.querySelector('#row-vpp .step-note')");
    assert!(page.text("#row-vpp .step-note").contains("Set by the pipeline layout"));
    page.fill("#field-mbs", "2");
    page.until("!document.querySelector('#row-vpp .step-note')");
}

#[test]
fn an_arrow_on_a_sequence_of_8192_tokens_leads_to_9216() {
    let page = Page::open(SMALL);
    page.fill("#field-seq", "8192");
    page.press(UP);
    page.until("document.getElementById('field-seq').value === '9216'");
    page.press("\u{E015}\u{E015}");
    page.until("document.getElementById('field-seq').value === '7168'");
}

/// The controls on the screen that do nothing and do not say why.
const SILENT: &str = "
    [...document.querySelectorAll(':is(button, input, select):disabled, [aria-disabled=true]')]
      .filter((control) => control.checkVisibility({ visibilityProperty: true }))
      .filter((control) => !control.title && !document.getElementById(control.getAttribute('aria-describedby'))?.innerText)
      .map((control) => control.outerHTML.slice(0, 160))";

#[test]
fn controls_that_do_nothing_say_why() {
    let page = Page::open(SMALL);
    assert_eq!(page.eval(SILENT), json!([]));
    assert!(page.count("[aria-disabled=true]") >= 1);
    for (button, dialog) in [("import", "[name=apply]"), ("export", "[name=copy]")] {
        page.click(&format!("[data-testid={button}]"));
        page.until(&format!("document.querySelector('dialog[open] {dialog}')"));
        page.until(&format!("{SILENT}.length === 0"));
        page.press("\u{E00C}");
        page.until("!document.querySelector('dialog[open]')");
    }
    // A pattern without borders, and a job that fits with no value.
    page.load("v1;m=nemotron-h-8b@1;gpus=1");
    page.until(&format!("{SILENT}.length === 0"));
}

#[test]
fn a_press_of_a_control_that_does_nothing_says_why() {
    let page = Page::open(SMALL);
    let notice = "document.querySelector('.notice:not([hidden])')";
    page.click(".actions [data-testid=redo]");
    page.until(&format!("{notice}?.innerText.includes('Nothing has been undone.')"));
    page.click("[data-testid=dismiss]");
    // What a press uses up did something: it gives no reason.
    page.fill("#field-mbs", "2");
    page.until("document.querySelector('.actions [data-testid=undo][aria-disabled=false]')");
    page.click(".actions [data-testid=undo]");
    page.until("document.querySelector('.actions [data-testid=undo][aria-disabled=true]')");
    assert_eq!(page.eval(notice), json!(null));
    page.click(".actions [data-testid=undo]");
    page.until(&format!(
        "{notice}?.innerText.includes('Nothing has been changed yet.')"
    ));
}

#[test]
fn what_is_pointed_at_in_the_bar_is_said_right_below_it() {
    let page = Page::open("");
    page.until("document.querySelector('#headline-3')");
    let place = page.text("[data-testid=where]");
    assert!(place.contains("stage 1"), "{place}");
    let height = "document.querySelector('.summary').offsetHeight";
    let before = page.eval(height);
    page.hover("#headline-2 polygon");
    page.until("document.querySelector('[data-testid=where]').innerText.includes('Optimizer')");
    let distance = page.eval(
        "document.querySelector('[data-testid=where]').getBoundingClientRect().top
           - document.querySelector('#headline-2 polygon').getBoundingClientRect().bottom",
    );
    assert!(distance.as_f64().unwrap() < 40.0, "{distance}");
    assert_eq!(page.eval(height), before);
    page.press("\u{E00C}");
    page.until(&format!(
        "document.querySelector('[data-testid=where]').innerText === {}",
        json!(place)
    ));
}

#[test]
fn the_headline_names_the_memory_of_the_gpu_at_every_width_and_stays() {
    let page = Page::open("");
    for width in [320, 360, 414, 600, 768, 1023, 1024, 1440, 2560] {
        page.viewport(width, 700);
        page.eval("scrollTo(0, 1500)");
        let seen = "(() => {
            const device = document.querySelector('[data-testid=device]');
            const { left, right, top, bottom } = device.getBoundingClientRect();
            return device.innerText.includes('of 79.1') && left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
        })()";
        page.until(seen);
    }
}

#[test]
fn numbers_keep_their_order_where_the_page_is_read_from_the_right() {
    let page = Page::open("");
    page.eval("document.documentElement.dir = 'rtl'");
    // Each number stands to the right of the one before, as long as they are on one line.
    let scrambled = "(() => {
        const scrambled = [];
        const texts = document.createTreeWalker(document.querySelector('#app'), NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
          const text = texts.currentNode;
          if (!text.parentElement.checkVisibility() || text.parentElement.closest('svg, option, code, pre')) continue;
          const places = [...text.data.matchAll(/[0-9.,]*[0-9]/g)].map(({ index, 0: number }) => {
            const range = document.createRange();
            range.setStart(text, index);
            range.setEnd(text, index + number.length);
            return range.getBoundingClientRect();
          });
          const wrong = places.some((place, i) => i > 0 && Math.abs(place.top - places[i - 1].top) < 2 && place.left < places[i - 1].left);
          if (wrong) scrambled.push(text.data);
        }
        return scrambled;
    })()";
    assert_eq!(page.eval(scrambled), json!([]));
    assert!(page.text("[data-testid=headroom]").contains(" to "));
}

#[test]
fn names_of_the_explanation_wrap() {
    let page = Page::open("");
    page.until("document.querySelector('#parts-3')");
    page.click("#parts-3 polygon");
    page.until("document.querySelectorAll('.terms li').length > 3");
    page.eval("[...document.querySelectorAll('.terms button')].find((b) => b.innerText.includes('Expert')).click()");
    page.until("document.querySelector('[data-testid=explain] h3').innerText === 'Expert activations'");
    let cut = "[...document.querySelectorAll('.term-label')].filter((name) => name.scrollWidth > name.clientWidth + 1).map((name) => name.innerText)";
    assert_eq!(page.eval(cut), json!([]));
    assert!(page.count(".term-label") > 2);
}

#[test]
fn a_dispatcher_that_allocates_beside_pytorch_is_named_below_the_bar() {
    let page = Page::open(SMALL);
    let names = "document.querySelector('.details').innerText.includes(\"token dispatcher's buffers\")";
    page.click("[aria-label='About these numbers']");
    page.until("document.querySelector('.details')?.innerText.includes('CUDA context')");
    assert_eq!(page.eval(names), false);
    page.eval("(location.hash = '#v1;m=deepseek-v3@2', 0)");
    page.until(names);
}

#[test]
fn the_ranks_of_one_model_are_colored_by_stage() {
    let page = Page::open("");
    page.eval("document.getElementById('ranks-title').scrollIntoView()");
    // There are 2,048: what is seen first is the sixteen groups of equal ranks.
    page.until("document.querySelectorAll('.rank-groups li').length === 16");
    assert!(
        page.text(".rank-groups li:nth-child(2)")
            .contains("128 ranks, 128 to 255")
    );
    assert_eq!(page.count(".rank-map"), 0);
    page.click("[data-testid=every-rank]");
    // Each of the sixteen stages has a shade of its own.
    page.until(
        "new Set([...document.querySelectorAll('.rank-map [fill-opacity]')].map((fill) => fill.getAttribute('fill-opacity'))).size === 16",
    );
}

#[test]
fn a_message_leaves_by_itself() {
    let page = Page::open(SMALL);
    page.click("[data-testid=copy-link]");
    page.until("document.querySelector('.notice').checkVisibility() || document.querySelector('dialog[open]')");
    page.until("!document.querySelector('.notice').checkVisibility()");
}

#[test]
fn what_was_typed_right_before_printing_is_on_paper() {
    let page = Page::open("");
    page.until("document.querySelectorAll('.numbers tbody tr').length > 4");
    let total = "[...document.querySelectorAll('.numbers tbody tr')].at(1).textContent";
    let before = page.eval(total);
    // One task: no frame comes between the keystroke and the paper.
    page.run(
        "const field = document.getElementById('field-seq');
         field.value = '2048';
         field.dispatchEvent(new Event('input', { bubbles: true }));",
    );
    page.eval("window.dispatchEvent(new Event('beforeprint'))");
    assert_ne!(page.eval(total), before);
}
