//! The same job on other GPUs.

use super::measure::standing;
use crate::config::fields::FieldId as F;
use crate::config::gpus::Gpu;
use crate::config::raw::RawJob;
use crate::value::Value;
use crate::verdict::Standing;

/// Puts a job on another type of GPU, with all the memory that a process can have of it.
pub fn move_to(job: &mut RawJob, gpu: &Gpu) {
    job.put(0, F::gpu, Value::Text(gpu.id.to_owned()));
    job.put(0, F::gpu_memory_mib, Value::Null);
}

/// The memory of a job on another type of GPU; `None` where Megatron refuses it there.
#[must_use]
pub fn on_gpu(job: &RawJob, gpu: &Gpu) -> Option<Standing> {
    let mut job = job.clone();
    move_to(&mut job, gpu);
    standing(&job)
}
