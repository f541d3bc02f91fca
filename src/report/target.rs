//! Targets: the parts of an estimate that marks of charts and rows of tables show. A view highlights everything with the
//! target of the element under the pointer.

use crate::memory::StageRef;
use crate::memory::bucket::Bucket;

/// A part of the estimate: a stage, a path in its tree of lines, or both.
///
/// The path is a line's id, and so starts with a bucket's id; `*` stands for every bucket, as in
/// `*/attention`. An empty path is the stage as a whole.
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

    /// A bucket, on every stage.
    #[must_use]
    pub fn bucket(bucket: Bucket) -> Self {
        Self {
            stage: None,
            path: bucket.id().to_owned(),
        }
    }

    /// Whether a mark with the target `other` is highlighted when this target is selected. Lines are compared
    /// by their paths alone, so that a bucket is highlighted on every stage. A whole stage matches only itself.
    #[must_use]
    pub fn lights(&self, other: &Self) -> bool {
        if self.path.is_empty() {
            return other.path.is_empty() && self.stage.is_some() && self.stage == other.stage;
        }
        !other.path.is_empty() && related(&self.path, &other.path)
    }
}

/// Whether the paths are equal, or one is a prefix of the other; `*` equals every part.
fn related(a: &str, b: &str) -> bool {
    a.split('/')
        .zip(b.split('/'))
        .all(|(a, b)| a == b || a == "*" || b == "*")
}

/// The bucket that a path starts with.
#[must_use]
pub fn bucket_of(path: &str) -> Option<Bucket> {
    Bucket::by_id(path.split('/').next()?)
}
