//! The lines of one stage as two breakdowns: by bucket and by component of the model.

use super::grouping::{BucketGroup, Grouping};
use super::target::bucket_of;
use crate::memory::bucket::Bucket;
use crate::memory::line::Line;
use crate::units::Bytes;

/// A row of a breakdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The path of the lines that the row shows; see [`Target`](super::target::Target).
    pub path: String,
    /// The row's name.
    pub label: String,
    /// The row's bytes.
    pub bytes: Bytes,
    /// Whether the row is a part of a group's row above.
    pub nested: bool,
    /// The row's bytes by bucket, in stacking order.
    pub shares: Vec<Share>,
}

impl Part {
    /// The row's name without the sign of a group.
    #[must_use]
    pub fn name(&self) -> &str {
        self.label.trim_start_matches(['▸', '▾', ' '])
    }
}

/// The part of a row that is in one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The path of the line that the share shows.
    pub path: String,
    /// The bucket; `None` for a line in no bucket.
    pub bucket: Option<Bucket>,
    /// The share's bytes.
    pub bytes: Bytes,
}

/// The breakdown by bucket, in stacking order.
#[must_use]
pub fn by_bucket(lines: &[Line]) -> Vec<Part> {
    lines.iter().map(row).collect()
}

/// The row of a bucket.
fn row(line: &Line) -> Part {
    Part {
        path: line.id.clone(),
        label: line.label.clone(),
        bytes: line.bytes,
        nested: false,
        shares: vec![share(line)],
    }
}

/// The breakdown by group, in stacking order: a row for each group, and below that of a group that is split a row for
/// each of its buckets. A group's name starts with a sign that says whether it is split.
#[must_use]
pub fn by_group(lines: &[Line], grouping: Grouping) -> Vec<Part> {
    let rows = |group: BucketGroup| {
        let held = lines
            .iter()
            .filter(move |line| bucket_of(&line.id).map(BucketGroup::of) == Some(group));
        let is_split = grouping.splits(group);
        let sign = if is_split { '▾' } else { '▸' };
        let whole = Part {
            path: group.id().to_owned(),
            label: format!("{sign} {}", group.label()),
            bytes: held.clone().map(|line| line.bytes).sum(),
            nested: false,
            shares: held.clone().map(share).collect(),
        };
        let buckets = held.filter(move |_| is_split).map(|line| Part {
            nested: true,
            ..row(line)
        });
        [whole].into_iter().chain(buckets)
    };
    let rows = BucketGroup::ALL.into_iter().flat_map(rows);
    rows.filter(|part| part.bytes > Bytes::ZERO).collect()
}

/// The breakdown by component, largest first: a row for each component of the model, which sums over all buckets of
/// model states, and a row for each other bucket, since its memory belongs to no component.
#[must_use]
pub fn by_component(lines: &[Line]) -> Vec<Part> {
    let mut rows: Vec<Part> = Vec::new();
    for bucket in lines {
        let of_states = bucket_of(&bucket.id).is_some_and(|bucket| bucket.state().is_some());
        if !of_states || bucket.children.is_empty() {
            rows.extend(by_bucket(core::slice::from_ref(bucket)));
            continue;
        }
        for line in &bucket.children {
            let component = line.id.split_once('/').map_or(line.id.as_str(), |(_, rest)| rest);
            let path = format!("*/{component}");
            if let Some(row) = rows.iter_mut().find(|row| row.path == path) {
                row.bytes += line.bytes;
                row.shares.push(share(line));
            } else {
                rows.push(Part {
                    path,
                    label: line.label.clone(),
                    bytes: line.bytes,
                    nested: false,
                    shares: vec![share(line)],
                });
            }
        }
    }
    rows.sort_by_key(|row| core::cmp::Reverse(row.bytes));
    rows
}

/// The share that a line makes up.
fn share(line: &Line) -> Share {
    Share {
        path: line.id.clone(),
        bucket: bucket_of(&line.id),
        bytes: line.bytes,
    }
}
