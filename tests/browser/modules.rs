//! Jobs of several modules: the list above the form, laying out, and the map of all ranks.

use super::page::Page;

const RIGHT: &str = "\u{E014}";
const DOWN: &str = "\u{E015}";
const END: &str = "\u{E010}";
const HOME: &str = "\u{E011}";
const TAB: &str = "\u{E004}";
const BACKSPACE: &str = "\u{E003}";

/// Chooses an entry of a list as a reader does.
fn choose(page: &Page, list: &str, entry: &str) {
    page.eval(&format!(
        "(() => {{ const s = document.querySelector('{list}'); s.value = '{entry}'; \
         s.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    ));
}

/// The reference layout, chosen from the list of presets.
fn reference() -> Page {
    let page = Page::open("v1;m=llama3-8b@1");
    page.choose_preset("qwen3.5-vl-27b");
    page.until("document.querySelectorAll('.module').length === 2");
    page
}

#[test]
fn an_encoder_joins_and_leaves() {
    let page = Page::open("v1;m=llama3-8b@1");
    assert_eq!(page.count(".module"), 0);
    let alone = page.text("[data-testid=total]");
    page.click(".section-line");
    choose(&page, "#add-module", "clip-vit-l-14-336");
    page.until("document.querySelectorAll('.module').length === 2");
    page.until("!document.querySelector('.problem p')");
    assert_eq!(page.value(".module:nth-child(1) .module-name"), "language");
    assert_eq!(page.value(".module:nth-child(2) .module-name"), "images");
    // The form edits the new module.
    page.until("document.querySelector('#field-L').value === '24'");
    page.click("#module-0");
    page.until("document.querySelector('#field-L').value === '32'");
    page.click(".module:nth-child(2) [aria-label=Remove]");
    page.until("document.querySelectorAll('.module').length === 0");
    assert_eq!(page.text("[data-testid=total]"), alone);
    // Undo brings it back.
    page.eval("document.activeElement.blur()");
    page.press("\u{E009}z\u{E000}");
    page.until("document.querySelectorAll('.module').length === 2");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_larger_cluster_is_said_and_can_be_undone() {
    let page = Page::open("v1;m=llama3-8b@1;gpus=8;tp=8;pp=1;cp=1;gbs=64");
    choose(&page, "#add-module", "clip-vit-l-14-336");
    page.until("document.querySelectorAll('.module').length === 2");
    let gpus = page.value("#field-gpus");
    let said = page.text(".notice p");
    assert!(
        said.contains(&format!("images gets GPUs of its own (8 → {gpus})")),
        "{said}"
    );
    // A wrong number of GPUs is wrong there too, whichever module is edited.
    page.fill("#field-gpus", "11");
    page.until("document.querySelector('#field-gpus-problems .problem-error')");
    page.click("#module-0");
    page.until("document.querySelector(\"#module-0\").ariaPressed === 'true'");
    assert!(page.text("#field-gpus-problems").contains("world_size is 11"));
    page.press("\u{E009}z\u{E000}");
    page.until("!document.querySelector('#field-gpus-problems .problem-error')");
    page.press("\u{E009}z\u{E000}");
    page.until("document.querySelectorAll('.module').length === 0");
    assert_eq!(page.value("#field-gpus"), "8");
}

#[test]
fn modules_are_renamed_copied_and_moved() {
    let page = reference();
    page.fill(".module:nth-child(2) .module-name", "video");
    page.press(TAB);
    page.until("location.hash.includes('video.')");
    page.click(".module:nth-child(2) [aria-label='Copy this module']");
    page.until("document.querySelectorAll('.module').length === 3");
    page.until("document.querySelector(\".module:nth-child(3) .module-name\").value === 'video_2'");
    page.click(".module:nth-child(3) [aria-label='Move up']");
    page.until("document.querySelector(\".module:nth-child(2) .module-name\").value === 'video_2'");
    assert!(!page.shows(".module .problem"));
}

#[test]
fn a_mistake_is_named_at_its_module_and_mended_by_a_click() {
    let page = reference();
    page.click(".modules summary");
    page.fill(
        "#component-specs",
        "language=tp=4,pp=2,dp=2 images=tp=1,dp=1,rank_offset=20",
    );
    page.press(TAB);
    page.until("document.querySelector('.module .problem .fix')");
    assert_eq!(page.count(".module:nth-child(2) .problem"), 1);
    page.click(".module:nth-child(2) .fix");
    // Back at its place, the module leaves the end of the world empty, which is the job's to mend.
    page.until("document.querySelector('.module:nth-child(1) .problem .fix')");
    page.click(".module:nth-child(1) .fix");
    page.until("!document.querySelector('.module .problem')");
    assert!(page.text(".module:nth-child(2)").contains("rank 16"));
    // Names too: one that is taken, none at all, and no language model.
    for name in ["images", BACKSPACE] {
        page.fill(".module:nth-child(1) .module-name", name);
        page.press(TAB);
        page.until("document.querySelector('.module:nth-child(1) .problem .fix')");
        page.click(".module:nth-child(1) .fix");
        page.until("!document.querySelector('.module .problem')");
        assert_eq!(page.value(".module:nth-child(1) .module-name"), "language");
    }
    // What is no spec at all is said beside the text, which stays.
    page.fill("#component-specs", "language");
    page.press(TAB);
    page.until("document.querySelector('#component-specs-wrong').innerText.includes('of the form')");
    assert_eq!(page.value("#component-specs"), "language");
    assert_eq!(page.count(".module"), 2);
}

#[test]
fn laying_out_mends_everything_at_once() {
    let page = reference();
    page.fill("#field-tp", "8");
    page.press(TAB);
    page.until("document.querySelector('.module .problem')");
    page.click(".modules-head button");
    page.until("!document.querySelector('.module .problem')");
    assert!(page.text(".module:nth-child(2)").contains("rank 32"));
    assert_eq!(page.value("#field-gpus"), "33");
}

#[test]
fn a_link_restores_a_job_of_several_modules() {
    let page = reference();
    page.until("location.hash === '#v1;m=qwen3.5-vl-27b@1'");
    assert_eq!(page.count(".field-changed"), 0);
    page.fill("#field-tp", "8");
    page.press(TAB);
    page.click(".modules-head button");
    // Both changes are in it: the link follows a little later, and not each of them by itself.
    page.until("location.hash.includes('language.tp=8') && location.hash.includes('gpus=33')");
    assert_eq!(page.count(".field-changed"), 2);
    let (link, total) = (page.fragment(), page.text("[data-testid=total]"));
    page.load(&link);
    assert_eq!(page.count(".module"), 2);
    assert_eq!(page.text("[data-testid=total]"), total);
    assert_eq!(page.value("#preset"), "qwen3.5-vl-27b");
    assert_eq!(page.fragment(), link);
    page.click("#row-tp .reset");
    page.click(".modules-head button");
    page.until("document.querySelector('[data-testid=reset]').ariaDisabled === 'true'");
    assert_eq!(page.count(".field-changed"), 0);
}

#[test]
fn the_map_of_ranks_is_walked_with_keys() {
    let page = reference();
    let says = |start: &str| {
        page.until(&format!(
            "document.querySelector('.ranks .readout').innerText.startsWith('{start}')"
        ));
    };
    page.eval("document.getElementById('rank-map').focus()");
    page.press(HOME);
    page.until("document.getElementById('rank-map').getAttribute('aria-valuenow') === '0'");
    page.press(RIGHT);
    says("Rank 1: language stage 0, TP 1 CP 0 DP 0 PP 0");
    page.press(END);
    says("Rank 16: images");
    page.press(HOME);
    says("Rank 0:");
    page.press(DOWN);
    says("Rank 16:");
    // A group of either view is lit on the map.
    page.press(HOME);
    says("Rank 0:");
    let lit = "document.querySelector('.rank-group').getAttribute('d')";
    let before = page.eval(lit);
    let pipeline = "[...document.querySelectorAll('.rank-module:first-child .group-name')].find((name) => name.innerText === 'pp')";
    page.until(&format!("{pipeline} !== undefined"));
    page.eval(&format!("{pipeline}.click()"));
    page.until(&format!("{pipeline}.ariaPressed === 'true'"));
    page.until(&format!("{lit} !== {before}"));
    // Colors are another way to look at the same ranks.
    page.click(".choices button:nth-child(2)");
    page.until("document.querySelector('.ranks .legend').innerText.includes('language stage 1, 8 ranks')");
}

#[test]
fn the_pointer_finds_ranks() {
    let page = reference();
    page.eval("document.getElementById('rank-map').scrollIntoView()");
    let at = |name: &str, column: &str| {
        format!(
            "(() => {{ const e = document.querySelector('.rank-cells'), r = e.getBoundingClientRect(); \
             e.dispatchEvent(new PointerEvent('{name}', {{ bubbles: true, pointerType: 'mouse', clientX: r.left + r.width * {column} / 16, \
             clientY: r.top + 1 }})); }})()"
        )
    };
    page.eval(&at("pointermove", "9.5"));
    page.until("document.querySelector('.ranks .readout').innerText.startsWith('Rank 9:')");
    page.eval(&at("click", "3.5"));
    page.until("document.querySelector('.ranks .readout').innerText.startsWith('Rank 3:')");
}

/// A world of 16,384 ranks is a handful of elements.
#[test]
fn a_large_world_is_drawn_as_few_elements() {
    let page = Page::open("v1;m=llama3-8b@1;gpus=16384;tp=8;gbs=16384");
    page.until("document.querySelector('.ranks .panel-note')");
    page.eval("document.querySelector('.ranks').scrollIntoView()");
    page.until("document.querySelector('.ranks .panel-note').innerText === '16,384 ranks'");
    page.click("[data-testid=every-rank]");
    page.until("document.getElementById('rank-map')");
    assert!(page.count(".rank-map *") < 40);
    page.eval("document.getElementById('rank-map').focus()");
    page.press(END);
    page.until("document.querySelector('.ranks .readout').innerText.startsWith('Rank 16383:')");
}

#[test]
fn no_barriers_with_several_modules() {
    let page = reference();
    page.click(".modules summary");
    for scheme in ["light", "dark"] {
        page.media("prefers-color-scheme", scheme);
        assert_eq!(page.barriers(), Vec::<String>::new(), "{scheme}");
    }
    page.fill("#component-specs", "language=tp=3,dp=1 images=tp=1,dp=1,rank_offset=20");
    page.press(TAB);
    page.until("document.querySelector('.module .problem')");
    assert_eq!(page.barriers(), Vec::<String>::new(), "with problems");
}

#[test]
fn a_narrow_screen_shows_modules_without_sideways_scrolling() {
    let page = reference();
    page.viewport(320, 640);
    assert_eq!(page.eval("document.documentElement.scrollWidth"), 320);
}
