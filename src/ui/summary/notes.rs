//! Which GPUs the headline is about, and what its numbers count.

use leptos::prelude::*;

use super::Headline;
use crate::config::fields::FieldId;
use crate::config::job::Config;
use crate::config::problem::Severity;
use crate::memory::Estimate;
use crate::memory::overhead::memory_range;
use crate::report::readout::Readout;
use crate::ui::results::pointed_at;
use crate::ui::state::State;
use crate::units::Bytes;

/// What the device shows beyond allocated memory.
const BEYOND: &str = "fragmentation, CUDA context, NCCL and CUDA graphs";
/// The same for a job whose token dispatcher allocates beside PyTorch.
const BEYOND_WITH_DISPATCHER: &str =
    "fragmentation, CUDA context, NCCL, CUDA graphs and the token dispatcher's buffers";

/// What the device shows beyond allocated memory, in words.
pub(super) fn beyond(config: &Config, estimate: &Estimate) -> &'static str {
    let module = config.modules().get(estimate.worst.module);
    let has_buffers = module.is_some_and(|module| {
        let range = memory_range(module, Bytes::ZERO, Bytes::ZERO);
        let mut overheads = range.overheads();
        overheads.any(|one| one.field == FieldId::moe_flex_dispatcher_backend)
    });
    if has_buffers { BEYOND_WITH_DISPATCHER } else { BEYOND }
}

/// The lines below the headline.
#[component]
pub(super) fn Notes(headline: Memo<Option<Headline>>) -> impl IntoView {
    let state = expect_context::<State>();
    // What is pointed at stands right below the bar, and else which GPUs the headline is about.
    let pointed = pointed_at();
    let place = move || {
        let pointed = pointed.read();
        let place = || headline.read().as_ref().map(|headline| headline.place.clone());
        let pointed = pointed.as_ref();
        pointed.map(Readout::words).or_else(place)
    };
    let basis = move || {
        let headline = headline.read();
        headline.as_ref().map(|headline| {
            let gpu = headline.gpu.as_ref();
            let gpu = gpu.map_or_else(String::new, |gpu| format!(" {gpu}"));
            format!(
                "Peak allocated by PyTorch. On the device, as nvidia-smi shows it: with {}, which the verdict counts.{gpu}",
                headline.beyond
            )
        })
    };
    let batches = move || {
        let headline = headline.read();
        headline.as_ref().and_then(|headline| headline.batches.clone())
    };
    view! {
        <p class="where" data-testid="where">{place}</p>
        {move || batches().map(|batches| view! { <p class="where">{batches}</p> })}
        <p class="missing">{basis}</p>
        {move || warnings_without_field(state)}
    }
}

/// Warnings about keys that no field has: they have no field to stand beside.
fn warnings_without_field(state: State) -> impl IntoView + use<> {
    let checked = state.checked.read();
    let problems = checked.problems.iter();
    let homeless = problems.filter(|problem| problem.severity == Severity::Warning && problem.fields.is_empty());
    homeless
        .map(|problem| view! { <p class="homeless">{problem.message.clone()}</p> })
        .collect_view()
}
