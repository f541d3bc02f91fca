//! The line of data of what is pointed at, focused or tapped, and how it goes away.

use super::page::Page;

const JOB: &str = "v1;m=deepseek-v3@1";

/// In the middle of this column are activations, and in the middle of the other nothing.
const FULL: &str = "#stages-3 .reach";
const EMPTY: &str = "#stages-15 .reach";

/// A condition: the line of data is of activations, or of the chosen stage.
fn of_activations(is: bool) -> String {
    format!("document.querySelector('.stages .readout').innerText.includes('Activations') === {is}")
}

/// A phone with the stages on its screen.
fn phone() -> Page {
    let page = Page::blank();
    page.viewport(390, 844);
    page.touch();
    page.load(JOB);
    page.until("document.querySelector('#stages-3')");
    page.eval("document.querySelector('.stages').scrollIntoView({ block: 'center' })");
    page.until(&of_activations(false));
    page
}

#[test]
fn what_is_tapped_stays_until_another_tap_or_escape() {
    let page = phone();
    page.tap(FULL);
    page.until(&of_activations(true));
    std::thread::sleep(std::time::Duration::from_millis(300));
    page.until(&of_activations(true));
    page.tap(".stages h2");
    page.until(&of_activations(false));
    page.tap(FULL);
    page.until(&of_activations(true));
    page.tap(EMPTY);
    page.until(&of_activations(false));
    page.tap(FULL);
    page.until(&of_activations(true));
    page.press("\u{E00C}");
    page.until(&of_activations(false));
}

#[test]
fn a_finger_that_scrolls_over_a_picture_points_at_nothing() {
    let page = phone();
    page.tap(FULL);
    page.until(&of_activations(true));
    let scroll = page.eval("scrollY");
    page.swipe(EMPTY, 200);
    page.until(&format!("scrollY > {scroll}"));
    page.until(&of_activations(true));
}

#[test]
fn escape_takes_the_line_away_wherever_the_focus_is() {
    let page = Page::open(JOB);
    page.click("#field-seq");
    page.hover(FULL);
    page.until(&of_activations(true));
    assert_eq!(page.eval("document.activeElement.id"), "field-seq");
    page.press("\u{E00C}");
    page.until(&of_activations(false));
    page.hover(EMPTY);
    page.hover(FULL);
    page.until(&of_activations(true));
    let of_chosen_rank =
        |is: bool| format!("document.querySelector('.ranks .readout').innerText.startsWith('Rank 128:') === {is}");
    page.click("[data-testid=every-rank]");
    page.until("document.querySelector('.rank-cells')");
    page.hover(".ranks h2");
    page.until(&of_chosen_rank(true));
    page.hover(".rank-cells");
    page.until(&of_chosen_rank(false));
    page.press("\u{E00C}");
    page.until(&of_chosen_rank(true));
}

#[test]
fn rows_of_a_picture_are_as_high_as_a_finger_needs() {
    let height = "Math.round(document.querySelector('#parts-0 .reach').getBoundingClientRect().height)";
    let page = Page::blank();
    page.viewport(1600, 900);
    page.load(JOB);
    page.until("document.querySelector('#parts-0')");
    assert_eq!(page.eval(height), 26);
    let page = phone();
    page.until("document.querySelector('#parts-0')");
    assert_eq!(page.eval(height), 44);
}
