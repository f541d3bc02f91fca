//! A plot of memory against a setting: a line for each job, the range that its device may show, and the GPU's memory.

use super::amount::{Scale, Unit, grouped};
use super::charts::axis::{Axis, BOTTOM, HEIGHT, LEFT, TOP, gpu_within};
use super::scene::{Anchor, Class, Drawing, Px, Scene};
use crate::config::fields::FieldId;
use crate::fit::{Sweep, SweepPoint};
use crate::search::seconds;
use crate::units::Bytes;

/// The scene's id.
pub const ID: &str = "plot";
/// The most jobs that have a line of their own.
pub const MOST_CURVES: usize = 6;
/// Half the side of the square of a value.
const DOT: Px = Px::of(3);
/// The width of a line's sample in the legend.
const SAMPLE: Px = Px::of(18);
/// The height of a line of the legend.
const LEGEND: Px = Px::of(20);
const GAP: Px = Px::of(6);
/// The gap between two numbers of the axis below.
const BETWEEN: Px = Px::of(14);

/// The line of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name of the job.
    pub name: String,
    /// The job over the values of the setting.
    pub sweep: Sweep,
}

/// A plot.
#[derive(Clone, Copy, Debug)]
pub struct Plot<'a> {
    /// The setting.
    pub field: FieldId,
    /// The jobs, at most [`MOST_CURVES`]; the first one's values can be chosen.
    pub curves: &'a [Curve],
    /// The unit of memory.
    pub unit: Unit,
    /// The width of the picture.
    pub width: Px,
}

/// Whether a setting is usually doubled, so that equal ratios are equal distances.
const fn is_doubled(field: FieldId) -> bool {
    !matches!(field, FieldId::seq_length | FieldId::num_layers | FieldId::num_experts)
}

impl Plot<'_> {
    fn points(&self) -> impl Iterator<Item = &SweepPoint> {
        self.curves.iter().flat_map(|curve| &curve.sweep.points)
    }

    /// The smallest and the largest value; `None` where there is none.
    fn ends(&self) -> Option<(u64, u64)> {
        let values = || self.points().map(|point| point.value);
        Some((values().min()?, values().max()?))
    }

    /// The distance of a value from the left end, in some unit.
    fn distance(&self, value: u64) -> u128 {
        if is_doubled(self.field) {
            log2_thousandths(value)
        } else {
            value.into()
        }
    }

    /// The x coordinate of a value; `None` where there are no points.
    #[must_use]
    pub fn x(&self, value: u64) -> Option<Px> {
        let (least, most) = self.ends()?;
        let from = self.distance(least);
        let part = self.distance(value).saturating_sub(from);
        let whole = self.distance(most).saturating_sub(from);
        let room = self.width - LEFT - DOT - DOT - DOT - DOT;
        Some(LEFT + DOT + DOT + room.share(part.min(whole), whole))
    }

    /// The point of the first job that is nearest to an x coordinate.
    #[must_use]
    pub fn nearest(&self, x: Px) -> Option<&SweepPoint> {
        let points = self.curves.first()?.sweep.points.iter();
        points.min_by_key(|point| self.x(point.value).map(|at| at.0.abs_diff(x.0)))
    }

    /// A value of the first job with its memory, in one sentence.
    #[must_use]
    pub fn sentence(&self, point: &SweepPoint) -> String {
        let scale = Scale::coarse(self.unit);
        let memory = point.memory;
        let of_gpu = memory.gpu_memory().map_or_else(String::new, |gpu| {
            let verdict = memory.verdict.words().to_ascii_lowercase();
            format!(", of {}: {verdict}", scale.amount(gpu))
        });
        let step = point.step_nanoseconds();
        let step = step.map_or_else(String::new, |step| format!("; about {} a step", seconds(step)));
        format!(
            "{} {}: {} allocated, {} on the device{of_gpu}{step}.",
            self.field.field().label,
            grouped(point.value),
            scale.amount(memory.total),
            scale.range(memory.device.0, memory.device.1),
        )
    }

    /// What the plot says of every job, in a sentence each.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let curves = self.curves.iter();
        let sentences = curves.filter_map(|curve| {
            let words = words(&curve.sweep)?;
            Some(format!("{} {words}.", curve.name))
        });
        sentences.collect()
    }

    /// Draws the plot.
    #[must_use]
    pub fn draw(&self) -> Scene {
        let label = self.field.field().label;
        let most = self.points().map(|point| point.memory.device.1).max();
        let most = most.unwrap_or(Bytes::ZERO);
        let mut capacities: Vec<Bytes> = self.curves.iter().filter_map(|c| c.sweep.gpu()).collect();
        capacities.sort_unstable();
        capacities.dedup();
        let gpus = |gpu: Bytes| gpu_within(Some(gpu), most);
        let highest = capacities.iter().filter_map(|gpu| gpus(*gpu)).max();
        let axis = Axis::new(most.max(highest.unwrap_or(Bytes::ZERO)), self.unit, self.width);
        let mut scene = Scene {
            id: ID,
            width: self.width,
            height: HEIGHT,
            title: format!("Memory of the fullest GPU against {}", lower(label)),
            description: self.sentences().join(" "),
            behind: axis.grid(),
            marks: Vec::new(),
            before: Vec::new(),
        };
        self.write_axis(&mut scene);
        if let Some(first) = self.curves.first() {
            self.write_range(&mut scene, &axis, first);
            self.write_limit(&mut scene, first);
        }
        for (number, curve) in self.curves.iter().take(MOST_CURVES).enumerate().rev() {
            self.write_curve(&mut scene, &axis, number, curve);
        }
        for gpu in capacities {
            scene.before.extend(axis.gpu(Some(gpu), gpus(gpu).is_some()));
        }
        if self.curves.len() > 1 {
            self.write_legend(&mut scene);
        }
        scene
    }

    /// The numbers below, as many as have room, and the current one.
    fn write_axis(&self, scene: &mut Scene) {
        let mut values: Vec<u64> = self.points().map(|point| point.value).collect();
        values.sort_unstable();
        values.dedup();
        let first = self.curves.first();
        let current = first.and_then(|curve| curve.sweep.current);
        // The current value has its number first, then the round ones.
        values.sort_by_key(|value| {
            let zeros = value.trailing_zeros();
            (Some(*value) != current, u32::MAX - zeros, *value)
        });
        let mut taken: Vec<(Px, Px)> = Vec::new();
        let base = HEIGHT - BOTTOM + Px::of(16);
        for value in values {
            let text = grouped(value);
            let half = Px::of_text(&text).over(2);
            let Some(middle) = self.x(value) else {
                continue;
            };
            let middle = middle.max(LEFT + half).min(self.width - half);
            let (from, to) = (middle - half, middle + half);
            let is_free = |(start, end): &(Px, Px)| to + BETWEEN < *start || from > *end + BETWEEN;
            if taken.iter().all(is_free) {
                taken.push((from, to));
                let class = if Some(value) == current {
                    Class::Label
                } else {
                    Class::Tick
                };
                let text = Drawing::text(class, (middle, base), Anchor::Middle, text);
                scene.behind.push(text);
            }
        }
    }

    /// The range of memory that the device of the first job may show.
    fn write_range(&self, scene: &mut Scene, axis: &Axis, curve: &Curve) {
        let points = &curve.sweep.points;
        let corner = |point: &SweepPoint, amount| Some((self.x(point.value)?, axis.y(amount)));
        let above = points.iter().map(|point| corner(point, point.memory.device.1));
        let below = points.iter().rev();
        let below = below.map(|point| corner(point, point.memory.device.0));
        let corners: Vec<(Px, Px)> = above.chain(below).flatten().collect();
        scene.behind.push(Drawing::area(Class::Band, corners));
    }

    /// Up to where the first job fits.
    fn write_limit(&self, scene: &mut Scene, curve: &Curve) {
        let Some((limit, words)) = curve.sweep.limit().zip(words(&curve.sweep)) else {
            return;
        };
        let Some(x) = self.x(limit) else {
            return;
        };
        let line = Drawing::line(Class::Peak, (x, TOP - Px::of(8)), (x, HEIGHT - BOTTOM));
        let half = Px::for_words(&words).over(2);
        let middle = x.max(LEFT + half).min(self.width - half);
        let place = (middle, Px::of(11));
        let text = Drawing::text(Class::Label, place, Anchor::Middle, words);
        scene.behind.extend([line, text]);
    }

    fn write_curve(&self, scene: &mut Scene, axis: &Axis, number: usize, curve: &Curve) {
        let places: Vec<(Px, Px)> = curve
            .sweep
            .points
            .iter()
            .filter_map(|point| Some((self.x(point.value)?, axis.y(point.memory.total))))
            .collect();
        let class = Class::Curve(number);
        for (from, to) in places.iter().zip(places.iter().skip(1)) {
            scene.before.push(Drawing::line(class, *from, *to));
        }
        for ((x, y), point) in places.iter().zip(&curve.sweep.points) {
            let is_current = curve.sweep.current == Some(point.value);
            let half = if is_current { DOT + Px::of(2) } else { DOT };
            let corner = (*x - half, *y - half);
            let dot = Drawing::rect(Class::Dot(number), corner, (half + half, half + half));
            scene.before.push(dot);
        }
    }

    /// The names of all lines, as many in a row as have room.
    fn write_legend(&self, scene: &mut Scene) {
        let mut x = Px::ZERO;
        scene.height += LEGEND;
        for (number, curve) in self.curves.iter().take(MOST_CURVES).enumerate() {
            let width = SAMPLE + GAP + Px::for_words(&curve.name);
            if x + width > scene.width && x > Px::ZERO {
                x = Px::ZERO;
                scene.height += LEGEND;
            }
            let base = scene.height - GAP;
            let y = base - Px::of(4);
            let line = Drawing::line(Class::Curve(number), (x, y), (x + SAMPLE, y));
            let place = (x + SAMPLE + GAP, base);
            let name = Drawing::text(Class::Label, place, Anchor::Start, curve.name.clone());
            scene.before.extend([line, name]);
            x += width + GAP + GAP;
        }
    }
}

/// The first letter small, but for names such as `TP`.
fn lower(label: &str) -> String {
    let mut letters = label.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_ascii_lowercase() => {
            core::iter::once(first.to_ascii_lowercase()).chain(letters).collect()
        }
        _ => label.to_owned(),
    }
}

/// A thousand times the logarithm to base 2, interpolated between powers of two; 0 for 0.
fn log2_thousandths(value: u64) -> u128 {
    let exponent = value.max(1).ilog2();
    let power = 1_u128 << exponent;
    u128::from(exponent) * 1000 + (u128::from(value.max(1)) - power) * 1000 / power
}

/// The values that fit the GPU even with the largest overheads, in words such as `fits up to 5,632 tokens`; `None`
/// where the job names no GPU, or no value is legal.
#[must_use]
pub fn words(sweep: &Sweep) -> Option<String> {
    sweep.gpu()?;
    let unit = sweep.field.field().unit;
    let amount = |value: u64| match unit {
        "" => grouped(value),
        unit => format!("{} {unit}", grouped(value)),
    };
    let is_fitting = |point: &SweepPoint| point.memory.has_room();
    let points = &sweep.points;
    let fitting = points.iter().filter(|point| is_fitting(point));
    let fitting: Vec<u64> = fitting.map(|point| point.value).collect();
    let leads = points.iter().take(fitting.len()).all(is_fitting);
    let ends = points.iter().rev().take(fitting.len()).all(is_fitting);
    let words = match (fitting.first(), fitting.last(), sweep.largest) {
        (Some(_), Some(_), Some(largest)) if leads => format!("fits up to {}", amount(largest)),
        (Some(_), Some(_), _) if leads && ends => String::from("fits with all of these values"),
        (Some(_), Some(most), _) if leads => format!("fits up to {}", amount(*most)),
        (Some(least), Some(_), _) if ends => format!("fits from {} on", amount(*least)),
        (Some(_), Some(_), _) => {
            let values: Vec<String> = fitting.into_iter().map(grouped).collect();
            format!("fits with {}", values.join(", "))
        }
        _ => String::from("fits with none of these values"),
    };
    Some(if sweep.is_of_another_job() {
        format!("{words}, without what is not modelled")
    } else {
        words
    })
}
