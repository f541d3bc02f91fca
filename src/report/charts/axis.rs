//! The vertical axis of bytes that pictures of stages share.

use super::Subject;
use crate::report::amount::Scale;
use crate::report::scene::{Anchor, Class, Drawing, Px};
use crate::units::Bytes;

pub(super) const HEIGHT: Px = Px::of(230);
pub(super) const TOP: Px = Px::of(30);
pub(super) const BOTTOM: Px = Px::of(24);
pub(super) const LEFT: Px = Px::of(34);
/// A GPU with more than so many times what is shown is beyond the axis.
const OFF_SCALE: u64 = 4;

/// The GPU's memory, unless it is far above what is shown.
pub(super) fn gpu_within(gpu: Option<Bytes>, most: Bytes) -> Option<Bytes> {
    gpu.filter(|gpu| gpu.0 / OFF_SCALE <= most.0)
}

/// The vertical axis.
pub(super) struct Axis {
    top: Bytes,
    step: Bytes,
}

impl Axis {
    pub(super) fn new(most: Bytes, subject: &Subject<'_>) -> Self {
        // A twentieth of room above the highest thing, for its label.
        let top = Bytes(most.0.saturating_add(most.0 / 20).max(1));
        let unit = subject.unit.bytes();
        let fits = |step: &u64| top.0 / step.max(&1) <= 5;
        // 1, 2 and 5 times powers of ten of the unit, from its hundredth on.
        let tens = (0..12).map(|n| 10u64.saturating_pow(n));
        let steps = tens.flat_map(|ten| [1, 2, 5].map(|n| ten.saturating_mul(n)));
        let step = steps
            .map(|n| (unit / 100).saturating_mul(n))
            .find(fits)
            .unwrap_or(u64::MAX);
        Self {
            top,
            step: Bytes(step),
        }
    }

    /// The height of an amount.
    pub(super) fn y(&self, amount: Bytes) -> Px {
        let room = HEIGHT - TOP - BOTTOM;
        HEIGHT - BOTTOM - room.share(amount.0.into(), self.top.0.into())
    }

    /// The lines of the grid with their numbers.
    pub(super) fn grid(&self, subject: &Subject<'_>) -> Vec<Drawing> {
        let unit = subject.unit.bytes();
        // The hundredth of a GiB that steps start from is rounded down.
        let decimals = if self.step.0 >= unit / 100 * 100 {
            0
        } else if self.step.0 >= unit / 10 {
            1
        } else {
            2
        };
        let scale = Scale {
            unit: subject.unit,
            decimals,
        };
        let mut grid = Vec::new();
        for n in 0..=5 {
            let amount = self.step * n;
            if amount > self.top {
                break;
            }
            let y = self.y(amount);
            grid.push(Drawing::line(Class::Grid, (LEFT, y), (subject.width, y)));
            let place = (LEFT - Px::of(6), y + Px::of(4));
            grid.push(Drawing::text(
                Class::Tick,
                place,
                Anchor::End,
                scale.number(amount),
            ));
        }
        grid.push(Drawing::text(
            Class::Tick,
            (LEFT - Px::of(6), Px::of(11)),
            Anchor::End,
            subject.unit.symbol(),
        ));
        grid
    }

    /// The line of the GPU's memory, or its name at the top where it is beyond the axis.
    pub(super) fn gpu(
        &self,
        subject: &Subject<'_>,
        gpu: Option<Bytes>,
        within: bool,
    ) -> Vec<Drawing> {
        let Some(memory) = gpu else {
            return Vec::new();
        };
        let name = format!("GPU {}", Scale::coarse(subject.unit).amount(memory));
        let label = |y, text| Drawing::text(Class::GpuLabel, (subject.width, y), Anchor::End, text);
        if !within {
            return vec![label(Px::of(11), format!("↑ {name}"))];
        }
        let y = self.y(memory);
        vec![
            Drawing::line(Class::Gpu, (LEFT, y), (subject.width, y)),
            label(y - Px::of(5), name),
        ]
    }
}
