//! Buckets in four groups: what is told apart at first, how a group is split, and whether its colors can be told apart.

use serde_json::json;

use super::page::Page;

const ENTER: &str = "\u{E007}";

/// The names of the rows of the shown stage, from top to bottom.
fn rows(page: &Page) -> Vec<String> {
    let names = page
        .eval("[...document.querySelectorAll('[id^=parts-][role=button]')].map((row) => row.ariaLabel.split(':')[0])");
    serde_json::from_value(names).unwrap()
}

/// Waits until this holds for the number of rows: charts follow a click a frame later.
fn until_rows(page: &Page, holds: &str) {
    page.until(&format!(
        "document.querySelectorAll('[id^=parts-][role=button]').length {holds}"
    ));
}

/// Waits until the chart of all stages has so many classes of shapes for whole groups.
fn until_whole_groups(page: &Page, count: u64) {
    page.until(&format!(
        "document.querySelectorAll('.scene-stages path[class*=group-]').length === {count}"
    ));
}

/// How many rows there are of the classes of shapes in the chart of all stages that start so.
fn colors(page: &Page, start: &str) -> u64 {
    page.count(&format!(".scene-stages path[class*='{start}']"))
}

#[test]
fn four_groups_come_first_and_each_is_split_by_a_click_or_a_key() {
    let page = Page::open("");
    page.until("document.querySelector('#parts-3')");
    let groups = ["Weights", "Gradients", "Optimizer", "Activations and buffers"];
    assert_eq!(rows(&page), groups);
    assert_eq!((colors(&page, "group-"), colors(&page, "bucket-")), (4, 0));
    let link = page.fragment();

    // The bar of the headline: a click on a group splits it in every chart.
    page.click("#headline-3 polygon");
    page.until("document.querySelector('#parts-3').ariaExpanded === 'true'");
    until_rows(&page, "> 6");
    let split = rows(&page);
    assert!(split.iter().any(|name| name == "Expert activations"), "{split:?}");
    assert!(split.starts_with(&groups.map(String::from)), "{split:?}");
    until_whole_groups(&page, 3);

    // The row of the group puts it together again, by keyboard, and keeps the focus.
    page.eval("document.querySelector('#parts-3').focus()");
    page.press(ENTER);
    page.until("document.querySelector('#parts-3').ariaExpanded === 'false'");
    until_rows(&page, "=== 4");
    assert_eq!(rows(&page), groups);
    assert_eq!(page.eval("document.activeElement.id"), "parts-3");

    // Its name in the legend does the same.
    page.click("[data-group=weights]");
    page.until("document.querySelector('[data-group=weights]').ariaExpanded === 'true'");
    until_rows(&page, "> 4");
    assert_eq!(
        rows(&page)[..3],
        ["Weights", "Weights", "Expert weights"].map(String::from)
    );

    // What is split is a way to look, and no part of the job.
    assert_eq!(page.fragment(), link);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// The bytes of the rows of a stage are those of the stage, bucket by bucket and group by group, and a note says why
/// rounded numbers need not add up.
#[test]
fn rows_add_up_to_the_total_to_the_byte() {
    let page = Page::open("");
    page.until("document.querySelector('#parts-3')");
    let bytes = |texts: &str| -> Vec<u64> {
        serde_json::from_value(page.eval(&format!(
            "{texts}.map((text) => Number(/([0-9,]+) bytes/.exec(text)[1].replaceAll(',', '')))"
        )))
        .unwrap()
    };
    let rows = "[...document.querySelectorAll('[id^=parts-][role=button]')].map((row) => row.ariaLabel)";
    let total = bytes("[document.querySelector('[data-testid=explain] .explain-amount').innerText]")[0];
    assert_eq!(bytes(rows).iter().sum::<u64>(), total);
    let note = page.eval("document.querySelector('.numbers .rounding').textContent");
    assert!(note.as_str().unwrap().contains("rounded by itself"), "{note}");
}

#[test]
fn one_switch_shows_all_buckets_and_the_groups_again() {
    let page = Page::open("v1;m=llama3-8b@1");
    page.until("document.querySelector('#parts-3')");
    page.click("[data-testid=all-buckets]");
    page.until("document.querySelector('[data-testid=all-buckets]').ariaPressed === 'true'");
    until_whole_groups(&page, 0);
    assert!(colors(&page, "bucket-") > 8);
    // The legend names each group, and behind it its buckets, once.
    let legend = page.text(".legend ul");
    for name in ["Gradients", "Main grads", "exp_avg_sq", "MLP activations"] {
        assert_eq!(
            legend.lines().filter(|line| line.trim() == name).count(),
            1,
            "{name}: {legend}"
        );
    }
    page.click("[data-testid=all-buckets]");
    page.until("document.querySelectorAll('[id^=parts-][role=button]').length === 4");
}

#[test]
fn the_card_says_what_the_rows_beside_it_do_not() {
    let page = Page::open("");
    page.until("document.querySelector('#parts-3')");
    let card = "[data-testid=explain]";
    assert_eq!(page.count(&format!("{card} .terms li")), 0);
    assert!(page.text(card).contains("Choose a row"));
    page.click("#parts-2 polygon");
    page.until(&format!(
        "document.querySelector('{card} h3').innerText === 'Optimizer'"
    ));
    assert!(page.count(&format!("{card} .terms li")) > 2);
    // From a bucket, up leads to its group, and from there to the stage.
    page.click(&format!("{card} .terms button"));
    page.until(&format!(
        "document.querySelector('{card} h3').innerText !== 'Optimizer'"
    ));
    page.click(&format!("{card} .up"));
    page.until(&format!(
        "document.querySelector('{card} h3').innerText === 'Optimizer'"
    ));
    page.click(&format!("{card} .up"));
    page.until(&format!("document.querySelector('{card} h3').innerText === 'Total'"));
}

/// Luminance, contrast, and the distance of two colors in `OKLab` as eyes without green cones see them (Machado,
/// Oliveira and Fernandes 2009), in the page's own scripting language since its browser resolves the colors.
const EYES: &str = r"
const eyes = (() => {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const read = (name) => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.className = name;
    const color = getComputedStyle(probe).backgroundColor.match(/[\d.]+/g).slice(0, 3).map((c) => linear(c / 255));
    probe.remove();
    return color;
  };
  const luminance = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const green = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]];
  const seen = (color) => green.map((row) => Math.max(0, row.reduce((sum, share, i) => sum + share * color[i], 0)));
  const lab = ([r, g, b]) => {
    const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
      1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
  };
  return {
    contrast: (name) => {
      const sheet = document.body.appendChild(document.createElement('i'));
      sheet.style.backgroundColor = 'var(--sheet)';
      const back = getComputedStyle(sheet).backgroundColor.match(/[\d.]+/g).slice(0, 3).map((c) => linear(c / 255));
      sheet.remove();
      const [a, b] = [luminance(read(name)), luminance(back)].sort((a, b) => b - a);
      return (a + 0.05) / (b + 0.05);
    },
    apart: (a, b) => Math.hypot(...lab(seen(read(a))).map((x, i) => x - lab(seen(read(b)))[i])),
  };
})();
window.eyes = eyes;
";

#[test]
fn colors_can_be_told_apart_without_green_cones_in_both_themes() {
    let groups = ["weights", "gradients", "optimizer", "activations"].map(|id| format!("group-{id}"));
    for theme in ["light", "dark"] {
        let page = Page::blank();
        page.media("prefers-color-scheme", theme);
        page.load("");
        page.run(EYES);
        let contrast = |name: &str| page.eval(&format!("eyes.contrast({})", json!(name))).as_f64().unwrap();
        let apart = |a: &str, b: &str| {
            let apart = page.eval(&format!("eyes.apart({}, {})", json!(a), json!(b)));
            apart.as_f64().unwrap()
        };
        for (i, group) in groups.iter().enumerate() {
            assert!(contrast(group) >= 3.0, "{group} in {theme}");
            for other in &groups[..i] {
                assert!(apart(group, other) >= 0.1, "{group} and {other} in {theme}");
            }
        }
        // The buckets of a job of dense layers and of one with experts, in stacking order.
        for job in ["v1;m=llama3-8b@1", ""] {
            page.load(job);
            page.run(EYES);
            page.click("[data-testid=all-buckets]");
            page.until("document.querySelector('[data-testid=all-buckets]').ariaPressed === 'true'");
            let names = page.eval(
                "[...document.querySelectorAll('.legend .swatch')].map((s) => [...s.classList].find((c) => c.startsWith('bucket-'))).filter(Boolean)",
            );
            let names: Vec<String> = serde_json::from_value(names).unwrap();
            assert!(names.len() > 8, "{names:?}");
            for pair in names.windows(2) {
                assert!(contrast(&pair[0]) >= 3.0, "{} in {theme}", pair[0]);
                let apart = apart(&pair[0], &pair[1]);
                assert!(apart >= 0.05, "{pair:?} in {theme}: {apart}");
            }
        }
    }
}
