//! Targets: the parts of an estimate that marks of charts and rows of tables show. A view highlights everything with
//! the target of the element under the pointer.

use super::grouping::{BucketGroup, Segment};
use crate::memory::StageRef;
use crate::memory::bucket::Bucket;

/// A part of the estimate: a stage, a path in its tree of lines, or both.
///
/// The path is a line's id, and so starts with a bucket's id; the id of a group stands for all its buckets together,
/// and `*` for every bucket, as in `*/attention`. An empty path is the stage as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The stage; `None` for all stages.
    pub stage: Option<StageRef>,
    /// The path of the line or lines.
    pub path: String,
}

impl Target {
    /// A whole stage.
    #[must_use]
    pub const fn stage(stage: StageRef) -> Self {
        Self {
            stage: Some(stage),
            path: String::new(),
        }
    }

    /// A line of a stage.
    #[must_use]
    pub fn line(stage: StageRef, path: impl Into<String>) -> Self {
        Self {
            stage: Some(stage),
            path: path.into(),
        }
    }

    /// A bucket or a group of buckets, on every stage.
    #[must_use]
    pub fn segment(segment: Segment) -> Self {
        Self {
            stage: None,
            path: segment.id().to_owned(),
        }
    }

    /// The group of buckets that the target is; `None` for anything else.
    #[must_use]
    pub fn group(&self) -> Option<BucketGroup> {
        BucketGroup::by_id(&self.path)
    }

    /// Whether a mark with the target `other` is highlighted when this target is selected. Lines are compared
    /// by their paths alone, so that a bucket is highlighted on every stage. A whole stage matches only itself.
    #[must_use]
    pub fn highlights(&self, other: &Self) -> bool {
        if self.path.is_empty() {
            return other.path.is_empty() && self.stage.is_some() && self.stage == other.stage;
        }
        !other.path.is_empty() && related(&self.path, &other.path)
    }
}

/// Whether the paths are equal, or one is a prefix of the other; `*` equals every part, and a group each of its
/// buckets.
fn related(a: &str, b: &str) -> bool {
    a.split('/')
        .zip(b.split('/'))
        .all(|(a, b)| a == b || a == "*" || b == "*" || groups(a, b) || groups(b, a))
}

/// Whether `group` is the id of a group with this bucket.
fn groups(group: &str, bucket: &str) -> bool {
    let group = BucketGroup::by_id(group);
    group.is_some() && group == Bucket::by_id(bucket).map(BucketGroup::of)
}

/// The bucket that a path starts with.
#[must_use]
pub fn bucket_of(path: &str) -> Option<Bucket> {
    Bucket::by_id(path.split('/').next()?)
}
