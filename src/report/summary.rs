//! The headline of an estimate: what the job needs, whether it fits the GPU, and by how much.

use super::amount::{Scale, Unit, grouped};
use super::verdict::{another_job, refused};
use crate::config::gpus::GpuGeneration::{Ada, Ampere, Blackwell, BlackwellSm12x, Cdna3, Cdna4, Hopper, Rubin, Volta};
use crate::config::gpus::{self, Certainty, GpuMemory};
use crate::config::job::Config;
use crate::memory::{Estimate, StageRef};
use crate::units::Bytes;
pub use crate::verdict::{ReservedBy, Standing, Verdict, device};

impl Standing {
    /// What the number of allocated memory is compared with, in words that follow it:
    /// `allocated, 66.3 to 72.6 on the device, of 79.1 GiB`.
    #[must_use]
    pub fn device_words(&self, scale: Scale) -> String {
        let (low, high) = self.device;
        match self.gpu {
            Some(gpu) => {
                let range = scale.range(low, high);
                let range = range.strip_suffix(scale.unit.symbol()).unwrap_or(&range);
                format!("allocated, {range}on the device, of {}", gpu.words(low, scale))
            }
            None => format!("allocated, {} on the device", scale.range(low, high)),
        }
    }

    /// What the GPU has, in words that follow the number of allocated memory in large type: `peak of 79.1`.
    #[must_use]
    pub fn headline_words(&self, scale: Scale) -> String {
        match self.gpu_memory() {
            Some(gpu) => format!("peak of {}", scale.number(gpu)),
            None => String::from("peak"),
        }
    }

    /// The headline in one sentence: `Fits, 7.0 to 13.3 GiB free: 63.9 GiB allocated, 66.3 to 72.6 on the device, of
    /// 79.1 GiB.`
    #[must_use]
    pub fn sentence(&self, config: &Config, scale: Scale) -> String {
        let reason = match (self.headroom(), refused(config).or_else(|| another_job(config))) {
            (_, Some(reason)) => format!(": {reason}. It needs"),
            (Some(headroom), None) => format!(", {}:", headroom.words(scale)),
            (None, None) => String::from(":"),
        };
        format!(
            "{}{reason} {} {}.",
            self.verdict.words(),
            scale.amount(self.total),
            self.device_words(scale)
        )
    }
}

/// The program that shows the memory of the device: AMD's where its GPU is chosen.
#[must_use]
pub fn device_monitor(config: &Config) -> &'static str {
    let module = config.modules().first();
    let gpu = module.and_then(|module| module.args().gpu.as_deref());
    match gpu.and_then(gpus::by_id).map(|gpu| gpu.generation) {
        Some(Cdna3 | Cdna4) => "rocm-smi",
        Some(Volta | Ampere | Ada | Hopper | Blackwell | BlackwellSm12x | Rubin) | None => "nvidia-smi",
    }
}

/// What the advertised memory of the chosen GPU is to its driver, in one sentence; `None` where no GPU of a known name
/// is chosen, or its memory was set by hand.
#[must_use]
pub fn gpu_words(config: &Config, scale: Scale) -> Option<String> {
    let name = config.modules().first()?.args().gpu.as_deref()?;
    let gpu = gpus::by_id(name)?;
    if config.reported_gpu_memory() != Some(gpu.memory_for_processes()) {
        return None;
    }
    let fine = Scale::fine(Unit::Gib);
    let to_processes = match (gpus::reported_to_processes(gpu.id), gpu.certainty) {
        (Some(GpuMemory { least, most }), _) => format!(
            "as its driver reports; CUDA reports {} to a process, as PyTorch prints it in public messages. A job fits where \
             the least of it is enough, and does not where the most is not.",
            fine.range(least, most)
        ),
        (None, Certainty::SharedWithCpu) => "as CUDA reports to a process, of memory that the CPU uses too.".to_owned(),
        (None, Certainty::Reported | Certainty::DriverDependent | Certainty::Inferred | Certainty::Announced) => {
            "as its driver reports; no public message says what CUDA reports to a process.".to_owned()
        }
    };
    Some(format!(
        "{}: {} GB as sold, {} ({} MiB) {to_processes}",
        gpu.name,
        gpu.advertised_gb,
        scale.amount(Bytes(gpu.memory_bytes())),
        grouped(gpu.memory_mib),
    ))
}

/// The GPUs with the largest peak in words, such as `per GPU on stage 0, the fullest of 8`. A job with several
/// modules has the first rank too, or the names of the modules that share the GPUs.
#[must_use]
pub fn worst_place(config: &Config, estimate: &Estimate) -> String {
    let stages: usize = estimate.modules.iter().map(|m| m.stages.len()).sum();
    if stages == 1 {
        return String::from("on every GPU: all layers are one stage");
    }
    let name = stage_name(config, estimate.worst);
    let of = |at: &StageRef| config.modules().get(at.module).map_or("", |m| m.name());
    match (config.modules(), estimate.worst_rank.stages.as_slice()) {
        ([_], _) => format!("per GPU on {name}, the fullest of {stages}"),
        (_, [_]) => format!(
            "per GPU on {name}, the fullest of {stages}, first at rank {}",
            estimate.worst_rank.rank
        ),
        (_, shared) => format!(
            "on each GPU, which {} share",
            shared.iter().map(of).collect::<Vec<_>>().join(" and ")
        ),
    }
}

/// The name of a stage, such as `stage 7`, after its module's name where there are several modules.
#[must_use]
pub fn stage_name(config: &Config, stage: StageRef) -> String {
    match config.modules() {
        [_] => format!("stage {}", stage.pp_rank),
        modules => {
            let module = modules.get(stage.module).map_or("", |m| m.name());
            format!("{module} stage {}", stage.pp_rank)
        }
    }
}
