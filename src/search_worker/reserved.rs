//! Replays of PyTorch's allocator, which take too long for the page itself.

use megatron_memory::config::check;
use megatron_memory::fit::reserved_gains;
use megatron_memory::formats::share_url;
use megatron_memory::memory::{StageRef, estimate};
use megatron_memory::report::reserved::{Gained, Replayed};

/// Replays the allocator of the job in `link`, the fragment of a share link: on the ranks of `stage`, or without one on the
/// rank with the largest peak. `None` where the job cannot run, or its allocator is not replayed.
pub(crate) fn replayed(link: &str, stage: Option<StageRef>) -> Option<Replayed> {
    let job = share_url::visit(link).state.setup.job;
    let config = check(&job).config?;
    let estimate = estimate(&config);
    match stage {
        Some(stage) => Replayed::of(&config, &estimate, stage),
        None => Replayed::of_worst_rank(&config, &estimate),
    }
}

/// What a job, the fragment of a share link, would gain by settings of the allocator.
pub(crate) fn gained(link: &str) -> Vec<Gained> {
    let job = share_url::visit(link).state.setup.job;
    reserved_gains(&job).iter().map(Gained::from).collect()
}
