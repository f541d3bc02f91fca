//! What a search found so far, as a table: ordered, filtered, and drawn only where it is looked at.

use super::columns::{Column, gib};
use super::small;
use crate::config::gpus;
use crate::report::amount::grouped;
use crate::report::markup::{Markup, tag};
use crate::search::{Axis, Candidate, Pick, Slice, Space};
use crate::source::PIPELINE_BUBBLE;
use crate::units::{Bytes, GIB};
use crate::value::Value;

/// The height of a row in pixels, as in the style sheet: where a row stands follows from its number.
const ROW: u64 = 44;
/// Rows that are drawn: as many as a tall screen shows, and some before and after them.
const DRAWN: usize = 60;
/// Rows that are drawn before the first one in sight.
const BEFORE: usize = 15;

/// One word of the filter.
enum Term {
    /// A size on a level of the space.
    Size(usize, u64),
    /// A part of what is recomputed, or nothing that any layout has.
    Text(String),
}

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) slice: Slice,
    /// The candidates that pass the filter, in the order in which they are shown.
    shown: Vec<usize>,
    /// The column that orders them, and whether downwards; none for the best first.
    by: Option<(Column, bool)>,
    filter: String,
    /// What the filter asks for, word by word.
    terms: Vec<Term>,
    room: String,
    /// What a GPU must have left.
    least: Bytes,
    /// The first row in sight.
    top: usize,
    /// What would make the nearest one fit.
    remedy: Option<Value>,
}

impl Found {
    /// Whether there is anything to show.
    pub(super) fn any(&self) -> bool {
        !self.shown.is_empty()
    }

    fn candidate(&self, at: usize) -> Option<&Candidate> {
        self.slice.candidates.get(at)
    }

    /// Takes in a part, at its place among the others.
    pub(super) fn take(&mut self, space: &Space, part: &Slice) {
        let known = self.slice.candidates.len();
        self.slice.join(part);
        let new = self.ordered(space, known..self.slice.candidates.len());
        let mut merged = Vec::with_capacity(self.shown.len() + new.len());
        let mut new = new.into_iter().peekable();
        for old in &self.shown {
            while let Some(next) = new.next_if(|next| self.is_before(space, *next, *old)) {
                merged.push(next);
            }
            merged.push(*old);
        }
        merged.extend(new);
        self.shown = merged;
    }

    /// Takes in what would make the nearest one fit.
    pub(super) fn learn(&mut self, remedy: &Value) {
        self.remedy = Some(remedy.clone());
    }

    /// Those of some candidates that pass the filter, in order.
    fn ordered(&self, space: &Space, of: core::ops::Range<usize>) -> Vec<usize> {
        let mut passing: Vec<usize> = of
            .filter(|at| self.candidate(*at).is_some_and(|c| self.passes(space, c)))
            .collect();
        passing.sort_by(|a, b| {
            let is_before = |a: &usize, b: &usize| self.is_before(space, *a, *b);
            is_before(b, a).cmp(&is_before(a, b))
        });
        passing
    }

    fn order_again(&mut self, space: &Space) {
        self.shown = self.ordered(space, 0..self.slice.candidates.len());
    }

    fn is_before(&self, space: &Space, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.candidate(a), self.candidate(b)) else {
            return false;
        };
        let Some((column, down)) = self.by else {
            return a.is_before(b);
        };
        let (mut first, mut second) = (column.key(space, a), column.key(space, b));
        if down {
            (first, second) = (second, first);
        }
        first < second || (first == second && a.is_before(b))
    }

    /// Whether a candidate leaves enough free, and has all that the filter asks for.
    fn passes(&self, space: &Space, c: &Candidate) -> bool {
        let has = |term: &Term| match term {
            Term::Size(level, size) => space.pick(c.index, *level) == Some(Pick::Size(*size)),
            Term::Text(text) => space.dimensions().iter().enumerate().any(|(level, d)| {
                let pick = space
                    .pick(c.index, level)
                    .filter(|_| d.axis == Axis::Recompute);
                pick.is_some_and(|pick| pick.label().contains(text))
            }),
        };
        c.gpu
            .is_none_or(|gpu| c.peak + self.least <= gpu || self.least == Bytes::ZERO)
            && self.terms.iter().all(has)
    }

    /// Orders by a column: upwards, then downwards, then the best first again.
    pub(super) fn sort(&mut self, space: &Space, columns: &[Column], id: &str) {
        let Some(column) = columns.iter().find(|column| column.id() == id) else {
            return;
        };
        self.by = match self.by {
            Some((by, false)) if by == *column => Some((by, true)),
            Some((by, true)) if by == *column => None,
            _ => Some((*column, false)),
        };
        self.order_again(space);
    }

    pub(super) fn filter(&mut self, space: &Space, typed: &str) {
        typed.clone_into(&mut self.filter);
        let words = typed.to_lowercase();
        let words = words.split_whitespace();
        self.terms = words.map(|word| term(space, word)).collect();
        self.order_again(space);
    }

    pub(super) fn leave_free(&mut self, space: &Space, typed: &str) {
        typed.clone_into(&mut self.room);
        let room: u64 = typed.trim().parse().unwrap_or(0);
        self.least = Bytes(room.saturating_mul(GIB));
        self.order_again(space);
    }

    /// Follows the reader to so many pixels below the first row.
    pub(super) fn scroll(&mut self, pixels: &str) {
        let row = pixels.parse::<u64>().unwrap_or(0) / ROW;
        self.top = usize::try_from(row).unwrap_or(0);
    }

    /// All rows in the order in which they are shown, for programs, with a separator that no number has.
    pub(super) fn written(&self, space: &Space, columns: &[Column], separator: &str) -> String {
        let mut text = String::new();
        let mut line = |cells: Vec<String>| {
            text.push_str(&cells.join(separator));
            text.push('\n');
        };
        line(columns.iter().map(|c| c.id().to_owned()).collect());
        for candidate in self.shown.iter().filter_map(|at| self.candidate(*at)) {
            let cells = columns.iter().map(|column| {
                let cell = column.exact(space, candidate);
                if cell.contains(separator) {
                    format!("\"{cell}\"")
                } else {
                    cell
                }
            });
            line(cells.collect());
        }
        text
    }

    /// The table, or why there is none.
    pub(super) fn draw(&self, space: &Space, columns: &[Column], ended: bool) -> Vec<Markup> {
        if self.slice.candidates.is_empty() {
            let said = if ended {
                self.nothing(space)
            } else {
                String::new()
            };
            return vec![tag("p").class("layouts-none").text(said)];
        }
        let filters = tag("div")
            .class("layouts-filters")
            .child(small("filter", "Only with (such as tp4 pp8)", &self.filter))
            .children(
                space
                    .gpu_memory()
                    .map(|_| small("room", "At least free, GiB", &self.room)),
            );
        let order = "In this order unless you sort: what fits, then fewest GPUs a copy, least bubble, least recomputed, \
                     lowest peak. The bubble is (PP − 1) / (VPP · micro batches), ";
        let source = tag("a")
            .with("href", PIPELINE_BUBBLE.url())
            .with("rel", "noopener")
            .text("arXiv 2104.04473");
        let order = tag("p")
            .class("layouts-order")
            .child(tag("span").text(order))
            .child(source)
            .child(tag("span").text("; no speed is predicted."));
        let rows = match self.shown.len() {
            1 => "1 layout".to_owned(),
            rows => format!("{} layouts", grouped(count(rows))),
        };
        vec![
            filters,
            order,
            tag("p").class("layouts-rows").text(rows),
            self.table(space, columns),
        ]
    }

    fn table(&self, space: &Space, columns: &[Column]) -> Markup {
        let heads = columns.iter().map(|column| {
            let sorted = self.by.filter(|(by, _)| by == column);
            let head = tag("th").with("scope", "col");
            let head = match sorted {
                Some((_, false)) => head.with("aria-sort", "ascending"),
                Some((_, true)) => head.with("aria-sort", "descending"),
                None => head,
            };
            let place = format!("sort:{}", column.id());
            head.child(super::button(&place, column.label(), true))
        });
        let last = tag("th").with("scope", "col").text("Use it");
        let head = tag("tr")
            .with("aria-rowindex", "1")
            .children(heads)
            .child(last);
        let first = self
            .top
            .saturating_sub(BEFORE)
            .min(self.shown.len().saturating_sub(DRAWN));
        let drawn = self.shown.iter().enumerate().skip(first).take(DRAWN);
        let rows =
            drawn.filter_map(|(at, row)| Some(row_of(space, columns, at, self.candidate(*row)?)));
        let after = self.shown.len().saturating_sub(first + DRAWN);
        let gap = |key: &'static str, rows: usize| {
            let height = (count(rows) * ROW).to_string();
            let cell = tag("td")
                .with("colspan", (columns.len() + 1).to_string())
                .with("height", height);
            tag("tr")
                .class("layouts-gap")
                .with("data-key", key)
                .with("aria-hidden", "true")
                .mark("hidden", rows == 0)
                .child(cell)
        };
        let body = tag("tbody")
            .child(gap("before", first))
            .children(rows)
            .child(gap("after", after));
        let table = tag("table")
            .with("aria-rowcount", (self.shown.len() + 1).to_string())
            .child(tag("caption").class("unseen").text("Layouts"))
            .child(tag("thead").child(head))
            .child(body);
        tag("div")
            .class("layouts-table")
            .with("data-at", "scroll")
            .with("tabindex", "0")
            .with("role", "region")
            .with("aria-label", "Layouts")
            .child(table)
    }

    /// Why there is nothing, and what would change that.
    fn nothing(&self, space: &Space) -> String {
        let Some(closest) = &self.slice.closest else {
            return "Megatron runs none of these combinations within your bounds. What was left out, and why, is above."
                .to_owned();
        };
        let sizes = space.dimensions().iter().zip(space.picks(closest.index));
        let sizes: Vec<String> = sizes
            .map(|(d, pick)| format!("{} {}", d.axis.symbol(), pick.label()))
            .collect();
        let room = closest.headroom().map_or(0, i64::unsigned_abs);
        let mut said = format!(
            "Nothing fits. Nearest is {} with {} GiB on stage {}, {} GiB more than the GPU has.",
            sizes.join(", "),
            gib(closest.peak),
            closest.worst.pp_rank,
            gib(Bytes(room))
        );
        let learned = |key: &str| match self.remedy.as_ref()?.get(key)? {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        };
        if let Some(choice) = learned("recompute") {
            said.push_str(" It would fit with this under Memory savers: ");
            said.push_str(choice);
            said.push('.');
        }
        if let Some(gpu) = learned("gpu").and_then(gpus::by_id) {
            said.push_str(" As it is, it would fit on ");
            said.push_str(gpu.name);
            said.push('.');
        }
        if self.remedy.is_some() && learned("recompute").is_none() {
            said.push_str(" Recompute or offloading alone is not enough: more GPUs, or a smaller micro batch or sequence, would need less.");
        }
        said
    }
}

/// A word of the filter: `tp4` or `tp=4` for a size, anything else for what is recomputed.
fn term(space: &Space, word: &str) -> Term {
    let mut levels = space.dimensions().iter().enumerate();
    let size = levels.find_map(|(level, d)| {
        let rest = word.strip_prefix(&d.axis.symbol().to_lowercase())?;
        Some(Term::Size(
            level,
            rest.trim_start_matches('=').parse().ok()?,
        ))
    });
    size.unwrap_or_else(|| Term::Text(word.to_owned()))
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

fn row_of(space: &Space, columns: &[Column], at: usize, c: &Candidate) -> Markup {
    let cells = columns
        .iter()
        .map(|column| tag("td").text(column.words(space, c)));
    let sizes = space.dimensions().iter().zip(space.picks(c.index));
    let name: Vec<String> = sizes
        .map(|(d, pick)| format!("{} {}", d.axis.symbol(), pick.label()))
        .collect();
    let name = name.join(", ");
    let act = |place: &str, label: &str| {
        super::button(&format!("{place}:{}", c.index), label, true)
            .with("aria-label", format!("{label} {name}"))
    };
    let acts = tag("td")
        .child(act("apply", "Apply"))
        .child(act("pin", "Compare"));
    tag("tr")
        .class(if c.is_too_large() { "over" } else { "" })
        .with("data-key", c.index.to_string())
        .with("aria-rowindex", (at + 2).to_string())
        .children(cells)
        .child(acts)
}
