//! The same job on other GPUs.

use super::measure::Measured;
use crate::config::fields::FieldId as F;
use crate::config::gpus::Gpu;
use crate::config::raw::RawJob;
use crate::search::Candidate;
use crate::value::Value;
use crate::verdict::Standing;

/// Puts a job on another type of GPU, with all the memory that a process can have of it.
pub fn move_to(job: &mut RawJob, gpu: &Gpu) {
    job.put(0, F::gpu, Value::Text(gpu.id.to_owned()));
    job.put(0, F::gpu_memory_mib, Value::Null);
}

/// The result of a job on one type of GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnGpu {
    /// The memory of the rank that needs most.
    pub memory: Standing,
    /// What searches order the job by, with the index that was given; `None` where it has no language model.
    pub candidate: Option<Candidate>,
}

/// The result of a job on another type of GPU; `None` where Megatron refuses the job there. `index` is the number of that
/// GPU in the list of those that are compared.
#[must_use]
pub fn on_gpu(index: u64, job: &RawJob, gpu: &Gpu) -> Option<OnGpu> {
    let mut job = job.clone();
    move_to(&mut job, gpu);
    let measured = Measured::of_job(&job)?;
    Some(OnGpu {
        memory: measured.standing,
        candidate: measured.candidate(index),
    })
}
