//! The vertical axis of bytes, which the charts of stages and of the timeline share.

use crate::report::amount::{Scale, Unit};
use crate::report::scene::{Anchor, Class, Drawing, Px};
use crate::units::Bytes;

/// The height of a chart with this axis.
pub(in super::super) const HEIGHT: Px = Px::of(230);
/// The height above the axis.
pub(in super::super) const TOP: Px = Px::of(30);
/// The height below the axis.
pub(in super::super) const BOTTOM: Px = Px::of(24);
/// The width left of the axis, for its numbers.
pub(in super::super) const LEFT: Px = Px::of(34);
/// The line of the GPU is left out where its memory is more than this many times the largest amount.
const OFF_SCALE: u64 = 4;

/// The GPU's memory where its line is within the axis: unless it is more than [`OFF_SCALE`] times the largest amount.
pub(in super::super) fn gpu_within(gpu: Option<Bytes>, most: Bytes) -> Option<Bytes> {
    gpu.filter(|gpu| gpu.0 / OFF_SCALE <= most.0)
}

/// The vertical axis.
pub(in super::super) struct Axis {
    unit: Unit,
    /// The right end of its lines.
    right: Px,
    /// The amount at the upper end.
    top: Bytes,
    /// The amount between two lines of the grid.
    step: Bytes,
}

impl Axis {
    pub(in super::super) fn new(most: Bytes, unit: Unit, right: Px) -> Self {
        // A twentieth above the largest amount, for its label.
        let top = Bytes(most.0.saturating_add(most.0 / 20).max(1));
        let bytes = unit.bytes();
        let fits = |step: &u64| top.0 / step.max(&1) <= 5;
        // 1, 2 and 5 times powers of ten, from a hundredth of the unit on.
        let tens = (0..12).map(|n| 10u64.saturating_pow(n));
        let steps = tens.flat_map(|ten| [1, 2, 5].map(|n| ten.saturating_mul(n)));
        let step = steps
            .map(|n| (bytes / 100).saturating_mul(n))
            .find(fits)
            .unwrap_or(u64::MAX);
        Self {
            unit,
            right,
            top,
            step: Bytes(step),
        }
    }

    /// The y coordinate of an amount.
    pub(in super::super) fn y(&self, amount: Bytes) -> Px {
        let room = HEIGHT - TOP - BOTTOM;
        HEIGHT - BOTTOM - room.share(amount.0.into(), self.top.0.into())
    }

    /// The lines of the grid with their numbers.
    pub(in super::super) fn grid(&self) -> Vec<Drawing> {
        let unit = self.unit.bytes();
        // A hundredth of a GiB is no whole number of bytes: the steps are multiples of it, rounded down.
        let decimals = if self.step.0 >= unit / 100 * 100 {
            0
        } else if self.step.0 >= unit / 10 {
            1
        } else {
            2
        };
        let scale = Scale {
            unit: self.unit,
            decimals,
        };
        let mut grid = Vec::new();
        for n in 0..=5 {
            let amount = self.step * n;
            if amount > self.top {
                break;
            }
            let y = self.y(amount);
            grid.push(Drawing::line(Class::Grid, (LEFT, y), (self.right, y)));
            let place = (LEFT - Px::of(6), y + Px::of(4));
            grid.push(Drawing::text(Class::Tick, place, Anchor::End, scale.number(amount)));
        }
        grid.push(Drawing::text(
            Class::Tick,
            (LEFT - Px::of(6), Px::of(11)),
            Anchor::End,
            self.unit.symbol(),
        ));
        grid
    }

    /// The line of the GPU's memory with its name; the name alone at the top where the memory is not `within` the axis.
    pub(in super::super) fn gpu(&self, gpu: Option<Bytes>, within: bool) -> Vec<Drawing> {
        let Some(memory) = gpu else {
            return Vec::new();
        };
        let name = format!("GPU {}", Scale::coarse(self.unit).amount(memory));
        let label = |y, text| Drawing::text(Class::GpuLabel, (self.right, y), Anchor::End, text);
        if !within {
            return vec![label(Px::of(11), format!("↑ {name}"))];
        }
        let y = self.y(memory);
        vec![
            Drawing::line(Class::Gpu, (LEFT, y), (self.right, y)),
            label(y - Px::of(5), name),
        ]
    }
}
