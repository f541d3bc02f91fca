//! Named views of one rank span, with the rules of `megatron.core.hyper_comm_grid.HyperCommGrid`.

use super::super::python::{Exception, Refusal, repr, repr_texts};
use super::{Grid, MemberOrder, Partition};
use crate::order::sort_by_key;

/// The name of the view that a grid is made with.
const BASE: &str = "base";

/// A base view of a span of ranks, and further views registered on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommGrid {
    views: Vec<NamedView>,
}

/// One factorization of the span; its grid's axes are positions in `dim_names`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedView {
    name: String,
    dim_names: Vec<String>,
    grid: Grid<usize>,
}

/// How to factorize the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewSpec<'a> {
    /// The size of each dimension.
    pub shape: &'a [i128],
    /// The name of each dimension, fastest first.
    pub dim_names: &'a [&'a str],
}

impl CommGrid {
    /// The grid whose lowest rank is `rank_offset`, in a world of `world_size` ranks.
    ///
    /// # Errors
    ///
    /// When shape and names differ in length, the offset is negative, or the grid reaches beyond the
    /// world; all as upstream. Shapes that only fail later upstream (zero, a repeated name) fail here.
    pub fn new(base: &ViewSpec<'_>, rank_offset: i128, world_size: i128) -> Result<Self, Refusal> {
        base.check_lengths()?;
        let shape = base.shape;
        let first = u64::try_from(rank_offset).map_err(|_| {
            Exception::ValueError.with(format!(
                "rank_offset must be non-negative, got {rank_offset}"
            ))
        })?;
        if base
            .total()
            .is_none_or(|total| total > world_size.saturating_sub(rank_offset))
        {
            return Err(Exception::RuntimeError.with(format!(
                "Grid shape {shape:?} is over sized with world size {world_size} and rank offset {rank_offset}"
            )));
        }
        let grid = base.grid(first).ok_or_else(|| {
            let names = repr_texts(base.dim_names);
            Exception::ValueError.with(format!("no grid has shape {shape:?} and dim_names {names}"))
        })?;
        Ok(Self {
            views: vec![NamedView::new(BASE, base, grid)],
        })
    }

    /// Adds a factorization of the same span. Shared dimensions must cut it into the same groups as in
    /// the base view, one by one and together.
    ///
    /// # Errors
    ///
    /// As upstream, in its order.
    pub fn register_view(
        &mut self,
        name: &str,
        spec: &ViewSpec<'_>,
        shared: &[&str],
    ) -> Result<(), Refusal> {
        let refuse = |message: String| Err(Exception::ValueError.with(message));
        let (quoted, shape) = (repr(name), spec.shape);
        let names = repr_texts(spec.dim_names);
        let shared_names = repr_texts(shared);
        let Some(base) = self.views.first() else {
            return Ok(());
        };
        if self.view(name).is_some() {
            return refuse(format!("View {quoted} is already registered"));
        }
        spec.check_lengths()?;
        if has_duplicates(spec.dim_names) {
            return refuse(format!("View {quoted} has duplicate dim_names: {names}"));
        }
        if shape.iter().any(|size| *size <= 0) {
            return refuse(format!(
                "View {quoted} shape must be positive ints, got {shape:?}"
            ));
        }
        let ranks = base.grid.ranks();
        let size = ranks.end - ranks.start;
        let grid = spec.grid(ranks.start).filter(|grid| grid.ranks() == ranks);
        let Some(grid) = grid else {
            let total = spec
                .total()
                .map_or_else(|| "too large".to_owned(), |total| total.to_string());
            return refuse(format!(
                "View {quoted} shape {shape:?} has size {total}, but the grid size is {size}"
            ));
        };
        if has_duplicates(shared) {
            return refuse(format!(
                "View {quoted} has duplicate shared_dims: {shared_names}"
            ));
        }
        let view = NamedView::new(name, spec, grid);
        for dim in shared {
            let missing = if base.axis(dim).is_none() {
                format!("the base view {}", base.names())
            } else if view.axis(dim).is_none() {
                format!("the view's dim_names {names}")
            } else {
                base.check_same_groups(&view, &[dim], &format!("dim {}", repr(dim)))?;
                continue;
            };
            return refuse(format!(
                "Shared dim {} of view {quoted} is not in {missing}",
                repr(dim)
            ));
        }
        if shared.len() > 1 {
            base.check_same_groups(&view, shared, &format!("dims {shared_names}"))?;
        }
        self.views.push(view);
        Ok(())
    }

    /// The groups along `dims` of a view (the base view by default), as `get_rank_enum` lists them.
    ///
    /// # Errors
    ///
    /// When the view is not registered or lacks a dimension.
    pub fn rank_groups(&self, dims: &[&str], view: Option<&str>) -> Result<Partition, Refusal> {
        let name = view.unwrap_or(BASE);
        let Some(view) = self.view(name) else {
            let mut known: Vec<_> = self.views.iter().map(|view| view.name.as_str()).collect();
            sort_by_key(&mut known, |name| *name);
            let message = format!(
                "View {} is not registered. Registered views: {}",
                repr(name),
                repr_texts(&known)
            );
            return Err(Exception::KeyError.with(message));
        };
        if let Some(missing) = dims.iter().find(|dim| view.axis(dim).is_none()) {
            let (missing, name, names) = (repr(missing), repr(name), view.names());
            let message = format!("{missing} is not in view {name} with dim_names {names}");
            return Err(Exception::ValueError.with(message));
        }
        view.partition(dims)
            .ok_or_else(|| Exception::ValueError.with("repeated axis in `source` argument"))
    }

    fn view(&self, name: &str) -> Option<&NamedView> {
        self.views.iter().find(|view| view.name == name)
    }
}

impl ViewSpec<'_> {
    fn check_lengths(&self) -> Result<(), Refusal> {
        if self.shape.len() == self.dim_names.len() {
            return Ok(());
        }
        let (shape, names) = (self.shape, repr_texts(self.dim_names));
        Err(Exception::ValueError.with(format!("len(shape) {shape:?} != len(dim_names) {names}")))
    }

    fn total(&self) -> Option<i128> {
        self.shape
            .iter()
            .try_fold(1_i128, |total, size| total.checked_mul(*size))
    }

    fn grid(&self, first: u64) -> Option<Grid<usize>> {
        if has_duplicates(self.dim_names) {
            return None;
        }
        let sizes = self.shape.iter().map(|size| u64::try_from(*size).ok());
        let axes = sizes
            .enumerate()
            .map(|(axis, size)| Some((axis, size?)))
            .collect::<Option<Vec<_>>>()?;
        Grid::new(first, &axes)
    }
}

impl NamedView {
    fn new(name: &str, spec: &ViewSpec<'_>, grid: Grid<usize>) -> Self {
        let dim_names = spec.dim_names.iter().map(|&dim| dim.to_owned()).collect();
        Self {
            name: name.to_owned(),
            dim_names,
            grid,
        }
    }

    fn axis(&self, dim: &str) -> Option<usize> {
        self.dim_names.iter().position(|known| known == dim)
    }

    fn names(&self) -> String {
        repr_texts(&self.dim_names)
    }

    fn partition(&self, dims: &[&str]) -> Option<Partition> {
        let axes = dims
            .iter()
            .map(|dim| self.axis(dim))
            .collect::<Option<Vec<_>>>()?;
        self.grid.partition(&axes, MemberOrder::Ascending)
    }

    fn check_same_groups(&self, view: &Self, dims: &[&str], what: &str) -> Result<(), Refusal> {
        let (Some(base), Some(other)) = (self.partition(dims), view.partition(dims)) else {
            return Ok(());
        };
        if base == other {
            return Ok(());
        }
        Err(Exception::ValueError.with(format!(
            "Shared {what} has different membership across views: base enumeration {} != view {} enumeration {}",
            listing(&base),
            repr(&view.name),
            listing(&other)
        )))
    }
}

/// Every group with its ranks, as Python prints nested lists; large grids are cut short.
fn listing(partition: &Partition) -> String {
    const MOST_RANKS: u64 = 4096;
    if partition.count().saturating_mul(partition.group_size()) > MOST_RANKS {
        return format!(
            "[{} groups of {}]",
            partition.count(),
            partition.group_size()
        );
    }
    format!(
        "{:?}",
        partition
            .iter()
            .map(|group| group.ranks().collect())
            .collect::<Vec<Vec<_>>>()
    )
}

fn has_duplicates(names: &[&str]) -> bool {
    names
        .iter()
        .enumerate()
        .any(|(index, name)| names.iter().take(index).any(|earlier| earlier == name))
}
