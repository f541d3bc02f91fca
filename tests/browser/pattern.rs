//! Layer patterns: text and cells that edit each other.

use serde_json::json;

use super::page::Page;

const BACKSPACE: &str = "\u{E003}";
const TAB: &str = "\u{E004}";
const ENTER: &str = "\u{E007}";
const SHIFT: &str = "\u{E008}";
const CTRL: &str = "\u{E009}";
const NULL: &str = "\u{E000}";
const END: &str = "\u{E010}";
const HOME: &str = "\u{E011}";
const LEFT: &str = "\u{E012}";
const UP: &str = "\u{E013}";
const RIGHT: &str = "\u{E014}";
const DOWN: &str = "\u{E015}";
const DELETE: &str = "\u{E017}";

/// Llama 3 8B on 8 GPUs in two pipeline stages.
const SMALL: &str = "v1;m=llama3-8b@1;gpus=8;tp=2;pp=2;cp=1;gbs=64";

/// As many layers as Nemotron-H 56B has: 118.
const LONG: &str = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-";

/// The page with the field of the pattern in view.
fn open(fragment: &str) -> Page {
    let page = Page::open(fragment);
    page.fill("#search", "hybrid_layer_pattern");
    page.press(ENTER);
    page.until("document.activeElement.id === 'field-hyb'");
    page
}

/// The page with this pattern in the field.
fn open_with(pattern: &str) -> Page {
    let page = open(SMALL);
    page.fill("#field-hyb", pattern);
    page.until("document.querySelector('.pattern-cell[role=option]')");
    page
}

/// The cells as they are seen: the name of each row and its letters.
fn cells(page: &Page) -> serde_json::Value {
    page.eval(
        "[...document.querySelectorAll('.pattern-stage')].map((stage) => stage.ariaLabel + ': ' \
            + [...stage.querySelectorAll('[role=option]')].map((cell) => cell.innerText).join(''))",
    )
}

fn until_pattern(page: &Page, pattern: &str) {
    page.until(&format!(
        "document.getElementById('field-hyb').value === {}",
        json!(pattern)
    ));
}

fn click_button(page: &Page, label: &str) {
    page.eval(&format!(
        "[...document.querySelectorAll('.pattern-editor button')].find((b) => b.innerText.trim() === {}).click()",
        json!(label)
    ));
}

fn until_focused(page: &Page, id: &str) {
    page.until(&format!("document.activeElement.id === '{id}'"));
}

#[test]
fn typed_letters_become_cells_by_stage() {
    let page = open(SMALL);
    assert_eq!(page.count(".pattern-cell"), 0);
    page.fill("#field-hyb", "M-M*|-M-M/M-/M-");
    page.until("document.querySelectorAll('.pattern-stage').length === 3");
    assert_eq!(page.value("#field-hyb"), "M-M*|-M-M/M-/M-");
    assert_eq!(cells(&page), json!(["PP 0: M-M*", "PP 1: -M-M", "MTP, 2 depths: M-"]));
    assert_eq!(
        page.eval("document.getElementById('pattern-layer-3').title"),
        "Layer 3: attention"
    );
    // As many chunks a rank as the pattern has.
    page.fill("#field-hyb", "M|-|M|*");
    page.until("document.querySelectorAll('.pattern-stage').length === 4");
    assert_eq!(
        cells(&page),
        json!([
            "PP 0, chunk 0: M",
            "PP 1, chunk 0: -",
            "PP 0, chunk 1: M",
            "PP 1, chunk 1: *"
        ])
    );
    // Without borders the stages are Megatron's even ones; repetition is understood and stays as it was typed.
    page.fill("#field-hyb", "\"M-\" * 3 + \"M*\"");
    page.until("document.querySelectorAll('.pattern-stage').length === 2");
    assert_eq!(cells(&page), json!(["PP 0: M-M-", "PP 1: M-M*"]));
    assert_eq!(page.value("#field-hyb"), "\"M-\" * 3 + \"M*\"");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn the_pattern_says_what_other_fields_say_otherwise() {
    let page = open_with("M-M*|-M-M/M-");
    page.until("document.querySelector('#row-L .pattern-note')");
    assert!(page.text("#row-L .pattern-note").contains("8 layers"));
    assert!(page.text("#row-mtp .pattern-note").contains("1 depth"));
    assert!(page.text("#row-pp .pattern-note").contains("2 segments"));
    assert!(
        page.text("#section-0 .chips")
            .replace('\n', " ")
            .contains("layers 8: 4 Mamba, 1 attention, 3 MLP")
    );
    // The stages of the results are those of the pattern.
    page.fill("#field-hyb", "M-M*-M|-M");
    page.until("document.querySelector('.stages .readout, .readout')?.innerText.includes('6 layers')");
}

#[test]
fn cells_are_edited_by_keys_and_the_text_follows() {
    let page = open_with("M-M-|M-M-");
    page.eval("document.getElementById('pattern-layer-0').focus()");
    page.press(RIGHT);
    until_focused(&page, "pattern-layer-1");
    page.press("*");
    until_pattern(&page, "M*M-|M-M-");
    until_focused(&page, "pattern-layer-1");
    // Small letters too; a key that is no kind changes nothing.
    page.press("e");
    page.press("x");
    until_pattern(&page, "MEM-|M-M-");
    page.press("-");
    until_pattern(&page, "M-M-|M-M-");
    page.press(ENTER);
    until_pattern(&page, "M--M-|M-M-");
    until_focused(&page, "pattern-layer-2");
    page.press(&format!("{SHIFT}{ENTER}{NULL}"));
    until_pattern(&page, "M---M-|M-M-");
    page.press(DELETE);
    page.press(BACKSPACE);
    until_pattern(&page, "M-M-|M-M-");
    until_focused(&page, "pattern-layer-1");
    page.press(END);
    until_focused(&page, "pattern-layer-3");
    page.press(RIGHT);
    until_focused(&page, "pattern-layer-4");
    page.press(UP);
    until_focused(&page, "pattern-layer-0");
    page.press(DOWN);
    until_focused(&page, "pattern-layer-4");
    page.press(&format!("{CTRL}{END}{NULL}"));
    until_focused(&page, "pattern-layer-7");
    page.press(HOME);
    until_focused(&page, "pattern-layer-4");
    page.press(LEFT);
    until_focused(&page, "pattern-layer-3");
    // One cell is in the tab order.
    assert_eq!(page.count(".pattern-cells [tabindex='0']"), 1);
    page.press(TAB);
    page.until("document.activeElement.matches('.pattern-kind')");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn what_no_model_has_is_refused_with_words() {
    let page = open_with("M-*-");
    page.eval("document.getElementById('pattern-layer-0').focus()");
    page.press("+");
    page.until("document.querySelector('.notice').innerText.includes('cannot mix attention with MLA')");
    assert_eq!(page.value("#field-hyb"), "M-*-");
    page.fill("#field-hyb", "M");
    page.until("document.querySelectorAll('.pattern-cells [role=option]').length === 1");
    page.eval("document.getElementById('pattern-layer-0').focus()");
    page.press(DELETE);
    page.until("document.querySelector('.notice').innerText.includes('at least one layer')");
    assert_eq!(page.value("#field-hyb"), "M");
}

#[test]
fn the_palette_edits_the_layer_that_was_clicked() {
    let page = open_with("M-M-|M-M-/M-");
    page.click("#pattern-layer-2");
    page.until("document.getElementById('pattern-current').innerText === 'Layer 2: Mamba'");
    click_button(&page, "E\nMoE");
    until_pattern(&page, "M-E-|M-M-/M-");
    page.until("document.getElementById('pattern-current').innerText === 'Layer 2: MoE'");
    click_button(&page, "Insert before");
    until_pattern(&page, "M-EE-|M-M-/M-");
    click_button(&page, "Remove");
    until_pattern(&page, "M-E-|M-M-/M-");
    page.click("#pattern-mtp-layer-1");
    page.until("document.getElementById('pattern-current').innerText === 'MTP layer 1: MLP'");
    click_button(&page, "*\nattention");
    until_pattern(&page, "M-E-|M-M-/M*");
    page.click("[aria-label='More MTP depths']");
    until_pattern(&page, "M-E-|M-M-/M*/M*");
    page.click("[aria-label='Fewer MTP depths']");
    page.click("[aria-label='Fewer MTP depths']");
    until_pattern(&page, "M-E-|M-M-");
    page.until("document.getElementById('pattern-current').innerText === 'Layer 7: MLP'");
}

#[test]
fn stage_borders_come_and_go() {
    let page = open_with("M-M-M-M-");
    page.click("#pattern-layer-1");
    click_button(&page, "Stage ends here");
    until_pattern(&page, "M-|M-M-M-");
    page.until("document.getElementById('spoken').innerText.includes('A stage ends after layer 1; 2 stages')");
    click_button(&page, "Split into 2 equal stages");
    until_pattern(&page, "M-M-|M-M-");
    page.eval("document.getElementById('pattern-layer-1').focus()");
    page.press("|");
    until_pattern(&page, "M-|M-|M-M-");
    // Three segments are no two stages; the field says so and knows a way out.
    page.until("document.querySelector('#field-hyb-problems .problem-error .fix')");
    page.press("|");
    until_pattern(&page, "M-M-|M-M-");
    click_button(&page, "Remove stage borders");
    until_pattern(&page, "M-M-M-M-");
    // With chunks on each rank.
    page.fill("#field-vpp", "2");
    page.until("[...document.querySelectorAll('.pattern-editor button')].some((b) => b.innerText === 'Split into 2 · 2 equal stages')");
    click_button(&page, "Split into 2 · 2 equal stages");
    until_pattern(&page, "M-|M-|M-|M-");
}

#[test]
fn each_edit_of_a_cell_is_a_step_to_undo() {
    let page = open_with("M-M-M-M-");
    page.press(TAB);
    page.eval("document.getElementById('pattern-layer-0').focus()");
    let steps = ["*-M-M-M-", "**-M-M-M-", "**|-M-M-M-"];
    for (key, pattern) in ["*", ENTER, "|"].into_iter().zip(steps) {
        page.press(key);
        until_pattern(&page, pattern);
    }
    for pattern in ["**-M-M-M-", "*-M-M-M-", "M-M-M-M-"] {
        page.press(&format!("{CTRL}z{NULL}"));
        until_pattern(&page, pattern);
    }
    page.press(&format!("{CTRL}{SHIFT}z{NULL}"));
    until_pattern(&page, "*-M-M-M-");
    page.until("document.getElementById('pattern-layer-0').innerText === '*'");
}

#[test]
fn a_bad_pattern_stays_as_typed_beside_its_problem_and_the_last_cells_stay_too() {
    let page = open_with("M-M*");
    page.fill("#field-hyb", "M-Mx-");
    page.until("document.getElementById('field-hyb').ariaInvalid === 'true'");
    assert_eq!(page.value("#field-hyb"), "M-Mx-");
    let problem = page.text("#field-hyb-problems .problem");
    assert!(problem.contains("“x” at character 4"), "{problem}");
    assert!(page.shows("[data-testid=stale]"));
    assert!(page.shows(".pattern-editor > .pattern-note"));
    // Those of `M-M`: every key makes a pattern of its own.
    assert_eq!(page.count(".pattern-cells [role=option]"), 3);
    page.click("#field-hyb-problems .fix");
    until_pattern(&page, "M-M-");
    until_focused(&page, "field-hyb");
    page.until("document.querySelectorAll('.pattern-cells [role=option]').length === 4");
    assert!(!page.shows(".pattern-editor > .pattern-note"));
    page.fill("#field-hyb", BACKSPACE);
    page.until("!document.querySelector('.pattern-cells')");
}

#[test]
fn the_layers_of_a_gpt_model_become_a_pattern_of_the_same_size() {
    let page = open("v1;m=llama3-8b@1;gpus=8;tp=2;pp=2;cp=1;gbs=64");
    let parameters = "document.querySelector('#line-0 .section-essence').innerText";
    let before = page.eval(parameters);
    click_button(&page, "Write these layers as a pattern");
    until_pattern(&page, &format!("{0}|{0}", "*-".repeat(16)));
    until_focused(&page, "field-hyb");
    page.until("document.querySelectorAll('.pattern-cells [role=option]').length === 64");
    assert_eq!(page.eval(parameters), before);
    assert!(!page.shows("[data-testid=stale]"));
    assert_eq!(page.count(".problem"), 0);
    assert_eq!(page.value("#field-L"), "");
    page.click(".notice [data-testid=undo]");
    until_pattern(&page, "");
    assert_eq!(page.value("#field-L"), "32");
}

#[test]
fn a_key_in_another_field_leaves_the_cells_alone() {
    let page = open_with(LONG);
    page.until("document.querySelectorAll('.pattern-cells [role=option]').length === 118");
    page.eval(
        "(() => { window.changes = 0; \
         new MutationObserver((changes) => { window.changes += changes.length; }) \
           .observe(document.querySelector('.pattern-cells'), { childList: true, attributes: true, characterData: true, subtree: true }); })()",
    );
    // In one step: on the way to a hidden size digit by digit there are sizes that no job can have.
    page.eval(
        "(() => { const field = document.getElementById('field-h'); field.value = '8192'; \
         field.dispatchEvent(new Event('input', { bubbles: true })); })()",
    );
    page.until("document.querySelector('.field-changed #field-h')");
    assert_eq!(page.eval("window.changes"), 0);
    // And a letter in one cell is one cell's change.
    page.eval("document.getElementById('pattern-layer-50').focus()");
    page.until("document.getElementById('pattern-layer-50').ariaSelected === 'true'");
    page.eval("document.querySelectorAll('.pattern-cells [role=option]').forEach((cell) => { cell.marked = true; })");
    page.press("*");
    page.until("document.getElementById('pattern-layer-50').innerText === '*'");
    assert_eq!(
        page.eval(
            "[...document.querySelectorAll('.pattern-cells [role=option]')].filter((cell) => cell.marked).length"
        ),
        118
    );
}

#[test]
fn a_long_pattern_wraps_on_a_narrow_screen() {
    let page = Page::open(SMALL);
    page.viewport(320, 640);
    page.touch();
    page.fill("#search", "hybrid_layer_pattern");
    page.press(ENTER);
    page.until("document.activeElement.id === 'field-hyb'");
    page.fill("#field-hyb", LONG);
    page.until("document.querySelectorAll('.pattern-cells [role=option]').length === 118");
    assert_eq!(page.eval("document.documentElement.scrollWidth"), 320);
    let outside = page.eval(
        "[...document.querySelectorAll('.pattern-editor *')].filter((e) => e.getBoundingClientRect().right > 320).length",
    );
    assert_eq!(outside, 0);
    page.screenshot("pattern-narrow");
}

#[test]
fn no_barriers_among_the_cells() {
    let page = open_with("M-M*|-GEM/M-");
    for scheme in ["light", "dark"] {
        page.media("prefers-color-scheme", scheme);
        assert_eq!(page.barriers(), Vec::<String>::new(), "{scheme}");
    }
    page.fill("#field-hyb", "M-Mx");
    page.until("document.getElementById('field-hyb').ariaInvalid === 'true'");
    assert_eq!(page.barriers(), Vec::<String>::new(), "with a bad pattern");
}
