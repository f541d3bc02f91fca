//! The notes of the headline: the GPUs that it is about, and what its numbers count.

use leptos::prelude::*;

use super::Headline;
use crate::browser;
use crate::results::pointed_at;
use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::job::Config;
use megatron_memory::memory::Estimate;
use megatron_memory::memory::overhead::memory_range;
use megatron_memory::report::amount::{Scale, grouped};
use megatron_memory::report::readout::Readout;
use megatron_memory::report::summary::{ReservedBy, Standing, device_monitor, gpu_words, worst_place};
use megatron_memory::units::Bytes;

/// The memory that the device shows beyond allocated memory.
const BEYOND: &str = "fragmentation, CUDA context, NCCL and CUDA graphs";
/// The same for a job whose token dispatcher allocates beside PyTorch.
const BEYOND_WITH_DISPATCHER: &str =
    "fragmentation, CUDA context, NCCL, CUDA graphs and the token dispatcher's buffers";

/// The GPUs that the headline is about, and how many micro batches they train on.
pub(super) fn place(config: &Config, estimate: &Estimate) -> String {
    let place = worst_place(config, estimate);
    let module = config.modules().get(estimate.worst.module);
    match module.map(|module| module.derived().num_microbatches) {
        None => place,
        Some(1) => format!("{place} · 1 micro batch"),
        Some(count) => format!("{place} · {} micro batches", grouped(count)),
    }
}

/// What the device will show, in one sentence.
pub(super) fn basis(config: &Config, standing: &Standing, scale: Scale) -> String {
    let (low, high) = standing.device;
    let monitor = device_monitor(config);
    let by = match standing.reserved_by {
        ReservedBy::Factors => "",
        ReservedBy::Replay => " by a replay",
    };
    format!(
        "{monitor} will show {}{by}; the verdict uses that.",
        scale.range(low, high)
    )
}

/// What the number of the device includes beyond allocated memory, and what the chosen GPU has, in sentences.
pub(super) fn details(config: &Config, estimate: &Estimate, scale: Scale) -> String {
    let module = config.modules().get(estimate.worst.module);
    let has_buffers = module.is_some_and(|module| {
        let range = memory_range(module, None, Bytes::ZERO, Bytes::ZERO);
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

/// The two lines below the bar: which GPUs the headline is about, and what their device will show. What is pointed at
/// stands in place of the first. Hidden for a job that cannot run, whose lines are the reasons.
#[component]
pub(super) fn Notes(headline: ReadSignal<Option<Headline>>) -> impl IntoView {
    let state = expect_context::<State>();
    let pointed = pointed_at();
    let place = move || {
        let pointed = pointed.read();
        let place = || headline.read().as_ref().map(|headline| headline.place.clone());
        let pointed = pointed.as_ref();
        pointed.map(Readout::words).or_else(place)
    };
    let of_headline = move |read: fn(&Headline) -> Option<&String>| headline.read().as_ref().and_then(read).cloned();
    let batches = move || of_headline(|headline| headline.batches.as_ref());
    view! {
        <div hidden=move || state.stale.get()>
            <p class="where" data-testid="where">{place}</p>
            {move || batches().map(|batches| view! { <p class="where">{batches}</p> })}
            <p class="missing">{move || of_headline(|headline| Some(&headline.basis))}</p>
        </div>
    }
}

/// What the numbers of the headline count, over the page while it is open.
#[component]
pub(super) fn Details(
    headline: ReadSignal<Option<Headline>>,
    /// Whether the details are shown.
    details_open: RwSignal<bool>,
) -> impl IntoView {
    browser::on_click_elsewhere_or_escape(move || {
        if details_open.get_untracked() {
            details_open.set(false);
        }
    });
    let details = move || headline.read().as_ref().map(|headline| headline.details.clone());
    view! {
        <Show when=move || details_open.get()>
            <div class="details">
                <p on:click=move |event| event.prevent_default()>{details}</p>
                <a href="./evidence.html" target="_blank" rel="noopener">
                    "How far off it has been in measured runs"
                </a>
            </div>
        </Show>
    }
}
