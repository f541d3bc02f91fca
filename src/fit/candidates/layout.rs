//! Other parallel sizes and micro batches, on the same GPUs or more, and shorter samples; all with the same global batch.

use super::change;
use crate::config::fields::FieldId as F;
use crate::config::job::Module;
use crate::config::raw::RawJob;
use crate::fit::cost::{ChangeKind, Cost};
use crate::fit::limits::{divisors, longest_sequence};
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

/// The cost of a parallel size: the size that the job has, the other one, and the job with it.
pub(super) type SizeCost = fn(now: u64, then: u64, job: &RawJob) -> Cost;

/// How far a size is from the one that the job has.
pub(super) fn distance(now: u64, then: u64, _: &RawJob) -> Cost {
    let (less, more) = (now.min(then).max(1), now.max(then));
    Cost::Distance(more.saturating_mul(1000) / less, then > now)
}

/// GPUs of one model replica.
pub(super) fn replica(_: u64, _: u64, job: &RawJob) -> Cost {
    Cost::ReplicaGpus(replica_gpus(job, 0))
}

/// Other values of every parallel size; nothing for a job of several modules, whose ranks would all have to move. TP
/// and ETP stay within a node.
pub(super) fn layouts(job: &RawJob, cost: SizeCost) -> Vec<Vec<Change>> {
    let kinds = SIZES.into_iter().map(|(kind, axis)| {
        let mut changes: Vec<Change> = Vec::new();
        for split in [Split::AsGiven, Split::RestInLastStage] {
            for change in sizes(job, kind, axis, split, cost) {
                if !changes.iter().any(|known| known.settings == change.settings) {
                    changes.push(change);
                }
            }
        }
        changes
    });
    kinds.collect()
}

fn sizes(job: &RawJob, kind: ChangeKind, axis: Axis, split: Split, cost: SizeCost) -> Vec<Change> {
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
        let cost = cost(now, value, &space.job(index));
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
        let label = format!("{} {value}{}", axis.symbol(), also(job, &settings));
        Some(change(kind, label, cost, settings))
    });
    changes.collect()
}

/// What a layout sets beside its size, as words that follow it.
fn also(job: &RawJob, settings: &[(F, Value)]) -> String {
    let mut words = Vec::new();
    for (field, value) in settings {
        match (field, value) {
            (F::sequence_parallel, Value::Bool(true)) if job.get(0, F::sequence_parallel) != Some(value) => {
                words.push("sequence parallelism".to_owned());
            }
            (F::decoder_last_pipeline_num_layers, Value::Int(1)) => words.push("1 layer in the last stage".to_owned()),
            (F::decoder_last_pipeline_num_layers, Value::Int(layers)) => {
                words.push(format!("{layers} layers in the last stage"));
            }
            _ => {}
        }
    }
    if words.is_empty() {
        String::new()
    } else {
        format!(" with {}", words.join(" and "))
    }
}

/// More GPUs in the same layout of a replica; nothing for a job of several modules.
pub(super) fn more_gpus(job: &RawJob, m: &Module) -> Vec<Change> {
    if !job.modules.is_empty() {
        return Vec::new();
    }
    let batch = m.derived().global_batch_size;
    let sizes = divisors(batch / m.args().micro_batch_size.max(1)).into_iter();
    let more = sizes.filter(|dp| *dp > m.dp && dp.is_multiple_of(m.dp));
    let changes = more.map(|dp| {
        let gpus = (m.ranks() / m.dp.max(1)).saturating_mul(dp);
        let settings = [
            (F::world_size, Value::Int(gpus.into())),
            (F::global_batch_size, Value::Int(batch.into())),
            (F::data_parallel_size, Value::Null),
        ];
        change(ChangeKind::MoreGpus, format!("{gpus} GPUs"), Cost::Gpus(gpus), settings)
    });
    changes.collect()
}

/// The longest samples with which the job fits, where they are shorter than now.
pub(in crate::fit) fn shorter_samples(job: &RawJob) -> Option<Change> {
    let limit = longest_sequence(job)?;
    let now = size(job, limit.module, F::seq_length);
    let cut = now.checked_sub(limit.value).filter(|cut| *cut > 0)?;
    let settings = [(F::seq_length, Value::Int(limit.value.into()))];
    let label = format!("samples of at most {} tokens", limit.value);
    Some(change(ChangeKind::Sequence, label, Cost::CutTokens(cut), settings))
}

/// GPUs of one model replica of a module: the larger of TP · CP and ETP · EP, times PP.
pub(super) fn replica_gpus(job: &RawJob, module: usize) -> u64 {
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
