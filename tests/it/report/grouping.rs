//! Groups of buckets: each bucket is in one of them, and nothing is lost between groups and buckets.

use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::line::stage_lines;
use megatron_memory::report::amount::{Unit, exact};
use megatron_memory::report::explain::explain;
use megatron_memory::report::grouping::{BucketGroup, Grouping, Segment};
use megatron_memory::report::parts::by_group;
use megatron_memory::report::target::Target;
use megatron_memory::units::Bytes;
use serde_json::json;

use super::Job;

/// Nothing split, everything split, and the optimizer alone.
fn groupings() -> [Grouping; 4] {
    [
        Grouping::Buckets,
        Grouping::CLOSED,
        Grouping::SPLIT,
        Grouping::CLOSED.toggled(BucketGroup::Optimizer),
    ]
}

#[test]
fn groups_follow_each_other_in_the_order_of_their_buckets() {
    let buckets: Vec<Bucket> = BucketGroup::ALL.iter().flat_map(|group| group.buckets()).collect();
    assert_eq!(buckets, Bucket::ALL);
    for group in BucketGroup::ALL {
        assert_eq!(Bucket::by_id(group.id()), None);
        assert_eq!(BucketGroup::by_id(group.id()), Some(group));
    }
}

#[test]
fn segments_have_the_bytes_of_the_stage_in_every_grouping() {
    let job = Job::small(json!({}));
    for stage in job.estimate.modules.iter().flat_map(|m| &m.stages) {
        for grouping in groupings() {
            let bytes = grouping.segments().map(|s| s.bytes(|bucket| stage.bytes(bucket)));
            assert_eq!(bytes.sum::<Bytes>(), stage.total, "{grouping:?}");
            for bucket in Bucket::ALL {
                let segment = grouping.segment(bucket);
                assert!(grouping.segments().any(|s| s == segment), "{bucket:?}");
            }
        }
    }
}

#[test]
fn a_group_is_explained_by_the_buckets_that_stand_below_it() {
    let job = Job::small(json!({}));
    let worst = job.estimate.worst;
    let lines = stage_lines(&job.config, &job.estimate, worst);
    let rows = by_group(&lines, Grouping::SPLIT);
    for group in BucketGroup::ALL {
        let row = rows.iter().find(|row| row.path == group.id()).unwrap();
        assert_eq!(row.name(), group.label());
        let below: Bytes = rows
            .iter()
            .filter(|row| row.nested)
            .filter(|row| Bucket::by_id(&row.path).map(BucketGroup::of) == Some(group))
            .map(|row| row.bytes)
            .sum();
        assert_eq!(row.bytes, below, "{group:?}");
        let explanation = explain(&lines, group.id(), Unit::Gib).unwrap();
        assert_eq!(explanation.title, group.label());
        assert_eq!(explanation.exact, exact(row.bytes));
        // Pointing at a bucket lights its group, and the other way round.
        for bucket in Bucket::ALL {
            let of_group = Target::segment(Segment::Group(group));
            let of_bucket = Target::segment(Segment::Bucket(bucket));
            let related = BucketGroup::of(bucket) == group;
            assert_eq!(of_group.highlights(&of_bucket), related, "{bucket:?}");
            assert_eq!(of_bucket.highlights(&of_group), related, "{bucket:?}");
        }
    }
}
