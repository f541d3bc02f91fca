//! The standing of a job with other settings.

use crate::config::raw::RawJob;
use crate::config::validate;
use crate::verdict::Standing;

/// The standing of a job; `None` where Megatron refuses it, before training or when it starts.
pub(super) fn standing(job: &RawJob) -> Option<Standing> {
    let checked = validate(job);
    let config = checked.config?;
    config.refused_by_schedule().is_empty().then(|| Standing::of(&config))
}
