//! Why a job has neither offers nor limits.

use crate::config::Checked;
use crate::config::job::Config;
use crate::config::problem::{Problem, Refusal};

/// Why it cannot be asked what would make a job fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Megatron refuses the job, with these problems.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<Problem>),
    /// No GPU is chosen that the job may fit.
    #[error("no GPU is chosen: set `gpu`, such as h100-80gb, or `gpu_memory_mib`")]
    NoGpu,
}

/// The configuration of a job that has a GPU, and that its launcher takes: no change of its memory helps with that.
pub(super) fn with_gpu(Checked { config, problems }: Checked) -> Result<Config, FitError> {
    let Some(config) = config.filter(|config| config.refused_by() != Some(Refusal::ByLauncher)) else {
        let refusing = problems.into_iter().filter(Problem::keeps_from_training);
        return Err(FitError::Refused(refusing.collect()));
    };
    config.gpu_memory().map_or(Err(FitError::NoGpu), |_| Ok(config))
}
