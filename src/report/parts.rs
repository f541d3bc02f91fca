//! One stage's lines sorted two ways: by bucket and by component.

use super::target::bucket_of;
use crate::memory::bucket::Bucket;
use crate::memory::line::Line;
use crate::units::Bytes;

/// A row of a breakdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The path of what it shows.
    pub path: String,
    /// What it is called.
    pub label: String,
    /// How much it is.
    pub bytes: Bytes,
    /// The same by bucket, in stacking order, each with the path of its lines.
    pub shares: Vec<Share>,
}

/// The part of a row that belongs to one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The path of what it shows.
    pub path: String,
    /// The bucket; nothing for a line that is in none.
    pub bucket: Option<Bucket>,
    /// How much it is.
    pub bytes: Bytes,
}

/// One row a bucket, in stacking order.
#[must_use]
pub fn by_bucket(lines: &[Line]) -> Vec<Part> {
    lines
        .iter()
        .map(|line| Part {
            path: line.id.clone(),
            label: line.label.clone(),
            bytes: line.bytes,
            shares: vec![share(line)],
        })
        .collect()
}

/// One row a component over all buckets of model states, largest first; every other bucket is a row of
/// its own, as what it consists of is no part of the model.
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
            let component = line
                .id
                .split_once('/')
                .map_or(line.id.as_str(), |(_, rest)| rest);
            let path = format!("*/{component}");
            if let Some(row) = rows.iter_mut().find(|row| row.path == path) {
                row.bytes += line.bytes;
                row.shares.push(share(line));
            } else {
                rows.push(Part {
                    path,
                    label: line.label.clone(),
                    bytes: line.bytes,
                    shares: vec![share(line)],
                });
            }
        }
    }
    rows.sort_by_key(|row| core::cmp::Reverse(row.bytes));
    rows
}

fn share(line: &Line) -> Share {
    Share {
        path: line.id.clone(),
        bucket: bucket_of(&line.id),
        bytes: line.bytes,
    }
}
