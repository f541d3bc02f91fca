//! How many comparisons are how far off, as bars.

use megatron_memory::report::markup::{Markup, tag};

use super::page::{PEAK, Row, STEADY};

/// Half a percent in millionths: what one bar stands for.
const STEP: i64 = 5_000;
/// Bars to each side; the outermost have all that is further off.
const SIDE: i64 = 12;
const BAR: i64 = 26;
const HEIGHT: i64 = 180;
const TOP: i64 = 22;
const LEFT: i64 = 8;

/// The bars of peaks and of memory after a step, one upon the other.
pub(super) fn chart(rows: &[Row<'_>]) -> Markup {
    let bars = usize::try_from(2 * SIDE + 1).unwrap_or(1);
    let mut counts = vec![[0i64; 2]; bars];
    let counted = rows.iter().filter(|row| row.run.stale.is_none());
    let mut all = 0;
    let mut close = 0;
    for row in counted {
        let kind = match row.measure {
            PEAK => 0,
            STEADY => 1,
            _ => continue,
        };
        // The middle bar is what is closer than a quarter of a percent.
        let at = (row.error.ppm + STEP / 2).div_euclid(STEP).clamp(-SIDE, SIDE) + SIDE;
        let bar = usize::try_from(at).ok().and_then(|at| counts.get_mut(at));
        if let Some(count) = bar.and_then(|bar| bar.get_mut(kind)) {
            *count += 1;
        }
        all += 1;
        close += i64::from(row.error.ppm.abs() <= 10_000);
    }
    let most = counts.iter().map(|[a, b]| a + b).max().unwrap_or(1).max(1);
    let width = 2 * LEFT + BAR * (2 * SIDE + 1);
    let base = TOP + HEIGHT;
    let mut picture = tag("svg")
        .with("viewBox", format!("0 0 {width} {}", base + 34))
        .with("role", "img")
        .with(
            "aria-label",
            format!("{close} of {all} predictions of allocated memory are within 1 %"),
        );
    for (i, (counts, at)) in counts.iter().zip(-SIDE..).enumerate() {
        let x = LEFT + BAR * i64::try_from(i).unwrap_or(0);
        let mut y = base;
        for (count, class) in counts.iter().zip(["peaks", "steady"]) {
            let height = count * HEIGHT / most;
            y -= height;
            if height > 0 {
                picture = picture.child(
                    tag("rect")
                        .class(class)
                        .with("x", (x + 2).to_string())
                        .with("y", y.to_string())
                        .with("width", (BAR - 4).to_string())
                        .with("height", height.to_string()),
                );
            }
        }
        let sum: i64 = counts.iter().sum();
        if sum > 0 {
            let count = label(x + BAR / 2, y - 4, sum.to_string());
            picture = picture.child(count.class("count"));
        }
        let edge = at.abs() == SIDE;
        if at % 2 == 0 {
            let sign = match at {
                ..0 => "−",
                0 => "",
                _ => "+",
            };
            let beyond = if edge { " …" } else { "" };
            let text = format!("{sign}{}{beyond}", at.abs() / 2);
            let percent = label(x + BAR / 2, base + 15, text);
            // Where the picture is small there is room for every third label.
            picture = picture.child(if at % 6 == 0 { percent } else { percent.class("minor") });
        }
    }
    let axis = tag("line")
        .class("axis")
        .with("x1", LEFT.to_string())
        .with("x2", (width - LEFT).to_string())
        .with("y1", base.to_string())
        .with("y2", base.to_string());
    picture = picture.child(axis).child(label(
        width / 2,
        base + 31,
        String::from("predicted against measured, in percent"),
    ));
    let key = |class: &str, text: &'static str| {
        tag("li")
            .child(tag("span").class(format!("swatch {class}")))
            .child(tag("span").text(text))
    };
    let legend = tag("ul")
        .class("legend")
        .with("aria-label", "Colors")
        .child(key("peaks", PEAK))
        .child(key("steady", STEADY));
    let words = tag("p").text(format!(
        "{close} of {all} predictions of allocated memory are within 1 % of what was measured."
    ));
    tag("div").class("chart").child(words).child(legend).child(picture)
}

fn label(x: i64, y: i64, text: String) -> Markup {
    tag("text")
        .with("x", x.to_string())
        .with("y", y.to_string())
        .with("text-anchor", "middle")
        .text(text)
}
