//! The rank map: the ranks of a job as colored cells, drawn as one path for each color.

use core::fmt::Write;
use core::ops::Range;

use strum::{EnumCount, EnumString, IntoStaticStr, VariantArray};

use super::amount::Scale;
use super::summary::stage_name;
use crate::config::job::{Config, Module};
use crate::memory::{Estimate, RankMemory, rank_memory};
use crate::variants::all;
use crate::verdict::{Standing, Verdict};

/// The meaning of a cell's color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, IntoStaticStr, EnumCount, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Coloring {
    /// The module.
    #[default]
    Module,
    /// The module's pipeline stage.
    Stage,
    /// The memory that the rank needs.
    Memory,
}

impl Coloring {
    /// Every coloring.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// The coloring's id in options.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// The coloring with this id.
    #[must_use]
    pub fn by_id(id: &str) -> Option<Self> {
        id.parse().ok()
    }

    /// The coloring's name on the page.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Module => "Module",
            Self::Stage => "Stage",
            Self::Memory => "Memory",
        }
    }
}

/// The grid of cells. Ranks fill its rows one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// The number of ranks.
    pub world: u64,
    /// The number of ranks in a cell: 1 for up to 65,536 ranks.
    pub each: u64,
    /// The number of cells in a row.
    pub columns: u64,
    /// The number of rows.
    pub rows: u64,
    /// The width and height of a cell in pixels.
    pub side: u64,
}

/// The most cells of a map. Beyond it several ranks share a cell.
const MOST_CELLS: u64 = 1 << 16;
/// The height in pixels that a map stays within, unless its cells would be smaller than 2 pixels.
const HEIGHT: u64 = 520;

impl Cells {
    /// The grid for a number of ranks in a picture of `width` pixels. The number of columns is a power of two, as sizes
    /// of groups mostly are.
    #[must_use]
    pub fn new(world: u64, width: u64) -> Self {
        let world = world.max(1);
        let each = world.div_ceil(MOST_CELLS);
        let cells = world.div_ceil(each);
        let widest = cells.isqrt().saturating_mul(4).next_power_of_two().max(8);
        let mut found = None;
        for side in [20, 16, 12, 10, 8, 6, 5, 4, 3, 2] {
            let fit = (width / side).max(1);
            let columns = (1 << fit.ilog2()).min(widest);
            let rows = cells.div_ceil(columns);
            found = Some(Self {
                world,
                each,
                columns,
                rows,
                side,
            });
            if rows * side <= HEIGHT {
                break;
            }
        }
        found.unwrap_or(Self {
            world,
            each,
            columns: 1,
            rows: cells,
            side: 1,
        })
    }

    /// The first rank of the cell at a column and row; `None` outside the grid.
    #[must_use]
    pub fn rank_at(&self, column: u64, row: u64) -> Option<u64> {
        let cell = row.checked_mul(self.columns)?.checked_add(column)?;
        let rank = cell.checked_mul(self.each)?;
        (column < self.columns && rank < self.world).then_some(rank)
    }

    /// The cells of ranges of ranks as an SVG path: at most three rectangles for each range.
    #[must_use]
    pub fn path(&self, ranges: &[Range<u64>]) -> String {
        let mut path = String::new();
        let mut rectangle = |column: u64, row: u64, columns: u64, rows: u64| {
            if columns > 0 && rows > 0 {
                let [x, y, w, h] = [column, row, columns, rows].map(|n| n * self.side);
                let _ = write!(path, "M{x} {y}h{w}v{h}h-{w}z");
            }
        };
        for range in ranges.iter().filter(|range| !range.is_empty()) {
            let (start, end) = (range.start / self.each, range.end.div_ceil(self.each));
            let (first, last) = (start / self.columns, (end - 1) / self.columns);
            let (from, to) = (start % self.columns, (end - 1) % self.columns + 1);
            if first == last {
                rectangle(from, first, to - from, 1);
                continue;
            }
            rectangle(from, first, self.columns - from, 1);
            rectangle(0, first + 1, self.columns, last - first - 1);
            rectangle(0, last, to, 1);
        }
        path
    }

    /// Width and height of all cells in pixels.
    #[must_use]
    pub const fn size(&self) -> (u64, u64) {
        (self.columns * self.side, self.rows * self.side)
    }

    /// The lines between cells as an SVG path; empty where cells are smaller than 4 pixels.
    #[must_use]
    pub fn grid(&self) -> String {
        let mut path = String::new();
        if self.side >= 4 {
            let (w, h) = self.size();
            for column in 0..=self.columns {
                let _ = write!(path, "M{} 0v{h}", column * self.side);
            }
            for row in 0..=self.rows {
                let _ = write!(path, "M0 {}h{w}", row * self.side);
            }
        }
        path
    }
}

/// Consecutive ranks that run the same stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The ranks.
    pub ranks: Range<u64>,
    /// The memory of each of these ranks.
    pub memory: RankMemory,
}

/// The ranks of a job, split where stages begin and end.
#[must_use]
pub fn spans(config: &Config, estimate: &Estimate) -> Vec<Span> {
    let mut cuts = vec![0, config.world_size()];
    for m in config.modules() {
        let stage = m.ranks() / u64::from(m.stages.pp()).max(1);
        cuts.extend((0..=u64::from(m.stages.pp())).map(|pp| m.rank_offset() + pp * stage));
    }
    cuts.sort_unstable();
    cuts.dedup();
    let pairs = cuts.iter().zip(cuts.iter().skip(1));
    pairs
        .filter_map(|(&start, &end)| {
            let memory = rank_memory(config, estimate, start)?;
            Some(Span {
                ranks: start..end,
                memory,
            })
        })
        .collect()
}

/// The color of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CellColor {
    /// The style class.
    class: String,
    /// The opacity in hundredths.
    opacity: u64,
    /// The meaning of the color.
    label: String,
}

/// All cells of one color.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The style class of the color.
    pub class: String,
    /// The opacity, from 0 to 1, such as `0.75`.
    pub opacity: String,
    /// The outline of the cells, as an SVG path.
    pub path: String,
}

/// The meaning of a color, with the ranks that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegendEntry {
    /// The style class of the color.
    pub class: String,
    /// The opacity, from 0 to 1, such as `0.75`.
    pub opacity: String,
    /// The meaning of the color, and the number of ranks that have it.
    pub text: String,
}

/// The color of a span of ranks.
fn cell_color(cells: &ColoredCells<'_>, span: &Span) -> CellColor {
    let ColoredCells {
        config,
        estimate,
        standing,
        coloring,
        scale,
        ..
    } = *cells;
    let first = span.memory.stages.first();
    let module = first.map_or(0, |at| at.module);
    let own = format!("rank-{}", module % 6);
    match coloring {
        Coloring::Module => {
            let names = span.memory.stages.iter();
            let names: Vec<&str> = names
                .filter_map(|at| config.modules().get(at.module).map(Module::name))
                .collect();
            CellColor {
                class: own,
                opacity: 100,
                label: names.join(" + "),
            }
        }
        Coloring::Stage => {
            let pp_rank = first.map_or(0, |at| at.pp_rank);
            let stages = estimate.modules.get(module).map_or(1, |m| m.stages.len());
            CellColor {
                class: own,
                opacity: 100 - fraction(pp_rank as u64, stages as u64, 70),
                label: first.map_or(String::new(), |at| stage_name(config, *at)),
            }
        }
        Coloring::Memory => {
            let shown = standing.device_of(config, module, span.memory.total, span.memory.graphs);
            let over = Verdict::of_memory(config.reported_gpu_memory(), shown) == Verdict::DoesNotFit;
            let most = estimate.worst_rank.total.0;
            CellColor {
                class: String::from(if over { "rank-over" } else { "rank-memory" }),
                opacity: 10 + fraction(span.memory.total.0, most, 90),
                label: scale.amount(span.memory.total),
            }
        }
    }
}

/// `part / whole` in units of `1 / of`, rounded down and at most `of`.
fn fraction(part: u64, whole: u64, of: u64) -> u64 {
    let share = u128::from(part) * u128::from(of) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(of).min(of)
}

/// Hundredths as a decimal number.
fn opacity(hundredths: u64) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// The ranks of a job as colored cells.
#[derive(Clone, Copy, Debug)]
pub struct ColoredCells<'a> {
    /// The job.
    pub config: &'a Config,
    /// The job's estimate.
    pub estimate: &'a Estimate,
    /// Whether the job runs and fits.
    pub standing: Standing,
    /// The grid of cells.
    pub cells: Cells,
    /// The meaning of the colors.
    pub coloring: Coloring,
    /// The unit and decimals of amounts.
    pub scale: Scale,
}

impl ColoredCells<'_> {
    /// The color of every span of ranks, in the order of the ranks.
    fn colors(&self) -> impl Iterator<Item = (CellColor, Range<u64>)> {
        let spans = spans(self.config, self.estimate).into_iter();
        spans.map(|span| {
            let color = cell_color(self, &span);
            (color, span.ranks)
        })
    }

    /// The cells, one path for each color.
    #[must_use]
    pub fn fills(&self) -> Vec<Fill> {
        let mut colors: Vec<(CellColor, Vec<Range<u64>>)> = Vec::new();
        for (color, ranks) in self.colors() {
            let like = colors
                .iter_mut()
                .find(|(other, _)| (&other.class, other.opacity) == (&color.class, color.opacity));
            match like {
                Some((_, ranges)) => ranges.push(ranks),
                None => colors.push((color, vec![ranks])),
            }
        }
        let fills = colors.into_iter().map(|(color, ranges)| Fill {
            opacity: opacity(color.opacity),
            class: color.class,
            path: self.cells.path(&ranges),
        });
        fills.collect()
    }

    /// The legend of the colors: of more than twelve entries the first six and the last six.
    #[must_use]
    pub fn legend(&self) -> Vec<LegendEntry> {
        let mut entries: Vec<(CellColor, u64)> = Vec::new();
        for (color, ranks) in self.colors() {
            let ranks = ranks.end - ranks.start;
            match entries.iter_mut().find(|(other, _)| *other == color) {
                Some((_, all)) => *all += ranks,
                None => entries.push((color, ranks)),
            }
        }
        let rest = entries.len().saturating_sub(12);
        if rest > 0 {
            entries.drain(6..6 + rest);
        }
        let entries = entries.into_iter().map(|(color, ranks)| LegendEntry {
            class: color.class,
            opacity: opacity(color.opacity),
            text: match ranks {
                1 => format!("{}, 1 rank", color.label),
                ranks => format!("{}, {ranks} ranks", color.label),
            },
        });
        entries.collect()
    }
}
