//! The style sheets of exported pictures, with the page's colors.

use core::fmt::Write;

use crate::memory::bucket::Bucket;

/// The style sheet with the page's colors, each for light and dark.
const TOKENS: &str = include_str!("../../styles/tokens.css");

/// The rules of charts: class, CSS property, and name of the page's color.
const RULES: [(&str, &str, &str); 20] = [
    ("scene", "background", "sheet"),
    ("label", "fill", "ink"),
    ("value", "fill", "ink"),
    ("tick", "fill", "faint"),
    ("grid", "stroke", "line"),
    ("free", "fill", "line"),
    ("band", "fill", "edge"),
    ("band", "stroke", "edge"),
    ("device-range", "stroke", "faint"),
    ("peak", "stroke", "ink"),
    ("gpu", "stroke", "ink"),
    ("gpu-label", "fill", "ink"),
    ("inside", "fill", "accent-ink"),
    ("row", "fill", "accent"),
    ("stage", "fill", "good"),
    ("tight", "fill", "warn"),
    ("over", "fill", "bad"),
    ("alarm", "fill", "bad"),
    ("texture", "fill", "sheet"),
    ("bucket-other", "fill", "edge"),
];

/// The rules of the rank map: class, CSS property, and name of the page's color.
const RANK_RULES: [(&str, &str, &str); 11] = [
    ("scene", "background", "sheet"),
    ("label", "fill", "ink"),
    ("rank-lines", "stroke", "sheet"),
    ("rank-0", "fill", "series-blue"),
    ("rank-1", "fill", "series-amber"),
    ("rank-2", "fill", "series-green"),
    ("rank-3", "fill", "series-pink"),
    ("rank-4", "fill", "series-cyan"),
    ("rank-5", "fill", "series-yellow"),
    ("rank-memory", "fill", "accent"),
    ("rank-over", "fill", "bad"),
];

/// The rules of a plot's lines.
const CURVE_RULES: [(&str, &str, &str); 12] = [
    ("curve-0", "stroke", "accent"),
    ("curve-1", "stroke", "series-amber"),
    ("curve-2", "stroke", "series-green"),
    ("curve-3", "stroke", "series-red"),
    ("curve-4", "stroke", "series-violet"),
    ("curve-5", "stroke", "series-brown"),
    ("dot-0", "fill", "accent"),
    ("dot-1", "fill", "series-amber"),
    ("dot-2", "fill", "series-green"),
    ("dot-3", "fill", "series-red"),
    ("dot-4", "fill", "series-violet"),
    ("dot-5", "fill", "series-brown"),
];

/// The style sheet of charts for [`document`](super::svg::document): light colors, and dark ones where the reader's
/// system prefers them.
///
/// It has plain colors and one media query, since other programs than browsers understand no more.
#[must_use]
pub fn standalone() -> String {
    let buckets = Bucket::ALL.map(|bucket| format!("bucket-{}", bucket.id()));
    let fills = buckets.iter().map(|name| (name.as_str(), "fill", name.as_str()));
    sheet(
        ".texture{fill-opacity:.35}.band{fill-opacity:.18;stroke-dasharray:2 2}.peak{stroke-dasharray:1 3}\
         .gpu{stroke-dasharray:5 3}",
        RULES.into_iter().chain(fills),
    )
}

/// The rules of a card.
const CARD_RULES: [(&str, &str, &str); 6] = [
    ("heading", "fill", "ink"),
    ("headline", "fill", "ink"),
    ("verdict", "fill", "faint"),
    ("verdict-fits", "fill", "good"),
    ("verdict-tight", "fill", "warn"),
    ("verdict-over", "fill", "bad"),
];

/// The style sheet of a card.
#[must_use]
pub fn of_cards() -> String {
    let buckets = Bucket::ALL.map(|bucket| format!("bucket-{}", bucket.id()));
    let fills = buckets.iter().map(|name| (name.as_str(), "fill", name.as_str()));
    sheet(
        ".heading{font:600 20px system-ui,sans-serif}.headline{font:650 32px system-ui,sans-serif}\
         .verdict{font:600 16px system-ui,sans-serif}.texture{fill-opacity:.35}\
         .band{fill-opacity:.18;stroke-dasharray:2 2}.gpu{stroke-dasharray:5 3}",
        RULES.into_iter().chain(CARD_RULES).chain(fills),
    )
}

/// The style sheet of a plot.
#[must_use]
pub fn of_plots() -> String {
    sheet(
        ".curve{stroke-width:2}.curve-1{stroke-dasharray:7 3}.curve-2{stroke-dasharray:2 2}\
         .curve-3{stroke-dasharray:9 3 2 3}.curve-4{stroke-dasharray:4 4}.curve-5{stroke-dasharray:1 3}\
         .band{fill-opacity:.18;stroke-dasharray:2 2}.peak{stroke-dasharray:1 3}.gpu{stroke-dasharray:5 3}",
        RULES.into_iter().chain(CURVE_RULES),
    )
}

/// The style sheet of the rank map.
#[must_use]
pub fn of_ranks() -> String {
    sheet(".rank-lines{fill:none}", RANK_RULES.into_iter())
}

/// The style sheet with the CSS `more` and the rules, for light and dark.
fn sheet<'r>(more: &str, rules: impl Iterator<Item = (&'r str, &'r str, &'r str)>) -> String {
    let mut light = format!("\n.scene{{font:12px system-ui,sans-serif}}{more}");
    let mut dark = String::new();
    for (class, property, token) in rules {
        if let Some((day, night)) = color(token) {
            let _ = write!(light, ".{class}{{{property}:{day}}}");
            let _ = write!(dark, ".{class}{{{property}:{night}}}");
        }
    }
    format!("{light}\n@media (prefers-color-scheme:dark){{{dark}}}\n")
}

/// The light and the dark value of the page's color with this name.
fn color(token: &str) -> Option<(&'static str, &'static str)> {
    let start = format!("--{token}: light-dark(");
    let pair = TOKENS
        .lines()
        .find_map(|line| line.trim().strip_prefix(&start)?.strip_suffix(");"))?;
    pair.split_once(", ")
}
