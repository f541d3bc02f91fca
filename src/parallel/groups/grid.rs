//! Consecutive ranks as an n-dimensional grid, and its partitions into groups.
//!
//! Nothing here stores ranks: a [`Grid`], a [`Partition`] and a [`Group`] are a few numbers each, so
//! ten million ranks cost no more than eight.

use core::ops::Range;

/// Consecutive ranks numbered along several axes, the first axis fastest.
///
/// `D` names an axis. The numbering is the one of `megatron.core.hyper_comm_grid.HyperCommGrid` and
/// of `RankGenerator` in `megatron.core.parallel_state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid<D> {
    axes: Vec<(D, Step)>,
    first: u64,
    total: u64,
}

/// One axis: how many positions it has, and how many ranks lie between neighbors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    size: u64,
    stride: u64,
}

impl Step {
    fn position(self, relative_rank: u64) -> u64 {
        relative_rank / self.stride % self.size
    }
}

/// The order of ranks inside a group that spans several dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MemberOrder {
    /// Ascending ranks, in whatever order the dimensions were listed: what process groups are made
    /// of (`get_rank_enum`, `RankGenerator.get_ranks`).
    #[default]
    Ascending,
    /// The last listed dimension varies fastest (`HyperCommGrid._gen_rank_enum`).
    LastListedFastest,
}

impl<D: Copy + PartialEq> Grid<D> {
    /// The grid whose lowest rank is `first`; `axes` are names and sizes, fastest first.
    ///
    /// `None` when a size is zero, a name comes twice, or a rank does not fit 64 bits.
    #[must_use]
    pub fn new(first: u64, axes: &[(D, u64)]) -> Option<Self> {
        let mut total: u64 = 1;
        let mut steps: Vec<(D, Step)> = Vec::with_capacity(axes.len());
        for &(dim, size) in axes {
            if size == 0 || steps.iter().any(|(known, _)| *known == dim) {
                return None;
            }
            steps.push((dim, Step { size, stride: total }));
            total = total.checked_mul(size)?;
        }
        first.checked_add(total)?;
        Some(Self {
            axes: steps,
            first,
            total,
        })
    }

    /// All ranks of the grid.
    #[must_use]
    pub fn ranks(&self) -> Range<u64> {
        self.first..self.first + self.total
    }

    /// The number of ranks along `dim`; 1 for a dimension that the grid does not have.
    #[must_use]
    pub fn size(&self, dim: D) -> u64 {
        self.step(dim).map_or(1, |step| step.size)
    }

    /// Whether `dim` is one of the axes.
    #[must_use]
    pub fn has(&self, dim: D) -> bool {
        self.step(dim).is_some()
    }

    /// The position of `rank` along `dim` (0 for a dimension that the grid does not have); `None`
    /// for a rank outside the grid.
    #[must_use]
    pub fn coordinate(&self, rank: u64, dim: D) -> Option<u64> {
        let relative = self.relative(rank)?;
        Some(self.step(dim).map_or(0, |step| step.position(relative)))
    }

    /// Every axis with the position of `rank` on it, fastest first; `None` outside the grid.
    #[must_use]
    pub fn coordinates(&self, rank: u64) -> Option<Vec<(D, u64)>> {
        let relative = self.relative(rank)?;
        Some(
            self.axes
                .iter()
                .map(|&(dim, step)| (dim, step.position(relative)))
                .collect(),
        )
    }

    /// The rank at the given positions, 0 along dimensions that are not named; `None` when a position
    /// is off its axis or a dimension is unknown.
    #[must_use]
    pub fn rank_at(&self, coordinates: &[(D, u64)]) -> Option<u64> {
        let mut positions = vec![0; self.axes.len()];
        for &(dim, position) in coordinates {
            let axis = self.axes.iter().position(|(known, _)| *known == dim)?;
            *positions.get_mut(axis)? = position;
        }
        let mut rank = self.first;
        for (&(_, step), position) in self.axes.iter().zip(positions) {
            if position >= step.size {
                return None;
            }
            rank += position * step.stride;
        }
        Some(rank)
    }

    /// The groups of ranks that differ only along `dims`; single ranks when `dims` is empty.
    ///
    /// Groups follow each other in the order of their lowest ranks. `None` when a dimension is unknown
    /// or listed twice.
    #[must_use]
    pub fn partition(&self, dims: &[D], order: MemberOrder) -> Option<Partition> {
        let mut listed = Vec::with_capacity(dims.len());
        for (index, &dim) in dims.iter().enumerate() {
            if dims.iter().take(index).any(|earlier| *earlier == dim) {
                return None;
            }
            listed.push(self.step(dim)?);
        }
        let mut partition = self.partition_where(|dim| dims.contains(&dim));
        if order == MemberOrder::LastListedFastest {
            listed.reverse();
            partition.inner = merged(listed);
        }
        Some(partition)
    }

    /// The groups of ranks that differ only along the chosen dimensions, members ascending.
    pub(super) fn partition_where(&self, chosen: impl Fn(D) -> bool) -> Partition {
        let steps = |inside: bool| {
            let axes = self.axes.iter().filter(|(dim, _)| chosen(*dim) == inside);
            axes.map(|&(_, step)| step).collect::<Vec<_>>()
        };
        Partition::new(self.ranks(), steps(true), steps(false))
    }

    /// The grid with one axis cut in two: `inner` positions as `dim`, then the rest as `rest`.
    ///
    /// Unchanged when `inner` does not divide the axis.
    pub(super) fn split(mut self, dim: D, inner: u64, rest: D) -> Self {
        if let Some(axis) = self.axes.iter().position(|(known, _)| *known == dim)
            && let Some((_, step)) = self.axes.get_mut(axis)
            && let Some(0) = step.size.checked_rem(inner)
        {
            let outer = Step {
                size: step.size / inner,
                stride: step.stride * inner,
            };
            step.size = inner;
            self.axes.insert(axis + 1, (rest, outer));
        }
        self
    }

    fn step(&self, dim: D) -> Option<Step> {
        self.axes.iter().find(|(known, _)| *known == dim).map(|(_, step)| *step)
    }

    fn relative(&self, rank: u64) -> Option<u64> {
        rank.checked_sub(self.first).filter(|relative| *relative < self.total)
    }
}

/// A partition of a grid's ranks into groups of equal size, or a selection of ranks from each group.
///
/// Two partitions are equal when they list the same groups in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    ranks: Range<u64>,
    inner: Vec<Step>,
    outer: Vec<Step>,
    cell_size: u64,
    cells: u64,
    selection: Selection,
}

/// The members of a cell (a group along whole dimensions) that form groups of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    /// `size` members each, `stride` apart, so that every member is in one group.
    Level { stride: u64, size: u64 },
    /// The first member.
    First,
    /// The first and the last member.
    Ends,
}

impl Partition {
    fn new(ranks: Range<u64>, inner: Vec<Step>, outer: Vec<Step>) -> Self {
        let product = |steps: &[Step]| steps.iter().map(|step| step.size).product();
        let (cell_size, cells) = (product(&inner), product(&outer));
        let selection = Selection::Level {
            stride: 1,
            size: cell_size,
        };
        Self {
            ranks,
            inner: merged(inner),
            outer: merged(outer),
            cell_size,
            cells,
            selection,
        }
    }

    /// The partition with every group divided further, into groups of `size` members that are `stride` apart. This is
    /// Megatron's `create_hierarchical_groups`, where a level's stride is the product of the sizes below it.
    ///
    /// `None` when `stride * size` does not divide the group size.
    pub(super) fn level(mut self, stride: u64, size: u64) -> Option<Self> {
        let block = stride.checked_mul(size)?;
        let fits = self.cell_size.checked_rem(block)? == 0;
        self.selection = Selection::Level { stride, size };
        fits.then_some(self)
    }

    /// Only the first member of every group.
    pub(super) fn firsts(mut self) -> Self {
        self.selection = Selection::First;
        self
    }

    /// Only the first and the last member of every group.
    pub(super) fn ends(mut self) -> Self {
        self.selection = Selection::Ends;
        self
    }

    /// The number of groups.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.cells * self.per_cell()
    }

    /// The number of ranks in each group.
    #[must_use]
    pub fn group_size(&self) -> u64 {
        match self.selection {
            Selection::Level { size, .. } => size,
            Selection::First => 1,
            Selection::Ends => self.cell_size.min(2),
        }
    }

    /// Group number `index`, in the order in which the framework creates them.
    #[must_use]
    pub fn group(&self, index: u64) -> Option<Group<'_>> {
        (index < self.count()).then(|| {
            let (cell, within) = (index / self.per_cell(), index % self.per_cell());
            let (start, stride) = match self.selection {
                Selection::Level { stride, size } => (within / stride * stride * size + within % stride, stride),
                Selection::First => (0, 1),
                Selection::Ends => (0, self.cell_size.saturating_sub(1)),
            };
            let base = self.ranks.start + offset(&self.outer, cell);
            Group {
                base,
                steps: &self.inner,
                start,
                stride,
                size: self.group_size(),
            }
        })
    }

    /// All groups, made one at a time.
    pub fn iter(&self) -> impl Iterator<Item = Group<'_>> {
        (0..self.count()).filter_map(|index| self.group(index))
    }

    /// The number of the group that holds `rank`; `None` when no group does.
    #[must_use]
    pub fn index_of(&self, rank: u64) -> Option<u64> {
        let (cell, position) = self.locate(rank)?;
        let within = match self.selection {
            Selection::Level { stride, size } => position / (stride * size) * stride + position % stride,
            Selection::First => (position == 0).then_some(0)?,
            Selection::Ends => (position == 0 || position + 1 == self.cell_size).then_some(0)?,
        };
        Some(cell * self.per_cell() + within)
    }

    /// The group that holds `rank`; `None` when no group does.
    #[must_use]
    pub fn group_of(&self, rank: u64) -> Option<Group<'_>> {
        self.group(self.index_of(rank)?)
    }

    fn per_cell(&self) -> u64 {
        match self.selection {
            Selection::Level { size, .. } => self.cell_size / size,
            Selection::First | Selection::Ends => 1,
        }
    }

    /// The cell of a rank and the position inside it.
    fn locate(&self, rank: u64) -> Option<(u64, u64)> {
        if !self.ranks.contains(&rank) {
            return None;
        }
        let relative = rank - self.ranks.start;
        let number = |steps: &[Step]| {
            let (mut number, mut weight) = (0, 1);
            for step in steps {
                number += step.position(relative) * weight;
                weight *= step.size;
            }
            number
        };
        Some((number(&self.outer), number(&self.inner)))
    }
}

/// One group of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group<'a> {
    base: u64,
    steps: &'a [Step],
    start: u64,
    stride: u64,
    size: u64,
}

impl Group<'_> {
    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The rank at `position` of the group.
    #[must_use]
    pub fn rank(&self, position: u64) -> Option<u64> {
        (position < self.size).then(|| self.base + offset(self.steps, self.start + position * self.stride))
    }

    /// The ranks in the group's order.
    pub fn ranks(&self) -> impl Iterator<Item = u64> {
        (0..self.size).filter_map(|position| self.rank(position))
    }
}

/// Joins steps that follow on each other without a gap and drops steps of size 1, so that equal numberings compare
/// equal.
fn merged(steps: Vec<Step>) -> Vec<Step> {
    let mut fewest: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        match fewest.last_mut() {
            _ if step.size == 1 => {}
            Some(last) if step.stride == last.stride * last.size => last.size *= step.size,
            _ => fewest.push(step),
        }
    }
    fewest
}

/// How far `index`, counted along `steps` with the first fastest, lies from index 0.
fn offset(steps: &[Step], mut index: u64) -> u64 {
    let mut offset = 0;
    for step in steps {
        offset += index % step.size * step.stride;
        index /= step.size;
    }
    offset
}
