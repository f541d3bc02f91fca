//! How finely charts tell buckets apart: each by itself, or in four groups of which some are split into their buckets.

use strum::{EnumCount, EnumString, IntoStaticStr, VariantArray};

use super::scene::Class;
use crate::memory::bucket::{Bucket, State};
use crate::units::Bytes;
use crate::variants::all;

/// Buckets of one kind. Their bytes follow each other in the stacking order of [`Bucket::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum BucketGroup {
    /// Parameters in their training dtype.
    Weights,
    /// Gradients that parameters accumulate into.
    Gradients,
    /// Main parameters and moments.
    Optimizer,
    /// Activations, what is there for a moment at the peak, and buffers.
    Activations,
}

impl BucketGroup {
    /// All groups in stacking order.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// The group that a bucket belongs to.
    #[must_use]
    pub const fn of(bucket: Bucket) -> Self {
        match bucket.state() {
            Some((State::Weights, _)) => Self::Weights,
            Some((State::MainGrads, _)) => Self::Gradients,
            Some((State::MainParams | State::ExpAvg | State::ExpAvgSq, _)) => Self::Optimizer,
            None => Self::Activations,
        }
    }

    /// The group's id, in paths of targets and in style sheets. No bucket has the same.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// The group with this id.
    #[must_use]
    pub fn by_id(id: &str) -> Option<Self> {
        id.parse().ok()
    }

    /// The group's name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Weights => "Weights",
            Self::Gradients => "Gradients",
            Self::Optimizer => "Optimizer",
            Self::Activations => "Activations and buffers",
        }
    }

    /// What the group counts, in one sentence.
    #[must_use]
    pub const fn what(self) -> &'static str {
        match self {
            Self::Weights => "Parameters in the dtype of training",
            Self::Gradients => "Gradients that micro batches accumulate into",
            Self::Optimizer => "Main copies of the parameters, and the moments of their gradients",
            Self::Activations => {
                "What is kept for the backward pass, what is there for a moment at the peak, and buffers"
            }
        }
    }

    /// The group's buckets in stacking order.
    pub fn buckets(self) -> impl Iterator<Item = Bucket> {
        Bucket::ALL.into_iter().filter(move |bucket| Self::of(*bucket) == self)
    }
}

/// How finely charts tell buckets apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// Every bucket by itself.
    #[default]
    Buckets,
    /// Groups, of which these are split into their buckets, by their numbers in [`BucketGroup::ALL`].
    Groups([bool; BucketGroup::COUNT]),
}

impl Grouping {
    /// Groups, none of which is split.
    pub const CLOSED: Self = Self::Groups([false; BucketGroup::COUNT]);
    /// Groups, all of which are split.
    pub const SPLIT: Self = Self::Groups([true; BucketGroup::COUNT]);

    /// Whether the buckets of a group are told apart.
    #[must_use]
    pub fn splits(self, group: BucketGroup) -> bool {
        match self {
            Self::Buckets => true,
            Self::Groups(split) => split.get(group as usize).copied().unwrap_or_default(),
        }
    }

    /// The grouping with one group split, or put together where it was split.
    #[must_use]
    pub fn toggled(self, group: BucketGroup) -> Self {
        match self {
            Self::Buckets => self,
            Self::Groups(mut split) => {
                if let Some(split) = split.get_mut(group as usize) {
                    *split = !*split;
                }
                Self::Groups(split)
            }
        }
    }

    /// The groups and buckets that are told apart, in stacking order.
    pub fn segments(self) -> impl Iterator<Item = Segment> {
        let segments = move |group| {
            let together = (!self.splits(group)).then_some(Segment::Group(group));
            let buckets = group.buckets().map(Segment::Bucket);
            together.into_iter().chain(buckets.filter(move |_| together.is_none()))
        };
        BucketGroup::ALL.into_iter().flat_map(segments)
    }

    /// The segment that a bucket's bytes are part of.
    #[must_use]
    pub fn segment(self, bucket: Bucket) -> Segment {
        let group = BucketGroup::of(bucket);
        if self.splits(group) {
            Segment::Bucket(bucket)
        } else {
            Segment::Group(group)
        }
    }
}

/// A group as a whole, or a bucket of a group that is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// All buckets of the group together.
    Group(BucketGroup),
    /// A bucket by itself.
    Bucket(Bucket),
}

impl Segment {
    /// The id of the group or bucket: its path in targets.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Group(group) => group.id(),
            Self::Bucket(bucket) => bucket.id(),
        }
    }

    /// The name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Group(group) => group.label(),
            Self::Bucket(bucket) => bucket.label(),
        }
    }

    /// The name where there is little room for it.
    #[must_use]
    pub const fn short_label(self) -> &'static str {
        match self {
            Self::Group(BucketGroup::Activations) => "Activations",
            Self::Group(BucketGroup::Weights | BucketGroup::Gradients | BucketGroup::Optimizer) | Self::Bucket(_) => {
                self.label()
            }
        }
    }

    /// The class of its shapes.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::Group(group) => Class::Group(group),
            Self::Bucket(bucket) => Class::Bucket(bucket),
        }
    }

    /// The bytes of the segment, from the bytes of every bucket.
    pub fn bytes(self, of: impl Fn(Bucket) -> Bytes) -> Bytes {
        match self {
            Self::Group(group) => group.buckets().map(of).sum(),
            Self::Bucket(bucket) => of(bucket),
        }
    }
}
