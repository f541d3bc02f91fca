//! The colors of pictures that stand by themselves, taken from the page's own.

use core::fmt::Write;

use crate::memory::bucket::Bucket;

/// The page's colors, each for light and dark.
const TOKENS: &str = include_str!("../../styles/tokens.css");

/// What shapes are drawn with: the class, the property, and the page's color for it.
const RULES: [(&str, &str, &str); 16] = [
    ("scene", "background", "sheet"),
    ("label", "fill", "ink"),
    ("value", "fill", "ink"),
    ("tick", "fill", "faint"),
    ("grid", "stroke", "line"),
    ("free", "fill", "line"),
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

/// A style sheet for [`document`](super::svg::document): light, and dark where the reader's system is.
///
/// Plain colors and one media query, which programs that are no browsers understand or skip.
#[must_use]
pub fn standalone() -> String {
    let mut light =
        String::from("\n.scene{font:12px system-ui,sans-serif}.texture{fill-opacity:.35}");
    let mut dark = String::new();
    let mut add = |class: &str, property: &str, token: &str| {
        if let Some((day, night)) = color(token) {
            let _ = write!(light, ".{class}{{{property}:{day}}}");
            let _ = write!(dark, ".{class}{{{property}:{night}}}");
        }
    };
    for (class, property, token) in RULES {
        add(class, property, token);
    }
    for bucket in Bucket::ALL {
        let class = format!("bucket-{}", bucket.id());
        add(&class, "fill", &class);
    }
    format!("{light}\n@media (prefers-color-scheme:dark){{{dark}}}\n")
}

/// A color of the page by its name, for light and dark.
fn color(token: &str) -> Option<(&'static str, &'static str)> {
    let start = format!("--{token}: light-dark(");
    let pair = TOKENS
        .lines()
        .find_map(|line| line.trim().strip_prefix(&start)?.strip_suffix(");"))?;
    pair.split_once(", ")
}
