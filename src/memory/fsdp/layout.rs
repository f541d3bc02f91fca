//! How the parameters of a group lie in its buffer (`build_data_parallel_buffer_index`): in a grid of chunks, so that
//! no rank gets a part of a row.

use super::parameter::Size;
use crate::units::multiply;

/// The buffer of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Number of parameters.
    pub(super) parameters: u64,
    /// Their elements.
    pub(super) elements: u64,
    /// Elements of a chunk: rows of every parameter fit into it a whole number of times.
    pub(super) chunk: u64,
    /// Elements of the buffer with its gaps, up to a multiple of chunks on every rank.
    pub(super) padded: u64,
}

/// Beyond so many parameters in one group, gaps are not filled any more: the search takes the square of their number.
const MOST_FITTED: usize = 20_000;

impl Layout {
    /// The buffer for these parameters, padded for so many ranks; `None` for a buffer that is not padded.
    pub(super) fn new(parameters: &[Size], ranks: Option<u64>) -> Self {
        let mut sizes = parameters.to_vec();
        // The sort is stable: parameters with equal rows stay in their order.
        sizes.sort_by_key(|size| core::cmp::Reverse(size.row));
        let chunk = chunk(&sizes);
        let used = used(&sizes, chunk);
        let multiple = ranks.map_or(1, |ranks| multiply(ranks, chunk)).max(1);
        Self {
            parameters: parameters.len() as u64,
            elements: parameters.iter().map(|size| size.elements).sum(),
            chunk,
            padded: multiply(used.div_ceil(multiple), multiple),
        }
    }
}

/// The chunk of parameters that are sorted by their rows, the longest first (`_get_parameter_groups`, step 3).
fn chunk(sizes: &[Size]) -> u64 {
    let first = sizes.first().map_or(1, |size| size.row);
    sizes.iter().fold(first, |chunk, size| {
        let fits = size.row == chunk
            || (chunk.is_multiple_of(size.row) && size.elements.is_multiple_of(chunk))
            || size.elements < chunk;
        if fits {
            chunk
        } else {
            least_common_multiple(chunk, size.row)
        }
    })
}

/// Elements up to the end of the last parameter. The rest of a parameter that ends within a chunk shares that chunk
/// with the rest of one other parameter, if both fit, and with parameters smaller than a chunk.
fn used(sizes: &[Size], chunk: u64) -> u64 {
    let sizes = || sizes.iter().map(|size| size.elements);
    let fitted = sizes().len() <= MOST_FITTED;
    let mut whole: u64 = 0;
    // Parameters that end within a chunk: chunks before that, and the rest.
    let mut torn: Vec<Option<(u64, u64)>> = Vec::new();
    let mut small: Vec<Option<u64>> = Vec::new();
    for elements in sizes() {
        if elements < chunk {
            small.push(Some(elements));
        } else if elements.is_multiple_of(chunk) {
            whole = whole.saturating_add(elements);
        } else {
            torn.push(Some((elements / chunk, elements % chunk)));
        }
    }
    let mut end = whole;
    for index in 0..torn.len() {
        let Some((chunks, rest)) = torn.get_mut(index).and_then(Option::take) else {
            continue;
        };
        end = end.saturating_add(multiply(chunks + 1, chunk));
        if !fitted {
            continue;
        }
        let mut space = chunk - rest;
        let others = torn.iter_mut().skip(index + 1);
        let mut fitting = others.filter(|other| other.is_some_and(|(_, rest)| rest <= space));
        if let Some((chunks, rest)) = fitting.next().and_then(Option::take) {
            space -= rest;
            end = end.saturating_add(multiply(chunks, chunk));
        }
        for slot in &mut small {
            if let Some(elements) = slot.filter(|elements| *elements <= space) {
                space -= elements;
                *slot = None;
            }
        }
    }
    let left = small.into_iter().flatten().sum::<u64>();
    end.saturating_add(left)
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y > 0 {
        (x, y) = (y, x % y);
    }
    multiply(a.max(1) / x, b.max(1))
}
