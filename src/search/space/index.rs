//! The index of a combination: its digits are the places of its values in the lists of the axes.

use super::{Dimension, Space};
use crate::search::axis::{Axis, Pick};
use crate::search::shares::Shares;

/// The least number of shares that a space is parted into, if it has as many combinations: many, since some take much
/// longer than others.
const SHARES: u64 = 256;
/// Combinations of a share whose tapes a searcher still has when it comes to the next one of its group.
const SHORT_SHARE: u64 = 1 << 13;
/// The most shares into which a large space is parted to make them short.
const MOST_SHARES: u64 = 16_384;

impl Space {
    /// Whether the axis at a level is the last one that model states depend on: those after it are the micro batch and
    /// what is recomputed.
    pub(in crate::search) fn states_known_at(&self, level: usize) -> bool {
        let decides = |d: &Dimension| !matches!(d.axis, Axis::MicroBatch | Axis::Recompute);
        self.dimensions.iter().rposition(decides) == Some(level)
    }

    /// The place of the last axis that the split of layers into stages depends on.
    pub(in crate::search) fn stages_level(&self) -> Option<usize> {
        let decides = |d: &Dimension| matches!(d.axis, Axis::Pipeline | Axis::Virtual);
        self.dimensions.iter().rposition(decides)
    }

    /// The place of an axis among those that vary.
    pub(in crate::search) fn level(&self, axis: Axis) -> Option<usize> {
        self.dimensions.iter().position(|d| d.axis == axis)
    }

    /// The number of combinations that share all digits of their index up to and including `level`.
    pub(in crate::search) fn combinations_below(&self, level: usize) -> u64 {
        self.dimensions.get(level).map_or(1, |d| d.below)
    }

    /// The parts of the space that workers take one after another.
    #[must_use]
    pub fn shares(&self) -> Shares {
        use Axis::{Gpus, Pipeline, Training, Virtual};
        let stages = |d: &&Dimension| matches!(d.axis, Training | Gpus | Pipeline | Virtual);
        let leading = self.dimensions.iter().filter(stages).count();
        let of_stages = match leading {
            0 => self.total,
            levels => self.combinations_below(levels - 1),
        };
        let pipelines = (self.total / of_stages.max(1)).max(1);
        let short = (self.total / SHORT_SHARE).min(MOST_SHARES);
        let parts = SHARES.max(short).div_ceil(pipelines);
        let share = of_stages.div_ceil(parts).max(1);
        let starts = (0..of_stages.div_ceil(share)).map(|number| number * share);
        Shares::new(starts.map(|start| {
            let end = (start + share).min(of_stages);
            let of_pipelines = (0..pipelines).map(|of| of * of_stages + start..of * of_stages + end);
            of_pipelines.collect()
        }))
    }

    /// One digit of a combination's index: the position of its value in the list of the axis at `level`.
    #[must_use]
    pub fn digit(&self, index: u64, level: usize) -> u64 {
        let dimension = self.dimensions.get(level);
        let length = dimension.map_or(1, |d| u64::try_from(d.values.len()).unwrap_or(1));
        index / self.combinations_below(level) % length.max(1)
    }

    /// The value that a combination has on the axis at `level`.
    #[must_use]
    pub fn pick(&self, index: u64, level: usize) -> Option<Pick> {
        let digit = usize::try_from(self.digit(index, level)).ok()?;
        self.dimensions.get(level)?.values.get(digit).copied()
    }

    /// The values that a combination has, axis by axis.
    #[must_use]
    pub fn picks(&self, index: u64) -> Vec<Pick> {
        let levels = 0..self.dimensions.len();
        levels.filter_map(|level| self.pick(index, level)).collect()
    }

    /// The number of axes, from the first on, on which a combination has these values.
    pub(in crate::search) fn common(&self, index: u64, picks: &[Pick]) -> usize {
        let picks = picks.iter().enumerate();
        let same = |(level, pick): &(usize, &Pick)| self.pick(index, *level) == Some(**pick);
        picks.take_while(same).count()
    }
}
