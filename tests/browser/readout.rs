//! The line of data of what is pointed at, focused or tapped, and how it goes away.

use super::page::Page;

const JOB: &str = "v1;m=deepseek-v3@1";

/// In the middle of this column are activations of experts, and in the middle of the other nothing.
const EXPERTS: &str = "#stages-3 .reach";
const NO_EXPERTS: &str = "#stages-15 .reach";

/// A condition: the line of data is of a bucket, or of the chosen stage.
fn of_bucket(is: bool) -> String {
    format!(
        "document.querySelector('.stages .readout').innerText.includes('Expert activations') === {is}"
    )
}

/// A phone with the stages on its screen.
fn phone() -> Page {
    let page = Page::blank();
    page.viewport(390, 844);
    page.touch();
    page.load(JOB);
    page.until("document.querySelector('#stages-3')");
    page.eval("document.querySelector('.stages').scrollIntoView({ block: 'center' })");
    page.until(&of_bucket(false));
    page
}

#[test]
fn what_is_tapped_stays_until_another_tap_or_escape() {
    let page = phone();
    page.tap(EXPERTS);
    page.until(&of_bucket(true));
    std::thread::sleep(std::time::Duration::from_millis(300));
    page.until(&of_bucket(true));
    page.tap(".stages h2");
    page.until(&of_bucket(false));
    page.tap(EXPERTS);
    page.until(&of_bucket(true));
    page.tap(NO_EXPERTS);
    page.until(&of_bucket(false));
    page.tap(EXPERTS);
    page.until(&of_bucket(true));
    page.press("\u{E00C}");
    page.until(&of_bucket(false));
}

#[test]
fn a_finger_that_scrolls_over_a_picture_points_at_nothing() {
    let page = phone();
    page.tap(EXPERTS);
    page.until(&of_bucket(true));
    let scroll = page.eval("scrollY");
    page.swipe(NO_EXPERTS, 200);
    page.until(&format!("scrollY > {scroll}"));
    page.until(&of_bucket(true));
}

#[test]
fn escape_takes_the_line_away_wherever_the_focus_is() {
    let page = Page::open(JOB);
    page.click("#field-seq");
    page.hover(EXPERTS);
    page.until(&of_bucket(true));
    assert_eq!(page.eval("document.activeElement.id"), "field-seq");
    page.press("\u{E00C}");
    page.until(&of_bucket(false));
    page.hover(NO_EXPERTS);
    page.hover(EXPERTS);
    page.until(&of_bucket(true));
    let of_chosen_rank = |is: bool| {
        format!(
            "document.querySelector('.ranks .readout').innerText.startsWith('Rank 128:') === {is}"
        )
    };
    page.hover(".ranks h2");
    page.until(&of_chosen_rank(true));
    page.hover(".rank-cells");
    page.until(&of_chosen_rank(false));
    page.press("\u{E00C}");
    page.until(&of_chosen_rank(true));
}

#[test]
fn rows_of_a_picture_are_as_high_as_a_finger_needs() {
    let height =
        "Math.round(document.querySelector('#parts-0 .reach').getBoundingClientRect().height)";
    assert_eq!(Page::open(JOB).eval(height), 26);
    let page = phone();
    page.until("document.querySelector('#parts-0')");
    assert_eq!(page.eval(height), 44);
}
