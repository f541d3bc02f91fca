//! Which GPUs the headline is about, and what its numbers count.

use leptos::prelude::*;

use super::Headline;
use crate::results::pointed_at;
use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::job::Config;
use megatron_memory::config::problem::Severity;
use megatron_memory::memory::Estimate;
use megatron_memory::memory::overhead::memory_range;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::readout::Readout;
use megatron_memory::report::summary::{Standing, device_monitor, gpu_words};
use megatron_memory::units::Bytes;

/// What the device shows beyond allocated memory.
const BEYOND: &str = "fragmentation, CUDA context, NCCL and CUDA graphs";
/// The same for a job whose token dispatcher allocates beside PyTorch.
const BEYOND_WITH_DISPATCHER: &str =
    "fragmentation, CUDA context, NCCL, CUDA graphs and the token dispatcher's buffers";

/// What the device will show, in one sentence.
pub(super) fn basis(config: &Config, estimate: &Estimate, scale: Scale) -> String {
    let (low, high) = Standing::new(config, estimate).device;
    let monitor = device_monitor(config);
    format!("{monitor} will show {}; the verdict uses that.", scale.range(low, high))
}

/// What the number of the device includes beyond allocated memory, and what the chosen GPU has, in sentences.
pub(super) fn details(config: &Config, estimate: &Estimate, scale: Scale) -> String {
    let module = config.modules().get(estimate.worst.module);
    let has_buffers = module.is_some_and(|module| {
        let range = memory_range(module, Bytes::ZERO, Bytes::ZERO);
        let mut overheads = range.overheads();
        overheads.any(|one| one.field == FieldId::moe_flex_dispatcher_backend)
    });
    let beyond = if has_buffers { BEYOND_WITH_DISPATCHER } else { BEYOND };
    let gpu = gpu_words(config, scale).map(|gpu| format!(" {gpu}"));
    format!(
        "The peak is what PyTorch allocates. {} includes {beyond}.{}",
        device_monitor(config),
        gpu.unwrap_or_default()
    )
}

/// The lines below the headline.
#[component]
pub(super) fn Notes(
    headline: Memo<Option<Headline>>,
    /// Whether the details of the numbers are shown.
    details_open: RwSignal<bool>,
) -> impl IntoView {
    let state = expect_context::<State>();
    // What is pointed at stands right below the bar, and else which GPUs the headline is about.
    let pointed = pointed_at();
    let place = move || {
        let pointed = pointed.read();
        let place = || headline.read().as_ref().map(|headline| headline.place.clone());
        let pointed = pointed.as_ref();
        pointed.map(Readout::words).or_else(place)
    };
    let basis = move || headline.read().as_ref().map(|headline| headline.basis.clone());
    let details = move || headline.read().as_ref().map(|headline| headline.details.clone());
    let batches = move || {
        let headline = headline.read();
        headline.as_ref().and_then(|headline| headline.batches.clone())
    };
    view! {
        <p class="where" data-testid="where">{place}</p>
        {move || batches().map(|batches| view! { <p class="where">{batches}</p> })}
        <p class="missing">{basis}</p>
        <Show when=move || details_open.get()>
            <p class="missing details">{details}</p>
        </Show>
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
