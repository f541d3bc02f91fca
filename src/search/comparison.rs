//! The order of layouts, and what one of them gains over another.
//!
//! Layouts are ordered by [`Criterion::ORDER`], each criterion only among layouts that are equal by those before it. Where
//! the [time of a step](crate::time) is not predicted, other criteria stand in for it: what is recomputed and how many micro batches there are count as parts of one sum
//! ([`StepCost::overhead_ppm`]), so that neither outranks the others.

use core::cmp::Ordering;

use strum::{EnumCount, VariantArray};

#[allow(unused_imports, reason = "a link of the documentation")]
use super::candidate::SHORT_SEQUENCE;
use super::candidate::{Candidate, ROOM_FOR_SPEED};
use super::options::Order;
use super::placement::GroupKind;
#[allow(unused_imports, reason = "a link of the documentation")]
use super::step_cost::StepCost;
use crate::units::Bytes;
use crate::variants::all;

/// A property by which layouts are ordered or compared; the order of the variants is that in which gains are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumCount, VariantArray)]
pub enum Criterion {
    /// Whether the layout fits the GPU, by its [`Room`](super::room::Room).
    Fits,
    /// Whether all weights are trained: adapters alone are another training, and no layout of the same.
    Trained,
    /// GPUs of the job.
    Gpus,
    /// The predicted time of a step.
    Time,
    /// The share of the forward pass that is recomputed.
    Recomputed,
    /// Context parallelism that leaves a rank fewer than [`SHORT_SEQUENCE`] tokens of a sequence.
    Context,
    /// Groups inside layers that leave the node or `NVLink` domain.
    Crossing,
    /// The pipeline bubble.
    Bubble,
    /// Bytes over the network.
    Network,
    /// Bytes within the node or `NVLink` domain.
    Near,
    /// What is recomputed, the bubble, exchanged data, and weights and gradients that are read for every micro batch,
    /// together.
    Overhead,
    /// GPUs of a model replica.
    Replica,
    /// Peak memory.
    Peak,
}

/// Millionths in a percent. Shares are ordered in whole percents: less is below what they tell of speed.
const PERCENT: u64 = 10_000;

impl Criterion {
    /// All criteria.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// The criteria that decide on the order, the first one first.
    pub const ORDER: [Self; 8] = [
        Self::Fits,
        Self::Trained,
        Self::Gpus,
        Self::Time,
        Self::Context,
        Self::Overhead,
        Self::Replica,
        Self::Peak,
    ];

    /// The number of a layout by which it is ordered; less is better.
    fn number(self, c: &Candidate) -> u64 {
        let whole_percent = |ppm: u64| ppm.saturating_add(PERCENT / 2) / PERCENT;
        match self {
            Self::Fits => c.room() as u64,
            Self::Trained => u64::from(c.adapters),
            Self::Gpus => c.gpus.into(),
            Self::Time if c.order == Order::Memory => 0,
            Self::Time => c.step_nanoseconds.unwrap_or(u64::MAX),
            Self::Recomputed => whole_percent(c.recomputed_ppm),
            Self::Context if c.splits_short_sequences => c.cp.into(),
            Self::Context => 1,
            Self::Crossing => c.crossing.weight(),
            Self::Bubble => whole_percent(c.bubble_ppm),
            Self::Network => c.traffic.far.0,
            Self::Near => c.traffic.near.0,
            Self::Overhead => whole_percent(c.step_cost().overhead_ppm()),
            Self::Replica => c.replica.into(),
            Self::Peak => c.peak.0,
        }
    }
}

impl Candidate {
    /// Whether it is listed before another candidate.
    #[must_use]
    pub fn is_before(&self, other: &Self) -> bool {
        self.order(other).is_lt()
    }

    /// The order of two candidates: by the criteria, most weight first, then by index.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        let criteria = Criterion::ORDER.into_iter();
        let mut orders = criteria.map(|c| c.number(self).cmp(&c.number(other)));
        let first = orders.find(|order| order.is_ne());
        first.unwrap_or_else(|| self.index.cmp(&other.index))
    }

    /// What it gains over another layout.
    #[must_use]
    pub fn gains_over(&self, other: &Self) -> Vec<Gain> {
        let gain = |criterion: Criterion| {
            (criterion.number(self) < criterion.number(other)).then_some(Gain {
                criterion,
                better: *self,
                worse: *other,
            })
        };
        Criterion::ALL.into_iter().filter_map(gain).collect()
    }
}

/// A criterion by which one layout is better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gain {
    /// The criterion.
    pub criterion: Criterion,
    better: Candidate,
    worse: Candidate,
}

impl Gain {
    /// The gain in words, with the values of the better and of the worse layout; `amount` writes bytes.
    #[must_use]
    pub fn text(&self, amount: impl Fn(Bytes) -> String) -> String {
        let (a, b) = (&self.better, &self.worse);
        match self.criterion {
            Criterion::Fits if b.is_too_large() => "fits the GPU".to_owned(),
            Criterion::Fits if b.is_nearly_full() => format!("leaves more than {} free", amount(ROOM_FOR_SPEED)),
            Criterion::Fits => "fits the GPU also with the largest overheads".to_owned(),
            Criterion::Trained => "trains all weights".to_owned(),
            Criterion::Gpus => format!("{} GPUs instead of {}", a.gpus, b.gpus),
            Criterion::Time => {
                let seconds = |c: &Candidate| seconds(c.step_nanoseconds.unwrap_or_default());
                format!("a step of {} instead of {}", seconds(a), seconds(b))
            }
            Criterion::Recomputed => format!(
                "recomputes {} instead of {}",
                percent(a.recomputed_ppm),
                percent(b.recomputed_ppm)
            ),
            Criterion::Crossing => {
                let stays = |kind| !a.crossing.kinds().any(|crosses| crosses == kind);
                let stay = b.crossing.kinds().filter(|kind| stays(*kind));
                let names: Vec<&str> = stay.map(GroupKind::symbol).collect();
                format!("{} within a node or NVLink domain", names.join(" and "))
            }
            Criterion::Context => format!("CP {} instead of {}", a.cp, b.cp),
            Criterion::Bubble => format!("bubble {} instead of {}", percent(a.bubble_ppm), percent(b.bubble_ppm)),
            Criterion::Near => format!(
                "{} within the node instead of {}",
                amount(a.traffic.near),
                amount(b.traffic.near)
            ),
            Criterion::Overhead => format!(
                "{} instead of {} on top of the model's work",
                percent(a.step_cost().overhead_ppm()),
                percent(b.step_cost().overhead_ppm())
            ),
            Criterion::Replica => {
                format!("{} GPUs per replica instead of {}", a.replica, b.replica)
            }
            Criterion::Network => format!(
                "{} over the network instead of {}",
                amount(a.traffic.far),
                amount(b.traffic.far)
            ),
            Criterion::Peak => format!("peak {} instead of {}", amount(a.peak), amount(b.peak)),
        }
    }
}

/// Millionths as a percentage with one decimal, rounded to nearest.
#[must_use]
pub fn percent(ppm: u64) -> String {
    let tenths = (ppm + 500) / 1_000;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Nanoseconds as seconds, rounded to hundredths.
#[must_use]
pub fn seconds(nanoseconds: u64) -> String {
    let hundredths = (nanoseconds + 5_000_000) / 10_000_000;
    format!("{}.{:02} s", hundredths / 100, hundredths % 100)
}
