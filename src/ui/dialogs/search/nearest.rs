//! Why a search found nothing, and what would change that.

use megatron_memory::config::gpus;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::layouts;
use megatron_memory::search::{Candidate, Space};
use search_worker::SuggestionNames;

/// The sentences under a search that found nothing.
pub(super) fn nothing_found(
    closest: Option<&Candidate>,
    suggestion: Option<&SuggestionNames>,
    space: &Space,
    unit: Unit,
) -> String {
    let Some(nearest) = closest else {
        return "Megatron runs none of these combinations within your limits. What was left out, and why, is above."
            .to_owned();
    };
    let nearest = layouts::closest(space, nearest, Scale::fine(unit));
    let Some(suggestion) = suggestion else {
        return nearest;
    };
    let recompute = suggestion.recompute.as_ref();
    let recompute = recompute.map(|choice| format!("It would fit with this under Memory savers: {choice}."));
    let gpu = suggestion.gpu.as_deref().and_then(gpus::by_id);
    let gpu = gpu.map(|gpu| format!("As it is, it would fit on {}.", gpu.name));
    let neither = suggestion.recompute.is_none().then(|| {
        "Recompute or offloading alone is not enough: more GPUs, or a smaller micro batch or sequence, would need less."
            .to_owned()
    });
    let sentences = [Some(nearest), recompute, gpu, neither];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
