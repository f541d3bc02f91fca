//! Other parallel sizes and micro batches, on the same GPUs and with the same global batch.

use super::change;
use crate::config::fields::FieldId as F;
use crate::config::job::Module;
use crate::config::raw::RawJob;
use crate::fit::cost::{ChangeKind, Cost};
use crate::fit::offer::Change;
use crate::search::{Axis, Options, Pick, Space, Split};
use crate::value::Value;

/// The parallel sizes that are tried one by one.
const SIZES: [(ChangeKind, Axis); 5] = [
    (ChangeKind::Tensor, Axis::Tensor),
    (ChangeKind::Pipeline, Axis::Pipeline),
    (ChangeKind::Expert, Axis::Expert),
    (ChangeKind::ExpertTensor, Axis::ExpertTensor),
    (ChangeKind::Context, Axis::Context),
];

/// Other values of every parallel size; nothing for a job of several modules, whose ranks would all have to move. TP
/// and ETP stay within a node.
pub(super) fn layouts(job: &RawJob) -> Vec<Vec<Change>> {
    let kinds = SIZES.into_iter().map(|(kind, axis)| {
        let mut changes: Vec<Change> = Vec::new();
        for split in [Split::AsGiven, Split::RestInLastStage] {
            for change in sizes(job, kind, axis, split) {
                if !changes.iter().any(|known| known.settings == change.settings) {
                    changes.push(change);
                }
            }
        }
        changes
    });
    kinds.collect()
}

fn sizes(job: &RawJob, kind: ChangeKind, axis: Axis, split: Split) -> Vec<Change> {
    if split == Split::RestInLastStage && axis != Axis::Pipeline {
        return Vec::new();
    }
    let options = Options {
        vary: vec![axis],
        split,
        ..Options::default()
    };
    let Ok(space) = Space::new(job, &options) else {
        return Vec::new();
    };
    let experts = [Axis::Expert, Axis::ExpertTensor].contains(&axis);
    if experts && !space.has_experts() {
        return Vec::new();
    }
    let node = job.number(0, F::gpus_per_node).unwrap_or(8);
    let within_node = [Axis::Tensor, Axis::ExpertTensor].contains(&axis);
    let now = size(job, 0, axis.field());
    let indices = 0..space.total();
    let changes = indices.filter_map(|index| {
        let Some(Pick::Size(value)) = space.pick(index, 0) else {
            return None;
        };
        if value == now || within_node && value > node {
            return None;
        }
        let cost = Cost::ReplicaGpus(replica_gpus(&space.job(index), 0));
        let mut settings = space.settings(index);
        // Without them, both would follow from the new sizes.
        for (field, number) in [
            (F::world_size, space.world_size()),
            (F::global_batch_size, space.global_batch_size()),
        ] {
            if settings.iter().all(|(known, _)| *known != field) && job.number(0, field).is_none() {
                settings.push((field, Value::Int(number.into())));
            }
        }
        let label = format!("{} {value}", axis.symbol());
        Some(change(kind, label, cost, settings))
    });
    changes.collect()
}

/// GPUs of one model replica of a module: the larger of TP · CP and ETP · EP, times PP.
pub(in crate::fit) fn replica_gpus(job: &RawJob, module: usize) -> u64 {
    let of = |field| size(job, module, field);
    let tp = of(F::tensor_model_parallel_size);
    let dense = tp.saturating_mul(of(F::context_parallel_size));
    let experts = job.number(module, F::num_experts).is_some_and(|experts| experts > 0);
    let etp = job.number(module, F::expert_tensor_parallel_size).unwrap_or(tp);
    let expert = etp.saturating_mul(of(F::expert_model_parallel_size));
    let wide = if experts { dense.max(expert) } else { dense };
    wide.saturating_mul(of(F::pipeline_model_parallel_size))
}

fn size(job: &RawJob, module: usize, field: F) -> u64 {
    job.number(module, field).unwrap_or(1)
}

/// Smaller micro batches with the same global batch.
pub(super) fn micro_batches(m: &Module) -> Vec<Change> {
    let derived = m.derived();
    let (batch, now) = (derived.global_batch_size, m.args().micro_batch_size);
    let smaller = (1..now).filter(|size| batch.is_multiple_of(size.saturating_mul(m.dp)));
    let changes = smaller.map(|size| {
        let count = batch / size.saturating_mul(m.dp).max(1);
        let settings = [
            (F::micro_batch_size, Value::Int(size.into())),
            (F::global_batch_size, Value::Int(batch.into())),
        ];
        let label = format!("micro batch {size}");
        change(ChangeKind::MicroBatch, label, Cost::MicroBatches(count), settings)
    });
    changes.collect()
}
