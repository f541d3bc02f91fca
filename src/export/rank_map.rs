//! The rank map as a self-contained SVG file.

use super::style;
use crate::report::amount::Scale;
use crate::report::charts::Subject;
use crate::report::markup::{Markup, tag};
use crate::report::rank_map::{Cells, ColoredCells, Coloring};
use crate::report::scene::Px;
use crate::report::summary::stage_name;
use crate::report::verdict;

/// The picture's id.
pub const ID: &str = "rank_map";
/// The picture's title.
pub const TITLE: &str = "Ranks";

/// The height of a line of the legend.
const LINE: Px = Px::of(20);
/// The width of a legend entry's colored square with the gaps around it.
const SIGN: Px = Px::of(36);
/// The gap around the cells, wide enough for the lines at their edges.
const EDGE: Px = Px::of(2);

/// The `<svg>` element: all ranks of the job as cells, and a legend of their colors.
#[must_use]
pub fn picture(subject: &Subject<'_>, coloring: Coloring) -> Markup {
    let world = subject.config.world_size();
    let room = u64::try_from((subject.width - EDGE - EDGE).0 / 100).unwrap_or(0);
    let scale = Scale::coarse(subject.unit);
    let map = ColoredCells {
        config: subject.config,
        estimate: subject.estimate,
        standing: subject.standing,
        cells: Cells::new(world, room),
        coloring,
        scale,
    };
    let fills = map.fills().into_iter();
    let fills = fills.map(|fill| colored(fill.class, fill.opacity, fill.path));
    let lines = tag("path").class("rank-lines").with("d", map.cells.grid());
    let cells = tag("g")
        .with("transform", format!("translate({EDGE} {EDGE})"))
        .children(fills)
        .child(lines);
    let (_, rows) = map.cells.size();
    let rows = i32::try_from(rows).unwrap_or(i32::MAX);
    let below = Px::of(rows) + EDGE + EDGE;

    let entries = map.legend();
    let longest = entries.iter().map(|entry| Px::of_text(&entry.text)).max();
    let column = SIGN + longest.unwrap_or(Px::ZERO);
    let columns = usize::try_from(subject.width.0 / column.0.max(1)).unwrap_or(1).max(1);
    let lines = entries.len().div_ceil(columns);
    let legend = entries.into_iter().enumerate().map(|(i, entry)| {
        let (x, y) = (
            EDGE + column.times(i / lines.max(1)),
            below + LINE.times(i % lines.max(1)),
        );
        let words = tag("text")
            .class("label")
            .with("x", "18")
            .with("y", "14")
            .text(entry.text);
        let sign = colored(entry.class, entry.opacity, String::from("M0 0h12v12h-12z"));
        tag("g")
            .with("transform", format!("translate({x} {y})"))
            .child(tag("g").with("transform", "translate(0 4)").child(sign))
            .child(words)
    });

    let summary = subject.standing;
    let description = format!(
        "{world} ranks; those of {} need most: {}.",
        stage_name(subject.config, summary.worst),
        scale.amount(summary.total)
    );
    let note = verdict::headline(subject.config.not_modelled());
    let description = match &note {
        Some(note) => format!("{note}. {description}"),
        None => description,
    };
    let below_legend = below + LINE.times(lines);
    let height = note.as_ref().map_or(below_legend, |_| below_legend + LINE);
    let note = note.map(|note| {
        tag("text")
            .class("label")
            .with("x", EDGE)
            .with("y", below_legend + LINE - Px::of(6))
            .text(note)
    });
    let title = format!("Ranks by {}", coloring.id());
    let (width, height) = (subject.width.to_string(), height.to_string());
    tag("svg")
        .with("xmlns", "http://www.w3.org/2000/svg")
        .class("scene")
        .with("width", width.clone())
        .with("height", height.clone())
        .with("viewBox", format!("0 0 {width} {height}"))
        .with("role", "img")
        .child(tag("title").text(title))
        .child(tag("desc").text(description))
        .child(tag("style").text(style::of_ranks()))
        .child(cells)
        .children(legend)
        .children(note)
}

/// A path that is filled with a color.
fn colored(class: String, opacity: String, path: String) -> Markup {
    tag("path").class(class).with("fill-opacity", opacity).with("d", path)
}
